#!/bin/sh
# The agent's container begins here: puts the node's name, which only the pod's environment knows, into the
# configuration, and becomes the agent. Arguments are the agent's.
#
# NODE_NAME is required. FLEETMARK_CONFIG and FLEETMARK_RUN_DIR are where the file is read and written.
set -eu
config=${FLEETMARK_CONFIG:-/etc/fleetmark/agent.yaml}
run_dir=${FLEETMARK_RUN_DIR:-/run/fleetmark}
case ${NODE_NAME:?is not set} in
  *[!A-Za-z0-9._-]*) echo "agent-entry: NODE_NAME '$NODE_NAME' is no node's name" >&2; exit 3 ;;
esac
sed "s/@NODE_NAME@/$NODE_NAME/g" "$config" >"$run_dir/agent.yaml"
exec fleetmark-agent --config "$run_dir/agent.yaml" "$@"
