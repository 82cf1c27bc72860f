/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/verbs.h"

int verb_forget(sd_bus *bus, const Args *a) {
        int code = 0;

        for (int i = 0; i < a->n_operands; i++) {
                _cleanup_message_ sd_bus_message *call = NULL;
                int r;

                r = bus_new_call(bus, MANAGER_PATH, MANAGER_INTERFACE, "ForgetVolume", &call);
                if (r >= 0)
                        r = sd_bus_message_append(call, "sa{sv}", a->operands[i], 0);
                if (r >= 0)
                        r = bus_call(bus, call, a->operands[i], ANSWER_WHEN_DONE, NULL);
                if (r < 0)
                        return r;
                if (r > 0)
                        code = r;
        }
        return code;
}

int verb_metrics(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *call = NULL, *reply = NULL;
        const char *text;
        int r;

        r = bus_new_call(bus, MANAGER_PATH, MANAGER_INTERFACE, "GetMetrics", &call);
        if (r >= 0)
                r = bus_call(bus, call, NULL, ANSWER_SOON, &reply);
        if (r != 0)
                return r;
        r = sd_bus_message_read(reply, "s", &text);
        if (r < 0)
                return r;
        fputs(text, stdout);
        return 0;
}
