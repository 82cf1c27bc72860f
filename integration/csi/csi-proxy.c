/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/signalfd.h>

#include "basic/log.h"
#include "basic/time-util.h"
#include "csi/csi-attach.h"
#include "csi/csi-check.h"
#include "csi/csi-detach.h"
#include "csi/csi-proxy.h"
#include "csi/csi-selvold.h"

static int load_settings(const Proxy *p, Settings *ret, const char *kept) {
        _cleanup_failure_ Failure f = { 0 };
        int r;

        r = settings_load(p->usr_config, p->etc_config, ret, &f);
        if (r < 0)
                return log_error_errno(r, "Failed to read the configuration: %m");
        if (r > 0)
                log_error("%s%s", f.message, kept);
        return r;
}

int proxy_start(Proxy *p) {
        (void) pthread_mutex_init(&p->mutex, NULL);
        return load_settings(p, &p->settings, "");
}

void proxy_done(Proxy *p) {
        settings_done(&p->settings);
        (void) pthread_mutex_destroy(&p->mutex);
}

/* Reads the configuration again if a signal has asked for it. */
static void reload_settings(Proxy *p) {
        struct signalfd_siginfo signal;
        Settings s;

        if (read(p->reload, &signal, sizeof(signal)) < 0 || load_settings(p, &s, SETTINGS_KEPT) != 0)
                return;
        settings_done(&p->settings);
        p->settings = s;
        log_info("The configuration has been read again.");
}

/* Takes what the configuration says now. */
static int take_settings(Proxy *p, CsiCall *c) {
        static const Trait none = { .user_namespaces = true, .fs_group_change_policy = -1 };
        const Trait *driver;

        (void) pthread_mutex_lock(&p->mutex);
        reload_settings(p);
        driver = settings_driver(&p->settings, p->driver) ?: &none;
        c->settings = *driver;
        if (p->driver_socket || driver->socket)
                c->socket = strdup(p->driver_socket ?: driver->socket);
        else
                c->socket = strdup_printf(CSI_SOCKET_DEFAULT, p->driver);
        (void) pthread_mutex_unlock(&p->mutex);
        c->settings.name = c->settings.socket = NULL;
        return c->socket ? 0 : -ENOMEM;
}

static const struct {
        const char *method;
        int (*answer)(const CsiCall *c, GrpcReply *ret);
} answers[] = {
        { "/csi.v1.Node/NodeGetCapabilities", csi_answer_capabilities },
        { "/csi.v1.Node/NodeStageVolume", csi_answer_stage },
        { "/csi.v1.Node/NodePublishVolume", csi_answer_publish },
        { "/csi.v1.Node/NodeUnpublishVolume", csi_answer_unpublish },
        { "/csi.v1.Node/NodeUnstageVolume", csi_answer_unstage },
};

static int answer_call(const CsiCall *c, GrpcReply *ret) {
        for (size_t i = 0; i < ELEMENTSOF(answers) && !csi_call_is_plain(c); i++)
                if (streq(answers[i].method, c->request->method))
                        return answers[i].answer(c, ret);
        return csi_forward(c, ret);
}

int proxy_answer(const GrpcRequest *q, GrpcReply *ret, void *userdata) {
        const uint64_t start_usec = now_monotonic_usec();
        Proxy *p = userdata;
        CsiCall c = { .request = q, .driver = p->driver, .mountinfo = p->mountinfo, .until_usec = csi_deadline(q) };
        int r;

        r = take_settings(p, &c);
        if (r >= 0)
                r = answer_call(&c, ret);
        free(c.socket);
        if (r < 0)
                return r;
        log_debug("%s: code %d after %u ms", q->method, (int) ret->code,
                  (unsigned) ((now_monotonic_usec() - start_usec) / USEC_PER_MSEC));
        return 0;
}
