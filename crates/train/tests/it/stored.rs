//! Stores: resumed and uninterrupted ones are equal, sizes are foretold, and everything wrong is named.

use super::home::tiny;
use knockout_base::error::{Class, Error};
use knockout_data::batch::{
    Graphs, MaskLayout, MaskSet, Origin, Probe, Processor, ProcessorKind, Store, StoreEstimate, StoreHeader,
    StoreWriter, StoredForm, free_bytes,
};
use knockout_data::cell::{Cell, GeneTable};
use knockout_data::screen::{Dataset, Sample, SamplesBuilder};
use knockout_train::loader::{Loader, LoaderOptions, LoaderPlan, Shards};
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

const FORMS: [StoredForm; 3] = [StoredForm::Indices, StoredForm::Bits, StoredForm::Bytes];

fn rows(dataset: &Dataset) -> Vec<u32> {
    (0..dataset.samples.len() as u32).collect()
}

fn fill(folder: &Path, dataset: &Dataset, form: StoredForm, rows: &[u32]) -> StoreHeader {
    let mut writer = StoreWriter::open(folder, Origin::of(dataset), form, rows).unwrap();
    while writer.step().unwrap() > 0 {}
    writer.header().clone()
}

fn words(store: &Store, dataset: &Dataset, rows: &[u32]) -> Vec<Vec<u64>> {
    let layout = MaskLayout::of(&dataset.cell);
    let mut mask = MaskSet::all_kept(&layout);
    let read = |&row: &u32| {
        store.read(row, &layout, &mut mask).unwrap();
        mask.all_words().to_vec()
    };
    rows.iter().map(read).collect()
}

#[test]
fn a_store_resumed_after_every_step_equals_an_uninterrupted_one() {
    let dataset = tiny(0);
    let rows: Vec<u32> = rows(&dataset).into_iter().step_by(2).collect();
    let folder = tempfile::tempdir().unwrap();
    for form in FORMS {
        let (whole, pieces) = (folder.path().join("whole"), folder.path().join("pieces"));
        let header = fill(&whole, &dataset, form, &rows);
        let mut opened = 0;
        loop {
            let looked = StoreWriter::look(&pieces, Origin::of(&dataset), form, &rows).unwrap();
            assert_eq!(looked.map_or(0, |header| header.done), (opened * 256).min(rows.len()));
            let mut writer = StoreWriter::open(&pieces, Origin::of(&dataset), form, &rows).unwrap();
            if writer.step().unwrap() == 0 {
                break;
            }
            if !writer.header().is_complete() {
                drop(writer);
                let unfinished = Store::open(&pieces, Origin::of(&dataset)).unwrap_err();
                assert!(unfinished.message().contains(" of 1000 samples)"), "{unfinished}");
            }
            opened += 1;
        }
        assert_eq!(opened, 4);
        let stores = [&whole, &pieces].map(|path| Store::open(path, Origin::of(&dataset)).unwrap());
        assert_eq!(stores[0].header(), stores[1].header());
        assert_eq!(stores[0].header(), &header);
        assert_eq!(words(&stores[0], &dataset, &rows), words(&stores[1], &dataset, &rows));
        drop(stores);
        fs::remove_dir_all(&whole).unwrap();
        fs::remove_dir_all(&pieces).unwrap();
    }
}

#[test]
fn sizes_are_estimated() {
    let dataset = tiny(0);
    let rows = rows(&dataset);
    let folder = tempfile::tempdir().unwrap();
    for form in FORMS {
        let path = folder.path().join(form.name());
        let estimate = StoreEstimate::of(Origin::of(&dataset), form, &rows).bytes as f64;
        let mut writer = StoreWriter::open(&path, Origin::of(&dataset), form, &rows).unwrap();
        while writer.step().unwrap() > 0 {}
        let ratio = estimate / writer.disk_bytes() as f64;
        assert!(
            (0.95..1.25).contains(&ratio),
            "{form:?}: {estimate} bytes foretold, {} on disk",
            writer.disk_bytes()
        );
    }
}

#[test]
fn a_probe_writes_for_real_and_leaves_nothing() {
    let dataset = tiny(0);
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let probe = Probe::run(&store, Origin::of(&dataset), StoredForm::Bits, &rows(&dataset)).unwrap();
    assert!(probe.samples > 0 && probe.samples <= 256 && !probe.wall.is_zero());
    assert_eq!(probe.time_for(probe.samples * 10), probe.wall * 10);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn too_little_room_is_refused_with_what_would_fit() {
    let folder = tempfile::tempdir().unwrap();
    let free = free_bytes(folder.path()).unwrap();
    let estimate = StoreEstimate { bytes: 2_000_000 * (free / 1_000_000), samples: 1_000_000 };
    let error = estimate.check_room(&folder.path().join("new"), 0).unwrap_err().to_string();
    let fit = error.split("(about ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    let fit: usize = fit.parse().unwrap();
    assert!((400_000..600_000).contains(&fit), "{fit}");
}

#[test]
fn stores_of_another_graph_or_of_other_samples_are_refused() {
    let (mine, other) = (tiny(0), tiny(1));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    fill(&path, &mine, StoredForm::Bits, &rows(&mine));
    let error = Store::open(&path, Origin::of(&other)).unwrap_err();
    assert!(error.message().contains("made for another graph"), "{error}");
    assert!(error.to_string().contains("run `knockout data precompute` again"));
    let look =
        |dataset: &Dataset, form, rows: &[u32]| StoreWriter::look(&path, Origin::of(dataset), form, rows);
    let error = look(&other, StoredForm::Bits, &rows(&other)).unwrap_err();
    assert!(
        error.class() == Class::Damage && error.message().contains("made for another graph"),
        "{error:?}"
    );
    let mixed = Origin { cell: &mine.cell, samples: &other.samples };
    let error = Store::open(&path, mixed).unwrap_err();
    assert!(
        error.class() == Class::Damage && error.message().contains("made for other samples"),
        "{error:?}"
    );
    let error = look(&mine, StoredForm::Bytes, &rows(&mine)).unwrap_err();
    assert!(
        error.class() == Class::Request && error.message().contains("it holds bit masks, not byte masks"),
        "{error:?}"
    );
    let error = look(&mine, StoredForm::Bits, &rows(&mine)[1..]).unwrap_err();
    assert!(
        error.class() == Class::Request && error.message().contains("begun with another choice of samples"),
        "{error:?}"
    );
}

#[test]
fn a_store_cut_off_anywhere_is_refused() {
    let dataset = tiny(0);
    let rows: Vec<u32> = (0..300).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    fill(&path, &dataset, StoredForm::Bits, &rows);
    let bytes = fs::read(path.join("data.mdb")).unwrap();
    for length in [1, 100, 4_095, 4_096, 8_191, 8_192, bytes.len() / 2, bytes.len() - 4_096, bytes.len() - 1]
    {
        fs::write(path.join("data.mdb"), &bytes[..length]).unwrap();
        let error = Store::open(&path, Origin::of(&dataset)).unwrap_err();
        assert_eq!(error.class(), Class::Damage, "{length}: {error:?}");
        let resumed = StoreWriter::open(&path, Origin::of(&dataset), StoredForm::Bits, &rows).map(|_| ());
        assert_eq!(resumed.unwrap_err().class(), Class::Damage, "{length}");
    }
    fs::write(path.join("data.mdb"), b"").unwrap();
    assert!(Store::open(&path, Origin::of(&dataset)).unwrap_err().class() == Class::Damage);
    // An empty file is what a kill right at the beginning leaves.
    fill(&path, &dataset, StoredForm::Bits, &rows);
    Store::open(&path, Origin::of(&dataset)).unwrap();
}

#[test]
fn a_flipped_bit_in_a_value_is_seen_when_it_is_read() {
    let dataset = tiny(0);
    let rows: Vec<u32> = (0..10).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    fill(&path, &dataset, StoredForm::Bytes, &rows);
    let mut bytes = fs::read(path.join("data.mdb")).unwrap();
    // Nothing else in the file has a thousand ones in a row.
    let place = bytes.windows(1_000).position(|window| window.iter().all(|&byte| byte == 1)).unwrap();
    bytes[place + 500] ^= 1;
    fs::write(path.join("data.mdb"), &bytes).unwrap();
    let store = Store::open(&path, Origin::of(&dataset)).unwrap();
    let layout = MaskLayout::of(&dataset.cell);
    let mut mask = MaskSet::all_kept(&layout);
    let failed: Vec<Error> =
        rows.iter().filter_map(|&row| store.read(row, &layout, &mut mask).err()).collect();
    assert_eq!(failed.len(), 1);
    assert!(
        failed[0].class() == Class::Damage && failed[0].message().contains("its checksum differs"),
        "{failed:?}"
    );
}

#[test]
fn nothing_else_is_taken_for_a_store_or_written_into() {
    let dataset = tiny(0);
    let folder = tempfile::tempdir().unwrap();
    let origin = Origin::of(&dataset);
    let open = |path: &Path| StoreWriter::open(path, origin, StoredForm::Bits, &[0, 1]).map(|_| ());
    let error = Store::open(folder.path(), origin).unwrap_err();
    assert!(error.message().starts_with("there is no store"), "{error}");
    fs::write(folder.path().join("notes.txt"), "mine").unwrap();
    let error = open(folder.path()).unwrap_err();
    assert!(error.message().starts_with("the folder has other files in it"), "{error}");
    assert!(open(&folder.path().join("notes.txt/b")).unwrap_err().class() == Class::Request);
    open(&folder.path().join("a/b")).unwrap();
    fs::create_dir(folder.path().join("text")).unwrap();
    fs::write(folder.path().join("text/data.mdb"), vec![b'x'; 20_000]).unwrap();
    let error = open(&folder.path().join("text")).unwrap_err();
    assert!(
        error.class() == Class::Damage && error.message().contains("this is not a store of knockout"),
        "{error:?}"
    );
    assert_eq!(fs::read(folder.path().join("text/data.mdb")).unwrap(), vec![b'x'; 20_000]);
}

#[test]
fn two_writers_exclude_each_other() {
    let dataset = tiny(0);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    fs::create_dir(&path).unwrap();
    let busy = File::open(&path).unwrap();
    busy.try_lock().unwrap();
    let error = StoreWriter::open(&path, Origin::of(&dataset), StoredForm::Bits, &[0]).unwrap_err();
    assert!(error.message().starts_with("another process is writing it"), "{error}");
    drop(busy);
    StoreWriter::open(&path, Origin::of(&dataset), StoredForm::Bits, &[0]).unwrap();
}

#[test]
fn a_gene_outside_the_cell_is_refused_by_row() {
    let genes = GeneTable::from_systematic(["A", "B"]).unwrap();
    let cell = Cell::new(genes, Vec::new(), None).unwrap();
    let mut builder = SamplesBuilder::new(9);
    builder.push(Sample::deletion(&[0, 7], 0.0, "test")).unwrap();
    let samples = builder.finish();
    let origin = Origin { cell: &cell, samples: &samples };
    let folder = tempfile::tempdir().unwrap();
    let mut failed = StoreWriter::open(&folder.path().join("s"), origin, StoredForm::Bits, &[0]).unwrap();
    let error = failed.step().unwrap_err();
    assert!(error.message().starts_with("row 0 deletes gene 7, but the cell has 2"), "{error}");
    assert_eq!(error.class(), Class::Damage);
}

#[test]
fn loaders_read_stores_with_any_number_of_threads() {
    let dataset = tiny(0);
    let rows: Vec<u32> = (0..300).collect();
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), &dataset, StoredForm::Bits, &rows);
    let dataset = Arc::new(dataset);
    let store = Arc::new(Store::open(folder.path(), Origin::of(&dataset)).unwrap());
    let plan = |kind, threads| LoaderPlan {
        options: LoaderOptions { processor: kind, threads, depth: 4, ..LoaderOptions::default() },
        batch_size: 28,
        drop_last: false,
        shuffle: true,
        seed: 3,
        shards: Shards::whole(),
    };
    let seen = |loader: Loader| -> Result<Vec<Vec<u64>>, Error> {
        let (mut seen, mut batches) = (Vec::new(), loader.epoch(1, 0));
        while let Some(loaded) = batches.next_batch()? {
            if let Graphs::Masks(_, masks) = loaded.graphs() {
                seen.extend(masks.iter().map(|mask| mask.all_words().to_vec()));
            }
        }
        Ok(seen)
    };
    let computed = seen(Loader::new(&dataset, &rows, plan(ProcessorKind::Mask, 1))).unwrap();
    for threads in [0, 1, 2, 7] {
        let loader = || Loader::new(&dataset, &rows, plan(ProcessorKind::SavedMasks, threads));
        assert_eq!(seen(loader().with_store(Some(&store))).unwrap(), computed);
        assert!(seen(loader()).unwrap_err().message().ends_with("precompute DIR --masks`"));
    }
    let more: Vec<u32> = (0..301).collect();
    let error =
        seen(Loader::new(&dataset, &more, plan(ProcessorKind::SavedMasks, 2)).with_store(Some(&store)))
            .unwrap_err();
    assert!(error.message().starts_with("it has 300 samples and row 300 is not among them"), "{error}");
    assert_eq!(error.class(), Class::Request);
    assert_eq!(store.check_rows(&more).unwrap_err().to_string(), error.to_string());
    let processor = Processor::new(&dataset.cell, ProcessorKind::SavedIndices, 1).with_store(Some(&store));
    assert_eq!(processor.kind(), ProcessorKind::SavedIndices);
}
