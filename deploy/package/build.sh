#!/bin/sh
# Builds wheel, sdist, SBOM and Debian packages into dist/. Called by `make package`.
#   build.sh TOOLS    TOOLS is a venv with build and cyclonedx-bom; needs debhelper and help2man
# Debian 12 (amd64, arm64): a package with its own virtual environment, because its Python libraries are too old.
# Debian 13 (all): a native package on Debian's own libraries.
set -eu
cd "$(dirname "$0")/../.."
tools=$PWD/$1/bin here=$PWD/deploy/package work=$PWD/build/package dist=$PWD/dist
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
umask 022
rm -rf "$work"
mkdir -p "$work/sbom" "$dist"

pip() { "$tools/python" -m pip --quiet --disable-pip-version-check "$@"; }

# SBOM of a venv; direct_url.json would put this machine's paths into it.
sbom() {
    rm -f "$1"/lib/python3*/site-packages/respire_edge-*.dist-info/direct_url.json
    "$tools/cyclonedx-py" environment --short-PURLs --output-reproducible --output-file "$2" "$1"
}

venv() { # venv PLACE REQUIREMENT…
    place=$1
    shift
    "$tools/python" -m venv --without-pip "$place"
    pip --python "$place/bin/python" install --constraint constraints.txt "$@"
}

wheel_and_sdist() {
    venv "$work/venv" .
    sbom "$work/venv" "$work/sbom/respire-edge.cdx.json"
    "$tools/python" -m build --sdist --wheel --outdir "$work" . >"$work/build.log"
    cp "$work"/*.whl "$work"/*.tar.gz "$dist"
    wheel=$(echo "$work"/*.whl)
    venv "$work/native" --no-deps "$wheel"
    sbom "$work/native" "$work/sbom/native.cdx.json"
    version=$("$work/venv/bin/edge-agent" --version | cut -d' ' -f2)
}

# The venv of Debian 12, for either processor, without running anything of it.
bundled() { # bundled PLACE MACHINE
    site=$1/usr/lib/edge-agent/lib/python3.11/site-packages
    pip install --constraint constraints.txt --no-compile --only-binary=:all: --implementation cp --python-version 3.11 \
        --platform "manylinux_2_28_$2" --platform "manylinux_2_17_$2" --platform "manylinux2014_$2" --target "$site" "$wheel"
    rm -rf "$site/bin" "$site/model_export"
    # What only developers of the libraries need.
    find "$site" -type d \( -name tests -o -name include -o -name f2py \) -prune -exec rm -rf {} +
    find "$site" \( -name '*.a' -o -name '*.pyi' -o -name '*.pxd' -o -name '*.h' \) -delete
    mkdir -p "$1/usr/lib/edge-agent/bin"
    ln -s ../../../bin/python3.11 "$1/usr/lib/edge-agent/bin/python3"
    printf 'home = /usr/bin\ninclude-system-site-packages = false\n' >"$1/usr/lib/edge-agent/pyvenv.cfg"
    program "$1" /usr/lib/edge-agent/bin/python3
}

native() { # native PLACE
    pip install --no-compile --no-deps --target "$1/usr/lib/python3/dist-packages" "$wheel"
    rm -rf "$1/usr/lib/python3/dist-packages/bin" "$1/usr/lib/python3/dist-packages/model_export"
    program "$1" /usr/bin/python3
}

program() { # program PLACE PYTHON
    find "$1" -name direct_url.json -delete
    find "$1" -name '*.so*' -exec chmod 644 {} +
    mkdir -p "$1/usr/bin"
    printf '#!%s -I\nimport sys\n\nfrom edge_agent.cli import main\n\nsys.exit(main())\n' "$2" >"$1/usr/bin/edge-agent"
    chmod 755 "$1/usr/bin/edge-agent"
}

# Every setting, none with a value: what the operator sets is in edge-agent.d.
settings() { sed -E 's/^(\[?[a-z_]+( =|\]))/# \1/' deploy/edge-agent.toml; }

manual() {
    {
        echo '[DESCRIPTION]'
        "$here/manual.py" "$work/venv/bin/edge-agent"
    } >"$work/manual"
    help2man --no-info --section 8 --name 'calibrate CO sensors on a gateway' --include "$work/manual" \
        "$work/venv/bin/edge-agent"
}

package() { # package SUITE RELEASE ARCHITECTURE
    tree=$work/$1-$3
    mkdir -p "$tree/extra"
    cp -r "$here/debian" "$tree/debian"
    for each in control edge-agent.lintian-overrides; do
        [ ! -f "$tree/debian/$each.$1" ] || mv "$tree/debian/$each.$1" "$tree/debian/$each"
        rm -f "$tree/debian/$each".*
    done
    case $3 in
    amd64) bundled "$tree/stage" x86_64 ;;
    arm64) bundled "$tree/stage" aarch64 ;;
    all) native "$tree/stage" ;;
    esac
    sbom=respire-edge
    [ "$3" != all ] || sbom=native
    cp "$work/sbom/$sbom.cdx.json" "$tree/extra/sbom.cdx.json"
    settings >"$tree/extra/edge-agent.toml"
    sed 's#/opt/edge-agent/bin/#/usr/bin/#; /^# The edge agent/,/^# See/d' deploy/edge-agent.service >"$tree/debian/edge-agent.service"
    cp deploy/*.conf deploy/*.cnf deploy/*.acl docs/operations.md docs/mqtt.md "$tree/extra"
    cp tests/edge_agent/core/golden/format-2.bundle "$tree/debian/tests/5A2D.bundle"
    cp CHANGELOG.md "$tree/extra/changelog"
    cp "$work/edge-agent.8" "$tree/extra"
    # 0.3.0.dev4 comes before 0.3.0: Debian writes that with a tilde.
    debian=$(echo "$version" | sed -E 's/\.?(dev|a|b|rc)([0-9])/~\1\2/')-1~deb$2
    printf 'edge-agent (%s) %s; urgency=medium\n\n  * Release %s; see the changelog beside this file.\n\n -- %s  %s\n' \
        "$debian" "$1" "$version" 'The respire-edge authors <authors@respire-edge.invalid>' \
        "$(date -R -u -d "@$SOURCE_DATE_EPOCH")" >"$tree/debian/changelog"
    processor=$3
    [ "$3" != all ] || processor=amd64
    (cd "$tree" && dpkg-buildpackage --build=binary --no-sign -d -a "$processor" >build.log 2>&1) ||
        { tail -20 "$tree/build.log" >&2; exit 1; }
    cp "$work"/edge-agent_*_"$3".deb "$dist"
}

wheel_and_sdist
manual >"$work/edge-agent.8"
package bookworm 12 amd64
package bookworm 12 arm64
package trixie 13 all
ls -l "$dist"
