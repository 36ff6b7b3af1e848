//! The kernels behind batches, on the synthetic `small` cell: one deletion of three genes each.
#![expect(clippy::unwrap_used, reason = "a benchmark may panic")]

use criterion::{Criterion, criterion_group, criterion_main};
use knockout_data::batch::{
    Batch, Collation, MaskLayout, MaskMethod, MaskSet, Origin, Processor, ProcessorKind, ResidentMasks,
    Store, StoreWriter, StoredForm, Subgraph,
};
use knockout_data::screen::Dataset;
use knockout_sources::synth::{SynthConfig, synthesise};
use std::hint::black_box;

fn dataset() -> Dataset {
    let mut config = SynthConfig::preset("small").unwrap();
    config.screen.samples = 1_000;
    synthesise(&config, 0, "small", "bench", &|_| {}).unwrap()
}

fn masks(c: &mut Criterion) {
    let dataset = dataset();
    let (cell, samples) = (&dataset.cell, &dataset.samples);
    let layout = MaskLayout::of(cell);
    let mut rows = (0..samples.len()).cycle();
    let mut next = || samples.deletion(rows.next().unwrap());
    let mut mask = MaskSet::all_kept(&layout);
    for (name, method) in [("by incidence", MaskMethod::ByIncidence), ("by edge", MaskMethod::ByEdge)] {
        c.bench_function(&format!("mask {name}"), |b| {
            b.iter(|| {
                mask.assign(&layout, cell, &next(), method);
                black_box(&mask);
            });
        });
    }
    let mut resident = ResidentMasks::new(&layout, 1);
    c.bench_function("mask resident", |b| {
        b.iter(|| {
            resident.assign(&layout, cell, 0, &next());
            black_box(resident.masks(1));
        });
    });
    let mut graph = Subgraph::empty(cell);
    c.bench_function("subgraph", |b| {
        b.iter(|| {
            graph.assign(cell, &next());
            black_box(&graph);
        });
    });
}

fn stores(c: &mut Criterion) {
    let dataset = dataset();
    let layout = MaskLayout::of(&dataset.cell);
    let rows: Vec<u32> = (0..dataset.samples.len() as u32).collect();
    let folder = tempfile::tempdir().unwrap();
    for form in [StoredForm::Indices, StoredForm::Bits, StoredForm::Bytes] {
        let path = folder.path().join(form.name());
        let mut writer = StoreWriter::open(&path, Origin::of(&dataset), form, &rows).unwrap();
        while writer.step().unwrap() > 0 {}
        drop(writer);
        let store = Store::open(&path, Origin::of(&dataset)).unwrap();
        let mut mask = MaskSet::all_kept(&layout);
        let mut next = rows.iter().cycle();
        c.bench_function(&format!("read {}", form.name()), |b| {
            b.iter(|| {
                store.read(*next.next().unwrap(), &layout, &mut mask).unwrap();
                black_box(&mask);
            });
        });
    }
}

fn collation(c: &mut Criterion) {
    let dataset = dataset();
    let rows: Vec<u32> = (0..28).collect();
    for kind in [ProcessorKind::Mask, ProcessorKind::Subgraph] {
        let mut processor = Processor::new(&dataset.cell, kind, rows.len());
        let mut batch = Batch::default();
        batch.fetch(&dataset.samples, &rows);
        for (slot, &row) in rows.iter().enumerate() {
            processor.process(slot, row, &dataset.samples.deletion(row as usize)).unwrap();
        }
        c.bench_function(&format!("replicate {}, batch of 28", kind.name()), |b| {
            b.iter(|| {
                batch.collate(&processor, Collation::Replicated);
                black_box(&batch);
            });
        });
    }
}

criterion_group!(kernels, masks, stores, collation);
criterion_main!(kernels);
