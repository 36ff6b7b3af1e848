//! Ranks that are processes exchange what threads exchange. The test starts itself for every other rank.

use knockout_ranks::{LocalRank, ProcessRank, Ranks};
use std::env;
use std::process::Command;
use std::sync::Arc;

/// Messages of every kind, longer than the buffer of a socket too.
fn exchanged(ranks: &Ranks) -> (Vec<Vec<u8>>, Vec<u32>, bool) {
    let mine = vec![ranks.rank() as u8; 300_000 * ranks.rank()];
    let all = ranks.all_gather(&mine).unwrap();
    let mut values = vec![0.0; 400_000];
    // Every rank sends to the next one, which adds its own number.
    if !ranks.is_first() {
        ranks.receive_floats(ranks.rank() - 1, &mut values).unwrap();
    }
    values.iter_mut().zip(0..).for_each(|(value, index)| *value += (ranks.rank() * index) as f32);
    if ranks.rank() + 1 < ranks.size() {
        ranks.send_floats(ranks.rank() + 1, &values).unwrap();
    }
    let is_last = ranks.rank() + 1 == ranks.size();
    let any = ranks.any(is_last).unwrap();
    (all, values.iter().map(|value| value.to_bits()).collect(), any)
}

#[test]
fn processes_exchange_what_threads_do() {
    if let Some(world) = ProcessRank::join().unwrap() {
        let ranks = Ranks::new(Arc::new(world));
        let expected = LocalRank::on_ranks(ranks.size(), |ranks| exchanged(&ranks)).swap_remove(ranks.rank());
        assert!(exchanged(&ranks) == expected);
        return ranks.leave();
    }
    for size in [1, 2, 5] {
        let command = || {
            let mut command = Command::new(env::current_exe()?);
            command.args(["--exact", "processes::processes_exchange_what_threads_do"]);
            Ok(command)
        };
        // A rank that finds other values fails, and all with it.
        let world = ProcessRank::start(size, command, |_, status| (!status.success()).then_some(9)).unwrap();
        let ranks = Ranks::new(Arc::new(world));
        assert_eq!((ranks.rank(), ranks.size(), ranks.on_this_host()), (0, size, size));
        let expected = LocalRank::on_ranks(size, |ranks| exchanged(&ranks)).swap_remove(0);
        assert!(exchanged(&ranks) == expected);
        ranks.leave();
    }
}

#[test]
fn a_program_that_cannot_be_started_is_named() {
    let refused = |size, program: &'static str| {
        ProcessRank::start(size, || Ok(Command::new(program)), |_, _| None).unwrap_err().to_string()
    };
    assert!(refused(2, "/nowhere/knockout").starts_with("could not start rank 1 of 2"));
    assert!(refused(65, "true").contains("take 1 to 64"));
    assert!(refused(0, "true").contains("take 1 to 64"));
}
