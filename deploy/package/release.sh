#!/bin/sh
# A release: the tag, the changelog and CITATION.cff agree, then everything in dist/ with signed checksums.
#   MINISIGN_KEY=FILE release.sh TOOLS    TOOLS as in build.sh. docs/CONTRIBUTING.md says what comes before and after.
set -eu
cd "$(dirname "$0")/../.."
fail() { echo "release: $1" >&2; exit 1; }

[ -n "${MINISIGN_KEY:-}" ] || fail "expected MINISIGN_KEY, the file of the secret key; make one with: minisign -G"
[ -z "$(git status --porcelain)" ] || fail "expected a clean checkout; commit first"
tag=$(git describe --exact-match --match 'v*' 2>/dev/null) || fail "expected a tag on this commit, such as v0.2.0"
version=${tag#v}
grep -Eq "^## $version - [0-9]{4}-[0-9]{2}-[0-9]{2}$" CHANGELOG.md ||
    fail "CHANGELOG.md: expected a heading '## $version - DATE'"
grep -q "^version: $version$" CITATION.cff || fail "CITATION.cff: expected 'version: $version'"

rm -rf dist
deploy/package/build.sh "$1"
cp build/package/sbom/respire-edge.cdx.json "dist/respire-edge-$version.cdx.json"
cd dist
sha256sum -- * >SHA256SUMS
minisign -S -s "$MINISIGN_KEY" -t "respire-edge $version" -m SHA256SUMS
