#!/usr/bin/env bash
# Everything that must pass, from a clean clone, without a terminal: dependencies, build, unit and lint tests,
# the parts with threads of their own under ThreadSanitizer, and the end-to-end tests with real processes.
#
#   tests/run.sh [--quick | --full] [--help]
#
# --quick leaves the sanitizers out; --full runs the whole core under both ThreadSanitizer and AddressSanitizer.
#
# Exit status: 0 all passed, 1 something failed, 2 wrong arguments.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
sanitizers=threads
case ${1:-} in
  "") ;;
  --quick) sanitizers=none ;;
  --full) sanitizers=all ;;
  -h | --help)
    sed -n '2,9s/^# \{0,1\}//p' "$0"
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
  cmake --preset "$1" "${@:2}" && cmake --build --preset "$1" -j "$(nproc)"
}

# Tests of the parts that have threads of their own and link neither gRPC nor RocksDB.
threaded=(base_test fake_clock_test http_server_test spool_test upload_test schedule_test run_pool_test
          process_runner_test fact_watcher_test sessions_test lease_table_test lease_client_test ingest_test
          progress_buffer_test)
threaded_pattern="^($(IFS='|'; printf '%s' "${threaded[*]}"))\$"

build_threaded() {
  cmake --preset tsan && cmake --build --preset tsan -j "$(nproc)" --target "${threaded[@]}"
}

run_tests() {
  local preset=$1
  shift
  ctest --preset "$preset" -j 2 --no-tests=error "$@"
}

stage "dependencies" deploy/install-deps.sh --dev
# helm, kubectl and the schemas of the Kubernetes API, which Debian does not have.
stage "Kubernetes tools" tests/deploy/kubernetes/fetch_tools.sh build/release/kubernetes-tools
stage "build (release)" configure_and_build release
stage "unit and lint tests (release)" run_tests release -LE e2e
case $sanitizers in
  threads)
    stage "build (ThreadSanitizer, threads)" build_threaded
    stage "tests (ThreadSanitizer)" run_tests tsan -R "$threaded_pattern"
    ;;
  all)
    stage "build (ThreadSanitizer, core)" configure_and_build tsan
    stage "tests (ThreadSanitizer)" run_tests tsan -LE e2e
    stage "build (AddressSanitizer, core)" configure_and_build asan -DFM_CORE_ONLY=ON
    stage "tests (AddressSanitizer)" run_tests asan -LE e2e
    ;;
esac
printf '\nDurations so far:\n%s' "$durations"
# Last, so that its summary closes the output.
stage "end-to-end tests" run_tests release -L e2e
