//! Operators by the shapes of their inputs as values.

use crate::attribute::FileSums;
use crate::attribute::shapes::ShapeTime;
use crate::collect::id::ShapeId;
use crate::findings::{KernelRow, ShapeRow};
use knockout_base::stats::us;
use std::collections::BTreeMap;

/// Returns the operators of all lanes, in no order and without rates.
pub(crate) fn rows(file: &FileSums<'_>) -> Vec<ShapeRow> {
    let mut times: BTreeMap<ShapeId, ShapeTime> = BTreeMap::new();
    for (id, time) in file.lanes.iter().flat_map(|lane| &lane.shapes.times) {
        let sum = times.entry(*id).or_default();
        sum.calls += time.calls;
        sum.nanos = sum.nanos.saturating_add(time.nanos);
        sum.computed_as = sum.computed_as.or(time.computed_as);
    }
    let mut kernels: BTreeMap<ShapeId, BTreeMap<&str, (u64, i64)>> = BTreeMap::new();
    for (&(shape, kind), &(count, nanos)) in &file.joined.by_shape {
        let by_name = kernels.entry(shape).or_default();
        let sum = by_name.entry(file.kind_name(kind)).or_default();
        *sum = (sum.0 + count, sum.1.saturating_add(nanos));
    }
    let row = |(id, time): (ShapeId, ShapeTime)| {
        let shape = file.shapes.get(id.index())?;
        let computed = time.computed_as.and_then(|id| file.shapes.get(id.index()));
        let cost = computed.unwrap_or(shape).cost;
        let own = kernels.remove(&id).unwrap_or_default();
        let nanos = own.values().fold(0_i64, |sum, (_, nanos)| sum.saturating_add(*nanos));
        let mut kernels: Vec<KernelRow> = own
            .into_iter()
            .map(|(name, (count, nanos))| KernelRow { name: name.to_owned(), count, us: us(nanos) })
            .collect();
        kernels.sort_by(|a, b| b.us.total_cmp(&a.us).then_with(|| a.name.cmp(&b.name)));
        Some(ShapeRow {
            name: file.kind_name(shape.kind).to_owned(),
            dims: file.text(shape.dims).to_owned(),
            types: file.text(shape.types).to_owned(),
            calls: time.calls,
            host_us: us(time.nanos),
            device_us: us(nanos),
            kernels,
            flop: cost.map(|cost| cost.flop),
            bytes: cost.map(|cost| cost.bytes),
            precision: cost.map(|cost| cost.precision),
            flop_per_s: None,
            bytes_per_s: None,
            intensity: None,
            roof: None,
        })
    };
    times.into_iter().filter_map(row).collect()
}
