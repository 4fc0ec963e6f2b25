#!/usr/bin/env bash
# Writes a package's Debian changelog: the entry of the version that is packaged.
#
#   deploy/packaging/changelog.sh PACKAGE CONTACT VERSION FILE.gz
set -euo pipefail
[[ $# -eq 4 ]] || { sed -n '2,4s/^# \{0,1\}//p' "$0" >&2; exit 2; }
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# Packages of one commit are equal byte for byte; without Git the date is that of the build.
when=${SOURCE_DATE_EPOCH:-$(git -c safe.directory="$root" -C "$root" log -1 --format=%ct 2>/dev/null || date +%s)}
mkdir -p "$(dirname "$4")"
printf '%s (%s) stable; urgency=medium\n\n  * Version %s.\n\n -- %s  %s\n' \
  "$1" "$3" "${3%-*}" "$2" "$(date -R -u -d "@$when")" | gzip -9n >"$4"
chmod 644 "$4"
