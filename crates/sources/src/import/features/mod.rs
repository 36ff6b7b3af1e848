//! Content features of genes: from a table with a column of genes, or from a `NumPy` array with a list of genes.

pub mod npy;
pub mod table;

use crate::import::source::RowTally;
use knockout_base::error::Error;
use knockout_data::cell::Features;

/// The features that a file has of the genes in the table.
#[derive(Debug)]
pub struct FeatureFile {
    /// Names of the columns.
    pub names: Vec<String>,
    /// By gene of the table: its row, if the file has one.
    rows: Vec<Option<Vec<f32>>>,
    /// Counts of the file's rows.
    pub tally: RowTally,
}

impl FeatureFile {
    /// Features of these columns, so far of no gene.
    pub fn new(names: Vec<String>, gene_count: usize) -> Self {
        Self { names, rows: vec![None; gene_count], tally: RowTally::default() }
    }

    /// The features of a gene; `false` if it has some already.
    fn put(&mut self, gene: u32, row: Vec<f32>) -> bool {
        self.rows[gene as usize].replace(row).is_none()
    }

    /// Genes that the file has features of.
    pub fn genes(&self) -> usize {
        self.rows.iter().flatten().count()
    }
}

/// The columns of all files beside each other; `None` without any.
pub(crate) fn joined(files: &[FeatureFile], gene_count: usize) -> Result<Option<Features>, Error> {
    if files.is_empty() {
        return Ok(None);
    }
    let names: Vec<String> = files.iter().flat_map(|file| file.names.iter().cloned()).collect();
    let mut values = Vec::with_capacity(gene_count * names.len());
    for gene in 0..gene_count {
        for file in files {
            match &file.rows[gene] {
                Some(row) => values.extend(row),
                None => values.extend(std::iter::repeat_n(f32::NAN, file.names.len())),
            }
        }
    }
    Features::new(gene_count, names, values).map(Some)
}
