# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# The worker uses the system calls that this kernel has, and does without the others.

T=$pods/kernel/v
mkdir -p "$T"
mkfs.ext4 -q -F /dev/scratch0
mkfs.btrfs -q -f /dev/scratch2 >/dev/null 2>&1
mount /dev/scratch0 /mnt
install -m 600 /dev/null /mnt/file
umount /mnt

trace_worker -A -o "$scratch/calls" -e trace=fsopen,fsconfig,fsmount,mount,umount2,unshare,?statmount,?fchmodat2
# traced COMMAND...: sets calls, the system calls during the command
traced() {
    : >"$scratch/calls"
    "$@"
    calls=$(<"$scratch/calls")
}
mount_and_unmount() {
    mount_with s0:c1,c2 kernel "$1" "$T"
    answers "mounted: $1" "$file_type:s0:c1,c2" '' context-mount context-mount
    unmount_volume kernel "$T"
    forget_volume kernel
}

forced_into_namespace() { tr '\0' '\n' <"/proc/$(main_pid selvol-worker)/environ" | grep -qx SELVOL_STAGE=namespace; }
traced mount_and_unmount /dev/scratch0
if forced_into_namespace; then
    like 'ext4: by mount(2), in a namespace' "$calls" unshare '"ext4"'
else
    like 'ext4: by a file system context' "$calls" fsopen fsmount
    no 'ext4: in no namespace' grep -q unshare <<<"$calls"
    if kernel_has 6.6; then
        like 'ext4: exclusively' "$calls" FSCONFIG_CMD_CREATE_EXCL
    else
        like 'ext4: that is tried' "$calls" '0x8 '
        like 'ext4: and done without' "$calls" FSCONFIG_CMD_CREATE
    fi
fi

traced mount_and_unmount /dev/scratch2
if kernel_has 6.12 && ! forced_into_namespace; then
    like 'btrfs: by a file system context' "$calls" fsmount
    like 'btrfs: statmount(2) names its device' "$calls" statmount
else
    like 'btrfs: by mount(2)' "$calls" unshare '"btrfs"'
fi

walk() {
    mount_volume kernel /dev/scratch0 "$T" "$always" 'FSGroup u 1000' 'FSGroupChangePolicy s Always'
    unmount_volume kernel "$T"
    forget_volume kernel
}
traced walk
# The suite fsgroup shows that the worker sets modes also without fchmodat2(2).
if kernel_has 6.6; then
    like 'modes: by fchmodat2(2)' "$calls" fchmodat2
    no 'modes: which the kernel has' grep -q 'fchmodat2.*ENOSYS' <<<"$calls"
fi

end_process $tracer
yes 'the worker goes on' answers_calls
