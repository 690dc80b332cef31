//! Derivations of rows: the parameters of each row, from which a proof checker derives it again.

use super::branch::Branch;
use super::cover::Moment;
use super::rows::PathCut;
use crate::life::Which;
use remat_solver::price::cover::Cover;
use std::sync::Arc;

/// The origin of a row, as in the constructors of [`Row`](super::Row).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Derivation {
    /// A forward node runs in stage 0.
    First,
    /// A backward node runs in one way.
    Choose,
    /// A tensor is there for a backward node that reads it.
    Need {
        /// The stage.
        stage: u32,
        /// The tensor.
        node: u32,
    },
    /// An input is there.
    Input {
        /// The stage.
        stage: u32,
        /// The reader.
        node: u32,
        /// The input.
        input: u32,
    },
    /// A by-product is made with its parent.
    Parent {
        /// The stage.
        stage: u32,
        /// The by-product.
        node: u32,
        /// Starts that count.
        which: Which,
    },
    /// Tensors that are overwritten are gone.
    Overwritten {
        /// The stage.
        stage: u32,
        /// The node that overwrites.
        node: u32,
    },
    /// Tensors that are overwritten were there, and end.
    Ended {
        /// The stage.
        stage: u32,
        /// The node that overwrites.
        node: u32,
    },
    /// Memory at the turn of a forward node.
    Memory {
        /// The stage.
        stage: u32,
        /// The node.
        node: u32,
        /// Tensors that are charged by the run of the node; `None` if the run does not count.
        by_run: Option<Vec<u32>>,
    },
    /// Memory at the backward node.
    Backward {
        /// The stage.
        stage: u32,
    },
    /// A path cut.
    Path(PathCut),
    /// A path memory cut.
    PathMemory {
        /// The paths.
        cut: PathCut,
        /// The stage from which on tensors stay.
        since: u32,
        /// The tensors.
        staying: Vec<u32>,
    },
    /// A path memory cut that charges both ways.
    Either {
        /// The paths.
        cut: PathCut,
        /// The room.
        room: i64,
        /// Bytes that a stored tensor of the paths counts beyond its own size.
        more: i64,
        /// Tensors that stay.
        staying: Vec<u32>,
        /// Tensors that may be there when the window begins, and how many bytes of each count.
        beside: Vec<(u32, i64)>,
    },
    /// A cover at a moment.
    Cover {
        /// The moment.
        moment: Moment,
        /// The weight of the run.
        run: u32,
        /// Weights of tensors.
        cover: Cover,
    },
    /// A cover of a path memory cut.
    PathCover {
        /// The paths.
        cut: PathCut,
        /// The stage from which on tensors stay.
        since: u32,
        /// The weight of computing the source.
        due: u32,
        /// Weights of tensors.
        cover: Cover,
    },
    /// A memory row, rounded.
    Rounded {
        /// The row.
        of: Arc<Derivation>,
        /// The unit in bytes.
        unit: i64,
    },
    /// A branching.
    Branch(Branch),
}
