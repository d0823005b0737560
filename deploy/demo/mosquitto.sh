#!/bin/sh
# mosquitto.sh BIN: installs mosquitto and mosquitto_passwd in BIN, unless the system has mosquitto.
# Downloads Debian packages with apt-get and unpacks them with dpkg; needs no root and changes nothing else.
# Always succeeds. Without mosquitto the demo and the tests use amqtt, and say so.
set -u
bin=$1
PATH=$PATH:/usr/sbin:/usr/local/sbin:$bin
command -v mosquitto >/dev/null && exit 0

give_up() {
  echo "mosquitto is not installed and could not be downloaded: $1; using amqtt, which keeps no sessions" >&2
  exit 0
}
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || give_up "no apt-get here"

bin=$(cd "$bin" && pwd)
place=$(dirname "$bin")/mosquitto
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
own() {
  timeout 120 apt-get -qq -o Dir::State::Lists="$work/lists" -o Dir::Cache="$work/cache" \
    -o Debug::NoLocking=true -o APT::Sandbox::User= -o Acquire::Languages=none -o Acquire::Retries=1 \
    -o Acquire::http::Timeout=15 -o Acquire::https::Timeout=15 "$@" >"$work/log" 2>&1
}
own update || give_up "$(tail -n 1 "$work/log")"
own install --reinstall --download-only --no-install-recommends --yes mosquitto || give_up "$(tail -n 1 "$work/log")"

rm -rf "$place"
mkdir -p "$place"
for package in "$work"/cache/archives/*.deb; do
  dpkg-deb -x "$package" "$place" || give_up "$package could not be unpacked"
done
libraries=$(find "$place" -name '*.so.*' -exec dirname {} + | sort -u | paste -sd:)
LD_LIBRARY_PATH=$libraries "$place/usr/sbin/mosquitto" -h >"$work/log" 2>&1
grep -q 'is an MQTT' "$work/log" || give_up "$(tail -n 1 "$work/log")"
for program in sbin/mosquitto bin/mosquitto_passwd; do
  printf '#!/bin/sh\nLD_LIBRARY_PATH="%s" exec "%s" "$@"\n' "$libraries" "$place/usr/$program" \
    >"$bin/$(basename "$program")"
  chmod +x "$bin/$(basename "$program")"
done
