//! Ctrl-C, SIGTERM, SIGHUP and SIGUSR1: the work in hand is finished and saved, then the command ends.

use crate::exit::ENDED;
use crate::failure::{Result, Unexpected as _};
use knockout_ranks::{Ranks, launched};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Becomes true when the user or a scheduler asks to stop. A second Ctrl-C ends the program at once.
#[derive(Clone)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Takes over the signals for the rest of the process; to be called once.
    pub(crate) fn install() -> Result<Self> {
        Self::listen(&[SIGINT, SIGTERM, SIGHUP])
    }

    /// Takes over the signals on each of these ranks. The terminal sends them to all ranks, and launchers of MPI pass them on once
    /// more: there, and on ranks that another one started, a second signal does not end the program.
    pub(crate) fn install_on(ranks: &Ranks) -> Result<Self> {
        if ranks.is_first() && launched().is_none() { Self::install() } else { Self::listen(&[]) }
    }

    /// `impatient` are the signals that end the program when they come again.
    fn listen(impatient: &[i32]) -> Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        let register = || -> std::io::Result<()> {
            // The immediate end is registered first: it must not see the flag that the same signal sets.
            for &signal in impatient {
                flag::register_conditional_shutdown(signal, ENDED, Arc::clone(&asked))?;
            }
            for signal in [SIGINT, SIGTERM, SIGHUP, SIGUSR1] {
                flag::register(signal, Arc::clone(&asked))?;
            }
            Ok(())
        };
        register().unexpected("could not listen for Ctrl-C")?;
        Ok(Self(asked))
    }

    /// Returns whether a stop was requested.
    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
