//! Operations by name, and Python functions with the operations below them.

use crate::attribute::FileSums;
use crate::collect::id::{CategoryId, NodeId};
use crate::findings::{Operation, OperationPart, PythonFunction};
use knockout_base::stats::{share, us_wide};
use knockout_trace::Symbol;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) fn distinct_names(file: &FileSums<'_>) -> usize {
    file.kinds.iter().filter(|kind| kind.events > 0).map(|kind| kind.name).collect::<BTreeSet<_>>().len()
}

#[derive(Default)]
struct OperationSums {
    own: i128,
    total: i128,
    count: u64,
    by_category: BTreeMap<CategoryId, (i128, u64)>,
}

pub(crate) fn operations(file: &FileSums<'_>) -> Vec<Operation> {
    let mut sums: BTreeMap<Symbol, OperationSums> = BTreeMap::new();
    for node in file.lanes.iter().flat_map(|lane| &lane.tree.nodes) {
        let Some(kind) = file.kinds.get(node.kind.index()) else { continue };
        let entry = sums.entry(kind.name).or_default();
        entry.own += i128::from(node.self_nanos);
        entry.count += node.events;
        if node.outermost {
            entry.total += i128::from(node.total_nanos);
        }
        let part = entry.by_category.entry(node.category).or_default();
        part.0 += i128::from(node.self_nanos);
        part.1 += node.events;
    }
    let mut naive: BTreeMap<Symbol, i128> = BTreeMap::new();
    for kind in file.kinds.iter() {
        *naive.entry(kind.name).or_default() += kind.sum_nanos;
    }
    let mut out: Vec<(i128, Operation)> = sums
        .into_iter()
        .map(|(name, sums)| {
            let sum = naive.get(&name).copied().unwrap_or(0);
            let name = file.text(name).to_owned();
            (sums.own, operation(file, name, &sums, sum))
        })
        .collect();
    out.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
    out.into_iter().map(|(_, operation)| operation).collect()
}

fn operation(file: &FileSums<'_>, name: String, sums: &OperationSums, naive: i128) -> Operation {
    let mut by_category: Vec<(i128, OperationPart)> = sums
        .by_category
        .iter()
        .map(|(category, (own, count))| {
            let of = file.rules.categories().get(category.index());
            let (name, device) = of.map_or((String::new(), false), |of| (of.name.clone(), of.device));
            (*own, OperationPart { category: name, device, self_us: us_wide(*own), count: *count })
        })
        .collect();
    by_category.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.category.cmp(&b.1.category)));
    let by_category: Vec<OperationPart> = by_category.into_iter().map(|(_, part)| part).collect();
    Operation {
        name,
        category: by_category.first().map(|part| part.category.clone()).unwrap_or_default(),
        self_us: us_wide(sums.own),
        total_us: us_wide(sums.total),
        sum_us: us_wide(naive),
        count: sums.count,
        by_category,
    }
}

/// Times of a Python function.
#[derive(Default)]
struct PythonSums {
    all: i128,
    /// Of it, a thread sleeps in its call stack.
    asleep: i128,
    own: i128,
    count: u64,
}

/// `host` is the time of the host, `awake` that in which no thread sleeps in its call stack.
pub(crate) fn python(file: &FileSums<'_>, host: i128, awake: i128) -> Vec<PythonFunction> {
    let mut sums: BTreeMap<Symbol, PythonSums> = BTreeMap::new();
    for lane in &file.lanes {
        for (index, node) in lane.tree.nodes.iter().enumerate() {
            let Some(frame) = node.python.and_then(|frame| lane.tree.nodes.get(frame.index())) else {
                continue;
            };
            let Some(kind) = file.kinds.get(frame.kind.index()) else { continue };
            let entry = sums.entry(kind.name).or_default();
            entry.all += i128::from(node.self_nanos);
            if file.rules.role(node.category).is_asleep() {
                entry.asleep += i128::from(node.self_nanos);
            }
            if node.python == Some(NodeId::from_index(index)) {
                entry.own += i128::from(node.self_nanos);
                entry.count += node.events;
            }
        }
    }
    let function = |(name, sums): (Symbol, PythonSums)| {
        let PythonSums { all, asleep, own, count } = sums;
        let is_awake = all > asleep;
        let function = PythonFunction {
            name: file.text(name).to_owned(),
            us: us_wide(all),
            share: share(us_wide(all), us_wide(host)),
            share_of_awake: is_awake.then(|| share(us_wide(all - asleep), us_wide(awake))),
            python_us: us_wide(own),
            count,
        };
        (all, function)
    };
    let mut out: Vec<(i128, PythonFunction)> = sums.into_iter().map(function).collect();
    out.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
    out.into_iter().map(|(_, function)| function).collect()
}
