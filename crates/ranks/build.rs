//! Compiles the C side of `src/mpi.rs` against the MPI of `mpicc`, or of the compiler that `MPICC` names, where the feature `mpi` is on.

fn main() {
    println!("cargo:rerun-if-changed=src/mpi.c");
    println!("cargo:rerun-if-env-changed=MPICC");
    #[cfg(feature = "mpi")]
    compile();
}

#[cfg(feature = "mpi")]
fn compile() {
    let mpi = build_probe_mpi::probe().unwrap_or_else(|reasons| {
        for reason in reasons {
            println!("{reason}");
        }
        panic!("no MPI was found: install one with its compiler (libopenmpi-dev, or module load openmpi), or set MPICC")
    });
    let mut build = cc::Build::new();
    build.file("src/mpi.c");
    match &mpi.mpicc {
        Some(mpicc) => build.compiler(mpicc),
        None => build.includes(&mpi.include_paths),
    };
    build.compile("knockout_mpi");
    for path in &mpi.lib_paths {
        println!("cargo:rustc-link-search=native={}", path.display());
    }
    for library in &mpi.libs {
        println!("cargo:rustc-link-lib={library}");
    }
}
