# SPDX-License-Identifier: LGPL-2.1-or-later
# A cluster of one node: etcd, kube-apiserver and kubelet, without controllers and a scheduler. So a pod names its node, and volumes and claims
# are bound by hand. build-kubelet has built tree/ and control/. The test file sources this file.
# shellcheck disable=SC2154 # of lib.bash

# shellcheck source-path=SCRIPTDIR source=runtime.bash
. ./runtime.bash

default=/api/v1/namespaces/default

start_cluster() {
    take_over control || return
    echo 'secret,admin,admin,system:masters' >/etc/kubernetes/tokens
    systemd-run -q --unit=etcd -p Type=notify /usr/bin/etcd --data-dir=/var/lib/kubelet/etcd \
        --listen-client-urls=http://127.0.0.1:2379 --advertise-client-urls=http://127.0.0.1:2379 --listen-peer-urls=http://127.0.0.1:2380 \
        --initial-advertise-peer-urls=http://127.0.0.1:2380 --initial-cluster=default=http://127.0.0.1:2380 || return
    start_runtime && start_apiserver && start_kubelet
}

# Parts that nobody needs here are left out: they take half the time, and half the memory.
start_apiserver() {
    systemd-run -q --unit=apiserver /usr/bin/kube-apiserver --etcd-servers=http://127.0.0.1:2379 --bind-address=127.0.0.1 \
        --advertise-address=192.0.2.1 --endpoint-reconciler-type=none --service-cluster-ip-range=198.51.100.0/24 \
        --tls-cert-file=/etc/kubernetes/server.crt --tls-private-key-file=/etc/kubernetes/server.key \
        --token-auth-file=/etc/kubernetes/tokens --authorization-mode=AlwaysAllow --service-account-issuer=https://node \
        --service-account-key-file=/etc/kubernetes/accounts.key --service-account-signing-key-file=/etc/kubernetes/accounts.key \
        --enable-priority-and-fairness=false \
        --runtime-config=api/all=false,api/v1=true,storage.k8s.io/v1=true,coordination.k8s.io/v1=true,node.k8s.io/v1=true,apiregistration.k8s.io/v1=true,apiextensions.k8s.io/v1=true \
        --disable-admission-plugins=ServiceAccount,Priority,MutatingAdmissionWebhook,ValidatingAdmissionWebhook,DefaultIngressClass
}

start_kubelet() {
    cat >/etc/kubernetes/kubeconfig <<'CONFIG'
apiVersion: v1
kind: Config
clusters: [{name: node, cluster: {server: "https://127.0.0.1:6443", insecure-skip-tls-verify: true}}]
users: [{name: admin, user: {token: secret}}]
contexts: [{name: node, context: {cluster: node, user: admin}}]
current-context: node
CONFIG
    start_kubelet_with '' --kubeconfig=/etc/kubernetes/kubeconfig && wait_for node_is_there
}

# api METHOD PATH [TYPE]: sends standard input, if the method has a body, and prints the answer's; fails if the status is not one of success.
# A handshake takes long under emulation.
api() {
    local body='' status answer=$scratch/answer.$BASHPID
    [[ $1 == GET || $1 == DELETE ]] || body=$(cat)
    printf '%s %s HTTP/1.0\r\nHost: node\r\nAuthorization: Bearer secret\r\nContent-Type: %s\r\nContent-Length: %s\r\n\r\n%s' \
        "$1" "$2" "${3:-application/yaml}" "${#body}" "$body" | socat STDIO,ignoreeof OPENSSL:127.0.0.1:6443,verify=0 >"$answer"
    read -r _ status _ <"$answer"
    sed '1,/^\r$/d' "$answer"
    [[ $status == 2* ]]
}
node_is_there() { sleep 1 && api GET /api/v1/nodes/node; }
driver_is_registered() { sleep 1 && api GET /apis/storage.k8s.io/v1/csinodes/node | jq -e '.spec.drivers[]? | select(.name == "org.selvol.csi")'; }

# printed KIND: prints the first object of that kind that docs/csi.md has
printed() {
    sed -n '/^```yaml$/,/^```$/p' csi.md | sed 's/^```.*/---/' |
        awk -v kind="kind: $1" '/^---$/ { if (found) { printf "%s", text; exit } text = ""; next } { text = text $0 "\n" } $0 == kind { found = 1 }'
}

# make_volume NAME CONTEXT: makes the volume and the claim that the page prints, under this name, and binds them. This kubelet knows neither
# ReadWriteOncePod, nor to pass a context by itself.
make_volume() {
    local name=$1 context=$2 bound='{"status": {"phase": "Bound"}}' uid
    as_here() {
        sed -e 's/ReadWriteOncePod/ReadWriteOnce/' -e "s/disk-1\$/$name/; s/^  name: data\$/  name: $name/; s/name: data}/name: $name, uid: \"$uid\"}/" \
            -e 's,/dev/disk/by-id/virtio-.*,/dev/scratch0,' -e 's/node-1/node/' \
            -e "s/^  storageClassName: \"\"\$/&\n  mountOptions: ['context=\"$context\"']/"
    }
    printed PersistentVolumeClaim | uid='' as_here | grep -v mountOptions |
        sed 's/^metadata:$/&\n  annotations: {pv.kubernetes.io\/bind-completed: "yes"}/' | api POST $default/persistentvolumeclaims || return
    uid=$(api GET "$default/persistentvolumeclaims/$name" | jq -r .metadata.uid)
    printed PersistentVolume | as_here | api POST /api/v1/persistentvolumes || return
    api PATCH "/api/v1/persistentvolumes/$name/status" application/merge-patch+json <<<"$bound" || return
    api PATCH "$default/persistentvolumeclaims/$name/status" application/merge-patch+json \
        <<<'{"status": {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "10Gi"}}}'
}

# start_pod NAME CLAIM LEVEL: the pod that the page prints, under this name. It adds its name to a file of the volume.
start_pod() {
    printed Pod | sed -e "s/^  name: web\$/  name: $1/; s/claimName: data/claimName: $2/; s/level: \"[^\"]*\"/level: \"$3\"/" \
        -e 's/^spec:$/&\n  nodeName: node\n  hostNetwork: true\n  terminationGracePeriodSeconds: 1\n  automountServiceAccountToken: false\n  enableServiceLinks: false/' \
        -e "s/image: busybox/image: localhost\/busybox:latest\n      imagePullPolicy: Never/" \
        -e "s/command: .*/command: [sh, -c, \"cat \/data\/pods; echo $1 >>\/data\/pods \&\& exec sleep 100000\"]/" |
        api POST $default/pods
}
stop_pod() { api DELETE "$default/pods/$1"; }

# pod_directory NAME VOLUME
pod_directory() { selvolctl show "org.selvol.csi/$2" --json | jq -r --arg holder "default/$1" '.[0].Holders[] | select(.Holder == $holder) | .Target'; }
pod_events() { api GET "$default/events" | jq -r --arg name "$1" '.items[] | select(.involvedObject.name == $name) | .reason + ": " + .message'; }
pod_has_event() { sleep 1 && pod_events "$1" | grep -F "$2"; }
