//! The metabolism in the model: by hand on a few nodes, and that it is seen.

use super::super::metabolism::{MetabolicGraph, MetabolismSwitch};
use super::super::reach::MessageGraph;
use super::super::*;
use super::{random_model, small};
use knockout_base::random::Rng;
use knockout_data::batch::Graphs;
use knockout_data::cell::{Coefficient, Direction, Metabolism, Metabolite, Reaction, Requirement};

fn metabolism_of(
    genes: usize,
    [reactions, metabolites]: [usize; 2],
    requirements: &[(u32, u32)],
    coefficients: &[(u32, u32, f64)],
) -> Metabolism {
    let reaction = |row: usize| Reaction {
        name: format!("r{row}"),
        reaction_id: format!("r{row}"),
        direction: Direction::Forward,
        subsystem: String::new(),
    };
    let metabolite =
        |row: usize| Metabolite { id: format!("m{row}"), name: String::new(), compartment: String::new() };
    let requirement = |&(reaction, gene): &(u32, u32)| Requirement { reaction, gene };
    let coefficient =
        |&(reaction, metabolite, value): &(u32, u32, f64)| Coefficient { reaction, metabolite, value };
    Metabolism::new(
        genes,
        (0..reactions).map(reaction).collect(),
        (0..metabolites).map(metabolite).collect(),
        requirements.iter().map(requirement).collect(),
        coefficients.iter().map(coefficient).collect(),
    )
    .unwrap()
}

/// Few enough reactions that some genes have none, with a reaction without genes and one without metabolites.
pub(super) fn random_metabolism(rng: &mut Rng, genes: usize) -> Metabolism {
    const SIZES: [usize; 2] = [8, 9];
    let mut requirements = std::collections::BTreeSet::new();
    let mut coefficients = std::collections::BTreeMap::new();
    for _ in 0..9 {
        requirements.insert((1 + rng.below(SIZES[0] - 1) as u32, rng.below(genes / 2) as u32));
    }
    for _ in 0..12 {
        let ends = (rng.below(SIZES[0] - 1) as u32, rng.below(SIZES[1]) as u32);
        coefficients.insert(ends, if rng.below(2) == 0 { -1.0 } else { 2.0 });
    }
    let requirements: Vec<_> = requirements.into_iter().collect();
    let coefficients: Vec<_> = coefficients
        .into_iter()
        .map(|((reaction, metabolite), value)| (reaction, metabolite, value))
        .collect();
    metabolism_of(genes, SIZES, &requirements, &coefficients)
}

/// A and B make m0 together, C turns m0 into m1, D turns m1 over; E catalyses nothing.
fn chain() -> Metabolism {
    metabolism_of(
        5,
        [3, 2],
        &[(0, 0), (0, 1), (1, 2), (2, 3)],
        &[(0, 0, 1.0), (1, 0, -1.0), (1, 1, 1.0), (2, 1, -2.0)],
    )
}

#[test]
fn a_deletion_reaches_genes_over_shared_metabolites() {
    let graph = MetabolicGraph::of(&chain());
    // One bit each: A deleted, D deleted, E deleted.
    assert_eq!(graph.pass(&[1, 0, 0, 2, 4]), [1, 1, 1 | 2, 2, 4]);
    assert_eq!(graph.pass(&[1, 1, 1 | 2, 2, 4]), [3, 3, 3, 3, 4]);
}

#[test]
fn a_reaction_stops_whichever_of_its_genes_is_deleted() {
    let options = HeteroOptions {
        layers: 1,
        combination: ScoreCombination::GlobalOnly,
        metabolism: MetabolismSwitch::On,
        ..small()
    };
    let networks = vec![super::network("a", 0, 5, &[(0, 4)])];
    let graph = MetabolicGraph::of(&chain());
    let parts = HeteroParts { networks, metabolism: Some(graph), features: None };
    let model = Hetero::<f64>::with_parts(5, parts, options, 3);
    // Row of a gene after the layer when others are deleted, and in the wild type.
    let row = |gene: usize, deleted: &[u32]| {
        let offsets = [0, deleted.len() as u32];
        let mut tape = Tape::new(model.parameters());
        let sets = GeneSetsRef::new(&offsets, deleted);
        let forward =
            model.forward(&mut tape, Input::evaluated(sets, &Graphs::None), AggregationWeights::Discard);
        let at = |row: usize| tape.value(forward.layers[0])[row * 8..(row + 1) * 8].to_vec();
        (at(forward.row(0, gene)), at(gene))
    };
    let (b_without_a, wild) = row(1, &[0]);
    assert_ne!(b_without_a, wild, "B has lost the reaction that it shares with A");
    let (c_without_a, wild) = row(2, &[0]);
    assert_ne!(c_without_a, wild, "C's metabolite is no longer made");
    assert_eq!(c_without_a, row(2, &[1]).0, "B stops the same reaction as A");
    assert_eq!(c_without_a, row(2, &[0, 1]).0, "a stopped reaction stops once");
    let (d_without_a, wild) = row(3, &[0]);
    assert_eq!(d_without_a, wild, "D is two layers away from A");
    assert_ne!(row(3, &[2]).0, wild, "and one from C");
}

/// Without the genes, as if they had never been: the wild type of a model whose networks and metabolism lack them.
#[test]
fn a_sample_is_the_wild_type_of_the_cell_without_its_genes() {
    for (seed, aggregation) in [(1, Aggregation::Sum), (2, Aggregation::PairwiseInteraction)] {
        let genes = 16;
        let options = HeteroOptions { aggregation, metabolism: MetabolismSwitch::On, ..small() };
        let model: Hetero<f64> = random_model(seed, genes, 20, options.clone());
        let sets: [&[u32]; 3] = [&[0, 3, 5], &[1], &[2, 6]];
        let all: knockout_data::cell::GeneSets = sets.into_iter().collect();
        let mut tape = Tape::new(model.parameters());
        let forward = model.forward(
            &mut tape,
            Input::evaluated(all.view(), &Graphs::None),
            AggregationWeights::Discard,
        );
        let last = forward.layers[options.layers - 1];
        for (sample, set) in sets.iter().enumerate() {
            // The same draws again.
            let mut rng = Rng::new(seed, "hetero test");
            let networks = super::random_networks(&mut rng, genes, 20).into_iter().map(|network| {
                let rows = 0..genes as u32;
                let edges = rows.flat_map(|from| {
                    let targets = network.graph.outgoing.row(from as usize);
                    targets.map(move |to| (from, to as u32)).collect::<Vec<_>>()
                });
                let edges = edges.filter(|(from, to)| !set.contains(from) && !set.contains(to));
                super::network(&network.name, network.index, genes, &edges.collect::<Vec<_>>())
            });
            let networks = networks.collect();
            let graph = MetabolicGraph::of(&random_metabolism(&mut rng, genes)).without(set);
            let parts = HeteroParts { networks, metabolism: Some(graph), features: None };
            let mut rebuilt = Hetero::<f64>::with_parts(genes, parts, options.clone(), seed);
            for index in 0..model.parameters().len() {
                rebuilt
                    .parameters_mut()
                    .values_mut(index)
                    .copy_from_slice(model.parameters().get(index).values());
            }
            let none = knockout_data::cell::GeneSets::default();
            let mut other = Tape::new(rebuilt.parameters());
            let wild = rebuilt.forward(
                &mut other,
                Input::evaluated(none.view(), &Graphs::None),
                AggregationWeights::Discard,
            );
            let wild = other.value(wild.layers[options.layers - 1]);
            for gene in 0..genes {
                let row = forward.row(sample, gene) * 8;
                for (found, expected) in
                    tape.value(last)[row..row + 8].iter().zip(&wild[gene * 8..gene * 8 + 8])
                {
                    assert!(
                        (found - expected).abs() < 1e-11,
                        "gene {gene} without {set:?}: {found}, {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn off_is_the_model_without_it() {
    let off: Hetero<f32> = random_model(3, 30, 40, small());
    let on: Hetero<f32> =
        random_model(3, 30, 40, HeteroOptions { metabolism: MetabolismSwitch::On, ..small() });
    let names = |model: &Hetero<f32>| -> Vec<String> {
        model.parameters().iter().map(|entry| entry.name().to_owned()).collect()
    };
    let (off, on) = (names(&off), names(&on));
    assert!(off.iter().all(|name| on.contains(name)), "the metabolism adds parameters and takes none");
    assert!(!off.iter().any(|name| name.contains("metabol") || name.contains("reaction")));
    for name in ["reaction_embedding", "metabolite_embedding", "layer2.network.metabolism.reaction.weight"] {
        assert!(on.iter().any(|known| known == name), "{name} of {on:?}");
    }
}
