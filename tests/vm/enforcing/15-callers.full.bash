# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # of lib.bash
# Some domains may call selvold and receive its answer. A client in another domain says so at once instead of waiting.
# This has to be the last file, because the policy stays changed.

known() { [[ -n $(compute_av "system_u:system_r:$1:s0" system_u:system_r:selvold_t:s0 dbus 2>/dev/null) ]]; }
own=/root/callers # semodule may read files here
mkdir -p "$own"

# as CONTEXT COMMAND...: runs the command in the context, which let_us_be allows to this shell. The limit is shorter
# than the timeout of a call that gets no answer.
as() { timeout 300 runcon "$1" "${@:2}" </dev/null 2>&1; }
let_us_be() {
    local domain=$1
    cat <<EOF
(allow unconfined_t $domain (process (transition siginh noatsecure rlimitinh)))
(allow $domain bin_t (file (entrypoint read open execute getattr map)))
(allow $domain unconfined_t (fd (use)))
(allow $domain unconfined_t (fifo_file (read write getattr append ioctl)))
(allow $domain unconfined_t (process (sigchld)))
EOF
}

# may_chat DOMAIN: the domain may send messages to selvold, and selvold to the domain
may_chat() { may_send "$1" selvold_t && may_send selvold_t "$1"; }
may_send() { compute_av "system_u:system_r:$1:s0" "system_u:system_r:$2:s0" dbus 2>/dev/null | grep -q '^allowed=.* send_msg '; }

callers=() deaf=unconfined_mount_t
# The test declares the domains that this policy lacks, because selvol's module has rules for them, which count with
# other policies. Debian's policy has a type container_runtime_t already, for files in /run.
lacking=()
for domain in kubelet_t container_engine_t container_runtime_t spc_t initrc_t sysadm_t; do
    if known $domain; then callers+=("$domain"); else lacking+=("$domain"); fi
done
{
    for domain in "${callers[@]}" $deaf; do let_us_be "$domain"; done
    for domain in "${lacking[@]}"; do
        echo "(roletype system_r $domain)"
        [[ $domain == container_runtime_t ]] || echo "(type $domain) (typeattributeset domain ($domain))"
        [[ $domain != container_engine_t ]] || echo "(typeattributeset container_engine_domain ($domain))"
    done
} >"$own/selvol_test_callers.cil"
# mount.selvol has another type than bin_t, and the deaf domain needs it as an entry point, too.
sed -n 's/bin_t/selvol_mount_exec_t/p' <(let_us_be $deaf) >>"$own/selvol_test_callers.cil"
# The module store of the guest lacks selvol's module, although the policy was compiled with it.
yes 'a module for the test' semodule -i /usr/share/selinux/packages/selvol.pp "$own/selvol_test_callers.cil"

like 'the policy knows domains that call' " ${callers[*]} " ' spc_t ' ' initrc_t '
echo "# only declared: ${lacking[*]:-none}"
for domain in "${callers[@]}" "${lacking[@]}"; do
    yes "$domain: may talk to selvold" may_chat "$domain"
done
no "$deaf: may not" may_chat $deaf
for domain in "${callers[@]}"; do
    like "$domain: gets an answer" "$(as "system_u:system_r:$domain:s0" busctl get-property org.selvol1 /org/selvol1 org.selvol1.Manager Version)" 's "'
done
yes 'a service of systemd calls' systemd-run -q --wait -u vm-caller selvolctl list --json=short
is 'and gets an answer' "$(journalctl -q -b -o cat -u vm-caller -t selvolctl | head -c 1)" '['

# is_told NAME COMMAND...: runs the command in the deaf domain, and finds the advice in its output
is_told() {
    like "$1: told that the answer can't be heard, and what to do" "$(as unconfined_u:unconfined_r:$deaf:s0 "${@:2}")" \
        'no answer of it arrives' "selvol_dbus_chat($deaf)" 'selvol-integration(7)'
}

is_told selvolctl selvolctl list
is_told mount.selvol /usr/sbin/mount.selvol /dev/scratch0 "$pods/a/v" -o 'volume=deaf,level="s0:c1,c2"'
soon 'doctor names it' eval "selvolctl doctor | grep -q 'processes in $deaf'"
yes 'selvold is stopped' systemctl stop selvold
is_told 'selvolctl, which starts it' selvolctl list
yes 'selvold was started' systemctl -q is-active selvold
