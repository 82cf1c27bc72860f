# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2154 # of call.bash
# What a FlexVolume driver asks selvold for, and what it answers to kubelet, for drivers that do more than selvol's own
# (selvol-flexvolume(8)), such as attaching the disk. Needs jq(1).

# shellcheck source-path=SCRIPTDIR source=call.bash
. "${BASH_SOURCE[0]%/*}/call.bash"

# flex_answer STATUS [MESSAGE]: kubelet reads standard error, too, so nothing else may be printed.
flex_answer() {
    jq -cn --arg status "$1" --arg message "${2:-}" '{status: $status} + if $message == "" then {} else {message: $message} end'
}

# Otherwise kubelet has all files relabeled, and changes the group of all files, after selvold has done its part.
flex_init() {
    echo '{"status":"Success","capabilities":{"attach":false,"selinuxRelabel":false,"fsGroup":false}}'
}

# flex_value OPTIONS KEY
flex_value() { jq -r --arg key "$2" '.[$key] // empty' <<<"$1"; }

# flex_mount DIRECTORY OPTIONS: with the options device and level of the volume. Kubelet leaves some of its own empty.
flex_mount() {
    local directory=$1 json=$2 value option type key count=4
    # As nobody else relabels: the runtime is told not to, by the answer to init.
    local options=(VolumeType s flexVolume SELinuxRelabelPolicy s OnVolumeMount SELinuxMountSupported b true RelabelBy s service)
    while read -r option type key; do
        value=$(flex_value "$json" "$key")
        [[ -n $value ]] || continue
        options+=("$option" "$type" "$value")
        count=$((count + 1))
    done <<'MAP'
SELinuxLevel s level
FSType s kubernetes.io/fsType
FSGroup u kubernetes.io/mounterArgs.FsGroup
Holder s kubernetes.io/pod.uid
MAP
    if [[ $(flex_value "$json" kubernetes.io/readwrite) == ro ]]; then
        options+=(ReadOnly b true)
        count=$((count + 1))
    fi
    selvol_call MountVolume 'sssa{sv}' "$(flex_value "$json" kubernetes.io/pvOrVolumeName)" "$(flex_value "$json" device)" \
        "$directory" "$count" "${options[@]}" || { flex_answer Failure "$selvol_message"; return 1; }
    flex_answer Success
}

# flex_unmount DIRECTORY: kubelet passes no volume, so it is the one that is mounted there
flex_unmount() {
    selvol_call UnmountVolume 'ssa{sv}' '' "$1" 0 || { flex_answer Failure "$selvol_message"; return 1; }
    flex_answer Success
}
