/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <uthash.h>

#include "model/request.h"
#include "model/mark.h"

/* The records of selvold: volumes and their holders. selvold keeps them in memory, the store on disk. */

typedef enum Strategy { STRATEGY_NONE, STRATEGY_RELABEL, STRATEGY_CONTEXT_MOUNT, STRATEGIES } Strategy;
DECLARE_STRING_TABLE(strategy, Strategy);

/* The reason for a volume's strategy; the words are part of the API. */
typedef enum Reason {
        REASON_SELINUX_DISABLED,
        REASON_TYPE_NOT_MANAGED,
        REASON_ACCESS_MODE_NOT_MANAGED, /* Managed=by-access-mode, and several pods may use the volume */
        REASON_CONTEXT_MOUNT,
        REASON_CONTEXT_SHARED, /* another holder has mounted the volume with the same context */
        REASON_POLICY_ALWAYS,
        REASON_GATE_DISABLED,
        REASON_ACCESS_MODE_UNSUPPORTED, /* SELinuxMount=no, and the volume is not ReadWriteOncePod */
        REASON_DRIVER_UNSUPPORTED,
        REASON_NO_SECLABEL,
        REASON_READ_ONLY,
        REASON_NOT_RELABELED, /* RelabelBy=none */
        REASON_REQUESTED,     /* the caller called Relabel */
        REASONS,
} Reason;
DECLARE_STRING_TABLE(reason, Reason);

typedef enum HolderState {
        HOLDER_MOUNTING, /* selvold has recorded the intent, but no outcome */
        HOLDER_MOUNTED,
        HOLDER_UNMOUNTING, /* the same */
        HOLDER_STATES,
} HolderState;
DECLARE_STRING_TABLE(holder_state, HolderState);

typedef struct Holder {
        struct Holder *next;
        struct Volume *volume; /* the holder's volume; NULL: none yet */
        UT_hash_handle hh;     /* in the table of all targets */
        char *name;
        char *target; /* unique among all holders */
        HolderState state;
        Strategy strategy;
        Reason reason;
        bool read_only;
        bool adopted;           /* another program made the mount */
        bool release_on_umount; /* as in the request: an unmount by another program is no loss */
        bool relabeled_here;    /* strategy relabel: selvol has relabeled the files, not the runtime */
        gid_t fs_group;         /* the group that the mount shows; GID_NONE: the holder asked for none */
        gid_t disk_gid;         /* the group on disk: another one if the mount swaps the two */
        uint64_t since_usec;
        uid_t owner;       /* the user who mounted or adopted it first */
        char *context;     /* of the strategy, canonical; "" if unused or unknown */
        uint64_t mount_id; /* of the mount at target; 0 until it is known */
        char *device;      /* of the superblock, "major:minor"; "" until it is known */
        char *superblock;  /* Observed.superblock of the source; "" if unknown or none */
        /* covered_by describes the mount on top of the holder's, also_at is another place where the same
         * files are mounted; NULL: none. Not in the store: selvold looks again at each start. */
        char *covered_by, *also_at;
        bool beside; /* MountFact.beside; likewise */
        char *spec;  /* the request in one string, to recognize a repeated request */
} Holder;

typedef struct Volume {
        UT_hash_handle hh;
        struct Volumes *all; /* the table that has the volume; NULL: none yet */
        char *id;
        char *source;
        /* The data that the record speaks of, and the own link of its device when it was mounted last
         * (Observed.link). */
        Identity identity;
        char *link;
        char *fs_type; /* as the mount table has it, which may be another word than the request's */
        /* The type and the caller's options of selvol's last mount that shared no other. */
        char *mount_type;
        char **mount_options;
        /* selvol mounted the volume since boot. Even after an unmount, a mount namespace that the worker
         * can't see may have kept the mount. */
        bool mounted_this_boot;
        bool mounted_here; /* selvol made the last mount, of source with type and options */
        char *driver;      /* may be NULL */
        char *volume_type;
        AccessMode access_mode;
        Strategy strategy; /* the strongest of all holders; without holders that of the last one */
        char *context;     /* of the present or last use, canonical; "" if unknown */
        /* FINGERPRINT_MOUNTED, or the file system's fingerprint after the last unmount if the mark was right.
         * Unknown: selvol does not trust the mark, or the mark has the fingerprint. */
        Fingerprint fingerprint;
        /* The watch saw that others could write, through a foreign mount or one that they made writable, and
         * no walk has begun since: selvol does not trust the mark. */
        bool mounted_elsewhere;
        Mark mark;                   /* a copy from the worker's last message (mark.h) */
        uint64_t last_verified_usec; /* 0: never */
        uint64_t last_used_usec;     /* when it had a holder, or a walk, the last time */
        uid_t introducer;            /* the user who mounted or adopted it first */
        bool ephemeral;              /* the record goes with the last holder */
        uint64_t inodes_used;        /* at the last mount; 0: unknown */
        Holder *holders;
        /* The last holder, of which nobody was told that it is gone, as another volume still holds the
         * superblock. Not in the store. */
        Holder *untold;
} Volume;

Volume *volume_new(const char *id);
Volume *volume_free(Volume *v);
DEFINE_CLEANUP_FUNC(Volume *, volume_free);
Holder *holder_free(Holder *h);
DEFINE_CLEANUP_FUNC(Holder *, holder_free);

Holder *volume_find_holder(const Volume *v, const char *target) _pure_;
size_t volume_count_holders(const Volume *v) _pure_;
/* The bytes of the strings of a record without its holders, or of a holder. The object of a volume has three
 * bytes in its path for one of the id. */
size_t volume_count_bytes(const Volume *v) _pure_;
size_t holder_count_bytes(const Holder *h) _pure_;
/* Whether another program made the mount of a holder. */
bool volume_has_adopted(const Volume *v) _pure_;
/* Takes the holder over. Returns 0, or -ENOMEM: then the holder is still the caller's. */
int volume_add_holder(Volume *v, Holder *h) _warn_unused_;
/* Removes the holder from the volume. The holder is the caller's then. */
Holder *volume_take_holder(Volume *v, Holder *h);
void volume_remove_holder(Volume *v, Holder *h);

/* Whether both holders have, or had, one superblock mounted. */
bool holder_shares(const Holder *a, const Holder *b) _pure_;

/* Whether the holder's mount swaps two groups. */
bool holder_is_mapped(const Holder *h) _pure_;

/* Returns "Z" if the runtime has to relabel the volume for this holder, otherwise "". */
const char *runtime_flag(Strategy strategy, bool relabeled_here);

/* All volumes, in a uthash table keyed by id, and all holders, in one keyed by target. Must not move in
 * memory. */
typedef struct Volumes {
        Volume *table;
        Holder *targets;
} Volumes;

void volumes_done(Volumes *all);
Volume *volumes_find(const Volumes *all, const char *id);
size_t volumes_count(const Volumes *all);
/* Finds the holder at a target, among those of all volumes. */
Holder *volumes_find_target(const Volumes *all, const char *target, Volume **ret_volume);
/* Finds another volume of which a holder has the same superblock mounted: two ids stand for it. NULL: none.
 * */
const Volume *volumes_find_sharer(const Volumes *all, const Volume *v, const Holder *h) _pure_;
/* Finds the holder whose target is path or contains it; if there are several, the innermost one. */
Holder *volumes_find_above(const Volumes *all, const char *path, Volume **ret_volume);
/* Takes the volume and its holders over. Returns 0, or -ENOMEM: then the volume is still the caller's. */
int volumes_add(Volumes *all, Volume *v) _warn_unused_;
void volumes_remove(Volumes *all, Volume *v);

/* Returns the request in one string: equal strings mean equal requests, see request_equal(). Defaults of
 * RelabelBy, force and the group are left out, so that strings from before these options existed stay equal.
 * NULL on lack of memory. */
char *request_spec(const Request *q) _warn_unused_;
