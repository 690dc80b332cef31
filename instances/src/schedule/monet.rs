//! Schedules of MONeT's program.

use super::{BitMatrix, Choices};
use crate::instance::{Instance, NodeId, NodeKind};
use crate::schedule::CheckmateSchedule;

/// A schedule of MONeT's program (Shah et al., ICLR 2021; Program A of the benchmark description).
///
/// With `l` the position of the loss, there are `n - l` stages: stage 0 runs the forward pass up to
/// and including the loss, stage `t > 0` recomputes forward nodes and then runs backward node
/// `l + t`. Columns are the nodes `0..=l`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MonetSchedule {
    /// `R[t, i]`: node `i` is computed in stage `t`. Shape `(n - l) x (l + 1)`.
    pub computed: BitMatrix,
    /// `S[t, i]`: the output of `i` is stored when stage `t` begins. Shape `(n - l + 1) x (l + 1)`.
    pub retained: BitMatrix,
    /// `IP[t, i]`: `i` is computed into the buffer of its in-place input. Same shape as `computed`.
    pub in_place: BitMatrix,
    /// Implementation of each computed forward node: an index into
    /// [`crate::instance::Node::implementations`]. Same shape as `computed`.
    pub forward_choice: Choices,
    /// Implementation of the backward node of stage `t`; entry 0, for the loss, is 0.
    pub backward_choice: Vec<u16>,
}

impl MonetSchedule {
    /// Number of stages (`n - l`) and of columns (`l + 1`) for an instance with a loss, otherwise
    /// `None`.
    pub fn shape(instance: &Instance) -> Option<(usize, usize)> {
        let loss = instance.loss()?.index();
        Some((instance.len() - loss, loss + 1))
    }

    /// The schedule that computes each node once, by its first implementation and not in place. It
    /// stores the inputs of the backward pass until their last reader, and computes by-products
    /// only if a first implementation reads them. `None` without a loss.
    pub fn checkpoint_all(instance: &Instance) -> Option<Self> {
        let (stages, columns) = Self::shape(instance)?;
        let mut schedule = Self::empty(stages, columns);
        for t in 1..stages {
            for u in forward_needs(instance, columns - 1 + t, columns) {
                // Row (6): an input of a backward node is stored beyond its stage.
                (1..=t + 1).for_each(|s| schedule.retained.set(s, u, true));
            }
        }
        for i in (0..columns).rev() {
            let optional = matches!(
                instance.node(NodeId::from(i)).kind,
                NodeKind::ByProduct { .. }
            );
            if optional && !schedule.retained.get(1, i) && !schedule.computed.get(0, i) {
                continue;
            }
            schedule.computed.set(0, i, true);
            for u in forward_needs(instance, i, columns) {
                schedule.computed.set(0, u, true);
            }
        }
        Some(schedule)
    }

    /// Stored sets at the start of each stage (shape `(n - l + 1) x (l + 1)`), taken from a
    /// schedule of Checkmate's program for the view with single implementations. Inputs of backward
    /// nodes are stored beyond their stage. `ids` are the view's nodes in `instance`. `None`
    /// without a loss, or if the shapes do not agree.
    pub fn stored_by_checkmate(
        instance: &Instance,
        ids: &[NodeId],
        schedule: &CheckmateSchedule,
    ) -> Option<BitMatrix> {
        let (stages, columns) = Self::shape(instance)?;
        let retained = &schedule.retained;
        if retained.rows() != ids.len() || retained.columns() != ids.len() {
            return None;
        }
        let retained = retained.to_bits();
        let mut stored = BitMatrix::new(stages + 1, columns);
        for (row, id) in ids.iter().enumerate() {
            let Some(t) = (id.index() + 1).checked_sub(columns).filter(|t| *t > 0) else {
                continue;
            };
            let needs = instance.needs(*id);
            for k in retained.ones(row) {
                let i = ids[k].index();
                if i < columns {
                    stored.set(t, i, true);
                    if needs.binary_search(&ids[k]).is_ok() {
                        stored.set(t + 1, i, true);
                    }
                }
            }
        }
        Some(stored)
    }

    /// Number of computations of forward nodes and by-products beyond the first of each.
    pub fn recomputations(&self) -> usize {
        let columns = self.computed.columns();
        let mut seen = vec![false; columns];
        for t in 0..self.computed.rows() {
            self.computed.ones(t).for_each(|i| seen[i] = true);
        }
        self.computed.count_ones() - seen.into_iter().filter(|s| *s).count()
    }

    fn empty(stages: usize, columns: usize) -> Self {
        MonetSchedule {
            computed: BitMatrix::new(stages, columns),
            retained: BitMatrix::new(stages + 1, columns),
            in_place: BitMatrix::new(stages, columns),
            forward_choice: Choices::new(stages, columns),
            backward_choice: vec![0; stages],
        }
    }
}

/// The inputs of a node's first implementation among the first `columns` nodes.
fn forward_needs(
    instance: &Instance,
    i: usize,
    columns: usize,
) -> impl Iterator<Item = usize> + '_ {
    let needs = instance.needs(NodeId::from(i)).iter();
    needs.map(|u| u.index()).filter(move |u| *u < columns)
}
