/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <unistd.h>

#include "basic/path-util.h"
#include "basic/time-util.h"
#include "client/client-call.h"
#include "csi/csi-record.h"
#include "csi/csi-selvold.h"
#include "wire/system-bus.h"

/* For an answer to reach kubelet before it gives up. */
#define RESERVE_USEC USEC_PER_SEC
/* The time for which a container's runtime may still have a mount that kubelet takes back. */
#define BUSY_USEC (2 * USEC_PER_SEC)
/* For reading how far a job is, when the time is over. */
#define LOOK_USEC (150 * USEC_PER_MSEC)

uint64_t csi_deadline(const GrpcRequest *q) {
        const uint64_t now = now_monotonic_usec(), latest = now + CSI_CALL_USEC;
        const uint64_t until = q->deadline_usec < latest ? q->deadline_usec : latest;

        return until > now + RESERVE_USEC ? until - RESERVE_USEC : now;
}

uint64_t csi_busy_until(void) {
        return now_monotonic_usec() + BUSY_USEC;
}

bool csi_wait_while_busy(uint64_t until_usec) {
        if (now_monotonic_usec() >= until_usec)
                return false;
        (void) usleep(100000);
        return true;
}

static GrpcCode code_of_failure(FailureKind kind) {
        static const GrpcCode codes[FAILURE_KINDS] = {
                [FAILURE_NONE] = GRPC_INTERNAL,
                [FAILURE_CONTEXT_CONFLICT] = GRPC_FAILED_PRECONDITION,
                [FAILURE_GROUP_CONFLICT] = GRPC_FAILED_PRECONDITION,
                [FAILURE_LEVEL_REQUIRED] = GRPC_FAILED_PRECONDITION,
                [FAILURE_INVALID_CONTEXT] = GRPC_INVALID_ARGUMENT,
                [FAILURE_INVALID_VOLUME] = GRPC_INVALID_ARGUMENT,
                [FAILURE_INVALID_TARGET] = GRPC_INVALID_ARGUMENT,
                [FAILURE_INVALID_OPTION] = GRPC_INVALID_ARGUMENT,
                [FAILURE_PATH_NOT_ALLOWED] = GRPC_INVALID_ARGUMENT,
                [FAILURE_TYPE_NOT_ALLOWED] = GRPC_INVALID_ARGUMENT,
                [FAILURE_NO_SUCH_VOLUME] = GRPC_NOT_FOUND,
                [FAILURE_NO_SUCH_JOB] = GRPC_NOT_FOUND,
                [FAILURE_BUSY] = GRPC_ABORTED,
                [FAILURE_INCOMPATIBLE] = GRPC_ALREADY_EXISTS,
                [FAILURE_SOURCE_CHANGED] = GRPC_FAILED_PRECONDITION,
                [FAILURE_MOUNT_FAILED] = GRPC_INTERNAL,
                [FAILURE_CONTEXT_DROPPED] = GRPC_FAILED_PRECONDITION,
                [FAILURE_LABEL_MISMATCH] = GRPC_FAILED_PRECONDITION,
                [FAILURE_NOT_SUPPORTED] = GRPC_FAILED_PRECONDITION,
                [FAILURE_ENTRIES_FAILED] = GRPC_INTERNAL,
                [FAILURE_NOT_PROPAGATING] = GRPC_FAILED_PRECONDITION,
                [FAILURE_SELINUX_DENIED] = GRPC_FAILED_PRECONDITION,
                [FAILURE_STORE_FAILED] = GRPC_INTERNAL,
                [FAILURE_WORKER_FAILED] = GRPC_UNAVAILABLE,
                [FAILURE_TIMED_OUT] = GRPC_DEADLINE_EXCEEDED,
                [FAILURE_CANCELED] = GRPC_ABORTED,
                [FAILURE_LIMIT_REACHED] = GRPC_RESOURCE_EXHAUSTED,
        };

        return codes[kind];
}

/* Returns FAILURE_NONE for an error that is not selvold's. */
static FailureKind kind_of_error(const char *name) {
        const char *word = startswith(name, ERROR_PREFIX);
        int kind = word ? failure_kind_from_string(word) : -EINVAL;

        return kind > 0 ? (FailureKind) kind : FAILURE_NONE;
}

/* Whether selvold, or the bus, can't be reached, or went away before it answered. */
static bool is_about_connection(const char *name) {
        return explain_is_absent(name) || streq(name, SD_BUS_ERROR_NO_REPLY) ||
               streq(name, SD_BUS_ERROR_DISCONNECTED) || startswith(name, "System.Error.");
}

GrpcCode csi_code_of_error(const char *name) {
        if (streq(name, SD_BUS_ERROR_ACCESS_DENIED) || streq(name, SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED))
                return GRPC_PERMISSION_DENIED;
        if (streq(name, SD_BUS_ERROR_TIMEOUT))
                return GRPC_DEADLINE_EXCEEDED;
        return is_about_connection(name) ? GRPC_UNAVAILABLE : code_of_failure(kind_of_error(name));
}

int csi_reply_failure(const Failure *f, GrpcReply *ret) {
        int r;

        r = grpc_reply_set(ret, code_of_failure(f->kind), "selvol: %s", f->message);
        if (r < 0)
                return r;
        (void) text_join_lines(ret->text);
        return (int) f->kind;
}

static int reply_error(const sd_bus_error *error, GrpcReply *ret) {
        _cleanup_free_ char *text = text_join_lines(explain_error("", error->name, strempty(error->message)));
        FailureKind kind = kind_of_error(error->name);
        int r;

        if (!text)
                return -ENOMEM;
        r = grpc_reply_set(ret, csi_code_of_error(error->name), "selvol: %s", text);
        if (r < 0)
                return r;
        if (kind != FAILURE_NONE)
                return (int) kind;
        return is_about_connection(error->name) || streq(error->name, SD_BUS_ERROR_TIMEOUT) ? FAILURE_WORKER_FAILED
                                                                                            : FAILURE_MOUNT_FAILED;
}

/* --- how far a job is --- */

/* Describes how far the job is: ": 10 of about 300 files are done, and about 4 minutes are left", or "". NULL
 * on lack of memory. */
static char *describe_progress(sd_bus *bus, const char *volume) {
        _cleanup_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_csi_record_ CsiRecord record = { 0 };
        const CsiJob *job = &record.job;
        const uint64_t now = now_realtime_usec();

        (void) sd_bus_set_method_call_timeout(bus, LOOK_USEC);
        if (csi_record_read(bus, volume, &record, &error) < 0 || job->done == 0 || job->total == 0)
                return strdup("");
        if (job->end_usec <= now)
                return strdup_printf(": %" PRIu64 " of about %" PRIu64 " files are done", job->done, job->total);
        return strdup_printf(": %" PRIu64 " of about %" PRIu64 " files are done, and about %" PRIu64
                             " minutes are left",
                             job->done, job->total, (job->end_usec - now) / (60 * USEC_PER_SEC) + 1);
}

/* volume "": whichever is at the target */
static int reply_later(sd_bus *bus, const char *volume, const char *target, GrpcReply *ret) {
        _cleanup_free_ char *progress = describe_progress(bus, volume),
                            *escaped = string_escape(isempty(volume) ? target : volume, 200);
        int r;

        if (!progress || !escaped)
                return -ENOMEM;
        r = grpc_reply_set(ret, GRPC_ABORTED,
                           "selvol: %s %s is not ready yet%s. It goes on, and the next call waits for it.",
                           isempty(volume) ? "The mount at" : "Volume", escaped, progress);
        return r < 0 ? r : FAILURE_TIMED_OUT;
}

/* --- calls --- */

static uint64_t time_until(uint64_t usec) {
        uint64_t now = now_monotonic_usec();

        return usec > now ? usec - now : 1;
}

static int open_bus(uint64_t until_usec, sd_bus **ret, GrpcReply *reply) {
        _cleanup_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        r = call_open(true, time_until(until_usec), ret, &error);
        return r < 0 ? reply_error(&error, reply) : 0;
}

/* Calls a method whose arguments are the volume, one or two paths, and the options. source NULL: none. */
static int call_on_bus(sd_bus *bus, const char *method, const char *volume, const char *source, const char *target,
                       const OptionValue values[static REQUEST_OPTIONS], uint64_t until_usec, GrpcReply *ret) {
        _cleanup_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        if (source)
                r = call_manager(bus, values, time_until(until_usec), NULL, &error, method, "sss", volume, source,
                                 target);
        else
                r = call_manager(bus, values, time_until(until_usec), NULL, &error, method, "ss", volume, target);
        if (r >= 0)
                return 0;
        /* A reply does arrive: call_open() got one. */
        return sd_bus_error_has_name(&error, SD_BUS_ERROR_TIMEOUT) ? reply_later(bus, volume, target, ret)
                                                                   : reply_error(&error, ret);
}

int csi_call_mount(const char *volume, const char *source, const char *target,
                   const OptionValue values[static REQUEST_OPTIONS], uint64_t until_usec, GrpcReply *ret) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        int r;

        r = open_bus(until_usec, &bus, ret);
        return r != 0 ? r : call_on_bus(bus, "MountVolume", volume, source, target, values, until_usec, ret);
}

int csi_call_adopt(const char *volume, const char *target, const OptionValue values[static REQUEST_OPTIONS],
                   uint64_t until_usec, GrpcReply *ret) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        int r;

        r = open_bus(until_usec, &bus, ret);
        return r != 0 ? r : call_on_bus(bus, "AdoptVolume", volume, NULL, target, values, until_usec, ret);
}

static int unmount_on_bus(sd_bus *bus, const char *volume, const char *target, uint64_t until_usec, GrpcReply *ret) {
        static const OptionValue none[REQUEST_OPTIONS] = { 0 };
        const uint64_t busy_until = csi_busy_until();
        int r;

        do {
                grpc_reply_done(ret);
                r = call_on_bus(bus, "UnmountVolume", volume, NULL, target, none, until_usec, ret);
        } while (r == FAILURE_BUSY && csi_wait_while_busy(busy_until));
        if (r != FAILURE_PATH_NOT_ALLOWED && r != FAILURE_NO_SUCH_VOLUME)
                return r;
        grpc_reply_done(ret);
        return 0;
}

int csi_call_unmount(const char *volume, const char *target, uint64_t until_usec, GrpcReply *ret) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        int r;

        r = open_bus(until_usec, &bus, ret);
        return r != 0 ? r : unmount_on_bus(bus, volume, target, until_usec, ret);
}

/* --- calls that depend on the record --- */

static int read_record(sd_bus *bus, const char *volume, uint64_t until_usec, CsiRecord *ret, GrpcReply *reply) {
        _cleanup_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        r = sd_bus_set_method_call_timeout(bus, time_until(until_usec));
        if (r < 0)
                return r;
        r = csi_record_read(bus, volume, ret, &error);
        return r < 0 ? reply_error(&error, reply) : 0;
}

int csi_find_own(const char *volume, const char *path, bool beneath, uint64_t until_usec, char **ret_target,
                 char **ret_source, GrpcReply *ret) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_csi_record_ CsiRecord record = { 0 };
        _cleanup_free_ char *target = NULL;
        const char *own;
        int r;

        r = open_bus(until_usec, &bus, ret);
        if (r != 0)
                return r;
        r = read_record(bus, volume, until_usec, &record, ret);
        if (r != 0)
                return r;
        own = csi_record_find_own(&record, path, beneath);
        if (own && !isempty(record.source)) {
                target = strdup(own);
                if (!target)
                        return -ENOMEM;
        }
        *ret_source = target ? TAKE_PTR(record.source) : NULL;
        *ret_target = TAKE_PTR(target);
        return 0;
}

static bool is_at_or_beneath(const char *target, const char *path) {
        return streq(target, path) || path_is_beneath(target, path);
}

/* A walk keeps a copy of the mount, so that the device is in use. */
static int cancel_job(sd_bus *bus, const CsiJob *job, GrpcReply *ret) {
        _cleanup_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        r = system_bus_call_method(bus, BUS_NAME, job->path, JOB_INTERFACE, "Cancel", &error, NULL, NULL);
        return r < 0 && !sd_bus_error_has_name(&error, SD_BUS_ERROR_UNKNOWN_OBJECT) ? reply_error(&error, ret) : 0;
}

int csi_call_release(const char *volume, const char *path, bool of_driver, uint64_t until_usec, GrpcReply *ret) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_csi_record_ CsiRecord record = { 0 };
        const CsiJob *job = &record.job;
        int r;

        r = open_bus(until_usec, &bus, ret);
        if (r == 0)
                r = read_record(bus, volume, until_usec, &record, ret);
        if (r == 0 && job->path && is_at_or_beneath(strempty(job->target), path) &&
            !streq_ptr(job->operation, "unmount"))
                r = cancel_job(bus, job, ret);
        for (size_t i = 0; r == 0 && i < record.n_holders; i++) {
                const CsiHolder *h = &record.holders[i];

                if (is_at_or_beneath(h->target, path) && (of_driver || !h->adopted))
                        r = unmount_on_bus(bus, volume, h->target, until_usec, ret);
        }
        return r;
}
