#!/bin/bash
# Bandwidth between two nodes by the OSU micro-benchmarks, which are in the job's PATH.
srun osu_bw -m 4194304:4194304
