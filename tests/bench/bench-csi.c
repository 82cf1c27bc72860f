/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "basic/time-util.h"
#include "bench-common.h"
#include "bench-service.h"
#include "csi/csi-listener.h"
#include "csi/csi-message.h"
#include "grpc/grpc-client.h"

/* Calls a driver as kubelet does, with a connection for each call: the driver alone, and selvol-csi in front
 * of it. The driver is a child of this program. Its volumes are of tmpfs. */

enum { CALLS = 1000, PODS = 64, ROUNDS = 20, PAUSE_MSEC = 200 };

typedef enum Way { WAY_DRIVER, WAY_SELVOL, WAYS } Way;

static const char *const way_names[WAYS] = { "driver", "selvol-csi" };

typedef struct Csi {
        bool json;
        unsigned calls, pods, rounds;
        pid_t proxy;
        const char *sockets[WAYS], *targets;
} Csi;

typedef struct Pod {
        const Csi *csi;
        Way way;
        bool publish;
        char *volume, *target;
        pthread_barrier_t *barrier;
        double end;
} Pod;

/* ---- the driver ---------------------------------------------------------------------------------------- */

static int answer_publish(const ProtobufCMessage *m) {
        const Csi__NodePublishVolumeRequest *q = (const Csi__NodePublishVolumeRequest *) m;
        _cleanup_free_ char *target = NULL;

        if (csi_text(&q->target_path, &target) < 0 || (mkdir(target, 0750) < 0 && errno != EEXIST))
                return -EINVAL;
        return mount("tmpfs", target, "tmpfs", 0, "size=1m,mode=0770") < 0 ? -errno : 0;
}

static int answer_unpublish(const ProtobufCMessage *m) {
        const Csi__NodeUnpublishVolumeRequest *q = (const Csi__NodeUnpublishVolumeRequest *) m;
        _cleanup_free_ char *target = NULL;

        if (csi_text(&q->target_path, &target) < 0)
                return -EINVAL;
        return umount2(target, UMOUNT_NOFOLLOW) < 0 && errno != EINVAL ? -errno : 0;
}

static int answer(const GrpcRequest *q, GrpcReply *ret, void *userdata) {
        static const struct {
                const char *method;
                const ProtobufCMessageDescriptor *type;
                int (*answer)(const ProtobufCMessage *m);
        } methods[] = {
                { "/csi.v1.Node/NodePublishVolume", &csi__node_publish_volume_request__descriptor, answer_publish },
                { "/csi.v1.Node/NodeUnpublishVolume", &csi__node_unpublish_volume_request__descriptor,
                  answer_unpublish },
        };

        (void) userdata;
        ret->code = GRPC_OK;
        for (size_t i = 0; i < ELEMENTSOF(methods); i++) {
                _cleanup_csi_ ProtobufCMessage *m = NULL;
                int r;

                if (!streq(q->method, methods[i].method))
                        continue;
                r = csi_read(methods[i].type, q->message, q->size, &m);
                return r < 0 ? r : methods[i].answer(m);
        }
        return 0;
}

/* Returns when the driver can be called. It ends with this program. */
static void start_driver(const char *path) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        pid_t pid;

        if (fd < 0 || strlen(path) >= sizeof(address.sun_path))
                fail("there is no socket for the driver");
        memcpy(address.sun_path, path, strlen(path));
        if (bind(fd, (struct sockaddr *) &address, sizeof(address)) < 0 || listen(fd, SOMAXCONN) < 0)
                fail("%s: %s", path, strerror(errno));
        pid = fork();
        if (pid < 0)
                fail("the driver can't be started: %s", strerror(errno));
        if (pid == 0) {
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                _exit(csi_listen(fd, eventfd(0, EFD_CLOEXEC), answer, NULL) < 0);
        }
        (void) close(fd);
}

/* ---- kubelet ------------------------------------------------------------------------------------------- */

static double call(const Csi *c, Way way, const char *method, const GrpcBytes *message) {
        const GrpcRequest q = { .method = method,
                                .message = message->data,
                                .size = message->size,
                                .deadline_usec = now_monotonic_usec() + 120 * USEC_PER_SEC };
        _cleanup_grpc_reply_ GrpcReply reply = { 0 };
        double start = now_usec();

        if (grpc_call(c->sockets[way], &q, &reply) < 0 || reply.code != GRPC_OK)
                fail("%s of %s: %s", method, way_names[way], reply.text ?: "no reply");
        return now_usec() - start;
}

static void write_message(const ProtobufCMessage *m, GrpcBytes *ret) {
        if (csi_write(m, ret) < 0)
                fail("out of memory");
}

static void call_publish(const Pod *p) {
        Csi__NodePublishVolumeRequest q = CSI__NODE_PUBLISH_VOLUME_REQUEST__INIT;
        Csi__VolumeCapability capability = CSI__VOLUME_CAPABILITY__INIT;
        Csi__MountVolume mount_volume = CSI__MOUNT_VOLUME__INIT;
        Csi__AccessMode mode = CSI__ACCESS_MODE__INIT;
        _cleanup_grpc_bytes_ GrpcBytes message = { 0 };

        mode.mode = 1; /* SINGLE_NODE_WRITER */
        mount_volume.fs_type = csi_bytes("tmpfs");
        capability.mount = &mount_volume;
        capability.access_mode = &mode;
        q.volume_id = csi_bytes(p->volume);
        q.target_path = csi_bytes(p->target);
        q.volume_capability = &capability;
        write_message(&q.base, &message);
        (void) call(p->csi, p->way, "/csi.v1.Node/NodePublishVolume", &message);
}

static void call_unpublish(const Pod *p) {
        Csi__NodeUnpublishVolumeRequest q = CSI__NODE_UNPUBLISH_VOLUME_REQUEST__INIT;
        _cleanup_grpc_bytes_ GrpcBytes message = { 0 };

        q.volume_id = csi_bytes(p->volume);
        q.target_path = csi_bytes(p->target);
        write_message(&q.base, &message);
        (void) call(p->csi, p->way, "/csi.v1.Node/NodeUnpublishVolume", &message);
}

static void *run_pod(void *userdata) {
        Pod *p = userdata;

        (void) pthread_barrier_wait(p->barrier);
        if (p->publish)
                call_publish(p);
        else
                call_unpublish(p);
        p->end = now_usec();
        return NULL;
}

/* All pods at once. Returns the time until the last one is answered. */
static double run_pods(const Csi *c, Way way, bool publish) {
        _cleanup_free_ Pod *pods = calloc(c->pods, sizeof(Pod));
        _cleanup_free_ pthread_t *threads = calloc(c->pods, sizeof(pthread_t));
        pthread_barrier_t barrier;
        double start, end = 0;

        if (!pods || !threads || pthread_barrier_init(&barrier, NULL, c->pods + 1) != 0)
                fail("out of memory");
        for (unsigned i = 0; i < c->pods; i++) {
                pods[i] = (Pod){ .csi = c,
                                 .way = way,
                                 .publish = publish,
                                 .volume = format_string("volume-%u", i),
                                 .target = format_string("%s/%u", c->targets, i),
                                 .barrier = &barrier };
                if (pthread_create(&threads[i], NULL, run_pod, &pods[i]) != 0)
                        fail("a thread can't be started");
        }
        (void) pthread_barrier_wait(&barrier);
        start = now_usec();
        for (unsigned i = 0; i < c->pods; i++) {
                (void) pthread_join(threads[i], NULL);
                end = pods[i].end > end ? pods[i].end : end;
                free(pods[i].volume);
                free(pods[i].target);
        }
        (void) pthread_barrier_destroy(&barrier);
        return end - start;
}

/* ---- the figures --------------------------------------------------------------------------------------- */

static void print_memory(const Csi *c, const char *when) {
        unsigned long rss = process_memory(c->proxy, "VmRSS");

        if (c->json)
                printf("{\"memory\":\"selvol-csi\",\"when\":\"%s\",\"rss_kib\":%lu}\n", when, rss);
        else
                printf("  memory of selvol-csi, %-20s %9.1f MiB\n", when, (double) rss / 1024);
}

static void print_series(const Csi *c, const char *name, Way way, Series s) {
        if (c->json)
                printf("{\"call\":\"%s\",\"way\":\"%s\",\"median_usec\":%.0f,\"p99_usec\":%.0f,\"max_usec\":%.0f}\n",
                       name, way_names[way], s.median, s.p99, s.max);
        else
                printf("  %-20s %-12s %9.2f %9.2f %9.2f\n", name, way_names[way], s.median / 1e3, s.p99 / 1e3,
                       s.max / 1e3);
}

static void print_difference(const Csi *c, const char *name, const Series *s) {
        double usec = s[WAY_SELVOL].median - s[WAY_DRIVER].median,
               ratio = s[WAY_SELVOL].median / s[WAY_DRIVER].median;

        if (c->json)
                printf("{\"difference\":\"%s\",\"usec\":%.0f,\"ratio\":%.2f}\n", name, usec, ratio);
        else
                printf("  %-20s %+.2f ms, %.2f times the driver alone\n", name, usec / 1e3, ratio);
}

static void measure_call(const Csi *c) {
        const GrpcBytes empty = { 0 };
        double *values[WAYS];
        Series s[WAYS];

        for (Way way = 0; way < WAYS; way++)
                if (!(values[way] = calloc(c->calls, sizeof(double))))
                        fail("out of memory");
        for (unsigned i = 0; i < c->calls + 10; i++)
                for (Way way = 0; way < WAYS; way++) {
                        double usec = call(c, way, "/csi.v1.Node/NodeGetInfo", &empty);

                        values[way][i < 10 ? 0 : i - 10] = usec;
                }
        for (Way way = 0; way < WAYS; way++) {
                s[way] = summarize(values[way], c->calls);
                print_series(c, "a forwarded call", way, s[way]);
                free(values[way]);
        }
        print_difference(c, "a forwarded call", s);
}

/* Round 0 only fills caches. */
static void measure_pods(const Csi *c) {
        static const char *const names[2] = { "pods end at once", "pods start at once" };
        double *values[WAYS][2];

        for (Way way = 0; way < WAYS; way++)
                for (unsigned publish = 0; publish < 2; publish++)
                        if (!(values[way][publish] = calloc(c->rounds + 1, sizeof(double))))
                                fail("out of memory");
        for (unsigned round = 0; round <= c->rounds; round++)
                for (Way way = 0; way < WAYS; way++) {
                        for (unsigned publish = 2; publish-- > 0;)
                                values[way][publish][round] = run_pods(c, way, publish);
                        sleep_msec(PAUSE_MSEC);
                }
        for (unsigned publish = 2; publish-- > 0;) {
                Series s[WAYS];

                for (Way way = 0; way < WAYS; way++) {
                        s[way] = summarize(values[way][publish] + 1, c->rounds);
                        print_series(c, names[publish], way, s[way]);
                        free(values[way][publish]);
                }
                print_difference(c, names[publish], s);
        }
}

int main(int argc, char **argv) {
        static const char usage[] =
                "bench-csi --driver SOCKET --proxy SOCKET --proxy-pid PID --targets DIR [--calls N] [--pods N] [--rounds N] [--json]";
        Csi c = { .calls = CALLS, .pods = PODS, .rounds = ROUNDS };
        const BenchOption options[] = {
                FLAG("json", c.json),
                NUMBER("calls", c.calls, 100000),
                NUMBER("pods", c.pods, 1000),
                NUMBER("rounds", c.rounds, 1000),
                NUMBER("proxy-pid", c.proxy, INT32_MAX),
                TEXT("driver", c.sockets[WAY_DRIVER]),
                TEXT("proxy", c.sockets[WAY_SELVOL]),
                TEXT("targets", c.targets),
        };

        if (parse_options(options, argc, argv, usage) < argc || !c.sockets[WAY_DRIVER] || !c.sockets[WAY_SELVOL] ||
            !c.targets || c.proxy == 0 || c.calls == 0 || c.pods == 0 || c.rounds == 0)
                print_usage(usage);
        start_driver(c.sockets[WAY_DRIVER]);
        if (c.json)
                printf("{\"bench\":\"csi\",\"calls\":%u,\"pods\":%u,\"rounds\":%u}\n", c.calls, c.pods, c.rounds);
        else
                printf("%u calls, %u rounds of %u pods, milliseconds\n  %-20s %-12s %9s %9s %9s\n", c.calls, c.rounds,
                       c.pods, "", "", "median", "p99", "slowest");
        print_memory(&c, "idle");
        measure_call(&c);
        measure_pods(&c);
        print_memory(&c, "at the end");
        return EXIT_SUCCESS;
}
