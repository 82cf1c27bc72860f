/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/file.h>
#include <time.h>

#include "basic/log.h"
#include "basic/string-util.h"
#include "mount/mount-note.h"
#include "mount/mountinfo.h"

#define NEW_NOTE MOUNT_NOTES "/new"

void mount_note_done(MountNote *n) {
        free(n->device);
        free(n->volume);
        free(n->target);
        *n = (MountNote){ 0 };
}

MountNote *mount_notes_free(MountNote *notes, size_t n) {
        for (size_t i = 0; i < n; i++)
                mount_note_done(&notes[i]);
        free(notes);
        return NULL;
}

static char *note_path(uint64_t id) {
        return strdup_printf(MOUNT_NOTES "/%" PRIu64, id);
}

/* Locks the notes. The kernel may reuse a mount's id at once, so a note is removed only after a check of its
 * unique id, under the lock. */
static int lock_notes(void) {
        _cleanup_close_ int fd = open(MOUNT_NOTES, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0 || flock(fd, LOCK_EX) < 0)
                return -errno;
        return TAKE_FD(fd);
}

/* Returns text with blanks and backslashes as \xNN: only the last part of a note may contain blanks. */
static char *escape_part(const char *text) {
        char *escaped = malloc(strlen(text) * strlen("\\xff") + 1), *p = escaped;

        for (; escaped && *text; text++)
                if (*text == ' ' || *text == '\\')
                        p = stpcpy(p, *text == ' ' ? "\\x20" : "\\x5c");
                else
                        *p++ = *text;
        if (escaped)
                *p = '\0';
        return escaped;
}

/* Reverses escape_part(), in place. */
static void unescape_part(char *text) {
        char *p = text;

        for (; *text; p++) {
                bool blank = startswith(text, "\\x20"), backslash = startswith(text, "\\x5c");

                *p = blank ? ' ' : *text;
                text += blank || backslash ? strlen("\\xff") : 1;
        }
        *p = '\0';
}

char *mount_note_format(const MountNote *note) {
        _cleanup_free_ char *volume = escape_part(note->volume);

        if (!volume)
                return NULL;
        return strdup_printf("%s %" PRIu64 " %s %s %s", note->device, note->unique_id,
                             note->adopted ? "adopted" : "mounted", volume, note->target);
}

int mount_note_write(int fd, MountNote *note) {
        _cleanup_close_ int lock = lock_notes();
        _cleanup_free_ char *path = NULL, *text = NULL;
        struct timespec now;
        int r;

        if (lock < 0)
                return lock;
        r = mount_identify_unique(fd, &note->id, &note->unique_id);
        if (r < 0)
                return r;
        /* Before Linux 6.8 the time replaces the unique id. */
        if (note->unique_id == 0) {
                if (clock_gettime(CLOCK_BOOTTIME, &now) < 0)
                        return -errno;
                note->unique_id = (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
        }
        path = note_path(note->id);
        text = mount_note_format(note);
        if (!path || !text)
                return -ENOMEM;
        /* rename(2) replaces an older note, so an adopted mount always has a note. */
        if ((unlink(NEW_NOTE) < 0 && errno != ENOENT) || symlink(text, NEW_NOTE) < 0 || rename(NEW_NOTE, path) < 0)
                return -errno;
        return 0;
}

int mount_note_parse(char *text, uint64_t id, MountNote *ret) {
        _cleanup_(mount_note_done) MountNote note = { .id = id };
        char *parts[5] = { text };
        unsigned long long unique_id;

        /* Only the last part, the target, may contain blanks. */
        for (size_t i = 1; i < ELEMENTSOF(parts); i++) {
                parts[i] = strchr(parts[i - 1], ' ');
                if (!parts[i])
                        return 0;
                *parts[i]++ = '\0';
        }
        if (parse_u64(parts[1], &unique_id) < 0 || parts[4][0] != '/')
                return 0;
        unescape_part(parts[3]);
        note.unique_id = unique_id;
        note.adopted = streq(parts[2], "adopted");
        note.device = strdup(parts[0]);
        note.volume = strdup(parts[3]);
        note.target = strdup(parts[4]);
        if (!note.device || !note.volume || !note.target)
                return -ENOMEM;
        *ret = TAKE_STRUCT(note);
        return 1;
}

/* Reads the note with the id. Returns 1; 0 if there is none, or the link is no note; or a negative errno. */
static int read_note(uint64_t id, MountNote *ret) {
        _cleanup_free_ char *path = note_path(id);
        char text[PATH_MAX];
        ssize_t n;

        if (!path)
                return -ENOMEM;
        n = readlink(path, text, sizeof(text) - 1);
        if (n < 0)
                return errno == ENOENT || errno == EINVAL ? 0 : -errno;
        text[n] = '\0';
        return mount_note_parse(text, id, ret);
}

int mount_note_find(uint64_t id, const char *device, const char *target, MountNote *ret) {
        _cleanup_(mount_note_done) MountNote note = { 0 };
        int r;

        r = read_note(id, &note);
        if (r <= 0)
                return r;
        if (!streq_ptr(note.device, device) || !streq_ptr(note.target, target))
                return 0;
        r = statmount_is_there(note.unique_id, id);
        if (r <= 0 && r != -EOPNOTSUPP)
                return r;
        if (ret)
                *ret = TAKE_STRUCT(note);
        return 1;
}

/* Appends the note with the name, if the name is of a note. */
static int append_note(const char *name, MountNote **notes, size_t *n) {
        MountNote note = { 0 }, *grown;
        unsigned long long id;
        int r;

        if (parse_u64(name, &id) < 0)
                return 0;
        r = read_note(id, &note);
        if (r <= 0)
                return r;
        grown = reallocarray(*notes, *n + 1, sizeof(MountNote));
        if (!grown) {
                mount_note_done(&note);
                return -ENOMEM;
        }
        grown[(*n)++] = note;
        *notes = grown;
        return 0;
}

int mount_notes_read(MountNote **ret, size_t *ret_n) {
        DIR *stream = opendir(MOUNT_NOTES);
        MountNote *notes = NULL;
        const struct dirent *entry;
        size_t n = 0;
        int r = 0;

        if (!stream)
                return -errno;
        while (r >= 0 && (errno = 0, entry = readdir(stream)))
                r = append_note(entry->d_name, &notes, &n);
        if (r >= 0)
                r = -errno;
        (void) closedir(stream);
        if (r < 0) {
                mount_notes_free(notes, n);
                return r;
        }
        *ret = notes;
        *ret_n = n;
        return 0;
}

static int remove_note(uint64_t id, uint64_t unique_id) {
        _cleanup_close_ int lock = lock_notes();
        _cleanup_(mount_note_done) MountNote note = { 0 };
        _cleanup_free_ char *path = note_path(id);
        int r;

        if (lock < 0)
                return lock;
        if (!path)
                return -ENOMEM;
        r = read_note(id, &note);
        if (r <= 0 || note.unique_id != unique_id)
                return r < 0 ? r : 0;
        return unlink(path) < 0 ? -errno : 0;
}

void mount_note_remove(uint64_t id, uint64_t unique_id) {
        int r = remove_note(id, unique_id);

        if (r < 0)
                log_error_errno(r, "Failed to remove the note of a mount from " MOUNT_NOTES ": %m");
}
