/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#include <systemd/sd-daemon.h>

#include "basic/log.h"
#include "basic/string-util.h"
#include "metrics/metrics-server.h"

#include "selvol-config.h"

/* Returns the listening socket that systemd has passed, or a negative errno. */
static int take_listening_socket(void) {
        int n = sd_listen_fds(1);

        if (n != 1 || sd_is_socket(SD_LISTEN_FDS_START, AF_UNSPEC, SOCK_STREAM, 1) <= 0)
                return log_error_errno(
                        -EINVAL,
                        "There is not exactly one listening socket: start selvol-metrics.socket, which has one ListenStream=.");
        /* A client may be gone before accept(2). */
        if (fcntl(SD_LISTEN_FDS_START, F_SETFL, O_NONBLOCK) < 0)
                return log_error_errno(-errno, "Failed to set up the socket: %m");
        return SD_LISTEN_FDS_START;
}

int main(int argc, char *argv[]) {
        int fd, r;

        if (argc == 2 && streq(argv[1], "--version")) {
                printf("selvol-metrics %s\n", SELVOL_VERSION);
                return EXIT_SUCCESS;
        }
        if (argc == 2 && streq(argv[1], "--help")) {
                printf("selvol-metrics FILE\n\n"
                       "Serves the metrics in FILE, which selvold writes, at /metrics. It is started by\n"
                       "selvol-metrics.socket, see selvol-metrics(7).\n\n"
                       "  --version, --help\n");
                return EXIT_SUCCESS;
        }
        if (argc != 2 || argv[1][0] != '/') {
                log_error("selvol-metrics takes the absolute path of a file.");
                return EXIT_FAILURE;
        }

        (void) signal(SIGPIPE, SIG_IGN);
        fd = take_listening_socket();
        if (fd < 0)
                return EXIT_FAILURE;
        r = serve_metrics(fd, argv[1]);
        log_error_errno(r, "The HTTP server failed: %m");
        return EXIT_FAILURE;
}
