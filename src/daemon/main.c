/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <getopt.h>
#include <malloc.h>

#include <systemd/sd-daemon.h>

#include "api/connect.h"
#include "api/signals.h"
#include "basic/log.h"
#include "basic/time-util.h"
#include "daemon/metrics-export.h"
#include "model/settings.h"
#include "state/commit.h"
#include "state/load.h"
#include "state/watch.h"
#include "wire/protocol.h"

#include "selvol-config.h"

/* The command line sets these; the rest comes from the configuration. */
typedef struct Options {
        const char *state_directory;
        const char *worker_socket;
        const char *usr_config, *etc_config; /* NULL: the installed paths */
        uid_t trusted_uid;                   /* the uid that passes without polkit: root, but for tests */
        unsigned polkit_timeout;             /* seconds, for tests; 0: the usual time */
        bool check_config;                   /* only check the configuration */
} Options;

/* The parts of selvold. */
typedef struct Manager {
        const Options *options;
        sd_event *event;
        State *state;
        Api *api;
        MetricsExport metrics_export;
} Manager;

static void options_print_help(void) {
        printf("selvold [OPTION...]\n\n"
               "The SELinux volume service. It is started by systemd, see selvold(8).\n\n"
               "  --state-directory=DIR  Keep the state there ($STATE_DIRECTORY)\n"
               "  --worker=PATH          Socket of the worker (" WORKER_SOCKET ")\n"
               "  --config-usr=DIR       Instead of /usr/lib/selvol\n"
               "  --config-etc=DIR       Instead of /etc/selvol\n"
               "  --trusted-uid=UID      Who passes without polkit, instead of root (tests)\n"
               "  --polkit-timeout=SEC   Wait that long for polkit (tests)\n"
               "  --check-config         Only say whether the configuration has an error\n"
               "  --version, --help\n");
}

/* Returns 0 to go on, 1 to end with success, or a negative errno. */
static int options_parse(int argc, char *argv[], Options *o) {
        static const struct option options[] = {
                { "state-directory", required_argument, NULL, 's' },
                { "worker", required_argument, NULL, 'w' },
                { "config-usr", required_argument, NULL, 'u' },
                { "config-etc", required_argument, NULL, 'e' },
                { "trusted-uid", required_argument, NULL, 't' },
                { "polkit-timeout", required_argument, NULL, 'p' },
                { "check-config", no_argument, NULL, 'c' },
                { "version", no_argument, NULL, 'v' },
                { "help", no_argument, NULL, 'h' },
                { 0 },
        };
        unsigned long long n;
        int c;

        while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0)
                switch (c) {
                case 's':
                        o->state_directory = optarg;
                        break;
                case 'w':
                        o->worker_socket = optarg;
                        break;
                case 'u':
                        o->usr_config = optarg;
                        break;
                case 'e':
                        o->etc_config = optarg;
                        break;
                case 't':
                        if (parse_u64(optarg, &n) < 0 || n > UINT32_MAX)
                                return log_error_errno(-EINVAL, "'%s' is not a uid.", optarg);
                        o->trusted_uid = (uid_t) n;
                        break;
                case 'p':
                        if (parse_u64(optarg, &n) < 0 || n == 0 || n > UINT32_MAX)
                                return log_error_errno(-EINVAL, "'%s' is not a number of seconds.", optarg);
                        o->polkit_timeout = (unsigned) n;
                        break;
                case 'c':
                        o->check_config = true;
                        break;
                case 'v':
                        printf("selvold %s\n", SELVOL_VERSION);
                        return 1;
                case 'h':
                        options_print_help();
                        return 1;
                default:
                        return -EINVAL;
                }
        if (optind < argc)
                return log_error_errno(-EINVAL, "selvold takes no arguments.");
        if (isempty(o->state_directory) && !o->check_config)
                return log_error_errno(-EINVAL,
                                       "No state directory: set $STATE_DIRECTORY or pass --state-directory=.");
        return 0;
}

static int check_config(const Options *o) {
        _cleanup_(settings_done) Settings settings = { 0 };
        _cleanup_failure_ Failure f = { 0 };
        int r;

        r = settings_load(o->usr_config, o->etc_config, &settings, &f);
        if (r > 0)
                log_error("%s", f.message);
        return r < 0 ? log_error_errno(r, "Failed to read the configuration: %m") : r;
}

static int on_sighup(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata) {
        Manager *m = userdata;

        (void) sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long) now_monotonic_usec());
        if (state_reload_settings(m->state, m->options->usr_config, m->options->etc_config) == 0 &&
            metrics_export_start(&m->metrics_export, m->api) >= 0)
                log_info("The configuration has been read again.");
        signals_notify_status(m->api);
        (void) sd_notify(0, "READY=1");
        return 0;
}

/* Loads the configuration and the state, and connects to the bus and the worker. Returns 0, a negative errno,
 * or INVALID_OPTION for an error in the configuration; all errors have been logged. */
static int manager_setup(Manager *m) {
        int r;

        r = sd_event_default(&m->event);
        if (r >= 0)
                r = sd_event_set_signal_exit(m->event, true);
        if (r >= 0)
                r = sd_event_add_signal(m->event, NULL, SIGHUP | SD_EVENT_SIGNAL_PROCMASK, on_sighup, m);
        if (r >= 0)
                r = sd_event_set_watchdog(m->event, true);
        if (r < 0)
                return log_error_errno(r, "Failed to set up the event loop: %m");

        const StateOptions options = {
                .directory = m->options->state_directory,
                .worker_socket = m->options->worker_socket,
                .usr_config = m->options->usr_config,
                .etc_config = m->options->etc_config,
                .event = m->event,
        };
        r = state_load(&options, &m->state);
        if (r != 0)
                return r;
        metrics_set(m->state->metrics, METRIC_BUILD_INFO, 1, SELVOL_VERSION);
        metrics_set(m->state->metrics, METRIC_START_TIME, (double) now_realtime_usec() / (double) USEC_PER_SEC);
        r = api_new(m->state, m->options->trusted_uid, m->options->polkit_timeout, &m->api);
        if (r < 0)
                return r;
        r = watch_start(m->state);
        if (r < 0)
                return r;
        /* If the state can't be written, callers can still look and verify. The error has been logged, and
         * calls that change something are refused until the state can be written again. */
        (void) commit_now(m->state);
        r = metrics_export_start(&m->metrics_export, m->api);
        if (r < 0)
                return r;
        /* The name comes last: callers that find selvold find the state loaded. */
        return api_own_name(m->api);
}

static void manager_done(Manager *m) {
        metrics_export_stop(&m->metrics_export);
        api_free(m->api);
        state_free(m->state);
        sd_event_unref(m->event);
}

/* Returns 0 after a signal to end, the result of a failed manager_setup(), or a negative errno if selvold
 * can't go on without the bus. */
static int manager_run(const Options *o) {
        _cleanup_(manager_done) Manager m = { .options = o };
        int r;

        r = manager_setup(&m);
        if (r != 0)
                return r;
        signals_notify_status(m.api);
        (void) sd_notify(0, "READY=1");
        r = sd_event_loop(m.event);
        (void) sd_notify(0, "STOPPING=1");
        if (r < 0)
                return log_error_errno(r, "The event loop failed: %m");
        return r > 0 ? -ECONNRESET : 0;
}

int main(int argc, char *argv[]) {
        Options options = { .state_directory = getenv("STATE_DIRECTORY"), .worker_socket = WORKER_SOCKET };
        int r;

        /* One arena: glibc would read /proc/sys/vm to give back the memory of a thread's arena, and selvold
         * has no other need of /proc/sys. */
        (void) mallopt(M_ARENA_MAX, 1);
        log_set_level_from_environment();
        r = options_parse(argc, argv, &options);
        if (r != 0)
                return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        r = options.check_config ? check_config(&options) : manager_run(&options);
        return r < 0 ? EXIT_FAILURE : r > 0 ? EXIT_CONFIG : EXIT_SUCCESS;
}
