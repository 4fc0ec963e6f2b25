#!/bin/sh
# Slurm epilog: tells the node's Fleetmark agent that the job has ended, and perhaps measures the node right away.
#
#   slurm.conf:   Epilog=/usr/share/fleetmark/slurm/epilog.sh      (or call it from the site's own epilog)
#
# FLEETMARK_EPILOG_BENCHMARK=NAME in the environment, or the file /etc/fleetmark/epilog-benchmark with the name, runs
# that benchmark before the node gets its next job. It adds the benchmark's time to each job's end: take a short one.
# It never fails: a failing epilog drains the node. To drain on results use health_check.sh.
flags=${FLEETMARK_JOB_FLAGS:-/run/fleetmark/jobs}
config=${FLEETMARK_AGENT_CONFIG:-/etc/fleetmark/agent.yaml}
agent=${FLEETMARK_AGENT:-/usr/bin/fleetmark-agent}
case ${SLURM_JOB_ID:-} in
  '' | *[!0-9]*) ;;
  *) rm -f "$flags/$SLURM_JOB_ID" ;;
esac
benchmark=${FLEETMARK_EPILOG_BENCHMARK:-$(head -n 1 /etc/fleetmark/epilog-benchmark 2>/dev/null)}
if [ -n "$benchmark" ]; then
  # 75 is "not now": another job shares the node. Waiting for it would hold this one's end up.
  timeout -k 5 "${FLEETMARK_EPILOG_SECONDS:-120}" "$agent" --config "$config" --expires=10s run "$benchmark" epilog \
    >/dev/null 2>&1
fi
exit 0
