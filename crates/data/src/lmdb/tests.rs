//! The reader returns what LMDB wrote, and an error for every damaged byte.

use crate::lmdb::{DATA_FILE, LmdbError, LmdbWriter, Reader};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Short and long values, and enough keys for two levels of branches.
fn write(folder: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let value = |row: u32| {
        let length = [3, 700, 5_000, 0, 1_900][row as usize % 5];
        (0..length).map(|index: u32| (index * 7 + row) as u8).collect::<Vec<u8>>()
    };
    let entries: BTreeMap<Vec<u8>, Vec<u8>> = (0..1_500_u32)
        .map(|row| (format!("{}-key-of-some-length", row * 37 % 1_500).into_bytes(), value(row)))
        .collect();
    let mut writer = LmdbWriter::open(folder, 64 << 20).unwrap();
    let mut transaction = writer.begin().unwrap();
    for (key, value) in &entries {
        transaction.put(key, value).unwrap();
    }
    transaction.commit().unwrap();
    entries
}

/// Reads everything; an error is fine, a panic or a crash is not.
fn read_all(folder: &Path) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, LmdbError> {
    let reader = Reader::open(folder)?;
    let keys = reader.keys().collect::<Result<Vec<_>, _>>()?;
    let mut entries = BTreeMap::new();
    for key in keys {
        if let Some(value) = reader.get(&key)? {
            entries.insert(key, value);
        }
    }
    Ok(entries)
}

#[test]
fn what_lmdb_wrote_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let entries = write(folder.path());
    let reader = Reader::open(folder.path()).unwrap();
    let keys: Vec<Vec<u8>> = reader.keys().map(Result::unwrap).collect();
    assert!(keys.is_sorted());
    assert_eq!(read_all(folder.path()).unwrap(), entries);
    for absent in [&b""[..], b"0", b"zzz", b"7-key-of-some-lengthier"] {
        assert_eq!(reader.get(absent).unwrap(), None);
    }
    // Written again in part: pages are reused, and both meta pages count.
    let mut writer = LmdbWriter::open(folder.path(), 64 << 20).unwrap();
    let mut transaction = writer.begin().unwrap();
    transaction.put(b"7-key-of-some-length", b"new").unwrap();
    transaction.commit().unwrap();
    drop(writer);
    assert_eq!(Reader::open(folder.path()).unwrap().get(b"7-key-of-some-length").unwrap().unwrap(), b"new");
    crate::lmdb::check_pages(folder.path()).unwrap();
}

#[test]
fn damage_is_an_error_or_changes_values_alone() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let path = folder.path().join(DATA_FILE);
    let sound = fs::read(&path).unwrap();
    let mut state = 9_u64;
    let mut random = |end: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % end
    };
    let mut refused = 0;
    for _ in 0..600 {
        let mut bytes = sound.clone();
        // The first bytes of a page are its header and its offsets: what LMDB would trust.
        let page = random(bytes.len() / 4096) * 4096;
        for _ in 0..=random(3) {
            let within = if random(2) == 0 { 64 } else { 4096 };
            let at = page + random(within);
            bytes[at] = random(256) as u8;
        }
        fs::write(&path, &bytes).unwrap();
        refused += u32::from(read_all(folder.path()).is_err());
        crate::lmdb::check_pages(folder.path()).ok();
    }
    assert!(refused > 50, "{refused} of 600 refused");
}

#[test]
fn a_file_that_is_shortened_meanwhile_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let entries = write(folder.path());
    let reader = Reader::open(folder.path()).unwrap();
    let file = fs::File::options().write(true).open(folder.path().join(DATA_FILE)).unwrap();
    file.set_len(3 * 4096).unwrap();
    let failed =
        entries.keys().filter(|key| matches!(reader.get(key), Err(LmdbError::Damaged { .. }))).count();
    assert!(failed > entries.len() / 2, "{failed}");
    assert!(matches!(Reader::open(folder.path()).unwrap_err(), LmdbError::CutOff { .. }));
}
