/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <systemd/sd-daemon.h>

#include "basic/log.h"
#include "basic/time-util.h"
#include "model/settings.h"
#include "mount/host-names.h"
#include "mount/mountinfo.h"
#include "mount/stage-namespace.h"
#include "mount/stage-source.h"
#include "wire/message-ids.h"
#include "worker/child.h"
#include "worker/server.h"

/* The deadline ends only children that nobody waits for. selvold hangs up to end its own children, also when
 * a walk makes no progress. A slow walk may take days: ten million entries at a hundred a second (a caller
 * may ask for that) take more than a day. A walk that is ended too early would end at the same entry each
 * time, because a walk also reads right entries at this rate. */
enum { KILL_AFTER_SEC = 2, DEADLINE_SEC = 7 * 24 * 3600 };

/* When places have been free for so long, the journal says so; each one may be taken at once. */
enum { CALM_SEC = 3 };

/* A connection and the child that serves it. The parent closes its copy of the connection last, so the peer
 * reads the end of file only when the child is gone. */
typedef struct Connection {
        Server *server;
        pid_t pid; /* also its process group, with helpers such as mount.nfs */
        int fd;
        int child_fd; /* the server's end of the socket to the child; -EBADF: the child serves nothing else */
        bool ending;  /* the child has ended, or was told to end */
        bool gone;    /* the child has ended; helpers may be left */
        sd_event_source *hangup_source, *timer_source, *offer_source;
} Connection;

static Connection *connection_free(Connection *c) {
        if (c) {
                sd_event_source_disable_unref(c->hangup_source);
                sd_event_source_disable_unref(c->timer_source);
                sd_event_source_disable_unref(c->offer_source);
                fd_close(c->child_fd);
                fd_close(c->fd);
                free(c);
        }
        return NULL;
}
DEFINE_CLEANUP_FUNC(Connection *, connection_free);

static int on_kill(sd_event_source *source, uint64_t usec, void *userdata) {
        Connection *c = userdata;

        (void) kill(-c->pid, SIGKILL);
        return 0;
}

/* The child ends after its operation. */
static void connection_make_last(Connection *c) {
        c->offer_source = sd_event_source_disable_unref(c->offer_source);
        c->child_fd = fd_close(c->child_fd);
}

static void connection_end(Connection *c) {
        int r;

        if (c->ending)
                return;
        c->ending = true;
        connection_make_last(c);
        (void) sd_event_source_set_enabled(c->hangup_source, SD_EVENT_OFF);
        (void) kill(-c->pid, SIGTERM);

        c->timer_source = sd_event_source_disable_unref(c->timer_source);
        r = sd_event_add_time_relative(c->server->event, &c->timer_source, CLOCK_MONOTONIC,
                                       KILL_AFTER_SEC * USEC_PER_SEC, 0, on_kill, c);
        if (r < 0)
                (void) kill(-c->pid, SIGKILL);
}

static int on_hangup(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        connection_end(userdata);
        return 0;
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *userdata) {
        Connection *c = userdata;

        log_warning("Child %i has run for %i seconds: ending it.", (int) c->pid, DEADLINE_SEC);
        connection_end(c);
        return 0;
}

/* Serves one connection after the other, as long as the child stays clean (worker/spare.h). */
static int serve_connections(Server *s, int socket, pid_t parent) {
        Belongings before;

        /* If they can't be read, the child serves one connection: it will never have the same ones. */
        if (belongings_read(&before) < 0)
                before = (Belongings){ 0 };
        for (unsigned calls = 1;; calls++) {
                Child c = {
                        .parent = parent,
                        .configuration = &s->configuration,
                        .settings = &s->configuration.settings,
                        .staging = &s->staging,
                        .children = s->children,
                };
                int fd, r;

                r = serve_prepare(&c);
                if (r < 0)
                        return r;
                (void) prctl(PR_SET_NAME, "selvol-spare");
                fd = spare_receive(socket);
                (void) prctl(PR_SET_NAME, "selvol-worker");
                if (fd < 0)
                        return fd == -ENOTCONN ? 0 : fd;
                r = serve_connection(&c, fd);
                if (r < 0 || !c.succeeded || calls == CALLS_OF_CHILD || !belongings_are_same(&before) ||
                    spare_offer(socket) < 0)
                        return r;
        }
}

static _Noreturn void run_child(Server *s, int socket, pid_t parent) {
        sigset_t none;
        int r;

        (void) setpgid(0, 0);
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
                _exit(EXIT_FAILURE);
        sigemptyset(&none);
        (void) sigprocmask(SIG_SETMASK, &none, NULL);
        /* The parent's descriptors of other connections, if left open, would hide the end of file from their
         * peers, and those of other children's sockets would hide it from these. */
        for (size_t i = 0; i < s->n_connections; i++) {
                s->connections[i]->fd = fd_close(s->connections[i]->fd);
                s->connections[i]->child_fd = fd_close(s->connections[i]->child_fd);
        }
        spares_end(&s->spares, 0);
        s->fd = fd_close(s->fd);

        r = serve_connections(s, socket, parent);
        if (r < 0)
                log_error_errno(r, "Failed to serve a connection: %m");
#ifdef __SANITIZE_ADDRESS__
        exit(r < 0 ? EXIT_FAILURE : EXIT_SUCCESS); /* reports leaks */
#else
        _exit(r < 0 ? EXIT_FAILURE : EXIT_SUCCESS); /* skips the cleanup, which is slow */
#endif
}

/* Forks a child that waits for a connection. connection: one that has no child yet; -EBADF: none. */
static int fork_spare(Server *s, int connection) {
        _cleanup_close_ int ours = -EBADF, childs = -EBADF;
        pid_t parent = getpid(), pid;
        int pair[2], r;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        ours = pair[0];
        childs = pair[1];
        /* The child inherits the names; it fails by itself if they can't be read. */
        r = host_names_refresh();
        if (r < 0)
                log_debug("The devices that the host names can't be read: %s.", strerror(-r));
        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0) {
                ours = fd_close(ours);
                (void) fd_close(connection);
                run_child(s, childs, parent);
        }
        (void) setpgid(pid, pid);
        spares_add(&s->spares, (Spare){ .pid = pid, .fd = TAKE_FD(ours) });
        return 0;
}

/* Forks a child in advance, so the next connection need not wait for a fork. The event loop calls this when
 * it is idle, and a reload does. */
static int start_spare(sd_event_source *source, void *userdata) {
        Server *s = userdata;
        int r;

        if (s->spares.n > 0 || s->stopping)
                return 0;
        r = fork_spare(s, -EBADF);
        if (r < 0)
                log_debug("No child is started in advance: %s.", strerrorname_np(-r));
        return 0;
}

/* Starts a timer that does not run. */
static void start_timer(sd_event_source *timer, uint64_t usec) {
        int enabled = SD_EVENT_OFF;

        (void) sd_event_source_get_enabled(timer, &enabled);
        if (enabled != SD_EVENT_OFF)
                return;
        (void) sd_event_source_set_time_relative(timer, usec);
        (void) sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

static int on_trim(sd_event_source *source, uint64_t usec, void *userdata) {
        Server *s = userdata;

        if (spares_trim(&s->spares))
                start_timer(source, SPARE_SEC * USEC_PER_SEC);
        return 0;
}

/* How many children there are, and what keeps them, for a sentence about them. */
static void log_places(const Server *s, int priority, const char *message, const char *what) {
        size_t lingering = 0;

        for (size_t i = 0; i < s->n_connections; i++)
                lingering += s->connections[i]->ending;
        log_fields(
                priority, (LogField[]){ { "MESSAGE_ID", message } }, 1,
                "The worker %s: it has %zu processes for calls (limit %i), of which %zu were told to end and have not. These end when their devices and servers answer: see journalctl -k.",
                what, s->n_connections, SERVER_CONNECTIONS_MAX, lingering);
}

static int on_calm(sd_event_source *source, uint64_t usec, void *userdata) {
        Server *s = userdata;

        s->told_full = false;
        log_places(s, LOG_NOTICE, MESSAGE_WORKER_FREE, "takes all calls again");
        return 0;
}

/* Tells the journal once that calls find no place, however often one is free for a moment. */
static void check_places(Server *s) {
        const bool full = s->n_connections >= SERVER_CONNECTIONS_MAX, refuses = children_refused(s->children);

        if (full || refuses) {
                (void) sd_event_source_set_enabled(s->calm_source, SD_EVENT_OFF);
                if (!s->told_full)
                        log_places(s, LOG_ERR, MESSAGE_WORKER_FULL,
                                   full ? "takes no more connections"
                                        : "takes no more mounts and changes of volumes");
                s->told_full = true;
                return;
        }
        if (s->told_full)
                start_timer(s->calm_source, CALM_SEC * USEC_PER_SEC);
}

/* The child is still a zombie, so no other process group can have its id. */
static void child_gone(Server *s, const siginfo_t *si) {
        for (size_t i = 0; i < s->n_connections; i++) {
                Connection *c = s->connections[i];

                if (c->pid != si->si_pid || c->gone)
                        continue;
                (void) kill(-c->pid, SIGKILL);
                if (si->si_code != CLD_EXITED && !c->ending)
                        log_error("Child %i was killed by signal %i (%s).", (int) c->pid, si->si_status,
                                  strempty(sigdescr_np(si->si_status)));
                c->ending = true;
                c->gone = true;
                (void) sd_event_source_set_enabled(c->hangup_source, SD_EVENT_OFF);
                c->timer_source = sd_event_source_disable_unref(c->timer_source);
        }
        spares_forget(&s->spares, si->si_pid);
}

static void drop_connection(Server *s, size_t i) {
        children_leave(s->children, s->connections[i]->pid);
        connection_free(s->connections[i]);
        s->connections[i] = s->connections[--s->n_connections];
}

/* Takes further connections, unless the server stops. */
static int after_connections(Server *s) {
        if (s->stopping)
                return s->n_connections == 0 ? sd_event_exit(s->event, 0) : 0;
        check_places(s);
        if (s->n_connections >= SERVER_CONNECTIONS_MAX)
                return 0;
        return sd_event_source_set_enabled(s->accept_source, SD_EVENT_ON);
}

/* Whether all helpers are gone. The parent inherits helpers that outlive the child (PR_SET_CHILD_SUBREAPER);
 * such helpers keep the namespace and its staged mounts. */
static bool helpers_are_gone(const Connection *c) {
        pid_t pid;

        do
                pid = waitpid(-c->pid, NULL, WNOHANG);
        while (pid > 0);
        return pid < 0;
}

/* Handles SIGCHLD itself: sd_event_add_child() misses the end of a child that is being traced, and does not
 * handle helpers. */
static int on_sigchld(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata) {
        Server *s = userdata;

        /* Each child is handled before the kernel can reuse its pid. */
        for (;;) {
                siginfo_t ended = { 0 };

                if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) < 0 || ended.si_pid == 0)
                        break;
                child_gone(s, &ended);
                (void) waitid(P_PID, (id_t) ended.si_pid, &ended, WEXITED | WNOHANG);
        }
        for (size_t i = s->n_connections; i-- > 0;)
                if (s->connections[i]->gone && helpers_are_gone(s->connections[i]))
                        drop_connection(s, i);
        return after_connections(s);
}

/* The child has replied, and can take another connection. */
static int on_offer(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Connection *c = userdata;
        Server *s = c->server;
        Spare spare = { .pid = c->pid };
        char byte;

        if (recv(fd, &byte, 1, MSG_DONTWAIT) != 1) {
                connection_make_last(c);
                return 0;
        }
        spare.fd = TAKE_FD(c->child_fd);
        for (size_t i = 0; i < s->n_connections; i++)
                if (s->connections[i] == c) {
                        drop_connection(s, i);
                        break;
                }
        /* The connection had a source of events on this descriptor, which the list may close. */
        spares_add(&s->spares, spare);
        if (s->spares.n > 1)
                start_timer(s->trim_source, SPARE_SEC * USEC_PER_SEC);
        return after_connections(s);
}

/* Takes fd over. */
static int connection_start(Server *s, int fd) {
        _cleanup_(connection_freep) Connection *c = calloc(1, sizeof(*c));
        Spare spare;
        int r;

        if (!c) {
                fd_close(fd);
                return -ENOMEM;
        }
        c->server = s;
        c->fd = fd;
        c->child_fd = -EBADF;
        r = sd_event_add_io(s->event, &c->hangup_source, fd, EPOLLRDHUP, on_hangup, c);
        if (r < 0)
                return r;
        r = sd_event_add_time_relative(s->event, &c->timer_source, CLOCK_MONOTONIC, DEADLINE_SEC * USEC_PER_SEC, 0,
                                       on_deadline, c);
        if (r < 0)
                return r;

        (void) sd_event_source_set_enabled(s->spare_source, SD_EVENT_ONESHOT);
        r = spares_give(&s->spares, fd, &spare);
        if (r == -ENOENT) {
                r = fork_spare(s, fd);
                if (r < 0)
                        return r;
                r = spares_give(&s->spares, fd, &spare);
        }
        if (r < 0)
                return r;
        c->pid = spare.pid;
        c->child_fd = spare.fd;
        /* Without it the child serves this connection alone. */
        if (sd_event_add_io(s->event, &c->offer_source, c->child_fd, EPOLLIN, on_offer, c) < 0)
                connection_make_last(c);
        s->connections[s->n_connections++] = TAKE_PTR(c);
        return 0;
}

static int on_accept(sd_event_source *source, int listen_fd, uint32_t events, void *userdata) {
        Server *s = userdata;
        _cleanup_close_ int fd = -EBADF;
        struct ucred peer;
        socklen_t n = sizeof(peer);
        int r;

        fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
                if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
                        log_error_errno(errno, "Failed to accept a connection: %m");
                return 0;
        }
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
                return 0;
        if (peer.uid != 0 && peer.uid != s->config->peer_uid) {
                log_warning("Refused a connection from process %i of uid %u.", (int) peer.pid, (unsigned) peer.uid);
                return 0;
        }

        r = connection_start(s, TAKE_FD(fd));
        if (r < 0)
                log_error_errno(r, "Failed to start a child: %m");
        check_places(s);
        /* More connections wait in the socket's backlog. */
        return s->n_connections >= SERVER_CONNECTIONS_MAX ? sd_event_source_set_enabled(source, SD_EVENT_OFF) : 0;
}

static int on_stop(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata) {
        Server *s = userdata;

        (void) sd_notify(0, "STOPPING=1");
        s->stopping = true;
        spares_end(&s->spares, 0);
        (void) sd_event_source_set_enabled(s->accept_source, SD_EVENT_OFF);
        if (s->n_connections == 0)
                return sd_event_exit(s->event, 0);
        for (size_t i = 0; i < s->n_connections; i++)
                connection_end(s->connections[i]);
        return 0;
}

static int load_configuration(Server *s) {
        _cleanup_failure_ Failure f = { 0 };
        int r;

        r = configuration_read(&s->configuration, &f);
        if (r > 0) {
                log_fields(LOG_ERR, (LogField[]){ { "MESSAGE_ID", MESSAGE_CONFIG_INVALID } }, 1, "%s%s", f.message,
                           s->configuration.settings.target_roots ? SETTINGS_KEPT : "");
                (void) sd_notifyf(0, "STATUS=%s", f.message);
                return r;
        }
        if (r < 0)
                return log_error_errno(r, "Failed to read the configuration, or the mount table: %m");
        if (!s->configuration.propagating)
                log_error(
                        "This mount namespace is a slave of the host's: mounts made here would never be seen there, so none will be made. Remove the option of the unit that creates the namespace, see selvol-worker(8).");
        (void) sd_notify(0, "STATUS=");
        return 0;
}

static int on_worker_reload(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata) {
        Server *s = userdata;

        (void) sd_notify(0, "RELOADING=1");
        if (load_configuration(s) == 0) {
                log_info("Configuration read again.");
                /* These children have the old configuration. */
                spares_end(&s->spares, 0);
                for (size_t i = 0; i < s->n_connections; i++)
                        connection_make_last(s->connections[i]);
                (void) start_spare(s->spare_source, s);
        }
        (void) sd_notify(0, "READY=1");
        return 0;
}

static int add_event_sources(Server *s) {
        const struct {
                int signal;
                sd_event_signal_handler_t handler;
        } signals[] = {
                { SIGTERM, on_stop }, { SIGINT, on_stop }, { SIGHUP, on_worker_reload }, { SIGCHLD, on_sigchld }
        };
        const struct {
                sd_event_source **source;
                sd_event_time_handler_t handler;
        } timers[] = { { &s->calm_source, on_calm }, { &s->trim_source, on_trim } };
        int r;

        r = sd_event_new(&s->event);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(signals); i++) {
                r = sd_event_add_signal(s->event, NULL, signals[i].signal, signals[i].handler, s);
                if (r < 0)
                        return r;
        }
        r = sd_event_add_io(s->event, &s->accept_source, s->fd, EPOLLIN, on_accept, s);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(timers); i++) {
                r = sd_event_add_time(s->event, timers[i].source, CLOCK_MONOTONIC, 0, 0, timers[i].handler, s);
                if (r < 0)
                        return r;
                r = sd_event_source_set_enabled(*timers[i].source, SD_EVENT_OFF);
                if (r < 0)
                        return r;
        }
        r = sd_event_add_defer(s->event, &s->spare_source, start_spare, s);
        if (r < 0)
                return r;
        r = sd_event_source_set_priority(s->spare_source, SD_EVENT_PRIORITY_IDLE);
        if (r < 0)
                return r;
        return sd_event_set_watchdog(s->event, 1);
}

/* With SELVOL_STAGE=namespace, for tests, the worker behaves as on a kernel without fsopen(2) and
 * statmount(2). */
static void prepare_staging(Server *s) {
        const char *forced = getenv("SELVOL_STAGE");
        int r;

        s->staging.directory = s->config->stage_directory;
        s->staging.locks = s->config->locks;
        if (forced && streq(forced, "namespace"))
                statmount_disable();
        else
                s->staging.fs_context = fs_context_is_supported();
        if (!s->staging.fs_context)
                log_info("Mounts are made without file system contexts, fsopen(2).");
        r = stage_namespace_make(s->staging.directory, &s->staging.namespace);
        if (r < 0)
                log_info(
                        "Can't make a small mount namespace (%s); the host's is copied for each mount, which is slower.",
                        strerrorname_np(-r));
}

int server_start(Server *s, int fd, const ServerConfig *config) {
        int r;

        s->fd = fd;
        s->config = config;
        if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
                return log_error_errno(errno, "Failed to become the child subreaper: %m");
        s->configuration.usr_dir = config->usr_dir;
        s->configuration.etc_dir = config->etc_dir;
        r = load_configuration(s);
        if (r != 0)
                return r;
        prepare_staging(s);
        r = children_new(SERVER_CONNECTIONS_MAX, &s->children);
        if (r < 0)
                return log_error_errno(r, "Failed to allocate memory for children: %m");

        r = add_event_sources(s);
        return r < 0 ? log_error_errno(r, "Failed to set up the event loop: %m") : 0;
}

int server_run(Server *s) {
        (void) sd_notify(0, "READY=1");
        return sd_event_loop(s->event);
}

void server_done(Server *s) {
        while (s->n_connections > 0)
                connection_free(s->connections[--s->n_connections]);
        spares_end(&s->spares, 0);
        sd_event_source_unref(s->calm_source);
        sd_event_source_unref(s->trim_source);
        sd_event_source_unref(s->spare_source);
        sd_event_source_unref(s->accept_source);
        sd_event_unref(s->event);
        configuration_done(&s->configuration);
        s->staging.namespace = fd_close(s->staging.namespace);
        s->fd = fd_close(s->fd);
}
