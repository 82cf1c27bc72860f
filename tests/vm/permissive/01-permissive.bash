# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# SELinux is permissive: selvol does the same as with enforcing, and only the mode in its answers differs.

T=$pods/permissive/v U=$pods/permissive/u
mkdir -p "$T" "$U"
mkfs.ext4 -q -F /dev/scratch0
is 'the machine is permissive' "$(getenforce)" Permissive
mount_with s0:c1,c2 permissive /dev/scratch0 "$T"
answers 'mounted with the context' "$file_type:s0:c1,c2" '' context-mount context-mount
is 'the mode' "$(selinux_mode)" permissive
is_labeled 'the label' "$T" s0:c1,c2
refused 'another context' ContextConflict "$T" mount_with s0:c3,c4 permissive /dev/scratch0 "$U"
refused 'a context that is not in the policy' InvalidContext '' mount_with s0:c5000 other none "$U" 'FSType s tmpfs'
like 'metrics' "$(busctl call org.selvol1 /org/selvol1 org.selvol1.Manager GetMetrics)" 'selvol_selinux_enforcing 0'
call VerifyLabel 'ssa{sv}' permissive '' 0
like 'verify' "$reply" 'bsa{sv} true' '"SELinuxMode" s "permissive"'
unmount_volume permissive "$T"
setenforce 1
mount_with s0:c1,c2 permissive /dev/scratch0 "$T"
is 'the mode changes while we run' "$error$(selinux_mode)" enforcing
unmount_volume permissive "$T"
setenforce 0
mode_is() { [[ $(selinux_mode) == "$1" ]]; }
soon 'the mode changes while nothing is mounted' mode_is permissive

# An attacker who controls the volume plugin has its user and its sandbox, but not, here, the policy that confines it.
drop_in=/run/systemd/system/selvol-volume-plugin.service.d/intruder.conf said=/var/lib/selvol-volume-plugin/said
cat >$scratch/intruder <<'END'
echo "$(id -un) $(sed -n 's/^CapEff:\s*//p' /proc/self/status)"
for file in /etc/shadow /var/lib/selvol/state.db; do head -c1 $file >/dev/null && echo "reads $file"; done
for socket in /run/systemd/private /run/podman/podman.sock /run/selvol/worker; do socat -u /dev/null UNIX-CONNECT:$socket && echo "connects to $socket"; done
busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager StartUnit ss selvol-metrics.socket replace && echo starts
busctl call org.selvol1 /org/selvol1 org.selvol1.Manager MountVolume 'sssa{sv}' a none /var/lib/kubelet/pods/permissive/v 1 FSType s tmpfs && echo mounts
END
mkdir -p ${drop_in%/*}
printf '[Service]\nType=oneshot\nRestart=no\nNoExecPaths=\nExecStart=\nExecStart=sh -c "sh %s >%s 2>/dev/null || true"\n' $scratch/intruder $said >$drop_in
systemctl daemon-reload
yes 'the plugin is taken over' systemctl start selvol-volume-plugin.service
is 'it gets nothing' "$(<$said)" 'selvol-volume-plugin 0000000000000000'
rm $drop_in $said
systemctl daemon-reload
systemctl stop selvol-volume-plugin.socket
clean permissive
