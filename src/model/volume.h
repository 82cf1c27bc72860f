/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <uthash.h>

#include "model/request.h"
#include "model/mark.h"

/* The memory of selvol: volumes and who holds them. The store makes it durable, the daemon keeps it in
 * memory. */

typedef enum Strategy { STRATEGY_NONE, STRATEGY_RELABEL, STRATEGY_CONTEXT_MOUNT, STRATEGIES } Strategy;
DECLARE_STRING_TABLE(strategy, Strategy);

/* Why a volume has its strategy; the words are part of the API. */
typedef enum Reason {
        REASON_SELINUX_DISABLED,
        REASON_TYPE_NOT_MANAGED,
        REASON_ACCESS_MODE_NOT_MANAGED, /* by-access-mode, and several pods may use it */
        REASON_CONTEXT_MOUNT,
        REASON_CONTEXT_SHARED, /* another holder has it mounted with the same context already */
        REASON_POLICY_ALWAYS,
        REASON_GATE_DISABLED,
        REASON_ACCESS_MODE_UNSUPPORTED, /* gate SELinuxMount is off and it is not ReadWriteOncePod */
        REASON_DRIVER_UNSUPPORTED,
        REASON_NO_SECLABEL,
        REASON_READ_ONLY,
        REASON_NOT_RELABELED, /* RelabelBy=none */
        REASON_REQUESTED,     /* Relabel, no mount */
        REASONS,
} Reason;
DECLARE_STRING_TABLE(reason, Reason);

typedef enum HolderState {
        HOLDER_MOUNTING, /* intent is recorded, the outcome is not */
        HOLDER_MOUNTED,
        HOLDER_UNMOUNTING, /* likewise */
        HOLDER_STATES,
} HolderState;
DECLARE_STRING_TABLE(holder_state, HolderState);

typedef struct Holder {
        struct Holder *next;
        struct Volume *volume; /* that it belongs to; NULL: none yet */
        UT_hash_handle hh;     /* in the table of all targets */
        char *name;
        char *target; /* unique among all holders */
        HolderState state;
        Strategy strategy;
        Reason reason;
        bool read_only;
        bool adopted;        /* mounted by someone else */
        bool relabeled_here; /* strategy relabel, and the service has done it, not the runtime */
        gid_t fs_group;      /* that its files have to it; GID_NONE: it asked for none */
        gid_t disk_gid; /* that they have on disk: another one, if the mount shows the one in the place of the other
                         */
        uint64_t since_usec;
        char *context;     /* of the strategy, canonical; "" if it plays no part or is unknown */
        uint64_t mount_id; /* of the mount at target; 0 until it is known */
        char *device;      /* of its superblock, "major:minor"; "" until it is known */
        char *superblock;  /* what the source led to, as in Observed; "" if that is not known, or names nothing */
        /* The mount that hides it, described, and where else its files are mounted; NULL: none. Not in the
         * store: each start looks anew. */
        char *covered_by, *also_at;
        char *spec; /* the request in one string, to tell a repeated request from another one */
} Holder;

typedef struct Volume {
        UT_hash_handle hh;
        struct Volumes *all; /* that it belongs to; NULL: none yet */
        char *id;
        char *source;
        char *fs_type;
        char **mount_options; /* of the caller, when selvol mounted it last and nothing was shared */
        bool mounted_this_boot; /* by selvol, perhaps not any more: then a mount namespace that can't be seen may have kept it */
        bool mounted_here; /* source and options say what the last mount was of; not so if others have made it */
        char *driver;      /* may be NULL */
        char *volume_type;
        AccessMode access_mode;
        Strategy strategy; /* of the present holders, the strongest; or of the last one */
        char *context;     /* of its use, canonical; "" if unknown to us */
        Fingerprint
                fingerprint; /* FINGERPRINT_MOUNTED; or of the file system when its last mount went, with a mark that was
                                  * right; not known: the mark is not believed, or keeps it itself */
        Mark mark;           /* a copy of what the worker said last: to show and to predict */
        uint64_t last_verified_usec; /* 0: never */
        uint64_t inodes_used;        /* when last mounted; 0: unknown */
        Holder *holders;
} Volume;

Volume *volume_new(const char *id);
Volume *volume_free(Volume *v);
DEFINE_CLEANUP_FUNC(Volume *, volume_free);
Holder *holder_free(Holder *h);
DEFINE_CLEANUP_FUNC(Holder *, holder_free);

Holder *volume_find_holder(const Volume *v, const char *target) _pure_;
size_t volume_count_holders(const Volume *v) _pure_;
/* Whether somebody else has made the mount of a holder. */
bool volume_has_adopted(const Volume *v) _pure_;
/* Takes it over. Returns 0; or -ENOMEM, then it is the caller's still. */
int volume_add_holder(Volume *v, Holder *h) _warn_unused_;
/* Takes it out of the list; it is the caller's then. */
Holder *volume_take_holder(Volume *v, Holder *h);
void volume_remove_holder(Volume *v, Holder *h);

/* Whether the holder's mount swaps two groups. */
static inline bool holder_is_mapped(const Holder *h) {
        return h->fs_group != h->disk_gid;
}

/* "Z" where the runtime is to relabel the volume for this holder, "" otherwise. */
static inline const char *runtime_flag(Strategy strategy, bool relabeled_here) {
        return strategy == STRATEGY_RELABEL && !relabeled_here ? "Z" : "";
}

/* All volumes, a uthash table keyed by id, and their holders, one keyed by target. Not to be moved in
 * memory. */
typedef struct Volumes {
        Volume *table;
        Holder *targets;
} Volumes;

void volumes_done(Volumes *all);
Volume *volumes_find(const Volumes *all, const char *id);
size_t volumes_count(const Volumes *all);
/* Finds the holder at a target, of whichever volume. */
Holder *volumes_find_target(const Volumes *all, const char *target, Volume **ret_volume);
/* Finds the holder whose target a path is, or is beneath; the innermost one. */
Holder *volumes_find_above(const Volumes *all, const char *path, Volume **ret_volume);
/* Takes it over, with its holders. Returns 0; or -ENOMEM, then it is the caller's still. */
int volumes_add(Volumes *all, Volume *v) _warn_unused_;
void volumes_remove(Volumes *all, Volume *v);

/* The request in one string: equal strings, equal requests, see request_equal(). What RelabelBy, force and
 * the group have by default is left out, so that strings from before there were these stay equal. NULL on
 * lack of memory. */
char *request_spec(const Request *q) _warn_unused_;
