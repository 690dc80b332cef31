//! The `remat-bb` binary: see the library of this package.
#![forbid(unsafe_code)]

// Trials of branchings copy linear programs of a megabyte and drop them: their memory stays mapped.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    remat_bb::run(std::env::args_os())
}
