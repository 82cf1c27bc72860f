/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <systemd/sd-id128.h>

#include "basic/string-util.h"
#include "ctl/doctor.h"
#include "ctl/journal.h"

/* The latest records of this boot are enough, because a denied caller calls again. */
enum { RECORDS_MAX = 1000 };

/* Reads the type in "NAME=user:role:type:level". Returns 0, -ENODATA or -ENOMEM. */
static int read_type(const char *record, const char *name, char **ret) {
        const char *context = strstr(record, name);
        char *type = NULL;

        if (!context || sscanf(context + strlen(name), "%*[^: ]:%*[^: ]:%m[a-zA-Z0-9_.-]", &type) != 1)
                return -ENODATA;
        *ret = type;
        return 0;
}

int denial_parse(const char *record, char **ret_domain) {
        _cleanup_free_ char *source = NULL, *target = NULL;
        char **other;

        if (!strstr(record, "denied  { send_msg }") || !strstr(record, "tclass=dbus") ||
            strstr(record, "permissive=1") || read_type(record, " scontext=", &source) < 0 ||
            read_type(record, " tcontext=", &target) < 0)
                return 0;
        other = streq(source, "selvold_t") ? &target : streq(target, "selvold_t") ? &source : NULL;
        if (!other)
                return 0;
        *ret_domain = TAKE_PTR(*other);
        return 1;
}

static int find_denial(sd_journal *journal, char **ret_domain) {
        _cleanup_free_ char *record = NULL;
        int r;

        r = journal_get(journal, "MESSAGE", &record);
        return r < 0 || !record ? r : denial_parse(record, ret_domain);
}

static int add_matches(sd_journal *journal) {
        char boot[sizeof("_BOOT_ID=") + SD_ID128_STRING_MAX] = "_BOOT_ID=";
        sd_id128_t id;
        int r;

        r = sd_id128_get_boot(&id);
        if (r < 0)
                return r;
        sd_id128_to_string(id, boot + strlen(boot));
        r = sd_journal_add_match(journal, boot, 0);
        return r < 0 ? r : sd_journal_add_match(journal, "_AUDIT_TYPE_NAME=USER_AVC", 0);
}

int facts_read_denials(NodeFacts *n) {
        _cleanup_(sd_journal_closep) sd_journal *journal = NULL;
        int r = 0;

        /* Without the right to read the journal, or without a journal, there is no finding. */
        if (journal_open(&journal) < 0 || add_matches(journal) < 0 || sd_journal_seek_tail(journal) < 0)
                return 0;
        for (int i = 0; i < RECORDS_MAX && r == 0 && sd_journal_previous(journal) > 0; i++)
                r = find_denial(journal, &n->denied_domain);
        return r < 0 ? r : 0;
}
