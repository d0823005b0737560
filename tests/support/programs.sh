#!/bin/sh
# programs.sh PLACE: installs in PLACE/bin the programs that tests/integrations needs and this machine does not have.
# Debian packages are unpacked, Node-RED comes from npm, and Home Assistant gets a venv of its own.
# Needs no root and changes nothing outside PLACE.
# Always succeeds. What could not be downloaded is missing, and its tests are skipped and counted.
set -u
mkdir -p "$1/bin" "$1/debian"
place=$(cd "$1" && pwd)
PATH=$place/bin:$PATH

missing() { ! command -v "$1" >/dev/null; }
link() { ln -sf "$1" "$place/bin/"; }

packages=""
missing prometheus && packages="$packages prometheus"
missing prometheus-node-exporter && packages="$packages prometheus-node-exporter"
missing influxd && packages="$packages influxdb"
if [ -n "$packages" ] && command -v apt-get >/dev/null; then
  echo "downloading$packages" >&2
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
  own() {
    timeout 120 apt-get -qq -o Dir::State::Lists="$work/lists" -o Dir::Cache="$work/cache" \
      -o Debug::NoLocking=true -o APT::Sandbox::User= -o Acquire::Languages=none -o Acquire::Retries=1 "$@"
  }
  # shellcheck disable=SC2086 - a list of names
  (cd "$work" && own update && own download $packages) >"$work/log" 2>&1 || tail -n 1 "$work/log" >&2
  for package in "$work"/*.deb; do
    [ -e "$package" ] && dpkg-deb -x "$package" "$place/debian"
  done
  for program in prometheus promtool prometheus-node-exporter influxd; do
    [ -e "$place/debian/usr/bin/$program" ] && link "$place/debian/usr/bin/$program"
  done
fi

if missing node-red && command -v npm >/dev/null; then
  echo "downloading node-red" >&2
  npm install --silent --no-fund --no-audit --prefix "$place/node-red" node-red@4 >&2 &&
    link "$place/node-red/node_modules/.bin/node-red"
fi

if missing hass && command -v python3.11 >/dev/null; then
  echo "downloading Home Assistant, which takes some minutes" >&2
  python3.11 -m venv "$place/homeassistant" &&
    "$place/homeassistant/bin/pip" install --quiet --disable-pip-version-check \
      --requirement "$(dirname "$0")/../integrations/homeassistant.txt" &&
    link "$place/homeassistant/bin/hass"
fi
exit 0
