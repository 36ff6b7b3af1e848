//! The launcher's environment variables. They only guard: MPI numbers the ranks.

use knockout_base::error::Error;

/// Several processes that were started together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// The variable that holds their number.
    pub variable: &'static str,
    /// Number of processes that it started.
    pub size: usize,
}

impl Launch {
    /// Rejects a process whose number of ranks differs from that of the launcher.
    pub fn refused(self, seen: usize, why: &str) -> Error {
        let Self { variable, size } = self;
        let found = format!("{variable}={size} means {size} ranks, and this process sees {seen}");
        Error::request(format!("{found}: {why}"))
    }
}

/// Variables of Open MPI's mpirun, of MPICH's and Intel's (PMI) and of Slurm's srun. `SLURM_NTASKS` is not among them: a batch script has it
/// too, and starts programs that are alone.
const VARIABLES: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"];

/// Returns the launch of this process, if its launcher started more than one.
pub fn launched() -> Option<Launch> {
    launched_by(|variable| std::env::var(variable).ok())
}

fn launched_by(variable: impl Fn(&str) -> Option<String>) -> Option<Launch> {
    let size = |name: &'static str| {
        let size = variable(name)?.trim().parse().ok()?;
        Some(Launch { variable: name, size })
    };
    VARIABLES.into_iter().filter_map(size).find(|launch| launch.size > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_more_than_one_process_is_a_launch() {
        let of = |name: &'static str, value: &'static str| {
            launched_by(move |variable| (variable == name).then(|| value.to_owned()))
        };
        assert_eq!(of("PMI_SIZE", "4"), Some(Launch { variable: "PMI_SIZE", size: 4 }));
        for (name, value) in [("PMI_SIZE", "1"), ("PMI_SIZE", "many"), ("SLURM_NTASKS", "4")] {
            assert_eq!(of(name, value), None);
        }
    }
}
