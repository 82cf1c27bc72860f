/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/time-util.h"
#include "csi/csi-selvold.h"
#include "support/cases.h"

/* The words of selvol-integration(7). */
static const char *const words[GRPC_CODES] = {
        [GRPC_INVALID_ARGUMENT] = "INVALID_ARGUMENT",
        [GRPC_DEADLINE_EXCEEDED] = "DEADLINE_EXCEEDED",
        [GRPC_NOT_FOUND] = "NOT_FOUND",
        [GRPC_ALREADY_EXISTS] = "ALREADY_EXISTS",
        [GRPC_PERMISSION_DENIED] = "PERMISSION_DENIED",
        [GRPC_RESOURCE_EXHAUSTED] = "RESOURCE_EXHAUSTED",
        [GRPC_FAILED_PRECONDITION] = "FAILED_PRECONDITION",
        [GRPC_ABORTED] = "ABORTED",
        [GRPC_INTERNAL] = "INTERNAL",
        [GRPC_UNAVAILABLE] = "UNAVAILABLE",
};

/* The section ERRORS has a line "NAME (*ACTION*, STATUS)" for each. */
TEST(page, "/csi-codes/page") {
        g_autofree char *path = g_test_build_filename(G_TEST_DIST, "docs", "selvol-integration.7.rst", NULL);
        g_autoptr(GRegex) heading = g_regex_new("^(\\w+) \\(\\*\\w+\\*, ([A-Z_]+)\\)$", G_REGEX_MULTILINE, 0, NULL);
        g_autoptr(GMatchInfo) match = NULL;
        g_autofree char *page = NULL;
        unsigned n = 0;

        g_assert_true(g_file_get_contents(path, &page, NULL, NULL));
        for (g_regex_match(heading, page, 0, &match); g_match_info_matches(match); n++) {
                g_autofree char *error = g_match_info_fetch(match, 1), *status = g_match_info_fetch(match, 2);
                g_autofree char *name = g_strconcat("org.selvol1.Error.", error, NULL);

                g_test_message("%s", error);
                g_assert_cmpstr(words[csi_code_of_error(name)], ==, status);
                g_match_info_next(match, NULL);
        }
        g_assert_cmpuint(n, ==, FAILURE_KINDS - 1);
}

static const struct {
        const char *name;
        GrpcCode code;
} errors[] = {
        { "org.freedesktop.DBus.Error.AccessDenied", GRPC_PERMISSION_DENIED },
        { "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired", GRPC_PERMISSION_DENIED },
        { "org.freedesktop.DBus.Error.ServiceUnknown", GRPC_UNAVAILABLE },
        { "org.freedesktop.DBus.Error.NoServer", GRPC_UNAVAILABLE },
        { "org.freedesktop.DBus.Error.Spawn.ChildExited", GRPC_UNAVAILABLE },
        { "org.freedesktop.DBus.Error.NoReply", GRPC_UNAVAILABLE },
        { "org.freedesktop.DBus.Error.Disconnected", GRPC_UNAVAILABLE },
        { "System.Error.ECONNRESET", GRPC_UNAVAILABLE },
        { "org.freedesktop.DBus.Error.Timeout", GRPC_DEADLINE_EXCEEDED },
        { "org.freedesktop.DBus.Error.InvalidArgs", GRPC_INTERNAL },
        { "org.selvol1.Error.None", GRPC_INTERNAL },
        { "org.selvol1.Error.OfLater", GRPC_INTERNAL },
};

TEST_ROWS(others, "/csi-codes/others", errors, row) {
        g_assert_cmpint(csi_code_of_error(row->name), ==, row->code);
}

TEST(failure, "/csi-codes/failure") {
        _cleanup_grpc_reply_ GrpcReply reply = { 0 };
        _cleanup_failure_ Failure f = { 0 };

        (void) failure_set_lines(&f, FAILURE_CONTEXT_CONFLICT, "It is in use.", "Stop it.");
        g_assert_cmpint(csi_reply_failure(&f, &reply), ==, FAILURE_CONTEXT_CONFLICT);
        g_assert_cmpint(reply.code, ==, GRPC_FAILED_PRECONDITION);
        g_assert_cmpstr(reply.text, ==, "selvol: It is in use. Stop it.");
}

/* An answer has a second to reach the caller. */
TEST(deadline, "/csi-codes/deadline") {
        const uint64_t now = now_monotonic_usec();
        const GrpcRequest none = { .deadline_usec = UINT64_MAX }, later = { .deadline_usec = now + 9 * USEC_PER_SEC },
                          past = { .deadline_usec = now - 1 };

        g_assert_cmpuint(csi_deadline(&none), >=, now + CSI_CALL_USEC - USEC_PER_SEC);
        g_assert_cmpuint(csi_deadline(&later), ==, now + 8 * USEC_PER_SEC);
        g_assert_cmpuint(csi_deadline(&past), >=, now);
        g_assert_cmpuint(csi_deadline(&past), <, csi_deadline(&later));
}
