# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# podman uses a volume with a context mount, without Z.

T=$pods/containers/v
mkdir -p "$T"
mkfs.ext4 -q -F /dev/scratch0
yes 'podman has an image' container_image

container_says 'a container has the categories that it is to have' s0:c10,c20 'tr -d "\0" </proc/self/attr/current' \
    system_u:system_r:container_t:s0:c10,c20
mount_with s0:c20,c10 containers /dev/scratch0 "$T"
answers 'context mount: no flag for the runtime' "$file_type:s0:c10,c20" '' context-mount context-mount
fill "$T" 60
sees_all 'context mount: a container with the categories uses everything' s0:c10,c20 "$T"
container_may 'context mount: and writes' s0:c10,c20 \
    'cd /data && echo word >new && echo word >>d0/f0 && mkdir dir && mv new dir/ && rm d0/f1 && chmod 600 d0/f2' "$T:/data"
is 'context mount: what it wrote' "$(cat "$T/dir/new")$(tail -n 1 "$T/d0/f0")" wordword
is 'context mount: what it made has the label' "$(label_of "$T/dir/new")" "$file_type:s0:c10,c20"
sees_nothing 'context mount: one with others sees nothing' s0:c10,c21 "$T" d0/f0 d0 dir/new fifo other
container_may_not 'context mount: one with fewer does not either' s0:c10 'ls /data' "$T:/data"
is 'podman relabeled nothing' "$(unmount_volume containers "$T" && on_disk /dev/scratch0 labels /mnt)" \
    "$(on_disk /dev/scratch0 entries /mnt) system_u:object_r:unlabeled_t:s0"
clean containers
