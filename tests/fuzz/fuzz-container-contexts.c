/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "label/selinux.h"
#include "model/context.h"
#include "fuzz.h"

/* The input is the policy's file of contexts for containers. What was read is the same when it is written and
 * read again, and selvol completes only a context that is one. */

static void check_again(const ContainerContexts *c) {
        const struct {
                const char *key, *value;
        } lines[] = { { "process", c->process }, { "file", c->file }, { "ro_file", c->ro_file } };
        _cleanup_(container_contexts_done) ContainerContexts again = { 0 };
        _cleanup_free_ char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        assert(f);
        for (size_t i = 0; i < ELEMENTSOF(lines); i++)
                if (lines[i].value)
                        fprintf(f, "%s = \"%s\"\n", lines[i].key, lines[i].value);
        assert(fclose(f) == 0);
        assert(container_contexts_parse(text, &again) == 0);
        assert(streq_ptr(again.process, c->process) && streq_ptr(again.file, c->file) &&
               streq_ptr(again.ro_file, c->ro_file));
}

static void check_completed(const char *file_context) {
        _cleanup_free_ char *context = NULL, *canonical = NULL;
        _cleanup_failure_ Failure f = { 0 }, other = { 0 };
        int r = context_complete(file_context, "", "s0:c1,c2", &context, &f);

        fuzz_check_failure(r, &f);
        assert((r == 0) == (context != NULL));
        if (r == 0)
                assert(context_canonicalize(context, &canonical, &other) == 0 && streq(context, canonical));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(container_contexts_done) ContainerContexts c = { 0 };
        _cleanup_free_ char *text = fuzz_text(data, size);

        assert(container_contexts_parse(text, &c) == 0);
        assert(c.ro_file || !c.file);
        check_again(&c);
        if (c.file)
                check_completed(c.file);
        return 0;
}
