/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/log.h"
#include "basic/time-util.h"
#include "state/commit.h"
#include "state/holders.h"
#include "wire/message-ids.h"

static void note(State *s, Volume *v, const Holder *h, const char *message, const char *operation, const char *text) {
        const LogField fields[] = {
                { "MESSAGE_ID", message },        { "SELVOL_VOLUME", v->id },
                { "SELVOL_HOLDER", h->name },     { "SELVOL_TARGET", h->target },
                { "SELVOL_CONTEXT", h->context }, { "SELVOL_STRATEGY", strategy_to_string(h->strategy) },
        };
        const HistoryEntry e = {
                .time_usec = now_realtime_usec(),
                .operation = (char *) operation,
                .result = (char *) "done",
                .target = h->target,
                .holder = h->name,
                .context = h->context,
                .text = (char *) text,
        };
        _cleanup_free_ char *target = string_escape(h->target, 200);

        log_fields(LOG_NOTICE, fields, ELEMENTSOF(fields), "%s: %s: %s", v->id, strempty(target), text);
        store_add_history(s->store, v->id, &e);
}

void holder_drop(State *s, Volume *v, Holder *h) {
        _cleanup_(holder_freep) Holder *gone = commit_release(s, v, h);

        if (!v->holders)
                event_emit(s, volume_released, v, gone);
        if (s->mount_gone)
                s->mount_gone(s->mount_gone_userdata, gone->target);
}

void holder_lose(State *s, Volume *v, Holder *h) {
        metrics_count(s->metrics, METRIC_HOLDERS_LOST);
        note(s, v, h, MESSAGE_HOLDER_LOST, "release",
             "The mount is gone, and no UnmountVolume was answered: the holder is released.");
        holder_drop(s, v, h);
}

void holder_note_reconciled(State *s, Volume *v, const Holder *h, const char *outcome) {
        _cleanup_free_ char *text = strdup_printf("Compared with the mount table: %s.", outcome);

        metrics_count(s->metrics, METRIC_RECONCILED, outcome);
        note(s, v, h, MESSAGE_RECONCILED, "reconcile", strempty(text));
}
