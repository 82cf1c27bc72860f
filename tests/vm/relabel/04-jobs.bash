# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# The job: its progress, its effect on other workloads, its end.

T=$pods/jobs/v U=$pods/jobs/u
mkdir -p "$T" "$U"
mkfs.ext4 -q -F /dev/scratch0
mount /dev/scratch0 /mnt
fill /mnt 600
total=$(entries /mnt)
umount /mnt
mount_service s0:c1 jobs /dev/scratch0 "$T"
unmount_volume jobs "$T"
configure '[Worker]\nIOSchedulingClass=idle'
busctl monitor --json=short --match "type='signal',sender='org.selvol1'" </dev/null >"$scratch/signals" 2>/dev/null &
monitor=$!
sleep 0.5

# Slow enough to be looked at on a busy machine
slow='MaxEntriesPerSecond t 10'
milliseconds() { echo $((${EPOCHREALTIME/./} / 1000)); }
is_expected_to_end() { (($(job_property EntriesPerSecond) > 0 && $(job_property ExpectedEndUSec) > ${EPOCHREALTIME/./})); }

begin=$(milliseconds)
relabel jobs "$file_type:s0:c3,c2" "$slow"
like 'Relabel: a job' "$error$job" /org/selvol1/job/
soon 'it has begun' job_has EntriesChanged 1
is 'its properties' "$(job_property Operation) $(job_property Volume) $(job_property Context) $(job_property State)" \
    "\"relabel\" \"jobs\" \"$file_type:s0:c2,c3\" \"running\""
is 'it has no result' "$(job_property Result)$(job_property ErrorName)$(job_property ErrorMessage)" '""""""'
first=$job
relabel jobs "$file_type:s0:c2,c3" "$slow"
is 'the same again: the same job' "$error$job" "$first"
call GetJob t "${job##*/}"
is 'GetJob' "$reply" "o \"$job\""
is 'the volume names it' "$(property jobs Job)" "\"$job\""
relabel jobs "$file_type:s0:c9" 'TimeoutUSec t 500000'
expect_error 'another context meanwhile: waits in line, and names who is in front' Busy "job ${first##*/}" relabel
mount_service s0:c3 jobs /dev/scratch0 "$T" 'TimeoutUSec t 500000'
expect_error 'mounting it meanwhile: likewise' Busy "job ${first##*/}" relabel
job=$first
soon 'how many it will be' job_has EntriesTotal $((total - 20))
soon 'how fast, and when it will be done' is_expected_to_end
tasks=("/proc/$(walker)/task/"*)
yes 'several threads, and the one that waits' test ${#tasks[@]} -gt 2
is 'with idle I/O' "$(for task in "${tasks[@]##*/}"; do ionice -p $task; done | grep -c idle)" ${#tasks[@]}
is 'what is known: partial' "$(property jobs LabelState)" '"partial"'
soon 'JobNew' grep -q "\"member\":\"JobNew\".*\"$job\"" "$scratch/signals"
took=$(($(milliseconds) - begin))
updates=$(grep '"PropertiesChanged"' "$scratch/signals" | grep -c "\"path\":\"$job\"")
yes "$updates updates in $took ms: some, at most four a second" test $updates -gt 2 -a $updates -le $((took * 4 / 1000 + 2))

# ---- Cancel ------------------------------------------------------------------------------------------------

(job_call Wait '' && echo "$reply") >"$scratch/waits" &
waits=$!
begin=$(milliseconds)
job_call Cancel ''
took=$(($(milliseconds) - begin))
is 'Cancel' "$error$(job_property State) $(job_property Result)" '"ended" "Canceled"'
yes "Cancel: at once: $took ms with the client's own start" test $took -lt 2000
wait $waits
like 'Cancel: those who wait are told' "$(<"$scratch/waits")" 'sa{sv} "Canceled"'
job_ends 'Cancel: and those who ask later' Canceled
soon 'Cancel: JobRemoved' grep -q "\"member\":\"JobRemoved\".*\"$job\",\"jobs\",\"relabel\",\"Canceled\"" "$scratch/signals"
job_call Cancel ''
is 'Cancel again: no error' "$error" ''
is 'Cancel: what is known: partial' "$(property jobs LabelState)" '"partial"'
is 'Cancel: nobody walks any more' "$(walker)" ''
right=$(on_disk /dev/scratch0 find /mnt -context '*:s0:c2,c3' -printf '%i %C@\n' | sort)

# The rest
begin=$(milliseconds)
relabel jobs "$file_type:s0:c2,c3" 'MaxEntriesPerSecond t 300'
job_ends 'the next one finishes it' 'done'
took=$(($(milliseconds) - begin))
yes "not faster than asked for: $total in $took ms" test $took -ge $((total * 8 / 3))
is 'all are looked at, and written' \
    "$(field RelabelReason) $(field EntriesDone) $(field EntriesChanged) $(field EntriesFailed)" \
    "partial $total $total "
is 'it has ended' "$(job_property State) $(job_property Result) $(job_property ExpectedEndUSec)" '"ended" "done" 0'
job_ends 'Wait when it has ended' 'done'
soon 'JobRemoved' grep -q "\"member\":\"JobRemoved\".*\"$job\",\"jobs\",\"relabel\",\"done\"" "$scratch/signals"
is 'what is known: complete' "$(property jobs LabelState)" '"complete"'
is 'what was right is not touched' "$(comm -23 <(echo "$right") <(on_disk /dev/scratch0 times /mnt))" ''
is 'on the disk' "$(on_disk /dev/scratch0 labels /mnt)" "$total $file_type:s0:c2,c3"
relabel jobs "$file_type:s0:c2,c3"
job_ends 'nothing to do: ends at once' 'done'
is 'nothing to do: says why' "$(field Relabel) $(field RelabelReason)" 'skipped complete'

# a MountVolume is a job too
volume_call MountVolume 'sssa{sv}' jobs /dev/scratch0 "$T" -- 'SELinuxLevel s s0:c5' "$always" 'RelabelBy s service' "$slow" \
    >"$scratch/mount" 2>&1 &
mounts=$!
wait_for eval '[[ $(property jobs Job) == *job/* ]]'
job=$(property jobs Job)
job=${job//\"/}
is 'a mount that relabels: a job' "$(job_property Operation)" '"mount"'
wait_for job_has EntriesDone 20
no 'a mount that relabels: nothing is to be seen before' is_mounted "$T"
job_call Cancel ''
wait $mounts
is 'a mount that relabels: canceled' "$(job_property Result)" '"Canceled"'
no 'a mount that relabels: canceled: nothing is mounted' is_mounted "$T"
yes 'a mount that relabels: canceled: nobody holds it' has_no_holder jobs
mount_service s0:c5 jobs /dev/scratch0 "$T"
is_walked 'a mount that relabels: again' partial

# in use
relabel jobs '' 'Force b true'
job_ends 'a volume that is mounted' 'done'
is 'a volume that is mounted: all are looked at' "$(field EntriesDone) $(field EntriesChanged)" "$total 0"
relabel jobs "$file_type:s0:c6"
is 'a volume that is mounted: not to another context' "$error" ContextConflict
unmount_volume jobs "$T"
mount_with s0:c5 jobs /dev/scratch0 "$T"
relabel jobs "$file_type:s0:c5"
is 'a context mount: not relabeled' "$error" NotSupported
unmount_volume jobs "$T"
relabel none-such "$file_type:s0:c5"
is 'a volume that nobody knows' "$error" NoSuchVolume
relabel jobs system_u:object_r:shadow_t:s0
is 'a type that is not allowed' "$error" TypeNotAllowed
caller=alice relabel jobs "$file_type:s0:c5"
like 'a stranger: denied' "${error:-none}" AccessDenied

# ---- selvolctl ---------------------------------------------------------------------------------------------

like 'selvolctl relabel' "$(selvolctl relabel jobs "$file_type:s0:c7" 2>&1)" jobs
is 'selvolctl relabel: on the disk' "$(on_disk /dev/scratch0 labels /mnt)" "$total $file_type:s0:c7"
selvolctl relabel --max-entries-per-second=10 jobs "$file_type:s0:c8" >"$scratch/ctl" 2>&1 &
client=$!
soon 'selvolctl jobs: lists it' eval 'selvolctl jobs | grep -qE "relabel +jobs +(running|acting)"'
id=$(selvolctl jobs --json | python3 -c 'import json, sys; print([j["Id"] for j in json.load(sys.stdin) if j["State"] != "ended"][0])')
yes 'selvolctl cancel' selvolctl cancel "$id"
wait $client
is 'selvolctl relabel: canceled: its exit status' $? 1
like 'selvolctl relabel: canceled: says so' "$(<"$scratch/ctl")" ancel
kill $monitor
wait $monitor 2>/dev/null

# ---- VerifyLabel -------------------------------------------------------------------------------------------

mount_service s0:c8 jobs /dev/scratch0 "$T"
verify() { volume_call VerifyLabel 'ssa{sv}' jobs "$file_type:s0:c8" -- "$@"; }
verify 'Depth s full'
like 'verify, full: all have the label' "$error$reply" "bsa{sv} true \"$file_type:s0:c8\""
is 'verify, full: all were looked at' "$(field EntriesDone) $(field EntriesMismatched)" "$total 0"
chcon -R "$file_type:s0:c9" "$T/d3"
after=$(times "$T")
verify 'Depth s full'
like 'verify, full: some have another label' "$reply" 'bsa{sv} false' "\"d3/f" "$file_type:s0:c9"
is 'verify, full: so many' "$(field EntriesDone) $(field EntriesMismatched)" "$total 21"
# the root has the mark
is 'verify, full: nothing is touched' "$(touched "$after" "$T" | grep -vx "$(inodes "$T")")" ''
is 'verify, full: complete it is no more' "$(property jobs LabelState)" '"unknown"'
chcon -R "$file_type:s0:c9" "$T"/d*
verify 'Depth s full'
like 'verify, full: most have another label' "$reply" 'bsa{sv} false'
verify 'Depth s root'
like 'verify, root: it has the label' "$reply" 'bsa{sv} true'
unmount_volume jobs "$T"
mount_service s0:c8 jobs /dev/scratch0 "$T"
is 'what was found is remembered' "$error$(field Relabel)" walked
all_labeled 'and mended' "$T" "$file_type:s0:c8"
unmount_volume jobs "$T"
clean jobs
configure
