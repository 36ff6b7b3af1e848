//! Every loss's gradient against central differences in `f64`, and what composites promise.

use knockout_base::random::Rng;
use knockout_models::loss::{
    BatchRows, BufferOptions, BufferWeight, Loss, LossGradients, LossPhase, LossValue, MleWassSupCr,
    MleWassSupCrOptions, PointDist, PointDistOptions, PointLoss, Reduction, Restored, Temperature, Transport,
    WriteOrder, exact_transport, log_cosh, sinkhorn, supcr, wasserstein, weighted_mse,
};
use proptest::prelude::{ProptestConfig, Strategy, prop_assert, proptest};

/// How many tolerances (1e-6 + 1e-4 of the slope) the worst element is off.
fn worst(x: &[f64], analytic: &[f64], value: impl Fn(&[f64]) -> f64) -> f64 {
    let mut worst: f64 = 0.0;
    for i in 0..analytic.len() {
        let (mut up, mut down) = (x.to_vec(), x.to_vec());
        up[i] += 1e-6;
        down[i] -= 1e-6;
        let slope = (value(&up) - value(&down)) / 2e-6;
        worst = worst.max((analytic[i] - slope).abs() / (1e-6 + 1e-4 * slope.abs()));
    }
    worst
}

fn numbers(rng: &mut Rng, count: usize) -> Vec<f64> {
    (0..count).map(|_| rng.normal()).collect()
}

/// Normal numbers, of which about one in five is missing.
fn targets(rng: &mut Rng, count: usize) -> Vec<f64> {
    (0..count).map(|_| if rng.below(5) == 0 { f64::NAN } else { rng.normal() }).collect()
}

fn seeds() -> impl Strategy<Value = u64> {
    0_u64..1_000_000
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn log_cosh_agrees_with_differences(seed in seeds(), rows in 1_usize..12) {
        let rng = &mut Rng::new(seed, "log cosh");
        let (x, y) = (numbers(rng, rows), targets(rng, rows));
        for reduction in [Reduction::Mean, Reduction::Sum] {
            let mut gradient = vec![0.0; rows];
            log_cosh(&x, &y, reduction, &mut gradient);
            let off = worst(&x, &gradient, |x| log_cosh(x, &y, reduction, &mut vec![0.0; rows]));
            prop_assert!(off <= 1.0, "off by {off} tolerances");
        }
    }

    #[test]
    fn weighted_mse_agrees_with_differences(seed in seeds(), rows in 1_usize..8, dimensions in 1_usize..4) {
        let rng = &mut Rng::new(seed, "mse");
        let (x, y) = (numbers(rng, rows * dimensions), targets(rng, rows * dimensions));
        let weights: Vec<f64> = (0..dimensions).map(|_| rng.unit()).collect();
        let mut gradient = vec![0.0; x.len()];
        weighted_mse(&x, &y, &weights, &mut gradient);
        let off = worst(&x, &gradient, |x| weighted_mse(x, &y, &weights, &mut vec![0.0; x.len()]).0);
        prop_assert!(off <= 1.0, "off by {off} tolerances");
    }

    #[test]
    fn exact_transport_agrees_with_differences(seed in seeds(), n in 1_usize..9, m in 1_usize..9) {
        let rng = &mut Rng::new(seed, "exact");
        let (x, y) = (numbers(rng, n), numbers(rng, m));
        let mut gradient = vec![0.0; n];
        exact_transport(&x, &y, &mut gradient);
        let off = worst(&x, &gradient, |x| exact_transport(x, &y, &mut vec![0.0; n]));
        prop_assert!(off <= 1.0, "off by {off} tolerances");
    }

    #[test]
    fn distances_over_dimensions_agree_with_differences(seed in seeds(), rows in 2_usize..9) {
        let rng = &mut Rng::new(seed, "dimensions");
        let (x, y) = (numbers(rng, rows * 2), targets(rng, rows * 2));
        let weights = [0.3, 0.9];
        for weights in [None, Some(&weights[..])] {
            let value = |x: &[f64], gradient: &mut [f64]| {
                wasserstein(Transport::Exact, (x, &y), 2, weights, gradient).0
            };
            let mut gradient = vec![0.0; x.len()];
            value(&x, &mut gradient);
            let off = worst(&x, &gradient, |x| value(x, &mut vec![0.0; x.len()]));
            prop_assert!(off <= 1.0, "off by {off} tolerances");
        }
    }

    #[test]
    fn supcr_agrees_with_differences(seed in seeds(), rows in 2_usize..9, temperature in 0.2..1.5) {
        let rng = &mut Rng::new(seed, "supcr");
        let z = numbers(rng, rows * 3);
        // Few different labels: ties are the rule.
        let y: Vec<f64> =
            (0..rows).map(|_| if rng.below(6) == 0 { f64::NAN } else { rng.below(3) as f64 }).collect();
        let mut gradient = vec![0.0; z.len()];
        supcr(&z, 3, &y, temperature, &mut gradient);
        let off = worst(&z, &gradient, |z| supcr(z, 3, &y, temperature, &mut vec![0.0; z.len()]));
        prop_assert!(off <= 1.0, "off by {off} tolerances");
        // The first rows alone, the others constant: the same numbers.
        let mut first = vec![0.0; 3];
        supcr(&z, 3, &y, temperature, &mut first);
        prop_assert!(first == gradient[..3]);
    }

    #[test]
    fn sinkhorn_is_near_the_exact_distance(seed in seeds(), n in 2_usize..30, m in 2_usize..30) {
        let rng = &mut Rng::new(seed, "sinkhorn");
        let (x, y) = (numbers(rng, n), numbers(rng, m));
        let blurred = sinkhorn(&x, &y, &mut []);
        let exact = exact_transport(&x, &y, &mut []);
        // Each temperature is visited once, so a handful of points may stay a quarter off; golden values fix the digits.
        prop_assert!((blurred - exact).abs() <= 0.05 + 0.3 * exact, "{blurred} {exact}");
    }

    #[test]
    fn composites_agree_with_differences(seed in seeds(), early in 0_usize..3) {
        let rng = &mut Rng::new(seed, "composite");
        let mut loss = MleWassSupCr::new(full(WriteOrder::MixFirst), 3, seed);
        for step in 0..early {
            let batch = LossBatch::new(rng, 4);
            loss.evaluate(&batch.rows(step as u64), &mut LossGradients { predictions: &mut [0.0; 4], embeddings: &mut [0.0; 12] });
        }
        let batch = LossBatch::new(rng, 4);
        let evaluate = |predictions: &[f64], embeddings: &[f64]| {
            let (mut slope, mut pull) = ([0.0; 4], [0.0; 12]);
            let rows = BatchRows { predictions, embeddings, ..batch.rows(9) };
            let value = loss.clone().evaluate(&rows, &mut LossGradients { predictions: &mut slope, embeddings: &mut pull });
            (value.total, slope, pull)
        };
        let (_, slope, pull) = evaluate(&batch.predictions, &batch.embeddings);
        let off = worst(&batch.predictions, &slope, |x| evaluate(x, &batch.embeddings).0);
        prop_assert!(off <= 1.0, "predictions are off by {off} tolerances");
        let off = worst(&batch.embeddings, &pull, |z| evaluate(&batch.predictions, z).0);
        prop_assert!(off <= 1.0, "embeddings are off by {off} tolerances");
    }
}

struct LossBatch {
    predictions: Vec<f64>,
    targets: Vec<f64>,
    embeddings: Vec<f64>,
}

impl LossBatch {
    fn new(rng: &mut Rng, rows: usize) -> Self {
        Self {
            predictions: numbers(rng, rows),
            targets: targets(rng, rows),
            embeddings: numbers(rng, rows * 3),
        }
    }

    fn rows(&self, step: u64) -> BatchRows<'_, f64> {
        BatchRows {
            predictions: &self.predictions,
            targets: &self.targets,
            embeddings: &self.embeddings,
            epoch: 3,
            step,
            phase: LossPhase::Train,
        }
    }

    fn through(&self, loss: &mut MleWassSupCr<f64>, step: u64) -> LossValue {
        let (mut slope, mut pull) = (vec![0.0; self.predictions.len()], vec![0.0; self.embeddings.len()]);
        loss.evaluate(&self.rows(step), &mut LossGradients { predictions: &mut slope, embeddings: &mut pull })
    }
}

/// All three terms, with a distance whose gradient is exact.
fn full(order: WriteOrder) -> MleWassSupCrOptions {
    MleWassSupCrOptions {
        lambda_mse: 0.7,
        lambda_wasserstein: 1.3,
        lambda_supcr: 0.4,
        transport: Transport::Exact,
        temperature: Temperature::Exponential { first: 1.0, last: 0.3, epochs: 10 },
        buffer: Some(BufferOptions {
            size: 10,
            min_samples: 4,
            weight: BufferWeight::Constant { weight: 0.5 },
            order,
        }),
        ..MleWassSupCrOptions::default()
    }
}

#[test]
fn every_part_has_its_name_and_they_add_up() {
    let value = LossBatch::new(&mut Rng::new(1, "parts"), 6)
        .through(&mut MleWassSupCr::new(full(WriteOrder::MixFirst), 3, 1), 0);
    let part = |name: &str| value.part(name).unwrap_or_else(|| panic!("no part {name:?} in {value:?}"));
    let mut total = 0.0;
    for (name, weight) in [("mse_loss", 0.7), ("wasserstein_loss", 1.3), ("supcr_loss", 0.4)] {
        assert_eq!(part(&format!("weighted_{name}")), weight * part(name));
        total += weight * part(name);
        assert!(
            part(&format!("norm_weighted_{name}")) > 0.0 && part(&format!("norm_unweighted_{name}")) > 0.0
        );
    }
    assert_eq!((value.total, part("total_loss")), (total, total));
    assert_eq!(part("buffer_weight"), 0.5);
    assert!((part("temperature") - 0.3_f64.powf(0.3)).abs() < 1e-12);
}

#[test]
fn a_term_without_weight_is_skipped() {
    let options =
        MleWassSupCrOptions { lambda_supcr: 0.0, lambda_wasserstein: 0.0, ..full(WriteOrder::MixFirst) };
    // No embeddings are needed then.
    let mut loss = MleWassSupCr::new(options, 3, 1);
    let batch = LossBatch { embeddings: Vec::new(), ..LossBatch::new(&mut Rng::new(1, "skip"), 6) };
    let value = batch.through(&mut loss, 0);
    assert_eq!(value.part("supcr_loss").or(value.part("wasserstein_loss")), None);
    assert!(loss.buffers().is_empty());
}

#[test]
fn the_batch_counts_once_unless_parity_is_asked_for() {
    let rng = &mut Rng::new(5, "once");
    let (first, second) = (LossBatch::new(rng, 6), LossBatch::new(rng, 6));
    let mut ours = MleWassSupCr::new(full(WriteOrder::MixFirst), 3, 1);
    let mut parity = MleWassSupCr::new(full(WriteOrder::WriteFirst), 3, 1);
    let mut without =
        MleWassSupCr::new(MleWassSupCrOptions { buffer: None, ..full(WriteOrder::MixFirst) }, 3, 1);
    // Nothing is stored yet: mixing first is the batch by itself.
    let wasserstein = |value: &LossValue| value.part("wasserstein_loss");
    assert_eq!(wasserstein(&first.through(&mut ours, 0)), wasserstein(&first.through(&mut without, 0)));
    let contrast = |value: &LossValue| value.part("supcr_loss");
    assert_ne!(contrast(&first.through(&mut parity, 0)), contrast(&first.through(&mut without, 0)));
    let (a, b) = (second.through(&mut ours, 1), second.through(&mut parity, 1));
    assert_ne!(a.total, b.total);
    assert_eq!(ours.buffers()[0].1.features(), parity.buffers()[0].1.features());
}

#[test]
fn too_few_rows_give_zero_and_are_stored() {
    let mut loss = MleWassSupCr::new(full(WriteOrder::MixFirst), 3, 1);
    let batch = LossBatch::new(&mut Rng::new(5, "few"), 3);
    let value = batch.through(&mut loss, 0);
    assert_eq!((value.part("wasserstein_loss"), value.part("supcr_loss")), (Some(0.0), Some(0.0)));
    assert_eq!(loss.buffers()[1].1.count(), 3);
}

#[test]
fn validation_leaves_the_buffers_alone() {
    let rng = &mut Rng::new(5, "validation");
    let mut loss = MleWassSupCr::new(full(WriteOrder::MixFirst), 3, 1);
    let mut without =
        MleWassSupCr::new(MleWassSupCrOptions { buffer: None, ..full(WriteOrder::MixFirst) }, 3, 1);
    LossBatch::new(rng, 6).through(&mut loss, 0);
    let before = loss.buffers()[0].1.state();
    let batch = LossBatch::new(rng, 6);
    let rows = BatchRows { phase: LossPhase::Validate, ..batch.rows(1) };
    let (mut slope, mut pull) = ([0.0; 6], [0.0; 18]);
    let value = loss.evaluate(&rows, &mut LossGradients { predictions: &mut slope, embeddings: &mut pull });
    assert_eq!(loss.buffers()[0].1.state(), before);
    assert_eq!(value.total, batch.through(&mut without, 1).total);
}

#[test]
fn a_restored_loss_goes_on_bit_for_bit() {
    let rng = &mut Rng::new(8, "resume");
    let batches: Vec<LossBatch> = (0..9).map(|_| LossBatch::new(rng, 4)).collect();
    let mut whole = MleWassSupCr::new(full(WriteOrder::MixFirst), 3, 7);
    let values: Vec<LossValue> =
        batches.iter().enumerate().map(|(step, batch)| batch.through(&mut whole, step as u64)).collect();

    let mut first = MleWassSupCr::new(full(WriteOrder::MixFirst), 3, 7);
    for (step, batch) in batches[..5].iter().enumerate() {
        batch.through(&mut first, step as u64);
    }
    let mut second = MleWassSupCr::new(full(WriteOrder::MixFirst), 3, 7);
    for (name, buffer) in first.buffers() {
        let restored = second.restore(name, buffer.state(), buffer.features(), buffer.labels()).unwrap();
        assert_eq!(restored, Restored::Taken);
        assert_eq!(second.restore("other", buffer.state(), &[], &[]).unwrap(), Restored::Unknown);
    }
    for (step, batch) in batches.iter().enumerate().skip(5) {
        assert_eq!(batch.through(&mut second, step as u64), values[step]);
    }
}

#[test]
fn point_and_distribution_add_up() {
    let options = PointDistOptions {
        point: PointLoss::Mse,
        lambda_point: 0.5,
        lambda_dist: 2.0,
        transport: Transport::Exact,
        ..PointDistOptions::default()
    };
    let batch = LossBatch::new(&mut Rng::new(2, "point"), 5);
    for point in [PointLoss::Mse, PointLoss::LogCosh] {
        let loss = PointDist::new(PointDistOptions { point, ..options.clone() }, 1);
        let evaluate = |predictions: &[f64]| {
            let mut gradient = vec![0.0; 5];
            let rows = BatchRows { predictions, ..batch.rows(0) };
            let mut gradients = LossGradients { predictions: &mut gradient, embeddings: &mut [] };
            (loss.clone().evaluate(&rows, &mut gradients), gradient)
        };
        let (value, gradient) = evaluate(&batch.predictions);
        let part = |name| value.part(name).unwrap();
        assert!((value.total - 0.5 * part("point_loss") - 2.0 * part("dist_loss")).abs() < 1e-12);
        let off = worst(&batch.predictions, &gradient, |x| evaluate(x).0.total);
        assert!(off <= 1.0, "off by {off} tolerances");
    }
}
