//! The subcommands, one file each.

pub mod baselines;
mod baselines_memory;
pub mod check_certificate;
pub mod completions;
pub mod explain;
pub mod export;
pub mod fits;
mod grid;
pub mod improve;
pub mod lp;
pub mod man;
pub mod max_batch;
pub mod merge;
pub mod mip;
pub mod order;
pub mod pipeline;
pub mod place;
pub mod plan_memory;
pub mod report;
mod report_memory;
pub mod schema;
mod shards;
pub mod show;
mod show_memory;
mod show_pipeline;
mod show_viewers;
pub mod solve;
pub mod sweep;
pub mod torch;
pub mod verify;
mod verify_memory;
mod verify_pipeline;
pub mod zoo;

/// Number of integer columns of a model.
pub fn integers(model: &remat_lp::Model) -> usize {
    let all = 0..model.num_cols() as u32;
    all.filter(|&j| model.is_integer(remat_lp::ColId(j)))
        .count()
}
