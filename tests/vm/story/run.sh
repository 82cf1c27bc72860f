#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The main job, step by step, against the installed service: a volume gets its context when it is mounted. Shows every
# command with its real output and ends with an error if one of them does not do what the step says.
set -uo pipefail

pods=/var/lib/kubelet/pods
work=$(mktemp -d /run/selvol-story.XXXXXX)
manager=(busctl --timeout=20 call org.selvol1 /org/selvol1 org.selvol1.Manager)
asks=(SELinuxRelabelPolicy s OnVolumeMount SELinuxMountSupported b true)
file_type=$(sed -n 's/^file *= *"[^:]*:[^:]*:\([^:]*\):.*/\1/p' "/etc/selinux/$(sed -n 's/^SELINUXTYPE=//p' /etc/selinux/config)/contexts/lxc_contexts")
failures=0
since=$(date +%s)

step() { printf '\n\e[1m%s\e[0m\n' "$*"; }
show() { printf '$ %s\n' "$*"; }
run() { show "$*"; "$@" 2>&1; }
wrong() { printf 'WRONG: %s\n' "$*"; failures=$((failures + 1)); }
# run, and the output has to hold the words
expect() {
    local words=$1 output
    shift
    show "$*"
    output=$("$@" 2>&1)
    printf '%s\n' "$output"
    [[ $output == *"$words"* ]] || wrong "the output should hold: $words"
}

cleanup() {
    local target
    umount -q "$pods/story-a/tools/stolen" 2>/dev/null
    for target in a/tools a/data a2/data b/data; do
        "${manager[@]}" UnmountVolume 'ssa{sv}' "$( [ $target = a/tools ] && echo tools-a || echo pvc-1)" \
            "$pods/story-$target" 0 >/dev/null 2>&1
    done
    "${manager[@]}" ForgetVolume 'sa{sv}' pvc-1 0 >/dev/null 2>&1
    "${manager[@]}" ForgetVolume 'sa{sv}' tools-a 0 >/dev/null 2>&1
    [ -z "${loop:-}" ] || losetup -d "$loop"
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

step "1. A node with SELinux $(getenforce), a volume with an ext4 file system, the service running"
run mkfs.ext4 -q -F "$device"
run systemctl --no-pager --lines=0 status selvold.service | head -n 3

step "2. Pod A gets the volume with its own level, and no file is touched"
expect "s0:c0,c10" "${manager[@]}" MountVolume 'sssa{sv}' pvc-1 "$device" "$pods/story-a/data" \
    4 SELinuxLevel s s0:c10,c0 "${asks[@]}" Holder s pod-A
# not ls -Z: coreutils 9.7 shows a label only if the file system lists it as an attribute, and a context isn't one
expect "$file_type:s0:c0,c10" stat -c '%C %n' "$pods/story-a/data"
expect "true" "${manager[@]}" VerifyLabel 'ssa{sv}' pvc-1 "" 1 Depth s root

step "3. A second holder with the same context, written the other way round, shares it"
expect "context-shared" "${manager[@]}" MountVolume 'sssa{sv}' pvc-1 "$device" "$pods/story-a2/data" \
    4 SELinuxLevel s s0:c0,c10 "${asks[@]}" Holder s pod-A2

step "4. Pod B wants another context: refused, and told who is in the way"
expect "pod-A at $pods/story-a/data since" "${manager[@]}" MountVolume 'sssa{sv}' pvc-1 "$device" "$pods/story-b/data" \
    4 SELinuxLevel s s0:c20,c30 "${asks[@]}" Holder s pod-B

step "5. When pod A and its companion have gone, pod B gets the volume"
expect "true" "${manager[@]}" UnmountVolume 'ssa{sv}' pvc-1 "$pods/story-a/data" 0
expect "true" "${manager[@]}" UnmountVolume 'ssa{sv}' pvc-1 "$pods/story-a2/data" 0
expect "s0:c20,c30" "${manager[@]}" MountVolume 'sssa{sv}' pvc-1 "$device" "$pods/story-b/data" \
    4 SELinuxLevel s s0:c20,c30 "${asks[@]}" Holder s pod-B
run selvolctl list

step "6. A process of pod B reads the volume, one of pod A does not"
busybox=$(command -v busybox)
echo "the secret of pod B" >"$pods/story-b/data/secret"
cp "$busybox" "$pods/story-b/data/busybox"
# Pod A's process runs from a volume of its own, in which the kernel's denial can be seen: that of searching a foreign
# mount's root directory is not audited by the policy.
"${manager[@]}" MountVolume 'sssa{sv}' tools-a tmpfs "$pods/story-a/tools" \
    5 FSType s tmpfs SELinuxLevel s s0:c0,c10 "${asks[@]}" Holder s pod-A >/dev/null || wrong "no tmpfs for pod A"
cp "$busybox" "$pods/story-a/tools/busybox"
touch "$pods/story-a/tools/stolen"
mount --bind "$pods/story-b/data/secret" "$pods/story-a/tools/stolen"
# A process in container_t; what it prints goes through a file of its own, as it may not write to a pipe of root's.
in_container() { # LEVEL DIRECTORY FILE
    printf '$ runcon system_u:system_r:container_t:%s cat %s\n' "$1" "$3"
    runcon "system_u:system_r:container_t:$1" "$2/busybox" sh -c 'exec >"$0/output" 2>&1; exec "$0/busybox" cat "$1"' \
        "$2" "$3" </dev/null >/dev/null 2>&1
    cat "$2/output"
}
output=$(in_container s0:c20,c30 "$pods/story-b/data" "$pods/story-b/data/secret")
printf '%s\n' "$output"
[[ $output == *"the secret of pod B"* ]] || wrong "pod B should read its volume"
for file in "$pods/story-b/data/secret" "$pods/story-a/tools/stolen"; do
    output=$(in_container s0:c0,c10 "$pods/story-a/tools" "$file")
    printf '%s\n' "$output"
    [[ $output == *"ermission denied"* && $output != *"the secret"* ]] || wrong "pod A should be denied"
done
sleep 0.5
denial=$(journalctl -b --no-pager -o cat _TRANSPORT=audit --since "@$since" | grep -a 'denied.*scontext=system_u:system_r:container_t:s0:c0,c10' | tail -n 1)
printf '%s\n' "${denial:-(no AVC record)}"
[ -n "$denial" ] || wrong "the denial should be in the audit records"

step "7. What the journal knows"
journalctl --sync
show "journalctl SELVOL_VOLUME=pvc-1 -o json ..."
journalctl -b --no-pager -o json SELVOL_VOLUME=pvc-1 --since "@$since" | python3 -c '
import json, sys
for line in sys.stdin:
    record = json.loads(line)
    print(" ".join("%s=%s" % (key[7:].lower(), record[key]) for key in sorted(record) if key.startswith("SELVOL_")
                   and key not in ("SELVOL_VOLUME", "SELVOL_CALLER")))' | tee "$work/records"
grep -q 'result=ContextConflict' "$work/records" || wrong "the refusal should be in the journal"

step "8. The metrics"
show "busctl call ... GetMetrics"
"${manager[@]}" GetMetrics --json=short | python3 -c 'import json, sys; print(json.load(sys.stdin)["data"][0], end="")' >"$work/metrics"
grep -E 'admitted|mismatch|holders|tainted|enforcing' "$work/metrics" | grep -v '^# TYPE'
grep -q '^selvol_volume_manager_selinux_volume_context_mismatch_errors_total{.*} [1-9]' "$work/metrics" ||
    wrong "the refusal should be counted"

step "9. The volume for group 1000, and then for 2000: files are given to a group once"
rm -f "$pods/story-b/data/busybox"
# Whoever has another mount of the volume may change files too: then nothing would be skipped.
umount "$pods/story-a/tools/stolen"
expect "true" "${manager[@]}" UnmountVolume 'ssa{sv}' pvc-1 "$pods/story-b/data" 0
expect 'Ownership" s "walked"' "${manager[@]}" MountVolume 'sssa{sv}' pvc-1 "$device" "$pods/story-b/data" \
    5 SELinuxLevel s s0:c20,c30 "${asks[@]}" Holder s pod-B FSGroup u 1000
expect "true" "${manager[@]}" UnmountVolume 'ssa{sv}' pvc-1 "$pods/story-b/data" 0
expect 'Ownership" s "mapped"' "${manager[@]}" MountVolume 'sssa{sv}' pvc-1 "$device" "$pods/story-b/data" \
    5 SELinuxLevel s s0:c20,c30 "${asks[@]}" Holder s pod-B FSGroup u 2000
expect " 2000 " ls -n "$pods/story-b/data/secret"
run selvolctl show pvc-1

echo
if [ $failures -gt 0 ]; then
    echo "$failures steps went wrong."
    exit 1
fi
echo "All of it went as it should."
