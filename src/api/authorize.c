/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "basic/log.h"
#include "basic/time-util.h"
#include "model/quota.h"
#include "wire/message-ids.h"
#include "api/authorize.h"
#include "api/callers.h"

enum { ALLOW_USER_INTERACTION = 1 };

static const struct {
        const char *method;
        const char *action;
} actions[] = {
        { "MountVolume", "org.selvol1.mount-volume" },
        { "PlanVolume", "org.selvol1.plan-volume" }, /* opens the source and the target as root */
        { "UnmountVolume", "org.selvol1.unmount-volume" },
        { "AdoptVolume", "org.selvol1.adopt-volume" },
        { "ForgetVolume", "org.selvol1.forget-volume" },
        { "Relabel", "org.selvol1.relabel-volume" },
        { "ApplyOwnership", "org.selvol1.apply-ownership" },
        { "Cancel", "org.selvol1.cancel-job" },
        { "VerifyLabel", "org.selvol1.verify-label" },
        { "GetVolume", "org.selvol1.inspect" },
        { "GetVolumeByTarget", "org.selvol1.inspect" },
        { "GetJob", "org.selvol1.inspect" },
        { "Wait", "org.selvol1.inspect" },
        { "GetMetrics", "org.selvol1.inspect" },
        { "ListUnheldMounts", "org.selvol1.inspect" },
        { "Get", "org.selvol1.inspect" },
        { "GetAll", "org.selvol1.inspect" },
        { "Set", "org.selvol1.set-log-level" }, /* LogLevel is the only property that can be set */
        { "GetManagedObjects", "org.selvol1.inspect" },
        { "Introspect", "org.selvol1.inspect" },
};

/* sd-bus replies to these methods by itself; the replies tell about volumes. */
static const char *const standard_interfaces[] = {
        "org.freedesktop.DBus.Properties",
        "org.freedesktop.DBus.ObjectManager",
        "org.freedesktop.DBus.Introspectable",
};

typedef enum Answer { PENDING, ALLOWED, DENIED, CHALLENGE, UNAVAILABLE } Answer;

/* A question to polkit. It lives until the call has been dispatched a second time, even if the method does
 * not get as far as to ask for the answer: the object may be gone, or the configuration may have changed. */
struct AuthQuery {
        AuthQuery *next;
        Api *api;
        sd_bus_message *call;
        sd_bus_slot *slot;
        const char *action;
        uid_t uid;
        char **details; /* keys and values of the call, alternating */
        Answer answer;
        bool dispatched; /* a second time */
};

/* The polkit action of a method. NULL: only root may call it. */
static const char *find_action(const char *method) {
        for (size_t i = 0; i < ELEMENTSOF(actions); i++)
                if (streq(actions[i].method, method))
                        return actions[i].action;
        return NULL;
}

static void query_free(AuthQuery *q) {
        LL_DELETE(q->api->queries, q);
        sd_bus_slot_unref(q->slot);
        sd_bus_message_unref(q->call);
        strv_free(q->details);
        free(q);
}

/* journald drops records of a unit that logs too many, those of mounts too: so a user's denied calls are
 * logged once in DENIAL_SEC. *ret_more: so many were not, before this one. */
static bool is_logged(Api *api, sd_bus_message *call, unsigned *ret_more) {
        const uint64_t now = now_monotonic_usec();
        Denials *of_user = NULL, *oldest = api->denials;
        uid_t uid;

        *ret_more = 0;
        if (sender_get_uid(api, call, &uid) < 0)
                return true;
        for (Denials *d = api->denials; d < api->denials + DENIALS_MAX && !of_user; d++)
                if (d->logged_usec > 0 && d->uid == uid)
                        of_user = d;
                else if (d->logged_usec < oldest->logged_usec)
                        oldest = d;
        if (of_user && now < of_user->logged_usec + DENIAL_SEC * USEC_PER_SEC) {
                of_user->more++;
                return false;
        }
        if (of_user)
                *ret_more = of_user->more;
        *(of_user ?: oldest) = (Denials){ .uid = uid, .logged_usec = now };
        return true;
}

static int deny_call(Api *api, sd_bus_message *call, const char *volume, const char *result, sd_bus_error *error) {
        static const struct {
                const char *result, *text;
        } why[] = {
                { "denied", "polkit does not allow it; add a rule for the action, see selvold(8)" },
                { "changed", "the call or the configuration changed while polkit was asked; try again" },
                { "too-many", "too many calls wait for polkit; try again later" },
                { "unavailable", "polkit did not answer; see systemctl status polkit" },
                { "challenge", "it needs an administrator's password, and nobody could be asked for it" },
        };
        _cleanup_free_ char *caller = sender_describe(api, call), *before = NULL,
                            *escaped = string_escape(strempty(volume), VOLUME_ID_MAX);
        const char *method = sd_bus_message_get_member(call), *action = strempty(find_action(method)), *text = result;
        const LogField fields[] = {
                { "MESSAGE_ID", MESSAGE_DENIED },
                { "SELVOL_CALLER", caller },
                { "SELVOL_VOLUME", escaped },
        };

        unsigned more;

        for (size_t i = 0; i < ELEMENTSOF(why); i++)
                if (streq(why[i].result, result))
                        text = why[i].text;
        metrics_count(api->state->metrics, METRIC_AUTHORIZATIONS, result);
        if (is_logged(api, call, &more)) {
                if (more > 0)
                        before = strdup_printf(" %u calls of this user were denied before, and not logged.", more);
                log_fields(LOG_NOTICE, fields, ELEMENTSOF(fields), "%s%s%s by %s is not authorized (%s): %s.%s",
                           method, isempty(escaped) ? "" : " of volume ", strempty(escaped), strempty(caller), action,
                           text, strempty(before));
        }
        return sd_bus_error_setf(error,
                                 streq(result, "challenge") ? SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED
                                                            : SD_BUS_ERROR_ACCESS_DENIED,
                                 "%s is not authorized (%s): %s.", method, action, text);
}

/* Sets every key, so that a rule that looks one up gets a string. */
static int describe_request(const Request *q, char ***ret) {
        /* Messages of polkit's show the volume on terminals. */
        _cleanup_free_ char *options = NULL, *group = NULL, *volume = text_make_clean(strempty(q->volume));
        _cleanup_strv_ char **details = NULL;

        options = q->mount_options ? strv_join(q->mount_options, ",") : strdup("");
        group = q->fs_group == GID_NONE ? strdup("") : strdup_printf("%u", (unsigned) q->fs_group);
        if (!options || !group || !volume)
                return -ENOMEM;

        const struct {
                const char *key, *value;
        } all[] = {
                { "volume", volume },
                { "source", q->source },
                { "target", q->target },
                { "holder", q->holder },
                { "fs-type", q->fs_type },
                { "mount-options", options },
                { "read-only", q->read_only ? "true" : "false" },
                { "driver", q->driver },
                { "volume-type", q->volume_type },
                { "context", q->context },
                { "user", q->user },
                { "role", q->role },
                { "type", q->type },
                { "level", q->level },
                { "relabel-by", relabel_by_to_string(q->relabel_by) },
                { "fs-group", group },
        };
        for (size_t i = 0; i < ELEMENTSOF(all); i++) {
                int r = strv_extend(&details, all[i].key);

                if (r < 0)
                        return r;
                r = strv_extend(&details, strempty(all[i].value));
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(details);
        return 0;
}

static int conclude_query(Api *api, AuthQuery *q, sd_bus_message *call, const Request *about, sd_bus_error *error) {
        _cleanup_strv_ char **details = NULL;
        const Answer answer = q->answer;
        bool same;
        int r;

        r = describe_request(about, &details);
        same = r >= 0 && streq_ptr(q->action, find_action(sd_bus_message_get_member(call))) &&
               strv_equal(q->details, details);
        query_free(q);
        if (r < 0)
                return r;
        /* selvold must do exactly what polkit was asked about. */
        if (!same)
                return deny_call(api, call, about->volume, "changed", error);

        if (answer == ALLOWED) {
                metrics_count(api->state->metrics, METRIC_AUTHORIZATIONS, "allowed");
                return 1;
        }
        return deny_call(api, call, about->volume,
                         answer == CHALLENGE     ? "challenge"
                         : answer == UNAVAILABLE ? "unavailable"
                                                 : "denied",
                         error);
}

static Answer read_answer(sd_bus_message *reply) {
        int authorized, challenge, r;

        if (sd_bus_message_is_method_error(reply, NULL))
                return UNAVAILABLE;
        r = sd_bus_message_enter_container(reply, 'r', "bba{ss}");
        if (r > 0)
                r = sd_bus_message_read(reply, "bb", &authorized, &challenge);
        if (r <= 0)
                return UNAVAILABLE;
        return authorized ? ALLOWED : challenge ? CHALLENGE : DENIED;
}

static int on_polkit_answer(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        AuthQuery *q = userdata;
        int r;

        q->slot = sd_bus_slot_unref(q->slot);
        q->answer = read_answer(reply);

        /* The whole call is dispatched a second time, so that everything is checked again. */
        r = sd_bus_message_rewind(q->call, true);
        if (r >= 0)
                r = sd_bus_enqueue_for_read(sd_bus_message_get_bus(q->call), q->call);
        if (r < 0) {
                if (sd_bus_reply_method_errno(q->call, r, NULL) < 0)
                        api_leave(q->api, "A reply can't be sent");
                query_free(q);
        }
        return 0;
}

void authorize_forget(Api *api, const char *sender) {
        AuthQuery *q, *next;

        LL_FOREACH_SAFE (api->queries, q, next)
                if (q->answer == PENDING && streq_ptr(sd_bus_message_get_sender(q->call), sender))
                        query_free(q);
}

void authorize_teardown(Api *api) {
        while (api->queries)
                query_free(api->queries);
}

static int ask_polkit(Api *api, sd_bus_message *call, const char *action, uid_t uid, const Request *about) {
        bool interactive = sd_bus_message_get_allow_interactive_authorization(call) > 0;
        const unsigned sec = api->polkit_timeout > 0 ? api->polkit_timeout
                             : interactive           ? INTERACTIVE_SEC
                                                     : POLKIT_SEC;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *question = NULL;
        AuthQuery *q = calloc(1, sizeof(*q));
        int r;

        if (!q)
                return -ENOMEM;
        *q = (AuthQuery){ .api = api, .call = sd_bus_message_ref(call), .action = action, .uid = uid };
        LL_PREPEND(api->queries, q);
        r = describe_request(about, &q->details);
        if (r >= 0)
                r = sd_bus_message_new_method_call(api->bus, &question, "org.freedesktop.PolicyKit1",
                                                   "/org/freedesktop/PolicyKit1/Authority",
                                                   "org.freedesktop.PolicyKit1.Authority", "CheckAuthorization");
        /* The subject is the connection: pid and uid can be raced (CVE-2013-4288). */
        if (r >= 0)
                r = sd_bus_message_append(question, "(sa{sv})s", "system-bus-name", 1, "name", "s",
                                          sd_bus_message_get_sender(call), action);
        if (r >= 0)
                r = sd_bus_message_open_container(question, 'a', "{ss}");
        for (char **detail = q->details; r >= 0 && detail && *detail; detail += 2)
                r = sd_bus_message_append(question, "{ss}", detail[0], detail[1]);
        if (r >= 0)
                r = sd_bus_message_close_container(question);
        if (r >= 0)
                r = sd_bus_message_append(question, "us", interactive ? (unsigned) ALLOW_USER_INTERACTION : 0u, "");
        if (r >= 0)
                r = sd_bus_call_async(api->bus, &q->slot, question, on_polkit_answer, q, sec * USEC_PER_SEC);
        if (r < 0)
                query_free(q);
        return r < 0 ? r : 0;
}

AuthQuery *authorize_find_query(const Api *api, const sd_bus_message *call) {
        AuthQuery *q;

        LL_FOREACH (api->queries, q)
                if (q->call == call)
                        return q;
        return NULL;
}

static bool may_ask(const Api *api, uid_t uid) {
        const AuthQuery *query;
        Quota q = { 0 };

        LL_FOREACH (api->queries, query)
                quota_count(&q, 1, query->uid == uid);
        return quota_check(&q, LIMIT_QUESTIONS, 1, false) == QUOTA_FITS;
}

int authorize(Api *api, sd_bus_message *call, const Request *about, sd_bus_error *error) {
        const char *action = find_action(sd_bus_message_get_member(call));
        AuthQuery *q = authorize_find_query(api, call);
        const Request nothing = REQUEST_INIT;
        uid_t uid;
        int r;

        if (!about)
                about = &nothing;
        if (q)
                return conclude_query(api, q, call, about, error);

        r = sender_get_uid(api, call, &uid);
        if (r < 0)
                return r;
        if (uid == api->trusted_uid) {
                metrics_count(api->state->metrics, METRIC_AUTHORIZATIONS, "root");
                return 1;
        }
        if (!action)
                return deny_call(api, call, about->volume, "denied", error);
        if (!may_ask(api, uid))
                return deny_call(api, call, about->volume, "too-many", error);
        return ask_polkit(api, call, action, uid, about);
}

int authorize_volume(Api *api, sd_bus_message *call, const char *volume, sd_bus_error *error) {
        Request about = REQUEST_INIT;

        about.volume = (char *) volume;
        return authorize(api, call, &about, error);
}

/* Each message passes this filter before it is dispatched. Messages are dispatched one by one, so a query
 * whose call was dispatched before is done. */
int authorize_filter(Api *api, sd_bus_message *message, sd_bus_error *error) {
        _cleanup_free_ char *id = NULL;
        AuthQuery *q, *next;
        bool standard = false;
        int r;

        LL_FOREACH_SAFE (api->queries, q, next)
                if (q->dispatched)
                        query_free(q);
                else if (q->call == message && q->answer != PENDING)
                        q->dispatched = true;

        for (size_t i = 0; i < ELEMENTSOF(standard_interfaces); i++)
                standard = standard || sd_bus_message_is_method_call(message, standard_interfaces[i], NULL);
        if (!standard)
                return 0;
        r = sd_bus_path_decode(sd_bus_message_get_path(message), VOLUME_PREFIX, &id);
        if (r < 0)
                return r;
        r = authorize_volume(api, message, id, error);
        return r < 0 ? r : !r;
}
