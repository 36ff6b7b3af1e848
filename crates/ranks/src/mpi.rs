//! Ranks started by mpirun or srun.
//!
//! Only four operations of MPI move data here: start of a send, start of a receive, test of completion, and abort. None
//! of them blocks, so every wait is a loop with a deadline. Bytes in flight belong to MPI: they are in separate memory, which is leaked, not
//! freed, where a wait times out.
//!
//! The calls go through `mpi.c`, which is compiled by the compiler of MPI: bindings generated from its header would need
//! libclang, which clusters seldom have.
#![expect(unsafe_code, reason = "MPI is a C library; see the comments at each call")]

use crate::error::{named, silent};
use crate::{Launch, World};
use knockout_base::error::{Error, Result};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::ManuallyDrop;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// MPI counts in 32 bits; longer messages go in pieces.
const PIECE: usize = 1 << 30;
/// Time of polling without a pause: most messages arrive at once.
const EAGER: Duration = Duration::from_micros(100);
/// The longest pause between two polls.
const PAUSE: Duration = Duration::from_micros(200);
/// Room for the name of a machine.
const HOST_BYTES: usize = 256;

unsafe extern "C" {
    fn knockout_mpi_start(rank: *mut c_int, size: *mut c_int) -> c_int;
    fn knockout_mpi_library(out: *mut c_char, capacity: c_int);
    fn knockout_mpi_host(out: *mut c_char, capacity: c_int);
    fn knockout_mpi_send(bytes: *const u8, count: c_int, to: c_int) -> *mut c_void;
    fn knockout_mpi_receive(bytes: *mut u8, count: c_int, from: c_int) -> *mut c_void;
    fn knockout_mpi_is_done(request: *mut c_void) -> c_int;
    fn knockout_mpi_abort(code: c_int);
    fn knockout_mpi_leave();
}

/// The ranks of one launch of mpirun or srun.
#[derive(Debug)]
pub struct Mpi {
    rank: usize,
    hosts: Vec<String>,
    /// MPI takes one call at a time.
    calls: Mutex<()>,
    has_left: AtomicBool,
}

impl Mpi {
    /// Joins the ranks that were started together, and checks their number with the launcher's. To be called once.
    ///
    /// A launcher of another MPI than the program was built with starts processes that are each the only rank; they are rejected, because
    /// each of them would train the whole run.
    pub fn join(launch: Launch) -> Result<Self> {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: both pointers are to integers that live through the call.
        let started = unsafe { knockout_mpi_start(&raw mut rank, &raw mut size) };
        if started == 1 {
            return Err(not_started("its start-up failed"));
        }
        let library = text_of::<8192>(knockout_mpi_library);
        let library = library.lines().next().unwrap_or_default();
        if started != 0 {
            return Err(not_started(&format!("{library} was built without support for threads")));
        }
        let (rank, size) = (rank as usize, size as usize);
        if size != launch.size {
            let why = format!(
                "the launcher is of another MPI than this program, which was built with {library}; start it with that MPI's mpirun, \
                 or with srun --mpi=pmix where Slurm has it"
            );
            return Err(launch.refused(size, &why));
        }
        let hosts = vec![String::new(); size];
        let mut world = Self { rank, hosts, calls: Mutex::new(()), has_left: AtomicBool::new(false) };
        world.hosts = world.all_hosts(Duration::from_mins(2))?;
        Ok(world)
    }

    /// Gathers the machines of all ranks on the first, which broadcasts them.
    fn all_hosts(&self, patience: Duration) -> Result<Vec<String>> {
        let size = self.hosts.len();
        let mut all = vec![0; size * HOST_BYTES];
        let name = text_of::<HOST_BYTES>(knockout_mpi_host);
        all[self.rank * HOST_BYTES..][..name.len()].copy_from_slice(name.as_bytes());
        if self.rank == 0 {
            for (rank, host) in all.chunks_exact_mut(HOST_BYTES).enumerate().skip(1) {
                self.receive(rank, host, patience)?;
            }
            (1..size).try_for_each(|rank| self.send(rank, &all, patience))?;
        } else {
            self.send(0, &all[self.rank * HOST_BYTES..][..HOST_BYTES], patience)?;
            self.receive(0, &mut all, patience)?;
        }
        let text = |host: &[u8]| String::from_utf8_lossy(host).trim_end_matches('\0').to_owned();
        Ok(all.chunks_exact(HOST_BYTES).map(text).collect())
    }

    /// Polls a started request until it completes or the time limit passes.
    fn wait(&self, request: *mut c_void, rank: usize, patience: Duration) -> Result<()> {
        if request.is_null() {
            return Err(not_started("there is no memory for a message"));
        }
        let (began, mut pause) = (Instant::now(), Duration::from_micros(10));
        loop {
            // SAFETY: the request was started by `send` or `receive`, and is not tested again once it is done.
            if unsafe { knockout_mpi_is_done(request) } != 0 {
                return Ok(());
            }
            let waited = began.elapsed();
            if waited >= patience {
                return Err(silent(rank, &self.hosts[rank], waited));
            }
            if waited > EAGER {
                std::thread::sleep(pause);
                pause = (2 * pause).min(PAUSE);
            } else {
                std::thread::yield_now();
            }
        }
    }
}

impl World for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.hosts.len()
    }

    fn host(&self, rank: usize) -> &str {
        self.hosts.get(rank).map_or("", String::as_str)
    }

    fn send(&self, to: usize, bytes: &[u8], patience: Duration) -> Result<()> {
        let (to, _one_at_a_time) = (named(to, self.size())?, self.calls.lock());
        for piece in bytes.chunks(PIECE) {
            let leaving = ManuallyDrop::new(piece.to_vec());
            // SAFETY: the bytes are freed below, after MPI has sent them, and otherwise never.
            let request = unsafe { knockout_mpi_send(leaving.as_ptr(), leaving.len() as c_int, to as c_int) };
            self.wait(request, to, patience)?;
            drop(ManuallyDrop::into_inner(leaving));
        }
        Ok(())
    }

    fn receive(&self, from: usize, bytes: &mut [u8], patience: Duration) -> Result<()> {
        let (from, _one_at_a_time) = (named(from, self.size())?, self.calls.lock());
        for piece in bytes.chunks_mut(PIECE) {
            let mut arriving = ManuallyDrop::new(vec![0_u8; piece.len()]);
            let count = arriving.len() as c_int;
            // SAFETY: MPI writes at most as many bytes, into memory that is read and freed only after it is done, and otherwise never.
            let request = unsafe { knockout_mpi_receive(arriving.as_mut_ptr(), count, from as c_int) };
            self.wait(request, from, patience)?;
            piece.copy_from_slice(&ManuallyDrop::into_inner(arriving));
        }
        Ok(())
    }

    fn abort(&self, code: u8) {
        // SAFETY: MPI was started, and is left on purpose only.
        unsafe { knockout_mpi_abort(c_int::from(code)) };
    }

    fn leave(&self) {
        if !self.has_left.swap(true, Ordering::Relaxed) {
            // SAFETY: MPI was started, and is left once.
            unsafe { knockout_mpi_leave() };
        }
    }
}

fn not_started(reason: &str) -> Error {
    Error::request(format!("MPI could not be started: {reason}"))
}

/// Returns the text that a function of MPI writes.
fn text_of<const CAPACITY: usize>(write: unsafe extern "C" fn(*mut c_char, c_int)) -> String {
    let mut text = [0_u8; CAPACITY];
    // SAFETY: the function writes at most as many bytes, of which the last is 0.
    unsafe { write(text.as_mut_ptr().cast(), CAPACITY as c_int) };
    CStr::from_bytes_until_nul(&text).map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
}
