# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2016,SC2086 # of lib.bash; for eval; words
# Walks over file systems of which some bytes are other ones: the worker answers, the kernel goes on, the next volume is
# mounted, and no mark says complete where a look at all files finds one with another label or group. An image that
# fails is kept with the results.

T=$pods/images/v U=$pods/images/u I=/var/lib/selvol-images/images
context=$file_type:s0:c1,c2
each=20
mkdir -p "$T" "$U" $I

# mutate IMAGE SEED: changes some bytes in one to three blocks that are more than a short file's. A node of a btrfs gets
# its checksum again.
mutate() {
    python3 - "$1" "$2" <<'PYTHON'
import os, random, struct, sys
TABLE = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
    TABLE.append(n)

def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF

SUPER, NODE, BLOCK, SHORT = 65536, 16384, 4096, 8
draw, file = random.Random(int(sys.argv[2])), os.open(sys.argv[1], os.O_RDWR)
btrfs = os.pread(file, 8, SUPER + 64) == b"_BHRfS_M"
fsid, size, blocks, end = os.pread(file, 16, SUPER + 32), NODE if btrfs else BLOCK, [], 0
while True:
    try:
        start = os.lseek(file, end, os.SEEK_DATA)
    except OSError:
        break
    end = os.lseek(file, start, os.SEEK_HOLE)
    for at in range(start // size * size, end, size):
        data = os.pread(file, size, at)
        if len(data) - data.count(0) > SHORT and (not btrfs or at == SUPER or data[32:48] == fsid):
            blocks.append(at)
for at in draw.sample(blocks, draw.randint(1, 3)):
    length = BLOCK if btrfs and at == SUPER else size
    data = bytearray(os.pread(file, length, at))
    used = [n for n, byte in enumerate(data) if byte]
    for _ in range(draw.randint(1, 4)):
        n = draw.choice(used) if draw.random() < 0.8 else draw.randrange(length)
        data[n] = draw.choice([0, 1, 2, 255, data[n] ^ 1 << draw.randrange(8), draw.randrange(256)])
    if btrfs:
        data[:4] = struct.pack("<I", crc32c(data[32:]))
    os.pwrite(file, data, at)
PYTHON
}

# make TYPE: makes an image with a tree; half of those of ext4 and xfs have no checksums
make() {
    local size=64M options=()
    case $1 in
        ext4) options=(-F -b 1024 -O ^metadata_csum) ;;
        ext4-csum) options=(-F -b 1024) ;;
        xfs) size=320M options=(-m crc=0) ;;
        xfs-crc) size=320M ;;
        btrfs) size=128M options=(-m single) ;;
    esac
    rm -f $I/good
    truncate -s $size $I/good
    "mkfs.${1%-*}" -q "${options[@]}" $I/good >/dev/null 2>&1
    mount -o loop $I/good /mnt
    fill /mnt 60
    umount /mnt
}

# differ DIRECTORY: prints what a mark says is complete, and is not
differ() {
    local mark
    mark=" $(mark "$1") "
    [[ $mark != *' label=complete '* ]] || find "$1" -not -context "$context" -printf 'label of %P: %Z\n' 2>&1
    [[ $mark != *' ownership=complete gid=4242 '* ]] || find "$1" -not -type l -not -group 4242 -printf 'group of %P: %g\n' 2>&1
}
kernel_trouble() { journalctl -q -k -b -o cat | grep -E 'BUG|Oops|general protection'; }

mount_image() {
    mount_volume images $I/image "$T" 'FSGroup u 4242' "$always" 'SELinuxLevel s s0:c1,c2' 'RelabelBy s service'
}

# walk: mounts the image with a label and a group; sets outcome, and prints what is wrong
walk() {
    mount_image
    outcome=${error:-mounted}
    [[ $error != Timeout && $error != NoReply ]] || echo "no answer: $error $message"
    if is_mounted "$T"; then
        [[ -z $error ]] || echo "mounted in spite of $error"
        differ "$T"
        unmount_volume images "$T" || echo "not unmounted: $error $message"
    fi
    wait_for loops_are '' || echo "loop devices: $(loops)"
    # The kernel has nothing of the disk in its caches now.
    if mount -o loop,ro $I/image /mnt 2>/dev/null; then
        differ /mnt
        umount /mnt
    fi
    forget_volume images
    mount_with s0:c3,c4 innocent none "$U" 'FSType s tmpfs' || echo "the next volume: $error $message"
    unmount_volume innocent "$U" || echo "the next volume: $error $message"
    kernel_trouble
}

walk_images() { # TYPE COUNT SEED
    local n wrong outcome
    make "$1"
    for ((n = $3; n < $3 + $2; n++)); do
        cp --sparse=always $I/good $I/image
        mutate $I/image $n
        cp --sparse=always $I/image $I/mutated
        walk >$I/wrong
        wrong=$(head -n 5 $I/wrong)
        if [[ -z $wrong ]]; then
            ok "$1, seed $n: $outcome"
        else
            not_ok "$1, seed $n: $outcome" "$wrong"
            gzip <$I/mutated >"$RESULTS/image-$1-$n.gz"
        fi
    done
}

# The comparison notices a file.
make ext4
mv $I/good $I/image
mount_image
is 'all is complete' "$error$(differ "$T")" ''
chgrp 0 "$T/d0/f0"
chcon -l s0 "$T/d0/f1"
is 'two files are not' "$(differ "$T" | sort)" "group of d0/f0: root
label of d0/f1: $file_type:s0"
unmount_volume images "$T"
forget_volume images

seed=$RANDOM
echo "# the first seed is $seed"
for type in ext4 ext4-csum xfs xfs-crc; do walk_images $type $((each / 2)) $seed; done
walk_images btrfs $each $seed
forget_volume innocent
is 'no child crashed' "$(journalctl -q -b -o cat -u selvol-worker | grep 'killed by signal')" ''
rm -r $I
clean images
