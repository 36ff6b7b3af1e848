//! The fuzz targets' questions, asked of their seeds and of simple mutations of them: a few seconds instead of hours.

use crate::oracle::{compare, ours};
use std::fs;
use std::path::Path;

fn seeds() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let mut seeds: Vec<_> = fs::read_dir(&folder)
        .expect("the seeds are part of the repository")
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(path).unwrap()))
        .collect();
    seeds.sort();
    assert!(seeds.len() >= 10);
    seeds
}

#[test]
fn seeds_agree_with_serde_json_in_blocks_of_any_size() {
    for (name, text) in seeds() {
        for block_bytes in 1..=text.len() + 1 {
            println!("{name}, blocks of {block_bytes}");
            compare(&text, block_bytes);
        }
    }
}

#[test]
fn a_cut_text_gives_the_events_before_the_cut_and_damage() {
    for (name, text) in seeds() {
        let (whole, events) = ours(&text, 1, 1 << 16);
        for cut in 0..text.len() {
            let (part, before) = ours(&text[..cut], 1, 7);
            assert!(events.starts_with(&before), "{name} cut at {cut}");
            if let (Ok(part), Ok(whole)) = (part, &whole)
                && before.len() < events.len()
            {
                assert!(part.is_rescued() || part.unclosed_list || whole.is_rescued(), "{name} cut at {cut}");
            }
            compare(&text[..cut], 13);
        }
    }
}

#[test]
fn one_byte_changed_anywhere_is_the_same_for_both_readers() {
    for (name, text) in seeds() {
        for at in 0..text.len() {
            for byte in
                [b'"', b'\\', b'{', b'}', b'[', b']', b',', b':', b'0', b'e', b'.', b'-', b' ', 0, b'N', 0xff]
            {
                let mut text = text.clone();
                println!("{name}, byte {at} is {byte:#x}");
                text[at] = byte;
                compare(&text, 1 + at % 40);
            }
        }
    }
}

#[test]
fn threads_and_blocks_change_nothing() {
    for (name, text) in seeds() {
        let (whole, events) = ours(&text, 1, 1 << 16);
        for threads in [2, 7] {
            for block_bytes in [1, 3, 16, 50, 100] {
                let (parts, same) = ours(&text, threads, block_bytes);
                assert_eq!(events, same, "{name}, {threads} threads, blocks of {block_bytes}");
                match (&whole, parts) {
                    (Ok(whole), Ok(parts)) => {
                        assert_eq!(
                            (&whole.damage, &whole.skipped, &whole.irregularities),
                            (&parts.damage, &parts.skipped, &parts.irregularities)
                        );
                        assert_eq!(whole.document, parts.document);
                        assert!(whole.symbols.iter().eq(parts.symbols.iter()));
                        assert!(whole.lanes.iter().eq(parts.lanes.iter()));
                    }
                    (Err(whole), Err(parts)) => assert_eq!(whole.to_string(), parts.to_string()),
                    (whole, parts) => panic!("{name}: {whole:?} or {parts:?}"),
                }
            }
        }
    }
}
