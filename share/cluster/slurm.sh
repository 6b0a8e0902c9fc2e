#!/bin/bash
# One search on the nodes of a Slurm allocation:
#   NATS_URL=nats://login:4222 sbatch --nodes 8 share/cluster/slurm.sh ./bank
# The program and its files are on a file system that all nodes share. A job that is requeued goes on.
#SBATCH --job-name=raddle
#SBATCH --ntasks-per-node=1
#SBATCH --requeue
set -euo pipefail
: "${NATS_URL:?name the NATS server}"
program=$1
srun --overlap bash -c 'exec raddle worker --once --jobs "$(nproc)" "$0"' "$program" &
workers=$!
status=0
raddle coordinate --json "raddle-$SLURM_JOB_ID.json" "$@" || status=$?
wait "$workers" || true
exit "$status"
