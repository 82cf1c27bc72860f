# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# The rights of the two processes. run_files checks the denials at the end of each suite.

wait_for answers_calls
T=$pods/hardening/v
mkdir -p "$T"
mount_with s0:c1,c2 hardening none "$T" 'FSType s tmpfs'
daemon=$(main_pid selvold) worker=$(main_pid selvol-worker)
status_of() { sed -n "s/^$2:\t*//p" "/proc/$1/status" | tr -s '\t' ' '; }
capabilities=cap_chown,cap_dac_override,cap_dac_read_search,cap_fowner,cap_fsetid,cap_setgid,cap_setuid,cap_sys_chroot,cap_sys_admin,cap_setfcap

is 'selvold: its user' "$(ps -o user= -p "$daemon")" selvol
for set in CapInh CapPrm CapEff CapBnd CapAmb; do
    is "selvold: $set is empty" "$(status_of "$daemon" $set)" 0000000000000000
done
is 'selvold: no new privileges' "$(status_of "$daemon" NoNewPrivs)" 1
is 'selvold: a system call filter' "$(status_of "$daemon" Seccomp)" 2
is 'selvold: its domain' "$(ps -o label= -p "$daemon")" system_u:system_r:selvold_t:s0
is 'selvold: not in the host'\''s mount namespace' \
    "$([[ $(readlink "/proc/$daemon/ns/mnt") != "$(readlink /proc/1/ns/mnt)" ]] && echo other)" other
yes 'selvold: a reload' systemctl reload selvold
no 'selvold: nothing else can be executed' nsenter -t "$daemon" -m id
is 'selvold: what makes root is not there' "$(stat -c %a "/proc/$daemon/root/run/systemd/private")" 0
is 'selvold: descriptors' "$(prlimit -n -o SOFT,HARD --noheadings -p "$daemon" | xargs)" '4096 4096'
is 'selvold: the state is its own' "$(stat -c '%U %a' /var/lib/selvol)" 'selvol 700'
is 'selvold: the state has its type' "$(stat -c %C /var/lib/selvol/state.db | cut -d: -f3)" selvold_var_lib_t

is 'worker: in the host'\''s mount namespace' "$(readlink "/proc/$worker/ns/mnt")" "$(readlink /proc/1/ns/mnt)"
is 'worker: its capabilities' "$(capsh --decode="$(status_of "$worker" CapBnd)" | cut -d= -f2)" "$capabilities"
is 'worker: no new privileges' "$(status_of "$worker" NoNewPrivs)" 1
is 'worker: a system call filter' "$(status_of "$worker" Seccomp)" 2
is 'worker: its domain' "$(ps -o label= -p "$worker" | cut -d: -f3)" selvol_worker_t
is 'worker: no core is left' "$(prlimit -c -o HARD --noheadings -p "$worker" | xargs)" 0
is 'worker: descriptors' "$(prlimit -n -o SOFT,HARD --noheadings -p "$worker" | xargs)" '1024 65536'
cgroup=/sys/fs/cgroup/system.slice/selvol-worker.service
is 'worker: others come first' "$(cat $cgroup/cpu.weight)$(sed -n 's/^default/ io/p' $cgroup/io.weight)" '50 io 50'
is 'worker: the socket' "$(stat -c '%U:%G %a' /run/selvol/worker)" 'selvol:selvol 600'
unmount_volume hardening "$T"

# may DOMAIN TYPE CLASS PERMISSION: prints yes or no as the loaded policy says, and nothing if the policy lacks a word
may() {
    local allowed
    allowed=$(compute_av "system_u:system_r:$1:s0-s0:c0.c1023" "system_u:object_r:$2:s0" "$3" | sed -n 's/^allowed=//p')
    if [[ " $allowed " == *" $4 "* ]]; then echo yes; elif [[ -n $allowed ]]; then echo no; fi
}
while read -r answer domain type class permission; do
    is "policy: $domain: $type $class $permission" "$(may $domain $type $class $permission)" $answer
done <<EOF
no selvold_t container_file_t filesystem mount
no selvold_t unlabeled_t filesystem mount
no selvold_t container_file_t dir mounton
no selvold_t container_file_t dir read
no selvold_t container_file_t file read
no selvold_t container_file_t file relabelto
no selvold_t unlabeled_t file relabelfrom
no selvold_t fixed_disk_device_t blk_file read
no selvold_t selvold_t tcp_socket create
no selvol_worker_t sshd_key_t file read
no selvol_worker_t sshd_key_t file relabelfrom
no selvol_worker_t shadow_t file read
no selvol_worker_t shadow_t file relabelfrom
no selvol_worker_t etc_t file write
no selvol_worker_t etc_t dir mounton
no selvol_worker_t bin_t dir mounton
no selvol_worker_t var_log_t dir mounton
no selvol_worker_t user_home_t file read
no selvol_worker_t selvold_var_lib_t dir read
no selvol_worker_t selvold_var_lib_t file read
no selvol_worker_t selvold_var_lib_t file relabelfrom
no selvol_worker_t selvol_conf_t file write
no selvol_worker_t selvol_conf_t file relabelfrom
no selvol_worker_t fixed_disk_device_t chr_file read
no selvol_worker_t selvol_worker_t tcp_socket create
no selvol_worker_t var_lib_t file write
no selvol_worker_t container_file_t file write
no selvol_worker_t container_var_lib_t file write
no selvol_worker_t selvol_image_t file relabelfrom
no container_t selvol_image_t file read
no selvol_worker_t selvol_worker_t capability kill
no selvol_worker_t selvol_worker_t capability sys_resource
no selvol_volume_plugin_t selvol_volume_plugin_t capability dac_override
no selvol_volume_plugin_t shadow_t file read
no selvol_volume_plugin_t container_file_t dir read
no selvol_volume_plugin_t selvold_var_lib_t file read
no selvol_metrics_t selvol_metrics_t tcp_socket create
no selvol_metrics_t selvol_metrics_t tcp_socket bind
no selvol_metrics_t selvold_runtime_t file write
no selvol_metrics_t selvold_var_lib_t file read
no selvol_metrics_t selvol_conf_t file read
no selvol_metrics_t container_file_t file read
no selvol_mount_t fixed_disk_device_t blk_file read
no selvol_mount_t container_file_t dir read
no selvol_mount_t container_file_t filesystem mount
no selvol_mount_t selvol_mount_t capability sys_admin
no selvol_mount_t selvol_mount_t tcp_socket create
no selvol_mount_t selvol_conf_t file read
no selvol_mount_t selvold_var_lib_t file read
yes selvold_t selvold_var_lib_t file read
yes selvol_metrics_t selvold_runtime_t file read
yes selvol_mount_t selvold_t dbus send_msg
yes selvold_t selvol_mount_t dbus send_msg
yes selvol_worker_t container_file_t filesystem mount
yes selvol_worker_t selvol_image_t file write
yes selvol_worker_t container_file_t dir mounton
yes selvol_worker_t fixed_disk_device_t blk_file read
EOF
soon 'worker: no child is left but the one that watches and the one that waits' eval '(($(worker_pids | wc -l) <= 3))'
is 'worker: no staging directory is a mount' "$(grep -c /run/selvol /proc/self/mountinfo)" 0
is 'no crash' "$(journalctl -q -b -o cat -u selvold -u selvol-worker | grep -ciE 'dumped core|segfault|status=6/ABRT|status=11/SEGV|assertion|killed by signal (4|6|7|8|11|31) ')" 0

# The kernel does not audit a system call that the unit's filter refuses, so the test makes systemd log these instead.
drop_in=/run/systemd/system/selvol-worker.service.d/log.conf
mkdir -p ${drop_in%/*}
{
    printf '[Service]\nSystemCallFilter=\n'
    sed -n 's/^SystemCallFilter=~/SystemCallLog=/p; t; s/^SystemCallFilter=/SystemCallLog=~/p' "$(systemctl show -P FragmentPath selvol-worker)"
} >$drop_in
systemctl daemon-reload
systemctl restart selvol-worker
mkfs.ext4 -q -F /dev/scratch0
mount_with s0:c1,c2 hardening /dev/scratch0 "$T"
answers 'system calls: a mount' "$file_type:s0:c1,c2" ''
unmount_volume hardening "$T"
mount_service s0:c1 hardening /dev/scratch0 "$T" 'FSGroup u 1000'
is 'system calls: a walk' "$error$(field Relabel) $(field Ownership)" 'walked walked'
unmount_volume hardening "$T"
mount_service s0:c1 hardening /dev/scratch0 "$T" 'FSGroup u 2000'
is 'system calls: a mapped mount' "$error$(field Ownership)" mapped
unmount_volume hardening "$T"
# systemd 252 does not know statmount(2), number 457, and the worker does not need it.
is 'system calls: none is refused' "$(journalctl -q -b -o cat _TRANSPORT=audit | grep 'type=1326\|SECCOMP' | grep -v ' syscall=457 ')" ''
like 'system calls: others are seen' "$(systemctl show -P SystemCallLog selvol-worker)" '~_llseek ' ' move_mount '
rm $drop_in
systemctl daemon-reload
systemctl restart selvol-worker
clean hardening
