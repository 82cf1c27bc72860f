/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "volume-plugin/protocol.h"
#include "volume-plugin/records.h"

enum { STATUS_OK = 200, STATUS_BAD_REQUEST = 400, STATUS_NOT_FOUND = 404, STATUS_FAILED = 500 };

typedef struct Request {
        const Plugin *plugin;
        const char *name; /* "" where none is needed */
        const json_t *options;
} Request;

/* Takes the answer over; NULL: there was no memory for it. */
static int give(json_t *answer, json_t **ret) {
        *ret = answer;
        return answer ? 0 : -ENOMEM;
}

static int answer_activate(const Request *q, json_t **ret, Failure *f) {
        return give(json_pack("{s:[s]}", "Implements", "VolumeDriver"), ret);
}

static int answer_capabilities(const Request *q, json_t **ret, Failure *f) {
        return give(json_pack("{s:{s:s}}", "Capabilities", "Scope", "local"), ret);
}

static int answer_create(const Request *q, json_t **ret, Failure *f) {
        return volume_create(q->plugin, q->name, q->options, f);
}

static int answer_remove(const Request *q, json_t **ret, Failure *f) {
        return volume_remove(q->plugin, q->name, f);
}

static int answer_mount(const Request *q, json_t **ret, Failure *f) {
        _cleanup_free_ char *target = NULL;
        int r;

        r = volume_mount(q->plugin, q->name, &target, f);
        return r != 0 ? r : give(json_pack("{s:s}", "Mountpoint", target), ret);
}

static int answer_unmount(const Request *q, json_t **ret, Failure *f) {
        return volume_unmount(q->plugin, q->name, f);
}

static int answer_path(const Request *q, json_t **ret, Failure *f) {
        _cleanup_free_ char *target = NULL;
        int r;

        r = volume_find(q->plugin, q->name, &target, f);
        return r != 0 ? r : give(json_pack("{s:s}", "Mountpoint", target ?: ""), ret);
}

static int answer_get(const Request *q, json_t **ret, Failure *f) {
        _cleanup_free_ char *target = NULL;
        int r;

        r = volume_find(q->plugin, q->name, &target, f);
        if (r != 0)
                return r;
        return give(json_pack("{s:{s:s, s:s}}", "Volume", "Name", q->name, "Mountpoint", target ?: ""), ret);
}

static int answer_list(const Request *q, json_t **ret, Failure *f) {
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
        return give(json_pack("{s:O}", "Volumes", volumes), ret);
}

static const struct {
        const char *url;
        bool named; /* the request has the name of a volume */
        int (*answer)(const Request *q, json_t **ret, Failure *f);
} methods[] = {
        { "/Plugin.Activate", false, answer_activate },  { "/VolumeDriver.Capabilities", false, answer_capabilities },
        { "/VolumeDriver.Create", true, answer_create }, { "/VolumeDriver.Remove", true, answer_remove },
        { "/VolumeDriver.Mount", true, answer_mount },   { "/VolumeDriver.Unmount", true, answer_unmount },
        { "/VolumeDriver.Path", true, answer_path },     { "/VolumeDriver.Get", true, answer_get },
        { "/VolumeDriver.List", false, answer_list },
};

char *protocol_refusal(const char *message) {
        _cleanup_json_ json_t *answer = json_pack("{s:s}", "Err", message);

        return answer ? json_dumps(answer, JSON_COMPACT) : NULL;
}

static int refuse(int status, const char *message, char **ret) {
        char *text = protocol_refusal(message);

        if (!text)
                return -ENOMEM;
        *ret = text;
        return status;
}

/* The members that are of use; further ones are ignored, such as ID: podman counts the containers of a volume itself. */
static int read_request(const json_t *body, Request *q, char **ret) {
        const json_t *name = json_object_get(body, "Name"), *options = json_object_get(body, "Opts");

        if (!json_is_string(name) || !record_name_is_valid(json_string_value(name)))
                return refuse(STATUS_BAD_REQUEST,
                              "A volume's name is 1 to 200 of A-Z a-z 0-9 . _ - and begins with a letter or a digit.",
                              ret);
        if (options && !json_is_object(options) && !json_is_null(options))
                return refuse(STATUS_BAD_REQUEST, "Opts is not an object.", ret);
        q->name = json_string_value(name);
        q->options = json_is_object(options) ? options : NULL;
        return 0;
}

static int answer_request(size_t method, const Request *q, char **ret) {
        _cleanup_json_ json_t *answer = NULL;
        _cleanup_failure_ Failure f = { 0 };
        char *text;
        int r;

        r = methods[method].answer(q, &answer, &f);
        if (r != 0)
                return refuse(STATUS_FAILED, r > 0 ? f.message : strerror(-r), ret);
        if (!answer)
                answer = json_object();
        if (!answer || json_object_set_new(answer, "Err", json_string("")) < 0)
                return -ENOMEM;
        text = json_dumps(answer, JSON_COMPACT);
        if (!text)
                return -ENOMEM;
        *ret = text;
        return STATUS_OK;
}

static int answer_body(size_t method, const Plugin *p, const char *body, size_t size, char **ret) {
        _cleanup_json_ json_t *root = NULL, *none = json_object();
        Request q = { .plugin = p, .name = "" };
        int r;

        if (!none)
                return -ENOMEM;
        if (methods[method].named) {
                root = json_loadb(body, size, JSON_REJECT_DUPLICATES, NULL);
                if (!json_is_object(root))
                        return refuse(STATUS_BAD_REQUEST, "The request is not a JSON object.", ret);
                r = read_request(root, &q, ret);
                if (r != 0)
                        return r;
        }
        if (!q.options)
                q.options = none;
        return answer_request(method, &q, ret);
}

int protocol_answer(const Plugin *p, const char *url, const char *body, size_t size, char **ret) {
        for (size_t i = 0; i < ELEMENTSOF(methods); i++)
                if (streq(methods[i].url, url))
                        return answer_body(i, p, body, size, ret);
        return refuse(STATUS_NOT_FOUND, "There is no such method of volume plugins.", ret);
}
