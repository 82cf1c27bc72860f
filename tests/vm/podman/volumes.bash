# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2034,SC2154 # of lib.bash, and for the tests
# Named volumes of podman that selvold mounts. The test files source this file.

targets=/var/lib/selvol-volumes/podman
T=$targets/db level=s0:c10,c20
user=selvol-volume-plugin V=selvol-volume-plugin/db     # selvold's id of the volume db

create() { podman volume create --driver selvol "${@:2}" "$1" 2>&1; }
# start NAME COMMAND VOLUME...: starts a container in the background, with the volumes' level
start() { podman run -d --network=none --name "$1" --security-opt "label=level:$level" "${@:3}" localhost/busybox sh -c "$2" 2>&1; }
is_in_volume() { [[ -e $T/$1 ]]; }
plugin_pid() { main_pid selvol-volume-plugin; }
inspect() { podman volume inspect --format "{{.$2}}" "$1"; }
# dies UNIT: kills it; systemd starts it again at the next request
dies() {
    systemctl kill -s KILL "$1"
    wait_for eval "[[ \$(systemctl show -P ActiveState $1) != deactivating ]]"
}

# plugin_waits TIME: sets how long the plugin waits for selvold; '': as installed
plugin_waits() {
    local unit=/etc/systemd/system/selvol-volume-plugin.service.d
    mkdir -p $unit
    rm -f $unit/timeout.conf
    [[ -z $1 ]] || printf '[Service]\nEnvironment=TIMEOUT=%s\n' "$1" >$unit/timeout.conf
    systemctl daemon-reload
    systemctl stop selvol-volume-plugin.service
}

# set_up_volumes: sets podman and the plugin up as selvol-volume-plugin(8) says; podman's timeout is for a busy machine
set_up_volumes() {
    mkfs.ext4 -q -F /dev/scratch0
    mkfs.xfs -q -f /dev/scratch1
    mkfs.ext4 -q -F /dev/scratch2
    mkdir -p /etc/containers/containers.conf.d
    printf '[engine]\nvolume_plugin_timeout = 300\n[engine.volume_plugins]\nselvol = "/run/selvol/volume-plugin.sock"\n' \
        >/etc/containers/containers.conf.d/selvol.conf
    plugin_waits 290s
    configure '[Worker]\nSourceDevices=/dev/scratch*'
    yes 'podman has an image' container_image
    yes 'the plugin is turned on' systemctl enable -q --now selvol-volume-plugin.socket
}

rm_volumes() {
    yes 'rm' podman volume rm db slow up
    is 'rm: nothing is left' "$(find /var/lib/selvol-volume-plugin $targets -mindepth 1)" ''
}
