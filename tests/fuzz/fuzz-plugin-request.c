/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "http.h"
#include "fuzz.h"
#include "volume-plugin/plugin-server.h"
#include "volume-plugin/records.h"

/* The input is a request to the plugin: a URL, and in the next lines the JSON; or, if it does not begin with
 * a slash, all that a client sends. There is no bus, so no volume is ever mounted. Each answer of the plugin
 * is an object with "Err", which is fit for a terminal, and "" just if the request was carried out. The
 * records stay as they are. */

static char directory[] = "/dev/shm/selvol-fuzz-XXXXXX";
static Plugin plugin = { .targets_path = directory, .timeout_usec = 1000000 };

/* "absent" has no record. */
static const struct {
        const char *name, *text;
} records[] = {
        { "db", "{\"level\":\"s0:c1,c2\",\"source\":\"/dev/vdb\"}" },
        { "incomplete", "{\"source\":\"/dev/vdb\"}" },
        { "damaged", "{" },
};

static void clean_up(void) {
        for (size_t i = 0; i < ELEMENTSOF(records); i++) {
                (void) unlinkat(plugin.records, records[i].name, 0);
                (void) unlinkat(plugin.targets, records[i].name, AT_REMOVEDIR);
        }
        (void) unlinkat(plugin.records, "targets", AT_REMOVEDIR);
        (void) rmdir(directory);
}

static int serve(int fd) {
        return server_run(fd, &plugin);
}

static void prepare(void) {
        if (plugin.records > 0)
                return;
        assert(setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent", 1) == 0);
        assert(mkdtemp(directory));
        plugin.records = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert(plugin.records >= 0 && mkdirat(plugin.records, "targets", 0700) == 0);
        plugin.targets = openat(plugin.records, "targets", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert(plugin.targets >= 0 && atexit(clean_up) == 0);
        for (size_t i = 0; i < ELEMENTSOF(records); i++) {
                int fd = openat(plugin.records, records[i].name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

                assert(fd >= 0 && write(fd, records[i].text, strlen(records[i].text)) > 0);
                close(fd);
        }
        http_start(serve);
}

static char *ask(const uint8_t *data, size_t size) {
        const uint8_t *end = memchr(data, '\n', size);
        _cleanup_free_ char *request = NULL;
        size_t n, body;

        if (size == 0 || data[0] != '/' || !end)
                return http_ask(data, size, &n);
        body = size - (size_t) (end + 1 - data);
        request = strdup_printf("POST %.*s HTTP/1.1\r\nHost: plugin\r\nContent-Length: %zu\r\n\r\n",
                                (int) (end - data), (const char *) data, body);
        assert(request);
        n = strlen(request);
        request = realloc(request, n + body);
        assert(request);
        memcpy(request + n, end + 1, body);
        return http_ask(request, n + body, &n);
}

static void check_answer(unsigned status, const char *body) {
        _cleanup_json_ json_t *answer = json_loads(body, JSON_REJECT_DUPLICATES, NULL);
        const char *mistake = json_string_value(json_object_get(answer, "Err"));

        assert(mistake && text_is_clean(mistake));
        assert((status == 200) == isempty(mistake));
        assert(status == 200 || status == 400 || status == 404 || status == 405 || status == 413 || status == 500);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *answer = NULL;
        _cleanup_json_ json_t *names = NULL;
        const char *body;
        unsigned status;

        prepare();
        answer = ask(data, size);
        status = http_read(answer, &body);
        /* libmicrohttpd itself refuses what is no HTTP. */
        if (status > 0 && strstr(answer, "vnd.docker.plugins"))
                check_answer(status, body);
        assert(record_list(plugin.records, &names) == 0 && json_array_size(names) == ELEMENTSOF(records) + 1);
        return 0;
}
