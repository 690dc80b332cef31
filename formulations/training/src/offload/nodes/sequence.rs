//! Computations in execution order, and the stretches of time in which their values could be away.

use crate::offload::CopyPhase;
use remat_instances::instance::{CopyTimes, Instance, NodeId};
use remat_instances::plan::{Computations, Plan};
use remat_instances::simulate::{self, ReplayError};

/// A stretch of a value's life between two consecutive computations that touch it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    /// The value, as the position of the computation that produces it.
    pub value: u32,
    /// Last computation before the stretch that touches it.
    pub after: u32,
    /// First computation after the stretch that touches it.
    pub before: u32,
    /// Size of the value in bytes.
    pub bytes: u64,
    /// Time of a copy to the host, in the instance's cost unit.
    pub out: u64,
    /// Time of a copy back.
    pub back: u64,
    /// Position of the first gap of the same value.
    pub first: u32,
}

/// Computations of a plan without copies.
pub(super) struct Sequence {
    pub plan: Plan,
    pub of: Computations,
    /// Cost of each computation.
    pub costs: Vec<u64>,
    /// Memory in bytes while each computation runs, with all values that are read later.
    pub bytes: Vec<u64>,
    /// Last computation that touches each value.
    pub last: Vec<u32>,
    /// The gaps, by value and time.
    pub gaps: Vec<Gap>,
    /// Computation before which copies to the host end, and after which copies back start.
    pub barrier: Option<u32>,
}

impl Sequence {
    /// The sequence of a plan without copies. Values that cannot be copied have no gaps. If all
    /// values must leave before the loss and come back after it, only values of first computations
    /// have gaps, one each.
    ///
    /// # Errors
    /// The [`ReplayError`] of a plan that cannot be executed.
    pub fn of(
        instance: &Instance,
        plan: &Plan,
        times: &CopyTimes,
        phase: CopyPhase,
    ) -> Result<Self, ReplayError> {
        let runs = plan.computations_in_order(instance)?.runs;
        let plan = Plan::of_computations(instance, plan.semantics, &runs)?;
        let of = plan.computations_in_order(instance)?;
        let replay = simulate::plan(instance, &plan)?;
        let mut before = 0;
        let costs = replay.timeline.iter().map(|point| {
            let cost = point.cost - before;
            before = point.cost;
            cost
        });
        let mut touches: Vec<Vec<u32>> = (0..of.runs.len() as u32).map(|k| vec![k]).collect();
        for (k, reads) in of.reads.iter().enumerate() {
            for &value in reads.iter().chain(&of.overwrites[k]) {
                if touches[value].last() != Some(&(k as u32)) {
                    touches[value].push(k as u32);
                }
            }
        }
        let loss = instance.loss().filter(|_| phase == CopyPhase::Loss);
        let barrier = loss.and_then(|loss| of.runs.iter().position(|run| run.node == loss));
        let mut seen = vec![false; instance.len()];
        let mut gaps = Vec::new();
        for (value, touches) in touches.iter().enumerate() {
            let node: NodeId = of.runs[value].node;
            let again = std::mem::replace(&mut seen[node.index()], true);
            let bytes = instance.node(node).output_bytes;
            let (Some(out), Some(back)) = (times.to_host(bytes), times.from_host(bytes)) else {
                continue;
            };
            if bytes == 0 || !instance.may_offload(node) {
                continue;
            }
            let first = gaps.len() as u32;
            let apart = touches.windows(2).filter(|pair| pair[0] + 1 < pair[1]);
            let meets = |pair: &&[u32]| match barrier {
                Some(at) => !again && value < at && pair[0] as usize <= at && at < pair[1] as usize,
                None => true,
            };
            let apart = apart.filter(meets);
            gaps.extend(apart.map(|pair| Gap {
                value: value as u32,
                after: pair[0],
                before: pair[1],
                bytes,
                out,
                back,
                first,
            }));
        }
        Ok(Sequence {
            costs: costs.collect(),
            bytes: replay.timeline.iter().map(|point| point.bytes).collect(),
            last: touches.iter().map(|t| t[t.len() - 1]).collect(),
            plan,
            of,
            gaps,
            barrier: barrier.map(|at| at as u32),
        })
    }

    /// Number of computations.
    pub fn len(&self) -> usize {
        self.costs.len()
    }

    /// Gaps of the value of a gap.
    pub fn siblings(&self, gap: usize) -> std::ops::Range<usize> {
        let first = self.gaps[gap].first as usize;
        let value = self.gaps[gap].value;
        let rest = self.gaps[first..].iter();
        first..first + rest.take_while(|g| g.value == value).count()
    }
}
