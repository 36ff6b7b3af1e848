//! Packed traces: what is unpacked, and what is reported of a stream that is cut, damaged or out of proportion.

use crate::hostile::ONE;
use crate::oracle::{Seen, ours};
use bzip2::write::BzEncoder;
use flate2::{Compression, write::GzEncoder};
use knockout_trace::{DamageKind, Packing, ReadError, ReadOutcome};
use lzma_rust2::{XzOptions, XzWriter};
use std::io::{Cursor, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const ALL: [Packing; 5] = [Packing::Gzip, Packing::Zstd, Packing::Xz, Packing::Bzip2, Packing::Zip];

fn packed(packing: Packing, text: &[u8]) -> Vec<u8> {
    match packing {
        Packing::Gzip => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(text).unwrap();
            encoder.finish().unwrap()
        }
        Packing::Zstd => {
            let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
            encoder.include_checksum(true).unwrap();
            encoder.write_all(text).unwrap();
            encoder.finish().unwrap()
        }
        Packing::Xz => {
            let mut writer = XzWriter::new(Vec::new(), XzOptions::with_preset(1)).unwrap();
            writer.write_all(text).unwrap();
            writer.finish().unwrap()
        }
        Packing::Bzip2 => {
            let mut encoder = BzEncoder::new(Vec::new(), bzip2::Compression::default());
            encoder.write_all(text).unwrap();
            encoder.finish().unwrap()
        }
        Packing::Zip => archive(&[("run/trace.json", text)], CompressionMethod::Deflated),
        other => panic!("{other} is not packed here"),
    }
}

fn archive(members: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in members {
        writer.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        writer.write_all(text).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn outcome(file: &[u8]) -> (ReadOutcome, Vec<Seen>) {
    let (outcome, events) = ours(file, 1, 64);
    (outcome.expect("a report"), events)
}

/// So many events that every packing needs several blocks for them.
fn many() -> Vec<u8> {
    let mut noise = 1_u64;
    let mut event = |at: usize| {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!(r#"{{"ph":"X","name":"op {}","pid":1,"tid":1,"ts":{at},"dur":1}}"#, noise >> 40)
    };
    let events: Vec<String> = (0..60_000).map(&mut event).collect();
    format!(r#"{{"traceEvents":[{}]}}"#, events.join(",\n")).into_bytes()
}

#[test]
fn every_packing_is_recognised_by_its_first_bytes() {
    let text = many();
    let plain = ours(&text, 1, 1 << 16).1;
    for packing in ALL {
        for threads in [1, 3] {
            let (outcome, events) = ours(&packed(packing, &text), threads, 1 << 12);
            let outcome = outcome.expect("a report");
            assert_eq!((outcome.packing, outcome.is_rescued()), (Some(packing), false));
            assert_eq!(events, plain, "{packing}");
        }
    }
    assert_eq!(outcome(ONE).0.packing, None);
}

#[test]
fn streams_one_behind_the_other_are_one_text() {
    let (first, second) = ONE.split_at(40);
    for packing in [Packing::Gzip, Packing::Zstd, Packing::Xz, Packing::Bzip2] {
        let (outcome, events) = outcome(&[packed(packing, first), packed(packing, second)].concat());
        assert!(!outcome.is_rescued(), "{packing}");
        assert_eq!(events.len(), 1);
    }
}

#[test]
fn a_stream_cut_anywhere_is_reported() {
    for packing in ALL {
        let whole = packed(packing, ONE);
        for cut in 6..whole.len() {
            match ours(&whole[..cut], 1, 64).0 {
                Ok(outcome) => {
                    let kind = outcome.damage.as_ref().map(|damage| damage.kind);
                    // The directory of an archive is not needed.
                    let is_directory = packing == Packing::Zip && kind.is_none() && outcome.events == 1;
                    assert!(
                        is_directory
                            || kind == Some(DamageKind::PackedTruncated(packing))
                            || kind == Some(DamageKind::PackedCorrupt(packing)),
                        "{packing} cut at {cut}: {kind:?}"
                    );
                }
                Err(ReadError::DamagedBeforeEvents { .. }) => {}
                Err(error) => panic!("{packing} cut at {cut}: {error}"),
            }
        }
    }
}

#[test]
fn a_long_stream_cut_in_the_middle_gives_the_events_before_the_cut() {
    let text = many();
    for packing in ALL {
        let whole = packed(packing, &text);
        let (outcome, events) = outcome(&whole[..whole.len() * 3 / 4]);
        let damage = outcome.damage.expect("damage");
        assert_eq!(damage.kind, DamageKind::PackedTruncated(packing));
        assert!((5_000..60_000).contains(&events.len()), "{packing}: {}", events.len());
    }
}

#[test]
fn a_flipped_bit_is_always_reported() {
    let (_, events) = ours(ONE, 1, 64);
    for packing in ALL {
        let whole = packed(packing, ONE);
        for at in 10..whole.len() {
            for bit in 0..8 {
                let mut turned = whole.clone();
                turned[at] ^= 1 << bit;
                if let (Ok(outcome), seen) = ours(&turned, 1, 64) {
                    assert!(outcome.is_rescued() || seen == events, "{packing}, byte {at}, bit {bit}");
                }
            }
        }
    }
}

#[test]
fn data_behind_a_gzip_stream_is_reported() {
    let (outcome, events) = outcome(&[packed(Packing::Gzip, ONE), b"garbage".to_vec()].concat());
    assert!(outcome.is_rescued());
    assert_eq!(events.len(), 1);
}

#[test]
fn text_too_large_for_its_packed_bytes_ends_reading() {
    let spaces = [&ONE[..ONE.len() - 2], &vec![b' '; 80 << 20], b"]}"].concat();
    for packing in [Packing::Zstd, Packing::Bzip2, Packing::Xz] {
        let (outcome, events) = ours(&packed(packing, &spaces), 2, 1 << 20);
        let damage = outcome.expect("a report").damage.expect("damage");
        assert_eq!((damage.kind, events.len()), (DamageKind::UnpackLimit(packing), 1));
    }
}

#[test]
fn a_window_that_needs_too_much_memory_is_refused() {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(30).unwrap();
    encoder.include_contentsize(false).unwrap();
    encoder.write_all(ONE).unwrap();
    let error = ours(&encoder.finish().unwrap(), 1, 64).0.expect_err("no report");
    assert_eq!(error.code(), "unpack_limit", "{error}");
}

#[test]
fn the_first_trace_of_an_archive_is_read_and_the_others_are_counted() {
    let members: [(&str, &[u8]); 6] = [
        ("run/", b""),
        ("run/readme.txt", b"about this run"),
        ("run/config.json", b"{\"lr\": 1}"),
        ("run/rank0.json", ONE),
        ("run/rank1.json", ONE),
        ("run/rank2.pt.trace.json.gz", ONE),
    ];
    for method in [CompressionMethod::Deflated, CompressionMethod::Stored] {
        let (outcome, events) = outcome(&archive(&members, method));
        assert_eq!((events.len(), outcome.other_members, outcome.is_rescued()), (1, 2, false));
    }
}

#[test]
fn a_packed_member_of_an_archive_is_unpacked_too() {
    let inner = packed(Packing::Gzip, ONE);
    let (outcome, events) = outcome(&archive(&[("trace.json.gz", &inner)], CompressionMethod::Stored));
    assert_eq!((events.len(), outcome.packing), (1, Some(Packing::Zip)));
}

#[test]
fn an_archive_written_to_a_pipe_has_its_sizes_behind_the_members() {
    let mut writer = ZipWriter::new_stream(Vec::new());
    for name in ["a.txt", "trace.json"] {
        writer.start_file(name, SimpleFileOptions::default()).unwrap();
        writer.write_all(if name == "a.txt" { b"text" } else { ONE }).unwrap();
    }
    let file = writer.finish().unwrap().into_inner();
    let (outcome, events) = outcome(&file);
    assert_eq!((events.len(), outcome.is_rescued()), (1, false));
}

#[test]
fn an_archive_without_a_trace_is_rejected() {
    let error =
        ours(&archive(&[("a.txt", b"text")], CompressionMethod::Deflated), 1, 64).0.expect_err("no report");
    assert!(
        matches!(&error, ReadError::NotATrace { found } if found.contains("zip archive with 1 member")),
        "{error}"
    );
}
