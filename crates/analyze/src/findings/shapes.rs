//! Operators by the shapes of their inputs: their work, how fast they do it, and how fast they could. Values only.

use crate::collect::cost::Precision;
use crate::findings::peaks::Peaks;
use crate::findings::share::sum;
use serde::Serialize;
use std::collections::BTreeMap;

/// Calls of an operator with inputs of one shape.
///
/// Kernels and time belong to the outermost operator around them whose work is known, else to the innermost one with shapes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShapeRow {
    /// Name of the operator.
    pub name: String,
    /// Sizes of the inputs, as the profiler writes them.
    pub dims: String,
    /// Types of the inputs, as the profiler writes them.
    pub types: String,
    /// Number of calls.
    pub calls: u64,
    /// Host time.
    pub host_us: f64,
    /// Time of the device events that were launched inside.
    pub device_us: f64,
    /// These by name, longest first.
    pub kernels: Vec<KernelRow>,
    /// Floating-point operations of one call; `None` where they are not known.
    pub flop: Option<f64>,
    /// Bytes of inputs and outputs of one call.
    pub bytes: Option<f64>,
    /// Type of the numbers.
    pub precision: Option<Precision>,
    /// Operations per second of device time; of host time in a trace without a device.
    pub flop_per_s: Option<f64>,
    /// Bytes per second of the same time.
    pub bytes_per_s: Option<f64>,
    /// Operations for each byte.
    pub intensity: Option<f64>,
    /// Limit by the peaks of the device; `None` where these or the work are not known.
    pub roof: Option<Roof>,
}

/// Device events of one name that an operator launched.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelRow {
    /// Name of the kernel.
    pub name: String,
    /// Number of events.
    pub count: u64,
    /// Their time.
    pub us: f64,
}

/// The limit of an operator on its device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Roof {
    /// The peak that its work reaches first.
    pub limit: RoofLimit,
    /// The least time of its work by the time that it takes.
    pub share: f64,
}

/// The peak that limits an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RoofLimit {
    /// Operations per second.
    Compute,
    /// Bytes per second.
    Memory,
}

impl ShapeRow {
    /// Returns the time that rates are of.
    pub fn measured_us(&self, has_device: bool) -> f64 {
        if has_device { self.device_us } else { self.host_us }
    }

    fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.host_us += other.host_us;
        self.device_us += other.device_us;
        for kernel in &other.kernels {
            match self.kernels.iter_mut().find(|own| own.name == kernel.name) {
                Some(own) => {
                    own.count += kernel.count;
                    own.us += kernel.us;
                }
                None => self.kernels.push(kernel.clone()),
            }
        }
        self.kernels.sort_by(|a, b| b.us.total_cmp(&a.us).then_with(|| a.name.cmp(&b.name)));
    }

    fn set_rates(&mut self, has_device: bool, peaks: Option<&Peaks>) {
        let seconds = self.measured_us(has_device) / 1e6 / self.calls.max(1) as f64;
        let rate = |work: Option<f64>| work.filter(|_| seconds > 0.0).map(|work| work / seconds);
        self.flop_per_s = rate(self.flop.filter(|flop| *flop > 0.0));
        self.bytes_per_s = rate(self.bytes);
        self.intensity = self.flop.zip(self.bytes).map(|(flop, bytes)| flop / bytes);
        // Products of FP32 inputs may be computed in TF32: their kernels' names tell.
        let is_tf32 = |row: &KernelRow| row.name.contains("tf32") || row.name.contains("s1688");
        if self.precision == Some(Precision::Fp32) && self.kernels.first().is_some_and(is_tf32) {
            self.precision = Some(Precision::Tf32);
        }
        // A copy from or to the host is limited by the bus between them.
        let is_bus = |row: &KernelRow| row.name.contains("HtoD") || row.name.contains("DtoH");
        let is_on_device = !self.kernels.first().is_some_and(is_bus);
        self.roof = peaks.filter(|_| seconds > 0.0 && is_on_device).and_then(|peaks| {
            let precision = self.precision?;
            let (flop, bytes) = (self.flop?, self.bytes?);
            // Without an operation, or with those of a type without a peak, only memory limits.
            let compute = peaks.flop_per_s.get(&precision).map(|peak| flop / peak);
            let memory = peaks.bytes_per_s.map(|peak| bytes / peak);
            let (limit, least) = match (compute, memory) {
                (Some(compute), Some(memory)) if compute > memory => (RoofLimit::Compute, compute),
                (_, Some(memory)) => (RoofLimit::Memory, memory),
                (Some(compute), None) if flop > 0.0 => (RoofLimit::Compute, compute),
                (_, None) => return None,
            };
            Some(Roof { limit, share: least / seconds })
        });
    }
}

/// Operators by shape, and the peaks that limit them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Shapes {
    /// Longest first.
    pub rows: Vec<ShapeRow>,
    /// Peaks of the device; `None` where they are not known.
    pub peaks: Option<Peaks>,
    /// Name of the device as the trace has it.
    pub device: Option<String>,
    /// Whether times are of a device.
    pub has_device: bool,
    /// Operations of all rows with known work.
    pub flop: f64,
    /// Share of the time of all device events (without a device: of the rows) that rows with known work have.
    pub known_share: f64,
}

impl Shapes {
    /// Puts the rows of files together. `device_us` is the time of all device events, `None` without a device.
    pub(crate) fn of<'a>(
        files: impl Iterator<Item = &'a Vec<ShapeRow>>,
        devices: &[&str],
        device_us: Option<f64>,
    ) -> Self {
        let key = |row: &ShapeRow| {
            (row.name.clone(), row.dims.clone(), row.types.clone(), row.flop.map(f64::to_bits))
        };
        let mut rows: BTreeMap<_, ShapeRow> = BTreeMap::new();
        for row in files.flatten() {
            rows.entry(key(row)).and_modify(|sum| sum.add(row)).or_insert_with(|| row.clone());
        }
        // Ranks on different devices have no common peaks.
        let device = devices.first().filter(|first| devices.iter().all(|other| other == *first));
        let mut shapes = Self {
            rows: rows.into_values().collect(),
            peaks: device.and_then(|name| Peaks::of(name)),
            device: device.map(|name| (*name).to_owned()),
            has_device: device_us.is_some(),
            ..Self::default()
        };
        shapes.finish();
        let known = |row: &&ShapeRow| row.flop.is_some();
        let time = |row: &ShapeRow| row.measured_us(shapes.has_device);
        let all = device_us.unwrap_or_else(|| sum(shapes.rows.iter().map(time)));
        let of_known = sum(shapes.rows.iter().filter(known).map(time));
        shapes.known_share = knockout_base::stats::share(of_known, all);
        shapes.flop = sum(shapes.rows.iter().filter_map(|row| Some(row.flop? * row.calls as f64)));
        shapes
    }

    /// Replaces the peaks.
    pub fn set_peaks(&mut self, peaks: Peaks) {
        self.peaks = Some(peaks);
        self.finish();
    }

    fn finish(&mut self) {
        let has_device = self.has_device;
        for row in &mut self.rows {
            row.set_rates(has_device, self.peaks.as_ref());
        }
        self.rows.sort_by(|a, b| {
            let time = |row: &ShapeRow| row.measured_us(has_device);
            time(b)
                .total_cmp(&time(a))
                .then_with(|| b.host_us.total_cmp(&a.host_us))
                .then_with(|| (&a.name, &a.dims, &a.types).cmp(&(&b.name, &b.dims, &b.types)))
        });
    }
}
