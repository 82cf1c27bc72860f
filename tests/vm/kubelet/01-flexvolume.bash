# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # of lib.bash and node.bash
# Kubelet and containerd use examples/flexvolume. Pods share a volume, wait for it, and get it for another
# group. Kubelet, selvold and the node are restarted.

# shellcheck source-path=SCRIPTDIR source=node.bash
. ./node.bash

keep_on_disks

wrote() { [[ $(cat "$(pod_directory "$1")/pods") == *"$1"* ]]; }
found() { xargs <"$(pod_directory "$1")/found-by-$1"; }
has_found() { [[ $(found "$1") == "$2" ]]; }
mounts_of_pvc() { mount_table | grep -c 'selvol~volume/data'; }
memory() { awk '/MemAvailable/ { print "# memory left: " int($2 / 1024) " MB" }' /proc/meminfo; }

if ((SELVOL_GUEST_BOOT == 1)); then
    mkfs.ext4 -q -F /dev/scratch0
    mkfs.ext4 -q -F /dev/scratch1
    if ! start_node; then
        not_ok 'a node' "$(node_log)"
        return
    fi
    memory

    start_pod one 1001 1000 s0:c10,c20
    if ! wait_for pod_runs one; then
        not_ok 'one: runs' "$(node_log)"
        return
    fi
    ok 'one: runs'
    soon 'one: writes' wrote one
    T=$(pod_directory one)
    is_labeled 'one: the label' "$T" s0:c10,c20
    is 'one: the group' "$(stat -c %g "$T/pods")" 1000

    start_pod two 1002 1000 s0:c10,c20
    soon 'two, of the same level: runs' pod_runs two
    soon 'two: writes' wrote two
    is 'two: reads what one has written' "$(found two)" one

    start_pod three 1003 2000 s0:c30,c40
    start_pod nolevel 1004 1000 '' pvc-2 /dev/scratch1
    soon 'three, of another level: an event says who has the volume' pod_has_event three "in use by default/one-node with level"
    like 'three: it is a failed mount' "$(pod_events three)" FailedMount 'mount command failed, status: Failure'
    no 'three: does not run' pod_runs three
    soon 'without a level: an event says so' pod_has_event nolevel 'needs the level'
    is 'one and two use it' "$(mounts_of_pvc)" 2
    stop_pod nolevel

    stop_pod one
    stop_pod two
    soon 'three: runs when they have gone' pod_runs three
    soon 'three: writes' wrote three
    is 'three: reads what they have written' "$(found three)" 'one two'
    U=$(pod_directory three)
    is_labeled 'three: the label' "$U" s0:c30,c40
    is 'three: the group' "$(stat -c %g "$U/pods")" 2000
    like 'three: groups are swapped, and no file is changed' "$(property pvc-1 Holders)" '"FSGroup" u 2000 "DiskGroup" u 1000'

    container=$(pod_container three) line=$(mount_line "$U")
    systemctl restart kubelet
    soon 'kubelet is restarted' kubelet_answers
    soon 'three: runs' pod_runs three
    is 'three: in the same container' "$(pod_container three)" "$container"
    is 'three: with the same mount' "$(mount_line "$U")" "$line"
    systemctl restart selvold
    soon 'selvold is restarted' is_held pvc-1 "$U"
    start_pod four 1004 2000 s0:c30,c40
    soon 'selvold is restarted: four, of the same level: runs' pod_runs four
    soon 'four: writes' wrote four
    is 'four: reads what the others have written' "$(found four)" 'one two three'
    V=$(pod_directory four)
    stop_pod four
    soon 'four has gone: its mount too' is_not_mounted "$V"
    is 'three: still with the same mount' "$(mount_line "$U")" "$line"
    memory

    cut_power_after sync
fi

if ! start_node; then
    not_ok 'a node after the restart' "$(node_log)"
    return
fi
soon 'after a restart of the node: three runs' pod_runs three
U=$(pod_directory three)
is_labeled 'three: the label' "$U" s0:c30,c40
soon 'three: reads all that was written' has_found three 'one two three four'
like 'three: the groups are swapped' "$(property pvc-1 Holders)" '"FSGroup" u 2000 "DiskGroup" u 1000'

stop_pod three
soon 'three has gone: the volume is free' has_no_holder pvc-1
soon 'and nothing is mounted' is_not_mounted "$U"
soon 'kubelet has cleaned up' eval '[[ ! -e $U ]]'
memory
systemctl stop kubelet
for task in $(ctr -n k8s.io tasks list -q); do ctr -n k8s.io tasks kill -s KILL "$task"; done
pkill -x containerd
systemctl stop selvold
umount /var/lib/kubelet /var/lib/selvol
systemctl start selvold
