/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/colour.h"
#include "ctl/verbs.h"

static const Column plan_columns[] = {
        { "VOLUME" },
        { "STRATEGY", "Strategy", "Strategy" },
        { "CONTEXT", "Context", "Context" },
        { "RUNTIME_FLAG", "Runtime flag", "RuntimeFlag" },
        { "REASON", "Reason", "Reason" },
        { "TEXT", NULL, "Text" },
        { "MOUNT_OPTIONS", "Mount options", "MountOptions", CELL_LIST },
        { "READ_ONLY", "Read-only", "ReadOnly", CELL_BOOLEAN },
        { "SHARED", "Shared", "Shared", CELL_BOOLEAN },
        { "ENTRIES", "Files to look at", "Entries", CELL_NUMBER },
        { "USEC", "Estimated time", "USec", CELL_DURATION },
        { "RELABEL", "Relabel", "Relabel" },
        { "RELABEL_REASON", "Relabel reason", "RelabelReason" },
        { "RELABEL_TEXT", NULL, "RelabelText" },
        { "OWNERSHIP", "Ownership", "Ownership" },
        { "OWNERSHIP_REASON", "Ownership reason", "OwnershipReason" },
        { "OWNERSHIP_TEXT", NULL, "OwnershipText" },
        { "FS_GROUP", "Group", "FSGroup", CELL_GROUP },
        { "SELINUX_MODE", "SELinux mode", "SELinuxMode" },
        { "ERROR", "Error", "Error" },
        { "MESSAGE", NULL, "Message" },
};

static const Column conflict_columns[] = {
        { "VOLUME" }, { "HOLDER" }, { "TARGET" }, { "CONTEXT" }, { "SINCE", .type = CELL_TIME },
};

typedef struct PlanView {
        Table *plan;
        Table *conflicts;
} PlanView;

static void plan_view_done(PlanView *v) {
        table_free(v->plan);
        table_free(v->conflicts);
}

static int read_conflicts(const char *key, sd_bus_message *m, void *userdata) {
        PlanView *v = userdata;
        int r;

        if (!streq(key, "Conflicts"))
                return 0;
        r = sd_bus_message_enter_container(m, 'v', "a(sssst)");
        if (r >= 0)
                r = bus_read_structs(m, "sssst", NULL, v->conflicts);
        if (r >= 0)
                r = sd_bus_message_exit_container(m);
        return r < 0 ? r : 1;
}

static void print_group(const Table *plan) {
        const char *ownership = table_get(plan, "Ownership"), *group = table_get(plan, "FSGroup");

        if (isempty(ownership))
                return;
        if (streq(ownership, "walk"))
                printf("All its files would be given to group %s.\n", group);
        else if (streq(ownership, "map"))
                printf("Its files would be seen in group %s, without being changed.\n", group);
        else if (streq(ownership, "skip"))
                printf("Its files belong to group %s already.\n", group);
        else if (streq(ownership, "option"))
                printf("Its file system would be mounted for group %s.\n", group);
        else
                puts("Its files would not be given to the group.");
        if (!isempty(table_get(plan, "OwnershipText")))
                puts(table_get(plan, "OwnershipText"));
}

static void print_sentence(const char *volume, const Table *plan) {
        _cleanup_free_ char *name = string_escape(volume, 300);
        const char *error = table_get(plan, "Error"), *strategy = table_get(plan, "Strategy"),
                   *context = table_get(plan, "Context"), *flag = table_get(plan, "RuntimeFlag"),
                   *relabel = table_get(plan, "Relabel");

        printf("Volume %s ", strempty(name));
        if (!isempty(error))
                printf("would not be mounted: %s\n", table_get(plan, "Message"));
        else if (streq(strategy, "context-mount"))
                printf("would be mounted with context %s.\n", context);
        else if (streq(relabel, "walk"))
                printf("would be mounted without a context, once its files are relabelled to %s.\n", context);
        else if (streq(relabel, "skip"))
                printf("would be mounted without a context; its files have the label %s already.\n", context);
        else if (streq(strategy, "relabel") && !isempty(context))
                printf("would be mounted without a context; the runtime has to relabel it to %s (flag %s).\n",
                       context, flag);
        else if (streq(strategy, "relabel"))
                printf("would be mounted without a context; the runtime has to relabel it (flag %s).\n", flag);
        else
                printf("would be mounted without a context; nothing is relabelled.\n");
        if (!isempty(table_get(plan, "Text")))
                puts(table_get(plan, "Text"));
        if (!isempty(table_get(plan, "RelabelText")))
                puts(table_get(plan, "RelabelText"));
        if (isempty(error))
                print_group(plan);
}

static int print_text(const Args *a, const PlanView *v) {
        bool colours = colours_wanted(STDOUT_FILENO);

        print_sentence(a->operands[0], v->plan);
        puts("");
        table_print_row(v->plan, 0, colours);
        if (table_rows(v->conflicts) == 0)
                return 0;
        puts("\nIn the way:");
        return table_print(v->conflicts, a->legend, colours);
}

int verb_plan(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *call = NULL, *reply = NULL;
        _cleanup_(plan_view_done) PlanView v = { 0 };
        const char *error;
        int r;

        r = bus_new_call(bus, MANAGER_PATH, MANAGER_INTERFACE, "PlanVolume", &call);
        if (r >= 0)
                r = sd_bus_message_append(call, "sss", a->operands[0], a->operands[1], a->operands[2]);
        if (r >= 0)
                r = bus_append_options(call, a);
        if (r >= 0)
                r = bus_call(bus, call, a->operands[0], ANSWER_WHEN_DONE, &reply);
        if (r != 0)
                return r;

        r = table_new("plan", plan_columns, ELEMENTSOF(plan_columns), &v.plan);
        if (r >= 0)
                r = table_new("conflicts", conflict_columns, ELEMENTSOF(conflict_columns), &v.conflicts);
        if (r >= 0)
                r = bus_read_row(reply, v.plan, read_conflicts, &v);
        if (r >= 0)
                r = table_set_string(v.plan, 0, a->operands[0]);
        if (r >= 0)
                r = a->json ? tables_print_json((Table *[]){ v.plan, v.conflicts }, 2) : print_text(a, &v);
        if (r < 0)
                return r;
        error = table_get(v.plan, "Error");
        return isempty(error) ? 0 : exit_code_of(error);
}
