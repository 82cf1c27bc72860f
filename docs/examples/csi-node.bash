# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2154 # of call.bash
# What the node plugin of a CSI driver asks selvold for: a function for each call of CSI, explained in selvol-integration(7).

# shellcheck source-path=SCRIPTDIR source=call.bash
. "${BASH_SOURCE[0]%/*}/call.bash"

csi_driver=disk.example.org

# csi_options TARGET: of all calls; sets options, and how many they are. The pod's UID is in the target, but not in one for staging.
csi_options() {
    local pod=${1#*/pods/}
    options=(Driver s "$csi_driver")
    count=1
    if [[ $pod != "$1" ]]; then
        options+=(Holder s "${pod%%/*}")
        count=2
    fi
}

# node_publish_volume VOLUME_ID DEVICE TARGET_PATH READONLY VOLUME_MOUNT_GROUP MOUNT_FLAG...: the group may be empty. Kubelet
# passes the pod's context as one of the flags, context="user:role:type:level".
node_publish_volume() {
    local id=$1 device=$2 target=$3 read_only=$4 group=$5 options count
    shift 5
    csi_options "$target"
    options+=(ReadOnly b "$read_only" MountOptions as $# "$@")
    count=$((count + 2))
    if [[ -n $group ]]; then
        options+=(FSGroup u "$group" FSGroupPolicy s File)
        count=$((count + 2))
    fi
    selvol_call MountVolume 'sssa{sv}' "$csi_driver:$id" "$device" "$target" "$count" "${options[@]}"
}

# node_stage_volume VOLUME_ID DEVICE STAGING_TARGET_PATH VOLUME_MOUNT_GROUP MOUNT_FLAG...: of a driver that mounts once for all pods
node_stage_volume() {
    node_publish_volume "$1" "$2" "$3" false "${@:4}"
}

# node_publish_bound VOLUME_ID TARGET_PATH CONTEXT: of a driver that mounts in NodeStageVolume, after it has bound that mount to
# the target. Fails if the mount has not got the context.
node_publish_bound() {
    local options count
    csi_options "$2"
    options+=(SELinuxContext s "$3" SELinuxRelabelPolicy s OnVolumeMount SELinuxMountSupported b true)
    selvol_call AdoptVolume 'ssa{sv}' "$csi_driver:$1" "$2" $((count + 3)) "${options[@]}"
}

# node_unpublish_volume VOLUME_ID TARGET_PATH
node_unpublish_volume() {
    selvol_call UnmountVolume 'ssa{sv}' "$csi_driver:$1" "$2" 0
}

# node_unstage_volume VOLUME_ID STAGING_TARGET_PATH
node_unstage_volume() {
    node_unpublish_volume "$@"
}

# grpc_status: what the plugin answers if the last call has failed
grpc_status() {
    case $selvol_error in
        Busy | Canceled) echo ABORTED ;;
        TimedOut | Timeout | NoReply) echo DEADLINE_EXCEEDED ;;
        WorkerFailed | ServiceUnknown | NameHasNoOwner | NoServer) echo UNAVAILABLE ;;
        LimitReached) echo RESOURCE_EXHAUSTED ;;
        ContextConflict | GroupConflict | ContextDropped | LabelMismatch | LevelRequired | NotSupported | NotPropagating | SourceChanged | SELinuxDenied)
            echo FAILED_PRECONDITION ;;
        Incompatible) echo ALREADY_EXISTS ;;
        Invalid* | PathNotAllowed | TypeNotAllowed) echo INVALID_ARGUMENT ;;
        NoSuchVolume | NoSuchJob) echo NOT_FOUND ;;
        AccessDenied | InteractiveAuthorizationRequired) echo PERMISSION_DENIED ;;
        *) echo INTERNAL ;;
    esac
}
