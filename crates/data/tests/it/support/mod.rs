//! A small dataset made by hand, for tests.
#![allow(dead_code, reason = "not every test file uses all of it")]

use std::sync::Arc;

use knockout_data::cell::{
    Cell, Coefficient, Direction, Edge, Gene, GeneTable, Metabolism, Metabolite, Network, Reaction,
    Requirement, SelfLoops,
};
use knockout_data::screen::{
    Counts, Dataset, FORMAT_VERSION, Manifest, Provenance, Sample, Samples, SamplesBuilder,
};
use std::collections::BTreeMap;

pub(crate) fn genes(count: usize) -> GeneTable {
    let gene = |row| Gene {
        systematic: format!("Y{row:04}"),
        standard: (row % 3 == 0).then(|| format!("GEN{row}")),
    };
    GeneTable::new((0..count).map(gene).collect()).unwrap()
}

/// Every triple (i, j, k) of a query pair (2p, 2p + 1) and a later gene.
pub(crate) fn samples(gene_count: u32, pair_count: u32) -> Samples {
    let mut builder = SamplesBuilder::new(gene_count as usize);
    for pair in 0..pair_count {
        let query = [2 * pair, 2 * pair + 1];
        for array in 2 * pair_count..gene_count {
            builder
                .push(Sample {
                    genes: &[array, query[1], query[0]],
                    score: f64::from(array) * 0.01 - f64::from(pair),
                    p_value: (array % 2 == 0).then_some(0.125),
                    query: &query,
                    kind: if array % 5 == 0 { "ts" } else { "deletion" },
                    fitness: Some(0.9),
                    fitness_sd: None,
                    source: "test",
                    duplicates: 1,
                    alleles: &[],
                })
                .unwrap();
        }
    }
    builder.finish()
}

pub(crate) fn dataset() -> Dataset {
    let genes = genes(30);
    let edges = |step: u32| (0..20).map(|i| Edge::weighted(i, (i + step) % 30, 0.25 * step as f32)).collect();
    let networks = vec![
        Network::from_edges("physical", 30, edges(3), SelfLoops::Refuse).unwrap().0,
        Network::from_edges("string12_0_database", 30, edges(7), SelfLoops::Refuse).unwrap().0,
        Network::from_edges("empty", 30, Vec::new(), SelfLoops::Refuse).unwrap().0,
    ];
    let metabolism = Metabolism::new(
        30,
        vec![Reaction {
            name: "r1_comb0_rev".to_owned(),
            reaction_id: "r1".to_owned(),
            direction: Direction::Reverse,
            subsystem: "Growth".to_owned(),
        }],
        vec![Metabolite { id: "s1".to_owned(), name: "ATP".to_owned(), compartment: "c".to_owned() }],
        vec![Requirement { reaction: 0, gene: 4 }, Requirement { reaction: 0, gene: 2 }],
        vec![Coefficient { reaction: 0, metabolite: 0, value: -1.5 }],
    )
    .unwrap();
    Dataset {
        manifest: Manifest {
            format: FORMAT_VERSION,
            name: "by hand".to_owned(),
            provenance: Provenance {
                tool: "test".to_owned(),
                command: "none".to_owned(),
                sources: Vec::new(),
            },
            counts: Counts::default(),
            networks: Vec::new(),
            synthetic: None,
            repeats: Vec::new(),
            standard_errors: None,
            samples_of_several_alleles: 0,
            from_interactions: None,
            checksums: BTreeMap::new(),
        },
        cell: Arc::new(Cell::new(genes, networks, Some(metabolism)).unwrap()),
        samples: samples(30, 4),
    }
}
