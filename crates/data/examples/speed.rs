//! What reading without a mapping costs: every value of a store in random order, by the checked reader and by LMDB's own mapping, in
//! turns. CPU time, so that other programs do not count.
//!
//!     cargo run --release -p knockout-lmdb --example speed
#![expect(unsafe_code, clippy::print_stdout, reason = "an example that opens LMDB's mapping to measure it")]

use heed::types::Bytes;
use heed::{CommitOrAbort, EnvOpenOptions};
use knockout_data::lmdb::{LmdbWriter, Reader};
use std::error::Error;
use std::path::Path;

const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    println!("{:>9} {:>9} {:>14} {:>14} {:>7}", "values", "bytes", "checked, us", "mapped, us", "ratio");
    for (count, bytes) in [(200_000_u64, 64_usize), (100_000, 1_000), (20_000, 20_000), (1_000, 400_000)] {
        let folder = tempfile::tempdir()?;
        write(folder.path(), count, bytes)?;
        let mut costs = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            costs[0].push(checked(folder.path(), count)?);
            costs[1].push(mapped(folder.path(), count)?);
        }
        let [checked, mapped] = costs.map(|mut costs| {
            costs.sort_by(f64::total_cmp);
            costs[ROUNDS / 2] / count as f64
        });
        println!("{count:>9} {bytes:>9} {checked:>14.3} {mapped:>14.3} {:>7.2}", checked / mapped);
    }
    Ok(())
}

fn write(folder: &Path, count: u64, bytes: usize) -> Result<(), Box<dyn Error>> {
    let mut writer = LmdbWriter::open(folder, 4 << 30)?;
    let mut transaction = writer.begin()?;
    for row in 0..count {
        transaction.append(&row.to_be_bytes(), &vec![row as u8; bytes])?;
    }
    Ok(transaction.commit()?)
}

/// Rows in an order that jumps about: the step is prime to every count here.
fn rows(count: u64) -> impl Iterator<Item = [u8; 8]> {
    (0..count).map(move |place| (place * 7_919 % count).to_be_bytes())
}

fn checked(folder: &Path, count: u64) -> Result<f64, Box<dyn Error>> {
    let start = cpu_micros()?;
    let reader = Reader::open(folder)?;
    let mut sum = 0_u64;
    for row in rows(count) {
        sum +=
            reader.get(&row)?.ok_or("a value is missing")?.iter().map(|&byte| u64::from(byte)).sum::<u64>();
    }
    std::hint::black_box(sum);
    Ok(cpu_micros()? - start)
}

fn mapped(folder: &Path, count: u64) -> Result<f64, Box<dyn Error>> {
    let start = cpu_micros()?;
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    options.map_size(4 << 30);
    // SAFETY: the folder is this program's own, and nobody writes it meanwhile.
    let env = unsafe { options.open(folder) }?;
    let opened = env.open_databases_and_commit(env.read_txn()?, |opener, transaction| {
        opener.open_database::<Bytes, Bytes>(transaction, None).map(CommitOrAbort::<_, ()>::Commit)
    });
    let CommitOrAbort::Commit(Some(database)) = opened? else { return Err("there is no database".into()) };
    let transaction = env.read_txn()?;
    let mut sum = 0_u64;
    for row in rows(count) {
        // Copied, as whoever keeps a value must.
        let value = database.get(&transaction, &row)?.ok_or("a value is missing")?.to_vec();
        sum += value.iter().map(|&byte| u64::from(byte)).sum::<u64>();
    }
    std::hint::black_box(sum);
    Ok(cpu_micros()? - start)
}

/// CPU time of this thread, which is the only one.
fn cpu_micros() -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/self/schedstat")?;
    Ok(text.split(' ').next().ok_or("schedstat has no first word")?.parse::<f64>()? / 1e3)
}
