//! What ranks exchange arrives, in the order of the ranks, for any number of them; who is missing is named.

use knockout_base::error::Class;
use knockout_ranks::LocalRank;
use std::thread;
use std::time::Duration;

#[test]
fn everything_arrives_for_any_number_of_ranks() {
    for size in 1..=9 {
        let outcomes = LocalRank::on_ranks(size, |ranks| {
            ranks.start().unwrap();
            let mut values = [ranks.rank() as f32 + 0.5, f32::NAN, -0.0];
            ranks.broadcast_floats(&mut values).unwrap();
            let mine = vec![ranks.rank() as u8; ranks.rank()];
            let all = ranks.all_gather(&mine).unwrap();
            let (somebody, nobody) =
                (ranks.any(ranks.rank() + 1 == size).unwrap(), ranks.any(false).unwrap());
            ranks.all_same("number", "7", "").unwrap();
            (values.map(f32::to_bits), all, somebody, nobody)
        });
        for (values, all, somebody, nobody) in outcomes {
            assert_eq!(values, [0.5, f32::NAN, -0.0].map(f32::to_bits));
            assert_eq!(all, (0..size).map(|rank| vec![rank as u8; rank]).collect::<Vec<_>>());
            assert!(somebody && !nobody);
        }
    }
}

#[test]
fn numbers_pass_between_two_ranks_in_order() {
    let outcomes = LocalRank::on_ranks(2, |ranks| {
        let mut values = [0.0; 2];
        if ranks.is_first() {
            ranks.send_floats(1, &[1.0, 2.0]).unwrap();
            ranks.send_floats(1, &[3.0, 4.0]).unwrap();
        } else {
            ranks.receive_floats(0, &mut values).unwrap();
            assert_eq!(values, [1.0, 2.0]);
            ranks.receive_floats(0, &mut values).unwrap();
        }
        values
    });
    assert_eq!(outcomes[1], [3.0, 4.0]);
}

#[test]
fn the_first_rank_names_the_one_that_is_silent() {
    let outcomes = LocalRank::on_ranks(3, |ranks| {
        let ranks = ranks.with_patience(Duration::from_millis(50));
        if ranks.rank() == 2 {
            // Alive, but not answering: dropping the rank would be another error.
            thread::sleep(Duration::from_millis(600));
            return None;
        }
        Some(ranks.any(false).unwrap_err())
    });
    let error = outcomes[0].as_ref().unwrap();
    assert!(error.to_string().starts_with("rank 2 on this machine has not answered"), "{error}");
    assert_eq!(error.class(), Class::Failure);
}

#[test]
fn ranks_that_are_not_alike_are_named_on_all() {
    let outcomes = LocalRank::on_ranks(3, |ranks| {
        let hash = if ranks.rank() == 1 { "b" } else { "a" };
        ranks.all_same("dataset", hash, "copy it").unwrap_err().to_string()
    });
    for text in outcomes {
        assert_eq!(text, "rank 1 on this machine has another dataset than rank 0: b and a; copy it");
    }
}
