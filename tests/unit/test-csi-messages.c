/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdbool.h>

#include "csi/csi-message.h"
#include "support/cases.h"

/* The bytes of a field: its number, and what it holds. */
static void put_bytes(GByteArray *a, unsigned field, const void *data, gsize size) {
        const uint8_t head[] = { (uint8_t) (field << 3 | 2), (uint8_t) size };

        g_assert_true(field < 16 && size < 128);
        g_byte_array_append(a, head, sizeof(head));
        g_byte_array_append(a, data, (unsigned) size);
}

static void put_string(GByteArray *a, unsigned field, const char *s) {
        put_bytes(a, field, s, strlen(s));
}

static void put_message(GByteArray *a, unsigned field, GByteArray *inner) {
        put_bytes(a, field, inner->data, inner->len);
        g_byte_array_unref(inner);
}

static void put_number(GByteArray *a, unsigned field, unsigned value) {
        const uint8_t bytes[] = { (uint8_t) (field << 3), (uint8_t) value };

        g_assert_true(field < 16 && value < 128);
        g_byte_array_append(a, bytes, sizeof(bytes));
}

static GByteArray *make_entry(const char *key, const char *value) {
        GByteArray *a = g_byte_array_new();

        put_string(a, 1, key);
        put_string(a, 2, value);
        return a;
}

static GByteArray *make_capability(void) {
        GByteArray *mount = g_byte_array_new(), *mode = g_byte_array_new(), *a = g_byte_array_new();

        put_string(mount, 1, "ext4");
        put_string(mount, 2, "noatime");
        put_string(mount, 2, "context=\"system_u:object_r:container_file_t:s0:c1,c2\"");
        put_string(mount, 3, "1000");
        put_string(mount, 9, "later");
        put_number(mode, 1, 6);
        put_message(a, 2, mount);
        put_message(a, 3, mode);
        put_number(a, 12, 7);
        return a;
}

/* A NodePublishVolumeRequest as kubelet sends it, with a secret and a field that CSI has not got yet. */
static GByteArray *make_publish(void) {
        GByteArray *a = g_byte_array_new();

        put_string(a, 1, "pvc-1");
        put_message(a, 2, make_entry("publish", "context"));
        put_string(a, 3, "/staging");
        put_string(a, 4, "/target");
        put_message(a, 5, make_capability());
        put_number(a, 6, 1);
        put_message(a, 7, make_entry("password", "hunter2"));
        put_message(a, 8, make_entry("csi.storage.k8s.io/pod.name", "pod-a"));
        put_message(a, 8, make_entry("tokens", "{}"));
        put_string(a, 15, "later");
        return a;
}

static Csi__NodePublishVolumeRequest *read_publish(const void *data, gsize size) {
        ProtobufCMessage *m = NULL;

        g_assert_cmpint(csi_read(&csi__node_publish_volume_request__descriptor, data, size, &m), ==, 0);
        return (Csi__NodePublishVolumeRequest *) m;
}

static void assert_text(const ProtobufCBinaryData *field, const char *expected) {
        g_autofree char *s = NULL;

        g_assert_cmpint(csi_text(field, &s), ==, 0);
        g_assert_cmpstr(s, ==, expected);
}

static bool has_bytes(const GrpcBytes *b, const void *data, gsize size) {
        return memmem(b->data, b->size, data, size);
}

TEST(test_read, "/csi-messages/read") {
        g_autoptr(GByteArray) bytes = make_publish();
        Csi__NodePublishVolumeRequest *q = read_publish(bytes->data, bytes->len);
        const Csi__VolumeCapability *capability = q->volume_capability;

        assert_text(&q->volume_id, "pvc-1");
        assert_text(&q->staging_target_path, "/staging");
        assert_text(&q->target_path, "/target");
        g_assert_true(q->readonly);
        g_assert_cmpuint(q->n_volume_context, ==, 2);
        assert_text(&q->volume_context[0]->key, "csi.storage.k8s.io/pod.name");
        assert_text(&q->volume_context[0]->value, "pod-a");
        assert_text(&capability->mount->fs_type, "ext4");
        g_assert_cmpuint(capability->mount->n_mount_flags, ==, 2);
        assert_text(&capability->mount->mount_flags[1], "context=\"system_u:object_r:container_file_t:s0:c1,c2\"");
        assert_text(&capability->mount->volume_mount_group, "1000");
        g_assert_cmpint(capability->access_mode->mode, ==, CSI__ACCESS_MODE__MODE__SINGLE_NODE_SINGLE_WRITER);
        csi_free(&q->base);
}

/* All fields are there again after a change of one, also those of which csi.proto knows nothing. */
TEST(test_change, "/csi-messages/change") {
        g_autoptr(GByteArray) bytes = make_publish(), secret = make_entry("password", "hunter2"),
                              context = make_entry("publish", "context");
        Csi__NodePublishVolumeRequest *q = read_publish(bytes->data, bytes->len), *again;
        ProtobufCBinaryData *group = &q->volume_capability->mount->volume_mount_group, kept = *group;
        _cleanup_grpc_bytes_ GrpcBytes written = { 0 };

        /* unchanged, it only has another order */
        g_assert_cmpint(csi_write(&q->base, &written), ==, 0);
        g_assert_cmpuint(written.size, ==, bytes->len);
        grpc_bytes_done(&written);

        *group = csi_bytes("");
        g_assert_cmpint(csi_write(&q->base, &written), ==, 0);
        *group = kept;
        csi_free(&q->base);
        g_assert_cmpuint(written.size, ==, bytes->len - strlen("1000") - 2);
        again = read_publish(written.data, written.size);
        assert_text(&again->volume_capability->mount->volume_mount_group, "");
        assert_text(&again->volume_capability->mount->mount_flags[0], "noatime");
        assert_text(&again->volume_context[1]->value, "{}");
        g_assert_true(has_bytes(&written, secret->data, secret->len));
        g_assert_true(has_bytes(&written, context->data, context->len));
        g_assert_cmpuint(again->base.n_unknown_fields, ==, 3);
        g_assert_cmpuint(again->volume_capability->base.n_unknown_fields, ==, 1);
        g_assert_cmpuint(again->volume_capability->mount->base.n_unknown_fields, ==, 1);
        csi_free(&again->base);
}

/* A capability is added to those of the driver, also to ones that have no name yet. */
TEST(test_capabilities, "/csi-messages/capabilities") {
        static const uint8_t from_driver[] = { 0x0a, 4, 0x0a, 2, 0x08, 1, 0x0a, 4, 0x0a, 2, 0x08, 99 };
        static const uint8_t expected[] = { 0x0a, 4,    0x0a, 2,    0x08, 1,    0x0a, 4,    0x0a,
                                            2,    0x08, 99,   0x0a, 4,    0x0a, 2,    0x08, 6 };
        Csi__NodeServiceCapability__Rpc rpc = CSI__NODE_SERVICE_CAPABILITY__RPC__INIT;
        Csi__NodeServiceCapability added = CSI__NODE_SERVICE_CAPABILITY__INIT;
        Csi__NodeServiceCapability *all[3] = { NULL, NULL, &added }, **own;
        _cleanup_csi_ ProtobufCMessage *m = NULL;
        _cleanup_grpc_bytes_ GrpcBytes written = { 0 };
        Csi__NodeGetCapabilitiesResponse *answer;

        g_assert_cmpint(
                csi_read(&csi__node_get_capabilities_response__descriptor, from_driver, sizeof(from_driver), &m), ==,
                0);
        answer = (Csi__NodeGetCapabilitiesResponse *) m;
        g_assert_cmpuint(answer->n_capabilities, ==, 2);
        rpc.type = CSI__NODE_SERVICE_CAPABILITY__TYPE__VOLUME_MOUNT_GROUP;
        added.rpc = &rpc;
        own = answer->capabilities;
        memcpy(all, own, 2 * sizeof(all[0]));
        answer->capabilities = all;
        answer->n_capabilities = 3;
        g_assert_cmpint(csi_write(m, &written), ==, 0);
        g_assert_cmpmem(written.data, written.size, expected, sizeof(expected));
        answer->capabilities = own;
        answer->n_capabilities = 2;
}

/* Field numbers, as the wire has them. */
TEST(test_write, "/csi-messages/write") {
        static const uint8_t expected[] = "\x0a\x09"
                                          "CSIPlugin\x12\x01n\x1a\x02/s\x22\x05"
                                          "1.0.0";
        ProtobufCBinaryData versions[] = { csi_bytes("1.0.0") };
        Csi__PluginInfo info = CSI__PLUGIN_INFO__INIT;
        _cleanup_grpc_bytes_ GrpcBytes written = { 0 };

        info.type = csi_bytes("CSIPlugin");
        info.name = csi_bytes("n");
        info.endpoint = csi_bytes("/s");
        info.n_supported_versions = G_N_ELEMENTS(versions);
        info.supported_versions = versions;
        g_assert_cmpint(csi_write(&info.base, &written), ==, 0);
        g_assert_cmpmem(written.data, written.size, expected, sizeof(expected) - 1);
}

static const struct {
        const char *name, *bytes;
        gsize size;
} wrong[] = {
        { "a field that is cut", "\x0a\x05pvc", 5 },
        { "a field as large as can be", "\x0a\xff\xff\xff\xff\x0fpvc", 9 },
        { "a number without an end", "\x30\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12 },
        { "a message that is cut", "\x2a\x03\x12\x05x", 5 },
        { "a group", "\x0b\x0c", 2 },
        { "field 0", "\x02\x01x", 3 },
        { "field 0, of two bytes", "\x80\x00\x00", 3 },
        { "a field of 33 bits", "\xf8\xff\xff\xff\x1f\x00", 6 },
        { "two capabilities", "\x2a\x00\x2a\x00", 4 },
        { "two mounts in a capability", "\x2a\x04\x12\x00\x12\x00", 6 },
        { "a number in place of a message", "\x28\x01", 2 },
};

TEST_ROWS(test_wrong, "/csi-messages/wrong", wrong, row) {
        ProtobufCMessage *m = NULL;

        g_assert_cmpint(
                csi_read(&csi__node_publish_volume_request__descriptor, (const uint8_t *) row->bytes, row->size, &m),
                ==, -EBADMSG);
        g_assert_null(m);
}

/* A field of two bytes takes protobuf-c up to 100. */
TEST(test_many_fields, "/csi-messages/many-fields") {
        g_autofree char *entries = g_malloc(2 * 16385);
        ProtobufCMessage *m = NULL;

        for (unsigned i = 0; i < 16385; i++)
                memcpy(entries + 2 * i, "\x42\x00", 2);
        g_assert_cmpint(
                csi_read(&csi__node_publish_volume_request__descriptor, (const uint8_t *) entries, 2 * 16384, &m), ==,
                0);
        csi_free(m);
        g_assert_cmpint(
                csi_read(&csi__node_publish_volume_request__descriptor, (const uint8_t *) entries, 2 * 16385, &m), ==,
                -EBADMSG);
}

TEST(test_text, "/csi-messages/text") {
        static const ProtobufCBinaryData with_nul = { .len = 3, .data = (uint8_t *) "a\0b" },
                                         broken = { .len = 2, .data = (uint8_t *) "\xc3(" }, none = { .len = 0 };
        char *s = NULL;

        g_assert_cmpint(csi_text(&with_nul, &s), ==, -EINVAL);
        g_assert_cmpint(csi_text(&broken, &s), ==, -EINVAL);
        g_assert_null(s);
        assert_text(&none, "");
}
