/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <sys/xattr.h>

#include "basic/string-util.h"
#include "model/limits.h"
#include "label/entry-label.h"
#include "label/selinux.h"

static bool is_gone(int error) {
        return error == -ENOENT || error == -ESTALE;
}

char *label_describe(const char *label) {
        _cleanup_free_ char *escaped = NULL;

        if (isempty(label))
                return strdup("has no label");
        escaped = string_escape(label, CONTEXT_MAX);
        return escaped ? strdup_printf("has the label '%s'", escaped) : NULL;
}

static ssize_t get_label(const TreeEntry *e, char *buffer) {
        ssize_t n = e->follow ? getxattr(e->path, LABEL_XATTR, buffer, LABEL_MAX - 1)
                              : lgetxattr(e->path, LABEL_XATTR, buffer, LABEL_MAX - 1);

        return n < 0 ? -errno : n;
}

static int set_label(const LabelWanted *w, const TreeEntry *e) {
        int r = e->follow ? setxattr(e->path, LABEL_XATTR, w->context, w->size, 0)
                          : lsetxattr(e->path, LABEL_XATTR, w->context, w->size, 0);

        return r < 0 ? -errno : 0;
}

/* Returns 1 if the label is as wanted, or gone; 0 if it is another one, which is in b->label then, "" if it can't be
 * compared; or a negative errno. */
static int read_label(const LabelWanted *w, const TreeEntry *e, LabelBuffers *b) {
        ssize_t n = get_label(e, b->label);

        if (is_gone((int) n) || (n >= 0 && label_is_verbatim(b->label, (size_t) n, w->context, w->size - 1)))
                return 1;
        if (n < 0 && n != -ENODATA && n != -ERANGE)
                return (int) n;
        b->label[n < 0 ? 0 : n] = '\0';
        return 0;
}

int entry_label_compare(const LabelWanted *w, const TreeEntry *e, LabelBuffers *b, bool *ret_differs,
                        char **ret_text) {
        _cleanup_free_ char *canonical = NULL;
        int r;

        r = read_label(w, e, b);
        if (r != 0)
                return r < 0 ? r : 0;
        /* What differs in its spelling only is no other label. Most of those that differ are alike. */
        if (isempty(b->label) || !streq(b->label, b->other)) {
                if (selinux_canonicalize_label(b->label, &canonical) >= 0 && streq(canonical, w->context))
                        return 0;
                strcpy(b->other, b->label);
        }
        *ret_differs = true;
        if (e->describe)
                *ret_text = label_describe(canonical ?: b->label);
        return 0;
}

/* A right label is not written, as that would move its ctime. */
int entry_label_change(const LabelWanted *w, const TreeEntry *e, LabelBuffers *b, bool *ret_changed) {
        bool compare = !w->blind || e->again;
        int r, found;

        if (compare) {
                r = read_label(w, e, b);
                if (r != 0)
                        return r < 0 ? r : 0;
        }
        r = set_label(w, e);
        if (r >= 0)
                *ret_changed = true;
        if (r >= 0 || is_gone(r))
                return 0;
        if (compare)
                return r;
        /* What can't be written may be right. */
        found = read_label(w, e, b);
        return found == 0 ? r : found < 0 ? found : 0;
}
