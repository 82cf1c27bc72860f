# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# A hundred calls come at the same time, more than selvold runs at once. All are queued, and none fails.

many=100
waits='TimeoutUSec t 600000000'
for ((i = 0; i < many; i++)); do mkdir -p "$pods/many/$i"; done

# begin NAME ARGUMENT...: calls in the background
begin() {
    begin_call "many-$1" "${@:2}"
    calls+=("$caller_pid")
}
# end NAME: waits for all calls in the background
end() {
    local pid bad=0
    for pid in "${calls[@]}"; do wait "$pid" || bad=$((bad + 1)); done
    calls=()
    is "$1: no call fails" "$bad $(grep -h failed "$scratch"/many-* | sort -u | head -n 3)" '0 '
}
calls=()

# ---- each its own volume -----------------------------------------------------------------------------------

for ((i = 0; i < many; i++)); do
    begin $i MountVolume 'sssa{sv}' "many$i" none "$pods/many/$i" \
        6 SELinuxLevel s "s0:c$i,c300" $policy $supported FSType s tmpfs MountOptions as 1 size=1m $waits
done
end "$many volumes mounted at once"
wrong=''
for ((i = 0; i < many; i++)); do
    [[ $(label_of "$pods/many/$i") == "$file_type:s0:c$i,c300" ]] || wrong+=" $i"
done
is 'each has its own label' "$wrong" ''
is 'each has a holder' "$(records | grep -o '"State" s "mounted"' | wc -l)" "$many"
for ((i = 0; i < many; i++)); do
    begin $i UnmountVolume 'ssa{sv}' "many$i" "$pods/many/$i" 1 $waits
done
end "$many volumes unmounted at once"
is 'each was unmounted by its call' "$(cat "$scratch"/many-* | sort | uniq -c | xargs)" "$many a{sv} 1 Unmounted b true"
yes 'nobody holds anything' nobody_holds
is 'nothing is mounted' "$(left_mounts)" ''

# ---- one volume at as many targets -------------------------------------------------------------------------

# Each word has a short name and a sample of the metrics.
samples=('mounted selvol_decisions_total{strategy="context-mount",reason="context-mount"}'
    'shared selvol_decisions_total{strategy="context-mount",reason="context-shared"}'
    'lost selvol_holders_lost_total' 'errors selvol_store_errors_total' 'holders selvol_holders' 'jobs selvol_jobs')
count() {
    local sample
    for sample in "${samples[@]}"; do echo "${sample%% *} $(counter "${sample#* }")"; done
}
# counted TITLE WANTED: the samples have changed so since the last call
counted() {
    local now
    now=$(count)
    is "$1" "$(join <(sort <<<"$before") <(sort <<<"$now") | awk '$2 != $3 { print $1, $3 - $2 }' | xargs)" "$2"
    before=$now
}
before=$(count)

mkfs.ext4 -q -F /dev/scratch0
for ((i = 0; i < many; i++)); do
    begin $i MountVolume 'sssa{sv}' one /dev/scratch0 "$pods/many/$i" 4 SELinuxLevel s s0:c1,c2 $policy $supported $waits
done
end "one volume mounted at $many targets at once"
is 'one superblock' "$(sed -n "s,^[0-9]* [0-9]* \([0-9:]*\) / $pods/many/.*,\1,p" /proc/self/mountinfo | sort | uniq -c | xargs | cut -d' ' -f1)" "$many"
is "$many holders" "$(property one Holders | cut -d' ' -f1)" "$many"
is_labeled 'the label' "$pods/many/7" s0:c1,c2
counted 'what was counted of it' "holders $many mounted 1 shared $((many - 1))"
for ((i = 0; i < many; i++)); do
    begin $i UnmountVolume 'ssa{sv}' '' "$pods/many/$i" 1 $waits
done
end "one volume unmounted from $many targets at once, found by the target"
is 'each was unmounted by its call' "$(cat "$scratch"/many-* | sort | uniq -c | xargs)" "$many a{sv} 1 Unmounted b true"
yes 'nobody holds it' has_no_holder one
counted 'what was counted of that' "holders -$many"

# ---- half of them behind our back --------------------------------------------------------------------------

many=50
for ((i = 0; i < many; i++)); do
    begin $i MountVolume 'sssa{sv}' "many$i" none "$pods/many/$i" \
        6 SELinuxLevel s "s0:c$i,c300" $policy $supported FSType s tmpfs MountOptions as 1 size=1m $waits
done
end "$many volumes mounted"
for ((i = 0; i < many; i += 2)); do
    begin $i UnmountVolume 'ssa{sv}' "many$i" "$pods/many/$i" 1 $waits
done
for ((i = 1; i < many; i += 2)); do umount "$pods/many/$i"; done
end 'half unmounted by calls'
soon 'half behind our back: all are released' nobody_holds

# ---- the same call five times ------------------------------------------------------------------------------

rm -f "$scratch"/many-*
for i in 1 2 3 4 5; do
    begin $i MountVolume 'sssa{sv}' same /dev/scratch0 "$pods/many/0" 3 SELinuxLevel s s0:c1,c2 $policy $supported
done
end 'one volume, five calls at once'
is 'one volume, five calls at once: one answer' "$(sed 's/"Text" s "[^"]*"//' "$scratch"/many-* | sort -u | wc -l)" 1
like 'one volume, five calls at once: which is good' "$(<"$scratch/many-1")" "ssa{sv} \"$file_type:s0:c1,c2\" \"\""
is 'one volume, five calls at once: one mount' "$(grep -c " $pods/many/0 " /proc/self/mountinfo)" 1
unmount_volume same "$pods/many/0"
clean many
