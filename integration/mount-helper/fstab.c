/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "mount-helper/fstab.h"

#define OPTIONS_AT_BOOT "nofail,x-systemd.requires=selvol.target"

/* A field as fstab(5) has it: what would end it, what a terminal would obey, and what would make a comment of the line, in octal. */
static void print_field(FILE *stream, const char *field) {
        for (const char *s = field; *s; s++)
                if (*s <= ' ' || *s > '~' || *s == '\\' || (*s == '#' && s == field))
                        fprintf(stream, "\\%03o", (unsigned int) (unsigned char) *s);
                else
                        fputc(*s, stream);
}

char *fstab_line(const MountRequest *q, const char *type) {
        _cleanup_free_ char *line = NULL;
        size_t size = 0;
        FILE *stream = open_memstream(&line, &size);

        if (!stream)
                return NULL;
        print_field(stream, q->source);
        fputc(' ', stream);
        print_field(stream, q->target);
        fputc(' ', stream);
        print_field(stream, type);
        fputc(' ', stream);
        STRV_FOREACH (option, q->options) {
                if (streq(*option, "rw") || streq(*option, "nofail"))
                        continue;
                print_field(stream, *option);
                fputc(',', stream);
        }
        fputs(OPTIONS_AT_BOOT " 0 0", stream);
        return fclose(stream) == 0 ? TAKE_PTR(line) : NULL;
}
