/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/log.h"
#include "basic/time-util.h"
#include "state/commit.h"
#include "state/holders.h"
#include "wire/message-ids.h"

static void note(const Volume *v, const Holder *h, const char *message, const char *operation, const char *text) {
        const LogField fields[] = {
                { "MESSAGE_ID", message },
                { "SELVOL_VOLUME", v->id },
                { "SELVOL_OPERATION", operation },
                { "SELVOL_HOLDER", h->name },
                { "SELVOL_TARGET", h->target },
                { "SELVOL_CONTEXT", h->context },
                { "SELVOL_STRATEGY", strategy_to_string(h->strategy) },
                { "SELVOL_RESULT", "done" },
        };
        _cleanup_free_ char *target = string_escape(h->target, 200);

        log_fields(LOG_NOTICE, fields, ELEMENTSOF(fields), "Volume %s at %s for %s: %s", v->id, strempty(target),
                   h->name, text);
}

void holder_drop(State *s, Volume *v, Holder *h) {
        _cleanup_(holder_freep) Holder *gone = commit_release(s, v, h);

        if (!v->holders)
                event_emit(s, volume_released, v, gone);
        if (s->mount_gone)
                s->mount_gone(s->userdata, gone->target);
}

void holder_lose(State *s, Volume *v, Holder *h, const char *moved_to) {
        _cleanup_free_ char *target = NULL, *text = NULL;

        if (moved_to) {
                target = string_escape(moved_to, 200);
                text = strdup_printf("Somebody else moved the mount to %s: the holder is released.",
                                     strempty(target));
        }
        metrics_count(s->metrics, METRIC_HOLDERS_LOST);
        note(v, h, MESSAGE_HOLDER_LOST, "release", text ?: "Unmounted outside of selvol: the holder is released.");
        holder_drop(s, v, h);
}

static void note_change(State *s, Volume *v, Holder *h, const char *text) {
        note(v, h, MESSAGE_MOUNT_CHANGED, "change", strempty(text));
        event_emit(s, mount_changed, v, h, strempty(text));
}

/* Returns whether it is another one than before; "" is none. */
static bool replace_text(char **text, const char *now) {
        return !streq(strempty(*text), strempty(now)) && free_and_strdup(text, isempty(now) ? NULL : now) >= 0;
}

static void note_covered(State *s, Volume *v, Holder *h, const MountFact *fact) {
        _cleanup_free_ char *text = NULL;

        if (!replace_text(&h->covered_by, fact->covered_by))
                return;
        if (h->covered_by)
                text = strdup_printf("The mount is hidden by another one: %s.", h->covered_by);
        note_change(s, v, h, h->covered_by ? text : "The mount is not hidden any more.");
        event_emit(s, volume_changed, v);
}

/* Holders at a target that was beneath a root once are no strangers. */
static void note_elsewhere(State *s, Volume *v, Holder *h, const MountFact *fact) {
        bool held = volumes_find_target(&s->volumes, strempty(fact->also_at), NULL);
        _cleanup_free_ char *text = NULL;

        if (!replace_text(&h->also_at, held ? NULL : fact->also_at))
                return;
        if (h->also_at)
                text = strdup_printf("Somebody else has mounted files of the volume at %s too.", h->also_at);
        note_change(s, v, h,
                    h->also_at ? text
                               : "Nobody else has files of the volume mounted outside of TargetRoots= any more.");
        event_emit(s, volume_changed, v);
}

void holder_note_mount(State *s, Volume *v, Holder *h, const MountFact *fact) {
        if (h->read_only != fact->read_only) {
                h->read_only = fact->read_only;
                commit_holder(s, v, h);
                note_change(s, v, h,
                            h->read_only ? "Somebody else has made the mount read-only."
                                         : "Somebody else has made the mount writable.");
        }
        note_covered(s, v, h, fact);
        note_elsewhere(s, v, h, fact);
}

void holder_note_reconciled(State *s, Volume *v, const Holder *h, const char *outcome) {
        _cleanup_free_ char *text = strdup_printf("Compared with the mount table: %s.", outcome);

        metrics_count(s->metrics, METRIC_RECONCILED, outcome);
        note(v, h, MESSAGE_RECONCILED, "reconcile", strempty(text));
}
