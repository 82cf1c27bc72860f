#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Shows an administrator's commands with their real output, against the installed service. The script fails if a
# command does not do what the story says. With SELVOL_GUEST_SHELL= set it leaves the volumes mounted, so that the
# user can go on.
set -uo pipefail

pods=/var/lib/kubelet/pods
work=$(mktemp -d /run/selvol-story.XXXXXX)
file_type=$(sed -n 's/^file *= *"[^:]*:[^:]*:\([^:]*\):.*/\1/p' "/etc/selinux/$(sed -n 's/^SELINUXTYPE=//p' /etc/selinux/config)/contexts/lxc_contexts")
failures=0
since=$(date +%s)

step() { printf '\n\e[1m%s\e[0m\n' "$*"; }
say() { printf '%s\n' "$*"; }
wrong() { printf 'WRONG: %s\n' "$*"; failures=$((failures + 1)); }
quote() {
    local word line=''
    for word; do
        [[ $word == *[!A-Za-z0-9_./:,=@%+-]* || -z $word ]] && word="'$word'"
        line+=" $word"
    done
    printf '#%s\n' "$line"
}
# expect WORDS COMMAND...: runs the command; its output has to contain the words
expect() {
    local words=$1 output
    shift
    quote "$@"
    output=$("$@" 2>&1)
    [[ -z $output ]] || printf '%s\n' "$output"
    [[ $output == *"$words"* ]] || wrong "the output should hold: $words"
}
run() { expect '' "$@"; }

cleanup() {
    umount -q "$pods/story-a/tools/stolen" 2>/dev/null
    [[ -z ${SELVOL_GUEST_SHELL:-} ]] || return
    local target
    for target in story-{a,b}/{tools,data} story-a2/data; do selvolctl unmount -q "$pods/$target" 2>/dev/null; done
    selvolctl forget pvc-1 tools-a 2>/dev/null
    [[ -z ${loop:-} ]] || losetup -d "$loop"
    rm -rf "$work" "$pods"/story-{a,a2,b}
}
trap cleanup EXIT

if [ -b /dev/scratch0 ]; then
    device=$(readlink -f /dev/scratch0)
else
    truncate -s 64M "$work/disk"
    loop=$(losetup -f --show "$work/disk")
    device=$loop
fi
mkdir -p "$pods"/story-a/{data,tools} "$pods"/story-a2/data "$pods"/story-b/data
mkfs.ext4 -q -F "$device"

step "1. A disk, and pod A, which runs with the level s0:c0,c10"
say "SELinux is $(getenforce | tr '[:upper:]' '[:lower:]'): pod A can only use files with that level. What would be done, and why?"
expect "s0:c0,c10" selvolctl plan pvc-1 "$device" "$pods/story-a/data" --level s0:c10,c0

step "2. Pod A gets the disk, and no file is changed"
expect "s0:c0,c10" selvolctl mount pvc-1 "$device" "$pods/story-a/data" --holder pod-A --level s0:c10,c0
# ls -Z of coreutils 9.7 shows only labels that listxattr(2) lists, and that does not list the label of a context mount.
expect "$file_type:s0:c0,c10" stat -c '%C %n' "$pods/story-a/data"

step "3. A plugin of kubelet's says the same over D-Bus: here for a second pod with the same level, which shares the disk"
expect "context-shared" busctl call org.selvol1 /org/selvol1 org.selvol1.Manager MountVolume 'sssa{sv}' \
    pvc-1 "$device" "$pods/story-a2/data" 4 Holder s pod-A2 \
    SELinuxLevel s s0:c0,c10 SELinuxRelabelPolicy s OnVolumeMount SELinuxMountSupported b true

step "4. Pod B has another level. It is refused, and told who is in the way"
for_b=(selvolctl mount pvc-1 "$device" "$pods/story-b/data" --holder pod-B --level "s0:c20,c30")
expect "pod-A" "${for_b[@]}"

step "5. It can wait: when pod A and its companion have gone, pod B gets the disk"
say "In the background:"
quote "${for_b[@]}" -q --wait=1min
"${for_b[@]}" -q --wait=1min &
waiting=$!
run selvolctl unmount -q "$pods/story-a/data"
run selvolctl unmount -q "$pods/story-a2/data"
wait $waiting || wrong "pod B should have got the volume"
expect "s0:c20,c30" selvolctl list

step "6. A process of pod B reads the disk, one of pod A does not"
busybox=$(command -v busybox)
say "the secret of pod B" >"$pods/story-b/data/secret"
cp "$busybox" "$pods/story-b/data/busybox"
# Pod A's process has the file of pod B also in a volume of its own, because the policy does not audit a denied search
# of the root directory of a foreign mount.
selvolctl mount -q tools-a tmpfs "$pods/story-a/tools" --fs-type tmpfs --holder pod-A --level s0:c0,c10 ||
    wrong "no tmpfs for pod A"
cp "$busybox" "$pods/story-a/tools/busybox"
touch "$pods/story-a/tools/stolen"
mount --bind "$pods/story-b/data/secret" "$pods/story-a/tools/stolen"
# The process is in container_t. It prints into a file of its own, because it may not write to a pipe of root.
in_container() { # LEVEL DIRECTORY FILE
    quote runcon "system_u:system_r:container_t:$1" cat "$3"
    runcon "system_u:system_r:container_t:$1" "$2/busybox" sh -c 'exec >"$0/output" 2>&1; exec "$0/busybox" cat "$1"' \
        "$2" "$3" </dev/null >/dev/null 2>&1
    output=$(<"$2/output")
    say "$output"
}
in_container s0:c20,c30 "$pods/story-b/data" "$pods/story-b/data/secret"
[[ $output == *"the secret of pod B"* ]] || wrong "pod B should read its volume"
for file in "$pods/story-b/data/secret" "$pods/story-a/tools/stolen"; do
    in_container s0:c0,c10 "$pods/story-a/tools" "$file"
    [[ $output == *"ermission denied"* && $output != *"the secret"* ]] || wrong "pod A should be denied"
done
sleep 0.5
denial=$(journalctl -b --no-pager -o cat _TRANSPORT=audit --since "@$since" | grep -a 'denied.*scontext=system_u:system_r:container_t:s0:c0,c10' | tail -n 1)
say "${denial:-(no AVC record)}"
[ -n "$denial" ] || wrong "the denial should be in the audit records"

step "7. The same disk for group 1000, whose files are changed once, and then for 2000, which the mount shows in its place"
# selvold would not skip the walk while another mount exists, through which others can change files.
umount "$pods/story-a/tools/stolen"
rm -f "$pods"/story-b/data/{busybox,output}
for group in 1000 2000; do
    run selvolctl unmount -q "$pods/story-b/data"
    run "${for_b[@]}" -q --fs-group $group
    expect " $group " ls -n "$pods/story-b/data/secret"
done
expect 'pod-B' selvolctl show pvc-1

step "8. A line of fstab, a unit, or somebody who types mount(8) has it mounted by selvold too; a plain umount gives it back"
run umount "$pods/story-b/data"
expect 'no file has to be changed' mount -v -t selvol -o 'volume=pvc-1,level="s0:c20,c30",holder=pod-B,wait=1min' "$device" "$pods/story-b/data"

step "9. What is left to read afterwards: the history of the volume, its records in the journal, the metrics"
journalctl --sync
expect 'ContextConflict' selvolctl history pvc-1
expect 'pvc-1' journalctl -b --no-pager -o cat SELVOL_VOLUME=pvc-1 --since "@$since"
say "# selvolctl metrics | grep ..."
selvolctl metrics >"$work/metrics"
grep -E '^selvol.*(admitted|mismatch|holders|tainted|enforcing).* [1-9]' "$work/metrics"
grep -q '^selvol_volume_manager_selinux_volume_context_mismatch_errors_total{.*} [1-9]' "$work/metrics" ||
    wrong "the refusal should be counted"

echo
if [ $failures -gt 0 ]; then
    say "$failures steps went wrong."
    exit 1
fi
say "All of it went as it should."
[[ -n ${SELVOL_GUEST_SHELL:-} ]] || exit 0
cat <<TRY

The volumes are still mounted. Three things to try:

  selvolctl mount pvc-1 $device $pods/story-a/data --level s0:c0,c10
      pod A once more: refused, and told that pod B has the disk

  umount $pods/story-b/data; sleep 1; selvolctl show pvc-1
      behind selvol's back: it notices, releases pod B, and the journal says so

  journalctl -x -u selvold
      everything that was done, with explanations
TRY
