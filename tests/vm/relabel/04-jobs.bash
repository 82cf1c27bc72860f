# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# A relabel job on btrfs: its I/O priority, and the labels on disk after it is canceled and after it is done.

T=$pods/jobs/v
mkdir -p "$T"
mkfs.btrfs -q -f /dev/scratch2 >/dev/null 2>&1
fill_disk /dev/scratch2 200
mount_service s0:c1 jobs /dev/scratch2 "$T"
unmount_volume jobs "$T"
configure '[Worker]\nIOSchedulingClass=idle'

# calls that join a job, and how often it reports progress: bus /job/slow
busctl monitor --json=short --match "type='signal',sender='org.selvol1'" </dev/null >"$scratch/signals" 2>"$scratch/monitor" &
monitor=$!
wait_for grep -q Monitoring "$scratch/monitor"
slow='MaxEntriesPerSecond t 2'
relabel jobs "$file_type:s0:c3,c2" "$slow"
like 'Relabel: a job' "$error$job" /org/selvol1/job/
soon 'it has begun' job_has EntriesChanged 1
is 'its properties' "$(job_property Operation) $(job_property Volume) $(job_property Context) $(job_property State)" \
    "\"relabel\" \"jobs\" \"$file_type:s0:c2,c3\" \"running\""
is 'it has no result' "$(job_property Result)$(job_property ErrorName)$(job_property ErrorMessage)" '""""""'
first=$job
relabel jobs "$file_type:s0:c9" 'TimeoutUSec t 500000'
expect_error 'another context meanwhile: is queued, and names who is in front' Busy "job ${first##*/}" relabel
mount_service s0:c3 jobs /dev/scratch2 "$T" 'TimeoutUSec t 500000'
expect_error 'mounting it meanwhile: likewise' Busy "job ${first##*/}" relabel
job=$first
tasks=("/proc/$(walker)/task/"*)
yes 'several threads, and the one that waits' test ${#tasks[@]} -gt 2
is 'with idle I/O' "$(for task in "${tasks[@]##*/}"; do ionice -p $task; done | grep -c idle)" ${#tasks[@]}

# waiting callers, a second Cancel, and a prompt end: bus /job/cancel/crawl, /job/cancel/hang
job_call Cancel ''
is 'Cancel' "$error$(job_property State) $(job_property Result)" '"ended" "Canceled"'
is 'Cancel: what is known: partial' "$(property jobs LabelState)" '"partial"'
is 'Cancel: nobody walks any more' "$(walker)" ''
right=$(on_disk /dev/scratch2 find /mnt -context '*:s0:c2,c3' -printf '%i %C@\n' | sort)
missing=$(on_disk /dev/scratch2 lacking s0:c2,c3 /mnt)
yes 'Cancel: some have the label' test -n "$right" -a $missing -gt 0
soon 'Cancel: JobRemoved' grep -q "\"member\":\"JobRemoved\".*\"$job\",\"jobs\",\"relabel\",\"Canceled\"" "$scratch/signals"

# the limit of entries per second: root /tree/rate
relabel jobs "$file_type:s0:c2,c3"
job_ends 'the next one finishes it' 'done'
is 'all are looked at, and what is missing is written' \
    "$(field RelabelReason) $(field EntriesDone) $(field EntriesChanged) $(field EntriesFailed)" "partial $total $missing "
is 'it has ended' "$(job_property State) $(job_property Result) $(job_property ExpectedEndUSec)" '"ended" "done" 0'
soon 'JobRemoved' grep -q "\"member\":\"JobRemoved\".*\"$job\",\"jobs\",\"relabel\",\"done\"" "$scratch/signals"
kill $monitor
is 'what is known: complete' "$(property jobs LabelState)" '"complete"'
is 'what was right is not touched' "$(comm -23 <(echo "$right") <(on_disk /dev/scratch2 times /mnt))" ''
is 'on the disk' "$(on_disk /dev/scratch2 labels /mnt)" "$total $file_type:s0:c2,c3"

# nothing to do: bus /job/held
# a MountVolume is a job too, and can be canceled: bus /relabel/hidden, /relabel/canceled, /relabel/killed
# refusals: bus /job/refused/stealing, /job/refused/context-mounted, /job/refused/type, /job/bad-input
# a stranger: faults/08-matrix.bash
# selvolctl: bus /ctl-job/relabel, /ctl-job/jobs, /ctl-job/cancel

mount_service s0:c2,c3 jobs /dev/scratch2 "$T"
relabel jobs '' 'Force b true'
job_ends 'a volume that is mounted, forced' 'done'
is 'a volume that is mounted, forced: nothing is written' "$(field EntriesDone) $(field EntriesChanged)" "$total 0"
verify() { volume_call VerifyLabel 'ssa{sv}' jobs '' -- 'Depth s full'; }
verify
like 'verify, full: all have the label' "$error$reply" "bsa{sv} true \"$file_type:s0:c2,c3\""
is 'verify, full: all were looked at' "$(field EntriesDone) $(field EntriesMismatched)" "$total 0"
chcon -R "$file_type:s0:c9" "$T/d3"
after=$(times "$T")
verify
like 'verify, full: some have another label' "$reply" 'bsa{sv} false' "\"d3/f" "$file_type:s0:c9"
is 'verify, full: so many' "$(field EntriesDone) $(field EntriesMismatched)" "$total 21"
# selvol writes the mark, which is on the root.
is 'verify, full: nothing is touched' "$(touched "$after" "$T" | grep -vx "$(inodes "$T")")" ''
is 'verify, full: complete it is no more' "$(property jobs LabelState)" '"unknown"'
# most entries with another label, and a look at the root only: bus /relabel/verify/mismatch; root /verify/depths
unmount_volume jobs "$T"
mount_service s0:c2,c3 jobs /dev/scratch2 "$T"
is 'what was found is remembered' "$error$(field Relabel)" walked
all_labeled 'and mended' "$T" "$file_type:s0:c2,c3"
unmount_volume jobs "$T"
clean jobs
configure
