//! From a recipe to a dataset: opens the sources in order and puts their parts together.

mod build;
mod write;

use crate::import::altered::{ADVICE, LooksLike, altered};
use crate::import::fault;
use crate::import::features;
use crate::import::genes::{ListedGene, NamedGenes, aliases, list, sgd};
use crate::import::lmdb::{self, IndexSplit};
use crate::import::names::{NamePriority, Names};
use crate::import::recipe::{AliasSource, GeneSource, Recipe, ScreenSource};
use crate::import::report::{GeneReport, ImportReport, SampleReport};
use crate::import::screens::MeasurementCollector;
use crate::import::source::{RowTally, Source};
use knockout_base::error::Error;
use knockout_data::cell::{
    Annotations, Cell, Features, Gene, GeneId, GenePositions, GeneTable, Network, is_known_interaction_source,
};
use knockout_data::screen::{Counts, Dataset, FORMAT_VERSION, Manifest, Provenance, Samples};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The share of a source's rows that may be lost to genes outside the table without being allowed to.
const MAX_LEFT_OUT: f64 = 0.2;

/// A dataset that is ready to be written, with the report of its making.
#[derive(Debug)]
pub struct Import {
    /// Cell, samples and manifest, not yet written.
    pub dataset: Dataset,
    /// Report of what was read and left out.
    pub report: ImportReport,
    /// Splits taken over with the screens.
    pub splits: Vec<IndexSplit>,
    /// The recipe it was made by.
    pub recipe: Recipe,
}

/// Imports what a recipe names, with files below `base`; `advance` receives the number of bytes read.
///
/// Sources are read one after the other, each once; memory holds what is kept of them.
pub fn import(recipe: &Recipe, base: &Path, advance: &dyn Fn(u64)) -> Result<Import, Error> {
    Importer {
        recipe,
        base,
        advance,
        report: ImportReport { schema: 1, ..ImportReport::default() },
        sources: Vec::new(),
        genetic_networks: Vec::new(),
    }
    .run()
}

struct Importer<'a> {
    recipe: &'a Recipe,
    base: &'a Path,
    advance: &'a dyn Fn(u64),
    report: ImportReport,
    /// `file blake3` of everything read.
    sources: Vec<String>,
    /// Networks that are genetic interactions by their source.
    genetic_networks: Vec<String>,
}

impl<'a> Importer<'a> {
    fn run(mut self) -> Result<Import, Error> {
        let listed = self.genes()?;
        let (genes, mut names, positions) = self.table(listed)?;
        self.aliases(&mut names)?;
        self.report.genes = genes.len();
        self.report.names = names.len();

        let mut networks = Vec::new();
        for source in &self.recipe.networks {
            networks.extend(self.network(source, &names, genes.len())?);
        }
        let metabolism = match &self.recipe.metabolism {
            Some(source) => Some(self.metabolism(source, &names, genes.len())?),
            None => None,
        };
        let mut features = Vec::new();
        for source in &self.recipe.features {
            features.push(self.features(source, &names, genes.len())?);
        }
        let features = features::joined(&features, genes.len())?;
        let mut annotations = Vec::new();
        for source in &self.recipe.annotations {
            annotations.push(self.annotations(source, &names, genes.len())?);
        }
        let mut collector = MeasurementCollector::new(self.recipe.duplicates);
        let mut records = Vec::new();
        for source in &self.recipe.screens {
            records.extend(self.screen(source, &names, &genes, &mut collector)?);
        }
        self.report.samples.merged = collector.merged().total();
        self.report.samples.merged_by_alleles = collector.merged();
        let samples_of_several_alleles = collector.of_several_alleles();
        self.report.samples.of_several_alleles = samples_of_several_alleles;
        self.report.samples.conflicting_queries = collector.conflicting_queries();
        let repeats = collector.repeats();
        self.report.samples.repeats.clone_from(&repeats);
        let standard_errors = collector.standard_errors();
        let samples = collector.finish(genes.len())?;
        describe(&samples, &mut self.report.samples);
        let splits = self.splits(&records, samples.len())?;

        let cell = Cell::new(genes, networks, metabolism).and_then(|cell| {
            cell.with_features(features)?.with_annotations(annotations)?.with_positions(positions)
        })?;
        let from_interactions = self.interaction_inputs(&cell)?;
        let cell = cell.with_interaction_inputs(from_interactions.clone());
        let name = self.recipe.name.clone().unwrap_or_default();
        self.report.name.clone_from(&name);
        let manifest = Manifest {
            format: FORMAT_VERSION,
            name,
            provenance: Provenance {
                tool: concat!("knockout ", env!("CARGO_PKG_VERSION")).to_owned(),
                command: "knockout data import OUT --recipe recipe.toml, the one in this folder".to_owned(),
                sources: self.sources,
            },
            counts: Counts::default(),
            networks: Vec::new(),
            synthetic: None,
            repeats,
            standard_errors,
            samples_of_several_alleles,
            from_interactions,
            checksums: BTreeMap::new(),
        };
        let dataset = Dataset { manifest, cell: Arc::new(cell), samples };
        Ok(Import { dataset, report: self.report, splits, recipe: self.recipe.clone() })
    }

    /// Returns the names of the inputs that derive from genetic interactions; `None` where the names of known sources tell.
    fn interaction_inputs(&self, cell: &Cell) -> Result<Option<Vec<String>>, Error> {
        let networks = cell.networks().iter().map(Network::name);
        let features = cell.features().into_iter().flat_map(Features::names).map(String::as_str);
        let all: BTreeSet<&str> =
            networks.chain(features).chain(cell.annotations().iter().map(Annotations::name)).collect();
        let Recipe { from_interactions, independent, .. } = self.recipe;
        for name in from_interactions.iter().chain(independent) {
            if !all.contains(&name[..]) {
                let known: Vec<&str> = all.iter().copied().collect();
                let text = format!(
                    "{name:?} is not a network, feature or set of annotations of this import (there are: {})",
                    known.join(", ")
                );
                return Err(fault::request(text));
            }
            if from_interactions.contains(name) && independent.contains(name) {
                let text = format!("{name:?} is both in from-interactions and in independent; leave one out");
                return Err(fault::request(text));
            }
        }
        let has = |names: &[String], name: &str| names.iter().any(|other| other == name);
        let is_derived = |name: &&str| {
            let is_stated = has(from_interactions, name) || has(&self.genetic_networks, name);
            !has(independent, name) && (is_stated || is_known_interaction_source(name))
        };
        let derived: Vec<String> =
            all.iter().filter(|name| is_derived(name)).map(|&name| name.to_owned()).collect();
        let is_told_by_names = all.iter().all(|name| is_derived(name) == is_known_interaction_source(name));
        Ok((!is_told_by_names).then_some(derived))
    }

    fn source(&self, file: &Path) -> Source<'a> {
        Source::file(crate::import::recipe::located(self.base, file), self.advance)
    }

    /// Notes a file as read to its end.
    fn read(&mut self, file: &Path, digest: &str) {
        self.sources.push(format!("{} {digest}", file.display()));
    }

    /// Refuses a source that loses too much of itself.
    fn check_loss(&self, path: &Path, tally: &RowTally) -> Result<(), Error> {
        let rows = tally.rows.saturating_sub(tally.skipped_rows());
        let left_out = tally.unresolved.rows();
        let share = left_out as f64 / rows.max(1) as f64;
        if share <= MAX_LEFT_OUT || self.recipe.allow_missing {
            return Ok(());
        }
        let examples = tally.unresolved.examples();
        let hint = match examples.iter().find_map(|name| LooksLike::of(name).map(|look| (name, look))) {
            Some((name, look)) => {
                format!("; {name:?} is one of those that look like {}: {ADVICE}", look.plural())
            }
            None => String::new(),
        };
        Err(fault::too_many_unknown(left_out, rows, 100.0 * share, &examples, &hint).in_file(path))
    }

    fn genes(&mut self) -> Result<Vec<(PathBuf, Vec<ListedGene>)>, Error> {
        // A dataset of the Python system brings its gene set along.
        let implied: Vec<GeneSource> = match self.recipe.screens.as_slice() {
            [ScreenSource::Torchcell { file, .. }, ..] if self.recipe.genes.is_empty() => {
                vec![GeneSource::Torchcell { file: file.clone() }]
            }
            _ => Vec::new(),
        };
        let mut all = Vec::new();
        for given in self.recipe.genes.iter().chain(&implied) {
            let (file, listed, rows) = match given {
                GeneSource::Sgd { file, types, qualifiers } => {
                    let source = self.source(file);
                    let (listed, rows) = sgd::read(&source, types, qualifiers)?;
                    self.read(file, &source.digest());
                    (file.clone(), listed, rows)
                }
                GeneSource::List { file } => {
                    let source = self.source(file);
                    let listed = list::read(&source)?;
                    self.read(file, &source.digest());
                    let rows = listed.len() as u64;
                    (file.clone(), listed, rows)
                }
                GeneSource::Torchcell { file } => {
                    let folder = file.join("processed");
                    let set = if self.base.join(&folder).is_dir() { folder } else { file.clone() }
                        .join("gene_set.json");
                    let path = self.base.join(&set);
                    if path.metadata().is_ok_and(|found| !found.is_file()) {
                        let found = fault::something_else(
                            "a pipe, a device or a folder".to_owned(),
                            "a file".to_owned(),
                        );
                        return Err(found.in_file(&path));
                    }
                    let source = self.source(&set);
                    let listed = lmdb::read_gene_set(&source)?;
                    self.read(&set, &source.digest());
                    let rows = listed.len() as u64;
                    (set, listed, rows)
                }
            };
            let shown = file.display().to_string();
            self.report.gene_sources.push(GeneReport { file: shown, rows, ..GeneReport::default() });
            all.push((file, listed));
        }
        if self.recipe.has_genes_from_screens() {
            all.push(self.genes_of_screens()?);
        }
        if all.is_empty() {
            let text = "there are no genes; give some with --genes sgd:SGD_features.tab or --genes list:FILE, or a screen \
                        that names them: --screen FILE";
            return Err(fault::request(text.to_owned()));
        }
        Ok(all)
    }

    /// The genes that the screens name, in alphabetical order.
    fn genes_of_screens(&mut self) -> Result<(PathBuf, Vec<ListedGene>), Error> {
        let mut named = NamedGenes::default();
        let mut rows = 0;
        let mut files = Vec::new();
        for given in &self.recipe.screens {
            rows += self.screen_genes(given, &mut named)?;
            files.push(given.file().display().to_string());
        }
        if named.is_empty() {
            return Err(fault::empty("row with a score"));
        }
        let file = files.join(", ");
        let (genes, name_kinds) = named.into_genes();
        self.report.gene_sources.push(GeneReport {
            file: file.clone(),
            rows,
            name_kinds: Some(name_kinds),
            ..GeneReport::default()
        });
        Ok((PathBuf::from(file), genes))
    }

    /// The union of the lists in their order, with every name they give.
    fn table(
        &mut self,
        lists: Vec<(PathBuf, Vec<ListedGene>)>,
    ) -> Result<(GeneTable, Names, Option<GenePositions>), Error> {
        let mut seen = HashSet::new();
        let mut genes: Vec<Gene> = Vec::new();
        let mut aliases: Vec<(u32, String)> = Vec::new();
        let mut positions = Vec::new();
        let several = lists.len() > 1;
        for ((file, listed), report) in lists.into_iter().zip(&mut self.report.gene_sources) {
            let before = seen.clone();
            report.altered_names = altered(listed.iter().map(|listed| listed.gene.systematic.as_str()));
            for ListedGene { gene, aliases: more, position } in listed {
                let key = gene.systematic.to_uppercase();
                if several && before.contains(&key) {
                    report.left_out += 1;
                    continue;
                }
                if !seen.insert(key) {
                    let expected = "a gene that the list names once".to_owned();
                    return Err(fault::bad_value(gene.systematic, expected).in_file(self.base.join(file)));
                }
                report.genes += 1;
                aliases.extend(more.into_iter().map(|alias| (genes.len() as u32, alias)));
                genes.push(gene);
                positions.push(position);
            }
        }
        let table = GeneTable::new(genes)?;
        let mut names = Names::new(&table);
        for (gene, alias) in aliases {
            names.claim(&alias, GeneId(gene), NamePriority::Alias);
        }
        Ok((table, names, GenePositions::new(positions)))
    }

    fn aliases(&mut self, names: &mut Names) -> Result<(), Error> {
        for given in &self.recipe.aliases {
            let file = given.file();
            let source = self.source(file);
            let added = match given {
                AliasSource::Sgd { .. } => aliases::read_sgd(&source, names)?,
                AliasSource::String { .. } => aliases::read_string(&source, names)?,
                AliasSource::Table { gene, alias, .. } => aliases::read_table(&source, names, gene, alias)?,
            };
            self.read(file, &source.digest());
            self.report.gene_sources.push(GeneReport {
                file: file.display().to_string(),
                rows: added.rows,
                names: added.names,
                left_out: added.unknown,
                ..GeneReport::default()
            });
        }
        Ok(())
    }
}

fn describe(samples: &Samples, report: &mut SampleReport) {
    report.count = samples.len();
    report.sets_with_several_samples = samples.repeated_sets(0..samples.len() as u32);
    for sample in samples.iter() {
        *report.orders.entry(sample.genes.len()).or_default() += 1;
        match report.kinds.get_mut(sample.kind) {
            Some(count) => *count += 1,
            None => {
                report.kinds.insert(sample.kind.to_owned(), 1);
            }
        }
    }
}
