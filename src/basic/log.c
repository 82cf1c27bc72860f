/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <systemd/sd-journal.h>

#include "basic/log.h"
#include "basic/string-util.h"

enum { FIELDS_MAX = 24, COMMON_FIELDS_MAX = 4 };

static const char *const log_level_table[] = {
        [LOG_EMERG] = "emerg",     [LOG_ALERT] = "alert",   [LOG_CRIT] = "crit", [LOG_ERR] = "err",
        [LOG_WARNING] = "warning", [LOG_NOTICE] = "notice", [LOG_INFO] = "info", [LOG_DEBUG] = "debug",
};

DEFINE_STRING_TABLE(log_level, int);

static int max_level = LOG_INFO;

int log_get_level(void) {
        return max_level;
}

int log_set_level_from_string(const char *s) {
        unsigned long long number;
        int level;

        assert(s);

        if (parse_u64(s, &number) >= 0 && number < ELEMENTSOF(log_level_table)) {
                max_level = (int) number;
                return 0;
        }
        level = log_level_from_string(s);
        if (level < 0)
                return level;
        max_level = level;
        return 0;
}

void log_set_level_from_environment(void) {
        _cleanup_free_ char *escaped = NULL;
        const char *s = getenv("SELVOL_LOG_LEVEL");

        if (isempty(s) || log_set_level_from_string(s) >= 0)
                return;
        escaped = string_escape(s, 40);
        log_warning(
                "$SELVOL_LOG_LEVEL is '%s', which is not a log level: use emerg, alert, crit, err, warning, notice, info, debug, or 0 to 7.",
                strempty(escaped));
}

/* If stderr is the journal's socket, systemd sets $JOURNAL_STREAM to the socket's DEVICE:INODE
 * (systemd.exec(5)). */
static bool stderr_is_journal(void) {
        static int cached = -1;
        const char *e;
        unsigned long long device, inode;
        struct stat st;

        if (cached >= 0)
                return cached;

        e = getenv("JOURNAL_STREAM");
        cached = e && sscanf(e, "%llu:%llu", &device, &inode) == 2 && fstat(STDERR_FILENO, &st) >= 0 &&
                 st.st_dev == device && st.st_ino == inode;
        return cached;
}

const char *log_get_target(void) {
        return stderr_is_journal() ? "journal" : "console";
}

/* "NAME=value" */
static char *common_fields[COMMON_FIELDS_MAX];

int log_set_common_fields(const LogField *fields, size_t n) {
        assert(n <= COMMON_FIELDS_MAX);

        for (size_t i = 0; i < COMMON_FIELDS_MAX; i++) {
                free(common_fields[i]);
                common_fields[i] = NULL;
        }
        for (size_t i = 0; i < n; i++) {
                if (isempty(fields[i].value))
                        continue;
                common_fields[i] = strdup_printf("%s=%s", fields[i].name, fields[i].value);
                if (!common_fields[i])
                        return -ENOMEM;
        }
        return 0;
}

static void write_journal(int priority, const char *message, const LogField *fields, size_t n_fields) {
        struct iovec iov[FIELDS_MAX + COMMON_FIELDS_MAX + 2];
        char *owned[FIELDS_MAX + 2];
        size_t n = 0;

        owned[n++] = strdup_printf("MESSAGE=%s", message);
        owned[n++] = strdup_printf("PRIORITY=%i", priority);
        for (size_t i = 0; i < n_fields && n < ELEMENTSOF(owned); i++)
                if (!isempty(fields[i].value))
                        owned[n++] = strdup_printf("%s=%s", fields[i].name, fields[i].value);

        size_t n_iov = 0;
        for (size_t i = 0; i < n; i++)
                if (owned[i])
                        iov[n_iov++] = (struct iovec){ .iov_base = owned[i], .iov_len = strlen(owned[i]) };
        for (size_t i = 0; i < COMMON_FIELDS_MAX; i++)
                if (common_fields[i])
                        iov[n_iov++] =
                                (struct iovec){ .iov_base = common_fields[i], .iov_len = strlen(common_fields[i]) };
        (void) sd_journal_sendv(iov, (int) n_iov);

        for (size_t i = 0; i < n; i++)
                free(owned[i]);
}

static char *make_clean(char *message) {
        _cleanup_free_ char *text = message;

        return text_make_clean(text);
}

void log_fields(int priority, const LogField *fields, size_t n_fields, const char *format, ...) {
        _cleanup_free_ char *message = NULL;
        int saved = errno;
        va_list ap;

        assert(fields || n_fields == 0);

        if (priority > max_level)
                return;

        va_start(ap, format);
        message = strdup_vprintf(format, ap);
        va_end(ap);
        /* A volume id may have any characters. */
        if (message && !text_is_clean(message))
                message = make_clean(message);
        if (!message)
                return;

        if (stderr_is_journal())
                write_journal(priority, message, fields, n_fields);
        else
                (void) dprintf(STDERR_FILENO, "%s\n", message);
        errno = saved;
}
