# SPDX-License-Identifier: LGPL-2.1-or-later
# Groups and modes of a volume's files, and processes with a group. suite.sh sources this file.
# shellcheck disable=SC2016,SC2034,SC2154 # for the shell inside; of lib.bash, and for the tests
on_root_mismatch='FSGroupChangePolicy s OnRootMismatch'
policy_always='FSGroupChangePolicy s Always'

mount_group() { mount_volume "$2" "$3" "$4" "FSGroup u $1" "${@:5}"; }

# gives NAME OWNERSHIP REASON: the last MountVolume or AdoptVolume did this with the group
gives() { is "$1" "${error:-$(field Ownership) $(field OwnershipReason)}${message:+ $message}" "$2 $3"; }
# known NAME FSGROUP DISKGROUP STATE: the last reply has these fields
known() { is "$1" "$(field FSGroup) $(field DiskGroup) $(field OwnershipState)" "$2 $3 $4"; }

groups_of() { find "$1" -printf '%G\n' | sort | uniq -c | sed 's/^ *//'; }
# all_owned NAME DIRECTORY GID: each entry has the group, also the symbolic links
all_owned() { is "$1" "$(groups_of "$2")" "$(entries "$2") $3"; }
owners_of() { find "$1" -printf '%i %U\n' | sort -u; }
modes_of() { find "$1" -printf '%i %y %m\n' | sort -u; }
# as_kubelet: changes the output of modes_of as kubelet changes modes
as_kubelet() {
    python3 -c '
import sys
for line in sys.stdin:
    inode, kind, mode = line.split()
    bits = {"l": 0, "d": 0o2770}.get(kind, 0o660)
    print(inode, kind, "%o" % (int(mode, 8) | bits))' | sort -u
}

# as_pod GID DIRECTORY COMMAND: runs the command in a process that can use the files only by this group; each group
# has a user of its own
as_pod() {
    setpriv --reuid $((10000 + $1)) --regid 100 --groups "$1" --inh-caps=-all \
        sh -c 'umask 002; cd "$1" && eval "$2"' pod "$2" "$3" </dev/null
}
# pod_uses NAME GID DIRECTORY FILE: a pod reads and writes files, and makes FILE, directories and links
pod_uses() {
    yes "$1" as_pod "$2" "$3" "cat secret >/dev/null && echo more >>secret && cat closed/file >/dev/null && echo more >>d0/f1 &&
        echo word >$4 && cat $4 >/dev/null && mkdir $4.d && echo word >$4.d/file && ln -s file $4.d/link &&
        echo word >d0/$4 && mv d0/$4 d0/$4.moved"
}
# pod_sees_nothing NAME GID DIRECTORY: a pod of another group can only list the directory
pod_sees_nothing() {
    is "$1" "$(as_pod "$2" "$3" 'cat secret; echo more >>secret; cat closed/file; touch denied; mkdir denied.d; mv d0/f1 d0/f9; true' 2>&1 |
        grep -c 'ermission denied')" 6
}

# apply ID GID OPTION...: calls ApplyOwnership; sets job
apply() {
    job=''
    volume_call ApplyOwnership 'sua{sv}' "$1" "$2" -- "${@:3}" || return
    job=${reply#*\"}
    job=${job%\"}
}
# applied NAME REASON: the job ends with "done", after a walk for the reason
applied() {
    job_call Wait ''
    is "$1" "${error:-${reply:0:13}} $(field Ownership) $(field OwnershipReason)" "sa{sv} \"done\" walked $2"
}
