//! Gene networks, one module per format: each turns rows into edges, nothing more.

pub mod biogrid;
pub mod dango;
pub mod edges;
pub mod matrix;
pub mod sgd;
pub mod string;
pub mod tflink;

mod collector;

pub use collector::{EdgeCollector, EdgeCounts, Orientation};

use crate::import::source::RowTally;

/// Result of reading a network file: one or more networks, and counts of its rows.
#[derive(Debug)]
pub struct NetworkFile {
    /// The networks, in the requested order.
    pub networks: Vec<EdgeCollector>,
    /// Counts of rows read, kept and left out.
    pub tally: RowTally,
}

/// Evidence of an interaction database that becomes edges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// Proteins that were seen to touch.
    #[default]
    Physical,
    /// Genes whose deletions were seen to interact. Reports name such a network, because a screen that is to be predicted may be part of it.
    Genetic,
}

/// A file's name as that of a network or of annotations: without folder and endings, with only the characters such a name may have.
pub fn name_of(path: &std::path::Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = ["gz", "txt", "tsv", "csv", "tab", "parquet", "xlsx", "edges", "json", "gmt", "gaf"]
        .iter()
        .cycle()
        .take(33)
        .fold(name.as_ref(), |name, ending| {
            name.strip_suffix(ending).and_then(|name| name.strip_suffix('.')).unwrap_or(name)
        });
    let fine = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '_' };
    stem.chars().map(fine).take(100).collect::<String>().trim_start_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::name_of;
    use std::path::Path;

    #[test]
    fn a_file_names_its_network() {
        assert_eq!(name_of(Path::new("a/Union.txt.gz")), "Union");
        assert_eq!(name_of(Path::new("yeastract both.edges.tsv.gz")), "yeastract_both");
        assert_eq!(name_of(Path::new("g.costanzo.raw.tsv.gz")), "g.costanzo.raw");
        assert_eq!(name_of(Path::new("go/gene_association.sgd.gaf.gz")), "gene_association.sgd");
        assert_eq!(name_of(Path::new("..")), "");
    }
}
