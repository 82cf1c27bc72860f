# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # of lib.bash and of the examples
# Calls the functions of docs/examples as a plugin does.

# shellcheck source-path=SCRIPTDIR source=../../../docs/examples/csi-node.bash
. pages/examples/csi-node.bash

A=$pods/uid-a/volumes/kubernetes.io~csi/v/mount B=$pods/uid-b/volumes/kubernetes.io~csi/v/mount
mkdir -p "$A" "$B"
mkfs.ext4 -q -F /dev/scratch0

csi_context() { echo "context=\"$file_type:$1\""; }
yes 'csi: NodePublishVolume' node_publish_volume v1 /dev/scratch0 "$A" false 1000 noatime "$(csi_context s0:c1,c2)"
is_labeled 'csi: the label' "$A" s0:c1,c2
is 'csi: the group' "$(stat -c %g "$A")" 1000
like 'csi: the pod is in the target' "$(property "$csi_driver:v1" Holders)" '"Holder" s "uid-a"'
node_publish_volume v1 /dev/scratch0 "$B" false '' "$(csi_context s0:c3,c4)"
is 'csi: another context' "$(grpc_status)" FAILED_PRECONDITION
like 'csi: says who has it' "$selvol_message" 'in use by uid-a with level s0:c1,c2'
node_publish_volume v1 /dev/nothing "$B" false ''
is 'csi: no such device' "$(grpc_status)" INVALID_ARGUMENT
mount --bind "$A" "$B"
yes 'csi: a mount that the driver has bound' node_publish_bound v1 "$B" "$file_type:s0:c1,c2"
yes 'csi: it is held' is_held "$csi_driver:v1" "$B"
yes 'csi: NodeUnpublishVolume' node_unpublish_volume v1 "$B"
yes 'csi: and of the other pod' node_unpublish_volume v1 "$A"
yes 'csi: again' node_unpublish_volume v1 "$A"

staged=/var/lib/kubelet/plugins/kubernetes.io/csi/$csi_driver/v/globalmount
mkdir -p "$staged"
yes 'csi: NodeStageVolume' node_stage_volume v1 /dev/scratch0 "$staged" '' "$(csi_context s0:c1,c2)"
is_labeled 'csi: NodeStageVolume: the label' "$staged" s0:c1,c2
mount --bind "$staged" "$A"
yes 'csi: NodePublishVolume of what was staged' node_publish_bound v1 "$A" "$file_type:s0:c1,c2"
yes 'csi: NodeUnpublishVolume of what was staged' node_unpublish_volume v1 "$A"
yes 'csi: it is still staged' is_held "$csi_driver:v1" "$staged"
yes 'csi: NodeUnstageVolume' node_unstage_volume v1 "$staged"
yes 'csi: it is not held any more' has_no_holder "$csi_driver:v1"

DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nonexistent node_unpublish_volume v1 "$A"
is 'csi: no bus' "$(grpc_status)" UNAVAILABLE
like 'csi: no bus: says so' "$selvol_message" 'No such file or directory'
clean examples
