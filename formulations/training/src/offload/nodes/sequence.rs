//! Computations in execution order, and the stretches of time in which their values could be away.

use crate::offload::CopyPhase;
use remat_instances::instance::{CopyTimes, Instance, Node, NodeId};
use remat_instances::plan::{Computations, Plan};
use remat_instances::simulate::{self, ReplayError};

/// Form in which a value leaves and comes back in a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Travel {
    /// Copies to the host and back.
    Copies,
    /// A gathered weight is freed, and gathered again before the end of the gap. The first gap
    /// of a weight begins with its node's place in the order, where it is not on the device.
    Gather,
    /// A scattered gradient leaves; its gap ends with the step.
    Scatter,
}

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
    /// Form in which it leaves.
    pub travel: Travel,
}

impl Gap {
    /// Returns whether the value is away in this gap in every plan.
    pub fn is_forced(&self) -> bool {
        match self.travel {
            Travel::Copies => false,
            Travel::Gather => self.after == self.value,
            Travel::Scatter => true,
        }
    }
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
    /// Form in which the values of a sharded step travel; empty for other steps.
    sharded: Vec<Option<Travel>>,
    /// Computation before which copies to the host end, and after which copies back start.
    pub barrier: Option<u32>,
}

impl Sequence {
    /// The sequence of a plan without copies. Values that cannot be copied have no gaps. If all
    /// values must leave before the loss and come back after it, only values of first computations
    /// have gaps, one each.
    ///
    /// If the instance has gathered weights or scattered gradients, the plan is a plan of the
    /// [unsharded](Instance::unsharded) graph, in which weights run first.
    ///
    /// # Errors
    /// The [`ReplayError`] of a plan that cannot be executed.
    pub fn of(
        instance: &Instance,
        plan: &Plan,
        times: &CopyTimes,
        phase: CopyPhase,
    ) -> Result<Self, ReplayError> {
        let graph = match instance.is_sharded() {
            true => &instance.unsharded(),
            false => instance,
        };
        let runs = plan.computations_in_order(graph)?.runs;
        let plan = Plan::of_computations(graph, plan.semantics, &runs)?;
        let of = plan.computations_in_order(graph)?;
        let replay = simulate::plan(graph, &plan)?;
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
            let first = gaps.len() as u32;
            if let Some(own) = sharded_gaps(instance.node(node), value, touches, times) {
                let end = of.runs.len() as u32;
                gaps.extend(own.into_iter().map(|gap| Gap {
                    first,
                    before: gap.before.min(end),
                    ..gap
                }));
                continue;
            }
            let (Some(out), Some(back)) = (times.to_host(bytes), times.from_host(bytes)) else {
                continue;
            };
            if bytes == 0 || !instance.may_offload(node) {
                continue;
            }
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
                travel: Travel::Copies,
            }));
        }
        let travel = |node: &Node| match (node.is_gathered(), node.is_scattered()) {
            (true, _) => Some(Travel::Gather),
            (_, true) => Some(Travel::Scatter),
            _ => None,
        };
        let sharded = match instance.is_sharded() {
            true => (of.runs.iter())
                .map(|run| travel(instance.node(run.node)))
                .collect(),
            false => Vec::new(),
        };
        Ok(Sequence {
            sharded,
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

    /// Form in which a value of a sharded step travels; `None` for other values.
    pub fn travels(&self, value: usize) -> Option<Travel> {
        self.sharded.get(value).copied().flatten()
    }

    /// Gaps of the value of a gap.
    pub fn siblings(&self, gap: usize) -> std::ops::Range<usize> {
        let first = self.gaps[gap].first as usize;
        let value = self.gaps[gap].value;
        let rest = self.gaps[first..].iter();
        first..first + rest.take_while(|g| g.value == value).count()
    }
}

/// The gaps of a gathered weight or a scattered gradient; `None` for other values, and if the link
/// is closed in the direction.
fn sharded_gaps(node: &Node, value: usize, touches: &[u32], times: &CopyTimes) -> Option<Vec<Gap>> {
    let gap = |after: u32, before: u32, [out, back]: [u64; 2], travel| Gap {
        value: value as u32,
        after,
        before,
        bytes: node.output_bytes,
        out,
        back,
        first: 0,
        travel,
    };
    match (node.gather_bytes, node.scatter_bytes) {
        (Some(bytes), _) => {
            let time = times.from_host(bytes)?;
            let pairs = touches.windows(2);
            let apart = pairs.filter(|p| p[0] as usize == value || p[0] + 1 < p[1]);
            let own = apart.map(|p| gap(p[0], p[1], [0, time], Travel::Gather));
            Some(own.collect())
        }
        (_, Some(bytes)) => {
            let (time, last) = (times.to_host(bytes)?, touches.last()?);
            Some(vec![gap(*last, u32::MAX, [time, 0], Travel::Scatter)])
        }
        _ => None,
    }
}
