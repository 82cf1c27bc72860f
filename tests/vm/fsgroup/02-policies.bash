# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# What Kubernetes' own tests expect of fsGroupChangePolicy: end-to-end (K9) and unit (K1, K2).

T=$pods/policies/v source=/dev/scratch0
mkdir -p "$T"
files() { stat -c %g "$T/file" "$T/sub/file" | xargs | tr ' ' /; }

# first_pod NAME OPTION...: a new file system, and the first pod with group 1000 makes files
first_pod() {
    mkfs.ext4 -q -F $source 8M
    forget_volume policies
    mount_group 1000 policies $source "$T" "${@:2}"
    is "$1: the first pod" "$error$(field Ownership)" walked
    as_pod 1000 "$T" 'echo word >file; mkdir sub; echo word >sub/file'
    is "$1: its files" "$(files)" 1000/1000
}

# e2e NAME CHANGED SECOND EXPECTED OWNERSHIP REASON OPTION...: CHANGED is what the first pod makes of the files' groups
e2e() {
    local name="$1, 1000${2:+, changed to $2}, then $3" changed=$2 second=$3 expected=$4
    first_pod "$name" "${@:7}"
    if [[ -n $changed ]]; then
        chgrp ${changed%/*} "$T/file"
        chgrp ${changed#*/} "$T/sub/file"
    fi
    unmount_volume policies "$T"
    mount_group $second policies $source "$T" "${@:7}"
    gives "$name: the second pod" "$5" "$6"
    is "$name: the files" "$(files)" $expected
    [[ $5 == skipped ]] || yes "$name: the second pod writes" as_pod $second "$T" 'echo more >>file && echo more >>sub/file && touch new'
    unmount_volume policies "$T"
}
e2e Always '' 2000 2000/2000 walked policy-always "$policy_always"
e2e 'Always, ReadWriteOncePod' '' 2000 2000/2000 walked policy-always "$policy_always" 'AccessMode s ReadWriteOncePod'
e2e Always 2000/3000 1000 1000/1000 walked policy-always "$policy_always"
e2e Always 2000/3000 4000 4000/4000 walked policy-always "$policy_always"
e2e OnRootMismatch '' 2000 2000/2000 mapped other-group "$on_root_mismatch"
e2e OnRootMismatch 2000/3000 1000 2000/3000 skipped complete "$on_root_mismatch"
e2e OnRootMismatch 2000/3000 4000 4000/4000 walked files-differ "$on_root_mismatch"
journal_has 'what made it walk is in the journal' SELVOL_VOLUME=policies MESSAGE_ID=ca4bc256f440452789c93131cb1d70b6

# unit NAME MODE GROUP EXPECTED OWNERSHIP REASON OPTION...: MODE and GROUP are what becomes of the root; the directory loses both
unit() {
    local name=$1
    first_pod "$name" "${@:7}"
    chgrp $3 "$T"
    chmod $2 "$T"
    chgrp 3000 "$T/sub"
    chmod 0700 "$T/sub"
    unmount_volume policies "$T"
    mount_group 1000 policies $source "$T" "${@:7}"
    gives "$name" "$5" "$6"
    is "$name: the directory" "$(stat -c '%g %a' "$T" "$T/sub" | xargs)" "$4"
    unmount_volume policies "$T"
}
unit 'Always, the root is right' 2770 1000 '1000 2770 1000 2770' walked policy-always "$policy_always"
unit 'OnRootMismatch, the root is right' 2770 1000 '1000 2770 3000 2700' skipped complete "$on_root_mismatch"
unit 'OnRootMismatch, the root is not setgid' 00770 1000 '1000 2770 1000 2770' walked root-differs "$on_root_mismatch"
unit 'OnRootMismatch, the root keeps the group out' 2700 1000 '1000 2770 1000 2770' walked root-differs "$on_root_mismatch"
unit 'OnRootMismatch, the root has another group' 2770 7 '1000 2770 1000 2770' walked root-differs "$on_root_mismatch"
unit 'no policy, the root is not setgid' 00770 1000 '1000 2770 1000 2770' walked root-differs

# What others may do is not taken away.
mount_group 1000 policies $source "$T" 'Force b true'
gives 'forced' walked forced
is 'forced: there is nothing to write' "$(field EntriesChanged)" 0
unmount_volume policies "$T"

# The gate and the default
configure '[Service]\nSkipFSGroupChange=no'
mount_group 1000 policies $source "$T"
gives 'gate off' walked gate-disabled
unmount_volume policies "$T"
configure '[Service]\nDefaultFSGroupChangePolicy=Always'
mount_group 1000 policies $source "$T"
gives 'the default is Always' walked policy-always
unmount_volume policies "$T"
mount_group 1000 policies $source "$T" "$on_root_mismatch"
gives 'the default is Always, but the caller knows better' skipped complete
unmount_volume policies "$T"
configure '[Driver test.example]\nFSGroupPolicy=None'
mount_group 1000 policies $source "$T" 'Driver s test.example'
gives 'the driver does it itself' none policy-none
unmount_volume policies "$T"
configure
mount_group 1000 policies $source "$T"
gives 'gate on again' skipped complete
unmount_volume policies "$T"
clean policies
