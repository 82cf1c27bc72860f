/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "client.h"

/* An answer may take more than JobTimeoutSec= for each of the clients in line before this one. */
enum { ANSWER_MSEC = 90 * 1000, PAUSE_MSEC = 3, SERIES_MAX = 5 };

#define ERROR_PREFIX "org.selvol1.Error."

struct Client {
        const Environment *environment;
        GDBusConnection *bus;
        int number;
        GRand *rand;
        unsigned left; /* operations of the series */
        guint pause;
        Operation *running;
        const Operation *hung;
};

static void start_next(Client *c);

/* ---- answers ---- */

static gboolean on_pause_end(gpointer userdata) {
        Client *c = userdata;

        c->pause = 0;
        start_next(c);
        return G_SOURCE_REMOVE;
}

static void finish(Client *c, Outcome outcome, char *answer) {
        model_end(c->running, outcome, answer);
        c->running = NULL;
        c->pause = g_timeout_add((guint) g_rand_int_range(c->rand, 0, PAUSE_MSEC), on_pause_end, c);
}

/* If started, an earlier answer has said that the operation had begun. */
static Outcome judge_error(const char *name, bool started) {
        static const char *const refusals[] = { "Busy",
                                                "Incompatible",
                                                "ContextConflict",
                                                "GroupConflict",
                                                "InvalidVolume",
                                                "InvalidTarget",
                                                "NoSuchVolume",
                                                "InvalidOption",
                                                "NotSupported",
                                                "LimitReached",
                                                NULL };

        if (g_str_has_prefix(name, ERROR_PREFIX))
                return !started && g_strv_contains(refusals, name + strlen(ERROR_PREFIX)) ? OUTCOME_REFUSED
                                                                                          : OUTCOME_UNCERTAIN;
        /* The bus answers with ServiceUnknown while no selvold runs. */
        return g_str_equal(name, "org.freedesktop.DBus.Error.ServiceUnknown") && !started ? OUTCOME_REFUSED
                                                                                          : OUTCOME_LOST;
}

/* Returns the body of the reply. If the call has failed, this finishes the operation and returns NULL. */
static GVariant *take_reply(Client *c, GAsyncResult *result, bool started, GDBusMessage **ret_reply) {
        g_autoptr(GError) error = NULL;
        g_autofree char *name = NULL;
        GDBusMessage *reply = g_dbus_connection_send_message_with_reply_finish(c->bus, result, &error);

        *ret_reply = reply;
        if (reply && !g_dbus_message_to_gerror(reply, &error))
                return g_dbus_message_get_body(reply);
        if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT) && !reply)
                c->hung = c->running;
        name = g_dbus_error_get_remote_error(error);
        finish(c, name ? judge_error(name, started) : OUTCOME_LOST, g_strdup(error->message));
        return NULL;
}

static void acknowledge(Client *c, GVariant *result) {
        Operation *o = c->running;
        gboolean unmounted = TRUE;

        (void) g_variant_lookup(result, "Unmounted", "b", &unmounted);
        o->idle = !unmounted;
        /* The group on disk may differ from that of the call if the only mount shows the latter. */
        (void) g_variant_lookup(result, "DiskGroup", "u", &o->disk_gid);
        if (o->disk_gid == NO_GID && o->kind == KIND_OWNERSHIP)
                o->disk_gid = o->gid;
        finish(c, OUTCOME_ACKNOWLEDGED, g_variant_print(result, FALSE));
}

static void send(Client *c, const char *name, const char *path, const char *interface, const char *method,
                 GVariant *arguments, GAsyncReadyCallback on_reply) {
        g_autoptr(GDBusMessage) m = g_dbus_message_new_method_call(name, path, interface, method);

        g_dbus_message_set_body(m, arguments);
        g_dbus_connection_send_message_with_reply(c->bus, m, G_DBUS_SEND_MESSAGE_FLAGS_NONE, ANSWER_MSEC, NULL, NULL,
                                                  on_reply, c);
}

static void on_waited(GObject *source, GAsyncResult *result, gpointer userdata) {
        g_autoptr(GDBusMessage) reply = NULL;
        GVariant *body = take_reply(userdata, result, true, &reply);
        g_autoptr(GVariant) details = NULL;
        const char *text;

        if (!body)
                return;
        g_variant_get(body, "(&s@a{sv})", &text, &details);
        if (g_str_equal(text, "done"))
                acknowledge(userdata, details);
        else
                finish(userdata, OUTCOME_UNCERTAIN, g_variant_print(body, FALSE));
}

/* The last value of a reply is the result, or the path of a job. */
static void on_answered(GObject *source, GAsyncResult *result, gpointer userdata) {
        g_autoptr(GDBusMessage) reply = NULL;
        GVariant *body = take_reply(userdata, result, false, &reply);
        g_autoptr(GVariant) last = NULL;

        if (!body)
                return;
        last = g_variant_get_child_value(body, g_variant_n_children(body) - 1);
        /* The call goes to the unique name of this selvold: the next one does not know the job. */
        if (g_variant_is_of_type(last, G_VARIANT_TYPE_OBJECT_PATH))
                send(userdata, g_dbus_message_get_sender(reply), g_variant_get_string(last, NULL), "org.selvol1.Job",
                     "Wait", g_variant_new("()"), on_waited);
        else
                acknowledge(userdata, last);
}

/* ---- calls ---- */

static void call(Client *c, const char *method, GVariant *arguments) {
        c->running->options = g_variant_print(arguments, FALSE);
        send(c, "org.selvol1", "/org/selvol1", "org.selvol1.Manager", method, arguments, on_answered);
}

/* options is an a{sv} as text, or NULL. */
static void call_mount(Client *c, int volume, int target, uint32_t gid, const char *options) {
        const TestVolume *v = &c->environment->volumes[volume];
        GVariantBuilder b = G_VARIANT_BUILDER_INIT(G_VARIANT_TYPE_VARDICT);

        c->running = model_begin(KIND_MOUNT, c->number, volume, target);
        c->running->gid = gid;
        g_variant_builder_add_parsed(&b, "{'FSType', <%s>}", v->fs_type);
        if (gid != NO_GID) {
                g_variant_builder_add_parsed(&b, "{'FSGroup', <%u>}", gid);
                g_variant_builder_add_parsed(&b, "{'FSGroupPolicy', <'File'>}");
        }
        if (options)
                g_variant_builder_add_parsed(&b, options);
        call(c, "MountVolume", g_variant_new("(sssa{sv})", v->id, v->source, c->environment->targets[target], &b));
}

/* options is an a{sv} as text. */
static void call_ownership(Client *c, int volume, uint32_t gid, const char *options) {
        c->running = model_begin(KIND_OWNERSHIP, c->number, volume, NO_TARGET);
        c->running->gid = gid;
        call(c, "ApplyOwnership",
             g_variant_new("(su@a{sv})", c->environment->volumes[volume].id, gid, g_variant_new_parsed(options)));
}

const Operation *client_mount(Client *c, int volume, int target, uint32_t gid) {
        call_mount(c, volume, target, gid, NULL);
        return c->running;
}

const Operation *client_unmount(Client *c, int volume, int target) {
        c->running = model_begin(KIND_UNMOUNT, c->number, volume, target);
        call(c, "UnmountVolume",
             g_variant_new("(ssa{sv})", volume == ANY_VOLUME ? "" : c->environment->volumes[volume].id,
                           c->environment->targets[target], NULL));
        return c->running;
}

const Operation *client_ownership(Client *c, int volume, uint32_t gid) {
        call_ownership(c, volume, gid, "{'Force': <true>}");
        return c->running;
}

/* ---- a series ---- */

static bool one_in(Client *c, int n) {
        return g_rand_int_range(c->rand, 0, n) == 0;
}

static const char *draw(Client *c, const char *const *list, unsigned n) {
        return list[g_rand_int_range(c->rand, 0, (int) n)];
}

static uint32_t draw_gid(Client *c) {
        return one_in(c, 2) ? 2000 : 3000;
}

static void draw_mount(Client *c, int volume, int target) {
        static const char *const options[] = { NULL, NULL, "{'UserNamespace', <true>}",
                                               "{'FSGroupChangePolicy', <'Always'>}" };
        bool with_group = one_in(c, 2);

        call_mount(c, volume, target, with_group ? draw_gid(c) : NO_GID,
                   with_group ? draw(c, options, G_N_ELEMENTS(options)) : NULL);
}

static void draw_ownership(Client *c, int volume) {
        static const char *const options[] = {
                "@a{sv} {}",
                "{'Force': <true>}",
                "{'MaxEntriesPerSecond': <uint64 10000>}",
        };

        call_ownership(c, volume, draw_gid(c), draw(c, options, G_N_ELEMENTS(options)));
}

/* A target has the same volume in most calls, so that mounts and unmounts meet. */
static int draw_volume(Client *c, int target, int others) {
        return one_in(c, others) ? g_rand_int_range(c->rand, 0, VOLUMES) : target % VOLUMES;
}

static void start_next(Client *c) {
        int target, kind;

        if (c->left == 0)
                return;
        c->left--;
        target = g_rand_int_range(c->rand, 0, TARGETS);
        kind = g_rand_int_range(c->rand, 0, 20);
        if (kind < 8)
                draw_mount(c, draw_volume(c, target, 12), target);
        else if (kind < 15)
                (void) client_unmount(c, draw_volume(c, target, 3), target);
        else if (kind < 16)
                (void) client_unmount(c, ANY_VOLUME, target);
        else
                draw_ownership(c, g_rand_int_range(c->rand, 0, VOLUMES));
}

/* ---- life ---- */

Client *client_new(const Environment *e, int number) {
        Client *c = g_new0(Client, 1);

        c->environment = e;
        c->number = number;
        c->rand = g_rand_new();
        c->bus = bus_connect(g_getenv("DBUS_SYSTEM_BUS_ADDRESS"));
        g_assert_nonnull(c->bus);
        return c;
}

void client_free(Client *c) {
        g_clear_handle_id(&c->pause, g_source_remove);
        g_clear_pointer(&c->rand, g_rand_free);
        g_clear_object(&c->bus);
        g_free(c);
}

void client_start(Client *c, uint32_t seed) {
        g_clear_pointer(&c->rand, g_rand_free);
        c->rand = g_rand_new_with_seed(seed);
        c->left = (unsigned) g_rand_int_range(c->rand, 1, SERIES_MAX + 1);
        start_next(c);
}

bool client_is_idle(const Client *c) {
        return !c->running && c->left == 0 && c->pause == 0;
}

const Operation *client_hung(const Client *c) {
        return c->hung;
}
