#!/bin/sh
# Slurm HealthCheckProgram: drains a node whose benchmarks keep failing, with the reason, and resumes one that it
# drained itself once they are well again. What others drained it leaves alone.
#
#   slurm.conf:   HealthCheckProgram=/usr/share/fleetmark/slurm/health_check.sh
#                 HealthCheckInterval=300
#                 HealthCheckNodeState=ANY
#
# Without FLEETMARK_DRAIN=yes (in slurmd's environment, or as the file /etc/fleetmark/slurm-drain) it only writes to
# the system's log. A node whose agent does not answer (status 6) is logged and not drained. Slurm's controller is
# asked only when the answer of the agent and what this script did last differ.
config=${FLEETMARK_AGENT_CONFIG:-/etc/fleetmark/agent.yaml}
agent=${FLEETMARK_AGENT:-/usr/bin/fleetmark-agent}
state=${FLEETMARK_HEALTH_STATE:-/run/fleetmark/slurm-drained}
node=${SLURMD_NODENAME:-$(hostname -s)}

say() { logger -t fleetmark-health -- "$*" 2>/dev/null || echo "fleetmark-health: $*"; }
reason_of() { scontrol show node "$node" -o 2>/dev/null | sed -n 's/.* Reason=\(.*\)$/\1/p'; }

told=$(timeout 10 "$agent" --config "$config" health 2>&1)
status=$?
case $status in
  0)
    [ -e "$state" ] || exit 0
    case $(reason_of) in
      fleetmark:*) scontrol update nodename="$node" state=resume && say "$node is well again: resumed" ;;
    esac
    rm -f "$state"
    ;;
  1)
    [ -e "$state" ] && exit 0
    if [ "${FLEETMARK_DRAIN:-}" != yes ] && [ ! -e /etc/fleetmark/slurm-drain ]; then
      say "$node is unhealthy: $told"
      exit 0
    fi
    # A node that somebody else drained keeps that reason.
    case $(reason_of) in
      '' | none | fleetmark:*) ;;
      *) exit 0 ;;
    esac
    reason=$(printf 'fleetmark: %s' "$told" | tr '\n' ' ' | cut -c 1-200)
    scontrol update nodename="$node" state=drain reason="$reason" && : >"$state" && say "$node drained: $told"
    ;;
  *) say "the agent of $node does not answer (status $status)" ;;
esac
exit 0
