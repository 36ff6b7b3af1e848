//! Predictions of trained runs on the tiny yeast: equal to `evaluate`'s, whole after interruptions, the same bytes for any number of
//! threads and parts.

use knockout_base::error::{Class, Error, Result};
use knockout_data::cell::GeneSets;
use knockout_data::screen::Part;
use knockout_models::MODELS;
use knockout_predict::scorer::OpenRuns;
use knockout_predict::{
    BlockShare, CandidateSpec, Candidates, DatasetEntry, Filters, HistogramScale, HitNotes, KeptPredictions,
    Outcome, PREDICTIONS, Plan, PredictionFolder, PredictionObserver, PredictionSummary, Scorer as _, Scores,
    merge, predict, write_csv, write_hits,
};
use knockout_train::checkpoint::Slot;
use knockout_train::config::Config;
use knockout_train::run::{Run, RunContext};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A dataset and runs in a folder of their own.
struct TrainedRuns {
    folder: tempfile::TempDir,
    runs: Vec<PathBuf>,
}

impl TrainedRuns {
    fn new(models: &[(&str, u64)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let preset = knockout_sources::synth::SynthConfig::preset("tiny").unwrap();
        let mut dataset = knockout_sources::synth::synthesise(&preset, 3, "tiny", "test", &|_| ()).unwrap();
        dataset.write(&data, &|_| ()).unwrap();
        let dataset = Arc::new(dataset);
        let runs = models.iter().map(|(name, seed)| {
            let entry = MODELS.iter().find(|entry| entry.name == *name).unwrap();
            let steps = if *name == "dango" { 20 } else { 2 };
            let keys = [
                format!("seed={seed}"),
                format!("max_steps={steps}"),
                "model.width=32".to_owned(),
                "batch=50".to_owned(),
            ];
            let config = Config::defaults(entry, &dataset.cell).unwrap();
            let used = match *name {
                "dango" => &keys[..],
                _ if entry.is_solved => &keys[..1],
                _ => &keys[..2],
            };
            let config = config.with(used);
            let path = folder.path().join(format!("{name}-{seed}"));
            let run =
                Run::create(&path, Arc::clone(&dataset), config.unwrap(), &RunContext::new(&data)).unwrap();
            run.for_each(|event| drop(event.unwrap()));
            path
        });
        Self { runs: runs.collect(), folder }
    }

    fn open(&self) -> OpenRuns {
        OpenRuns::open(&self.runs, Some(Slot::Last), None).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// Stops after so many candidates.
struct StopAfter(AtomicU64);

impl PredictionObserver for StopAfter {
    fn advance(&self, candidates: u64) {
        self.0.fetch_sub(candidates.min(self.0.load(Ordering::Relaxed)), Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

fn never() -> StopAfter {
    StopAfter(AtomicU64::new(u64::MAX))
}

fn plan(
    opened: &OpenRuns,
    candidates: &Candidates,
    keep: KeptPredictions,
    part: BlockShare,
    block: u64,
) -> Plan {
    Plan {
        schema: 1,
        version: "test".to_owned(),
        command: "test".to_owned(),
        runs: opened.runs.iter().map(|run| run.entry.clone()).collect(),
        dataset: DatasetEntry {
            hash: opened.dataset.manifest.data_hash(),
            folder: opened.dataset_folder.clone(),
        },
        candidates: candidates.description().clone(),
        keep,
        block,
        histogram: HistogramScale::around(0.0, 0.1),
        part,
    }
}

/// Returns the text of an error of the request.
fn refusal<T>(refused: Result<T>) -> String {
    let error = refused.err().unwrap();
    assert_eq!(error.class(), Class::Request);
    error.to_string()
}

fn candidates(opened: &OpenRuns, choice: CandidateSpec, filters: &Filters) -> Result<Candidates> {
    Candidates::new(choice, filters, &opened.dataset.cell, &opened.dataset.samples, &opened.split)
}

fn triples(opened: &OpenRuns, genes: u32) -> Candidates {
    let choice = CandidateSpec::Combinations { order: 3, genes: (0..genes).collect(), with: Vec::new() };
    candidates(opened, choice, &Filters::default()).unwrap()
}

fn run(
    opened: &OpenRuns,
    candidates: &Candidates,
    folder: &PredictionFolder,
    progress: &dyn PredictionObserver,
) -> Outcome {
    let genes = opened.dataset.cell.genes();
    predict(folder, candidates, &opened.scorer(), genes, (5, 5), progress).unwrap()
}

fn finished(outcome: Outcome) -> PredictionSummary {
    match outcome {
        Outcome::Finished(summary) => *summary,
        Outcome::Stopped { missing } => panic!("{missing} blocks are missing"),
    }
}

/// Every file by its name.
fn bytes(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = |folder: PathBuf| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let all = files(folder.to_owned()).chain(files(folder.join(PREDICTIONS))).filter(|path| path.is_file());
    all.map(|path| (path.strip_prefix(folder).unwrap().display().to_string(), fs::read(&path).unwrap()))
        .collect()
}

#[test]
fn predictions_are_those_of_evaluate() {
    let home = TrainedRuns::new(&[("dango", 0), ("hetero", 0)]);
    for (run, tolerance) in home.runs.iter().zip([2e-5, 1e-5]) {
        let opened = OpenRuns::open(std::slice::from_ref(run), Some(Slot::Last), None).unwrap();
        let candidates =
            candidates(&opened, CandidateSpec::DatasetPart(Part::Test), &Filters::default()).unwrap();
        let (mut numbers, mut sets, mut scores) = (Vec::new(), GeneSets::default(), Scores::default());
        candidates.fill(0..candidates.count(), &mut numbers, &mut sets);
        opened.scorer().score(sets.view(), &mut scores).unwrap();
        let evaluated = opened.runs[0].predictor().predict(sets.view()).unwrap();
        let sd = opened.runs[0].labels().sd;
        let worst = scores.mean.iter().zip(&evaluated).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert_eq!(scores.mean.len(), opened.split.rows(Part::Test).len());
        assert!(worst <= tolerance * sd, "{}: off by {worst}, the scores vary by {sd}", run.display());
        assert!(scores.sd.is_none());
    }
}

#[test]
fn an_ensemble_is_the_mean_with_its_deviation() {
    let home = TrainedRuns::new(&[("dango", 0), ("dango", 1), ("dango", 2)]);
    let opened = home.open();
    let sets: GeneSets = [&[1, 2, 3][..], &[4, 5], &[7, 8, 199]].into_iter().collect();
    let (mut together, mut alone) = (Scores::default(), Scores::default());
    opened.scorer().score(sets.view(), &mut together).unwrap();
    let each: Vec<Vec<f64>> = opened
        .runs
        .iter()
        .map(|run| {
            run.scorer().score(sets.view(), &mut alone).unwrap();
            alone.mean.clone()
        })
        .collect();
    for set in 0..sets.len() {
        let mean = each.iter().map(|values| values[set]).sum::<f64>() / 3.0;
        let variance = each.iter().map(|values| (values[set] - mean).powi(2)).sum::<f64>() / 2.0;
        assert!((together.mean[set] - mean).abs() < 1e-12);
        assert!((together.sd.as_ref().unwrap()[set] - variance.sqrt()).abs() < 1e-12 && variance > 0.0);
    }
}

#[test]
fn threads_parts_and_interruptions_leave_the_same_bytes() {
    let home = TrainedRuns::new(&[("dango", 0)]);
    let opened = home.open();
    let candidates = triples(&opened, 40);
    for (name, keep) in
        [("all", KeptPredictions::All), ("few", KeptPredictions::Extremes { top: 5, bottom: 5 })]
    {
        let start = |path: &Path, part: BlockShare| {
            PredictionFolder::start(path, plan(&opened, &candidates, keep, part, 700)).unwrap()
        };
        let end = |folder: &PredictionFolder, summary: &PredictionSummary| {
            let hits = [summary.extremes.top(), summary.extremes.bottom()].concat();
            let notes = HitNotes::new(&opened.dataset, Some(&opened.split), &hits);
            write_hits(folder.path(), summary, opened.dataset.cell.genes(), &notes).unwrap();
            write_csv(folder, opened.dataset.cell.genes()).unwrap();
        };
        let mut whole = None;
        for threads in [1, 2, 7] {
            let path = home.path(&format!("{name}-threads-{threads}"));
            let folder = start(&path, BlockShare::default());
            let pool = knockout_train::workers(threads).unwrap();
            let summary = finished(pool.install(|| run(&opened, &candidates, &folder, &never())));
            assert_eq!((summary.scored(), summary.histogram().iter().sum()), (9880, 9880));
            end(&folder, &summary);
            let found = bytes(&path);
            assert_eq!(found.len(), 15 + 1 + 2 + 1, "blocks, manifest, hits, CSV");
            assert_eq!(whole.get_or_insert_with(|| found.clone()), &found, "{threads} threads");
        }
        let whole = whole.unwrap();
        // Stopped again and again; each time some blocks are done, and a torn file is left of another.
        let path = home.path(&format!("{name}-stopped"));
        let summary = loop {
            let folder = start(&path, BlockShare::default());
            // Blocks that are there count again.
            let there = 15 - folder.missing().len() as u64;
            let stop = StopAfter(AtomicU64::new(700 * there + 1500));
            match run(&opened, &candidates, &folder, &stop) {
                Outcome::Finished(summary) => break (folder, summary),
                Outcome::Stopped { missing } => assert!(missing < 15 - there, "nothing was done"),
            }
            fs::write(
                path.join(PREDICTIONS).join(".block-000000009.parquet.partial-1-1-0123456789abcdef"),
                "torn",
            )
            .unwrap();
        };
        end(&summary.0, &summary.1);
        assert_eq!(bytes(&path), whole);
        drop(summary);
        for of in [1, 3, 7] {
            let parts: Vec<PathBuf> =
                (1..=of).map(|index| home.path(&format!("{name}-part-{index}-{of}"))).collect();
            for (index, path) in (1..).zip(&parts) {
                let folder = start(path, BlockShare { index, of });
                finished(run(&opened, &candidates, &folder, &never()));
            }
            let path = home.path(&format!("{name}-merged-{of}"));
            let mut shuffled = parts.clone();
            shuffled.reverse();
            let folder = merge(&path, &shuffled).unwrap();
            end(&folder, &PredictionSummary::read(&folder, 5, 5).unwrap());
            assert_eq!(bytes(&path), whole, "{of} parts");
        }
    }
}

#[test]
fn merging_refuses_incomplete_parts() {
    let home = TrainedRuns::new(&[("dango", 0)]);
    let opened = home.open();
    let candidates = triples(&opened, 20);
    let make = |name: &str, part: BlockShare, keep: KeptPredictions| {
        let folder =
            PredictionFolder::start(&home.path(name), plan(&opened, &candidates, keep, part, 100)).unwrap();
        finished(run(&opened, &candidates, &folder, &never()));
        home.path(name)
    };
    let [a, b] =
        [1, 2].map(|index| make(&format!("p{index}"), BlockShare { index, of: 3 }, KeptPredictions::All));
    let other =
        make("other", BlockShare { index: 3, of: 3 }, KeptPredictions::Extremes { top: 1, bottom: 1 });
    let message = |parts: &[&PathBuf]| {
        let parts: Vec<PathBuf> = parts.iter().map(|&path| path.clone()).collect();
        let error = merge(&home.path("merged"), &parts).unwrap_err().to_string();
        assert!(!home.path("merged").exists());
        error
    };
    assert!(message(&[&a, &b]).starts_with("part 3 of 3 missing"), "{}", message(&[&a, &b]));
    assert!(message(&[&a, &b, &other]).contains("different predictions: what is kept"));
    assert!(message(&[&a, &a]).contains("are both part 1/3"));
    assert!(message(&[&a, &home.runs[0]]).contains("holds no predictions"));
    let c = make("p3", BlockShare { index: 3, of: 3 }, KeptPredictions::All);
    let block = fs::read_dir(c.join(PREDICTIONS)).unwrap().next().unwrap().unwrap().path();
    let kept = fs::read(&block).unwrap();
    fs::remove_file(&block).unwrap();
    assert!(message(&[&a, &b, &c]).contains("is not finished: 1 of 4 blocks"));
    let foreign = fs::read_dir(a.join(PREDICTIONS)).unwrap().next().unwrap().unwrap().path();
    fs::copy(foreign, &block).unwrap();
    assert!(message(&[&a, &b, &c]).contains("is damaged (it is not block"));
    fs::write(&block, &kept[..kept.len() / 2]).unwrap();
    assert!(message(&[&a, &b, &c]).contains("is damaged"));
    fs::write(&block, &kept).unwrap();
    assert!(merge(&home.path("merged"), &[a, b, c]).is_ok());
}

#[test]
fn candidates_are_the_requested_sets() {
    let home = TrainedRuns::new(&[("dango", 0)]);
    let opened = home.open();
    let samples = &opened.dataset.samples;
    let all = |choice: CandidateSpec, filters: &Filters| {
        let candidates = candidates(&opened, choice, filters)?;
        let (mut numbers, mut sets) = (Vec::new(), GeneSets::default());
        // In pieces, as blocks are.
        for start in (0..candidates.count()).step_by(7) {
            candidates.fill(start..(start + 7).min(candidates.count()), &mut numbers, &mut sets);
        }
        assert!(numbers.is_sorted_by(|a, b| a < b) && numbers.len() == sets.len());
        Ok::<_, Error>(sets.view().iter().map(<[u32]>::to_vec).collect::<Vec<_>>())
    };
    let choose = |order, genes: &[u32], with: &[u32]| CandidateSpec::Combinations {
        order,
        genes: genes.to_vec(),
        with: with.to_vec(),
    };
    let none = Filters::default();
    assert_eq!(all(choose(2, &[5, 1, 3, 3], &[]), &none).unwrap(), [[1, 3], [1, 5], [3, 5]]);
    assert_eq!(all(choose(3, &[5, 1, 3], &[3]), &none).unwrap(), [[1, 3, 5]]);
    assert_eq!(all(choose(3, &[1, 9, 4], &[4, 2]), &none).unwrap(), [[1, 2, 4], [2, 4, 9]]);
    let exclude = Filters { exclude: vec![5], ..Filters::default() };
    assert_eq!(all(choose(2, &[5, 1, 3], &[]), &exclude).unwrap(), [[1, 3]]);
    // A gene that is requested by name is not excluded.
    assert_eq!(all(choose(2, &[1, 3], &[5]), &exclude).unwrap(), [[1, 5], [3, 5]]);
    let listed: GeneSets = [&[1, 2][..], &[2, 5], &[7, 8, 9]].into_iter().collect();
    assert_eq!(all(CandidateSpec::Listed(listed), &exclude).unwrap(), [vec![1, 2], vec![7, 8, 9]]);
    let measured = Filters { measured: true, ..Filters::default() };
    let known: GeneSets = [samples.genes(0), &[0, 1, 2]].into_iter().collect();
    let left = all(CandidateSpec::Listed(known), &measured).unwrap();
    assert!(!left.contains(&samples.genes(0).to_vec()) && left.len() <= 1);
    let lonely = Filters { min_degree: usize::MAX, ..Filters::default() };
    assert!(refusal(all(choose(2, &[1, 2], &[]), &lonely)).starts_with("nothing to predict"));
    assert!(
        refusal(all(choose(2, &[1, 2], &[3, 4]), &none)).starts_with("a query of 2 genes leaves nothing")
    );
    assert!(refusal(all(choose(3, &[1, 2], &[3, 3]), &none)).contains("twice; a set has every gene once"));
}

#[test]
fn a_folder_of_something_else_is_left_alone() {
    let home = TrainedRuns::new(&[("dango", 0)]);
    let opened = home.open();
    let (one, two) = (triples(&opened, 10), triples(&opened, 11));
    let plan =
        |candidates: &Candidates| plan(&opened, candidates, KeptPredictions::All, BlockShare::default(), 50);
    let path = home.path("out");
    let folder = PredictionFolder::start(&path, plan(&one)).unwrap();
    assert!(refusal(PredictionFolder::start(&path, plan(&one))).starts_with("another process is writing"));
    finished(run(&opened, &one, &folder, &never()));
    drop(folder);
    let error = PredictionFolder::start(&path, plan(&two)).unwrap_err().to_string();
    assert!(error.contains("another request: the candidates differ"), "{error}");
    let error = PredictionFolder::start(&home.runs[0], plan(&one)).unwrap_err();
    assert!(error.to_string().contains("exists and holds no predictions"), "{error}");
    // A block that was damaged meanwhile is named, not used.
    let block = path.join(PREDICTIONS).join("block-000000001.parquet");
    fs::write(&block, "x").unwrap();
    let folder = PredictionFolder::start(&path, plan(&one)).unwrap();
    let genes = opened.dataset.cell.genes();
    let error = predict(&folder, &one, &opened.scorer(), genes, (0, 0), &never()).unwrap_err();
    assert!(error.to_string().starts_with(&format!("{} is damaged", block.display())), "{error}");
}

#[test]
fn a_solved_run_has_one_state_under_every_name() {
    let home = TrainedRuns::new(&[("stack", 0), ("dango", 0)]);
    let [solved, trained] = &home.runs[..] else { panic!("two runs") };
    let names = fs::read_dir(solved.join("checkpoints")).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["last-000001"]);
    let hash =
        |state| OpenRuns::open(std::slice::from_ref(solved), state, None).unwrap().runs.remove(0).entry;
    let best = hash(None);
    assert_eq!(best.state, "best-pearson");
    for slot in [Slot::Last, Slot::BestPearson, Slot::BestMse] {
        let entry = hash(Some(slot));
        assert_eq!((&entry.state[..], &entry.weights_hash), (slot.name(), &best.weights_hash));
    }
    // A network that has not ended an epoch has no best state, and none is made up.
    for folder in ["best-pearson-000001", "best-mse-000001"] {
        fs::remove_dir_all(trained.join("checkpoints").join(folder)).ok();
    }
    let open = |state| OpenRuns::open(std::slice::from_ref(trained), state, None);
    assert_eq!(open(None).unwrap().runs[0].entry.state, "last");
    assert!(open(Some(Slot::BestMse)).is_err());
}
