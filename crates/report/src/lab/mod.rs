//! Pages of datasets, runs and predictions.
//!
//! Every function returns a [`Page`](crate::page::Page) of library values; documents of `--json` that are more than a library value are
//! structs here. The module exists with the feature `lab`.

mod accuracy;
mod baseline;
mod benchmark;
mod dataset;
mod deletion;
mod demo;
mod evaluation;
mod explanation;
mod hit_files;
mod import;
mod prediction;
mod regimes;
mod runs;
mod sweep;
mod training;

pub use accuracy::{correlation, error, prior_knowledge_sentence, scatter};
pub use baseline::{BaselineDocument, BaselineRow, baseline_page};
pub use benchmark::{BenchmarkDocument, benchmark_page};
pub use dataset::{dataset_page, splits_page};
pub use deletion::{DeletionDocument, GeneDocument, deletion_page, gene_page};
pub use demo::{DemoDocument, demo_page};
pub use evaluation::{EvaluationDocument, EvaluationPictures, PriorKnowledge, evaluation_page};
pub use explanation::explanation_page;
pub use hit_files::{hits_network, hits_workbook};
pub use import::{import_page, import_remarks};
pub use prediction::{
    HitDocument, HitEnrichment, HitList, PredictedSets, PredictionDocument, enrichment_section, false_text,
    hits_page, predicted_sets_page, prediction_page,
};
pub use runs::{RunsDocument, TrainedComparison, Unreadable, runs_page, trained_comparison_page};
pub use sweep::{SweepDocument, sweep_page};
pub use training::{TrainingDocument, TrainingReport, loss_parts};

#[cfg(test)]
mod tests {
    use crate::page::{colour, colours};
    use knockout_models::MODELS;
    use knockout_predict::baseline::Baseline;

    /// Where this fails after a model is added, another `HASH_START` in `page/palette.rs` separates the names.
    #[test]
    fn a_model_has_the_same_colour_on_every_page() {
        let models = MODELS.iter().map(|entry| entry.name);
        let mut names: Vec<&str> = models.chain(Baseline::ALL.map(Baseline::name)).collect();
        names.sort_unstable();
        names.dedup();
        for start in 0..names.len() {
            names.rotate_left(1);
            let alone: Vec<&str> = names.iter().map(|name| colour(name)).collect();
            assert_eq!(colours(names.iter().copied()), alone, "beside the others, from name {start}");
        }
    }
}
