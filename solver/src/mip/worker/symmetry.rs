//! Bounds of a node implied by symmetry and the columns branched on above it.

use super::{RoundShared, Worker};
use crate::mip::statistics::Component;
use crate::mip::tree::TreeNode;
use remat_lp::ModelError;

/// Limit on the rounds of symmetry and propagation at a node.
const TURN_LIMIT: usize = 10;

impl Worker {
    /// Alternates between symmetry and propagation until no bound moves. Returns whether the node
    /// is still feasible.
    pub(super) fn reduce_by_symmetry(
        &mut self,
        shared: &RoundShared,
        node: &TreeNode,
    ) -> Result<bool, ModelError> {
        let Some(symmetry) = &shared.symmetry else {
            return Ok(true);
        };
        if node.path.is_none() {
            return Ok(true);
        }
        let (holds, _) = self.counted(
            shared,
            (Component::Propagation, "symmetry"),
            |worker| {
                let order = node.branched_columns();
                let mut tightened = 0;
                for _ in 0..TURN_LIMIT {
                    let more = symmetry.reduce(&shared.problem, &mut worker.domain, &order);
                    tightened += more;
                    if worker.domain.infeasible {
                        return Ok((false, tightened));
                    }
                    if more == 0 {
                        break;
                    }
                    if !worker.propagate(shared) {
                        worker.learn_from_propagation(shared);
                        return Ok((false, tightened));
                    }
                }
                Ok((true, tightened))
            },
            |(holds, tightened), tally| {
                tally.successes += u64::from(!holds);
                tally.found += tightened;
            },
        )?;
        Ok(holds)
    }
}
