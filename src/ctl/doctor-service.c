/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <pwd.h>
#include <sys/statvfs.h>

#include <systemd/sd-id128.h>

#include "basic/string-util.h"
#include "basic/time-util.h"
#include "ctl/answer.h"
#include "ctl/doctor.h"
#include "ctl/terminal.h"
#include "ctl/history.h"
#include "ctl/namespaces.h"
#include "ctl/bus.h"
#include "model/limits.h"
#include "model/request.h"
#include "mount/image.h"
#include "wire/names.h"

#include "selvol-config.h"

#define STATE  "/var/lib/selvol"
#define SOCKET "/run/selvol/worker"
#define MIB    UINT64_C(1048576)

enum {
        STORE_MIB_MIN = 64,
        METRICS_SEC_MAX = 60,
        VOLUMES_MANY = VOLUMES_MAX / 5 * 4,
        DENIALS_READ = 1000, /* the latest ones are enough, because a denied caller calls again */
};

static void check_configuration(Doctor *d) {
        const char *files = doctor_keep(d, strdup_printf("%016" PRIx64, d->settings.digest));

        if (d->mistake)
                doctor_found(d, PROBLEM, "%s\ncorrect that file, then: systemctl reload selvold", d->mistake);
        else if (!isempty(d->in_force) && !isempty(d->in_worker) && !streq(d->in_force, d->in_worker))
                doctor_found(d, PROBLEM,
                             "selvol-worker has another configuration than selvold: volumes can only be unmounted.\n"
                             "systemctl reload selvold");
        else if (!isempty(d->in_force) && !streq(d->in_force, files))
                doctor_found(d, WARNING,
                             "The files have been changed since selvold read them.\n"
                             "systemctl reload selvold");
        else
                doctor_found(d, OK, "The configuration has no error.");
}

static void check_bus(Doctor *d) {
        _cleanup_free_ char *file = unit_get_file_state(d->bus, "selvold.service"),
                            *state = unit_get_string(d->bus, "selvold.service", "Unit", "ActiveState");

        if (d->bus_error)
                doctor_found(d, PROBLEM,
                             "The system bus can't be reached: %s\n"
                             "systemctl status dbus",
                             d->bus_error);
        else if (streq_ptr(file, "masked"))
                doctor_found(d, PROBLEM,
                             "selvold is masked: nobody can start it.\n"
                             "systemctl unmask selvold");
        else if (d->version)
                doctor_found(d, OK, "selvold %s answers.", doctor_keep(d, format_escaped(d->version)));
        else if (sd_bus_error_has_name(&d->call_error, SD_BUS_ERROR_ACCESS_DENIED))
                doctor_found(
                        d, PROBLEM,
                        "%s may not call selvold: only root and members of the group selvol, with polkit's consent, may.\n"
                        "usermod -aG selvol %s, and log in again",
                        d->user, d->user);
        else if (d->running)
                doctor_found(d, PROBLEM,
                             "selvold does not answer: %s\n"
                             "systemctl status selvold",
                             doctor_keep(d, format_escaped(strempty(d->call_error.message))));
        else if (streq_ptr(state, "failed"))
                doctor_found(d, PROBLEM,
                             "selvold has failed.\n"
                             "journalctl -u selvold -n 20, then: systemctl restart selvold");
        else if (!strv_contains(d->names, BUS_NAME))
                doctor_found(d, PROBLEM,
                             "The bus does not know org.selvol1, so it can't start selvold.\n"
                             "install selvol, then: systemctl reload dbus");
        else
                doctor_found(d, OK, "selvold is not running; the first call starts it.");
}

/* Reads the type in "NAME=user:role:type:level"; NULL if there is none. */
static char *read_type(const char *record, const char *name) {
        const char *context = strstr(record, name);
        char *type = NULL;

        return context && sscanf(context + strlen(name), "%*[^: ]:%*[^: ]:%m[a-zA-Z0-9_.-]", &type) == 1 ? type
                                                                                                         : NULL;
}

/* Whether an audit record says that SELinux denied a message between selvold and another domain: returns that
 * domain, or NULL. */
static char *read_denial(const char *record) {
        _cleanup_free_ char *source = NULL, *target = NULL;

        if (!strstr(record, "denied  { send_msg }") || !strstr(record, "tclass=dbus") ||
            strstr(record, "permissive=1"))
                return NULL;
        source = read_type(record, " scontext=");
        target = read_type(record, " tcontext=");
        if (!source || !target)
                return NULL;
        return streq(source, "selvold_t") ? TAKE_PTR(target) : streq(target, "selvold_t") ? TAKE_PTR(source) : NULL;
}

/* Opens the journal at the end of this boot's audit records of the bus. */
static int open_denials(sd_journal **ret) {
        char boot[sizeof("_BOOT_ID=") + SD_ID128_STRING_MAX] = "_BOOT_ID=";
        sd_id128_t id;
        int r;

        r = sd_id128_get_boot(&id);
        if (r < 0)
                return r;
        sd_id128_to_string(id, boot + strlen(boot));
        r = journal_open(ret);
        if (r >= 0)
                r = sd_journal_add_match(*ret, boot, 0);
        if (r >= 0)
                r = sd_journal_add_match(*ret, "_AUDIT_TYPE_NAME=USER_AVC", 0);
        return r < 0 ? r : sd_journal_seek_tail(*ret);
}

static void check_callers(Doctor *d) {
        _cleanup_(sd_journal_closep) sd_journal *journal = NULL;
        _cleanup_free_ char *domain = NULL;

        if (open_denials(&journal) < 0)
                return;
        for (int i = 0; i < DENIALS_READ && !domain && sd_journal_previous(journal) > 0; i++) {
                _cleanup_free_ char *record = NULL;

                if (doctor_failed(d, journal_get(journal, "MESSAGE", &record)))
                        return;
                domain = record ? read_denial(record) : NULL;
        }
        if (domain)
                doctor_found(
                        d, WARNING,
                        "SELinux keeps processes in %s from calling selvold, or from its answers ('ausearch -m USER_AVC').\n"
                        "if it is to call selvold: selvol_dbus_chat(%s) in a policy module, see selvol-integration(7)",
                        domain, domain);
        else if (doctor_stat(d, "/sys/fs/selinux/enforce", NULL) == 0)
                doctor_found(d, OK, "SELinux has denied no call to selvold since boot.");
}

static bool is_held(const json_t *volume) {
        return json_array_size(json_object_get(volume, "Holders")) > 0;
}

/* selvold forgets a volume that nobody holds when it needs the room, but for one of which only the record
 * says that others could write. */
static void check_records(Doctor *d) {
        const size_t recorded = json_array_size(d->volumes);
        const json_t *volume;
        size_t held = 0, i;

        json_array_foreach (d->volumes, i, volume)
                held += is_held(volume);
        if (held >= VOLUMES_MANY)
                doctor_found(d, WARNING,
                             "%zu volumes are held, of %i that can be recorded: without room none can be mounted.\n"
                             "unmount those that nobody needs: selvolctl list",
                             held, VOLUMES_MAX);
        else if (recorded >= VOLUMES_MANY)
                doctor_found(
                        d, NOTE,
                        "%zu of %i volumes are recorded: selvold forgets those that nobody uses when it needs room.",
                        recorded, VOLUMES_MAX);
        else if (d->volumes)
                doctor_found(d, OK, "%zu of %i volumes are recorded.", recorded, VOLUMES_MAX);
}

/* Returns the key of a volume's file system. Subvolumes of btrfs are file systems of their own. */
static const char *key_of(Doctor *d, const json_t *volume, const char *disk) {
        _cleanup_free_ char *options = NULL;

        if (streq(answer_string(volume, "FSType"), "btrfs"))
                options = json_dumps(json_object_get(volume, "MountOptions"), JSON_COMPACT);
        return doctor_keep(d, strdup_printf("%s %s", disk, strempty(options)));
}

/* Another volume's disk may get the same name in /dev, or the same place, later. Each tmpfs is a new one. */
static bool has_lasting_source(const json_t *volume) {
        const char *source = answer_string(volume, "Source"), *device = startswith(source, "/dev/"), *directory;

        if (streq(answer_string(volume, "FSType"), "tmpfs"))
                return false;
        if (device)
                return strchr(device, '/') && !startswith(device, "disk/by-path/");
        return source[0] == '/' || strchr(source, ':') || source_tag(source, &directory);
}

static bool is_used_more(const json_t *a, const json_t *b) {
        return is_held(a) != is_held(b) ? is_held(a)
                                        : answer_number(a, "LastUsedUSec") > answer_number(b, "LastUsedUSec");
}

/* Finds volumes by the device that a holder uses, and by their source. */
static void check_disks(Doctor *d) {
        _cleanup_json_ json_t *by_key = json_object();
        const size_t before = d->n_found[WARNING];
        json_t *volume;
        size_t i;

        json_array_foreach (d->volumes, i, volume) {
                const char *device = answer_string(json_array_get(json_object_get(volume, "Holders"), 0), "Device");
                const char *keys[] = {
                        isempty(device) ? NULL : key_of(d, volume, device),
                        has_lasting_source(volume) ? key_of(d, volume, answer_string(volume, "Source")) : NULL,
                };
                const json_t *other = NULL, *less;

                for (size_t k = 0; k < ELEMENTSOF(keys); k++) {
                        if (keys[k] && !other)
                                other = json_object_get(by_key, keys[k]);
                        if (keys[k] && !other)
                                (void) doctor_failed(d, json_object_set(by_key, keys[k], volume) < 0 ? -ENOMEM : 0);
                }
                if (!other)
                        continue;
                less = is_used_more(volume, other) ? other : volume;
                doctor_found(
                        d, WARNING,
                        "Volumes %s and %s have the same file system: what selvold knows of one, it does not know of the other.\n"
                        "let all callers use one id; when nobody holds %s: selvolctl forget %s",
                        doctor_string(d, answer_string(other, "Id")), doctor_string(d, answer_string(volume, "Id")),
                        doctor_string(d, answer_string(less, "Id")),
                        doctor_keep(d, shell_quote(answer_string(less, "Id"))));
        }
        if (d->volumes && d->n_found[WARNING] == before)
                doctor_found(d, OK, "No two volumes have the same file system.");
}

/* Finds the devices of a source: of an image its loop devices. None if it has none, if it can't be looked at,
 * or if udev encodes the label that names it. Returns 0 or -ENOMEM. */
static int find_devices(Doctor *d, const MountTable *table, const char *source, dev_t **ret, size_t *ret_n) {
        const char *directory, *tag = source_tag(source, &directory);
        _cleanup_free_ char *path = tag ? strdup_printf("%s/%s", directory, tag) : strdup(source);
        _cleanup_free_ char *real = path ? strdup_printf("%s%s", d->root, path) : NULL;
        struct stat st;

        if (!real)
                return -ENOMEM;
        if (path[0] != '/' || doctor_find_slow_mount(table, path) || stat(real, &st) < 0)
                return 0;
        if (S_ISREG(st.st_mode))
                return loop_find(st.st_dev, st.st_ino, path, ret, ret_n) == -ENOMEM ? -ENOMEM : 0;
        if (!S_ISBLK(st.st_mode))
                return 0;
        *ret = malloc(sizeof(dev_t));
        if (!*ret)
                return -ENOMEM;
        **ret = st.st_rdev;
        *ret_n = 1;
        return 0;
}

static void check_kept(Doctor *d) {
        _cleanup_(namespaces_done) Namespaces all = { 0 };
        const size_t before = d->n_found[WARNING];
        const json_t *volume;
        size_t i;

        if (!d->is_root || !d->volumes || namespaces_read(&all) < 0)
                return;
        json_array_foreach (d->volumes, i, volume) {
                _cleanup_free_ dev_t *devices = NULL;
                _cleanup_free_ char *users = NULL;
                size_t n = 0;

                if (is_held(volume))
                        continue;
                if (doctor_failed(d, find_devices(d, all.own, answer_string(volume, "Source"), &devices, &n)) ||
                    doctor_failed(d, namespaces_describe(&all, devices, n, &users)))
                        return;
                if (users)
                        doctor_found(
                                d, WARNING,
                                "Nobody holds volume %s, but another mount namespace has it mounted: %s.\n"
                                "if the volume is to be used otherwise, or elsewhere: end that process, or stop its container",
                                doctor_string(d, answer_string(volume, "Id")), users);
        }
        if (d->n_found[WARNING] == before)
                doctor_found(d, OK, "No volume that nobody holds is mounted in another mount namespace.");
}

static void check_polkit(Doctor *d) {
        int actions = doctor_stat(d, SELVOL_POLKIT_ACTIONS, NULL);

        if (d->names && !strv_contains(d->names, "org.freedesktop.PolicyKit1"))
                doctor_found(d, WARNING,
                             "polkit is not installed or not on the bus: only root can call selvold.\n"
                             "install polkit (Debian: apt install polkitd)");
        else if (actions == -ENOENT)
                doctor_found(d, WARNING,
                             "selvol's actions are not installed for polkit: only root can call selvold.\n"
                             "install selvol again");
        else if (d->names && actions == 0)
                doctor_found(d, OK, "polkit knows selvol's actions.");
}

/* Whether a file belongs to the user; a file that does not exist does not belong to anybody else. Returns 1,
 * 0, or -EACCES if only root can tell. */
static int belongs_to(Doctor *d, const char *path, const struct passwd *user) {
        struct stat st;
        int r;

        r = doctor_stat(d, path, &st);
        return r == -EACCES ? r : r < 0 || (user && st.st_uid == user->pw_uid);
}

static void check_store(Doctor *d) {
        const struct passwd *user = getpwnam("selvol");
        struct statvfs fs;
        uint64_t left;
        int owned;

        if (statvfs(doctor_path(d, STATE), &fs) < 0) {
                if (d->running)
                        doctor_found(d, PROBLEM,
                                     "The state's directory /var/lib/selvol is gone: nothing can be recorded.\n"
                                     "systemctl restart selvold");
                else
                        doctor_found(d, OK, "There is no state yet; selvold makes it when it starts.");
                return;
        }
        left = (uint64_t) fs.f_bavail * fs.f_frsize / MIB;
        owned = belongs_to(d, STATE, user);
        if (owned > 0)
                owned = belongs_to(d, STATE "/state.db", user);
        if (fs.f_flag & ST_RDONLY)
                doctor_found(
                        d, PROBLEM,
                        "The state's directory is on a read-only file system: nothing can be recorded.\n"
                        "mount -o remount,rw $(findmnt -n -o TARGET -T /var/lib/selvol) && systemctl restart selvold");
        else if (left < STORE_MIB_MIN)
                doctor_found(d, left == 0 ? PROBLEM : WARNING,
                             "The state's file system has %" PRIu64
                             " MiB left: without space nothing can be recorded.\n"
                             "make room on the file system of /var/lib/selvol",
                             left);
        else if (owned == 0)
                doctor_found(
                        d, PROBLEM,
                        "The state in /var/lib/selvol does not belong to the user selvol: selvold can't write it.\n"
                        "chown -R selvol:selvol /var/lib/selvol");
        else if (owned < 0)
                doctor_found(d, UNKNOWN, "The state has space; who owns the file can't be seen." AS_ROOT);
        else
                doctor_found(d, OK, "The state can be written, and has %" PRIu64 " MiB left.", left);
}

static void check_worker(Doctor *d) {
        _cleanup_free_ char *state = unit_get_string(d->bus, "selvol-worker.socket", "Unit", "ActiveState");
        struct stat st;

        if (doctor_stat(d, SOCKET, &st) < 0 || !S_ISSOCK(st.st_mode))
                doctor_found(
                        d, d->running ? PROBLEM : WARNING,
                        "The worker's socket /run/selvol/worker is not there: nothing can be mounted or unmounted.\n"
                        "systemctl restart selvol-worker.socket");
        else if (state && !streq(state, "active"))
                doctor_found(d, PROBLEM,
                             "Nobody listens at the worker's socket: selvol-worker.socket is %s.\n"
                             "systemctl restart selvol-worker.socket",
                             state);
        else
                doctor_found(d, OK, "The worker's socket is there.");
}

static void check_metrics(Doctor *d) {
        const char *path = d->settings.metrics_textfile, *name = doctor_string(d, path);
        struct stat st;
        int r;

        if (d->mistake)
                return;
        if (!path) {
                doctor_found(d, OK, "No text file of metrics is configured.");
                return;
        }
        if (!d->running) {
                doctor_found(d, OK, "%s is written while selvold runs.", name);
                return;
        }
        r = doctor_stat(d, path, &st);
        if (r == -EACCES)
                doctor_found(d, UNKNOWN, "%s can't be looked at." AS_ROOT, name);
        else if (doctor_stat(d, doctor_keep(d, strndup(path, (size_t) (strrchr(path, '/') - path) + 1)), NULL) < 0)
                doctor_found(d, PROBLEM,
                             "The directory of %s does not exist: no metrics are written.\n"
                             "make the directory, or correct MetricsTextfile=, then: systemctl reload selvold",
                             name);
        else if (r < 0 ||
                 timespec_nsec(&st.st_mtim) / NSEC_PER_USEC + METRICS_SEC_MAX * USEC_PER_SEC < now_realtime_usec())
                doctor_found(d, PROBLEM,
                             "%s has not been written for a minute: selvold can't write there.\n"
                             "journalctl -u selvold -g metrics, see selvol-metrics(7)",
                             name);
        else
                doctor_found(d, OK, "%s is up to date.", name);
}

const Check service_checks[] = {
        { "config", check_configuration }, { "bus", check_bus },     { "callers", check_callers },
        { "records", check_records },      { "disks", check_disks }, { "volumes", check_kept },
        { "polkit", check_polkit },        { "store", check_store }, { "worker", check_worker },
        { "metrics", check_metrics },      { NULL, NULL },
};
