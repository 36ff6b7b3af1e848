//! The processes that were started together with this one by mpirun or srun.
//!
//! Only the first rank prints. A rank that fails names itself and ends all of them.

use crate::failure::Result;
use crate::ui::Ui;
use knockout_ranks::{Launch, Ranks, launched};

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
        cores: cores(),
        available: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
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

/// Cores of the machine, whether or not this process may use them.
pub(crate) fn cores() -> usize {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let count = text.lines().filter(|line| line.starts_with("processor")).count();
    if count > 0 { count } else { std::thread::available_parallelism().map_or(1, std::num::NonZero::get) }
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
