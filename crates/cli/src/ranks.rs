//! The processes that train together with this one: started by mpirun or srun, or by this program for `--ranks`.
//!
//! Only the first rank prints. A rank that fails names itself and ends all of them.

use crate::failure::{Result, request_error};
use crate::ui::{self, Ui};
use crate::{args, exit};
use clap::Args;
use knockout_models::ModelEntry;
use knockout_ranks::{Launch, ProcessRank, Ranks, launched};
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::Arc;

/// Ranks on this machine.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct RanksArg {
    /// Share every step among N processes of this machine; the weights are those of one process with as many shards
    #[arg(long, value_name = "N")]
    ranks: Option<u64>,
}

impl RanksArg {
    /// Returns a request of as many ranks; `None` for those of a launcher, or one.
    pub(crate) fn of(ranks: Option<u64>) -> Self {
        Self { ranks }
    }

    /// Returns the key that gives every rank a shard, unless the keys have one already.
    pub(crate) fn shards_key(self, model: &ModelEntry, keys: &[String], ui: &Ui) -> Option<String> {
        let ranks = self.ranks.filter(|&ranks| ranks > 1 && model.has_epochs())?;
        if keys.iter().any(|key| key.starts_with("train.shards=")) {
            return None;
        }
        ui.note(&format!(
            "train.shards={ranks}, so that every rank has a part of each batch; another number of ranks gives the same weights with it"
        ));
        Some(format!("train.shards={ranks}"))
    }
}

/// Joins the ranks of this launch, or starts as many as `--ranks` names; other processes are alone.
pub(crate) fn join(asked: RanksArg, ui: &Ui) -> Result<Ranks> {
    if let Some(world) = ProcessRank::join()? {
        return Ok(joined(Ranks::new(Arc::new(world)), ui));
    }
    let ranks = match (launched(), asked.ranks) {
        (Some(launch), Some(_)) => return Err(launched_twice(launch)),
        (Some(launch), None) => join_launch(launch)?,
        (None, None | Some(1)) => Ranks::alone(),
        (None, Some(ranks)) => start(usize::try_from(ranks).unwrap_or(usize::MAX))?,
    };
    Ok(joined(ranks, ui))
}

fn joined(ranks: Ranks, ui: &Ui) -> Ranks {
    ui.join(ranks.clone());
    ranks
}

/// Returns the error of `--ranks` under a launcher.
pub(crate) fn launched_twice(launch: Launch) -> crate::failure::Failure {
    request_error(format!(
        "--ranks starts ranks itself, and this is one of {} that a launcher started; leave out the launcher, or --ranks",
        launch.size
    ))
}

/// Starts this program once for every other rank, with the same words.
fn start(size: usize) -> Result<Ranks> {
    let command = || args::command_of_this_program(args::all().iter().cloned());
    let world = ProcessRank::start(size, command, move |rank, status| code_after(rank, size, status))?;
    Ok(Ranks::new(Arc::new(world)))
}

/// Returns the exit code of all ranks after the end of one; `None` if the others continue.
fn code_after(rank: usize, size: usize, status: ExitStatus) -> Option<u8> {
    let Some(code) = status.code() else {
        let signal = status.signal().map_or_else(String::new, |signal| format!(" by signal {signal}"));
        ui::report(&format!(
            "rank {rank} of {size} was killed{signal}, by a user, a scheduler or for lack of memory; the others were ended"
        ));
        return Some(exit::FAILED);
    };
    // Other ranks have printed why they failed. After an interruption the first one saves and ends by itself.
    let code = u8::try_from(code).unwrap_or(exit::FAILED);
    (![exit::OK, exit::INTERRUPTED].contains(&code)).then_some(code)
}

#[cfg(feature = "mpi")]
fn join_launch(launch: Launch) -> Result<Ranks> {
    let ranks = Ranks::new(std::sync::Arc::new(knockout_ranks::Mpi::join(launch)?));
    ranks.start()?;
    Ok(ranks)
}

#[cfg(not(feature = "mpi"))]
fn join_launch(launch: Launch) -> Result<Ranks> {
    let why = "this knockout was built without MPI, and every copy of it would do all of the work; build it with `cargo build --release \
               --features mpi`";
    Err(launch.refused(1, why).into())
}

/// Returns the threads of this rank: the requested number, or its share of the machine.
pub(crate) fn threads(ranks: &Ranks, ui: &Ui) -> usize {
    let here = rayon::current_num_threads();
    if ranks.is_alone() {
        return here;
    }
    let placement = Placement {
        asked: if ui.threads() == 0 { None } else { Some(here) },
        // Ranks that this program started share the cores that it may use; a launcher binds each of its own.
        cores: if launched().is_some() { cores() } else { available() },
        available: available(),
        on_host: ranks.on_this_host(),
    };
    ui.note(&format!(
        "{} ranks on {} machine(s), {} thread(s) each, {}",
        ranks.size(),
        ranks.host_count(),
        placement.threads(),
        placement.binding()
    ));
    if let Some(warning) = placement.warning() {
        ui.note(&warning);
    }
    placement.threads()
}

/// How the ranks of a machine share its cores.
#[derive(Debug, Clone, Copy)]
struct Placement {
    /// Requested threads.
    asked: Option<usize>,
    /// Cores of the machine.
    cores: usize,
    /// Cores that the launcher lets this rank use.
    available: usize,
    /// Ranks on the machine.
    on_host: usize,
}

impl Placement {
    fn is_bound(self) -> bool {
        self.available < self.cores
    }

    fn threads(self) -> usize {
        match (self.asked, self.is_bound()) {
            (Some(asked), _) => asked,
            (None, true) => self.available,
            (None, false) => (self.cores / self.on_host).max(1),
        }
    }

    fn binding(self) -> String {
        let Self { cores, available, .. } = self;
        if self.is_bound() {
            format!("bound to {available} of {cores} core(s)")
        } else {
            format!("not bound to any of {cores} core(s)")
        }
    }

    /// Returns a warning about the launcher's binding, with the option that avoids it.
    fn warning(self) -> Option<String> {
        let Self { cores, available, on_host, .. } = self;
        let idle = cores.saturating_sub(available * on_host);
        let cost = match self.threads() {
            _ if !self.is_bound() => return None,
            threads if threads > available => format!("which its {threads} threads share"),
            _ if idle > 0 => format!("and {idle} of them do nothing"),
            _ => return None,
        };
        let share = (cores / on_host).max(1);
        Some(format!(
            "warning: the launcher bound every rank to {available} of {cores} cores, {cost}; add --bind-to none to mpirun, or --map-by \
             slot:PE={share}, or --cpus-per-task={share} to srun"
        ))
    }
}

/// Panics where a test requests it: `KNOCKOUT_TEST_PANIC=1:3` is rank 1 after step 3. Not in release builds.
#[cfg(debug_assertions)]
pub(crate) fn panic_if_asked(ranks: &Ranks, step: u64) {
    let asked = std::env::var("KNOCKOUT_TEST_PANIC").ok();
    assert!(asked.is_none_or(|asked| asked != format!("{}:{step}", ranks.rank())), "a test requested it");
}

/// Release builds ignore the request.
#[cfg(not(debug_assertions))]
pub(crate) fn panic_if_asked(_: &Ranks, _: u64) {}

/// Cores that this process may use.
pub(crate) fn available() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Cores of the machine, whether or not this process may use them.
pub(crate) fn cores() -> usize {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let count = text.lines().filter(|line| line.starts_with("processor")).count();
    if count > 0 { count } else { available() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: Placement = Placement { asked: None, cores: 16, available: 16, on_host: 2 };

    #[test]
    fn ranks_that_are_not_bound_share_the_machine() {
        assert_eq!((MACHINE.threads(), MACHINE.warning()), (8, None));
        assert_eq!(MACHINE.binding(), "not bound to any of 16 core(s)");
        let many = Placement { on_host: 64, ..MACHINE };
        assert_eq!(many.threads(), 1);
        let asked = Placement { asked: Some(3), ..MACHINE };
        assert_eq!((asked.threads(), asked.warning()), (3, None));
    }

    #[test]
    fn a_rank_bound_to_one_core_is_told_what_that_costs() {
        let bound = Placement { available: 1, ..MACHINE };
        assert_eq!((bound.threads(), bound.binding()), (1, "bound to 1 of 16 core(s)".to_owned()));
        let warning = bound.warning().unwrap();
        assert!(
            warning.contains("bound every rank to 1 of 16 cores, and 14 of them do nothing"),
            "{warning}"
        );
        assert!(warning.contains("--bind-to none") && warning.contains("slot:PE=8"), "{warning}");
        let threads = Placement { asked: Some(4), ..bound };
        let warning = threads.warning().unwrap();
        assert!(warning.contains("to 1 of 16 cores, which its 4 threads share"), "{warning}");
    }

    #[test]
    fn ranks_bound_to_all_cores_together_are_fine() {
        let bound = Placement { available: 8, ..MACHINE };
        assert_eq!((bound.threads(), bound.warning()), (8, None));
    }
}
