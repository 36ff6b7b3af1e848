#!/bin/bash
# All triples, in twenty parts that know nothing of each other.
#SBATCH --job-name=predict
#SBATCH --array=1-20
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=2
#SBATCH --time=02:00:00
set -euo pipefail

knockout predict "$RUN" --triples --part auto --threads "$SLURM_CPUS_PER_TASK" --out "hits/part-$SLURM_ARRAY_TASK_ID" ${SETTINGS:-}
# When all are done: knockout predict merge hits/all hits/part-*
