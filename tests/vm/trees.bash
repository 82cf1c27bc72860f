# SPDX-License-Identifier: LGPL-2.1-or-later
# Trees with everything that can be in one, their labels, and jobs that walk over them. Sourced by lib.bash.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # of lib.bash, and for the tests
job=''

# fill DIRECTORY FILES: so many files, 20 in a directory, and one of everything else, some of it other users'
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
# in one directory, so that one thread visits both names: two could both find the old label, and count it twice
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

entries() { find "$1" -printf . | wc -c; }
labels() { find "$1" -printf '%Z\n' | sort | uniq -c | sed 's/^ *//'; }

# all_labeled NAME DIRECTORY CONTEXT: each entry, the symlinks themselves too
all_labeled() { is "$1" "$(labels "$2")" "$(entries "$2") $3"; }

# on_disk SOURCE COMMAND...: with what is on the disk, at /mnt and without a context; nobody may have it mounted. xfs writes its
# superblock when a read-only mount ends, which would look like a mount by somebody else, unless the device is read-only.
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

# when each entry changed, but for the root, which has the mark
times() { find "$1" -mindepth 1 -printf '%i %C@\n' | sort; }
# touched BEFORE DIRECTORY: whose time is another one now
touched() {
    local now
    now=$(times "$2")
    if [[ -z $now ]]; then echo 'nothing is there'; else comm -13 <(echo "$1") <(echo "$now") | cut -d' ' -f1 | sort; fi
}
# written FILE_SYSTEM TOTAL MISSING: what a walk over labels counts as changed, if the root has another label. Of ext4, which
# leaves alone what has the label that it is given, all are written without a look.
written() { if [[ $1 == ext4 ]]; then echo "$2"; else echo "$3"; fi; }
# lacking LEVEL DIRECTORY: how many don't have it, each once whatever its names
lacking() { find "$2" -not -context "*:$1" -printf '%i\n' | sort -u | wc -l; }
inodes() { stat -c %i "$@" | sort; }

# fingerprint DEVICE: of the ext4 there, as selvol keeps it in the mark
fingerprint() {
    number() { od -An -t "u$3" -j $((1024 + $2)) -N "$3" "$1" | tr -d ' '; }
    echo "ext4:$(blkid -p -s UUID -o value "$1"):$(number "$1" 64 4):$(number "$1" 44 4):$(number "$1" 52 2)"
}

# the mark of the volume that is mounted there
mark() { getfattr -n trusted.selvol --only-values "$1" 2>/dev/null; }
put_mark() { setfattr -n trusted.selvol -v "$2" "$1"; }
mark_says() { # NAME DIRECTORY WORDS...
    like "$1" " $(mark "$2") " "${@:3}"
}

# mount_service LEVEL ID SOURCE TARGET OPTION...: relabeled by the service
mount_service() { mount_volume "$2" "$3" "$4" "SELinuxLevel s $1" "$always" 'RelabelBy s service' "${@:5}"; }

# is_walked NAME REASON, is_skipped NAME: the last MountVolume
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

# walker: the worker's child that walks, the only one with several threads
walker() {
    local pid tasks
    for pid in $(worker_pids); do
        tasks=("/proc/$pid/task/"*)
        ((${#tasks[@]} < 2)) || echo "$pid"
    done
}
nobody_walks() { [[ -z $(walker) ]]; }
