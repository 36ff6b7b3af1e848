//! Sources of datasets: importers of public files ([`import`]), the synthetic yeast ([`synth`]) and
//! lists of genes that users write ([`lists`]).
//!
//! | module | content |
//! |---|---|
//! | [`import`] | a recipe of files to a dataset and a report: genes, aliases, networks, metabolism, features, annotations, screens |
//! | [`synth`] | a configuration and a seed to a dataset with known ground truth |
//! | [`lists`] | files of genes or gene sets to indices of a dataset's gene table |
//!
//! The first two return a [`Dataset`](knockout_data::screen::Dataset). The crate depends neither on models nor on the command line.
//!
//! ```
//! use knockout_sources::import::{Recipe, import};
//!
//! let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("genes.txt"), "YAL001C\nYAL002W\nYAL003W\n")?;
//! std::fs::write(folder.path().join("scores.csv"), "gene_a,gene_b,score\nYAL001C,YAL003W,-0.25\n")?;
//! let recipe = Recipe::from_toml(
//!     "[[genes]]\nformat = \"list\"\nfile = \"genes.txt\"\n[[screens]]\nformat = \"table\"\nfile = \"scores.csv\"\n",
//! )?;
//! let imported = import(&recipe, folder.path(), &|_| {})?;
//! assert_eq!(imported.dataset.samples.scores(), [-0.25]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod import;
pub mod lists;
pub mod synth;
