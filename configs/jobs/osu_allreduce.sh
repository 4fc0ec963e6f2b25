#!/bin/bash
# Latency of an all-reduce by the OSU micro-benchmarks, which are in the job's PATH.
srun osu_allreduce -m {{bytes}}:{{bytes}}
