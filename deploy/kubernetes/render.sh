#!/usr/bin/env bash
# Writes the manifests of base/ anew from the Helm chart, so that both ways of installing say the same. A test compares.
#
#   deploy/kubernetes/render.sh [--helm PROGRAM] [--output DIR]
#
# Exit status: 0 done, 1 helm failed, 2 wrong arguments.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
helm=helm
output=$here/base
while (($# > 0)); do
  case $1 in
    --helm) helm=${2:?}; shift ;;
    --output) output=${2:?}; shift ;;
    -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) printf "render.sh: unknown argument '%s'; --help lists them\n" "$1" >&2; exit 2 ;;
  esac
  shift
done
for part in collector agent jobs monitoring; do
  mkdir -p "$output/$part"
  {
    echo "# Made by deploy/kubernetes/render.sh from deploy/helm/fleetmark. Change that, or patch this in an overlay."
    "$helm" template fleetmark "$here/../helm/fleetmark" --namespace fleetmark --set jobs.enabled=true \
      --set monitoring.enabled=true --show-only "templates/$part.yaml" 2>/dev/null
  } >"$output/$part/$part.yaml"
done
