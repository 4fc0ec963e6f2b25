#!/usr/bin/env bash
# From a fresh clone to first results on this machine: installs what is needed, builds, starts a collector and
# an agent on loopback as ordinary background processes, runs each benchmark of the default suite once, and
# prints what was measured.
#
#   deploy/quickstart.sh [--data DIR]            start, measure, show
#   deploy/quickstart.sh [--data DIR] --slowdown slow this machine down for real and see it flagged (3 minutes)
#   deploy/quickstart.sh [--data DIR] --demo-fleet N   a simulated fleet of N nodes with a month behind it
#   deploy/quickstart.sh [--data DIR] --status   is it running?
#   deploy/quickstart.sh [--data DIR] --stop     stop all of it; the data stays
#   deploy/quickstart.sh --help
#
# Everything it keeps is in DIR: configuration, data, logs, process ids (default: run/quickstart beside this
# repository's files). A second start finds the running processes and only measures again.
#
# The simulated fleet is for trying the dashboard and the command line: a collector of its own in DIR/demo, with
# nodes that a program plays. Each has the label simulated=yes, and the page says so.
#
# Plain text and no logins, on 127.0.0.1 only. For more than one machine: docs/operations.md.
#
# Exit status: 0 all is well, 1 something failed (it is said what), 2 wrong arguments, 3 not running (--status).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
readonly bin=$root/build/release/bin
readonly plugins=$root/build/release/plugins
data=$root/run/quickstart

say() { printf '%s\n' "$*"; }
step() { printf '\n== %s\n' "$*"; }
fail() {
  printf 'quickstart: %s\n' "$*" >&2
  exit 1
}

usage() {
  sed -n '2,/^set -euo/s/^# \{0,1\}//p' "$0"
}

# --- processes -----------------------------------------------------------------------------------------------

# The argument by which a process of daemon $1 is known as ours.
mark_of() {
  if [[ $1 == demo ]]; then printf -- '--owner=%s' "$data"; else printf '%s' "$data/$1.yaml"; fi
}

# The process id of daemon $1 when it runs, from its pid file; checked to be ours by its arguments.
pid_of() {
  local pid
  pid=$(cat "$data/$1.pid" 2>/dev/null) || return 1
  [[ $pid =~ ^[0-9]+$ ]] || return 1
  tr '\0' '\n' <"/proc/$pid/cmdline" 2>/dev/null | grep -Fxq -- "$(mark_of "$1")" || return 1
  printf '%s' "$pid"
}

running() { pid_of "$1" >/dev/null; }

# Starts "${@:2}" as daemon $1. Until this shell's child has become the program, it can't be told by its arguments.
start_daemon() {
  local name=$1 try
  setsid nohup "${@:2}" </dev/null >>"$data/$name.log" 2>&1 &
  printf '%s\n' "$!" >"$data/$name.pid"
  for ((try = 0; try < 100; ++try)); do
    if running "$name" || ! kill -0 "$!" 2>/dev/null; then return; fi
    sleep 0.05
  done
}

start_program() { start_daemon "$1" "$bin/fleetmark-$1" --config "$data/$1.yaml"; }

# SIGTERM, and SIGKILL after 20 seconds.
stop_daemon() {
  local name=$1 pid try
  if ! pid=$(pid_of "$name"); then
    rm -f "$data/$name.pid"
    say "$name: not running"
    return
  fi
  kill -TERM "$pid"
  for ((try = 0; try < 200; ++try)); do
    if ! running "$name"; then
      rm -f "$data/$name.pid"
      say "$name: stopped"
      return
    fi
    sleep 0.1
  done
  say "$name: did not stop within 20 seconds; killing it"
  kill -KILL "$pid" 2>/dev/null || true
  rm -f "$data/$name.pid"
}

# Waits until `"${@:3}"` succeeds, 30 seconds or $patience; daemon $1 must stay alive meanwhile. $2 says for what.
await() {
  local name=$1 what=$2 try
  shift 2
  for ((try = 0; try < 10 * ${patience:-30}; ++try)); do
    if "$@" >/dev/null 2>&1; then return; fi
    if ! running "$name"; then
      tail -n 15 "$data/$name.log" >&2
      fail "the $name ended while waiting for $what; the end of $data/$name.log is above"
    fi
    sleep 0.1
  done
  tail -n 15 "$data/$name.log" >&2
  fail "after ${patience:-30} seconds still waiting for $what; the end of $data/$name.log is above"
}

# --- ports and configuration ---------------------------------------------------------------------------------

port_is_used() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# The first port from $1 on that nobody listens on.
free_port() {
  local port
  for ((port = $1; port < $1 + 500; port += 10)); do
    if ! port_is_used "$port"; then
      printf '%s' "$port"
      return
    fi
  done
  fail "no free port near $1"
}

# Those of the last start where they are free, so that the dashboard stays where it was.
choose_ports() {
  if [[ -f $data/ports ]]; then load_ports; fi
  grpc_port=$(free_port "${grpc_port:-9410}")
  agent_port=$(free_port "${agent_port:-9411}")
  http_port=$(free_port "${http_port:-9412}")
  if [[ $grpc_port != 9410 || $agent_port != 9411 || $http_port != 9412 ]]; then
    say "another program uses a default port; taking $grpc_port (gRPC), $agent_port (agent), $http_port (HTTP)"
  fi
  printf 'grpc_port=%s\nagent_port=%s\nhttp_port=%s\n' "$grpc_port" "$agent_port" "$http_port" >"$data/ports"
}

load_ports() {
  local key value
  while IFS='=' read -r key value; do
    [[ $value =~ ^[0-9]+$ ]] || continue
    case $key in
      grpc_port) grpc_port=$value ;;
      agent_port) agent_port=$value ;;
      http_port) http_port=$value ;;
    esac
  done <"$data/ports"
}

# Text for the right side of sed's s|…|…|.
sed_safe() { printf '%s' "$1" | sed 's/[&|\\]/\\&/g'; }

# Replaces in file $1 the line that matches $2, which must be there, by $3.
set_line() {
  grep -qE "$2" "$1" || fail "$1 has no line like '$2' any more; the template in configs/ and this script disagree"
  sed -i -E "s|$2.*|$(sed_safe "$3")|" "$1"
}

# May every user enter these folders?
open_to_all() {
  local folder
  for folder in "$@"; do
    setpriv --reuid=65534 --regid=65534 --clear-groups -- test -x "$folder/." || return 1
  done
}

readonly made="# Made by deploy/quickstart.sh from configs/; written again at each start."

write_collector_configuration() {
  { say "$made"; cat "$root/configs/collector.yaml"; } >"$data/collector.yaml"
  set_line "$data/collector.yaml" '^data_dir:' "data_dir: \"$data/collector\""
  set_line "$data/collector.yaml" '^  listen: 127\.0\.0\.1:9410' "  listen: 127.0.0.1:$grpc_port"
  set_line "$data/collector.yaml" '^  listen: 127\.0\.0\.1:9412' "  listen: 127.0.0.1:$http_port"
  set_line "$data/collector.yaml" '^web_dir:' "web_dir: \"$root/build/release/web\""
  "$bin/fleetmark-collector" --config "$data/collector.yaml" --check_config
}

write_configuration() {
  mkdir -p "$data/suites"
  # A suite that was changed here stays.
  [[ -e $data/suites/default.yaml ]] || cp "$root/configs/suites/default.yaml" "$data/suites/default.yaml"
  write_collector_configuration

  { say "$made"; cat "$root/configs/agent.yaml"; } >"$data/agent.yaml"
  set_line "$data/agent.yaml" '^  # name:' "  name: \"$node\""
  set_line "$data/agent.yaml" '^collectors:' "collectors: [127.0.0.1:$grpc_port]"
  set_line "$data/agent.yaml" '^plugin_paths:' "plugin_paths: [\"$plugins\"]"
  set_line "$data/agent.yaml" '^data_dir:' "data_dir: \"$data/agent\""
  set_line "$data/agent.yaml" '^  listen: 127\.0\.0\.1:9411' "  listen: 127.0.0.1:$agent_port"

  # This machine is to be measured as it is, also while its owner works on it.
  set_line "$data/agent.yaml" '^    enabled: true ' "    enabled: false"
  set_line "$data/agent.yaml" '^  cool_down:' "  cool_down: 0s"

  # Root's agent runs plugins as another user, who may not be let into this folder, such as one below /root.
  if [[ $(id -u) == 0 ]] && ! open_to_all "$plugins" "$data"; then
    say "other users can't enter $plugins or $data: plugins run as root"
    set_line "$data/agent.yaml" '^  # user: root' "  user: root"
  fi

  "$bin/fleetmark-agent" --config "$data/agent.yaml" --check_config
}

# --- building ------------------------------------------------------------------------------------------------

# One compiler a core, and no more than the memory holds at about 1 GiB each.
build_jobs() {
  local by_memory
  by_memory=$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
  local jobs
  jobs=$(nproc)
  if ((by_memory < jobs)); then jobs=$by_memory; fi
  printf '%s' "$((jobs < 1 ? 1 : jobs))"
}

# Ninja's "[12/345]" lines in, a line for each tenth out (one line, redrawn, on a terminal).
show_build_progress() {
  local terminal=0
  if [[ -t 1 ]]; then terminal=1; fi
  awk -v terminal="$terminal" '
    match($0, /^\[[0-9]+\/[0-9]+\]/) {
      split(substr($0, 2, RLENGTH - 2), n, "/")
      percent = int(100 * n[1] / n[2])
      if (terminal) printf "\r   building: %3d %% (%d of %d)", percent, n[1], n[2]
      else if (int(percent / 10) != last) printf "   building: %d %% (%d of %d)\n", percent, n[1], n[2]
      last = int(percent / 10)
      fflush()
    }
    END { if (terminal && NR) print "" }'
}

# "$@": further targets.
build() {
  step "Building (the first time takes some minutes)"
  mkdir -p "$data"
  (cd "$root" && cmake --preset release) >"$data/build.log" 2>&1 ||
    { tail -n 20 "$data/build.log" >&2; fail "cmake failed; all of its output is in $data/build.log"; }
  # What runs, without the tests: Ninja has a target for each folder.
  (cd "$root" && cmake --build --preset release -j "$(build_jobs)" \
    --target common/all agent/all collector/all cli/all plugins_build/all web_build/all "$@") 2>&1 |
    tee -a "$data/build.log" | show_build_progress ||
    { tail -n 30 "$data/build.log" >&2; fail "the build failed; all of its output is in $data/build.log"; }
}

# --- starting and measuring ----------------------------------------------------------------------------------

fleetmark() { "$bin/fleetmark" --collector "127.0.0.1:$grpc_port" "$@"; }

# Not by a pipe into grep -q, which ends the writer early and so, under pipefail, fails when it finds the text.
node_is_connected() { [[ $(fleetmark -o json nodes "$node") == *NODE_STATE_CONNECTED* ]]; }

start() {
  step "Starting a collector and an agent in $data"
  if running collector && running agent; then
    load_ports
    say "both are running already; to use a newer build: $0 --stop, then start again"
    return
  fi
  # Half of it running means that the other half was killed: start anew, with ports that fit together.
  if running collector || running agent; then
    stop_daemon agent
    stop_daemon collector
  fi
  choose_ports
  write_configuration
  start_program collector
  await collector "the collector to answer" curl -fsS "http://127.0.0.1:$http_port/healthz"
  start_program agent
  await agent "the agent to connect" node_is_connected
  say "collector: process $(pid_of collector), log $data/collector.log"
  say "agent:     process $(pid_of agent), log $data/agent.log"
}

benchmarks() {
  fleetmark -o json nodes "$node" |
    python3 -c 'import json, sys
for b in json.load(sys.stdin)["nodes"][0]["benchmarks"]:
    if b["enabled"]: print(b["name"])'
}

measure() {
  local names name i=0
  failed=()
  mapfile -t names < <(benchmarks)
  [[ ${#names[@]} -gt 0 ]] || fail "the agent has no benchmarks; see $data/suites/default.yaml"
  step "Running each benchmark once on $node"
  for name in "${names[@]}"; do
    i=$((i + 1))
    say "[$i/${#names[@]}] $name"
    # Its own schedule may be running another one just now; benchmarks wait for one another.
    fleetmark run "$node" "$name" --expires 5m >"$data/last_run.txt" || failed+=("$name")
    last_benchmark=$name
    head -n 1 "$data/last_run.txt" | sed 's/^/      /'
  done
}

show() {
  step "What was measured"
  fleetmark series --node "$node"
  local collector=""
  if [[ $grpc_port != 9410 ]]; then collector=" --collector 127.0.0.1:$grpc_port"; fi
  cat <<END

== Look further
Dashboard     http://127.0.0.1:$http_port/
Fleet         $bin/fleetmark$collector status
Last runs     $bin/fleetmark$collector runs
Slow-downs    $bin/fleetmark$collector findings --all
Run again     $bin/fleetmark$collector run $node $1
See it work   $0${data_argument} --slowdown   (three minutes)
Stop          $0${data_argument} --stop
Start again   $0${data_argument}
Data          $data
Documents     $root/docs/

The agent measures on its own from now on; $data/suites/default.yaml says when.
END
}

# Measures a benchmark as the machine is, then with other processes computing on every core, and shows what was
# found. Twelve samples of the old level are what detection needs at least.
slowdown() {
  local i burners=()
  if ! running collector || ! running agent; then
    fail "not running; start it first: deploy/quickstart.sh$data_argument"
  fi
  load_ports
  step "16 runs of gemm with the machine as it is"
  for i in $(seq 16); do fleetmark run "$node" gemm 2>/dev/null | tail -n 1; done
  step "6 runs with two busy processes on each core"
  for i in $(seq $((2 * $(nproc)))); do
    bash -c 'while :; do :; done' &
    burners+=("$!")
  done
  # shellcheck disable=SC2064  # the list as it is now
  trap "kill ${burners[*]}" EXIT
  for i in $(seq 6); do fleetmark run "$node" gemm 2>/dev/null | tail -n 1; done
  kill "${burners[@]}"
  trap - EXIT
  step "What was found"
  fleetmark findings --all
}

# --- the simulated fleet -------------------------------------------------------------------------------------

demo_is_there() { grep -q '^holding' "$data/demo.log"; }

# A month of runs, each two hours, of $1 nodes; the nodes go on afterwards.
demo_fleet() {
  step "Starting a collector for the simulated fleet in $data"
  if running collector && running demo; then
    load_ports
    say "it is running already; for another size: $0$data_argument --stop, and remove $data"
  else
    if running demo; then stop_daemon demo; fi
    if running collector; then stop_daemon collector; fi
    choose_ports
    write_collector_configuration
    start_program collector
    await collector "the collector to answer" curl -fsS "http://127.0.0.1:$http_port/healthz"
    step "Playing $1 nodes and a month of their runs (a minute or two for 200)"
    : >"$data/demo.log"
    start_daemon demo "$bin/seed_fleet" --port="$grpc_port" --nodes="$1" --runs=360 --step_seconds=7200 --demo --hold \
      --owner="$data"
    patience=1800 await demo "the simulated fleet" demo_is_there
    head -n 1 "$data/demo.log"
  fi
  cat <<END

== Look at it
THIS FLEET IS SIMULATED: no benchmark runs, nothing is measured.
Dashboard     http://127.0.0.1:$http_port/
Fleet         $bin/fleetmark --collector 127.0.0.1:$grpc_port status
Slow-downs    $bin/fleetmark --collector 127.0.0.1:$grpc_port findings
Stop          $0$data_argument --stop

In it: a driver that made a tenth of the nodes slower, a rack with slow disks, a node with broken memory, a GPU that
throttles, a dying disk, dead agents, and nodes that are busy with jobs. What belongs together is joined within two
minutes after the start.
END
}

status() {
  local name pid result=0
  for name in collector agent; do
    if pid=$(pid_of "$name"); then
      say "$name: running, process $pid, log $data/$name.log"
    else
      say "$name: not running"
      result=3
    fi
  done
  if ((result == 0)); then
    load_ports
    fleetmark status || true
    say "Dashboard  http://127.0.0.1:$http_port/"
  fi
  return "$result"
}

main() {
  local action=start
  data_argument=""
  while [[ $# -gt 0 ]]; do
    case $1 in
      --stop) action=stop ;;
      --status) action=status ;;
      --slowdown) action=slowdown ;;
      --demo-fleet)
        [[ ${2:-} =~ ^[1-9][0-9]{0,4}$ ]] || { usage >&2; exit 2; }
        action=demo
        demo_nodes=$2
        shift
        ;;
      --data)
        [[ $# -ge 2 ]] || { usage >&2; exit 2; }
        mkdir -p "$2"
        data=$(cd "$2" && pwd)
        data_argument=" --data $data"
        shift
        ;;
      -h | --help)
        usage
        exit 0
        ;;
      *)
        printf "quickstart: unknown argument '%s'; --help lists them\n" "$1" >&2
        exit 2
        ;;
    esac
    shift
  done
  [[ $data != *[\"\\$'\n']* ]] || fail "the data folder's name must not hold quotes, backslashes or line breaks"
  node=$(uname -n)
  case $action in
    slowdown)
      slowdown
      exit 0
      ;;
    stop)
      stop_daemon agent
      stop_daemon collector
      if [[ -d $data/demo ]]; then
        data+=/demo
        say "the simulated fleet:"
        stop_daemon demo
        stop_daemon collector
      fi
      exit 0
      ;;
    status)
      status
      exit
      ;;
  esac

  if [[ $action == demo ]]; then data+=/demo; fi
  mkdir -p "$data"
  # Two starts at once would fight over the same files.
  exec 9>"$data/lock"
  flock -n 9 || fail "another quickstart is at work in $data"
  step "Installing what is needed"
  "$root/deploy/install-deps.sh"
  if [[ $action == demo ]]; then
    if ! (running collector && running demo); then build seed_fleet; fi
    demo_fleet "$demo_nodes" 9>&-
    exit 0
  fi
  if ! (running collector && running agent); then build; fi
  start 9>&-
  measure
  show "$last_benchmark"
  if ((${#failed[@]} > 0)); then
    say ""
    fail "these did not end well: ${failed[*]}; \`fleetmark runs\` says why"
  fi
}

main "$@"
