//! Nodes on circles and the edges between them.

use crate::page::markup::escape;
use std::f64::consts::TAU;
use std::fmt::Write as _;

/// Deleted genes on an inner circle, their neighbours on an outer one, and edges.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagram {
    /// Nodes.
    pub nodes: Vec<DiagramNode>,
    /// Indices of the two nodes, and the number of networks that have the edge.
    pub edges: Vec<(usize, usize, usize)>,
    /// Sentence below the drawing; empty for that of deleted genes.
    pub caption: String,
}

/// A node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiagramNode {
    /// Text beside the node.
    pub name: String,
    /// Whether the gene is deleted.
    pub is_deleted: bool,
    /// Colour of the node; empty for that of its kind.
    pub colour: String,
    /// Address that the node leads to, relative to the page; empty for none.
    pub link: String,
}

/// Colours of effects below and above zero.
const EFFECTS: [&str; 2] = ["#c8435f", "#2f9163"];

/// Share of the largest effect below which an effect has no colour.
const LEAST_EFFECT: f64 = 0.002;

/// Returns the colour of an effect, red below and green above zero; stronger the closer it is to the largest one.
pub fn effect_colour(effect: f64, largest: f64) -> String {
    if effect.abs() < LEAST_EFFECT * largest || largest <= 0.0 {
        return String::new();
    }
    let strength = (100.0 * (0.15 + 0.85 * (effect.abs() / largest).min(1.0).sqrt())).round();
    format!("color-mix(in srgb, {} {strength}%, var(--track))", EFFECTS[usize::from(effect > 0.0)])
}

impl Diagram {
    pub(in crate::page) fn draw(&self, out: &mut String) {
        const SIDE: f64 = 440.0;
        const RADII: [f64; 2] = [60.0, 165.0];
        let count = |is_deleted: bool| self.nodes.iter().filter(|node| node.is_deleted == is_deleted).count();
        let mut seen = [0_usize; 2];
        let points: Vec<(f64, f64)> = self
            .nodes
            .iter()
            .map(|node| {
                let ring = usize::from(!node.is_deleted);
                let angle = TAU * seen[ring] as f64 / count(node.is_deleted).max(1) as f64 - TAU / 4.0;
                seen[ring] += 1;
                (SIDE / 2.0 + RADII[ring] * angle.cos(), SIDE / 2.0 + RADII[ring] * angle.sin())
            })
            .collect();
        writeln!(
            out,
            "<svg class=\"square\" viewBox=\"0 0 {SIDE} {SIDE}\" role=\"img\" aria-label=\"genes and their edges\">"
        )
        .ok();
        for &(from, to, networks) in &self.edges {
            let (Some((x1, y1)), Some((x2, y2))) = (points.get(from), points.get(to)) else { continue };
            let width = 0.7 + 0.6 * networks as f64;
            writeln!(
                out,
                "<line class=\"edge\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke-width=\"{width:.1}\"/>"
            )
            .ok();
        }
        for (node, (x, y)) in self.nodes.iter().zip(&points) {
            let class = if node.is_deleted { "deleted" } else { "gene" };
            let colour = if node.colour.is_empty() {
                String::new()
            } else {
                format!(" style=\"fill:{}\"", escape(&node.colour))
            };
            writeln!(out, "<circle class=\"{class}\"{colour} cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\"/>").ok();
        }
        // Names last, so that no line crosses them, and on the side that edges do not leave to.
        for (node, (x, y)) in self.nodes.iter().zip(&points) {
            let y = y + if *y > SIDE / 2.0 + 1.0 { 20.0 } else { -10.0 };
            let name = escape(&node.name);
            let text = format!(
                "<text class=\"name\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{name}</text>"
            );
            if node.link.is_empty() {
                writeln!(out, "{text}").ok();
            } else {
                writeln!(out, "<a href=\"{}\">{text}</a>", escape(&node.link)).ok();
            }
        }
        let caption = match &self.caption[..] {
            "" => "Red: deleted genes. Thicker lines: more networks.",
            caption => caption,
        };
        writeln!(out, "</svg>\n<p class=\"soft\">{}</p>", escape(caption)).ok();
    }
}
