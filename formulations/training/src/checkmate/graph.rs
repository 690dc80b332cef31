//! View of an instance for Checkmate's program, in arrays.

use super::Gauge;
use crate::bound::{TooSmall, check_budget};
use crate::life::{Atom, Term, classes_of_tensors};
use crate::waiting::Waiting;
use remat_instances::ClassRules;
use remat_instances::instance::{Instance, Node, NodeId};
use remat_instances::schedule::{CheckmateSchedule, Demands};
use std::sync::Arc;

/// Costs, sizes and readers of a computation graph, and the memory its tensors may take together.
///
/// Nodes are numbered `0..len` in execution order; stage `t` is the stretch that computes node `t`
/// for the first time.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckmateGraph {
    /// Cost of the first computation, in the instance's unit.
    pub cost: Vec<u64>,
    /// Cost of a recomputation.
    pub cost_again: Vec<u64>,
    /// Size of the output, in bytes.
    pub bytes: Vec<u64>,
    /// Scratch memory during the first computation, in bytes.
    pub workspace: Vec<u64>,
    /// Scratch memory during a recomputation, in bytes.
    pub workspace_again: Vec<u64>,
    /// Distinct inputs, ascending.
    pub needs: Vec<Vec<u32>>,
    /// Distinct readers, ascending.
    pub users: Vec<Vec<u32>>,
    /// The parent of a by-product; it is recomputed in each stage in which the by-product is.
    pub parent: Vec<Option<u32>>,
    /// The last stage in which the node may be computed again: its own stage if it never is, the
    /// stage of a node that ends it ([`Instance::last_stage_again`]), or the last one.
    pub again_until: Vec<u32>,
    /// The last stage in which the tensor can be of use: a reader runs then, directly or for a
    /// recomputation that is of use then.
    pub last_stage: Vec<u32>,
    /// The first backward node, if there is one; behind the wait node, if there is one.
    pub first_backward: Option<u32>,
    /// Other micro-batches that wait between the passes.
    pub waiting: Option<Waiting>,
    /// Bytes for outputs and workspaces: the budget without the fixed memory.
    pub capacity: u64,
    /// Exact and rounded sizes and capacities.
    pub gauges: Vec<Gauge>,
    /// Classes of recomputable tensors of the same size, or of the same size and recomputation
    /// cost: at least two in each class.
    pub classes: Vec<Vec<u32>>,
    /// Rules of the class that plans belong to; `None` for all stage schedules.
    pub rules: Option<Arc<ClassRules>>,
    /// The plans that the program covers.
    pub scope: PlanScope,
}

/// The plans that a program covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PlanScope {
    /// Stage schedules: a stage computes each node at most once, in the order of the graph.
    #[default]
    StageSchedules,
    /// All plans whose first computations come in the order of the graph; the program counts
    /// memory at *moments* (`docs/theory/every-plan.md`).
    PlansInThisOrder,
}

impl CheckmateGraph {
    /// The graph of an instance under a budget in bytes (fixed memory included).
    ///
    /// # Errors
    /// [`TooSmall`] if a node cannot run within the budget at all.
    pub fn new(instance: &Instance, budget_bytes: u64) -> Result<CheckmateGraph, TooSmall> {
        check_budget(instance, budget_bytes)?;
        let capacity = budget_bytes - instance.static_bytes();
        Ok(CheckmateGraph::with_capacity(instance, capacity))
    }

    /// The graph of an instance with so many bytes for outputs and workspaces. Each node must fit
    /// beside its inputs.
    pub(crate) fn with_capacity(instance: &Instance, capacity: u64) -> CheckmateGraph {
        let n = instance.len();
        let list = |ids: &[NodeId]| ids.iter().map(|d| d.0).collect::<Vec<u32>>();
        let users: Vec<Vec<u32>> = instance.ids().map(|i| list(instance.users(i))).collect();
        let again_until = instance.ids().map(|i| instance.last_stage_again(i).0);
        let again_until: Vec<u32> = again_until.collect();
        let last_stage = last_stages(&users, &again_until);
        let first_backward = instance.backward_start().map(|f| f.0);
        let waiting = Waiting::of(instance);
        let first_backward = first_backward.map(|f| f + u32::from(waiting.is_some()));
        let first_backward = first_backward.filter(|f| (*f as usize) < n);
        let of = |value: &dyn Fn(&Node) -> u64| -> Vec<u64> {
            instance.nodes().iter().map(value).collect()
        };
        let bytes = of(&|v| v.output_bytes);
        let workspace = of(&|v| v.run_workspace_bytes(false));
        let workspace_again = of(&|v| v.run_workspace_bytes(true));
        let recomputed = instance
            .nodes()
            .iter()
            .enumerate()
            .filter(|(i, _)| again_until[*i].min(last_stage[*i]) > *i as u32);
        let like = recomputed.map(|(i, v)| (i as u32, v.output_bytes, v.run_cost(true)));
        let held_by_others = |(i, bytes): (usize, &u64)| match waiting {
            Some(wait) if i < wait.stage as usize => wait.others.saturating_mul(*bytes),
            _ => 0,
        };
        let by_others: Vec<u64> = bytes.iter().enumerate().map(held_by_others).collect();
        CheckmateGraph {
            cost: of(&|v| v.run_cost(false)),
            cost_again: of(&|v| v.run_cost(true)),
            gauges: Gauge::all(&bytes, [&workspace, &workspace_again], by_others, capacity),
            waiting,
            classes: classes_of_tensors(like),
            bytes,
            workspace,
            workspace_again,
            needs: instance.ids().map(|i| list(instance.needs(i))).collect(),
            users,
            parent: instance
                .nodes()
                .iter()
                .map(|v| Some(v.parent()?.0))
                .collect(),
            again_until,
            last_stage,
            first_backward,
            capacity,
            rules: None,
            scope: PlanScope::default(),
        }
    }

    /// The graph for plans of a class alone.
    pub(crate) fn with_rules(self, rules: &Arc<ClassRules>) -> CheckmateGraph {
        CheckmateGraph {
            rules: Some(rules.clone()),
            ..self
        }
    }

    /// The graph for all plans of a scope.
    pub fn with_scope(self, scope: PlanScope) -> CheckmateGraph {
        CheckmateGraph { scope, ..self }
    }

    /// Returns whether memory is counted at moments, for plans of any order within a stage.
    #[inline]
    pub fn has_moments(&self) -> bool {
        self.scope == PlanScope::PlansInThisOrder
    }

    /// Number of nodes, which is also the number of stages.
    #[inline]
    pub fn len(&self) -> usize {
        self.cost.len()
    }

    /// Returns whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.cost.is_empty()
    }

    /// Cost of computing every node once.
    pub fn base_cost(&self) -> u64 {
        self.cost.iter().sum()
    }

    /// Least bytes for a recomputation of a node: its inputs, its output, its workspace.
    pub fn need_bytes(&self, node: usize) -> u64 {
        let inputs: u64 = self.needs[node]
            .iter()
            .map(|&j| self.bytes[j as usize])
            .sum();
        inputs + self.bytes[node] + self.workspace_again[node]
    }

    /// Bytes of each tensor as an atom of bytes counts them: by a gauge, or, numbered behind all
    /// gauges, by others that wait.
    #[inline]
    pub(crate) fn sizes_of(&self, number: u32) -> &[u64] {
        let number = number as usize;
        match number.checked_sub(self.gauges.len()) {
            None => &self.gauges[number].bytes,
            Some(gauge) => &self.gauges[gauge].waiting,
        }
    }

    /// The term of other micro-batches in rows of memory by a gauge.
    pub(crate) fn waiting_term(&self, gauge: u32) -> Option<Term> {
        let moment = self.wait_event()?;
        let (gauge, coefficient) = match (gauge, self.waiting) {
            (0, Some(wait)) => (0, wait.others as i64),
            _ => (gauge + self.gauges.len() as u32, 1),
        };
        Some(Term {
            atom: Atom::Bytes { moment, gauge },
            coefficient,
        })
    }

    /// The event at which other micro-batches wait.
    #[inline]
    pub(crate) fn wait_event(&self) -> Option<u32> {
        let wait = self.waiting?;
        Some(wait.stage * self.len() as u32 + wait.stage)
    }

    /// The first stage of those in which a parent is computed again if a by-product is computed
    /// again in `stage`: the stage itself, or with moments any stage since its first computation.
    pub(crate) fn parent_from(&self, parent: u32, stage: u32) -> u32 {
        match self.has_moments() {
            true => parent + 1,
            false => stage,
        }
    }

    /// Stages in which it can be useful to compute a node again.
    pub fn stages_again(&self, node: usize) -> std::ops::RangeInclusive<u32> {
        let first = node as u32 + 1;
        first..=self.last_stage[node].min(self.again_until[node])
    }

    /// Returns whether a node may be computed again in a stage behind its own.
    #[inline]
    pub fn may_recompute_in(&self, node: u32, stage: u32) -> bool {
        stage <= self.again_until[node as usize]
    }

    /// The unit in which programs count memory, in bytes: a power of two near a thousandth of the
    /// capacity. So coefficients are moderate, and the conversion of any size to it is exact.
    pub fn memory_unit(&self) -> f64 {
        let thousandth = (self.capacity / 1000).max(1);
        thousandth.next_power_of_two() as f64
    }

    /// The unit in which linear programs count cost: a power of two, 1 unless the base cost is
    /// beyond 2^21, that brings it there.
    pub fn cost_unit(&self) -> f64 {
        let millionth = (self.base_cost() >> 21).max(1);
        millionth.next_power_of_two() as f64
    }

    /// The schedule without useless retentions and recomputations. A tensor is retained only if it
    /// is read, or retained for a later reading, before it is computed again. It is recomputed only
    /// if it is not there, or if a by-product is recomputed with it. The latter makes a retained
    /// copy useless, because all readers come later. Cost and memory do not rise. A tensor that may
    /// not be recomputed in a stage is retained there if it is wanted.
    ///
    /// Only the retained sets count; the computations follow from them. Shapes are `len x len`.
    pub fn cleaned(&self, schedule: &CheckmateSchedule) -> CheckmateSchedule {
        CheckmateSchedule::tightest(self, schedule.retained.clone())
    }
}

impl Demands for CheckmateGraph {
    fn nodes(&self) -> usize {
        self.len()
    }

    fn inputs(&self, node: u32) -> impl Iterator<Item = u32> {
        self.needs[node as usize].iter().copied()
    }

    fn parent(&self, node: u32) -> Option<u32> {
        self.parent[node as usize]
    }

    fn last_stage_again(&self, node: u32) -> u32 {
        self.again_until[node as usize]
    }
}

/// For each tensor, the last stage in which it can be of use, from its readers and the last stages
/// in which they may be computed again.
pub(crate) fn last_stages(users: &[Vec<u32>], again_until: &[u32]) -> Vec<u32> {
    let mut last: Vec<u32> = (0..users.len() as u32).collect();
    for i in (0..users.len()).rev() {
        let of_reader = |&q: &u32| q.max(last[q as usize].min(again_until[q as usize]));
        let of_readers = users[i].iter().map(of_reader).max();
        last[i] = last[i].max(of_readers.unwrap_or(0));
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::fixtures;
    use proptest::prelude::*;
    use remat_instances::schedule::{BitMatrix, StageRuns};

    /// The schedule without useless parts, by the definition.
    fn plainly_cleaned(graph: &CheckmateGraph, given: &BitMatrix) -> CheckmateSchedule {
        let n = graph.len();
        let mut computed = BitMatrix::new(n, n);
        let mut retained = BitMatrix::new(n, n);
        for t in (0..n).rev() {
            computed.set(t, t, true);
            for k in (0..t).rev() {
                let forced = computed.get(t, k);
                let kept_on = t + 1 < n && retained.get(t + 1, k);
                let mut readers = graph.users[k].iter().take_while(|q| **q as usize <= t);
                let read = readers.any(|q| computed.get(t, *q as usize));
                if !(forced || kept_on || read) {
                    continue;
                }
                if given.get(t, k) && !forced || !graph.may_recompute_in(k as u32, t as u32) {
                    retained.set(t, k, true);
                    continue;
                }
                computed.set(t, k, true);
                if let Some(parent) = graph.parent[k] {
                    computed.set(t, parent as usize, true);
                }
            }
        }
        CheckmateSchedule {
            computed: computed.into(),
            retained: retained.into(),
        }
    }

    proptest! {
        #[test]
        fn what_is_cleaned_is_as_defined(
            instance in fixtures::small_dag(11),
            kept in prop::collection::vec(any::<bool>(), 121),
        ) {
            let n = instance.len();
            let graph = CheckmateGraph::with_capacity(&instance, u64::MAX >> 20);
            let mut given = BitMatrix::new(n, n);
            for t in 0..n {
                (0..n).for_each(|i| given.set(t, i, kept[11 * t + i]));
            }
            let expected = plainly_cleaned(&graph, &given);
            let computed = StageRuns::new(n, n);
            let retained = given.into();
            let schedule = CheckmateSchedule { computed, retained };
            prop_assert_eq!(graph.cleaned(&schedule), expected);
        }
    }
}
