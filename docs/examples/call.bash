# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2034 # for the callers
# A call of selvold with busctl(1), for plugins that are shell scripts. The other examples source it.

# selvol_call METHOD SIGNATURE ARGUMENT...: if it fails, selvol_error is the last part of the error's name, and selvol_message
# says why. busctl prints only the message; its log has both, unless there is no bus, or no answer: then the last name in the log is
# that of a call, n/a, which is an error of busctl's own. Kubelet waits two minutes for a plugin.
selvol_call() {
    local log
    selvol_error='' selvol_message=''
    log=$(SYSTEMD_LOG_LEVEL=debug SYSTEMD_LOG_TARGET=console busctl --timeout=120 call \
        org.selvol1 /org/selvol1 org.selvol1.Manager "$@" 2>&1) && return
    if [[ $log != *error-name=* ]]; then
        selvol_error=NoServer selvol_message=${log##*$'\n'}
        return 1
    fi
    selvol_error=${log##*error-name=}
    selvol_error=${selvol_error%% *}
    selvol_error=${selvol_error##*.}
    selvol_message=${log##*error-message=}
    selvol_message=${selvol_message%%$'\nCall failed: '*}
    selvol_message=${selvol_message//$'\n'/ }     # who has the volume; what to do
    [[ $selvol_error == n/a ]] || return 1
    if [[ $log == *'Call failed: '* ]]; then
        selvol_error=Timeout selvol_message=${log##*Call failed: }
    else
        selvol_error=InvalidArgs selvol_message=Failed${log#*Failed}
    fi
    selvol_message=${selvol_message%%$'\n'*}
    return 1
}
