/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Limits for what a caller sends, for what selvold keeps, and for the time that selvold waits. selvold
 * refuses a string that is too long and never cuts it. The rows of model/quota.c combine these numbers;
 * selvold(8) lists them.
 *
 * All callers together can have selvold keep about so much, of MemoryMax=256M; /limits/full measures 60 MiB
 * with full records and 2048 waiting jobs:
 *
 *   16 MiB  records: RECORD_BYTES_MAX, and 1 KB beside the strings of each
 *   16 MiB  the same once more, while the store writes a new file
 *   32 MiB  jobs that run or wait: the bytes of JOB_BYTES twice, 3 KB beside them, and JOB_CONFLICTS_BYTES
 *   20 MiB  ended jobs: JOBS_KEPT_ALL, with WALK_ISSUES_MAX paths each
 *    8 MiB  calls that wait for jobs: CALLS_WAITING_BYTES
 *   46 MiB  calls that wait for their turn: CALLS_PUT_OFF_MAX with CALL_PUT_OFF_BYTES_MAX
 *   24 MiB  questions to polkit: QUESTIONS_MAX with CALL_BYTES_MAX, as call, details and question
 *   48 MiB  one list of all objects, twice while it is composed: see below
 *    8 MiB  senders, metrics, libraries, and what selvold has without callers
 *
 * The largest reply is the list of all objects, less than 24 MiB, where dbus-daemon takes 32 MiB:
 * RECORD_BYTES_MAX; 1 KB for each object and 0.5 KB for each holder, that is 10 MiB; the bytes of the jobs,
 * and WAITS_FOR_BYTES for each. selvold composes one at a time. Unrecorded mounts, and texts about mounts on
 * or beside a holder's, are not the callers': root makes them. */

/* In one call or one configuration. */
enum {
        VOLUME_ID_MAX = 512,                   /* bytes: an id of CSI and the name of a driver fit */
        CONTEXT_MAX = 1024,                    /* bytes: a level of some 200 categories fits */
        OPTION_MAX = 1024,                     /* bytes of one mount option: a context fits */
        OPTIONS_MAX = 64,                      /* mount options: file systems know some 50 */
        NAME_MAX_BYTES = 255,                  /* bytes of a holder's or driver's name: a file name fits */
        WALK_ENTRIES_PER_SEC_MAX = 1000000000, /* entries a second: no walk is faster */
        CALL_VALUES_MAX = 256,                 /* values of a call: all options and OPTIONS_MAX fit */
        CALL_BYTES_MAX = 128 * 1024,           /* bytes of all strings of a call: every valid call fits */
};

/* Records. */
enum {
        VOLUMES_MAX = 4096,      /* volumes: a node has some hundred in use */
        VOLUMES_RESERVED = 256,  /* part of VOLUMES_MAX, for root */
        VOLUMES_OF_CALLER = 512, /* volumes: a caller with more makes room among its own ones first */
        HOLDERS_MAX = 256,       /* holders of one volume: kubelet has at most some 250 pods */
        HOLDERS_ALL_MAX = 4096,  /* holders of all volumes: 16 for each of 256 pods */
        HOLDERS_RESERVED = 1024, /* part of HOLDERS_ALL_MAX, for root */
        HOLDERS_OF_USER = 768,   /* part of HOLDERS_ALL_MAX: three users leave room for a fourth one */
};

/* Bytes of the strings of records, with their holders: 1 KiB for each of VOLUMES_MAX and HOLDERS_ALL_MAX;
 * kubelet's have some 300 and 500. */
enum {
        RECORD_BYTES_MAX = 8388608,
        RECORD_BYTES_RESERVED = 2097152, /* part of RECORD_BYTES_MAX, for root */
        RECORD_BYTES_OF_USER = 1572864,  /* part of it: three users leave room for a fourth one */
};

/* Running jobs: each has a child of the worker, which accepts SERVER_CONNECTIONS_MAX connections. The
 * children of an earlier selvold count as jobs. */
enum {
        JOBS_MAX = 64,                /* jobs: disks and servers gain nothing from more */
        JOBS_RESERVED = 16,           /* part of JOBS_MAX for root: kubelet does not wait for users */
        JOBS_TO_UNMOUNT = 16,         /* in addition to JOBS_MAX: pods can end even if all mounts hang */
        JOBS_OF_USER_MAX = 12,        /* part of JOBS_MAX: three users leave room for a fourth one */
        JOBS_OF_CONNECTION_MAX = 48,  /* part of JOBS_MAX, for a connection of root */
        UNMOUNTS_RESERVED = 24,       /* part of JOBS_MAX and JOBS_TO_UNMOUNT, for root */
        UNMOUNTS_OF_USER_MAX = 15,    /* jobs, for one that unmounts: all mounts of a user may hang */
        JOBS_OF_SOURCE_MAX = 16,      /* jobs, and as many unmounts: a server that hangs leaves room */
        JOBS_OF_SOURCE_RESERVED = 3,  /* part of JOBS_OF_SOURCE_MAX, for root */
        JOBS_OF_SOURCE_OF_USER = 4,   /* part of JOBS_OF_SOURCE_MAX: a directory of images has many users */
        SERVER_CONNECTIONS_MAX = 128, /* connections: of jobs, of the watch, and of children that linger */
        SERVER_RESERVED = 32,         /* part of it: unmounts, verifies and the watch need fewer */
};

/* Jobs that run or wait: a job takes some 3 KB beside its strings. */
enum {
        JOBS_WAITING_MAX = 2048,           /* jobs: a volume for each of 250 pods, several times */
        JOBS_WAITING_RESERVED = 512,       /* part of JOBS_WAITING_MAX, for root */
        JOBS_WAITING_TO_UNMOUNT = 512,     /* in addition to JOBS_WAITING_MAX */
        JOBS_WAITING_OF_CONNECTION = 1024, /* jobs that do not unmount, of a connection of root */
        JOBS_WAITING_OF_USER_MAX = 384,    /* jobs that do not unmount, of a user */
        UNMOUNTS_WAITING_RESERVED = 1024,  /* jobs, for root: unmounts of users leave room for its mounts */
        UNMOUNTS_WAITING_OF_USER = 480,    /* jobs, for one that unmounts */
        JOB_BYTES = 1024,                  /* bytes of strings, on average: kubelet's have some 400 */
        JOB_CONFLICTS_BYTES = 4096,        /* bytes of conflicts that a waiting job keeps, or a single one */
        WAITS_FOR_BYTES = 1024,            /* bytes of conflicts that its property WaitsFor shows */
        JOBS_KEPT_MAX = 64,                /* jobs of one user that have ended */
        JOBS_KEPT_ALL = 256,               /* those of all users */
        JOB_KEPT_SEC = 600,
};

/* Numbers of jobs, which no later selvold of the boot uses for other jobs. */
#define JOB_NUMBER_MAX UINT64_C(1000000000000000) /* JSON has exact numbers up to here */
enum {
        JOB_NUMBERS = 10000, /* numbers recorded in advance: more than the jobs that can wait at once */
};

/* Calls that wait for the reply of one job, and as many that wait for its end. */
enum {
        WAITERS_MAX = 96,         /* calls: so many programs never repeat one call */
        WAITERS_RESERVED = 32,    /* part of WAITERS_MAX, for root */
        WAITERS_TO_CANCEL = 16,   /* in addition to WAITERS_MAX: any job can be canceled */
        WAITERS_OF_USER_MAX = 16, /* calls: three users leave room for a fourth one */
};

/* Calls that wait for any job, with the bytes of their strings. */
enum {
        CALL_BYTES = 1024, /* bytes beside the strings, about */
        CALLS_WAITING_BYTES = 8388608,
        CALLS_WAITING_BYTES_RESERVED = 2097152, /* part of CALLS_WAITING_BYTES, for root */
        CALLS_WAITING_BYTES_OF_USER = 1572864,  /* part of it: three users leave room for a fourth one */
};

/* Questions to polkit: a person may take INTERACTIVE_SEC for an answer. */
enum {
        QUESTIONS_MAX = 64,         /* questions: one for each running job */
        QUESTIONS_OF_USER_MAX = 16, /* questions: three users leave room for a fourth one */
        POLKIT_SEC = 10,            /* seconds: polkit runs rules, and perhaps programs */
        INTERACTIVE_SEC = 120,      /* seconds: somebody types a password */
        DENIALS_MAX = 32,           /* users whose denied calls are counted instead of logged */
        DENIAL_SEC = 10,            /* seconds until another denied call of a user is logged */
};

/* Calls that wait for their turn: their callers are not authorized yet. */
enum {
        CALLS_NOW_MAX = 16,             /* calls of one caller that run at once: programs rarely send more */
        CALLS_PUT_OFF_MAX = 5120,       /* calls: so many of CALL_PUT_OFF_BYTES_MAX fit into MemoryMax= */
        CALLS_PUT_OFF_RESERVED = 1024,  /* part of CALLS_PUT_OFF_MAX, for root */
        CALLS_PUT_OFF_OF_CALLER = 1024, /* calls: enough for all volumes of a node at once */
        CALL_PUT_OFF_BYTES_MAX = 8192,  /* bytes of all strings of such a call: two paths fit */
        CALL_ALL_OBJECTS_COST = 128,    /* calls of its caller: the cost of one GetManagedObjects */
        CALLS_DELAY_USEC = 50000,       /* microseconds until these calls come before other events */
};

/* The bus. */
enum {
        SENDERS_MAX = 4096,    /* connections whose user selvold keeps: the bus has fewer by default */
        BUS_QUEUED_MAX = 4096, /* messages that the bus has not read: one turn of the loop sends fewer */
        BUS_STALLED_SEC = 5,   /* seconds without a read by the bus: its clients don't read their messages */
        BUS_ANSWER_SEC = 5,    /* seconds: the bus itself answers at once */
};
