//! Tests of `remat-bench`, in one binary.

mod common;
mod docs;
mod export;
mod fetch;
mod figures;
mod library;
mod metamorphic;
mod planted;
mod reduce;
