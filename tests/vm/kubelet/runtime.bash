# SPDX-License-Identifier: LGPL-2.1-or-later
# A node of Kubernetes: containerd, and kubelet, which build-kubelet has built in tree/. The suite's own helpers source this file, and start
# kubelet.
# shellcheck disable=SC2034,SC2154 # of lib.bash
patience=300 # wait_for waits so many seconds, because pods start slowly

# take_over DIRECTORY: copies its files over those of the guest
take_over() {
    local file files
    mapfile -t files < <(cd "$1" && find . ! -type d)
    for file in "${files[@]#./}"; do mkdir -p "/${file%/*}" && cp -l --remove-destination "$1/$file" "/$file" || return; done
    restorecon -F "${files[@]#.}"
}

# The directories of kubelet and selvold, and what a suite keeps in them, are on disks, which stay when the node restarts.
keep_on_disks() {
    ((SELVOL_GUEST_BOOT > 1)) || { mkfs.ext4 -q -F /dev/scratch2; mkfs.ext4 -q -F /dev/scratch3; }
    systemctl stop selvold
    mount -o "rootcontext=$(label_of /var/lib/selvol)" /dev/scratch3 /var/lib/selvol
    chown selvol: /var/lib/selvol
    chmod 700 /var/lib/selvol
    mount /dev/scratch2 /var/lib/kubelet
    mkdir -p "$pods"
    restorecon -RF /var/lib/kubelet
    systemctl start selvold
}

start_runtime() {
    take_over tree || return
    # Kubelet does not start without an address.
    modprobe dummy && ip link add node type dummy && ip addr add 192.0.2.1/24 dev node && ip link set node up &&
        ip route add default via 192.0.2.2 || return
    start_containerd && import_image
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

# start_kubelet_with CONFIGURATION OPTION...: the configuration turns off cgroups for pods and the limits for images, which need more than
# this node has.
start_kubelet_with() {
    cat >/etc/kubelet.yaml <<CONFIG
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
syncFrequency: 10s
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
readOnlyPort: 10255
cgroupsPerQOS: false
enforceNodeAllocatable: []
failSwapOn: false
evictionHard: {memory.available: 1Mi, nodefs.available: 1Mi, imagefs.available: 1Mi}
imageGCHighThresholdPercent: 100
resolvConf: ''
$1
CONFIG
    systemd-run -q --unit=kubelet -p Restart=on-failure -E AWS_EC2_METADATA_DISABLED=true /usr/bin/kubelet --config=/etc/kubelet.yaml \
        --hostname-override=node --container-runtime=remote --container-runtime-endpoint=unix:///run/containerd/containerd.sock "${@:2}" || return
    wait_for kubelet_answers
}

kubelet_answers() { [[ $(kubelet_pods | jq -r .kind) == PodList ]]; }
kubelet_pods() { busybox wget -q -O - http://127.0.0.1:10255/pods; }

# pod_status NAME FILTER
pod_status() { kubelet_pods | jq -r --arg name "$1${pod_suffix:-}" '.items[]? | select(.metadata.name == $name) | .status | '"$2"; }
pod_runs() { [[ $(pod_status "$1" '.phase + " " + (.containerStatuses[0].ready | tostring)') == 'Running true' ]]; }
pod_container() { pod_status "$1" '.containerStatuses[0].containerID'; }

# node_log: prints denials and logs after a failure
node_log() {
    journalctl -q -b -o cat _TRANSPORT=audit | grep 'avc: .*denied' | tail -n 10
    grep -v level=info /run/containerd.log | tail -n 10
    journalctl -q -b -o cat -u kubelet | tail -n 20
}
