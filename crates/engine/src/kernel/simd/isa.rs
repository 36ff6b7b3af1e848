//! Instruction sets of the CPU, and how one source is compiled for each.
//!
//! Kernels are written once over arrays of `L` floats; [`for_isa!`] compiles them for every instruction set, and the
//! compiler turns the arrays into registers. The only `unsafe` is the call of a version whose instructions were
//! detected.

use knockout_base::error::{Error, Result};
use std::sync::OnceLock;

/// A vector instruction set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isa {
    /// AVX-512 F and DQ: 16 lanes.
    Avx512,
    /// AVX2 with fused multiply-add: 8 lanes.
    Avx2,
    /// Whatever the target always has: 4 lanes (NEON on 64-bit ARM, SSE2 on x86-64).
    Portable,
}

impl Isa {
    /// Name used by `KNOCKOUT_ISA` and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Avx512 => "avx512",
            Self::Avx2 => "avx2",
            Self::Portable => "portable",
        }
    }

    /// Floats in a panel, which is two vectors.
    pub(crate) fn panel_width(self) -> usize {
        match self {
            Self::Avx512 => 32,
            Self::Avx2 => 16,
            Self::Portable => 8,
        }
    }

    /// Instruction sets of this CPU, best first.
    pub fn available() -> Vec<Self> {
        let mut sets = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
                sets.push(Self::Avx512);
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                sets.push(Self::Avx2);
            }
        }
        sets.push(Self::Portable);
        sets
    }

    /// Returns the set named by `KNOCKOUT_ISA`, else the best available.
    pub fn from_environment() -> Result<Self> {
        let available = Self::available();
        match std::env::var("KNOCKOUT_ISA") {
            Ok(name) if !name.is_empty() => {
                available.iter().copied().find(|isa| isa.name() == name).ok_or_else(|| {
                    let offered: Vec<&str> = available.iter().map(|isa| isa.name()).collect();
                    let offered = offered.join(", ");
                    Error::request(format!("KNOCKOUT_ISA is {name:?}, but this CPU offers {offered}"))
                })
            }
            _ => Ok(available[0]),
        }
    }

    /// The set every kernel uses: chosen once per process. A `KNOCKOUT_ISA` that cannot be used counts as none here;
    /// programs check [`Isa::from_environment`] at their start.
    pub fn current() -> Self {
        static CURRENT: OnceLock<Isa> = OnceLock::new();
        *CURRENT.get_or_init(|| Self::from_environment().unwrap_or_else(|_| Self::available()[0]))
    }
}

/// Makes `fn name(isa, …)` out of an `#[inline(always)] fn body<const L: usize, const FUSED: bool>(…)`.
macro_rules! for_isa {
    ($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)? = $body:ident) => {
        $(#[$doc])*
        #[expect(unsafe_code, reason = "calls a version compiled for instructions that were detected")]
        #[allow(clippy::too_many_arguments, reason = "what a kernel reads and writes")]
        pub(crate) fn $name(isa: $crate::kernel::Isa, $($arg: $type),*) $(-> $out)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512dq,avx2,fma")]
                #[allow(clippy::too_many_arguments, reason = "what a kernel reads and writes")]
                fn avx512($($arg: $type),*) $(-> $out)? {
                    $body::<16, true>($($arg),*)
                }
                #[target_feature(enable = "avx2,fma")]
                #[allow(clippy::too_many_arguments, reason = "what a kernel reads and writes")]
                fn avx2($($arg: $type),*) $(-> $out)? {
                    $body::<8, true>($($arg),*)
                }
                match isa {
                    // SAFETY: an `Isa` other than `Portable` comes from `Isa::available`, which asked the CPU.
                    $crate::kernel::Isa::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    $crate::kernel::Isa::Avx2 => return unsafe { avx2($($arg),*) },
                    $crate::kernel::Isa::Portable => {}
                }
            }
            #[cfg(not(target_arch = "x86_64"))]
            let _ = isa;
            $body::<4, { cfg!(target_arch = "aarch64") }>($($arg),*)
        }
    };
}
pub(crate) use for_isa;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_portable_path_is_always_there() {
        assert_eq!(Isa::available().last(), Some(&Isa::Portable));
    }
}
