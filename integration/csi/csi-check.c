/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>

#include "basic/time-util.h"
#include "csi/csi-check.h"
#include "csi/csi-message.h"
#include "grpc/grpc-client.h"

#define ANSWER_USEC (2 * USEC_PER_SEC)

DEFINE_CLEANUP_FUNC(DIR *, closedir);

/* A driver that kubelet was told of. */
typedef struct Registered {
        char *name, *endpoint;
} Registered;

typedef struct Registry {
        Registered *list;
        size_t n;
} Registry;

static void registry_done(Registry *r) {
        for (size_t i = 0; i < r->n; i++) {
                free(r->list[i].name);
                free(r->list[i].endpoint);
        }
        free(r->list);
}

/* Lists the sockets of a directory, without ".sock". A directory that can't be read has none. */
static int list_sockets(const char *directory, char ***ret) {
        _cleanup_(closedirp) DIR *d = opendir(directory);
        _cleanup_strv_ char **names = NULL;
        const struct dirent *entry;

        while (d && (entry = readdir(d))) {
                size_t n = strlen(entry->d_name), suffix = strlen(".sock");
                int r;

                if (n <= suffix || !streq(entry->d_name + n - suffix, ".sock"))
                        continue;
                r = strv_consume(&names, strndup(entry->d_name, n - suffix));
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(names);
        return 0;
}

/* Calls a method without arguments. Returns the answer, NULL with a text, or NULL alone without memory. */
static ProtobufCMessage *ask_socket(const char *path, const char *method, const ProtobufCMessageDescriptor *type,
                                    char **ret_text) {
        const GrpcRequest q = { .method = method, .deadline_usec = now_monotonic_usec() + ANSWER_USEC };
        _cleanup_grpc_reply_ GrpcReply reply = { 0 };
        ProtobufCMessage *m = NULL;

        if (grpc_call(path, &q, &reply) < 0)
                return NULL;
        if (reply.code == GRPC_OK && csi_read(type, reply.message.data, reply.message.size, &m) >= 0)
                return m;
        *ret_text = string_escape(reply.text ?: "The answer can't be read.", 200);
        return NULL;
}

/* Asks a registrar, as kubelet does. One that does not answer, or is not of a CSI driver, is left out. */
static int add_registered(Registry *registry, const char *path) {
        _cleanup_free_ char *text = NULL, *type = NULL;
        _cleanup_csi_ ProtobufCMessage *m =
                ask_socket(path, "/pluginregistration.Registration/GetInfo", &csi__plugin_info__descriptor, &text);
        const Csi__PluginInfo *info = (const Csi__PluginInfo *) m;
        Registered *grown, *added;
        int r;

        if (!info)
                return text ? 0 : -ENOMEM;
        r = csi_text(&info->type, &type);
        if (r < 0 || !streq(type, "CSIPlugin"))
                return r == -ENOMEM ? r : 0;
        grown = reallocarray(registry->list, registry->n + 1, sizeof(Registered));
        if (!grown)
                return -ENOMEM;
        registry->list = grown;
        added = &grown[registry->n];
        *added = (Registered){ 0 };
        r = csi_text(&info->name, &added->name);
        if (r >= 0)
                r = csi_text(&info->endpoint, &added->endpoint);
        if (r >= 0)
                registry->n++;
        else
                free(added->name);
        return r == -ENOMEM ? r : 0;
}

static int registry_read(const char *directory, Registry *ret) {
        _cleanup_(registry_done) Registry registry = { 0 };
        _cleanup_strv_ char **names = NULL;
        int r;

        r = list_sockets(directory, &names);
        STRV_FOREACH (name, names) {
                _cleanup_free_ char *path = strdup_printf("%s/%s.sock", directory, *name);

                if (r >= 0)
                        r = path ? add_registered(&registry, path) : -ENOMEM;
        }
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(registry);
        return 0;
}

/* Returns 1 with a finding if the driver itself does not answer as it should, or 0. */
static int check_answer(const char *driver, const char *socket) {
        _cleanup_free_ char *text = NULL, *name = NULL, *escaped = NULL;
        _cleanup_csi_ ProtobufCMessage *m = ask_socket(socket, "/csi.v1.Identity/GetPluginInfo",
                                                       &csi__get_plugin_info_response__descriptor, &text);
        int r;

        if (!m && !text)
                return -ENOMEM;
        if (!m) {
                printf("problem\t%s\tDriver %s does not answer: %s\tstart it, or correct Socket= under [Driver %s] " SETTINGS_REMEDY
                       "\n",
                       driver, driver, text, driver);
                return 1;
        }
        r = csi_text(&((Csi__GetPluginInfoResponse *) m)->name, &name);
        if (r == -ENOMEM)
                return r;
        if (streq_ptr(name, driver))
                return 0;
        escaped = string_escape(strempty(name), 200);
        if (!escaped)
                return -ENOMEM;
        printf("problem\t%s\tAt %s the driver %s answers, not %s.\tcorrect Socket= under [Driver %s] " SETTINGS_REMEDY
               "\n",
               driver, socket, escaped, driver, driver);
        return 1;
}

/* Says which socket kubelet was told. */
static int check_registered(const char *driver, const char *sockets, bool served, const Registry *registry) {
        _cleanup_free_ char *own = strdup_printf("%s/%s.sock", sockets, driver), *escaped = NULL;
        const Registered *r = NULL;

        for (size_t i = 0; i < registry->n; i++)
                if (streq(registry->list[i].name, driver))
                        r = &registry->list[i];
        escaped = string_escape(r ? r->endpoint : "", 200);
        if (!own || !escaped)
                return -ENOMEM;
        if (!served)
                printf("problem\t%s\tselvol-csi does not run in front of driver %s.\tsystemctl enable --now selvol-csi@%s.socket\n",
                       driver, driver, driver);
        else if (!r)
                printf("warning\t%s\tNo registrar tells kubelet of driver %s.\tstart its node-driver-registrar with --kubelet-registration-path=%s\n",
                       driver, driver, own);
        else if (!streq(r->endpoint, own))
                printf("problem\t%s\tkubelet calls driver %s at %s, and not through selvol-csi: nobody looks at contexts.\tstart its node-driver-registrar with --kubelet-registration-path=%s\n",
                       driver, driver, escaped, own);
        else
                printf("ok\t%s\tDriver %s answers, and kubelet calls it through selvol-csi.\n", driver, driver);
        return 0;
}

static int check_driver(const char *driver, const Trait *settings, const char *sockets, bool served,
                        const Registry *registry) {
        _cleanup_free_ char *name = string_escape(driver, 200),
                            *socket = settings && settings->socket ? strdup(settings->socket)
                                                                   : strdup_printf(CSI_SOCKET_DEFAULT, driver);
        int r;

        if (!name || !socket)
                return -ENOMEM;
        r = check_answer(name, socket);
        return r != 0 ? r : check_registered(name, sockets, served, registry);
}

int csi_check(const Settings *s, const char *sockets, const char *registry_directory) {
        _cleanup_(registry_done) Registry registry = { 0 };
        _cleanup_strv_ char **served = NULL;
        int r;

        r = list_sockets(sockets, &served);
        if (r >= 0)
                r = registry_read(registry_directory, &registry);
        STRV_FOREACH (driver, served)
                if (r >= 0)
                        r = check_driver(*driver, settings_driver(s, *driver), sockets, true, &registry);
        for (size_t i = 0; r >= 0 && i < s->n_drivers; i++)
                if (s->drivers[i].socket && !strv_contains(served, s->drivers[i].name))
                        r = check_driver(s->drivers[i].name, &s->drivers[i], sockets, false, &registry);
        return r < 0 ? r : 0;
}
