/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/colour.h"
#include "ctl/follow.h"
#include "ctl/verbs.h"

enum { MOUNT_VOLUME, MOUNT_TARGET, MOUNT_CONTEXT, MOUNT_FLAG };

static const Column mount_columns[] = {
        [MOUNT_VOLUME] = { "VOLUME", "Volume" },
        [MOUNT_TARGET] = { "TARGET", "Target" },
        [MOUNT_CONTEXT] = { "CONTEXT", "Context" },
        [MOUNT_FLAG] = { "RUNTIME_FLAG", "Runtime flag" },
        { "STRATEGY", "Strategy", "Strategy" },
        { "REASON", "Reason", "Reason" },
        { "TEXT", "Because", "Text" },
        { "FSTYPE", "File system", "FSType" },
        { "DEVICE", "Device", "Device" },
        { "MOUNT_OPTIONS", "Mount options", "MountOptions", CELL_LIST },
        { "READ_ONLY", "Read-only", "ReadOnly", CELL_BOOLEAN },
        { "SHARED", "Shared", "Shared", CELL_BOOLEAN },
        { "TAINTED", "Tainted", "Tainted", CELL_BOOLEAN },
        { "LABEL_STATE", "Label state", "LabelState" },
        { "RELABEL", "Relabel", "Relabel" },
        { "RELABEL_REASON", "Relabel reason", "RelabelReason" },
        { "RELABEL_TEXT", "Relabel because", "RelabelText" },
        { "OWNERSHIP", "Ownership", "Ownership" },
        { "OWNERSHIP_REASON", "Ownership reason", "OwnershipReason" },
        { "OWNERSHIP_TEXT", "Ownership because", "OwnershipText" },
        { "OWNERSHIP_DETAIL", "Ownership detail", "OwnershipDetail", .escaped = true },
        { "FS_GROUP", "Group", "FSGroup", CELL_GROUP },
        { "DISK_GROUP", "Group on disk", "DiskGroup", CELL_GROUP },
        { "OWNERSHIP_STATE", "Ownership state", "OwnershipState" },
        { "ENTRIES_DONE", "Entries", "EntriesDone", CELL_NUMBER },
        { "ENTRIES_CHANGED", "Entries changed", "EntriesChanged", CELL_NUMBER },
        { "JOB", "Job", "Job", CELL_JOB },
        { "SELINUX_MODE", "SELinux mode", "SELinuxMode" },
        { "MOUNT_ID", "Mount id", "MountId", CELL_NUMBER },
};

enum { UNMOUNT_DONE = 2 };

static const Column unmount_columns[] = {
        { "VOLUME" },
        { "TARGET" },
        [UNMOUNT_DONE] = { "UNMOUNTED", NULL, "Unmounted", CELL_BOOLEAN },
};

static int print_result(const Args *a, Table *t) {
        if (a->json)
                return tables_print_json(&t, 1);
        if (!a->quiet)
                table_print_row(t, 0, colours_wanted(STDOUT_FILENO));
        return 0;
}

/* Reads ssa{sv}, the answer of MountVolume and AdoptVolume. */
static int show_mounted(const Args *a, const char *name, const char *target, sd_bus_message *reply) {
        _cleanup_table_ Table *t = NULL;
        const char *context, *flag;
        int r;

        r = sd_bus_message_read(reply, "ss", &context, &flag);
        if (r >= 0)
                r = table_new(name, mount_columns, ELEMENTSOF(mount_columns), &t);
        if (r >= 0)
                r = bus_read_row(reply, t, NULL, NULL);
        if (r >= 0)
                r = table_set_string(t, MOUNT_VOLUME, a->operands[0]);
        if (r >= 0)
                r = table_set_string(t, MOUNT_TARGET, target);
        if (r >= 0)
                r = table_set_string(t, MOUNT_CONTEXT, context);
        if (r >= 0)
                r = table_set_string(t, MOUNT_FLAG, flag);
        return r < 0 ? r : print_result(a, t);
}

/* operation: as of a job that may become of it; NULL if it never takes long. */
static int call_with_operands(sd_bus *bus, const Args *a, const char *method, const char *operation,
                              sd_bus_message **ret) {
        _cleanup_message_ sd_bus_message *call = NULL;
        int r;

        r = bus_new_call(bus, MANAGER_PATH, MANAGER_INTERFACE, method, &call);
        for (int i = 0; r >= 0 && i < a->n_operands; i++)
                r = sd_bus_message_append(call, "s", a->operands[i]);
        if (r >= 0)
                r = bus_append_options(call, a);
        if (r < 0)
                return r;
        return operation ? follow_call(bus, a, call, operation, ret)
                         : bus_call(bus, call, a->operands[0], ANSWER_WHEN_DONE, ret);
}

int verb_mount(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        int r;

        r = call_with_operands(bus, a, "MountVolume", "mount", &reply);
        return r != 0 ? r : show_mounted(a, "mount", a->operands[2], reply);
}

int verb_adopt(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        int r;

        r = call_with_operands(bus, a, "AdoptVolume", "adopt", &reply);
        return r != 0 ? r : show_mounted(a, "adopt", a->operands[1], reply);
}

int verb_unmount(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        _cleanup_free_ char *volume = NULL, *target = NULL;
        _cleanup_table_ Table *t = NULL;
        int r;

        r = call_with_operands(bus, a, "UnmountVolume", NULL, &reply);
        if (r != 0)
                return r;

        r = table_new("unmount", unmount_columns, ELEMENTSOF(unmount_columns), &t);
        if (r >= 0)
                r = bus_read_row(reply, t, NULL, NULL);
        if (r >= 0)
                r = table_set_string(t, 0, a->operands[0]);
        if (r >= 0)
                r = table_set_string(t, 1, a->operands[1]);
        if (r < 0 || a->json)
                return r < 0 ? r : tables_print_json(&t, 1);

        volume = string_escape(a->operands[0], 300);
        target = string_escape(a->operands[1], 4096);
        if (!volume || !target)
                return -ENOMEM;
        if (!a->quiet)
                printf("Volume %s %s %s.\n", volume,
                       streq(table_get(t, "Unmounted"), "yes") ? "is unmounted from" : "was not mounted at", target);
        return 0;
}
