/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "basic/path-util.h"
#include "model/context.h"
#include "store/store-rows.h"
#include "store/store-statement.h"

static void bind_text(sqlite3_stmt *st, int *n, const char *s) {
        (void) sqlite3_bind_text(st, ++*n, s, -1, SQLITE_STATIC);
}

static void bind_u64(sqlite3_stmt *st, int *n, uint64_t v) {
        (void) sqlite3_bind_int64(st, ++*n, (sqlite3_int64) v);
}

static void put_holder(Store *s, const Volume *v, const Holder *h) {
        sqlite3_stmt *st = s->statements[PUT_HOLDER];
        int n = 0;

        bind_text(st, &n, v->id);
        bind_text(st, &n, h->name);
        bind_text(st, &n, h->target);
        bind_text(st, &n, holder_state_to_string(h->state));
        bind_text(st, &n, strategy_to_string(h->strategy));
        bind_text(st, &n, reason_to_string(h->reason));
        bind_u64(st, &n, h->read_only);
        bind_u64(st, &n, h->adopted);
        bind_u64(st, &n, h->since_usec);
        bind_u64(st, &n, h->mount_id);
        bind_text(st, &n, h->spec);
        bind_u64(st, &n, h->relabelled_here);
        bind_u64(st, &n, h->fs_group);
        bind_u64(st, &n, h->disk_gid);
        store_change(s, PUT_HOLDER);
}

static void bind_id(Store *s, Statement id, const char *volume) {
        int n = 0;

        bind_text(s->statements[id], &n, volume);
}

static bool record_is_known(const VolumeRecord *r) {
        return r->label_state != STATE_UNKNOWN && !isempty(r->context);
}

/* What store_load() would refuse is not written: a state that speaks of no context is none. */
static void bind_record(sqlite3_stmt *st, int *n, const VolumeRecord *r) {
        bool owned = r->ownership_state != STATE_UNKNOWN;

        bind_text(st, n, record_is_known(r) ? r->context : "");
        bind_u64(st, n, r->generation < VOLUME_RECORD_GENERATION_MAX ? r->generation : VOLUME_RECORD_GENERATION_MAX);
        bind_text(st, n, record_state_to_string(r->ownership_state));
        bind_u64(st, n, owned ? r->gid : 0);
}

/* Without memory for the options it is not known what the last mount was of. */
static void bind_mount(sqlite3_stmt *st, int *n, const Volume *v) {
        char *options = strv_join(v->mount_options, ",");

        (void) sqlite3_bind_text(st, ++*n, options ? options : "", -1, SQLITE_TRANSIENT);
        bind_u64(st, n, v->mounted_here && options);
        free(options);
}

void store_put_volume(Store *s, const Volume *v) {
        sqlite3_stmt *st = s->statements[PUT_VOLUME];
        const Holder *h;
        int n = 0;

        if (!store_begin(s))
                return;

        bind_text(st, &n, v->id);
        bind_text(st, &n, v->source);
        bind_text(st, &n, v->fs_type);
        bind_text(st, &n, v->driver);
        bind_text(st, &n, v->volume_type);
        bind_text(st, &n, access_mode_to_string(v->access_mode));
        bind_text(st, &n, strategy_to_string(v->strategy));
        bind_text(st, &n, v->context);
        bind_text(st, &n,
                  record_state_to_string(record_is_known(&v->record) ? v->record.label_state : STATE_UNKNOWN));
        bind_u64(st, &n, v->record.tainted);
        bind_u64(st, &n, v->last_verified_usec);
        bind_u64(st, &n, v->inodes_used);
        bind_record(st, &n, &v->record);
        bind_mount(st, &n, v);
        store_change(s, PUT_VOLUME);

        bind_id(s, DELETE_HOLDERS, v->id);
        store_change(s, DELETE_HOLDERS);
        LL_FOREACH (v->holders, h)
                put_holder(s, v, h);
}

void store_delete_volume(Store *s, const char *id) {
        if (!store_begin(s))
                return;
        bind_id(s, DELETE_VOLUME, id);
        store_change(s, DELETE_VOLUME);
}

void store_add_history(Store *s, const char *id, const HistoryEntry *e) {
        sqlite3_stmt *st = s->statements[ADD_HISTORY];
        int n = 0;

        if (!store_begin(s))
                return;

        bind_text(st, &n, id);
        bind_u64(st, &n, e->time_usec);
        bind_text(st, &n, strempty(e->operation));
        bind_text(st, &n, strempty(e->result));
        bind_text(st, &n, strempty(e->reason));
        bind_text(st, &n, strempty(e->target));
        bind_text(st, &n, strempty(e->holder));
        bind_text(st, &n, strempty(e->context));
        bind_text(st, &n, strempty(e->caller));
        bind_text(st, &n, strempty(e->text));
        bind_u64(st, &n, e->duration_usec);
        store_change(s, ADD_HISTORY);

        n = 0;
        bind_text(s->statements[TRIM_HISTORY], &n, id);
        bind_u64(s->statements[TRIM_HISTORY], &n, HISTORY_MAX);
        store_change(s, TRIM_HISTORY);
}

void store_set_boot_id(Store *s, const char *boot_id) {
        int n = 0;

        if (!store_begin(s))
                return;
        bind_text(s->statements[PUT_META], &n, "boot_id");
        bind_text(s->statements[PUT_META], &n, boot_id);
        store_change(s, PUT_META);
}

void history_entry_done(HistoryEntry *e) {
        free(e->operation);
        free(e->result);
        free(e->reason);
        free(e->target);
        free(e->holder);
        free(e->context);
        free(e->caller);
        free(e->text);
        *e = (HistoryEntry){ 0 };
}

static int dup_column(sqlite3_stmt *st, int column, char **ret) {
        const char *text = strempty((const char *) sqlite3_column_text(st, column));

        /* SQLite keeps whatever it is given, but D-Bus takes nothing else. */
        return utf8_is_valid(text) ? free_and_strdup(ret, text) : -EUCLEAN;
}

int store_get_history(Store *s, const char *id, HistoryEntry **ret, size_t *ret_n) {
        sqlite3_stmt *st = s->statements[GET_HISTORY];
        HistoryEntry *entries = NULL;
        size_t n = 0;
        int r;

        if (s->error < 0)
                return s->error;

        bind_id(s, GET_HISTORY, id);
        while ((r = store_run(s, GET_HISTORY, true)) > 0) {
                HistoryEntry e = { .time_usec = (uint64_t) sqlite3_column_int64(st, 0),
                                   .duration_usec = (uint64_t) sqlite3_column_int64(st, 9) };
                char **fields[] = { &e.operation, &e.result,  &e.reason, &e.target,
                                    &e.holder,    &e.context, &e.caller, &e.text };
                HistoryEntry *grown = reallocarray(entries, n + 1, sizeof(*entries));

                r = grown ? 0 : -ENOMEM;
                entries = grown ? grown : entries;
                for (size_t i = 0; i < ELEMENTSOF(fields) && r >= 0; i++)
                        r = dup_column(st, (int) i + 1, fields[i]);
                if (r < 0) {
                        history_entry_done(&e);
                        sqlite3_reset(st);
                        break;
                }
                entries[n++] = e;
        }
        if (r < 0) {
                while (n > 0)
                        history_entry_done(&entries[--n]);
                free(entries);
                return r;
        }

        *ret = entries;
        *ret_n = n;
        return 0;
}

int store_get_boot_id(Store *s, char **ret) {
        sqlite3_stmt *st = s->statements[GET_META];
        char *id = NULL;
        int r;

        bind_id(s, GET_META, "boot_id");
        r = store_run(s, GET_META, true);
        if (r < 0)
                return r;
        if (r > 0) {
                r = dup_column(st, 0, &id);
                sqlite3_reset(st);
        } else
                r = free_and_strdup(&id, "");
        if (r < 0)
                return r;
        *ret = id;
        return 0;
}

static int enum_column(sqlite3_stmt *st, int column, int (*from_string)(const char *)) {
        return from_string(strempty((const char *) sqlite3_column_text(st, column)));
}

static int check_context(const char *context) {
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_free_ char *canonical = NULL;
        int r;

        if (isempty(context))
                return 0;
        r = context_canonicalize(context, &canonical, &f);
        if (r < 0)
                return r;
        return r == 0 && streq(canonical, context) ? 0 : -EUCLEAN;
}

static int check_volume(const Volume *v) {
        _cleanup_failure_ Failure f = { 0 };
        int r;

        r = volume_id_validate(v->id, &f);
        if (r == 0)
                r = check_context(v->context);
        return r > 0 ? -EUCLEAN : r;
}

static int number_column(sqlite3_stmt *st, int column, uint64_t max, uint64_t *ret) {
        sqlite3_int64 n = sqlite3_column_int64(st, column);

        if (n < 0 || (uint64_t) n > max)
                return -EUCLEAN;
        *ret = (uint64_t) n;
        return 0;
}

static int flag_column(sqlite3_stmt *st, int column, bool *ret) {
        uint64_t n;
        int r = number_column(st, column, 1, &n);

        if (r >= 0)
                *ret = n;
        return r;
}

static int gid_column(sqlite3_stmt *st, int column, gid_t max, gid_t *ret) {
        uint64_t n;
        int r = number_column(st, column, max, &n);

        if (r >= 0)
                *ret = (gid_t) n;
        return r;
}

static int read_record(sqlite3_stmt *st, VolumeRecord *ret) {
        _cleanup_(volume_record_done) VolumeRecord record = { 0 };
        int label_state = enum_column(st, 8, record_state_from_string),
            ownership_state = enum_column(st, 14, record_state_from_string), r;

        if (label_state < 0 || ownership_state < 0)
                return -EUCLEAN;
        record.label_state = (RecordState) label_state;
        record.ownership_state = (RecordState) ownership_state;
        r = flag_column(st, 9, &record.tainted);
        if (r >= 0)
                r = dup_column(st, 12, &record.context);
        if (r >= 0)
                r = check_context(record.context);
        if (r >= 0)
                r = number_column(st, 13, VOLUME_RECORD_GENERATION_MAX, &record.generation);
        if (r >= 0)
                r = gid_column(st, 15, GID_NONE - 1, &record.gid);
        if (r < 0)
                return r;
        if ((label_state == STATE_UNKNOWN) != isempty(record.context) ||
            (ownership_state == STATE_UNKNOWN && record.gid != 0))
                return -EUCLEAN;

        *ret = record;
        record = (VolumeRecord){ 0 };
        return 0;
}

/* No option has a comma in it. Which ones are allowed is looked at when they are used. */
static int read_mount(sqlite3_stmt *st, Volume *v) {
        _cleanup_(mount_options_done) MountOptions options = { 0 };
        _cleanup_free_ char *text = NULL;
        _cleanup_strv_ char **all = NULL;
        _cleanup_failure_ Failure f = { 0 };
        int r;

        r = dup_column(st, 16, &text);
        if (r >= 0)
                r = strv_split(text, ",", &all);
        if (r >= 0)
                r = mount_options_parse(all, &options, &f);
        if (r == 0 && !strv_equal(all, options.options))
                r = -EUCLEAN;
        if (r == 0)
                r = flag_column(st, 17, &v->mounted_here);
        if (r != 0)
                return r < 0 ? r : -EUCLEAN;
        v->mount_options = TAKE_PTR(options.options);
        return 0;
}

static int read_volume(sqlite3_stmt *st, Volume **ret) {
        _cleanup_(volume_freep) Volume *v = volume_new(strempty((const char *) sqlite3_column_text(st, 0)));
        int access_mode = enum_column(st, 5, access_mode_from_string),
            strategy = enum_column(st, 6, strategy_from_string), r;

        if (!v)
                return -ENOMEM;
        if (access_mode < 0 || strategy < 0)
                return -EUCLEAN;
        r = dup_column(st, 1, &v->source);
        if (r >= 0)
                r = dup_column(st, 2, &v->fs_type);
        if (r >= 0 && sqlite3_column_type(st, 3) != SQLITE_NULL)
                r = dup_column(st, 3, &v->driver);
        if (r >= 0)
                r = dup_column(st, 4, &v->volume_type);
        if (r >= 0)
                r = dup_column(st, 7, &v->context);
        if (r >= 0)
                r = check_volume(v);
        if (r >= 0)
                r = read_record(st, &v->record);
        if (r >= 0)
                r = read_mount(st, v);
        if (r < 0)
                return r;

        v->access_mode = (AccessMode) access_mode;
        v->strategy = (Strategy) strategy;
        v->last_verified_usec = (uint64_t) sqlite3_column_int64(st, 10);
        v->inodes_used = (uint64_t) sqlite3_column_int64(st, 11);
        *ret = TAKE_PTR(v);
        return 0;
}

static int read_holder(sqlite3_stmt *st, const Volumes *all) {
        _cleanup_(holder_freep) Holder *h = calloc(1, sizeof(*h));
        Volume *v = volumes_find(all, strempty((const char *) sqlite3_column_text(st, 0)));
        int state = enum_column(st, 3, holder_state_from_string), strategy = enum_column(st, 4, strategy_from_string),
            reason = enum_column(st, 5, reason_from_string), r;

        if (!h)
                return -ENOMEM;
        if (!v || state < 0 || strategy < 0 || reason < 0)
                return -EUCLEAN;
        r = dup_column(st, 1, &h->name);
        if (r >= 0)
                r = dup_column(st, 2, &h->target);
        if (r >= 0)
                r = dup_column(st, 10, &h->spec);
        if (r >= 0)
                r = flag_column(st, 6, &h->read_only);
        if (r >= 0)
                r = flag_column(st, 7, &h->adopted);
        if (r >= 0)
                r = flag_column(st, 11, &h->relabelled_here);
        if (r >= 0)
                r = gid_column(st, 12, GID_NONE, &h->fs_group);
        if (r >= 0)
                r = gid_column(st, 13, GID_NONE, &h->disk_gid);
        if (r < 0)
                return r;
        if (!path_is_normalized(h->target) || (h->fs_group == GID_NONE) != (h->disk_gid == GID_NONE))
                return -EUCLEAN;

        h->state = (HolderState) state;
        h->strategy = (Strategy) strategy;
        h->reason = (Reason) reason;
        h->since_usec = (uint64_t) sqlite3_column_int64(st, 8);
        h->mount_id = (uint64_t) sqlite3_column_int64(st, 9);
        volume_add_holder(v, TAKE_PTR(h));
        return 0;
}

static int load_volumes(Store *s, Volumes *all) {
        sqlite3_stmt *st = NULL;
        int r, rc;

        r = store_errno(sqlite3_prepare_v2(s->db, "SELECT * FROM volume", -1, &st, NULL));
        if (r < 0)
                return r;
        while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
                Volume *v;

                r = read_volume(st, &v);
                if (r < 0)
                        break;
                volumes_add(all, v);
        }
        sqlite3_finalize(st);
        return r < 0 ? r : store_errno(rc);
}

static int load_holders(Store *s, const Volumes *all) {
        sqlite3_stmt *st = NULL;
        int r, rc;

        r = store_errno(sqlite3_prepare_v2(s->db, "SELECT * FROM holder ORDER BY rowid", -1, &st, NULL));
        if (r < 0)
                return r;
        while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
                r = read_holder(st, all);
                if (r < 0)
                        break;
        }
        sqlite3_finalize(st);
        return r < 0 ? r : store_errno(rc);
}

int store_load(Store *s, Volumes *ret) {
        _cleanup_(volumes_done) Volumes all = { 0 };
        int r;

        r = load_volumes(s, &all);
        if (r >= 0)
                r = load_holders(s, &all);
        if (r < 0)
                return r;

        *ret = all;
        all = (Volumes){ 0 };
        return 0;
}
