/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <systemd/sd-daemon.h>

#include "basic/log.h"
#include "basic/path-util.h"
#include "csi/csi-check.h"
#include "csi/csi-driver.h"
#include "csi/csi-listener.h"
#include "csi/csi-proxy.h"

#include "selvol-config.h"

typedef struct CsiArguments {
        const char *listen; /* NULL: systemd passes a socket */
        const char *sockets, *registry;
        const char *bus; /* NULL: the system bus */
        bool check;      /* look at the drivers, and end */
        Proxy proxy;
} CsiArguments;

static void print_csi_help(void) {
        printf("selvol-csi [OPTION...]\n\n"
               "Is called by kubelet in place of a CSI driver, passes the calls on, and sees to contexts and groups. Without\n"
               "the name and the socket of one it is the driver org.selvol.csi itself.\n\n"
               "  --driver=NAME         The driver, for its section in selvol.conf(5)\n"
               "  --driver-socket=PATH  The socket of the driver, in place of Socket=\n"
               "  --listen=PATH         The socket that kubelet calls, if systemd passes none\n"
               "  --check               Say whether drivers answer, and which socket kubelet was told of each\n"
               "  --version, --help\n");
}

static int check_csi_arguments(const CsiArguments *a) {
        const Proxy *p = &a->proxy;

        if (p->driver_socket && !path_is_normalized(p->driver_socket))
                return log_error_errno(-EINVAL, "--driver-socket= takes the absolute path of the driver's socket.");
        if (p->driver && (isempty(p->driver) || strchr(p->driver, '/')))
                return log_error_errno(-EINVAL, "--driver= takes the name of a driver, such as disk.example.org.");
        return 0;
}

/* Returns 0 to go on, 1 to end with success. */
static int parse_csi_arguments(int argc, char *argv[], CsiArguments *a) {
        enum { ARG_CHECK = 256, ARG_VERSION, ARG_HELP, ARG_STRINGS };
        static const struct option options[] = {
                { "check", no_argument, NULL, ARG_CHECK },
                { "version", no_argument, NULL, ARG_VERSION },
                { "help", no_argument, NULL, ARG_HELP },
                { "driver", required_argument, NULL, ARG_STRINGS },
                { "driver-socket", required_argument, NULL, ARG_STRINGS + 1 },
                { "listen", required_argument, NULL, ARG_STRINGS + 2 },
                /* These are for the tests. */
                { "config-usr", required_argument, NULL, ARG_STRINGS + 3 },
                { "config-etc", required_argument, NULL, ARG_STRINGS + 4 },
                { "mountinfo", required_argument, NULL, ARG_STRINGS + 5 },
                { "sockets", required_argument, NULL, ARG_STRINGS + 6 },
                { "registry", required_argument, NULL, ARG_STRINGS + 7 },
                { "bus", required_argument, NULL, ARG_STRINGS + 8 },
                { 0 },
        };
        const char **const strings[] = {
                &a->proxy.driver,
                &a->proxy.driver_socket,
                &a->listen,
                &a->proxy.usr_config,
                &a->proxy.etc_config,
                &a->proxy.mountinfo,
                &a->sockets,
                &a->registry,
                &a->bus,
        };
        int c;

        while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0)
                switch (c) {
                case ARG_CHECK:
                        a->check = true;
                        break;
                case ARG_VERSION:
                        printf("selvol-csi %s\n", SELVOL_VERSION);
                        return 1;
                case ARG_HELP:
                        print_csi_help();
                        return 1;
                default:
                        if (c < ARG_STRINGS)
                                return -EINVAL;
                        *strings[c - ARG_STRINGS] = optarg;
                }
        if (optind != argc)
                return log_error_errno(-EINVAL, "selvol-csi takes options only.");
        return check_csi_arguments(a);
}

/* Returns a listening socket, or a negative errno. */
static int make_csi_socket(const char *path) {
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        mode_t mask;

        if (strlen(path) >= sizeof(address.sun_path))
                return log_error_errno(-ENAMETOOLONG, "%s can't be the path of a socket: it is too long.", path);
        memcpy(address.sun_path, path, strlen(path));
        mask = umask(0177);
        if (fd < 0 || bind(fd, (struct sockaddr *) &address, sizeof(address)) < 0 || listen(fd, SOMAXCONN) < 0)
                return log_error_errno(-errno, "Failed to listen at %s: %m", path);
        (void) umask(mask);
        return TAKE_FD(fd);
}

/* Returns the listening socket that systemd has passed, or a negative errno. */
static int take_csi_socket(void) {
        int n = sd_listen_fds(1);

        if (n != 1 || sd_is_socket(SD_LISTEN_FDS_START, AF_UNIX, SOCK_STREAM, 1) <= 0)
                return log_error_errno(-EINVAL,
                                       "There is not exactly one listening Unix socket: name one with --listen=.");
        /* accept(2) must not wait: a client may have gone already. */
        if (fcntl(SD_LISTEN_FDS_START, F_SETFL, O_NONBLOCK) < 0)
                return log_error_errno(-errno, "Failed to set up the socket: %m");
        return SD_LISTEN_FDS_START;
}

/* Returns a descriptor that can be read when one of the two signals has come, or a negative errno. */
static int open_signals(int one, int other) {
        sigset_t signals;
        int fd;

        if (sigemptyset(&signals) < 0 || sigaddset(&signals, one) < 0 || sigaddset(&signals, other) < 0 ||
            sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
                return log_error_errno(-errno, "Failed to block signals: %m");
        fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
        return fd < 0 ? log_error_errno(-errno, "Failed to wait for signals: %m") : fd;
}

static int serve_calls(const CsiArguments *a, GrpcHandler handler, void *userdata) {
        _cleanup_close_ int stop = open_signals(SIGTERM, SIGINT), fd = -EBADF;
        int r;

        if (stop < 0)
                return stop;
        fd = a->listen ? make_csi_socket(a->listen) : take_csi_socket();
        if (fd < 0)
                return fd;
        r = csi_listen(fd, stop, handler, userdata);
        return r < 0 ? log_error_errno(r, "The server of gRPC failed: %m") : 0;
}

static int serve_proxy(CsiArguments *a) {
        _cleanup_close_ int reload = open_signals(SIGHUP, SIGHUP);

        if (reload < 0)
                return reload;
        a->proxy.reload = reload;
        return serve_calls(a, proxy_answer, &a->proxy);
}

static int run_csi(CsiArguments *a) {
        int r;

        if (!a->check && !a->proxy.driver && !a->proxy.driver_socket)
                return serve_calls(a, driver_answer, NULL);
        if (!a->proxy.driver)
                a->proxy.driver = PROXY_DRIVER_DEFAULT;
        r = proxy_start(&a->proxy);
        if (r != 0)
                return r;
        r = a->check ? csi_check(&a->proxy.settings, a->sockets, a->registry) : serve_proxy(a);
        proxy_done(&a->proxy);
        return r;
}

int main(int argc, char *argv[]) {
        CsiArguments a = { .sockets = CSI_SOCKETS, .registry = CSI_REGISTRY };
        int r;

        /* The memory of large messages goes back to the kernel at once, and threads share the rest. */
        (void) mallopt(M_MMAP_THRESHOLD, 64 * 1024);
        (void) mallopt(M_ARENA_MAX, 1);
        log_set_level_from_environment();
        r = parse_csi_arguments(argc, argv, &a);
        if (r != 0)
                return r > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
        if (a.bus && setenv("DBUS_SYSTEM_BUS_ADDRESS", a.bus, true) < 0)
                return EXIT_FAILURE;
        r = run_csi(&a);
        return r == 0 ? EXIT_SUCCESS : r > 0 ? EXIT_CONFIG : EXIT_FAILURE;
}
