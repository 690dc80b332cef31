//! Computations of a sharded step, with a share of the memory left to weights.

use crate::any::AnyFormulation;
use crate::bound::smallest_budget;
use remat_instances::instance::{Instance, NodeId};
use remat_instances::plan::{Computation, Plan};
use remat_instances::schedule::Schedule;
use remat_search::{Listener, Outcome, Settings, Solvable, SolveError};

/// The graph of the computations, and the shares of memory that were tried for them.
pub(super) struct Reserves {
    pub formulation: AnyFormulation,
    /// Node of the instance for each node of the graph.
    ids: Vec<NodeId>,
    /// Budget of the step in bytes.
    budget_bytes: u64,
    /// Bytes of the whole reserve.
    most: u64,
    /// Schedules found so far.
    pub schedules: Vec<Schedule>,
    /// Shares that were tried, with their makespans.
    pub tried: Vec<(f64, u64)>,
}

impl Reserves {
    /// The computations of an instance under a budget in bytes.
    pub fn new(instance: &Instance, budget_bytes: u64) -> Self {
        let (graph, ids) = instance.computations();
        let weights = &instance.nodes()[..instance.gathered()];
        let weights: u64 = weights.iter().map(|node| node.output_bytes).sum();
        let least = smallest_budget(&graph).needed_bytes;
        Reserves {
            formulation: AnyFormulation::checkmate(&graph),
            ids,
            budget_bytes,
            most: weights.min(budget_bytes.saturating_sub(least)),
            schedules: Vec::new(),
            tried: Vec::new(),
        }
    }

    /// The budget of the computations, in bytes, beside a share of the reserve. A share below 0 is a
    /// share of `more` bytes, for tensors that are copied to the host. `None` for shares that are
    /// the same as 0.
    pub fn budget(&self, share: f64, more: u64) -> Option<u64> {
        let bytes = if share < 0.0 { more } else { self.most };
        let bytes = (bytes as f64 * share.abs()) as u64;
        let is_new = share == 0.0 || bytes > 0;
        is_new.then(|| match share < 0.0 {
            true => self.budget_bytes.saturating_add(bytes),
            false => self.budget_bytes - bytes,
        })
    }

    /// Solves for the computations within a budget in bytes, from the schedules found so far.
    pub fn solve(
        &self,
        budget_bytes: u64,
        settings: &Settings,
        listener: &dyn Listener,
    ) -> Result<Outcome, SolveError> {
        let known = &self.schedules;
        self.formulation
            .solve(budget_bytes, known, settings, listener)
    }

    /// Shares halfway between the best share and its neighbours.
    pub fn between(&self) -> Vec<f64> {
        let mut tried = self.tried.clone();
        tried.sort_by(|a, b| a.0.total_cmp(&b.0));
        let best = (0..tried.len()).min_by_key(|k| tried[*k].1);
        let pairs = best.map_or(0..0, |k| k.saturating_sub(1)..(k + 1).min(tried.len() - 1));
        pairs.map(|k| (tried[k].0 + tried[k + 1].0) / 2.0).collect()
    }

    /// The plan of a schedule, as a plan of the unsharded graph, in which weights run first.
    pub fn plan(&self, instance: &Instance, schedule: &Schedule) -> Result<Plan, SolveError> {
        let graph = self.formulation.instance();
        let plan = schedule.plan(graph)?.optimised(graph)?;
        let weight = |i: usize| Computation {
            node: NodeId::from(i),
            implementation: 0,
            in_place: false,
        };
        let mut runs: Vec<Computation> = (0..instance.gathered()).map(weight).collect();
        runs.extend(
            plan.computations_in_order(graph)?
                .runs
                .into_iter()
                .map(|run| Computation {
                    node: self.ids[run.node.index()],
                    ..run
                }),
        );
        let unsharded = instance.unsharded();
        Ok(Plan::of_computations(&unsharded, plan.semantics, &runs)?)
    }
}
