//! The library under another name, from the same modules, for tests to link programs in C with.
#![deny(unsafe_code)]

#[path = "../src/calls.rs"]
mod calls;
#[path = "../src/codes.rs"]
mod codes;
#[allow(unsafe_code)]
#[path = "../src/entry/mod.rs"]
mod entry;
#[allow(unsafe_code)]
#[path = "../src/follow.rs"]
mod follow;
#[path = "../src/model.rs"]
mod model;
#[path = "../src/names.rs"]
mod names;
#[path = "../src/options.rs"]
mod options;
#[allow(unsafe_code)]
#[path = "../src/pointers.rs"]
mod pointers;
#[path = "../src/registry.rs"]
mod registry;
#[path = "../src/roomy.rs"]
mod roomy;
#[path = "../src/trouble.rs"]
mod trouble;
