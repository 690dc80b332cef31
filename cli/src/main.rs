//! The `remat-bb` binary: see the library of this package.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    remat_bb::run(std::env::args_os())
}
