# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # of lib.bash
# The life of the Debian packages in a guest that never had selvol, with a volume mounted throughout: installed from files alone,
# upgraded while callers work, unpacked and not configured, downgraded, removed, purged.

disk=$(readlink -f /dev/scratch0) T=$targets/data
big=$(readlink -f /dev/scratch1) probe=$(readlink -f /dev/scratch2)
plugin_answers() {
    printf 'POST /Plugin.Activate HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n' |
        socat -t 120 - UNIX:/run/selvol/volume-plugin.sock | grep VolumeDriver
}
has_job() { selvolctl jobs --json | grep -q "\"Operation\":\"$1\""; }

# start_callers LEVEL: until there is a file "stop", one mounts and unmounts; one relabels slowly, again and again, with LEVEL at
# last; one waits for the volume. As they take most of the processor, they work only while the services are replaced.
start_callers() {
    rm -f stop
    : >heard
    callers=()
    until [[ -e stop ]]; do
        retried selvolctl mount -q probe "$probe" "$targets/probe" --level s0:c7 && retried selvolctl unmount -q "$targets/probe" || exit
        sleep 5
    done >callers.1 2>&1 &
    callers+=($!)
    until [[ -e stop ]]; do
        retried selvolctl relabel -q big --level s0:c9 --max-entries-per-second 30 &&
            retried selvolctl relabel -q big --level "$1" --max-entries-per-second 30 || exit
    done >callers.2 2>&1 &
    callers+=($!)
    retried selvolctl mount -q data "$disk" "$targets/other" --level "$1" --wait=10min >callers.3 2>&1 &
    callers+=($!)
}

rmdir "$targets"
mkfs.ext4 -q "$disk"
mkfs.ext4 -q "$probe"
no 'the guest never had selvol' test -e /usr/libexec/selvold
yes 'install' install new
yes 'install: it runs' runs
is 'install: selvold in its domain' "$(domain selvold)" selvold_t
is 'install: selvol-worker in its domain' "$(domain selvol-worker)" selvol_worker_t
is 'install: the label of mount.selvol' "$(type_of /usr/sbin/mount.selvol)" selvol_mount_exec_t
is 'install: the module' "$(modules selvol)" '200 selvol'
yes 'install: doctor finds no problem' selvolctl doctor -q
yes 'install: the volume plugin' systemctl enable -q --now selvol-volume-plugin.socket
yes 'install: the CSI driver' systemctl enable -q --now selvol-csi.socket
yes 'a volume' selvolctl mount data "$disk" --level s0:c1,c2
is 'a volume: its type' "$(type_of "$T")" container_file_t
yes 'a volume: a file' touch "$T/file"

mkdir -p "$scratch/files" "$targets"/{probe,other}
touch "$scratch/files"/{1..300}
mkfs.ext4 -q -d "$scratch/files" "$big"
yes 'a volume with files' selvolctl mount -q big "$big" --level s0:c5
yes 'a volume with files: nobody uses it' selvolctl unmount -q "$targets/big"

# The module stays as it is, as the policy is compiled for minutes here: the suite "policy" has an upgrade of both.
start_callers s0:c8
yes 'upgrade: a caller relabels' wait_for has_job relabel
yes 'upgrade: a caller waits' wait_for has_job mount
yes 'upgrade' dpkg -i --force-depends other/selvol{,-podman,-csi}_*.deb
is 'upgrade: the version' "$(version)" "$(version_in other)"
yes 'upgrade: it runs' runs
yes 'upgrade: the volume plugin answers' plugin_answers
yes 'upgrade: the CSI driver listens' systemctl -q is-active selvol-csi.socket
yes 'upgrade: the volume stays mounted' test -e "$T/file"
yes 'upgrade: its holder stays' is_listed "$T"
touch stop
yes 'upgrade: the holder goes' selvolctl unmount -q "$T"
wait "${callers[@]}"
is 'upgrade: no caller met an error that it could not mend' "$(cat callers.[123])" ''
sed 's/^/# an error that it could mend: /' heard
mount -o ro "$big" /mnt
is 'upgrade: all files are relabeled' "$(find /mnt ! -context '*:s0:c8')" ''
umount /mnt
like 'upgrade: the volume belongs to the one that waited' "$(stat -c %C "$targets/other")" s0:c8
yes 'upgrade: it gives the volume back' selvolctl unmount -q "$targets/other"
yes 'upgrade: the volume is mounted as before' selvolctl mount -q data "$disk" --level s0:c1,c2

yes 'unpacked, and not configured' dpkg --force-depends --unpack new/selvol{,-podman,-csi}_*.deb
yes 'unpacked: the old processes work' selvolctl mount -q data "$disk" --level s0:c1,c2
yes 'unpacked: the worker starts anew' systemctl restart selvol-worker
like 'unpacked: selvold and the worker do not work together' "$(selvolctl mount -q data "$disk" --level s0:c1,c2 2>&1)" \
    "two versions: run 'systemctl restart selvol-worker selvold'"
yes 'unpacked: the command of the message' systemctl restart selvol-worker selvold
yes 'unpacked: the new processes work' selvolctl mount -q data "$disk" --level s0:c1,c2
yes 'downgrade' dpkg --force-depends --configure -a
is 'downgrade: the version' "$(version)" "$(version_in new)"
yes 'downgrade: it runs' runs
yes 'downgrade: its holder stays' is_listed "$T"

like 'remove: it says what stays' "$(dpkg -r selvol-podman selvol-csi selvol selvol-selinux 2>&1)" 'volumes stay mounted' 'volumes of org.selvol.csi'
no 'remove: nothing runs' pgrep -f /usr/libexec/selvol
is 'remove: no module' "$(modules selvol)" ''
yes 'remove: the volume stays mounted' test -e "$T/file"

yes 'purge' dpkg -P selvol-podman selvol-csi selvol selvol-selinux
is 'purge: only the targets in use are left' "$(find / -xdev -path /root -prune -o -name '*selvol*' ! -name 'selvol-guest*' -print)" "$targets"
is 'purge: no module' "$(modules selvol)" ''
yes 'purge: the volume stays mounted' test -e "$T/file"
yes 'purge: umount(8)' umount "$T"
