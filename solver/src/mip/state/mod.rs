//! Files of a search: its state, and open nodes that do not fit into memory.

pub(crate) mod file;
pub(crate) mod packed;
pub(crate) mod spill;
