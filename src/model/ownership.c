/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/ownership.h"

enum { MODE_READ_WRITE = 0660, MODE_READ_ONLY = 0440, MODE_SEARCH = 0110 };

static const char *const ownership_action_table[OWNERSHIP_ACTIONS] = {
        [OWNERSHIP_NONE] = "none", [OWNERSHIP_OPTION] = "option", [OWNERSHIP_SKIP] = "skip",
        [OWNERSHIP_MAP] = "map",   [OWNERSHIP_WALK] = "walk",
};
DEFINE_STRING_TABLE(ownership_action, OwnershipAction);

static const char *const ownership_reason_table[OWNERSHIP_REASONS] = {
        [OWNERSHIP_NOT_ASKED] = "",
        [OWNERSHIP_TYPE_NOT_MANAGED] = "type-not-managed",
        [OWNERSHIP_POLICY_NONE] = "policy-none",
        [OWNERSHIP_READ_ONLY] = "read-only",
        [OWNERSHIP_NO_FS_TYPE] = "no-fs-type",
        [OWNERSHIP_ACCESS_MODE] = "access-mode",
        [OWNERSHIP_POLICY_MOUNT] = "policy-mount",
        [OWNERSHIP_COMPLETE] = "complete",
        [OWNERSHIP_OTHER_GROUP] = "other-group",
        [OWNERSHIP_FORCED] = "forced",
        [OWNERSHIP_GATE_DISABLED] = "gate-disabled",
        [OWNERSHIP_POLICY_ALWAYS] = "policy-always",
        [OWNERSHIP_PARTIAL] = "partial",
        [OWNERSHIP_UNKNOWN] = "unknown",
        [OWNERSHIP_ROOT_DIFFERS] = "root-differs",
        [OWNERSHIP_FILES_DIFFER] = "files-differ",
        [OWNERSHIP_REQUESTED] = "requested",
        [OWNERSHIP_USER_NAMESPACE] = "user-namespace",
        [OWNERSHIP_MOUNTED] = "mounted",
        [OWNERSHIP_NO_IDMAP] = "no-idmap",
};
DEFINE_STRING_TABLE(ownership_reason, OwnershipReason);

static const char *const reason_text[OWNERSHIP_REASONS] = {
        [OWNERSHIP_NOT_ASKED] = "",
        [OWNERSHIP_TYPE_NOT_MANAGED] = "Groups of this volume type are never changed.",
        [OWNERSHIP_POLICY_NONE] = "FSGroupPolicy None: the group is the driver's business.",
        [OWNERSHIP_READ_ONLY] = "The volume is read-only: its group is not changed.",
        [OWNERSHIP_NO_FS_TYPE] =
                "FSGroupPolicy ReadWriteOnceWithFSType, and the file system is not known to be a disk of the volume's own: the group is not changed. Pass FSGroupPolicy=File if it is to be.",
        [OWNERSHIP_ACCESS_MODE] =
                "FSGroupPolicy ReadWriteOnceWithFSType, and the volume is not ReadWriteOnce: the group is not changed.",
        [OWNERSHIP_POLICY_MOUNT] = "FSGroupPolicy Mount: the file system is mounted for the group.",
        [OWNERSHIP_COMPLETE] = "All files have the group already: the record says so, and the root agrees.",
        [OWNERSHIP_OTHER_GROUP] = "All files have another group, and the mount shows the wanted one in its place.",
        [OWNERSHIP_FORCED] = "All files are looked at, as asked for.",
        [OWNERSHIP_GATE_DISABLED] = "The gate SkipFSGroupChange is off: all files are looked at.",
        [OWNERSHIP_POLICY_ALWAYS] = "FSGroupChangePolicy Always: all files are looked at.",
        [OWNERSHIP_PARTIAL] = "An earlier change of the group did not come to its end: all files are looked at.",
        [OWNERSHIP_UNKNOWN] = "Nothing is known of the files' group: all are looked at.",
        [OWNERSHIP_ROOT_DIFFERS] =
                "The root has another group or mode than the record says: all files are looked at.",
        [OWNERSHIP_FILES_DIFFER] = "Files have another group or mode than the record says: all are looked at.",
        [OWNERSHIP_REQUESTED] = "All files are given to the group, as asked for.",
        [OWNERSHIP_USER_NAMESPACE] =
                "The files have another group, and the runtime is going to idmap the mount for a user namespace, which can be done once: all files are given to the group.",
        [OWNERSHIP_MOUNTED] =
                "The files have another group, and what is mounted already can't be idmapped: all are given to the group.",
        [OWNERSHIP_NO_IDMAP] =
                "The files have another group, and the mount can't be idmapped: all are given to the group.",
};

const char *ownership_reason_text(OwnershipReason reason) {
        return reason_text[reason];
}

mode_t ownership_mode(const Ownership *o, mode_t mode) {
        if (S_ISLNK(mode))
                return mode;
        mode |= o->read_only ? MODE_READ_ONLY : MODE_READ_WRITE;
        return S_ISDIR(mode) ? mode | S_ISGID | MODE_SEARCH : mode;
}

bool ownership_holds(const Ownership *o, gid_t gid, mode_t mode) {
        return gid == o->gid && (o->any_mode || ownership_mode(o, mode) == mode);
}

static OwnershipReason find_reason(const OwnershipInput *in) {
        const VolumeRecord *known = in->known;
        const Ownership recorded = { .gid = known->gid, .read_only = in->wanted.read_only };

        if (in->force)
                return OWNERSHIP_FORCED;
        if (!in->gate)
                return OWNERSHIP_GATE_DISABLED;
        if (in->policy == FS_GROUP_CHANGE_ALWAYS)
                return OWNERSHIP_POLICY_ALWAYS;
        if (known->ownership_state == STATE_PARTIAL)
                return OWNERSHIP_PARTIAL;
        if (known->ownership_state != STATE_COMPLETE)
                return OWNERSHIP_UNKNOWN;
        if (!S_ISDIR(in->root_mode) || !ownership_holds(&recorded, in->root_gid, in->root_mode))
                return OWNERSHIP_ROOT_DIFFERS;
        if (known->gid == in->wanted.gid)
                return OWNERSHIP_COMPLETE;
        if (in->on_disk)
                return OWNERSHIP_REQUESTED;
        if (in->user_namespace)
                return OWNERSHIP_USER_NAMESPACE;
        return in->mounted ? OWNERSHIP_MOUNTED : OWNERSHIP_OTHER_GROUP;
}

OwnershipDecision ownership_decide(const OwnershipInput *in) {
        OwnershipReason reason = find_reason(in);

        return (OwnershipDecision){
                .action = reason == OWNERSHIP_COMPLETE      ? OWNERSHIP_SKIP
                          : reason == OWNERSHIP_OTHER_GROUP ? OWNERSHIP_MAP
                                                            : OWNERSHIP_WALK,
                .reason = reason,
        };
}
