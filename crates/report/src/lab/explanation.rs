//! Explanations of one prediction.

use super::accuracy::dash;
use super::evaluation::lines;
use super::prediction::{cautions, unknown_sentences};
use super::regimes::accuracy_sentence;
use crate::page::{Column, Diagram, DiagramNode, Medium, Page, Section, Table, effect_colour};
use crate::units::{count, counted, figure};
use knockout_predict::explain::{Explanation, GeneName, KernelNetwork, NotLeftOut, Reliability, Similar};
use knockout_solve::SumTerm;
use std::collections::BTreeMap;

/// Returns the page of an explanation of a prediction by the run of this name.
pub fn explanation_page(explanation: &Explanation, run: &str) -> Page {
    let names: Vec<&str> = explanation.genes.iter().map(|gene| &gene.name[..]).collect();
    let measured = explanation.measured.map_or_else(
        || ", not measured".to_owned(),
        |measured| format!(", measured {:.4} ({} part)", measured.score, measured.part.unwrap_or("no")),
    );
    let sd = explanation.sd.map_or_else(String::new, |sd| format!(" (standard deviation {sd:.4})"));
    let headline = format!("{}: predicted {:.4}{sd}{measured}", names.join(" "), explanation.prediction);
    let accuracy = explanation.accuracy.as_ref();
    let accuracy = accuracy.map(|found| format!("accuracy (Pearson), {}", accuracy_sentence(found)));
    let Explanation { essential, linkage, distance, .. } = explanation;
    let cautions = cautions(essential.as_deref(), *linkage, *distance).collect::<Vec<_>>().join(", ");
    let cautions = (!cautions.is_empty()).then(|| format!("before a test, consider: {cautions}"));
    let mut sections = Vec::new();
    // A solved model leaves no neighbours out, but it may use similar profiles.
    if !explanation.similar.is_empty() {
        let drawing = Section::new("profiles", "The set and the most similar profiles").only(Medium::Html);
        sections.push(drawing.with(diagram_of_profiles(explanation)));
    } else if !explanation.neighbours.is_empty() || !explanation.edges.is_empty() {
        let drawing = Section::new("neighbourhood", "The set and its neighbours").only(Medium::Html);
        sections.push(drawing.with(diagram(explanation)));
    }
    sections.extend(sum_sections(explanation));
    sections.extend(tables(explanation));
    if !explanation.samples.is_empty() {
        sections.push(samples_section(explanation));
    }
    sections.extend(lines("reliability", remarks(explanation)));
    Page {
        title: names.join(" "),
        subtitle: run.to_owned(),
        made_by: "knockout explain".to_owned(),
        findings: [headline].into_iter().chain(accuracy).chain(cautions).collect(),
        sections,
        ..Page::default()
    }
}

/// Draws the genes of similar profiles around those of the set, each joined to the gene whose profile it resembles.
fn diagram_of_profiles(explanation: &Explanation) -> Diagram {
    let mut effects: BTreeMap<u32, f64> = BTreeMap::new();
    let mut drawn: Vec<&GeneName> = explanation.genes.iter().collect();
    for similar in &explanation.similar {
        for gene in &similar.genes {
            *effects.entry(gene.index).or_default() += similar.effect / similar.genes.len() as f64;
            if !drawn.iter().any(|other| other.index == gene.index) {
                drawn.push(gene);
            }
        }
    }
    let largest = effects.values().map(|effect| effect.abs()).fold(0.0, f64::max);
    let node = |(at, gene): (usize, &&GeneName)| DiagramNode {
        name: gene.name.clone(),
        is_deleted: at < explanation.genes.len(),
        colour: match effects.get(&gene.index) {
            Some(&effect) if at >= explanation.genes.len() => effect_colour(effect, largest),
            _ => String::new(),
        },
        ..DiagramNode::default()
    };
    let position = |gene: &GeneName| drawn.iter().position(|drawn| drawn.index == gene.index);
    let thickness = |similarity: f64| 1 + (6.0 * similarity).round() as usize;
    let edges = explanation.similar.iter().flat_map(|similar| {
        let ends = similar.genes.iter().flat_map(|gene| similar.like.iter().map(move |like| (gene, like)));
        ends.filter_map(|(gene, like)| {
            Some((position(gene)?, position(like)?, thickness(similar.similarity)))
        })
    });
    Diagram {
        nodes: drawn.iter().enumerate().map(node).collect(),
        edges: edges.collect(),
        caption: "In the middle the set. Around it genes with similar profiles, joined to the gene that they resemble; thicker lines: \
                  more similar. Colour: what the measured score of the similar gene adds, red below and green above zero."
            .to_owned(),
    }
}

/// Returns the name of a part of a sum for readers.
fn part_name(part: &str) -> String {
    match part {
        "intercept" => "mean of training".to_owned(),
        "additive" => "ridge of genes and query pairs".to_owned(),
        part => part.replace('_', " "),
    }
}

/// Returns the parts that add up to the prediction of a solved model, and the networks and profiles they use.
fn sum_sections(explanation: &Explanation) -> Vec<Section> {
    let Explanation { sum, kernel_networks, similar, .. } = explanation;
    let mut sections = Vec::new();
    if !sum.is_empty() {
        let columns = ["predicts", "weight", "adds"].map(Column::number);
        let row = |term: &SumTerm| {
            [
                part_name(&term.part),
                plain(term.value),
                format!("{:.3}", term.weight),
                signed(term.contribution),
            ]
        };
        let total: f64 = sum.iter().map(|term| term.contribution).sum();
        let last = ["sum".to_owned(), String::new(), String::new(), plain(total)];
        let table = Table::new([Column::text("part")].into_iter().chain(columns));
        sections.push(
            Section::new("parts", "Parts of the model")
                .note("Predictions of the parts are around the mean training score.")
                .with(table.with_rows(sum.iter().map(row).chain([last]))),
        );
    }
    if !kernel_networks.is_empty() {
        let columns = ["share", "edges", "shared"].map(Column::number);
        let row = |network: &KernelNetwork| {
            let KernelNetwork { network, weight, edges, shared } = network;
            [network.clone(), format!("{:.1} %", 100.0 * weight), count(*edges), count(*shared)]
        };
        let table = Table::new([Column::text("network")].into_iter().chain(columns));
        sections.push(
            Section::new("kernel", "Networks of the network kernel")
                .note("Edges: between genes of the set. Shared: neighbours of two of them.")
                .with(table.with_rows(kernel_networks.iter().map(row))),
        );
    }
    if !similar.is_empty() {
        let weight =
            sum.iter().find(|term| term.part == "profile_neighbours").map_or(0.0, |term| term.weight);
        let names =
            |genes: &[GeneName]| genes.iter().map(|gene| gene.name.as_str()).collect::<Vec<_>>().join(" ");
        let row = |similar: &Similar| {
            let like = format!("{} is like {}", names(&similar.genes), names(&similar.like));
            let similarity = format!("{:.3}", similar.similarity);
            [like, similarity, similar.set.join(" "), plain(similar.score), signed(weight * similar.effect)]
        };
        let columns = [
            Column::text("profile"),
            Column::number("similarity"),
            Column::text("measured set"),
            Column::number("score"),
            Column::number("adds"),
        ];
        sections.push(
            Section::new("similar", "Most similar profiles")
                .note("Adds: the share in the part of profile neighbours.")
                .with(Table::new(columns).with_rows(similar.iter().map(row))),
        );
    }
    sections
}

/// Formats a difference; a value that rounds to zero has no sign.
fn signed(value: f64) -> String {
    if value.abs() < 5e-5 { "0.0000".to_owned() } else { format!("{value:+.4}") }
}

fn plain(value: f64) -> String {
    // Without the sign of a value that rounds to zero.
    if value.abs() < 5e-5 { "0.0000".to_owned() } else { format!("{value:.4}") }
}

/// Share of the prediction around the mean score that an effect must have for the full colour.
const LEAST_SHARE: f64 = 0.05;

fn diagram(explanation: &Explanation) -> Diagram {
    // Effects that are small beside the prediction stay pale.
    let base = explanation.parts.first().map_or(0.0, |mean| mean.predicted);
    let least = LEAST_SHARE * (explanation.prediction - base).abs();
    let effects = explanation.neighbours.iter().map(|neighbour| neighbour.effect.abs());
    let largest = effects.fold(least, f64::max);
    let around = explanation.neighbours.iter().map(|neighbour| &neighbour.gene);
    let drawn: Vec<&GeneName> = explanation.genes.iter().chain(around).collect();
    let position = |gene: u32| drawn.iter().position(|drawn| drawn.index == gene);
    let node = |(at, gene): (usize, &&GeneName)| DiagramNode {
        name: gene.name.clone(),
        is_deleted: at < explanation.genes.len(),
        colour: at
            .checked_sub(explanation.genes.len())
            .map_or_else(String::new, |at| effect_colour(explanation.neighbours[at].effect, largest)),
        ..DiagramNode::default()
    };
    let edges = explanation.edges.iter();
    Diagram {
        nodes: drawn.iter().enumerate().map(node).collect(),
        edges: edges
            .filter_map(|edge| Some((position(edge.source)?, position(edge.target)?, edge.networks)))
            .collect(),
        caption: "Red in the middle: the deleted genes. Around them their neighbours, coloured by effect, red below and green above zero. \
                  Thicker lines: more networks."
            .to_owned(),
    }
}

/// Heading of the networks of a neighbour.
const NEXT_TO: &str = "next to the set in";

/// Returns the sections with a table each.
fn tables(explanation: &Explanation) -> Vec<Section> {
    let section = |title: &str, columns: &[&str], rows: Vec<Vec<String>>| {
        let column = |(index, name): (usize, &&str)| match *name {
            NEXT_TO => Column::text(*name).wide_only(),
            _ if index == 0 || index > 3 => Column::text(*name),
            _ => Column::number(*name),
        };
        let table = Table::new(columns.iter().enumerate().map(column)).with_rows(rows);
        let words = title.split([' ', ',', ':']).take(2).collect::<Vec<_>>();
        Section::new(words.join("-").to_lowercase(), title).with(table)
    };
    let parts = explanation.parts.iter().map(|term| {
        let what = if term.genes.is_empty() { "mean of training".to_owned() } else { term.genes.join(" ") };
        vec![what, plain(term.predicted), signed(term.contribution)]
    });
    let networks = explanation.networks.iter().map(|network| {
        vec![network.network.clone(), signed(network.effect), plain(network.without), count(network.edges)]
    });
    let neighbours = explanation.neighbours.iter().map(|neighbour| {
        let networks = neighbour.networks.join(", ");
        vec![neighbour.gene.name.clone(), signed(neighbour.effect), plain(neighbour.without), networks]
    });
    let nearest = explanation.nearest.iter().map(|near| {
        let part = near.part.map_or_else(dash, str::to_owned);
        vec![near.genes.join(" "), near.shared.to_string(), plain(near.score), plain(near.prediction), part]
    });
    let mut sections =
        vec![section("Contributions of genes", &["genes", "predicted alone", "adds"], parts.collect())];
    if explanation.not_left_out.is_none() {
        sections.push(section(
            "Networks, left out one at a time",
            &["network", "effect", "without it", "edges of the set"],
            networks.collect(),
        ));
        sections.push(section(
            "Neighbours, cut off one at a time",
            &["neighbour", "effect", "without it", NEXT_TO],
            neighbours.collect(),
        ));
    }
    let title = if explanation.nearest.is_empty() {
        "Nearest measured samples: none has a gene of the set"
    } else {
        "Nearest measured samples"
    };
    sections.push(section(title, &["genes", "shared", "measured", "predicted", "part"], nearest.collect()));
    sections
}

/// Lists the samples of a set.
fn samples_section(explanation: &Explanation) -> Section {
    let columns =
        [Column::text("alleles or kind"), Column::number("measured"), Column::number("measurements")];
    let rows = explanation.samples.iter().map(|sample| {
        [sample.perturbation.clone(), format!("{:.4}", sample.score), count(sample.measurements)]
    });
    Section::new("samples", "Samples of the set").with(Table::new(columns).with_rows(rows))
}

fn reliability(name: &str, found: &Reliability) -> String {
    if found.metrics.count == 0 {
        return format!("{name}: none, so their accuracy is unknown");
    }
    let same = found.same_side.map_or_else(dash, |share| format!("{:.0} %", 100.0 * share));
    format!(
        "{name}: {}, Pearson {}, RMSE {}, on the right side of the mean {same}",
        counted(found.metrics.count, "sample"),
        figure(found.metrics.pearson),
        figure(found.metrics.rmse)
    )
}

/// Explains why networks and neighbours are not left out, how reliable the model is, and what is unknown.
fn remarks(explanation: &Explanation) -> Vec<String> {
    let reason = explanation.not_left_out.map(|reason| match reason {
        NotLeftOut::Solved => {
            "networks and neighbours are not left out: a solved model has them in its weights; to leave one out, solve it again \
             without it (model.networks of network-kernel)"
        }
        NotLeftOut::NoNetworks => "the dataset has no networks to leave out",
    });
    let of_size = format!("test samples of {}", counted(explanation.genes.len(), "gene"));
    // The accuracy is among the findings.
    let regime = explanation.accuracy.is_none().then(|| format!("regime: {}", explanation.regime.title()));
    let unknown = unknown_sentences(&[(explanation.essential.as_deref(), explanation.linkage)]);
    let measured = [
        reliability(&format!("{of_size} that share a gene with the set"), &explanation.nearby),
        reliability(&of_size, &explanation.overall),
    ];
    reason.map(str::to_owned).into_iter().chain(regime).chain(measured).chain(unknown).collect()
}
