/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/stat.h>

#include "basic/string-util.h"
#include "volume-plugin/calls.h"
#include "volume-plugin/records.h"
#include "volume-plugin/volumes.h"

static int refuse_record(const char *name, int error, Failure *f) {
        switch (-error) {
        case ENOENT:
                return failure_set(
                        f, FAILURE_NO_SUCH_VOLUME,
                        "Volume %s was not created, or its record is lost: podman volume rm %s; podman volume create --driver selvol --opt source=SOURCE --opt level=LEVEL %s",
                        name, name, name);
        case EDQUOT:
                return failure_set(
                        f, FAILURE_LIMIT_REACHED,
                        "There are %d volumes already, which is the limit. Remove one with 'podman volume rm NAME'.",
                        RECORDS_MAX);
        case EBADMSG:
                return failure_set(
                        f, FAILURE_STORE_FAILED,
                        "The record of volume %s is damaged. Remove the volume with 'podman volume rm %s', and create it again.",
                        name, name);
        default:
                return failure_set(f, FAILURE_STORE_FAILED, "The record of volume %s can't be read or written: %s.",
                                   name, strerror(-error));
        }
}

static char *target_of(const Plugin *p, const char *name) {
        return strdup_printf("%s/%s", p->targets_path, name);
}

/* Returns 0 if the same volume exists already, -ENOENT if there is none, another negative errno or a
 * FailureKind. */
static int compare_record(const Plugin *p, const char *name, const json_t *options, Failure *f) {
        _cleanup_json_ json_t *present = NULL;
        int r;

        r = record_read(p->records, name, &present);
        if (r < 0)
                return r == -ENOENT ? r : refuse_record(name, r, f);
        if (json_equal(present, options))
                return 0;
        return failure_set(
                f, FAILURE_INCOMPATIBLE,
                "Volume %s was created with other options before. Remove it first with 'podman volume rm', or choose another name.",
                name);
}

/* Makes the directory to mount on; sets *ret_made if it did not exist. */
static int make_target(const Plugin *p, const char *name, bool *ret_made, Failure *f) {
        if (mkdirat(p->targets, name, 0700) >= 0)
                *ret_made = true;
        else if (errno != EEXIST)
                return failure_set(f, FAILURE_INVALID_TARGET, "%s/%s can't be made: %s.", p->targets_path, name,
                                   strerror(errno));
        return 0;
}

/* Records the volume only if selvold would mount it. */
static int plan_and_record(const Plugin *p, const char *name, const json_t *options, const char *target, Failure *f) {
        _cleanup_options_ VolumeOptions o = { 0 };
        int r;

        r = volume_options_read(p->id_prefix, name, options, &o, f);
        if (r != 0)
                return r;
        r = call_plan(&o, target, p->timeout_usec, f);
        if (r != 0)
                return r;
        r = record_write(p->records, name, options);
        if (r == -EEXIST)
                return compare_record(p, name, options, f);
        return r < 0 ? refuse_record(name, r, f) : 0;
}

int volume_create(const Plugin *p, const char *name, const json_t *options, Failure *f) {
        _cleanup_free_ char *target = target_of(p, name);
        bool made = false;
        int r;

        if (!target)
                return -ENOMEM;
        r = compare_record(p, name, options, f);
        if (r != -ENOENT)
                return r;
        r = make_target(p, name, &made, f);
        if (r != 0)
                return r;
        r = plan_and_record(p, name, options, target, f);
        if (r != 0 && made)
                (void) unlinkat(p->targets, name, AT_REMOVEDIR);
        return r;
}

int volume_remove(const Plugin *p, const char *name, Failure *f) {
        int r;

        r = volume_unmount(p, name, f);
        if (r != 0)
                return r;
        if (unlinkat(p->targets, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
                return failure_set(f, FAILURE_BUSY, "%s/%s can't be removed: %s.", p->targets_path, name,
                                   strerror(errno));
        r = record_remove(p->records, name);
        return r < 0 && r != -ENOENT ? refuse_record(name, r, f) : 0;
}

int volume_mount(const Plugin *p, const char *name, char **ret_target, Failure *f) {
        _cleanup_free_ char *target = target_of(p, name);
        _cleanup_options_ VolumeOptions o = { 0 };
        _cleanup_json_ json_t *options = NULL;
        bool made;
        int r;

        if (!target)
                return -ENOMEM;
        r = record_read(p->records, name, &options);
        if (r < 0)
                return refuse_record(name, r, f);
        r = volume_options_read(p->id_prefix, name, options, &o, f);
        if (r != 0)
                return r;
        r = make_target(p, name, &made, f);
        if (r != 0)
                return r;
        r = call_mount(&o, target, p->timeout_usec, f);
        if (r != 0)
                return r;
        *ret_target = TAKE_PTR(target);
        return 0;
}

int volume_unmount(const Plugin *p, const char *name, Failure *f) {
        _cleanup_free_ char *target = target_of(p, name);

        return target ? call_unmount(target, p->timeout_usec, f) : -ENOMEM;
}

int volume_find(const Plugin *p, const char *name, char **ret_target, Failure *f) {
        _cleanup_free_ char *target = target_of(p, name);
        _cleanup_json_ json_t *options = NULL;
        bool mounted;
        int r;

        if (!target)
                return -ENOMEM;
        /* podman has the plugin remove only volumes that it finds, so one with a damaged record is found. */
        r = record_read(p->records, name, &options);
        if (r < 0 && r != -EBADMSG)
                return refuse_record(name, r, f);
        r = call_is_mounted(target, p->timeout_usec, &mounted, f);
        if (r != 0)
                return r;
        *ret_target = mounted ? TAKE_PTR(target) : NULL;
        return 0;
}

int volume_list(const Plugin *p, json_t **ret_names, Failure *f) {
        int r;

        r = record_list(p->records, ret_names);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return failure_set(f, FAILURE_STORE_FAILED, "The volumes can't be listed: %s.", strerror(-r));
        return 0;
}
