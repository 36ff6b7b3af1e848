//! Modules and annotations as values.

use crate::attribute::FileSums;
use crate::attribute::modules::ScopeNanos;
use crate::collect::id::{KindId, ScopeId};
use crate::collect::kind::Kind;
use crate::collect::record::Side;
use crate::findings::ModuleRow;
use knockout_base::stats::us;
use std::collections::BTreeMap;

/// Sums of one node of the tree, in nanoseconds and without inner ones.
#[derive(Debug, Default, Clone, Copy)]
struct ModuleSums {
    calls: u64,
    host: i64,
    host_in_steps: i64,
    scope: ScopeNanos,
}

impl ModuleSums {
    fn absorb(&mut self, other: Self) {
        self.calls += other.calls;
        self.host = self.host.saturating_add(other.host);
        self.host_in_steps = self.host_in_steps.saturating_add(other.host_in_steps);
        self.scope.absorb(other.scope);
    }
}

/// Returns the tree of modules and annotations of all host lanes, in no order and without shares.
pub(crate) fn tree(file: &FileSums<'_>) -> Vec<ModuleRow> {
    let has_steps = !file.steps.steps.is_empty();
    let mut indices: BTreeMap<(Option<usize>, KindId), usize> = BTreeMap::new();
    let mut places: Vec<(Option<usize>, KindId, ModuleSums)> = Vec::new();
    for lane in file.lanes.iter().filter(|lane| lane.side == Side::Host) {
        // Nodes of different lanes with the same names are one.
        let mut moved: Vec<usize> = Vec::new();
        for (number, scope) in lane.tree.scopes.list.iter().enumerate() {
            let parent = scope.parent.and_then(|parent| moved.get(parent.index()).copied());
            let index = *indices.entry((parent, scope.kind)).or_insert(places.len());
            moved.push(index);
            if index == places.len() {
                places.push((parent, scope.kind, ModuleSums::default()));
            }
            let key = (lane.lane, ScopeId::from_index(number));
            if let (Some(place), Some(&nanos)) = (places.get_mut(index), file.joined.by_scope.get(&key)) {
                place.2.scope.absorb(nanos);
            }
        }
        for node in &lane.tree.nodes {
            let Some(index) = node.scope.and_then(|scope| moved.get(scope.index())) else { continue };
            let Some((_, kind, sums)) = places.get_mut(*index) else { continue };
            if *kind == node.kind {
                sums.calls += node.events;
            }
            sums.host = sums.host.saturating_add(node.self_nanos);
            if node.in_step || !has_steps {
                sums.host_in_steps = sums.host_in_steps.saturating_add(node.self_nanos);
            }
        }
    }
    // Nodes come after those around them, so one pass from the end carries every sum outwards.
    let mut totals: Vec<ModuleSums> = places.iter().map(|(_, _, sums)| *sums).collect();
    for (index, (parent, ..)) in places.iter().enumerate().rev() {
        let inner = totals.get(index).copied().unwrap_or_default();
        if let Some(outer) = parent.and_then(|parent| totals.get_mut(parent)) {
            outer.absorb(inner);
        }
    }
    let rows = places.iter().zip(&totals).map(|((parent, kind, own), all)| ModuleRow {
        name: file.kind_name(*kind).to_owned(),
        is_module: file.kinds.get(kind.index()).is_some_and(|kind| kind.is(Kind::MODULE)),
        parent: *parent,
        calls: own.calls,
        host_us: us(all.host),
        host_self_us: us(own.host),
        backward_host_us: us(all.scope.backward_host),
        device_us: us(all.scope.device),
        device_self_us: us(own.scope.device),
        backward_device_us: us(all.scope.backward_device),
        host_in_steps_us: us(all.host_in_steps),
        device_in_steps_us: us(if has_steps {
            all.scope.device_in_steps
        } else {
            all.scope.device + all.scope.backward_device
        }),
        ..ModuleRow::default()
    });
    rows.collect()
}
