/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/xattr.h>

#include "basic/path-util.h"
#include "model/context.h"
#include "model/limits.h"
#include "mount/denial.h"

#define SELINUX_FS  "/sys/fs/selinux"
#define LABEL_XATTR "security.selinux"

static const struct {
        const char *noun, *types, *type;
        const char *shared; /* a directory of which the others' type has to stay */
} objects[DENIED_OBJECTS] = {
        [DENIED_TARGET] = { "target", "container_file_t, container_var_lib_t and var_lib_t", "container_file_t" },
        [DENIED_IMAGE] = { "image",
                           "selvol_image_t, and read container_file_t, container_var_lib_t and var_lib_t (with 'setsebool -P selvol_write_other_images on' also write)",
                           "selvol_image_t", "/var/lib" },
        [DENIED_DEVICE] = { "device", "fixed_disk_device_t, removable_device_t and device_t", "fixed_disk_device_t",
                            "/dev" },
};

/* Reads a file of selinuxfs as text. Returns 0 or a negative errno. */
static int read_text(int fd, char *buffer, size_t size) {
        ssize_t n = fd < 0 ? -1 : pread(fd, buffer, size - 1, 0);

        if (n < 0)
                return -errno;
        buffer[n] = '\0';
        return 0;
}

bool selinux_is_enforcing(void) {
        _cleanup_close_ int fd = open(SELINUX_FS "/enforce", O_RDONLY | O_CLOEXEC);
        char text[2] = "";

        return read_text(fd, text, sizeof(text)) == 0 && text[0] == '1';
}

/* Reads the number that the loaded policy has for a class, or for one of its permissions. */
static int read_number(const char *class, const char *file, unsigned *ret) {
        _cleanup_free_ char *path = strdup_printf(SELINUX_FS "/class/%s/%s", class, file);
        _cleanup_close_ int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -EBADF;
        char text[32];
        int r;

        if (!path)
                return -ENOMEM;
        r = read_text(fd, text, sizeof(text));
        if (r < 0)
                return r;
        return sscanf(text, "%u", ret) == 1 ? 0 : -EBADMSG;
}

int policy_allows(const char *subject, const char *object, const char *class, const char *permission) {
        enum { PERMISSIVE = 1 };
        _cleanup_free_ char *own = NULL, *file = strdup_printf("perms/%s", permission), *query = NULL;
        _cleanup_close_ int fd = -EBADF, attribute = -EBADF;
        unsigned number, bit, allowed, flags = 0;
        char text[CONTEXT_MAX + 1];
        int r;

        if (!file)
                return -ENOMEM;
        if (!subject) {
                attribute = open("/proc/thread-self/attr/current", O_RDONLY | O_CLOEXEC);
                r = read_text(attribute, text, sizeof(text));
                if (r < 0)
                        return r;
                subject = own = strndup(text, strcspn(text, "\n"));
                if (!own)
                        return -ENOMEM;
        }
        r = read_number(class, "index", &number);
        if (r < 0)
                return r;
        r = read_number(class, file, &bit);
        if (r < 0)
                return r;
        query = strdup_printf("%s %s %u", subject, object, number);
        if (!query)
                return -ENOMEM;
        fd = open(SELINUX_FS "/access", O_RDWR | O_CLOEXEC);
        if (fd < 0 || write(fd, query, strlen(query)) < 0)
                return -errno;
        r = read_text(fd, text, sizeof(text));
        if (r < 0)
                return r;
        if (bit < 1 || bit > 32 || sscanf(text, "%x %*x %*x %*x %*u %x", &allowed, &flags) < 1)
                return -EBADMSG;
        return ((allowed >> (bit - 1)) & 1) || (flags & PERMISSIVE);
}

/* Reads the label of an open file; "" if it can't be read. */
static void read_label(int fd, char *buffer, size_t size) {
        char path[sizeof("/proc/self/fd/-2147483648")];
        ssize_t n;

        (void) snprintf(path, sizeof(path), "/proc/self/fd/%i", fd);
        n = getxattr(path, LABEL_XATTR, buffer, size - 1);
        buffer[n < 0 ? 0 : n] = '\0';
}

/* Returns the type of a context, escaped. */
static char *type_of(const char *context) {
        _cleanup_free_ char *type = context_part(context, CONTEXT_TYPE);

        return type ? string_escape(isempty(type) ? "that is not known" : type, CONTEXT_MAX) : NULL;
}

const char *denial_types(DeniedObject object) {
        return objects[object].types;
}

static bool is_for_images(const char *directory) {
        static const char images[] = "/var/lib/selvol-images";

        return streq(directory, images) || path_is_beneath(directory, images);
}

/* Whether a directory has files of others, whose type has to stay. */
static bool is_shared(DeniedObject object, const char *directory) {
        static const char *const of_host[] = { "/",     "/etc", "/home", "/media", "/mnt", "/opt",
                                               "/root", "/srv", "/tmp",  "/usr",   "/var" };

        for (size_t i = 0; i < ELEMENTSOF(of_host); i++)
                if (streq(directory, of_host[i]))
                        return true;
        return streq_ptr(directory, objects[object].shared);
}

char *denial_remedy(DeniedObject object, const char *path, const char *directory) {
        const bool device = object == DENIED_DEVICE, alone = object != DENIED_TARGET && is_shared(object, directory);
        const char *place = alone ? path : directory, *all = alone ? "" : device ? "/.*" : "(/.*)?";
        _cleanup_free_ char *pattern = strdup_printf("%s%s", place, all),
                            *quoted = pattern ? shell_quote(pattern) : NULL, *word = shell_quote(place);

        if (!quoted || !word)
                return NULL;
        /* The policy has a type there that the worker may use; the object came from elsewhere. */
        if (!device && (object == DENIED_TARGET ? path_is_beneath(directory, "/var/lib") : is_for_images(directory)))
                return strdup_printf("restorecon -RFx %s", word);
        /* -x: not into volumes that are mounted there. */
        return strdup_printf("semanage fcontext -a %s-t %s %s && restorecon -RFx %s", device ? "-f b " : "",
                             objects[object].type, quoted, word);
}

int denial_failure(DeniedObject object, int fd, const char *path, const char *directory, Failure *f) {
        _cleanup_free_ char *escaped = string_escape(path, 200), *type = NULL, *remedy = NULL;
        char label[CONTEXT_MAX + 1];

        if (!escaped)
                return -ENOMEM;
        if (!selinux_is_enforcing())
                return failure_set(
                        f, FAILURE_MOUNT_FAILED,
                        "The %s '%s' can't be used (EACCES): its server or a security module denies it, see journalctl -k.",
                        objects[object].noun, escaped);
        read_label(fd, label, sizeof(label));
        type = type_of(label);
        remedy = denial_remedy(object, path, directory);
        if (!type || !remedy)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_SELINUX_DENIED,
                "SELinux denies selvol-worker the %s '%s' of type %s: it may use %s. To give it such a type: %s",
                objects[object].noun, escaped, type, objects[object].types, remedy);
}

int denial_source_failure(int fd, const char *path, Failure *f) {
        const char *slash = strrchr(path, '/');
        _cleanup_free_ char *directory = strndup(path, slash > path ? (size_t) (slash - path) : 1);

        if (!directory)
                return -ENOMEM;
        return denial_failure(startswith(path, "/dev/") ? DENIED_DEVICE : DENIED_IMAGE, fd, path, directory, f);
}

static int type_failure(const char *source, const char *context, Failure *f) {
        _cleanup_free_ char *type = type_of(context);

        if (!type)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_SELINUX_DENIED,
                "SELinux denies selvol-worker a mount of %s with type %s: its policy module allows container_file_t, container_ro_file_t and virt_var_lib_t. Use one of them, or load a module that allows this type (semodule -i FILE), see LabelTypes= in selvol.conf(5).",
                source, type);
}

int denial_mount_failure(const char *source, const char *fs_type, const char *context, Failure *f) {
        if (!selinux_is_enforcing())
                return failure_set(
                        f, FAILURE_MOUNT_FAILED,
                        "Mounting %s as %s is denied (EACCES): a security module does so, see journalctl -k.", source,
                        fs_type);
        if (!isempty(context) && policy_allows(NULL, context, "filesystem", "relabelto") == 0)
                return type_failure(source, context, f);
        return failure_set(
                f, FAILURE_SELINUX_DENIED,
                "SELinux denies selvol-worker a mount of %s as %s. To allow it: ausearch -m AVC -c selvol-worker | audit2allow -M selvol-local && semodule -i selvol-local.pp",
                source, fs_type);
}

int denial_check_target(int fd, const char *path, const char *directory, Failure *f) {
        char label[CONTEXT_MAX + 1];
        int r;

        if (!selinux_is_enforcing())
                return 0;
        read_label(fd, label, sizeof(label));
        r = isempty(label) ? 1 : policy_allows(NULL, label, "dir", "mounton");
        if (r == 0)
                return denial_failure(DENIED_TARGET, fd, path, directory, f);
        return r == -ENOMEM ? r : 0;
}

int denial_check_context(const char *source, const char *context, Failure *f) {
        int r;

        if (isempty(context) || !selinux_is_enforcing())
                return 0;
        r = policy_allows(NULL, context, "filesystem", "relabelto");
        if (r == 0)
                return type_failure(source, context, f);
        return r == -ENOMEM ? r : 0;
}
