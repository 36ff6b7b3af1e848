//! Single operations against PyTorch's numbers.

use super::super::*;
use super::{named, network};
use crate::testing::{check_operation, fill, wide};
use knockout_testdata::golden::{Case, Precision, cases};

fn norms<T: Scalar>(case: &Case, kind: NormKind, precision: Precision) {
    let [rows, width] = case.shape("param.x")[..] else { panic!("a matrix") };
    let mut parameters = Parameters::<T>::new(&knockout_engine::kernel::Pool::new());
    let x = parameters.add("x", &[rows, width], || 0.0);
    let norm = Norm::new(&mut parameters, "norm", width, kind);
    fill(case, &mut parameters);
    let mut tape = Tape::new(&parameters);
    let y = norm.forward(&mut tape, "norm", x, rows);
    case.check("output.y", wide(tape.value(y)), precision);
    check_operation(case, &parameters, tape, y, "upstream.y", precision);
}

#[test]
fn golden_norms() {
    for (name, kind) in [("ops/node_norm", NormKind::Node), ("ops/graph_norm", NormKind::Graph)] {
        for case in cases(name) {
            norms::<f64>(&case, kind, Precision::F64);
            norms::<f32>(&case, kind, Precision::F32);
        }
    }
}

/// `param.g: [rows, networks, width]`, split into one variable per network.
fn aggregations<T: Scalar>(case: &Case, precision: Precision) {
    let [rows, networks, width] = case.shape("param.g")[..] else { panic!("a tensor") };
    let options = &case.json["options"];
    let number = |name: &str| options[name].as_u64().map_or(1, |number| number as usize);
    let kind: Aggregation = named(options["aggregation"].as_str().unwrap());
    let sizes = AggregationSizes {
        heads: number("cross_heads"),
        pair_hidden: number("pair_hidden"),
        pair_linears: number("pair_linears"),
    };
    let names: Vec<String> = match options["networks"].as_array() {
        Some(names) => names.iter().map(|name| name.as_str().unwrap().to_owned()).collect(),
        None => (0..networks).map(|network| network.to_string()).collect(),
    };
    let names: Vec<&str> = names.iter().map(|name| &name[..]).collect();
    let mut parameters = Parameters::<T>::new(&knockout_engine::kernel::Pool::new());
    let g = parameters.add("g", &[rows, networks, width], || 0.0);
    let activation = if options["activation"] == "gelu" { Activation::Gelu } else { Activation::Relu };
    let aggregate = Aggregate::new(
        &mut parameters,
        "aggregate",
        &names,
        width,
        kind,
        sizes,
        (activation, NormKind::None),
        &mut Init::new(0),
    );
    fill(case, &mut parameters);
    let graphs: Vec<HeteroNetwork> = names.iter().map(|name| network(name, 0, rows, &[])).collect();
    let graphs: Vec<&Graph> = graphs.iter().map(|network| &network.graph).collect();
    let plan = RowPlan::new(&graphs, rows, GeneSetsRef::new(&[0], &[]), 1, Extent::Changed);
    let mut tape = Tape::new(&parameters);
    let each: Vec<Var> = (0..networks)
        .map(|network| {
            tape.op(
                "take",
                rows * width,
                |values, out| {
                    let rows = values.of(g).chunks_exact(networks * width);
                    for (out, row) in out.chunks_exact_mut(width).zip(rows) {
                        out.copy_from_slice(&row[network * width..(network + 1) * width]);
                    }
                },
                move |step, (), gradients| {
                    gradients.add(g, |sum| {
                        let rows = sum.chunks_exact_mut(networks * width);
                        for (sum, row) in rows.zip(step.gradient.chunks_exact(width)) {
                            crate::layer::add_to(&mut sum[network * width..(network + 1) * width], row);
                        }
                    });
                },
            )
        })
        .collect();
    let combined =
        aggregate.forward(&mut tape, &each, &plan.layers[0], width, AggregationWeights::Return, None);
    case.check("output.y", wide(tape.value(combined.rows)), precision);
    case.check("output.y.weights", wide(&combined.weights.unwrap()), precision);
    check_operation(case, &parameters, tape, combined.rows, "upstream.y", precision);
}

#[test]
fn golden_aggregations() {
    for name in ["ops/cross_attention", "ops/pairwise_interaction"] {
        for case in cases(name) {
            aggregations::<f64>(&case, Precision::F64);
            aggregations::<f32>(&case, Precision::F32);
        }
    }
}

fn pooling<T: Scalar>(case: &Case, precision: Precision) {
    let [samples, genes, width] = case.shape("param.x")[..] else { panic!("a tensor") };
    let (offsets, set_genes) =
        (case.indices("input.perturbation.offsets"), case.indices("input.perturbation.genes"));
    let sets = GeneSetsRef::new(&offsets, &set_genes);
    let mut parameters = Parameters::<T>::new(&knockout_engine::kernel::Pool::new());
    let x = parameters.add("x", &[samples, genes, width], || 0.0);
    let pool = AttentionPooling::new(&mut parameters, width, Activation::Gelu, &mut Init::new(0));
    fill(case, &mut parameters);
    let graph = network("a", 0, genes, &[]).graph;
    let plan = RowPlan::new(&[&graph], genes, sets, 1, Extent::All);
    let mut tape = Tape::new(&parameters);
    // The wild type's rows come first; here they do not matter.
    let rows = tape.op(
        "rows",
        (1 + samples) * genes * width,
        |values, out| {
            out[..genes * width].fill(T::ZERO);
            out[genes * width..].copy_from_slice(values.of(x));
        },
        move |step, (), gradients| {
            gradients.add(x, |sum| crate::layer::add_to(sum, &step.gradient[genes * width..]));
        },
    );
    let pooled = pool.forward(&mut tape, rows, &plan.layers[0].output, None);
    let z = tape.op(
        "samples",
        samples * width,
        |values, out| out.copy_from_slice(&values.of(pooled)[width..]),
        move |step, (), gradients| {
            gradients.add(pooled, |sum| crate::layer::add_to(&mut sum[width..], step.gradient));
        },
    );
    case.check("output.z", wide(tape.value(z)), precision);
    check_operation(case, &parameters, tape, z, "upstream.z", precision);
}

#[test]
fn golden_pooling() {
    for case in cases("ops/attentional_pooling") {
        pooling::<f64>(&case, Precision::F64);
        pooling::<f32>(&case, Precision::F32);
    }
}
