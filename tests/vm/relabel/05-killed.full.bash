# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# A process is killed at any point of a relabel. Then the state is partial, and the next relabel writes only the missing
# labels.

T=$pods/killed/v
mkdir -p "$T"
mkfs.xfs -q -f /dev/scratch0       # on xfs a walk writes only labels that differ
fill_disk /dev/scratch0 400
systemctl reset-failed selvold selvol-worker 2>/dev/null
mount_service s0:c1 killed /dev/scratch0 "$T"
unmount_volume killed "$T"
slow='MaxEntriesPerSecond t 20'
level=10
with_label() { find /mnt -context "*:s0:c$level" -printf '%i %C@\n' | sort; }

# next_one NAME: the next relabel finishes
next_one() {
    local right missing
    soon "$1: nobody walks any more" nobody_walks
    wait_for answers_calls
    is "$1: what is known" "$(property killed LabelState)" '"partial"'
    like "$1: the volume says so" " $(on_disk /dev/scratch0 mark /mnt) " ' label=partial ' ":s0:c$level "
    right=$(on_disk /dev/scratch0 with_label)
    missing=$(on_disk /dev/scratch0 lacking "s0:c$level" /mnt)
    relabel killed "$file_type:s0:c$level"
    job_ends "$1: the next one" 'done'
    is "$1: the next one: only what was missing is written" "$(field RelabelReason) $(field EntriesDone) $(field EntriesChanged)" \
        "partial $total $missing"
    is "$1: the next one: what was right is not touched" "$(comm -23 <(echo "$right") <(on_disk /dev/scratch0 times /mnt))" ''
    is "$1: the next one: on the disk" "$(on_disk /dev/scratch0 labels /mnt)" "$total $file_type:s0:c$level"
}
begin_one() {
    level=$((level + 1))
    relabel killed "$file_type:s0:c$level" "$slow"
    soon "$1: in the middle of it" job_has EntriesChanged 40
}

begin_one 'the child that walks'
kill -KILL $(walker)
job_ends 'the child that walks: killed: the job fails' WorkerFailed
next_one 'the child that walks'

begin_one 'selvol-worker'
systemctl kill -s KILL selvol-worker.service
job_ends 'selvol-worker: killed: the job fails' WorkerFailed
next_one 'selvol-worker'

begin_one 'selvold'
kill -KILL $(main_pid selvold)
next_one 'selvold'

begin_one 'both'
kill -KILL $(main_pid selvold) $(worker_pids)
next_one 'both'

begin_one 'selvold, restarted'
systemctl restart selvold
next_one 'selvold, restarted'

level=$((level + 1))
mount_service s0:c$level killed /dev/scratch0 "$T" "$slow" >"$scratch/mount" 2>&1 &
mounts=$!
wait_for eval '[[ -n $(walker) ]]'
sleep 0.5
kill -KILL $(walker)
wait $mounts
no 'a mount: nothing is mounted' is_mounted "$T"
yes 'a mount: nobody holds it' wait_for has_no_holder killed
next_one 'a mount'

# After a kill at any point, a mark that says complete is right.
begin=${EPOCHREALTIME/./}
relabel killed "$file_type:s0:c1"
job_call Wait ''
usual=$((${EPOCHREALTIME/./} - begin))
exec {never}<> <(:)
bad=() interrupted=0 rounds=8
for ((n = 0; n < rounds; n++)); do
    level=$((level + 1))
    begin_call killed Relabel 'ssa{sv}' killed "$file_type:s0:c$level" 0
    time=$((usual * n / rounds))
    read -rt "$(printf '%d.%06d' $((time / 1000000)) $((time % 1000000)))" -u "$never"
    main=$(main_pid selvol-worker)
    for pid in $(worker_pids); do [[ $pid == "$main" ]] || kill -KILL $pid 2>/dev/null; done
    wait $caller_pid
    wait_for eval '[[ $(property killed Job) == "\"/\"" ]]'
    is_complete=$(on_disk /dev/scratch0 mark /mnt | grep -c "label=complete.*:s0:c$level$")
    right=$(on_disk /dev/scratch0 labels /mnt | sed -n "s/ $file_type:s0:c$level$//p")
    ((is_complete == 0)) || [[ $right == "$total" ]] || bad+=("after $time of $usual µs: complete, but only $right of $total")
    [[ $(property killed LabelState) != '"complete"' || $right == "$total" || -z $right ]] ||
        bad+=("after $time of $usual µs: selvold believes in complete, but only $right of $total")
    [[ -z $right || $right == "$total" ]] || interrupted=$((interrupted + 1))
    relabel killed "$file_type:s0:c$level"
    job_call Wait ''
    [[ $(on_disk /dev/scratch0 labels /mnt) == "$total $file_type:s0:c$level" ]] || bad+=("after $time of $usual µs: not finished by the next one: $error $message")
done
is 'killed at any time: what says complete is complete' "${bad[*]-}" ''
echo "# killed at any time: $interrupted of $rounds in the middle of the files, of $usual µs each"
clean killed
