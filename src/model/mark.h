/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "basic/gid-util.h"
#include "model/failure.h"
#include "model/identity.h"

/* The mark describes the labels and groups of all files of a volume, in the xattr MARK_XATTR of the volume's
 * root. Only the worker reads and writes the mark, and only the mark itself decides whether a walk is
 * skipped. selvold keeps a copy from the worker's last message, to show it and to predict plans. The copy may
 * claim more than the mark after an operation that weakened the mark and then failed. */

#define MARK_XATTR "trusted.selvol"

enum { MARK_MAX = 2048 }; /* bytes of text */

/* --- fingerprints --- */

/* A fingerprint consists of fields of the superblock that change when the file system is mounted for writing.
 * Two equal fingerprints show that nobody mounted it for writing in between; docs/plan.md has the
 * exceptions. */

enum { FINGERPRINT_MAX = 128 };

/* "ext4:UUID:LASTCHECK:MTIME:COUNT", "xfs:UUID:LSN:HASH", "btrfs:UUID:GENERATION:HASH"; "" if it is not
 * known: an unknown fingerprint equals no other. */
typedef struct Fingerprint {
        char text[FINGERPRINT_MAX];
} Fingerprint;

bool fingerprint_is_known(const Fingerprint *f) _pure_;
bool fingerprint_equal(const Fingerprint *a, const Fingerprint *b) _pure_;

/* In the record of a volume, in place of a fingerprint: the volume is mounted, and its mark is right. */
#define FINGERPRINT_MOUNTED "mounted"

/* The mark keeps only fingerprints of ext4: these change at a mount, and then stay the same until the next
 * one. */
bool fingerprint_is_kept_in_mark(const Fingerprint *f) _pure_;

/* Whether one more mount for writing makes now of before. Only ext4 shows that: it counts mounts. */
bool fingerprint_is_next(const Fingerprint *before, const Fingerprint *now) _pure_;

/* Reads a text from outside: "" or lower-case letters, digits, '-' and ':'. Returns 0 or -EBADMSG. */
int fingerprint_from_string(const char *text, Fingerprint *ret);

/* --- marks --- */

/* How far a walk over all files has come. */
typedef enum FilesState { FILES_UNKNOWN, FILES_PARTIAL, FILES_COMPLETE, FILES_STATES } FilesState;
DECLARE_STRING_TABLE(files_state, FilesState);

/* The outcome of a look for the mark at the root. A Mark that was read from a root describes files only if
 * this is MARK_PRESENT. */
typedef enum MarkFound {
        MARK_ABSENT,      /* and in selvold's copy, which does not keep this */
        MARK_UNSUPPORTED, /* the file system keeps no such xattr */
        MARK_INVALID,     /* the text can't be parsed */
        MARK_PRESENT,
        MARKS_FOUND,
} MarkFound;
DECLARE_STRING_TABLE(mark_found, MarkFound);

typedef struct Mark {
        MarkFound found;
        Identity identity;       /* of the file system that the worker wrote the mark to */
        ino_t inode;             /* of its root; a mark that was copied with the files is not valid */
        Fingerprint fingerprint; /* of the file system at selvol's last mount; only for ext4 */
        FilesState label_state;
        char *context;              /* the context for label_state, canonical; NULL or "" if unknown */
        bool tainted;               /* files created since then may have no label on disk */
        FilesState ownership_state; /* the same for the group of all files */
        gid_t gid;                  /* the group on disk for ownership_state; 0 if unknown */
} Mark;

void mark_done(Mark *m);
/* Overwrites *ret without releasing it. Returns 0 or -ENOMEM. */
int mark_copy(const Mark *m, Mark *ret) _warn_unused_;
/* Whether both marks say the same about files. Ignores found, identity, inode and fingerprint, and a
 * context or gid whose state is unknown. */
bool mark_equal(const Mark *a, const Mark *b) _pure_;
/* Whether states, context and gid match: complete and partial need a context, unknown allows no context and
 * no gid. */
bool mark_is_consistent(const Mark *m) _pure_;

/* Returns the text of the xattr: "version=2 identity=... inode=2 fingerprint=... label=complete tainted=no
 * ownership=unknown gid=0 context=...", with one blank between keys and the context last. NULL on lack of
 * memory. */
char *mark_format(const Mark *m) _warn_unused_;

/* Parses n bytes from a disk that anybody may have written: all keys once, in this order, and nothing else;
 * numbers and context canonical; mark_is_consistent(). Returns 0 with found set to MARK_PRESENT, -ENOMEM,
 * -EBADMSG for a malformed text, or -EOPNOTSUPP for another version. */
int mark_parse(const char *text, size_t n, Mark *ret) _warn_unused_;

/* Whether selvol trusts a mark. */
typedef enum MarkTrust {
        MARK_STALE,              /* another program may have mounted the file system for writing since */
        MARK_TRUSTED_BY_SETTING, /* the same, but TrustedMark=yes is configured */
        MARK_TRUSTED,
} MarkTrust;

/* Facts about a mark that only selvold knows. */
typedef struct MarkHistory {
        /* selvol has had the volume mounted, or adopted, since the mark was found right */
        bool alive;
        bool beside;       /* a foreign mount of the file system is writable now */
        bool elsewhere;    /* Volume.mounted_elsewhere */
        bool trusted;      /* TrustedMark= */
        Identity identity; /* of the recorded file system, which alive and kept speak of */
        Fingerprint kept;  /* the file system's fingerprint after its last unmount */
} MarkHistory;

/* Facts for writing a mark. */
typedef struct MarkProof {
        MarkTrust trust;
        Identity identity;       /* of the file system; unknown: no mark is valid there */
        Fingerprint fingerprint; /* of the file system now; only for ext4 */
} MarkProof;

/* Whether the worker has to write a trusted mark again, with a new fingerprint, to trust it the next time. */
bool mark_is_outdated(const Mark *m, const MarkProof *proof) _pure_;

/* The changes that a walk makes. */
typedef struct MarkWork {
        const char *context; /* the label that all files get, canonical; NULL: labels don't change */
        gid_t gid;           /* the group that all files get on disk; GID_NONE: groups don't change */
        bool readers;        /* files get only the mode that readers need, not that for writers */
} MarkWork;

/* Sets the states of the work to partial. Called before the first file changes. Returns 0 or -ENOMEM. */
int mark_begin(Mark *m, const MarkWork *work) _warn_unused_;
/* Sets the states of the work to complete; that of the group only if the files got the mode for writers.
 * Called when all changes succeeded and are on disk. */
void mark_finish(Mark *m, const MarkWork *work);

/* Ways to weaken a mark, from none to everything. */
typedef enum MarkChange {
        MARK_KEEP,            /* read-only, or files get the same label as all others */
        MARK_TAINT,           /* new files get no label on disk */
        MARK_RESET_LABELS,    /* labels may change to anything */
        MARK_RESET_OWNERSHIP, /* files have another group or mode; labels are unchanged */
        MARK_RESET_ALL,
        MARK_CHANGES,
} MarkChange;
DECLARE_STRING_TABLE(mark_change, MarkChange);

/* Whether the change takes a state away for which jobs skip work. */
bool mark_exceeds(const Mark *m, MarkChange change) _pure_;

/* Applies a change. Returns whether the mark differs now. A reset of labels keeps a taint: only a complete
 * relabel clears it. */
bool mark_apply(Mark *m, MarkChange change);
