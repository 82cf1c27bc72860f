# SPDX-License-Identifier: LGPL-2.1-or-later
# A node of Kubernetes without an API server: kubelet takes its pods from a directory and starts their containers with containerd, and
# what it would tell the server is in its log. tree/ beside this file is what build-kubelet has built. Sourced.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # of lib.bash
manifests=/var/lib/kubelet/manifests
patience=300 # of wait_for: pods take their time

start_node() {
    local file files
    mapfile -t files < <(cd tree && find usr ! -type d)
    for file in "${files[@]}"; do cp -l --remove-destination "tree/$file" "/$file" || return; done
    restorecon -F "${files[@]/#//}"

    # kubelet insists on an address
    modprobe dummy && ip link add node type dummy && ip addr add 192.0.2.1/24 dev node && ip link set node up &&
        ip route add default via 192.0.2.2 || return
    start_containerd && import_image && start_kubelet
}

# What containers run from has a label that it may be run with. Debian's policy would have it container_ro_file_t, with which containers
# can run everything but their first process.
start_containerd() {
    local snapshots=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots
    mkdir -p /etc/containerd /run/containerd $snapshots
    restorecon -RF /etc/containerd /run/containerd /var/lib/containerd
    chcon -t container_file_t $snapshots
    # Debian's policy has a domain for runc, but none for what starts it, and that one may not set up such a container. Both run as
    # an administrator does.
    chcon -t bin_t "$(type -P runc)"
    cat >/etc/containerd/config.toml <<'CONFIG'
version = 2
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper",
    "io.containerd.snapshotter.v1.zfs", "io.containerd.internal.v1.tracing"]
[plugins."io.containerd.grpc.v1.cri"]
enable_selinux = true
disable_apparmor = true
sandbox_image = "localhost/busybox:latest"
CONFIG
    setsid -f containerd >/run/containerd.log 2>&1 </dev/null
    wait_for ctr version
}

# One for the containers and for what keeps a pod's namespaces, as docker would save it.
import_image() {
    local root=$scratch/image applet digest
    mkdir -p "$root"/{bin,dev,etc,proc,sys,tmp,data}
    cp /bin/busybox "$root/bin/"
    for applet in sh cat id sleep; do ln -s busybox "$root/bin/$applet"; done
    tar --owner=0 --group=0 -C "$root" -cf "$scratch/layer.tar" .
    digest=$(sha256sum "$scratch/layer.tar")
    printf '{"architecture":"amd64","os":"linux","config":{"Entrypoint":["/bin/sleep","1000000"],"Env":["PATH=/bin"]},
        "rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' "${digest%% *}" >"$scratch/config.json"
    echo '[{"Config":"config.json","RepoTags":["localhost/busybox:latest"],"Layers":["layer.tar"]}]' >"$scratch/manifest.json"
    tar -C "$scratch" -cf "$scratch/image.tar" manifest.json config.json layer.tar
    ctr -n k8s.io images import "$scratch/image.tar"
    rm -r "$root" "$scratch"/{image.tar,layer.tar,config.json,manifest.json}
}

# Cgroups of its own for pods, and space for images, are not what is tested.
start_kubelet() {
    mkdir -p $manifests
    cat >/etc/kubelet.yaml <<CONFIG
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
staticPodPath: $manifests
fileCheckFrequency: 1s
syncFrequency: 10s
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
readOnlyPort: 10255
cgroupsPerQOS: false
enforceNodeAllocatable: []
enableControllerAttachDetach: false
failSwapOn: false
evictionHard: {memory.available: 1Mi, nodefs.available: 1Mi, imagefs.available: 1Mi}
imageGCHighThresholdPercent: 100
resolvConf: ''
CONFIG
    systemd-run -q --unit=kubelet /usr/bin/kubelet --config=/etc/kubelet.yaml --hostname-override=node --vmodule=event=3 \
        --container-runtime=remote --container-runtime-endpoint=unix:///run/containerd/containerd.sock || return
    wait_for kubelet_answers
}

kubelet_answers() { [[ $(kubelet_pods | jq -r .kind) == PodList ]]; }
kubelet_pods() { busybox wget -q -O - http://127.0.0.1:10255/pods; }

# start_pod NAME USER GROUP LEVEL [VOLUME DEVICE]: it writes down whom it finds on the volume, then itself. Kubelet doesn't read files
# whose names begin with a dot.
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

# A static pod's name ends in that of the node.
pod_status() { kubelet_pods | jq -r --arg name "$1-node" '.items[]? | select(.metadata.name == $name) | .status | '"$2"; }
pod_runs() { [[ $(pod_status "$1" '.phase + " " + (.containerStatuses[0].ready | tostring)') == 'Running true' ]]; }
pod_container() { pod_status "$1" '.containerStatuses[0].containerID'; }
pod_directory() { selvolctl show pvc-1 --json | jq -r --arg holder "default/$1-node" '.[0].Holders[] | select(.Holder == $holder) | .Target'; }

# pod_events NAME: as an operator finds them
pod_events() { journalctl -q -b -o cat -u kubelet | grep 'Event occurred' | grep "object=\"default/$1-node\""; }
pod_has_event() { pod_events "$1" | grep -F "$2"; }

# node_log: why it doesn't work
node_log() {
    journalctl -q -b -o cat _TRANSPORT=audit | grep 'avc: .*denied' | tail -n 10
    grep -v level=info /run/containerd.log | tail -n 10
    journalctl -q -b -o cat -u kubelet | tail -n 20
}
