/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/log.h"
#include "basic/time-util.h"
#include "csi/csi-proxy.h"
#include "grpc/grpc-client.h"

int proxy_answer(const GrpcRequest *q, GrpcReply *ret, void *userdata) {
        const Proxy *p = userdata;
        uint64_t start_usec = now_monotonic_usec();
        int r;

        r = grpc_call(p->driver_socket, q, ret);
        if (r < 0)
                return r;
        log_debug("%s: code %d after %u ms", q->method, (int) ret->code,
                  (unsigned) ((now_monotonic_usec() - start_usec) / USEC_PER_MSEC));
        return 0;
}
