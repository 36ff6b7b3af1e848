//! The critical path of the slowest step: from its end back to its start, always to the event that had to finish first.
//!
//! On the host the path follows the thread that holds the step. Where that thread waits for the device, the path goes over to the
//! device event that it waited for: in a synchronisation, in a copy that blocks, or in a launch that blocks because its stream is
//! full. From a device event the path goes to the event before it on its stream, to the event of another stream that it waited for,
//! or to its launch call, whichever came last. Where the thread sits in an annotation with nothing of its own inside (as in
//! `backward()`), another host thread that works meanwhile is followed instead.

mod devices;
#[cfg(test)]
mod tests;
mod walk;

use crate::attribute::FileSums;
use crate::attribute::lane::Piece;
use crate::collect::kind::{DeviceWork, Kind};
use crate::collect::record::Side;
use crate::collect::rules::{Category, Role};
use crate::findings::{CriticalPath, shares};
use devices::Devices;
use knockout_base::stats::us;
use std::collections::BTreeMap;
use walk::{Doing, On, Walk, long_calls};

/// Returns the path of the longest step; `None` without steps.
pub(crate) fn path(file: &FileSums<'_>) -> Option<CriticalPath> {
    let step =
        file.steps.steps.iter().max_by_key(|step| (step.end - step.start, std::cmp::Reverse(step.start)))?;
    let main = file.lanes.iter().find(|lane| lane.lane == step.lane)?;
    let mut others: Vec<Piece> = file
        .lanes
        .iter()
        .filter(|lane| lane.lane != step.lane && lane.side == Side::Host)
        .flat_map(|lane| lane.pieces.iter().copied())
        // The path never follows an idle thread.
        .filter(|piece| file.rules.role(piece.category) != Role::Sleep)
        .collect();
    others.sort_by_key(|piece| (piece.to, piece.from, piece.kind));
    let doing = |piece: &Piece| doing(file, piece);
    let calls = long_calls(main.pieces.iter().chain(&others), &doing);
    let walk = Walk {
        start: step.start,
        main: &main.pieces,
        others: &others,
        devices: Devices::new(&file.device_spans, &file.streams, &file.waits, &calls),
        waits: &file.waits,
        doing: &doing,
        is_copy: &|kind| file.kinds.get(kind.index()).is_some_and(|kind| kind.work == DeviceWork::Memory),
    };
    let is_unattributed = |category: &&Category| category.role == Role::Unattributed;
    let unattributed = file.rules.categories().iter().find(is_unattributed);
    let unattributed = unattributed.map_or("unattributed", |category| category.name.as_str());
    let mut by_category: BTreeMap<String, i64> = BTreeMap::new();
    let mut by_operation: BTreeMap<String, i64> = BTreeMap::new();
    walk.run(step.end, |what, nanos| {
        let (category, operation) = match what {
            On::Host(piece) => (file.category_name(piece.category), file.kind_name(piece.kind)),
            On::Device(kind) => {
                let of_kind = file.kinds.get(kind.index()).map(|kind| &kind.categories);
                let category = of_kind.map(|of| of.itself.unwrap_or(of.otherwise));
                (category.map_or("", |category| file.category_name(category)), file.kind_name(kind))
            }
            On::Launch => ("from launch to device", "from launch to device"),
            On::Gap => ("between device events", "between device events"),
            On::Nothing => (unattributed, unattributed),
        };
        *by_category.entry(category.to_owned()).or_default() += nanos;
        *by_operation.entry(operation.to_owned()).or_default() += nanos;
    });
    let whole = us(step.end - step.start);
    let rows =
        |sums: BTreeMap<String, i64>| sums.into_iter().map(|(name, nanos)| (name, us(nanos))).collect();
    let mut operations = shares(rows(by_operation), whole);
    operations.truncate(20);
    Some(CriticalPath {
        rank: None,
        step: file.kind_name(step.kind).to_owned(),
        us: whole,
        parts: shares(rows(by_category), whole),
        operations,
    })
}

/// Returns the activity of a host thread in a piece of its time.
fn doing(file: &FileSums<'_>, piece: &Piece) -> Doing {
    let Some(kind) = file.kinds.get(piece.kind.index()) else { return Doing::Work };
    if file.rules.role(piece.category) == Role::DeviceWait {
        Doing::Wait
    } else if kind.is(Kind::CALL) {
        Doing::DriverCall
    } else if matches!(file.text(kind.cat), "user_annotation" | "")
        || (kind.is(Kind::PYTHON) && file.text(kind.name).contains("run_backward"))
    {
        Doing::Annotation
    } else {
        Doing::Work
    }
}
