#!/usr/bin/env bash
# The agent under a real systemd with cgroup version 2, in user-mode Linux: memory and process limits, a CPU
# quota, the watchdog, a restart. No network, no hardware virtualisation. Takes five minutes and more, some of them for the
# guest's files, which are kept for the next time.
#
#   tests/vm/cgroup_v2_test.sh [--work DIR]      DIR (default: /var/tmp/fleetmark-vm) takes 500 MB
#
# Needs root, the release build (the programs listed below), and the packages user-mode-linux and mmdebstrap.
# Not part of tests/run.sh: few machines have these.
#
# Exit status: 0 all is well, 1 a check failed (the guest's output is in DIR/out), 2 wrong arguments or no such tools.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly root
readonly bin=$root/build/release/bin
work=/var/tmp/fleetmark-vm

fail() {
  printf 'cgroup_v2_test: %s\n' "$1" >&2
  exit "${2:-1}"
}

while (($# > 0)); do
  case $1 in
    --work) work=${2:?--work needs a folder}; shift 2 ;;
    --help) sed -n '2,/^set -euo/s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) fail "unknown argument $1" 2 ;;
  esac
done
readonly guest=$work/root

for tool in linux.uml mmdebstrap; do
  command -v "$tool" >/dev/null || fail "there is no $tool: apt-get install user-mode-linux mmdebstrap" 2
done
[[ $(id -u) == 0 ]] || fail "needs root" 2
programs=("$bin/fleetmark-agent" "$bin/fleetmark-gpu-probe" "$bin/fleetmark-launch" "$bin/fleetmark-collector"
  "$bin/fleetmark")
for program in "${programs[@]}"; do
  [[ -x $program ]] || fail "$program is not built" 2
done

make_guest() {
  [[ -e $guest/sbin/init ]] && return
  mkdir -p "$guest"
  mmdebstrap --quiet --variant=minbase --mode=root --dpkgopt=force-unsafe-io \
    --include=systemd,systemd-sysv,dbus,python3 bookworm "$work/root.tar"
  tar -C "$guest" -xf "$work/root.tar"
  rm "$work/root.tar"
  local unit
  # What waits for devices that the guest does not have.
  for unit in systemd-udevd.service systemd-udev-trigger.service systemd-logind.service systemd-timesyncd.service \
    apt-daily.timer apt-daily-upgrade.timer getty@tty1.service console-getty.service getty-static.service; do
    ln -sf /dev/null "$guest/etc/systemd/system/$unit"
  done
  ln -sf /lib/systemd/system/multi-user.target "$guest/etc/systemd/system/default.target"
}

# The programs with the libraries that the guest lacks.
install_programs() {
  install -m 755 "${programs[@]}" "$guest/usr/bin/"
  local library
  while read -r library; do
    [[ -e $guest$library || -e $guest/usr$library ]] || install -m 644 "$library" "$guest/usr/local/lib/"
  done < <(ldd "${programs[@]}" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u)
  ldconfig -r "$guest"
}

install_services() {
  local units=$guest/etc/systemd/system
  mkdir -p "$units/multi-user.target.wants" "$units/fleetmark-agent.service.d" "$guest/etc/fleetmark"
  install -m 644 "$root/deploy/systemd/fleetmark-agent.service" "$units/"
  # So that the test need not wait for a minute.
  printf '[Service]\nWatchdogSec=6s\nRestartSec=1s\n' >"$units/fleetmark-agent.service.d/test.conf"
  ln -sf ../fleetmark-agent.service "$units/multi-user.target.wants/"
  printf 'tmpfs /var/lib/fleetmark tmpfs mode=0755 0 0\n' >"$guest/etc/fstab"
  rm -rf "$guest/opt/hostile"
  mkdir -p "$guest/opt/hostile" "$guest/var/lib/fleetmark"
  cp -r "$root/tests/data/hostile/hostile" "$guest/opt/hostile/"
  install -m 755 "$root/tests/vm/inside.py" "$guest/opt/inside.py"
  "$guest/opt/inside.py" --write-config "$guest/etc/fleetmark"
  cat >"$units/selftest.service" <<'UNIT'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
TimeoutStartSec=infinity
ExecStart=/opt/inside.py
UNIT
  mkdir -p "$units/selftest.target.wants"
  printf '[Unit]\nRequires=multi-user.target\nAfter=multi-user.target\nAllowIsolate=yes\n' >"$units/selftest.target"
  ln -sf ../selftest.service "$units/selftest.target.wants/"
  ln -sf /etc/systemd/system/selftest.target "$guest/etc/systemd/system/default.target"
}

make_guest
install_programs
install_services
mkdir -p "$guest/lib/modules"
cp -a /usr/lib/uml/modules/* "$guest/lib/modules/"
printf 'vm\n' >"$guest/etc/hostname"

TMPDIR=/dev/shm timeout 480 linux.uml mem=1024M root=/dev/root rootfstype=hostfs "rootflags=$guest" rw con=null \
  con0=null,fd:1 quiet systemd.unified_cgroup_hierarchy=1 init=/sbin/init >"$work/out" 2>&1 </dev/null ||
  printf 'the guest ended with an error or was stopped\n' >&2
tr -d '\r' <"$work/out" | grep -a '^CHECK ' || true
grep -aq '^CHECK all is well' "$work/out" || fail "a check failed; the guest's output is in $work/out"
