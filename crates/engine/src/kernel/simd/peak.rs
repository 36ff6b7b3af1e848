//! The floating-point operations that the multipliers can do, measured with a loop in registers.

#[cfg(target_arch = "x86_64")]
use super::Isa;
#[cfg(target_arch = "x86_64")]
use rustix::time::{ClockId, clock_gettime};

/// Measures how many floating-point operations per second the multipliers of the present pool's threads can do together; takes some 20 ms.
/// `None` where the kernels use no vector instructions that it knows.
///
/// Times are CPU times of the threads, so that other programs disturb little.
pub fn peak_flop_per_s() -> Option<f64> {
    rayon::broadcast(|_| of_this_thread()).into_iter().sum()
}

/// Sums that the loop keeps: enough that none waits for itself.
#[cfg(target_arch = "x86_64")]
const SUMS: usize = 12;

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "calls a version compiled for instructions that were detected")]
fn of_this_thread() -> Option<f64> {
    // Runs of the loop, of which the shortest counts, and its length.
    const RUNS: usize = 8;
    const ROUNDS: usize = 1_000_000;
    let (lanes, work): (usize, unsafe fn(usize) -> f32) = match Isa::current() {
        Isa::Avx512 => (16, multiply_add_avx512),
        Isa::Avx2 => (8, multiply_add_avx2),
        Isa::Portable => return None,
    };
    let seconds = |_| {
        let start = cpu_seconds();
        // SAFETY: an `Isa` other than `Portable` is only current where the processor has it.
        std::hint::black_box(unsafe { work(ROUNDS) });
        cpu_seconds() - start
    };
    let least = (0..RUNS).map(seconds).fold(f64::INFINITY, f64::min);
    Some((2 * ROUNDS * SUMS * lanes) as f64 / least)
}

#[cfg(not(target_arch = "x86_64"))]
fn of_this_thread() -> Option<f64> {
    None
}

/// CPU time of this thread.
#[cfg(target_arch = "x86_64")]
fn cpu_seconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// Sums of eight values that wait for nothing but the multipliers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn multiply_add_avx2(rounds: usize) -> f32 {
    let mut sums = [[0.0f32; 8]; SUMS];
    let (a, b) = (std::hint::black_box([0.999f32; 8]), std::hint::black_box([0.5f32; 8]));
    for _ in 0..rounds {
        for sum in &mut sums {
            for lane in 0..8 {
                sum[lane] = sum[lane].mul_add(a[lane], b[lane]);
            }
        }
    }
    sums.as_flattened().iter().sum()
}

/// Like [`multiply_add_avx2`], of sixteen values, which the compiler would not keep in registers by itself.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn multiply_add_avx512(rounds: usize) -> f32 {
    use std::arch::x86_64::{_mm512_fmadd_ps, _mm512_reduce_add_ps, _mm512_set1_ps, _mm512_setzero_ps};
    let mut sums = [_mm512_setzero_ps(); SUMS];
    let (a, b) = (_mm512_set1_ps(std::hint::black_box(0.999)), _mm512_set1_ps(std::hint::black_box(0.5)));
    for _ in 0..rounds {
        for sum in &mut sums {
            *sum = _mm512_fmadd_ps(*sum, a, b);
        }
    }
    sums.iter().map(|&sum| _mm512_reduce_add_ps(sum)).sum()
}
