/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/socket.h>

#include <microhttpd.h>

#include "basic/string-util.h"
#include "volume-plugin/plugin-server.h"
#include "volume-plugin/records.h"

#define PROTOCOL_TYPE "application/vnd.docker.plugins.v1.1+json"

enum { CONNECTIONS_MAX = 128, CONNECTION_SEC = 10, CONNECTION_MEMORY = 16384, BODY_MAX = 65536 };

/* The part of a request that the client has sent so far; beyond BODY_MAX the bytes are only counted. */
typedef struct Body {
        size_t size;
        char text[BODY_MAX];
} Body;

typedef struct PluginRequest {
        const Plugin *plugin;
        const char *name; /* "" for methods without a volume */
        const json_t *options;
} PluginRequest;

/* Takes the answer over. Returns 0, or -ENOMEM if answer is NULL. */
static int give_answer(json_t *answer, json_t **ret) {
        *ret = answer;
        return answer ? 0 : -ENOMEM;
}

static int answer_activate(const PluginRequest *q, json_t **ret, Failure *f) {
        return give_answer(json_pack("{s:[s]}", "Implements", "VolumeDriver"), ret);
}

static int answer_capabilities(const PluginRequest *q, json_t **ret, Failure *f) {
        return give_answer(json_pack("{s:{s:s}}", "Capabilities", "Scope", "local"), ret);
}

static int answer_create(const PluginRequest *q, json_t **ret, Failure *f) {
        return volume_create(q->plugin, q->name, q->options, f);
}

static int answer_remove(const PluginRequest *q, json_t **ret, Failure *f) {
        return volume_remove(q->plugin, q->name, f);
}

static int answer_mount(const PluginRequest *q, json_t **ret, Failure *f) {
        _cleanup_free_ char *target = NULL;
        int r;

        r = volume_mount(q->plugin, q->name, &target, f);
        return r != 0 ? r : give_answer(json_pack("{s:s}", "Mountpoint", target), ret);
}

static int answer_unmount(const PluginRequest *q, json_t **ret, Failure *f) {
        return volume_unmount(q->plugin, q->name, f);
}

static int answer_path(const PluginRequest *q, json_t **ret, Failure *f) {
        _cleanup_free_ char *target = NULL;
        int r;

        r = volume_find(q->plugin, q->name, &target, f);
        return r != 0 ? r : give_answer(json_pack("{s:s}", "Mountpoint", target ?: ""), ret);
}

static int answer_get(const PluginRequest *q, json_t **ret, Failure *f) {
        _cleanup_free_ char *target = NULL;
        int r;

        r = volume_find(q->plugin, q->name, &target, f);
        if (r != 0)
                return r;
        return give_answer(json_pack("{s:{s:s, s:s}}", "Volume", "Name", q->name, "Mountpoint", target ?: ""), ret);
}

static int answer_list(const PluginRequest *q, json_t **ret, Failure *f) {
        _cleanup_json_ json_t *names = NULL, *volumes = json_array();
        const json_t *name;
        size_t i;
        int r;

        if (!volumes)
                return -ENOMEM;
        r = volume_list(q->plugin, &names, f);
        if (r != 0)
                return r;
        json_array_foreach (names, i, name)
                if (json_array_append_new(volumes, json_pack("{s:s}", "Name", json_string_value(name))) < 0)
                        return -ENOMEM;
        return give_answer(json_pack("{s:O}", "Volumes", volumes), ret);
}

static const struct Method {
        const char *url;
        bool named; /* the request has the name of a volume */
        int (*answer)(const PluginRequest *q, json_t **ret, Failure *f);
} methods[] = {
        { "/Plugin.Activate", false, answer_activate },  { "/VolumeDriver.Capabilities", false, answer_capabilities },
        { "/VolumeDriver.Create", true, answer_create }, { "/VolumeDriver.Remove", true, answer_remove },
        { "/VolumeDriver.Mount", true, answer_mount },   { "/VolumeDriver.Unmount", true, answer_unmount },
        { "/VolumeDriver.Path", true, answer_path },     { "/VolumeDriver.Get", true, answer_get },
        { "/VolumeDriver.List", false, answer_list },
};

static char *format_refusal(const char *message) {
        _cleanup_json_ json_t *answer = json_pack("{s:s}", "Err", message);

        return answer ? json_dumps(answer, JSON_COMPACT) : NULL;
}

static int give_refusal(int status, const char *message, char **ret) {
        char *text = format_refusal(message);

        if (!text)
                return -ENOMEM;
        *ret = text;
        return status;
}

/* Reads the members that the plugin uses. Ignores others, such as ID: podman itself counts the containers of
 * a volume. */
static int read_plugin_request(const json_t *body, PluginRequest *q, char **ret) {
        const json_t *name = json_object_get(body, "Name"), *options = json_object_get(body, "Opts");

        if (!json_is_string(name) || !record_name_is_valid(json_string_value(name)))
                return give_refusal(
                        MHD_HTTP_BAD_REQUEST,
                        "A volume's name is 1 to 200 of A-Z a-z 0-9 . _ - and begins with a letter or a digit.", ret);
        if (options && !json_is_object(options) && !json_is_null(options))
                return give_refusal(MHD_HTTP_BAD_REQUEST, "Opts is not an object.", ret);
        q->name = json_string_value(name);
        q->options = json_is_object(options) ? options : NULL;
        return 0;
}

/* Answers a request of the protocol for volume plugins, which podman and Docker share: the request is a URL
 * and a JSON object, the answer another object. Returns the HTTP status, or a negative errno. */
static int answer_method(const struct Method *method, const Plugin *p, const Body *body, char **ret) {
        _cleanup_json_ json_t *root = NULL, *none = json_object(), *answer = NULL;
        PluginRequest q = { .plugin = p, .name = "" };
        _cleanup_failure_ Failure f = { 0 };
        int r;

        if (!none)
                return -ENOMEM;
        if (method->named) {
                root = json_loadb(body->text, body->size, JSON_REJECT_DUPLICATES, NULL);
                if (!json_is_object(root))
                        return give_refusal(MHD_HTTP_BAD_REQUEST, "The request is not a JSON object.", ret);
                r = read_plugin_request(root, &q, ret);
                if (r != 0)
                        return r;
        }
        if (!q.options)
                q.options = none;
        r = method->answer(&q, &answer, &f);
        if (r != 0)
                return give_refusal(MHD_HTTP_INTERNAL_SERVER_ERROR, r > 0 ? f.message : strerror(-r), ret);
        if (!answer)
                answer = json_object();
        if (!answer || json_object_set_new(answer, "Err", json_string("")) < 0)
                return -ENOMEM;
        *ret = json_dumps(answer, JSON_COMPACT);
        return *ret ? MHD_HTTP_OK : -ENOMEM;
}

static int answer_url(const Plugin *p, const char *url, const Body *body, char **ret) {
        for (size_t i = 0; i < ELEMENTSOF(methods); i++)
                if (streq(methods[i].url, url))
                        return answer_method(&methods[i], p, body, ret);
        return give_refusal(MHD_HTTP_NOT_FOUND, "There is no such method of volume plugins.", ret);
}

static enum MHD_Result queue_answer(struct MHD_Connection *c, unsigned status, char *text) {
        struct MHD_Response *response;
        enum MHD_Result result = MHD_NO;

        if (!text)
                return MHD_NO;
        response = MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
        if (!response) {
                free(text);
                return MHD_NO;
        }
        /* A client that stays connected keeps a place that others may need. */
        if (MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close") == MHD_YES &&
            MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, PROTOCOL_TYPE) == MHD_YES)
                result = MHD_queue_response(c, status, response);
        MHD_destroy_response(response);
        return result;
}

static enum MHD_Result queue_refusal(struct MHD_Connection *c, unsigned status, const char *message) {
        return queue_answer(c, status, format_refusal(message));
}

/* The mode of the socket is not the only protection: a process may have passed the socket on. The plugin's
 * own user is answered, too, as the tests do without root: that user needs no plugin to do the same. */
static bool is_peer_trusted(struct MHD_Connection *c) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
        struct ucred peer;
        socklen_t size = sizeof(peer);

        return info && getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) >= 0 &&
               (peer.uid == 0 || peer.uid == geteuid());
}

static enum MHD_Result answer_request(struct MHD_Connection *c, const Plugin *p, const char *url, const Body *body) {
        char *text = NULL;
        int r;

        /* The time-out is for idle clients; this one waits for its answer. */
        if (MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, 0U) != MHD_YES)
                return MHD_NO;
        r = answer_url(p, url, body, &text);
        if (MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned) CONNECTION_SEC) != MHD_YES) {
                free(text);
                return MHD_NO;
        }
        return r < 0 ? MHD_NO : queue_answer(c, (unsigned) r, text);
}

static enum MHD_Result on_plugin_request(void *userdata, struct MHD_Connection *c, const char *url,
                                         const char *method, const char *version, const char *upload,
                                         size_t *upload_size, void **state) {
        Body *body = *state;

        if (!body) {
                if (!is_peer_trusted(c))
                        return queue_refusal(c, MHD_HTTP_FORBIDDEN, "Only root is answered.");
                if (!streq(method, MHD_HTTP_METHOD_POST))
                        return queue_refusal(c, MHD_HTTP_METHOD_NOT_ALLOWED, "Only POST is answered.");
                body = calloc(1, sizeof(Body));
                *state = body;
                return body ? MHD_YES : MHD_NO;
        }
        if (*upload_size > 0) {
                if (body->size + *upload_size <= BODY_MAX)
                        memcpy(body->text + body->size, upload, *upload_size);
                body->size += *upload_size;
                *upload_size = 0;
                return MHD_YES;
        }
        if (body->size > BODY_MAX)
                return queue_refusal(c, MHD_HTTP_CONTENT_TOO_LARGE, "The request is larger than 64 KiB.");
        return answer_request(c, userdata, url, body);
}

static void on_completed(void *userdata, struct MHD_Connection *c, void **state,
                         enum MHD_RequestTerminationCode code) {
        free(*state);
        *state = NULL;
}

int server_run(int fd, const Plugin *p) {
        struct MHD_Daemon *daemon;

        daemon =
                MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL, 0,
                                 NULL, NULL, on_plugin_request, (void *) p, MHD_OPTION_LISTEN_SOCKET, fd,
                                 MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_CONNECTION_LIMIT,
                                 (unsigned) CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned) CONNECTION_SEC,
                                 MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t) CONNECTION_MEMORY, MHD_OPTION_END);
        if (!daemon)
                return -EIO;
        for (;;)
                pause();
}
