//! The interface of Checkmate's program to the search.

use super::CheckmateGraph;
use super::graph::PlanScope;
use super::interval::{Interval, IntervalPoint, Row, tree_proof};
use super::large::LargeGraph;
use super::starts::{fitting, known, schedule_of};
use crate::anneal::CheckmateLandscape;
use crate::bound::{self, TooSmall};
use crate::life::layers::{self, Layered, Layout, LazyLayout};
use crate::life::proof;
use crate::waiting::own_budget;
use crate::written::planned;
use remat_instances::budget::format_bytes;
use remat_instances::instance::Instance;
use remat_instances::schedule::{BitMatrix, CheckmateSchedule, Schedule};
use remat_instances::simulate::{self, Replay, ReplayError};
use remat_search::anneal::Found;
use remat_search::{
    ALL_PLANS, BoundProof, Formulation, Heuristic, PLANS_IN_THIS_ORDER, Problem, STAGE_SCHEDULES,
    Settings, SolveError, Start, Watch,
};
use remat_solver::price::{Incumbents, RootStart, TreeProof};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Nodes up to which a graph is searched: runs have some bits for each tensor and stage, and a
/// relaxation rows of memory over all tensors.
const SEARCH_NODE_LIMIT: usize = 20_000;
/// Nodes up to which equal layers are searched for: they give relaxations a start, and larger
/// graphs a bound. Moments have numbers of 32 bits, the square of the nodes.
const LAYERED_NODE_LIMIT: usize = 65_535;
/// Layers of a stack up to which roots and plans are carried over: cuts name tensors of all layers,
/// and 5,000 layers take 2 GB.
const CARRIED_LAYERS_LIMIT: u32 = 3_000;

/// Checkmate's program (Jain et al., MLSys 2020) for an instance with one implementation of each
/// node.
#[derive(Clone, Debug)]
pub struct CheckmateFormulation {
    instance: Arc<Instance>,
    /// Its equal layers, once they have been searched for.
    layout: LazyLayout,
}

impl CheckmateFormulation {
    /// The program of an instance; only the first implementation of a node counts.
    pub fn new(instance: impl Into<Arc<Instance>>) -> Self {
        CheckmateFormulation {
            instance: instance.into(),
            layout: LazyLayout::default(),
        }
    }

    /// The stacks of equal layers of the instance, if it has any and at most 65,535 nodes.
    pub fn layers(&self) -> Option<&Arc<Layout>> {
        let (instance, semantics) = (&self.instance, CheckmateGraph::SEMANTICS);
        self.layout.of(instance, semantics, LAYERED_NODE_LIMIT)
    }

    /// The stacks of equal layers, if they are small enough for roots and plans to be carried over.
    fn carried_layers(&self) -> Option<&Arc<Layout>> {
        let has_few = |layout: &&Arc<Layout>| {
            let stacks = layout.stacks().iter();
            stacks
                .max_by_key(|s| s.layers)
                .is_some_and(|s| s.layers <= CARRIED_LAYERS_LIMIT)
        };
        self.layers().filter(has_few)
    }

    /// The instance.
    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }
}

impl Formulation for CheckmateFormulation {
    type Schedule = CheckmateSchedule;
    type Problem<'a> = CheckmateProblem<'a>;

    fn plain(&self) -> Result<Replay, ReplayError> {
        self.instance.plain_replay(CheckmateGraph::SEMANTICS)
    }

    fn problem<'a>(
        &'a self,
        budget_bytes: u64,
        starts: &'a [CheckmateSchedule],
    ) -> Result<Start<CheckmateProblem<'a>>, SolveError> {
        start_of(&self.instance, budget_bytes, |everything| {
            CheckmateProblem {
                instance: &self.instance,
                budget_bytes,
                starts,
                layout: self.carried_layers().cloned(),
                everything,
                landscape: CheckmateLandscape::new(&self.instance, budget_bytes),
            }
        })
    }

    fn heuristic(
        &self,
        budget_bytes: u64,
        bound: u64,
        starts: &[CheckmateSchedule],
        settings: &Settings,
        watch: &Watch<'_>,
    ) -> Result<Heuristic<CheckmateSchedule>, SolveError> {
        let large = LargeGraph {
            instance: &self.instance,
            budget_bytes,
            layout: self.carried_layers().map(|layout| &**layout),
            starts,
        };
        large.solve(bound, settings, watch)
    }
}

/// The status of a problem over schedules of Checkmate's program before it is searched; `open`
/// makes the problem from the sets of the schedule that keeps every tensor.
pub(crate) fn start_of<P: Problem<Schedule = CheckmateSchedule>>(
    instance: &Instance,
    budget_bytes: u64,
    open: impl FnOnce(BitMatrix) -> P,
) -> Result<Start<P>, SolveError> {
    let own_bytes = own_budget(instance, budget_bytes);
    let bound = match bound::knapsack_bound(instance, own_bytes) {
        Ok(bound) => bound.cost,
        Err(small) => {
            // Copies of other micro-batches stay like the tensors that they are of.
            let others = budget_bytes - own_bytes;
            let proof = || proof::too_small::<CheckmateGraph>(instance, budget_bytes, small.node);
            return Ok(Start::Infeasible {
                proof: (others == 0).then(proof),
                because: TooSmall {
                    kept_bytes: small.kept_bytes + others,
                    needed_bytes: small.needed_bytes + others,
                    budget_bytes,
                    ..small
                }
                .to_string(),
            });
        }
    };
    let everything = CheckmateSchedule::checkpoint_all(instance);
    let replay = simulate::checkmate(instance, &everything)?;
    if replay.peak_bytes <= budget_bytes {
        return Ok(Start::Optimal {
            schedule: everything,
            replay,
            proof: Some(proof::trivial::<CheckmateGraph>(
                instance,
                budget_bytes,
                instance.base_cost(),
            )),
            over_all_plans: true,
        });
    }
    if instance.len() > SEARCH_NODE_LIMIT {
        return Ok(Start::TooLarge(bound));
    }
    Ok(Start::Open(open(everything.retained.to_bits()), bound))
}

/// Checkmate's program for a budget.
pub struct CheckmateProblem<'a> {
    instance: &'a Instance,
    budget_bytes: u64,
    starts: &'a [CheckmateSchedule],
    layout: Option<Arc<Layout>>,
    /// The sets of the schedule that keeps every tensor.
    everything: BitMatrix,
    landscape: CheckmateLandscape,
}

impl Problem for CheckmateProblem<'_> {
    type Landscape = CheckmateLandscape;
    type Program = CheckmateGraph;
    type Schedule = CheckmateSchedule;

    const THRESHOLDS: &'static [f64] = &[0.25, 0.5];

    fn landscape(&self) -> &CheckmateLandscape {
        &self.landscape
    }

    fn program(&self) -> Option<Arc<CheckmateGraph>> {
        let graph = CheckmateGraph::new(self.instance, self.budget_bytes).ok()?;
        Some(Arc::new(graph.with_scope(PlanScope::PlansInThisOrder)))
    }

    fn scope(&self, program: &CheckmateGraph) -> &'static str {
        match program.scope {
            PlanScope::StageSchedules => STAGE_SCHEDULES,
            PlanScope::PlansInThisOrder if self.instance.has_forced_order() => ALL_PLANS,
            PlanScope::PlansInThisOrder => PLANS_IN_THIS_ORDER,
        }
    }

    fn narrower(&self, program: &CheckmateGraph) -> Option<Arc<CheckmateGraph>> {
        let narrow = program.clone().with_scope(PlanScope::StageSchedules);
        program.has_moments().then(|| Arc::new(narrow))
    }

    fn narrowed(&self, mut start: RootStart<CheckmateGraph>) -> RootStart<CheckmateGraph> {
        let is_common = |row: &Row| !matches!(row, Row::Around(_));
        start.proof.retain(|(row, _)| is_common(row));
        start.tight.retain(is_common);
        start
    }

    fn root_start(
        &self,
        program: &CheckmateGraph,
        stop: &Arc<AtomicBool>,
        incumbents: &Incumbents<CheckmateGraph>,
    ) -> Option<RootStart<CheckmateGraph>> {
        let layout = self.layout.as_deref()?;
        let budget = self.budget_bytes;
        layers::root_start(self.instance, layout, program, budget, stop, incumbents)
    }

    fn refuted(&self) -> Option<String> {
        let own_bytes = own_budget(self.instance, self.budget_bytes);
        let refuted = bound::has_no_way_back(self.instance, own_bytes);
        refuted.then(|| {
            format!(
                "no plan fits, in any order, however often it computes: every way back from some node needs more than {} at some step",
                format_bytes(self.budget_bytes)
            )
        })
    }

    fn everything(&self) -> &BitMatrix {
        &self.everything
    }

    fn known(&self, watch: &Watch<'_>) -> Vec<Found> {
        let (instance, budget) = (self.instance, self.budget_bytes);
        let mut known = known(instance, budget, self.starts, watch);
        if let Some(layout) = &self.layout {
            let plan = |intervals: &[Interval]| {
                let retained = Interval::retained(intervals, instance.len());
                fitting(instance, budget, schedule_of(instance, retained))
            };
            let plans = layers::plans::<CheckmateGraph, _>(instance, layout, budget, watch, plan);
            known.extend(plans);
        }
        known.iter().map(Found::from).collect()
    }

    fn near(&self, program: &CheckmateGraph, point: &IntervalPoint, threshold: f64) -> BitMatrix {
        point.rounded(program, threshold)
    }

    fn columns(&self, program: &CheckmateGraph, found: &Found) -> Vec<Interval> {
        let schedule = CheckmateSchedule::cheapest(self.instance, found.retained.clone());
        Interval::of_schedule(program, &schedule)
    }

    fn judge(&self, found: Found) -> Result<(CheckmateSchedule, Replay), ReplayError> {
        let schedule = schedule_of(self.instance, found.retained);
        let replay = simulate::checkmate(self.instance, &schedule)?;
        Ok((schedule, replay))
    }

    fn plan(&self, schedule: CheckmateSchedule) -> Option<String> {
        let schedule = Schedule::from(schedule);
        let planned = planned(self.instance, &schedule, self.budget_bytes).ok()?;
        Some(planned.text())
    }

    fn proof(
        &self,
        graph: &CheckmateGraph,
        tree: &TreeProof<CheckmateGraph>,
    ) -> Option<BoundProof> {
        // The checker does not know the term of other micro-batches.
        let proven = graph.waiting.is_none();
        proven.then(|| tree_proof(self.instance, self.budget_bytes, graph, tree))
    }
}
