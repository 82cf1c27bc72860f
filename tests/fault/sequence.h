/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "run.h"

/* The actions of a sequence, and the model that says what there is after each of them. */

enum { COVERS_MAX = 2, SETTLE_SEC = 30, ANSWER_SEC = 90, OTHER_GID = 4000 };

typedef enum Act {
        ACT_MOUNT,
        ACT_GROUP,       /* mount for a group */
        ACT_OTHER_GROUP, /* for another one */
        ACT_UNMOUNT,
        ACT_UNMOUNT_ANY, /* without the volume's name */
        ACT_OWNERSHIP,
        ACT_ADOPT,
        ACT_VERIFY,
        ACT_FORGET,
        ACT_COVER,     /* a stranger mounts a tmpfs over the target */
        ACT_TAKE_AWAY, /* a stranger unmounts the mount on top */
        ACT_DETACH,    /* the same with MNT_DETACH */
        ACT_READ_ONLY, /* a stranger remounts the mount on top */
        ACT_READ_WRITE,
        ACT_VANISH,    /* a stranger moves the image of a volume away, or back */
        ACT_WRITE,     /* a stranger mounts the volume elsewhere, and gives a file to another group */
        ACT_COPY_MARK, /* a stranger copies the mark of a volume to another one, as cp -a does */
        ACT_SWAP,      /* work by id while two images have each other's name */
        ACT_STALL,     /* an unmount, or a mount, while the disk of the state stalls */
        ACT_CONFIGURE, /* selvold is killed, and starts with another configuration */
        ACT_FILL,      /* there are as many records as selvold keeps */
        ACT_KILL_DAEMON,
        ACT_KILL_WORKER,
        ACT_LOSE_RECORD, /* selvold is killed and its state removed */
        ACTS
} Act;

typedef struct Action {
        Act act;
        int volume, target;
} Action;

/* A target has at most one mount of selvol's, and mounts of strangers above it. */
typedef struct Place {
        int volume;
        unsigned covers;
        bool adopted; /* a stranger had made selvol's mount */
        bool lost;    /* selvold has lost its record */
        bool grouped; /* the mount may show another group than the disk has */
} Place;

typedef struct Sequence {
        Run run;
        Place places[TARGETS];
        bool vanished[VOLUMES];
        bool configured;         /* with the other configuration */
        bool written[VOLUMES];   /* by a stranger, since all files were compared */
        bool forgotten[VOLUMES]; /* and selvold has lost the record of that: see docs/plan.md */
        unsigned n_done[ACTS], n_refused[ACTS];
} Sequence;

/* The actions of strangers, who mount, unmount, rename and write beside selvol. They return whether there was
 * something to do. */
bool stranger_covers(Sequence *s, const Action *a);
bool stranger_takes_away(Sequence *s, const Action *a);
bool stranger_remounts(Sequence *s, const Action *a);
bool stranger_moves_image(Sequence *s, const Action *a);
bool stranger_copies_mark(const Sequence *s, const Action *a);
/* Returns false, with *w, if selvold does not see what the stranger does. */
bool stranger_writes(Sequence *s, const Action *a, bool *ret_done, Wrong *w);
/* Gives two images each other's name, if neither is mounted. A second call undoes that. */
bool stranger_swaps_images(const Sequence *s, int volume, int other);

bool is_image(const Sequence *s, int volume);
/* Tells whether the volume has a mount whose record is lost, or is not lost. */
bool is_somewhere(const Sequence *s, int volume, bool lost);
