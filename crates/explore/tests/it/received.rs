//! Packed models: the same predictions without the dataset, and no trust in the file.

use crate::support::{folder, served};
use knockout_base::error::Class;
use knockout_predict::packed::{pack, unpack};
use knockout_predict::scorer::OpenRuns;
use knockout_predict::{Scorer as _, Scores};
use std::fs;
use std::path::Path;

fn predictions(opened: &OpenRuns) -> Vec<f64> {
    let mut scores = Scores::default();
    opened.scorer().score(opened.dataset.samples.gene_sets(), &mut scores).unwrap();
    scores.mean
}

#[test]
fn a_packed_model_predicts_the_same_without_run_and_dataset() {
    let home = folder();
    let expected = ["stack", "dango"].map(|model| {
        let run = home.path().join(format!("runs/{model}-0"));
        let file = home.path().join(format!("{model}.knockout"));
        let packed = pack(&run, None, None, Some("CC0-1.0"), &file).unwrap();
        assert_eq!(
            (&packed.model[..], &packed.dataset[..], &packed.state[..]),
            (model, "synthetic tiny", "best-pearson")
        );
        let again = home.path().join("again.knockout");
        pack(&run, None, None, Some("CC0-1.0"), &again).unwrap();
        assert_eq!(fs::read(&file).unwrap(), fs::read(&again).unwrap(), "the same bytes");
        // The archive is not compressed: its bytes have the texts of all files.
        let whole = fs::read(&file).unwrap();
        let has = |text: &str| whole.windows(text.len()).any(|part| part == text.as_bytes());
        assert!(has("\"host\": \"\"") && has("\"dataset_folder\": \"tiny\""), "{model}");
        assert!(!has(home.path().to_str().unwrap()), "{model} names a folder of its author");
        predictions(&OpenRuns::open(&[run], None, None).unwrap())
    });
    fs::remove_dir_all(home.path().join("runs")).unwrap();
    fs::remove_dir_all(home.path().join("tiny")).unwrap();
    for (model, expected) in ["stack", "dango"].into_iter().zip(expected) {
        let file = home.path().join(format!("{model}.knockout"));
        let opened = OpenRuns::open(std::slice::from_ref(&file), None, None).unwrap();
        assert_eq!(predictions(&opened), expected);
        assert_eq!(opened.runs[0].entry.folder, file);
        let left = opened.runs[0].description().folder().to_owned();
        assert!(left.exists());
        drop(opened);
        assert!(!left.exists(), "nothing is left in the temporary folder");
    }
    served(&[home.path().to_owned()], |client| {
        assert_eq!(client.get("gene?of=dango.knockout").status, 200);
        let runs = client.get("runs");
        assert!(runs.status == 200 && runs.body.contains("run?of=stack.knockout"), "{}", runs.body);
    });
    served(&[home.path().join("stack.knockout")], |client| {
        for address in ["", "gene", "hits", "run"] {
            let answer = client.get(address);
            assert_eq!(answer.status, 200, "{address}: {}", answer.body);
        }
    });
}

/// Every archive is refused as damaged or impossible, and leaves nothing.
fn refused(path: &Path, text: &str) {
    let error = unpack(path).unwrap_err();
    let message = knockout_base::error::chain(&error);
    assert!([Class::Damage, Class::Request].contains(&error.class()), "{message}");
    assert!(message.contains(text), "{message} without {text}");
}

#[test]
fn damaged_and_hostile_archives_are_refused() {
    let home = folder();
    let file = home.path().join("model.knockout");
    pack(&home.path().join("runs/stack-0"), None, None, None, &file).unwrap();
    let whole = fs::read(&file).unwrap();
    let other = home.path().join("other.knockout");
    // A changed byte anywhere: refused, or in a field of ZIP that means nothing, and the content is the same.
    let expected = unpack(&file).unwrap().pack;
    let mut refusals = 0;
    for part in 0..60 {
        let mut bytes = whole.clone();
        bytes[whole.len() * part / 60 + 7] ^= 1;
        fs::write(&other, &bytes).unwrap();
        match unpack(&other) {
            Ok(same) => assert_eq!(same.pack, expected, "part {part}"),
            Err(error) => {
                refusals += 1;
                assert!([Class::Damage, Class::Request].contains(&error.class()), "part {part}: {error:?}");
            }
        }
    }
    assert!(refusals > 50, "{refusals} of 60 changes are refused");
    fs::write(&other, &whole[..whole.len() - 30]).unwrap();
    refused(&other, "not an archive");
    fs::write(&other, b"").unwrap();
    refused(&other, "not an archive");
    // A name that leads elsewhere, of the same length, everywhere.
    let name = b"dataset/genes.parquet";
    let evil = b"dataset/../../../evil";
    let mut bytes = whole.clone();
    let places: Vec<usize> =
        (0..bytes.len() - name.len()).filter(|&at| bytes[at..].starts_with(name)).collect();
    for at in places {
        bytes[at..at + name.len()].copy_from_slice(evil);
    }
    fs::write(&other, &bytes).unwrap();
    assert!(unpack(&other).is_err());
    assert!(!home.path().join("evil").exists());
    refused(home.path(), "could not open");
    refused(&home.path().join("missing"), "missing");
}
