/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/bus.h"
#include "ctl/pager.h"
#include "ctl/verbs.h"

int verb_forget(sd_bus *bus, const Args *a) {
        int code = 0;

        for (int i = 0; i < a->n_operands; i++) {
                int r;

                r = bus_call_method(bus, a->operands[i], NULL, MANAGER_PATH, MANAGER_INTERFACE, "ForgetVolume",
                                    "sa{sv}", a->operands[i], 0);
                if (r < 0)
                        return r;
                if (r > 0)
                        code = r;
        }
        return code;
}

int verb_metrics(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        const char *text;
        int r;

        r = bus_call_method(bus, NULL, &reply, MANAGER_PATH, MANAGER_INTERFACE, "GetMetrics", NULL);
        if (r != 0)
                return r;
        r = sd_bus_message_read(reply, "s", &text);
        if (r < 0)
                return r;
        pager_open(a);
        fputs(text, stdout);
        return 0;
}
