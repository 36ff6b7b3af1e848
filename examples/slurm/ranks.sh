#!/bin/bash
# One run on several ranks. The number of ranks changes nothing but the time; train.shards is part of what the run is.
#SBATCH --job-name=ranks
#SBATCH --ntasks=2
#SBATCH --cpus-per-task=1
#SBATCH --time=24:00:00
set -euo pipefail

# pmix or pmi2, as `srun --mpi=list` says and as the MPI was built with that knockout was built with.
srun --mpi="${MPI_TYPE:-pmix}" knockout train "$DATA" --model hetero --threads "$SLURM_CPUS_PER_TASK" \
    train.shards=4 --out runs/hetero-ranks ${SETTINGS:-}
