//! Pipelines: a training graph on several devices, and the judge of their plans.
//!
//! A pipeline cuts the forward pass into *stages*; each backward node belongs to the stage of its
//! forward node. A batch is divided into micro-batches, and a schedule says in which order a device
//! runs forward and backward passes of its stages.
//!
//! | module | concept |
//! |---|---|
//! | [`schedule`] | orders of passes on each device, and micro-batches in flight |
//! | [`split`] | positions of cuts, and the bytes that cross each |
//! | [`stage`] | the graph of one stage, with received and sent tensors |
//! | [`arrangement`] | stages at given cuts, and their replay on all devices |
//! | [`fixed`] | fixed memory of devices |
//! | [`profile`] | time and memory of the passes of a stage under a plan |
//! | [`timeline`] | replay of a schedule event by event |
//! | [`document`] | plan files of pipelines: `remat-pipeline/1` |

pub mod arrangement;
pub mod document;
pub mod fixed;
pub mod profile;
pub mod schedule;
pub mod split;
pub mod stage;
pub mod timeline;
