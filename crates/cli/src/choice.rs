//! Values of the libraries' enums as options of the command line: each concept has one enum, and here its names and help.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use knockout_data::batch::{Collation, ProcessorKind};
use knockout_data::screen::{Part, Scheme};
use knockout_models::{MODELS, ModelEntry};
use knockout_sources::import::screens::{Alleles, Duplicates};
use knockout_train::checkpoint::Slot;
use knockout_train::step::Mode;

/// A parser of values by name, each with a line of help (an empty one for none).
fn choice<T: Clone + Send + Sync + 'static>(
    values: Vec<(&'static str, T, &'static str)>,
) -> impl TypedValueParser<Value = T> {
    let names = values.iter().map(|(name, _, help)| {
        let value = PossibleValue::new(*name);
        if help.is_empty() { value } else { value.help(*help) }
    });
    PossibleValuesParser::new(names.collect::<Vec<_>>()).try_map(move |name| {
        let found = values.iter().find(|(known, ..)| *known == name);
        found.map(|(_, value, _)| value.clone()).ok_or("not among the names")
    })
}

/// A registered model.
pub(crate) fn model() -> impl TypedValueParser<Value = ModelEntry> {
    choice(MODELS.iter().map(|entry| (entry.name, *entry, entry.summary)).collect())
}

/// A model that is trained step by step, of those there are.
pub(crate) fn trained_model() -> impl TypedValueParser<Value = ModelEntry> {
    let trained = MODELS.iter().filter(|entry| entry.has_epochs());
    choice(trained.map(|entry| (entry.name, *entry, entry.summary)).collect())
}

/// How far a step goes.
pub(crate) fn mode() -> impl TypedValueParser<Value = Mode> {
    let help = |mode| match mode {
        Mode::Data => "Fetching, processing and collating",
        Mode::Forward => "That, the model and its loss",
        Mode::Backward => "That, and gradients",
        Mode::Full => "That, clipping and the optimiser",
    };
    choice(Mode::ALL.map(|mode| (mode.name(), mode, help(mode))).to_vec())
}

/// Perturbations to import.
pub(crate) fn alleles() -> impl TypedValueParser<Value = Alleles> {
    choice(vec![
        ("apart", Alleles::Apart, "All, a sample for each; only repeats of the same alleles are merged"),
        ("merge", Alleles::Merge, "All, those of the same genes and kind merged like repeats"),
        ("all", Alleles::Merge, "Earlier name of merge"),
        ("deletion", Alleles::Deletion, "Samples whose every gene was deleted"),
    ])
}

/// Treatment of repeated measurements.
pub(crate) fn duplicates() -> impl TypedValueParser<Value = Duplicates> {
    choice(vec![
        ("mean", Duplicates::Mean, "Mean, count, and the p-value of a t-test of the mean"),
        ("first", Duplicates::First, "Keep the first"),
        ("error", Duplicates::Error, "Stop with an error"),
    ])
}

/// Scheme of a split.
pub(crate) fn scheme() -> impl TypedValueParser<Value = Scheme> {
    let help = |scheme| match scheme {
        Scheme::Random => "Records, one by one; records of one query pair are related, so this leaks",
        Scheme::PairDisjoint => "Query pairs: none occurs in two parts",
        Scheme::GeneDisjoint => "Genes: every val and test sample has a gene that training never saw",
    };
    choice(Scheme::ALL.map(|scheme| (scheme.name(), scheme, help(scheme))).to_vec())
}

/// A part of a split.
pub(crate) fn part() -> impl TypedValueParser<Value = Part> {
    let help = |part| match part {
        Part::Train => "What models are fitted to",
        Part::Val => "What choices are made on",
        Part::Test => "What is reported",
    };
    choice(Part::ALL.map(|part| (part.name(), part, help(part))).to_vec())
}

/// A state of a run.
pub(crate) fn slot() -> impl TypedValueParser<Value = Slot> {
    let help = |slot| match slot {
        Slot::BestPearson => "The best validation Pearson",
        Slot::BestMse => "The least validation MSE",
        Slot::Last => "The last one saved",
    };
    choice(
        [Slot::BestPearson, Slot::BestMse, Slot::Last].map(|slot| (slot.name(), slot, help(slot))).to_vec(),
    )
}

/// A representation of deletions.
pub(crate) fn processor() -> impl TypedValueParser<Value = ProcessorKind> {
    choice(ProcessorKind::ALL.map(|kind| (kind.name(), kind, processor_help(kind))).to_vec())
}

/// A representation of deletions, or all of them.
pub(crate) fn processor_or_all() -> impl TypedValueParser<Value = Option<ProcessorKind>> {
    let one = |kind: ProcessorKind| (kind.name(), Some(kind), processor_help(kind));
    let all = ("all", None, "All of them, side by side; stored ones where there is a store");
    choice(ProcessorKind::ALL.map(one).into_iter().chain([all]).collect())
}

fn processor_help(kind: ProcessorKind) -> &'static str {
    match kind {
        ProcessorKind::Perturbation => "Gene indices only; the default for every model",
        ProcessorKind::Mask => "Bit masks over genes, edges and reactions",
        ProcessorKind::ResidentMask => "Masks that stay allocated: cleared, used, restored",
        ProcessorKind::SavedIndices => "Removed positions read from disk (`data precompute --indices`)",
        ProcessorKind::SavedMasks => "Masks read from disk (`data precompute --masks`)",
        ProcessorKind::Subgraph => "Every network rebuilt without the genes",
        ProcessorKind::Neighborhood { .. } => "Only the genes within some hops",
    }
}

/// How representations of a batch are combined.
pub(crate) fn collation() -> impl TypedValueParser<Value = Collation> {
    choice(Collation::ALL.map(|collation| (collation.name(), collation, "")).to_vec())
}
