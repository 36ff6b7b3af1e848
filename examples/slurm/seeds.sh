#!/bin/bash
# Five runs that differ in their seed, one job each.
#SBATCH --job-name=seeds
#SBATCH --array=0-4
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=2
#SBATCH --time=04:00:00
set -euo pipefail

knockout train "$DATA" --model dango --seed "$SLURM_ARRAY_TASK_ID" --threads "$SLURM_CPUS_PER_TASK" \
    --out "runs/dango-$SLURM_ARRAY_TASK_ID" ${SETTINGS:-}
# When all are done: knockout evaluate runs/dango-{0..4}
