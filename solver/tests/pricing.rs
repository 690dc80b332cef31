//! Branch-price-and-cut on textbook problems, against their compact forms and against enumeration.

#[path = "../examples/textbook/assignment.rs"]
#[allow(dead_code)]
mod assignment;
#[path = "../examples/textbook/colouring.rs"]
#[allow(dead_code)]
mod colouring;
#[path = "../examples/textbook/cutting_stock.rs"]
#[allow(dead_code)]
mod cutting_stock;

use assignment::Assignment;
use colouring::Colouring;
use cutting_stock::CuttingStock;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use remat_lp::{Bounds, ColId, Model, ModelBuilder, Sense};
use remat_solver::mip::{Limits, Settings, SolveStatus, Solver};
use remat_solver::pricing::{
    BranchAndPrice, Branching, Domain, Point, PriceError, PriceInfo, PriceResult, PriceSettings,
    Priced, Pricer, Prices, Progress,
};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

struct Dice(Xoshiro256PlusPlus);

impl Dice {
    fn new(seed: u64) -> Self {
        Dice(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    fn range(&mut self, low: u32, high: u32) -> u32 {
        low + (self.0.next_u64() % u64::from(high - low + 1)) as u32
    }
}

fn random_stock(seed: u64) -> CuttingStock {
    let mut dice = Dice::new(seed);
    let roll = dice.range(20, 60);
    let kinds = dice.range(2, 12);
    let items: Vec<(u32, u32)> = (0..kinds)
        .map(|_| (dice.range(roll / 10 + 1, roll * 3 / 4), dice.range(1, 9)))
        .collect();
    CuttingStock {
        rounding: seed.is_multiple_of(3),
        ..CuttingStock::new(roll, &items)
    }
}

/// Valério de Carvalho's arc-flow model over all positions.
fn arc_flow(stock: &CuttingStock) -> Model {
    let end = stock.roll as usize;
    let mut b = ModelBuilder::new(Sense::Minimise);
    let rolls = b.add_col(1.0, 0.0..=f64::from(stock.enough_rolls()));
    b.set_integer(rolls, true);
    let mut balance: Vec<Vec<(ColId, f64)>> = vec![Vec::new(); end + 1];
    balance[0].push((rolls, -1.0));
    balance[end].push((rolls, 1.0));
    let mut demand: Vec<Vec<(ColId, f64)>> = vec![Vec::new(); stock.widths.len()];
    for from in 0..end {
        let widths = stock.widths.iter().map(|&w| w as usize).chain([1]);
        for (item, width) in widths.enumerate().filter(|e| from + e.1 <= end) {
            let arc = b.add_col(0.0, 0.0..=f64::from(stock.enough_rolls()));
            b.set_integer(arc, true);
            balance[from].push((arc, 1.0));
            balance[from + width].push((arc, -1.0));
            if item < stock.widths.len() {
                demand[item].push((arc, 1.0));
            }
        }
    }
    for row in balance {
        b.add_row(0.0, row);
    }
    for (row, &d) in demand.into_iter().zip(&stock.demands) {
        b.add_row(f64::from(d).., row);
    }
    b.build().unwrap()
}

fn random_assignment(seed: u64, agents: u32, jobs: u32) -> Assignment {
    let mut dice = Dice::new(seed);
    let load: Vec<Vec<u32>> = (0..agents)
        .map(|_| (0..jobs).map(|_| dice.range(5, 25)).collect())
        .collect();
    // From comfortable to too small.
    let share = dice.range(55, 110);
    let capacity = load
        .iter()
        .map(|l| l.iter().sum::<u32>() * share / (100 * agents))
        .collect();
    let cost = (0..agents)
        .map(|_| (0..jobs).map(|_| i64::from(dice.range(10, 50))).collect())
        .collect();
    Assignment {
        cost,
        load,
        capacity,
    }
}

/// Cost falls as load rises and capacities are tight (class D of the literature): these need branching.
fn hard_assignment(seed: u64, agents: u32, jobs: u32) -> Assignment {
    let mut dice = Dice::new(seed);
    let load: Vec<Vec<u32>> = (0..agents)
        .map(|_| (0..jobs).map(|_| dice.range(1, 100)).collect())
        .collect();
    let cost = load
        .iter()
        .map(|l| {
            l.iter()
                .map(|&l| 101 - i64::from(l) + i64::from(dice.range(0, 20)))
                .collect()
        })
        .collect();
    let capacity = load
        .iter()
        .map(|l| l.iter().sum::<u32>() * 8 / (10 * agents))
        .collect();
    Assignment {
        cost,
        load,
        capacity,
    }
}

fn compact_assignment(a: &Assignment) -> Model {
    let mut b = ModelBuilder::new(Sense::Minimise);
    let x: Vec<Vec<ColId>> = a
        .cost
        .iter()
        .map(|row| {
            row.iter()
                .map(|&c| {
                    let x = b.add_col(c as f64, 0.0..=1.0);
                    b.set_integer(x, true);
                    x
                })
                .collect()
        })
        .collect();
    for j in 0..a.jobs() {
        b.add_row(1.0, x.iter().map(|row| (row[j], 1.0)));
    }
    for (row, (load, &capacity)) in x.iter().zip(a.load.iter().zip(&a.capacity)) {
        let entries = row.iter().zip(load).map(|(&x, &l)| (x, f64::from(l)));
        b.add_row(..=f64::from(capacity), entries);
    }
    b.build().unwrap()
}

/// Cheapest assignment by trying all of them.
fn enumerate_assignment(a: &Assignment) -> Option<i64> {
    fn go(a: &Assignment, job: usize, left: &mut [u32]) -> Option<i64> {
        if job == a.jobs() {
            return Some(0);
        }
        let mut best = None;
        for agent in 0..left.len() {
            if a.load[agent][job] <= left[agent] {
                left[agent] -= a.load[agent][job];
                if let Some(rest) = go(a, job + 1, left) {
                    let total = rest + a.cost[agent][job];
                    best = Some(best.map_or(total, |b: i64| b.min(total)));
                }
                left[agent] += a.load[agent][job];
            }
        }
        best
    }
    go(a, 0, &mut a.capacity.clone())
}

/// Optimum of a compact form, `None` if infeasible.
fn compact_optimum(model: Model) -> Option<f64> {
    let result = Solver::new(model, Settings::default()).run().unwrap();
    match result.status {
        SolveStatus::Optimal => result.solution.map(|s| s.objective),
        SolveStatus::Infeasible => None,
        other => panic!("compact form ended with {other:?}"),
    }
}

/// Switches drawn by number, so that every combination of the first six occurs in 64 draws.
fn switches(k: u64) -> PriceSettings {
    let on = |bit: u64| k >> bit & 1 == 1;
    PriceSettings {
        smoothing: if on(0) { 0.7 } else { 0.0 },
        purge_age: if on(1) { 2 } else { 0 },
        heuristics: on(2),
        strong_branching: if on(3) { 5 } else { 0 },
        pool_pricing: on(4),
        columns_per_round: if on(5) { 1 } else { 100 },
        dive_every: 3,
        plunge: 1 + k % 7,
        ..PriceSettings::default()
    }
}

/// Solves, and again with the solution carried along as debug solution; the answers must agree with the reference.
fn verify<D: Domain>(
    domain: &D,
    settings: &PriceSettings,
    optimum: Option<f64>,
    what: &str,
) -> PriceInfo {
    let run = |debug: Option<Vec<(D::Column, f64)>>| -> PriceResult<D::Column> {
        let mut search = BranchAndPrice::new(domain, settings.clone());
        if let Some(d) = debug {
            search = search.with_debug_solution(d);
        }
        search.run().unwrap_or_else(|e| panic!("{what}: {e}"))
    };
    let result = run(None);
    let Some(optimum) = optimum else {
        assert_eq!(result.status, SolveStatus::Infeasible, "{what}");
        assert!(result.bound == f64::INFINITY && result.incumbent.is_none());
        assert!(result.info.infeasible_nodes > 0, "{what}");
        return result.info;
    };
    assert_eq!(result.status, SolveStatus::Optimal, "{what}");
    assert_eq!(result.bound, optimum, "{what}");
    let incumbent = result.incumbent.unwrap();
    assert_eq!(incumbent.objective, optimum, "{what}");
    assert_eq!(domain.check(&incumbent.columns), Some(optimum), "{what}");
    assert!(result.info.root_bound <= optimum, "{what}");
    let again = run(Some(incumbent.columns));
    assert_eq!(again.bound, optimum, "{what}");
    assert_eq!(again.info.nodes, result.info.nodes, "{what}");
    result.info
}

/// Counters over many solves, to be sure that a test exercises what it is about.
#[derive(Default)]
struct Seen {
    solves: u64,
    branched: u64,
    mispricings: u64,
    infeasible: u64,
    pool_columns: u64,
    purged: u64,
    early: u64,
}

impl Seen {
    fn add(&mut self, i: &PriceInfo) {
        self.solves += 1;
        self.branched += u64::from(i.nodes > 1);
        self.mispricings += i.mispricings;
        self.infeasible += i.infeasible_nodes;
        self.pool_columns += i.pool_columns;
        self.purged += i.purged_columns;
        self.early += i.early_prunes;
    }

    fn assert_all(&self) {
        let all = [
            ("mispricings", self.mispricings),
            ("columns from the pool", self.pool_columns),
            ("purged columns", self.purged),
        ];
        for (what, count) in all {
            assert!(count > 0, "no {what} in {} solves", self.solves);
        }
        assert!(
            self.branched * 10 > self.solves,
            "{} branched",
            self.branched
        );
    }
}

#[test]
fn cutting_stock_agrees_with_arc_flow() {
    let mut seen = Seen::default();
    for seed in 0..200 {
        let stock = random_stock(seed);
        let optimum = compact_optimum(arc_flow(&stock));
        assert!(optimum.is_some());
        let info = verify(&stock, &switches(seed), optimum, &format!("seed {seed}"));
        seen.add(&info);
    }
    seen.assert_all();
}

#[test]
fn assignment_agrees_with_the_compact_form() {
    let mut seen = Seen::default();
    for seed in 0..200u64 {
        let (agents, jobs) = (2 + seed as u32 % 5, 4 + (seed as u32 * 7) % 12);
        let a = random_assignment(seed, agents, jobs);
        let optimum = compact_optimum(compact_assignment(&a));
        let info = verify(&a, &switches(seed), optimum, &format!("seed {seed}"));
        seen.add(&info);
    }
    seen.assert_all();
    assert!(seen.infeasible > 20, "{} infeasible nodes", seen.infeasible);
    assert!(seen.early > 10, "{} early prunes", seen.early);
}

#[test]
fn assignment_agrees_with_enumeration() {
    let mut infeasible = 0;
    for seed in 1000..1100u64 {
        let a = random_assignment(seed, 2 + seed as u32 % 3, 3 + seed as u32 % 6);
        let optimum = enumerate_assignment(&a).map(|v| v as f64);
        infeasible += u32::from(optimum.is_none());
        verify(&a, &switches(seed), optimum, &format!("seed {seed}"));
    }
    assert!(infeasible >= 5, "{infeasible} infeasible instances");
}

fn random_graph(seed: u64) -> Colouring {
    let mut dice = Dice::new(seed);
    let n = dice.range(5, 12) as usize;
    let density = dice.range(20, 70);
    let mut adjacent = vec![0u32; n];
    for u in 0..n {
        for v in u + 1..n {
            if dice.range(0, 99) < density {
                adjacent[u] |= 1 << v;
                adjacent[v] |= 1 << u;
            }
        }
    }
    Colouring::new(adjacent)
}

/// Chromatic number by trying colourings, vertex by vertex.
fn chromatic(adjacent: &[u32]) -> usize {
    fn go(adjacent: &[u32], v: usize, classes: &mut Vec<u32>, best: &mut usize) {
        if classes.len() >= *best {
            return;
        }
        if v == adjacent.len() {
            *best = classes.len();
            return;
        }
        for c in 0..=classes.len() {
            if c == classes.len() {
                classes.push(1 << v);
                go(adjacent, v + 1, classes, best);
                classes.pop();
            } else if classes[c] & adjacent[v] == 0 {
                classes[c] |= 1 << v;
                go(adjacent, v + 1, classes, best);
                classes[c] &= !(1 << v);
            }
        }
    }
    let mut best = adjacent.len() + 1;
    go(adjacent, 0, &mut Vec::new(), &mut best);
    best
}

/// Mycielski's graph of a graph: one colour more, no larger clique.
fn mycielski(adjacent: &[u32]) -> Vec<u32> {
    let n = adjacent.len();
    let mut next = vec![0u32; 2 * n + 1];
    for (v, &to) in adjacent.iter().enumerate() {
        next[v] = to | to << n;
        next[n + v] = to | 1 << (2 * n);
        next[2 * n] |= 1 << (n + v);
    }
    next
}

#[test]
fn colouring_with_cuts_and_lazy_rows_agrees_with_enumeration() {
    let (mut cuts, mut branched, mut purged, mut back) = (0, 0, 0, 0);
    let circle = |n: usize| -> Vec<u32> {
        (0..n)
            .map(|v| 1 << ((v + 1) % n) | 1 << ((v + n - 1) % n))
            .collect()
    };
    let known = [circle(5), circle(9), mycielski(&circle(5))];
    let known = known.into_iter().map(Colouring::new);
    let graphs = known.chain((0..60).map(random_graph));
    for (k, mut graph) in graphs.enumerate() {
        let optimum = chromatic(&graph.adjacent) as f64;
        for variant in 0..4 {
            graph.lazy = variant & 1 == 1;
            graph.cuts = variant & 2 == 2;
            let settings = switches(k as u64 * 4 + variant);
            let info = verify(&graph, &settings, Some(optimum), &format!("{k}, {variant}"));
            cuts += if graph.lazy { 0 } else { info.separated_rows };
            branched += u64::from(info.nodes > 1);
            purged += info.purged_rows;
            back += info.pool_rows;
        }
    }
    assert!(
        cuts > 0 && branched > 10,
        "{cuts} cuts, {branched} branched"
    );
    assert!(purged > 0 && back > 0, "{purged} rows purged, {back} back");
}

#[test]
fn smoothing_purging_and_pools_leave_the_optimum_as_it_is() {
    for seed in 20..23 {
        let a = hard_assignment(seed, 4, 16);
        let optimum = compact_optimum(compact_assignment(&a));
        for (smoothing, purge_age, pool_pricing) in [
            (0.0, 0, false),
            (0.0, 1, true),
            (0.5, 0, true),
            (0.9, 1, false),
            (0.5, 3, true),
        ] {
            let settings = PriceSettings {
                smoothing,
                purge_age,
                pool_pricing,
                ..PriceSettings::default()
            };
            let info = verify(&a, &settings, optimum, &format!("seed {seed}"));
            assert_eq!(info.purged_columns > 0, purge_age > 0);
            assert_eq!(info.mispricings > 0, smoothing > 0.0);
        }
    }
}

#[test]
fn threads_do_not_change_the_tree() {
    let mut rounds = 0;
    for seed in 0..5 {
        let a = hard_assignment(seed, 5, 20);
        let run = |threads| {
            let settings = PriceSettings {
                threads,
                plunge: 2,
                strong_branching: 0,
                heuristics: seed % 2 == 0,
                ..PriceSettings::default()
            };
            let mut result = BranchAndPrice::new(&a, settings).run().unwrap();
            result.info.seconds = 0.0;
            result
        };
        let one = run(1);
        rounds += one.info.nodes;
        assert_eq!(one, run(2), "seed {seed}");
        assert_eq!(one, run(8), "seed {seed}");
    }
    assert!(rounds > 40, "{rounds} nodes");
}

#[test]
fn an_item_wider_than_the_roll_is_proven_impossible() {
    let stock = CuttingStock::new(10, &[(4, 3), (11, 1)]);
    let info = verify(&stock, &PriceSettings::default(), None, "too wide");
    assert_eq!(info.nodes, 1);
    assert!(info.farkas_pricings > 0);
}

#[test]
fn limits_leave_a_bound_and_starts_are_taken() {
    let a = random_assignment(21, 6, 15);
    let full = BranchAndPrice::new(&a, PriceSettings::default())
        .run()
        .unwrap();
    let best = full.incumbent.unwrap();
    let settings = PriceSettings {
        heuristics: false,
        limits: Limits {
            nodes: Some(1),
            ..Limits::default()
        },
        ..PriceSettings::default()
    };
    let cut_short = BranchAndPrice::new(&a, settings.clone())
        .with_start(best.columns.clone())
        .run()
        .unwrap();
    assert_eq!(cut_short.incumbent.unwrap().objective, best.objective);
    assert!(cut_short.bound <= best.objective);
    // Asked to stop before it begins: nothing is known, nothing is claimed.
    let settings = PriceSettings {
        limits: Limits {
            interrupt: Some(Arc::new(AtomicBool::new(true))),
            ..Limits::default()
        },
        ..settings
    };
    let stopped = BranchAndPrice::new(&a, settings).run().unwrap();
    assert!(stopped.bound <= best.objective);
    assert!(stopped.status != SolveStatus::Infeasible);
    // Only what is better than the optimum is wanted: there is nothing, and that is what the bound says.
    let settings = PriceSettings {
        cutoff: Some(best.objective),
        ..PriceSettings::default()
    };
    let none = BranchAndPrice::new(&a, settings).run().unwrap();
    assert_eq!(none.status, SolveStatus::Infeasible);
    assert!(none.incumbent.is_none() && none.bound == best.objective);
}

/// An assignment problem that lies about its bounds, hears of solutions, and takes notes.
struct Told {
    inner: Assignment,
    lie: f64,
    incoming: Vec<(assignment::JobSet, f64)>,
    notes: Mutex<Vec<Progress>>,
}

impl Pricer for Told {
    type Column = assignment::JobSet;
    type Row = assignment::Row;
    fn cost(&self, column: &Self::Column) -> f64 {
        self.inner.cost(column)
    }
    fn row_bounds(&self, row: &Self::Row) -> Bounds {
        self.inner.row_bounds(row)
    }
    fn coefficient(&self, row: &Self::Row, column: &Self::Column) -> f64 {
        self.inner.coefficient(row, column)
    }
    fn price(&self, prices: &Prices<'_, Self::Row>) -> Priced<Self::Column> {
        self.inner.price(prices)
    }
    fn bound(&self, prices: &Prices<'_, Self::Row>) -> f64 {
        self.inner.bound(prices) + self.lie
    }
}

impl Domain for Told {
    fn rows(&self) -> Vec<Self::Row> {
        self.inner.rows()
    }
    fn branch(&self, point: &Point<'_, Self>) -> Vec<Branching<Self::Row>> {
        let Point {
            columns,
            branchings,
            objective,
            bound,
            incumbent,
            depth,
        } = *point;
        self.inner.branch(&Point {
            columns,
            branchings,
            objective,
            bound,
            incumbent,
            depth,
        })
    }
    fn check(&self, columns: &[(Self::Column, f64)]) -> Option<f64> {
        self.inner.check(columns)
    }
    fn incoming(&self) -> Vec<Vec<(Self::Column, f64)>> {
        // Not a solution, and one.
        vec![Vec::new(), self.incoming.clone()]
    }
    fn progress(&self, progress: &Progress) {
        self.notes.lock().unwrap().push(*progress);
    }
}

#[test]
fn the_debug_solution_tells_a_wrong_bound() {
    let a = random_assignment(21, 6, 15);
    let honest = BranchAndPrice::new(&a, PriceSettings::default())
        .run()
        .unwrap();
    let columns = honest.incumbent.unwrap().columns;
    let liar = Told {
        inner: a,
        lie: 30.0,
        incoming: Vec::new(),
        notes: Mutex::default(),
    };
    let end = BranchAndPrice::new(&liar, PriceSettings::default())
        .with_debug_solution(columns)
        .run();
    assert!(matches!(end, Err(PriceError::DebugSolution { .. })));
}

#[test]
fn solutions_from_elsewhere_are_taken_and_progress_is_told() {
    let a = hard_assignment(3, 5, 20);
    let best = BranchAndPrice::new(&a, PriceSettings::default())
        .run()
        .unwrap()
        .incumbent
        .unwrap();
    let told = Told {
        inner: a,
        lie: 0.0,
        incoming: best.columns.clone(),
        notes: Mutex::default(),
    };
    let settings = PriceSettings {
        heuristics: false,
        plunge: 1,
        ..PriceSettings::default()
    };
    let result = BranchAndPrice::new(&told, settings).run().unwrap();
    assert_eq!(result.status, SolveStatus::Optimal);
    assert_eq!(result.incumbent.unwrap().objective, best.objective);
    assert!((result.bound - best.objective).abs() <= 1e-6 * best.objective);
    let notes = told.notes.into_inner().unwrap();
    assert_eq!(notes[0].incumbent, best.objective);
    assert!(notes.len() > 2 && notes.is_sorted_by(|p, q| p.bound <= q.bound));
    assert!(notes.iter().all(|p| p.bound <= best.objective));
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let stock = CuttingStock::new(10, &[(4, 3)]);
    let settings = PriceSettings {
        smoothing: 1.0,
        ..PriceSettings::default()
    };
    let end = BranchAndPrice::new(&stock, settings).run();
    let name = "smoothing";
    assert!(matches!(end, Err(PriceError::Setting { name: n, .. }) if n == name));
}
