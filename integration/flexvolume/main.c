/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The FlexVolume driver that kubelet starts for each mount and unmount. Kubelet reads standard output and
 * standard error together as one JSON object, so the driver must print nothing else. */

#include "basic/string-util.h"
#include "client/client-call.h"
#include "flexvolume/volume-options.h"

/* Takes the capabilities over. Returns the exit status. */
static int print_answer(const char *status, const char *message, json_t *capabilities) {
        _cleanup_json_ json_t *object =
                json_pack("{s:s, s:s*, s:o*}", "status", status, "message", message, "capabilities", capabilities);
        _cleanup_free_ char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;

        if (!text) {
                puts("{\"status\":\"Failure\",\"message\":\"Cannot allocate memory\"}");
                return EXIT_FAILURE;
        }
        return puts(text) >= 0 && fflush(stdout) == 0 && streq(status, "Success") ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Makes a reason of an error, which the pod's event shows. Returns 1, or -ENOMEM. */
static int explain_refusal(const sd_bus_error *error, char **ret_why) {
        *ret_why = text_join_lines(explain_error("", error->name, strempty(error->message)));
        return *ret_why ? 1 : -ENOMEM;
}

static int call_method(const OptionValue values[static REQUEST_OPTIONS], sd_bus_message **ret, sd_bus_error *error,
                       const char *method, const char *types, const char *first, const char *second,
                       const char *third) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        int r;

        r = call_open(true, UINT64_MAX, &bus, error);
        if (r < 0)
                return r;
        return call_manager(bus, values, UINT64_MAX, ret, error, method, types, first, second, third);
}

static int unmount_volume(char **arguments, char **ret_why) {
        static const OptionValue none[REQUEST_OPTIONS];
        _cleanup_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        /* Kubelet passes no volume; selvold then unmounts the one at the target. */
        r = call_method(none, NULL, &error, "UnmountVolume", "ss", "", arguments[0], NULL);
        if (explain_is_outside(error.name))
                return 0;
        return r < 0 ? explain_refusal(&error, ret_why) : 0;
}

/* Unmounts the volume and refuses it: the answer to init has switched relabeling by the runtime off for all
 * volumes of the driver. */
static int give_back(char **arguments, char **ret_why) {
        int r;

        r = unmount_volume(arguments, ret_why);
        if (r != 0)
                return r;
        *ret_why = strdup(
                "Nobody would label the files for the container: kubelet leaves that to selvold, and selvold to the container runtime. Pass level, with relabel-by=service, or relabel-by=none if the container relies on no labels.");
        return *ret_why ? 1 : -ENOMEM;
}

static int mount_volume(char **arguments, char **ret_why) {
        _cleanup_(volume_options_done) FlexOptions o = { 0 };
        _cleanup_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_message_ sd_bus_message *reply = NULL;
        const char *context, *flag;
        int r;

        r = volume_options_parse(arguments[1], &o, ret_why);
        if (r != 0)
                return r;
        r = call_method(o.values, &reply, &error, "MountVolume", "sss", o.volume, o.source, arguments[0]);
        if (r < 0)
                return explain_refusal(&error, ret_why);
        r = sd_bus_message_read(reply, "ss", &context, &flag);
        if (r < 0)
                return r;
        return isempty(flag) ? 0 : give_back(arguments, ret_why);
}

/* Switches off what kubelet does by default: attach, relabel, give all files to the pod's group, and resize.
 * Without memory for this answer, init fails, and kubelet does not use the driver. */
static int answer_init(void) {
        json_t *capabilities = json_pack("{s:b, s:b, s:b, s:b, s:b}", "attach", 0, "selinuxRelabel", 0, "fsGroup", 0,
                                         "supportsMetrics", 1, "requiresFSResize", 0);

        return capabilities ? print_answer("Success", NULL, capabilities)
                            : print_answer("Failure", strerror(ENOMEM), NULL);
}

static int answer_call(const char *usage, int (*function)(char **arguments, char **ret_why), char **arguments) {
        _cleanup_free_ char *why = NULL;
        int r;

        if (!arguments)
                return print_answer("Failure", usage, NULL);
        r = function(arguments, &why);
        if (r < 0)
                return print_answer("Failure", strerror(-r), NULL);
        return r == 0 ? print_answer("Success", NULL, NULL) : print_answer("Failure", why, NULL);
}

int main(int argc, char **argv) {
        const char *word = argc > 1 ? argv[1] : "";

        if (streq(word, "init"))
                return answer_init();
        if (streq(word, "mount"))
                return answer_call("Usage: volume mount DIRECTORY OPTIONS", mount_volume,
                                   argc == 4 ? argv + 2 : NULL);
        if (streq(word, "unmount"))
                return answer_call("Usage: volume unmount DIRECTORY", unmount_volume, argc == 3 ? argv + 2 : NULL);
        /* Kubelet remembers this answer, and does not call the method again. */
        return print_answer("Not supported", "This driver has init, mount and unmount.", NULL);
}
