#!/bin/bash
# HPCG in a folder of its own; its result file is what is read.
set -e
folder=$(mktemp -d -p "$SLURM_SUBMIT_DIR")
trap 'rm -rf "$folder"' EXIT
cd "$folder"
printf 'HPCG benchmark\n\n104 104 104\n{{seconds}}\n' > hpcg.dat
srun xhpcg
cat HPCG-Benchmark_*.txt
