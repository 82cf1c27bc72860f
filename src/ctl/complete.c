/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>

#include "basic/string-util.h"
#include "basic/time-util.h"
#include "ctl/answer.h"
#include "ctl/bus.h"
#include "ctl/verb-table.h"
#include "model/context.h"
#include "model/settings.h"
#include "wire/system-bus.h"

/* A person does not wait longer for a completion. */
#define CALL_TIMEOUT_USEC (2 * USEC_PER_SEC)

/* The position of the last word, which is the one to complete. */
typedef struct Position {
        const Verb *verb; /* NULL: the word is the verb */
        bool unknown;     /* the verb does not exist */
        int operand;      /* the index of the word among the verb's operands */
        bool no_options;  /* "--" came before it */
        bool is_value;    /* the word is the value of option */
        Option option;
        const char *word;
} Position;

static bool needs_value(const Option *o) {
        return o->argument && !o->may_omit;
}

/* Finds an option by "--name", perhaps with a value, or by "-l". Returns whether there is one. */
static bool find_option(const char *word, Option *ret) {
        const char *name = startswith(word, "--");

        for (size_t i = 0; i < OPTIONS; i++) {
                Option o = option_get(i);

                if (name ? strlen(o.name) == strcspn(name, "=") && startswith(name, o.name)
                         : word[1] == o.letter && word[2] == '\0') {
                        *ret = o;
                        return true;
                }
        }
        return false;
}

static Position find_position(char **words, int n) {
        Position p = { .word = n > 0 ? words[n - 1] : "" };

        for (int i = 0; i < n - 1; i++) {
                const char *w = words[i];

                if (!p.no_options && streq(w, "--"))
                        p.no_options = true;
                else if (!p.no_options && w[0] == '-' && w[1] != '\0') {
                        if (!find_option(w, &p.option) || !needs_value(&p.option) || strchr(w, '='))
                                continue;
                        p.is_value = ++i == n - 1;
                } else if (p.verb)
                        p.operand++;
                else {
                        p.verb = verb_find(w);
                        p.unknown = p.unknown || !p.verb;
                }
        }
        return p;
}

/* Prints a word if it can complete the present one. A person can't type a word that is not clean. */
static void offer_word(const Position *p, const char *prefix, const char *word, const char *suffix) {
        _cleanup_free_ char *whole = strdup_printf("%s%s", prefix, word);

        if (whole && text_is_clean(whole) && startswith(whole, p->word))
                printf("%s%s\n", whole, suffix);
}

static int offer_words(const Position *p, const char *prefix, const char *words) {
        _cleanup_strv_ char **l = NULL;
        int r;

        r = strv_split(words, " ", &l);
        if (r < 0)
                return r;
        STRV_FOREACH (w, l)
                offer_word(p, prefix, *w, "");
        return 0;
}

/* Reads all volumes and jobs; NULL if selvold does not run or reply. */
static json_t *get_objects(void) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_message_ sd_bus_message *call = NULL, *reply = NULL;
        json_t *objects = NULL;

        if (system_bus_open(&bus) < 0 || objects_call_new(bus, &call) < 0 ||
            system_bus_call(bus, call, CALL_TIMEOUT_USEC, NULL, &reply) < 0 || answer_read(reply, &objects) < 0)
                return NULL;
        return objects;
}

/* Whether selvolctl and the shell take a volume's id as typed: an id may look like an option, or like a
 * user's home directory, even after the "=" of a variable, or have characters that need quotes. */
static bool stays_as_typed(const Position *p, const char *id) {
        static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/.,:@%+=_-~";

        if (id[strspn(id, plain)] != '\0')
                return false;
        return (id[0] != '-' || p->no_options) && id[0] != '~' && !strstr(id, "=~") && !strstr(id, ":~");
}

static void offer_volume(const Position *p, const char *kind, const json_t *volume) {
        const char *id = answer_string(volume, "Id");
        const json_t *holder;
        size_t i;

        if (streq(kind, "VOLUME") && stays_as_typed(p, id))
                offer_word(p, "", id, "");
        else if (streq(kind, "TARGET"))
                json_array_foreach (json_object_get(volume, "Holders"), i, holder)
                        offer_word(p, "", answer_string(holder, "Target"), "");
}

static void offer_job(const Position *p, const json_t *job) {
        _cleanup_free_ char *id =
                strdup_printf("%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(job, "Id")));

        if (id && !streq(answer_string(job, "State"), "ended"))
                offer_word(p, "", id, "");
}

static void offer_objects(const Position *p, const char *kind) {
        _cleanup_json_ json_t *objects = get_objects();
        const json_t *object;
        const char *path;

        json_object_foreach (objects, path, object) {
                const json_t *volume = json_object_get(object, VOLUME_INTERFACE),
                             *job = json_object_get(object, JOB_INTERFACE);

                if (volume)
                        offer_volume(p, kind, volume);
                if (job && streq(kind, "JOB"))
                        offer_job(p, job);
        }
}

/* Offers the block devices of the node, but none that a program has made for an image. */
static void offer_devices(const Position *p) {
        DIR *devices = opendir("/sys/class/block");
        const struct dirent *entry;

        while (devices && (entry = readdir(devices))) {
                _cleanup_free_ char *name = strdup(entry->d_name);

                if (!name || name[0] == '.' || startswith(name, "loop") || startswith(name, "ram"))
                        continue;
                for (char *c = name; *c; c++)
                        *c = *c == '!' ? '/' : *c;
                offer_word(p, "/dev/", name, "");
        }
        if (devices)
                closedir(devices);
}

/* Offers the levels in use, each once. */
static int offer_levels(const Position *p, const char *prefix) {
        _cleanup_json_ json_t *objects = get_objects();
        _cleanup_strv_ char **levels = NULL;
        const json_t *object, *holder;
        const char *path;
        size_t i;

        json_object_foreach (objects, path, object)
                json_array_foreach (json_object_get(json_object_get(object, VOLUME_INTERFACE), "Holders"), i,
                                    holder) {
                        _cleanup_free_ char *level = context_part(answer_string(holder, "Context"), CONTEXT_LEVEL);

                        if (!level)
                                return -ENOMEM;
                        if (isempty(level) || (levels && strv_contains(levels, level)))
                                continue;
                        offer_word(p, prefix, level, "");
                        if (strv_extend(&levels, level) < 0)
                                return -ENOMEM;
                }
        return 0;
}

static int offer_value(const Position *p, const char *prefix) {
        if (p->option.values)
                return offer_words(p, prefix, p->option.values);
        return p->option.request == &request_options[OPTION_SELINUX_LEVEL] ? offer_levels(p, prefix) : 0;
}

static void offer_kind(const Position *p, const char *kind) {
        const char *word;

        if (streq(kind, "VERB"))
                for (size_t i = 0; i < n_verbs; i++)
                        offer_word(p, "", verbs[i].name, "");
        if (streq(kind, "KEY"))
                for (size_t i = 0; (word = settings_key(i, NULL)); i++)
                        offer_word(p, "", word, "");
        if (streq(kind, "VOLUME") || streq(kind, "TARGET") || streq(kind, "JOB"))
                offer_objects(p, kind);
        if (streq(kind, "SOURCE"))
                offer_devices(p);
        if (streq(kind, "SOURCE") || streq(kind, "TARGET") || streq(kind, "PATH") || streq(kind, "ROOT"))
                puts("/");
}

/* Offers words for an operand of the usage: "VOLUME", "VOLUME|PATH", "[CONTEXT]" or "VOLUME|TARGET...". */
static int offer_operand(const Position *p, const char *usage) {
        _cleanup_strv_ char **kinds = NULL;
        int r;

        r = strv_split(usage, "[|].", &kinds);
        if (r < 0)
                return r;
        STRV_FOREACH (k, kinds)
                offer_kind(p, *k);
        return 0;
}

static int offer_operands(const Position *p) {
        _cleanup_strv_ char **usages = NULL;
        int n, r;

        if (p->unknown)
                return 0;
        if (!p->verb) {
                offer_kind(p, "VERB");
                return 0;
        }
        r = strv_split(p->verb->operands, " ", &usages);
        if (r < 0)
                return r;
        n = (int) strv_length(usages);
        if (p->operand < n) {
                r = offer_operand(p, usages[p->operand]);
                if (r < 0)
                        return r;
                /* The first word of "[VOLUME] TARGET" may be the second operand. */
                return p->operand == 0 && usages[0][0] == '[' && n > 1 ? offer_operand(p, usages[1]) : 0;
        }
        return n > 0 && p->verb->max > n ? offer_operand(p, usages[n - 1]) : 0;
}

int complete_print(char **words, int n) {
        Position p = find_position(words, n);
        const char *value = !p.no_options && startswith(p.word, "--") ? strchr(p.word, '=') : NULL;

        if (p.is_value)
                return offer_value(&p, "");
        if (value) {
                _cleanup_free_ char *prefix = strndup(p.word, (size_t) (value + 1 - p.word));

                if (!prefix)
                        return -ENOMEM;
                return find_option(p.word, &p.option) ? offer_value(&p, prefix) : 0;
        }
        if (p.no_options || p.word[0] != '-')
                return offer_operands(&p);
        for (size_t i = 0; i < OPTIONS; i++) {
                Option o = option_get(i);

                if (p.verb ? verb_takes(p.verb, &o) : o.bit & SWITCHES_COMMON)
                        offer_word(&p, "--", o.name, needs_value(&o) ? "=" : "");
        }
        return 0;
}
