#!/bin/bash
# A run that outlives its job: Slurm asks it to save a minute before the time is up and puts it into the queue again.
#SBATCH --job-name=requeued
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=2
#SBATCH --time=01:00:00
#SBATCH --signal=B:USR1@60
#SBATCH --requeue
#SBATCH --open-mode=append
set -uo pipefail

knockout train "$DATA" --model hetero --threads "$SLURM_CPUS_PER_TASK" \
    --out runs/hetero-requeued --resume-or-start ${SETTINGS:-} &
program=$!
trap 'kill -USR1 "$program"' USR1
wait "$program"
code=$?
# A signal ends the wait, not the program: it saves meanwhile.
if [ "$code" -gt 128 ]; then
    wait "$program"
    code=$?
fi
# 8: interrupted, but saved.
[ "$code" -ne 8 ] || exec scontrol requeue "$SLURM_JOB_ID"
exit "$code"
