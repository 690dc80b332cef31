//! Tests of the solver through its public interface, in one binary.

mod endings;
mod events;
mod exactness;
mod extensions;
mod miplib;
mod needs;
mod panics;
mod search;
mod spread;
mod textbook;
