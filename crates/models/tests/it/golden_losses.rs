//! Losses and their weights against the numbers that PyTorch and geomloss gave.

use knockout_engine::kernel::Real;
use knockout_models::loss::{
    AlphaSchedule, BatchRows, BufferOptions, BufferWeight, Loss, LossGradients, LossPhase, MleWassSupCr,
    MleWassSupCrOptions, PointDist, PointDistOptions, Reduction, Temperature, Transport, WriteOrder,
    exact_transport, log_cosh, log_cosh_each, rows_taken, sinkhorn, supcr, wasserstein, weighted_mse,
};
use knockout_testdata::golden::{Case, Precision, cases};

fn read<T: Real>(case: &Case, name: &str) -> Vec<T> {
    case.f64(name).iter().map(|&value| T::of(value)).collect()
}

fn wide<T: Real>(values: &[T]) -> Vec<f64> {
    values.iter().map(|value| value.to_f64()).collect()
}

/// Every case of a name, in both precisions.
fn both(name: &str, in_f32: impl Fn(&Case), in_f64: impl Fn(&Case)) {
    for case in cases(name) {
        in_f32(&case);
        in_f64(&case);
    }
}

fn precision<T: Real>() -> Precision {
    if size_of::<T>() == 4 { Precision::F32 } else { Precision::F64 }
}

#[test]
fn golden_log_cosh() {
    both("losses/log_cosh", log_cosh_case::<f32>, log_cosh_case::<f64>);
}

fn log_cosh_case<T: Real>(case: &Case) {
    let (predictions, targets) = (read::<T>(case, "input.predictions"), read::<T>(case, "input.targets"));
    let mut gradient = vec![T::ZERO; predictions.len()];
    let mut values = gradient.clone();
    let check = |name: &str, value: &[T], gradient: &[T]| {
        case.check(&format!("output.{name}"), wide(value), precision::<T>());
        case.check(&format!("output.{name}_gradient"), wide(gradient), precision::<T>());
    };
    let mean = log_cosh(&predictions, &targets, Reduction::Mean, &mut gradient);
    check("mean", &[mean], &gradient);
    let sum = log_cosh(&predictions, &targets, Reduction::Sum, &mut gradient);
    check("sum", &[sum], &gradient);
    log_cosh_each(&predictions, &targets, &mut values, &mut gradient);
    check("none", &values, &gradient);
}

#[test]
fn golden_weighted_mse() {
    both("losses/weighted_mse", weighted_mse_case::<f32>, weighted_mse_case::<f64>);
}

fn weighted_mse_case<T: Real>(case: &Case) {
    let (predictions, targets) = (read::<T>(case, "input.predictions"), read::<T>(case, "input.targets"));
    let mut gradient = vec![T::ZERO; predictions.len()];
    let (total, per) = weighted_mse(&predictions, &targets, case.f64("input.weights"), &mut gradient);
    let live: Vec<T> = per.iter().copied().flatten().collect();
    let dimensions: Vec<usize> = (0..per.len()).filter(|&d| per[d].is_some()).collect();
    assert_eq!(serde_json::json!(dimensions), case.json["options"]["live_dimensions"]);
    case.check("output.per_live_dimension", wide(&live), precision::<T>());
    case.check("output.total", [total.to_f64()], precision::<T>());
    case.check("output.gradient", wide(&gradient), precision::<T>());
}

#[test]
fn golden_wasserstein() {
    both("losses/wasserstein", wasserstein_case::<f32>, wasserstein_case::<f64>);
}

fn wasserstein_case<T: Real>(case: &Case) {
    let names = case.json["values"].as_object().expect("values by name");
    assert!(!names.is_empty());
    for name in names.keys() {
        let (x, y) = (
            read::<T>(case, &format!("input.{name}.predictions")),
            read::<T>(case, &format!("input.{name}.targets")),
        );
        let mut gradient = vec![T::ZERO; x.len()];
        let value = sinkhorn(&x, &y, &mut gradient);
        case.check(&format!("output.{name}.sinkhorn"), [value.to_f64()], precision::<T>());
        case.check(&format!("output.{name}.sinkhorn_gradient"), wide(&gradient), precision::<T>());
        let exact = exact_transport(&x, &y, &mut gradient).to_f64();
        let expected = case.expected(&format!("output.{name}.exact"))[0];
        let tolerance = if precision::<T>() == Precision::F32 { 1e-6 } else { 1e-11 };
        assert!((exact - expected).abs() <= tolerance * expected.max(1e-3), "{name}: {exact} {expected}");
    }
    let rows = (read::<T>(case, "input.masked.predictions"), read::<T>(case, "input.masked.targets"));
    let weights = case.f64("input.masked.weights");
    let mut gradient = vec![T::ZERO; rows.0.len()];
    let (sum, per) = wasserstein(Transport::Sinkhorn, (&rows.0, &rows.1), 2, Some(weights), &mut gradient);
    let per: Vec<T> = per.into_iter().flatten().collect();
    case.check("output.masked.per_dimension", wide(&per), precision::<T>());
    case.check("output.masked.weighted_sum", [sum.to_f64()], precision::<T>());
    for name in ["output.masked.gradient", "output.masked.weighted_sum_gradient"] {
        if case.has(name) {
            case.check(name, wide(&gradient), precision::<T>());
        }
    }
    let (mean, _) = wasserstein(Transport::Sinkhorn, (&rows.0, &rows.1), 2, None, &mut gradient);
    case.check("output.masked.mean", [mean.to_f64()], precision::<T>());
}

#[test]
fn golden_supcr() {
    both("losses/supcr", supcr_case::<f32>, supcr_case::<f64>);
}

fn supcr_case<T: Real>(case: &Case) {
    let width = case.shape("input.embeddings")[1];
    let embeddings = read::<T>(case, "input.embeddings");
    let labels = read::<T>(case, "input.labels");
    let mut seen = 0;
    for name in case.names("output.temperature") {
        let Some(stem) = name.strip_suffix(".loss") else { continue };
        let temperature: f64 = stem["output.temperature".len()..].parse().expect("a number");
        let mut gradient = vec![T::ZERO; embeddings.len()];
        let loss = supcr(&embeddings, width, &labels, temperature, &mut gradient);
        case.check(name, [loss.to_f64()], precision::<T>());
        case.check(&format!("{stem}.gradient"), wide(&gradient), precision::<T>());
        seen += 1;
    }
    assert!(seen > 0, "no temperatures");
    let tied = read::<T>(case, "input.all_tied.labels");
    let mut gradient = vec![T::ZERO; tied.len() * width];
    let loss = supcr(&embeddings[..tied.len() * width], width, &tied, 1.0, &mut gradient);
    case.check("output.all_tied.loss", [loss.to_f64()], precision::<T>());
    case.check("output.all_tied.gradient", wide(&gradient), precision::<T>());
}

#[test]
fn golden_buffer() {
    both("losses/buffer", buffer_case::<f32>, buffer_case::<f64>);
}

/// `parity`: the batch is written before it is used.
fn buffer_case<T: Real>(case: &Case) {
    let size = |name: &str| case.json["sizes"][name].as_u64().expect("a size") as usize;
    let (batches, batch, width, capacity) =
        (size("batches"), size("batch"), size("embedding"), size("buffer"));
    let option = |name: &str| case.json["options"][name].as_f64().expect("a number");
    let buffer = |weight| {
        Some(BufferOptions {
            size: capacity,
            min_samples: size("min_samples"),
            weight: BufferWeight::Constant { weight },
            order: WriteOrder::WriteFirst,
        })
    };
    let mut distance = PointDist::<T>::new(
        PointDistOptions { lambda_point: 0.0, lambda_dist: 1.0, buffer: buffer(1.0), ..Default::default() },
        1,
    );
    let mut contrast = MleWassSupCr::<T>::new(
        MleWassSupCrOptions {
            lambda_mse: 0.0,
            lambda_wasserstein: 0.0,
            lambda_supcr: 1.0,
            temperature: Temperature::Constant { first: option("supcr_temperature") },
            buffer: buffer(option("supcr_weight")),
            ..Default::default()
        },
        width,
        1,
    );
    let predictions = read::<T>(case, "input.predictions");
    let targets = read::<T>(case, "input.targets");
    let embeddings = read::<T>(case, "input.embeddings");
    let (mut distances, mut distance_gradients) = (Vec::new(), Vec::new());
    let (mut contrasts, mut contrast_gradients) = (Vec::new(), Vec::new());
    let weights = case.json["options"]["row_count_weights"].as_array().expect("weights");
    let mut taken = Vec::new();
    for b in 0..batches {
        let rows = BatchRows {
            predictions: &predictions[b * batch..][..batch],
            targets: &targets[b * batch..][..batch],
            embeddings: &embeddings[b * batch * width..][..batch * width],
            epoch: 0,
            step: b as u64,
            phase: LossPhase::Train,
        };
        let mut slope = vec![T::ONE; batch];
        let mut gradients = LossGradients { predictions: &mut slope, embeddings: &mut [] };
        distances.push(distance.evaluate(&rows, &mut gradients).total);
        distance_gradients.extend(wide(&slope));
        let mut pull = vec![T::ONE; batch * width];
        let mut gradients = LossGradients { predictions: &mut slope, embeddings: &mut pull };
        contrasts.push(contrast.evaluate(&rows, &mut gradients).total);
        contrast_gradients.extend(wide(&pull));

        let stored = distance.buffers()[0].1;
        let at = |name: &str, width: usize| &case.f64(name)[b * capacity * width..][..capacity * width];
        assert_eq!(wide(stored.features()), at("output.predictions_after", 1));
        assert_eq!(wide(stored.labels()), at("output.targets_after", 1));
        assert_eq!(wide(contrast.buffers()[0].1.features()), at("output.embeddings_after", width));
        assert_eq!(stored.state().pointer as f64, case.f64("output.pointer_after")[b]);
        assert_eq!(stored.count() as f64, case.f64("output.count_after")[b]);
        taken.extend(
            weights.iter().map(|w| rows_taken(batch, w.as_f64().expect("a weight"), stored.count()) as f64),
        );
    }
    assert_eq!(taken, case.f64("output.rows_taken"));
    case.check("output.wasserstein_all_rows", distances, precision::<T>());
    case.check("output.wasserstein_gradient", distance_gradients, precision::<T>());
    case.check("output.supcr", contrasts, precision::<T>());
    case.check("output.supcr_gradient", contrast_gradients, precision::<T>());
}

#[test]
fn golden_schedules() {
    for case in cases("losses/schedules") {
        let options = &case.json["options"];
        let list = |name: &str| options[name].as_array().expect("a list").clone();
        let number = |value: &serde_json::Value| value.as_f64().expect("a number");
        // Python's %g: 1.0 is `1`.
        let check = |name: &str, at: &dyn Fn(u32) -> f64| {
            let expected = case.expected(name);
            assert!(!expected.is_empty());
            for (epoch, &expected) in expected.iter().enumerate() {
                let mine = at(epoch as u32);
                assert!((mine - expected).abs() <= 1e-14, "{name} in epoch {epoch}: {mine} {expected}");
            }
        };
        for transition in list("transition_epochs") {
            let epoch = number(&transition) as u32;
            let schedule = |name: &str| -> AlphaSchedule {
                serde_json::from_value(name.replace('_', "-").into()).expect("a schedule's name")
            };
            for name in ["pre_then_post", "linear_until_uniform", "linear_until_flipped"] {
                check(&format!("output.{name}.{epoch}"), &|e| schedule(name).at(e, epoch));
            }
        }
        for pair in list("buffer_warmup_and_stable") {
            let (warmup_epochs, stable_epoch) = (number(&pair[0]) as u32, number(&pair[1]) as u32);
            let weight = BufferWeight::Rising { warmup_epochs, stable_epoch };
            check(&format!("output.buffer_weight.{warmup_epochs}.{stable_epoch}"), &|e| weight.at(e));
        }
        for triple in list("temperature_first_last_epochs") {
            let (first, last, epochs) = (number(&triple[0]), number(&triple[1]), number(&triple[2]) as u32);
            // The names hold the numbers as Python prints them; take whichever spelling is there.
            for kind in ["exponential", "cosine"] {
                let spellings = [format!("{first}"), format!("{first:?}")];
                let name = spellings
                    .iter()
                    .map(|first| format!("output.temperature_{kind}.{first}.{last}.{epochs}"))
                    .find(|name| case.has(&format!("{name}.f64")))
                    .expect("one spelling is there");
                let schedule = if kind == "cosine" {
                    Temperature::Cosine { first, last, epochs }
                } else {
                    Temperature::Exponential { first, last, epochs }
                };
                check(&name, &|e| schedule.at(e));
            }
        }
    }
}
