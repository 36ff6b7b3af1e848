//! One record: a list of experiments on one genotype, as JSON.

use crate::import::screens::sink::Numbers;
use crate::import::strain::PerturbationKind;
use serde::Deserialize;

/// Parts of an experiment that become a measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct ExperimentRecord {
    /// The dataset it comes from.
    pub dataset: String,
    /// Systematic names of the perturbed genes.
    pub genes: Vec<String>,
    /// The kind of perturbation.
    pub kind: PerturbationKind,
    /// Score, p-value and fitness, with how many measurements they stand for.
    pub score: Option<f64>,
    /// Its p-value.
    pub p_value: Option<f64>,
    /// Fitness of the same genotype, where a fitness experiment shares the record.
    pub fitness: Option<f64>,
    /// Its standard deviation.
    pub fitness_sd: Option<f64>,
    /// Measurements that were merged before.
    pub replicates: u32,
}

impl ExperimentRecord {
    pub(super) fn numbers(&self) -> Numbers {
        Numbers {
            score: self.score,
            standard_error: None,
            p_value: self.p_value,
            fitness: self.fitness,
            fitness_sd: self.fitness_sd,
            replicates: Some(self.replicates),
        }
    }
}

#[derive(Deserialize)]
struct RecordEntry {
    experiment: RawExperiment,
}

#[derive(Deserialize)]
struct RawExperiment {
    #[serde(default)]
    dataset_name: Option<String>,
    genotype: Genotype,
    phenotype: Phenotype,
}

#[derive(Deserialize)]
struct Genotype {
    perturbations: Vec<RecordPerturbation>,
}

#[derive(Deserialize)]
struct RecordPerturbation {
    systematic_gene_name: String,
    #[serde(default, rename = "perturbation_type")]
    kind: String,
    #[serde(default)]
    num_duplicates: Option<u32>,
}

#[derive(Deserialize)]
struct Phenotype {
    #[serde(default)]
    gene_interaction: Option<f64>,
    #[serde(default)]
    gene_interaction_p_value: Option<f64>,
    #[serde(default)]
    fitness: Option<f64>,
    #[serde(default)]
    fitness_std: Option<f64>,
}

/// Reads the interaction experiments of a record; a fitness experiment of the record lends them its fitness.
pub fn parse(json: &[u8]) -> serde_json::Result<Vec<ExperimentRecord>> {
    let entries: Vec<RecordEntry> = serde_json::from_slice(json)
        // Python writes NaN, which is not JSON, for a missing value.
        .or_else(|error| serde_json::from_slice(&without_nan(json)).map_err(|_still| error))?;
    let fitness = entries.iter().find_map(|entry| entry.experiment.phenotype.fitness);
    let fitness_sd = entries.iter().find_map(|entry| entry.experiment.phenotype.fitness_std);
    let interactions =
        entries.into_iter().filter(|entry| entry.experiment.phenotype.gene_interaction.is_some());
    Ok(interactions
        .map(|RecordEntry { experiment }| {
            let perturbations = experiment.genotype.perturbations;
            ExperimentRecord {
                dataset: experiment.dataset_name.unwrap_or_else(|| "torchcell".to_owned()),
                kind: PerturbationKind::of_all(perturbations.iter().map(|one| kind_of(&one.kind))),
                replicates: perturbations.iter().filter_map(|one| one.num_duplicates).max().unwrap_or(1),
                genes: perturbations.into_iter().map(|one| one.systematic_gene_name).collect(),
                score: experiment.phenotype.gene_interaction,
                p_value: experiment.phenotype.gene_interaction_p_value,
                fitness,
                fitness_sd,
            }
        })
        .collect())
}

/// `mean_deletion`, `kanmx_deletion`, `temperature_sensitive_allele`, `damp`, `suppressor_allele` …
fn kind_of(word: &str) -> PerturbationKind {
    let word = word.to_ascii_lowercase();
    let has = |part| word.contains(part);
    if has("deletion") {
        PerturbationKind::Deletion
    } else if has("damp") {
        PerturbationKind::Damp
    } else if has("temperature") {
        PerturbationKind::TemperatureSensitive
    } else if has("suppressor") {
        PerturbationKind::Suppressor
    } else if has("allele") {
        PerturbationKind::Allele
    } else {
        PerturbationKind::Unspecified
    }
}

/// Replaces `NaN`, `Infinity` and `-Infinity` outside strings by `null`.
fn without_nan(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len());
    let (mut at, mut in_string) = (0, false);
    while at < json.len() {
        let rest = &json[at..];
        let word = [&b"-Infinity"[..], b"Infinity", b"NaN"].into_iter().find(|word| rest.starts_with(word));
        match (in_string, rest[0], word) {
            (true, b'\\', _) => {
                out.extend_from_slice(&rest[..rest.len().min(2)]);
                at += 2;
            }
            (false, _, Some(word)) => {
                out.extend_from_slice(b"null");
                at += word.len();
            }
            (_, byte, _) => {
                in_string ^= byte == b'"';
                out.push(byte);
                at += 1;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = r#"[
      {"experiment": {"experiment_type": "gene interaction", "dataset_name": "TmiKuzmin2018Dataset",
        "genotype": {"perturbations": [
          {"systematic_gene_name": "YAL001C", "perturbation_type": "mean_deletion", "num_duplicates": 2},
          {"systematic_gene_name": "YAL002W", "perturbation_type": "mean_deletion", "num_duplicates": 2}]},
        "environment": {"media": {"name": "YEPD"}},
        "phenotype": {"graph_level": "hyperedge", "gene_interaction": -0.25, "gene_interaction_p_value": NaN}},
       "experiment_reference": {"note": "a \"NaN\" in a string stays"}},
      {"experiment": {"genotype": {"perturbations": []}, "phenotype": {"fitness": 0.5, "fitness_std": 0.1}},
       "experiment_reference": {}}]"#;

    #[test]
    fn interactions_come_with_the_fitness_of_their_genotype() {
        let found = parse(RECORD.as_bytes()).unwrap();
        assert_eq!(found.len(), 1);
        let one = &found[0];
        assert_eq!(
            (one.genes.as_slice(), one.kind),
            (&["YAL001C".to_owned(), "YAL002W".to_owned()][..], PerturbationKind::Deletion)
        );
        assert_eq!((one.score, one.p_value, one.fitness, one.replicates), (Some(-0.25), None, Some(0.5), 2));
    }

    #[test]
    fn scores_come_over_to_the_last_bit() {
        let score = "-0.023512986713008114";
        let record = RECORD.replace("-0.25", score);
        let expected: f64 = score.parse().unwrap();
        assert_eq!(parse(record.as_bytes()).unwrap()[0].score.unwrap().to_bits(), expected.to_bits());
    }

    #[test]
    fn what_is_no_record_is_an_error() {
        for bad in ["", "{", "{}", "[1]", "NaN", "[{\"experiment\": {}}]", "\"\\"] {
            assert!(parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
