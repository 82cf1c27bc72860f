/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* How much a caller may send, how much of it selvold keeps, and how long it waits for others. A string that
 * is too long is refused, never cut. The rows of model/quota.c say which of the numbers hold together;
 * selvold(8) lists them. */

/* In one call or one configuration. */
enum {
        VOLUME_ID_MAX = 256,  /* bytes: CSI allows 128 for an id; the name of a driver comes on top */
        CONTEXT_MAX = 1024,   /* bytes: a level of some 200 categories fits */
        OPTION_MAX = 1024,    /* bytes of one mount option: a context fits */
        OPTIONS_MAX = 64,     /* mount options: file systems know some 50 */
        NAME_MAX_BYTES = 255, /* bytes of a holder, a driver and the like: the name of a file fits */
        WALK_ENTRIES_PER_SEC_MAX = 1000000000, /* entries a second: no walk is faster */
        CALL_VALUES_MAX = 256,                 /* values of a call: all options and OPTIONS_MAX fit */
        CALL_BYTES_MAX = 128 * 1024,           /* bytes of the strings of a call: all that a method takes fits */
};

/* Records. */
enum {
        VOLUMES_MAX = 4096, /* volumes: a node has some hundred */
        HOLDERS_MAX = 256,  /* holders of one volume: kubelet has at most some 250 pods */
};

/* Jobs that run: each has a child of the worker, which has SERVER_CONNECTIONS_MAX. */
enum {
        JOBS_MAX = 64,                /* jobs: as many as disks and servers profit from */
        JOBS_RESERVED = 16,           /* of JOBS_MAX, for root: kubelet's volumes don't wait for those of users */
        JOBS_TO_UNMOUNT = 16,         /* beyond JOBS_MAX: where all mounts hang, pods can still end */
        JOBS_OF_CALLER_MAX = 48,      /* of JOBS_MAX: one caller leaves room to others */
        JOBS_OF_SOURCE_MAX = 16,      /* jobs, and as many that unmount: a server that hangs leaves room to others */
        SERVER_CONNECTIONS_MAX = 128, /* connections: these, the watch, and children that linger */
};

/* Jobs that run or wait: a job takes some 3 KB. */
enum {
        JOBS_WAITING_MAX = 4096,           /* jobs: each volume has one */
        JOBS_WAITING_RESERVED = 1024,      /* of JOBS_WAITING_MAX, for root */
        JOBS_WAITING_TO_UNMOUNT = 1024,    /* beyond JOBS_WAITING_MAX */
        JOBS_WAITING_OF_CALLER_MAX = 1024, /* jobs that do not unmount */
};

/* Calls that wait for the answer of one job, and as many for its end. */
enum {
        WAITERS_MAX = 96,         /* calls: as many programs don't repeat one call */
        WAITERS_RESERVED = 32,    /* of WAITERS_MAX, for root */
        WAITERS_TO_CANCEL = 16,   /* beyond WAITERS_MAX: any job can be ended */
        WAITERS_OF_USER_MAX = 32, /* calls: one user leaves room to others */
};

/* Questions to polkit: a person may take INTERACTIVE_SEC for an answer. */
enum {
        QUESTIONS_MAX = 64,         /* questions: as many as jobs run */
        QUESTIONS_OF_USER_MAX = 32, /* questions: one user leaves room to others */
        POLKIT_SEC = 10,            /* seconds: polkit runs rules, and perhaps programs */
        INTERACTIVE_SEC = 120,      /* seconds: somebody types a password */
};

/* Calls that wait for their turn: their callers are not authorized yet. */
enum {
        CALLS_NOW_MAX = 16,       /* calls of one caller that are carried out at once: a program rarely has more */
        CALLS_PUT_OFF_MAX = 5120, /* calls: with CALL_PUT_OFF_BYTES_MAX each they fit into the unit's MemoryMax= */
        CALLS_PUT_OFF_RESERVED = 1024,  /* of CALLS_PUT_OFF_MAX, for root */
        CALLS_PUT_OFF_OF_CALLER = 1024, /* calls: a node's volumes can all be asked for at once */
        CALL_PUT_OFF_BYTES_MAX = 8192,  /* bytes of the strings of one: two paths fit */
        CALL_ALL_OBJECTS_COST = 128,    /* calls of its caller that one of GetManagedObjects counts as */
        CALLS_DELAY_USEC = 50000,       /* microseconds that others hold up those that are put off */
};

/* The bus. */
enum {
        SENDERS_MAX = 4096,    /* connections whose user is remembered: the bus has fewer by default */
        BUS_QUEUED_MAX = 4096, /* messages that the bus has not taken yet: more than one turn of the loop sends */
        BUS_STALLED_SEC = 5, /* seconds: a bus that takes nothing for so long holds too much for who does not read */
        BUS_ANSWER_SEC = 5,  /* seconds: the bus itself answers at once */
};
