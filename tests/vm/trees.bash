# SPDX-License-Identifier: LGPL-2.1-or-later
# Trees with all kinds of files, their labels and marks, and jobs that walk over them. lib.bash sources this file.
# shellcheck disable=SC2034,SC2154 # of lib.bash, and for the tests
job=''

# fill DIRECTORY FILES: makes so many files, 20 in a directory, and one of each other kind; some belong to other users
fill() {
    python3 - "$1" "$2" <<'PYTHON'
import os, socket, stat, sys
os.chdir(sys.argv[1])
for n in range(int(sys.argv[2])):
    if n % 20 == 0:
        os.makedirs(f"d{n // 20}", exist_ok=True)
    with open(f"d{n // 20}/f{n % 20}", "w") as f:
        f.write(f"{n}\n")
os.mkdir("empty")
os.mkdir("other", 0o700)
for name in (b"a blank", b"-rf", b"*", b"new\nline", b"not \xff utf-8", "\u00e4".encode(), b"n" * 255):
    with open(b"other/" + name, "wb") as f:
        f.write(b"word")
with open("secret", "w") as f:
    f.write("word")
os.chmod("secret", 0)
os.mkdir("closed")
with open("closed/file", "w") as f:
    f.write("word")
os.chmod("closed", 0)
# Both names are in one directory, so that one thread visits both. Two threads could both count the change.
os.link("secret", "link")
os.symlink("d0/f0", "symlink")
os.symlink("nowhere", "dangling")
os.symlink("/etc/shadow", "outside")
os.symlink("/etc", "other/outside")
os.mkfifo("fifo")
os.mknod("null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
os.mknod("disk", stat.S_IFBLK | 0o600, os.makedev(7, 200))
socket.socket(socket.AF_UNIX).bind("socket")
for n, name in enumerate(("d0/f2", "d0", "d1/f1", "empty", "fifo", "null", "symlink", "other")):
    os.chown(name, 1000 + n, 2000, follow_symlinks=False)
deep = os.open(".", os.O_RDONLY)
for n in range(100):
    os.mkdir("deep", dir_fd=deep)
    deep = os.open("deep", os.O_RDONLY, dir_fd=deep)
PYTHON
}
# fill_disk DEVICE FILES: fills its file system; sets total
fill_disk() {
    mount "$1" /mnt
    fill /mnt "$2"
    total=$(entries /mnt)
    umount /mnt
}

# with_file_systems FUNCTION TYPE...: calls FUNCTION TYPE DEVICE for each type, after the device has a new file system
declare -A disk_of=([ext4]=/dev/scratch0 [xfs]=/dev/scratch1 [btrfs]=/dev/scratch2)
with_file_systems() {
    local type force
    for type in "${@:2}"; do
        if [[ $type == ext4 ]]; then force=-F; else force=-f; fi
        "mkfs.$type" -q $force "${disk_of[$type]}" >/dev/null 2>&1
        "$1" "$type" "${disk_of[$type]}"
    done
}

entries() { find "$1" -printf . | wc -c; }
labels() { find "$1" -printf '%Z\n' | sort | uniq -c | sed 's/^ *//'; }

# all_labeled NAME DIRECTORY CONTEXT: each entry has the context, also the symbolic links
all_labeled() { is "$1" "$(labels "$2")" "$(entries "$2") $3"; }

# on_disk SOURCE COMMAND...: runs the command while the disk is mounted read-only at /mnt, without context=. The disk
# must not be mounted elsewhere. xfs writes its superblock even when a read-only mount ends, and selvold would take
# that for another mount, so the device is made read-only.
on_disk() {
    local source=$1 status=0 xfs=false
    if [[ -b $source && $(blkid -p -s TYPE -o value "$source") == xfs ]]; then xfs=true; fi
    shift
    if $xfs; then blockdev --setro "$source"; fi
    if mount -o ro "$source" /mnt; then
        "$@" || status=$?
        umount /mnt
    else
        echo "$source can't be mounted"
        status=1
    fi
    if $xfs; then blockdev --setrw "$source"; fi
    return $status
}

# times DIRECTORY: prints inode number and time of change of each entry but the root, whose mark selvol writes
times() { find "$1" -mindepth 1 -printf '%i %C@\n' | sort; }
# touched BEFORE DIRECTORY: prints the inode numbers of entries that have changed since
touched() {
    local now
    now=$(times "$2")
    if [[ -z $now ]]; then echo 'nothing is there'; else comm -13 <(echo "$1") <(echo "$now") | cut -d' ' -f1 | sort; fi
}
# written FILE_SYSTEM TOTAL MISSING: prints how many entries a walk counts as changed if the root has another label. On
# ext4 the walk writes all labels without a look, because ext4 does not write an equal label to the disk.
written() { if [[ $1 == ext4 ]]; then echo "$2"; else echo "$3"; fi; }
# lacking LEVEL DIRECTORY: prints how many inodes have another level
lacking() { find "$2" -not -context "*:$1" -printf '%i\n' | sort -u | wc -l; }
inodes() { stat -c %i "$@" | sort; }

# fingerprint DEVICE: prints the fingerprint of an ext4 as selvol writes it into the mark
fingerprint() {
    number() { od -An -t "u$3" -j $((1024 + $2)) -N "$3" "$1" | tr -d ' '; }
    echo "ext4:$(blkid -p -s UUID -o value "$1"):$(number "$1" 64 4):$(number "$1" 44 4):$(number "$1" 52 2)"
}

# mark DIRECTORY: prints the mark of the volume that is mounted there
mark() { getfattr -n trusted.selvol --only-values "$1" 2>/dev/null; }
put_mark() { setfattr -n trusted.selvol -v "$2" "$1"; }
mark_says() { # NAME DIRECTORY WORDS...
    like "$1" " $(mark "$2") " "${@:3}"
}

# mount_service LEVEL ID SOURCE TARGET OPTION...: asks the service to relabel the volume
mount_service() { mount_volume "$2" "$3" "$4" "SELinuxLevel s $1" "$always" 'RelabelBy s service' "${@:5}"; }

# is_walked NAME REASON, is_skipped NAME: the last MountVolume did this with the labels
is_walked() { is "$1" "${error:-$(field Relabel) $(field RelabelReason)}" "walked $2"; }
is_skipped() { is "$1" "${error:-$(field Relabel) $(field RelabelReason)}" 'skipped complete'; }

# relabel ID CONTEXT OPTION...: sets job
relabel() {
    job=''
    volume_call Relabel 'ssa{sv}' "$1" "$2" -- "${@:3}" || return
    job=${reply#*\"}
    job=${job%\"}
}
job_call() { object=$job interface=org.selvol1.Job call "$@"; }
job_property() {
    local value
    value=$(busctl get-property org.selvol1 "$job" org.selvol1.Job "$1" 2>/dev/null) && printf '%s\n' "${value#* }"
}
job_has() { (($(job_property "$1") >= $2)); }
# job_ends NAME RESULT
job_ends() {
    job_call Wait ''
    is "$1" "${error:-${reply:0:$((9 + ${#2}))}}" "sa{sv} \"$2\""
}

# walker: prints the child of the worker that walks, which is the only one with several threads
walker() {
    local pid tasks
    for pid in $(worker_pids); do
        tasks=("/proc/$pid/task/"*)
        ((${#tasks[@]} < 2)) || echo "$pid"
    done
}
nobody_walks() { [[ -z $(walker) ]]; }
