#!/bin/sh
# Installs the package on a disk that no machine uses, without an emulator: for the power cuts, not for the promises.
#   prepare.sh DISK PACKAGE BUNDLE    as root; the mounts end with the command
set -eu
exec unshare --mount sh -euc '
    mount -o loop "$1" /mnt
    mount -t proc proc /mnt/proc
    cp "$2" /mnt/srv/edge-agent.deb
    chroot /mnt dpkg --install /srv/edge-agent.deb
    install -m 644 "$3" /mnt/etc/edge-agent/bundles/5A2D.bundle
    umount /mnt/proc /mnt' sh "$@"
