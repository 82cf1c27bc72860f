/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <unistd.h>

#include "mount/source-search.h"
#include "mount/superblock.h"

int source_changed_failure(const char *volume, const Identity *wanted, const char *source, const Identity *found,
                           Failure *f) {
        _cleanup_free_ char *name = string_escape(source, 200), *was = identity_describe(wanted),
                            *is = identity_describe(found), *word = shell_quote(volume);

        if (!name || !was || !is || !word)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_SOURCE_CHANGED,
                "Volume %s is %s, but '%s' has %s now. Attach the volume's disk, or mount the volume from where it is now; if there is no such disk any more, 'selvolctl forget %s'.",
                volume, was, name, is, word);
}

static int two_disks_failure(const SourceSearch *search, const Source *one, const Source *other, Failure *f) {
        _cleanup_free_ char *is = identity_describe(search->identity);

        if (!is)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_SOURCE_CHANGED,
                "Volume %s is %s, and both '%s' and '%s' have that. Detach the copy, or mount the volume from the right one.",
                search->volume, is, one->name, other->name);
}

/* Opens the name if it leads to the wanted file system. Returns 1, 0 if it does not, with the reason, or a
 * negative errno. */
static int open_wanted(const SourceSearch *search, const char *name, Source *ret, Failure *f) {
        const FileSystem *asked =
                isempty(search->fs_type) ? NULL : settings_file_system(search->settings, search->fs_type);
        bool local = !asked || asked->source == SOURCE_BLOCK;
        _cleanup_(source_done) Source s = SOURCE_INIT;
        Identity found;
        int r;

        /* The type that was asked for may be another word for the one that is found. */
        r = source_open(name, local ? "" : search->fs_type, true, search->settings, search->user, &s, f);
        if (r < 0)
                return r;
        found = r == 0 ? source_identify(&s, -EBADF) : (Identity){ 0 };
        /* A disk that is there but has nothing that could be mounted is another one, too. */
        if (r > 0 && ((r != FAILURE_INVALID_VOLUME && r != FAILURE_TYPE_NOT_ALLOWED && r != FAILURE_NOT_SUPPORTED) ||
                      access(name, F_OK) < 0))
                return 0;
        if (!identity_is_known(&found) || identity_differs(search->identity, &found)) {
                r = source_changed_failure(search->volume, search->identity, s.path ? s.path : name, &found, f);
                return r < 0 ? r : 0;
        }
        if (asked && streq(fs_type_family(asked->name), fs_type_family(s.fs->name)))
                s.fs = asked;
        *ret = s;
        s = SOURCE_INIT;
        return 1;
}

/* The names where the file system may be. */
enum { RECORDED, OWN_LINK, BY_UUID, NAMES };

static int collect_names(const SourceSearch *search, char *names[static NAMES]) {
        _cleanup_free_ char *uuid = identity_uuid(search->identity);

        names[RECORDED] = strdup(search->source);
        names[OWN_LINK] = strdup(strempty(search->link));
        names[BY_UUID] = uuid ? strdup_printf("/dev/disk/by-uuid/%s", uuid) : strdup("");
        return names[RECORDED] && names[OWN_LINK] && names[BY_UUID] ? 0 : -ENOMEM;
}

static int search_names(const SourceSearch *search, char *const names[static NAMES], Source *found, Failure *f) {
        bool certain = false;

        /* A copy elsewhere doesn't matter if the volume's own device or image has been found. */
        for (unsigned i = 0; i < NAMES && !certain; i++) {
                _cleanup_(source_done) Source s = SOURCE_INIT;
                _cleanup_failure_ Failure why = { 0 };
                int r;

                r = isempty(names[i]) ? 0 : open_wanted(search, names[i], &s, &why);
                if (r < 0)
                        return r;
                if (r == 0) {
                        if (i == RECORDED)
                                *f = TAKE_STRUCT(why);
                        continue;
                }
                certain = i == OWN_LINK || (i == RECORDED && s.is_image);
                if (!found->fs) {
                        *found = s;
                        s = SOURCE_INIT;
                        continue;
                }
                r = source_is_same_disk(found, &s);
                if (r < 0)
                        return r;
                if (r == 0)
                        return two_disks_failure(search, found, &s, f);
        }
        if (!found->fs)
                return (int) f->kind;
        failure_done(f);
        return 0;
}

int source_search(const SourceSearch *search, Source *ret, Failure *f) {
        _cleanup_(source_done) Source found = SOURCE_INIT;
        char *names[NAMES] = { 0 };
        int r;

        if (!identity_is_known(search->identity))
                return source_open(search->source, search->fs_type, isempty(search->fs_type), search->settings,
                                   search->user, ret, f);
        r = collect_names(search, names);
        if (r >= 0)
                r = search_names(search, names, &found, f);
        for (unsigned i = 0; i < NAMES; i++)
                free(names[i]);
        if (r != 0)
                return r;
        *ret = found;
        found = SOURCE_INIT;
        return 0;
}

int source_find_elsewhere(const SourceSearch *search, const Identity *found, char **ret) {
        _cleanup_(source_done) Source s = SOURCE_INIT;
        _cleanup_failure_ Failure ignored = { 0 };
        int r;

        *ret = NULL;
        if (!identity_differs(search->identity, found) || isempty(search->link))
                return 0;
        r = open_wanted(search, search->link, &s, &ignored);
        if (r <= 0)
                return r;
        *ret = strdup(search->link);
        return *ret ? 0 : -ENOMEM;
}
