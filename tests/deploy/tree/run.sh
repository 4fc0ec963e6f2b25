#!/usr/bin/env bash
# What deploy/ makes, tried in a clean Debian 12 tree or in containers. By hand: takes minutes, and needs root, Debian's
# archive the first time, and the packages that each test names when they are missing.
#
#   tests/deploy/tree/run.sh NAME...         packages_in_tree, images, ansible_role
#   tests/deploy/tree/run.sh packages_in_tree --previous DIR      upgrades from the packages in DIR
#
# Packages what build/release holds; build it first. What takes long to make stays in build/release.
#
# Exit status: 0 all passed, 1 something failed, 2 wrong arguments.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
names=()
while (($# > 0)); do
  case $1 in
    --previous) FM_PREVIOUS_PACKAGES=$(realpath "${2:?--previous needs a folder}"); export FM_PREVIOUS_PACKAGES; shift ;;
    -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *)
      [[ -e $root/tests/deploy/tree/$1_test.py ]] ||
        { printf "run.sh: unknown argument '%s'; --help lists them\n" "$1" >&2; exit 2; }
      names+=("$1")
      ;;
  esac
  shift
done
((${#names[@]} > 0)) || { sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
"$root/deploy/package.sh" --no-build >/dev/null
export FM_SOURCE_DIR=$root FM_BUILD_DIR=$root/build/release FM_BIN_DIR=$root/build/release/bin PYTHONDONTWRITEBYTECODE=1
for name in "${names[@]}"; do
  python3 -u "$root/tests/deploy/tree/${name}_test.py"
done
