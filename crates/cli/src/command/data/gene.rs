//! One gene of a dataset: its names, its neighbours in every network, its terms, its samples.

use crate::failure::{Result, request_error};
use knockout_data::cell::{Deletion, GeneId};
use knockout_data::screen::Dataset;
use knockout_report::page::{Column, Table};
use knockout_report::units::count;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Neighbours and terms that are named in text; JSON has all.
const NAMED: usize = 8;

/// Content of a dataset about a gene.
#[derive(Serialize)]
pub(super) struct GeneDocument {
    schema: u32,
    systematic: String,
    standard: Option<String>,
    index: usize,
    networks: Vec<InNetwork>,
    /// Its terms in every set of annotations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    annotations: Vec<InAnnotations>,
    /// Reactions that stop when the gene alone is deleted.
    reactions_stopped: usize,
    /// Samples in which it is deleted.
    samples: usize,
    /// Their mean score.
    mean_score: Option<f64>,
}

#[derive(Serialize)]
struct InNetwork {
    network: String,
    edges: usize,
    neighbours: Vec<String>,
}

#[derive(Serialize)]
struct InAnnotations {
    annotations: String,
    terms: Vec<String>,
}

/// A gene by a name of it; an unknown one is an error with names like it.
pub(super) fn find(dataset: &Dataset, wanted: &str) -> Result<GeneId> {
    let genes = dataset.cell.genes();
    if genes.is_empty() {
        return Err(request_error("the dataset has no genes: its gene table is empty"));
    }
    genes.find(wanted).ok_or_else(|| {
        let similar = genes.similar(wanted);
        let tip = if similar.is_empty() {
            format!("name one as in genes.parquet, such as {}", genes.genes()[0].systematic)
        } else {
            format!("did you mean {}?", similar.join(", "))
        };
        request_error(format!("the dataset has no gene {wanted:?}; {tip}"))
    })
}

/// Returns the standard name of a gene, otherwise the systematic one.
pub(super) fn name(dataset: &Dataset, gene: GeneId) -> String {
    dataset.cell.genes().genes()[gene.index()].name().to_owned()
}

pub(super) fn describe(dataset: &Dataset, id: GeneId) -> Result<GeneDocument> {
    let gene = &dataset.cell.genes().genes()[id.index()];
    let deletion =
        Deletion::new(&[id]).map_err(|error| request_error(format!("cannot look at it: {error}")))?;
    let networks = dataset.cell.networks().iter().map(|network| {
        let edges = network.incident(id);
        let ends = edges
            .iter()
            .flat_map(|&edge| [network.sources()[edge as usize], network.targets()[edge as usize]]);
        let others: BTreeSet<u32> = ends.filter(|&end| end as usize != id.index()).collect();
        InNetwork {
            network: network.name().to_owned(),
            edges: edges.len(),
            neighbours: others.into_iter().map(|other| name(dataset, GeneId(other))).collect(),
        }
    });
    let annotations = dataset.cell.annotations().iter().map(|set| {
        let terms = set.terms_of(id.0).iter().map(|&term| set.terms()[term as usize].clone());
        InAnnotations { annotations: set.name().to_owned(), terms: terms.collect() }
    });
    let samples = &dataset.samples;
    let scores: Vec<f64> = (0..samples.len())
        .filter(|&row| samples.genes(row).contains(&(id.index() as u32)))
        .map(|row| samples.scores()[row])
        .collect();
    Ok(GeneDocument {
        schema: 1,
        systematic: gene.systematic.clone(),
        standard: gene.standard.clone(),
        index: id.index(),
        networks: networks.collect(),
        annotations: annotations.collect(),
        reactions_stopped: dataset.cell.metabolism().map_or(0, |m| deletion.stopped_reactions(m).len()),
        samples: scores.len(),
        mean_score: (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64),
    })
}

pub(super) fn text(gene: &GeneDocument) -> String {
    let standard = gene.standard.as_ref().map(|name| format!("{name}, ")).unwrap_or_default();
    let mut page = format!("{standard}{} (row {} of the gene table)\n\n", gene.systematic, gene.index);
    let mut table = Table::new([
        Column::text("network"),
        Column::number("edges"),
        Column::number("neighbours"),
        Column::text(""),
    ]);
    for network in &gene.networks {
        let named = some(&network.neighbours);
        let counts = [network.edges, network.neighbours.len()].map(count);
        table.row([vec![network.network.clone()], counts.to_vec(), vec![named]].concat());
    }
    page.push_str(&table.to_text());
    if !gene.annotations.is_empty() {
        let mut table = Table::new([Column::text("annotations"), Column::number("terms"), Column::text("")]);
        for set in &gene.annotations {
            table.row(vec![set.annotations.clone(), count(set.terms.len()), some(&set.terms)]);
        }
        write!(page, "\n{}", table.to_text()).ok();
    }
    writeln!(page, "\nreactions    {} stop without it", count(gene.reactions_stopped)).ok();
    let mean = gene.mean_score.map(|mean| format!(", mean score {mean:.4}")).unwrap_or_default();
    writeln!(page, "samples      it is deleted in {}{mean}", count(gene.samples)).ok();
    page
}

/// The first few of some names.
fn some(names: &[String]) -> String {
    let named = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > NAMED { named + ", …" } else { named }
}
