/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* selvolctl against a mock of org.selvol1 on a bus of its own: what it asks for, what it prints, how it
 * exits. */
#include <string.h>

#include <glib/gstdio.h>

#include "ctl-support.h"

#define MOUNTED                                                                                            \
        "('" CONTEXT                                                                                       \
        "', '', {'Strategy': <'context-mount'>, 'Reason': <'context-mount'>, 'Text': <'No file \033is'>, " \
        "'FSType': <'ext4'>, 'Device': <'254:16'>, 'MountID': <uint64 84>, 'MountOptions': <['noatime', "  \
        "'discard']>, 'LabelState': <'unknown'>, 'Tainted': <true>})"

#define RELABELED                                                                                         \
        "('" CONTEXT "', '', {'Strategy': <'relabel'>, 'LabelState': <'complete'>, "                      \
        "'Relabel': <'walked'>, 'RelabelReason': <'tainted'>, 'Job': <objectpath '" JOB7                  \
        "'>, 'EntriesDone': <uint64 300>, 'EntriesChanged': <uint64 250>, 'EntriesSkipped': <uint64 0>, " \
        "'DirectoriesModified': <uint64 2>, 'Submounts': <['m', 'n\\u0007']>})"

#define HOLDER_A                                                                                                 \
        "{'Holder': <'pod-A'>, 'Target': <'/var/lib/kubelet/a'>, 'SinceUSec': <uint64 1767225600000000>, "       \
        "'State': <'mounted'>, 'ReadOnly': <false>, 'Adopted': <false>, 'FSGroup': <uint32 2000>, 'DiskGroup': " \
        "<uint32 0>}"

#define VOLUME_PROPERTIES                                                                               \
        "{'Id': <'pvc-1'>, 'Source': <'/dev/vdb'>, 'FSType': <'ext4'>, 'Driver': <'ebs.csi.aws.com'>, " \
        "'VolumeType': <'csi'>, 'AccessMode': <'ReadWriteOncePod'>, 'Strategy': <'context-mount'>, "    \
        "'Context': <'" CONTEXT "'>, 'LabelState': <'partial'>, 'LabelContext': <'u:r:t:s0:c7'>, "      \
        "'Tainted': <true>, 'MountOptions': <['noatime']>, 'Holders': <[" HOLDER_A "]>, "               \
        "'OwnershipState': <'partial'>, 'DiskGroup': <uint32 0>, "                                      \
        "'LastVerifiedUSec': <uint64 1767225600000000>, 'Job': <objectpath '" JOB7 "'>}"

#define VOLUME_OF_LATER                                                                                                      \
        "{'Id': <'pvc-1'>, 'Source': <'/dev/vdb'>, 'FSType': <'ext4'>, 'Strategy': <'context-mount'>, 'Context': <'" CONTEXT \
        "'>, 'LabelState': <'partial'>, 'LabelContext': <'u:r:t:s0:c7'>, 'DiskGroup': <uint32 0>, 'Holders': <[{'Holder': "  \
        "<'pod-A'>, 'Target': <'/var/lib/kubelet/a'>, 'SinceUSec': <uint64 32503680000000000>, 'State': <'mounted'>, "       \
        "'ReadOnly': <false>}]>}"

#define FREE_VOLUME                                                                                                                                     \
        "{'Id': <'pvc-0'>, 'Source': <'/dev/vdc'>, 'FSType': <'xfs'>, 'Driver': <''>, 'VolumeType': <'csi'>, "                                          \
        "'AccessMode': <''>, 'Strategy': <'relabel'>, 'Context': <''>, 'LabelState': <'complete'>, "                                                    \
        "'Tainted': <false>, 'MountOptions': <@as []>, 'Holders': <@aa{sv} []>, 'OwnershipState': "                                                     \
        "<'unknown'>, 'DiskGroup': <uint32 4294967295>, 'LastVerifiedUSec': <uint64 0>, 'LastUsedUSec': <uint64 1767225600000000>, 'Job': <objectpath " \
        "'/'>}"

#define CONTEXT_MOUNT "'SELinuxRelabelPolicy': <'OnVolumeMount'>, 'SELinuxMountSupported': <true>"
#define PLAN          "plan pvc-1 /dev/vdb /t"
#define AT_T          "('pvc-1', '/dev/vdb', '/t', " NO_OPTIONS ")"
#define PLAN_REFUSED                                                                                              \
        "({'Strategy': <'context-mount'>, 'Reason': <'context-mount'>, 'Context': <'" CONTEXT                     \
        "'>, 'Conflicts': <[{'Volume': <'pvc-1'>, 'Holder': <'pod-B'>, 'Target': <'/var/lib/kubelet/b'>, "        \
        "'Context': <'u:r:t:s0:c7'>, 'SinceUSec': <uint64 1767225600000000>}, {'Target': <'/mnt'>, 'SinceUSec': " \
        "<uint64 5000000>}]>, 'ErrorName': <'ContextConflict'>, 'ErrorMessage': <'pvc-1 is held by \\\\x1b.'>},)"

#define MAPPED                                                                                          \
        "('', '', {'Strategy': <'none'>, 'Ownership': <'mapped'>, 'OwnershipReason': <'other-group'>, " \
        "'FSGroup': <uint32 2000>, 'DiskGroup': <uint32 1000>, 'OwnershipState': <'complete'>})"

#define GET_UNRECORDED(list) GET_OF_MANAGER("UnrecordedMounts", "(<@a(ss) " list ">,)")

#define TWO_HOLDERS                                                                                     \
        GET_OBJECTS("({objectpath '" PVC1                                                               \
                    "': {'org.selvol1.Volume': {'Id': <'a'>, 'Holders': <[{'Holder': <'x'>, 'Target': " \
                    "<'/1'>}, {'Holder': <'y'>, 'Target': <'/2'>}]>}}},)")

/* pod-A's holder is of the year 3000, so that its age is 0. */
#define TWO_VOLUMES                                                                                               \
        CALLS(GET_OBJECTS("({objectpath '" PVC1 "': {'org.selvol1.Volume': " VOLUME_OF_LATER                      \
                          ", 'org.freedesktop.Peer': {}}, '/org/selvol1/volume/pvc_2d0': {'org.selvol1.Volume': " \
                          "{'Id': <'pvc-0'>, 'Holders': <@aa{sv} []>, 'LastUsedUSec': <uint64 0>}}},)"),          \
              GET_UNRECORDED("[]"))

static const Case cases[] = {
        { "list/empty", "list", CALLS(NO_OBJECTS, GET_UNRECORDED("[]")), .out = "0 of 0 volumes listed.\n" },
        { "list/table", "", TWO_VOLUMES,
          .out = "ID    TARGET             HOLDER LEVEL     STATE   AGE\n"
                 "pvc-1 /var/lib/kubelet/a pod-A  s0:c0,c10 mounted 0s\n\n"
                 "1 of 2 volumes listed; --all lists those that nobody holds, too.\n" },
        { "list/all", "list -a --no-legend", TWO_VOLUMES,
          .out = "pvc-0 -                  -     -         free    -\n"
                 "pvc-1 /var/lib/kubelet/a pod-A s0:c0,c10 mounted 0s\n" },
        { "list/sorted", "list -a --no-legend --sort=state", TWO_VOLUMES,
          .out = "pvc-0 -                  -     -         free    -\n"
                 "pvc-1 /var/lib/kubelet/a pod-A s0:c0,c10 mounted 0s\n" },
        { "list/wide", "list -o wide", TWO_VOLUMES,
          .out = "ID    TARGET             HOLDER STATE   AGE CONTEXT                                      LABEL-CONTEXT "
                 "DISK-GROUP FS-TYPE SOURCE\n"
                 "pvc-1 /var/lib/kubelet/a pod-A  mounted 0s  " CONTEXT
                 " u:r:t:s0:c7   0          ext4    /dev/vdb\n\n"
                 "1 of 2 volumes listed; --all lists those that nobody holds, too.\n" },
        { "list/name", "list -o name --all", TWO_VOLUMES, .out = "pvc-0\npvc-1\n" },
        { "list/pattern", "list 'pvc-?' --all -o name", TWO_VOLUMES, .out = "pvc-0\npvc-1\n" },
        { "list/pattern-of-holder", "list 'pod-*' --all -o name", TWO_VOLUMES, .out = "pvc-1\n" },
        { "list/pattern-of-target", "list /var/lib/kubelet/a -o name", TWO_VOLUMES, .out = "pvc-1\n" },
        { "list/pattern-of-none", "list pvc -o json", TWO_VOLUMES, .json = "[]" },
        { "list/state", "list --no-legend",
          CALLS(GET_OBJECTS(
                        "({objectpath '" PVC1 "': {'org.selvol1.Volume': {'Id': <'a'>, 'Strategy': <'relabel'>, "
                        "'LabelState': <'partial'>, 'Holders': <[{'Target': <'/1'>, 'State': <'mounted'>, 'CoveredBy': "
                        "<'x'>}, {'Target': <'/2'>, 'State': <'mounting'>, 'CoveredBy': <'x'>}, {'Target': <'/3'>, "
                        "'State': <'mounted'>, 'ReadOnly': <true>}]>}}, '/b': {'org.selvol1.Volume': {'Id': <'b'>, "
                        "'Strategy': <'context-mount'>, 'LabelState': <'partial'>, 'Holders': <[{'Target': <'/4'>, "
                        "'State': <'mounted'>, 'ReadOnly': <true>}, {'Target': <'/5'>, 'State': <'mounted'>}]>}}},)"),
                GET_UNRECORDED("[]")),
          .out = "a /1 - - hidden    -\na /2 - - mounting  -\na /3 - - partial   -\nb /4 - - read-only -\n"
                 "b /5 - - mounted   -\n" },
        { "list/json", "list --all --json",
          CALLS(GET_OBJECTS("({objectpath '" PVC1 "': {'org.selvol1.Volume': " VOLUME_PROPERTIES "}, "
                            "'/org/selvol1/volume/pvc_2d0': {'org.selvol1.Volume': " FREE_VOLUME "}},)"),
                GET_UNRECORDED("[]")),
          .json = "[{\"AccessMode\":null,\"Context\":null,\"DiskGroup\":null,\"Driver\":null,\"FSType\":\"xfs\","
                  "\"Holders\":[],\"Id\":\"pvc-0\",\"Job\":null,\"LabelState\":\"complete\","
                  "\"LastUsedUSec\":1767225600000000,\"LastVerifiedUSec\":null,\"MountOptions\":[],\"OwnershipState\":\"unknown\","
                  "\"Source\":\"/dev/vdc\",\"Strategy\":\"relabel\",\"Tainted\":false,\"VolumeType\":\"csi\"},"
                  "{\"AccessMode\":\"ReadWriteOncePod\",\"Context\":\"" CONTEXT
                  "\",\"DiskGroup\":0,\"Driver\":\"ebs.csi.aws.com\",\"FSType\":\"ext4\","
                  "\"Holders\":[{\"Adopted\":false,\"DiskGroup\":0,\"FSGroup\":2000,\"Holder\":\"pod-A\","
                  "\"ReadOnly\":false,\"SinceUSec\":1767225600000000,\"State\":\"mounted\","
                  "\"Target\":\"/var/lib/kubelet/a\"}],\"Id\":\"pvc-1\",\"Job\":7,\"LabelContext\":\"u:r:t:s0:c7\","
                  "\"LabelState\":\"partial\",\"LastVerifiedUSec\":1767225600000000,\"MountOptions\":[\"noatime\"],"
                  "\"OwnershipState\":\"partial\",\"Source\":\"/dev/vdb\",\"Strategy\":\"context-mount\","
                  "\"Tainted\":true,\"VolumeType\":\"csi\"}]" },
        { "list/json-empty", "list --json", CALLS(NO_OBJECTS, GET_UNRECORDED("[]")), .json = "[]" },
        { "list/other-types", "list --no-legend",
          CALLS(GET_OBJECTS("({objectpath '" PVC1
                            "': {'org.selvol1.Volume': {'Id': <uint32 7>, 'Strategy': <[1, 2]>, 'Context': "
                            "<{'a': <1>}>, 'FSType': <(1, 'a')>, 'Holders': <''>}}},)"),
                GET_UNRECORDED("[]")),
          .out = "" },
        { "list/unrecorded", "list", CALLS(NO_OBJECTS, GET_UNRECORDED("[('pvc-1', '/var/lib/kubelet/a')]")),
          .out = "0 of 0 volumes listed.\n",
          .err = "selvolctl: Volume pvc-1 is mounted at /var/lib/kubelet/a, but not recorded, as the record was lost: unmount it with "
                 "\"selvolctl unmount /var/lib/kubelet/a\", or record it with \"selvolctl adopt pvc-1 "
                 "/var/lib/kubelet/a\"\n" },

        { "show/text", "show pvc-1", CALLS(GET_PVC1, GET_PROPERTIES(VOLUME_PROPERTIES)),
          .out = "             ID: pvc-1\n         Source: /dev/vdb\n        FS type: ext4\n"
                 "         Driver: ebs.csi.aws.com\n    Volume type: csi\n    Access mode: ReadWriteOncePod\n"
                 "       Strategy: context-mount\n        Context: " CONTEXT "\n"
                 "    Label state: partial\n  Label context: u:r:t:s0:c7\n"
                 "  Mount options: noatime\n        Holders: 1\nOwnership state: partial\n     Disk group: 0\n"
                 "  Last verified: 2026-01-01 00:00:00 UTC\n            Job: 7\n\n"
                 "HOLDER TARGET             STATE   READ-ONLY ADOPTED FS-GROUP DISK-GROUP SINCE\n"
                 "pod-A  /var/lib/kubelet/a mounted no        no      2000     0          "
                 "2026-01-01 00:00:00 UTC\n" },
        { "show/free", "show pvc-1", CALLS(GET_PVC1, GET_PROPERTIES(FREE_VOLUME)),
          .out = "             ID: pvc-0\n         Source: /dev/vdc\n        FS type: xfs\n    Volume type: csi\n"
                 "       Strategy: relabel\n    Label state: complete\n        Holders: 0\n"
                 "Ownership state: unknown\n      Last used: 2026-01-01 00:00:00 UTC\n" },
        { "show/target", "show /var/lib/kubelet/a --no-legend",
          CALLS(CALL("GetVolumeByTarget", "('/var/lib/kubelet/a',)", "(objectpath '" PVC1 "',)"),
                GET_PROPERTIES("{'Id': <'pvc-1'>, 'Holders': <[{'Target': <'/a'>}, {'Holder': <'h'>}]>}")),
          .out = "     ID: pvc-1\nHolders: 2\n\n- /a -\nh -  -\n" },
        { "show/target-clean", "show //a/./b/ --json",
          CALLS(CALL("GetVolumeByTarget", "('/a/b',)", "(objectpath '" PVC1 "',)"),
                GET_PROPERTIES("{'Id': <'pvc-1'>}")),
          .json = "[{\"Id\":\"pvc-1\"}]" },
        { "show/id-like-path", "show --volume=/a//b/ --json",
          CALLS(CALL("GetVolume", "('/a//b/',)", "(objectpath '" PVC1 "',)"), GET_PROPERTIES("{'Id': <'/a//b/'>}")),
          .json = "[{\"Id\":\"/a//b/\"}]" },
        { "show/target-unknown", "show /a",
          CALLS(FAIL("GetVolumeByTarget", "('/a',)", "org.selvol1.Error.NoSuchVolume", "No.")), .code = 1,
          .err = "selvolctl: /a: No.\n" },
        { "show/groups-json", "show pvc-1 --json",
          CALLS(GET_PVC1,
                GET_PROPERTIES(
                        "{'Holders': <[{'Holder': <'pod-A'>, 'Target': <'/a'>, 'SinceUSec': <uint64 5>, 'FSGroup': "
                        "<uint32 2000>, 'DiskGroup': <uint32 1000>}, {'Holder': <'pod-B'>, 'Target': <'/b'>, "
                        "'ReadOnly': <true>}]>, 'DiskGroup': <uint32 1000>, 'OwnershipState': <'complete'>}")),
          .json = "[{\"DiskGroup\":1000,\"Holders\":[{\"DiskGroup\":1000,\"FSGroup\":2000,\"Holder\":\"pod-A\","
                  "\"SinceUSec\":5,\"Target\":\"/a\"},{\"Holder\":\"pod-B\",\"ReadOnly\":true,\"Target\":\"/b\"}],"
                  "\"OwnershipState\":\"complete\"}]" },
        { "show/absent", "show pvc-9",
          CALLS(FAIL("GetVolume", "('pvc-9',)", "org.selvol1.Error.NoSuchVolume", "Volume pvc-9 is not known.")),
          .code = 1, .err = "selvolctl: Volume pvc-9 is not known. 'selvolctl list' shows all volumes.\n" },
        { "show/one-absent", "show pvc-9 pvc-1",
          CALLS(FAIL("GetVolume", "('pvc-9',)", "org.selvol1.Error.NoSuchVolume", "No."), GET_PVC1,
                GET_PROPERTIES("{'Id': <'pvc-1'>, 'Holders': <@aa{sv} []>}")),
          .code = 1, .out = "     ID: pvc-1\nHolders: 0\n", .err = "selvolctl: pvc-9: No.\n" },
        { "show/two-json", "show pvc-9 pvc-1 --json",
          CALLS(FAIL("GetVolume", "('pvc-9',)", "org.selvol1.Error.NoSuchVolume", "No \033."), GET_PVC1,
                GET_PROPERTIES("{'Id': <'pvc-1'>}")),
          .code = 1,
          .out = "[{\"Subject\":\"pvc-9\",\"ErrorName\":\"NoSuchVolume\",\"ErrorMessage\":\"No \\u001B.\"},{\"Id\":\"pvc-1\"}]\n" },
        { "list/error-json", "list --json",
          CALLS(GET_OBJECTS(NULL, "org.freedesktop.DBus.Error.AccessDenied", "No.")), .code = 4,
          .out = "{\"ErrorName\":\"org.freedesktop.DBus.Error.AccessDenied\",\"ErrorMessage\":\"No.\"}\n" },
        { "show/terminal-escapes", "show pvc-1 --no-legend",
          CALLS(GET_PVC1, GET_PROPERTIES("{'Source': <'/dev/\\u001b[2J\\u0085é'>}")),
          .out = "Source: /dev/\\x1b[2J\\xc2\\x85é\n" },
        { "show/terminal-escapes-json", "show pvc-1 --json",
          CALLS(GET_PVC1, GET_PROPERTIES("{'Source': <'\\u001b[2J\\u0085é'>}")),
          .out = "[{\"Source\":\"\\u001B[2J\\u0085\\u00E9\"}]\n" },

        { "mount/all-options",
          "mount pvc-1 /dev/vdb /t --fs-type ext4 -o noatime,commit=5 --options "
          "'context=\"u:r:t:s0:c1,c2\",,discard' "
          "--read-only --holder pod-A --driver d --volume-type csi --access-mode ReadWriteOnce --context "
          "u:r:t:s0 "
          "--user u --role r --type t --level s0:c10,c0 --policy OnVolumeMount --selinux-mount-supported=no "
          "--relabel-by none --wait=1h --timeout '1min 30s'",
          CALLS(CALL(
                  "MountVolume",
                  "('pvc-1', '/dev/vdb', '/t', {'SELinuxLevel': <'s0:c10,c0'>, 'SELinuxContext': <'u:r:t:s0'>, "
                  "'SELinuxUser': <'u'>, 'SELinuxRole': <'r'>, 'SELinuxType': <'t'>, 'SELinuxRelabelPolicy': "
                  "<'OnVolumeMount'>, 'SELinuxMountSupported': <false>, 'RelabelBy': <'none'>, 'FSType': <'ext4'>, "
                  "'MountOptions': <['noatime', 'commit=5', 'context=\"u:r:t:s0:c1,c2\"', 'discard']>, 'ReadOnly': "
                  "<true>, 'Holder': <'pod-A'>, 'Driver': <'d'>, 'VolumeType': <'csi'>, 'AccessMode': "
                  "<'ReadWriteOnce'>, 'WaitUSec': <uint64 3600000000>, 'TimeoutUSec': <uint64 90000000>})",
                  MOUNTED)),
          .out = "       Volume: pvc-1\n       Target: /t\n      Context: " CONTEXT "\n Runtime flag: none\n"
                 "     Strategy: context-mount\n          Why: No file \\x1bis\n      FS type: ext4\n"
                 "       Device: 254:16\nMount options: noatime,discard\n" },
        { "mount/level", "mount pvc-1 /dev/vdb /t -q --level=s0:c1",
          CALLS(CALL("MountVolume", "('pvc-1', '/dev/vdb', '/t', {'SELinuxLevel': <'s0:c1'>, " CONTEXT_MOUNT "})",
                     MOUNTED)) },
        { "mount/level-of-tag", "mount pvc-1 'LABEL=My Data' /t -q --level=s0:c1",
          CALLS(CALL("MountVolume",
                     "('pvc-1', 'LABEL=My Data', '/t', {'SELinuxLevel': <'s0:c1'>, " CONTEXT_MOUNT "})", MOUNTED)) },
        { "mount/context-of-tmpfs", "mount pvc-1 none /t -q --context=u:r:t:s0 --fs-type=tmpfs",
          CALLS(CALL("MountVolume",
                     "('pvc-1', 'none', '/t', {'SELinuxContext': <'u:r:t:s0'>, " CONTEXT_MOUNT
                     ", 'FSType': <'tmpfs'>})",
                     MOUNTED)) },
        { "plan/level", "plan pvc-1 /srv/image /t -q --level=s0:c1",
          CALLS(CALL("PlanVolume", "('pvc-1', '/srv/image', '/t', {'SELinuxLevel': <'s0:c1'>, " CONTEXT_MOUNT "})",
                     "({'Strategy': <'context-mount'>},)")) },
        { "mount/level-of-server", "mount pvc-1 srv:/x /t -q --level=s0:c1 --fs-type=nfs",
          CALLS(CALL("MountVolume", "('pvc-1', 'srv:/x', '/t', {'SELinuxLevel': <'s0:c1'>, 'FSType': <'nfs'>})",
                     MOUNTED)) },
        { "mount/level-and-policy", "mount pvc-1 /dev/vdb /t -q --level=s0:c1 --policy=Always",
          CALLS(CALL("MountVolume",
                     "('pvc-1', '/dev/vdb', '/t', {'SELinuxLevel': <'s0:c1'>, 'SELinuxRelabelPolicy': <'Always'>})",
                     MOUNTED)) },
        { "mount/level-and-driver", "mount pvc-1 /dev/vdb /t -q --level=s0:c1 --driver=d",
          CALLS(CALL("MountVolume", "('pvc-1', '/dev/vdb', '/t', {'SELinuxLevel': <'s0:c1'>, 'Driver': <'d'>})",
                     MOUNTED)) },
        { "mount/wait", "mount pvc-1 /dev/vdb /t -q --wait",
          CALLS(CALL("MountVolume", "('pvc-1', '/dev/vdb', '/t', {'WaitUSec': <uint64 3600000000>})", MOUNTED)) },
        { "mount/no-options", "mount pvc-1 /dev/vdb /t -q", CALLS(CALL("MountVolume", AT_T, MOUNTED)) },
        { "mount/json", "--json mount pvc-1 /dev/vdb /t", CALLS(CALL("MountVolume", AT_T, MOUNTED)),
          .json = "{\"Context\":\"" CONTEXT
                  "\",\"Device\":\"254:16\",\"FSType\":\"ext4\",\"LabelState\":\"unknown\",\"MountID\":84,"
                  "\"MountOptions\":[\"noatime\",\"discard\"],\"Reason\":\"context-mount\",\"RuntimeFlag\":null,"
                  "\"Strategy\":\"context-mount\",\"Tainted\":true,\"Target\":\"/t\","
                  "\"Text\":\"No file \\u001bis\",\"Volume\":\"pvc-1\"}" },
        { "mount/relabeled", "mount pvc-1 /dev/vdb /t --relabel-by service --force --max-entries-per-second 500",
          CALLS(CALL("MountVolume",
                     "('pvc-1', '/dev/vdb', '/t', {'RelabelBy': <'service'>, 'Force': <true>, "
                     "'MaxEntriesPerSecond': <uint64 500>})",
                     RELABELED)),
          .out = "              Volume: pvc-1\n              Target: /t\n             Context: " CONTEXT
                 "\n        Runtime flag: none\n            Strategy: relabel\n         Label state: complete\n"
                 "             Relabel: walked\n      Relabel reason: tainted\n                 Job: 7\n"
                 "             Entries: 300\n     Entries changed: 250\n     Entries skipped: 0\n"
                 "Directories modified: 2\n           Submounts: m,n\\x07\n" },
        { "mount/flag-json", "mount pvc-1 /dev/vdb /t --json",
          CALLS(CALL("MountVolume", AT_T,
                     "('', 'Z', {'Shared': <true>, 'ReadOnly': <true>, 'Later': <{'a': <(1, 2.5, [byte 3])>}>})")),
          .json = "{\"Later\":{\"a\":[1,2.5,[3]]},\"ReadOnly\":true,\"RuntimeFlag\":\"Z\",\"Shared\":true,"
                  "\"Target\":\"/t\",\"Volume\":\"pvc-1\"}" },
        { "mount/fs-group-options",
          "mount pvc-1 /dev/vdb /t -q --fs-group=0 --fs-group-policy=File "
          "--fs-group-change-policy=OnRootMismatch --user-namespace",
          CALLS(CALL("MountVolume",
                     "('pvc-1', '/dev/vdb', '/t', {'FSGroup': <uint32 0>, 'FSGroupPolicy': <'File'>, "
                     "'FSGroupChangePolicy': <'OnRootMismatch'>, 'UserNamespace': <true>})",
                     MOUNTED)) },
        { "mount/mapped", "mount pvc-1 /dev/vdb /t --fs-group 2000",
          CALLS(CALL("MountVolume", "('pvc-1', '/dev/vdb', '/t', {'FSGroup': <uint32 2000>})", MAPPED)),
          .out = "          Volume: pvc-1\n          Target: /t\n    Runtime flag: none\n"
                 "        Strategy: none\n       Ownership: mapped\nOwnership reason: other-group\n"
                 "        FS group: 2000\n      Disk group: 1000\n Ownership state: complete\n" },
        { "mount/not-mapped", "mount pvc-1 /dev/vdb /t --fs-group 4294967294",
          CALLS(CALL("MountVolume", "('pvc-1', '/dev/vdb', '/t', {'FSGroup': <uint32 4294967294>})",
                     "('', '', {'Ownership': <'walked'>, 'OwnershipReason': <'no-idmap'>, 'OwnershipDetail': "
                     "<'a\\\\x0ab: EINVAL'>, 'FSGroup': <uint32 4294967294>, 'DiskGroup': <uint32 4294967294>, "
                     "'OwnershipState': <'complete'>, 'EntriesDone': <uint64 3>, 'EntriesChanged': <uint64 2>})")),
          .out = "          Volume: pvc-1\n          Target: /t\n    Runtime flag: none\n"
                 "       Ownership: walked\nOwnership reason: no-idmap\nOwnership detail: a\\x0ab: EINVAL\n"
                 "        FS group: 4294967294\n      Disk group: 4294967294\n Ownership state: complete\n"
                 "         Entries: 3\n Entries changed: 2\n" },
        { "mount/group-conflict", "mount pvc-1 /dev/vdb /t",
          CALLS(FAIL("MountVolume", AT_T, "org.selvol1.Error.GroupConflict", "pvc-1 is for another group at pod-B.")),
          .code = 3, .err = "selvolctl: pvc-1 is for another group at pod-B.\n" },
        { "mount/conflict", "mount pvc-1 /dev/vdb /t",
          CALLS(FAIL("MountVolume", AT_T, "org.selvol1.Error.ContextConflict",
                     "pvc-1 is held by pod-B. Unmount it there first.")),
          .code = 3, .err = "selvolctl: pvc-1 is held by pod-B. Unmount it there first.\n" },
        { "mount/conflict-verbose", "mount pvc-1 /dev/vdb /t -v",
          CALLS(FAIL("MountVolume", AT_T, "org.selvol1.Error.ContextConflict", "pvc-1 is held by pod-B."),
                CALL("PlanVolume", AT_T, PLAN_REFUSED)),
          .code = 3,
          .out = "Conflicts: 2\n\n"
                 "VOLUME HOLDER TARGET             SINCE                   CONTEXT\n"
                 "pvc-1  pod-B  /var/lib/kubelet/b 2026-01-01 00:00:00 UTC u:r:t:s0:c7\n"
                 "-      -      /mnt               1970-01-01 00:00:05 UTC -\n",
          .err = "selvolctl: pvc-1 is held by pod-B.\n" },
        { "mount/conflict-json", "mount pvc-1 /dev/vdb /t --json",
          CALLS(FAIL("MountVolume", AT_T, "org.selvol1.Error.ContextConflict", "pvc-1 is held by pod-B."),
                CALL("PlanVolume", AT_T, PLAN_REFUSED)),
          .code = 3,
          .json = "{\"Conflicts\":[{\"Context\":\"u:r:t:s0:c7\",\"Holder\":\"pod-B\",\"SinceUSec\":1767225600000000,"
                  "\"Target\":\"/var/lib/kubelet/b\",\"Volume\":\"pvc-1\"},{\"SinceUSec\":5000000,\"Target\":\"/mnt\"}],"
                  "\"ErrorMessage\":\"pvc-1 is held by pod-B.\",\"ErrorName\":\"ContextConflict\",\"Subject\":\"pvc-1\"}" },
        { "mount/conflict-no-plan", "mount pvc-1 /dev/vdb /t --json",
          CALLS(FAIL("MountVolume", AT_T, "org.selvol1.Error.ContextConflict", "pvc-1 is held by pod-B."),
                FAIL("PlanVolume", AT_T, "org.freedesktop.DBus.Error.AccessDenied", "No.")),
          .code = 3,
          .json = "{\"ErrorMessage\":\"pvc-1 is held by pod-B.\",\"ErrorName\":\"ContextConflict\",\"Subject\":\"pvc-1\"}" },
        { "mount/print-flags", "mount pvc-1 /dev/vdb /t --print-flags",
          CALLS(CALL("MountVolume", AT_T, "('u:r:t:s0:c1,c2', '', @a{sv} {})")),
          .out = "--security-opt label=level:s0:c1,c2\n" },
        { "mount/print-flags-relabel", "mount pvc-1 /dev/vdb /t --print-flags",
          CALLS(CALL("MountVolume", AT_T, "('u:r:t:s0:c1', 'Z', @a{sv} {})")),
          .out = "--security-opt label=level:s0:c1\n",
          .err = "selvolctl: /t: The container runtime has to relabel the files: pass the volume with the flag Z.\n" },
        { "mount/print-flags-none", "mount pvc-1 /dev/vdb /t --print-flags",
          CALLS(CALL("MountVolume", AT_T, "('', '', @a{sv} {})")),
          .err = "selvolctl: /t: The label has no level, so the container needs no option for it.\n" },
        { "mount/access-denied", "mount pvc-1 /dev/vdb /t",
          CALLS(FAIL("MountVolume", AT_T, "org.freedesktop.DBus.Error.AccessDenied", "Permission denied")), .code = 4,
          .err = "selvolctl: pvc-1: Access denied: only root and members of the group selvol can call selvold. 'usermod -aG selvol USER' adds one, from the next login on.\n" },
        { "mount/interactive-authorization", "mount pvc-1 /dev/vdb /t --no-ask-password",
          CALLS(FAIL("MountVolume", AT_T, "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired",
                     "Interactive authentication required.")),
          .code = 4,
          .err = "selvolctl: pvc-1: Interactive authentication required. Call it as root or on a terminal, or add a rule for polkit, see selvold(8).\n" },
        { "mount/failed", "mount pvc-1 /dev/vdb /t",
          CALLS(FAIL("MountVolume", AT_T, "org.selvol1.Error.MountFailed", "wrong \033[31mfs\ntype")), .code = 1,
          .err = "selvolctl: pvc-1: wrong \\x1b[31mfs\ntype\n" },

        { "unmount/volume", "unmount pvc-1 -q",
          CALLS(GET_OBJECTS("({objectpath '" PVC1 "': {'org.selvol1.Volume': " VOLUME_OF_LATER "}},)"),
                CALL("UnmountVolume", "('pvc-1', '/var/lib/kubelet/a', " NO_OPTIONS ")",
                     "({'Unmounted': <true>},)")) },
        { "unmount/volume-of-two", "unmount a", CALLS(TWO_HOLDERS), .code = 2,
          .err = "selvolctl: Volume a has 2 holders. Name a target ('selvolctl list a' shows them), or pass --all.\n" },
        { "unmount/volume-all", "unmount a --all -q",
          CALLS(TWO_HOLDERS, CALL("UnmountVolume", "('a', '/1', " NO_OPTIONS ")", "({'Unmounted': <true>},)"),
                FAIL("UnmountVolume", "('a', '/2', " NO_OPTIONS ")", "org.selvol1.Error.Busy", "No.")),
          .code = 3, .err = "selvolctl: a: No.\n" },
        { "unmount/volume-all-json", "unmount a --all --json",
          CALLS(TWO_HOLDERS, CALL("UnmountVolume", "('a', '/1', " NO_OPTIONS ")", "({'Unmounted': <true>},)"),
                FAIL("UnmountVolume", "('a', '/2', " NO_OPTIONS ")", "org.selvol1.Error.Busy", "No.")),
          .code = 3,
          .json = "[{\"Target\":\"/1\",\"Unmounted\":true,\"Volume\":\"a\"},"
                  "{\"ErrorMessage\":\"No.\",\"ErrorName\":\"Busy\",\"Subject\":\"a\"}]" },
        { "unmount/holder", "unmount --holder=y -q",
          CALLS(TWO_HOLDERS, CALL("UnmountVolume", "('a', '/2', " NO_OPTIONS ")", "({'Unmounted': <true>},)")) },
        { "unmount/id-like-path", "unmount --volume=/t// /1 -q",
          CALLS(CALL("UnmountVolume", "('/t//', '/1', " NO_OPTIONS ")", "({'Unmounted': <true>},)")) },
        { "unmount/id-like-path-free", "unmount --volume=/t//", CALLS(TWO_HOLDERS), .code = 1,
          .err = "selvolctl: Nobody holds volume /t//. 'selvolctl list --all' shows all volumes.\n" },
        { "unmount/no-holder", "unmount --holder=z", CALLS(TWO_HOLDERS), .code = 1,
          .err = "selvolctl: There is no holder z. 'selvolctl list' shows all holders.\n" },
        { "unmount/volume-free", "unmount b --json", CALLS(TWO_HOLDERS), .code = 1,
          .json = "{\"ErrorMessage\":\"Nobody holds volume b. 'selvolctl list --all' shows all volumes.\","
                  "\"ErrorName\":\"NoSuchVolume\",\"Subject\":\"b\"}" },
        { "plan/context-mount", PLAN " --level s0:c10,c0 --selinux-mount-supported yes",
          CALLS(CALL("PlanVolume",
                     "('pvc-1', '/dev/vdb', '/t', {'SELinuxLevel': <'s0:c10,c0'>, 'SELinuxMountSupported': <true>})",
                     "({'Strategy': <'context-mount'>, 'Reason': <'context-mount'>, 'Text': <'No file is touched.'>, "
                     "'Context': <'" CONTEXT "'>},)")),
          .out = "  Volume: pvc-1\nStrategy: context-mount\n     Why: No file is touched.\n"
                 " Context: " CONTEXT "\n" },
        { "plan/relabel", PLAN,
          CALLS(CALL("PlanVolume", AT_T,
                     "({'Strategy': <'relabel'>, 'RuntimeFlag': <'Z'>, 'EstimatedEntries': <uint64 300000>, "
                     "'EstimatedUSec': <uint64 2040000>},)")),
          .out = "           Volume: pvc-1\n         Strategy: relabel\n     Runtime flag: Z\n"
                 "Estimated entries: 300000\n   Estimated time: 2.0s\n" },
        { "plan/files",
          PLAN " --relabel-by=service --level s0:c0,c10 --fs-group=1000 --fs-group-policy=File "
               "--fs-group-change-policy=Always --user-namespace",
          CALLS(CALL(
                  "PlanVolume",
                  "('pvc-1', '/dev/vdb', '/t', {'SELinuxLevel': <'s0:c0,c10'>, " CONTEXT_MOUNT
                  ", 'RelabelBy': <'service'>, "
                  "'FSGroup': <uint32 1000>, 'FSGroupPolicy': <'File'>, 'FSGroupChangePolicy': <'Always'>, 'UserNamespace': "
                  "<true>})",
                  "({'Strategy': <'relabel'>, 'Relabel': <'walk'>, 'RelabelReason': <'unknown'>, 'Ownership': <'walk'>, "
                  "'OwnershipReason': <'policy-always'>, 'FSGroup': <uint32 1000>},)")),
          .out = "          Volume: pvc-1\n        Strategy: relabel\n         Relabel: walk\n"
                 "  Relabel reason: unknown\n       Ownership: walk\nOwnership reason: policy-always\n"
                 "        FS group: 1000\n" },
        { "plan/group-zero", PLAN " --fs-group 0",
          CALLS(CALL("PlanVolume", "('pvc-1', '/dev/vdb', '/t', {'FSGroup': <uint32 0>})",
                     "({'Ownership': <'map'>, 'FSGroup': <uint32 0>},)")),
          .out = "   Volume: pvc-1\nOwnership: map\n FS group: 0\n" },
        { "plan/json", PLAN " --json",
          CALLS(CALL("PlanVolume", AT_T,
                     "({'Strategy': <'none'>, 'EstimatedEntries': <uint64 18446744073709551615>},)")),
          .json = "{\"EstimatedEntries\":9223372036854775807,\"Strategy\":\"none\",\"Volume\":\"pvc-1\"}" },
        { "plan/group-conflict", PLAN,
          CALLS(CALL(
                  "PlanVolume", AT_T,
                  "({'Strategy': <'none'>, 'ErrorName': <'GroupConflict'>, 'ErrorMessage': <'It is for group 5.'>},)")),
          .code = 3,
          .out = "  Volume: pvc-1\nStrategy: none\n   Error: GroupConflict\n Message: It is for group 5.\n" },
        { "plan/conflict", PLAN, CALLS(CALL("PlanVolume", AT_T, PLAN_REFUSED)), .code = 3,
          .out = "   Volume: pvc-1\n Strategy: context-mount\n  Context: " CONTEXT
                 "\nConflicts: 2\n    Error: ContextConflict\n  Message: pvc-1 is held by \\x1b.\n\n"
                 "VOLUME HOLDER TARGET             SINCE                   CONTEXT\n"
                 "pvc-1  pod-B  /var/lib/kubelet/b 2026-01-01 00:00:00 UTC u:r:t:s0:c7\n"
                 "-      -      /mnt               1970-01-01 00:00:05 UTC -\n" },
        { "plan/conflict-json", PLAN " --json", CALLS(CALL("PlanVolume", AT_T, PLAN_REFUSED)), .code = 3,
          .json = "{\"Conflicts\":[{\"Context\":\"u:r:t:s0:c7\",\"Holder\":\"pod-B\",\"SinceUSec\":1767225600000000,"
                  "\"Target\":\"/var/lib/kubelet/b\",\"Volume\":\"pvc-1\"},{\"SinceUSec\":5000000,"
                  "\"Target\":\"/mnt\"}],"
                  "\"Context\":\"" CONTEXT "\",\"ErrorMessage\":\"pvc-1 is held by \\\\x1b.\",\"ErrorName\":"
                  "\"ContextConflict\",\"Reason\":\"context-mount\",\"Strategy\":\"context-mount\",\"Volume\":"
                  "\"pvc-1\"}" },
        { "plan/conflict-quiet", PLAN " -q", CALLS(CALL("PlanVolume", AT_T, PLAN_REFUSED)), .code = 3 },
        { "plan/not-allowed", PLAN " -q", CALLS(CALL("PlanVolume", AT_T, "({'ErrorName': <'PathNotAllowed'>},)")),
          .code = 7 },
        { "plan/not-possible", PLAN " -q", CALLS(CALL("PlanVolume", AT_T, "({'ErrorName': <'Incompatible'>},)")),
          .code = 7 },
        { "plan/timed-out", PLAN " -q", CALLS(FAIL("PlanVolume", AT_T, "org.selvol1.Error.TimedOut", "Slow.")),
          .code = 6, .err = "selvolctl: pvc-1: Slow.\n" },
        { "plan/other-error", PLAN " -q",
          CALLS(FAIL("PlanVolume", AT_T, "org.selvol1.Error.LevelRequired", "Pass \"SELinuxLevel\".")), .code = 2,
          .err = "selvolctl: pvc-1: Pass --level.\n" },

        { "adopt/fs-group-options",
          "adopt pvc-1 /t -q --fs-group=7 --fs-group-policy=None --fs-group-change-policy=Always "
          "--user-namespace",
          CALLS(CALL("AdoptVolume",
                     "('pvc-1', '/t', {'FSGroup': <uint32 7>, 'FSGroupPolicy': <'None'>, 'FSGroupChangePolicy': "
                     "<'Always'>, 'UserNamespace': <true>})",
                     "('', '', @a{sv} {})")) },
        { "adopt/json", "adopt pvc-1 /t --level s0:c1 --json",
          CALLS(CALL("AdoptVolume", "('pvc-1', '/t', {'SELinuxLevel': <'s0:c1'>, " CONTEXT_MOUNT "})",
                     "('', 'Z', @a{sv} {})")),
          .json = "{\"RuntimeFlag\":\"Z\",\"Target\":\"/t\",\"Volume\":\"pvc-1\"}" },
        { "unmount/done", "unmount pvc-1 /t --timeout 500ms",
          CALLS(CALL("UnmountVolume", "('pvc-1', '/t', {'TimeoutUSec': <uint64 500000>})",
                     "({'Unmounted': <true>},)")),
          .out = "   Volume: pvc-1\n   Target: /t\nUnmounted: yes\n" },
        { "unmount/absent", "unmount pvc-1 /t",
          CALLS(CALL("UnmountVolume", "('pvc-1', '/t', " NO_OPTIONS ")", "({'Unmounted': <false>},)")),
          .out = "   Volume: pvc-1\n   Target: /t\nUnmounted: no\n" },
        { "unmount/target", "unmount /t",
          CALLS(CALL("UnmountVolume", "('', '/t', " NO_OPTIONS ")", "({'Unmounted': <true>},)")),
          .out = "   Target: /t\nUnmounted: yes\n" },
        { "unmount/clean", "unmount pvc-1 /t/./ -q",
          CALLS(CALL("UnmountVolume", "('pvc-1', '/t', " NO_OPTIONS ")", "({'Unmounted': <true>},)")) },
        { "unmount/target-clean", "unmount /t//a/ -q",
          CALLS(CALL("UnmountVolume", "('', '/t/a', " NO_OPTIONS ")", "({'Unmounted': <true>},)")) },
        { "adopt/clean", "adopt pvc-1 /t/ -q",
          CALLS(CALL("AdoptVolume", "('pvc-1', '/t', " NO_OPTIONS ")", "('', '', @a{sv} {})")) },
        { "verify/id-like-path", "verify u:r:t:s0 -q --volume=/t//",
          CALLS(CALL("VerifyLabel", "('/t//', 'u:r:t:s0', " NO_OPTIONS ")", "(true, '', @a{sv} {})")) },
        { "verify/clean", "verify /t// -q",
          CALLS(CALL("VerifyLabel", "('/t', '', " NO_OPTIONS ")", "(true, '', @a{sv} {})")) },
        { "mount/clean", "mount pvc-1 //dev/./vdb /t/ -q",
          CALLS(CALL("MountVolume", "('pvc-1', '/dev/vdb', '/t', " NO_OPTIONS ")", "('', '', @a{sv} {})")) },
        { "mount/no-path", "mount pvc-1 server://a/ /t -q",
          CALLS(CALL("MountVolume", "('pvc-1', 'server://a/', '/t', " NO_OPTIONS ")", "('', '', @a{sv} {})")) },
        { "unmount/target-quiet", "unmount /t -q",
          CALLS(CALL("UnmountVolume", "('', '/t', " NO_OPTIONS ")", "({'Unmounted': <true>},)")) },
        { "unmount/json", "unmount pvc-1 /t --json",
          CALLS(CALL("UnmountVolume", "('pvc-1', '/t', " NO_OPTIONS ")", "({'Unmounted': <true>},)")),
          .json = "{\"Target\":\"/t\",\"Unmounted\":true,\"Volume\":\"pvc-1\"}" },
        { "unmount/busy", "unmount pvc-1 /t",
          CALLS(FAIL("UnmountVolume", "('pvc-1', '/t', " NO_OPTIONS ")", "org.selvol1.Error.Busy", "In use.")),
          .code = 3, .err = "selvolctl: pvc-1: In use.\n" },
        { "unmount/target-busy", "unmount /t",
          CALLS(FAIL("UnmountVolume", "('', '/t', " NO_OPTIONS ")", "org.selvol1.Error.Busy", "In use.")), .code = 3,
          .err = "selvolctl: /t: In use.\n" },

        { "verify/recorded", "verify pvc-1",
          CALLS(CALL("VerifyLabel", "('pvc-1', '', " NO_OPTIONS ")",
                     "(true, '" CONTEXT "', {'Expected': <'" CONTEXT "'>, 'Target': <'/t'>, 'Depth': <'root'>})")),
          .out = "  Volume: pvc-1\n Matches: yes\n  Actual: " CONTEXT "\nExpected: " CONTEXT
                 "\n  Target: /t\n   Depth: root\n" },
        { "verify/mismatch", "verify /t " CONTEXT " --depth root --timeout 2",
          CALLS(CALL("VerifyLabel", "('/t', '" CONTEXT "', {'Depth': <'root'>, 'TimeoutUSec': <uint64 2000000>})",
                     "(false, 'u:r:t:s0', @a{sv} {})")),
          .code = 5, .out = "   Path: /t\nMatches: no\n Actual: u:r:t:s0\n" },
        { "verify/mismatch-json", "verify pvc-1 --json --fs-group 9",
          CALLS(CALL("VerifyLabel", "('pvc-1', '', {'FSGroup': <uint32 9>})",
                     "(false, '', {'FSGroup': <uint32 9>})")),
          .code = 5, .json = "{\"FSGroup\":9,\"Matches\":false,\"Volume\":\"pvc-1\"}" },

        { "forget/two", "forget pvc-1 pvc-2",
          CALLS(FAIL("ForgetVolume", "('pvc-1', " NO_OPTIONS ")", "org.selvol1.Error.Busy", "Held."),
                CALL("ForgetVolume", "('pvc-2', " NO_OPTIONS ")", "()")),
          .code = 3, .err = "selvolctl: pvc-1: Held.\n" },
        /* A volume with a holder stays, and one that was used in the last time. */
        { "forget/unused", "forget --unused",
          CALLS(GET_OBJECTS("({objectpath '" PVC1 "': {'org.selvol1.Volume': " VOLUME_PROPERTIES
                            "}, '/org/selvol1/volume/pvc_2d0': {'org.selvol1.Volume': " FREE_VOLUME "}},)"),
                CALL("ForgetVolume", "('pvc-0', " NO_OPTIONS ")", "()")),
          .out = "ID    SOURCE   LAST-USED\n"
                 "pvc-0 /dev/vdc 2026-01-01 00:00:00 UTC\n\n1 forgotten volume listed.\n" },
        { "forget/unused-elsewhere", "forget --unused -q",
          CALLS(GET_OBJECTS("({objectpath '/org/selvol1/volume/pvc_2d0': {'org.selvol1.Volume': {'Id': <'pvc-0'>, "
                            "'MountedElsewhere': <true>, 'Holders': <@aa{sv} []>}}},)")) },
        { "forget/unused-age", "forget --unused=20000d -q",
          CALLS(GET_OBJECTS("({objectpath '/org/selvol1/volume/pvc_2d0': {'org.selvol1.Volume': " FREE_VOLUME
                            "}},)")) },
        { "metrics", "metrics", CALLS(CALL("GetMetrics", "()", "('# HELP x y\\nx 1\\n',)")),
          .out = "# HELP x y\nx 1\n" },
};

/* The directory of a target that selvolctl has made goes with the mount, and any other stays. */
typedef struct TargetCase {
        const char *name, *id, *options, *directory;
        gboolean exists, refused;
} TargetCase;

static const TargetCase targets[] = {
        { "default", "pvc-1", "", "pvc-1" },
        { "escaped", "a/b%_é", "", "a%2Fb%25_é" },
        { "dots", "..", "", "%2E." },
        { "podman", "podman", "", "%70odman" },
        { "refused", "pvc-1", "", "pvc-1", .refused = TRUE },
        { "exists", "pvc-1", "", "pvc-1", .exists = TRUE },
        { "exists-refused", "pvc-1", "", "pvc-1", .exists = TRUE, .refused = TRUE },
        { "mkdir", "pvc-1", "--mkdir", "other" },
        { "mkdir-refused", "pvc-1", "-m", "other", .refused = TRUE },
};

static void finish_ctl(GSubprocess *child, int code) {
        g_autoptr(GError) error = NULL;

        g_subprocess_communicate(child, NULL, NULL, NULL, NULL, &error);
        g_assert_no_error(error);
        g_assert_cmpint(g_subprocess_get_exit_status(child), ==, code);
}

TEST_FIXTURE_ROWS(test_target, "/ctl/target", targets) {
        const TargetCase *c = data;
        g_autofree char *volumes = g_dir_make_tmp("volumes-XXXXXX", NULL),
                        *target = g_build_filename(volumes, c->directory, NULL),
                        *mount = g_strdup_printf("mount %s /dev/vdb %s %s -q", c->id, c->options[0] ? target : "",
                                                 c->options),
                        *mounted = g_strdup_printf("('%s', '/dev/vdb', '%s', " NO_OPTIONS ")", c->id, target),
                        *unmount = g_strdup_printf("unmount %s -q", target),
                        *unmounted = g_strdup_printf("('', '%s', " NO_OPTIONS ")", target);
        const Exchange refuse = FAIL("MountVolume", mounted, "org.selvol1.Error.PathNotAllowed", "No."),
                       done = CALL("MountVolume", mounted, "('', '', @a{sv} {})"),
                       end = CALL("UnmountVolume", unmounted, "({'Unmounted': <true>},)");
        g_autoptr(GDBusMethodInvocation) call = NULL;
        g_autoptr(GSubprocess) child = NULL;

        g_setenv("SELVOL_VOLUMES", volumes, TRUE);
        if (c->exists)
                g_assert_cmpint(g_mkdir(target, 0755), ==, 0);
        child = ctl_start(mount, -1);
        call = await_call(f, &done);
        g_assert_true(g_file_test(target, G_FILE_TEST_IS_DIR));
        answer_call(call, c->refused ? &refuse : &done);
        finish_ctl(child, c->refused ? 7 : 0);
        g_assert_true(g_file_test(target, G_FILE_TEST_IS_DIR) == (c->exists || !c->refused));

        if (!c->refused) {
                g_autoptr(GSubprocess) other = ctl_start(unmount, -1);

                serve_calls(f, &end, 1);
                finish_ctl(other, 0);
                g_assert_true(g_file_test(target, G_FILE_TEST_IS_DIR) == c->exists);
        }
        (void) g_rmdir(target);
        g_assert_cmpint(g_rmdir(volumes), ==, 0);
        g_unsetenv("SELVOL_VOLUMES");
}

TEST_FIXTURE(test_no_service, "/ctl/no-service") {
        release_name(f);
        test_case(
                f,
                &(Case){
                        .command = "metrics",
                        .code = 1,
                        .err = "selvolctl: selvold is not running (The name org.selvol1 was not provided by any .service files). See 'systemctl status selvold'.\n" });
}

void add_tests(void) {
        add_ctl_rows("/ctl", cases, test_case);
}
