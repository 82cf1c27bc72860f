/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "grpc/body.h"
#include "grpc/grpc-call.h"
#include "grpc/headers.h"
#include "support/cases.h"

enum { NONE = -1 };

TEST(test_timeout_parse, "/grpc-status/timeout-parse") {
        static const struct {
                const char *value;
                gint64 usec; /* NONE: it is no time */
        } rows[] = {
                { "1n", 1 },
                { "1000n", 1 },
                { "1001n", 2 },
                { "99999999n", 100000 },
                { "0n", 0 },
                { "1u", 1 },
                { "5010m", 5010000 },
                { "119S", 119000000 },
                { "00000119S", 119000000 },
                { "2M", 120000000 },
                { "1H", 3600000000 },
                { "99999999H", 359999996400000000 },
                { "000000119S", NONE },
                { "119", NONE },
                { "S", NONE },
                { "-1S", NONE },
                { "+1S", NONE },
                { " 1S", NONE },
                { "1 S", NONE },
                { "1S ", NONE },
                { "1s", NONE },
                { "1Sm", NONE },
                { "1.5S", NONE },
                { "", NONE },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                uint64_t usec = 12345;
                int r = grpc_timeout_parse(rows[i].value, &usec);

                g_assert_cmpint(r, ==, rows[i].usec == NONE ? -EINVAL : 0);
                g_assert_cmpuint(usec, ==, rows[i].usec == NONE ? 12345 : (uint64_t) rows[i].usec);
        }
}

TEST(test_timeout_format, "/grpc-status/timeout-format") {
        static const struct {
                const char *value;
                uint64_t usec;
        } rows[] = {
                { "0u", 0 },
                { "1u", 1 },
                { "99999999u", 99999999 },
                { "100000m", 100000999 },
                { "120000m", 120000000 },
                { "99999999m", 99999999999 },
                { "100000S", 100000000000 },
                { "99999999S", 99999999999999 },
                { "1666666M", 100000000000000 },
                { "1666666H", 6000000000000000 },
                { "99999999H", UINT64_MAX - 1 },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                char s[GRPC_TIMEOUT_SIZE];
                uint64_t usec;

                grpc_timeout_format(rows[i].usec, s);
                g_assert_cmpstr(s, ==, rows[i].value);
                g_assert_cmpint(grpc_timeout_parse(s, &usec), ==, 0);
                g_assert_cmpuint(usec, <=, rows[i].usec);
        }
}

TEST(test_escape, "/grpc-status/escape") {
        static const struct {
                const char *value, *text;
        } rows[] = {
                { "plain: 1 \"2\" ~", "plain: 1 \"2\" ~" },
                { "100%25", "100%" },
                { "%25zz %252", "%zz %2" },
                { "a%0Ab%09c%7F%01", "a\nb\tc\x7f\x01" },
                { "Ger%C3%A4t %F0%9F%98%80", "Gerät 😀" },
                { "%20 a b %20", "  a b  " },
                { "%20", " " },
                { "%FF", "\xff" },
                { "", "" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *value = grpc_text_escape(rows[i].text), *text = grpc_text_unescape(rows[i].value);

                g_assert_cmpstr(value, ==, rows[i].value);
                g_assert_cmpstr(text, ==, rows[i].text);
        }
}

/* Others escape otherwise, or wrongly. */
TEST(test_unescape, "/grpc-status/unescape") {
        static const struct {
                const char *value, *text;
        } rows[] = {
                { "ger%c3%a4t", "gerät" },
                { "%41%2f", "A/" },
                { " raw ä\n", " raw ä\n" },
                { "%", "%" },
                { "%4", "%4" },
                { "%zz%4g%-1% 1", "%zz%4g%-1% 1" },
                { "%%41", "%A" },
                { "a%00b", "a%00b" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *text = grpc_text_unescape(rows[i].value);

                g_assert_cmpstr(text, ==, rows[i].text);
        }
}

TEST(test_code, "/grpc-status/code") {
        static const struct {
                const char *value;
                GrpcCode code;
        } rows[] = {
                { "0", GRPC_OK },
                { "9", GRPC_FAILED_PRECONDITION },
                { "16", GRPC_UNAUTHENTICATED },
                { "17", GRPC_UNKNOWN },
                { "-1", GRPC_UNKNOWN },
                { "4294967296", GRPC_UNKNOWN },
                { "99999999999999999999999", GRPC_UNKNOWN },
                { "OK", GRPC_UNKNOWN },
                { "", GRPC_UNKNOWN },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_assert_cmpint(grpc_code_parse(rows[i].value), ==, rows[i].code);
        }
}

TEST(test_content_type, "/grpc-status/content-type") {
        static const struct {
                const char *value;
                bool valid;
        } rows[] = {
                { "application/grpc", true },
                { "application/grpc+proto", true },
                { "application/grpc;charset=utf-8", true },
                { "application/grpc-web", false },
                { "application/json", false },
                { "", false },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_assert_cmpint(grpc_content_type_is_valid(rows[i].value), ==, rows[i].valid);
        }
}

#define LARGE "\x00\x00\x40\x00\x01"

static const struct {
        const char *name, *bytes;
        gsize size;
        GrpcBodyState state;
        const char *message;
} bodies[] = {
        { "nothing", "", 0, GRPC_BODY_EMPTY, "" },
        { "half a prefix", "\0\0\0", 3, GRPC_BODY_CUT, "" },
        { "a prefix", "\0\0\0\0\2", 5, GRPC_BODY_CUT, "" },
        { "half a message", "\0\0\0\0\2a", 6, GRPC_BODY_CUT, "a" },
        { "a message", "\0\0\0\0\2ab", 7, GRPC_BODY_COMPLETE, "ab" },
        { "an empty message", "\0\0\0\0\0", 5, GRPC_BODY_COMPLETE, "" },
        { "two messages", "\0\0\0\0\1a\0\0\0\0\1b", 12, GRPC_BODY_MALFORMED, "a" },
        { "a byte too many", "\0\0\0\0\1ab", 7, GRPC_BODY_MALFORMED, "a" },
        { "a byte behind an empty message", "\0\0\0\0\0a", 6, GRPC_BODY_MALFORMED, "" },
        { "compressed", "\1\0\0\0\2ab", 7, GRPC_BODY_COMPRESSED, "" },
        { "compressed and cut", "\1", 1, GRPC_BODY_COMPRESSED, "" },
        { "an unknown flag", "\2\0\0\0\2ab", 7, GRPC_BODY_MALFORMED, "" },
        { "too large", LARGE "ab", 7, GRPC_BODY_TOO_LARGE, "" },
        { "as large as can be",
          "\0\xff\xff\xff\xff"
          "ab",
          7, GRPC_BODY_TOO_LARGE, "" },
};

static void assert_body(const GrpcBody *b, GrpcBodyState state, const char *message) {
        g_assert_cmpint(b->state, ==, state);
        g_assert_cmpmem(b->message.data, b->message.size, message, strlen(message));
}

/* A body is the same however it is cut; a mistake is seen where it is made, so that the bytes before it
 * differ. */
TEST_ROWS(test_body, "/grpc-status/body", bodies, row) {
        GrpcBody whole = { 0 }, bytes = { 0 };
        const uint8_t *data = (const uint8_t *) row->bytes;

        g_assert_cmpint(grpc_body_add(&whole, data, row->size), ==, 0);
        assert_body(&whole, row->state, row->message);
        for (gsize i = 0; i < row->size; i++)
                g_assert_cmpint(grpc_body_add(&bytes, data + i, 1), ==, 0);
        assert_body(&bytes, row->state, row->message);
        grpc_body_done(&whole);
        grpc_body_done(&bytes);
}

TEST(test_body_largest, "/grpc-status/body-largest") {
        g_autofree uint8_t *data = g_malloc0(GRPC_MESSAGE_MAX);
        uint8_t prefix[GRPC_PREFIX_SIZE];
        GrpcBody b = { 0 };

        grpc_prefix_write(GRPC_MESSAGE_MAX, prefix);
        g_assert_cmpint(grpc_body_add(&b, prefix, sizeof(prefix)), ==, 0);
        g_assert_cmpuint(b.message.allocated, ==, 0);
        g_assert_cmpint(grpc_body_add(&b, data, GRPC_MESSAGE_MAX), ==, 0);
        g_assert_cmpint(b.state, ==, GRPC_BODY_COMPLETE);
        g_assert_cmpuint(b.message.size, ==, GRPC_MESSAGE_MAX);
        grpc_body_done(&b);
}

static int take(Headers *h, const char *name, const char *value, gsize size) {
        return headers_take(h, (const uint8_t *) name, strlen(name), (const uint8_t *) value, size);
}

TEST(test_headers, "/grpc-status/headers") {
        g_autofree char *large = g_strnfill(HEADERS_SIZE_MAX, 'x');
        Headers h = { 0 };

        g_assert_cmpint(take(&h, "grpc-status", "1", 1), ==, 0);
        g_assert_cmpint(take(&h, "grpc-status", "2", 1), ==, 0);
        g_assert_cmpint(take(&h, "grpc-statu", "3", 1), ==, 0);
        g_assert_cmpint(take(&h, "grpc-status-", "4", 1), ==, 0);
        g_assert_cmpint(take(&h, "grpc-message", "a\0b", 3), ==, 0);
        g_assert_cmpstr(h.values[HEADER_GRPC_STATUS], ==, "2");
        g_assert_null(h.values[HEADER_GRPC_MESSAGE]);
        g_assert_cmpuint(h.size, ==, 11 + 11 + 10 + 12 + 12 + 4 + 3 + 5 * 32);
        g_assert_false(headers_are_too_large(&h));
        g_assert_cmpint(take(&h, "grpc-message", large, HEADERS_SIZE_MAX), ==, 0);
        g_assert_null(h.values[HEADER_GRPC_MESSAGE]);
        g_assert_true(headers_are_too_large(&h));
        headers_done(&h);
}
