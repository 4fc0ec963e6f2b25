#!/usr/bin/env bash
# Builds the images fleetmark-agent and fleetmark-collector from the packages of deploy/package.sh.
#
#   deploy/container/build.sh [--from-debootstrap] [--packages DIR] [--output DIR]
#
# The base is debian:12-slim, which the machine has or pulls. --from-debootstrap makes one of Debian's archive instead, by
# mmdebstrap, with what the packages depend on in it: from then on builds ask no network. It is kept in DIR/bases.
# DIR: build/release/packages holds the packages, build/release/images gets the images as archives (podman load, or skopeo copy
# to a registry). Prints their sizes: packed by gzip, as a registry holds them, and unpacked.
#
# Needs buildah, and mmdebstrap for --from-debootstrap. Runs no container of its own beyond chroot.
#
# Exit status: 0 done, 1 something failed, 2 wrong arguments.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
packages=$root/build/release/packages
output=$root/build/release/images
debootstrap=false
while (($# > 0)); do
  case $1 in
    --from-debootstrap) debootstrap=true ;;
    --packages) packages=$(realpath "${2:?--packages needs a folder}"); shift ;;
    --output) output=$(realpath -m "${2:?--output needs a folder}"); shift ;;
    -h | --help) sed -n '2,15s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) printf "build.sh: unknown argument '%s'; --help lists them\n" "$1" >&2; exit 2 ;;
  esac
  shift
done
command -v buildah >/dev/null || { echo "build.sh: there is no buildah: apt-get install buildah" >&2; exit 1; }
version=$(sed -n 's/^project(fleetmark VERSION \([^ ]*\) .*/\1/p' "$root/CMakeLists.txt")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$output"

# The newest file of package $1.
package() {
  local found
  # shellcheck disable=SC2012  # names of packages have no odd characters
  found=$(ls -t "$packages/$1"_*.deb 2>/dev/null | head -n 1)
  [[ -n $found ]] || { echo "build.sh: no package $1 in $packages: deploy/package.sh makes it" >&2; return 1; }
  printf '%s\n' "$found"
}

# What the packages "$@" depend on, but for one another: names with commas in between.
dependencies() {
  local file
  for file in "$@"; do dpkg-deb --field "$file" Depends; done | tr ',' '\n' |
    sed -E 's/\|.*//; s/^ *([^ :(]+).*/\1/' | grep -v '^fleetmark' | sort -u | paste -sd,
}

# Makes the image $1 of a Debian tree that has the packages $2.
make_base() {
  local name=$1 include=$2 tar container
  tar=$output/bases/$(printf '%s' "$include" | sha256sum | cut -c 1-16).tar
  if [[ ! -e $tar ]]; then
    mkdir -p "$output/bases"
    mmdebstrap --quiet --variant=essential --mode=root --dpkgopt=force-unsafe-io \
      --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
      --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/man/*' \
      --dpkgopt='path-exclude=/usr/share/info/*' --include="$include" bookworm "$tar.unfinished"
    mv "$tar.unfinished" "$tar"
  fi
  container=$(buildah from scratch)
  buildah add --quiet "$container" "$tar" / >/dev/null
  buildah commit --quiet --rm "$container" "$name" >/dev/null
}

build() {
  local image=$1 name files=() base=docker.io/library/debian:12-slim
  shift
  mkdir -p "$work/$image/deploy"
  cp -r "$root/deploy/container" "$work/$image/deploy/"
  for name in "$@"; do files+=("$(package "$name")"); done
  cp "${files[@]}" "$work/$image"
  if $debootstrap; then
    base=localhost/$image-base:$version
    make_base "$base" "$(dependencies "${files[@]}")"
  fi
  # HEALTHCHECK is not in OCI's format, but in Docker's. One layer, so that what is removed is not in the image.
  buildah build --quiet --isolation chroot --pull=missing --format docker --squash --timestamp "${SOURCE_DATE_EPOCH:-0}" \
    --build-arg "BASE=$base" --label "org.opencontainers.image.version=$version" \
    -f "$root/deploy/container/Containerfile.${image#fleetmark-}" -t "$image:$version" "$work/$image" >"$work/$image.log" 2>&1 ||
    { tail -n 20 "$work/$image.log" >&2; return 1; }
  rm -f "$output/$image.tar"
  buildah push --quiet "$image:$version" "docker-archive:$output/$image.tar:$image:$version" >/dev/null
  printf '%-22s %5.1f MB packed %6.1f MB unpacked\n' "$image:$version" \
    "$(gzip -c "$output/$image.tar" | wc -c | awk '{print $1 / 1e6}')" \
    "$(stat -c %s "$output/$image.tar" | awk '{print $1 / 1e6}')"
}

build fleetmark-agent fleetmark-agent fleetmark-plugins
build fleetmark-collector fleetmark-collector
