//! Explanations of one prediction.

use super::accuracy::dash;
use super::evaluation::lines;
use crate::page::{Column, Diagram, DiagramNode, Medium, Page, Section, Table};
use crate::units::{count, figure};
use knockout_predict::explain::{Explanation, GeneName, NotLeftOut, Reliability};

/// Returns the page of an explanation of a prediction by the run of this name.
pub fn explanation_page(explanation: &Explanation, run: &str) -> Page {
    let names: Vec<&str> = explanation.genes.iter().map(|gene| &gene.name[..]).collect();
    let measured = explanation
        .measured
        .map(|measured| format!(", measured {:.4} ({} part)", measured.score, measured.part.unwrap_or("no")));
    let sd = explanation.sd.map_or_else(String::new, |sd| format!(" (standard deviation {sd:.4})"));
    let headline = format!(
        "{}: predicted {:.4}{sd}{}",
        names.join(" "),
        explanation.prediction,
        measured.unwrap_or_default()
    );
    let mut sections = Vec::new();
    // Without neighbours and edges there is nothing to draw: a solved model leaves none out.
    if !explanation.neighbours.is_empty() || !explanation.edges.is_empty() {
        let drawing = Section::new("neighbourhood", "The set and its neighbours").only(Medium::Html);
        sections.push(drawing.with(diagram(explanation)));
    }
    sections.extend(tables(explanation));
    sections.extend(lines("reliability", remarks(explanation)));
    Page {
        title: names.join(" "),
        subtitle: run.to_owned(),
        made_by: "knockout explain".to_owned(),
        findings: vec![headline],
        sections,
        ..Page::default()
    }
}

fn diagram(explanation: &Explanation) -> Diagram {
    let around = explanation.neighbours.iter().map(|neighbour| &neighbour.gene);
    let drawn: Vec<&GeneName> = explanation.genes.iter().chain(around).collect();
    let position = |gene: u32| drawn.iter().position(|drawn| drawn.index == gene);
    let node = |(at, gene): (usize, &&GeneName)| DiagramNode {
        name: gene.name.clone(),
        is_deleted: at < explanation.genes.len(),
        ..DiagramNode::default()
    };
    let edges = explanation.edges.iter();
    Diagram {
        nodes: drawn.iter().enumerate().map(node).collect(),
        edges: edges
            .filter_map(|edge| Some((position(edge.source)?, position(edge.target)?, edge.networks)))
            .collect(),
        ..Diagram::default()
    }
}

/// Returns the sections with a table each.
fn tables(explanation: &Explanation) -> Vec<Section> {
    let section = |title: &str, columns: &[&str], rows: Vec<Vec<String>>| {
        let column = |(index, name): (usize, &&str)| {
            if index == 0 || index > 3 { Column::text(*name) } else { Column::number(*name) }
        };
        let table = Table::new(columns.iter().enumerate().map(column)).with_rows(rows);
        let words = title.split([' ', ',', ':']).take(2).collect::<Vec<_>>();
        Section::new(words.join("-").to_lowercase(), title).with(table)
    };
    // A value that rounds to zero has no sign.
    let signed = |value: f64| if value.abs() < 5e-5 { "0.0000".to_owned() } else { format!("{value:+.4}") };
    let plain = |value: f64| format!("{value:.4}");
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
            &["neighbour", "effect", "without it", "next to the set in"],
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

fn reliability(name: &str, found: &Reliability) -> String {
    if found.metrics.count == 0 {
        return format!("{name}: none, so their accuracy is unknown");
    }
    let same = found.same_side.map_or_else(dash, |share| format!("{:.0} %", 100.0 * share));
    format!(
        "{name}: {} samples, Pearson {}, RMSE {}, on the right side of the mean {same}",
        count(found.metrics.count),
        figure(found.metrics.pearson),
        figure(found.metrics.rmse)
    )
}

/// Explains why networks and neighbours are not left out, and how reliable the model is.
fn remarks(explanation: &Explanation) -> Vec<String> {
    let reason = explanation.not_left_out.map(|reason| match reason {
        NotLeftOut::Solved => {
            "networks and neighbours are not left out: a solved model has them in its weights; to leave one out, solve it again \
             without it (model.networks of network-kernel)"
        }
        NotLeftOut::NoNetworks => "the dataset has no networks to leave out",
    });
    let of_size = format!("test samples of {} genes", explanation.genes.len());
    let measured = [
        reliability(&format!("{of_size} that share a gene with the set"), &explanation.nearby),
        reliability(&of_size, &explanation.overall),
    ];
    reason.map(str::to_owned).into_iter().chain(measured).collect()
}
