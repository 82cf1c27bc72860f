/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* selvolctl and jobs: relabel, verify of many files, jobs and cancel. */

#include "ctl-support.h"

#define OWNERSHIP CALL("ApplyOwnership", "('pvc-1', uint32 1000, " NO_OPTIONS ")", "(objectpath '" JOB7 "',)")
#define FAILED                                                                                                    \
        "('EntriesFailed', {'ErrorMessage': <'1 of 300 entries could not be relabeled: a\\\\x0ab: no.'>, " WALKED \
        ", 'EntriesFailed': <uint64 1>, 'Failures': <[('a\\\\x0ab', 'no')]>})"

#define GET_JOB7 CALL("GetJob", "(uint64 7,)", "(objectpath '" JOB7 "',)")
#define CANCEL \
        { JOB7, JOB, "Cancel", "()", "()" }

#define JOBS                                                                                                                                                                                       \
        "({objectpath '/org/selvol1/job/10': {'org.selvol1.Job': {'Id': <uint64 10>, 'Operation': <'relabel'>, "                                                                                   \
        "'Volume': <'pvc-1'>, 'Context': <'" CONTEXT "'>, 'State': <'acting'>, 'EntriesDone': <uint64 500>, "                                                                                      \
        "'EntriesTotal': <uint64 2000>, 'EntriesChanged': <uint64 5>, 'EntriesFailed': <uint64 0>, "                                                                                               \
        "'EntriesPerSecond': <uint64 100>, 'StartedUSec': <uint64 32503680000000000>, "                                                                                                            \
        "'ExpectedEndUSec': <uint64 1767225600000000>, 'Result': <''>, 'ErrorName': <''>, 'ErrorMessage': "                                                                                        \
        "<''>}}, '" JOB7 "': {'org.selvol1.Job': {'Id': <uint64 7>, 'Operation': <'verify'>, 'Volume': "                                                                                           \
        "<'/té\\u001b'>, 'State': <'ended'>, 'StartedUSec': <uint64 1767225600000000>, 'EndedUSec': <uint64 1767225601500000>, 'EntriesDone': <uint64 0>, 'EntriesTotal': <uint64 0>, 'Result': " \
        "<'TimedOut'>, 'ErrorName': <'TimedOut'>, 'ErrorMessage': <'Slow.'>}}, "                                                                                                                   \
        "'/org/selvol1/job/11': {'org.selvol1.Job': {'Id': <uint64 11>, 'Operation': <'mount'>, 'Volume': "                                                                                        \
        "<'pvc-1'>, 'State': <'waiting'>, 'Result': <''>}}, '" PVC1                                                                                                                                \
        "': {'org.selvol1.Volume': {'Id': <'pvc-1'>}}},)"

#define VERIFIED                                                                                                     \
        "(false, '" CONTEXT "', {'Expected': <'" CONTEXT "'>, 'Depth': <'full'>, 'EntriesDone': <uint64 31250>, "    \
        "'EntriesMismatched': <uint64 2>, 'EntriesFailed': <uint64 1>, 'Mismatches': <[('data/a', 'u:r:tmp_t:s0'), " \
        "('b', '')]>, 'Text': <'2 of 31250 differ.'>, 'Job': <objectpath '" JOB7 "'>})"

#define GIVEN                                                                                        \
        "'DurationUSec': <uint64 2113>, 'Ownership': <'walked'>, 'OwnershipReason': <'requested'>, " \
        "'FSGroup': <uint32 1000>, 'EntriesDone': <uint64 12>, 'EntriesChanged': <uint64 3>"

static const Case cases[] = {
        { "relabel/walked", "relabel pvc-1", CALLS(RELABEL, WAIT(DONE)), .out = DONE_TEXT },
        { "relabel/options", "relabel pvc-1 u:r:t:s0:c1 --force --max-entries-per-second=5000 --timeout=1min -q",
          CALLS(CALL("Relabel",
                     "('pvc-1', 'u:r:t:s0:c1', {'Force': <true>, 'MaxEntriesPerSecond': <uint64 5000>, 'TimeoutUSec': "
                     "<uint64 60000000>})",
                     "(objectpath '" JOB7 "',)"),
                WAIT(DONE)) },
        { "relabel/level", "relabel pvc-1 --level s0:c3,c4 --no-wait -q",
          CALLS(CALL("Relabel", "('pvc-1', '', {'SELinuxLevel': <'s0:c3,c4'>})", "(objectpath '" JOB7 "',)")) },
        { "relabel/level-as-context", "relabel pvc-1 s0:c3,c4",
          CALLS(FAIL("Relabel", "('pvc-1', 's0:c3,c4', " NO_OPTIONS ")", "org.selvol1.Error.InvalidContext",
                     "'s0:c3,c4' is a level: pass \"SELinuxLevel\"=s0:c3,c4.")),
          .code = 2, .err = "selvolctl: pvc-1: 's0:c3,c4' is a level: pass --level=s0:c3,c4.\n" },
        { "relabel/two-lines", "relabel pvc-1",
          CALLS(FAIL("Relabel", "('pvc-1', '', " NO_OPTIONS ")", "org.selvol1.Error.ContextConflict",
                     "pvc-1 is in use.\nWait with \"WaitUSec\".\nx")),
          .code = 3, .err = "selvolctl: pvc-1 is in use.\nWait with --wait.\\x0ax\n" },
        { "relabel/skipped", "relabel pvc-1",
          CALLS(RELABEL, WAIT("('done', {'Relabel': <'skipped'>, 'RelabelReason': <'complete'>})")),
          .out = "        Volume: pvc-1\n           Job: 7\n        Result: done\n       Relabel: skipped\n"
                 "Relabel reason: complete\n" },
        { "relabel/skipped-entries", "relabel pvc-1",
          CALLS(RELABEL, WAIT("('done', {'Relabel': <'walked'>, 'EntriesSkipped': <uint64 4>, 'Submounts': <['m', "
                              "'n/\\u0007']>})")),
          .out = "         Volume: pvc-1\n            Job: 7\n         Result: done\n        Relabel: walked\n"
                 "Entries skipped: 4\n      Submounts: m,n/\\x07\n" },
        { "relabel/failed", "relabel pvc-1", CALLS(RELABEL, WAIT(FAILED)), .code = 1,
          .err = "selvolctl: pvc-1: 1 of 300 entries could not be relabeled: a\\x0ab: no.\n" },
        { "relabel/failed-json", "relabel pvc-1 --json", CALLS(RELABEL, WAIT(FAILED)), .code = 1,
          .json = "{\"DurationUSec\":402113,\"EntriesChanged\":250,\"EntriesDone\":300,\"EntriesFailed\":1,"
                  "\"ErrorMessage\":\"1 of 300 entries could not be relabeled: a\\\\x0ab: no.\","
                  "\"ErrorName\":\"EntriesFailed\",\"Failures\":[{\"Message\":\"no\",\"Path\":\"a\\\\x0ab\"}],"
                  "\"Job\":7,\"Relabel\":\"walked\",\"RelabelReason\":\"unknown\",\"Result\":\"EntriesFailed\","
                  "\"Volume\":\"pvc-1\"}" },
        { "relabel/failed-without-message", "relabel pvc-1", CALLS(RELABEL, WAIT("('WorkerFailed', @a{sv} {})")),
          .code = 1, .err = "selvolctl: pvc-1: WorkerFailed\n" },
        { "relabel/canceled", "relabel pvc-1",
          CALLS(RELABEL, WAIT("('Canceled', {'ErrorMessage': <'The job was canceled.'>})")), .code = 1,
          .err = "selvolctl: pvc-1: The job was canceled.\n" },
        { "relabel/refused", "relabel pvc-1",
          CALLS(FAIL("Relabel", "('pvc-1', '', " NO_OPTIONS ")", "org.selvol1.Error.ContextConflict",
                     "pvc-1 is held by pod-B.")),
          .code = 3, .err = "selvolctl: pvc-1 is held by pod-B.\n" },
        { "relabel/service-ends", "relabel pvc-1",
          CALLS(RELABEL, { JOB7, JOB, "Wait", "()", NULL, "org.selvol1.Error.Canceled", "The service ends." }),
          .code = 1, .err = "selvolctl: pvc-1: The service ends.\n" },
        { "relabel/no-wait", "relabel pvc-1 --no-wait", CALLS(RELABEL), .out = "7\n" },
        { "relabel/no-wait-quiet", "relabel pvc-1 --no-wait -q", CALLS(RELABEL) },
        { "relabel/no-wait-json", "relabel pvc-1 --no-wait --json", CALLS(RELABEL),
          .json = "{\"Job\":7,\"Volume\":\"pvc-1\"}" },

        { "ownership/walked", "ownership pvc-1 1000", CALLS(OWNERSHIP, WAIT("('done', {" GIVEN "})")),
          .out = "          Volume: pvc-1\n             Job: 7\n          Result: done\n        Duration: 2ms\n"
                 "       Ownership: walked\nOwnership reason: requested\n        FS group: 1000\n"
                 "         Entries: 12\n Entries changed: 3\n" },
        { "ownership/options",
          "ownership pvc-1 4294967294 --read-only --force --max-entries-per-second=5000 --timeout=1min -q",
          CALLS(CALL("ApplyOwnership",
                     "('pvc-1', uint32 4294967294, {'ReadOnly': <true>, 'Force': <true>, 'MaxEntriesPerSecond': <uint64 "
                     "5000>, 'TimeoutUSec': <uint64 60000000>})",
                     "(objectpath '" JOB7 "',)"),
                WAIT("('done', {" GIVEN "})")) },
        { "ownership/skipped", "ownership pvc-1 0",
          CALLS(CALL("ApplyOwnership", "('pvc-1', uint32 0, " NO_OPTIONS ")", "(objectpath '" JOB7 "',)"),
                WAIT("('done', {'Ownership': <'skipped'>, 'OwnershipReason': <'complete'>, 'FSGroup': <uint32 0>})")),
          .out = "          Volume: pvc-1\n             Job: 7\n          Result: done\n       Ownership: skipped\n"
                 "Ownership reason: complete\n        FS group: 0\n" },
        { "ownership/none", "ownership pvc-1 1000",
          CALLS(OWNERSHIP, WAIT("('done', {'Ownership': <'none'>, 'OwnershipReason': <'read-only'>})")),
          .out = "          Volume: pvc-1\n             Job: 7\n          Result: done\n       Ownership: none\n"
                 "Ownership reason: read-only\n" },
        { "ownership/failed", "ownership pvc-1 1000",
          CALLS(OWNERSHIP,
                WAIT("('EntriesFailed', {'ErrorMessage': <'1 of 12 entries could not be changed: a\\\\x0ab: no.'>})")),
          .code = 1, .err = "selvolctl: pvc-1: 1 of 12 entries could not be changed: a\\x0ab: no.\n" },
        { "ownership/failed-json", "ownership pvc-1 1000 --json",
          CALLS(OWNERSHIP,
                WAIT("('EntriesFailed', {'ErrorMessage': <'No.'>, " GIVEN ", 'Failures': <[('a', 'no')]>})")),
          .code = 1,
          .json = "{\"DurationUSec\":2113,\"EntriesChanged\":3,\"EntriesDone\":12,\"ErrorMessage\":\"No.\","
                  "\"ErrorName\":\"EntriesFailed\",\"FSGroup\":1000,\"Failures\":[{\"Message\":\"no\","
                  "\"Path\":\"a\"}],\"Job\":7,\"Ownership\":\"walked\",\"OwnershipReason\":\"requested\","
                  "\"Result\":\"EntriesFailed\",\"Volume\":\"pvc-1\"}" },
        { "ownership/conflict-later", "ownership pvc-1 1000",
          CALLS(OWNERSHIP, WAIT("('GroupConflict', {'ErrorMessage': <'pod-B has come.'>})")), .code = 3,
          .err = "selvolctl: pvc-1: pod-B has come.\n" },
        { "ownership/refused", "ownership pvc-1 1000",
          CALLS(FAIL("ApplyOwnership", "('pvc-1', uint32 1000, " NO_OPTIONS ")", "org.selvol1.Error.GroupConflict",
                     "pvc-1 is for group 5 at pod-B.")),
          .code = 3, .err = "selvolctl: pvc-1 is for group 5 at pod-B.\n" },
        { "ownership/no-wait", "ownership pvc-1 1000 --no-wait", CALLS(OWNERSHIP), .out = "7\n" },
        { "ownership/no-wait-json", "ownership pvc-1 1000 --no-wait --json", CALLS(OWNERSHIP),
          .json = "{\"Job\":7,\"Volume\":\"pvc-1\"}" },
        { "ownership/name", "ownership pvc-1 'st\033aff'", .code = 2,
          .err = "selvolctl: 'st\\x1baff' is not the number of a group, at most 4294967294.\n" },
        { "ownership/gid-none", "ownership pvc-1 4294967295", .code = 2,
          .err = "selvolctl: '4294967295' is not the number of a group, at most 4294967294.\n" },
        { "ownership/negative", "ownership pvc-1 -- -1", .code = 2,
          .err = "selvolctl: '-1' is not the number of a group, at most 4294967294.\n" },
        { "ownership/operands", "ownership pvc-1", .code = 2,
          .err = "selvolctl: 'ownership' takes VOLUME GID. See 'selvolctl ownership --help'.\n" },
        { "ownership/fs-group", "ownership pvc-1 1 --fs-group=2", .code = 2,
          .err = "selvolctl: Option --fs-group is not for 'ownership' (only for plan, verify, mount, adopt).\n" },

        { "verify/misowned", "verify pvc-1 --depth=full --fs-group=1000",
          CALLS(CALL("VerifyLabel", "('pvc-1', '', {'FSGroup': <uint32 1000>, 'Depth': <'full'>})",
                     "(true, '" CONTEXT
                     "', {'FSGroup': <uint32 1000>, 'EntriesDone': <uint64 9>, 'EntriesMisowned': <uint64 "
                     "2>, 'Mismatches': <[('a', 'group 5, mode 0600')]>, 'Text': <'2 have another group.'>})")),
          .code = 5,
          .out = "      Volume: pvc-1\n     Matches: yes\n      Actual: " CONTEXT
                 "\n    FS group: 1000\n     Entries: 9\nWrong groups: 2\n  Mismatches: 1\n         Why: 2 have "
                 "another group.\n\nPATH MESSAGE\na    group 5, mode 0600\n" },
        { "verify/owned", "verify pvc-1 --depth=full",
          CALLS(CALL("VerifyLabel", "('pvc-1', '', {'Depth': <'full'>})",
                     "(true, '', {'FSGroup': <uint32 0>, 'EntriesMisowned': <uint64 0>})")),
          .out = "      Volume: pvc-1\n     Matches: yes\n    FS group: 0\nWrong groups: 0\n" },
        { "verify/misowned-quiet", "verify pvc-1 -q",
          CALLS(CALL("VerifyLabel", "('pvc-1', '', " NO_OPTIONS ")", "(true, '', {'EntriesMisowned': <uint64 1>})")),
          .code = 5 },
        { "verify/full", "verify pvc-1 --depth=full --max-entries-per-second=2",
          CALLS(CALL("VerifyLabel", "('pvc-1', '', {'Depth': <'full'>, 'MaxEntriesPerSecond': <uint64 2>})",
                     VERIFIED)),
          .code = 5,
          .out = "        Volume: pvc-1\n       Matches: no\n        Actual: " CONTEXT "\n      Expected: " CONTEXT
                 "\n         Depth: full\n       Entries: 31250\n"
                 "  Wrong labels: 2\nEntries failed: 1\n    Mismatches: 2\n           Why: 2 of 31250 differ.\n"
                 "           Job: 7\n\nPATH   MESSAGE\ndata/a u:r:tmp_t:s0\nb      -\n" },
        { "verify/mismatches-json", "verify pvc-1 --json --depth full",
          CALLS(CALL("VerifyLabel", "('pvc-1', '', {'Depth': <'full'>})", VERIFIED)), .code = 5,
          .json = "{\"Actual\":\"" CONTEXT "\",\"Depth\":\"full\",\"EntriesDone\":31250,\"EntriesFailed\":1,"
                  "\"EntriesMismatched\":2,\"Expected\":\"" CONTEXT "\",\"Job\":7,\"Matches\":false,"
                  "\"Mismatches\":[{\"Message\":\"u:r:tmp_t:s0\",\"Path\":\"data/a\"},{\"Message\":\"\",\"Path\":"
                  "\"b\"}],\"Text\":\"2 of 31250 differ.\",\"Volume\":\"pvc-1\"}" },

        { "jobs/table", "jobs", CALLS(GET_OBJECTS(JOBS)),
          .out = "ID OPERATION VOLUME  STATE   DURATION PERCENT RATE WAITS-FOR         RESULT\n"
                 "7  verify    /té\\x1b ended   1.5s     -       -    -                 TimedOut\n"
                 "10 relabel   pvc-1   acting  -        25      100  -                 -\n"
                 "11 mount     pvc-1   waiting -        -       -    other jobs to end -\n"
                 "\n3 jobs listed.\n" },
        { "jobs/waiting", "jobs --no-legend",
          CALLS(GET_OBJECTS(
                  "({objectpath '/org/selvol1/job/3': {'org.selvol1.Job': {'Id': <uint64 3>, 'Operation': <'mount'>, 'Volume': "
                  "<'pvc-1'>, 'State': <'waiting'>, 'WaitsFor': <[{'Volume': <'pvc-1'>, 'Holder': <'pod-A'>, 'Target': "
                  "<'/a\\u001b'>}, {'Target': <'/mnt'>}]>}}, '/org/selvol1/job/4': {'org.selvol1.Job': {'Id': <uint64 4>, "
                  "'Operation': <'mount'>, 'Volume': <'pvc-1'>, 'State': <'waiting'>, 'WaitsFor': <[{'Target': <'/mnt'>}]>}}, "
                  "'/org/selvol1/job/5': {'org.selvol1.Job': {'Id': <uint64 5>, 'Operation': <'unmount'>, 'Volume': <'pvc-1'>, "
                  "'State': <'waiting'>, 'WaitsFor': <[{'Job': <uint64 3>, 'Operation': <'mount'>, 'Volume': <'pvc-1'>}]>}}, "
                  "'/org/selvol1/job/6': {'org.selvol1.Job': {'Id': <uint64 6>, 'Operation': <'mount'>, 'Volume': <'pvc-1'>, "
                  "'State': <'waiting'>, 'WaitsFor': <[{'Holder': <'/t'>, 'Target': <'/t'>}]>}}, '/org/selvol1/job/7': "
                  "{'org.selvol1.Job': {'Id': <uint64 7>, 'Operation': <'mount'>, 'Volume': <'v'>, 'State': <'waiting'>, "
                  "'Callers': <uint32 0>, 'WaitsFor': <@aa{sv} []>}}},)")),
          .out = "3 mount   pvc-1 waiting - pod-A at /a\\x1b, and 1 more\n"
                 "4 mount   pvc-1 waiting - a mount by others at /mnt\n"
                 "5 unmount pvc-1 waiting - job 3 (mount of pvc-1)\n"
                 "6 mount   pvc-1 waiting - /t\n"
                 "7 mount   v     waiting - its caller, who has gone\n" },
        { "jobs/none", "jobs --no-legend", CALLS(NO_OBJECTS) },
        { "jobs/json", "jobs --json", CALLS(GET_OBJECTS(JOBS)),
          .json = "[{\"DurationUSec\":1500000,\"EndedUSec\":1767225601500000,\"EntriesDone\":0,\"EntriesTotal\":null,\"ErrorMessage\":\"Slow.\",\"ErrorName\":\"TimedOut\","
                  "\"Id\":7,\"Operation\":\"verify\",\"Percent\":null,\"RemainingUSec\":null,"
                  "\"Result\":\"TimedOut\",\"StartedUSec\":1767225600000000,\"State\":\"ended\",\"Volume\":\"/t\\u00e9\\u001b\"},{\"Context\":\"" CONTEXT
                  "\",\"DurationUSec\":null,\"EntriesChanged\":5,\"EntriesDone\":500,\"EntriesFailed\":0,\"EntriesPerSecond\":100,"
                  "\"EntriesTotal\":2000,\"ErrorMessage\":null,\"ErrorName\":null,"
                  "\"ExpectedEndUSec\":1767225600000000,\"Id\":10,\"Operation\":\"relabel\",\"Percent\":25,"
                  "\"RemainingUSec\":null,\"Result\":null,\"StartedUSec\":32503680000000000,\"State\":\"acting\","
                  "\"Volume\":\"pvc-1\"},{\"DurationUSec\":null,\"Id\":11,\"Operation\":\"mount\",\"Percent\":null,"
                  "\"RemainingUSec\":null,\"Result\":null,\"State\":\"waiting\",\"Volume\":\"pvc-1\"}]" },

        { "cancel/canceled", "cancel 7",
          CALLS(GET_JOB7,
                WAIT("('Canceled', {'ErrorMessage': <'x'>, 'EntriesDone': <uint64 300>, 'EntriesChanged': <uint64 2>})"),
                CANCEL),
          .out = "            Job: 7\n       Canceled: yes\n         Result: Canceled\n        Message: x\n"
                 "        Entries: 300\nEntries changed: 2\n" },
        { "cancel/ended", "cancel 7", CALLS(GET_JOB7, WAIT("('done', @a{sv} {})"), CANCEL),
          .out = "     Job: 7\nCanceled: no\n  Result: done\n" },
        { "cancel/json", "cancel 7 --json",
          CALLS(GET_JOB7, WAIT("('Canceled', {'EntriesDone': <uint64 0>})"), CANCEL),
          .json = "{\"Canceled\":true,\"EntriesDone\":0,\"Job\":7,\"Result\":\"Canceled\"}" },
        { "cancel/quiet", "cancel 7 -q", CALLS(GET_JOB7, WAIT("('Canceled', @a{sv} {})"), CANCEL) },
        { "cancel/denied", "cancel 7",
          CALLS(GET_JOB7, WAIT("('Canceled', @a{sv} {})"),
                { JOB7, JOB, "Cancel", "()", NULL, "org.freedesktop.DBus.Error.AccessDenied", "No, says polkit." }),
          .code = 4, .err = "selvolctl: job 7: No, says polkit.\n" },
        { "cancel/unknown", "cancel 8",
          CALLS(FAIL("GetJob", "(uint64 8,)", "org.selvol1.Error.NoSuchJob",
                     "Job 8 is not known: it never ran, or has ended and its result is no longer kept.")),
          .code = 1,
          .err = "selvolctl: Job 8 is not known: it never ran, or has ended and its result is no longer kept. 'selvolctl jobs' shows all jobs.\n" },
        { "cancel/no-number", "cancel pvc-1", .code = 2,
          .err = "selvolctl: 'pvc-1' is not the number of a job. See 'selvolctl jobs'.\n" },
};

static const Case flooded_cases[] = {
        { "job", "cancel 8",
          CALLS(FAIL("GetJob", "(uint64 8,)", "org.selvol1.Error.NoSuchJob", "Job 8 is not known.")), .code = 1,
          .err = "selvolctl: Job 8 is not known. 'selvolctl jobs' shows all jobs.\n" },
        { "cancel", "cancel 7 -q", CALLS(GET_JOB7, WAIT("('Canceled', @a{sv} {})"), CANCEL) },
        { "jobs", "jobs --no-legend", CALLS(NO_OBJECTS) },
        { "relabel", "relabel pvc-1 -q", CALLS(RELABEL, WAIT(DONE)) },
};

TEST_FIXTURE_ROWS(test_flooded, "/ctl-job/flooded", flooded_cases) {
        test_flooded_case(f, data);
}

void add_tests(void) {
        add_ctl_rows("/ctl-job", cases, test_case);
}
