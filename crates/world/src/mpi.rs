//! Ranks started by mpirun or srun.
//!
//! Only four operations of MPI move data here: starting to send, starting to receive, asking whether that is done, and ending all ranks. None
//! of them waits, so every wait is a loop of ours with a deadline. Bytes that are on their way belong to MPI: they are in memory of their own,
//! which is given up, not freed, where a wait ends without them.
#![expect(unsafe_code, reason = "MPI is a C library; see the comments at each call")]

use crate::{Launch, World, WorldError};
use mpi::Threading;
use mpi::environment::Universe;
use mpi::ffi;
use std::ffi::c_int;
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Messages are matched by order alone.
const TAG: c_int = 0;
/// MPI counts in 32 bits; longer messages go in pieces.
const PIECE: usize = 1 << 30;
/// Time of asking without a pause: most messages are there at once.
const EAGER: Duration = Duration::from_micros(100);
/// The longest pause between two questions.
const PAUSE: Duration = Duration::from_micros(200);
/// Room for the name of a machine.
const HOST_BYTES: usize = 256;

/// The ranks of one launch of mpirun or srun.
pub struct Mpi {
    rank: usize,
    hosts: Vec<String>,
    /// Leaving the world waits for the other ranks, which an error must not do: it is left on purpose or not at all.
    universe: Mutex<Option<ManuallyDrop<Universe>>>,
}

impl fmt::Debug for Mpi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mpi").field("rank", &self.rank).field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

impl Mpi {
    /// Joins the ranks that were started together, as the launcher says they were.
    ///
    /// A launcher of another MPI than the program was built with starts processes that each believe to be alone; they are refused, because
    /// each of them would train the whole run.
    pub fn join(launch: Launch) -> Result<Self, WorldError> {
        // One thread at a time calls MPI: whichever of the pool's threads drives the run.
        let (universe, provided) = mpi::initialize_with_threading(Threading::Serialized)
            .ok_or_else(|| WorldError::Start("it was started before".to_owned()))?;
        let universe = ManuallyDrop::new(universe);
        let library = mpi::environment::library_version().unwrap_or_default();
        let library = library.lines().next().unwrap_or_default().trim_end_matches('\0').to_owned();
        if provided < Threading::Serialized {
            return Err(WorldError::Start(format!("{library} was built without support for threads")));
        }
        let (mut rank, mut size) = (0, 0);
        // SAFETY: MPI is initialised; both pointers are to integers that live through the calls.
        unsafe {
            ffi::MPI_Comm_rank(ffi::RSMPI_COMM_WORLD, &raw mut rank);
            ffi::MPI_Comm_size(ffi::RSMPI_COMM_WORLD, &raw mut size);
        }
        let (rank, size) = (rank as usize, size as usize);
        if size != launch.size {
            let why = format!(
                "the launcher is of another MPI than this program, which was built with {library}; start it with that MPI's mpirun, \
                 or with srun --mpi=pmix where Slurm has it"
            );
            let Launch { variable, size: said } = launch;
            return Err(WorldError::NotOneWorld { variable, size: said, seen: size, why });
        }
        let mut world = Self { rank, hosts: vec![String::new(); size], universe: Mutex::new(Some(universe)) };
        world.hosts = world.all_hosts(Duration::from_mins(2))?;
        Ok(world)
    }

    /// The machines of all ranks: to the first, and from there to all.
    fn all_hosts(&self, patience: Duration) -> Result<Vec<String>, WorldError> {
        let size = self.hosts.len();
        let mut all = vec![0; size * HOST_BYTES];
        let name = mpi::environment::processor_name().unwrap_or_default();
        let name = &name.as_bytes()[..name.len().min(HOST_BYTES)];
        all[self.rank * HOST_BYTES..][..name.len()].copy_from_slice(name);
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

    /// Asks until an operation is done, or for too long.
    fn wait(&self, mut request: ffi::MPI_Request, rank: usize, patience: Duration) -> Result<(), WorldError> {
        let (began, mut pause) = (Instant::now(), Duration::from_micros(10));
        loop {
            let mut done = 0;
            // SAFETY: the request was made by this rank and is not done yet; its bytes live until it is, see `send` and `receive`. A status
            // is not asked for.
            unsafe { ffi::MPI_Test(&raw mut request, &raw mut done, ffi::RSMPI_STATUS_IGNORE) };
            if done != 0 {
                return Ok(());
            }
            let waited = began.elapsed();
            if waited >= patience {
                let host = self.hosts[rank].clone();
                return Err(WorldError::Silent { rank, host, waited });
            }
            if waited > EAGER {
                std::thread::sleep(pause);
                pause = (2 * pause).min(PAUSE);
            } else {
                std::thread::yield_now();
            }
        }
    }

    fn named(&self, rank: usize) -> Result<usize, WorldError> {
        let size = self.hosts.len();
        if rank < size { Ok(rank) } else { Err(WorldError::NoSuchRank { rank, size }) }
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

    fn send(&self, to: usize, bytes: &[u8], patience: Duration) -> Result<(), WorldError> {
        let to = self.named(to)?;
        for piece in bytes.chunks(PIECE) {
            let leaving = ManuallyDrop::new(piece.to_vec());
            // SAFETY: a null request is what the call overwrites.
            let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
            // SAFETY: the bytes are freed below, after MPI has sent them, and otherwise never.
            unsafe {
                ffi::MPI_Isend(
                    leaving.as_ptr().cast(),
                    leaving.len() as c_int,
                    ffi::RSMPI_UINT8_T,
                    to as c_int,
                    TAG,
                    ffi::RSMPI_COMM_WORLD,
                    &raw mut request,
                );
            }
            self.wait(request, to, patience)?;
            drop(ManuallyDrop::into_inner(leaving));
        }
        Ok(())
    }

    fn receive(&self, from: usize, bytes: &mut [u8], patience: Duration) -> Result<(), WorldError> {
        let from = self.named(from)?;
        for piece in bytes.chunks_mut(PIECE) {
            let mut arriving = ManuallyDrop::new(vec![0u8; piece.len()]);
            // SAFETY: as in `send`.
            let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
            // SAFETY: MPI writes at most as many bytes, into memory that is read and freed only after it is done, and otherwise never.
            unsafe {
                ffi::MPI_Irecv(
                    arriving.as_mut_ptr().cast(),
                    arriving.len() as c_int,
                    ffi::RSMPI_UINT8_T,
                    from as c_int,
                    TAG,
                    ffi::RSMPI_COMM_WORLD,
                    &raw mut request,
                );
            }
            self.wait(request, from, patience)?;
            piece.copy_from_slice(&ManuallyDrop::into_inner(arriving));
        }
        Ok(())
    }

    fn abort(&self, code: u8) {
        // SAFETY: MPI is initialised, and stays so as long as `self` has not left it.
        unsafe { ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, c_int::from(code)) };
    }

    fn leave(&self) {
        let universe = self.universe.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(universe.map(ManuallyDrop::into_inner));
    }
}
