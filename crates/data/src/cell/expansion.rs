//! From a metabolic model's reactions to reaction nodes: one per alternative and direction.

use crate::cell::{Coefficient, Direction, GeneId, Reaction, Requirement};

/// A reaction as a metabolic model states it, with its rule already turned into alternatives.
#[derive(Debug, Clone)]
pub struct RawReaction {
    /// The model's id.
    pub id: String,
    /// The model's subsystem.
    pub subsystem: String,
    /// Sets of genes any one of which suffices; no set at all for a reaction that needs no gene.
    pub alternatives: Vec<Vec<GeneId>>,
    /// Whether it also runs backwards.
    pub reversible: bool,
    /// Metabolite rows and coefficients of the forward direction.
    pub stoichiometry: Vec<(u32, f64)>,
}

/// Expands reactions into nodes named `<id>_comb<i>_fwd|_rev`, or `<id>_noGene_fwd|_rev` without genes, sorted by name.
pub fn expand(raw: &[RawReaction]) -> (Vec<Reaction>, Vec<Requirement>, Vec<Coefficient>) {
    struct ExpandedNode<'a> {
        name: String,
        raw: &'a RawReaction,
        genes: &'a [GeneId],
        direction: Direction,
    }
    let mut nodes = Vec::new();
    for raw in raw {
        let variants: Vec<(String, &[GeneId])> = if raw.alternatives.is_empty() {
            vec![("noGene".to_owned(), &[])]
        } else {
            raw.alternatives
                .iter()
                .enumerate()
                .map(|(i, genes)| (format!("comb{i}"), genes.as_slice()))
                .collect()
        };
        for (variant, genes) in variants {
            let mut push = |direction, suffix| {
                nodes.push(ExpandedNode {
                    name: format!("{}_{variant}_{suffix}", raw.id),
                    raw,
                    genes,
                    direction,
                });
            };
            push(Direction::Forward, "fwd");
            if raw.reversible {
                push(Direction::Reverse, "rev");
            }
        }
    }
    nodes.sort_by(|a, b| a.name.cmp(&b.name));

    let mut reactions = Vec::with_capacity(nodes.len());
    let mut requirements = Vec::new();
    let mut coefficients = Vec::new();
    for (row, node) in nodes.into_iter().enumerate() {
        let reaction = row as u32;
        requirements.extend(node.genes.iter().map(|gene| Requirement { reaction, gene: gene.0 }));
        let sign = match node.direction {
            Direction::Forward => 1.0,
            Direction::Reverse => -1.0,
        };
        coefficients.extend(node.raw.stoichiometry.iter().map(|&(metabolite, value)| Coefficient {
            reaction,
            metabolite,
            value: sign * value,
        }));
        reactions.push(Reaction {
            name: node.name,
            reaction_id: node.raw.id.clone(),
            direction: node.direction,
            subsystem: node.raw.subsystem.clone(),
        });
    }
    (reactions, requirements, coefficients)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_and_directions_become_nodes() {
        let raw = [
            RawReaction {
                id: "r_2".to_owned(),
                subsystem: "Growth".to_owned(),
                alternatives: vec![vec![GeneId(4), GeneId(1)], vec![GeneId(2)]],
                reversible: true,
                stoichiometry: vec![(0, -1.0), (3, 2.0)],
            },
            RawReaction {
                id: "r_1".to_owned(),
                subsystem: String::new(),
                alternatives: Vec::new(),
                reversible: false,
                stoichiometry: vec![(1, -1.0)],
            },
        ];
        let (reactions, requirements, coefficients) = expand(&raw);
        let names: Vec<&str> = reactions.iter().map(|reaction| reaction.name.as_str()).collect();
        assert_eq!(
            names,
            ["r_1_noGene_fwd", "r_2_comb0_fwd", "r_2_comb0_rev", "r_2_comb1_fwd", "r_2_comb1_rev"]
        );
        assert_eq!(requirements.len(), 6);
        assert_eq!(coefficients.len(), 1 + 4 * 2);
        let reverse: Vec<f64> = coefficients.iter().filter(|c| c.reaction == 2).map(|c| c.value).collect();
        assert_eq!(reverse, [1.0, -2.0]);
    }
}
