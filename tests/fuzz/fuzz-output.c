/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <locale.h>

#include "ctl/answer.h"
#include "ctl/print.h"
#include "message.h"
#include "state/metrics.h"

/* selvolctl prints the input, which is an answer or metrics. The first word is "m" for metrics. Otherwise it
 * is the member to which the answer belongs, or "" if the answer has the members, and then come the type of
 * the answer, or "" for a{sv}, and its values. */

/* --- standard output --- */

static struct {
        FILE *stream, *real;
        char *text;
        size_t size;
} captured;

static void capture(void) {
        captured.real = stdout;
        captured.stream = open_memstream(&captured.text, &captured.size);
        assert(captured.stream);
        stdout = captured.stream;
}

static char *capture_end(void) {
        char *text;

        stdout = captured.real;
        assert(fclose(captured.stream) == 0);
        text = captured.text;
        assert(strlen(text) == captured.size);
        captured.text = NULL;
        return text;
}

/* Counts the lines, none of which may have anything that a terminal obeys. */
static size_t check_lines(const char *text) {
        size_t n = 0, length;

        for (; *text; text += length + 1, n++) {
                _cleanup_free_ char *line = NULL;

                length = strcspn(text, "\n");
                assert(text[length] == '\n');
                line = strndup(text, length);
                assert(line && text_is_clean(line));
        }
        return n;
}

/* --- answers --- */

static const char *const columns[] = { "Id", "?Strategy", "Holders", "?Message", NULL };

static void check_json(const json_t *value) {
        const Args plain = { .json_pretty = true };
        _cleanup_free_ char *text = NULL;
        _cleanup_json_ json_t *parsed = NULL;

        capture();
        assert(print_json(&plain, value) == 0);
        text = capture_end();
        check_lines(text);
        for (const char *s = text; *s; s++)
                assert((unsigned char) *s < 0x80);
        parsed = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        assert(parsed && json_equal(parsed, value));
}

/* selvolctl prints a line for each member, and tables: an empty line, a heading, and a line for each row. */
static size_t count_lines(const json_t *object) {
        static const char *const tables[] = { "Conflicts", "Holders", "Failures", "Mismatches" };
        json_t *o = (json_t *) object, *value;
        const char *key;
        size_t n = 0;

        json_object_foreach (o, key, value)
                if (member_is_shown(object, key, value))
                        n++;
        for (size_t i = 0; i < ELEMENTSOF(tables); i++) {
                value = json_object_get(object, tables[i]);
                n += json_array_size(value) > 0 ? 2 + json_array_size(value) : 0;
        }
        return n;
}

static void check_text(const json_t *object) {
        const Args plain = { 0 };
        _cleanup_free_ char *text = NULL;

        capture();
        assert(print_answer(&plain, object) == 0);
        text = capture_end();
        assert(check_lines(text) == count_lines(object));
}

static void check_list(const json_t *rows) {
        const Args plain = { 0 };
        _cleanup_free_ char *text = NULL;
        size_t n = json_array_size(rows);

        check_json(rows);
        capture();
        assert(print_list(&plain, rows, columns, "thing") == 0);
        text = capture_end();
        /* selvolctl also prints a heading, an empty line and the number of rows. */
        assert(check_lines(text) == (n > 0 ? n + 3 : 1));
}

static void check_object(json_t *object) {
        json_t *value;
        const char *key;

        check_json(object);
        check_text(object);
        json_object_foreach (object, key, value)
                if (json_is_array(value))
                        check_list(value);
}

static void check_answer(const char *member, Words *w) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new();
        _cleanup_json_ json_t *object = json_object();
        _cleanup_free_ char *types = words_next(w);

        assert(object);
        /* selvolctl itself chooses the name of the member, so the name has to be clean. */
        if (!text_is_clean(member) || message_fill(m, isempty(types) ? "a{sv}" : types, w) < 0 ||
            message_finish(m) < 0)
                return;
        if (answer_add(object, isempty(member) ? NULL : member, m) < 0)
                return;
        assert(setlocale(LC_ALL, "C"));
        check_object(object);
        assert(setlocale(LC_ALL, "C.UTF-8"));
        check_object(object);
}

/* --- metrics --- */

/* Returns the text after a value in quotes. */
static const char *skip_value(const char *s) {
        assert(*s == '"');
        for (s++; *s != '"'; s++) {
                assert(*s != '\0');
                if (*s == '\\') {
                        s++;
                        assert(strchr("n\\\"", *s) && *s);
                }
        }
        return s + 1;
}

static const char *skip_name(const char *s) {
        size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz_");

        assert(n > 0);
        return s + n;
}

/* A line is NAME{LABEL="VALUE",...} NUMBER, or a comment. */
static void check_sample(const char *line) {
        char *end;

        if (startswith(line, "# HELP ") || startswith(line, "# TYPE "))
                return;
        line = skip_name(line);
        if (*line == '{') {
                do {
                        line = skip_name(line + 1);
                        assert(*line == '=');
                        line = skip_value(line + 1);
                } while (*line == ',');
                assert(*line == '}');
                line++;
        }
        assert(*line == ' ');
        (void) strtod(line + 1, &end);
        assert(end > line + 1 && *end == '\0');
}

static void add_sample(Metrics *metrics, Words *w) {
        uint64_t n = words_next_number(w);
        _cleanup_free_ char *plugin = words_next(w);

        /* Callers choose the words of this label alone. They come by D-Bus, or the store has checked them. */
        if (utf8_is_valid(plugin))
                metrics_add(metrics, METRIC_TOTAL_VOLUMES, n, plugin, "held");
}

static void check_metrics(Words *w) {
        _cleanup_(metrics_freep) Metrics *metrics = metrics_new();
        _cleanup_strv_ char **lines = NULL;
        _cleanup_free_ char *text = NULL;

        assert(metrics);
        while (!words_at_end(w))
                add_sample(metrics, w);
        text = metrics_render(metrics);
        assert(text && utf8_is_valid(text) && strv_split(text, "\n", &lines) == 0);
        STRV_FOREACH (line, lines)
                check_sample(*line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        Words w = { data, size };
        _cleanup_free_ char *what = words_next(&w);

        if (streq(what, "m"))
                check_metrics(&w);
        else
                check_answer(what, &w);
        return 0;
}
