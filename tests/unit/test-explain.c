/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* selvolctl explains errors of selvold and the bus. */

#include "client/client-call.h"
#include "support/cases.h"

TEST(test_text, "/explain/text") {
        static const struct {
                const char *text, *expected;
        } cases[] = {
                { "", "" },
                { "pass \"SELinuxLevel\", for example s0:c10, or a full \"SELinuxContext\"; or \"RelabelBy\"=none",
                  "pass --level, for example s0:c10, or a full --context; or --relabel-by=none" },
                { "Option \"Depth\": 'all' is not valid.", "Option --depth: 'all' is not valid." },
                /* Settings of selvol.conf(5), words of English, and other words in quotes stay. */
                { "add it to MountOptions= of [FileSystem ext4]", "add it to MountOptions= of [FileSystem ext4]" },
                { "Holder FSGroup 'FSGroup' /srv/SELinuxLevel", "Holder FSGroup 'FSGroup' /srv/SELinuxLevel" },
                { "\"FSGroups\" \"level\" \"FSGroup \"", "\"FSGroups\" \"level\" \"FSGroup \"" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = explain_text("--", cases[i].text);

                g_assert_cmpstr(text, ==, cases[i].expected);
        }
}

TEST(test_error, "/explain/error") {
        static const struct {
                const char *name, *message, *expected;
        } cases[] = {
                { "org.selvol1.Error.MountFailed", "No.", "No." },
                { "org.selvol1.Error.LevelRequired", "Pass \"SELinuxLevel\".", "Pass --level." },
                { "org.selvol1.Error.NoSuchVolume", "Volume v is not known.",
                  "Volume v is not known. 'selvolctl list' shows all volumes." },
                { "org.selvol1.Error.NoSuchVolume", "Volume v is not mounted.", "Volume v is not mounted." },
                { "org.selvol1.Error.NoSuchJob", "Job 8 is not known.",
                  "Job 8 is not known. 'selvolctl jobs' shows all jobs." },
                { "org.freedesktop.DBus.Error.ServiceUnknown", "x",
                  "selvold is not running (x). See 'systemctl status selvold'." },
                { "org.freedesktop.DBus.Error.TimedOut", "x",
                  "selvold does not start (x). See 'systemctl status selvold'; if it is masked, 'systemctl unmask selvold'." },
                { "org.freedesktop.systemd1.UnitMasked", "x",
                  "selvold does not start (x). See 'systemctl status selvold'; if it is masked, 'systemctl unmask selvold'." },
                { "org.freedesktop.DBus.Error.FileExists",
                  "Unit x failed to load properly, please adjust: File exists",
                  "selvold does not start (Unit x failed to load properly, please adjust: File exists). See 'systemctl status selvold'; if it is masked, 'systemctl unmask selvold'." },
                { "org.freedesktop.DBus.Error.NoReply",
                  "Message recipient disconnected from message bus without replying",
                  "selvold ended before it answered. Try again; 'systemctl status selvold' shows why it ended." },
                { "org.freedesktop.DBus.Error.NoReply", "Connection terminated",
                  "The system bus ended the connection before selvold answered. Try again." },
                { "org.freedesktop.DBus.Error.NoReply", "Remote peer disconnected",
                  "selvold ended before it answered. Try again; 'systemctl status selvold' shows why it ended." },
                { "org.freedesktop.DBus.Error.Timeout", "Connection timed out",
                  "selvold runs, but does not answer. See 'systemctl status selvold'." },
                { "org.freedesktop.DBus.Error.NoReply", "Method call timeout expired",
                  "selvold runs, but does not answer. See 'systemctl status selvold'." },
                { "org.freedesktop.DBus.Error.AccessDenied",
                  "Rejected send message, 2 matched rules; type=\"method_call\"",
                  "Access denied: only root and members of the group selvol can call selvold. 'usermod -aG selvol USER' adds one, from the next login on." },
                { "org.freedesktop.DBus.Error.AccessDenied",
                  "An SELinux policy prevents this sender from sending this message to this recipient",
                  "SELinux keeps this process from calling selvold. Allow it in a policy module: selvol_dbus_chat(DOMAIN), see selvol-integration(7)." },
                { "org.freedesktop.DBus.Error.AccessDenied", "polkit has to allow x.", "polkit has to allow x." },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = explain_error("--", cases[i].name, cases[i].message);

                g_assert_cmpstr(text, ==, cases[i].expected);
        }
}

void add_tests(void) {
        g_test_set_nonfatal_assertions();
}
