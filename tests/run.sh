#!/usr/bin/env bash
# Everything that must pass, from a clean clone, without a terminal: dependencies, build, unit and lint tests,
# the same core under ThreadSanitizer and AddressSanitizer, and the end-to-end tests with real processes.
#
#   tests/run.sh [--quick] [--help]     --quick leaves the sanitizers out
#
# Exit status: 0 all passed, 1 something failed, 2 wrong arguments.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
quick=false
case ${1:-} in
  "") ;;
  --quick) quick=true ;;
  -h | --help)
    sed -n '2,7s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
  *)
    printf "run.sh: unknown argument '%s'; --help lists them\n" "$1" >&2
    exit 2
    ;;
esac
cd "$root"
# Objects are found again in another clone too.
export CCACHE_BASEDIR=$root

durations=""
# Runs "${@:2}" as the stage $1; the first stage that fails ends everything.
stage() {
  local name=$1 begin=$SECONDS status=0
  shift
  printf '\n=== %s\n' "$name"
  "$@" || status=$?
  durations+=$(printf '%5d s  %s' $((SECONDS - begin)) "$name")$'\n'
  if ((status != 0)); then
    printf '\nFAILED: %s (status %d)\n%s' "$name" "$status" "$durations" >&2
    exit 1
  fi
}

configure_and_build() {
  cmake --preset "$1" && cmake --build --preset "$1" -j "$(nproc)"
}

run_tests() {
  local preset=$1
  shift
  ctest --preset "$preset" -j 2 --no-tests=error "$@"
}

stage "dependencies" deploy/install-deps.sh --dev
stage "build (release)" configure_and_build release
stage "unit and lint tests (release)" run_tests release -LE e2e
if ! $quick; then
  stage "build (ThreadSanitizer, core)" configure_and_build tsan
  stage "tests (ThreadSanitizer)" run_tests tsan -LE e2e
  # The core alone here too: what links gRPC and RocksDB takes most of the time and is tested above.
  stage "build (AddressSanitizer, core)" bash -c "cmake --preset asan -DFM_CORE_ONLY=ON && cmake --build --preset asan -j $(nproc)"
  stage "tests (AddressSanitizer)" run_tests asan -LE e2e
fi
printf '\nDurations so far:\n%s' "$durations"
# Last, so that its summary closes the output.
stage "end-to-end tests" run_tests release -L e2e
