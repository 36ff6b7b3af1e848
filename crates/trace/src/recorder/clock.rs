//! Clocks: that of the machine, and one that tests advance by hand.

use rustix::time::{ClockId, clock_gettime};
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A clock that never goes backwards.
pub trait Clock: Debug + Send + Sync {
    /// Nanoseconds since the clock began.
    fn now_nanos(&self) -> u64;
    /// Nanoseconds of CPU time, of all threads of this process.
    fn cpu_nanos(&self) -> u64;
    /// Start of the clock in nanoseconds since 1970, by which traces of several processes are aligned.
    fn epoch_nanos(&self) -> u64;
    /// Start of the clock by the system's monotonic clock (`CLOCK_MONOTONIC`) in nanoseconds, by which other programs on this machine count.
    fn monotonic_nanos(&self) -> u64;
}

/// Readings of both times of which the closest pair is kept.
const READINGS: usize = 8;

/// The machine's clock.
#[derive(Debug)]
pub struct SystemClock {
    /// By the monotonic clock.
    began_nanos: u64,
    epoch_nanos: u64,
}

impl SystemClock {
    /// Creates a clock that starts now.
    ///
    /// Both times are read several times and the closest pair is kept: a process that loses its core between them would be shifted against others.
    pub fn new() -> Self {
        let read = |_| {
            let began_nanos = reading(ClockId::Monotonic);
            let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            (reading(ClockId::Monotonic).saturating_sub(began_nanos), began_nanos, since_1970)
        };
        let (_, began_nanos, since_1970) =
            (1..READINGS).map(read).fold(read(0), |a, b| if b.0 < a.0 { b } else { a });
        Self { began_nanos, epoch_nanos: nanos(since_1970) }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[inline]
    fn now_nanos(&self) -> u64 {
        reading(ClockId::Monotonic).saturating_sub(self.began_nanos)
    }

    fn cpu_nanos(&self) -> u64 {
        reading(ClockId::ProcessCPUTime)
    }

    fn epoch_nanos(&self) -> u64 {
        self.epoch_nanos
    }

    fn monotonic_nanos(&self) -> u64 {
        self.began_nanos
    }
}

/// Nanoseconds of a clock of the system.
#[inline]
fn reading(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    nanos(Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.max(0) as u32))
}

/// A clock that is advanced by hand, so that figures in tests are exact.
#[derive(Debug, Default)]
pub struct FakeClock {
    wall: AtomicU64,
    cpu: AtomicU64,
}

impl FakeClock {
    /// Creates a clock at zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Advances wall and CPU time.
    pub fn advance(&self, time: Duration) {
        self.wall.fetch_add(nanos(time), Ordering::Relaxed);
        self.cpu.fetch_add(nanos(time), Ordering::Relaxed);
    }

    /// Advances wall time alone: the CPU idles.
    pub fn rest(&self, time: Duration) {
        self.wall.fetch_add(nanos(time), Ordering::Relaxed);
    }
}

impl Clock for FakeClock {
    fn now_nanos(&self) -> u64 {
        self.wall.load(Ordering::Relaxed)
    }

    fn cpu_nanos(&self) -> u64 {
        self.cpu.load(Ordering::Relaxed)
    }

    fn epoch_nanos(&self) -> u64 {
        0
    }

    fn monotonic_nanos(&self) -> u64 {
        0
    }
}

/// Whole nanoseconds: 584 years fit.
pub(super) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
