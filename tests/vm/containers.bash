# SPDX-License-Identifier: LGPL-2.1-or-later
# Containers of podman, and what their processes may see. lib.bash sources this file.
# shellcheck disable=SC2034,SC2154 # of lib.bash, and for the tests
image='' output='' container_options=()

# The image has busybox, and a program that uses all files beneath a directory.
container_image() {
    local root=$scratch/image applet
    [[ -z $image ]] || return 0
    # Without this boolean the policy of Debian 13 denies a container's root all capabilities. The files in these tests
    # have any owner and mode.
    [[ ! -e /sys/fs/selinux/booleans/container_use_host_all_caps ]] || setsebool container_use_host_all_caps on || return
    mkdir -p "$root"/{bin,dev,etc,proc,run,sys,tmp,data}
    cp /bin/busybox "$root/bin/"
    for applet in sh cat chmod find head id ls mkdir mv rm rmdir sleep stat tr true wc; do ln -s busybox "$root/bin/$applet"; done
    # The program opens everything but devices, because the mount is nodev.
    cat >"$root/bin/look" <<'LOOK'
#!/bin/sh
[ -z "$1" ] || cd "$1" || exit
exec 2>/tmp/refused
find . -type f -exec cat {} + >/dev/null
find . -type d -exec ls -a {} + >/dev/null
find . -type l -exec ls -l {} + >/dev/null
find . -type p -exec sh -c 'for f; do : <>"$f"; done' look {} +
find . \( -type s -o -type c -o -type b \) -exec sh -c 'for f; do [ -r "$f" ] && [ -w "$f" ] || echo "$f" >&2; done' look {} +
echo "entries $(find . -print0 | tr -cd '\0' | wc -c), refused $(wc -l </tmp/refused)"
head -n 5 /tmp/refused
LOOK
    chmod 755 "$root/bin/look"
    tar -C "$root" -cf "$scratch/image.tar" . || return
    podman import -q "$scratch/image.tar" localhost/busybox </dev/null >"$scratch/podman" 2>&1 || return
    rm -rf "$root" "$scratch/image.tar"
    image=localhost/busybox
}

# in_container LEVEL COMMAND VOLUME...: sets output; each VOLUME is an argument of podman's -v, without Z. podman makes
# a terminal (-t), because SELinux does not let a container write to a pipe of root.
in_container() {
    local level=$1 command=$2 status=0
    shift 2
    container_image || { output="no image: $(<"$scratch/podman")"; return 125; }
    output=$(timeout -k 5 300 podman run -t --rm --network=none --security-opt "label=level:$level" "${@/#/--volume=}" \
        "${container_options[@]}" $image sh -c "$command" </dev/null 2>&1) || status=$?
    output=${output//$'\r'/}
    return $status
}

# container_says NAME LEVEL COMMAND EXPECTED VOLUME...
container_says() {
    in_container "$2" "$3" "${@:5}"
    is "$1" "$output" "$4"
}

# container_may NAME LEVEL COMMAND VOLUME...: COMMAND succeeds in the container
container_may() {
    if in_container "$2" "$3" "${@:4}"; then ok "$1"; else not_ok "$1" "$output"; fi
}
# container_may_not NAME LEVEL COMMAND VOLUME...: COMMAND fails with EACCES
container_may_not() {
    if in_container "$2" "$3" "${@:4}"; then
        not_ok "$1" "succeeded: $output"
    else
        like "$1" "$output" 'Permission denied'
    fi
}

# sees_all NAME LEVEL DIRECTORY [FILE]: a container can use each entry, and makes the file
sees_all() {
    container_says "$1" "$2" "look /data${4:+ && echo word >/data/$4}" "entries $(entries "$3"), refused 0" "$3:/data"
}
# sees_nothing NAME LEVEL DIRECTORY FILE...: a container can use neither the directory nor the files, each of which is
# also mounted into the container
sees_nothing() {
    local name=$1 level=$2 directory=$3 volumes=("$3:/data") n=0 command file
    shift 3
    command='ls /data && echo seen /data'
    for file; do
        volumes+=("$directory/$file:/file$((++n))")
        command+="; head -c 1 /file$n >/dev/null && echo seen $file
            true 2>/dev/null >>/file$n && echo written $file"
    done
    in_container "$level" "$command; echo asked $n" "${volumes[@]}"
    if [[ $output == *seen* || $output == *written* || $output != *"asked $n"* ]]; then
        not_ok "$name" "$output"
    else
        is "$name" "$(grep -c 'Permission denied' <<<"$output")" "$((n + 1))"
    fi
}
