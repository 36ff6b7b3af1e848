//! An experiment over several numbers of ranks: every round of every number was measured by processes of its own, and all of them become
//! one experiment.

use super::ExperimentOutcome;
use super::contradiction;
use knockout_analyze::profile::RunProfile;
use knockout_analyze::profile::experiment::{Crowd, Experiment, ExperimentPlan};
use knockout_base::error::{Error, Result};

/// One round on one number of ranks.
#[derive(Debug, Clone)]
pub struct WorldRound {
    /// The profile of each cell, by the name of its folder.
    pub cells: Vec<(String, RunProfile)>,
    /// Set where the ranks had to share cores.
    pub crowd: Option<Crowd>,
}

/// Assembles the experiment of these rounds: for each number of ranks, in the given order, its rounds in their order.
pub fn assembled(mut plan: ExperimentPlan, worlds: &[Vec<WorldRound>]) -> Result<ExperimentOutcome> {
    plan.rounds = worlds.first().map_or(0, Vec::len) as u64;
    plan.crowded = worlds.iter().filter_map(|rounds| rounds.iter().find_map(|round| round.crowd)).collect();
    let names: Vec<&String> = worlds
        .iter()
        .flatten()
        .next()
        .map(|round| round.cells.iter().map(|(name, _)| name).collect())
        .unwrap_or_default();
    let mut profiles = Vec::new();
    for (index, name) in names.into_iter().enumerate() {
        for rounds in worlds {
            let mut own = Vec::new();
            for round in rounds {
                let cell = round.cells.get(index).filter(|(other, _)| other == name);
                let (_, profile) = cell.ok_or_else(|| {
                    let expected = "rounds of one experiment have the same cells";
                    Error::failure(format!("a round was measured without {name}; {expected}"))
                })?;
                own.push(profile.clone());
            }
            let joined = RunProfile::joined(&own)?.with_measured(plan.measured.clone());
            let ranks = joined.conditions.world;
            let word = if ranks == 1 { "rank" } else { "ranks" };
            profiles.push((format!("{name}-{ranks}-{word}"), joined));
        }
    }
    let cells = profiles.iter().map(|(_, profile)| profile.clone()).collect();
    let findings = Experiment::of(plan, cells, Vec::new()).map_err(contradiction)?;
    Ok(ExperimentOutcome { findings, profiles, traces: Vec::new(), folder: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_analyze::profile::Conditions;
    use knockout_analyze::profile::experiment::{ExperimentFinding, ExperimentWarning};
    use knockout_trace::meter::{StepLog, StepPhase, StepTimes};

    const MS: u64 = 1_000_000;

    /// Two steps of 8 samples of the given times, of which a tenth is waiting.
    fn round(model: &str, world: u64, wall_ms: u64, cpu_ms: u64) -> RunProfile {
        let mut phases = [0; StepPhase::COUNT];
        phases[StepPhase::Barrier as usize] = wall_ms * MS / 10;
        let step = StepTimes {
            samples: 8,
            wall_nanos: wall_ms * MS,
            cpu_nanos: cpu_ms * MS,
            phases,
            ..StepTimes::default()
        };
        let conditions = Conditions {
            model: model.to_owned(),
            mode: "data".to_owned(),
            processor: "mask".to_owned(),
            world,
            ..Conditions::default()
        };
        let log = StepLog { steps: vec![step; 2], warmed: 1, ..StepLog::default() };
        RunProfile::of(&log, conditions).unwrap()
    }

    fn world_round(world: u64, slower: u64) -> WorldRound {
        let wall = slower * 120 / world;
        let cells = ["dango", "hetero"].iter().zip([1, 3]).map(|(model, times)| {
            (format!("{model}-data"), round(model, world, times * wall, times * slower * (100 + 10 * world)))
        });
        let crowd = (world == 4).then_some(Crowd { world, threads: 4, cores: 2 });
        WorldRound { cells: cells.collect(), crowd }
    }

    fn plan() -> ExperimentPlan {
        ExperimentPlan {
            dataset: "fake".to_owned(),
            rounds: 9,
            steps: 2,
            warmup: 1,
            ..ExperimentPlan::default()
        }
    }

    #[test]
    fn rounds_of_several_numbers_of_ranks_become_one_experiment() {
        // The fourth round is three times as slow on all, as when something else ran; the ratios stay the same.
        let worlds: Vec<Vec<WorldRound>> =
            [1, 2, 4].map(|world| [1, 1, 1, 3, 1].map(|slower| world_round(world, slower)).to_vec()).to_vec();
        let ExperimentOutcome { findings, profiles, .. } = assembled(plan(), &worlds).unwrap();
        let folders: Vec<&str> = profiles.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(folders[..3], ["dango-data-1-rank", "dango-data-2-ranks", "dango-data-4-ranks"]);
        assert_eq!((findings.plan.rounds, &findings.worlds[..]), (5, &[1, 2, 4][..]));
        assert_eq!(profiles[0].1.steps, 10);
        assert_eq!(profiles[0].1.warmed, 5);
        let [dango, hetero] = &findings.ranks[..] else { panic!("two models") };
        for scaling in [dango, hetero] {
            for (row, speedup) in scaling.rows.iter().zip([1.0, 2.0, 4.0]) {
                assert!((row.speedup.median - speedup).abs() < 1e-9, "{row:?}");
                assert_eq!(row.speedup.low, row.speedup.high, "rounds are paired");
                let cpu = (100.0 + 10.0 * row.world as f64) / 110.0;
                assert!((row.cpu_ratio.median - cpu).abs() < 1e-9, "{row:?}");
                assert!((row.barrier_share - 0.1).abs() < 1e-9);
            }
        }
        let between_models: Vec<f64> = findings
            .ratios
            .iter()
            .filter(|ratio| ratio.vary == "model")
            .map(|ratio| ratio.per_sample.median)
            .collect();
        assert_eq!(between_models.len(), 3, "one for each number of ranks");
        assert!(between_models.iter().all(|ratio| (ratio - 3.0).abs() < 1e-9));
        assert!(
            findings.findings.iter().any(|found| matches!(found, ExperimentFinding::Ranks { to: 4, .. }))
        );
        let crowd = Crowd { world: 4, threads: 4, cores: 2 };
        assert_eq!(findings.warnings, [ExperimentWarning::Crowded(crowd)]);
    }

    #[test]
    fn rounds_of_different_experiments_are_rejected() {
        let mut worlds =
            vec![vec![world_round(1, 1), world_round(1, 1)], vec![world_round(2, 1), world_round(2, 1)]];
        worlds[1][1].cells.pop();
        let refused = assembled(plan(), &worlds).unwrap_err();
        assert!(refused.to_string().contains("without hetero-data"), "{refused}");
        worlds[1][1] = world_round(4, 1);
        let refused = assembled(plan(), &worlds).unwrap_err().to_string();
        assert!(refused.contains("differ in world"), "{refused}");
        assert!(assembled(plan(), &[]).is_err());
    }
}
