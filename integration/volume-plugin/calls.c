/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <pthread.h>

#include "basic/time-util.h"
#include "client/client-call.h"
#include "model/limits.h"
#include "volume-plugin/calls.h"
#include "wire/system-bus.h"

/* The limit for reading the progress of a job when the caller's time is nearly over. */
#define LOOK_TIMEOUT_USEC (150 * USEC_PER_MSEC)

#define GO_ON \
        "It goes on, see 'selvolctl jobs'. Try again later, or raise the time limits as selvol-volume-plugin(8) says."

/* selvold asks polkit about QUESTIONS_OF_USER_MAX calls of a user at once, and refuses further ones; a node
 * that boots may start more containers. So calls take turns. A mount may wait for an unmount, which has turns
 * of its own. */
enum { TURNS = QUESTIONS_OF_USER_MAX / 2 };

typedef struct CallTurns {
        pthread_mutex_t mutex;
        pthread_cond_t free;
        unsigned n; /* taken */
} CallTurns;

static CallTurns mounts = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 },
                 unmounts = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };

/* Waits for a turn, and takes the wait from the time of the call. NULL: it is over. */
static CallTurns *turn_take(CallTurns *t, uint64_t *timeout_usec) {
        const uint64_t end = now_monotonic_usec() + *timeout_usec;
        const struct timespec until = { .tv_sec = (time_t) (end / USEC_PER_SEC),
                                        .tv_nsec = (long) (end % USEC_PER_SEC * NSEC_PER_USEC) };
        uint64_t now;
        bool taken;

        (void) pthread_mutex_lock(&t->mutex);
        while (t->n == TURNS && pthread_cond_clockwait(&t->free, &t->mutex, CLOCK_MONOTONIC, &until) == 0)
                ;
        now = now_monotonic_usec();
        *timeout_usec = now < end ? end - now : 0;
        taken = t->n<TURNS && * timeout_usec> 0;
        t->n += taken;
        (void) pthread_mutex_unlock(&t->mutex);
        return taken ? t : NULL;
}

static void turn_leave(CallTurns *t) {
        (void) pthread_mutex_lock(&t->mutex);
        t->n--;
        (void) pthread_cond_signal(&t->free);
        (void) pthread_mutex_unlock(&t->mutex);
}
DEFINE_CLEANUP_FUNC(CallTurns *, turn_leave);

static int refuse_call_as(const char *name, const char *message, Failure *f) {
        _cleanup_free_ char *text = text_join_lines(explain_error("", name, strempty(message)));

        return text ? failure_set(f, FAILURE_MOUNT_FAILED, "%s", text) : -ENOMEM;
}

static int refuse_call(const sd_bus_error *error, Failure *f) {
        return refuse_call_as(error->name, error->message, f);
}

/* Opens the bus. The time for that is part of the time for the call. */
static int open_bus(uint64_t timeout_usec, sd_bus **ret, sd_bus_error *error) {
        uint64_t start = now_monotonic_usec(), passed;
        int r;

        r = call_open(true, timeout_usec, ret, error);
        if (r < 0)
                return r;
        passed = now_monotonic_usec() - start;
        r = sd_bus_set_method_call_timeout(*ret, passed < timeout_usec ? timeout_usec - passed : 1);
        return r < 0 ? sd_bus_error_set_errno(error, r) : 0;
}

/* Compares names: the error of a selvold that ended without a reply has the same errno. A time-out here is
 * not SELinux's doing, because call_open() got a reply. */
static bool has_timed_out(const sd_bus_error *error) {
        return sd_bus_error_has_name(error, SD_BUS_ERROR_TIMEOUT);
}

static int refuse_late(uint64_t timeout_usec, Failure *f) {
        return failure_set(
                f, FAILURE_TIMED_OUT,
                "selvold has not answered within %.1f seconds. Try again later, or raise the time limits as selvol-volume-plugin(8) says.",
                (double) timeout_usec / USEC_PER_SEC);
}

static int read_number(sd_bus *bus, const char *job, const char *property, uint64_t *ret) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        int r;

        r = system_bus_get_property(bus, BUS_NAME, job, JOB_INTERFACE, property, NULL, &reply, "t");
        return r < 0 ? r : sd_bus_message_read(reply, "t", ret);
}

/* Reads the progress of the job that works on a volume: files done, and files in all. */
static int look_for_progress(sd_bus *bus, const char *volume, uint64_t *ret_done, uint64_t *ret_total) {
        _cleanup_message_ sd_bus_message *found = NULL, *property = NULL;
        const char *path, *job;
        int r;

        r = system_bus_call_method(bus, BUS_NAME, MANAGER_PATH, MANAGER_INTERFACE, "GetVolume", NULL, &found, "s",
                                   volume);
        if (r < 0)
                return r;
        r = sd_bus_message_read(found, "o", &path);
        if (r < 0)
                return r;
        r = system_bus_get_property(bus, BUS_NAME, path, VOLUME_INTERFACE, "Job", NULL, &property, "o");
        if (r < 0)
                return r;
        r = sd_bus_message_read(property, "o", &job);
        if (r < 0)
                return r;
        r = read_number(bus, job, "EntriesTotal", ret_total);
        return r < 0 ? r : read_number(bus, job, "EntriesDone", ret_done);
}

/* Fails because the caller's time is over; the job goes on. */
static int refuse_for_now(sd_bus *bus, const char *volume, Failure *f) {
        uint64_t done = 0, total = 0;

        (void) sd_bus_set_method_call_timeout(bus, LOOK_TIMEOUT_USEC);
        if (look_for_progress(bus, volume, &done, &total) < 0 || total == 0)
                return failure_set(f, FAILURE_TIMED_OUT, "Volume %s is not mounted yet. " GO_ON, volume);
        return failure_set(f, FAILURE_TIMED_OUT, "Volume %s is not mounted yet: %u %% of its files are done. " GO_ON,
                           volume, (unsigned) (done < total ? 100 * done / total : 100));
}

/* PlanVolume reports a refused mount in its reply, not as an error. */
static int check_plan(sd_bus_message *reply, Failure *f) {
        const char *name = NULL, *message = "";
        const StringMember members[] = { { "ErrorName", &name }, { "ErrorMessage", &message } };
        int r;

        r = call_read_strings(reply, members, ELEMENTSOF(members));
        if (r < 0)
                return r;
        /* Nobody can ever mount a volume with such options. */
        if (name && failure_is_of_caller(failure_kind_from_string(name)) && !streq(name, "InvalidTarget"))
                return refuse_call_as(name, message, f);
        return 0;
}

int call_plan(const VolumeOptions *o, const char *target, uint64_t timeout_usec, Failure *f) {
        const uint64_t whole_usec = timeout_usec;
        _cleanup_(turn_leavep) CallTurns *turn = turn_take(&mounts, &timeout_usec);
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_message_ sd_bus_message *reply = NULL;
        int r;

        if (!turn)
                return refuse_late(whole_usec, f);
        r = open_bus(timeout_usec, &bus, &error);
        if (r < 0)
                return refuse_call(&error, f);
        r = call_manager(bus, o->values, 0, &reply, &error, "PlanVolume", "sss", o->volume, o->source, target);
        if (has_timed_out(&error))
                return refuse_late(timeout_usec, f);
        return r < 0 ? refuse_call(&error, f) : check_plan(reply, f);
}

int call_mount(const VolumeOptions *o, const char *target, uint64_t timeout_usec, Failure *f) {
        const uint64_t whole_usec = timeout_usec;
        _cleanup_(turn_leavep) CallTurns *turn = turn_take(&mounts, &timeout_usec);
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        if (!turn)
                return refuse_late(whole_usec, f);
        r = open_bus(timeout_usec, &bus, &error);
        if (r < 0)
                return refuse_call(&error, f);
        r = call_manager(bus, o->values, 0, NULL, &error, "MountVolume", "sss", o->volume, o->source, target);
        if (has_timed_out(&error))
                return refuse_for_now(bus, o->volume, f);
        return r < 0 ? refuse_call(&error, f) : 0;
}

int call_unmount(const char *target, uint64_t timeout_usec, Failure *f) {
        static const OptionValue none[REQUEST_OPTIONS] = { 0 };
        const uint64_t whole_usec = timeout_usec;
        _cleanup_(turn_leavep) CallTurns *turn = turn_take(&unmounts, &timeout_usec);
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        if (!turn)
                return refuse_late(whole_usec, f);
        r = open_bus(timeout_usec, &bus, &error);
        if (r < 0)
                return refuse_call(&error, f);
        r = call_manager(bus, none, 0, NULL, &error, "UnmountVolume", "ss", "", target);
        if (has_timed_out(&error))
                return failure_set(f, FAILURE_TIMED_OUT, "%s is not unmounted yet. " GO_ON, target);
        if (explain_is_outside(error.name))
                return 0;
        return r < 0 ? refuse_call(&error, f) : 0;
}

static int look_at_holders(sd_bus *bus, const char *path, const char *target, bool *ret_mounted, Failure *f) {
        _cleanup_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_message_ sd_bus_message *holders = NULL;
        bool mounted = false;
        int r;

        r = system_bus_get_property(bus, BUS_NAME, path, VOLUME_INTERFACE, "Holders", &error, &holders, "aa{sv}");
        /* A volume that was removed meanwhile has no holders. */
        if (sd_bus_error_has_name(&error, SD_BUS_ERROR_UNKNOWN_OBJECT)) {
                *ret_mounted = false;
                return 0;
        }
        if (r < 0)
                return refuse_call(&error, f);
        r = sd_bus_message_enter_container(holders, 'a', "a{sv}");
        if (r < 0)
                return r;
        for (;;) {
                const char *at = "", *state = "";
                const StringMember members[] = { { "Target", &at }, { "State", &state } };

                r = call_read_strings(holders, members, ELEMENTSOF(members));
                if (r < 0)
                        return r;
                if (r == 0)
                        break;
                /* A volume that is still being mounted at the target also has a holder. */
                mounted = mounted || (streq(at, target) && streq(state, "mounted"));
        }
        *ret_mounted = mounted;
        return 0;
}

int call_is_mounted(const char *target, uint64_t timeout_usec, bool *ret, Failure *f) {
        const uint64_t whole_usec = timeout_usec;
        _cleanup_(turn_leavep) CallTurns *turn = turn_take(&unmounts, &timeout_usec);
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_message_ sd_bus_message *volume = NULL;
        const char *path;
        int r;

        if (!turn)
                return refuse_late(whole_usec, f);
        r = open_bus(timeout_usec, &bus, &error);
        if (r < 0)
                return refuse_call(&error, f);
        r = system_bus_call_method(bus, BUS_NAME, MANAGER_PATH, MANAGER_INTERFACE, "GetVolumeByTarget", &error,
                                   &volume, "s", target);
        if (has_timed_out(&error))
                return refuse_late(timeout_usec, f);
        if (explain_is_outside(error.name)) {
                *ret = false;
                return 0;
        }
        if (r < 0)
                return refuse_call(&error, f);
        r = sd_bus_message_read(volume, "o", &path);
        return r < 0 ? r : look_at_holders(bus, path, target, ret, f);
}
