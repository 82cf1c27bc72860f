/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* selvolctl against a mock of org.selvol1 on a bus of its own: what it asks for, what it prints, how it exits. */
#include <locale.h>

#include "ctl-support.h"

#define MOUNTED                                                                                                     \
        "('" CONTEXT                                                                                                \
        "', '', {'Strategy': <'context-mount'>, 'Reason': <'context-mount'>, 'Text': <'No file is touched.'>, "     \
        "'FSType': <'ext4'>, 'Device': <'254:16'>, 'MountOptions': <['noatime', 'discard']>, 'ReadOnly': <false>, " \
        "'Shared': <false>, 'Tainted': <true>, 'LabelState': <'unknown'>, 'SELinuxMode': <'enforcing'>, "           \
        "'MountId': <uint64 84>, 'Relabel': <''>, 'RelabelReason': <''>, 'RelabelText': <''>, "                     \
        "'EntriesDone': <uint64 0>, 'EntriesChanged': <uint64 0>})"

#define RELABELLED                                                                                           \
        "('" CONTEXT "', '', {'Strategy': <'relabel'>, 'Tainted': <false>, 'LabelState': <'complete'>, "     \
        "'Relabel': <'walked'>, 'RelabelReason': <'tainted'>, 'RelabelText': <'Files may have no label.'>, " \
        "'EntriesDone': <uint64 300>, 'EntriesChanged': <uint64 250>, 'Job': <objectpath '" JOB7 "'>})"

#define VOLUME_PROPERTIES                                                                                        \
        "{'Id': <'pvc-1'>, 'Source': <'/dev/vdb'>, 'FSType': <'ext4'>, 'Driver': <'ebs.csi.aws.com'>, "          \
        "'VolumeType': <'csi'>, 'AccessMode': <'ReadWriteOncePod'>, 'Strategy': <'context-mount'>, "             \
        "'Context': <'" CONTEXT "'>, 'LabelState': <'partial'>, 'LabelContext': <'u:r:t:s0:c7'>, "               \
        "'Tainted': <true>, 'Job': <objectpath '" JOB7 "'>, "                                                    \
        "'Holders': <[('pod-A', '/var/lib/kubelet/a', 'mounted', false, false, uint64 1767225600000000, uint32 " \
        "2000, uint32 0)]>, "                                                                                    \
        "'OwnershipState': <'partial'>, 'FSGroup': <uint32 0>, "                                                 \
        "'LastVerifiedUSec': <uint64 1767225600000000>}"

#define FREE_VOLUME                                                                                             \
        "{'Id': <'pvc-0'>, 'Source': <'/dev/vdc'>, 'FSType': <'xfs'>, 'Driver': <''>, 'VolumeType': <'csi'>, "  \
        "'AccessMode': <''>, 'Strategy': <'relabel'>, 'Context': <''>, 'LabelState': <'complete'>, 'Tainted': " \
        "<false>, 'Job': <objectpath '/'>, "                                                                    \
        "'Holders': <@a(sssbbtuu) []>, 'OwnershipState': <'unknown'>, 'FSGroup': <uint32 4294967295>, "         \
        "'LastVerifiedUSec': <uint64 0>}"

#define PLAN_REFUSED                                                                                                \
        "({'Strategy': <'context-mount'>, 'Context': <'" CONTEXT                                                    \
        "'>, 'RuntimeFlag': <''>, 'Reason': <'context-mount'>, "                                                    \
        "'Text': <''>, 'MountOptions': <@as []>, 'ReadOnly': <false>, 'Shared': <false>, 'Conflicts': <[('pvc-1', " \
        "'pod-B', '/var/lib/kubelet/b', 'system_u:object_r:container_file_t:s0:c7', uint64 1767225600000000)]>, "   \
        "'Error': <'org.selvol1.Error.ContextConflict'>, 'Message': <'pvc-1 is held by pod-B.'>, "                  \
        "'Entries': <uint64 0>, 'USec': <uint64 0>, 'SELinuxMode': <'enforcing'>},)"

#define PLAN_0           "plan pvc-1 /dev/vdb /t --fs-group 0"
#define PLAN_0_ARGUMENTS "('pvc-1', '/dev/vdb', '/t', {'FSGroup': <uint32 0>})"
#define PLAN_GROUP(word, reason, text, group)                                                    \
        "({'Strategy': <'none'>, 'Ownership': <'" word "'>, 'OwnershipReason': <'" reason "'>, " \
        "'OwnershipText': <'" text "'>, 'FSGroup': <uint32 " group ">},)"
#define NOT_LABELLED "Volume pvc-1 would be mounted without a context; nothing is relabelled.\n"

#define MAPPED                                                                                             \
        "('', '', {'Strategy': <'none'>, 'Ownership': <'mapped'>, 'OwnershipReason': <'other-group'>, "    \
        "'OwnershipText': <'The mount shows it.'>, 'FSGroup': <uint32 2000>, 'DiskGroup': <uint32 1000>, " \
        "'OwnershipState': <'complete'>})"

static const Case cases[] = {
        { "list/empty",
          "list",
          { { OBJECTS, "GetManagedObjects", "()", "(@a{oa{sa{sv}}} {},)" } },
          0,
          .out = "0 volumes listed.\n" },
        { "list/table",
          "",
          { { OBJECTS, "GetManagedObjects", "()",
              "({objectpath '" PVC1 "': {'org.selvol1.Volume': " VOLUME_PROPERTIES ", 'org.freedesktop.Peer': {}}, "
              "'/org/selvol1/volume/pvc_2d0': {'org.selvol1.Volume': " FREE_VOLUME "}},)" } },
          0,
          .out = "VOLUME STRATEGY      CONTEXT                                      FSTYPE SOURCE   HOLDERS\n"
                 "pvc-0  relabel       -                                            xfs    /dev/vdc 0\n"
                 "pvc-1  context-mount " CONTEXT " ext4   /dev/vdb 1\n"
                 "\n2 volumes listed.\n" },
        { "list/no-legend",
          "list --no-legend",
          { { OBJECTS, "GetManagedObjects", "()",
              "({objectpath '/org/selvol1/volume/pvc_2d0': {'org.selvol1.Volume': " FREE_VOLUME "}},)" } },
          0,
          .out = "pvc-0  relabel  -       xfs    /dev/vdc 0\n" },
        { "list/json",
          "list --json",
          { { OBJECTS, "GetManagedObjects", "()",
              "({objectpath '" PVC1 "': {'org.selvol1.Volume': " VOLUME_PROPERTIES "}},)" } },
          0,
          .json = "{\"volumes\":[{\"access_mode\":\"ReadWriteOncePod\",\"context\":\"" CONTEXT
                  "\",\"disk_group\":0,\"driver\":\"ebs.csi.aws.com\",\"fstype\":\"ext4\",\"holders\":1,"
                  "\"job\":7,"
                  "\"label_context\":\"u:r:t:s0:c7\",\"label_state\":\"partial\","
                  "\"last_verified_usec\":1767225600000000,\"ownership_state\":\"partial\",\"source\":\"/dev/"
                  "vdb\",\"strategy\":\"context-mount\","
                  "\"tainted\":true,\"volume\":\"pvc-1\",\"volume_type\":\"csi\"}]}" },
        { "list/json-empty",
          "list --json",
          { { OBJECTS, "GetManagedObjects", "()", "(@a{oa{sa{sv}}} {},)" } },
          0,
          .json = "{\"volumes\":[]}" },
        { "list/unexpected-reply",
          "list",
          { { OBJECTS, "GetManagedObjects", "()",
              "({objectpath '" PVC1 "': {'org.selvol1.Volume': {'Id': <uint32 7>}}},)" } },
          1,
          .out = "",
          .err = "selvolctl: No such device or address\n" },

        { "show/text",
          "show pvc-1",
          { { MANAGER, "GetVolume", "('pvc-1',)", "(objectpath '" PVC1 "',)" },
            { PROPERTIES, "GetAll", "('org.selvol1.Volume',)", "(" VOLUME_PROPERTIES ",)" } },
          0,
          .out = "         Volume: pvc-1\n       Strategy: context-mount\n        Context: " CONTEXT
                 "\n    Label state: partial\n  Label context: u:r:t:s0:c7\n        Tainted: yes\n"
                 "Ownership state: partial\n  Group on disk: 0\n    File system: ext4\n"
                 "         Source: /dev/vdb\n"
                 "         Driver: ebs.csi.aws.com\n    Volume type: csi\n    Access mode: ReadWriteOncePod\n"
                 "  Last verified: 2026-01-01 00:00:00 UTC\n            Job: 7\n\n"
                 "HOLDER TARGET             STATE   READ-ONLY ADOPTED SINCE                   FS-GROUP "
                 "DISK-GROUP\n"
                 "pod-A  /var/lib/kubelet/a mounted no        no      2026-01-01 00:00:00 UTC 2000     0\n" },
        { "show/groups-json",
          "show pvc-1 --json",
          { { MANAGER, "GetVolume", "('pvc-1',)", "(objectpath '" PVC1 "',)" },
            { PROPERTIES, "GetAll", "('org.selvol1.Volume',)",
              "({'Holders': <[('pod-A', '/a', 'mounted', false, false, uint64 5, uint32 2000, uint32 1000), "
              "('pod-B', "
              "'/b', 'mounted', true, true, uint64 6, uint32 4294967295, uint32 4294967295)]>, 'FSGroup': "
              "<uint32 "
              "1000>, 'OwnershipState': <'complete'>},)" } },
          0,
          .json = "{\"holders\":[{\"adopted\":false,\"disk_group\":1000,\"fs_group\":2000,\"holder\":\"pod-"
                  "A\","
                  "\"read_only\":false,\"since\":5,\"state\":\"mounted\",\"target\":\"/"
                  "a\",\"volume\":\"pvc-1\"},"
                  "{\"adopted\":true,\"disk_group\":null,\"fs_group\":null,\"holder\":\"pod-B\",\"read_"
                  "only\":true,"
                  "\"since\":6,\"state\":\"mounted\",\"target\":\"/b\",\"volume\":\"pvc-1\"}],\"volumes\":[{"
                  "\"access_mode\":null,\"context\":null,\"disk_group\":1000,\"driver\":null,\"fstype\":null,"
                  "\"holders\":2,\"job\":0,\"label_context\":null,\"label_state\":null,\"last_verified_"
                  "usec\":0,"
                  "\"ownership_state\":\"complete\",\"source\":null,\"strategy\":null,\"tainted\":false,"
                  "\"volume\":null,\"volume_type\":null}]}" },
        { "show/history-json",
          "show pvc-1 --history --json",
          { { MANAGER, "GetVolume", "('pvc-1',)", "(objectpath '" PVC1 "',)" },
            { PROPERTIES, "GetAll", "('org.selvol1.Volume',)", "({'Id': <'pvc-1'>},)" },
            { PVC1, "org.selvol1.Volume", "GetHistory", "()",
              "([(uint64 5, 'mount', 'done', 'context-mount', {'Target': <'/a'>, 'Caller': <'a\\nb'>, 'N': "
              "<uint64 "
              "3>, 'X': <[1]>}), "
              "(uint64 6, 'unmount', 'done', '', @a{sv} {})],)" } },
          0,
          .json = "{\"history\":[{\"details\":[\"Caller=a\\\\x0ab\",\"N=3\",\"X=(ai)\"],\"holder\":null,"
                  "\"operation\":\"mount\","
                  "\"reason\":\"context-mount\",\"result\":\"done\",\"target\":\"/"
                  "a\",\"text\":null,\"time\":5,"
                  "\"volume\":\"pvc-1\"},{\"details\":[],\"holder\":null,\"operation\":\"unmount\","
                  "\"reason\":null,"
                  "\"result\":\"done\",\"target\":null,\"text\":null,\"time\":6,\"volume\":\"pvc-1\"}],"
                  "\"holders\":[],\"volumes\":[{\"access_mode\":null,\"context\":null,\"disk_group\":null,"
                  "\"driver\":null,\"fstype\":"
                  "null,"
                  "\"holders\":0,\"job\":0,\"label_context\":null,\"label_state\":null,\"last_verified_"
                  "usec\":0,"
                  "\"ownership_state\":null,\"source\":null,\"strategy\":null,"
                  "\"tainted\":false,\"volume\":\"pvc-1\",\"volume_type\":null}]}" },
        { "show/history-text",
          "show pvc-1 --history --no-legend",
          { { MANAGER, "GetVolume", "('pvc-1',)", "(objectpath '" PVC1 "',)" },
            { PROPERTIES, "GetAll", "('org.selvol1.Volume',)", "({'Id': <'pvc-1'>},)" },
            { PVC1, "org.selvol1.Volume", "GetHistory", "()",
              "([(uint64 1767225600000000, 'mount', 'done', 'context-mount', {'Holder': <'pod-A'>, 'Target': "
              "<'/t'>, "
              "'Text': <'No file, no time.'>, 'C': <true>})],)" } },
          0,
          .out = "Volume: pvc-1\n\n2026-01-01 00:00:00 UTC mount     done   context-mount pod-A  /t     No "
                 "file, no "
                 "time.\n" },
        { "show/absent",
          "show pvc-9",
          { { MANAGER, "GetVolume", "('pvc-9',)", NULL, "org.selvol1.Error.NoSuchVolume",
              "There is no volume pvc-9." } },
          1,
          .out = "",
          .err = "selvolctl: pvc-9: There is no volume pvc-9.\n" },
        { "show/one-absent",
          "show pvc-9 pvc-1",
          { { MANAGER, "GetVolume", "('pvc-9',)", NULL, "org.selvol1.Error.NoSuchVolume", "No." },
            { MANAGER, "GetVolume", "('pvc-1',)", "(objectpath '" PVC1 "',)" },
            { PROPERTIES, "GetAll", "('org.selvol1.Volume',)", "({'Id': <'pvc-1'>},)" } },
          1,
          .out = "Volume: pvc-1\n\nNobody holds it.\n",
          .err = "selvolctl: pvc-9: No.\n" },
        { "show/terminal-escapes",
          "show pvc-1 --no-legend",
          { { MANAGER, "GetVolume", "('pvc-1',)", "(objectpath '" PVC1 "',)" },
            { PROPERTIES, "GetAll", "('org.selvol1.Volume',)", "({'Source': <'/dev/\\u001b[2J\\u0085é'>},)" } },
          0,
          .out = "Source: /dev/\\x1b[2J\\xc2\\x85é\n" },

        { "mount/all-options",
          "mount pvc-1 /dev/vdb /t --fs-type ext4 -o noatime,commit=5 --options "
          "'context=\"u:r:t:s0:c1,c2\",,discard' "
          "--read-only --holder pod-A --driver d --volume-type csi --access-mode ReadWriteOnce --context "
          "u:r:t:s0 "
          "--user u --role r --type t --level s0:c10,c0 --policy OnVolumeMount --selinux-mount-supported=no "
          "--timeout '1min 30s'",
          { { MANAGER, "MountVolume",
              "('pvc-1', '/dev/vdb', '/t', {'FSType': <'ext4'>, 'MountOptions': <['noatime', 'commit=5', "
              "'context=\"u:r:t:s0:c1,c2\"', 'discard']>, 'ReadOnly': <true>, 'Holder': <'pod-A'>, 'Driver': "
              "<'d'>, "
              "'VolumeType': <'csi'>, 'AccessMode': <'ReadWriteOnce'>, 'SELinuxContext': <'u:r:t:s0'>, "
              "'SELinuxUser': "
              "<'u'>, 'SELinuxRole': <'r'>, 'SELinuxType': <'t'>, 'SELinuxLevel': <'s0:c10,c0'>, "
              "'SELinuxRelabelPolicy': <'OnVolumeMount'>, 'SELinuxMountSupported': <false>, 'TimeoutUSec': "
              "<uint64 "
              "90000000>})",
              MOUNTED } },
          0,
          .out = "       Volume: pvc-1\n       Target: /t\n      Context: " CONTEXT
                 "\n     Strategy: context-mount\n       Reason: context-mount\n      Because: No file is "
                 "touched.\n"
                 "  File system: ext4\n       Device: 254:16\nMount options: noatime,discard\n    Read-only: "
                 "no\n"
                 "       Shared: no\n      Tainted: yes\n  Label state: unknown\n SELinux mode: enforcing\n"
                 "     Mount id: 84\n" },
        { "mount/no-options",
          "mount pvc-1 /dev/vdb /t -q",
          { { MANAGER, "MountVolume", "('pvc-1', '/dev/vdb', '/t', " NO_OPTIONS ")", MOUNTED } },
          0,
          .out = "" },
        { "mount/json",
          "--json mount pvc-1 /dev/vdb /t",
          { { MANAGER, "MountVolume", "('pvc-1', '/dev/vdb', '/t', " NO_OPTIONS ")", MOUNTED } },
          0,
          .json = "{\"mount\":[{\"context\":\"" CONTEXT "\",\"device\":\"254:16\",\"disk_group\":null,"
                  "\"entries_changed\":0,\"entries_done\":0,\"fs_group\":null,\"fstype\":\"ext4\",\"job\":0,"
                  "\"label_state\":\"unknown\",\"mount_id\":84,\"mount_options\":[\"noatime\",\"discard\"],"
                  "\"ownership\":null,\"ownership_detail\":null,\"ownership_reason\":null,\"ownership_"
                  "state\":null,\"ownership_text\":null,"
                  "\"read_only\":false,\"reason\":\"context-mount\",\"relabel\":null,\"relabel_reason\":null,"
                  "\"relabel_text\":null,\"runtime_flag\":null,"
                  "\"selinux_mode\":\"enforcing\",\"shared\":false,\"strategy\":\"context-mount\","
                  "\"tainted\":true,"
                  "\"target\":\"/t\",\"text\":\"No file is touched.\",\"volume\":\"pvc-1\"}]}" },
        { "mount/relabelled",
          "mount pvc-1 /dev/vdb /t --relabel-by service --force --max-entries-per-second 500",
          { { MANAGER, "MountVolume",
              "('pvc-1', '/dev/vdb', '/t', {'RelabelBy': <'service'>, 'Force': <true>, 'MaxEntriesPerSecond': <uint64 500>})",
              RELABELLED } },
          0,
          .out = "         Volume: pvc-1\n         Target: /t\n        Context: " CONTEXT
                 "\n       Strategy: relabel\n        Tainted: no\n    Label state: complete\n"
                 "        Relabel: walked\n Relabel reason: tainted\nRelabel because: Files may have no "
                 "label.\n"
                 "        Entries: 300\nEntries changed: 250\n            Job: 7\n" },
        { "mount/fs-group-options",
          "mount pvc-1 /dev/vdb /t -q --fs-group=0 --fs-group-policy=File "
          "--fs-group-change-policy=OnRootMismatch "
          "--user-namespace",
          { { MANAGER, "MountVolume",
              "('pvc-1', '/dev/vdb', '/t', {'FSGroup': <uint32 0>, 'FSGroupPolicy': <'File'>, "
              "'FSGroupChangePolicy': "
              "<'OnRootMismatch'>, 'UserNamespace': <true>})",
              MOUNTED } },
          0,
          .out = "" },
        { "mount/mapped",
          "mount pvc-1 /dev/vdb /t --fs-group 2000",
          { { MANAGER, "MountVolume", "('pvc-1', '/dev/vdb', '/t', {'FSGroup': <uint32 2000>})", MAPPED } },
          0,
          .out = "           Volume: pvc-1\n           Target: /t\n         Strategy: none\n        "
                 "Ownership: mapped\n"
                 " Ownership reason: other-group\nOwnership because: The mount shows it.\n            Group: "
                 "2000\n"
                 "    Group on disk: 1000\n  Ownership state: complete\n" },
        { "mount/not-mapped-json",
          "mount pvc-1 /dev/vdb /t --fs-group 4294967294 --json",
          { { MANAGER, "MountVolume", "('pvc-1', '/dev/vdb', '/t', {'FSGroup': <uint32 4294967294>})",
              "('', '', {'Ownership': <'walked'>, 'OwnershipReason': <'no-idmap'>, 'OwnershipText': <'All "
              "are given.'>, "
              "'OwnershipDetail': <'the kernel says EINVAL'>, 'FSGroup': <uint32 4294967294>, 'DiskGroup': "
              "<uint32 "
              "4294967294>, 'OwnershipState': <'complete'>, 'EntriesDone': <uint64 3>, 'EntriesChanged': "
              "<uint64 2>})" } },
          0,
          .json = "{\"mount\":[{\"context\":null,\"device\":null,\"disk_group\":4294967294,\"entries_"
                  "changed\":2,"
                  "\"entries_done\":3,\"fs_group\":4294967294,\"fstype\":null,\"job\":0,\"label_state\":null,"
                  "\"mount_id\":0,\"mount_options\":[],\"ownership\":\"walked\",\"ownership_detail\":"
                  "\"the kernel says "
                  "EINVAL\",\"ownership_reason\":\"no-idmap\",\"ownership_state\":\"complete\","
                  "\"ownership_text\":\"All are "
                  "given.\",\"read_only\":false,\"reason\":null,\"relabel\":null,"
                  "\"relabel_reason\":null,\"relabel_text\":null,\"runtime_flag\":null,\"selinux_mode\":null,"
                  "\"shared\":false,\"strategy\":null,\"tainted\":false,\"target\":\"/t\",\"text\":null,"
                  "\"volume\":\"pvc-1\"}]}" },
        { "adopt/fs-group-options",
          "adopt pvc-1 /t -q --fs-group=7 --fs-group-policy=None --fs-group-change-policy=Always "
          "--user-namespace",
          { { MANAGER, "AdoptVolume",
              "('pvc-1', '/t', {'FSGroup': <uint32 7>, 'FSGroupPolicy': <'None'>, 'FSGroupChangePolicy': "
              "<'Always'>, "
              "'UserNamespace': <true>})",
              "('', '', @a{sv} {})" } },
          0,
          .out = "" },
        { "mount/group-conflict",
          "mount pvc-1 /dev/vdb /t",
          { { MANAGER, "MountVolume", "('pvc-1', '/dev/vdb', '/t', " NO_OPTIONS ")", NULL,
              "org.selvol1.Error.GroupConflict", "pvc-1 is for another group at pod-B." } },
          3,
          .out = "",
          .err = "selvolctl: pvc-1: pvc-1 is for another group at pod-B.\n" },
        { "mount/conflict",
          "mount pvc-1 /dev/vdb /t",
          { { MANAGER, "MountVolume", "('pvc-1', '/dev/vdb', '/t', " NO_OPTIONS ")", NULL,
              "org.selvol1.Error.ContextConflict", "pvc-1 is held by pod-B. Unmount it there first." } },
          3,
          .out = "",
          .err = "selvolctl: pvc-1: pvc-1 is held by pod-B. Unmount it there first.\n" },
        { "mount/access-denied",
          "mount pvc-1 /dev/vdb /t",
          { { MANAGER, "MountVolume", "('pvc-1', '/dev/vdb', '/t', " NO_OPTIONS ")", NULL,
              "org.freedesktop.DBus.Error.AccessDenied", "Permission denied" } },
          4,
          .out = "",
          .err = "selvolctl: pvc-1: Permission denied\n" },
        { "mount/interactive-authorization",
          "mount pvc-1 /dev/vdb /t --no-ask-password",
          { { MANAGER, "MountVolume", "('pvc-1', '/dev/vdb', '/t', " NO_OPTIONS ")", NULL,
              "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired",
              "Interactive authentication required." } },
          4,
          .out = "",
          .err = "selvolctl: pvc-1: Interactive authentication required.\n" },
        { "mount/failed",
          "mount pvc-1 /dev/vdb /t",
          { { MANAGER, "MountVolume", "('pvc-1', '/dev/vdb', '/t', " NO_OPTIONS ")", NULL,
              "org.selvol1.Error.MountFailed", "wrong \033[31mfs\ntype" } },
          1,
          .out = "",
          .err = "selvolctl: pvc-1: wrong \\x1b[31mfs\\x0atype\n" },

        { "plan/context-mount",
          "plan pvc-1 /dev/vdb /t --level s0:c10,c0 --selinux-mount-supported yes",
          { { MANAGER, "PlanVolume",
              "('pvc-1', '/dev/vdb', '/t', {'SELinuxLevel': <'s0:c10,c0'>, 'SELinuxMountSupported': <true>})",
              "({'Strategy': <'context-mount'>, 'Context': <'" CONTEXT "'>, 'RuntimeFlag': <''>, 'Reason': "
              "<'context-mount'>, 'Text': <'No file is touched.'>, 'Conflicts': <@a(sssst) []>},)" } },
          0,
          .out = "Volume pvc-1 would be mounted with context " CONTEXT ".\nNo file is touched.\n\n"
                 "Strategy: context-mount\n Context: " CONTEXT "\n  Reason: context-mount\n" },
        { "plan/relabel",
          "plan pvc-1 /dev/vdb /t",
          { { MANAGER, "PlanVolume", "('pvc-1', '/dev/vdb', '/t', " NO_OPTIONS ")",
              "({'Strategy': <'relabel'>, 'RuntimeFlag': <'Z'>, 'Entries': <uint64 300000>, 'USec': <uint64 "
              "2040000>},)" } },
          0,
          .out = "Volume pvc-1 would be mounted without a context; the runtime has to relabel it (flag "
                 "Z).\n\n"
                 "        Strategy: relabel\n    Runtime flag: Z\nFiles to look at: 300000\n  Estimated "
                 "time: "
                 "2.0s\n" },
        { "plan/relabel-here",
          "plan pvc-1 /dev/vdb /t --relabel-by=service --level s0:c0,c10",
          { { MANAGER, "PlanVolume",
              "('pvc-1', '/dev/vdb', '/t', {'SELinuxLevel': <'s0:c0,c10'>, 'RelabelBy': <'service'>})",
              "({'Strategy': <'relabel'>, 'Context': <'" CONTEXT "'>, 'RuntimeFlag': <''>, 'Text': <'Why.'>, "
              "'Relabel': <'walk'>, 'RelabelReason': <'unknown'>, 'RelabelText': <'Nothing is "
              "known.'>},)" } },
          0,
          .out = "Volume pvc-1 would be mounted without a context, once its files are relabelled to " CONTEXT
                 ".\nWhy.\nNothing is known.\n\n"
                 "      Strategy: relabel\n       Context: " CONTEXT
                 "\n       Relabel: walk\nRelabel reason: unknown\n" },
        { "plan/relabel-here-skipped",
          "plan pvc-1 /dev/vdb /t --relabel-by=service --no-legend",
          { { MANAGER, "PlanVolume", "('pvc-1', '/dev/vdb', '/t', {'RelabelBy': <'service'>})",
              "({'Strategy': <'relabel'>, 'Context': <'" CONTEXT "'>, 'Relabel': <'skip'>},)" } },
          0,
          .out = "Volume pvc-1 would be mounted without a context; its files have the label " CONTEXT
                 " already.\n\nStrategy: relabel\n Context: " CONTEXT "\n Relabel: skip\n" },
        { "plan/none",
          "plan pvc-1 /dev/vdb /t",
          { { MANAGER, "PlanVolume", "('pvc-1', '/dev/vdb', '/t', " NO_OPTIONS ")", "({'Strategy': <'none'>},)" } },
          0,
          .out = "Volume pvc-1 would be mounted without a context; nothing is relabelled.\n\nStrategy: "
                 "none\n" },
        { "plan/group-walk",
          "plan pvc-1 /dev/vdb /t --fs-group=1000 --fs-group-policy=File --fs-group-change-policy=Always "
          "--user-namespace",
          { { MANAGER, "PlanVolume",
              "('pvc-1', '/dev/vdb', '/t', {'FSGroup': <uint32 1000>, 'FSGroupPolicy': <'File'>, "
              "'FSGroupChangePolicy': <'Always'>, 'UserNamespace': <true>})",
              PLAN_GROUP("walk", "policy-always", "Always.", "1000") } },
          0,
          .out = NOT_LABELLED "All its files would be given to group 1000.\nAlways.\n\n"
                              "        Strategy: none\n       Ownership: walk\nOwnership reason: "
                              "policy-always\n           Group: "
                              "1000\n" },
        { "plan/group-map",
          PLAN_0,
          { { MANAGER, "PlanVolume", PLAN_0_ARGUMENTS, PLAN_GROUP("map", "other-group", "So.", "0") } },
          0,
          .out = NOT_LABELLED "Its files would be seen in group 0, without being changed.\nSo.\n\n"
                              "        Strategy: none\n       Ownership: map\nOwnership reason: "
                              "other-group\n           Group: 0\n" },
        { "plan/group-skip",
          PLAN_0,
          { { MANAGER, "PlanVolume", PLAN_0_ARGUMENTS, PLAN_GROUP("skip", "complete", "All.", "0") } },
          0,
          .out = NOT_LABELLED "Its files belong to group 0 already.\nAll.\n\n"
                              "        Strategy: none\n       Ownership: skip\nOwnership reason: complete\n  "
                              "         Group: 0\n" },
        { "plan/group-option",
          PLAN_0,
          { { MANAGER, "PlanVolume", PLAN_0_ARGUMENTS, PLAN_GROUP("option", "policy-mount", "gid=.", "0") } },
          0,
          .out = NOT_LABELLED "Its file system would be mounted for group 0.\ngid=.\n\n"
                              "        Strategy: none\n       Ownership: option\nOwnership reason: "
                              "policy-mount\n           Group: "
                              "0\n" },
        { "plan/group-none",
          PLAN_0,
          { { MANAGER, "PlanVolume", PLAN_0_ARGUMENTS,
              PLAN_GROUP("none", "read-only", "It is read-only.", "4294967295") } },
          0,
          .out = NOT_LABELLED "Its files would not be given to the group.\nIt is read-only.\n\n"
                              "        Strategy: none\n       Ownership: none\nOwnership reason: read-only\n" },
        { "plan/group-not-asked",
          "plan pvc-1 /dev/vdb /t",
          { { MANAGER, "PlanVolume", "('pvc-1', '/dev/vdb', '/t', " NO_OPTIONS ")",
              PLAN_GROUP("", "", "", "4294967295") } },
          0,
          .out = NOT_LABELLED "\nStrategy: none\n" },
        { "plan/group-json",
          PLAN_0 " --json",
          { { MANAGER, "PlanVolume", PLAN_0_ARGUMENTS, PLAN_GROUP("map", "other-group", "So.", "0") } },
          0,
          .json = "{\"conflicts\":[],\"plan\":[{\"context\":null,\"entries\":0,\"error\":null,\"fs_group\":0,"
                  "\"message\":null,\"mount_options\":[],\"ownership\":\"map\",\"ownership_reason\":"
                  "\"other-group\",\"ownership_text\":\"So.\",\"read_only\":false,\"reason\":null,"
                  "\"relabel\":null,"
                  "\"relabel_reason\":null,\"relabel_text\":null,\"runtime_flag\":null,\"selinux_mode\":null,"
                  "\"shared\":false,\"strategy\":\"none\",\"text\":null,\"usec\":0,\"volume\":\"pvc-1\"}]}" },
        { "plan/group-conflict",
          PLAN_0,
          { { MANAGER, "PlanVolume", PLAN_0_ARGUMENTS,
              "({'Strategy': <'none'>, 'Ownership': <'walk'>, 'OwnershipText': <'All.'>, 'FSGroup': <uint32 "
              "0>, "
              "'Error': <'org.selvol1.Error.GroupConflict'>, 'Message': <'It is for group 5.'>},)" } },
          3,
          .out = "Volume pvc-1 would not be mounted: It is for group 5.\n\n"
                 " Strategy: none\nOwnership: walk\n    Group: 0\n    Error: "
                 "org.selvol1.Error.GroupConflict\n" },
        { "plan/conflict",
          "plan pvc-1 /dev/vdb /t",
          { { MANAGER, "PlanVolume", "('pvc-1', '/dev/vdb', '/t', " NO_OPTIONS ")", PLAN_REFUSED } },
          3,
          .out = "Volume pvc-1 would not be mounted: pvc-1 is held by pod-B.\n\n"
                 "    Strategy: context-mount\n     Context: " CONTEXT "\n      Reason: context-mount\n"
                 "   Read-only: no\n      Shared: no\nSELinux mode: enforcing\n"
                 "       Error: org.selvol1.Error.ContextConflict\n\nIn the way:\n"
                 "VOLUME HOLDER TARGET             CONTEXT                                  SINCE\n"
                 "pvc-1  pod-B  /var/lib/kubelet/b system_u:object_r:container_file_t:s0:c7 "
                 "2026-01-01 00:00:00 UTC\n" },
        { "plan/conflict-json",
          "plan pvc-1 /dev/vdb /t --json",
          { { MANAGER, "PlanVolume", "('pvc-1', '/dev/vdb', '/t', " NO_OPTIONS ")", PLAN_REFUSED } },
          3,
          .json = "{\"conflicts\":[{\"context\":\"system_u:object_r:container_file_t:s0:c7\",\"holder\":"
                  "\"pod-B\","
                  "\"since\":1767225600000000,\"target\":\"/var/lib/kubelet/b\",\"volume\":\"pvc-1\"}],"
                  "\"plan\":[{\"context\":\"" CONTEXT
                  "\",\"entries\":0,\"error\":\"org.selvol1.Error.ContextConflict\",\"fs_group\":null,"
                  "\"message\":\"pvc-1 is held by pod-B.\",\"mount_options\":[],\"ownership\":null,"
                  "\"ownership_reason\":null,\"ownership_text\":null,\"read_only\":false,"
                  "\"reason\":\"context-mount\",\"relabel\":null,\"relabel_reason\":null,\"relabel_text\":"
                  "null,"
                  "\"runtime_flag\":null,\"selinux_mode\":\"enforcing\",\"shared\":"
                  "false,"
                  "\"strategy\":\"context-mount\",\"text\":null,\"usec\":0,\"volume\":\"pvc-1\"}]}" },
        { "plan/other-error",
          "plan pvc-1 /dev/vdb /t -q",
          { { MANAGER, "PlanVolume", "('pvc-1', '/dev/vdb', '/t', " NO_OPTIONS ")", NULL,
              "org.selvol1.Error.LevelRequired", "Pass SELinuxLevel." } },
          1,
          .out = "",
          .err = "selvolctl: pvc-1: Pass SELinuxLevel.\n" },

        { "adopt/json",
          "adopt pvc-1 /t --level s0:c1 --json",
          { { MANAGER, "AdoptVolume", "('pvc-1', '/t', {'SELinuxLevel': <'s0:c1'>})", "('', 'Z', @a{sv} {})" } },
          0,
          .json = "{\"adopt\":[{\"context\":null,\"device\":null,\"disk_group\":null,\"entries_changed\":0,"
                  "\"entries_done\":0,\"fs_group\":null,\"fstype\":null,\"job\":0,\"label_state\":null,"
                  "\"mount_id\":0,\"mount_options\":[],"
                  "\"ownership\":null,\"ownership_detail\":null,\"ownership_reason\":null,\"ownership_"
                  "state\":null,\"ownership_text\":null,"
                  "\"read_only\":false,\"reason\":null,\"relabel\":null,\"relabel_reason\":null,"
                  "\"relabel_text\":null,\"runtime_flag\":\"Z\","
                  "\"selinux_mode\":null,\"shared\":false,\"strategy\":null,\"tainted\":false,\"target\":\"/"
                  "t\","
                  "\"text\":null,\"volume\":\"pvc-1\"}]}" },
        { "unmount/done",
          "unmount pvc-1 /t --timeout 500ms",
          { { MANAGER, "UnmountVolume", "('pvc-1', '/t', {'TimeoutUSec': <uint64 500000>})",
              "({'Unmounted': <true>},)" } },
          0,
          .out = "Volume pvc-1 is unmounted from /t.\n" },
        { "unmount/absent",
          "unmount pvc-1 /t",
          { { MANAGER, "UnmountVolume", "('pvc-1', '/t', " NO_OPTIONS ")", "({'Unmounted': <false>},)" } },
          0,
          .out = "Volume pvc-1 was not mounted at /t.\n" },
        { "unmount/json",
          "unmount pvc-1 /t --json",
          { { MANAGER, "UnmountVolume", "('pvc-1', '/t', " NO_OPTIONS ")", "({'Unmounted': <true>},)" } },
          0,
          .json = "{\"unmount\":[{\"target\":\"/t\",\"unmounted\":true,\"volume\":\"pvc-1\"}]}" },
        { "unmount/busy",
          "unmount pvc-1 /t",
          { { MANAGER, "UnmountVolume", "('pvc-1', '/t', " NO_OPTIONS ")", NULL, "org.selvol1.Error.Busy",
              "In use." } },
          1,
          .out = "",
          .err = "selvolctl: pvc-1: In use.\n" },

        { "verify/recorded",
          "verify pvc-1",
          { { MANAGER, "VerifyLabel", "('pvc-1', '', " NO_OPTIONS ")",
              "(true, '" CONTEXT "', {'Expected': <'" CONTEXT "'>, 'Target': <'/t'>, 'Depth': <'root'>, "
              "'SELinuxMode': <'enforcing'>})" } },
          0,
          .out = "      Volume: pvc-1\n     Matches: yes\n      Actual: " CONTEXT "\n    Expected: " CONTEXT
                 "\n      Target: /t\n       Depth: root\nSELinux mode: enforcing\n" },
        { "verify/mismatch",
          "verify /t " CONTEXT " --depth root --timeout 2",
          { { MANAGER, "VerifyLabel", "('/t', '" CONTEXT "', {'TimeoutUSec': <uint64 2000000>, 'Depth': <'root'>})",
              "(false, 'u:r:t:s0', @a{sv} {})" } },
          5,
          .out = " Volume: /t\nMatches: no\n Actual: u:r:t:s0\n" },
        { "verify/mismatch-json",
          "verify pvc-1 --json --fs-group 9",
          { { MANAGER, "VerifyLabel", "('pvc-1', '', {'FSGroup': <uint32 9>})",
              "(false, '', {'FSGroup': <uint32 9>})" } },
          5,
          .json = "{\"mismatches\":[],\"verify\":[{\"actual\":null,\"depth\":null,\"entries_done\":0,"
                  "\"entries_failed\":0,\"entries_mismatched\":0,\"entries_misowned\":0,\"expected\":null,"
                  "\"fs_group\":9,\"job\":0,\"matches\":false,"
                  "\"selinux_mode\":null,\"target\":null,\"text\":null,"
                  "\"volume\":\"pvc-1\"}]}" },

        { "forget/two",
          "forget pvc-1 pvc-2",
          { { MANAGER, "ForgetVolume", "('pvc-1', " NO_OPTIONS ")", NULL, "org.selvol1.Error.Busy", "Held." },
            { MANAGER, "ForgetVolume", "('pvc-2', " NO_OPTIONS ")", "()" } },
          1,
          .out = "",
          .err = "selvolctl: pvc-1: Held.\n" },
        { "metrics",
          "metrics",
          { { MANAGER, "GetMetrics", "()", "('# HELP x y\\nx 1\\n',)" } },
          0,
          .out = "# HELP x y\nx 1\n" },

        { "usage/verb", "frobnicate", .code = 2, .out = "",
          .err = "selvolctl: frobnicate: there is no such verb, see 'selvolctl --help'\n" },
        { "usage/operands", "mount pvc-1", .code = 2, .out = "",
          .err = "selvolctl: usage: selvolctl mount VOLUME SOURCE TARGET\n" },
        { "usage/option-of-another-verb", "unmount pvc-1 /t --level s0", .code = 2, .out = "",
          .err = "selvolctl: unmount does not take --level\n" },
        { "usage/history", "list --history", .code = 2, .out = "",
          .err = "selvolctl: list does not take --history\n" },
        { "usage/boolean", "mount a b c --selinux-mount-supported=perhaps", .code = 2, .out = "",
          .err = "selvolctl: --selinux-mount-supported=perhaps: expected yes or no\n" },
        { "usage/timeout", "mount a b c --timeout='5 fortnights'", .code = 2, .out = "",
          .err = "selvolctl: --timeout=5 fortnights: expected a time such as 20s, 1min or 500ms\n" },
        { "usage/number", "mount a b c --max-entries-per-second=18446744073709551616", .code = 2, .out = "",
          .err = "selvolctl: --max-entries-per-second=18446744073709551616: expected a number\n" },
        { "usage/number-sign", "mount a b c --max-entries-per-second=-1", .code = 2, .out = "",
          .err = "selvolctl: --max-entries-per-second=-1: expected a number\n" },
        { "usage/force", "verify a --force", .code = 2, .out = "",
          .err = "selvolctl: verify does not take --force\n" },
        { "usage/no-wait", "mount a b c --no-wait", .code = 2, .out = "",
          .err = "selvolctl: mount does not take --no-wait\n" },
        { "usage/fs-group", "mount a b c --fs-group=staff", .code = 2, .out = "",
          .err = "selvolctl: --fs-group=staff: expected the number of a group, at most 4294967294\n" },
        { "usage/fs-group-none", "verify a --fs-group=4294967295", .code = 2, .out = "",
          .err = "selvolctl: --fs-group=4294967295: expected the number of a group, at most 4294967294\n" },
        { "usage/fs-group-policy", "verify a --fs-group-policy=File", .code = 2, .out = "",
          .err = "selvolctl: verify does not take --fs-group-policy\n" },
        { "usage/fs-group-change-policy", "relabel a --fs-group-change-policy=Always", .code = 2, .out = "",
          .err = "selvolctl: relabel does not take --fs-group-change-policy\n" },
        { "usage/user-namespace", "chgrp a 1 --user-namespace", .code = 2, .out = "",
          .err = "selvolctl: chgrp does not take --user-namespace\n" },
        { "usage/unmount-fs-group", "unmount a b --fs-group=1", .code = 2, .out = "",
          .err = "selvolctl: unmount does not take --fs-group\n" },
        { "usage/quotes", "mount a b c -o 'context=\"u'", .code = 2, .out = "",
          .err = "selvolctl: --options=context=\"u: expected closed quotes\n" },
        { "version", "--version", .out = "selvolctl " SELVOL_VERSION "\n" },
        { "help", "--help" },
};

static void test_no_service(Fixture *f, gconstpointer data) {
        release_name(f);
        test_case(f, &(Case){ .command = "metrics",
                              .code = 1,
                              .out = "",
                              .err = "selvolctl: selvold is not there (The name org.selvol1 was not provided by any "
                                     ".service files): see 'systemctl status selvold'\n" });
}

int main(int argc, char **argv) {
        setlocale(LC_ALL, "C.UTF-8");
        g_test_init(&argc, &argv, NULL);
        g_test_set_nonfatal_assertions();

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *path = g_strdup_printf("/ctl/%s", cases[i].name);

                g_test_add(path, Fixture, &cases[i], fixture_set_up, test_case, fixture_tear_down);
        }
        g_test_add("/ctl/no-service", Fixture, NULL, fixture_set_up, test_no_service, fixture_tear_down);
        return g_test_run();
}
