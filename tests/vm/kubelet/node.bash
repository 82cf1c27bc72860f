# SPDX-License-Identifier: LGPL-2.1-or-later
# A node without an API server: kubelet reads pods from a directory, and writes events into its log. The test file sources this file.
# shellcheck disable=SC2034,SC2154 # of lib.bash, and for runtime.bash
manifests=/var/lib/kubelet/manifests
pod_suffix=-node # kubelet adds the node's name to the name of a static pod

# shellcheck source-path=SCRIPTDIR source=runtime.bash
. ./runtime.bash

start_node() {
    local plugins=/usr/libexec/kubernetes/kubelet-plugins/volume/exec
    start_runtime || return
    mkdir -p $manifests
    install -D -m 755 flexvolume "$plugins/selvol~volume/volume"
    restorecon -RF "$plugins"
    start_kubelet_with "staticPodPath: $manifests
fileCheckFrequency: 1s
enableControllerAttachDetach: false" --vmodule=event=3
}

# start_pod NAME USER GROUP LEVEL [VOLUME DEVICE]: the pod copies the names of earlier pods from the volume, then adds
# its own. Kubelet ignores files whose names begin with a dot, so mv makes the finished file visible.
start_pod() {
    local name=$1 user=$2 group=$3 level=$4 options="volume: ${5:-pvc-1}, device: ${6:-/dev/scratch0}"
    [[ -z $level ]] || options+=", level: \"$level\""
    cat >"$manifests/.$name.yaml" <<POD
apiVersion: v1
kind: Pod
metadata: {name: $name, namespace: default}
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 1
  enableServiceLinks: false
  securityContext: {runAsUser: $user, runAsGroup: $user, fsGroup: $group, seLinuxOptions: {level: "${level:-s0:c1,c2}"}}
  containers:
  - name: main
    image: localhost/busybox:latest
    imagePullPolicy: Never
    command: [sh, -c, "umask 2; cat /data/pods >/data/found-by-$name; echo $name >>/data/pods && exec sleep 100000"]
    volumeMounts: [{name: data, mountPath: /data}]
  volumes:
  - name: data
    flexVolume: {driver: selvol/volume, fsType: ext4, options: {$options}}
POD
    mv "$manifests/.$name.yaml" "$manifests/$name.yaml"
}
stop_pod() { rm "$manifests/$1.yaml"; }

pod_directory() { selvolctl show pvc-1 --json | jq -r --arg holder "default/$1-node" '.[0].Holders[] | select(.Holder == $holder) | .Target'; }

# pod_events NAME: prints the events from kubelet's log
pod_events() { journalctl -q -b -o cat -u kubelet | grep 'Event occurred' | grep "object=\"default/$1-node\""; }
pod_has_event() { pod_events "$1" | grep -F "$2"; }
