/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libglib-testing/dbus-queue.h>

#include "support/service.h"
#include "support/wait.h"

/* Gives up the name. gt_dbus_queue_free() asserts that the queue's thread knows that: the thread answers the
 * next call, about an object without properties, only afterwards. */
static inline void queue_unown_name(GtDBusQueue *queue, guint id, const char *name, const char *path,
                                    const char *interface) {
        GDBusConnection *client = gt_dbus_queue_get_client_connection(queue);
        g_autoptr(GVariant) owner = g_dbus_connection_call_sync(
                client, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetNameOwner",
                g_variant_new("(s)", name), G_VARIANT_TYPE("(s)"), G_DBUS_CALL_FLAGS_NONE, -1, NULL, NULL);
        g_autoptr(GVariant) properties = NULL;
        const char *unique;

        g_variant_get(owner, "(&s)", &unique);
        gt_dbus_queue_unown_name(queue, id);
        WAIT_FOR(!bus_has_name(client, name));
        properties = g_dbus_connection_call_sync(client, unique, path, "org.freedesktop.DBus.Properties", "GetAll",
                                                 g_variant_new("(s)", interface), G_VARIANT_TYPE("(a{sv})"),
                                                 G_DBUS_CALL_FLAGS_NONE, -1, NULL, NULL);
        g_assert_nonnull(properties);
}
