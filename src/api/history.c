/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "api/dict.h"
#include "api/history.h"
#include "state/history.h"

static void append_entry(Dict *d, const HistoryEntry *e, bool with_volume) {
        dict_open(d, 'a', "{sv}");
        dict_put(d, "TimeUSec", "t", e->time_usec);
        if (with_volume)
                dict_put(d, "Volume", "s", e->volume);
        dict_put(d, "Operation", "s", e->operation);
        dict_put(d, "Result", "s", e->result);
        dict_put_string(d, "Reason", e->reason);
        dict_put_string(d, "Target", e->target);
        dict_put_string(d, "Holder", e->holder);
        dict_put_string(d, "Context", e->context);
        dict_put_string(d, "Caller", e->caller);
        dict_put_string(d, "Text", e->text);
        dict_put_u64(d, "DurationUSec", e->duration_usec);
        dict_close(d);
}

static int reply_history(sd_bus_message *call, const History *h) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        Dict d = { 0 };
        int r;

        r = sd_bus_message_new_method_return(call, &reply);
        if (r < 0)
                return r;
        d.m = reply;
        dict_open(&d, 'a', "a{sv}");
        for (size_t i = 0; i < h->n; i++)
                append_entry(&d, &h->entries[i], h->of_all);
        dict_close(&d);
        return d.error < 0 ? d.error : sd_bus_send(NULL, reply, NULL);
}

static void on_history(void *userdata, int error, const History *h) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = userdata;

        if (error >= 0)
                error = reply_history(call, h);
        if (error < 0)
                (void) sd_bus_reply_method_errno(call, error, NULL);
}

int history_answer(Api *api, sd_bus_message *call, const char *id) {
        int r;

        r = history_read(api->state, id, on_history, sd_bus_message_ref(call));
        if (r < 0)
                sd_bus_message_unref(call);
        return r < 0 ? r : 1;
}
