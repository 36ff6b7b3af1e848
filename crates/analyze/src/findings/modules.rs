//! Time by module and annotation of the program. Values only.

use knockout_base::stats::share;
use serde::Serialize;
use std::collections::BTreeMap;

/// Time of a module or an annotation: of one node of the tree, or of all nodes of its name.
///
/// *Host* time is between the start and the end of its spans. *Device* time is of the events launched by calls inside of these. *Backward* time is of the
/// functions of autograd whose forward operators ran inside, as far as they are evaluated outside of the spans, which is the rule.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ModuleRow {
    /// Name of the spans.
    pub name: String,
    /// Whether it is a module (`nn.Module: …`, `[pl][module]…`); else an annotation.
    pub is_module: bool,
    /// Index of the row around it in the tree; `None` for the outermost, and for all nodes of a name together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<usize>,
    /// Number of spans.
    pub calls: u64,
    /// Host time, inner modules and annotations included.
    pub host_us: f64,
    /// Host time outside of inner modules and annotations.
    pub host_self_us: f64,
    /// Host time of its backward pass, inner ones included.
    pub backward_host_us: f64,
    /// Device time, inner ones included.
    pub device_us: f64,
    /// Device time outside of inner modules and annotations.
    pub device_self_us: f64,
    /// Device time of its backward pass, inner ones included.
    pub backward_device_us: f64,
    /// Host time inside steps by the length of all steps; without steps, host time by the length of the trace.
    pub host_share: f64,
    /// Device time by the same length, with that of the backward pass.
    pub device_share: f64,
    /// Host time in steps; all of it without steps.
    #[serde(skip)]
    pub host_in_steps_us: f64,
    /// Device time launched in steps, with that of the backward pass; all of it without steps.
    #[serde(skip)]
    pub device_in_steps_us: f64,
}

impl ModuleRow {
    /// Returns the longer of host and device time, each with that of the backward pass.
    pub fn longest_us(&self) -> f64 {
        (self.host_us + self.backward_host_us).max(self.device_us + self.backward_device_us)
    }

    fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.host_self_us += other.host_self_us;
        self.device_self_us += other.device_self_us;
        self.add_totals(other);
    }

    fn add_totals(&mut self, other: &Self) {
        self.host_us += other.host_us;
        self.backward_host_us += other.backward_host_us;
        self.device_us += other.device_us;
        self.backward_device_us += other.backward_device_us;
        self.host_in_steps_us += other.host_in_steps_us;
        self.device_in_steps_us += other.device_in_steps_us;
    }

    fn set_shares(&mut self, of_us: f64) {
        self.host_share = share(self.host_in_steps_us, of_us);
        self.device_share = share(self.device_in_steps_us, of_us);
    }
}

/// Merges the trees of files: rows with the same names from the outermost on become one. Every row comes before those inside it.
/// Shares are of `of_us`.
pub(crate) fn module_tree<'a>(
    trees: impl IntoIterator<Item = &'a Vec<ModuleRow>>,
    of_us: f64,
) -> Vec<ModuleRow> {
    let mut indices: BTreeMap<(Option<usize>, String), usize> = BTreeMap::new();
    let mut rows: Vec<ModuleRow> = Vec::new();
    for tree in trees {
        let mut moved: Vec<usize> = Vec::with_capacity(tree.len());
        for row in tree {
            let parent = row.parent.and_then(|parent| moved.get(parent).copied());
            let index = *indices.entry((parent, row.name.clone())).or_insert(rows.len());
            moved.push(index);
            match rows.get_mut(index) {
                Some(same) => same.add(row),
                None => rows.push(ModuleRow { parent, ..row.clone() }),
            }
        }
    }
    for row in &mut rows {
        row.set_shares(of_us);
    }
    in_order(&rows)
}

/// Puts every row before those inside it, and of rows inside the same one the longest first.
fn in_order(rows: &[ModuleRow]) -> Vec<ModuleRow> {
    let mut inside: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for (index, row) in rows.iter().enumerate() {
        inside.entry(row.parent).or_default().push(index);
    }
    for list in inside.values_mut() {
        // The last one is taken first.
        list.sort_by(|&a, &b| {
            let key = |index: usize| rows.get(index).map_or(0.0, ModuleRow::longest_us);
            key(a)
                .total_cmp(&key(b))
                .then_with(|| rows.get(b).map(|r| &r.name).cmp(&rows.get(a).map(|r| &r.name)))
        });
    }
    let mut out: Vec<ModuleRow> = Vec::with_capacity(rows.len());
    let mut open: Vec<(Option<usize>, Vec<usize>)> = vec![(None, inside.remove(&None).unwrap_or_default())];
    while let Some((parent, list)) = open.last_mut() {
        let parent = *parent;
        let Some(index) = list.pop() else {
            open.pop();
            continue;
        };
        if let Some(row) = rows.get(index) {
            let own = out.len();
            out.push(ModuleRow { parent, ..row.clone() });
            open.push((Some(own), inside.remove(&Some(index)).unwrap_or_default()));
        }
    }
    out
}

/// Returns the rows of the files' tree by name, longest first. Of a name inside itself only the outer one counts for totals.
pub(crate) fn modules(tree: &[ModuleRow], of_us: f64) -> Vec<ModuleRow> {
    let mut sums: BTreeMap<&str, ModuleRow> = BTreeMap::new();
    for row in tree {
        let above = |row: &ModuleRow| row.parent.and_then(|parent| tree.get(parent));
        let is_outermost =
            std::iter::successors(above(row), |row| above(row)).all(|outer| outer.name != row.name);
        let first = || ModuleRow { name: row.name.clone(), is_module: row.is_module, ..ModuleRow::default() };
        let sum = sums.entry(&row.name).or_insert_with(first);
        if is_outermost {
            sum.add(row);
        } else {
            sum.calls += row.calls;
            sum.host_self_us += row.host_self_us;
            sum.device_self_us += row.device_self_us;
        }
    }
    let mut out: Vec<ModuleRow> = sums.into_values().collect();
    for row in &mut out {
        row.set_shares(of_us);
    }
    out.sort_by(|a, b| b.longest_us().total_cmp(&a.longest_us()).then_with(|| a.name.cmp(&b.name)));
    out
}
