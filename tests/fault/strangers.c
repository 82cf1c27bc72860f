/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "sequence.h"

bool is_image(const Sequence *s, int volume) {
        return s->run.environment.volumes[volume].image;
}

bool is_somewhere(const Sequence *s, int volume, bool lost) {
        for (int i = 0; i < TARGETS; i++)
                if (s->places[i].lost == lost && s->places[i].volume == volume)
                        return true;
        return false;
}

bool stranger_covers(Sequence *s, const Action *a) {
        Place *p = &s->places[a->target];

        if (p->covers == COVERS_MAX)
                return false;
        must(mount("stranger", s->run.environment.targets[a->target], "tmpfs", 0, NULL));
        p->covers++;
        return true;
}

bool stranger_takes_away(Sequence *s, const Action *a) {
        Place *p = &s->places[a->target];

        if (p->covers == 0 && p->volume == NO_VOLUME)
                return false;
        must(umount2(s->run.environment.targets[a->target], a->act == ACT_DETACH ? MNT_DETACH : 0));
        if (p->covers > 0)
                p->covers--;
        else
                *p = (Place){ .volume = NO_VOLUME };
        return true;
}

bool stranger_remounts(Sequence *s, const Action *a) {
        const Place *p = &s->places[a->target];
        unsigned long flags = MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV;

        if (p->covers == 0 && p->volume == NO_VOLUME)
                return false;
        must(mount(NULL, s->run.environment.targets[a->target], NULL,
                   flags | (a->act == ACT_READ_ONLY ? MS_RDONLY : 0), NULL));
        return true;
}

bool stranger_moves_image(Sequence *s, const Action *a) {
        const char *image = s->run.environment.volumes[a->volume].source;
        g_autofree char *away = g_strconcat(image, ".away", NULL);

        if (!is_image(s, a->volume))
                return false;
        must(s->vanished[a->volume] ? rename(away, image) : rename(image, away));
        s->vanished[a->volume] = !s->vanished[a->volume];
        return true;
}

/* The directory of an image's root: a target where nobody hides it, or e->peek if it is not mounted. NULL: it
 * is hidden, vanished, or a tmpfs. *ret_target: the target where a holder is recorded, or NO_TARGET. */
static const char *open_root(const Sequence *s, int volume, int *ret_target) {
        const Environment *e = &s->run.environment;

        *ret_target = NO_TARGET;
        if (!is_image(s, volume) || s->vanished[volume])
                return NULL;
        for (int i = 0; i < TARGETS; i++)
                if (s->places[i].volume == volume && s->places[i].covers == 0 && !s->places[i].lost) {
                        *ret_target = i;
                        return e->targets[i];
                }
        if (is_somewhere(s, volume, false) || is_somewhere(s, volume, true))
                return NULL;
        environment_peek(e, &e->volumes[volume], "");
        return e->peek;
}

static void close_root(const Sequence *s, const char *root) {
        if (root == s->run.environment.peek)
                must(umount2(root, 0));
}

/* selvold has seen the mount at e->peek. */
static bool is_noticed(const Sequence *s, int volume) {
        const Environment *e = &s->run.environment;
        g_autofree char *path = g_strdup_printf("/org/selvol1/volume/volume_2d%i", volume), *text = NULL;
        g_autoptr(GVariant) reply =
                g_dbus_connection_call_sync(e->bus, "org.selvol1", path, "org.freedesktop.DBus.Properties", "Get",
                                            g_variant_new("(ss)", "org.selvol1.Volume", "Holders"), NULL,
                                            G_DBUS_CALL_FLAGS_NONE, ANSWER_SEC * 1000, NULL, NULL);

        text = reply ? g_variant_print(reply, FALSE) : g_strdup("");
        return strstr(text, e->peek);
}

/* A file of a volume that is in use changes only where selvold sees the other mount: see docs/plan.md. */
bool stranger_writes(Sequence *s, const Action *a, bool *ret_done, Wrong *w) {
        const Environment *e = &s->run.environment;
        g_autofree char *file = g_build_filename(e->peek, "0", NULL), *device = NULL;
        struct stat st;
        int target;
        const char *root = open_root(s, a->volume, &target);
        bool ok = true;

        *ret_done = root;
        if (!root)
                return true;
        if (target != NO_TARGET) {
                must(stat(root, &st));
                device = g_strdup_printf("%u:%u", major(st.st_dev), minor(st.st_dev));
                environment_peek(e, &e->volumes[a->volume], device);
                ok = HOLDS_WITHIN(SETTLE_SEC, is_noticed(s, a->volume));
        }
        must(chown(file, (uid_t) -1, OTHER_GID));
        s->written[a->volume] = s->written[a->volume] || target != NO_TARGET;
        must(umount2(e->peek, 0));
        return ok || blame(w, a->volume, target, "selvold has not seen the mount of a stranger");
}

bool stranger_copies_mark(const Sequence *s, const Action *a) {
        char mark[4096];
        ssize_t n = -1;
        int target, r = -1;
        const char *root = open_root(s, a->volume, &target);

        if (!root)
                return false;
        n = getxattr(root, "trusted.selvol", mark, sizeof(mark));
        close_root(s, root);
        root = n < 0 ? NULL : open_root(s, (a->volume + 1) % VOLUMES, &target);
        if (!root)
                return false;
        r = setxattr(root, "trusted.selvol", mark, (size_t) n, 0);
        close_root(s, root);
        return r >= 0;
}

static bool is_idle_image(const Sequence *s, int volume) {
        return is_image(s, volume) && !s->vanished[volume] && !is_somewhere(s, volume, false) &&
               !is_somewhere(s, volume, true);
}

bool stranger_swaps_images(const Sequence *s, int volume, int other) {
        const char *one = s->run.environment.volumes[volume].source, *two = s->run.environment.volumes[other].source;
        g_autofree char *between = g_strconcat(one, ".away", NULL);

        if (!is_idle_image(s, volume) || !is_idle_image(s, other))
                return false;
        must(rename(one, between));
        must(rename(two, one));
        must(rename(between, two));
        return true;
}
