//! The C interface of remat-bb. `include/remat_bb.h` declares and explains every function.
//!
//! | module | concept |
//! |---|---|
//! | [`codes`] | numbers of the C interface |
//! | [`trouble`] | errors, and the entry that catches panics |
//! | [`pointers`] | arrays, numbers and texts from C and to C |
//! | [`registry`] | live models and texts |
//! | [`model`] | a program with its options, starts, callbacks and answer |
//! | [`names`] | handles by name |
//! | [`options`] | settings by name |
//! | [`roomy`] | work on a separate thread with enough stack |
//! | [`follow`] | callbacks and log lines of a solve |
//! | [`entry`] | the functions of the header |
//!
//! A handle is a number in the shape of a pointer and is never dereferenced. A handle that was
//! freed, or never given out, is an error. Unsafe code is only where arrays and texts are read and
//! written, and where callbacks are called.
#![deny(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

mod calls;
mod codes;
#[allow(unsafe_code)]
mod entry;
#[allow(unsafe_code)]
mod follow;
mod model;
mod names;
mod options;
#[allow(unsafe_code)]
mod pointers;
mod registry;
mod roomy;
mod trouble;
