/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <inttypes.h>
#include <langinfo.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <systemd/sd-login.h>

#include "basic/string-util.h"
#include "basic/time-util.h"
#include "ctl/terminal.h"

enum { WIDTH_DEFAULT = 80 };
enum { TEXT_MAX = 4096, MINUTE = 60, HOUR = 60 * MINUTE, DAY = 24 * HOUR };

/* The options of journalctl: exit at once if everything fits, colors, scroll long lines sideways, don't clear
 * the screen. */
#define LESS_OPTIONS "FRSXMK"

static pid_t pager;         /* 0: none */
static int before = -EBADF; /* with a pager: a copy of the earlier standard output */

static int terminal_of(int fd) {
        return fd == STDOUT_FILENO && before >= 0 ? before : fd;
}

bool terminal_is_capable(int fd) {
        const char *term = getenv("TERM");

        return isatty(terminal_of(fd)) && !isempty(term) && !streq(term, "dumb");
}

size_t terminal_width(int fd) {
        const char *columns = getenv("COLUMNS");
        unsigned long long n = 0;
        struct winsize size;

        if (ioctl(terminal_of(fd), TIOCGWINSZ, &size) >= 0)
                n = size.ws_col;
        if (n == 0 && columns && parse_u64(columns, &n) < 0)
                n = 0;
        return n > 0 ? (size_t) n : WIDTH_DEFAULT;
}

bool terminal_has_colors(int fd) {
        return terminal_is_capable(fd) && isempty(getenv("NO_COLOR"));
}

/* --- the pager --- */

/* Whether the pager has to be secure: not chosen by the environment, and without access to a shell. So if
 * $SYSTEMD_PAGERSECURE says so, or if selvolctl has rights that the person at the terminal may lack. */
static bool pager_is_secure(void) {
        int wanted = parse_boolean(strempty(getenv("SYSTEMD_PAGERSECURE")));
        uid_t owner;

        if (wanted >= 0)
                return wanted;
        if (geteuid() == 0 || geteuid() != getuid() || getenv("SUDO_UID") || getenv("PKEXEC_UID"))
                return true;
        return sd_pid_get_owner_uid(0, &owner) >= 0 && owner != geteuid();
}

/* Runs in the child. The command is split at spaces, and runs without a shell. */
_Noreturn static void pager_exec(const char *command) {
        const char *options = getenv("SYSTEMD_LESS"), *charset = getenv("SYSTEMD_LESSCHARSET");
        const bool utf8 = streq(nl_langinfo(CODESET), "UTF-8"), secure = pager_is_secure();
        _cleanup_strv_ char **words = NULL;

        (void) setenv("LESS", isempty(options) ? LESS_OPTIONS : options, 1);
        (void) setenv("LESSCHARSET", !isempty(charset) ? charset : utf8 ? "utf-8" : "ascii", 1);
        if (secure)
                (void) setenv("LESSSECURE", "1", 1);
        else {
                if (command && strv_split(command, " ", &words) >= 0 && words)
                        execvp(words[0], words);
                execlp("pager", "pager", NULL);
        }
        execlp("less", "less", NULL);
        if (!secure)
                execlp("more", "more", NULL);
        execl("/bin/cat", "cat", NULL);
        _exit(EXIT_FAILURE);
}

void pager_open(void) {
        const char *command = getenv("SYSTEMD_PAGER") ? getenv("SYSTEMD_PAGER") : getenv("PAGER");
        _cleanup_close_ int reading = -EBADF, writing = -EBADF;
        int fds[2];

        if (pager > 0 || !terminal_is_capable(STDOUT_FILENO) ||
            (command && (isempty(command) || streq(command, "cat"))) || pipe2(fds, O_CLOEXEC) < 0)
                return;
        reading = fds[0];
        writing = fds[1];
        (void) fflush(stdout);
        pager = fork();
        if (pager == 0) {
                (void) prctl(PR_SET_PDEATHSIG, SIGTERM);
                (void) dup2(reading, STDIN_FILENO);
                pager_exec(command);
        }
        if (pager < 0) {
                pager = 0;
                return;
        }
        before = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        (void) dup2(writing, STDOUT_FILENO);
        if (isatty(STDERR_FILENO))
                (void) dup2(writing, STDERR_FILENO);
        /* The pager handles Control-C, and may exit before it has read everything. */
        (void) signal(SIGINT, SIG_IGN);
        (void) signal(SIGPIPE, SIG_IGN);
}

bool pager_is_open(void) {
        return pager > 0;
}

void pager_close(void) {
        if (pager == 0)
                return;
        (void) close(STDOUT_FILENO);
        (void) close(STDERR_FILENO);
        (void) waitpid(pager, NULL, 0);
        pager = 0;
}

/* --- messages --- */

/* Whether the message names the subject already, as most messages do. */
static bool message_names(const char *message, const char *subject) {
        size_t n = strlen(subject);

        for (const char *p = message; n > 0 && (p = strcasestr(p, subject)); p++)
                if ((p == message || strchr(" '(", p[-1])) && (p[n] == '\0' || strchr(" '.,:;)\n", p[n])))
                        return true;
        return false;
}

/* A message of selvold may have a second line, which says what to do. */
static void print_report(const char *subject, const char *message, const char *color) {
        const char *second = strchr(message, '\n');
        _cleanup_free_ char *what = format_string(subject && !message_names(message, subject) ? subject : ""),
                            *first = second ? strndup(message, (size_t) (second - message)) : strdup(message),
                            *why = format_escaped(strempty(first)),
                            *remedy = second ? format_escaped(second + 1) : NULL;

        fprintf(stderr, "selvolctl: %s%s%s%s%s%s%s\n", strempty(what), isempty(what) ? "" : ": ", strempty(color),
                strempty(why), remedy ? "\n" : "", strempty(remedy), color ? COLOR_OFF : "");
}

void report_error(const char *subject, const char *message) {
        print_report(subject, message, terminal_has_colors(STDERR_FILENO) ? COLOR_RED : NULL);
}

void report_note(const char *subject, const char *message) {
        print_report(subject, message, NULL);
}

/* --- values --- */

char *format_string(const char *s) {
        return string_escape(s, TEXT_MAX);
}

char *format_escaped(const char *s) {
        return strlen(s) < TEXT_MAX && text_is_clean(s) ? strdup(s) : string_escape(s, TEXT_MAX);
}

char *format_ascii(const char *s) {
        char *text = malloc(strlen(s) * strlen("\\xff") + 1), *end = text;

        for (; text && *s; s++)
                if ((unsigned char) *s < 0x80)
                        *end++ = *s;
                else
                        end += sprintf(end, "\\x%02x", (unsigned int) (unsigned char) *s);
        if (text)
                *end = '\0';
        return text;
}

char *format_time(uint64_t usec) {
        time_t seconds = (time_t) (usec / USEC_PER_SEC);
        char buffer[64];
        struct tm tm;

        if (!localtime_r(&seconds, &tm) || strftime(buffer, sizeof(buffer), "%F %T %Z", &tm) == 0)
                return strdup("");
        return strdup(buffer);
}

char *format_duration(uint64_t usec) {
        if (usec < USEC_PER_MSEC)
                return strdup_printf("%" PRIu64 "us", usec);
        if (usec < USEC_PER_SEC)
                return strdup_printf("%" PRIu64 "ms", usec / USEC_PER_MSEC);
        if (usec < MINUTE * USEC_PER_SEC)
                return strdup_printf("%" PRIu64 ".%" PRIu64 "s", usec / USEC_PER_SEC, usec % USEC_PER_SEC / 100000);
        return format_seconds(usec / USEC_PER_SEC);
}

char *format_seconds(uint64_t seconds) {
        static const struct {
                uint64_t size;
                const char *name;
        } units[] = { { DAY, "d" }, { HOUR, "h" }, { MINUTE, "min" }, { 1, "s" } };
        uint64_t rest;
        size_t i = 0;

        while (seconds < units[i].size && i < ELEMENTSOF(units) - 1)
                i++;
        rest = i < ELEMENTSOF(units) - 1 ? seconds % units[i].size / units[i + 1].size : 0;
        if (rest == 0)
                return strdup_printf("%" PRIu64 "%s", seconds / units[i].size, units[i].name);
        return strdup_printf("%" PRIu64 "%s %" PRIu64 "%s", seconds / units[i].size, units[i].name, rest,
                             units[i + 1].name);
}

char *format_age(uint64_t since_usec) {
        uint64_t now = now_realtime_usec();
        char *text = format_seconds(now > since_usec ? (now - since_usec) / USEC_PER_SEC : 0), *second;

        second = text ? strchr(text, ' ') : NULL;
        if (second)
                *second = '\0';
        return text;
}
