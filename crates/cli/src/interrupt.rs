//! Ctrl-C and SIGTERM: the work in hand is finished and saved, then the command ends.

use crate::failure::{Result, Unexpected as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Becomes true when the user asks to stop. A second Ctrl-C ends the program at once.
#[derive(Clone)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Takes over the signals for the rest of the process; to be called once.
    pub(crate) fn install() -> Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        let noticed = Arc::clone(&asked);
        ctrlc::set_handler(move || {
            if noticed.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        })
        .unexpected("could not listen for Ctrl-C")?;
        Ok(Self(asked))
    }

    /// Whether the user asked to stop.
    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
