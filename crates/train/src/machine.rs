//! The machine that runs this: its name and its CPU, for manifests and for the conditions of measurements.

/// The machine's name.
pub fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Returns the CPU's name and number of cores, if the operating system provides them.
pub fn cpu() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!("{}, {cores} cores", name.map_or(std::env::consts::ARCH, |(_, name)| name.trim()))
}
