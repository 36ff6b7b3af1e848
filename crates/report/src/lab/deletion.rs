//! One gene of a dataset, and the effect of deleting some.

use super::evaluation::lines;
use crate::page::{Column, Page, Section, Table};
use crate::units::{count, counted};
use knockout_base::error::Result;
use knockout_data::cell::{Deletion, GeneId, Reach};
use knockout_data::screen::Dataset;
use serde::Serialize;
use std::collections::BTreeSet;

/// Neighbours and terms that are named in text; JSON has all.
const NAMED: usize = 8;

/// Document of `data show --gene`.
#[derive(Debug, Clone, Serialize)]
pub struct GeneDocument {
    /// Version of this document: 1.
    pub schema: u32,
    /// Systematic name.
    pub systematic: String,
    /// Standard name.
    pub standard: Option<String>,
    /// Row of the gene table.
    pub index: usize,
    /// Its neighbours in every network.
    pub networks: Vec<GeneNeighbours>,
    /// Its terms in every set of annotations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub annotations: Vec<GeneTerms>,
    /// Reactions that stop when the gene alone is deleted.
    pub reactions_stopped: usize,
    /// Samples in which it is deleted.
    pub samples: usize,
    /// Mean score of those samples.
    pub mean_score: Option<f64>,
}

/// Neighbours of a gene in a network.
#[derive(Debug, Clone, Serialize)]
pub struct GeneNeighbours {
    /// Name of the network.
    pub network: String,
    /// Edges of the gene.
    pub edges: usize,
    /// Names of its neighbours.
    pub neighbours: Vec<String>,
}

/// Terms of a gene in a set of annotations.
#[derive(Debug, Clone, Serialize)]
pub struct GeneTerms {
    /// Name of the set.
    pub annotations: String,
    /// Terms of the gene.
    pub terms: Vec<String>,
}

/// Returns the standard name of a gene, otherwise the systematic one.
fn name(dataset: &Dataset, gene: GeneId) -> String {
    dataset.cell.genes().genes()[gene.index()].name().to_owned()
}

impl GeneDocument {
    /// Describes a gene.
    pub fn of(dataset: &Dataset, id: GeneId) -> Result<Self> {
        let gene = &dataset.cell.genes().genes()[id.index()];
        let deletion = Deletion::new(&[id])?;
        let networks = dataset.cell.networks().iter().map(|network| {
            let edges = network.incident(id);
            let ends = edges
                .iter()
                .flat_map(|&edge| [network.sources()[edge as usize], network.targets()[edge as usize]]);
            let others: BTreeSet<u32> = ends.filter(|&end| end as usize != id.index()).collect();
            GeneNeighbours {
                network: network.name().to_owned(),
                edges: edges.len(),
                neighbours: others.into_iter().map(|other| name(dataset, GeneId(other))).collect(),
            }
        });
        let annotations = dataset.cell.annotations().iter().map(|set| {
            let terms = set.terms_of(id.0).iter().map(|&term| set.terms()[term as usize].clone());
            GeneTerms { annotations: set.name().to_owned(), terms: terms.collect() }
        });
        let samples = &dataset.samples;
        let scores: Vec<f64> = (0..samples.len())
            .filter(|&row| samples.genes(row).contains(&(id.index() as u32)))
            .map(|row| samples.scores()[row])
            .collect();
        Ok(Self {
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
}

/// Returns the page of a gene.
pub fn gene_page(gene: &GeneDocument) -> Page {
    let standard = gene.standard.as_ref().map(|name| format!("{name}, ")).unwrap_or_default();
    let networks = Table::new([
        Column::text("network"),
        Column::number("edges"),
        Column::number("neighbours"),
        Column::text(""),
    ]);
    let networks = networks.with_rows(gene.networks.iter().map(|network| {
        let neighbours = &network.neighbours;
        [network.network.clone(), count(network.edges), count(neighbours.len()), first_few(neighbours)]
    }));
    let mut sections = vec![Section::new("networks", "").with(networks)];
    if !gene.annotations.is_empty() {
        let table = Table::new([Column::text("annotations"), Column::number("terms"), Column::text("")]);
        let rows = gene.annotations.iter();
        let rows = rows.map(|set| [set.annotations.clone(), count(set.terms.len()), first_few(&set.terms)]);
        sections.push(Section::new("annotations", "").with(table.with_rows(rows)));
    }
    let mean = gene.mean_score.map(|mean| format!(", mean score {mean:.4}")).unwrap_or_default();
    let effects = [
        format!("reactions    {} stop without it", count(gene.reactions_stopped)),
        format!("samples      it is perturbed in {}{mean}", count(gene.samples)),
    ];
    sections.extend(lines("effects", effects));
    Page {
        title: format!("{standard}{}", gene.systematic),
        made_by: "knockout data show".to_owned(),
        findings: vec![format!("{standard}{} (row {} of the gene table)", gene.systematic, gene.index)],
        sections,
        ..Page::default()
    }
}

/// Joins the first few of some names.
fn first_few(names: &[String]) -> String {
    let named = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > NAMED { named + ", …" } else { named }
}

/// Effect of deleting genes.
#[derive(Debug, Clone, Serialize)]
pub struct DeletionDocument {
    /// Names of the genes.
    pub genes: Vec<String>,
    /// Score of the sample, if a sample was described.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Every network with its removed edges and all edges.
    pub edges: Vec<(String, usize, usize)>,
    /// Reactions that stop.
    pub reactions_stopped: usize,
    /// Genes that change within 1, 2 and 3 message passes.
    pub reach: [usize; 3],
    /// Scores of the samples with exactly these genes deleted, if genes were described.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<Vec<f64>>,
}

impl DeletionDocument {
    /// Describes the deletion of genes, with the measured scores of exactly these genes.
    pub fn of(dataset: &Dataset, deletion: &Deletion) -> Self {
        let samples = &dataset.samples;
        let rows = (0..samples.len()).filter(|&row| samples.deletion(row).genes() == deletion.genes());
        let measured = rows.map(|row| samples.scores()[row]).collect();
        Self { measured: Some(measured), ..Self::effect(dataset, deletion) }
    }

    fn effect(dataset: &Dataset, deletion: &Deletion) -> Self {
        let networks = dataset.cell.networks().iter().map(|network| {
            (network.name().to_owned(), deletion.removed_edges(network).len(), network.edge_count())
        });
        Self {
            genes: deletion.genes().iter().map(|&gene| name(dataset, gene)).collect(),
            score: None,
            edges: networks.collect(),
            reactions_stopped: dataset.cell.metabolism().map_or(0, |m| deletion.stopped_reactions(m).len()),
            reach: Reach::new(&dataset.cell).within(deletion),
            measured: None,
        }
    }
}

/// Returns the page of a deletion.
pub fn deletion_page(deletion: &DeletionDocument) -> Page {
    let columns = [Column::text("network"), Column::number("edges removed"), Column::number("of")];
    let rows = deletion.edges.iter().map(|(name, removed, all)| [name.clone(), count(*removed), count(*all)]);
    let mut sections = vec![Section::new("networks", "").with(Table::new(columns).with_rows(rows))];
    let measured = deletion.measured.as_ref().map(|scores| {
        let scores: Vec<String> = scores.iter().map(|score| format!("{score:.4}")).collect();
        match &scores[..] {
            [] => "no sample has exactly these genes deleted".to_owned(),
            scores => format!("measured: {}", scores.join(", ")),
        }
    });
    sections.extend(lines("measured", measured));
    let score = deletion.score.map(|score| format!(" (score {score:.4})")).unwrap_or_default();
    let [one, two, three] = deletion.reach.map(count);
    let genes = deletion.genes.join(", ");
    Page {
        title: format!("Deletion of {genes}"),
        made_by: "knockout data delete".to_owned(),
        findings: vec![format!(
            "deleting {genes}{score} stops {} and changes {one} / {two} / {three} genes in 1 / 2 / 3 message passes",
            counted(deletion.reactions_stopped, "reaction")
        )],
        sections,
        ..Page::default()
    }
}
