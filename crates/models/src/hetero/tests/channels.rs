//! All networks as one with edge types as channels, against the equation written out edge by edge.

use super::super::*;
use super::{OFFSETS, random_networks, random_sets, small};
use crate::testing::wide;
use knockout_base::random::Rng;
use knockout_data::batch::Graphs;

const GENES: usize = 24;

fn options() -> HeteroOptions {
    HeteroOptions {
        layers: 1,
        activation: Activation::Relu,
        norm: NormKind::None,
        aggregation: Aggregation::Sum,
        merge_networks: true,
        ..small()
    }
}

fn values(model: &Hetero<f64>, name: &str) -> Vec<f64> {
    let name = format!("layer1.network.merged.gin.{name}");
    let parameter = model.parameters().find(&name).unwrap_or_else(|| panic!("a parameter {name}"));
    parameter.values().to_vec()
}

/// `relu(W x + b)`.
fn linear(weight: &[f64], bias: &[f64], x: &[f64]) -> Vec<f64> {
    let rows = weight.chunks_exact(x.len()).zip(bias);
    rows.map(|(row, bias)| (row.iter().zip(x).map(|(w, x)| w * x).sum::<f64>() + bias).max(0.0)).collect()
}

#[test]
fn a_row_has_a_sum_for_each_edge_type() {
    let mut rng = Rng::new(4, "channels");
    let networks = random_networks(&mut rng, GENES, 40);
    let channels: Vec<Graph> = networks.iter().map(|network| network.graph.clone()).collect();
    let merged = HeteroNetwork::of_channels("merged", networks);
    // The union has an edge once, however many types it has.
    for gene in 0..GENES {
        let mut all: Vec<usize> = channels.iter().flat_map(|graph| graph.outgoing.row(gene)).collect();
        all.sort_unstable();
        all.dedup();
        let mut found: Vec<usize> = merged.graph.outgoing.row(gene).collect();
        found.sort_unstable();
        assert_eq!(found, all);
    }
    let mut model: Hetero<f64> = Hetero::new(GENES, vec![merged], options(), 4);
    for place in 0..model.parameters().len() {
        model.parameters_mut().values_mut(place).iter_mut().for_each(|value| *value += 0.2 * rng.normal());
    }
    let width = options().width;
    let [w1, b1, w2, b2, eps] = ["linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias", "eps"]
        .map(|name| values(&model, name));
    assert_eq!(w1.len(), options().gin_hidden * 3 * width, "three channels side by side");

    let set_genes = random_sets(4, GENES);
    let sets = GeneSetsRef::new(&OFFSETS, &set_genes);
    let mut tape = Tape::new(model.parameters());
    let forward =
        model.forward(&mut tape, Input::evaluated(sets, &Graphs::None), AggregationWeights::Discard);
    let x: Vec<f64> = wide(tape.value(forward.pre)).collect();
    let after: Vec<f64> = wide(tape.value(forward.layers[0])).collect();
    let expected = |gene: usize, deleted: &[u32]| {
        let is_kept = |gene: usize| !deleted.contains(&(gene as u32));
        let mut sums = Vec::new();
        for graph in &channels {
            let mut sum: Vec<f64> =
                x[gene * width..(gene + 1) * width].iter().map(|x| (1.0 + eps[0]) * x).collect();
            for source in (0..GENES).filter(|&source| is_kept(source)) {
                // An edge that is stored twice counts twice.
                for _ in graph.outgoing.row(source).filter(|&target| target == gene) {
                    sum.iter_mut().zip(&x[source * width..]).for_each(|(sum, x)| *sum += x);
                }
            }
            sums.extend(sum);
        }
        linear(&w2, &b2, &linear(&w1, &b1, &sums))
    };
    let close = |row: usize, expected: &[f64], what: &str| {
        for (found, expected) in after[row * width..(row + 1) * width].iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{what}: {found} for {expected}");
        }
    };
    for gene in 0..GENES {
        close(gene, &expected(gene, &[]), &format!("wild type, gene {gene}"));
    }
    let mut changed = 0;
    for (sample, set) in sets.iter().enumerate() {
        for gene in (0..GENES).filter(|&gene| !set.contains(&(gene as u32))) {
            let row = forward.row(sample, gene);
            changed += usize::from(row >= GENES);
            close(row, &expected(gene, set), &format!("sample {sample}, gene {gene}"));
        }
    }
    assert!(changed > 0, "deletions change rows");
}
