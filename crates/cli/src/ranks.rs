//! The processes that were started together with this one by mpirun or srun.
//!
//! The first rank speaks; the others do the same work in silence. Whoever fails says which rank it is and ends all of them.

use crate::failure::{Failure, Result};
use crate::ui::Ui;
use knockout_world::{Launch, Ranks, WorldError, launched};
use std::time::Duration;

/// Joins the ranks of this launch; a process that was started by itself is alone.
pub(crate) fn join(ui: &Ui) -> Result<Ranks> {
    let ranks = match launched() {
        None => Ranks::alone(),
        Some(launch) => join_launch(launch)?,
    };
    ui.join(ranks.clone());
    Ok(ranks)
}

#[cfg(feature = "mpi")]
fn join_launch(launch: Launch) -> Result<Ranks, WorldError> {
    let ranks = Ranks::new(std::sync::Arc::new(knockout_world::Mpi::join(launch)?));
    ranks.start()?;
    Ok(ranks)
}

#[cfg(not(feature = "mpi"))]
fn join_launch(launch: Launch) -> Result<Ranks, WorldError> {
    let Launch { variable, size } = launch;
    let why = "this knockout was built without MPI, and every copy of it would do all of the work; build it with `cargo build --release \
               --features mpi`"
        .to_owned();
    Err(WorldError::NotOneWorld { variable, size, seen: 1, why })
}

/// Threads of this rank: those that were asked for, or its share of the machine.
pub(crate) fn threads(ranks: &Ranks, ui: &Ui) -> usize {
    let here = rayon::current_num_threads();
    if ranks.is_alone() {
        return here;
    }
    let (cores, on_host) = (cores(), ranks.on_this_host());
    let available = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let is_bound = available < cores;
    let threads = match (ui.threads(), is_bound) {
        (0, false) => (cores / on_host).max(1),
        _ => here,
    };
    let binding = if is_bound { format!("bound to {available}") } else { "not bound".to_owned() };
    ui.note(&format!(
        "{} ranks on {} machine(s), {threads} thread(s) each, {binding} of {cores} core(s)",
        ranks.size(),
        ranks.host_count()
    ));
    if is_bound && available * on_host < cores {
        ui.note(&format!(
            "warning: the launcher bound every rank to {available} of {cores} cores, and {} of them do nothing; add --bind-to none to mpirun, \
             or --map-by slot:PE={}, or --cpus-per-task={} to srun",
            cores - available * on_host,
            cores / on_host,
            cores / on_host,
        ));
    }
    threads
}

/// Cores of the machine, whether or not this process may use them.
pub(crate) fn cores() -> usize {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let count = text.lines().filter(|line| line.starts_with("processor")).count();
    if count > 0 { count } else { std::thread::available_parallelism().map_or(1, std::num::NonZero::get) }
}

/// Ends all ranks after a failure of this one, with its exit code. Returns where there is no other.
pub(crate) fn fail(ranks: &Ranks, failure: &Failure, ui: &Ui) {
    if ranks.is_alone() {
        ui.error(failure);
        return;
    }
    // What all ranks refuse for the same reason the first one says, and ends the others.
    if !ranks.is_first() {
        std::thread::sleep(Duration::from_secs(2));
    }
    ui.error(&format!("{}: {failure}", ranks.place()));
    ranks.abort(failure.code());
}
