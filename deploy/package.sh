#!/usr/bin/env bash
# Makes Debian packages of the release build: fleetmark-agent, fleetmark-plugins, fleetmark-collector, fleetmark; and of
# each a bill of materials (SPDX, PACKAGE.spdx.json).
#
#   deploy/package.sh [--revision N] [--no-build] [--output DIR]
#
# The version is that of CMakeLists.txt; N is the packages' revision (default 1). They are for the release of Debian
# that this runs on. --no-build packages what build/release holds. DIR: build/release/packages.
#
# Exit status: 0 done, 1 something failed, 2 wrong arguments.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
revision=1
build=true
output=$root/build/release/packages
while (($# > 0)); do
  case $1 in
    --revision) revision=${2:?--revision needs a number}; shift ;;
    --no-build) build=false ;;
    --output) output=$(realpath -m "${2:?--output needs a folder}"); shift ;;
    -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) printf "package.sh: unknown argument '%s'; --help lists them\n" "$1" >&2; exit 2 ;;
  esac
  shift
done
cd "$root"
command -v dpkg-shlibdeps >/dev/null || { echo "package.sh: dpkg-dev is missing" >&2; exit 1; }
umask 022
# Times in the packages are the commit's, so that one commit built twice gives the same bytes.
if [[ -z ${SOURCE_DATE_EPOCH:-} ]]; then
  SOURCE_DATE_EPOCH=$(git -c safe.directory="$root" log -1 --format=%ct 2>/dev/null || date +%s)
fi
export SOURCE_DATE_EPOCH
cmake --preset release -DCPACK_DEBIAN_PACKAGE_RELEASE="$revision" >/dev/null
if $build; then
  CCACHE_BASEDIR=$root cmake --build --preset release --target fleetmark-agent fleetmark-launch fleetmark-gpu-probe \
    fleetmark-collector fleetmark plugins_build/all web_build/all
fi
mkdir -p "$output"
cpack --config build/release/CPackConfig.cmake -G DEB -B "$output" >"$output/cpack.log" 2>&1 ||
  { tail -n 20 "$output/cpack.log" >&2; exit 1; }
rm -rf "$output/_CPack_Packages"
deploy/packaging/sbom.py "$output"/*_*-"$revision"_*.deb
ls -l "$output"/*_*-"$revision"_*.deb
