# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016 # of lib.bash; words; for eval
# Installs over a version that runs, as "meson install" does: it replaces the files and runs its last script.

T=$pods/install/v
product=/root/payload/product.tar       # install-product has unpacked it
mkdir -p "$T"
mkfs.ext4 -q -F /dev/scratch0
install_here() { MESON_INSTALL_PREFIX=/usr ./post-install "$@" 2>&1; }
runs_what_is_installed() { [[ /proc/$(main_pid "$1")/exe -ef /usr/libexec/$1 ]]; }

mount_with s0:c1,c2 install /dev/scratch0 "$T" 'Holder s pod'
before="$(main_pid selvold) $(main_pid selvol-worker)"
is 'a staged installation does nothing' "$(DESTDIR=/tmp/staged install_here)" ''
like 'and names what is missing' "$(DESTDIR=/tmp/staged install_here 'the man pages: why')" 'NOT INSTALLED: the man pages: why'
is 'it leaves both processes alone' "$(main_pid selvold) $(main_pid selvol-worker)" "$before"

tar -C / --no-same-owner --no-overwrite-dir --keep-directory-symlink -xf $product
no 'selvold is of an earlier installation' runs_what_is_installed selvold
said=$(install_here) || not_ok 'an upgrade' "$said"
like 'an upgrade says what it did, and what is next' "$said" 'policy module is loaded' 'were restarted' 'Next: selvolctl list'
wait_for answers_calls
yes 'selvold is the new one' runs_what_is_installed selvold
yes 'so is the worker' runs_what_is_installed selvol-worker
yes 'the volume is mounted' is_mounted "$T"
yes 'and held' is_held install "$T"
is 'all that is installed has the type that the policy says' "$(tar -tf $product | sed 's,^\./,/,' | restorecon -n -v -f - 2>&1)" ''
is 'the module is in the store' "$(semodule -l | grep -c '^selvol$')" 1

systemctl stop selvold selvol-worker.socket selvol-worker
like 'what does not run is not started' "$(install_here)" 'Next: systemctl enable --now selvold'
no 'it does not run' systemctl -q is-active selvold
yes 'and is started by that' systemctl enable --now selvold
unmount_volume install "$T"
clean install
