/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdarg.h>

#include "grpc/grpc-call.h"

void grpc_reply_done(GrpcReply *r) {
        free(r->text);
        free(r->details);
        grpc_bytes_done(&r->message);
        *r = (GrpcReply){ 0 };
}

int grpc_reply_set(GrpcReply *r, GrpcCode code, const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        r->text = strdup_vprintf(format, ap);
        va_end(ap);
        if (!r->text)
                return -ENOMEM;
        r->code = code;
        return 0;
}
