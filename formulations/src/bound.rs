//! Combinatorial dual bounds that need no linear program.
