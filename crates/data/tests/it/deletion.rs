//! Deleting by index structures equals deleting by brute force on plain lists.

use knockout_data::cell::{
    Coefficient, Deletion, Direction, Edge, GeneId, Metabolism, Metabolite, Network, Reaction, Requirement,
    Rule, SelfLoops,
};
use proptest::prelude::*;
use std::collections::BTreeSet;

const GENES: u32 = 24;

fn edges() -> impl Strategy<Value = Vec<Edge>> {
    // Gene 0 is a hub; repeated edges and self-loops occur; some genes stay isolated.
    let end = prop_oneof![1 => Just(0), 3 => 0..GENES - 4];
    prop::collection::vec((end.clone(), end).prop_map(|(source, target)| Edge::new(source, target)), 0..120)
}

fn deletion() -> impl Strategy<Value = Deletion> {
    prop::collection::btree_set(0..GENES, 1..10)
        .prop_map(|genes| Deletion::new(&genes.into_iter().map(GeneId).collect::<Vec<_>>()).unwrap())
}

fn metabolism() -> impl Strategy<Value = Metabolism> {
    let requirements = prop::collection::btree_set((0..12_u32, 0..GENES), 0..40);
    let coefficients = prop::collection::btree_set((0..12_u32, 0..6_u32), 0..40);
    (requirements, coefficients).prop_map(|(requirements, coefficients)| {
        let reactions = (0..12).map(|i| Reaction {
            name: format!("r{i}"),
            reaction_id: format!("r{i}"),
            direction: Direction::Forward,
            subsystem: String::new(),
        });
        let metabolites = (0..6).map(|i| Metabolite {
            id: format!("m{i}"),
            name: String::new(),
            compartment: String::new(),
        });
        Metabolism::new(
            GENES as usize,
            reactions.collect(),
            metabolites.collect(),
            requirements.into_iter().map(|(reaction, gene)| Requirement { reaction, gene }).collect(),
            coefficients
                .into_iter()
                .map(|(reaction, metabolite)| Coefficient { reaction, metabolite, value: 1.0 })
                .collect(),
        )
        .unwrap()
    })
}

fn rule_text() -> impl Strategy<Value = String> {
    let gene = (0..5_u8).prop_map(|i| char::from(b'A' + i).to_string());
    gene.prop_recursive(4, 24, 3, |inner| {
        (prop::collection::vec(inner, 1..4), any::<bool>())
            .prop_map(|(parts, all)| format!("({})", parts.join(if all { " and " } else { " or " })))
    })
}

proptest! {
    #[test]
    fn removed_edges_are_those_that_touch_a_deleted_gene(edges in edges(), deletion in deletion()) {
        let (network, _) = Network::from_edges("n", GENES as usize, edges, SelfLoops::Keep).unwrap();
        let touches = |position: u32| {
            let ends = [network.sources()[position as usize], network.targets()[position as usize]];
            ends.iter().any(|&end| deletion.genes().contains(&GeneId(end)))
        };
        let brute: Vec<u32> = (0..network.edge_count() as u32).filter(|&position| touches(position)).collect();
        prop_assert_eq!(deletion.removed_edges(&network), brute);
    }

    #[test]
    fn building_keeps_every_entry_in_both_directions(edges in edges()) {
        let (network, _) = Network::from_edges("n", GENES as usize, edges.clone(), SelfLoops::Keep).unwrap();
        let mut given: Vec<(u32, u32)> = edges.iter().map(|edge| (edge.source, edge.target)).collect();
        given.sort_unstable();
        let stored: Vec<(u32, u32)> =
            network.sources().iter().copied().zip(network.targets().iter().copied()).collect();
        prop_assert_eq!(&stored, &given);
        for gene in 0..GENES as usize {
            let entering = network.incoming().range(gene);
            for (position, &source) in
                network.incoming_positions()[entering.clone()].iter().zip(network.incoming().row(gene))
            {
                prop_assert_eq!(stored[*position as usize], (source, gene as u32));
            }
        }
    }

    #[test]
    fn a_reaction_stops_when_any_of_its_genes_is_gone(metabolism in metabolism(), deletion in deletion()) {
        let brute: BTreeSet<u32> = metabolism
            .requirements()
            .iter()
            .filter(|entry| deletion.contains(GeneId(entry.gene)))
            .map(|entry| entry.reaction)
            .collect();
        prop_assert_eq!(deletion.stopped_reactions(&metabolism), brute.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn alternatives_have_the_rule_s_truth_table(text in rule_text()) {
        let rule = Rule::parse(&text).unwrap().unwrap();
        let alternatives = rule.alternatives(100_000).unwrap();
        for present in 0..32_u8 {
            let is_there = |name: &str| present & (1 << (name.as_bytes()[0] - b'A')) != 0;
            let by_sets = alternatives.iter().any(|set| set.iter().all(|gene| is_there(gene)));
            prop_assert_eq!(by_sets, rule.holds(&is_there), "{} with {:05b}", text, present);
        }
    }

    #[test]
    fn no_text_makes_the_rule_parser_panic(text in "[A-C()andor \t\u{e9}]{0,40}") {
        if let Ok(Some(rule)) = Rule::parse(&text) {
            rule.alternatives(100).ok();
        }
    }
}
