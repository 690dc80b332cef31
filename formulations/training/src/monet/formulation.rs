//! The interface of MONeT's program to the search.

use super::anneal::{MonetLandscape, MonetState};
use super::bound::event_bound;
use super::carry::retained;
use super::interval::{Interval, MonetGraph, Point, tree_proof};
use crate::baselines;
use crate::life::layers::{self, Layered, Layout, LazyLayout};
use crate::life::proof;
use crate::written::planned;
use rayon::prelude::*;
use remat_instances::instance::Instance;
use remat_instances::plain::Plain;
use remat_instances::schedule::{BitMatrix, MonetSchedule, Schedule};
use remat_instances::simulate::{self, Replay, ReplayError};
use remat_search::anneal::Found;
use remat_search::{
    BoundProof, Formulation, Heuristic, Patience, Problem, Settings, SolveError, Start, Watch,
};
use remat_solver::price::{Incumbents, RootStart, TreeProof};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Baselines of Checkmate's program whose stored sets serve as starts.
const START_BASELINES: [&str; 5] = [
    "ap-greedy",
    "linearised-sqrt",
    "linearised-greedy",
    "dtr",
    LARGE_START_BASELINE,
];
/// Nodes up to which the start baselines take well under a second.
const START_BASELINE_NODE_LIMIT: usize = 2_000;
/// The baseline for larger graphs.
const LARGE_START_BASELINE: &str = "gap-greedy";
/// Runs of that baseline, at most. Each run gets less memory than the one before, by the bytes that
/// its peak under MONeT's semantics was over the budget.
const ATTEMPTS: usize = 5;
/// Share of the remaining time that the baseline may take on larger graphs.
const TIME_SHARE: f64 = 0.3;
/// Nodes up to which relaxations are solved: a point has entries for each tensor and stage.
const PROGRAM_NODE_LIMIT: usize = 3_000;
/// Nodes up to which equal layers are searched for: they give a start to relaxations.
const LAYERED_NODE_LIMIT: usize = 5_000;
/// Nodes up to which retained sets are annealed: a run has some bits for each tensor and stage.
const SEARCH_NODE_LIMIT: usize = 20_000;
/// Nodes up to which schedules are built: a schedule of MONeT's program has bits for each tensor
/// and stage.
const NODE_LIMIT: usize = 60_000;

/// MONeT's program (Shah et al., ICLR 2021) for an instance with a loss between a forward and a
/// backward pass.
#[derive(Clone, Debug)]
pub struct MonetFormulation {
    instance: Arc<Instance>,
    /// Its equal layers, once they have been searched for.
    layout: LazyLayout,
}

impl MonetFormulation {
    /// The program of an instance.
    ///
    /// # Errors
    /// [`SolveError::Inapplicable`] for an instance without a loss.
    pub fn new(instance: impl Into<Arc<Instance>>) -> Result<Self, SolveError> {
        let instance = instance.into();
        match instance.loss() {
            Some(_) => Ok(MonetFormulation {
                instance,
                layout: LazyLayout::default(),
            }),
            None => Err(SolveError::Inapplicable {
                formulation: MonetGraph::SEMANTICS.as_str().into(),
                instance: instance.name().into(),
                because: "it has no loss node between a forward and a backward pass".into(),
            }),
        }
    }

    /// The stacks of equal layers of the instance, if it has any and at most 5,000 nodes.
    pub fn layers(&self) -> Option<&Arc<Layout>> {
        let (instance, semantics) = (&self.instance, MonetGraph::SEMANTICS);
        self.layout.of(instance, semantics, LAYERED_NODE_LIMIT)
    }

    /// The instance.
    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }
}

impl Formulation for MonetFormulation {
    type Schedule = MonetSchedule;
    type Problem<'a> = MonetProblem<'a>;

    fn plain(&self) -> Result<Replay, ReplayError> {
        self.instance.plain_replay(MonetGraph::SEMANTICS)
    }

    fn problem<'a>(
        &'a self,
        budget_bytes: u64,
        starts: &'a [MonetSchedule],
    ) -> Result<Start<MonetProblem<'a>>, SolveError> {
        let instance = &*self.instance;
        if instance.len() > NODE_LIMIT {
            return Err(SolveError::Inapplicable {
                formulation: MonetGraph::SEMANTICS.as_str().into(),
                instance: instance.name().into(),
                because: format!(
                    "it has {} nodes, and this program is for {NODE_LIMIT} at most; checkmate's has no limit",
                    instance.len()
                ),
            });
        }
        let no_loss = || SolveError::Replay(ReplayError::NoLoss);
        let landscape = MonetLandscape::new(instance, budget_bytes).ok_or_else(no_loss)?;
        let everything = MonetSchedule::checkpoint_all(instance).ok_or_else(no_loss)?;
        let plain = Plain::of(instance, MonetGraph::SEMANTICS);
        let plain = plain.monet_schedule().ok_or_else(no_loss)?;
        let replay = simulate::monet(instance, &plain)?;
        Ok(match event_bound(instance, &landscape) {
            Err(small) => Start::Infeasible {
                because: small.to_string(),
                proof: Some(proof::too_small::<MonetGraph>(
                    instance,
                    budget_bytes,
                    small.node,
                )),
            },
            Ok(bound) if replay.peak_bytes <= budget_bytes && replay.cost <= bound => {
                Start::Optimal {
                    schedule: plain,
                    proof: Some(proof::trivial::<MonetGraph>(
                        instance,
                        budget_bytes,
                        replay.cost,
                    )),
                    replay,
                    over_all_plans: false,
                }
            }
            Ok(bound) if instance.len() > SEARCH_NODE_LIMIT => Start::TooLarge(bound),
            Ok(bound) => Start::Open(
                MonetProblem {
                    instance,
                    budget_bytes,
                    starts,
                    layout: self.layers().cloned(),
                    plain,
                    everything,
                    landscape,
                },
                bound,
            ),
        })
    }

    fn heuristic(
        &self,
        budget_bytes: u64,
        bound: u64,
        starts: &[MonetSchedule],
        _: &Settings,
        watch: &Watch<'_>,
    ) -> Result<Heuristic<MonetSchedule>, SolveError> {
        let instance = &*self.instance;
        let complete = |stored: &BitMatrix| complete(instance, budget_bytes, stored);
        let found = stored_by_baselines(instance, budget_bytes, watch);
        let found = found.iter().filter_map(complete);
        let fits = |schedule: MonetSchedule| {
            let replay = simulate::monet(instance, &schedule).ok()?;
            (replay.peak_bytes <= budget_bytes).then_some((schedule, replay))
        };
        let all = starts.iter().cloned().chain(found);
        Ok(Heuristic::cheapest(bound, all.filter_map(fits)))
    }
}

/// MONeT's program for a budget.
pub struct MonetProblem<'a> {
    instance: &'a Instance,
    budget_bytes: u64,
    starts: &'a [MonetSchedule],
    layout: Option<Arc<Layout>>,
    /// The schedule without recomputation.
    plain: MonetSchedule,
    /// The schedule that stores all tensors that first implementations read.
    everything: MonetSchedule,
    landscape: MonetLandscape,
}

impl Problem for MonetProblem<'_> {
    type Landscape = MonetLandscape;
    type Program = MonetGraph;
    type Schedule = MonetSchedule;

    const THRESHOLDS: &'static [f64] = &[0.25, 0.75, 0.5];

    fn landscape(&self) -> &MonetLandscape {
        &self.landscape
    }

    fn program(&self) -> Option<Arc<MonetGraph>> {
        if self.layout.is_none() && self.instance.len() > PROGRAM_NODE_LIMIT {
            return None;
        }
        MonetGraph::new(self.instance, self.budget_bytes)
            .ok()
            .map(Arc::new)
    }

    fn root_start(
        &self,
        program: &MonetGraph,
        stop: &Arc<AtomicBool>,
        incumbents: &Incumbents<MonetGraph>,
    ) -> Option<RootStart<MonetGraph>> {
        let layout = self.layout.as_deref()?;
        let budget = self.budget_bytes;
        layers::root_start(self.instance, layout, program, budget, stop, incumbents)
    }

    fn everything(&self) -> &BitMatrix {
        &self.everything.retained
    }

    /// Schedules that fit: among the given ones, those without recomputation, and those with stored
    /// sets of Checkmate's baselines.
    fn known(&self, watch: &Watch<'_>) -> Vec<Found> {
        let executes = |s: &&MonetSchedule| simulate::monet(self.instance, s).is_ok();
        let given = self
            .starts
            .iter()
            .filter(executes)
            .map(|s| s.retained.clone());
        let own = [&self.everything, &self.plain].map(|s| s.retained.clone());
        let mut stored: Vec<BitMatrix> = given.chain(own).collect();
        let found = stored_by_baselines(self.instance, self.budget_bytes, watch);
        stored.extend(found);
        let fits = |retained: BitMatrix| {
            let retained = holding_once(&self.landscape, retained);
            let state = MonetState::new(&self.landscape, &retained);
            let cost = state.cost() as u64;
            (state.excess() == 0).then_some(Found { cost, retained })
        };
        let mut known: Vec<Found> = stored.into_par_iter().filter_map(fits).collect();
        if let Some(layout) = &self.layout {
            let plan = |intervals: &[Interval]| fits(retained(&self.landscape, intervals));
            let plans = layers::plans::<MonetGraph, _>(
                self.instance,
                layout,
                self.budget_bytes,
                watch,
                plan,
            );
            known.extend(plans);
        }
        known
    }

    fn near(&self, program: &MonetGraph, point: &Point, threshold: f64) -> BitMatrix {
        let proposal = point.proposal(self.instance, program, threshold);
        holding_once(&self.landscape, proposal.retained)
    }

    fn columns(&self, program: &MonetGraph, found: &Found) -> Vec<Interval> {
        let schedule = MonetState::new(&self.landscape, &found.retained).schedule();
        Interval::of_schedule(program, &schedule)
    }

    fn judge(&self, found: Found) -> Result<(MonetSchedule, Replay), ReplayError> {
        let schedule = MonetState::new(&self.landscape, &found.retained).schedule();
        let replay = simulate::monet(self.instance, &schedule)?;
        Ok((schedule, replay))
    }

    fn plan(&self, schedule: MonetSchedule) -> Option<String> {
        let schedule = Schedule::from(schedule);
        let planned = planned(self.instance, &schedule, self.budget_bytes).ok()?;
        Some(planned.text())
    }

    fn is_bound_proven(&self) -> bool {
        true
    }

    /// The proof of the tree's bound, or of the event bound if that is higher.
    fn proof(&self, program: &MonetGraph, tree: &TreeProof<MonetGraph>) -> Option<BoundProof> {
        let (instance, budget) = (self.instance, self.budget_bytes);
        let of_tree = tree_proof(instance, budget, program, tree);
        let alone = event_bound(instance, &self.landscape).unwrap_or(0);
        Some(match of_tree.bound() {
            Some(bound) if bound < alone => proof::trivial::<MonetGraph>(instance, budget, alone),
            _ => of_tree,
        })
    }
}

/// Sets that Checkmate's baselines store, with the first implementation of each node.
fn stored_by_baselines(
    instance: &Instance,
    budget_bytes: u64,
    watch: &Watch<'_>,
) -> Vec<BitMatrix> {
    let (view, ids) = instance.single_implementation();
    let run = |name: &str, budget_bytes: u64, patience: Patience<'_>| {
        let baseline = baselines::by_name(name)?;
        let schedule = baseline.run_until(&view, budget_bytes, patience).ok()?;
        MonetSchedule::stored_by_checkmate(instance, &ids, &schedule)
    };
    if instance.len() <= START_BASELINE_NODE_LIMIT {
        return watch.within(1.0, |patience| {
            let run = |name: &&str| run(name, budget_bytes, patience);
            START_BASELINES.par_iter().filter_map(run).collect()
        });
    }
    watch.within(TIME_SHARE, |patience| {
        let mut all = Vec::new();
        let mut target = budget_bytes;
        for _ in 0..ATTEMPTS {
            let Some(stored) = run(LARGE_START_BASELINE, target, patience) else {
                break;
            };
            let schedule = complete(instance, budget_bytes, &stored);
            let replay = schedule.and_then(|s| simulate::monet(instance, &s).ok());
            all.push(stored);
            let over = replay.map(|r| r.peak_bytes.saturating_sub(budget_bytes));
            match over.and_then(|over| target.checked_sub(over)) {
                Some(less) if less < target => target = less,
                _ => break,
            }
        }
        all
    })
}

/// The best schedule with given stored sets: the fewest computations, and the cheapest ways that
/// fit the budget, or the smallest ways if no way fits. `None` without a loss.
pub fn complete(
    instance: &Instance,
    budget_bytes: u64,
    stored: &BitMatrix,
) -> Option<MonetSchedule> {
    let graph = MonetLandscape::new(instance, budget_bytes)?;
    let fits_shape = (stored.rows(), stored.columns()) == (graph.stages + 1, graph.columns);
    fits_shape.then(|| {
        let stored = holding_once(&graph, stored.clone());
        MonetState::new(&graph, &stored).schedule()
    })
}

/// Extends stored sets so that tensors stay stored where they may not be recomputed.
fn holding_once(graph: &MonetLandscape, mut stored: BitMatrix) -> BitMatrix {
    let always = |until: &u32| *until as usize + 1 == graph.stages;
    if graph.again_until.iter().all(always) {
        return stored;
    }
    // A larger set may select other ways, which read other tensors, so the step is repeated.
    loop {
        let schedule = MonetState::new(graph, &stored).schedule();
        let mut wanted = Vec::new();
        for t in 1..graph.stages {
            let computed = schedule.computed.ones(t);
            let ended = |i: &usize| (graph.again_until[*i] as usize) < t;
            wanted.extend(computed.filter(ended).map(|i| (t, i)));
        }
        if wanted.is_empty() {
            return stored;
        }
        for (t, i) in wanted {
            // A tensor that is already stored at the start of the stage is wanted by the backward
            // node, which reads it beyond the stage.
            let last = t + usize::from(stored.get(t, i));
            let first = graph.again_until[i] as usize + 1;
            (first..=last).for_each(|stage| stored.set(stage, i, true));
        }
    }
}
