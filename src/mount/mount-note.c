/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/file.h>

#include "basic/log.h"
#include "basic/string-util.h"
#include "mount/mount-note.h"

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

static char *note_path(const char *directory, uint64_t id) {
        return strdup_printf("%s/%" PRIu64, directory, id);
}

/* The kernel gives the id to another mount as soon as the one before has gone: who removes a note looks whose it is. */
static int lock_notes(const char *directory) {
        _cleanup_close_ int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0 || flock(fd, LOCK_EX) < 0)
                return -errno;
        return TAKE_FD(fd);
}

static int write_note(const char *directory, const char *volume, const MountFact *fact) {
        _cleanup_close_ int lock = lock_notes(directory);
        _cleanup_free_ char *path = note_path(directory, fact->mount_id),
                            *text = strdup_printf("%s %s %s", fact->device, volume, fact->target);

        if (lock < 0)
                return lock;
        if (!path || !text)
                return -ENOMEM;
        if (unlink(path) < 0 && errno != ENOENT)
                return -errno;
        return symlink(text, path) < 0 ? -errno : 0;
}

void mount_note_write(const char *directory, const char *volume, const MountFact *fact) {
        int r = write_note(directory, volume, fact);

        if (r < 0)
                log_error_errno(r, "%s: Failed to note the mount in %s: %m", volume, directory);
}

/* Neither a device nor a volume's id has a blank; a target may have some. */
static int parse(const char *text, MountNote *ret) {
        const char *volume = strchr(text, ' '), *target = volume ? strchr(volume + 1, ' ') : NULL;

        if (!target || target[1] != '/')
                return 0;
        ret->device = strndup(text, (size_t) (volume - text));
        ret->volume = strndup(volume + 1, (size_t) (target - volume - 1));
        ret->target = strdup(target + 1);
        return ret->device && ret->volume && ret->target ? 1 : -ENOMEM;
}

/* Returns 1; 0 if there is none, or one that is not ours; or a negative errno. */
static int read_note(const char *directory, uint64_t id, MountNote *ret) {
        _cleanup_free_ char *path = note_path(directory, id);
        MountNote note = { .id = id };
        char text[PATH_MAX];
        ssize_t n;
        int r;

        if (!path)
                return -ENOMEM;
        n = readlink(path, text, sizeof(text) - 1);
        if (n < 0)
                return errno == ENOENT || errno == EINVAL ? 0 : -errno;
        text[n] = '\0';
        r = parse(text, &note);
        if (r <= 0)
                mount_note_done(&note);
        else
                *ret = note;
        return r;
}

int mount_note_exists(const char *directory, uint64_t id, const char *device, const char *target) {
        _cleanup_(mount_note_done) MountNote note = { 0 };
        int r;

        r = read_note(directory, id, &note);
        return r <= 0 ? r : streq_ptr(note.device, device) && streq_ptr(note.target, target);
}

/* Appends the one with the name, if it is one. */
static int append(const char *directory, const char *name, MountNote **notes, size_t *n) {
        MountNote note = { 0 }, *grown;
        unsigned long long id;
        int r;

        if (parse_u64(name, &id) < 0)
                return 0;
        r = read_note(directory, id, &note);
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

int mount_notes_read(const char *directory, MountNote **ret, size_t *ret_n) {
        DIR *stream = opendir(directory);
        MountNote *notes = NULL;
        const struct dirent *entry;
        size_t n = 0;
        int r = 0;

        if (!stream)
                return -errno;
        while (r >= 0 && (errno = 0, entry = readdir(stream)))
                r = append(directory, entry->d_name, &notes, &n);
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

static int remove_note(const char *directory, uint64_t id, const char *device, const char *target) {
        _cleanup_close_ int lock = lock_notes(directory);
        _cleanup_free_ char *path = note_path(directory, id);
        int r;

        if (lock < 0)
                return lock;
        if (!path)
                return -ENOMEM;
        r = mount_note_exists(directory, id, device, target);
        if (r <= 0)
                return r;
        return unlink(path) < 0 ? -errno : 0;
}

void mount_note_remove(const char *directory, uint64_t id, const char *device, const char *target) {
        int r = remove_note(directory, id, device, target);

        if (r < 0)
                log_error_errno(r, "Failed to remove the note of a mount from %s: %m", directory);
}
