/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include <utlist.h>

#include "basic/path-util.h"
#include "model/context.h"
#include "model/limits.h"
#include "store/store-rows.h"

/* A column that is a plain member of a struct. ID: a user or a group. */
typedef enum ColumnType { TEXT, TEXT_OR_NULL, FLAG, U64, ID } ColumnType;

static_assert(sizeof(uid_t) == sizeof(gid_t), "one type of column is for users and groups");

typedef struct ColumnMember {
        int column;
        ColumnType type;
        size_t offset;
} ColumnMember;

static const ColumnMember volume_members[] = {
        { VOLUME_SOURCE, TEXT, offsetof(Volume, source) },
        { VOLUME_LINK, TEXT, offsetof(Volume, link) },
        { VOLUME_FS_TYPE, TEXT, offsetof(Volume, fs_type) },
        { VOLUME_MOUNT_TYPE, TEXT, offsetof(Volume, mount_type) },
        { VOLUME_DRIVER, TEXT_OR_NULL, offsetof(Volume, driver) },
        { VOLUME_VOLUME_TYPE, TEXT, offsetof(Volume, volume_type) },
        { VOLUME_CONTEXT, TEXT, offsetof(Volume, context) },
        { VOLUME_TAINTED, FLAG, offsetof(Volume, mark.tainted) },
        { VOLUME_LAST_VERIFIED, U64, offsetof(Volume, last_verified_usec) },
        { VOLUME_INODES_USED, U64, offsetof(Volume, inodes_used) },
        { VOLUME_MOUNTED_THIS_BOOT, FLAG, offsetof(Volume, mounted_this_boot) },
        { VOLUME_MOUNTED_ELSEWHERE, FLAG, offsetof(Volume, mounted_elsewhere) },
        { VOLUME_LAST_USED, U64, offsetof(Volume, last_used_usec) },
        { VOLUME_INTRODUCER, ID, offsetof(Volume, introducer) },
        { VOLUME_EPHEMERAL, FLAG, offsetof(Volume, ephemeral) },
};

static const ColumnMember holder_members[] = {
        { HOLDER_NAME, TEXT, offsetof(Holder, name) },
        { HOLDER_TARGET, TEXT, offsetof(Holder, target) },
        { HOLDER_READ_ONLY, FLAG, offsetof(Holder, read_only) },
        { HOLDER_ADOPTED, FLAG, offsetof(Holder, adopted) },
        { HOLDER_RELEASE_ON_UMOUNT, FLAG, offsetof(Holder, release_on_umount) },
        { HOLDER_SINCE, U64, offsetof(Holder, since_usec) },
        { HOLDER_MOUNT_ID, U64, offsetof(Holder, mount_id) },
        { HOLDER_SPEC, TEXT, offsetof(Holder, spec) },
        { HOLDER_RELABELED_HERE, FLAG, offsetof(Holder, relabeled_here) },
        { HOLDER_FS_GROUP, ID, offsetof(Holder, fs_group) },
        { HOLDER_DISK_GID, ID, offsetof(Holder, disk_gid) },
        { HOLDER_CONTEXT, TEXT, offsetof(Holder, context) },
        { HOLDER_DEVICE, TEXT, offsetof(Holder, device) },
        { HOLDER_SUPERBLOCK, TEXT, offsetof(Holder, superblock) },
        { HOLDER_OWNER, ID, offsetof(Holder, owner) },
};

static void set_members(Change *c, const ColumnMember *members, size_t n, const void *object) {
        for (const ColumnMember *m = members; m < members + n; m++) {
                const void *member = (const char *) object + m->offset;

                switch (m->type) {
                case TEXT:
                        change_set_text(c, m->column, strempty(*(char *const *) member));
                        break;
                case TEXT_OR_NULL:
                        change_set_text(c, m->column, *(char *const *) member);
                        break;
                case FLAG:
                        change_set_number(c, m->column, *(const bool *) member);
                        break;
                case U64:
                        change_set_number(c, m->column, *(const uint64_t *) member);
                        break;
                case ID:
                        change_set_number(c, m->column, *(const gid_t *) member);
                        break;
                }
        }
}

void rows_put_holder(Changes *all, const Volume *v, const Holder *h) {
        Change *c = changes_append(all, PUT_HOLDER, v->id);

        if (!c)
                return;
        set_members(c, holder_members, ELEMENTSOF(holder_members), h);
        change_set_text(c, HOLDER_STATE, holder_state_to_string(h->state));
        change_set_text(c, HOLDER_STRATEGY, strategy_to_string(h->strategy));
        change_set_text(c, HOLDER_REASON, reason_to_string(h->reason));
}

void rows_put_volume(Changes *all, const Volume *v) {
        _cleanup_free_ char *options = strv_join(v->mount_options, ",");
        Change *c = changes_append(all, PUT_VOLUME, v->id);
        const Mark *m = &v->mark;
        bool labels_known = m->label_state != FILES_UNKNOWN && !isempty(m->context),
             group_known = m->ownership_state != FILES_UNKNOWN;

        if (!c)
                return;
        set_members(c, volume_members, ELEMENTSOF(volume_members), v);
        change_set_text(c, VOLUME_ACCESS_MODE, access_mode_to_string(v->access_mode));
        change_set_text(c, VOLUME_STRATEGY, strategy_to_string(v->strategy));
        change_set_text(c, VOLUME_IDENTITY, v->identity.text);
        change_set_text(c, VOLUME_FINGERPRINT, v->fingerprint.text);
        /* rows_load() would refuse a known state without a context. */
        change_set_text(c, VOLUME_LABEL_STATE, files_state_to_string(labels_known ? m->label_state : FILES_UNKNOWN));
        change_set_text(c, VOLUME_LABEL_CONTEXT, labels_known ? m->context : "");
        change_set_text(c, VOLUME_OWNERSHIP_STATE, files_state_to_string(m->ownership_state));
        change_set_number(c, VOLUME_GID, group_known ? m->gid : 0);
        /* Out of memory for the options: the record then does not say how the volume was mounted last. */
        change_set_text(c, VOLUME_MOUNT_OPTIONS, strempty(options));
        change_set_number(c, VOLUME_MOUNTED_HERE, v->mounted_here && options);
}

void rows_delete_holder(Changes *all, const char *target) {
        (void) changes_append(all, DELETE_HOLDER, target);
}

void rows_delete_volume(Changes *all, const char *id) {
        (void) changes_append(all, DELETE_VOLUME, id);
}

void rows_put_boot_id(Changes *all, const char *boot_id) {
        Change *c = changes_append(all, PUT_META, "boot_id");

        if (c)
                change_set_text(c, META_VALUE, boot_id);
}

void rows_put_job_numbers(Changes *all, uint64_t end) {
        _cleanup_free_ char *text = strdup_printf("%" PRIu64, end);
        Change *c = changes_append(all, PUT_META, "job_numbers");

        if (c)
                change_set_text(c, META_VALUE, strempty(text));
}

void rows_put_everything(Changes *all, const Volumes *volumes, const char *boot_id) {
        Volume *v, *next;
        Holder *h;

        rows_put_boot_id(all, boot_id);
        HASH_ITER (hh, volumes->table, v, next) {
                rows_put_volume(all, v);
                /* The mount of a holder that is only planned has no identity yet. */
                LL_FOREACH (v->holders, h)
                        if (h->state != HOLDER_MOUNTING || h->mount_id != 0)
                                rows_put_holder(all, v, h);
        }
}

static const char *text_column(sqlite3_stmt *st, int column) {
        return strempty((const char *) sqlite3_column_text(st, column));
}

/* A NUL ends a C string: two different keys may then look equal. */
static bool column_is_whole(sqlite3_stmt *st, int column) {
        return strlen(text_column(st, column)) == (size_t) sqlite3_column_bytes(st, column);
}

static int dup_column(sqlite3_stmt *st, int column, char **ret) {
        const char *text = text_column(st, column);

        /* SQLite stores any bytes, but D-Bus accepts only UTF-8. */
        if (!column_is_whole(st, column) || !utf8_is_valid(text))
                return -EUCLEAN;
        return free_and_strdup(ret, text);
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
        int r;

        r = number_column(st, column, 1, &n);
        if (r < 0)
                return r;
        *ret = n;
        return 0;
}

static int id_column(sqlite3_stmt *st, int column, gid_t max, gid_t *ret) {
        uint64_t n;
        int r;

        r = number_column(st, column, max, &n);
        if (r < 0)
                return r;
        *ret = (gid_t) n;
        return 0;
}

/* After an error the caller frees the members read before. */
static int read_members(sqlite3_stmt *st, const ColumnMember *members, size_t n, void *object) {
        for (const ColumnMember *m = members; m < members + n; m++) {
                void *member = (char *) object + m->offset;
                int r = 0;

                switch (m->type) {
                case TEXT_OR_NULL:
                        if (sqlite3_column_type(st, m->column) == SQLITE_NULL)
                                break;
                        _fallthrough_;
                case TEXT:
                        r = dup_column(st, m->column, member);
                        break;
                case FLAG:
                        r = flag_column(st, m->column, member);
                        break;
                case U64:
                        *(uint64_t *) member = (uint64_t) sqlite3_column_int64(st, m->column);
                        break;
                case ID:
                        r = id_column(st, m->column, GID_NONE, member);
                        break;
                }
                if (r < 0)
                        return r;
        }
        return 0;
}

static int check_context_text(const char *context) {
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_free_ char *canonical = NULL;
        int r;

        if (isempty(context))
                return 0;
        r = context_canonicalize(context, &canonical, &f);
        if (r < 0)
                return r;
        if (r > 0 || !streq(canonical, context))
                return -EUCLEAN;
        return 0;
}

int rows_get_boot_id(const StoreFile *f, char **ret) {
        _cleanup_statement_ sqlite3_stmt *st = f->statements[GET_META];
        _cleanup_free_ char *id = NULL;
        const char *text;
        int r;

        (void) sqlite3_bind_text(st, 1, "boot_id", -1, SQLITE_STATIC);
        r = statement_step(st);
        if (r < 0 && r != -EUCLEAN)
                return r;
        /* Any bytes are allowed, because the id is only compared. An id that can't be read equals no
         * boot's. */
        text = text_column(st, META_VALUE);
        r = free_and_strdup(&id, r != 0 && isempty(text) ? "unreadable" : text);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(id);
        return 0;
}

int rows_get_job_numbers(const StoreFile *f, uint64_t *ret) {
        _cleanup_statement_ sqlite3_stmt *st = f->statements[GET_META];
        unsigned long long end;
        int r;

        (void) sqlite3_bind_text(st, 1, "job_numbers", -1, SQLITE_STATIC);
        r = statement_step(st);
        if (r < 0 && r != -EUCLEAN)
                return r;
        *ret = r > 0 && parse_u64(text_column(st, META_VALUE), &end) >= 0 && end <= JOB_NUMBER_MAX ? end : 0;
        return 0;
}

static int read_volume_mark(sqlite3_stmt *st, Mark *m) {
        int label_state = files_state_from_string(text_column(st, VOLUME_LABEL_STATE)),
            ownership_state = files_state_from_string(text_column(st, VOLUME_OWNERSHIP_STATE)), r;

        if (label_state < 0 || ownership_state < 0)
                return -EUCLEAN;
        m->label_state = (FilesState) label_state;
        m->ownership_state = (FilesState) ownership_state;
        r = dup_column(st, VOLUME_LABEL_CONTEXT, &m->context);
        if (r < 0)
                return r;
        r = check_context_text(m->context);
        if (r < 0)
                return r;
        r = id_column(st, VOLUME_GID, GID_NONE - 1, &m->gid);
        if (r < 0)
                return r;
        return mark_is_consistent(m) ? 0 : -EUCLEAN;
}

/* Options contain no commas. selvol checks whether an option is allowed when it uses the option. */
static int read_volume_mount(sqlite3_stmt *st, Volume *v) {
        _cleanup_(mount_options_done) MountOptions options = { 0 };
        _cleanup_strv_ char **all = NULL;
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_free_ char *text = NULL;
        int r;

        r = dup_column(st, VOLUME_MOUNT_OPTIONS, &text);
        if (r < 0)
                return r;
        r = strv_split(text, ",", &all);
        if (r < 0)
                return r;
        r = mount_options_parse(all, &options, &f);
        if (r < 0)
                return r;
        if (r > 0 || !strv_equal(all, options.options))
                return -EUCLEAN;
        r = flag_column(st, VOLUME_MOUNTED_HERE, &v->mounted_here);
        if (r < 0)
                return r;
        v->mount_options = TAKE_PTR(options.options);
        return 0;
}

static int load_volume(sqlite3_stmt *st, Volumes *all) {
        _cleanup_(volume_freep) Volume *v = volume_new(text_column(st, VOLUME_ID));
        _cleanup_failure_ Failure f = { 0 };
        int access_mode = access_mode_from_string(text_column(st, VOLUME_ACCESS_MODE)),
            strategy = strategy_from_string(text_column(st, VOLUME_STRATEGY)), r;

        if (!v)
                return -ENOMEM;
        if (access_mode < 0 || strategy < 0 || !column_is_whole(st, VOLUME_ID))
                return -EUCLEAN;
        v->access_mode = (AccessMode) access_mode;
        v->strategy = (Strategy) strategy;
        r = volume_id_validate(v->id, &f);
        if (r != 0)
                return r < 0 ? r : -EUCLEAN;
        r = read_members(st, volume_members, ELEMENTSOF(volume_members), v);
        if (r < 0)
                return r;
        r = check_context_text(v->context);
        if (r < 0)
                return r;
        r = read_volume_mark(st, &v->mark);
        if (r < 0)
                return r;
        r = read_volume_mount(st, v);
        if (r < 0)
                return r;
        if (fingerprint_from_string(text_column(st, VOLUME_FINGERPRINT), &v->fingerprint) < 0 ||
            identity_from_string(text_column(st, VOLUME_IDENTITY), &v->identity) < 0)
                return -EUCLEAN;
        if (volumes_find(all, v->id))
                return -EUCLEAN;

        r = volumes_add(all, v);
        if (r >= 0)
                TAKE_PTR(v);
        return r;
}

/* A holder whose volume was not read is skipped. */
static int load_holder(sqlite3_stmt *st, Volumes *all) {
        _cleanup_(holder_freep) Holder *h = calloc(1, sizeof(*h));
        Volume *v = volumes_find(all, text_column(st, HOLDER_VOLUME));
        int state = holder_state_from_string(text_column(st, HOLDER_STATE)),
            strategy = strategy_from_string(text_column(st, HOLDER_STRATEGY)),
            reason = reason_from_string(text_column(st, HOLDER_REASON)), r;

        if (!h)
                return -ENOMEM;
        if (!v || state < 0 || strategy < 0 || reason < 0 || !column_is_whole(st, HOLDER_VOLUME))
                return -EUCLEAN;
        h->state = (HolderState) state;
        h->strategy = (Strategy) strategy;
        h->reason = (Reason) reason;
        r = read_members(st, holder_members, ELEMENTSOF(holder_members), h);
        if (r < 0)
                return r;
        /* With a damaged index two rows may have the same key. */
        if (!path_is_normalized(h->target) || volumes_find_target(all, h->target, NULL))
                return -EUCLEAN;
        r = check_context_text(h->context);
        if (r < 0)
                return r;
        if ((h->fs_group == GID_NONE) != (h->disk_gid == GID_NONE))
                return -EUCLEAN;

        r = volume_add_holder(v, h);
        if (r >= 0)
                TAKE_PTR(h);
        return r;
}

/* Loads all rows of a statement. The first column is the volume's id; target: the column of the target, or
 * -1. */
static int load_rows(sqlite3_stmt *statement, int (*load)(sqlite3_stmt *row, Volumes *all), int target, Volumes *all,
                     const Skipped *skipped) {
        _cleanup_statement_ sqlite3_stmt *st = statement;
        int r;

        while ((r = statement_step(st)) > 0) {
                r = load(st, all);
                if (r == -EUCLEAN) /* may be any bytes: the callback escapes them */
                        skipped->callback(skipped->userdata, text_column(st, 0),
                                          target < 0 ? "" : text_column(st, target));
                else if (r < 0)
                        return r;
        }
        return r;
}

int rows_load(const StoreFile *f, Volumes *all, const Skipped *skipped) {
        int r;

        r = load_rows(f->statements[GET_VOLUMES], load_volume, -1, all, skipped);
        if (r >= 0)
                r = load_rows(f->statements[GET_HOLDERS], load_holder, HOLDER_TARGET, all, skipped);
        if (r < 0)
                volumes_done(all);
        return r;
}
