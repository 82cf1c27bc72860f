/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <getopt.h>
#include <malloc.h>

#include "basic/log.h"
#include "wire/protocol.h"
#include "daemon/manager.h"
#include "model/settings.h"

#include "selvol-config.h"

static void print_help(void) {
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

/* Returns 0 to go on, 1 to end with success. */
static int parse_arguments(int argc, char *argv[], Options *o) {
        enum {
                ARG_STATE = 256,
                ARG_WORKER,
                ARG_USR,
                ARG_ETC,
                ARG_TRUSTED,
                ARG_POLKIT,
                ARG_CHECK,
                ARG_VERSION,
                ARG_HELP
        };
        static const struct option options[] = {
                { "state-directory", required_argument, NULL, ARG_STATE },
                { "worker", required_argument, NULL, ARG_WORKER },
                { "config-usr", required_argument, NULL, ARG_USR },
                { "config-etc", required_argument, NULL, ARG_ETC },
                { "trusted-uid", required_argument, NULL, ARG_TRUSTED },
                { "polkit-timeout", required_argument, NULL, ARG_POLKIT },
                { "check-config", no_argument, NULL, ARG_CHECK },
                { "version", no_argument, NULL, ARG_VERSION },
                { "help", no_argument, NULL, ARG_HELP },
                { 0 },
        };
        unsigned long long n;
        int c;

        while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0)
                switch (c) {
                case ARG_STATE:
                        o->state_directory = optarg;
                        break;
                case ARG_WORKER:
                        o->worker_socket = optarg;
                        break;
                case ARG_USR:
                        o->usr_config = optarg;
                        break;
                case ARG_ETC:
                        o->etc_config = optarg;
                        break;
                case ARG_TRUSTED:
                        if (parse_u64(optarg, &n) < 0 || n > UINT32_MAX)
                                return log_error_errno(-EINVAL, "'%s' is not a uid.", optarg);
                        o->trusted_uid = (uid_t) n;
                        break;
                case ARG_POLKIT:
                        if (parse_u64(optarg, &n) < 0 || n == 0 || n > UINT32_MAX)
                                return log_error_errno(-EINVAL, "'%s' is not a number of seconds.", optarg);
                        o->polkit_timeout = (unsigned) n;
                        break;
                case ARG_CHECK:
                        o->check_config = true;
                        break;
                case ARG_VERSION:
                        printf("selvold %s\n", SELVOL_VERSION);
                        return 1;
                case ARG_HELP:
                        print_help();
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

static int run(const Options *o) {
        _cleanup_(manager_freep) Manager *m = NULL;
        int r;

        r = manager_new(o, &m);
        return r != 0 ? r : manager_run(m);
}

int main(int argc, char *argv[]) {
        Options options = { .state_directory = getenv("STATE_DIRECTORY"), .worker_socket = WORKER_SOCKET };
        int r;

        /* To give memory of a thread's own arena back glibc reads /proc/sys/vm, which is none of selvold's business. */
        (void) mallopt(M_ARENA_MAX, 1);
        log_set_level_from_environment();
        r = parse_arguments(argc, argv, &options);
        if (r != 0)
                return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        r = options.check_config ? check_config(&options) : run(&options);
        return r < 0 ? EXIT_FAILURE : r > 0 ? EXIT_CONFIG : EXIT_SUCCESS;
}
