//! Tests across crates, in one binary: what they share is compiled once.

mod anneal;
mod architecture;
mod checkmate_compact;
mod checkmate_cuts;
mod checkmate_interval;
mod checkmate_runs;
mod checkmate_tree;
mod contradictions;
mod exclusions;
mod explain;
mod fuzz_readers;
mod large_instance;
mod malformed;
mod monet_anneal;
mod monet_covers;
mod monet_interval;
mod monet_local_bound;
mod monet_once;
mod monet_rows;
mod plain;
mod plans;
mod published_instances;
mod published_programs;
mod published_schedules;
mod recognise;
mod results;
