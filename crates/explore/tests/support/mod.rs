//! A folder with a dataset and runs, and a server of it.
#![allow(dead_code, reason = "each test target uses a part")]

use knockout_data::cell::{Cell, Gene, GeneTable};
use knockout_data::screen::Dataset;
use knockout_explore::{Explorer, Server};
use knockout_sources::synth;
use knockout_train::config::Config;
use knockout_train::run::{Run, RunContext};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

/// A gene whose standard name is an attack.
pub(crate) const HOSTILE: &str = "</script><script>alert(1)</script>\"'&";

/// Writes a dataset and trains runs on it: a solved one, and a network for some epochs.
pub(crate) fn folder() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let preset = synth::SynthConfig::preset("tiny").unwrap();
    let mut dataset = synth::synthesise(&preset, 3, "tiny", "example", &|_| ()).unwrap();
    dataset.cell = Arc::new(with_hostile_name(&dataset.cell));
    dataset.write(&home.path().join("tiny"), &|_| ()).unwrap();
    train(home.path(), "stack", &[], "runs/stack-0");
    train(home.path(), "dango", &["model.width=8", "epochs=2"], "runs/dango-0");
    home
}

/// The same cell, whose first gene has another standard name.
fn with_hostile_name(cell: &Cell) -> Cell {
    let mut genes: Vec<Gene> = cell.genes().genes().to_vec();
    genes[0].standard = Some(HOSTILE.to_owned());
    let genes = GeneTable::new(genes).unwrap();
    let renamed = Cell::new(genes, cell.networks().to_vec(), cell.metabolism().cloned()).unwrap();
    renamed.with_annotations(cell.annotations().to_vec()).unwrap()
}

/// Trains a run on the dataset of the folder.
pub(crate) fn train(home: &Path, model: &str, settings: &[&str], out: &str) {
    let dataset = Arc::new(Dataset::open(&home.join("tiny")).unwrap());
    let config = Config::of(model, &dataset.cell, settings).unwrap();
    let context = RunContext::new(home.join("tiny"));
    for event in Run::create(&home.join(out), dataset, config, &context).unwrap() {
        event.unwrap();
    }
}

/// An answer of the server.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

/// Sends bytes to a port and reads the answer.
pub(crate) fn send(port: u16, request: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(request).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    // Workbooks are not text.
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

/// Runs the server of some folders while `test` runs.
pub(crate) fn served(folders: &[PathBuf], test: impl FnOnce(&Client)) {
    served_with(folders, None, test);
}

/// Like [`served`], with another place of the dataset.
pub(crate) fn served_with(folders: &[PathBuf], data: Option<&Path>, test: impl FnOnce(&Client)) {
    let (explorer, server) = (Explorer::open(folders, data).unwrap(), Server::bind(0).unwrap());
    let url = server.url();
    let token = url.rsplit('/').nth(1).unwrap().to_owned();
    let client = Client { port: server.port(), token };
    let ends = Ends(AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| server.run(&explorer, &|| ends.0.load(Ordering::SeqCst)).unwrap());
        // The server ends also if the test fails.
        let _ending = Ending(&ends);
        test(&client);
    });
}

struct Ends(AtomicBool);
struct Ending<'a>(&'a Ends);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::SeqCst);
    }
}

/// A client of a server.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub port: u16,
    pub token: String,
}

impl Client {
    /// Asks for an address behind the token.
    pub(crate) fn get(&self, address: &str) -> Answer {
        self.request("GET", address, "")
    }

    /// Sends a request with more headers, each with its line end.
    pub(crate) fn request(&self, method: &str, address: &str, headers: &str) -> Answer {
        let Self { port, token } = self;
        let host = format!("Host: 127.0.0.1:{port}\r\n");
        send(*port, format!("{method} /{token}/{address} HTTP/1.1\r\n{host}{headers}\r\n").as_bytes())
    }
}
