//! What stands out in an experiment, and what to do next. Values only: the sentences are written in `knockout-report`.

use super::ablation::Effect;
use super::decision::noise;
use super::decompose::{self, Component, Decomposition};
use super::findings::Experiment;
use knockout_base::stats::{Estimate, share};

/// Above this share of a step the data pipeline is worth work.
const DATA: f64 = 0.15;
/// Above this difference between rounds the machine was not quiet.
const UNSTEADY: f64 = 0.10;
/// Switches worth naming per model.
const SWITCHES: usize = 3;

/// Something that stands out in an experiment.
#[derive(Debug, Clone, PartialEq)]
pub enum Insight {
    /// The largest part of a model's step.
    LargestPart {
        /// Name of the model.
        model: String,
        /// Name of the part.
        part: &'static str,
        /// Its share of a full step.
        share: f64,
        /// The data pipeline's name and share, where that is another part.
        data: Option<(&'static str, f64)>,
    },
    /// Phases and differences of modes disagree beyond their spread.
    Disagreement {
        /// Name of the model.
        model: String,
        /// Name of the part.
        part: &'static str,
        /// Difference of modes minus phases, as a share of a step.
        share: f64,
    },
    /// Time per sample of one cell by another's, which has another model.
    Models {
        /// The cell it is compared with.
        a: String,
        /// Name of the cell in question.
        b: String,
        /// Time per sample, `b / a`.
        ratio: Estimate,
    },
    /// The part of the step that holds most of the difference between two models.
    DifferenceOfModels {
        /// The model it is compared with.
        a: String,
        /// Name of the model in question.
        b: String,
        /// Name of the part.
        part: &'static str,
        /// Its share of the difference per sample.
        share: f64,
    },
    /// Time per sample of the data mode of one cell by another's, which has another representation.
    Processors {
        /// The cell it is compared with.
        a: String,
        /// Name of the cell in question.
        b: String,
        /// Time per sample, `b / a`.
        ratio: Estimate,
    },
    /// What more ranks gain.
    Ranks {
        /// Name of the model.
        model: String,
        /// Name of the mode.
        mode: String,
        /// Ranks it is compared with.
        from: u64,
        /// Ranks of the faster run.
        to: u64,
        /// How many times as fast per sample.
        speedup: Estimate,
        /// CPU time of a sample, of all ranks, by that on `from`.
        cpu: Estimate,
    },
    /// Cost of recording spans.
    Recording {
        /// Name of the model.
        model: String,
        /// Wall time of a step with recording by time without.
        wall: Estimate,
        /// The same of CPU time.
        cpu: Estimate,
    },
    /// The switch that gained most.
    BestSwitch {
        /// Name of the model.
        model: String,
        /// Number of switches tried.
        tried: usize,
        /// Name of the switch.
        switch: String,
        /// How many times as fast per sample.
        gain: Estimate,
    },
}

impl Insight {
    /// Stable name for scripts.
    pub fn about(&self) -> &'static str {
        match self {
            Self::LargestPart { .. } => "largest_part",
            Self::Disagreement { .. } => "disagreement",
            Self::Models { .. } => "models",
            Self::DifferenceOfModels { .. } => "difference_of_models",
            Self::Processors { .. } => "processors",
            Self::Ranks { .. } => "ranks",
            Self::Recording { .. } => "recording",
            Self::BestSwitch { .. } => "best_switch",
        }
    }

    /// The figure it rests on.
    pub fn figure(&self) -> f64 {
        match self {
            Self::LargestPart { share, .. }
            | Self::Disagreement { share, .. }
            | Self::DifferenceOfModels { share, .. } => *share,
            Self::Models { ratio, .. } | Self::Processors { ratio, .. } => ratio.median,
            Self::Recording { wall, .. } => wall.median - 1.0,
            Self::BestSwitch { gain, .. } => gain.median,
            Self::Ranks { speedup, .. } => speedup.median,
        }
    }
}

/// Something worth doing after an experiment.
#[derive(Debug, Clone, PartialEq)]
pub enum NextStep {
    /// Turn a switch on.
    UseSwitch {
        /// Name of the model.
        model: String,
        /// Overrides that turn it on.
        keys: Vec<String>,
        /// How many times as fast per sample.
        gain: Estimate,
        /// What else it changes; empty if nothing.
        note: String,
    },
    /// Look at a layer first.
    LargestLayer {
        /// Name of the model.
        model: String,
        /// Name of the layer.
        layer: String,
        /// Its share of a step.
        share: f64,
        /// How many times as fast a step would be without it.
        bound: f64,
    },
    /// Improve the data pipeline, or leave it.
    DataPipeline {
        /// Name of the model.
        model: String,
        /// Share of making batches.
        share: f64,
        /// How many times as fast a step would be with batches for nothing.
        bound: f64,
        /// Whether it is worth work.
        is_worth_it: bool,
    },
    /// Train on more ranks, or leave it.
    Ranks {
        /// Name of the model.
        model: String,
        /// Ranks it is compared with.
        from: u64,
        /// The number of ranks that was fastest.
        to: u64,
        /// How many times as fast per sample.
        speedup: Estimate,
        /// Whether that is surely faster.
        is_worth_it: bool,
    },
    /// Measure full steps too.
    FullSteps,
    /// Measure the switches.
    Ablate,
    /// Measure again on a quieter machine; by how much rounds differ.
    Quieter(f64),
}

impl NextStep {
    /// Stable name for scripts.
    pub fn about(&self) -> &'static str {
        match self {
            Self::UseSwitch { .. } => "use_switch",
            Self::LargestLayer { .. } => "largest_layer",
            Self::DataPipeline { .. } => "data_pipeline",
            Self::Ranks { .. } => "ranks",
            Self::FullSteps => "full_steps",
            Self::Ablate => "ablate",
            Self::Quieter(_) => "quieter",
        }
    }

    /// The figure it rests on.
    pub fn figure(&self) -> f64 {
        match self {
            Self::UseSwitch { gain, .. } => gain.median,
            Self::LargestLayer { share, .. } | Self::DataPipeline { share, .. } | Self::Quieter(share) => {
                *share
            }
            Self::Ranks { speedup, .. } => speedup.median,
            Self::FullSteps | Self::Ablate => 0.0,
        }
    }
}

/// Returns what stands out.
pub(super) fn insights(experiment: &Experiment) -> Vec<Insight> {
    let mut out = Vec::new();
    for parts in &experiment.decomposition {
        out.extend(largest(parts));
        out.extend(disagreements(parts));
    }
    for ratio in experiment.ratios.iter().filter(|ratio| ratio.vary == "model") {
        out.push(Insight::Models { a: ratio.a.clone(), b: ratio.b.clone(), ratio: ratio.per_sample });
    }
    out.extend(difference_of_models(experiment));
    for ratio in experiment.ratios.iter().filter(|ratio| ratio.vary == "processor" && ratio.mode == "data") {
        out.push(Insight::Processors { a: ratio.a.clone(), b: ratio.b.clone(), ratio: ratio.per_sample });
    }
    let furthest = experiment.cells.iter().max_by_key(|cell| cell.ran.len()).map(|cell| cell.mode.as_str());
    for scaling in experiment.ranks.iter().filter(|scaling| Some(scaling.mode.as_str()) == furthest) {
        let from = scaling.rows.first().map_or(1, |row| row.world);
        out.extend(scaling.rows.iter().skip(1).map(|row| Insight::Ranks {
            model: scaling.model.clone(),
            mode: scaling.mode.clone(),
            from,
            to: row.world,
            speedup: row.speedup,
            cpu: row.cpu_ratio,
        }));
    }
    for cost in &experiment.recording {
        let model = cost.model.clone();
        out.push(Insight::Recording { model, wall: cost.ratio, cpu: cost.cpu_ratio });
    }
    for ablation in &experiment.ablation {
        let best = ablation.tried.first().filter(|tried| tried.verdict == Effect::Faster);
        out.extend(best.map(|best| Insight::BestSwitch {
            model: ablation.model.clone(),
            tried: ablation.tried.len(),
            switch: best.name.clone(),
            gain: best.gain,
        }));
    }
    out
}

fn largest(parts: &Decomposition) -> Option<Insight> {
    let most = parts.components.iter().max_by(|a, b| a.share.total_cmp(&b.share))?;
    let data = parts.component(decompose::DATA)?;
    Some(Insight::LargestPart {
        model: parts.name.clone(),
        part: most.name,
        share: most.share,
        data: (most.name != data.name).then_some((data.name, data.share)),
    })
}

fn disagreements(parts: &Decomposition) -> impl Iterator<Item = Insight> + '_ {
    // Of few rounds there is no spread to be beyond: on a busy machine three may well err to the same side.
    let is_sure = |component: &&Component| !component.agrees && component.disagreement_s.is_interval();
    parts.components.iter().filter(is_sure).map(|component| Insight::Disagreement {
        model: parts.name.clone(),
        part: component.name,
        share: share(component.disagreement_s.median, parts.step_s.median),
    })
}

/// The part of the step that accounts for the difference between two models.
fn difference_of_models(experiment: &Experiment) -> Option<Insight> {
    let first = experiment.decomposition.first()?.world;
    let on_as_many: Vec<&Decomposition> =
        experiment.decomposition.iter().filter(|parts| parts.world == first).collect();
    let [a, b, ..] = on_as_many.as_slice() else { return None };
    let per_sample = |parts: &Decomposition, seconds: f64| {
        let full = experiment.cell(&parts.model, &parts.processor, "full");
        share(seconds, full.map_or(1.0, |cell| cell.profile.batch as f64))
    };
    let whole = per_sample(b, b.step_s.median) - per_sample(a, a.step_s.median);
    let moved = a.components.iter().zip(&b.components).map(|(a_part, b_part)| {
        let change = per_sample(b, b_part.by_phases_s.median) - per_sample(a, a_part.by_phases_s.median);
        (a_part.name, share(change * whole.signum(), whole.abs()))
    });
    let (part, share) = moved.max_by(|a, b| a.1.total_cmp(&b.1))?;
    (a.model != b.model && whole != 0.0).then(|| Insight::DifferenceOfModels {
        a: a.model.clone(),
        b: b.model.clone(),
        part,
        share,
    })
}

/// Returns what to do, the most promising first.
pub(super) fn next_steps(experiment: &Experiment) -> Vec<NextStep> {
    let mut out = Vec::new();
    for ablation in &experiment.ablation {
        let faster = ablation.tried.iter().filter(|tried| tried.verdict == Effect::Faster);
        out.extend(faster.take(SWITCHES).map(|tried| NextStep::UseSwitch {
            model: ablation.model.clone(),
            keys: tried.keys.clone(),
            gain: tried.gain,
            note: tried.note.clone(),
        }));
    }
    for parts in &experiment.decomposition {
        let Some(cell) = experiment.recorded(&parts.model) else { continue };
        let layer = cell.profile.parts.iter().max_by(|a, b| a.share.total_cmp(&b.share));
        out.extend(layer.map(|layer| NextStep::LargestLayer {
            model: parts.model.clone(),
            layer: layer.name.clone(),
            share: layer.share,
            bound: share(1.0, 1.0 - layer.share),
        }));
        // Where the two ways disagree one of them is wrong: nothing to rest advice on.
        let data = parts.component(decompose::DATA).filter(|data| data.agrees);
        out.extend(data.map(|data| NextStep::DataPipeline {
            model: parts.model.clone(),
            share: data.share,
            bound: share(1.0, 1.0 - data.share),
            is_worth_it: data.share > DATA,
        }));
    }
    for scaling in experiment.ranks.iter().filter(|scaling| scaling.mode == "full") {
        let from = scaling.rows.first().map_or(1, |row| row.world);
        out.extend(scaling.fastest().map(|row| NextStep::Ranks {
            model: scaling.model.clone(),
            from,
            to: row.world,
            speedup: row.speedup,
            is_worth_it: row.world != from && row.speedup.clears(1.0),
        }));
    }
    if !experiment.cells.iter().any(|cell| cell.mode == "full") {
        out.push(NextStep::FullSteps);
    }
    if experiment.ablation.is_empty() && experiment.ranks.is_empty() {
        out.push(NextStep::Ablate);
    }
    let noise = noise(experiment);
    if noise > UNSTEADY {
        out.push(NextStep::Quieter(noise));
    }
    out
}
