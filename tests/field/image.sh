#!/bin/sh
# A fresh Debian 12 with systemd, mosquitto and ssh as an ext4 image, its kernel and initrd beside it.
#   image.sh OUT    as root; needs debootstrap and e2fsprogs. Takes about two minutes, once.
# The guest's only network is the emulator's: 10.0.2.2 is this machine's loopback.
set -eu
out=$1 root=$1/root
[ ! -f "$out/disk.img" ] || exit 0
mkdir -p "$out"
rm -rf "$root"

system=systemd,systemd-sysv,dbus,udev,kmod,initramfs-tools,linux-image-cloud-amd64
tools=systemd-timesyncd,iproute2,openssh-server,sudo,procps,sqlite3,python3,mosquitto,mosquitto-clients
debootstrap --variant=minbase --include="$system,$tools" bookworm "$root" >"$out/debootstrap.log"

# Only what the disk needs: the initrd is small and boots soon.
echo MODULES=list >"$root/etc/initramfs-tools/conf.d/small"
printf '%s\n' virtio_pci virtio_blk ext4 crc32c_generic >"$root/etc/initramfs-tools/modules"
chroot "$root" update-initramfs -u -k all >>"$out/debootstrap.log"
cp "$root"/boot/vmlinuz-* "$out/vmlinuz"
cp "$root"/boot/initrd.img-* "$out/initrd"

echo van-1 >"$root/etc/hostname"
echo '127.0.0.1 localhost van-1' >"$root/etc/hosts"
echo '/dev/vda / ext4 defaults 0 1' >"$root/etc/fstab"
cat >"$root/etc/systemd/network/10-emulator.network" <<'END'
[Match]
Name=eth0
[Network]
Address=10.0.2.15/24
Gateway=10.0.2.2
END
mkdir -p "$root/etc/systemd/timesyncd.conf.d"
printf '[Time]\nNTP=10.0.2.2\nFallbackNTP=\n' >"$root/etc/systemd/timesyncd.conf.d/van.conf"
# The tests disturb the clock and cut the power: the log is written to the disk, a boot runs no other jobs.
mkdir -p "$root/var/log/journal"
chroot "$root" systemctl -q enable systemd-networkd ssh
chroot "$root" systemctl -q disable systemd-networkd-wait-online mosquitto
# Every unit costs a second in the emulator; none of these matters here.
chroot "$root" systemctl -q mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_reap.service \
    modprobe@fuse.service modprobe@dm_mod.service modprobe@configfs.service modprobe@drm.service \
    modprobe@efi_pstore.service modprobe@loop.service sys-kernel-debug.mount sys-kernel-tracing.mount \
    dev-hugepages.mount dev-mqueue.mount systemd-logind.service getty@tty1.service kmod-static-nodes.service
chroot "$root" useradd --no-create-home --home-dir /srv visitor
rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/etc/ssh/ssh_host_rsa_key*

[ -f "$out/key" ] || ssh-keygen -q -t ed25519 -N '' -f "$out/key"
cp "$out/key.pub" "$root/etc/ssh/authorized_keys"
echo 'AuthorizedKeysFile /etc/ssh/authorized_keys' >"$root/etc/ssh/sshd_config.d/van.conf"

truncate -s 1500M "$out/making.img"
mkfs.ext4 -q -L van -d "$root" "$out/making.img"
rm -rf "$root"
mv "$out/making.img" "$out/disk.img"
