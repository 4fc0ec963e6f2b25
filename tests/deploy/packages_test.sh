#!/usr/bin/env bash
# The packages in a clean Debian 12 tree: install, upgrade, remove, purge; lintian without errors. By hand, since it fetches
# a Debian: half a minute and 300 MB in /dev/shm.
#
#   tests/deploy/packages_test.sh [--base TAR]     TAR: a tree that mmdebstrap made before; it is kept there
#
# Needs root, the release build, mmdebstrap, lintian. Exit status: 0 all is well, 1 a check failed, 2 wrong arguments.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
base=
while (($# > 0)); do
  case $1 in
    --base) base=${2:?}; shift ;;
    -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) printf "packages_test.sh: unknown argument '%s'\n" "$1" >&2; exit 2 ;;
  esac
  shift
done
work=$(mktemp -d /dev/shm/fleetmark-packages.XXXXXX)
tree=$work/tree
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
inside() { chroot "$tree" /usr/bin/env DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
step() { printf '%4d s  %s\n' "$SECONDS" "$*"; }

for revision in 1 2; do
  "$root/deploy/package.sh" --no-build --revision $revision --output "$work/packages" >/dev/null
done
step "packages of two revisions"
lintian --fail-on error --suppress-tags initial-upload-closes-no-bugs --allow-root "$work"/packages/*-1_*.deb ||
  fail "lintian has errors"
step "lintian: no errors"

if [[ ! -e ${base:=$work/base.tar} ]]; then
  TMPDIR=$work mmdebstrap --quiet --variant=minbase --mode=root --dpkgopt=force-unsafe-io --include=systemd bookworm "$base"
fi
mkdir "$tree"
tar -C "$tree" -xf "$base"
printf '#!/bin/sh\nexit 101\n' >"$tree/usr/sbin/policy-rc.d"
chmod +x "$tree/usr/sbin/policy-rc.d"
cp /etc/resolv.conf "$tree/etc/resolv.conf"
cp -r /etc/apt/apt.conf.d/. "$tree/etc/apt/apt.conf.d/" 2>/dev/null || true
cp "$work"/packages/*.deb "$tree/root/"
step "a clean Debian"

inside apt-get -q -y update >/dev/null
inside sh -c 'apt-get -q -y install --no-install-recommends /root/*-1_*.deb' >"$work/install.log" 2>&1 ||
  { tail -20 "$work/install.log" >&2; fail "install"; }
step "installed, with what they depend on"
inside getent passwd fleetmark fleetmark-run >/dev/null || fail "a user is missing"
[[ $(inside stat -c '%U %a' /var/lib/fleetmark/collector) == "fleetmark 750" ]] || fail "the collector's folder"
[[ $(inside stat -c '%U %a' /var/lib/fleetmark/agent) == "root 711" ]] || fail "the agent's folder"
inside systemctl is-enabled fleetmark-agent fleetmark-collector >"$work/enabled" 2>&1 && fail "a service is enabled"
for daemon in agent collector; do
  inside "fleetmark-$daemon" --config "/etc/fleetmark/$daemon.yaml" --check_config || fail "$daemon's own configuration"
done
inside fleetmark version >/dev/null || fail "the command line"
for plugin in mem_bandwidth gemm mem_latency; do
  inside fleetmark plugin check "/usr/lib/fleetmark/plugins/$plugin" >"$work/plugin.log" 2>&1 ||
    { tail -5 "$work/plugin.log" >&2; fail "plugin $plugin"; }
done
step "users, folders, configuration and plugins work"

echo "# mine" >>"$tree/etc/fleetmark/agent.yaml"
inside systemctl enable fleetmark-agent >/dev/null 2>&1
touch "$tree/var/lib/fleetmark/collector/data"
inside sh -c 'dpkg -i --force-confold /root/*-2_*.deb' >"$work/upgrade.log" 2>&1 || { cat "$work/upgrade.log" >&2; fail "upgrade"; }
grep -q '^# mine' "$tree/etc/fleetmark/agent.yaml" || fail "an upgrade changed the configuration"
[[ $(inside dpkg-query -W -f '${Version}' fleetmark-agent) == *-2 ]] || fail "not upgraded"
inside systemctl is-enabled fleetmark-agent >/dev/null || fail "an upgrade disabled the agent"
[[ -e $tree/var/lib/fleetmark/collector/data ]] || fail "an upgrade lost data"
step "upgraded; configuration, data and enabling are kept"

packages=(fleetmark fleetmark-agent fleetmark-collector fleetmark-plugins)
inside dpkg -r "${packages[@]}" >"$work/remove.log" 2>&1 || { cat "$work/remove.log" >&2; fail "remove"; }
[[ -e $tree/var/lib/fleetmark/collector/data && -e $tree/etc/fleetmark/agent.yaml ]] || fail "removal lost data or configuration"
[[ ! -e $tree/usr/bin/fleetmark-agent && ! -e $tree/usr/share/fleetmark ]] || fail "removal left files"
inside dpkg -P "${packages[@]}" >"$work/purge.log" 2>&1 || { cat "$work/purge.log" >&2; fail "purge"; }
left=$(find "$tree/etc" "$tree/var/lib" "$tree/usr" -iname '*fleetmark*' ! -path '*/dpkg/*' ! -path '*/apt/*')
[[ -z $left ]] || fail "purge left: $left"
step "removed and purged; nothing is left but the users"
