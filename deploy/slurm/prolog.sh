#!/bin/sh
# Slurm prolog: tells the node's Fleetmark agent that a job begins, before its first step does. A benchmark that is
# running is stopped within a second; the prolog does not wait for that.
#
#   slurm.conf:   Prolog=/usr/share/fleetmark/slurm/prolog.sh      (or call it from the site's own prolog)
#   agent.yaml:   gate: {slurm: {prolog_flag_dir: /run/fleetmark/jobs}}
#
# It never fails: a failing prolog drains the node.
flags=${FLEETMARK_JOB_FLAGS:-/run/fleetmark/jobs}
case ${SLURM_JOB_ID:-} in
  '' | *[!0-9]*) ;;
  *) [ -d "$flags" ] && : >"$flags/$SLURM_JOB_ID" ;;
esac 2>/dev/null
exit 0
