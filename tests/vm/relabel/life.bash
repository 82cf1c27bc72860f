# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# With the policy Always the service relabels one volume again and again. The test files source this file.

T=$pods/walk/v
mkdir -p "$T"
shadow=$(label_of /etc/shadow)

mix_labels() {
    local n=4 type
    chcon -h system_u:object_r:container_file_t:s0:c900,c901 d0/f0 symlink fifo socket null disk
    chcon system_u:object_r:container_file_t:s0:c1023 d1 d1/f0
    chcon unconfined_u:object_r:container_file_t:s0:c1,c2 d0/f1
    chcon system_u:object_r:container_ro_file_t:s0 d0/f2
    chcon system_u:object_r:bin_t:s0-s0:c0.c1023 d0/f3
    for type in home_root_t var_t var_log_t etc_t tmp_t usr_t default_t mnt_t user_home_t lib_t; do
        chcon system_u:object_r:$type:s0 d0/f$((n++))
    done
    chcon system_u:object_r:var_lib_t:s0 other
}

# a_life FILE_SYSTEM DEVICE
a_life() {
    local fs=$1 source=$2 volume=walk-$1 total before

    # The files have no label on disk.
    mount_with s0:c1,c2 $volume $source "$T"
    fill "$T" 60
    [[ $fs != btrfs ]] || { btrfs -q subvolume create "$T/d0/inner" && echo word >"$T/d0/inner/file"; }
    total=$(entries "$T")
    unmount_volume $volume "$T"
    is "$fs: written through a context mount: nothing has a label" "$(on_disk $source labels /mnt)" \
        "$total system_u:object_r:unlabeled_t:s0"
    mount_service s0:c4,c3 $volume $source "$T"
    answers "$fs: Always, by the service: no flag for the runtime" "$file_type:s0:c3,c4" '' relabel policy-always
    is_walked "$fs: all entries are looked at" unknown
    # a hard link has two names
    is "$fs: and written" "$(field EntriesDone) $(field EntriesChanged)" "$total $(written $fs $total $((total - 1)))"
    is "$fs: what is known" "$(property $volume LabelState) $(property $volume Tainted)" '"complete" false'
    all_labeled "$fs: all of them have the label" "$T" "$file_type:s0:c3,c4"
    unlike "$fs: it is no context mount" "$(super "$T")" context=
    mark_says "$fs: the volume carries its mark" "$T" ' label=complete ' ' tainted=no ' " context=$file_type:s0:c3,c4 "
    before=$(times "$T")
    sees_all "$fs: podman starts without Z, and the container uses everything" s0:c3,c4 "$T" d0/new
    is "$fs: nothing else was touched" "$(touched "$before" "$T")" "$(inodes "$T/d0" "$T/d0/new")"
    is "$fs: the new file has the label" "$(label_of "$T/d0/new")" "$file_type:s0:c3,c4"
    sees_nothing "$fs: one with the categories of before sees nothing" s0:c1,c2 "$T" d0/f0 d0 other fifo empty secret
    is "$fs: what a symlink leads to is as it was" "$(label_of /etc/shadow)" "$shadow"
    total=$(entries "$T") before=$(times "$T")
    unmount_volume $volume "$T"

    mount_service s0:c3,c4 $volume $source "$T"
    is_skipped "$fs: again: skipped"
    is "$fs: again: no entry is touched" "$(touched "$before" "$T")" ''
    unmount_volume $volume "$T"
    mount_service s0:c3,c4 $volume $source "$T" 'Force b true'
    is_walked "$fs: forced" forced
    is "$fs: forced: nothing is written" "$(field EntriesDone) $(field EntriesChanged)" "$total 0"
    is "$fs: forced: no entry is touched" "$(touched "$before" "$T")" ''
    unmount_volume $volume "$T"

    # A container writes through a context mount in between.
    mount_with s0:c3,c4 $volume $source "$T"
    in_container s0:c3,c4 'cd /data && mkdir late && echo word >late/file && echo word >>d0/f1' "$T:/data"
    total=$(entries "$T")
    unmount_volume $volume "$T"
    before=$(on_disk $source times /mnt)
    mount_service s0:c3,c4 $volume $source "$T"
    is_walked "$fs: after a context mount: all entries are looked at" tainted
    is "$fs: after a context mount: what is new is written" "$(field EntriesDone) $(field EntriesChanged)" "$total 2"
    is "$fs: after a context mount: nothing else is touched" "$(touched "$before" "$T")" "$(inodes "$T/late" "$T/late/file")"
    unmount_volume $volume "$T"

    # The files have labels of all sorts.
    mount $source /mnt
    (cd /mnt && mix_labels)
    umount /mnt
    # This label is of a policy that the node does not have.
    [[ $fs != ext4 ]] || debugfs -w -R 'ea_set /d1/f1 security.selinux system_u:object_r:absent_t:s0' $source 2>/dev/null
    mount_service s0:c5,c6 $volume $source "$T" 'Force b true'
    is_walked "$fs: labels of all sorts" forced
    is "$fs: labels of all sorts: all are written" "$(field EntriesDone) $(field EntriesChanged)" "$total $(written $fs $total $((total - 1)))"
    all_labeled "$fs: labels of all sorts: all have the new one" "$T" "$file_type:s0:c5,c6"
    if [[ $fs == ext4 ]]; then
        sees_all "$fs: a container with the new categories uses everything" s0:c5,c6 "$T"
        sees_nothing "$fs: one with the old ones sees nothing" s0:c3,c4 "$T" d0/f0 d0/f4 late/file d0/new other
    fi
    unmount_volume $volume "$T"
    mount_service s0:c7 $volume $source "$T"
    is_walked "$fs: known to have another context" other-context
    unmount_volume $volume "$T"
    is "$fs: on the disk all have it" "$(on_disk $source labels /mnt)" "$total $file_type:s0:c7"
}
