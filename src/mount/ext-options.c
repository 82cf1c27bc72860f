/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "model/mount-options.h"
#include "mount/ext-options.h"

/* In the superblock. Linux: fs/ext4/ext4.h. */
enum {
        EXT_FEATURE_COMPAT = 0x5c,
        HAS_JOURNAL = 0x4,
        EXT_JOURNAL_INODE = 0xe0,
        EXT_DEFAULT_OPTIONS = 0x100,
        EXT_MOUNT_OPTIONS = 0x200,
        EXT_MOUNT_OPTIONS_SIZE = 64,
};

bool ext_is_type(const char *fs_type) {
        return streq(fs_type, "ext2") || streq(fs_type, "ext3") || streq(fs_type, "ext4");
}

static bool journal_is_elsewhere(const uint8_t *superblock) {
        static const uint8_t none[4] = { 0 };

        return superblock[EXT_FEATURE_COMPAT] & HAS_JOURNAL &&
               memcmp(superblock + EXT_JOURNAL_INODE, none, sizeof(none)) == 0;
}

static int refuse(const char *source, const char *why, const char *how, const char *what, Failure *f) {
        return failure_set(
                f, FAILURE_INVALID_OPTION,
                "The superblock of '%s' asks for mount options by itself: %s Take them out of it with \"tune2fs %s%s DEVICE\".",
                source, why, how, what);
}

/* Each bit is an option. Not among them are acl and user_xattr, which mke2fs sets, as the kernel does it anyway. */
static int check_default_options(const uint8_t *superblock, const Settings *settings, const FileSystem *fs,
                                 const char *source, Failure *f) {
        static const struct {
                unsigned mask, value;
                const char *option, *name; /* of mount(8), of tune2fs(8) */
        } defaults[] = {
                { 0x001, 0x001, "debug", "debug" },
                { 0x002, 0x002, "grpid", "bsdgroups" },
                { 0x010, 0x010, "nouid32", "uid16" },
                { 0x060, 0x020, "data=journal", "journal_data" },
                { 0x060, 0x040, "data=ordered", "journal_data_ordered" },
                { 0x060, 0x060, "data=writeback", "journal_data_writeback" },
                { 0x100, 0x100, "nobarrier", "nobarrier" },
                { 0x200, 0x200, "block_validity", "block_validity" },
                { 0x400, 0x400, "discard", "discard" },
                { 0x800, 0x800, "nodelalloc", "nodelalloc" },
        };
        unsigned bits = superblock[EXT_DEFAULT_OPTIONS] | (unsigned) superblock[EXT_DEFAULT_OPTIONS + 1] << 8;

        for (size_t i = 0; i < ELEMENTSOF(defaults); i++) {
                char *const options[] = { (char *) defaults[i].option, NULL };
                _cleanup_failure_ Failure why = { 0 };
                int r;

                if ((bits & defaults[i].mask) != defaults[i].value)
                        continue;
                r = mount_options_check(options, settings, fs, &why);
                if (r < 0)
                        return r;
                if (r > 0)
                        return refuse(source, why.message, "-o ^", defaults[i].name, f);
        }
        return 0;
}

int ext_options_check(const uint8_t superblock[static EXT_SUPERBLOCK_SIZE], const Settings *settings,
                      const FileSystem *fs, const char *source, Failure *f) {
        _cleanup_(mount_options_done) MountOptions options = { 0 };
        _cleanup_failure_ Failure why = { 0 };
        _cleanup_strv_ char **split = NULL;
        _cleanup_free_ char *text = NULL;
        int r;

        if (journal_is_elsewhere(superblock))
                return failure_set(
                        f, FAILURE_INVALID_OPTION,
                        "The file system of '%s' has its journal on another device, which is not allowed: give it one of its own (tune2fs -O ^has_journal DEVICE, e2fsck -f DEVICE, tune2fs -j DEVICE).",
                        source);

        r = check_default_options(superblock, settings, fs, source, f);
        if (r != 0)
                return r;

        text = strndup((const char *) superblock + EXT_MOUNT_OPTIONS, EXT_MOUNT_OPTIONS_SIZE);
        if (!text)
                return -ENOMEM;
        r = strv_split(text, ",", &split);
        if (r < 0)
                return r;
        r = mount_options_parse(split, &options, &why);
        if (r == 0)
                r = options.context ? FAILURE_INVALID_OPTION
                                    : mount_options_check(options.options, settings, fs, &why);
        if (r <= 0)
                return r;
        return refuse(source, options.context ? "a context is not to be among them." : why.message,
                      "-E mount_opts=", "", f);
}
