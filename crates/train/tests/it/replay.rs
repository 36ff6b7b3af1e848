//! The checks of the fuzz target on its seeds and on simple mutations of them: seconds instead of hours.

use crate::oracle::{RunFileKind, ask};
use std::fs;
use std::path::Path;

fn seeds() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds_run");
    let mut seeds: Vec<_> = fs::read_dir(&folder)
        .expect("the seeds are part of the repository")
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(path).unwrap()))
        .collect();
    seeds.sort();
    seeds
}

#[test]
fn seeds_are_of_every_kind_and_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let seeds = seeds();
    for (place, kind) in RunFileKind::ALL.into_iter().enumerate() {
        let mut of_kind = seeds.iter().filter(|(_, seed)| usize::from(seed[0]) == place).peekable();
        assert!(of_kind.peek().is_some(), "there is no seed of {kind:?}");
        for (name, seed) in of_kind {
            // Sums stand for files that are not there; weights are not those of the state beside them.
            let is_refused = matches!(kind, RunFileKind::Sums | RunFileKind::Weights);
            assert_eq!(ask(seed, folder.path()), !is_refused, "{name}");
        }
    }
}

#[test]
fn a_file_cut_anywhere_is_an_error_or_a_value() {
    let folder = tempfile::tempdir().unwrap();
    for (name, seed) in seeds() {
        for cut in 0..seed.len() {
            println!("{name} cut at {cut}");
            ask(&seed[..cut], folder.path());
        }
    }
}

#[test]
fn one_byte_changed_anywhere_is_an_error_or_a_value() {
    let folder = tempfile::tempdir().unwrap();
    for (name, seed) in seeds() {
        for at in 1..seed.len() {
            for byte in [b'"', b'{', b',', b'9', b'-', b'\n', 0, 0xff] {
                println!("{name}, byte {at} is {byte:#x}");
                let mut seed = seed.clone();
                seed[at] = byte;
                ask(&seed, folder.path());
            }
        }
    }
}

#[test]
fn a_state_that_no_run_can_be_in_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (seed, from, to) in [
        ("state_constant", "\"rate\": \"0.001\"", "\"rate\": \"NaN\""),
        ("state_constant", "\"step\": 12", "\"step\": 18446744073709551615"),
        ("state_cosine", "\"length\": 7", "\"length\": 1"),
        ("state_cosine", "\"in_cycle\": 1", "\"in_cycle\": 7"),
        ("state_cosine", "\"gamma\": \"0.9\"", "\"gamma\": \"-1.0\""),
        ("state_plateau", "\"rate\": \"0.0001\"", "\"rate\": \"-inf\""),
    ] {
        let (_, bytes) = seeds().into_iter().find(|(name, _)| name == seed).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let changed = text.replace(from, to);
        assert_ne!(text, changed, "{seed} has {from}");
        assert!(!ask(changed.as_bytes(), folder.path()), "{seed} with {to}");
    }
}

/// Numbers that no run writes, in every place where a state has one.
#[test]
fn a_state_with_a_wild_number_anywhere_is_an_error_or_a_value() {
    let folder = tempfile::tempdir().unwrap();
    for (name, seed) in seeds().into_iter().filter(|(name, _)| name.starts_with("state")) {
        let text = String::from_utf8(seed).unwrap();
        let is_digit = |at: usize| text.as_bytes()[at].is_ascii_digit();
        let starts = (2..text.len()).filter(|&at| is_digit(at) && !is_digit(at - 1));
        for start in starts {
            let end = (start..text.len()).find(|&at| !is_digit(at)).unwrap_or(text.len());
            for wild in ["0", "4294967295", "18446744073709551615", "-1", "1e999", "NaN", "-inf"] {
                println!("{name}: {wild} at {start}");
                ask(format!("{}{wild}{}", &text[..start], &text[end..]).as_bytes(), folder.path());
            }
        }
    }
}
