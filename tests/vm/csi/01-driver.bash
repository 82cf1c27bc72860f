# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # of lib.bash and cluster.bash
# Kubelet has volumes mounted by selvol's own CSI driver, with the objects that docs/csi.md prints: a pod reads and writes, another one with
# another label waits for it. Kubelet, selvold, the driver and the node are restarted.

# shellcheck source-path=SCRIPTDIR source=cluster.bash
. ./cluster.bash

keep_on_disks

one=org.selvol.csi/one
wrote() { [[ $(cat "$T/pods") == *"$1"* ]]; }
is_measured() { busybox wget -q -O - http://127.0.0.1:10255/metrics | grep "^kubelet_volume_stats_capacity_bytes{.*persistentvolumeclaim=\"$1\"" | grep -v ' 0$'; }
memory() { awk '/MemAvailable/ { print "# memory left: " int($2 / 1024) " MB" }' /proc/meminfo; }
# The pod has the mount that it had, in the container that it had.
is_as_before() { is "$1" "$(pod_container web) $(mount_line "$T")" "$container $line"; }

if ! start_cluster; then
    not_ok 'a cluster' "$(node_log)" "$(journalctl -q -b -o cat -u apiserver -u etcd | tail -n 20)"
    return
fi
memory
yes 'the socket of the driver' systemctl start selvol-csi.socket
soon 'kubelet registers the driver' driver_is_registered

if ((SELVOL_GUEST_BOOT == 1)); then
    mkfs.ext4 -q -F /dev/scratch0
    yes 'the CSIDriver object' api POST /apis/storage.k8s.io/v1/csidrivers < <(printed CSIDriver)
    yes 'a volume and a claim' make_volume one "$file_type:s0:c10,c20"
    yes 'a pod' start_pod web one s0:c10,c20
    if ! wait_for pod_runs web; then
        not_ok 'web: runs' "$(node_log)" "$(pod_events web)"
        return
    fi
    ok 'web: runs'
    T=$(pod_directory web one)
    is_labeled 'web: the label' "$T" s0:c10,c20
    soon 'web: writes' wrote web
    soon 'web: kubelet knows how full the volume is' is_measured one

    yes 'another volume of the same disk' make_volume two "$file_type:s0:c30,c40"
    yes 'a pod with another label' start_pod db two s0:c30,c40
    soon 'db: an event says who has the disk' pod_has_event db 'in use by default/web (as volume org.selvol.csi/one) with level s0:c10,c20'
    like 'db: it is a failed mount, and says who speaks' "$(pod_events db)" FailedMount 'desc = selvol: '
    no 'db: does not run' pod_runs db

    yes 'a pod that names a disk itself' api POST $default/pods <<'POD'
apiVersion: v1
kind: Pod
metadata: {name: thief, namespace: default}
spec:
  nodeName: node
  hostNetwork: true
  automountServiceAccountToken: false
  enableServiceLinks: false
  containers: [{name: main, image: localhost/busybox:latest, imagePullPolicy: Never, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, csi: {driver: org.selvol.csi, fsType: ext4, volumeAttributes: {device: /dev/scratch0, level: "s0:c10,c20"}}}]
POD
    soon 'thief: kubelet refuses it' pod_has_event thief 'not supported by driver'
    stop_pod thief

    container=$(pod_container web) line=$(mount_line "$T")
    systemctl restart kubelet
    soon 'kubelet is restarted' kubelet_answers
    soon 'kubelet is restarted: web runs' pod_runs web
    is_as_before 'kubelet is restarted: nothing was touched'
    systemctl restart selvol-csi
    systemctl restart selvold
    soon 'driver and selvold are restarted' is_held $one "$T"
    is_as_before 'driver and selvold are restarted: nothing was touched'

    stop_pod web
    soon 'web has gone: db runs' pod_runs db
    T=$(pod_directory db two)
    is_labeled 'db: the label' "$T" s0:c30,c40
    like 'db: reads what web has written' "$(cat "$T/pods")" web
    memory
    cut_power_after sync
fi

# The API server still says that db runs.
soon 'after a power cut: db has its volume' eval 'test -s "$(pod_directory db two)/pods"'
soon 'after a power cut: db runs' pod_runs db
T=$(pod_directory db two)
is_labeled 'db: the label' "$T" s0:c30,c40
like 'db: reads all that was written' "$(cat "$T/pods")" web db
stop_pod db
soon 'db has gone: the volume is free' has_no_holder org.selvol.csi/two
soon 'and nothing is mounted' is_not_mounted "$T"
soon 'and its directory is gone' eval '[[ ! -e $T ]]'
memory
systemctl stop kubelet apiserver etcd selvol-csi.socket selvol-csi
for task in $(ctr -n k8s.io tasks list -q); do ctr -n k8s.io tasks kill -s KILL "$task"; done
pkill -x containerd
systemctl stop selvold
umount /var/lib/kubelet /var/lib/selvol
systemctl start selvold
