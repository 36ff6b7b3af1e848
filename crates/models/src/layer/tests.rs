//! Single layers against PyTorch's numbers: outputs, and gradients of Σ upstream · output.

use super::*;
use crate::init::Init;
use crate::testing::{case_graph, check_gradients, check_operation, fill, wide};
use knockout_data::cell::GeneSetsRef;
use knockout_engine::grad::{Parameters, Tape, Var};
use knockout_engine::kernel::{Activation, DistinctEdges, Pool, Scalar};
use knockout_testdata::golden::{Case, Precision, cases};

fn sage_mean<T: Scalar>(case: &Case, precision: Precision) {
    let [rows, inputs] = case.shape("param.x")[..] else { panic!("a matrix") };
    let outputs = case.shape("output.y")[1];
    let (graph, mut parameters) = (case_graph(case, "input.edges", rows), Parameters::<T>::new(&Pool::new()));
    let x = parameters.add("x", &[rows, inputs], || 0.0);
    // The case names the layer's weights without a prefix.
    let neighbour = parameters.add("neighbour.weight", &[outputs, inputs], || 0.0);
    let bias = parameters.add("neighbour.bias", &[outputs], || 0.0);
    let own = parameters.add("self.weight", &[outputs, inputs], || 0.0);
    let sage = Sage { neighbour, bias, own, inputs, outputs, activation: Activation::None };
    fill(case, &mut parameters);
    let weight: Vec<T> = graph.mean_weight.iter().map(|&weight| T::of(weight)).collect();
    let mut tape = Tape::new(&parameters);
    let y = sage.forward(&mut tape, "sage", x, &graph, &weight);
    case.check("output.y", wide(tape.value(y)), precision);
    check_operation(case, &parameters, tape, y, "upstream.y", precision);
}

#[test]
fn golden_sage() {
    for case in cases("ops/sage_mean") {
        sage_mean::<f64>(&case, Precision::F64);
        sage_mean::<f32>(&case, Precision::F32);
    }
}

fn set_attention<T: Scalar>(case: &Case, precision: Precision) {
    let [members, width] = case.shape("param.x")[..] else { panic!("a matrix") };
    let option = |name: &str| case.json["options"][name].as_u64().unwrap() as usize;
    let owner = case.indices("input.owner");
    let count = case.shape("output.score")[0] as u32;
    let offsets: Vec<u32> =
        (0..=count).map(|set| owner.iter().filter(|&&owner| owner < set).count() as u32).collect();
    assert!(owner.is_sorted(), "{}: sets follow one another", case.name);
    let genes: Vec<u32> = (0..members as u32).collect();
    let mut parameters = Parameters::<T>::new(&Pool::new());
    let x = parameters.add("x", &[members, width], || 0.0);
    let scorer = SetScorer::new(
        &mut parameters,
        "set",
        width,
        option("heads"),
        option("layers"),
        Activation::Relu,
        &mut Init::new(0),
    );
    fill(case, &mut parameters);
    let mut tape = Tape::new(&parameters);
    let scores = scorer.forward(&mut tape, x, GeneSetsRef::new(&offsets, &genes), None);
    case.check("output.score.dynamic", wide(tape.value(scores.dynamic)), precision);
    case.check("output.score", wide(tape.value(scores.scores)), precision);
    check_operation(case, &parameters, tape, scores.scores, "upstream.score", precision);
}

#[test]
fn golden_set_scorer() {
    for case in cases("ops/set_attention") {
        set_attention::<f64>(&case, Precision::F64);
        set_attention::<f32>(&case, Precision::F32);
    }
}

/// In a set of two a member attends to the other alone, with weight 1: by head, it gets all of it or nothing.
#[test]
fn attention_weights_are_dropped_by_member_and_head() {
    const SETS: usize = 2_000;
    let (heads, width, rate) = (2, 4, 0.25);
    let offsets: Vec<u32> = (0..=SETS as u32).map(|set| 2 * set).collect();
    let genes: Vec<u32> = (0..2 * SETS as u32).collect();
    let mut parameters = Parameters::<f64>::new(&Pool::new());
    let x = parameters.add("x", &[2 * SETS, width], || 1.0);
    let layer = SetAttention::new(&mut parameters, "set", width, heads, &mut Init::new(0));
    for name in ["set.value.weight", "set.output.weight"] {
        let identity: Vec<f64> =
            (0..width * width).map(|at| f64::from(u8::from(at % (width + 1) == 0))).collect();
        parameters.named_mut(name).unwrap().copy_from_slice(&identity);
    }
    parameters.named_mut("set.rezero").unwrap()[0] = 1.0;
    let dropout = Dropout { rate, seed: 3, site: 0, keys: std::sync::Arc::new(genes.clone()) };
    let mut tape = Tape::new(&parameters);
    let out = layer.forward(&mut tape, x, GeneSetsRef::new(&offsets, &genes), Some(&dropout));
    let given: Vec<f64> = tape.value(out).iter().map(|value| value - 1.0).collect();
    let by_head: Vec<f64> = given
        .chunks_exact(width / heads)
        .map(|head| {
            assert!(
                head.iter().all(|&value| (value - head[0]).abs() < 1e-12),
                "one weight for a head: {head:?}"
            );
            head[0]
        })
        .collect();
    let kept = 1.0 / (1.0 - rate);
    assert!(by_head.iter().all(|&value| value.abs() < 1e-12 || (value - kept).abs() < 1e-12));
    let share = |of: &dyn Fn(&[f64]) -> bool| {
        by_head.chunks_exact(heads).filter(|heads| of(heads)).count() as f64 / (2 * SETS) as f64
    };
    let zero = |value: f64| value.abs() < 1e-12;
    assert!((share(&|heads| zero(heads[0])) - rate).abs() < 0.03);
    assert!(
        (share(&|heads| zero(heads[0]) && zero(heads[1])) - rate * rate).abs() < 0.02,
        "heads by themselves"
    );
}

fn weighted_reconstruction<T: Scalar>(case: &Case, precision: Precision) {
    let [rows, width] = case.shape("param.h")[..] else { panic!("a matrix") };
    let (graph, mut parameters) = (case_graph(case, "input.edges", rows), Parameters::<T>::new(&Pool::new()));
    let target = DistinctEdges::of(&graph);
    let h = parameters.add("h", &[rows, width], || 0.0);
    let reconstruction =
        Reconstruction::new(&mut parameters, "reconstruction", rows, width, &mut Init::new(0));
    fill(case, &mut parameters);
    let lambdas =
        case.json["options"]["lambda"].as_array().unwrap().iter().map(|lambda| lambda.as_f64().unwrap());
    let mut tape = Tape::new(&parameters);
    let losses: Vec<Var> = lambdas.map(|lambda| reconstruction.loss(&mut tape, h, &target, lambda)).collect();
    case.check("output.loss", losses.iter().map(|&loss| tape.scalar(loss).to_f64()), precision);
    let parts: Vec<(Var, f64)> =
        losses.iter().copied().zip(case.f64("upstream.loss").iter().copied()).collect();
    let loss = weighted_sum(&mut tape, &parts);
    check_gradients(case, "grad.", &parameters, tape, loss, precision);
}

#[test]
fn golden_reconstruction() {
    for case in cases("ops/weighted_reconstruction") {
        weighted_reconstruction::<f64>(&case, Precision::F64);
        weighted_reconstruction::<f32>(&case, Precision::F32);
    }
}
