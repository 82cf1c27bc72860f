# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# Storage that never answers blocks one killable child and nothing else.

T=$pods/hung/v U=$pods/hung/u F=$pods/hung-fuse I=/var/lib/selvol-images/hung
mkdir -p "$T" "$U" "$F"
mkfs.ext4 -q -F /dev/scratch0

mount_children() { pgrep -x mount.nfs || pgrep -x mount.nfs4; }
one_worker_child() { (($(worker_pids | wc -l) <= 3)); } # the worker, its watch, and the child that waits for a request
# begin ID SOURCE TARGET COUNT OPTION...: a mount in the background that has ten minutes
begin() {
    begin_call begun MountVolume 'sssa{sv}' "${@:1:3}" $(($4 + 1)) TimeoutUSec t 600000000 "${@:5}" 9>&-
}
# cancel_in_front NAME: cancels that mount, whose job is in the text of the last error
cancel_in_front() {
    expect_error "$1: it has a line" Busy 'its mount (job '
    call GetJob t "$(sed 's/.*(job \([0-9]*\)).*/\1/' <<<"$message")"
    like "$1: which names a job that can be asked about" "$error$reply" 'o "/org/selvol1/job/'
    object=$(cut -d'"' -f2 <<<"$reply") interface=org.selvol1.Job call Cancel ''
    is "$1: and canceled" "$error" ''
    [[ -n $error ]] || wait "$caller_pid"
    like "$1: its caller is told" "$(<"$scratch/begun")" 'Call failed'
}

allow_network
# This server accepts connections and answers nothing.
socat -u TCP-LISTEN:2050,fork,reuseaddr OPEN:/dev/null </dev/null >/dev/null 2>&1 &
server=$!
wait_for eval '[[ $(ss -ltn) == *:2050* ]]'
begin hung 127.0.0.1:/ "$T" 5 SELinuxLevel s s0:c1,c2 $policy $supported FSType s nfs4 MountOptions as 2 vers=4.2 port=2050
soon 'a server that does not answer: it is being tried' mount_children
mount_with s0:c1,c2 alive /dev/scratch0 "$U"
answers 'another volume can be mounted meanwhile' "$file_type:s0:c1,c2" '' context-mount context-mount
yes 'and does not wait for it' mount_children
mount_with s0:c1,c2 hung /dev/scratch1 "$T" 'TimeoutUSec t 500000'
cancel_in_front 'the hung volume itself'
mount_with s0:c1,c2 hung 127.0.0.1:/ "$T" 'FSType s nfs4' 'MountOptions as 2 vers=4.2 port=2050' 'TimeoutUSec t 2000000'
is 'a server that does not answer: says so' "$error" TimedOut
journal_has 'a server that does not answer: TimedOut' SELVOL_VOLUME=hung SELVOL_RESULT=TimedOut
no 'a server that does not answer: nothing is mounted' is_mounted "$T"
yes 'a server that does not answer: nothing is recorded' is_unknown hung
soon 'a server that does not answer: mount.nfs is gone' eval '! pgrep -x "mount.nfs4?"'
soon 'a server that does not answer: the child is gone' one_worker_child
end_process $server
yes 'a server in the guest' start_nfs_server
mount_with s0:c1,c2 hung 127.0.0.1:/ "$T" 'FSType s nfs4' 'MountOptions as 1 vers=4.2'
answers 'it can be mounted when there is a server' "$file_type:s0:c1,c2" '' context-mount context-mount
unmount_volume hung "$T"
forbid_network

# A FUSE file system that never answers is above the target.
modprobe fuse
exec 9<>/dev/fuse
mount -i -t fuse -o fd=9,rootmode=40000,user_id=0,group_id=0,allow_other hung "$F"
begin patient none "$F/other" 1 FSType s tmpfs
mount_with s0:c1,c2 behind none "$F/target" 'FSType s tmpfs' 'TimeoutUSec t 2000000'
is 'a target that does not answer: TimedOut' "$error" TimedOut
yes 'a target that does not answer: who has more time still waits' kill -0 "$caller_pid"
mount_with s0:c1,c2 patient none "$T" 'FSType s tmpfs' 'TimeoutUSec t 500000'
cancel_in_front 'who has more time'
yes 'a target that does not answer: nothing is recorded' is_unknown behind
yes 'the service goes on' answers_calls
mount_with s0:c1,c2 alive2 none "$T" 'FSType s tmpfs'
answers 'other targets work' "$file_type:s0:c1,c2" ''
unmount_volume alive2 "$T"
adopt_with s0:c1,c2 behind "$F" 'TimeoutUSec t 2000000'
like 'its root can not be adopted' "${error:-none}" TimedOut
# Another one is at a directory for images.
mkdir -p "$I"
exec 8<>/dev/fuse
mount -i -t fuse -o fd=8,rootmode=40000,user_id=0,group_id=0,allow_other hung-images "$I"
mount_with s0:c1,c2 behind "$I/image" "$T" 'TimeoutUSec t 1000000'
is 'an image that does not answer: TimedOut' "$error" TimedOut
umount -l "$I"
exec 8>&-
rmdir "$I"
call VerifyLabel 'ssa{sv}' "$F/file" "$file_type:s0" 1 TimeoutUSec t 1000000
is 'a label that does not come: TimedOut' "$error" TimedOut
exec 9>&-
umount -l "$F"
soon 'a target that does not answer: the child is gone' one_worker_child
unmount_volume alive "$U"
clean hung
