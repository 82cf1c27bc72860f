# SPDX-License-Identifier: LGPL-2.1-or-later
# A node of Kubernetes without an API server. Kubelet reads pods from a directory, starts their containers with
# containerd, and writes events into its log. build-kubelet has built tree/. The test file sources this file.
# shellcheck disable=SC2034,SC2154 # of lib.bash
manifests=/var/lib/kubelet/manifests
patience=300 # wait_for waits so many seconds, because pods start slowly

start_node() {
    local file files
    mapfile -t files < <(cd tree && find usr ! -type d)
    for file in "${files[@]}"; do cp -l --remove-destination "tree/$file" "/$file" || return; done
    restorecon -F "${files[@]/#//}"

    # Kubelet does not start without an address.
    modprobe dummy && ip link add node type dummy && ip addr add 192.0.2.1/24 dev node && ip link set node up &&
        ip route add default via 192.0.2.2 || return
    start_containerd && import_image && start_kubelet
}

# Debian's policy labels the snapshots container_ro_file_t, with which a container can't execute its first process, so
# this sets another label.
start_containerd() {
    local snapshots=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots
    mkdir -p /etc/containerd /run/containerd $snapshots
    restorecon -RF /etc/containerd /run/containerd /var/lib/containerd
    chcon -t container_file_t $snapshots
    # Debian's policy has a domain for runc and none for containerd, and runc's domain may not set up such a
    # container. With this label both stay in the domain of the shell.
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

# The image is for the containers and for the sandbox of a pod, in the format of "docker save".
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

# The configuration turns off cgroups for pods and the limits for images, which need more than this node has.
start_kubelet() {
    local plugins=/usr/libexec/kubernetes/kubelet-plugins/volume/exec
    mkdir -p $manifests
    install -D -m 755 flexvolume "$plugins/selvol~volume/volume"
    restorecon -RF "$plugins"
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

# Kubelet adds the node's name to the name of a static pod.
pod_status() { kubelet_pods | jq -r --arg name "$1-node" '.items[]? | select(.metadata.name == $name) | .status | '"$2"; }
pod_runs() { [[ $(pod_status "$1" '.phase + " " + (.containerStatuses[0].ready | tostring)') == 'Running true' ]]; }
pod_container() { pod_status "$1" '.containerStatuses[0].containerID'; }
pod_directory() { selvolctl show pvc-1 --json | jq -r --arg holder "default/$1-node" '.[0].Holders[] | select(.Holder == $holder) | .Target'; }

# pod_events NAME: prints the events from kubelet's log
pod_events() { journalctl -q -b -o cat -u kubelet | grep 'Event occurred' | grep "object=\"default/$1-node\""; }
pod_has_event() { pod_events "$1" | grep -F "$2"; }

# node_log: prints denials and logs after a failure
node_log() {
    journalctl -q -b -o cat _TRANSPORT=audit | grep 'avc: .*denied' | tail -n 10
    grep -v level=info /run/containerd.log | tail -n 10
    journalctl -q -b -o cat -u kubelet | tail -n 20
}
