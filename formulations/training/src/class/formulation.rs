//! The interface of a class to the search.

use super::graph::ClassGraph;
use super::landscape::ClassLandscape;
use super::replay::ClassReplay;
use crate::bound;
use crate::checkmate::interval::{Interval, IntervalPoint, tree_proof};
use crate::checkmate::{CheckmateGraph, start_of};
use crate::life::layers::Layered;
use crate::written::planned;
use remat_instances::budget::format_bytes;
use remat_instances::instance::Instance;
use remat_instances::plan_class::NoClass;
use remat_instances::schedule::{BitMatrix, CheckmateSchedule, Schedule};
use remat_instances::simulate::{self, Replay, ReplayError};
use remat_instances::{ClassRules, PlanClass};
use remat_search::anneal::Found;
use remat_search::{
    BoundProof, Formulation, Heuristic, Problem, Settings, SolveError, Start, Watch,
};
use remat_solver::price::TreeProof;
use std::sync::Arc;

/// The plans that a bound of a class covers.
pub fn class_scope(class: PlanClass) -> &'static str {
    match class {
        PlanClass::Tags => "plans-of-class-tags",
        PlanClass::Regions => "plans-of-class-regions",
        PlanClass::Blocks => "plans-of-class-blocks",
        PlanClass::Names => "plans-of-class-names",
    }
}

/// The plans of a class for an instance with one implementation of each node.
#[derive(Clone, Debug)]
pub struct ClassFormulation {
    instance: Arc<Instance>,
    rules: Arc<ClassRules>,
}

impl ClassFormulation {
    /// The plans of a class; only the first implementation of a node counts.
    ///
    /// # Errors
    /// [`NoClass`] if the class has no meaning for the instance.
    pub fn new(instance: impl Into<Arc<Instance>>, class: PlanClass) -> Result<Self, NoClass> {
        let instance = instance.into();
        let rules = Arc::new(ClassRules::of(&instance, class)?);
        Ok(ClassFormulation { instance, rules })
    }

    /// The instance.
    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// The rules of the class.
    pub fn rules(&self) -> &Arc<ClassRules> {
        &self.rules
    }

    /// The plan of the class that saves what a schedule keeps behind the last forward readers.
    pub fn projected(&self, schedule: &CheckmateSchedule, budget_bytes: u64) -> CheckmateSchedule {
        let graph = self.graph(budget_bytes);
        let retained = ClassReplay::of(&graph, &schedule.retained.to_bits()).retained();
        CheckmateSchedule::cheapest(&self.instance, retained)
    }

    fn graph(&self, budget_bytes: u64) -> ClassGraph {
        ClassGraph::new(&self.instance, &self.rules, budget_bytes)
    }

    fn landscape(&self, budget_bytes: u64) -> ClassLandscape {
        ClassLandscape::new(self.graph(budget_bytes))
    }
}

impl Formulation for ClassFormulation {
    type Schedule = CheckmateSchedule;
    type Problem<'a> = ClassProblem<'a>;

    fn plain(&self) -> Result<Replay, ReplayError> {
        self.instance.plain_replay(CheckmateGraph::SEMANTICS)
    }

    fn problem<'a>(
        &'a self,
        budget_bytes: u64,
        starts: &'a [CheckmateSchedule],
    ) -> Result<Start<ClassProblem<'a>>, SolveError> {
        start_of(&self.instance, budget_bytes, |everything| ClassProblem {
            formulation: self,
            budget_bytes,
            starts,
            everything,
            landscape: self.landscape(budget_bytes),
        })
    }

    fn heuristic(
        &self,
        budget_bytes: u64,
        bound: u64,
        _: &[CheckmateSchedule],
        _: &Settings,
        _: &Watch<'_>,
    ) -> Result<Heuristic<CheckmateSchedule>, SolveError> {
        let landscape = self.landscape(budget_bytes);
        let found = landscape
            .greedy()
            .map(|(_, retained)| judged(&self.instance, retained));
        Ok(Heuristic::cheapest(bound, found.transpose()?))
    }
}

/// The schedule of retained sets of a class, and its replay.
fn judged(
    instance: &Instance,
    retained: BitMatrix,
) -> Result<(CheckmateSchedule, Replay), ReplayError> {
    let schedule = CheckmateSchedule::cheapest(instance, retained);
    let replay = simulate::checkmate(instance, &schedule)?;
    Ok((schedule, replay))
}

/// The plans of a class within a budget.
pub struct ClassProblem<'a> {
    formulation: &'a ClassFormulation,
    budget_bytes: u64,
    starts: &'a [CheckmateSchedule],
    everything: BitMatrix,
    landscape: ClassLandscape,
}

impl ClassProblem<'_> {
    /// The plan of the class with the decisions of some retained sets, if it fits.
    fn projected(&self, retained: &BitMatrix) -> Option<Found> {
        let replay = ClassReplay::of(&self.landscape.graph, retained);
        (replay.excess == 0.0).then(|| Found {
            cost: replay.cost,
            retained: replay.retained(),
        })
    }
}

impl Problem for ClassProblem<'_> {
    type Landscape = ClassLandscape;
    type Program = CheckmateGraph;
    type Schedule = CheckmateSchedule;

    const THRESHOLDS: &'static [f64] = &[0.25, 0.5];

    fn landscape(&self) -> &ClassLandscape {
        &self.landscape
    }

    fn program(&self) -> Option<Arc<CheckmateGraph>> {
        let ClassFormulation { instance, rules } = self.formulation;
        let graph = CheckmateGraph::new(instance, self.budget_bytes).ok()?;
        Some(Arc::new(graph.with_rules(rules)))
    }

    fn refuted(&self) -> Option<String> {
        let refuted = bound::has_no_way_back(&self.formulation.instance, self.budget_bytes);
        refuted.then(|| {
            format!(
                "no plan fits, of this class or of another: every way back from some node needs more than {} at some step",
                format_bytes(self.budget_bytes)
            )
        })
    }

    fn everything(&self) -> &BitMatrix {
        &self.everything
    }

    fn known(&self, _: &Watch<'_>) -> Vec<Found> {
        let given = self.starts.iter().map(|start| start.retained.to_bits());
        let mut known: Vec<Found> = given.filter_map(|sets| self.projected(&sets)).collect();
        let greedy = self.landscape.greedy();
        known.extend(greedy.map(|(cost, retained)| Found { cost, retained }));
        known
    }

    fn near(&self, program: &CheckmateGraph, point: &IntervalPoint, threshold: f64) -> BitMatrix {
        let rounded = point.rounded(program, threshold);
        ClassReplay::of(&self.landscape.graph, &rounded).retained()
    }

    fn columns(&self, program: &CheckmateGraph, found: &Found) -> Vec<Interval> {
        let instance = &self.formulation.instance;
        let schedule = CheckmateSchedule::cheapest(instance, found.retained.clone());
        Interval::of_schedule(program, &schedule)
    }

    fn judge(&self, found: Found) -> Result<(CheckmateSchedule, Replay), ReplayError> {
        // What the search found may come from sets of several plans.
        let retained = ClassReplay::of(&self.landscape.graph, &found.retained).retained();
        judged(&self.formulation.instance, retained)
    }

    fn plan(&self, schedule: CheckmateSchedule) -> Option<String> {
        let schedule = Schedule::from(schedule);
        let planned = planned(&self.formulation.instance, &schedule, self.budget_bytes).ok()?;
        Some(planned.text())
    }

    fn proof(
        &self,
        graph: &CheckmateGraph,
        tree: &TreeProof<CheckmateGraph>,
    ) -> Option<BoundProof> {
        let instance = &self.formulation.instance;
        Some(tree_proof(instance, self.budget_bytes, graph, tree))
    }
}
