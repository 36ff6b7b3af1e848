//! Attention in tiles against its definition.

use super::{assert_near, numbers};
use crate::kernel::dense::{Head, HeadUpstream, largest_norm};
use crate::kernel::simd::attention::{attend, attend_backward};
use crate::kernel::testing::widen;
use crate::kernel::{Attended, Isa, SelfAttention, reference};
use knockout_base::random::Rng;

struct Case {
    width: usize,
    rows: usize,
    inputs: [Vec<f32>; 4],
}

impl Case {
    fn new(rng: &mut Rng, rows: usize, width: usize, spread: f64) -> Self {
        let inputs = [spread, spread, 1.0, 1.0].map(|scale| numbers(rng, rows * width, scale, false));
        Self { width, rows, inputs }
    }

    fn exact(&self) -> [Vec<f64>; 4] {
        self.inputs.each_ref().map(|values| widen(values))
    }
}

fn head<T>([query, key, value, _]: &[Vec<T>; 4], width: usize, scale: T) -> Head<'_, T> {
    Head { query, key, value, width, scale }
}

/// Tiles that are not full, heads narrower and wider than a vector, scores far beyond what an exponential can hold.
#[test]
fn tiles_equal_the_definition() {
    let mut rng = Rng::new(11, "attention");
    for (rows, width, spread) in
        [(1, 8, 1.0), (7, 3, 1.0), (64, 8, 1.0), (150, 20, 1.0), (131, 8, 12.0), (97, 33, 3.0)]
    {
        let case = Case::new(&mut rng, rows, width, spread);
        let exact = case.exact();
        let scale = 1.0 / (width as f64).sqrt();
        let exact_head = head(&exact, width, scale);
        let (mut out, mut log_sum) = (vec![0.0; rows * width], vec![0.0; rows]);
        reference::attend(&exact_head, &mut out, &mut log_sum);
        let shift: Vec<f64> = (0..rows)
            .map(|row| {
                let of = row * width..(row + 1) * width;
                out[of.clone()].iter().zip(&exact[3][of]).map(|(y, dy)| y * dy).sum::<f64>() - 0.1
            })
            .collect();
        let keys = rows / 3..rows;
        let mut gradients = [keys.len(), keys.len(), rows].map(|count| vec![0.5; count * width]);
        let upstream = HeadUpstream { rows: &exact[3], log_sum: &log_sum, shift: &shift };
        let [d_key, d_value, d_query] = &mut gradients;
        reference::attend_backward(&exact_head, &upstream, keys.clone(), d_key, d_value, d_query);
        let tolerance = 2e-6 * (1.0 + spread * spread);
        for isa in Isa::available() {
            let head = head(&case.inputs, case.width, scale as f32);
            let (mut narrow, mut sums) = (vec![0.0; rows * width], vec![0.0; case.rows]);
            let key_norm = largest_norm(head.key, width);
            attend(isa, &head, key_norm, &mut narrow, &mut sums);
            assert_near("y", isa, &narrow, &out, tolerance);
            assert_near("log sum", isa, &sums, &log_sum, tolerance);
            let narrow_of =
                |values: &[f64]| -> Vec<f32> { values.iter().map(|&value| value as f32).collect() };
            let (log_sum, shift) = (narrow_of(&log_sum), narrow_of(&shift));
            let upstream = HeadUpstream { rows: &case.inputs[3], log_sum: &log_sum, shift: &shift };
            let mut narrow = [keys.len(), keys.len(), rows].map(|count| vec![0.5; count * width]);
            let [d_key, d_value, d_query] = &mut narrow;
            attend_backward(isa, &head, &upstream, keys.clone(), d_key, d_value, d_query);
            for ((what, narrow), exact) in ["dk", "dv", "dq"].iter().zip(&narrow).zip(&gradients) {
                assert_near(what, isa, narrow, exact, 20.0 * tolerance);
            }
        }
    }
}

/// All heads through the driver, with several tasks in both directions: like the definition, and the same bits for any number of threads.
#[test]
fn heads_are_independent_and_threads_change_no_bit() {
    let mut rng = Rng::new(12, "attention");
    let (rows, width, heads) = (200, 12, 3);
    let case = Case::new(&mut rng, rows, width, 1.0);
    let d_log_sum = numbers(&mut rng, rows * heads, 1.0, false);
    let exact = case.exact();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let [query, key, value, d_rows] = &case.inputs;
            let task = SelfAttention { query, key, value, width, heads };
            let (mut out, mut log_sum) = (vec![0.0; rows * width], vec![0.0; rows * heads]);
            task.forward(&mut out, &mut log_sum);
            let forward = Attended { rows: &out, log_sum: &log_sum };
            let gradients = task.backward(forward, Attended { rows: d_rows, log_sum: &d_log_sum });
            [out, log_sum, gradients.query.to_vec(), gradients.key.to_vec(), gradients.value.to_vec()]
        })
    };
    let one = run(1);
    for threads in [2, 7] {
        assert!(run(threads) == one, "{threads} threads");
    }
    let [query, key, value, d_rows] = &exact;
    let task = SelfAttention { query, key, value, width, heads };
    let (mut out, mut log_sum) = (vec![0.0; rows * width], vec![0.0; rows * heads]);
    task.forward(&mut out, &mut log_sum);
    let forward = Attended { rows: &out, log_sum: &log_sum };
    let gradients = task.backward(forward, Attended { rows: d_rows, log_sum: &widen(&d_log_sum) });
    let exact = [&out[..], &log_sum, &gradients.query, &gradients.key, &gradients.value];
    for (at, (values, exact)) in one.iter().zip(exact).enumerate() {
        assert_near(["y", "log sum", "dq", "dk", "dv"][at], Isa::current(), values, exact, 1e-5);
    }
}
