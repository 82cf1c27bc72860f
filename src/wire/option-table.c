/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "wire/option-table.h"

enum {
        MOUNT = METHOD_MOUNT,
        HOLD = METHOD_MOUNT | METHOD_ADOPT,
        CHANGE = HOLD | METHOD_RELABEL | METHOD_OWNERSHIP,
        WALK = CHANGE | METHOD_VERIFY,
        LABEL = HOLD | METHOD_RELABEL | METHOD_VERIFY,
};

const RequestOption request_options[REQUEST_OPTIONS] = {
        [OPTION_SELINUX_LEVEL] = { "SELinuxLevel", "s", LABEL, "level", "LEVEL",
                                   "SELinux level, such as s0:c10,c20" },
        [OPTION_SELINUX_CONTEXT] = { "SELinuxContext", "s", HOLD, "context", "CONTEXT", "Full SELinux context" },
        [OPTION_SELINUX_USER] = { "SELinuxUser", "s", HOLD, "user", "USER", "SELinux user" },
        [OPTION_SELINUX_ROLE] = { "SELinuxRole", "s", HOLD, "role", "ROLE", "SELinux role of the container" },
        [OPTION_SELINUX_TYPE] = { "SELinuxType", "s", HOLD, "type", "TYPE", "SELinux type of the container" },
        [OPTION_SELINUX_RELABEL_POLICY] = { "SELinuxRelabelPolicy", "s", HOLD, "policy", "POLICY",
                                            "How the files get their labels",
                                            "OnVolumeMount MountOption Always Recursive" },
        [OPTION_SELINUX_MOUNT_SUPPORTED] = { "SELinuxMountSupported", "b", HOLD, "selinux-mount-supported", "BOOL",
                                             "Whether the driver supports context mounts" },
        [OPTION_RELABEL_BY] = { "RelabelBy", "s", HOLD, "relabel-by", "WHO", "Who relabels files",
                                "runtime service none" },
        [OPTION_FS_TYPE] = { "FSType", "s", MOUNT, "fs-type", "TYPE", "File system type; detected if not given" },
        [OPTION_MOUNT_OPTIONS] = { "MountOptions", "as", MOUNT, "options", "OPTION,...", "Mount options" },
        [OPTION_READ_ONLY] = { "ReadOnly", "b", MOUNT | METHOD_OWNERSHIP, "read-only", NULL,
                               "Mount read-only; with ownership: the group only reads" },
        [OPTION_HOLDER] = { "Holder", "s", HOLD, "holder", "NAME", "Who uses the volume; TARGET if not given" },
        [OPTION_DRIVER] = { "Driver", "s", HOLD, "driver", "NAME", "Driver that provides the volume" },
        [OPTION_VOLUME_TYPE] = { "VolumeType", "s", HOLD, "volume-type", "TYPE", "Volume type; csi if not given" },
        [OPTION_ACCESS_MODE] = { "AccessMode", "s", HOLD, "access-mode", "MODE", "Access mode",
                                 "ReadWriteOnce ReadWriteOncePod ReadOnlyMany ReadWriteMany" },
        [OPTION_FS_GROUP] = { "FSGroup", "u", HOLD | METHOD_VERIFY, "fs-group", "GID",
                              "Group that the files must have" },
        [OPTION_FS_GROUP_POLICY] = { "FSGroupPolicy", "s", HOLD, "fs-group-policy", "POLICY",
                                     "Whether and how the files get the group",
                                     "None File ReadWriteOnceWithFSType Mount" },
        [OPTION_FS_GROUP_CHANGE_POLICY] = { "FSGroupChangePolicy", "s", HOLD, "fs-group-change-policy", "POLICY",
                                            "Which files are checked for the group", "Always OnRootMismatch" },
        [OPTION_USER_NAMESPACE] = { "UserNamespace", "b", HOLD, "user-namespace", NULL,
                                    "The container has a user namespace (its runtime idmaps the mount)" },
        [OPTION_EPHEMERAL] = { "Ephemeral", "b", MOUNT, "ephemeral", NULL,
                               "Forget the volume when nobody has it mounted any more" },
        [OPTION_REPLACE] = { "Replace", "b", MOUNT, "replace", NULL,
                             "Replace the mount of SOURCE that another program made at TARGET" },
        [OPTION_RELEASE_ON_UMOUNT] = { "ReleaseOnUmount", "b", HOLD, "release-on-umount", NULL,
                                       "umount(8) is to end the holder, which is no loss then" },
        [OPTION_DEPTH] = { "Depth", "s", METHOD_VERIFY, "depth", "DEPTH", "What to verify", "root full" },
        [OPTION_FORCE] = { "Force", "b", CHANGE, "force", NULL,
                           "Walk over all files even if they are known to be right" },
        [OPTION_MAX_ENTRIES_PER_SECOND] = { "MaxEntriesPerSecond", "t", WALK, "max-entries-per-second", "N",
                                            "Files per second at most; 0: no limit" },
        [OPTION_WAIT] = { "WaitUSec", "t", MOUNT, "wait", "TIME", "Wait for a conflict to end, up to 1h" },
        [OPTION_TIMEOUT] = { "TimeoutUSec", "t", METHODS_ALL, "timeout", "TIME",
                             "How long the operation may take (default: JobTimeoutSec=)" },
};

const RequestOption *request_option_find(const char *name, RequestMethod method) {
        for (size_t i = 0; i < REQUEST_OPTIONS; i++)
                if ((request_options[i].methods & method) && streq(request_options[i].name, name))
                        return &request_options[i];
        return NULL;
}
