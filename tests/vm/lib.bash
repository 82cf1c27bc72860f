# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks for run.sh in the guest, as TAP: "ok 1 - name" or "not ok 1 - name" and why. Plain busctl is the client, as it
# is for an administrator. Sourced; run-all puts it beside run.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2016 # the variables are for the tests; for eval
export LC_ALL=C SYSTEMD_PAGER='' SYSTEMD_COLORS=0

pods=/var/lib/kubelet/pods
file_type=system_u:object_r:container_file_t
policy='SELinuxRelabelPolicy s OnVolumeMount'
supported='SELinuxMountSupported b true'
always='SELinuxRelabelPolicy s Always'
scratch=/run/vm-test
conf_dir=/etc/selvol/selvol.conf.d
network_dir=/etc/systemd/system/selvol-worker.service.d
read -r count failed skipped <<<"${SELVOL_GUEST_CARRY:-0 0 0}"
reply='' error='' message=''
patience=120 # seconds to wait for what as a rule succeeds at once

# shellcheck source-path=SCRIPTDIR source=containers.bash
. ./containers.bash
# shellcheck source-path=SCRIPTDIR source=trees.bash
. ./trees.bash

# ---- results -----------------------------------------------------------------------------------------------

ok() { echo "ok $((++count)) - $1"; }

# not_ok NAME LINE...
not_ok() {
    echo "not ok $((++count)) - $1"
    failed=$((failed + 1))
    shift
    printf '%s\n' "$@" | sed 's/^/# /'
}

skip() {
    echo "ok $((++count)) - $1 # SKIP $2"
    skipped=$((skipped + 1))
}

# cut_power_after COMMAND...: the machine goes dead at once when it has ended, and nothing more is written. It boots again, with
# the scratch disks as they are then and nothing else, and runs run.sh from its beginning.
cut_power_after() {
    is 'the policy has denied the product nothing before' "$(denials_in_short)" ''
    journalctl -b --no-pager -o short-monotonic >"$RESULTS/journal-$SELVOL_GUEST_BOOT.txt"
    echo "$count $failed $skipped" >"$RESULTS/carry"
    # not sync: that would write everything
    tar -C "$RESULTS" -c . | dd of="$SELVOL_GUEST_RESULT" bs=64k iflag=fullblock conv=fsync status=none
    "$@"
    echo o >/proc/sysrq-trigger
    sleep 60
    not_ok 'the machine goes dead' 'it did not'
    finish
}

# reboot_guest: likewise, but all that was written stays, also on the root disk: the machine boots with the product as it is there.
reboot_guest() {
    : >"$RESULTS/keep"
    cut_power_after sync
}

finish() {
    echo "1..$count"
    exit $((failed > 0))
}

# is NAME ACTUAL EXPECTED
is() {
    if [[ $2 == "$3" ]]; then ok "$1"; else not_ok "$1" "got:      $2" "expected: $3"; fi
}

# like NAME TEXT WORDS...: the text contains all of them
like() {
    local name=$1 text=$2 word
    shift 2
    for word; do
        if [[ -z $word || $text != *"$word"* ]]; then
            not_ok "$name" "not found: $word" "in: ${text:0:1500}"
            return
        fi
    done
    ok "$name"
}

# unlike NAME TEXT WORDS...: the text contains none of them
unlike() {
    local name=$1 text=$2 word
    shift 2
    for word; do
        if [[ $text == *"$word"* ]]; then
            not_ok "$name" "found: $word" "in: ${text:0:1500}"
            return
        fi
    done
    ok "$name"
}

# yes NAME COMMAND..., no NAME COMMAND...: it succeeds, it fails
yes() {
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then ok "$name"; else not_ok "$name" "$* failed: $output"; fi
}
no() {
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then not_ok "$name" "$* succeeded: $output"; else ok "$name"; fi
}

# wait_for COMMAND...: until it succeeds. A busy machine takes its time; only a failure takes all of it.
wait_for() {
    local end=$((SECONDS + patience))
    until "$@" >/dev/null 2>&1; do
        ((SECONDS < end)) || return 1
        sleep 0.1
    done
}

# soon NAME COMMAND...
soon() {
    local name=$1
    shift
    if wait_for "$@"; then ok "$name"; else not_ok "$name" "not within $patience s: $*"; fi
}

# ---- calls -------------------------------------------------------------------------------------------------

# call METHOD SIGNATURE ARGUMENT...: sets reply, or error (the last part of its name) and message
call() {
    local as=() log file=$scratch/call.$BASHPID      # one for each of those in the background
    if [[ -n ${caller:-} ]]; then as=(setpriv --reuid "$caller" --regid "$caller" --init-groups); fi
    reply='' error='' message=''
    # busctl prints only an error's text; its log has the name
    if reply=$(SYSTEMD_LOG_LEVEL=debug SYSTEMD_LOG_TARGET=console "${as[@]}" busctl --timeout=120 call org.selvol1 \
        "${object:-/org/selvol1}" "${interface:-org.selvol1.Manager}" "$@" 2>"$file"); then
        return 0
    fi
    log=$(<"$file")
    error=${log##*error-name=}
    error=${error%% *}
    error=${error##*.}
    # and its text, where busctl has one of its own
    message=${log##*error-message=}
    message=${message%%$'\n'*}
    if [[ $error == n/a ]]; then    # nothing has answered
        error=Timeout message=${log##*Call failed: }
        message=${message%%$'\n'*}
    fi
    return 1
}

# Each OPTION is one argument, "Name type value...".
# volume_call METHOD SIGNATURE ARGUMENTS... -- OPTION...
volume_call() {
    local arguments=()
    while [[ $1 != -- ]]; do
        arguments+=("$1")
        shift
    done
    shift
    # shellcheck disable=SC2068 # words
    call "${arguments[@]}" $# $@
}

# mount_volume ID SOURCE TARGET OPTION...
mount_volume() { volume_call MountVolume 'sssa{sv}' "$1" "$2" "$3" -- "${@:4}"; }
plan_volume() { volume_call PlanVolume 'sssa{sv}' "$1" "$2" "$3" -- "${@:4}"; }
# mount_with LEVEL ID SOURCE TARGET OPTION...: with that level in a context mount
mount_with() { mount_volume "$2" "$3" "$4" "SELinuxLevel s $1" "$policy" "$supported" "${@:5}"; }
# adopt_with LEVEL ID TARGET OPTION...
adopt_with() { volume_call AdoptVolume 'ssa{sv}' "$2" "$3" -- "SELinuxLevel s $1" "$policy" "$supported" "${@:4}"; }
unmount_volume() { volume_call UnmountVolume 'ssa{sv}' "$1" "$2" -- "${@:3}"; }
forget_volume() { call ForgetVolume 'sa{sv}' "$1" 0; }

# field NAME: of the last reply; what does not apply is not there
field() {
    local pattern="\"$1\" [a-z]+ (\"([^\"]*)\"|([^ ]+))"
    [[ $reply =~ $pattern ]] && echo "${BASH_REMATCH[2]}${BASH_REMATCH[3]}"
}

# answers NAME CONTEXT FLAG [STRATEGY REASON]: what the last MountVolume or AdoptVolume returned
answers() {
    local wanted="ssa{sv} \"$2\" \"$3\" "
    if [[ -n $error ]]; then
        not_ok "$1" "$error: $message"
    elif [[ $reply != "$wanted"* ]]; then
        not_ok "$1" "got:      ${reply:0:120}" "expected: $wanted"
    elif [[ -n ${4:-} && "$(field Strategy) $(field Reason)" != "$4 $5" ]]; then
        not_ok "$1" "got:      $(field Strategy) $(field Reason)" "expected: $4 $5"
    else
        ok "$1"
    fi
}

# expect_error NAME KIND WORDS...: of the last call
expect_error() {
    local name=$1 kind=$2
    shift 2
    if [[ $error != "$kind" ]]; then
        not_ok "$name" "got:      ${error:-no error} $message$reply" "expected: $kind"
    else
        like "$name" "$message" "$@"
    fi
}

# Without what units mount when they like: credentials, and podman's storage, which podman-auto-update.timer looks at.
mount_table() { grep -v -e ' /run/credentials' -e ' /var/lib/containers/' /proc/self/mountinfo; }

# wait_for_tracer PID: until it is being traced
wait_for_tracer() { wait_for eval "! grep -q '^TracerPid:[[:space:]]*0' '/proc/$1/status'"; }

# refused NAME KIND WORD COMMAND...: and neither the mount table nor any record is another afterwards
refused() {
    local name=$1 kind=$2 word=$3 mounts records loops
    shift 3
    mounts=$(mount_table) records=$(records) loops=$(loops)
    "$@"
    if [[ $error != "$kind" ]]; then
        not_ok "$name" "got:      ${error:-no error} $message$reply" "expected: $kind"
    elif [[ $message != *"$word"* ]]; then
        not_ok "$name" "not found: $word" "in: $message"
    elif [[ $(mount_table) != "$mounts" ]]; then
        not_ok "$name" 'the mount table has changed:' "$(diff <(echo "$mounts") <(mount_table))"
    elif [[ $(records) != "$records" ]]; then
        not_ok "$name" "the records have changed: $records" "now: $(records)"
    elif ! wait_for loops_are "$loops"; then
        not_ok "$name" "loop devices: $loops" "now: $(loops)"
    else
        ok "$name"
    fi
}

# ---- what is known of volumes ------------------------------------------------------------------------------

records() { busctl call org.selvol1 /org/selvol1 org.freedesktop.DBus.ObjectManager GetManagedObjects; }

volume_path() {
    local id=$1 path=/org/selvol1/volume/ i
    for ((i = 0; i < ${#id}; i++)); do
        if [[ ${id:i:1} == [A-Za-z0-9] ]]; then path+=${id:i:1}; else printf -v path '%s_%02x' "$path" "'${id:i:1}"; fi
    done
    echo "$path"
}

# property ID NAME: as busctl prints it, without the type
property() {
    local value
    value=$(busctl get-property org.selvol1 "$(volume_path "$1")" org.selvol1.Volume "$2" 2>/dev/null) &&
        printf '%s\n' "${value#* }"
}

metrics() {
    local json
    json=$(busctl -j call org.selvol1 /org/selvol1 org.selvol1.Manager GetMetrics) && printf '%b' "${json//\\\"/\"}"
}
# counter SAMPLE: its value, 0 if nothing was counted
counter() {
    local value
    value=$(metrics | sed -n "s/^$1 //p")
    echo "${value:-0}"
}

# is_held ID TARGET: by a holder that is mounted
is_held() { [[ $(property "$1" Holders) == *"\"Target\" s \"$2\" \"State\" s \"mounted\""* ]]; }
is_not_held() { ! is_held "$@"; }
has_no_holder() { [[ $(property "$1" Holders) == 0 ]]; }
nobody_holds() { local all; all=$(records) && [[ $all != *'"Holders" aa{sv} '[1-9]* ]]; }
knows_nothing() { local all; all=$(records) && [[ $all != *org.selvol1.Volume* ]]; }
is_unknown() { ! call GetVolume s "$1" && [[ $error == NoSuchVolume ]]; }

# clean NAME: all is unmounted by those who mounted it; then everything known is forgotten
clean() {
    local name=$1 left ids
    wait_for loops_are ''
    left=$(left_mounts)$(loops)$(nobody_holds || records 2>&1)
    if [[ -z $left ]]; then ok "$name: nothing is left"; else not_ok "$name: nothing is left" "$left"; fi
    left_mounts | tac | while read -r left; do umount -l "$left"; done
    losetup -D
    wait_for nobody_holds
    ids=$(records | grep -o '"Id" s "[^"]*"' | cut -d'"' -f4)
    # shellcheck disable=SC2086 # words
    [[ -z $ids ]] || selvolctl forget $ids
    yes "$name: all volumes can be forgotten" knows_nothing
}

# ---- mounts ------------------------------------------------------------------------------------------------

left_mounts() { sed -n "s,^[0-9]* [0-9]* [0-9:]* [^ ]* \(/var/lib/\(kubelet\|selvol-volumes\)/[^ ]*\) .*,\1,p" /proc/self/mountinfo; }
loops() { cat /sys/block/loop*/loop/backing_file 2>/dev/null; }
# A loop device is detached by its last user, and udev looks into it for a moment after each change.
loops_are() { [[ $(loops) == "$1" ]]; }
no_loop_is_left() { soon "$1: no loop device is left" loops_are ''; }

# mount_line TARGET: the last line of the mount table for it
mount_line() {
    local line found='' fields
    while read -r line; do
        read -ra fields <<<"$line"
        [[ ${fields[4]} != "$1" ]] || found=$line
    done </proc/self/mountinfo
    [[ -n $found ]] && echo "$found"
}
is_mounted() { mount_line "$1" >/dev/null; }
is_not_mounted() { ! mount_line "$1" >/dev/null; }
# flags TARGET: of the mount; super TARGET: options of the file system; each with commas around it
flags() {
    local fields
    read -ra fields <<<"$(mount_line "$1")"
    echo ",${fields[5]},"
}
super() {
    local line
    line=$(mount_line "$1")
    echo ",${line##* },"
}
label_of() { stat -c %C "$1"; }

# is_labeled NAME TARGET LEVEL: in the mount table and as seen through the mount
is_labeled() {
    local wanted="context=$file_type:$3"
    [[ $3 != *,* ]] || wanted="context=\"$file_type:$3\""
    if [[ $(super "$2") != *",$wanted,"* ]]; then
        not_ok "$1" "mount table: $(mount_line "$2")" "expected: $wanted"
    elif [[ $(super "$2") == *,seclabel,* ]]; then
        not_ok "$1" "seclabel in $(super "$2")"
    else
        is "$1" "$(label_of "$2")" "$file_type:$3"
    fi
}

# kernel_has VERSION: what came with that one
kernel_has() { printf '%s\n' "$1" "$(uname -r)" | sort -VC; }

# fetch PORT PATH: what localhost answers; fails unless that is 200
fetch() (
    exec 3<>"/dev/tcp/127.0.0.1/$1" || exit
    printf 'GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n' "$2" >&3
    read -r -t "$patience" _ status _ <&3
    timeout "$patience" sed '1,/^\r$/d' <&3
    [[ $status == 200 ]]
)

# ---- services ----------------------------------------------------------------------------------------------

main_pid() { systemctl show -P MainPID "$1"; }
worker_pids() { cat /sys/fs/cgroup/system.slice/selvol-worker.service/cgroup.procs 2>/dev/null; }
answers_calls() { busctl --timeout="$patience" get-property org.selvol1 /org/selvol1 org.selvol1.Manager Version; }
selinux_mode() { busctl get-property org.selvol1 /org/selvol1 org.selvol1.Manager SELinuxMode | cut -d'"' -f2; }

# journal MATCH...: the newest entry in full
journal() { journalctl -q -n 1 -o export "$@"; }
# journal_has NAME MATCH...
journal_has() {
    local name=$1
    shift
    if wait_for eval '[[ -n $(journalctl -q -n 1 -o cat '"$(printf '%q ' "$@")"') ]]'; then
        ok "$name"
    else
        not_ok "$name" "no entry: $*"
    fi
}

# configure TEXT: a drop-in for both services; none without text
configure() {
    mkdir -p "$conf_dir"
    if [[ -n ${1:-} ]]; then
        printf '%b\n' "$1" >"$conf_dir/50-test.conf"
    else
        rm -f "$conf_dir/50-test.conf"
    fi
    restorecon -R /etc/selvol 2>/dev/null
    systemctl reload selvold selvol-worker
    answers_calls >/dev/null # it has read the file before it hears of what comes later
}

# allow_network, forbid_network: as an administrator would
allow_network() {
    mkdir -p $network_dir
    cp /usr/share/doc/selvol/selvol-worker-network.conf $network_dir/network.conf
    switch_network on
}
forbid_network() {
    rm -rf $network_dir
    switch_network off
}
switch_network() {
    selinuxenabled && setsebool selvol_use_network "$1"
    systemctl daemon-reload
    systemctl restart selvol-worker
    wait_for answers_calls
}

# audited: what the policy denied the product; denials: what it should not have
audited() { journalctl -q -b -o cat _TRANSPORT=audit | grep -E 'avc: +denied' | grep -E 'context=[^ ]*:selvol[a-z_]*_t'; }
denials() { audited | grep -vE ' (name|path)="([^"]*/)?to-be-denied"|:unconfined_mount_t:.*tclass=dbus'; }
denials_in_short() { denials | sed 's/^.*avc: */avc: /' | sort | uniq -c; }

mkdir -p "$scratch" "$pods" /var/lib/selvol-volumes

# Copies of its programs run in this domain, where the programs themselves may not.
start_nfs_server() {
    local program
    ! pgrep -x rpc.mountd || return 0       # for an earlier file
    mkdir -p /srv/export /root/nfs /var/lib/nfs/v4recovery
    mount -t tmpfs export /srv/export || return
    chmod 777 /srv/export
    echo '/srv/export 127.0.0.1(rw,no_root_squash,insecure,fsid=0,no_subtree_check)' >/etc/exports
    for program in exportfs rpc.mountd rpc.nfsd; do cp "/usr/sbin/$program" /root/nfs/ || return; done
    modprobe nfsd
    mountpoint -q /proc/fs/nfsd || mount -t nfsd nfsd /proc/fs/nfsd || return
    /root/nfs/exportfs -r && /root/nfs/rpc.mountd -N 3 && /root/nfs/rpc.nfsd -N 3 -V 4.2 2 || return
    echo Y >/proc/fs/nfsd/v4_end_grace      # nobody has anything to reclaim
}

# run_files: all test files beside run.sh
run_files() {
    local file
    for file in [0-9]*.bash; do
        local start=${EPOCHREALTIME/./}
        echo "# ---- $file"
        # shellcheck source=/dev/null
        . "./$file"
        echo "# $file took $(((${EPOCHREALTIME/./} - start) / 100000)) tenths of a second"
    done
    if selinuxenabled; then
        is 'the policy has denied the product nothing' "$(denials_in_short)" ''
    fi
    finish
}
