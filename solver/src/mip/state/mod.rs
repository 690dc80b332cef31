//! Files of a search: its state, and the open nodes that memory has no room for.

pub(crate) mod file;
pub(crate) mod packed;
pub(crate) mod spill;
