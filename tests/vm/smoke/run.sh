#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks the guest on which all tests rely: SELinux is enforcing, the shell runs as an administrator's, a context mount
# works, and the two services run in their own domains if they are installed.
set -euo pipefail

context=system_u:object_r:container_file_t:s0:c1,c2
fail() {
    echo "smoke: $*" >&2
    exit 1
}
expect() { [[ $2 == "$3" ]] || fail "$1: '$2', expected '$3'"; }

echo "enforcing: $(getenforce)  shell: $(id -Z)  kernel: $(uname -r)"
expect getenforce "$(getenforce)" Enforcing
expect 'domain of this shell' "$(id -Z | cut -d: -f3)" unconfined_t

for program in selvold selvol-worker; do
    [[ -x /usr/libexec/$program ]] || continue
    ps -o label=,user=,pid=,comm= -C "$program" || { echo "$program: not running"; continue; }
    domain=$(ps -o label= -C "$program" | cut -d: -f3 | sort -u)
    expect "domain of $program" "$domain" "${program//-/_}_t"
done

target=/run/smoke
mkdir "$target"
mkfs.ext4 -q -F /dev/scratch0
mount -t ext4 -o "context=\"$context\"" /dev/scratch0 "$target"
findmnt -no SOURCE,OPTIONS "$target"
expect 'label of the mount' "$(stat -c %C "$target")" "$context"
umount "$target"
mount -t ext4 /dev/scratch0 "$target"
[[ $(stat -c %C "$target") != "$context" ]] || fail 'context= was written to the disk'
umount "$target"
echo 'smoke: good'
