//! The `remat-bb` binary: see the library of this package.
#![deny(unsafe_code)]

mod allocator;

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

fn main() -> std::process::ExitCode {
    remat_bb::run(std::env::args_os())
}
