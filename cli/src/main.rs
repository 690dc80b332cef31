//! The `remat-bb` binary: see the library of this package.
#![forbid(unsafe_code)]

use remat_bb::allocator;

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

fn main() -> std::process::ExitCode {
    remat_bb::run(std::env::args_os()).into()
}
