//! Peaks of a device: what it computes and moves at most.

use crate::collect::cost::Precision;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Peaks of one device.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Peaks {
    /// Name of the device in the table; `the given peaks` for those of flags.
    pub device: String,
    /// Document that the figures are from; empty for given ones.
    pub source: String,
    /// Bytes of memory per second.
    pub bytes_per_s: Option<f64>,
    /// Floating-point operations per second by precision.
    pub flop_per_s: BTreeMap<Precision, f64>,
}

#[derive(Deserialize)]
struct Table {
    device: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    r#match: Vec<String>,
    source: String,
    memory: f64,
    fp64: Option<f64>,
    fp32: Option<f64>,
    tf32: Option<f64>,
    fp16: Option<f64>,
    fp8: Option<f64>,
    int8: Option<f64>,
}

impl Peaks {
    /// Returns the peaks of a device by its name in a trace; `None` for one that is not in the table.
    pub fn of(device: &str) -> Option<Self> {
        let table: Table = toml::from_str(include_str!("devices.toml")).ok()?;
        let device = device.to_lowercase();
        let fits = |part: &String| is_name(&device, &part.to_lowercase());
        let entry = table.device.into_iter().find(|entry| entry.r#match.iter().any(fits))?;
        let flops = [
            (Precision::Fp64, entry.fp64),
            (Precision::Fp32, entry.fp32),
            (Precision::Tf32, entry.tf32),
            (Precision::Fp16, entry.fp16),
            (Precision::Fp8, entry.fp8),
            (Precision::Int8, entry.int8),
        ];
        Some(Self {
            device: entry.name,
            source: entry.source,
            bytes_per_s: Some(entry.memory),
            flop_per_s: flops.into_iter().filter_map(|(precision, peak)| Some((precision, peak?))).collect(),
        })
    }

    /// Returns these peaks with given ones in place of theirs. A given one for operations counts for every precision.
    #[must_use]
    pub fn given(mut self, flop_per_s: Option<f64>, bytes_per_s: Option<f64>) -> Self {
        const ALL: [Precision; 6] = [
            Precision::Fp64,
            Precision::Fp32,
            Precision::Tf32,
            Precision::Fp16,
            Precision::Fp8,
            Precision::Int8,
        ];
        if let Some(peak) = flop_per_s {
            self.flop_per_s = ALL.into_iter().map(|precision| (precision, peak)).collect();
        }
        self.bytes_per_s = bytes_per_s.or(self.bytes_per_s);
        if flop_per_s.is_some() && bytes_per_s.is_some() {
            (self.device, self.source) = (String::new(), String::new());
        }
        if self.device.is_empty() {
            "the given peaks".clone_into(&mut self.device);
        }
        self
    }
}

/// Whether `device` is this name with or without a maker: `A10` is neither `NVIDIA A100` nor `NVIDIA A10G`, and `H200` not `NVIDIA H200 NVL`.
fn is_name(device: &str, name: &str) -> bool {
    device.strip_suffix(name).is_some_and(|maker| maker.is_empty() || maker.ends_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_found_by_the_names_that_profilers_write() {
        let name = |device: &str| Peaks::of(device).map(|peaks| peaks.device);
        assert_eq!(name("NVIDIA H100 80GB HBM3").as_deref(), Some("NVIDIA H100 SXM"));
        assert_eq!(name("NVIDIA A100-SXM4-40GB").as_deref(), Some("NVIDIA A100 40GB"));
        assert_eq!(name("NVIDIA A100-PG509-200").as_deref(), Some("NVIDIA A100 40GB"));
        assert_eq!(name("AMD Instinct MI300X VF").as_deref(), Some("AMD Instinct MI300X"));
        assert_eq!(name("AMD Instinct MI250X").as_deref(), Some("AMD Instinct MI250X, one die"));
        assert_eq!(name("NVIDIA A10").as_deref(), Some("NVIDIA A10"));
        assert_eq!(name("Tesla V100-SXM2-16GB").as_deref(), Some("NVIDIA V100 SXM2"));
        assert_eq!(name("A100-SXM4-80GB").as_deref(), Some("NVIDIA A100 80GB SXM"));
        // Variants with other figures.
        for other in [
            "NVIDIA A1000",
            "NVIDIA A10G",
            "NVIDIA L40",
            "NVIDIA H200 NVL",
            "NVIDIA GH200 480GB",
            "NVIDIA GB200",
            "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
            "NVIDIA GeForce RTX 4090 Laptop GPU",
            "NVIDIA GeForce RTX 3090 Ti",
            "AMD Instinct MI250X/MI250",
        ] {
            assert_eq!(name(other), None, "{other}");
        }
        assert_eq!(name("NVIDIA A100"), None, "two sizes of memory have different bandwidths");
        assert_eq!(name(""), None);
    }

    #[test]
    fn every_device_has_memory_and_operations_and_a_source() {
        let table: Table = toml::from_str(include_str!("devices.toml")).unwrap();
        for entry in &table.device {
            let peaks = Peaks::of(&entry.r#match[0]).unwrap();
            assert_eq!(peaks.device, entry.name);
            assert!(!peaks.source.is_empty());
            let fp32 = peaks.flop_per_s[&Precision::Fp32];
            assert!(peaks.flop_per_s[&Precision::Fp16] >= fp32 && fp32 > 1e12, "{}", entry.name);
            assert!(peaks.bytes_per_s.unwrap() > 1e11);
        }
    }

    #[test]
    fn given_peaks_replace_those_of_the_table() {
        let both = Peaks::of("NVIDIA B200").unwrap().given(Some(1e12), Some(2e11));
        assert_eq!((both.device.as_str(), both.source.as_str()), ("the given peaks", ""));
        assert_eq!((both.flop_per_s[&Precision::Fp16], both.bytes_per_s), (1e12, Some(2e11)));
        let one = Peaks::of("NVIDIA B200").unwrap().given(None, Some(2e11));
        assert_eq!((one.device.as_str(), one.flop_per_s[&Precision::Fp16]), ("NVIDIA B200", 2.25e15));
    }
}
