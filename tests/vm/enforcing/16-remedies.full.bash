# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2086,SC2046 # of lib.bash; words
# Each remedy is followed to the letter: the test takes section, file and commands from the message, puts a name where
# the message has a word for one, and makes the same call again.

S=/srv/remedies M=/srv/remedies-images I=/var/lib/selvol-images/remedies T=$pods/remedies/v dropin=$conf_dir/50-local.conf
mkdir -p $S/t $M $I "$T"
mkfs.ext4 -q -F /dev/scratch0
# semanage makes the policy anew, from the modules of the store.
semodule -l | grep -qx selvol || semodule -i /usr/share/selinux/packages/selvol.pp
disk=$(realpath /dev/scratch0)

# set_as_told VALUE: adds the setting that the message names, with VALUE as its directory, or, if the message names no
# setting, makes VALUE a line of the section
set_as_told() {
    local section file command line=$1
    [[ $message =~ (under|section)\ \[([^]]*)\]\ in\ ([^,]*),\ then\ run\ \'([^\']*)\' ]] || return 1
    section=${BASH_REMATCH[2]} file=${BASH_REMATCH[3]} command=${BASH_REMATCH[4]}
    if [[ $message =~ ([A-Za-z]+=[^ ]*)\ under ]]; then
        line=${BASH_REMATCH[1]//DIRECTORY/$1}
    fi
    mkdir -p "$(dirname "$file")"
    printf '[%s]\n%s\n' "$section" "$line" >>"$file"
    $command
}

# run_as_told REGEX [WORD NAME]...: runs the command in the message that the expression finds, with names for words
run_as_told() {
    local command
    [[ $message =~ $1 ]] || return 1
    command=${BASH_REMATCH[1]:-${BASH_REMATCH[0]}}
    shift
    for ((; $# > 0;)); do
        command=${command//$1/$2}
        shift 2
    done
    eval "$command"
}

# remedy NAME ERROR FOLLOW... -- CALL...: the call fails with the error, and succeeds when the remedy was followed
remedy() {
    local name=$1 kind=$2 follow=() told
    shift 2
    while [[ $1 != -- ]]; do
        follow+=("$1")
        shift
    done
    shift
    "$@"
    told="$error $message"
    if [[ $error != "$kind" ]]; then
        not_ok "$name" "got:      $told $reply" "expected: $kind"
        return
    fi
    if ! "${follow[@]}" >"$scratch/follow" 2>&1; then
        not_ok "$name" "the remedy fails: $told" "$(<"$scratch/follow")"
        return
    fi
    answers_calls >/dev/null
    "$@"
    if [[ -z $error ]]; then ok "$name"; else not_ok "$name" "first: $told" "then:  $error $message"; fi
}
mount_default() { mount_with s0:c1,c2 "$@"; }
# beneath SOURCE TARGET: both are allowed, whatever else is in the way
is_beneath() { mount_default t "$@" && return; [[ $error != PathNotAllowed ]] && error=''; }

# ---- configuration -----------------------------------------------------------------------------------------
remedy 'a target outside of TargetRoots=' PathNotAllowed set_as_told $S -- is_beneath "$disk" $S/t
remedy 'a target of another type' SELinuxDenied run_as_told 'such a type: (.*)' -- mount_default t "$disk" $S/t
unmount_volume t $S/t
truncate -s 8M $M/to-be-denied
mkfs.ext4 -q -F $M/to-be-denied
remedy 'a source outside of SourceRoots=' PathNotAllowed set_as_told $M -- is_beneath $M/to-be-denied "$T"
remedy 'a source of another type' SELinuxDenied run_as_told 'such a type: (.*)' -- mount_default s $M/to-be-denied "$T"
unmount_volume s "$T"
remedy 'a file system that is not allowed' TypeNotAllowed set_as_told 'Source=none' -- mount_default r none "$T" 'FSType s ramfs'
unmount_volume r "$T"
remedy 'a mount option that is not allowed' InvalidOption set_as_told '' -- mount_default o "$disk" "$T" 'MountOptions as 1 debug'
unmount_volume o "$T"
remedy 'a type of volume' InvalidOption set_as_told Managed=always -- mount_default v "$disk" "$T" 'VolumeType s example'
unmount_volume v "$T"
truncate -s 8M $I/to-be-denied
mkfs.ext4 -q -F $I/to-be-denied
chown 1000 $I/to-be-denied
remedy 'an image of others' PathNotAllowed run_as_told 'chown root' 'chown root' "chown root $I/to-be-denied" -- mount_default others $I/to-be-denied "$T"
unmount_volume others "$T"
chown 1000 $I/to-be-denied
remedy 'an image of others that is to be allowed' PathNotAllowed set_as_told '' -- mount_default others $I/to-be-denied "$T"
unmount_volume others "$T"

# ---- SELinux -----------------------------------------------------------------------------------------------
mknod /dev/to-be-denied b $(stat -L -c '0x%t 0x%T' "$disk")
chcon -t tape_device_t /dev/to-be-denied
remedy 'a disk of another type' SELinuxDenied run_as_told 'such a type: (.*)' -- mount_default d /dev/to-be-denied "$T"
unmount_volume d "$T"
semanage fcontext -d -f b /dev/to-be-denied
rm /dev/to-be-denied
chcon -t user_home_t $I/to-be-denied
remedy 'an image of another type' SELinuxDenied run_as_told 'such a type: (.*)' -- mount_default others $I/to-be-denied "$T"
unmount_volume others "$T"

# ---- disks and files ---------------------------------------------------------------------------------------
truncate -s 32M $I/parts
# One partition of the table of a PC, from sector 2048 to the end.
printf '\203\0\0\0\0\010\0\0\0\350\0\0' | dd of=$I/parts bs=1 seek=450 conv=notrunc status=none
printf '\125\252' | dd of=$I/parts bs=1 seek=510 conv=notrunc status=none
pass_partition() {
    [[ $message =~ with\ \'([^\']*)\' ]] && device=$(${BASH_REMATCH[1]} $I/parts)p1 && mkfs.ext4 -q -F "$device"
}
mount_partition() { mount_default parts "${device:-$I/parts}" "$T"; }
device=
remedy 'an image with partitions' InvalidVolume pass_partition -- mount_partition
unmount_volume parts "$T"
losetup -d "${device%p1}"
# A clone of a disk in use: its journal is not clean.
mount /dev/scratch0 /mnt
echo >/mnt/file
sync
dd if=/dev/scratch0 of=/dev/scratch1 bs=1M status=none
umount /mnt
blockdev --setro /dev/scratch1
mount_clone() { mount_default clone /dev/scratch1 "$T" "${clone_options[@]}"; }
add_option() { [[ $message == *'mount option noload'* ]] && clone_options+=('MountOptions as 1 noload'); }
clone_options=('ReadOnly b true')
remedy 'a clone that can not be written' MountFailed add_option -- mount_clone
unmount_volume clone "$T"
clone_options=()
remedy 'a clone that is to be written' MountFailed run_as_told 'blockdev --setrw' 'setrw' "setrw /dev/scratch1" -- mount_clone
unmount_volume clone "$T"
mount_volume files "$disk" "$T" "$always" 'RelabelBy s none'
echo >"$T/file"
chattr +i "$T/file"
# try COMMAND...: sets error and message as call does
try() { if message=$("$@" 2>&1); then error=''; else error=failed; fi; }
relabel() { try selvolctl relabel files "$file_type:s0:c7,c8"; }
remedy 'an immutable file' failed run_as_told 'chattr -i -a' '-i -a' "-i -a $T/file" -- relabel
unmount_volume files "$T"

# ---- names that moved --------------------------------------------------------------------------------------
wipefs -qa /dev/scratch1
mkfs.ext4 -q -F /dev/scratch1
mount_default one /dev/scratch0 "$T"
unmount_volume one "$T"
mount_default two /dev/scratch1 "$T"
unmount_volume two "$T"
remedy 'an id of another disk' SourceChanged run_as_told 'selvolctl forget one' -- mount_default one /dev/scratch1 "$T"
unmount_volume one "$T"

# ---- the service -------------------------------------------------------------------------------------------
systemctl mask --now selvold >/dev/null 2>&1
list() { try selvolctl list; }
remedy 'a masked service' failed run_as_told 'systemctl unmask selvold' -- list
useradd -r remedies
list_as_user() { try setpriv --reuid remedies --regid remedies --init-groups selvolctl list; }
remedy 'a user who may not call' failed run_as_told 'usermod -aG selvol USER' USER remedies -- list_as_user
userdel remedies

rm -f $dropin
semanage fcontext -d "$S(/.*)?"
semanage fcontext -d "$M(/.*)?"
configure
rm -rf $S $M $I "$pods/remedies"
wipefs -qa /dev/scratch0 /dev/scratch1
clean remedies
