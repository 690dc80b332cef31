//! Inner problems, each solved once for equal graphs.

use crate::knapsack;
use remat_formulations::solve::Solve;
use remat_formulations::{AnyFormulation, Budget, Settings};
use remat_instances::Semantics;
use remat_instances::instance::{Instance, InstanceData, NodeId, StructureError};
use remat_instances::plan::Plan;
use remat_search::{Listener, SolveError};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// One inner problem: a stage with a number of micro-batches in flight and a capacity.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    /// Graph of the stage: its place in [`Classes::graphs`].
    graph: usize,
    pub in_flight: u32,
    /// Memory without fixed memory, in bytes.
    pub capacity_bytes: u64,
    /// A lower bound on the cost; `None` if no plan fits.
    pub lower: Option<u64>,
    /// The cheapest plan so far with its cost.
    pub best: Option<(u64, Plan)>,
    /// Solves so far.
    pub solves: usize,
}

impl Class {
    /// Returns whether bound and plan differ by more than a relative gap.
    pub fn is_open(&self, gap: f64) -> bool {
        match (self.lower, &self.best) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(lower), Some((cost, _))) => remat_search::relative_gap(*cost, lower) > gap,
        }
    }
}

/// Answer of a solve of a class.
#[derive(Debug)]
pub(crate) struct Answer {
    pub lower: Option<u64>,
    pub best: Option<(u64, Plan)>,
    pub nodes: u64,
    pub lp_iterations: u64,
}

/// All inner problems so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Classes {
    /// Distinct graphs, without names, fixed memory and other micro-batches.
    graphs: Vec<Instance>,
    /// Graphs by the hash of their content.
    by_content: HashMap<u64, Vec<usize>>,
    by_key: HashMap<(usize, u32, u64), usize>,
    pub all: Vec<Class>,
    /// Classes of each graph.
    of_graph: Vec<Vec<usize>>,
}

impl Classes {
    /// The place of a graph, which is new if no equal one is known.
    pub fn graph(&mut self, graph: Instance) -> usize {
        let known = self.by_content.entry(content(&graph)).or_default();
        if let Some(&same) = known.iter().find(|&&g| self.graphs[g] == graph) {
            return same;
        }
        known.push(self.graphs.len());
        self.graphs.push(graph);
        self.of_graph.push(Vec::new());
        self.graphs.len() - 1
    }

    /// The class of a graph, which is new if it is not known. Begins with the knapsack's bound and
    /// with bounds and plans of other classes of the same graph.
    pub fn class(
        &mut self,
        graph: usize,
        in_flight: u32,
        capacity_bytes: u64,
    ) -> Result<usize, StructureError> {
        let key = (graph, in_flight, capacity_bytes);
        if let Some(&known) = self.by_key.get(&key) {
            return Ok(known);
        }
        let of = several(&self.graphs[graph], in_flight)?;
        let own = self.all.len();
        self.all.push(Class {
            graph,
            in_flight: of.in_flight(),
            capacity_bytes,
            lower: knapsack::bound(&of, capacity_bytes),
            best: None,
            solves: 0,
        });
        self.by_key.insert(key, own);
        for other in self.of_graph[graph].clone() {
            self.learn(own, other);
        }
        self.of_graph[graph].push(own);
        Ok(own)
    }

    /// The graph of a class with its micro-batches in flight.
    pub fn instance(&self, class: usize) -> Result<Instance, StructureError> {
        let class = &self.all[class];
        several(&self.graphs[class.graph], class.in_flight)
    }

    /// Takes over an answer, and hands it on to the classes of the same graph. Returns the classes
    /// that changed.
    pub fn take(&mut self, class: usize, answer: Answer) -> Vec<usize> {
        let own = &mut self.all[class];
        own.solves += 1;
        improve(own, answer.lower, answer.best.as_ref());
        let others = self.of_graph[self.all[class].graph].clone();
        let mut changed = vec![class];
        for other in others {
            if other != class && self.learn(other, class) {
                changed.push(other);
            }
        }
        changed
    }

    /// A plan for more micro-batches in flight and less memory fits a class with fewer and with
    /// more; a bound for fewer and with more memory holds for a class with more and with less.
    fn learn(&mut self, class: usize, from: usize) -> bool {
        let (to, of) = (&self.all[class], &self.all[from]);
        let harder = of.in_flight >= to.in_flight && of.capacity_bytes <= to.capacity_bytes;
        let easier = of.in_flight <= to.in_flight && of.capacity_bytes >= to.capacity_bytes;
        let best = of.best.clone().filter(|_| harder);
        let lower = match easier {
            true => of.lower,
            false => to.lower,
        };
        improve(&mut self.all[class], lower, best.as_ref())
    }
}

/// Raises a bound and replaces a dearer plan; returns whether one of them changed.
fn improve(class: &mut Class, lower: Option<u64>, best: Option<&(u64, Plan)>) -> bool {
    let mut changed = false;
    if let Some(known) = class.lower
        && lower.is_none_or(|lower| lower > known)
    {
        class.lower = lower;
        changed = true;
    }
    if let Some((cost, _)) = best
        && class.best.as_ref().is_none_or(|(known, _)| cost < known)
    {
        class.best = best.cloned();
        changed = true;
    }
    changed
}

/// Solves an inner problem.
///
/// # Errors
/// [`SolveError`] of the search.
pub(crate) fn solved(
    graph: &Instance,
    capacity_bytes: u64,
    settings: Settings,
    listener: &dyn Listener,
) -> Result<Answer, SolveError> {
    let formulation = AnyFormulation::of(graph, Semantics::Checkmate)?;
    let solve = Solve::of(formulation, Budget::Bytes(capacity_bytes)).settings(settings);
    let solution = solve.listener(listener).run()?;
    let best = solution.document().zip(solution.cost());
    Ok(Answer {
        lower: match solution.infeasible_because {
            Some(_) => None,
            None => Some(solution.bound),
        },
        best: best.map(|(document, cost)| (cost, document.plan.clone())),
        nodes: solution.nodes,
        lp_iterations: solution.lp_iterations,
    })
}

/// A graph with several micro-batches in flight; a graph without backward nodes has one.
fn several(graph: &Instance, in_flight: u32) -> Result<Instance, StructureError> {
    let trains = graph.nodes().iter().any(|node| node.is_backward());
    graph.with_in_flight(if trains { in_flight } else { 1 })
}

/// Hash of costs, sizes and edges.
fn content(graph: &Instance) -> u64 {
    let InstanceData { nodes, .. } = graph.data();
    let mut hasher = DefaultHasher::new();
    for node in nodes {
        let way = &node.implementations[0];
        (way.cost, way.recompute_cost, node.output_bytes).hash(&mut hasher);
        (way.workspace_bytes, way.recompute_workspace_bytes).hash(&mut hasher);
        (node.once, node.is_backward()).hash(&mut hasher);
        let needs = way.needs.iter().map(|need: &NodeId| need.0);
        needs.collect::<Vec<u32>>().hash(&mut hasher);
        node.ends.iter().for_each(|end| end.0.hash(&mut hasher));
    }
    hasher.finish()
}
