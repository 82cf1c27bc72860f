# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # of lib.bash, and for page.bash
# The removal of selvold(8), after which nothing is left but what the page says. It is the last file.

T=$pods/removal/v U=$pods/removal/w
product=/root/payload/product.tar       # of install-product

# No build directory is here: its "uninstall" removes the files that it has installed.
ninja() {
    [[ "$*" == '-C build uninstall' ]] && tar -tf $product | sed -n 's,^\./\(.*[^/]\)$,/\1,p' | xargs rm
}

# The disks are as they are, and afterwards nobody is there to forget anything.
page_stage() {
    page_files=() page_last=0
    declare -gA page_jobs=()
}
page_clean() { :; }

# What is selvol's: not the guest's own, nor empty directories in /usr.
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
no 'no user' getent passwd selvol
no 'no group' getent group selvol
like 'the files have a label and a group' "$before" "$file_type:s0:c1,c2 1000"
is 'and keep both' "$(look)" "$before"
rm -r "${T%/v}"
