/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <sys/stat.h>

#include "basic/config.h"
#include "basic/string-util.h"

/* --- keys and their lines --- */

static void key_done(ConfigKey *key) {
        free(key->section);
        free(key->name);
        strv_free(key->values);
        strv_free(key->places);
}

void config_done(Config *config) {
        for (size_t i = 0; i < config->n; i++)
                key_done(&config->keys[i]);
        free(config->keys);
        *config = (Config){ 0 };
}

const ConfigKey *config_find(const Config *config, const char *section, const char *name) {
        for (size_t i = 0; i < config->n; i++)
                if (streq_ptr(config->keys[i].section, section) && streq_ptr(config->keys[i].name, name))
                        return &config->keys[i];
        return NULL;
}

/* Adds a key after the others of its section. Returns NULL on lack of memory. */
static ConfigKey *add_key(Config *config, const char *section, const char *name) {
        ConfigKey key = { 0 }, *grown;
        size_t at = config->n;

        grown = reallocarray(config->keys, config->n + 1, sizeof(ConfigKey));
        if (!grown)
                return NULL;
        config->keys = grown;
        if (free_and_strdup(&key.section, section) < 0 || free_and_strdup(&key.name, name) < 0) {
                key_done(&key);
                return NULL;
        }
        while (at > 0 && !streq_ptr(grown[at - 1].section, section))
                at--;
        if (at == 0)
                at = config->n;
        memmove(grown + at + 1, grown + at, (config->n - at) * sizeof(ConfigKey));
        grown[at] = key;
        config->n++;
        return &grown[at];
}

static int add_line(Config *config, const char *section, const char *name, const char *value, const char *place,
                    bool adds_up) {
        ConfigKey *key = (ConfigKey *) config_find(config, section, name);
        int r;

        if (!key)
                key = add_key(config, section, name);
        if (!key)
                return -ENOMEM;
        if (!adds_up) {
                key->values = strv_free(key->values);
                key->places = strv_free(key->places);
        }
        r = strv_extend(&key->values, value);
        return r < 0 ? r : strv_extend(&key->places, place);
}

char *config_value(const ConfigKey *key) {
        return strv_join(key->values[0][0] == '\0' && key->values[1] ? key->values + 1 : key->values, " ");
}

const char *config_place(const ConfigKey *key) {
        return key->places[strv_length(key->places) - 1];
}

/* FNV-1a, with the byte that ends the string. */
static uint64_t digest_add(uint64_t digest, const char *s) {
        do
                digest = (digest ^ (uint8_t) *s) * UINT64_C(0x100000001b3);
        while (*s++);
        return digest;
}

int config_digest(const Config *config, uint64_t *ret) {
        uint64_t digest = UINT64_C(0xcbf29ce484222325);

        for (size_t i = 0; i < config->n; i++) {
                const ConfigKey *key = &config->keys[i];
                _cleanup_free_ char *value = config_value(key);

                if (!value)
                        return -ENOMEM;
                digest = digest_add(digest, strempty(key->section));
                digest = digest_add(digest_add(digest, strempty(key->name)), value);
        }
        *ret = digest;
        return 0;
}

/* --- files --- */

typedef struct FileReading {
        Config config;
        bool (*is_list)(const char *key);
        char *section; /* of the line that is read */
} FileReading;

static void reading_done(FileReading *reading) {
        config_done(&reading->config);
        free(reading->section);
}

/* Cuts blanks at both ends. */
static char *cut_blanks(char *s) {
        size_t n;

        s += strspn(s, " \t\r\n");
        for (n = strlen(s); n > 0 && strchr(" \t\r\n", s[n - 1]); n--)
                ;
        s[n] = '\0';
        return s;
}

/* Returns 0, -ENOMEM, or -EINVAL with the mistake. */
static int read_assignment(FileReading *reading, char *text, const char *place, const char **ret_mistake) {
        char *equals = strchr(text, '='), *name, *value;

        *ret_mistake = "write KEY=VALUE, or the name of a section in brackets";
        if (!equals || equals == text)
                return -EINVAL;
        *equals = '\0';
        name = cut_blanks(text);
        value = cut_blanks(equals + 1);
        /* Otherwise a word of the comment would be one of a list. */
        *ret_mistake = "a comment needs a line of its own";
        if (strstr(value, " #") || strstr(value, "\t#"))
                return -EINVAL;
        *ret_mistake = "a value ends with its line: repeat the key for the rest of a list";
        if (value[0] != '\0' && value[strlen(value) - 1] == '\\')
                return -EINVAL;
        return add_line(&reading->config, reading->section, name, value, place,
                        value[0] != '\0' && reading->is_list(name));
}

/* Returns the same. */
static int read_line(FileReading *reading, char *line, size_t n, const char *place, const char **ret_mistake) {
        char *text;
        int r;

        *ret_mistake = "there is a null byte";
        if (strlen(line) != n)
                return -EINVAL;
        text = cut_blanks(line);
        if (text[0] == '\0' || text[0] == '#' || text[0] == ';')
                return 0;
        if (text[0] != '[')
                return read_assignment(reading, text, place, ret_mistake);
        n = strlen(text);
        *ret_mistake = "']' is missing at the end";
        if (text[n - 1] != ']')
                return -EINVAL;
        text[n - 1] = '\0';
        r = free_and_strdup(&reading->section, text + 1);
        return r < 0 ? r : add_line(&reading->config, reading->section, NULL, "", place, false);
}

static int describe_error(int error, const char *place, const char *mistake, char **ret_text) {
        if (error == -ENOMEM)
                return error;
        *ret_text = strdup_printf("%s: %s", place, mistake);
        return *ret_text ? error : -ENOMEM;
}

static int read_file(FileReading *reading, const char *path, char **ret_text) {
        _cleanup_fclose_ FILE *file = fopen(path, "re");
        _cleanup_free_ char *line = NULL;
        size_t size = 0;
        ssize_t n;

        if (!file)
                return describe_error(-errno, path, strerror(errno), ret_text);
        free(TAKE_PTR(reading->section));
        for (unsigned int number = 1; errno = 0, (n = getline(&line, &size, file)) >= 0; number++) {
                _cleanup_free_ char *place = strdup_printf("%s:%u", path, number);
                const char *mistake = NULL;
                int r;

                if (!place)
                        return -ENOMEM;
                r = read_line(reading, line, (size_t) n, place, &mistake);
                if (r < 0)
                        return describe_error(r, place, mistake, ret_text);
        }
        return errno == 0 ? 0 : describe_error(-errno, path, strerror(errno), ret_text);
}

/* Adds the path of the file to the list, unless neither directory has it. */
static int choose_file(const char *usr_dir, const char *etc_dir, const char *name, char ***files) {
        const char *const directories[] = { etc_dir, usr_dir };

        for (size_t i = 0; i < ELEMENTSOF(directories); i++) {
                _cleanup_free_ char *path = strdup_printf("%s/%s", directories[i], name);
                struct stat st;

                if (!path)
                        return -ENOMEM;
                if (lstat(path, &st) >= 0)
                        return strv_consume(files, TAKE_PTR(path));
                if (errno != ENOENT && errno != ENOTDIR)
                        return -errno;
        }
        return 0;
}

static int is_dropin(const struct dirent *entry) {
        size_t n = strlen(entry->d_name);

        return entry->d_name[0] != '.' && n > strlen(".conf") && streq(entry->d_name + n - strlen(".conf"), ".conf");
}

/* Adds the names of the drop-ins to the list. */
static int list_dropins(const char *directory, const char *folder, char ***names) {
        _cleanup_free_ char *path = strdup_printf("%s/%s", directory, folder);
        struct dirent **entries;
        int n, r = 0;

        if (!path)
                return -ENOMEM;
        n = scandir(path, &entries, is_dropin, NULL);
        if (n < 0)
                return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
        for (int i = 0; i < n; i++) {
                char *name = strdup_printf("%s/%s", folder, entries[i]->d_name);

                free(entries[i]);
                if (r < 0 || (name && strv_contains(*names, name)))
                        free(name);
                else
                        r = strv_consume(names, name);
        }
        free(entries);
        return r;
}

static int compare_names(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

/* Lists the files in the order of reading. */
static int list_files(const char *project, const char *usr_dir, const char *etc_dir, char ***ret) {
        _cleanup_free_ char *name = strdup_printf("%s.conf", project), *folder = strdup_printf("%s.conf.d", project);
        _cleanup_strv_ char **names = NULL, **files = NULL;
        int r;

        if (!name || !folder)
                return -ENOMEM;
        r = choose_file(usr_dir, etc_dir, name, &files);
        if (r < 0)
                return r;
        r = list_dropins(usr_dir, folder, &names);
        if (r < 0)
                return r;
        r = list_dropins(etc_dir, folder, &names);
        if (r < 0)
                return r;
        if (names)
                qsort(names, strv_length(names), sizeof(char *), compare_names);
        STRV_FOREACH (n, names) {
                r = choose_file(usr_dir, etc_dir, *n, &files);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(files);
        return 0;
}

int config_load(const char *project, const char *usr_dir, const char *etc_dir, bool (*is_list)(const char *key),
                Config *ret, char **ret_text) {
        _cleanup_(reading_done) FileReading reading = { .is_list = is_list };
        _cleanup_strv_ char **files = NULL;
        int r;

        assert(project && usr_dir && etc_dir && is_list);
        assert(ret && ret_text);

        r = list_files(project, usr_dir, etc_dir, &files);
        if (r < 0)
                return describe_error(r, etc_dir, strerror(-r), ret_text);
        STRV_FOREACH (file, files) {
                r = read_file(&reading, *file, ret_text);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_STRUCT(reading.config);
        return 0;
}
