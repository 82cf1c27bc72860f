/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <blkid/blkid.h>
#include <systemd/sd-gpt.h>

#include "mount/device.h"
#include "mount/host-names.h"
#include "mount/host-use.h"
#include "mount/loop-device.h"
#include "mount/mount-note.h"
#include "mount/mount-table.h"
#include "mount/on-disk.h"

DEFINE_CLEANUP_FUNC(blkid_probe, blkid_free_probe);

/* --- the lists of the configuration --- */

/* Returns 1 if one of the names and patterns leads to the device, 0 or -ENOMEM. */
static int list_has_device(char **patterns, dev_t device) {
        STRV_FOREACH (pattern, patterns) {
                glob_t found = { 0 };
                bool has = false;
                struct stat st;
                int r = glob(*pattern, GLOB_NOSORT, NULL, &found);

                for (size_t i = 0; r == 0 && i < found.gl_pathc && !has; i++)
                        has = stat(found.gl_pathv[i], &st) >= 0 && S_ISBLK(st.st_mode) && st.st_rdev == device;
                globfree(&found);
                if (r == GLOB_NOSPACE)
                        return -ENOMEM;
                if (has)
                        return 1;
        }
        return 0;
}

/* Finds a name of the device that is no one's choice, for a list; escapes this and the source. */
static int name_device(dev_t device, const char *source, char **ret, char **ret_escaped) {
        _cleanup_free_ char *link = NULL, *shown = NULL, *escaped = string_escape(source, 200);
        int r;

        r = device_find_link(device, &link);
        if (r < 0)
                return r;
        if (!link)
                link = blkid_devno_to_devname(device);
        shown = string_escape(link ?: source, 200);
        if (!shown || !escaped)
                return -ENOMEM;
        *ret = TAKE_PTR(shown);
        *ret_escaped = TAKE_PTR(escaped);
        return 0;
}

int host_check_listed(const Settings *settings, dev_t device, const char *source, Failure *f) {
        _cleanup_free_ char *value = NULL, *escaped = NULL;
        int r;

        r = list_has_device(settings->source_devices, device);
        if (r != 0)
                return r < 0 ? r : 0;
        r = name_device(device, source, &value, &escaped);
        if (r < 0)
                return r;
        return failure_set(
                f, FAILURE_PATH_NOT_ALLOWED,
                "Source '%s' is no device that others than root may mount. To allow it, add SourceDevices=%s under [Worker] " SETTINGS_REMEDY,
                escaped, value);
}

/* --- a device by itself --- */

/* A device that may be the host's is none for a volume. */
static int unknown_use_failure(int error, Failure *f) {
        if (error == -ENOMEM)
                return error;
        return failure_set_about(
                f, FAILURE_WORKER_FAILED, host_names_unread() ?: "/proc/swaps",
                "The worker can't read '%s', which may name devices of the host: see its type with ls -Z, and what was denied with ausearch -m avc.");
}

static int check_name(const Settings *settings, dev_t device, const char *source, Failure *f) {
        _cleanup_(host_name_done) HostName name = { 0 };
        _cleanup_free_ char *escaped = string_escape(source, 200);
        int r;

        if (!escaped)
                return -ENOMEM;
        r = host_find_name(settings, &device, 1, &name);
        if (r <= 0)
                return r < 0 ? unknown_use_failure(r, f) : 0;
        if (!name.target)
                return failure_set(
                        f, FAILURE_PATH_NOT_ALLOWED,
                        "Source '%s' is swap space of the host, by %s. Use another device; or, if the host does not need it, take it out of /etc/fstab, and run 'systemctl daemon-reload' and swapoff.",
                        escaped, name.file);
        return failure_set(
                f, FAILURE_PATH_NOT_ALLOWED,
                "Source '%s' is the host's: %s mounts it at '%s'. Use another device; or, if the host does not need it, remove it there, or give it the type selvol there (mount.selvol(8)), and run 'systemctl daemon-reload'.",
                escaped, name.file, name.target);
}

static int check_holders(dev_t device, const char *source, Failure *f) {
        _cleanup_free_ char *holder = NULL, *escaped = string_escape(source, 200);
        _cleanup_free_ dev_t *holders = NULL;
        size_t n = 0;
        int r;

        if (!escaped)
                return -ENOMEM;
        r = device_find_holders(device, &holders, &n);
        if (r < 0 || n == 0)
                return r;
        holder = blkid_devno_to_devname(holders[0]);
        return failure_set(
                f, FAILURE_PATH_NOT_ALLOWED,
                "Source '%s' is a part of %s, such as a volume group or a RAID: pass that device. 'lsblk' shows what lies on which.",
                escaped, holder ?: "another device");
}

static int check_loops(dev_t device, const char *source, Failure *f) {
        _cleanup_free_ char *escaped = string_escape(source, 200);
        dev_t loop;
        int r;

        if (!escaped)
                return -ENOMEM;
        r = loop_find_over(device, &loop);
        if (r <= 0)
                return r;
        return failure_set(
                f, FAILURE_PATH_NOT_ALLOWED,
                "Source '%s' is attached to /dev/loop%u, so another program uses it as a raw device, such as kubelet for a block volume. Stop that, or detach the loop device with 'losetup -d /dev/loop%u'.",
                escaped, minor(loop), minor(loop));
}

/* --- an entry of a partition table --- */

/* The types that systemd mounts without a line in fstab, systemd-gpt-auto-generator(8), and their numbers in
 * an MBR (0: none). */
typedef struct HostType {
        sd_id128_t type;
        unsigned mbr;
        const char *what;
} HostType;

#define ROOT_AND_USR(arch)                                   \
        { SD_GPT_ROOT_##arch, 0, "a root partition" }, {     \
                SD_GPT_USR_##arch, 0, "a partition for /usr" \
        }

static const HostType host_types[] = {
        { SD_GPT_ESP, 0xef, "an EFI system partition" },
        { SD_GPT_XBOOTLDR, 0xea, "a boot partition (XBOOTLDR)" },
        { SD_GPT_SWAP, 0x82, "a swap partition" },
        { SD_GPT_VAR, 0, "a partition for /var" },
        { SD_GPT_TMP, 0, "a partition for /var/tmp" },
        { SD_GPT_HOME, 0, "a partition for /home" },
        { SD_GPT_SRV, 0, "a partition for /srv" },
        ROOT_AND_USR(ALPHA),
        ROOT_AND_USR(ARC),
        ROOT_AND_USR(ARM),
        ROOT_AND_USR(ARM64),
        ROOT_AND_USR(IA64),
        ROOT_AND_USR(LOONGARCH64),
        ROOT_AND_USR(MIPS),
        ROOT_AND_USR(MIPS64),
        ROOT_AND_USR(MIPS64_LE),
        ROOT_AND_USR(MIPS_LE),
        ROOT_AND_USR(PARISC),
        ROOT_AND_USR(PPC),
        ROOT_AND_USR(PPC64),
        ROOT_AND_USR(PPC64_LE),
        ROOT_AND_USR(RISCV32),
        ROOT_AND_USR(RISCV64),
        ROOT_AND_USR(S390),
        ROOT_AND_USR(S390X),
        ROOT_AND_USR(TILEGX),
        ROOT_AND_USR(X86),
        ROOT_AND_USR(X86_64),
};

static const char *describe_type(const char *gpt, unsigned mbr) {
        char text[UUID_TEXT_SIZE];

        for (size_t i = 0; i < ELEMENTSOF(host_types); i++)
                if (gpt ? streq(gpt, uuid_format(host_types[i].type.bytes, text))
                        : mbr != 0 && mbr == host_types[i].mbr)
                        return host_types[i].what;
        return NULL;
}

/* Reads the partition table of the disk, and finds the type of the entry, or of all entries if entry is the
 * disk itself. *ret is static; NULL: none is of the host. Returns 1; 0 if the table can't be read, is of a
 * kind that libblkid does not know, or has changed since the kernel read it; or -ENOMEM. */
static int read_host_type(dev_t disk, dev_t entry, const char **ret) {
        _cleanup_free_ char *path = blkid_devno_to_devname(disk);
        _cleanup_(blkid_free_probep) blkid_probe p = path ? blkid_new_probe_from_filename(path) : NULL;
        blkid_partlist list = p ? blkid_probe_get_partitions(p) : NULL;
        blkid_partition one = list && entry != disk ? blkid_partlist_devno_to_partition(list, entry) : NULL;
        const int n = list ? blkid_partlist_numof_partitions(list) : 0;

        if (!list || (entry != disk && !one))
                return errno == ENOMEM ? -ENOMEM : 0;
        for (int i = 0; i < n && !*ret; i++) {
                blkid_partition found = one ?: blkid_partlist_get_partition(list, i);

                *ret = describe_type(blkid_partition_get_type_string(found),
                                     (unsigned) blkid_partition_get_type(found));
        }
        return 1;
}

int host_has_mount(const Settings *settings, const MountFact *m) {
        int r;

        if (settings_may_have_volume(settings, m->target))
                return 0;
        /* The worker may have made the mount when TargetRoots= had the directory. */
        r = mount_note_find(m->mount_id, m->device, m->target, NULL);
        return r < 0 ? r : r == 0;
}

/* Describes the first mount that the host has. Returns 1, 0 or a negative errno. */
static int describe_mount(const Settings *settings, const MountFact *mounts, size_t n, char **ret) {
        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ char *of = NULL;
                int r = host_has_mount(settings, &mounts[i]);

                if (r < 0)
                        return r;
                if (r == 0)
                        continue;
                of = mount_fact_describe(&mounts[i]);
                *ret = of ? strdup_printf("it has mounted %s", of) : NULL;
                return *ret ? 1 : -ENOMEM;
        }
        return 0;
}

/* Finds out which of the devices the host uses, in words. Returns 1, 0 or a negative errno. */
static int find_use(const Settings *settings, const dev_t *devices, size_t n_devices, char **ret) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_(host_name_done) HostName name = { 0 };
        MountFact *mounts = NULL;
        size_t n = 0;
        int r;

        r = host_find_name(settings, devices, n_devices, &name);
        if (r < 0)
                return r;
        if (r > 0) {
                _cleanup_free_ char *of = blkid_devno_to_devname(name.device);

                *ret = name.target ? strdup_printf("%s mounts %s at '%s'", name.file, strempty(of), name.target)
                                   : strdup_printf("%s is its swap space", strempty(of));
                return *ret ? 1 : -ENOMEM;
        }
        r = mount_table_read(NULL, &table);
        if (r < 0)
                return r;
        r = mount_table_find_devices(table, devices, n_devices, &mounts, &n);
        if (r < 0)
                return r;
        r = describe_mount(settings, mounts, n, ret);
        mount_facts_free(mounts, n);
        return r;
}

static int check_entry(const Settings *settings, dev_t device, const char *source, Failure *f) {
        _cleanup_free_ char *use = NULL, *value = NULL, *escaped = NULL;
        _cleanup_free_ dev_t *others = NULL;
        static const char unknown[] = "a partition of which the type can't be found";
        const char *type = NULL;
        dev_t disk = 0;
        size_t n = 0;
        int r;

        r = device_find_entries(device, &disk, &others, &n);
        if (r <= 0)
                return r;
        r = list_has_device(settings->sources_on_host_disk, device);
        if (r != 0)
                return r < 0 ? r : 0;
        r = find_use(settings, others, n, &use);
        if (r < 0)
                return host_names_unread() ? unknown_use_failure(r, f) : r;
        if (r == 0) {
                errno = 0;
                r = read_host_type(disk, device, &type);
                if (r < 0)
                        return r;
                /* libblkid takes the table of a whole disk for none if mkfs.vfat has made it. */
                if (r == 0 && device != disk)
                        type = unknown;
        }
        if (!use && !type)
                return 0;
        r = name_device(device, source, &value, &escaped);
        if (r < 0)
                return r;
        return failure_set(
                f, FAILURE_PATH_NOT_ALLOWED,
                "Source '%s' is %s%s. To allow it nevertheless, add SourcesOnHostDisk=%s under [Worker] " SETTINGS_REMEDY,
                escaped, use ? "on a disk that the host uses: " : type,
                use ?: " in the partition table, so it may be the host's", value);
}

int host_check_device(const Settings *settings, dev_t device, const char *source, Failure *f) {
        int r;

        r = check_name(settings, device, source, f);
        if (r != 0)
                return r;
        r = check_holders(device, source, f);
        if (r != 0)
                return r;
        r = check_loops(device, source, f);
        return r != 0 ? r : check_entry(settings, device, source, f);
}
