/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <getopt.h>
#include <pwd.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <systemd/sd-daemon.h>

#include "basic/log.h"
#include "basic/string-util.h"
#include "model/settings.h"
#include "mount/image.h"
#include "mount/mount-note.h"
#include "selvol-config.h"
#include "worker/server.h"

#define RUNTIME_DIRECTORY "/run/selvol"
#define STAGE_DIRECTORY   "/run/selvol/stage"
#define LOCKS             "/run/selvol/images.lock"
#define PEER_USER         "selvol"

typedef struct WorkerArguments {
        const char *socket;
        const char *config_usr;
        const char *config_etc;
        const char *peer_uid;
} WorkerArguments;

static void print_worker_help(void) {
        puts("selvol-worker [OPTIONS]\n\n"
             "Mounts volumes for selvold, which asks over a socket that systemd passes.\n\n"
             "  -h --help               Show this help\n"
             "     --version            Show the version\n\n"
             "For tests, without systemd:\n"
             "     --socket PATH        Listen there\n"
             "     --config-usr DIR     Instead of /usr/lib/selvol\n"
             "     --config-etc DIR     Instead of /etc/selvol\n"
             "     --peer-uid UID       Instead of that of user " PEER_USER);
}

/* Returns 1 to go on, 0 to exit with success, or a negative errno. */
static int parse_worker_arguments(int argc, char **argv, WorkerArguments *ret) {
        enum { ARG_VERSION = 0x100, ARG_SOCKET, ARG_CONFIG_USR, ARG_CONFIG_ETC, ARG_PEER_UID };
        static const struct option options[] = {
                { "help", no_argument, NULL, 'h' },
                { "version", no_argument, NULL, ARG_VERSION },
                { "socket", required_argument, NULL, ARG_SOCKET },
                { "config-usr", required_argument, NULL, ARG_CONFIG_USR },
                { "config-etc", required_argument, NULL, ARG_CONFIG_ETC },
                { "peer-uid", required_argument, NULL, ARG_PEER_UID },
                {},
        };
        int c;

        while ((c = getopt_long(argc, argv, "h", options, NULL)) >= 0)
                switch (c) {
                case 'h':
                        print_worker_help();
                        return 0;
                case ARG_VERSION:
                        puts("selvol-worker " SELVOL_VERSION);
                        return 0;
                case ARG_SOCKET:
                        ret->socket = optarg;
                        break;
                case ARG_CONFIG_USR:
                        ret->config_usr = optarg;
                        break;
                case ARG_CONFIG_ETC:
                        ret->config_etc = optarg;
                        break;
                case ARG_PEER_UID:
                        ret->peer_uid = optarg;
                        break;
                default:
                        return -EINVAL;
                }
        if (optind < argc) {
                log_error("selvol-worker takes no arguments.");
                return -EINVAL;
        }
        return 1;
}

static int listen_at(const char *path) {
        _cleanup_close_ int fd = -EBADF;
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        if (strlen(path) >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        strcpy(address.sun_path, path);

        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        if (unlink(path) < 0 && errno != ENOENT)
                return -errno;
        if (bind(fd, (struct sockaddr *) &address, sizeof(address)) < 0 || listen(fd, SOMAXCONN) < 0)
                return -errno;
        return TAKE_FD(fd);
}

/* With the options for tests, the user who starts the worker would choose what is allowed. So a socket of
 * systemd excludes these options. */
static int get_socket(const WorkerArguments *args) {
        int n, fd, r;

        n = sd_listen_fds(1);
        if (n < 0)
                return log_error_errno(n, "Failed to take the socket from systemd: %m");
        if (n == 0 && args->socket) {
                fd = listen_at(args->socket);
                return fd < 0 ? log_error_errno(fd, "Failed to listen at %s: %m", args->socket) : fd;
        }
        if (n != 1 || args->socket || args->config_usr || args->config_etc || args->peer_uid) {
                log_error(n == 0 ? "There is no socket: selvol-worker is started by systemd (selvol-worker.socket)."
                                 : "systemd has to pass exactly one socket, without the options for tests.");
                return -EINVAL;
        }

        fd = SD_LISTEN_FDS_START;
        r = sd_is_socket_unix(fd, SOCK_STREAM, 1, NULL, 0);
        if (r <= 0) {
                log_error("What systemd passes is not a listening unix stream socket.");
                return -EINVAL;
        }
        r = fcntl(fd, F_GETFL);
        if (r < 0 || fcntl(fd, F_SETFL, r | O_NONBLOCK) < 0)
                return log_error_errno(errno, "Failed to make the socket non-blocking: %m");
        return fd;
}

static int find_peer_uid(const char *argument, uid_t *ret) {
        unsigned long long uid;
        const struct passwd *user;

        if (argument) {
                if (parse_u64(argument, &uid) < 0 || uid >= UINT32_MAX) {
                        log_error("--peer-uid takes a number.");
                        return -EINVAL;
                }
                *ret = (uid_t) uid;
                return 0;
        }

        user = getpwnam(PEER_USER);
        if (!user)
                log_warning("There is no user %s: only root may connect.", PEER_USER);
        *ret = user ? user->pw_uid : 0;
        return 0;
}

static int prepare_directory(const char *path) {
        struct stat st;

        if ((mkdir(path, 0700) < 0 && errno != EEXIST) || lstat(path, &st) < 0)
                return log_error_errno(errno, "Failed to make %s: %m", path);
        if (!S_ISDIR(st.st_mode) || st.st_uid != 0 || (st.st_mode & 07777) != 0700) {
                log_error("%s is not a directory that belongs to root and has mode 0700.", path);
                return -EPERM;
        }
        return 0;
}

/* Nobody else may reach a staged mount before it is verified, or write the worker's notes. */
static int prepare_directories(void) {
        int r;

        if (mkdir(RUNTIME_DIRECTORY, 0755) < 0 && errno != EEXIST)
                return log_error_errno(errno, "Failed to make %s: %m", RUNTIME_DIRECTORY);
        r = prepare_directory(STAGE_DIRECTORY);
        if (r >= 0)
                r = prepare_directory(LOOP_LINKS);
        return r < 0 ? r : prepare_directory(MOUNT_NOTES);
}

static int run_worker(const WorkerArguments *args) {
        _cleanup_(server_done) Server server = SERVER_INIT;
        ServerConfig config = {
                .usr_dir = args->config_usr,
                .etc_dir = args->config_etc,
                .stage_directory = STAGE_DIRECTORY,
                .locks = LOCKS,
        };
        sigset_t set;
        int fd, r;

        /* sd_listen_fds(3) comes before anything else opens descriptors. */
        fd = get_socket(args);
        if (fd < 0)
                return fd;
        server.fd = fd;
        r = find_peer_uid(args->peer_uid, &config.peer_uid);
        if (r < 0)
                return r;
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGHUP);
        sigaddset(&set, SIGCHLD);
        if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
                return -errno;
        r = prepare_directories();
        if (r < 0)
                return r;
        r = server_start(&server, fd, &config);
        return r != 0 ? r : server_run(&server);
}

int main(int argc, char **argv) {
        WorkerArguments args = { 0 };
        int r;

        log_set_level_from_environment();
        r = parse_worker_arguments(argc, argv, &args);
        if (r > 0)
                r = run_worker(&args);
        return r < 0 ? EXIT_FAILURE : r > 0 ? EXIT_CONFIG : EXIT_SUCCESS;
}
