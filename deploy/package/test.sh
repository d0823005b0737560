#!/bin/sh
# Every package of DIST in fresh Debian roots: lintian, piuparts, install, an estimate, upgrade, remove, purge; arm64 by
# qemu-user.
#   test.sh DIST    as root; needs debootstrap, lintian, piuparts, mosquitto, mosquitto-clients, qemu-user-static
set -eu
cd "$(dirname "$0")/../.."
dist=$1 roots=$PWD/build/roots
bundle=$PWD/tests/edge_agent/core/golden/format-2.bundle
mkdir -p "$roots"

say() { echo "== $*"; }
must() { "$@" || { echo "FAILED: $*" >&2; exit 1; }; }

base() { # base SUITE: a tar of a minimal Debian
    [ -f "$roots/$1.tar" ] && return
    rm -rf "$roots/base"
    debootstrap --variant=minbase "$1" "$roots/base" >"$roots/$1.log"
    tar -C "$roots/base" -cf "$roots/$1.tar" .
    rm -rf "$roots/base"
}

fresh() { # fresh SUITE: a root of its own, with what the tests bring along
    root=$roots/$1
    rm -rf "$root"
    mkdir -p "$root"
    tar -C "$root" -xf "$roots/$1.tar"
    bring
}

bring() {
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    mkdir -p "$root/field/bundles"
    cp "$bundle" "$root/field/bundles/5A2D.bundle"
    awk 'BEGIN { print "timestamp,op1,op2,temperature"; for (i = 0; i < 2880; i++)
        printf "2024-02-%02dT%02d:%02d:00Z,%.3f,%.3f,%.3f\n", 1 + i / 1440, i / 60 % 24, i % 60,
            231 + 20 * sin(i / 97), 206 + 9 * cos(i / 131), 24 + 8 * sin(i / 500) }' >"$root/field/5A2D.csv"
}

# With /proc, in a mount namespace that ends with the command.
cat >"$roots/enter" <<'END'
#!/bin/sh
exec unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$@"
END
chmod +x "$roots/enter"
in_root() { "$roots/enter" "$root" "$@"; }
replay() { in_root "$@" edge-agent replay --bundles /field/bundles --sensor 5A2D /field/5A2D.csv 2>/dev/null | sha256sum | cut -d' ' -f1; }

life() { # life SUITE PACKAGE
    say "$1: install, use, upgrade, remove, purge"
    base "$1"
    fresh "$1"
    cp "$2" "$root/field/edge-agent.deb"
    must in_root apt-get update -qq
    find "$root" -xdev -path '*edge[-_]agent*' -not -path "$root/field/*" | sort >"$roots/before"
    apt="env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 --no-install-recommends"
    must in_root $apt install -y /field/edge-agent.deb >>"$roots/$1.log" 2>&1
    must test -L "$root/etc/systemd/system/multi-user.target.wants/edge-agent.service"
    in_root edge-agent --version
    code=0
    in_root edge-agent check --no-broker >/dev/null 2>"$roots/check" || code=$?
    must test "$code" = 1 # no bundle yet
    echo "$1 $(replay)" >>"$roots/replays"
    must in_root $apt install -y mosquitto mosquitto-clients >>"$roots/$1.log" 2>&1
    cp deploy/package/debian/tests/estimate "$root/field"
    must in_root env BUNDLE=/field/bundles/5A2D.bundle PORT=18831 /field/estimate >"$roots/estimate"
    cut -c1-120 "$roots/estimate"

    echo 'agent = "van-7"' >"$root/etc/edge-agent/edge-agent.d/van.toml"
    cp "$bundle" "$root/etc/edge-agent/bundles"
    mkdir -p "$root/var/lib/private/edge-agent"
    ln -s private/edge-agent "$root/var/lib/edge-agent"
    echo journal >"$root/var/lib/private/edge-agent/journal.db"
    must in_root $apt install -y --reinstall /field/edge-agent.deb >>"$roots/$1.log" 2>&1
    in_root edge-agent check --no-broker >"$roots/check" 2>&1 || true # the clock may be wrong here
    must grep -q van-7 "$roots/check"
    must in_root $apt remove -y edge-agent >>"$roots/$1.log" 2>&1
    must test ! -e "$root/usr/bin/edge-agent" -a ! -e "$root/usr/lib/edge-agent"
    must test -f "$root/etc/edge-agent/bundles/format-2.bundle" -a -f "$root/var/lib/edge-agent/journal.db"
    must in_root $apt purge -y edge-agent >>"$roots/$1.log" 2>&1
    find "$root" -xdev -path '*edge[-_]agent*' -not -path "$root/field/*" -not -path '*/var/log/*' | sort >"$roots/after"
    must diff "$roots/before" "$roots/after"
    rm -rf "$root"
}

# What Debian's own archive asks: nothing is left after a purge. debconf leaves a folder of its own in trixie.
clean() { # clean SUITE PACKAGE
    say "$1: piuparts"
    gzip -1 <"$roots/$1.tar" >"$roots/$1.tar.gz"
    must piuparts --distribution "$1" --basetgz "$roots/$1.tar.gz" --no-eatmydata \
        --ignore-regex '/var/cache/debconf/tmp.ci.*' "$2" >"$roots/piuparts.log"
    rm "$roots/$1.tar.gz"
}

# Nothing of an arm64 root runs by itself here: its packages are only unpacked, and each program goes to the emulator.
arm64() { # arm64 PACKAGE
    say "bookworm arm64 under qemu-user: check, replay, an estimate"
    root=$roots/arm64
    if [ ! -f "$root/unpacked" ]; then
        rm -rf "$root"
        debootstrap --foreign --arch=arm64 --variant=minbase --include=python3 bookworm "$root" >"$roots/arm64.log"
        for each in "$root"/var/cache/apt/archives/*.deb; do dpkg-deb -x "$each" "$root"; done
        touch "$root/unpacked"
    fi
    dpkg-deb -x "$1" "$root"
    cp "$(command -v qemu-aarch64-static)" "$root/usr/bin/qemu"
    bring
    emulated="/usr/bin/qemu /usr/lib/edge-agent/bin/python3 -I /usr/bin/"
    printf '#!/bin/sh\nexec %s %s %s"$@"\n' "$roots/enter" "$root" "$emulated" >"$roots/run"
    chmod +x "$roots/run"
    code=0
    "$roots/run" edge-agent check --no-broker >/dev/null 2>"$roots/check" || code=$?
    must test "$code" = 1
    echo "arm64 $("$roots/run" edge-agent replay --bundles /field/bundles --sensor 5A2D /field/5A2D.csv 2>/dev/null | sha256sum | cut -d' ' -f1)" >>"$roots/replays"
    TMPDIR=$root/tmp BUNDLE=$bundle PORT=18832 RUN=$roots/run IN=$root must deploy/package/debian/tests/estimate >"$roots/estimate"
    cut -c1-120 "$roots/estimate"
}

: >"$roots/replays"
say "lintian"
must lintian --allow-root --fail-on error,warning "$dist"/*.deb
life bookworm "$(echo "$dist"/*deb12_amd64.deb)"
clean bookworm "$(echo "$dist"/*deb12_amd64.deb)"
life trixie "$(echo "$dist"/*deb13_all.deb)"
clean trixie "$(echo "$dist"/*deb13_all.deb)"
arm64 "$(echo "$dist"/*deb12_arm64.deb)"
say "replay: the same bytes everywhere"
cat "$roots/replays"
must test "$(cut -d' ' -f2 "$roots/replays" | sort -u | wc -l)" = 1
say "all packages are good"
