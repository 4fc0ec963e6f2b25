#!/usr/bin/env bash
# Installs what Fleetmark needs from Debian 12's own archive: to build it, to run it, and with --dev to
# develop and test it; with --with-torch also PyTorch, 600 MB, for training benchmarks. Asks nothing. When
# everything is there it does nothing, in well under a second.
#
#   deploy/install-deps.sh [--dev] [--with-torch] [--list] [--help]
#
# Exit status: 0 all there, 1 could not install, 2 wrong arguments.
set -euo pipefail

readonly build_packages=(
  ca-certificates ccache cmake g++ ninja-build pkgconf
  libabsl-dev libcli11-dev libcpp-httplib-dev libcurl4-openssl-dev libgmock-dev libgrpc++-dev libgtest-dev libnuma-dev
  libopenblas-dev libprotobuf-dev libre2-dev librocksdb-dev libsnappy-dev libspdlog-dev libsqlite3-dev
  libssl-dev
  libyaml-cpp-dev nlohmann-json3-dev prometheus-cpp-dev protobuf-compiler protobuf-compiler-grpc
  zlib1g-dev
)
# The dashboard is bundled by these.
readonly page_packages=(nodejs npm)
# fio and iperf3 measure for the plugins of the same purpose; python3-yaml reads templates and kubeconfigs.
readonly run_packages=(curl fio iperf3 openssl python3 python3-yaml)
readonly dev_packages=(
  chromium clang clang-format-14 clang-tidy-14 collectd-core dpkg-dev ethtool faketime fish git groff-base
  iproute2 libbenchmark-dev libclang-rt-14-dev lintian llvm-14 make munge nftables prometheus
  prometheus-alertmanager prometheus-node-exporter shellcheck slurm-client slurm-wlm-basic-plugins slurmctld
  slurmd systemd victoria-metrics zsh
)
# For the plugins ml_train and torch_gemm, which are skipped without it.
readonly torch_packages=(python3-torch)

usage() {
  sed -n '2,8s/^# \{0,1\}//p' "$0"
}

fail() {
  echo "install-deps: $*" >&2
  exit 1
}

# The packages among "$@" that are not installed, one a line.
missing() {
  # "ii " is installed; packages that dpkg has never heard of are complained about and not printed.
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' "$@" 2>/dev/null | sed -n 's/^ii *//p') || true
  comm -23 <(printf '%s\n' "$@" | sort -u) <(sort -u <<<"$installed")
}

node_is_new_enough() { node --eval 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)'; }

as_root() {
  if [[ $EUID -eq 0 ]]; then
    "$@"
  else
    sudo -n "$@"
  fi
}

# apt-get fails for a moment when another one runs or a mirror stumbles.
apt_with_retries() {
  local try
  for try in 1 2 3; do
    if as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -q \
      -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3 "$@"; then
      return 0
    fi
    echo "install-deps: apt-get $1 failed (try $try of 3)" >&2
    sleep $((try * 5))
  done
  return 1
}

main() {
  local packages=("${build_packages[@]}" "${run_packages[@]}")
  local list=false
  while [[ $# -gt 0 ]]; do
    case $1 in
      --dev) packages+=("${dev_packages[@]}") ;;
      --with-torch) packages+=("${torch_packages[@]}") ;;
      --list) list=true ;;
      -h | --help)
        usage
        exit 0
        ;;
      *)
        echo "install-deps: unknown argument '$1'; --help lists them" >&2
        exit 2
        ;;
    esac
    shift
  done
  if $list; then
    printf '%s\n' "${packages[@]}" "${page_packages[@]}"
    exit 0
  fi
  # Where Node.js comes from elsewhere, Debian's npm could not be installed beside it.
  if ! (node_is_new_enough && command -v npm) >/dev/null 2>&1; then packages+=("${page_packages[@]}"); fi
  command -v dpkg-query >/dev/null ||
    fail "this is not a Debian system; install the equivalents of: ${packages[*]}"

  local needed
  mapfile -t needed < <(missing "${packages[@]}")
  [[ ${#needed[@]} -gt 0 ]] || exit 0

  if [[ $EUID -ne 0 ]] && ! sudo -n true 2>/dev/null; then
    fail "needs root (or sudo without a password) to install: ${needed[*]}
run this once as root: apt-get update && apt-get install -y --no-install-recommends ${needed[*]}"
  fi
  echo "install-deps: installing ${#needed[@]} packages: ${needed[*]}"
  apt_with_retries update || fail "apt-get update failed; is the network there, and are apt's sources right?"
  apt_with_retries install --no-install-recommends "${needed[@]}" ||
    fail "apt-get install failed; its own message is above"
  mapfile -t needed < <(missing "${needed[@]}")
  [[ ${#needed[@]} -eq 0 ]] || fail "still missing after the install: ${needed[*]}"
}

main "$@"
