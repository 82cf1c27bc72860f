/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <getopt.h>

#include "ctl/args.h"
#include "ctl/parse.h"

const RequestOptionInfo request_options[REQUEST_OPTIONS] = {
        [OPTION_FS_TYPE] = { "fs-type", "FSType", "s" },
        [OPTION_MOUNT_OPTIONS] = { "options", "MountOptions", "as" },
        [OPTION_READ_ONLY] = { "read-only", "ReadOnly", "b" },
        [OPTION_HOLDER] = { "holder", "Holder", "s" },
        [OPTION_DRIVER] = { "driver", "Driver", "s" },
        [OPTION_VOLUME_TYPE] = { "volume-type", "VolumeType", "s" },
        [OPTION_ACCESS_MODE] = { "access-mode", "AccessMode", "s" },
        [OPTION_CONTEXT] = { "context", "SELinuxContext", "s" },
        [OPTION_USER] = { "user", "SELinuxUser", "s" },
        [OPTION_ROLE] = { "role", "SELinuxRole", "s" },
        [OPTION_TYPE] = { "type", "SELinuxType", "s" },
        [OPTION_LEVEL] = { "level", "SELinuxLevel", "s" },
        [OPTION_POLICY] = { "policy", "SELinuxRelabelPolicy", "s" },
        [OPTION_MOUNT_SUPPORTED] = { "selinux-mount-supported", "SELinuxMountSupported", "b" },
        [OPTION_RELABEL_BY] = { "relabel-by", "RelabelBy", "s" },
        [OPTION_FS_GROUP] = { "fs-group", "FSGroup", "u" },
        [OPTION_FS_GROUP_POLICY] = { "fs-group-policy", "FSGroupPolicy", "s" },
        [OPTION_FS_GROUP_CHANGE_POLICY] = { "fs-group-change-policy", "FSGroupChangePolicy", "s" },
        [OPTION_USER_NAMESPACE] = { "user-namespace", "UserNamespace", "b" },
        [OPTION_FORCE] = { "force", "Force", "b" },
        [OPTION_MAX_ENTRIES_PER_SECOND] = { "max-entries-per-second", "MaxEntriesPerSecond", "t" },
        [OPTION_TIMEOUT] = { "timeout", "TimeoutUSec", "t" },
        [OPTION_DEPTH] = { "depth", "Depth", "s" },
};

enum {
        ARG_REQUEST = 0x100,
        ARG_JSON = 0x200,
        ARG_NO_LEGEND,
        ARG_HISTORY,
        ARG_NO_WAIT,
        ARG_ASK,
        ARG_NO_ASK,
        ARG_VERSION
};

static const struct option long_options[] = {
        { "fs-type", required_argument, NULL, ARG_REQUEST + OPTION_FS_TYPE },
        { "options", required_argument, NULL, ARG_REQUEST + OPTION_MOUNT_OPTIONS },
        { "read-only", no_argument, NULL, ARG_REQUEST + OPTION_READ_ONLY },
        { "holder", required_argument, NULL, ARG_REQUEST + OPTION_HOLDER },
        { "driver", required_argument, NULL, ARG_REQUEST + OPTION_DRIVER },
        { "volume-type", required_argument, NULL, ARG_REQUEST + OPTION_VOLUME_TYPE },
        { "access-mode", required_argument, NULL, ARG_REQUEST + OPTION_ACCESS_MODE },
        { "context", required_argument, NULL, ARG_REQUEST + OPTION_CONTEXT },
        { "user", required_argument, NULL, ARG_REQUEST + OPTION_USER },
        { "role", required_argument, NULL, ARG_REQUEST + OPTION_ROLE },
        { "type", required_argument, NULL, ARG_REQUEST + OPTION_TYPE },
        { "level", required_argument, NULL, ARG_REQUEST + OPTION_LEVEL },
        { "policy", required_argument, NULL, ARG_REQUEST + OPTION_POLICY },
        { "selinux-mount-supported", required_argument, NULL, ARG_REQUEST + OPTION_MOUNT_SUPPORTED },
        { "relabel-by", required_argument, NULL, ARG_REQUEST + OPTION_RELABEL_BY },
        { "fs-group", required_argument, NULL, ARG_REQUEST + OPTION_FS_GROUP },
        { "fs-group-policy", required_argument, NULL, ARG_REQUEST + OPTION_FS_GROUP_POLICY },
        { "fs-group-change-policy", required_argument, NULL, ARG_REQUEST + OPTION_FS_GROUP_CHANGE_POLICY },
        { "user-namespace", no_argument, NULL, ARG_REQUEST + OPTION_USER_NAMESPACE },
        { "force", no_argument, NULL, ARG_REQUEST + OPTION_FORCE },
        { "max-entries-per-second", required_argument, NULL, ARG_REQUEST + OPTION_MAX_ENTRIES_PER_SECOND },
        { "timeout", required_argument, NULL, ARG_REQUEST + OPTION_TIMEOUT },
        { "depth", required_argument, NULL, ARG_REQUEST + OPTION_DEPTH },
        { "json", no_argument, NULL, ARG_JSON },
        { "no-legend", no_argument, NULL, ARG_NO_LEGEND },
        { "quiet", no_argument, NULL, 'q' },
        { "history", no_argument, NULL, ARG_HISTORY },
        { "no-wait", no_argument, NULL, ARG_NO_WAIT },
        { "ask-password", no_argument, NULL, ARG_ASK },
        { "no-ask-password", no_argument, NULL, ARG_NO_ASK },
        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, ARG_VERSION },
        { 0 },
};

static int bad_value(RequestOption option, const char *value, const char *expected) {
        _cleanup_free_ char *escaped = string_escape(value, 200);

        if (!escaped)
                return -ENOMEM;
        fprintf(stderr, "selvolctl: --%s=%s: expected %s\n", request_options[option].name, escaped, expected);
        return EXIT_USAGE;
}

static int read_number(RequestOption option, const char *value, uint64_t *ret) {
        uint64_t max = request_options[option].signature[0] == 'u' ? UINT32_MAX : UINT64_MAX;
        unsigned long long number;

        if (parse_u64(value, &number) < 0 || number > max)
                return bad_value(option, value, "a number");
        *ret = number;
        return 0;
}

static int read_group(RequestOption option, const char *value, uint64_t *ret) {
        gid_t gid;

        if (parse_gid(value, &gid) < 0)
                return bad_value(option, value, GID_EXPECTED);
        *ret = gid;
        return 0;
}

static int read_request_option(Args *a, RequestOption option, const char *value) {
        OptionValue *v = &a->values[option];
        int r;

        v->set = true;
        switch (request_options[option].signature[0]) {
        case 'b':
                r = value ? parse_boolean(value) : 1;
                if (r < 0)
                        return bad_value(option, value, "yes or no");
                v->boolean = r;
                return 0;
        case 't':
                if (option != OPTION_TIMEOUT)
                        return read_number(option, value, &v->number);
                r = parse_timespan(value, &v->number);
                return r < 0 ? bad_value(option, value, "a time such as 20s, 1min or 500ms") : 0;
        case 'u':
                return option == OPTION_FS_GROUP ? read_group(option, value, &v->number)
                                                 : read_number(option, value, &v->number);
        case 'a':
                r = split_mount_options(value, &v->list);
                return r == -EINVAL ? bad_value(option, value, "closed quotes") : r;
        default:
                v->string = value;
                return 0;
        }
}

static int read_option(Args *a, int c, const char *value) {
        if (c >= ARG_REQUEST && c < ARG_REQUEST + REQUEST_OPTIONS)
                return read_request_option(a, (RequestOption) (c - ARG_REQUEST), value);

        switch (c) {
        case 'o':
                return read_request_option(a, OPTION_MOUNT_OPTIONS, value);
        case 'q':
                a->quiet = true;
                break;
        case 'h':
                a->help = true;
                break;
        case ARG_JSON:
                a->json = true;
                break;
        case ARG_NO_LEGEND:
                a->legend = false;
                break;
        case ARG_HISTORY:
                a->history = true;
                break;
        case ARG_NO_WAIT:
                a->wait = false;
                break;
        case ARG_ASK:
                a->ask_password = true;
                break;
        case ARG_NO_ASK:
                a->ask_password = false;
                break;
        case ARG_VERSION:
                a->version = true;
                break;
        default: /* getopt has said what is wrong */
                return EXIT_USAGE;
        }
        return 0;
}

int args_parse(int argc, char **argv, Args *ret) {
        _cleanup_(args_done) Args a = ARGS_INIT;
        int c, r;

        optind = 0; /* GNU: also forget the position within an argument */
        while ((c = getopt_long(argc, argv, "ho:q", long_options, NULL)) >= 0) {
                r = read_option(&a, c, optarg);
                if (r != 0)
                        return r;
        }

        if (optind < argc)
                a.verb = argv[optind++];
        a.operands = argv + optind;
        a.n_operands = argc - optind;

        *ret = a;
        a = ARGS_INIT;
        return 0;
}

void args_done(Args *a) {
        for (size_t i = 0; i < REQUEST_OPTIONS; i++)
                strv_free(a->values[i].list);
        *a = ARGS_INIT;
}
