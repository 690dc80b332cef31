//! Schedules of MONeT's program.

use super::BitMatrix;
use crate::instance::Instance;

/// A schedule of MONeT's program (Shah et al., ICLR 2021; Program A of the benchmark description).
///
/// With `l` the position of the loss, there are `n - l` stages: stage 0 runs the forward pass up to and including the
/// loss, stage `t > 0` recomputes forward nodes and then runs backward node `l + t`. Columns are the nodes `0..=l`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MonetSchedule {
    /// `R[t, i]`: node `i` is computed in stage `t`. Shape `(n - l) x (l + 1)`.
    pub computed: BitMatrix,
    /// `S[t, i]`: the output of `i` is stored when stage `t` begins. Shape `(n - l + 1) x (l + 1)`.
    pub retained: BitMatrix,
    /// `IP[t, i]`: `i` is computed into the buffer of its in-place input. Shape as `computed`.
    pub in_place: BitMatrix,
    /// Implementation of each computed forward node: `forward_choice[t][i]`, an index into
    /// [`crate::instance::Node::implementations`]; 0 where there is no choice.
    pub forward_choice: Vec<Vec<u16>>,
    /// Implementation of the backward node of stage `t`; entry 0, the loss, is 0.
    pub backward_choice: Vec<u16>,
}

impl MonetSchedule {
    /// Number of stages (`n - l`) and of columns (`l + 1`) for an instance with a loss; `None` without.
    pub fn shape(instance: &Instance) -> Option<(usize, usize)> {
        let loss = instance.loss()?.index();
        Some((instance.len() - loss, loss + 1))
    }
}
