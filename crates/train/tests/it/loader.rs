//! The loader: the same batches in the same order for any number of threads, from any position.

use super::home::tiny;
use knockout_data::batch::{BenchPlan, Collation, Graphs, ProcessorKind, bench};
use knockout_data::screen::Dataset;
use knockout_trace::{BACKGROUND, FOREGROUND, RecordedEvent, Recorder, RecorderOptions};
use knockout_train::loader::{LoadedBatch, Loader, LoaderOptions, LoaderPlan, RowOrder, Shards};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

fn dataset() -> Arc<Dataset> {
    Arc::new(tiny(0))
}

fn plan(threads: usize) -> LoaderPlan {
    LoaderPlan {
        options: LoaderOptions { threads, depth: threads + 2, ..LoaderOptions::default() },
        batch_size: 7,
        drop_last: false,
        shuffle: true,
        seed: 11,
        shards: Shards::whole(),
    }
}

fn plan_of(processor: ProcessorKind, threads: usize) -> LoaderPlan {
    let plan = plan(threads);
    LoaderPlan { options: LoaderOptions { processor, ..plan.options }, ..plan }
}

/// Everything a consumer sees: index, rows, genes, and the masks where there are any.
fn seen(
    dataset: &Arc<Dataset>,
    rows: &[u32],
    plan: LoaderPlan,
    epoch: u64,
    start: usize,
) -> Vec<(usize, Vec<u32>, Vec<u64>)> {
    let mut seen = Vec::new();
    let loader = Loader::new(dataset, rows, plan);
    let mut batches = loader.epoch(epoch, start);
    while let Some(loaded) = batches.next_batch().unwrap() {
        let masks = match loaded.graphs() {
            Graphs::Masks(_, masks) => masks.iter().flat_map(|mask| mask.all_words().to_vec()).collect(),
            _ => loaded.batch().genes.view().genes().iter().map(|&gene| u64::from(gene)).collect(),
        };
        seen.push((loaded.index(), loaded.batch().rows.clone(), masks));
    }
    seen
}

#[test]
fn threads_do_not_change_what_arrives() {
    let dataset = dataset();
    let rows: Vec<u32> = (0..300).collect();
    for kind in [ProcessorKind::Perturbation, ProcessorKind::Mask, ProcessorKind::ResidentMask] {
        let by_threads = [0, 1, 2, 7].map(|threads| seen(&dataset, &rows, plan_of(kind, threads), 3, 0));
        assert_eq!(by_threads[0].len(), 43);
        assert!(by_threads.iter().all(|batches| *batches == by_threads[0]), "{kind:?}");
    }
}

#[test]
fn an_epoch_can_be_entered_anywhere() {
    let dataset = dataset();
    let rows: Vec<u32> = (0..100).collect();
    let whole = seen(&dataset, &rows, plan(2), 5, 0);
    for start in [1, 6, 14, 15, 99] {
        assert_eq!(seen(&dataset, &rows, plan(2), 5, start), whole[start.min(whole.len())..]);
    }
}

#[test]
fn orders_are_permutations_that_change_with_epoch_and_seed_only() {
    let dataset = dataset();
    let rows: Vec<u32> = (0..500).collect();
    let order = |seed, epoch| Loader::new(&dataset, &rows, LoaderPlan { seed, ..plan(1) }).order(epoch);
    assert_eq!(order(1, 1), order(1, 1));
    assert_ne!(order(1, 1), order(1, 2));
    assert_ne!(order(1, 1), order(2, 1));
    let mut sorted = order(1, 1);
    sorted.sort_unstable();
    assert_eq!(sorted, rows);
    let unshuffled = Loader::new(&dataset, &rows, LoaderPlan { shuffle: false, ..plan(1) }).order(9);
    assert_eq!(unshuffled, rows);
}

#[test]
fn ranks_load_every_sample_of_a_batch_once_and_cut_it_alike() {
    let dataset = dataset();
    let rows: Vec<u32> = (0..103).collect();
    let whole = seen(&dataset, &rows, plan(0), 2, 0);
    for (shards, world, threads) in
        [(1, 1, 0), (4, 1, 0), (4, 2, 2), (4, 3, 0), (4, 4, 1), (6, 4, 0), (9, 3, 2)]
    {
        let mut parts: BTreeMap<(usize, usize), Vec<u32>> = BTreeMap::new();
        for rank in 0..world {
            let shards = Shards::of_rank(shards, rank, world);
            let mut batches =
                Loader::new(&dataset, &rows, LoaderPlan { shards, ..plan(threads) }).epoch(2, 0);
            while let Some(loaded) = batches.next_batch().unwrap() {
                let position = loaded.position();
                assert_eq!(position.batch_samples, whole[loaded.index()].1.len());
                let before = parts.insert((loaded.index(), position.shard), loaded.batch().rows.clone());
                assert!(before.is_none(), "shard {} of batch {} twice", position.shard, loaded.index());
                let expected: usize = whole[loaded.index()].1[..position.first_sample]
                    .iter()
                    .map(|&row| dataset.samples.genes(row as usize).len())
                    .sum();
                assert_eq!(position.first_member, expected);
            }
        }
        assert_eq!(parts.len(), shards * whole.len());
        for (index, rows, _) in &whole {
            let joined: Vec<u32> =
                parts.range((*index, 0)..(*index + 1, 0)).flat_map(|(_, rows)| rows.clone()).collect();
            assert_eq!(joined, *rows, "{shards} shards on {world} ranks");
        }
    }
}

#[test]
fn the_last_smaller_batch_can_be_dropped() {
    let dataset = dataset();
    let rows: Vec<u32> = (0..100).collect();
    let kept = seen(&dataset, &rows, plan(2), 0, 0);
    let dropped = seen(&dataset, &rows, LoaderPlan { drop_last: true, ..plan(2) }, 0, 0);
    assert_eq!((kept.len(), kept[14].1.len()), (15, 2));
    assert_eq!(dropped, kept[..14]);
}

#[test]
fn an_epoch_can_be_left_early_and_no_rows_give_no_batches() {
    let dataset = dataset();
    let rows: Vec<u32> = (0..1_000).collect();
    for threads in [0, 1, 3] {
        let mut batches = Loader::new(&dataset, &rows, plan(threads)).epoch(0, 0);
        for index in 0..5 {
            assert_eq!(batches.next_batch().unwrap().map(LoadedBatch::index), Some(index));
        }
        drop(batches);
        assert!(seen(&dataset, &[], plan(threads), 0, 0).is_empty());
    }
}

#[test]
fn memory_is_the_circulating_batches_and_does_not_grow_with_epochs() {
    let dataset = dataset();
    let rows: Vec<u32> = (0..400).collect();
    let loader = Loader::new(&dataset, &rows, plan_of(ProcessorKind::Mask, 2));
    // Distinct buffers that ever reach the consumer within an epoch: never more than the depth.
    for epoch in 0..50 {
        let mut buffers = BTreeSet::new();
        let mut batches = loader.epoch(epoch, 0);
        while let Some(loaded) = batches.next_batch().unwrap() {
            if let Graphs::Masks(_, masks) = loaded.graphs() {
                buffers.insert(masks[0].all_words().as_ptr() as usize);
            }
        }
        assert!(buffers.len() <= 4, "{} batches circulate", buffers.len());
    }
}

/// Spans by name and category, counters by value, of one epoch.
fn recorded(threads: usize) -> (BTreeMap<(String, &'static str), usize>, Vec<u64>) {
    let data = dataset();
    let rows: Vec<u32> = (0..100).collect();
    let recorder = Recorder::new(RecorderOptions::default());
    let loader = Loader::new(&data, &rows, plan(threads)).with_recorder(&recorder);
    let mut batches = 0;
    let mut epoch = loader.epoch(0, 0);
    while let Some(loaded) = epoch.next_batch().unwrap() {
        batches += 1;
        let times = loaded.times();
        assert_eq!(times.is_background, threads > 0);
        assert!(threads > 0 || times.fetch + times.process + times.collate <= times.waited);
    }
    drop(epoch);
    assert_eq!(batches, loader.batch_count());
    let (mut spans, mut depths) = (BTreeMap::new(), Vec::new());
    for record in recorder.drain() {
        match record.event {
            RecordedEvent::Span { name, category, .. } => {
                *spans.entry((name.to_string(), category)).or_default() += 1;
            }
            RecordedEvent::Counter { value, .. } => depths.push(value),
            _ => {}
        }
    }
    (spans, depths)
}

#[test]
fn every_batch_leaves_its_spans_where_it_was_made() {
    let count = 100_usize.div_ceil(plan(0).batch_size);
    let spans = |category, waits: &[&str]| {
        let names = ["fetch", "process", "collate"].map(|name| ((name.to_owned(), category), count));
        let waits = waits.iter().map(|name| (((*name).to_owned(), FOREGROUND), count));
        names
            .into_iter()
            .chain(waits)
            .chain([(("fetch/order".to_owned(), FOREGROUND), 1)])
            .collect::<BTreeMap<_, _>>()
    };
    assert_eq!(recorded(0), (spans(FOREGROUND, &[]), vec![]));
    for threads in [1, 2, 7] {
        let (found, depths) = recorded(threads);
        assert_eq!(found, spans(BACKGROUND, &["wait"]));
        assert_eq!(depths.len(), count);
        assert!(depths.iter().all(|depth| *depth <= threads as u64 + 2), "{depths:?}");
    }
}

#[test]
fn a_benchmark_prepares_what_the_loader_prepares_and_a_panic_in_it_is_an_error() {
    let dataset = dataset();
    let plan = |rows| BenchPlan {
        kind: ProcessorKind::Perturbation,
        collation: Collation::Shared,
        batch_size: 7,
        rows,
        least_cpu: Duration::from_millis(2),
    };
    for threads in [1, 2, 7] {
        let row = bench(&dataset, &plan((0..100).collect()), None, threads).unwrap();
        // Also the cheapest representation has its deletions looked at.
        assert!(row.samples >= 100 && row.cpu.process > Duration::ZERO, "{row:?}");
    }
    let beyond = vec![dataset.samples.len() as u32];
    let error = bench(&dataset, &plan(beyond), None, 2).unwrap_err();
    assert!(error.message().contains("failed inside the program"), "{error}");
    assert_eq!(bench(&dataset, &plan(Vec::new()), None, 2).unwrap().samples, 0);
}

#[test]
fn by_query_batches_consist_of_few_queries() {
    let dataset = dataset();
    let rows: Vec<u32> = (0..2000).collect();
    let loader = |order: RowOrder, queries: usize| {
        let options = LoaderOptions { order, queries, ..LoaderOptions::default() };
        let plan = LoaderPlan { options, batch_size: 28, ..plan(0) };
        Loader::new(&dataset, &rows, plan)
    };
    let per_batch = |order: &[u32]| {
        let queries = |rows: &[u32]| {
            rows.iter().map(|&row| dataset.samples.query(row as usize)).collect::<BTreeSet<_>>().len()
        };
        let batches: Vec<usize> = order.chunks(28).map(queries).collect();
        batches.iter().sum::<usize>() as f64 / batches.len() as f64
    };
    let [shuffled, by_query] = [RowOrder::Shuffled, RowOrder::ByQuery].map(|order| loader(order, 4).order(3));
    let mut sorted = by_query.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, rows, "every row once");
    // Runs end where a query does, and begin in the middle of a batch.
    assert!(per_batch(&by_query) < 0.6 * per_batch(&shuffled), "{}", per_batch(&by_query));
    assert!(per_batch(&loader(RowOrder::ByQuery, 1).order(3)) < per_batch(&by_query));
    assert_eq!(loader(RowOrder::ByQuery, 4).order(3), by_query);
    assert_ne!(loader(RowOrder::ByQuery, 4).order(4), by_query);
}
