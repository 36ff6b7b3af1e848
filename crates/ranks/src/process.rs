//! Ranks that are processes of one machine, started by the first of them.
//!
//! The first rank starts the same program once for every other rank. All meet through Unix sockets in a private folder, which is removed
//! as soon as every pair is connected. A rank ends with the first one: its standard input is a pipe that closes then. The first rank
//! watches the processes that it started and reports each end.

use crate::World;
use crate::error::{ended, no_such_rank, silent, wrong_length};
use knockout_base::error::{Error, Result};
use std::env;
use std::ffi::OsString;
use std::fs::Permissions;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Variable of a started rank: `RANK:SIZE:FOLDER`.
const VARIABLE: &str = "KNOCKOUT_LOCAL_RANK";
/// Most ranks: each has a connection to every other.
const MOST: usize = 64;
/// Time limit for all ranks to meet.
const MEETING: Duration = Duration::from_mins(2);
/// Pause between two looks at the other processes.
const PAUSE: Duration = Duration::from_millis(10);
/// Time that the first rank has to report why another one ended, before a broken connection is reported instead.
const REPORT: Duration = Duration::from_secs(1);
/// Exit code of a rank whose first rank is gone; no process reads it.
const ORPHANED: i32 = 1;

/// One of several processes on this machine.
#[derive(Debug)]
pub struct ProcessRank {
    rank: usize,
    /// Connections to the others, by rank; `None` for this one.
    peers: Vec<Option<UnixStream>>,
    /// The other ranks, on the first one.
    children: Arc<Children>,
}

/// The processes that the first rank started; rank 1 comes first.
#[derive(Debug, Default)]
struct Children(Mutex<Vec<StartedRank>>);

#[derive(Debug)]
struct StartedRank {
    process: Child,
    /// Whether its end was seen or requested.
    has_ended: bool,
}

impl ProcessRank {
    /// Starts the other ranks with `command` and meets them; this process is the first rank. On a thread of its own, `code_after` gets
    /// the number and the status of each process that ends; if it returns an exit code, all ranks end with it at once.
    pub fn start(
        size: usize,
        command: impl Fn() -> io::Result<Command>,
        code_after: impl Fn(usize, ExitStatus) -> Option<u8> + Send + 'static,
    ) -> Result<Self> {
        Self::check(size)?;
        let folder = private_folder()?;
        let listener = listen(folder.path(), 0)?;
        let children = Arc::new(Children::default());
        for rank in 1..size {
            let mut place = OsString::from(format!("{rank}:{size}:"));
            place.push(folder.path());
            let started = command().and_then(|mut command| {
                command.env(VARIABLE, place).stdin(Stdio::piped()).stdout(Stdio::null()).spawn()
            });
            let process = started.map_err(|error| {
                Error::request(format!("could not start rank {rank} of {size}; take fewer ranks"))
                    .caused_by(error)
            })?;
            children.all().push(StartedRank { process, has_ended: false });
        }
        watch(Arc::downgrade(&children), code_after)?;
        let peers = meet(0, size, folder.path(), &listener)?;
        let world = Self { rank: 0, peers, children };
        // Every rank has met all others: the folder is not needed any more.
        (1..size).try_for_each(|rank| world.receive(rank, &mut [0], MEETING))?;
        folder.close().map_err(failed("could not remove the folder of the ranks' sockets"))?;
        Ok(world)
    }

    /// Checks a number of ranks.
    pub fn check(size: usize) -> Result<()> {
        if (1..=MOST).contains(&size) {
            return Ok(());
        }
        Err(Error::request(format!(
            "{size} ranks cannot be started on one machine: take 1 to {MOST}, at most as many as it has cores"
        )))
    }

    /// Joins the ranks that a first rank started, if this process is one of them.
    pub fn join() -> Result<Option<Self>> {
        let Some(place) = env::var_os(VARIABLE) else { return Ok(None) };
        let text = place.to_string_lossy();
        let mut parts = text.splitn(3, ':');
        let mut number = || parts.next()?.parse::<usize>().ok();
        let (rank, size) = (number(), number());
        let folder = parts.next().map(PathBuf::from);
        let (Some(rank), Some(size), Some(folder)) = (rank, size, folder) else {
            return Err(Error::request(format!(
                "{VARIABLE}={text} is not a rank; the first of several ranks sets this variable, so unset it"
            )));
        };
        if rank == 0 || rank >= size || size > MOST {
            return Err(no_such_rank(rank, size));
        }
        end_with_parent();
        let listener = listen(&folder, rank)?;
        let peers = meet(rank, size, &folder, &listener)?;
        let world = Self { rank, peers, children: Arc::default() };
        world.send(0, &[0], MEETING)?;
        Ok(Some(world))
    }

    /// Returns whether a first rank started this process.
    pub fn is_started() -> bool {
        env::var_os(VARIABLE).is_some()
    }

    fn peer(&self, rank: usize) -> Result<&UnixStream> {
        self.peers.get(rank).and_then(Option::as_ref).ok_or_else(|| no_such_rank(rank, self.size()))
    }

    /// Returns the error of a broken connection, unless the first rank ends this process before and prints how the other one ended.
    fn broken(&self, rank: usize) -> Error {
        thread::sleep(REPORT);
        ended(rank, self.host(rank))
    }

    /// Fills a buffer from a connection, or fails when the patience is over.
    fn fill(&self, from: usize, mut bytes: &mut [u8], patience: Duration) -> Result<()> {
        let (mut stream, began) = (self.peer(from)?, Instant::now());
        while !bytes.is_empty() {
            let left = patience.saturating_sub(began.elapsed()).max(Duration::from_millis(1));
            stream
                .set_read_timeout(Some(left))
                .map_err(failed("could not set the time limit of a message"))?;
            match stream.read(bytes) {
                Ok(0) => return Err(self.broken(from)),
                Ok(count) => bytes = &mut bytes[count..],
                Err(error) => self.after_error(&error, from, patience)?,
            }
        }
        Ok(())
    }

    /// Sends all bytes, or fails when the patience is over.
    fn put(&self, to: usize, mut bytes: &[u8], patience: Duration) -> Result<()> {
        let (mut stream, began) = (self.peer(to)?, Instant::now());
        while !bytes.is_empty() {
            let left = patience.saturating_sub(began.elapsed()).max(Duration::from_millis(1));
            stream
                .set_write_timeout(Some(left))
                .map_err(failed("could not set the time limit of a message"))?;
            match stream.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) => self.after_error(&error, to, patience)?,
            }
        }
        Ok(())
    }

    /// Returns the error of a transfer; a signal is none.
    fn after_error(&self, error: &io::Error, rank: usize, waited: Duration) -> Result<()> {
        match error.kind() {
            ErrorKind::Interrupted => Ok(()),
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Err(silent(rank, self.host(rank), waited)),
            _ => Err(self.broken(rank)),
        }
    }
}

impl World for ProcessRank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.peers.len()
    }

    fn host(&self, _: usize) -> &'static str {
        "this machine"
    }

    fn send(&self, to: usize, bytes: &[u8], patience: Duration) -> Result<()> {
        self.put(to, &(bytes.len() as u64).to_le_bytes(), patience)?;
        self.put(to, bytes, patience)
    }

    fn receive(&self, from: usize, bytes: &mut [u8], patience: Duration) -> Result<()> {
        let mut length = [0; 8];
        self.fill(from, &mut length, patience)?;
        let found = u64::from_le_bytes(length) as usize;
        if found != bytes.len() {
            return Err(wrong_length(from, found, bytes.len()));
        }
        self.fill(from, bytes, patience)
    }

    fn abort(&self, code: u8) {
        self.children.kill();
        std::process::exit(code.into());
    }

    fn leave(&self) {
        let began = Instant::now();
        while self.children.are_running() && began.elapsed() < MEETING {
            thread::sleep(PAUSE);
        }
        self.children.kill();
    }
}

impl Children {
    fn all(&self) -> std::sync::MutexGuard<'_, Vec<StartedRank>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the processes that ended since the last call, by rank.
    fn ended(&self) -> Vec<(usize, ExitStatus)> {
        let mut all = self.all();
        let running = all.iter_mut().enumerate().filter(|(_, started)| !started.has_ended);
        let ended = running.filter_map(|(index, started)| {
            let status = started.process.try_wait().ok()??;
            started.has_ended = true;
            Some((index + 1, status))
        });
        ended.collect()
    }

    fn are_running(&self) -> bool {
        self.all().iter().any(|started| !started.has_ended)
    }

    /// Ends those that still run, stopped ones too. Their end is expected, so [`Self::ended`] leaves it out.
    fn kill(&self) {
        for started in self.all().iter_mut().filter(|started| !started.has_ended) {
            started.process.kill().ok();
            started.has_ended = true;
        }
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Ends this process as soon as its standard input closes: with the process that started it and holds the other end.
pub fn end_with_parent() {
    let watching = thread::Builder::new().spawn(|| {
        let mut bytes = [0; 64];
        while !matches!(io::stdin().read(&mut bytes), Ok(0) | Err(_)) {}
        std::process::exit(ORPHANED);
    });
    // The thread is not joined: it ends with the process. Without it, a process outlives its parent until its next message.
    drop(watching);
}

/// Looks at the started processes until none is left, and ends all ranks if one of them failed.
fn watch(
    children: Weak<Children>,
    code_after: impl Fn(usize, ExitStatus) -> Option<u8> + Send + 'static,
) -> Result<()> {
    let watching = thread::Builder::new().spawn(move || {
        while let Some(children) = children.upgrade() {
            let code = children.ended().into_iter().find_map(|(rank, status)| code_after(rank, status));
            if let Some(code) = code {
                children.kill();
                std::process::exit(code.into());
            }
            if !children.are_running() {
                return;
            }
            drop(children);
            thread::sleep(PAUSE);
        }
    });
    watching.map(drop).map_err(|error| {
        Error::request("could not start a thread for the ranks; raise the limit (ulimit -u)").caused_by(error)
    })
}

/// Returns a conversion of an error of the operating system, with the operation that failed.
fn failed(operation: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |error| Error::wrap(operation, error)
}

/// Makes a folder that only this user can enter. A socket's path must be short, so a long TMPDIR is not taken.
fn private_folder() -> Result<TempDir> {
    const LONGEST: usize = 60;
    let temporary = env::temp_dir();
    let parent = if temporary.as_os_str().len() <= LONGEST { temporary.as_path() } else { Path::new("/tmp") };
    let mut builder = tempfile::Builder::new();
    builder.prefix("knockout-ranks-").permissions(Permissions::from_mode(0o700));
    builder.tempdir_in(parent).map_err(failed("could not make a folder for the sockets of the ranks"))
}

fn socket(folder: &Path, rank: usize) -> PathBuf {
    folder.join(rank.to_string())
}

fn listen(folder: &Path, rank: usize) -> Result<UnixListener> {
    let bound = UnixListener::bind(socket(folder, rank));
    let listener = bound.map_err(|error| {
        Error::wrap(format!("rank {rank} could not listen in {}", folder.display()), error)
    })?;
    listener.set_nonblocking(true).map_err(failed("could not prepare a socket"))?;
    Ok(listener)
}

/// Connects a rank with all others: it calls those before it, and those behind it call.
fn meet(rank: usize, size: usize, folder: &Path, listener: &UnixListener) -> Result<Vec<Option<UnixStream>>> {
    let deadline = Instant::now() + MEETING;
    let late = |missing: String| {
        let seconds = MEETING.as_secs();
        Error::failure(format!("rank {rank} of {size} did not meet {missing} within {seconds} s"))
    };
    let mut peers: Vec<Option<UnixStream>> = (0..size).map(|_| None).collect();
    for (earlier, peer) in peers.iter_mut().enumerate().take(rank) {
        let stream = loop {
            match UnixStream::connect(socket(folder, earlier)) {
                Ok(stream) => break stream,
                Err(error) if Instant::now() > deadline => {
                    return Err(late(format!("rank {earlier}")).caused_by(error));
                }
                Err(_) => thread::sleep(PAUSE),
            }
        };
        (&stream)
            .write_all(&[rank as u8])
            .map_err(|error| Error::wrap(format!("rank {earlier} hung up"), error))?;
        *peer = Some(stream);
    }
    while peers.iter().skip(rank + 1).any(Option::is_none) {
        match listener.accept() {
            Ok((stream, _)) => {
                let caller = caller_of(&stream)?;
                match peers.get_mut(caller) {
                    Some(peer @ None) if caller > rank => *peer = Some(stream),
                    _ => return Err(no_such_rank(caller, size)),
                }
            }
            Err(error) if error.kind() != ErrorKind::WouldBlock || Instant::now() > deadline => {
                let missing = peers.iter().skip(rank + 1).filter(|peer| peer.is_none()).count();
                return Err(late(format!("{missing} rank(s)")).caused_by(error));
            }
            Err(_) => thread::sleep(PAUSE),
        }
    }
    Ok(peers)
}

/// Reads the rank that a caller begins with.
fn caller_of(stream: &UnixStream) -> Result<usize> {
    let mut caller = [0];
    let mut read = || {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(MEETING))?;
        (&*stream).read_exact(&mut caller)
    };
    read().map_err(failed("a rank hung up while the ranks met"))?;
    Ok(caller[0].into())
}
