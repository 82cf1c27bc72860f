/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "basic/gid-util.h"
#include "model/failure.h"

/* What is known of the labels on a volume's disk. The store remembers it, and the volume carries a copy of its own in
 * the xattr VOLUME_RECORD_XATTR of its root, so that a volume that moves to another node brings its own truth. */

#define VOLUME_RECORD_XATTR "trusted.selvol"

enum { VOLUME_RECORD_MAX = 2048 }; /* bytes of text */

/* Far from what can be counted, so that a number on a disk that is meant to run over is refused. */
#define VOLUME_RECORD_GENERATION_MAX ((UINT64_C(1) << 62) - 1)

/* How far a walk over all files has come. */
typedef enum RecordState { STATE_UNKNOWN, STATE_PARTIAL, STATE_COMPLETE, RECORD_STATES } RecordState;
DECLARE_STRING_TABLE(record_state, RecordState);

typedef struct VolumeRecord {
        RecordState label_state;
        char *context;               /* that label_state speaks of, canonical; NULL or "" if unknown */
        bool tainted;                /* files may have been made since that have no label on disk */
        RecordState ownership_state; /* the same of the group of all files */
        gid_t gid;                   /* that ownership_state speaks of */
        uint64_t generation;         /* counts the changes; 0: never written */
} VolumeRecord;

void volume_record_done(VolumeRecord *r);
/* *ret is overwritten, not released. Returns 0 or -ENOMEM. */
int volume_record_copy(const VolumeRecord *r, VolumeRecord *ret) _warn_unused_;
/* Whether both have one text: a context or a gid beside "unknown" doesn't count. */
bool volume_record_equal(const VolumeRecord *a, const VolumeRecord *b) _pure_;

/* The text of the xattr: "version=1 generation=7 label=complete tainted=no ownership=unknown gid=0 context=…", one
 * blank between, the context last, and empty if the label is unknown, as the gid then is 0 if the ownership is.
 * NULL on lack of memory. */
char *volume_record_format(const VolumeRecord *r) _warn_unused_;

/* Reads it, of n bytes, from a disk that anybody may have written: all keys, in this order, once, nothing else,
 * numbers and context in their one form, states that go together (complete and partial need a context, unknown has
 * none, nor a gid), generations to VOLUME_RECORD_GENERATION_MAX. Returns 0; -ENOMEM; -EBADMSG for text that makes no
 * sense; -EOPNOTSUPP for another version. */
int volume_record_parse(const char *text, size_t n, VolumeRecord *ret) _warn_unused_;

/* What a walk over all files does. */
typedef struct RecordWork {
        const char *context; /* the label that all get, canonical; NULL: labels are left alone */
        gid_t gid;           /* the group on disk that all get; GID_NONE: likewise */
        bool read_only;      /* but only the mode that readers need: enough for nobody who writes */
} RecordWork;

/* Before the first file is touched: what is worked on is partial. Returns 0 or -ENOMEM. */
int volume_record_begin(VolumeRecord *r, const RecordWork *work) _warn_unused_;
/* When all went well and is on disk: what was worked on is complete. Of a group only if the mode is one for writers.
 */
void volume_record_finish(VolumeRecord *r, const RecordWork *work);

/* What a mount does to what is known, once somebody may write to it. */
typedef enum RecordEffect {
        EFFECT_KEEP,     /* read-only, or files get the label that all others have */
        EFFECT_TAINT,    /* new files get no label on disk */
        EFFECT_FORGET,   /* labels may become anything */
        EFFECT_DISOWN,   /* files were found to have another group or mode; labels are as they were */
        EFFECT_DISTRUST, /* labels and groups may be anything */
        EFFECTS,
} RecordEffect;
DECLARE_STRING_TABLE(record_effect, RecordEffect);

/* The generation after this one; the last possible one stays. */
uint64_t volume_record_next_generation(uint64_t generation) _pure_;

/* Applies it. A taint stays when labels are forgotten; only a complete relabel clears it. Returns whether anything
 * changed; the generation then is the next one. */
bool volume_record_apply(VolumeRecord *r, RecordEffect effect);

/* What a volume's root was found to carry. */
typedef enum RecordFound {
        RECORD_UNSUPPORTED, /* the file system keeps no such xattr */
        RECORD_ABSENT,
        RECORD_PRESENT, /* text is there; whether it makes sense is another matter */
        RECORDS_FOUND,
} RecordFound;
DECLARE_STRING_TABLE(record_found, RecordFound);

/* How the two accounts went together; the words are for the journal. */
typedef enum RecordVerdict {
        VERDICT_STORE,       /* the volume can't carry a record: what the store says */
        VERDICT_AGREED,      /* both say the same, or neither has ever said anything */
        VERDICT_VOLUME,      /* the volume has been elsewhere since: what it says */
        VERDICT_MISSING,     /* the volume has lost its record: another one, or made anew */
        VERDICT_ROLLED_BACK, /* the volume's is older than ours: an old copy */
        VERDICT_DIFFERS,     /* the same generation, another content */
        VERDICT_BAD,         /* what is there makes no sense */
        VERDICTS,
} RecordVerdict;
DECLARE_STRING_TABLE(record_verdict, RecordVerdict);

/* What can be relied on, from what the store remembers and what the volume carries. With the last four verdicts
 * nothing is known: unknown, tainted if the store says so, and a generation that is higher than both. A store that
 * has no generation may know of a taint all the same (version 1 wrote none): a volume that carries a record without
 * that taint DIFFERS. text may be NULL unless RECORD_PRESENT. *ret is overwritten, not released. Returns 0 or
 * -ENOMEM. */
int volume_record_reconcile(const VolumeRecord *stored, RecordFound found, const char *text, VolumeRecord *ret,
                            RecordVerdict *ret_verdict) _warn_unused_;
