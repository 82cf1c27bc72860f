# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2034,SC2154 # of lib.bash, and for page.bash
# Removes selvol as selvold(8) says, and then finds nothing but what the page says. This has to be the last file.

T=$pods/removal/v U=$pods/removal/w
product=/root/payload/product.tar       # install-product has unpacked it

# The guest has no build directory, so this removes the installed files instead of "ninja uninstall".
ninja() {
    [[ "$*" == '-C build uninstall' ]] && tar -tf $product | sed -n 's,^\./\(.*[^/]\)$,/\1,p' | xargs rm
}

# The page needs no disks of its own, and afterwards no selvold is there that could forget volumes.
page_stage() {
    page_files=() page_last=0
    declare -gA page_jobs=()
}
page_clean() { :; }

# left_files leaves out the guest's own files, and empty directories in /usr.
left_files() {
    local file
    find / -xdev -path /root -prune -o -name '*selvol*' ! -name 'selvol-guest*' -print | while read -r file; do
        [[ $file == /usr/* && -d $file && -z $(find "$file" ! -type d) ]] || echo "$file"
    done
    find /run -maxdepth 1 -name 'selvol*' ! -name selvol-guest
}
look() { mount /dev/scratch0 /mnt && stat -c '%C %g' /mnt/file && umount /mnt; }

mkdir -p "$T" "$U" "$scratch/removal"
echo word >"$scratch/removal/file"
for disk in /dev/scratch{0,1}; do mkfs.ext4 -q -F -d "$scratch/removal" "$disk"; done
mount_volume removal /dev/scratch0 "$T" 'SELinuxLevel s s0:c1,c2' 'RelabelBy s service' 'FSGroup u 1000'
unmount_volume removal "$T"
mount_volume forgotten /dev/scratch1 "$U"
before=$(look)
run_page pages/selvold.8.rst REMOVAL

yes 'a volume that was not unmounted stays mounted' is_mounted "$U"
yes 'and can be unmounted' umount "$U"
is 'nothing runs' "$(systemctl list-units --all --plain --no-legend 'selvol*' | grep -v selvol-guest)" ''
is 'no file is left' "$(left_files)" ''
is 'no policy module' "$(semodule -l | grep '^selvol$')" ''
for user in selvol selvol-volume-plugin; do no "no user $user" getent passwd $user; done
no 'no group' getent group selvol
like 'the files have a label and a group' "$before" "$file_type:s0:c1,c2 1000"
is 'and keep both' "$(look)" "$before"
rm -r "${T%/v}"
