//! Hits as files for other programs: a workbook of Excel, and a network for Cytoscape.

use super::prediction::{HitDocument, HitList};
use knockout_base::error::Result;
use knockout_data::screen::Regime;
use knockout_predict::{Enrichment, FalseShare, MeasuredSample, Sheet, SheetCell, workbook};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::f64::consts::TAU;

/// Returns a workbook with a sheet for each list of hits, and one for its enriched terms.
pub fn hits_workbook(lists: &[HitList<'_>]) -> Result<Vec<u8>> {
    let mut sheets: Vec<Sheet> = lists.iter().map(hit_sheet).collect();
    sheets.extend(lists.iter().filter_map(|list| Some(term_sheet(list.name, list.enrichment?))));
    workbook(&sheets)
}

fn hit_sheet(list: &HitList<'_>) -> Sheet {
    let order = list.hits.iter().map(|hit| hit.genes.len()).max().unwrap_or(0);
    let columns =
        |name: &'static str| (1..=order).map(move |index| SheetCell::from(format!("{name}_{index}")));
    let last = [
        "prediction",
        "sd",
        "false_share",
        "false_low",
        "false_high",
        "regime",
        "measured",
        "essential",
        "linkage",
        "distance",
        "measured_score",
        "measured_part",
        "samples",
    ];
    let header = columns("gene").chain(columns("name")).chain(last.map(SheetCell::from)).collect();
    let row = |hit: &HitDocument| {
        let texts = |texts: &[String]| -> Vec<SheetCell> {
            (0..order).map(|index| texts.get(index).map_or("", String::as_str).into()).collect()
        };
        let share = |of: fn(&FalseShare) -> f64| SheetCell::Number(hit.false_share.as_ref().map(of));
        let mut row = [texts(&hit.genes), texts(&hit.names)].concat();
        row.extend([
            hit.prediction.into(),
            hit.sd.into(),
            share(|share| share.share),
            share(|share| share.low),
            share(|share| share.high),
            hit.regime.map_or("unknown", Regime::name).into(),
            if hit.measured { "yes" } else { "no" }.into(),
            hit.essential_cell().into(),
            hit.linkage.name().into(),
            hit.distance.map(f64::from).into(),
            hit.measured_score.into(),
            hit.measured_part.unwrap_or_default().into(),
            MeasuredSample::cell(&hit.samples).into(),
        ]);
        row
    };
    Sheet {
        name: list.name.to_owned(),
        rows: [header].into_iter().chain(list.hits.iter().map(row)).collect(),
    }
}

fn term_sheet(list: &str, found: &Enrichment) -> Sheet {
    let header = ["annotations", "term", "hits", "candidates", "expected", "p", "q", "genes"];
    let rows = found.terms.iter().map(|term| -> Vec<SheetCell> {
        vec![
            term.annotations.clone().into(),
            term.term.clone().into(),
            (term.hits as f64).into(),
            (term.candidates as f64).into(),
            term.expected.into(),
            term.p.into(),
            term.q.into(),
            term.genes.join(" ").into(),
        ]
    });
    let header = header.map(SheetCell::from).to_vec();
    Sheet { name: format!("terms of {list}"), rows: [header].into_iter().chain(rows).collect() }
}

/// Returns the network of hits as Cytoscape.js JSON, which Cytoscape opens from a file: genes are nodes and pairs are edges. A larger set
/// is a node of its own with an edge to each of its genes.
pub fn hits_network(name: &str, lists: &[HitList<'_>]) -> String {
    let mut nodes: BTreeMap<&str, Value> = BTreeMap::new();
    let (mut sets, mut edges) = (Vec::new(), Vec::new());
    for list in lists {
        for hit in list.hits {
            for (gene, standard) in hit.genes.iter().zip(&hit.names) {
                let is_essential = hit.essential.as_ref().map(|essential| essential.contains(standard));
                let mut node = json!({"id": gene, "name": standard, "systematic": gene, "kind": "gene"});
                if let Some(is_essential) = is_essential {
                    node["essential"] = is_essential.into();
                }
                nodes.insert(gene, node);
            }
            let mut data = json!({
                "name": hit.names.join(" "),
                "interaction": list.name,
                "prediction": hit.prediction,
                "strength": hit.prediction.abs(),
                "regime": hit.regime.map_or("unknown", Regime::name),
                "measured": hit.measured,
                "linkage": hit.linkage.name(),
            });
            if let Some(sd) = hit.sd {
                data["sd"] = sd.into();
            }
            if let Some(score) = hit.measured_score {
                data["measured_score"] = score.into();
            }
            if let Some(part) = hit.measured_part {
                data["measured_part"] = part.into();
            }
            if !hit.samples.is_empty() {
                data["samples"] = MeasuredSample::cell(&hit.samples).into();
            }
            if let Some(share) = &hit.false_share {
                data["false_share"] = share.share.into();
            }
            let id = format!("{} {}", list.name, hit.genes.join(" "));
            if let [a, b] = &hit.genes[..] {
                data["id"] = id.into();
                data["source"] = a.as_str().into();
                data["target"] = b.as_str().into();
                edges.push(data);
                continue;
            }
            for gene in &hit.genes {
                let edge = json!({
                    "id": format!("{id}: {gene}"), "source": id, "target": gene, "interaction": "member", "prediction": hit.prediction,
                });
                edges.push(edge);
            }
            data["id"] = id.into();
            data["kind"] = "set".into();
            sets.push(data);
        }
    }
    let nodes: Vec<Value> = nodes.into_values().chain(sets).collect();
    // Without positions all nodes would lie on each other until a layout is chosen.
    let radius = 20.0 * nodes.len() as f64;
    let count = nodes.len().max(1) as f64;
    let node = |(index, data): (usize, Value)| {
        let angle = TAU * index as f64 / count;
        json!({"data": data, "position": {"x": (radius * angle.cos()).round(), "y": (radius * angle.sin()).round()}})
    };
    let document = json!({
        "format_version": "1.0",
        "generated_by": "knockout",
        "target_cytoscapejs_version": "~2.1",
        "data": {"name": name, "shared_name": name},
        "elements": {
            "nodes": nodes.into_iter().enumerate().map(node).collect::<Vec<_>>(),
            "edges": edges.into_iter().map(|data| json!({"data": data})).collect::<Vec<_>>(),
        },
    });
    format!("{document:#}\n")
}
