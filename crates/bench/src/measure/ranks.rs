//! Measurements over several ranks: each measures itself; figures that cannot be summed are those of the first.

use knockout_base::error::Result;
use knockout_base::files::{NewFolder, create_folder};
use knockout_ranks::Ranks;
use knockout_trace::meter::StepLog;
use std::path::Path;

/// Adds the CPU time that the other ranks took for each step, and their memory: the cost of a step is the sum over ranks. Phases and wall
/// time stay those of this rank.
pub(crate) fn of_all_ranks(log: &mut StepLog, peak: Option<u64>, ranks: &Ranks) -> Result<Option<u64>> {
    if ranks.is_alone() {
        return Ok(peak);
    }
    let mine = [peak.unwrap_or(0)].into_iter().chain(log.steps.iter().map(|step| step.cpu_nanos));
    let bytes: Vec<u8> = mine.flat_map(u64::to_le_bytes).collect();
    let all = ranks.all_gather(&bytes)?;
    let mut sums = vec![0_u64; log.steps.len() + 1];
    for bytes in all {
        let numbers = bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
        sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
    }
    log.steps.iter_mut().zip(&sums[1..]).for_each(|(step, sum)| step.cpu_nanos = *sum);
    Ok(peak.map(|_| sums[0]))
}

/// Makes folders that must not exist yet, on the first rank. Also a barrier.
pub(crate) fn create_folders(paths: impl IntoIterator<Item = impl AsRef<Path>>, ranks: &Ranks) -> Result<()> {
    if ranks.is_first() {
        paths.into_iter().try_for_each(|path| create_folder(path.as_ref()))?;
    }
    ranks.start()
}

/// Makes the folder of a measurement on the first rank, which removes it unless it is kept. Also a barrier.
pub(crate) fn create_outcome_folder(path: &Path, ranks: &Ranks) -> Result<Option<NewFolder>> {
    let folder = ranks.is_first().then(|| NewFolder::create(path)).transpose()?;
    ranks.start()?;
    Ok(folder)
}

/// Returns the first rank's numbers on all ranks, so that all decide alike.
pub(crate) fn of_first<const N: usize>(mut numbers: [u64; N], ranks: &Ranks) -> Result<[u64; N]> {
    let mut bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    ranks.broadcast(&mut bytes)?;
    let read = bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
    numbers.iter_mut().zip(read).for_each(|(number, read)| *number = read);
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_ranks::LocalRank;
    use knockout_trace::meter::StepTimes;

    #[test]
    fn cpu_time_and_memory_are_those_of_all_ranks() {
        let found = LocalRank::on_ranks(3, |ranks| {
            let own = ranks.rank() as u64 + 1;
            let step =
                |factor| StepTimes { cpu_nanos: factor * own, wall_nanos: own, ..StepTimes::default() };
            let mut log = StepLog { steps: vec![step(1), step(10)], ..StepLog::default() };
            let peak = of_all_ranks(&mut log, Some(100 * own), &ranks).unwrap();
            (peak, log.steps.iter().map(|step| (step.cpu_nanos, step.wall_nanos)).collect::<Vec<_>>())
        });
        for (rank, found) in found.into_iter().enumerate() {
            let wall = rank as u64 + 1;
            assert_eq!(found, (Some(600), vec![(6, wall), (60, wall)]), "wall time stays a rank's own");
        }
    }

    #[test]
    fn the_first_rank_makes_folders_and_decides() {
        let home = tempfile::tempdir().unwrap();
        let folders = ["a", "a/b"].map(|name| home.path().join(name));
        let found = LocalRank::on_ranks(3, |ranks| {
            create_folders(&folders, &ranks).unwrap();
            (folders[1].is_dir(), of_first([ranks.rank() as u64 + 7, u64::MAX], &ranks).unwrap())
        });
        assert_eq!(found, vec![(true, [7, u64::MAX]); 3]);
    }
}
