//! A block of predictions as a Parquet file, which pandas, polars and DuckDB read.
//!
//! Columns: `number` (of the candidate), `gene_1` … (systematic names), `index_1` … (rows of the gene table), `prediction` in the
//! scores' units, and `sd` where there is one. The key `knockout.block` of the metadata names the plan of the block and the
//! figures of all that was scored, kept or not.

use crate::folder::{block_name, damaged};
use crate::{Extremes, Hit, KeptPredictions, Plan, Scores};
use knockout_base::error::{Error, Result};
use knockout_base::files;
use knockout_data::cell::{GeneSets, GeneTable};
use knockout_data::table::{Columns, ParquetTable};
use serde::{Deserialize, Serialize};

const METADATA: &str = "knockout.block";

/// Figures of all candidates scored in a block, kept or not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Scored {
    /// [`Plan::identity`].
    pub(crate) plan: String,
    pub(crate) block: u64,
    /// Candidates that were scored.
    pub(crate) count: u64,
    /// Sum of their predictions.
    pub(crate) sum: f64,
    /// Their histogram.
    pub(crate) histogram: Vec<u64>,
    /// blake3 of the rows that are kept, and of the figures above; blocks of earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) checksum: Option<String>,
}

/// A block in memory.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScoredBlock {
    pub(crate) scored: Scored,
    pub(crate) numbers: Vec<u64>,
    pub(crate) sets: GeneSets,
    pub(crate) scores: Scores,
}

impl ScoredBlock {
    /// Creates a block of the predictions that the plan keeps.
    pub(crate) fn new(
        plan: &Plan,
        identity: &str,
        block: u64,
        numbers: Vec<u64>,
        sets: GeneSets,
        scores: Scores,
    ) -> Self {
        let scored = Scored {
            plan: identity.to_owned(),
            block,
            count: numbers.len() as u64,
            sum: scores.mean.iter().sum(),
            histogram: plan.histogram.count(scores.mean.iter().copied()),
            checksum: None,
        };
        let whole = Self { scored, numbers, sets, scores };
        let mut kept = match plan.keep {
            KeptPredictions::All => whole,
            KeptPredictions::Extremes { top, bottom } => whole.extremes(top, bottom),
        };
        kept.scored.checksum = Some(kept.checksum());
        kept
    }

    /// Computes the checksum of everything that is read from the block.
    fn checksum(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"knockout block 1");
        let figures = Scored { checksum: None, ..self.scored.clone() };
        // Plain numbers and text: nothing here can fail to be written.
        hasher.update(&serde_json::to_vec(&figures).unwrap_or_default());
        for (row, number) in self.numbers.iter().enumerate() {
            let set = self.sets.get(row);
            hasher.update(&number.to_le_bytes()).update(&(set.len() as u64).to_le_bytes());
            for gene in set {
                hasher.update(&gene.to_le_bytes());
            }
            hasher.update(&self.scores.mean[row].to_le_bytes());
            if let Some(sd) = &self.scores.sd {
                hasher.update(&sd[row].to_le_bytes());
            }
        }
        hasher.finalize().to_hex().to_string()
    }

    fn extremes(self, top: usize, bottom: usize) -> Self {
        let mut extremes = Extremes::new(top, bottom);
        self.add_to(&mut extremes);
        let mut kept: Vec<u64> =
            extremes.top().iter().chain(&extremes.bottom()).map(|hit| hit.number).collect();
        kept.sort_unstable();
        kept.dedup();
        let rows: Vec<usize> =
            kept.iter().filter_map(|number| self.numbers.binary_search(number).ok()).collect();
        let pick = |values: &[f64]| rows.iter().map(|&row| values[row]).collect::<Vec<f64>>();
        Self {
            scores: Scores { mean: pick(&self.scores.mean), sd: self.scores.sd.as_deref().map(pick) },
            sets: rows.iter().map(|&row| self.sets.get(row)).collect(),
            numbers: kept,
            scored: self.scored,
        }
    }

    /// Adds its rows to the highest and lowest.
    pub(crate) fn add_to(&self, extremes: &mut Extremes) {
        for (row, &prediction) in self.scores.mean.iter().enumerate() {
            extremes.push(prediction, || self.hit(row));
        }
    }

    /// One row.
    pub(crate) fn hit(&self, row: usize) -> Hit {
        Hit {
            number: self.numbers[row],
            genes: self.sets.get(row).to_vec(),
            prediction: self.scores.mean[row],
            sd: self.scores.sd.as_ref().map(|sd| sd[row]),
        }
    }

    /// The file's bytes; `order` is the number of gene columns.
    pub(crate) fn encode(&self, genes: &GeneTable, order: usize) -> Result<Vec<u8>> {
        let names: Vec<&str> = genes.genes().iter().map(|gene| gene.systematic.as_str()).collect();
        // Plain numbers and text: nothing here can fail to be written.
        let scored = serde_json::to_string(&self.scored).unwrap_or_default();
        let mut table = Columns::new(self.numbers.len())
            .with_metadata(METADATA, scored)
            .u64s("number", |row| self.numbers[row]);
        // No set is empty; that others are shorter than the longest is known from the plan, not from a block.
        for index in 0..order {
            let (name, words) = (format!("gene_{}", index + 1), &names[..]);
            table = if index == 0 {
                table.coded(&name, words, |row| self.sets.get(row)[0])
            } else {
                table.optional_coded(&name, words, move |row| self.sets.get(row).get(index).copied())
            };
        }
        for index in 0..order {
            let name = format!("index_{}", index + 1);
            table = if index == 0 {
                table.u32s(&name, |row| self.sets.get(row)[0])
            } else {
                table.optional_u32s(&name, move |row| self.sets.get(row).get(index).copied())
            };
        }
        table = table.f64s("prediction", |row| self.scores.mean[row]);
        if let Some(sd) = &self.scores.sd {
            table = table.f64s("sd", |row| sd[row]);
        }
        table.encode().map_err(|error| Error::failure("predictions could not be encoded").caused_by(error))
    }

    /// Reads a block of a plan and checks that it is that block.
    pub(crate) fn read(folder: &files::Folder, plan: &Plan, identity: &str, block: u64) -> Result<Self> {
        let name = block_name(block);
        let (bytes, path) = (folder.read(&name)?, &folder.path().join(name));
        let found = Self::decode(bytes, plan.candidates.order)
            .map_err(|error| damaged(path, &error.to_string()))?
            .filter(|found| found.scored.plan == identity && found.scored.block == block)
            .ok_or_else(|| damaged(path, &format!("it is not block {block} of these predictions")))?;
        match &found.scored.checksum {
            Some(expected) if *expected != found.checksum() => {
                Err(damaged(path, "it does not match its own checksum"))
            }
            _ => Ok(found),
        }
    }

    fn decode(bytes: Vec<u8>, order: usize) -> Result<Option<Self>> {
        let table = ParquetTable::decode(bytes)?;
        let scored = table.metadata(METADATA).and_then(|text| serde_json::from_str(text).ok());
        let Some(scored) = scored else { return Ok(None) };
        let numbers = table.u64s("number")?;
        let columns = (1..=order)
            .map(|column| table.optional_u32s(&format!("index_{column}")))
            .collect::<Result<Vec<_>>>()?;
        let (mut sets, mut set) = (GeneSets::default(), Vec::new());
        for row in 0..numbers.len() {
            set.clear();
            set.extend(columns.iter().filter_map(|column| column[row]));
            sets.push(&set);
        }
        let mean = table.f64s("prediction")?;
        let sd = if table.has("sd") { Some(table.f64s("sd")?) } else { None };
        Ok(Some(Self { scored, numbers, sets, scores: Scores { mean, sd } }))
    }
}
