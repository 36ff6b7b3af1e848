//! The transformer against PyTorch's numbers, its gradients against their definition, and its shortcuts against the full
//! computation.

use super::*;
use crate::layer::dot;
use crate::loss::{LossConfig, LossShape, MeanSquaredError};
use crate::testing::{case_batch, case_graph, check_gradients, fill_all, graph, wide};
use knockout_base::random::Rng;
use knockout_data::cell::GeneSets;
use knockout_engine::grad::{evaluate_loss, gradient_check};
use knockout_engine::kernel::slices::softmax;
use knockout_testdata::golden::{Case, Precision, small_cases};

fn mse<T: crate::loss::LossPrecision>() -> ScoreLoss<T> {
    LossConfig::new(MeanSquaredError {}).build(LossShape::default())
}

fn golden<T: crate::loss::LossPrecision>(case: &Case, precision: Precision) {
    let size = |name: &str| case.json["sizes"][name].as_u64().unwrap() as usize;
    let option = |name: &str| &case.json["options"][name];
    let names = option("networks").as_array().unwrap().iter().map(|name| name.as_str().unwrap());
    let graphs: Vec<(&str, Graph)> =
        names.map(|name| (name, case_graph(case, &format!("input.edges.{name}"), size("genes")))).collect();
    let sizes = TransformerSizes { width: size("width"), layers: size("layers"), heads: size("heads") };
    let lambda = option("lambda_graph").as_f64().unwrap();
    let mut model = Transformer::<T>::new(size("genes"), sizes, 0)
        .with_loss(mse())
        .with_lambda_graph(lambda)
        .with_penalties(&graphs, option("penalty_layer").as_u64().unwrap() as usize);
    fill_all(case, model.parameters_mut());
    let (offsets, genes, targets) = case_batch::<T>(case);
    let mut tape = Tape::new(model.parameters());
    let forward = model.forward(&mut tape, GeneSetsRef::new(&offsets, &genes), None);
    case.check("output.tokens", wide(tape.value(forward.tokens)), precision);
    case.check("output.members", wide(tape.value(forward.members)), precision);
    case.check("output.scores", wide(tape.value(forward.scores)), precision);
    let loss = model.loss(&mut tape, &forward.outputs(), &targets, LossPosition::default());
    let penalty = loss.parts.iter().find(|(name, _)| name == "graph_reg_loss").unwrap().1;
    case.check("loss.penalty", [penalty], precision);
    case.check("loss.total", wide(tape.value(loss.total)), precision);
    check_gradients(case, "grad.", model.parameters(), tape, loss.total, precision);
}

#[test]
fn golden_forward_loss_and_gradients() {
    for case in small_cases("transformer/") {
        golden::<f64>(&case, Precision::F64);
        golden::<f32>(&case, Precision::F32);
    }
}

const SIZES: TransformerSizes = TransformerSizes { width: 6, layers: 2, heads: 3 };

fn edges() -> [(&'static str, Graph); 2] {
    let first = graph(7, &[(0, 1), (0, 1), (0, 3), (2, 2), (5, 0), (6, 1)]);
    [("first", first), ("second", graph(7, &[(1, 4), (4, 1)]))]
}

fn small<T: crate::loss::LossPrecision>() -> Transformer<T> {
    let model = Transformer::new(7, SIZES, 3).with_loss(mse()).with_lambda_graph(0.3);
    let mut model = model.with_penalties(&edges(), 1).with_dropout(0.25);
    let mut rng = Rng::new(8, "transformer test");
    for at in 0..model.parameters.len() {
        // Far from the initial values, whose attention is nearly uniform and whose biases are zero.
        model.parameters.values_mut(at).iter_mut().for_each(|value| *value += T::of(0.4 * rng.normal()));
    }
    model
}

fn sets() -> GeneSets {
    [&[0u32, 3, 5][..], &[2], &[6, 1], &[0, 3, 5]].into_iter().collect()
}

/// With the penalty and with dropout, whose masks a step keeps.
#[test]
fn gradients_equal_their_definition() {
    let (model, sets, targets) = (small::<f64>(), sets(), [0.3, -1.0, 0.8, 0.1]);
    let at = LossPosition::new(1, 5);
    let mut parameters = model.parameters().clone();
    let worst = gradient_check(&mut parameters, 24, |parameters, gradients| {
        let mut tape = Tape::new(parameters);
        let forward = model.forward(&mut tape, sets.view(), Some(at));
        let loss = model.loss(&mut tape, &forward.outputs(), &targets, at);
        evaluate_loss(tape, loss.total, gradients)
    });
    assert!(worst.tolerances <= 1.0, "{worst:?}");
}

/// The penalty walks edges; its definition is a divergence between whole rows.
#[test]
fn the_penalty_by_edges_is_the_dense_one() {
    let model = small::<f64>();
    let mut tape = Tape::new(model.parameters());
    let (_, attention) = model.encode(&mut tape, None);
    let vars = attention[1];
    let penalty = model.penalty(&mut tape, &attention).unwrap();
    let (query, key) = (tape.value(vars.query), tape.value(vars.key));
    let (width, head_width) = (SIZES.width, SIZES.width / SIZES.heads);
    let mut total = 0.0;
    for (head, (_, graph)) in edges().iter().enumerate() {
        let (mut sum, mut rows) = (0.0, 0);
        for gene in 0..7 {
            let of =
                |rows: &[f64], row: usize| rows[row * width + head * head_width..][..head_width].to_vec();
            let mut weights: Vec<f64> = (0..8)
                .map(|row| dot(&of(query, gene + 1), &of(key, row)) / (head_width as f64).sqrt())
                .collect();
            softmax(&mut weights);
            let mut row = [0.0; 7];
            graph.outgoing.row(gene).for_each(|to| row[to] = 1.0);
            let degree: f64 = row.iter().sum();
            rows += usize::from(degree > 0.0);
            for (to, target) in row.into_iter().enumerate().filter(|&(_, target)| target > 0.0) {
                let target = target / degree;
                sum += target * (target / (weights[to + 1] + 1e-8)).ln();
            }
        }
        total += sum / f64::from(u32::try_from(rows).unwrap());
    }
    assert!((tape.scalar(penalty) - total / 2.0).abs() < 1e-12);
}

/// The sizes that the reference reports.
#[test]
fn parameter_counts_are_the_references() {
    for (sizes, count) in [
        (TransformerSizes { width: 64, layers: 6, heads: 8 }, 781_121),
        (TransformerSizes { width: 180, layers: 8, heads: 9 }, 4_774_861),
    ] {
        let model = Transformer::<f32>::new(6_607, sizes, 0);
        assert_eq!(model.parameters().element_count(), count);
    }
}

/// Tables give what the forward pass gives; a batch and its parts, and any number of threads, the same bits.
#[test]
fn tables_parts_and_threads_give_the_same_scores() {
    let (model, sets) = (small::<f32>(), sets());
    let scores = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut tape = Tape::new(model.parameters());
            let forward = model.forward(&mut tape, sets.view(), None);
            tape.value(forward.scores).to_vec()
        })
    };
    let one = scores(1);
    assert!(scores(2) == one && scores(7) == one);
    assert_eq!(one[0], one[3], "the same set twice");
    let mut fixed = vec![0.0; 4];
    Model::fixed(&model).unwrap().score(sets.view(), &mut fixed);
    assert_eq!(fixed, one);
}

/// In training a sample has the same masks wherever it stands in a batch.
#[test]
fn masks_do_not_depend_on_the_place_in_a_batch() {
    let (model, at) = (small::<f64>(), LossPosition::new(0, 3));
    let score = |sets: &GeneSets| {
        let mut tape = Tape::new(model.parameters());
        let forward = model.forward(&mut tape, sets.view(), Some(at));
        tape.value(forward.scores).to_vec()
    };
    let whole = sets();
    let all = score(&whole);
    let part: GeneSets = [&[2u32][..], &[6, 1]].into_iter().collect();
    assert_eq!(score(&part), all[1..3]);
    let mut tape = Tape::new(model.parameters());
    let forward = model.forward(&mut tape, whole.view(), None);
    assert_ne!(tape.value(forward.scores), all, "dropout does something");
}
