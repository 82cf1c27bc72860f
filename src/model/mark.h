/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "basic/gid-util.h"
#include "model/failure.h"

/* The mark: what a volume itself says of the labels and groups of its files, in the xattr MARK_XATTR of its
 * root. It is the truth, read and written by the worker alone. selvold keeps a copy of what it last heard,
 * to show and to predict. */

#define MARK_XATTR "trusted.selvol"

enum { MARK_MAX = 2048 }; /* bytes of text */

/* --- fingerprints --- */

/* A fingerprint is the superblock's word on who has had the file system mounted for writing. Two equal ones
 * say that nobody had it in between, but for the exceptions in docs/plan.md. */

enum { FINGERPRINT_MAX = 128 };

/* "ext4:UUID:LASTCHECK:MTIME:COUNT", "xfs:UUID:LSN:HASH", "btrfs:UUID:GENERATION:HASH"; "" if it is not
 * known, which is equal to nothing. */
typedef struct Fingerprint {
        char text[FINGERPRINT_MAX];
} Fingerprint;

static inline bool fingerprint_is_known(const Fingerprint *f) {
        return !isempty(f->text);
}

static inline bool fingerprint_equal(const Fingerprint *a, const Fingerprint *b) {
        return fingerprint_is_known(a) && streq(a->text, b->text);
}

/* In the place of one, in the record of a volume: it is mounted, and the mark is right. */
#define FINGERPRINT_MOUNTED "mounted"

/* ext4's is right while it is mounted, and for whoever has it next. */
static inline bool fingerprint_is_kept_in_mark(const Fingerprint *f) {
        return startswith(f->text, "ext4:");
}

/* Whether now is what before becomes by one more mount for writing, which only ext4 tells: it counts them. */
bool fingerprint_is_next(const Fingerprint *before, const Fingerprint *now) _pure_;

/* Takes a text from outside: "" or small letters, digits, '-' and ':'. Returns 0 or -EBADMSG. */
int fingerprint_from_string(const char *text, Fingerprint *ret);

/* --- marks --- */

/* How far a walk over all files has come. */
typedef enum FilesState { FILES_UNKNOWN, FILES_PARTIAL, FILES_COMPLETE, FILES_STATES } FilesState;
DECLARE_STRING_TABLE(files_state, FilesState);

/* The mark as it was found at the root. Only MARK_PRESENT tells something of the files. */
typedef enum MarkFound {
        MARK_ABSENT,      /* also of a copy that was kept: what was found is not */
        MARK_UNSUPPORTED, /* the file system keeps no such xattr */
        MARK_INVALID,     /* there is one, which can't be parsed */
        MARK_PRESENT,
        MARKS_FOUND,
} MarkFound;
DECLARE_STRING_TABLE(mark_found, MarkFound);

typedef struct Mark {
        MarkFound found;
        ino_t inode;             /* of the root that it was written to: a copy is no mark */
        Fingerprint fingerprint; /* of the file system when it was last mounted by selvol, if that is kept here */
        FilesState label_state;
        char *context;              /* that label_state speaks of, canonical; NULL or "" if unknown */
        bool tainted;               /* files may have been created since that have no label on disk */
        FilesState ownership_state; /* the same of the group of all files */
        gid_t gid;                  /* on disk, that ownership_state speaks of; 0 if unknown */
} Mark;

void mark_done(Mark *m);
/* *ret is overwritten, not released. Returns 0 or -ENOMEM. */
int mark_copy(const Mark *m, Mark *ret) _warn_unused_;
/* Whether both say the same of files; a context or a gid beside "unknown" doesn't count, nor what was
 * found. */
bool mark_equal(const Mark *a, const Mark *b) _pure_;
/* Whether states, context and gid go together: complete and partial have a context, unknown has none and no
 * gid. */
bool mark_is_consistent(const Mark *m) _pure_;

/* The text of the xattr: "version=2 inode=2 fingerprint=... label=complete tainted=no ownership=unknown
 * gid=0 context=...", one blank between, the context last. NULL on lack of memory. */
char *mark_format(const Mark *m) _warn_unused_;

/* Parses n bytes from a disk that anybody may have written: all keys, in this order, once, nothing else,
 * numbers and context in their one form, mark_is_consistent(). Returns 0 with *ret of MARK_PRESENT;
 * -ENOMEM; -EBADMSG for text that is none; -EOPNOTSUPP for another version. */
int mark_parse(const char *text, size_t n, Mark *ret) _warn_unused_;

/* Whether what a mark says is still so. */
typedef enum MarkBelief {
        MARK_ELSEWHERE, /* somebody else may have had the file system mounted for writing since */
        MARK_TRUSTED,   /* likewise, but an administrator says that nobody has */
        MARK_BELIEVED,
} MarkBelief;

/* Facts that only selvold knows. */
typedef struct Witness {
        bool alive;   /* the volume is mounted by selvol, or adopted, and has been since the mark was found right */
        bool beside;  /* somebody else has the file system mounted for writing now */
        bool trusted; /* TrustedMark= */
        Fingerprint kept; /* that the file system had when its last mount went */
} Witness;

/* Facts with which a mark is written. */
typedef struct MarkProof {
        MarkBelief belief;
        Fingerprint fingerprint; /* of the file system now, if that is kept in the mark */
} MarkProof;

/* Whether a mark that is believed has to be written again to be believed the next time. */
bool mark_is_outdated(const Mark *m, const MarkProof *proof) _pure_;

/* The changes of a walk. */
typedef struct MarkWork {
        const char *context; /* the label that all files get, canonical; NULL: labels are left alone */
        gid_t gid;           /* the group that all get on disk; GID_NONE: groups are left alone */
        bool readers;        /* but only the mode that readers need, which is not enough for who writes */
} MarkWork;

/* Before the first file is touched: what is worked on is partial. Returns 0 or -ENOMEM. */
int mark_begin(Mark *m, const MarkWork *work) _warn_unused_;
/* When all went well and is on disk: what was worked on is complete; a group only with the mode for
 * writers. */
void mark_finish(Mark *m, const MarkWork *work);

/* A change makes a mark claim less; the later, the less. */
typedef enum MarkChange {
        MARK_KEEP,            /* read-only, or files get the label that all others have */
        MARK_TAINT,           /* new files get no label on disk */
        MARK_RESET_LABELS,    /* labels may become anything */
        MARK_RESET_OWNERSHIP, /* files were found to have another group or mode; labels are as they were */
        MARK_RESET_ALL,
        MARK_CHANGES,
} MarkChange;
DECLARE_STRING_TABLE(mark_change, MarkChange);

/* Whether the mark makes others skip work on the strength of what the change takes away. */
bool mark_exceeds(const Mark *m, MarkChange change) _pure_;

/* Applies it; returns whether anything changed. A taint stays when labels are reset: only a complete
 * relabel clears it. */
bool mark_apply(Mark *m, MarkChange change);
