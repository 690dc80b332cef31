//! Validity of rows at every plan.
//!
//! A stage begins where the one before has ended, so stage `t` ends with the first computation of
//! node `t`. Plans have no useless steps. A tensor is dropped behind its last reader before it
//! comes again, or when its copy to the host is complete, if that is later. A node is computed only
//! if the device does not have its output. Each copy to the host comes back, and each copy back is
//! read. A host without limit keeps its copy as long as it may come back.
//!
//! - *Rows of the device.* The inputs of a computation are on the device then, copied back or not,
//!   and the tensors on the device fit.
//! - *Path.* Suppose that no tensor of the path is on the device when the first stage of the window
//!   begins. The last one, which is read in the window, has come back within it or was computed.
//!   Then its input was read in the window, and so on up to the first one. A copy back counts if it
//!   is the first event that brings the tensor to the device within the window. A later one follows
//!   another that counts, or a computation.
//! - *Window.* A copy to the host of a tensor starts behind its first computation, so behind stage
//!   `first` for tensors from there on. Computations wait for it before node `last` runs. In
//!   between are the first computations of the stages between, all recomputations of stages behind
//!   `first` up to `last`, and idle time there. A copy back that is issued in stage `first` or
//!   later and read in stage `last` or before has the time of stage `first` as well. At half duplex
//!   both kinds take turns.
//! - *Host.* Between the stage in which a copy is complete and the stage in which the last copy
//!   back is read, the host has the tensor.

use super::graph::LinkedGraph;
use super::{Lane, TripQuantity, TripRow};
use crate::proof::checkmate;
use crate::proof::checkmate::rows as device;
use crate::proof::theory::QuantityBranch;

/// Checks that a row holds at every plan that fits. A branching must count an integer.
///
/// # Errors
/// A description of the fault.
pub fn check(linked: &LinkedGraph, row: &TripRow) -> Result<(), String> {
    let n = linked.len();
    match row {
        TripRow::Device(row) => device::check(&linked.graph, row),
        TripRow::Window { lane, first, last } => {
            if first > last || *last as usize >= n {
                return Err(format!("there are no stages from {first} to {last}"));
            }
            match (lane, linked.half_duplex) {
                (Lane::Both, false) => {
                    Err("copies both ways take turns at half duplex only".into())
                }
                _ => Ok(()),
            }
        }
        TripRow::Host { stage } => match (*stage as usize) < n {
            true if linked.host_bytes.is_some() => Ok(()),
            true => Err("the host's memory has no limit".into()),
            false => Err(format!("there is no stage {stage}")),
        },
        TripRow::Branch(branch) => match &branch.quantity {
            TripQuantity::Schedule(_) => match device_row(row) {
                Some(row) => device::check(&linked.graph, &row),
                None => Ok(()),
            },
            TripQuantity::Leaves { node } => match (*node as usize) < n {
                true => Ok(()),
                false => Err(format!("there is no node {node}")),
            },
        },
    }
}

/// A row as one of Checkmate's program, if it is one.
pub fn device_row(row: &TripRow) -> Option<checkmate::CheckmateRow> {
    match row {
        TripRow::Device(row) => Some(row.clone()),
        TripRow::Branch(QuantityBranch {
            quantity: TripQuantity::Schedule(quantity),
            at_least,
            count,
        }) => Some(checkmate::CheckmateRow::Branch(QuantityBranch {
            quantity: quantity.clone(),
            at_least: *at_least,
            count: *count,
        })),
        _ => None,
    }
}
