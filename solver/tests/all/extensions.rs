//! Tests of the extension traits: lazy rows, branching on expressions, heuristics, propagators,
//! selectors.

use remat_lp::{Bounds, ColId, Model, ModelBuilder, Sense};
use remat_solver::mip::{
    BranchingRule, Control, CutSink, Decision, Heuristic, IntegerExpressions, NodeSelector,
    NodeSummary, NodeView, Observer, OrderedGroups, Propagator, Separator, Settings, Solution,
    SolutionSink, SolveStatus, Solver,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Cities at pseudo-random places; columns are the edges (i < j).
struct Tour {
    n: usize,
    edges: Vec<(usize, usize)>,
    length: Vec<f64>,
}

impl Tour {
    fn new(n: usize, seed: u64) -> Tour {
        let place = |k: usize| {
            let h = (k as u64 + 1 + seed * 1000).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            ((h >> 40) % 1000, (h >> 20) % 1000)
        };
        let mut edges = Vec::new();
        let mut length = Vec::new();
        for i in 0..n {
            for j in i + 1..n {
                let (a, b) = (place(i), place(j));
                let d = (a.0 as f64 - b.0 as f64).hypot(a.1 as f64 - b.1 as f64);
                edges.push((i, j));
                length.push(d.round());
            }
        }
        Tour { n, edges, length }
    }

    /// A model with degree rows only: the subtour rows are left to the separator.
    fn model(&self) -> Model {
        let mut b = ModelBuilder::new(Sense::Minimise);
        for &d in &self.length {
            let c = b.add_col(d, 0.0..=1.0);
            b.set_integer(c, true);
        }
        for city in 0..self.n {
            let at = |e: &(usize, &(usize, usize))| e.1.0 == city || e.1.1 == city;
            let row: Vec<_> = self
                .edges
                .iter()
                .enumerate()
                .filter(at)
                .map(|(k, _)| (ColId(k as u32), 1.0))
                .collect();
            b.add_row(2.0, row);
        }
        b.build().unwrap()
    }

    /// Shortest tour by dynamic programming (Held & Karp 1962).
    fn shortest(&self) -> f64 {
        let n = self.n;
        let mut d = vec![vec![0.0; n]; n];
        for (&(i, j), &l) in self.edges.iter().zip(&self.length) {
            d[i][j] = l;
            d[j][i] = l;
        }
        let full = 1usize << (n - 1);
        let mut best = vec![vec![f64::INFINITY; n - 1]; full];
        for k in 0..n - 1 {
            best[1 << k][k] = d[n - 1][k];
        }
        for set in 1..full {
            for last in (0..n - 1).filter(|k| set & (1 << k) != 0) {
                for next in (0..n - 1).filter(|k| set & (1 << k) == 0) {
                    let v = best[set][last] + d[last][next];
                    let to = &mut best[set | (1 << next)][next];
                    *to = to.min(v);
                }
            }
        }
        (0..n - 1)
            .map(|k| best[full - 1][k] + d[k][n - 1])
            .fold(f64::INFINITY, f64::min)
    }
}

/// Subtour rows of the connected components of the support.
struct Subtours(Arc<Tour>);

impl Separator for Subtours {
    fn separate(&self, node: &NodeView<'_>, sink: &mut CutSink) {
        let t = &self.0;
        let mut group: Vec<usize> = (0..t.n).collect();
        loop {
            let mut moved = false;
            for (k, &(i, j)) in t.edges.iter().enumerate() {
                if node.x[k] > 1e-6 && group[i] != group[j] {
                    let g = group[i].min(group[j]);
                    (group[i], group[j]) = (g, g);
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        for g in 0..t.n {
            let size = group.iter().filter(|&&h| h == g).count();
            if size == 0 || size == t.n {
                continue;
            }
            let inside = t
                .edges
                .iter()
                .enumerate()
                .filter(|(_, e)| group[e.0] == g && group[e.1] == g);
            sink.add(
                ..=size as f64 - 1.0,
                inside.map(|(k, _)| (ColId(k as u32), 1.0)),
            );
        }
    }

    fn is_lazy(&self) -> bool {
        true
    }
}

#[test]
fn lazy_subtour_rows_give_shortest_tours() {
    for seed in 0..6 {
        let tour = Arc::new(Tour::new(9, seed));
        for threads in [1, 2] {
            let settings = Settings {
                threads,
                ..Settings::default()
            };
            let r = Solver::new(tour.model(), settings)
                .with_separator(Arc::new(Subtours(tour.clone())))
                .run()
                .unwrap();
            assert_eq!(r.status, SolveStatus::Optimal);
            assert_eq!(
                r.solution.unwrap().objective,
                tour.shortest(),
                "seed {seed}"
            );
        }
    }
}

/// A knapsack whose profits and weights are odd multiples, so that it needs branching.
fn knapsack(n: u64) -> Model {
    let mut b = ModelBuilder::new(Sense::Maximise);
    let mut entries = Vec::new();
    for k in 0..n {
        let w = 15 + (k * 7) % 23;
        let c = b.add_col((w + 3 + k % 5) as f64, 0.0..=1.0);
        b.set_integer(c, true);
        entries.push((c, w as f64));
    }
    let half = (entries.iter().map(|e| e.1).sum::<f64>() / 2.0).floor();
    b.add_row(..=half, entries);
    b.build().unwrap()
}

fn plain() -> Settings {
    Settings {
        cuts: false,
        heuristics: false,
        presolve: false,
        ..Settings::default()
    }
}

/// Branches on the number of chosen items first.
struct Count(AtomicU64);

impl BranchingRule for Count {
    fn branch(&self, node: &NodeView<'_>) -> Option<Vec<Decision>> {
        let count: f64 = node.x.iter().sum();
        if (count - count.round()).abs() < 1e-6 {
            return None;
        }
        self.0.fetch_add(1, Ordering::Relaxed);
        let all: Vec<_> = (0..node.x.len() as u32).map(|j| (ColId(j), 1.0)).collect();
        Some(Decision::split_expression(&all, count))
    }
}

struct Greedy(AtomicU64);

impl Heuristic for Greedy {
    fn name(&self) -> &'static str {
        "nothing"
    }

    fn run(&self, node: &NodeView<'_>, _budget: u64, sink: &mut SolutionSink) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed);
        // A feasible point and an infeasible one, which must be refused.
        sink.add(vec![0.0; node.x.len()]);
        sink.add(vec![1.0; node.x.len()]);
        node.x.len() as u64
    }
}

/// Fixes item 0 at 0.
struct Without;

impl Propagator for Without {
    fn propagate(&self, _lower: &[f64], upper: &[f64]) -> Vec<(ColId, Bounds)> {
        if upper[0] > 0.0 {
            vec![(ColId(0), Bounds::new(0.0, 0.0))]
        } else {
            Vec::new()
        }
    }
}

struct Youngest;

impl NodeSelector for Youngest {
    fn key(&self, node: &NodeSummary) -> f64 {
        -(node.id as f64)
    }
}

#[test]
fn branching_on_an_expression_and_another_selector_keep_the_optimum() {
    let model = knapsack(16);
    let best = Solver::new(model.clone(), plain())
        .run()
        .unwrap()
        .solution
        .unwrap()
        .objective;
    let rule = Arc::new(Count(AtomicU64::new(0)));
    let r = Solver::new(model.clone(), plain())
        .with_branching(rule.clone())
        .with_selector(Arc::new(Youngest))
        .run()
        .unwrap();
    assert_eq!(r.status, SolveStatus::Optimal);
    assert_eq!(r.solution.unwrap().objective, best);
    assert!(rule.0.load(Ordering::Relaxed) > 0);
}

#[test]
fn a_propagator_excludes_and_a_heuristic_is_not_believed() {
    let model = knapsack(12);
    let heuristic = Arc::new(Greedy(AtomicU64::new(0)));
    let r = Solver::new(model.clone(), plain())
        .with_propagator(Arc::new(Without))
        .with_heuristic(heuristic.clone())
        .run()
        .unwrap();
    let s = r.solution.unwrap();
    assert_eq!(s.x[0], 0.0);
    assert!(heuristic.0.load(Ordering::Relaxed) > 0 && r.info.refused > 0);
    // The same program with the column fixed in the model.
    let mut lp = remat_lp::Solver::new(model, Default::default());
    lp.set_col_bounds(ColId(0), 0.0).unwrap();
    let fixed = Solver::new(lp.model().clone(), plain()).run().unwrap();
    assert_eq!(fixed.solution.unwrap().objective, s.objective);
}

/// Jobs that start in one of several slots, with a capacity in every slot: `x[job][slot]`, by
/// columns.
fn slots(jobs: usize, slots: usize, continuous_load: bool) -> (Model, Vec<Vec<(ColId, f64)>>) {
    let mut b = ModelBuilder::new(Sense::Minimise);
    let mut groups = Vec::new();
    for j in 0..jobs {
        let group: Vec<(ColId, f64)> = (0..slots)
            .map(|t| {
                let cost = ((j * 5 + t * t * 3 + j * t) % 17 + t) as f64;
                let c = b.add_col(cost, 0.0..=1.0);
                b.set_integer(c, true);
                (c, t as f64)
            })
            .collect();
        b.add_row(1.0..=1.0, group.iter().map(|g| (g.0, 1.0)));
        groups.push(group);
    }
    for t in 0..slots {
        let load = |(j, g): (usize, &Vec<(ColId, f64)>)| (g[t].0, (3 + (j * 7) % 5) as f64);
        let mut entries: Vec<(ColId, f64)> = groups.iter().enumerate().map(load).collect();
        if continuous_load {
            entries.push((b.add_col(1.5, 0.0..=2.0), -1.0));
        }
        b.add_row(..=9.0, entries);
    }
    (b.build().unwrap(), groups)
}

/// Counts the children of a rule.
struct Counted<R>(R, AtomicU64);

impl<R: BranchingRule> BranchingRule for Counted<R> {
    fn branch(&self, node: &NodeView<'_>) -> Option<Vec<Decision>> {
        let children = self.0.branch(node)?;
        self.1.fetch_add(children.len() as u64, Ordering::Relaxed);
        Some(children)
    }
}

#[test]
fn ordered_groups_and_expressions_reach_the_optimum_of_columns() {
    for (jobs, times, load) in [(7, 5, false), (9, 5, true), (10, 6, true)] {
        let (model, groups) = slots(jobs, times, load);
        let solve = |settings: Settings| Solver::new(model.clone(), settings);
        let plain_run = solve(plain()).run().unwrap();
        assert_eq!(plain_run.status, SolveStatus::Optimal);
        let best = plain_run.solution.unwrap().objective;
        let by_group = Arc::new(Counted(
            OrderedGroups::new(groups.clone()),
            AtomicU64::new(0),
        ));
        // The position of a job, and the number of early jobs.
        let mut expressions = groups.clone();
        let early = |g: &Vec<(ColId, f64)>| (g[0].0, 1.0);
        expressions.push(groups.iter().map(early).collect());
        let by_value = Arc::new(Counted(
            IntegerExpressions::new(expressions),
            AtomicU64::new(0),
        ));
        for threads in [1, 2] {
            let settings = Settings { threads, ..plain() };
            let a = solve(settings.clone()).with_branching(by_group.clone());
            let b = solve(settings).with_branching(by_value.clone());
            for run in [a, b] {
                let r = run.run().unwrap();
                assert_eq!(r.status, SolveStatus::Optimal);
                assert!((r.solution.unwrap().objective - best).abs() < 1e-6);
                assert!((r.dual_bound - best).abs() < 1e-5);
            }
        }
        assert!(by_group.1.load(Ordering::Relaxed) > 0, "{jobs} jobs");
        assert!(by_value.1.load(Ordering::Relaxed) > 0, "{jobs} jobs");
    }
}

#[test]
fn groups_of_continuous_columns_are_split_by_rows() {
    let columns: Vec<ColId> = (0..4).map(ColId).collect();
    let children = Decision::split_group(&columns, 1, &[true, false, true, false]);
    assert_eq!(children.len(), 2);
    let zero = Bounds::new(0.0, 0.0);
    assert_eq!(children[0].bounds, [(ColId(2), zero)]);
    assert_eq!(children[0].rows, [(vec![(ColId(3), 1.0)], zero)]);
    assert_eq!(children[1].bounds, [(ColId(0), zero)]);
    assert_eq!(children[1].rows, [(vec![(ColId(1), 1.0)], zero)]);
}

/// Objectives reported to an observer, and their number at every branching.
#[derive(Default)]
struct Told {
    objectives: Mutex<Vec<f64>>,
    at_branchings: Mutex<Vec<usize>>,
}

impl Observer for Told {
    fn incumbent(&self, solution: &Solution) {
        self.objectives.lock().unwrap().push(solution.objective);
    }
}

impl BranchingRule for Told {
    fn branch(&self, _node: &NodeView<'_>) -> Option<Vec<Decision>> {
        let told = self.objectives.lock().unwrap().len();
        self.at_branchings.lock().unwrap().push(told);
        None
    }
}

#[test]
fn a_solution_is_told_of_once_and_as_soon_as_it_is_found_at_the_root() {
    for threads in [1, 2, 4] {
        let told = Arc::new(Told::default());
        let settings = Settings { threads, ..plain() };
        let result = Solver::new(knapsack(14), settings)
            .with_heuristic(Arc::new(Greedy(AtomicU64::new(0))))
            .with_branching(told.clone())
            .with_control(Control {
                observers: vec![told.clone()],
                ..Control::default()
            })
            .run()
            .unwrap();
        // The heuristic's point must come before the root is split.
        assert!(told.at_branchings.lock().unwrap()[0] >= 1, "{threads}");
        let objectives = told.objectives.lock().unwrap();
        assert_eq!(objectives[0], 0.0);
        assert!(objectives.windows(2).all(|w| w[0] < w[1]), "{objectives:?}");
        assert_eq!(
            *objectives.last().unwrap(),
            result.solution.unwrap().objective
        );
    }
}
