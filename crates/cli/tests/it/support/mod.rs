//! Runs the program as a user would: command lines in a folder of their own.
#![allow(dead_code, reason = "the tests of resources use a part of it")]

pub(crate) mod traces;

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::LazyLock;

/// A scratch folder in which commands run.
pub(crate) struct Home(tempfile::TempDir);

impl Home {
    pub(crate) fn empty() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Returns a folder with `tiny`, a synthetic dataset of 2,000 samples.
    pub(crate) fn with_tiny() -> Self {
        let home = Self::empty();
        copy(&DATASET.join("tiny"), &home.path("tiny"));
        home
    }

    /// Returns a folder with `tiny` and these of the runs `seed-0`, `seed-1`, `seed-2` (DANGO, 2 epochs) and `stack`. Their manifests
    /// name the dataset of the fixture, which has the same contents.
    pub(crate) fn with_runs(names: &[&str]) -> Self {
        let home = Self::with_tiny();
        for name in names {
            let runs: &Path = if *name == "stack" { &SOLVED } else { &TRAINED };
            copy(&runs.join(name), &home.path(name));
        }
        home
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        fs::write(self.path(name), contents).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// Returns the JSON document in a file.
    pub(crate) fn document(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// Returns the lines of a run's metrics.
    pub(crate) fn metrics(&self, run: &str) -> Vec<Value> {
        let text = self.read(&format!("{run}/metrics.jsonl"));
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the hash of the weights at the end of a run.
    pub(crate) fn weights(&self, run: &str) -> Value {
        self.metrics(run).pop().unwrap()["weights_hash"].clone()
    }

    /// Returns all files below a folder with their contents, by relative path.
    pub(crate) fn content(&self, name: &str) -> Vec<(PathBuf, Vec<u8>)> {
        content(&self.path(name))
    }

    /// Returns the names of files and folders directly in a folder, sorted.
    pub(crate) fn names(&self, name: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(name)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Returns the program with the words of a command line, split as a shell does.
    pub(crate) fn command(&self, line: &str) -> Command {
        command(self.0.path(), &shlex::split(line).unwrap())
    }

    pub(crate) fn run(&self, line: &str) -> Ran {
        Ran::new(line, self.command(line).output().unwrap())
    }

    /// Runs with a variable in the environment.
    pub(crate) fn run_with(&self, line: &str, variable: (&str, &str)) -> Ran {
        Ran::new(line, self.command(line).env(variable.0, variable.1).output().unwrap())
    }

    pub(crate) fn ok(&self, line: &str) -> Ran {
        self.run(line).ok()
    }

    pub(crate) fn json(&self, line: &str) -> Value {
        self.run(line).json()
    }

    pub(crate) fn fails(&self, line: &str, code: i32, words: &[&str]) -> Ran {
        self.run(line).fails(code, words)
    }

    /// Starts a command that a test interrupts.
    pub(crate) fn start(&self, line: &str) -> Child {
        self.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs a shell script in which `$knockout` is the program.
    pub(crate) fn shell(&self, script: &str) -> Ran {
        let mut command = Command::new("bash");
        command.args(["-c", script]).env("knockout", cargo_bin!("knockout")).current_dir(self.0.path());
        Ran::new(script, command.output().unwrap())
    }
}

/// Sends a signal and returns what the program printed until it ended.
pub(crate) fn signal(child: Child, name: &str) -> Ran {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    Ran::new(name, child.wait_with_output().unwrap())
}

/// The end of a command.
pub(crate) struct Ran {
    line: String,
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn new(line: &str, output: Output) -> Self {
        Self {
            line: line.to_owned(),
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub(crate) fn ok(self) -> Self {
        self.ends(0)
    }

    /// Expects this exit code.
    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}: {}", self.line, self.stderr);
        self
    }

    pub(crate) fn json(self) -> Value {
        let value = self.ok().document();
        assert!(value["schema"].is_number());
        value
    }

    /// Returns the document on standard output, whatever the exit code.
    pub(crate) fn document(&self) -> Value {
        serde_json::from_str(&self.stdout).expect("one JSON document on standard output")
    }

    /// Expects this exit code, all the words on standard error, and no panic.
    #[track_caller]
    pub(crate) fn fails(self, code: i32, words: &[&str]) -> Self {
        assert!(!self.stderr.contains("panicked"), "{}: {}", self.line, self.stderr);
        self.ends(code).warns(words)
    }

    /// Expects all the words on standard error.
    #[track_caller]
    pub(crate) fn warns(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.stderr.contains(word), "{}: {word:?} is not in {:?}", self.line, self.stderr);
        }
        self
    }

    /// Expects all the words on standard output.
    #[track_caller]
    pub(crate) fn prints(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.stdout.contains(word), "{}: {word:?} is not in\n{}", self.line, self.stdout);
        }
        self
    }
}

/// Returns the texts of one key of an array of objects.
pub(crate) fn texts<'a>(rows: &'a Value, key: &str) -> Vec<&'a str> {
    rows.as_array().unwrap().iter().map(|row| row[key].as_str().unwrap()).collect()
}

pub(crate) fn run_in(folder: &Path, args: &[&str]) -> Ran {
    let words: Vec<String> = args.iter().map(|word| (*word).to_owned()).collect();
    Ran::new(&args.join(" "), command(folder, &words).output().unwrap())
}

fn command(folder: &Path, words: &[String]) -> Command {
    let mut command = Command::new(cargo_bin!("knockout"));
    command.current_dir(folder).env_remove("KNOCKOUT_DATA").args(words);
    command
}

/// Returns all files below a folder with their contents, by relative path.
pub(crate) fn content(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    fn walk(root: &Path, dir: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(root, &path, found);
            } else {
                found.push((path.strip_prefix(root).unwrap().to_owned(), fs::read(&path).unwrap()));
            }
        }
    }
    let mut found = Vec::new();
    walk(dir, dir, &mut found);
    found.sort();
    found
}

/// Copies a folder.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (from, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).unwrap();
        }
    }
}

/// The folder of what tests share, in the target folder and named after this process.
static FIXTURE: LazyLock<PathBuf> = LazyLock::new(|| {
    let parent = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixtures");
    fs::create_dir_all(&parent).unwrap();
    // Statics are never dropped, so the next process removes what an earlier one left.
    for entry in fs::read_dir(&parent).unwrap().flatten() {
        if !Path::new("/proc").join(entry.file_name()).exists() {
            fs::remove_dir_all(entry.path()).ok();
        }
    }
    let folder = parent.join(std::process::id().to_string());
    fs::create_dir_all(&folder).unwrap();
    folder
});

/// Runs a command in the folder of what tests share, and returns that folder.
fn make(line: &str) -> &'static Path {
    Ran::new(line, command(&FIXTURE, &shlex::split(line).unwrap()).output().unwrap()).ok();
    &FIXTURE
}

static DATASET: LazyLock<&Path> = LazyLock::new(|| make("-q data synth tiny --preset tiny"));

static TRAINED: LazyLock<&Path> = LazyLock::new(|| {
    LazyLock::force(&DATASET);
    for seed in 0..3 {
        let train = "-q train tiny --model dango model.width=16 --batch 200 --epochs 2";
        make(&format!("{train} --seed {seed} --out seed-{seed}"));
    }
    &FIXTURE
});

static SOLVED: LazyLock<&Path> = LazyLock::new(|| {
    LazyLock::force(&DATASET);
    make("-q train tiny --out stack")
});
