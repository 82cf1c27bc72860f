/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan/plan.h"
#include "support.h"

/* Requests, records and mounts to make plans for a pod's volume of. */

#define TARGET_1    "/var/lib/kubelet/pods/1/volumes/v/mount"
#define TARGET_2    "/var/lib/kubelet/pods/2/volumes/v/mount"
#define TARGET_3    "/var/lib/kubelet/pods/3/volumes/v/mount"
#define CONTEXT_0_1 "system_u:object_r:container_file_t:s0:c0,c1"
#define CONTEXT_0_2 "system_u:object_r:container_file_t:s0:c0,c2"

#define UUID_1 "01234567-89ab-cdef-0123-456789abcde1"

#define TEST_SINCE      "since 2026-01-02 03:04:05 UTC"
#define TEST_SINCE_USEC UINT64_C(1767323045000000)

/* Returns a request for the volume as kubelet makes one for a pod. */
Request make_request(const char *target, const char *holder, const char *fs, const char *mode, const char *policy,
                     const char *level);
/* Checks the request and then plans, as selvold does. */
int validate_and_plan(const Node *node, const Settings *settings, Request *q, const Volumes *volumes,
                      const Observed *observed, int seclabel, Plan *ret, Failure *f);
/* Adds a mount of the superblock, and returns it until the next one is added. */
MountFact *observe(Observed *o, const char *target, const char *fs_type, const char *context);

/* The second pod, pod-2, wants the volume at TARGET_2. */
typedef struct Fixture {
        Node node;
        Settings settings;
        Volumes volumes;
        Observed observed;
        Request request;
        Failure failure;
        Plan plan;
} Fixture;

/* Asserts that the only conflict is the one with pod-1 at TARGET_1. */
void assert_conflict_with_pod_1(const Plan *p, const char *context);

void fixture_set_up(Fixture *x, gconstpointer data);
void fixture_tear_down(Fixture *x, gconstpointer data);
/* Replaces plan and failure. */
int fixture_plan(Fixture *x);
/* Plans to adopt the first mount that was observed; replaces plan and failure. */
int fixture_adopt(Fixture *x);
/* Returns the record of a volume, which it makes if there is none. */
Volume *fixture_volume(Fixture *x, const char *id);
/* Records a further holder, which has no group. */
Holder *fixture_hold(Fixture *x, const char *volume, const char *target, const char *holder, Strategy strategy,
                     const char *context);
