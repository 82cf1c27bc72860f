/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include "model/identity.h"

enum { UUID_LENGTH = 36 };

const char *fs_type_family(const char *fs_type) {
        static const char *const families[][2] = {
                { "ext2", "ext4" },
                { "ext3", "ext4" },
                { "nfs4", "nfs" },
        };

        for (size_t i = 0; i < ELEMENTSOF(families); i++)
                if (streq(families[i][0], fs_type))
                        return families[i][1];
        return fs_type;
}

bool identity_is_known(const Identity *i) {
        return !isempty(i->text);
}

/* Whether both are the same, or the part is the btrfs of the subvolume that is the whole. */
static bool is_beginning(const char *whole, const char *part) {
        const char *rest = startswith(whole, part);

        return rest && (rest[0] == '\0' || (rest[0] == ':' && startswith(part, "btrfs:")));
}

bool identity_equal(const Identity *a, const Identity *b) {
        return identity_is_known(a) && streq(a->text, b->text);
}

bool identity_differs(const Identity *a, const Identity *b) {
        return identity_is_known(a) && identity_is_known(b) && !is_beginning(a->text, b->text) &&
               !is_beginning(b->text, a->text);
}

int identity_from_string(const char *text, Identity *ret) {
        size_t n = strlen(text);

        if (n >= IDENTITY_MAX || strchr(text, ' ') || !text_is_clean(text))
                return -EBADMSG;
        memset(ret, 0, sizeof(*ret));
        memcpy(ret->text, text, n);
        return 0;
}

Identity identity_make(const char *fs_type, const char *name, const char *part) {
        Identity i = { 0 };
        char text[IDENTITY_MAX];
        int n;

        assert(fs_type && name);

        n = snprintf(text, sizeof(text), "%s:%s%s%s", fs_type_family(fs_type), name, part ? ":" : "", strempty(part));
        if (n > 0 && (size_t) n < sizeof(text))
                (void) identity_from_string(text, &i);
        return i;
}

/* The dashes tell a UUID from a server or a number. */
static const char *find_uuid(const Identity *i) {
        const char *uuid = strchr(i->text, ':');

        return uuid && strspn(uuid + 1, "0123456789abcdef-") == UUID_LENGTH && uuid[9] == '-' ? uuid + 1 : NULL;
}

char *identity_uuid(const Identity *i) {
        const char *uuid = find_uuid(i);

        return uuid ? strndup(uuid, UUID_LENGTH) : NULL;
}

char *identity_describe(const Identity *i) {
        const char *uuid = find_uuid(i), *part = uuid ? uuid + UUID_LENGTH : "";
        int type = (int) strcspn(i->text, ":");

        if (!identity_is_known(i))
                return strdup("none with a UUID");
        if (!uuid)
                return strdup(i->text);
        return strdup_printf("%.*s with UUID %.*s%s%s", type, i->text, UUID_LENGTH, uuid,
                             part[0] == ':' ? ", subvolume " : "", part[0] == ':' ? part + 1 : "");
}
