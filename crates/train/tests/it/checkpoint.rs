//! Checkpoints: what returns, what damage does, what a kill leaves.

use knockout_base::error::{Class, chain};
use knockout_models::loss::CircularBuffer;
use knockout_train::checkpoint::{
    Checkpoint, Checkpoints, Contents, LogPosition, Number, Slot, State, load, save,
};
use knockout_train::config::Identity;
use knockout_train::fit::Position;
use knockout_train::run::{Inputs, MetricsLog, NewRunFiles, RunFolder, RunManifest};
use knockout_train::schedule::{
    Best, Better, Cosine, CosineOptions, EarlyStopping, LearningRate, Plateau, PlateauOptions,
};
use knockout_train::tensors::{TensorRef, weights_hash};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

fn state(step: u64) -> State {
    let mut stopping = EarlyStopping::new(Better::Max, 5, 1e-4);
    stopping.observe(0, 0.1 + 0.2);
    let mut best = Best::new(Better::Min);
    best.observe(0, 1.0 / 3.0);
    State {
        identity: Identity {
            model: "dango".into(),
            gene_table: "genes".into(),
            config: BTreeMap::from([("model.layers".to_owned(), "2".to_owned())]),
        },
        position: Position { step, optimiser_step: step / 2, epoch: 3, batch: 17 },
        seed: u64::MAX,
        learning_rate: LearningRate::constant(5e-4 * 0.7).unwrap(),
        early_stopping: Some(stopping),
        best: BTreeMap::from([("mse".to_owned(), best), ("pearson".to_owned(), Best::new(Better::Max))]),
        loss_buffers: BTreeMap::from([("loss".to_owned(), CircularBuffer::<f32>::new(2, 1, 1).state())]),
        metrics: LogPosition { bytes: 10, lines: 1, blake3: None },
        numbers: BTreeMap::from([("running".to_owned(), Number(f64::NEG_INFINITY))]),
        card: None,
    }
}

const ODD: [f32; 6] = [1.5, -0.0, f32::MIN_POSITIVE / 2.0, f32::MAX, 1e-3, f32::MIN];

fn save_small(target: &Path, state: &State) -> String {
    let tensor = |name, values| TensorRef { name, shape: &[2, 3], values };
    let moments = [tensor("a.weight", &ODD)];
    let contents = Contents {
        weights: &[
            tensor("b.weight", &[0.25; 6]),
            tensor("a.weight", &ODD),
            TensorRef { name: "scale", shape: &[], values: &[7.0] },
            TensorRef { name: "nothing", shape: &[0, 4], values: &[] },
        ],
        first_moments: &moments,
        second_moments: &moments,
        buffers: &[TensorRef { name: "loss.features", shape: &[2, 1], values: &[-0.0, 1.0] }],
        state,
    };
    save(target, &contents).unwrap()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn a_checkpoint_is_read_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("one");
    let hash = save_small(&target, &state(7));
    let loaded = load(&target).unwrap();
    assert_eq!(loaded.state, state(7));
    assert_eq!(loaded.weights_hash, hash);
    let names: Vec<&str> = loaded.weights.iter().map(|tensor| tensor.name.as_str()).collect();
    assert_eq!(names, ["a.weight", "b.weight", "nothing", "scale"]);
    assert_eq!(bits(&loaded.weights[0].values), bits(&ODD));
    assert_eq!((loaded.weights[2].shape.as_slice(), loaded.weights[3].shape.len()), (&[0, 4][..], 0));
    assert_eq!((loaded.first_moments[0].name.as_str(), loaded.second_moments.len()), ("a.weight", 1));
    assert_eq!(bits(&loaded.buffers[0].values), bits(&[-0.0, 1.0]));
    // Equal contents give equal bytes.
    save_small(&folder.path().join("two"), &state(7));
    for file in fs::read_dir(&target).unwrap() {
        let name = file.unwrap().file_name();
        assert_eq!(
            fs::read(target.join(&name)).unwrap(),
            fs::read(folder.path().join("two").join(&name)).unwrap()
        );
    }
}

#[test]
fn a_number_that_is_not_finite_is_never_written() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("one");
    let (sound, state) = ([TensorRef { name: "w", shape: &[2], values: &[1.0, 2.0] }], state(7));
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let values = [1.0, value];
        let broken = [TensorRef { name: "w", shape: &[2], values: &values }];
        for place in 0..4 {
            let of = |here: usize| if place == here { &broken } else { &sound };
            let contents = Contents {
                weights: of(0),
                first_moments: of(1),
                second_moments: of(2),
                buffers: of(3),
                state: &state,
            };
            let error = save(&target, &contents).unwrap_err();
            assert!(chain(&error).contains("tensor \"w\" holds a number that is not finite"), "{error:?}");
            assert!(!target.exists());
        }
    }
}

#[test]
fn schedules_are_restored_in_the_middle() {
    let folder = tempfile::tempdir().unwrap();
    let cosine = CosineOptions { first_cycle: 5, cycle_factor: 1.5, lowest: 1e-6, warmup: 2, gamma: 0.8 };
    let plateau =
        PlateauOptions { factor: 0.1, patience: 1, threshold: 1e-4, cooldown: 0, lowest: 0.0, epsilon: 1e-8 };
    for (i, mut schedule) in [
        LearningRate::Cosine(Cosine::new(1e-3, &cosine).unwrap()),
        LearningRate::Plateau(Plateau::new(1e-3, &plateau).unwrap()),
    ]
    .into_iter()
    .enumerate()
    {
        for epoch in 0..8 {
            schedule.end_epoch(0.3);
            let target = folder.path().join(format!("{i}-{epoch}"));
            save_small(&target, &State { learning_rate: schedule.clone(), ..state(1) });
            let mut loaded = load(&target).unwrap().state.learning_rate;
            assert_eq!(loaded, schedule);
            let mut ahead = schedule.clone();
            for _ in 0..9 {
                loaded.end_epoch(0.2);
                ahead.end_epoch(0.2);
                assert_eq!(loaded.rate().to_bits(), ahead.rate().to_bits());
            }
        }
    }
}

#[test]
fn the_hash_does_not_depend_on_order_but_on_everything_else() {
    let a = TensorRef { name: "a", shape: &[2], values: &[1.0, 2.0] };
    let b = TensorRef { name: "b", shape: &[1], values: &[3.0] };
    let hash = weights_hash(&[a, b]);
    assert_eq!(hash, weights_hash(&[b, a]));
    for other in [
        [TensorRef { name: "c", ..a }, b],
        [TensorRef { shape: &[2, 1], ..a }, b],
        [TensorRef { values: &[1.0, -2.0], ..a }, b],
    ] {
        assert_ne!(hash, weights_hash(&other));
    }
}

/// Any one byte of any file: an error that names a file of the checkpoint.
#[test]
fn a_flipped_byte_anywhere_is_found() {
    damage_everywhere(|bytes, at| bytes[at] ^= 1 << (at % 8));
}

#[test]
fn a_file_cut_short_anywhere_is_found() {
    damage_everywhere(Vec::truncate);
}

fn damage_everywhere(damage: impl Fn(&mut Vec<u8>, usize)) {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("one");
    save_small(&target, &state(7));
    for entry in fs::read_dir(&target).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            damage(&mut bytes, at);
            fs::write(&path, &bytes).unwrap();
            let error = load(&target).expect_err("damage at {at} of {name}");
            let text = chain(&error);
            // The digit of the format in the manifest.
            let is_newer = name == "manifest.json" && text.contains("install a newer one");
            let is_damaged = ["is damaged", ": the file is damaged"].iter().any(|words| {
                text.contains(&format!("{name} {words}")) || text.contains(&format!("{name}{words}"))
            });
            assert!(is_newer || is_damaged, "byte {at} of {name}: {text}");
            assert_eq!(error.class(), Class::Damage);
        }
        fs::write(&path, &whole).unwrap();
    }
    load(&target).unwrap();
}

#[test]
fn a_missing_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("one");
    save_small(&target, &state(7));
    for entry in fs::read_dir(&target).unwrap() {
        let path = entry.unwrap().path();
        let whole = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let error = load(&target).unwrap_err();
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(chain(&error).contains(name) && chain(&error).contains("is missing"), "{error:?}");
        fs::write(&path, &whole).unwrap();
    }
    let error = load(&folder.path().join("none")).unwrap_err();
    assert!(chain(&error).contains("manifest.json is missing"), "{error:?}");
}

#[test]
fn tensors_that_could_not_be_read_back_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("one");
    let state = state(1);
    let good = TensorRef { name: "a", shape: &[2], values: &[1.0, 2.0] };
    for (weights, words) in [
        ([good, good], "is there twice"),
        ([good, TensorRef { name: "b", shape: &[3], values: &[1.0] }], "has shape [3] but 1 values"),
        ([good, TensorRef { name: "b", shape: &[usize::MAX, 2], values: &[] }], "but 0 values"),
        ([good, TensorRef { name: "__metadata__", shape: &[], values: &[1.0] }], "cannot be stored"),
    ] {
        let contents = Contents {
            weights: &weights,
            first_moments: &[],
            second_moments: &[],
            buffers: &[],
            state: &state,
        };
        let error = save(&target, &contents).unwrap_err();
        assert!(chain(&error).contains(words), "{error:?}");
        assert!(!target.exists());
    }
}

#[test]
fn a_damaged_newest_offers_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let store = Checkpoints::at(folder.path());
    assert!(store.newest(Slot::Last).unwrap().is_none());
    for step in 1..=4 {
        save_step(&store, Slot::Last, step, LogPosition::START);
        save_step(&store, Slot::BestPearson, step, LogPosition::START);
    }
    let paths = store.paths(Slot::Last).unwrap();
    assert_eq!(paths, ["last-000004", "last-000003"].map(|name| folder.path().join(name)));
    assert_eq!(store.paths(Slot::BestPearson).unwrap(), [folder.path().join("best-pearson-000004")]);
    assert!(store.paths(Slot::BestMse).unwrap().is_empty());

    fs::write(paths[0].join("weights.safetensors"), b"garbage").unwrap();
    let error = store.newest(Slot::Last).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("last-000004") && text.contains("last-000003 is whole: move"), "{text}");
    // As the message says.
    fs::rename(&paths[0], folder.path().join("damaged")).unwrap();
    assert_eq!(store.newest(Slot::Last).unwrap().unwrap().1.state.position.step, 3);

    fs::remove_file(paths[1].join("state.json")).unwrap();
    let text = store.newest(Slot::Last).unwrap_err().to_string();
    assert!(!text.contains("is whole"), "{text}");
}

fn value_at(step: u64) -> f32 {
    step as f32 * 0.5
}

/// A checkpoint whose every number follows from its step.
fn save_step(store: &Checkpoints, slot: Slot, step: u64, metrics: LogPosition) {
    let values = vec![value_at(step); 20_000];
    let tensors = [TensorRef { name: "w", shape: &[200, 100], values: &values }];
    let state = State { metrics, ..state(step) };
    let contents = Contents {
        weights: &tensors,
        first_moments: &tensors,
        second_moments: &tensors,
        buffers: &[],
        state: &state,
    };
    store.save(slot, &contents).unwrap();
}

fn step_of(checkpoint: &Checkpoint) -> u64 {
    let step = checkpoint.state.position.step;
    for tensor in [&checkpoint.weights[0], &checkpoint.first_moments[0], &checkpoint.second_moments[0]] {
        assert!(tensor.values.iter().all(|&value| value == value_at(step)));
    }
    step
}

const HELPER: &str = "KNOCKOUT_TEST_RUN";

/// Not a test by itself: the process that `kill_9_at_any_moment…` kills. It resumes the run and trains for ever.
#[test]
fn helper_that_trains_until_it_is_killed() {
    let Some(folder) = std::env::var_os(HELPER) else { return };
    let run = RunFolder::open(Path::new(&folder)).unwrap();
    let store = Checkpoints::at(run.checkpoints());
    store.clean().unwrap();
    let resumed = store.newest(Slot::Last).unwrap();
    let (mut step, from) = resumed
        .map_or((0, LogPosition::START), |(_, checkpoint)| (step_of(&checkpoint), checkpoint.state.metrics));
    let (mut metrics, _) = run.metrics(from).unwrap();
    loop {
        step += 1;
        metrics.append(&serde_json::json!({"step": step})).unwrap();
        save_step(&store, Slot::Last, step, metrics.sync().unwrap());
        writeln!(std::io::stdout(), "saved {step}").unwrap();
    }
}

#[test]
fn kill_9_at_any_moment_leaves_a_checkpoint_and_loses_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let manifest = RunManifest {
        schema: 1,
        version: "0".into(),
        commit: "0".into(),
        seed: 1,
        host: "h".into(),
        inputs: Inputs { dataset: "d".into(), gene_table: "g".into(), cell: "c".into() },
        conditions: BTreeMap::new(),
    };
    drop(RunFolder::create(&path, NewRunFiles { config: "", overrides: &[], manifest: &manifest }).unwrap());
    let store = Checkpoints::at(&path.join("checkpoints"));
    let mut newest = 0;
    for attempt in 0..12_u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "checkpoint::helper_that_trains_until_it_is_killed", "--nocapture"])
            .env(HELPER, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(20 + attempt * 13));
        child.kill().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let acknowledged = said.filter_map(|line| line.rsplit_once("saved ")?.1.parse::<u64>().ok()).last();
        child.wait().unwrap();

        let loaded = store.newest(Slot::Last).expect("what is there is whole");
        let Some((_, checkpoint)) = loaded else { continue };
        let step = step_of(&checkpoint);
        assert!(step >= newest && step >= acknowledged.unwrap_or(0), "{step} {newest} {acknowledged:?}");
        newest = step;
        // Every line up to the checkpoint is there once.
        let (log, resumed) = MetricsLog::resume(&path, checkpoint.state.metrics).unwrap();
        assert_eq!(resumed.missing_lines, 0);
        drop(log);
        let text = fs::read_to_string(path.join("metrics.jsonl")).unwrap();
        let expected: Vec<String> = (1..=step).map(|step| format!("{{\"step\":{step}}}")).collect();
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }
    println!("killed twelve times; {newest} checkpoints were written");
    assert!(newest > 0, "no checkpoint was ever written");
    store.clean().unwrap();
    let left = fs::read_dir(path.join("checkpoints")).unwrap().count();
    assert!(left <= 3, "{left} folders are left");
}
