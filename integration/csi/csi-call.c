/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "csi/csi-call.h"
#include "csi/csi-message.h"
#include "grpc/grpc-client.h"

#define CAPABILITIES "/csi.v1.Node/NodeGetCapabilities"

int csi_forward(const CsiCall *c, GrpcReply *ret) {
        return grpc_call(c->socket, c->request, ret);
}

int csi_forward_message(const CsiCall *c, const GrpcBytes *message, GrpcReply *ret) {
        GrpcRequest q = *c->request;

        q.message = message->data;
        q.size = message->size;
        return grpc_call(c->socket, &q, ret);
}

static bool has_group(const Csi__NodeGetCapabilitiesResponse *m) {
        for (size_t i = 0; i < m->n_capabilities; i++)
                if (m->capabilities[i]->rpc &&
                    m->capabilities[i]->rpc->type == CSI__NODE_SERVICE_CAPABILITY__TYPE__VOLUME_MOUNT_GROUP)
                        return true;
        return false;
}

/* An answer that can't be read is the driver's affair. */
static Csi__NodeGetCapabilitiesResponse *read_capabilities(const GrpcReply *reply) {
        ProtobufCMessage *m = NULL;

        if (reply->code != GRPC_OK || csi_read(&csi__node_get_capabilities_response__descriptor, reply->message.data,
                                               reply->message.size, &m) < 0)
                return NULL;
        return (Csi__NodeGetCapabilitiesResponse *) m;
}

int csi_driver_takes_group(const CsiCall *c, GrpcReply *ret) {
        _cleanup_grpc_reply_ GrpcReply reply = { 0 };
        Csi__NodeGetCapabilitiesResponse *m;
        GrpcRequest q = *c->request;
        int r;

        q.method = CAPABILITIES;
        q.message = NULL;
        q.size = 0;
        r = grpc_call(c->socket, &q, &reply);
        if (r < 0)
                return r;
        m = read_capabilities(&reply);
        if (!m) {
                *ret = TAKE_STRUCT(reply);
                return -EIO;
        }
        r = has_group(m);
        csi_free(&m->base);
        return r;
}

/* Writes the message with a further capability. */
static int add_group(Csi__NodeGetCapabilitiesResponse *m, GrpcBytes *ret) {
        Csi__NodeServiceCapability__Rpc rpc = CSI__NODE_SERVICE_CAPABILITY__RPC__INIT;
        Csi__NodeServiceCapability group = CSI__NODE_SERVICE_CAPABILITY__INIT;
        Csi__NodeServiceCapability **own = m->capabilities, **all = calloc(m->n_capabilities + 1, sizeof(void *));
        int r;

        if (!all)
                return -ENOMEM;
        rpc.type = CSI__NODE_SERVICE_CAPABILITY__TYPE__VOLUME_MOUNT_GROUP;
        group.rpc = &rpc;
        for (size_t i = 0; i < m->n_capabilities; i++)
                all[i] = own[i];
        all[m->n_capabilities++] = &group;
        m->capabilities = all;
        r = csi_write(&m->base, ret);
        m->capabilities = own;
        m->n_capabilities--;
        free(all);
        return r;
}

int csi_answer_capabilities(const CsiCall *c, GrpcReply *ret) {
        _cleanup_grpc_bytes_ GrpcBytes message = { 0 };
        Csi__NodeGetCapabilitiesResponse *m;
        int r;

        r = csi_forward(c, ret);
        if (r < 0 || c->settings.groups != DRIVER_GROUPS_SELVOL)
                return r;
        m = read_capabilities(ret);
        if (!m)
                return 0;
        if (!has_group(m))
                r = add_group(m, &message);
        csi_free(&m->base);
        if (r < 0 || message.size == 0)
                return r;
        grpc_bytes_done(&ret->message);
        ret->message = TAKE_STRUCT(message);
        return 0;
}
