# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# The user story, with busctl: while pod A has the volume, pod B is refused, and gets the volume later.

A=$pods/story-A/v B=$pods/story-B/v C=$pods/story-C/v own=$pods/story-own
mkdir -p "$A" "$B" "$C" "$own"
mkfs.ext4 -q -F /dev/scratch0
busctl monitor --match "type='signal',sender='org.selvol1',interface='org.selvol1.Manager'" \
    </dev/null >"$scratch/signals" 2>/dev/null &
monitor=$!

plan_volume pvc-1 /dev/scratch0 "$A" 'SELinuxLevel s s0:c10,c0' "$policy" "$supported"
is 'a plan is no mount: the strategy' "$(field Strategy)" context-mount
is 'a plan is no mount: the context, in order' "$(field Context)" "$file_type:s0:c0,c10"
no 'a plan mounts nothing' is_mounted "$A"
yes 'a plan records nothing' is_unknown pvc-1

before=$(date -u '+%Y-%m-%d %H:%M')
mount_with s0:c10,c0 pvc-1 /dev/scratch0 "$A" 'Holder s pod-A'
answers 'pod A: mounted with the context, no flag' "$file_type:s0:c0,c10" '' context-mount context-mount
is 'pod A: mode' "$(selinux_mode)" enforcing
is_labeled 'pod A: the label' "$A" s0:c0,c10
like 'pod A: what stat shows' "$(label_of "$A")" "$file_type:s0:c0,c10"
like 'pod A: nosuid and nodev' "$(flags "$A")" ,nosuid, ,nodev,
echo word >"$A/file"
is 'pod A: a new file has the label' "$(label_of "$A/file")" "$file_type:s0:c0,c10"
answer=$(sed 's/"Text" s "[^"]*"//' <<<"$reply")
mount_with s0:c10,c0 pvc-1 /dev/scratch0 "$A" 'Holder s pod-A'
is 'the same call again: the same answer' "$(sed 's/"Text" s "[^"]*"//' <<<"$reply")" "$answer"
is 'the same call again: no further mount' "$(grep -c " $A " /proc/self/mountinfo)" 1
namespace=$(find "/proc/$(main_pid selvol-worker)/fd" -lname 'mnt:*')
like 'the worker has a namespace of few mounts: the device and the staging directory' \
    "$(nsenter --mount="$namespace" ls -d /dev/scratch0 /run/selvol/stage)" \
    /dev/scratch0 /run/selvol/stage
is 'the worker has a namespace of few mounts: only these' \
    "$(nsenter --mount="$namespace" cut -d' ' -f5 /proc/self/mountinfo | sort | xargs)" '/ /dev /proc /run /sys'

call VerifyLabel 'ssa{sv}' pvc-1 '' 0
like 'verify: the label matches' "$reply" "bsa{sv} true \"$file_type:s0:c0,c10\""
call VerifyLabel 'ssa{sv}' "$A" "$file_type:s0:c10,c0" 0
like 'verify by path: the order does not matter' "$reply" 'bsa{sv} true'
call VerifyLabel 'ssa{sv}' pvc-1 "$file_type:s0:c1" 0
like 'verify: another label is a result, not an error' "$reply" "bsa{sv} false \"$file_type:s0:c0,c10\""

mount_with s0:c0,c10 pvc-1 /dev/scratch0 "$C" 'Holder s pod-C'
answers 'pod C, same level: shares' "$file_type:s0:c0,c10" '' context-mount context-shared
is 'pod C: sees the file' "$(cat "$C/file")" word
is_labeled 'pod C: the label' "$C" s0:c0,c10
is 'two holders' "$(property pvc-1 Holders | cut -d' ' -f1)" 2
unmount_volume pvc-1 "$C"
is 'pod C: unmounted' "$(field Unmounted)" true
yes 'pod A keeps the volume' test -e "$A/file"

refused 'pod B: refused' ContextConflict 'in use by pod-A with level s0:c0,c10' mount_with s0:c20,c30 pvc-1 /dev/scratch0 "$B" 'Holder s pod-B'
like 'pod B: told by whom, since when, and what to do' "$message" pod-A "since ${before:0:13}" \
    'you asked for s0:c20,c30.' 'Stop pod-A, wait for it with "WaitUSec", or use its level.'
plan_volume pvc-1 /dev/scratch0 "$B" 'SELinuxLevel s s0:c20,c30' "$policy" "$supported"
like 'pod B: the plan says the same' "$reply" '"ErrorName" s "ContextConflict"' "\"Volume\" s \"pvc-1\" \"Holder\" s \"pod-A\" \"Target\" s \"$A\""
soon 'the signal ContextConflict' grep -q ContextConflict "$scratch/signals"

mount_with s0:c20,c30 pvc-1 /dev/scratch0 "$B" 'Holder s pod-B' 'WaitUSec t 1000000'
expect_error 'pod B: refused after a wait' ContextConflict 'Waited 1s for pod-A.'
journalctl -q -o json MESSAGE_ID=afdf3fa990074b70af2787933ccd962a >"$scratch/waiting"
yes 'pod B: the wait is recorded' grep -q '"SELVOL_OPERATION":"mount"' "$scratch/waiting"
no 'pod B: the wait is no result' grep -q SELVOL_RESULT "$scratch/waiting"

unmount_volume pvc-1 "$A"
is 'pod A: unmounted' "$(field Unmounted)" true
no 'pod A: nothing is mounted' is_mounted "$A"
unmount_volume pvc-1 "$A"
is 'unmounting again is no error' "$(field Unmounted)$error" false
soon 'the signal ContextReleased' grep -q ContextReleased "$scratch/signals"
end_process $monitor

mount_with s0:c20,c30 pvc-1 /dev/scratch0 "$B" 'Holder s pod-B'
answers 'pod B: mounted now' "$file_type:s0:c20,c30" '' context-mount context-mount
is 'pod B: the same file has the other label' "$(label_of "$B/file")" "$file_type:s0:c20,c30"

# The policy does not audit a denied search of the root directory of a foreign volume, so the test binds one of the
# volume's files into A's own volume.
mount_with s0:c0,c10 own none "$own" 'FSType s tmpfs'
cp /bin/busybox "$own/busybox"
cp /bin/busybox "$B/busybox"
echo word >"$own/own"
: >"$own/file"
mount --bind "$B/file" "$own/file"
as_A() { runcon system_u:system_r:container_t:s0:c0,c10 "$own/busybox" grep -q word "$1" </dev/null; }
as_B() { runcon system_u:system_r:container_t:s0:c20,c30 "$B/busybox" grep -q word "$1" </dev/null; }
yes 'a container with A'\''s categories reads its own volume' as_A "$own/own"
yes 'a container with B'\''s categories reads the volume' as_B "$B/file"
no 'a container with A'\''s categories does not' as_A "$B/file"
no 'a container with A'\''s categories does not, through its own directory' as_A "$own/file"
soon 'which is audited' eval "journalctl -q -b -o cat _TRANSPORT=audit | grep 'avc: *denied' |
    grep 'scontext=system_u:system_r:container_t:s0:c0,c10' | grep 'tcontext=$file_type:s0:c20,c30'"
umount "$own/file"
unmount_volume own "$own"

refusal=ae52486311d54c8c9b0d81305620a478
journal_has 'the journal has the refusal' SELVOL_VOLUME=pvc-1 "MESSAGE_ID=$refusal"
entry=$(journal SELVOL_VOLUME=pvc-1 "MESSAGE_ID=$refusal")
like 'its fields' "$entry" SELVOL_RESULT=ContextConflict SELVOL_HOLDER=pod-B "SELVOL_TARGET=$B" SELVOL_OPERATION=mount \
    "SELVOL_CONTEXT=$file_type:s0:c20,c30" 'SELVOL_CALLER=uid 0' SELVOL_DURATION_USEC= \
    _SYSTEMD_UNIT=selvold.service
like 'journalctl -x explains it' "$(journalctl -q -x "MESSAGE_ID=$refusal" SELVOL_VOLUME=pvc-1)" \
    'Volume pvc-1 is in use with another context' ContextConflict
mount=$(journal SELVOL_VOLUME=pvc-1 MESSAGE_ID=6e4d39945b7d46338d47eed5de94c0e2)
like 'the journal has the mount' "$mount" SELVOL_RESULT=done SELVOL_HOLDER=pod-B SELVOL_REASON=context-mount
like "selvol-worker's record of it has the same job" \
    "$(journal SYSLOG_IDENTIFIER=selvol-worker SELVOL_VOLUME=pvc-1 "$(grep ^SELVOL_JOB= <<<"$mount")")" \
    "MESSAGE=Mounted "

metrics=$(metrics)
mode='volume_plugin="kubernetes.io/csi",access_mode="inline"'
like 'metrics: refusals' "$metrics" 'selvol_refusals_total{error="ContextConflict"} 2' \
    "selvol_volume_manager_selinux_volume_context_mismatch_errors_total{$mode} 2"
like 'metrics: decisions' "$metrics" 'selvol_decisions_total{strategy="context-mount",reason="context-shared"} 1' \
    "selvol_volume_manager_selinux_volumes_admitted_total{$mode} 3"
like 'metrics: state' "$metrics" 'selvol_selinux_enforcing 1' 'selvol_holders 1' 'selvol_jobs 0' 'selvol_jobs_waiting 0'
is 'metrics: each line is a comment or a sample' \
    "$(grep -cvE '^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? [0-9.e+-]+)$' <<<"${metrics#*\[\"}")" 1

journalctl --sync
like 'the history' "$(selvolctl history pvc-1 --json)" '"Operation":"mount","Result":"done","Reason":"context-mount"' \
    '"Operation":"mount","Result":"ContextConflict"' '"Operation":"unmount","Result":"done"'
unmount_volume pvc-1 "$B"
forget_volume pvc-1
yes 'a volume can be forgotten' is_unknown pvc-1
clean story
