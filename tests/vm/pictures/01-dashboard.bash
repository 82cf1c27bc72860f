# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2034 # of lib.bash; words; for eval
# In some minutes of a node everything happens once that the panels of the dashboard show. Prometheus' answers to the
# panels go to $RESULTS/dashboard.json, from which tools/pictures draws the picture.

dashboard=/usr/share/selvol/monitoring/selvol-dashboard.json
every=5 # seconds, as often as selvold writes its metrics
disk='Driver s disk.csi.example.com' share='Driver s share.csi.example.com'

# scene TEXT SECONDS: waits until Prometheus has the values of the last scene, then announces the next
scene() {
    sleep "$2"
    echo "# $((EPOCHSECONDS - begun)) s: $1"
}

start_prometheus() {
    systemctl enable -q --now selvol-metrics.socket
    cat >/etc/prometheus/prometheus.yml <<YML
global:
  scrape_interval: ${every}s
scrape_configs:
  - job_name: selvol
    static_configs:
      - targets: ['localhost:24810']
YML
    systemctl start prometheus
}
is_scraped() { fetch 9090 '/api/v1/query?query=up' | jq -e '.data.result[0].value[1] == "1"'; }

# ---- answers to the panels ---------------------------------------------------------------------------------

# answer EXPRESSION: prints series with labels and a value (or null) for each step, as Grafana would request them
answer() {
    local expression=${1//\$instance/.*} query
    # Grafana replaces this variable by the time of four scrapes.
    expression=${expression//\$__rate_interval/$((every * 4))s}
    query=$(jq -rn --arg expression "$expression" '$expression | @uri')
    fetch 9090 "/api/v1/query_range?query=$query&start=$begun&end=$ended&step=$every" |
        jq -c --argjson first "$begun" --argjson last "$ended" --argjson step $every '[.data.result[] |
            ([.values[] | select(.[1] != "NaN") | {(.[0] | tostring): (.[1] | tonumber * 10000 | round / 10000)}] | add) as $at |
            {labels: (.metric | del(.__name__, .job)), values: [range($first; $last + 1; $step) | $at[tostring]]}]'
}

# collect: prints each query of each panel with its answer, one in a line
collect() {
    local id title expression legend
    jq -r '.panels[] | select(.type != "row") | . as $p | .targets[] | [$p.id, $p.title, .expr, .legendFormat] | @tsv' $dashboard |
        while IFS=$'\t' read -r id title expression legend; do
            # @tsv doubles backslashes, and no expression has one.
            jq -cn --argjson id "$id" --arg title "$title" --arg expr "$expression" --arg legend "$legend" \
                --argjson series "$(answer "$expression")" '{$id, $title, $expr, $legend, $series}'
        done
}

# ---- the node ----------------------------------------------------------------------------------------------

mkdir -p "$pods"/dashboard/{a,a2,b,c,d,e,f,g}
target() { echo "$pods/dashboard/$1"; }
usermod -aG selvol bob
configure "[Worker]\nSourceDevices=/dev/scratch3"
for device in /dev/scratch{0..2}; do
    mkfs.ext4 -q -F $device
    fill_disk $device 900
done
wait_for answers_calls
start_prometheus
soon 'prometheus scrapes' is_scraped
begun=$EPOCHSECONDS

scene 'pods come: their volumes are mounted with their labels, one is shared' 10
mount_with s0:c1,c2 pvc-a /dev/scratch0 "$(target a)" "$disk" 'Holder s pod-a' 'AccessMode s ReadWriteOnce'
answers 'pod a' "$file_type:s0:c1,c2" '' context-mount context-mount
mount_with s0:c1,c2 pvc-a /dev/scratch0 "$(target a2)" "$disk" 'Holder s pod-a2' 'AccessMode s ReadWriteOnce'
sleep 5
mount_with s0:c3,c4 pvc-b none "$(target b)" "$share" 'FSType s tmpfs' 'AccessMode s ReadWriteMany'
mount_with s0:c5 pvc-c none "$(target c)" "$share" 'FSType s tmpfs' 'AccessMode s ReadWriteOncePod'
mount_volume pvc-d none "$(target d)" 'FSType s tmpfs' 'SELinuxLevel s s0:c6' "$always"

scene 'a pod with another label is refused, and then waits until the others have gone' 15
for _ in 1 2 3; do
    mount_with s0:c7,c8 pvc-a /dev/scratch0 "$(target e)" "$disk" 'Holder s pod-e' 'AccessMode s ReadWriteOnce'
    sleep 2
done
expect_error 'the conflict' ContextConflict pod-a
mount_with s0:c7,c8 pvc-a /dev/scratch0 "$(target e)" "$disk" 'Holder s pod-e' 'AccessMode s ReadWriteOnce' 'WaitUSec t 60000000' &
waits=$!
sleep 15
unmount_volume pvc-a "$(target a)"
unmount_volume pvc-a "$(target a2)"
wait $waits
is 'it gets the volume' "$(label_of "$(target e)")" "$file_type:s0:c7,c8"

scene 'a volume is relabeled slowly, and another change of it is queued' 15
mount_service s0:c9 pvc-f /dev/scratch1 "$(target f)" "$disk"
unmount_volume pvc-f "$(target f)"
relabel pvc-f "$file_type:s0:c10" 'MaxEntriesPerSecond t 25'
walking=$job
sleep 10
relabel pvc-f "$file_type:s0:c11" 'TimeoutUSec t 8000000'
expect_error 'queued' Busy relabel
job=$walking
job_ends 'the relabel' 'done'

scene 'mounts of it are skipped walks now' 10
for _ in 1 2 3; do
    mount_service s0:c10 pvc-f /dev/scratch1 "$(target f)" "$disk"
    is_skipped 'the mark is believed'
    unmount_volume pvc-f "$(target f)"
done

scene 'groups: all files are given to one, and then shown with another one' 10
for group in 1000 1000 2000; do
    mount_volume pvc-g /dev/scratch2 "$(target g)" "$disk" 'FSGroupPolicy s File' "FSGroup u $group" 'FSGroupChangePolicy s OnRootMismatch'
    unmount_volume pvc-g "$(target g)"
done
is 'the last one is mapped' "${error:-none}" none

scene 'labels are verified: as they should be, and after another program has changed some' 10
mount_service s0:c10 pvc-f /dev/scratch1 "$(target f)" "$disk"
volume_call VerifyLabel 'ssa{sv}' pvc-f '' -- 'Depth s root'
volume_call VerifyLabel 'ssa{sv}' pvc-f '' -- 'Depth s full'
like 'labels match' "$error$reply" 'bsa{sv} true'
chcon -l s0:c12 "$(target f)/d0/f0" "$(target f)/d1/f1"
volume_call VerifyLabel 'ssa{sv}' pvc-f '' -- 'Depth s full'
like 'labels do not match' "$error$reply" 'bsa{sv} false'
unmount_volume pvc-f "$(target f)"

scene 'failures: files that are immutable, no file system, no context, a process that is killed, a caller without the right' 10
mount /dev/scratch2 /mnt
chattr +i /mnt/d0/f3 /mnt/d1/f4
umount /mnt
mount_service s0:c13 pvc-g /dev/scratch2 "$(target g)" "$disk"
expect_error 'immutable files' EntriesFailed d0/f3
mount_with s0:c1 pvc-h /dev/scratch3 "$(target g)" "$disk"
mount_with s0:c5000 pvc-h /dev/scratch3 "$(target g)" "$disk" 'AccessMode s ReadWriteOnce'
caller=bob mount_with s0:c1 pvc-h /dev/scratch3 "$(target g)" "$disk"
relabel pvc-f "$file_type:s0:c14" 'MaxEntriesPerSecond t 25'
wait_for job_has EntriesDone 1
kill -KILL "$(walker)"
job_ends 'its process was killed' WorkerFailed

scene 'somebody unmounts a volume with umount' 10
umount "$(target b)"

scene 'pods go' 15
unmount_volume pvc-a "$(target e)"
unmount_volume pvc-c "$(target c)"
sleep 5
unmount_volume pvc-d "$(target d)"
scene 'the end' 20

ended=$EPOCHSECONDS
collect >"$scratch/answers"
{
    jq -cn --arg kernel "$(uname -r)" --argjson every $every '{$kernel, $every}'
    cat "$scratch/answers"
} >"$RESULTS/dashboard.json"
while IFS=$'\t' read -r title values; do
    yes "panel: $title" test "$values" -gt 0
done < <(jq -rs 'group_by(.id)[] | [.[0].title, ([.[].series[].values[] | values] | length)] | @tsv' "$scratch/answers")

mount /dev/scratch2 /mnt && chattr -i /mnt/d0/f3 /mnt/d1/f4
umount /mnt
systemctl disable -q --now selvol-metrics.socket
systemctl stop selvol-metrics prometheus
clean dashboard
