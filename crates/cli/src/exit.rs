//! Exit codes are interface: documented in `--help`, one constant each, one test each.

use knockout_base::error::Class;

/// The command finished.
pub(crate) const OK: u8 = 0;
/// Something unexpected failed: a disk, a bug.
pub(crate) const FAILED: u8 = 1;
/// The request cannot be carried out: a bad flag, a bad key, a missing file, an output that exists.
pub(crate) const REQUEST: u8 = 2;
/// An input file is damaged or not what it claims to be.
pub(crate) const DATA: u8 = 3;
/// Training diverged: a loss or a gradient is not finite.
pub(crate) const DIVERGED: u8 = 4;
/// A comparison found a slowdown beyond the threshold.
pub(crate) const REGRESSED: u8 = 5;
/// The result is that of the readable part of a damaged input.
pub(crate) const PARTIAL: u8 = 6;
/// Two inputs cannot be compared fairly: their conditions differ, or there are too few steps to judge.
pub(crate) const INCOMPARABLE: u8 = 7;
/// The command was interrupted; its work is saved and can be resumed.
#[cfg(feature = "lab")]
pub(crate) const INTERRUPTED: u8 = 8;

/// The command was ended at once by a second signal: 128 and the number of SIGINT, as shells report it.
#[cfg(feature = "lab")]
pub(crate) const ENDED: i32 = 130;

/// The table printed under every `--help`.
pub(crate) const HELP: &str = "\
EXIT CODES:
  0  finished
  1  unexpected failure (disk full, internal error)
  2  the request cannot be carried out (bad flag or key, missing file, output exists)
  3  damaged or wrong input
  4  training diverged: a loss or a gradient is not finite
  5  slower than the threshold of --fail-above
  6  partial result: the input is damaged, and what could be read was used
  7  not comparable: the conditions of the two inputs differ too much, or too few steps to judge
  8  interrupted and saved; resume with train --resume RUN, or by running other commands again
  130  ended at once by a second Ctrl-C (or SIGTERM, SIGHUP); what was saved before is whole";

/// The exit code of a class of errors.
pub(crate) fn code_of(class: Class) -> u8 {
    match class {
        Class::Request => REQUEST,
        Class::Damage => DATA,
        Class::Diverged => DIVERGED,
        Class::Failure => FAILED,
    }
}
