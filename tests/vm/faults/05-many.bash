# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# Fifty volumes at the same time, and one that is asked for five times.

many=50
for ((i = 0; i < many; i++)); do mkdir -p "$pods/many/$i"; done
for ((i = 0; i < many; i++)); do
    busctl -q --timeout=60 call org.selvol1 /org/selvol1 org.selvol1.Manager MountVolume 'sssa{sv}' "many$i" none "$pods/many/$i" \
        4 SELinuxLevel s "s0:c$i,c100" $policy $supported FSType s tmpfs </dev/null >>"$scratch/many" 2>&1 &
    calls[i]=$!
done
bad=0
for ((i = 0; i < many; i++)); do wait "${calls[i]}" || bad=$((bad + 1)); done
is "$many volumes mounted at once: no call fails" "$bad" 0
wrong=''
for ((i = 0; i < many; i++)); do
    [[ $(label_of "$pods/many/$i") == "$file_type:s0:c$i,c100" ]] || wrong+=" $i"
done
is 'each has its own label' "$wrong" ''
is 'each has a holder' "$(records | grep -o '"mounted"' | wc -l)" "$many"
for ((i = 0; i < many; i += 2)); do
    busctl -q --timeout=60 call org.selvol1 /org/selvol1 org.selvol1.Manager UnmountVolume 'ssa{sv}' "many$i" "$pods/many/$i" 0 \
        </dev/null >>"$scratch/many" 2>&1 &
    calls[i]=$!
done
for ((i = 1; i < many; i += 2)); do umount "$pods/many/$i"; done
for ((i = 0; i < many; i += 2)); do wait "${calls[i]}" || bad=$((bad + 1)); done
is 'half unmounted by calls: no call fails' "$bad" 0
soon 'half behind our back: all are released' 5 nobody_holds

mkfs.ext4 -q -F /dev/scratch0
for i in 1 2 3 4 5; do
    busctl --timeout=60 call org.selvol1 /org/selvol1 org.selvol1.Manager MountVolume 'sssa{sv}' same /dev/scratch0 "$pods/many/0" \
        3 SELinuxLevel s s0:c1,c2 $policy $supported </dev/null >"$scratch/same$i" 2>&1 &
    calls[i]=$!
done
for i in 1 2 3 4 5; do wait "${calls[i]}"; done
is 'one volume, five calls at once: one answer' "$(sed 's/"Text" s "[^"]*"//' "$scratch"/same? | sort -u | wc -l)" 1
like 'one volume, five calls at once: which is good' "$(<"$scratch/same1")" "ssa{sv} \"$file_type:s0:c1,c2\" \"\""
is 'one volume, five calls at once: one mount' "$(grep -c " $pods/many/0 " /proc/self/mountinfo)" 1
unmount_volume same "$pods/many/0"
clean many
