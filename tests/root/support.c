/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <glib/gstdio.h>

#include "mount/loop.h"
#include "mount/mount-table.h"
#include "mount/target.h"
#include "wire/names.h"
#include "wire/peer.h"
#include "wire/protocol.h"
#include "support.h"

/* The longest that an operation may be silent, on a machine that has other things to do. */
#define STEP_USEC (20 * G_USEC_PER_SEC)

static bool skip_all(const char *why) {
        g_print("1..0 # SKIP %s\n", why);
        return false;
}

bool test_enter(void) {
        if (geteuid() != 0)
                return skip_all("needs root");
        if (unshare(CLONE_NEWNS) < 0)
                return skip_all("needs a mount namespace of its own");
        if (access("/dev/loop-control", R_OK | W_OK) < 0)
                return skip_all("needs loop devices");

        must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
        must(mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=4g"));
        must(mkdir(TEST_DIR, 0755));
        must(mkdir(TEST_TARGETS, 0755));
        must(mkdir(TEST_IMAGES, 0755));
        return true;
}

bool run(const char *program, ...) {
        g_autoptr(GPtrArray) argv = g_ptr_array_new();
        g_autofree char *output = NULL;
        int status = -1;
        va_list ap;

        va_start(ap, program);
        for (const char *s = program; s; s = va_arg(ap, const char *))
                g_ptr_array_add(argv, (char *) s);
        va_end(ap);
        g_ptr_array_add(argv, NULL);

        return g_spawn_sync(NULL, (char **) argv->pdata, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL, NULL,
                            NULL, NULL, &output, &status, NULL) &&
               g_spawn_check_wait_status(status, NULL);
}

char *path_printf(const char *format, ...) {
        va_list ap;
        char *s;

        va_start(ap, format);
        s = g_strdup_vprintf(format, ap);
        va_end(ap);
        return s;
}

bool has_program(const char *name) {
        g_autofree char *path = g_find_program_in_path(name);

        return path;
}

char *make_image(const char *name, const char *fs_type) {
        g_autofree char *path = path_printf(TEST_IMAGES "/%s", name), *mkfs = NULL;
        int fd;

        fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        g_assert_cmpint(fd, >=, 0);
        /* What mkfs.xfs asks for at least. */
        must(ftruncate(fd, 320 * 1024 * 1024));
        close(fd);
        if (!fs_type)
                return g_steal_pointer(&path);

        mkfs = path_printf("mkfs.%s", fs_type);
        if (!has_program(mkfs)) {
                g_test_skip(mkfs);
                return NULL;
        }
        g_assert_true(run(mkfs, "-q", path, NULL));
        return g_steal_pointer(&path);
}

char *make_target(const char *name) {
        char *path = path_printf(TEST_TARGETS "/%s", name);

        g_assert_cmpint(g_mkdir_with_parents(path, 0755), ==, 0);
        return path;
}

char *attach_loop(const char *image, int *ret_fd) {
        char *path, *copy;
        int fd;

        fd = open(image, O_RDWR | O_CLOEXEC);
        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(loop_attach(fd, image, false, ret_fd, &path), ==, 0);
        close(fd);
        copy = g_strdup(path);
        free(path);
        return copy;
}

uint64_t mount_id_of(const char *path) {
        uint64_t id;
        int fd;

        fd = open(path, O_PATH | O_CLOEXEC);
        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(mount_identify(fd, &id, NULL), ==, 0);
        close(fd);
        return id;
}

bool is_mounted(const char *path) {
        bool is_mount;
        uint64_t id;
        int fd;

        fd = open(path, O_PATH | O_CLOEXEC);
        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(mount_identify(fd, &id, &is_mount), ==, 0);
        close(fd);
        return is_mount;
}

bool is_read_only(const char *path) {
        struct statvfs st;

        must(statvfs(path, &st));
        return st.f_flag & ST_RDONLY;
}

size_t count_mounts(void) {
        char *const roots[] = { (char *) TEST_TARGETS, NULL };
        MountTable *table;
        MountFact *facts;
        size_t n;

        g_assert_cmpint(mount_table_read(NULL, &table), ==, 0);
        g_assert_cmpint(mount_table_find_beneath(table, roots, &facts, &n), ==, 0);
        mount_facts_free(facts, n);
        mount_table_free(table);
        return n;
}

size_t count_loops(const char *image) {
        struct stat st;
        dev_t *devices;
        size_t n;

        must(stat(image, &st));
        g_assert_cmpint(loop_find(st.st_dev, st.st_ino, &devices, NULL, &n), ==, 0);
        free(devices);
        return n;
}

static void write_configuration(const char *directory, const char *dropin) {
        static const char roots[] = "[Worker]\nTargetRoots=" TEST_TARGETS "\nSourceRoots=/dev " TEST_IMAGES "\n";
        g_autofree char *usr = path_printf("%s/usr/selvol.conf", directory), *shipped = NULL,
                        *usr_dir = path_printf("%s/usr", directory),
                        *etc_dir = path_printf("%s/etc/selvol.conf.d", directory),
                        *first = path_printf("%s/10-roots.conf", etc_dir),
                        *second = path_printf("%s/20-test.conf", etc_dir),
                        *source = g_test_build_filename(G_TEST_DIST, "src", "selvol.conf", NULL);

        g_assert_cmpint(g_mkdir_with_parents(usr_dir, 0755), ==, 0);
        g_assert_cmpint(g_mkdir_with_parents(etc_dir, 0755), ==, 0);
        g_assert_true(g_file_get_contents(source, &shipped, NULL, NULL));
        g_assert_true(g_file_set_contents(usr, shipped, -1, NULL));
        g_assert_true(g_file_set_contents(first, roots, -1, NULL));
        if (dropin)
                g_assert_true(g_file_set_contents(second, dropin, -1, NULL));
}

static void wait_for_socket(const Worker *w) {
        for (unsigned i = 0; i < 1000; i++) {
                int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
                struct sockaddr_un address = { .sun_family = AF_UNIX };

                g_strlcpy(address.sun_path, w->socket, sizeof(address.sun_path));
                if (connect(fd, (struct sockaddr *) &address, sizeof(address)) >= 0) {
                        close(fd);
                        return;
                }
                close(fd);
                if (waitpid(w->pid, NULL, WNOHANG) == w->pid)
                        g_error("The worker ended at once.");
                g_usleep(10 * 1000);
        }
        g_error("The worker doesn't listen.");
}

Worker *worker_start(const char *dropin, const char *const *wrapper) {
        static unsigned counter;
        g_autofree char *directory = path_printf(TEST_DIR "/worker-%u", ++counter),
                        *usr = path_printf("%s/usr", directory), *etc = path_printf("%s/etc", directory);
        g_autofree char *program = g_test_build_filename(G_TEST_BUILT, "src", "selvol-worker", NULL);
        g_autoptr(GPtrArray) argv = g_ptr_array_new();
        Worker *w = g_new0(Worker, 1);

        w->socket = path_printf("%s/socket", directory);
        write_configuration(directory, dropin);

        for (; wrapper && *wrapper; wrapper++)
                g_ptr_array_add(argv, (char *) *wrapper);
        g_ptr_array_add(argv, program);
        g_ptr_array_add(argv, (char *) "--socket");
        g_ptr_array_add(argv, w->socket);
        g_ptr_array_add(argv, (char *) "--config-usr");
        g_ptr_array_add(argv, usr);
        g_ptr_array_add(argv, (char *) "--config-etc");
        g_ptr_array_add(argv, etc);
        g_ptr_array_add(argv, (char *) "--peer-uid");
        g_ptr_array_add(argv, (char *) "12345");
        g_ptr_array_add(argv, NULL);

        w->pid = fork();
        must(w->pid);
        if (w->pid == 0) {
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                execvp(argv->pdata[0], (char **) argv->pdata);
                _exit(127);
        }
        wait_for_socket(w);
        return w;
}

void worker_stop(Worker *w) {
        int status;

        must(kill(w->pid, SIGTERM));
        must(waitpid(w->pid, &status, 0));
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                g_error("The worker ended with status %i.", status);
        g_free(w->socket);
        g_free(w);
}

Worker *worker_start_traced(const char *injection) {
        const char *const wrapper[] = { "strace", "-D", "-f", "-qqq", "-o", "/dev/null", "-e", injection, NULL };
        Worker *w;

        if (!has_program("strace")) {
                g_test_skip("strace");
                return NULL;
        }
        /* LeakSanitizer gives up under ptrace. */
        g_setenv("ASAN_OPTIONS", "detect_leaks=0", TRUE);
        w = worker_start(NULL, wrapper);
        g_unsetenv("ASAN_OPTIONS");
        return w;
}

pid_t worker_find_child(const Worker *w) {
        g_autofree char *path = path_printf("/proc/%i/task/%i/children", (int) w->pid, (int) w->pid);

        for (;;) {
                g_autofree char *text = NULL;
                g_auto(GStrv) pids = NULL;

                g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
                pids = g_strsplit(g_strstrip(text), " ", -1);
                if (g_strv_length(pids) == 1)
                        return (pid_t) g_ascii_strtoll(pids[0], NULL, 10);
                g_usleep(1000);
        }
}

sd_bus *worker_dial(const Worker *w) {
        sd_bus *bus;

        g_assert_cmpint(peer_connect(w->socket, NULL, &bus), >=, 0);
        return bus;
}

void wait_for_end(sd_bus *bus) {
        char buffer[4096];
        int fd = sd_bus_get_fd(bus);

        for (;;) {
                struct pollfd p = { .fd = fd, .events = POLLIN };
                ssize_t n;

                g_assert_cmpint(poll(&p, 1, 20 * 1000), ==, 1);
                n = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);
                if (n == 0 || (n < 0 && errno == ECONNRESET))
                        return;
                g_assert_cmpint(n, >, 0);
        }
}

/* --- what is heard --- */

static void heard_done(Heard *h) {
        plan_question_done(&h->question);
        ready_note_done(&h->ready);
        mount_identity_done(&h->publishing);
        mark_done(&h->marked);
}

void answer_done(Answer *a) {
        g_free(a->message);
        heard_done(&a->heard);
        plan_question_done(&a->question);
        mount_outcome_done(&a->outcome);
        mark_done(&a->mark);
        free(a->detail);
        walk_result_done(&a->walk);
        free(a->actual);
        free(a->not_reset);
        node_done(&a->node);
}

static PlanAnswer make_plan_answer(const Operation *o) {
        const Arguments *a = &o->arguments;
        const char *share = a->share ? a->share : g_str_equal(o->method, WORKER_CHANGE) ? a->target : NULL;
        bool wants_files = a->files.context || a->files.ownership != OWNERSHIP_NONE;

        if (a->verdict != PLAN_GO)
                return (PlanAnswer){ .verdict = a->verdict, .seclabel = -1, .files = FILES_WANTED_INIT };
        return (PlanAnswer){
                .seclabel = a->suppose_seclabel && o->heard.n_plans == 1 ? 1 : -1,
                .context = (char *) a->context,
                .mount_options = a->options ? g_strsplit(a->options, ",", -1) : NULL,
                .read_only = a->read_only,
                .share_target = (char *) share,
                .share_id = a->share_id,
                .change = a->change,
                .files = wants_files ? a->files : FILES_WANTED_INIT,
                .reliances = (Reliance *) a->reliances,
                .n_reliances = a->n_reliances,
                .entries_per_sec = a->entries_per_sec,
        };
}

static void answer_question(Operation *o, sd_bus_message *question) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;

        g_assert_cmpint(sd_bus_message_new_method_return(question, &reply), >=, 0);
        if (sd_bus_message_is_method_call(question, NULL, DECISION_PLAN)) {
                PlanAnswer answer = make_plan_answer(o);

                g_assert_cmpint(plan_answer_append(reply, &answer), ==, 0);
                g_strfreev(answer.mount_options);
        }
        g_assert_cmpint(sd_bus_send(o->bus, reply, NULL), >=, 0);
}

static void hear_question(Operation *o, sd_bus_message *m) {
        Heard *h = &o->heard;
        bool hold;

        g_assert_true(sd_bus_message_has_signature(
                m, sd_bus_message_is_method_call(m, NULL, DECISION_PLAN) ? PLAN_QUESTION_TYPE : READY_NOTE_TYPE));
        if (sd_bus_message_is_method_call(m, DECISION_INTERFACE, DECISION_PLAN)) {
                plan_question_done(&h->question);
                g_assert_cmpint(plan_question_read(m, &h->question), ==, 0);
                h->n_plans++;
                hold = o->arguments.hold_plan;
        } else {
                g_assert_true(sd_bus_message_is_method_call(m, DECISION_INTERFACE, DECISION_READY));
                ready_note_done(&h->ready);
                g_assert_cmpint(ready_note_read(m, &h->ready), ==, 0);
                h->n_ready++;
                hold = o->arguments.hold_ready;
        }
        g_assert_null(o->held);
        if (hold)
                o->held = sd_bus_message_ref(m);
        else
                answer_question(o, m);
}

static void hear_signal(Operation *o, sd_bus_message *m) {
        Heard *h = &o->heard;

        if (sd_bus_message_is_signal(m, WORKER_INTERFACE, WORKER_PROGRESS)) {
                uint64_t done = h->progress.done;

                g_assert_cmpint(walk_counts_read(m, &h->progress), ==, 0);
                g_assert_cmpint(sd_bus_message_read(m, "t", &h->total), >, 0);
                g_assert_cmpuint(h->progress.done, >=, done);
                h->n_progress++;
        } else if (sd_bus_message_is_signal(m, WORKER_INTERFACE, WORKER_MARKED)) {
                mark_done(&h->marked);
                g_assert_cmpint(mark_read(m, &h->marked), ==, 0);
                h->n_marked++;
        } else if (sd_bus_message_is_signal(m, WORKER_INTERFACE, WORKER_DECIDED)) {
                g_assert_cmpint(files_decision_read(m, &h->decided), ==, 0);
                h->n_decided++;
        } else {
                g_assert_true(sd_bus_message_is_signal(m, WORKER_INTERFACE, WORKER_PUBLISHING));
                mount_identity_done(&h->publishing);
                g_assert_cmpint(mount_identity_read(m, &h->publishing), ==, 0);
                h->n_publishing++;
        }
}

static int on_message(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        uint8_t type;

        g_assert_cmpint(sd_bus_message_get_type(m, &type), >=, 0);
        if (type == SD_BUS_MESSAGE_METHOD_CALL)
                hear_question(userdata, m);
        else if (type == SD_BUS_MESSAGE_SIGNAL && g_strcmp0(sd_bus_message_get_path(m), WORKER_PATH) == 0)
                hear_signal(userdata, m);
        else
                return 0;
        return 1;
}

static int on_reply(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Operation *o = userdata;

        o->reply = sd_bus_message_ref(m);
        return 0;
}

/* --- an operation --- */

static Operation *operation_new(const Worker *w, const char *method, sd_bus_message **ret_call) {
        Operation *o = g_new0(Operation, 1);

        o->method = method;
        o->bus = worker_dial(w);
        g_assert_cmpint(sd_bus_add_filter(o->bus, NULL, on_message, o), >=, 0);
        g_assert_cmpint(sd_bus_message_new_method_call(o->bus, ret_call, NULL, WORKER_PATH, WORKER_INTERFACE, method),
                        >=, 0);
        return o;
}

/* Takes the call over. The child may be gone already. */
static Operation *operation_send(Operation *o, sd_bus_message *call) {
        int r;

        g_assert_cmpint(sd_bus_call_async(o->bus, NULL, call, on_reply, o, UINT64_MAX), >=, 0);
        r = sd_bus_flush(o->bus);
        g_assert_true(r >= 0 || r == -ENOTCONN || r == -ECONNRESET || r == -EPIPE);
        sd_bus_message_unref(call);
        return o;
}

Operation *operation_start(const Worker *w, const char *method, const Arguments *a) {
        sd_bus_message *call;
        Operation *o = operation_new(w, method, &call);

        o->arguments = *a;
        if (g_str_equal(method, WORKER_MOUNT)) {
                const MountCall c = { (char *) "volume", (char *) a->source, (char *) a->fs_type, (char *) a->target,
                                      a->expected };

                g_assert_cmpint(mount_call_append(call, &c), ==, 0);
        } else if (g_str_equal(method, WORKER_ADOPT)) {
                const AdoptCall c = { (char *) "volume", (char *) a->target };

                g_assert_cmpint(adopt_call_append(call, &c), ==, 0);
        } else {
                const ChangeCall c = { (char *) "volume", (char *) a->target, (char *) a->source,
                                       (char *) a->fs_type };

                g_assert_cmpint(change_call_append(call, &c), ==, 0);
        }
        return operation_send(o, call);
}

Operation *operation_start_verify(const Worker *w, const VerifyCall *c) {
        sd_bus_message *call;
        Operation *o = operation_new(w, WORKER_VERIFY, &call);

        g_assert_cmpint(verify_call_append(call, c), ==, 0);
        return operation_send(o, call);
}

/* sd_bus_wait() returns 0 also where the connection is about to end. */
void operation_step(Operation *o) {
        gint64 start = g_get_monotonic_time();
        int r = sd_bus_process(o->bus, NULL);

        if (r < 0) {
                g_assert_true(r == -ENOTCONN || r == -ECONNRESET);
                o->ended = true;
                return;
        }
        if (r == 0) {
                r = sd_bus_wait(o->bus, STEP_USEC);
                g_assert_true(r >= 0 || r == -ENOTCONN);
                g_assert_cmpint(g_get_monotonic_time() - start, <, STEP_USEC);
        }
}

void operation_answer(Operation *o) {
        g_assert_nonnull(o->held);
        answer_question(o, o->held);
        o->held = sd_bus_message_unref(o->held);
}

static void operation_free(Operation *o) {
        sd_bus_message_unref(o->held);
        sd_bus_message_unref(o->reply);
        heard_done(&o->heard);
        sd_bus_close_unref(o->bus);
        g_free(o);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Operation, operation_free)

/* What holds for every operation that ended well. */
static void check_result(const Operation *o, const OperationResult *result) {
        const Heard *h = &o->heard;

        if (h->n_marked > 0) {
                g_assert_cmpint(h->marked.found, ==, result->mark.found);
                g_assert_true(mark_equal(&h->marked, &result->mark));
        }
        if (h->n_publishing + h->n_ready > 0) {
                const MountIdentity *told = h->n_ready > 0 ? &h->ready.identity : &h->publishing;

                g_assert_cmpstr(o->method, ==, WORKER_MOUNT);
                g_assert_cmpuint(h->n_publishing + h->n_ready, ==, 1);
                if (result->walk.counts.failed == 0) {
                        g_assert_cmpuint(told->id, ==, result->outcome.fact.mount_id);
                        g_assert_cmpstr(told->device, ==, result->outcome.fact.device);
                }
        }
        g_assert_cmpuint(h->n_decided, ==, result->walked);
        if (result->walked) {
                g_assert_cmpint(h->decided.relabel, ==, result->files.relabel);
                g_assert_cmpint(h->decided.ownership, ==, result->files.ownership);
                g_assert_cmpuint(h->decided.gid, ==, result->files.gid);
                g_assert_cmpuint(h->decided.disk_gid, ==, result->files.disk_gid);
        }
        if (result->repeated)
                g_assert_cmpuint(h->n_plans + h->n_publishing + h->n_ready, ==, 0);
        else
                g_assert_cmpuint(h->n_plans, >=, 1);
}

static void read_result(Operation *o, Answer *a) {
        OperationResult result;

        g_assert_cmpint(operation_result_read(o->reply, &result), ==, 0);
        check_result(o, &result);
        a->repeated = result.repeated;
        a->walked = result.walked;
        a->outcome = result.outcome;
        a->mark = result.mark;
        a->files = result.files;
        a->detail = result.detail;
        a->walk = result.walk;
}

static void read_verified(Operation *o, Answer *a) {
        VerifyResult result;

        g_assert_cmpint(verify_result_read(o->reply, &result), ==, 0);
        a->matches = result.matches;
        a->actual = result.actual;
        a->walk = result.walk;
        a->reset = result.reset;
        a->not_reset = result.not_reset;
}

static void read_reply(Operation *o, Answer *a) {
        sd_bus_message *m = o->reply;
        int unmounted;

        if (g_str_equal(o->method, WORKER_VERIFY))
                read_verified(o, a);
        else if (g_str_equal(o->method, WORKER_UNMOUNT)) {
                g_assert_cmpint(sd_bus_message_read(m, "b", &unmounted), >, 0);
                a->unmounted = unmounted;
        } else if (g_str_equal(o->method, WORKER_INSPECT)) {
                g_assert_cmpint(node_read(m, &a->node), ==, 0);
                g_assert_cmpint(mount_outcome_read(m, &a->outcome), ==, 0);
                g_assert_cmpint(mark_read(m, &a->mark), ==, 0);
        } else
                read_result(o, a);
        g_assert_cmpint(sd_bus_message_at_end(m, true), >, 0);
}

Answer operation_finish(Operation *operation) {
        g_autoptr(Operation) o = operation;
        const sd_bus_error *error;
        Answer a = { 0 };

        operation_wait(o, false);
        error = o->reply ? sd_bus_message_get_error(o->reply) : NULL;
        if (!o->reply || (error && g_str_equal(error->name, SD_BUS_ERROR_NO_REPLY)))
                a.kind = "gone";
        else if (!error) {
                a.kind = "ok";
                read_reply(o, &a);
        } else {
                a.kind = g_intern_string(g_str_has_prefix(error->name, ERROR_PREFIX)
                                                 ? error->name + strlen(ERROR_PREFIX)
                                                 : error->name);
                a.message = g_strdup(error->message);
        }
        a.heard = o->heard;
        a.question = a.heard.question;
        o->heard = (Heard){ 0 };
        a.heard.question = (PlanQuestion){ 0 };
        return a;
}

Answer operation_hang_up(Operation *o) {
        peer_hang_up(o->bus);
        return operation_finish(o);
}

/* --- calls --- */

Answer call_mount(const Worker *w, const Arguments *a) {
        return operation_finish(operation_start(w, WORKER_MOUNT, a));
}

Answer call_adopt(const Worker *w, const Arguments *a) {
        return operation_finish(operation_start(w, WORKER_ADOPT, a));
}

Answer call_change(const Worker *w, const Arguments *a) {
        return operation_finish(operation_start(w, WORKER_CHANGE, a));
}

Answer call_observe(const Worker *w, const char *source, const char *fs_type, const char *target) {
        Answer a = call_mount(
                w, &(Arguments){ .source = source, .fs_type = fs_type, .target = target, .verdict = PLAN_STOP });

        if (g_str_equal(a.kind, "gone") && a.heard.n_plans == 1)
                a.kind = "ok";
        return a;
}

Answer call_inspect(const Worker *w, const char *target) {
        sd_bus_message *call;
        Operation *o = operation_new(w, WORKER_INSPECT, &call);

        g_assert_cmpint(sd_bus_message_append(call, "s", target), >=, 0);
        return operation_finish(operation_send(o, call));
}

Answer call_verify(const Worker *w, const VerifyCall *c) {
        return operation_finish(operation_start_verify(w, c));
}

Answer call_unmount(const Worker *w, const char *target, uint64_t id) {
        const UnmountCall c = { .target = (char *) target, .identity = { .id = id } };
        sd_bus_message *call;
        Operation *o = operation_new(w, WORKER_UNMOUNT, &call);

        g_assert_cmpint(unmount_call_append(call, &c), ==, 0);
        return operation_finish(operation_send(o, call));
}
