//! The known ways to get a schedule without an integer program.

pub mod chain;
pub mod hong;
pub mod rotor;
