//! One cell of an experiment: a model in a mode, with its steps seen round by round.

use crate::profile::run::RunProfile;
use knockout_base::stats::Estimate;
use knockout_base::stats::share;
use knockout_trace::meter::StepPhase;
use serde::Serialize;

/// One cell.
#[derive(Debug, Clone, Serialize)]
pub struct CellFindings {
    /// `dango data`, `dango full, recorded`, …
    pub name: String,
    /// Name of the model, as in the conditions.
    pub model: String,
    /// Name of the mode, as in the conditions.
    pub mode: String,
    /// Name of the representation of deletions, as in the conditions.
    pub processor: String,
    /// Number of ranks.
    pub world: u64,
    /// Phases that took time: what the figures measure.
    pub ran: Vec<String>,
    /// Phases of a step that did not run.
    pub not_run: Vec<String>,
    /// Whether spans were recorded meanwhile.
    pub recorded: bool,
    /// Batches per second.
    pub iterations_per_s: Estimate,
    /// Samples per second.
    pub samples_per_s: Estimate,
    /// Wall time of a batch.
    pub s_per_batch: Estimate,
    /// Wall time of a sample.
    pub s_per_sample: Estimate,
    /// CPU time of a sample, of all threads.
    pub cpu_s_per_sample: Estimate,
    /// Batches per second, round by round.
    pub rounds: Vec<f64>,
    /// Everything else about it: phases, layers, memory, the steps themselves.
    #[serde(skip)]
    pub profile: RunProfile,
}

/// A number of ranks, as names of cells have it.
pub(super) fn ranks_text(world: u64) -> String {
    match world {
        1 => "1 rank".to_owned(),
        _ => format!("{world} ranks"),
    }
}

/// Means over each round's steps.
#[derive(Debug, Clone)]
pub(super) struct Rounds<'a> {
    profile: &'a RunProfile,
    size: usize,
}

impl<'a> Rounds<'a> {
    pub(super) fn of(profile: &'a RunProfile, rounds: u64) -> Self {
        let steps = profile.per_step.wall_nanos.len();
        Self { profile, size: steps.div_ceil(rounds.max(1) as usize).max(1) }
    }

    /// Seconds per step of a column of nanoseconds.
    fn seconds(&self, nanos: &[u64]) -> Vec<f64> {
        let mean = |round: &[u64]| round.iter().sum::<u64>() as f64 / 1e9 / round.len() as f64;
        nanos.chunks(self.size).map(mean).collect()
    }

    /// Seconds per step.
    pub(super) fn step(&self) -> Vec<f64> {
        self.seconds(&self.profile.per_step.wall_nanos)
    }

    /// Wall seconds per sample.
    pub(super) fn sample(&self) -> Vec<f64> {
        self.by_sample(&self.profile.per_step.wall_nanos)
    }

    /// Processor seconds per sample, of all threads: what other programs on the machine hardly change.
    pub(super) fn cpu_sample(&self) -> Vec<f64> {
        self.by_sample(&self.profile.per_step.cpu_nanos)
    }

    fn by_sample(&self, nanos: &[u64]) -> Vec<f64> {
        let samples = self.profile.per_step.samples.chunks(self.size);
        let seconds = nanos.chunks(self.size).map(|round| round.iter().sum::<u64>() as f64 / 1e9);
        seconds
            .zip(samples)
            .map(|(seconds, samples)| share(seconds, samples.iter().sum::<u64>() as f64))
            .collect()
    }

    /// Seconds per step of the phases of these names together.
    pub(super) fn phases(&self, is_in: impl Fn(&str) -> bool) -> Vec<f64> {
        let chosen = self.profile.per_step.phases.iter().filter(|(name, _)| is_in(name));
        let mut sum = vec![0.0; self.step().len()];
        for (_, nanos) in chosen {
            sum.iter_mut().zip(self.seconds(nanos)).for_each(|(sum, seconds)| *sum += seconds);
        }
        sum
    }
}

impl CellFindings {
    /// End of the name of a cell whose spans were recorded.
    pub(super) const RECORDED: &str = ", recorded";

    pub(super) fn of(profile: RunProfile, rounds: u64, processors: usize, worlds: usize) -> Self {
        let conditions = &profile.conditions;
        let mut name = format!("{} {}", conditions.model, conditions.mode);
        if processors > 1 {
            name = format!("{name}, {}", conditions.processor);
        }
        if worlds > 1 {
            name = format!("{name}, {}", ranks_text(conditions.world));
        }
        if conditions.profiler {
            name.push_str(Self::RECORDED);
        }
        // Saving and validating are between steps, not in them.
        let is_divided = StepPhase::ALL
            .into_iter()
            .any(|phase| phase.is_of_shards() && profile.per_step.phases.contains_key(phase.name()));
        let step = StepPhase::ALL
            .into_iter()
            .filter(|phase| *phase < StepPhase::Checkpoint && (is_divided || !phase.is_of_shards()));
        let (ran, not_run): (Vec<&str>, Vec<&str>) =
            step.map(StepPhase::name).partition(|name| profile.per_step.phases.contains_key(*name));
        let by_round = Rounds::of(&profile, rounds);
        let (steps, samples) = (by_round.step(), by_round.sample());
        let rates_of = |seconds: &[f64]| seconds.iter().map(|s| share(1.0, *s)).collect::<Vec<f64>>();
        let rates = rates_of(&steps);
        Self {
            name,
            model: conditions.model.clone(),
            mode: conditions.mode.clone(),
            processor: conditions.processor.clone(),
            world: conditions.world,
            ran: ran.into_iter().map(str::to_owned).collect(),
            not_run: not_run.into_iter().map(str::to_owned).collect(),
            recorded: conditions.profiler,
            iterations_per_s: Estimate::of(&rates),
            samples_per_s: Estimate::of(&rates_of(&samples)),
            s_per_batch: Estimate::of(&steps),
            s_per_sample: Estimate::of(&samples),
            cpu_s_per_sample: Estimate::of(&by_round.cpu_sample()),
            rounds: rates,
            profile,
        }
    }
}
