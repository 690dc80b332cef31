//! The `remat-bb` binary.
#![forbid(unsafe_code)]

fn main() {}
