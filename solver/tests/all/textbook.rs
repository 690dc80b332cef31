//! Branch, price and cut on textbook problems: known optima, compact models through `mip`,
//! enumeration.

#[path = "../../examples/textbook/assignment.rs"]
#[allow(dead_code)]
mod assignment;
#[path = "../../examples/textbook/colouring.rs"]
#[allow(dead_code)]
mod colouring;
#[path = "../../examples/textbook/cutting_stock.rs"]
#[allow(dead_code)]
mod cutting_stock;
#[path = "../../examples/textbook/random.rs"]
#[allow(dead_code)]
mod random;

use assignment::Assignment;
use colouring::Colouring;
use cutting_stock::CuttingStock;
use remat_lp::random::SplitMix64;
use remat_lp::{ColId, Model, ModelBuilder, Sense};
use remat_solver::mip::{Settings, SolveStatus, Solver};
use remat_solver::price::{Rounding, SolveSettings, Solved, TreeEnd, solve};
use std::sync::Arc;

/// Settings in which every switch occurs both ways.
fn switched(k: u64) -> SolveSettings {
    let on = |bit: u64| k >> bit & 1 == 1;
    let mut settings = SolveSettings::default();
    settings.root.purge_age = if on(0) { 2 } else { 0 };
    settings.root.columns_per_block = if on(1) { 4 } else { 1 };
    settings.tree.dive_every = if on(2) { 3 } else { 0 };
    settings.tree.strong_candidates = if on(3) { 5 } else { 1 };
    settings.tree.node_cut_rounds = if on(4) { 3 } else { 0 };
    settings.tree.lanes = 1 + k as usize % 3;
    settings
}

/// Solves. The answer must equal the reference, and the program must accept the solution.
fn verify<P: Rounding>(
    program: &P,
    settings: &SolveSettings,
    optimum: Option<u64>,
    what: &str,
) -> Solved<P> {
    let solved = solve(Arc::new(program.clone()), settings, Vec::new()).unwrap();
    let Some(optimum) = optimum else {
        assert_eq!(solved.tree.end, TreeEnd::Infeasible, "{what}");
        assert!(solved.best.is_none(), "{what}");
        return solved;
    };
    assert_eq!(
        (solved.tree.end, solved.tree.bound),
        (TreeEnd::Closed, optimum),
        "{what}"
    );
    let (cost, columns) = solved.best.as_ref().unwrap();
    assert_eq!(*cost, optimum, "{what}");
    assert_eq!(program.cost_if_feasible(columns), Some(optimum), "{what}");
    assert!(solved.tree.root_bound <= optimum, "{what}");
    solved
}

/// Optimum of a compact form by the general search; `None` if it is infeasible.
fn compact_optimum(model: Model) -> Option<u64> {
    let result = Solver::new(model, Settings::default()).run().unwrap();
    match result.status {
        SolveStatus::Optimal => result.solution.map(|s| s.objective.round() as u64),
        SolveStatus::Infeasible => None,
        other => panic!("compact form ended with {other:?}"),
    }
}

fn binary(b: &mut ModelBuilder, cost: f64) -> ColId {
    let column = b.add_col(cost, 0.0..=1.0);
    b.set_integer(column, true);
    column
}

/// Valério de Carvalho's arc-flow model over all positions.
fn arc_flow(stock: &CuttingStock) -> Model {
    let rolls_limit = f64::from(stock.enough_rolls());
    let mut b = ModelBuilder::new(Sense::Minimise);
    let mut count = |cost: f64| {
        let column = b.add_col(cost, 0.0..=rolls_limit);
        b.set_integer(column, true);
        column
    };
    let rolls = count(1.0);
    let end = stock.roll;
    let mut balance: Vec<Vec<(ColId, f64)>> = vec![Vec::new(); end + 1];
    balance[0].push((rolls, -1.0));
    balance[end].push((rolls, 1.0));
    let mut demand: Vec<Vec<(ColId, f64)>> = vec![Vec::new(); stock.widths.len()];
    for from in 0..end {
        let widths = stock.widths.iter().copied().chain([1]);
        for (item, width) in widths.enumerate().filter(|e| from + e.1 <= end) {
            let arc = count(0.0);
            balance[from].push((arc, 1.0));
            balance[from + width].push((arc, -1.0));
            if let Some(demand) = demand.get_mut(item) {
                demand.push((arc, 1.0));
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

fn compact_assignment(a: &Assignment) -> Model {
    let mut b = ModelBuilder::new(Sense::Minimise);
    let mut agent = |costs: &Vec<u64>| -> Vec<ColId> {
        costs.iter().map(|&c| binary(&mut b, c as f64)).collect()
    };
    let x: Vec<Vec<ColId>> = a.cost.iter().map(&mut agent).collect();
    for j in 0..a.jobs() {
        b.add_row(1.0, x.iter().map(|row| (row[j], 1.0)));
    }
    for (row, (load, &capacity)) in x.iter().zip(a.load.iter().zip(&a.capacity)) {
        let entries = row.iter().zip(load).map(|(&x, &l)| (x, f64::from(l)));
        b.add_row(..=f64::from(capacity), entries);
    }
    b.build().unwrap()
}

/// A model with a colour for each vertex; colours are used in order.
fn compact_colouring(graph: &Colouring) -> Model {
    let n = graph.adjacent.len();
    let mut b = ModelBuilder::new(Sense::Minimise);
    let used: Vec<ColId> = (0..n).map(|_| binary(&mut b, 1.0)).collect();
    let mut vertex = |_| -> Vec<ColId> { (0..n).map(|_| binary(&mut b, 0.0)).collect() };
    let x: Vec<Vec<ColId>> = (0..n).map(&mut vertex).collect();
    for v in 0..n {
        b.add_row(1.0, x[v].iter().map(|&x| (x, 1.0)));
        for u in (0..v).filter(|u| graph.adjacent[v] >> u & 1 == 1) {
            for c in 0..n {
                b.add_row(..=0.0, [(x[u][c], 1.0), (x[v][c], 1.0), (used[c], -1.0)]);
            }
        }
        for c in 0..n {
            b.add_row(..=0.0, [(x[v][c], 1.0), (used[c], -1.0)]);
        }
    }
    for pair in used.windows(2) {
        b.add_row(..=0.0, [(pair[1], 1.0), (pair[0], -1.0)]);
    }
    b.build().unwrap()
}

/// Cheapest assignment, by enumeration.
fn enumerate_assignment(a: &Assignment) -> Option<u64> {
    fn go(a: &Assignment, job: usize, left: &mut [u32]) -> Option<u64> {
        if job == a.jobs() {
            return Some(0);
        }
        let mut best: Option<u64> = None;
        for agent in 0..left.len() {
            if a.load[agent][job] <= left[agent] {
                left[agent] -= a.load[agent][job];
                if let Some(others) = go(a, job + 1, left) {
                    let total = others + a.cost[agent][job];
                    best = Some(best.map_or(total, |b| b.min(total)));
                }
                left[agent] += a.load[agent][job];
            }
        }
        best
    }
    go(a, 0, &mut a.capacity.clone())
}

/// A random assignment problem with capacities from ample to too small.
fn random_assignment(seed: u64, agents: usize, jobs: usize) -> Assignment {
    let mut random = SplitMix64::new(seed);
    let mut table = |least: usize, most: usize| -> Vec<Vec<u32>> {
        let mut agent = |_| {
            let number = |_| (least + random.below(most - least + 1)) as u32;
            (0..jobs).map(number).collect()
        };
        (0..agents).map(&mut agent).collect()
    };
    let (load, cost) = (table(5, 25), table(10, 50));
    let share = 55 + seed as u32 * 7 % 56;
    let capacity = |l: &Vec<u32>| l.iter().sum::<u32>() * share / (100 * agents as u32);
    let costs = |c: &Vec<u32>| c.iter().map(|&c| c.into()).collect();
    Assignment {
        cost: cost.iter().map(costs).collect(),
        capacity: load.iter().map(capacity).collect(),
        load,
    }
}

/// Mycielski's construction on a graph: one more colour, but no larger clique.
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

fn circle(n: usize) -> Vec<u32> {
    let neighbours = |v| 1u32 << ((v + 1) % n) | 1u32 << ((v + n - 1) % n);
    (0..n).map(neighbours).collect()
}

#[test]
fn cutting_stock_agrees_with_the_arc_flow_model() {
    let mut branched = 0;
    for seed in 0..80 {
        let stock = random::stock(seed, 2 + seed % 11, 20 + seed * 13 % 41);
        let optimum = compact_optimum(arc_flow(&stock));
        assert!(optimum.is_some());
        let solved = verify(&stock, &switched(seed), optimum, &format!("seed {seed}"));
        branched += u32::from(solved.tree.nodes > 1);
    }
    // Rolls cut into three items without waste: solutions need exactly this many, and are hard to
    // find.
    for seed in 0..12 {
        let rolls = 8 + seed;
        let stock = random::triplets(seed, rolls, 300);
        let solved = verify(
            &stock,
            &switched(seed),
            Some(rolls),
            &format!("triplets {seed}"),
        );
        branched += u32::from(solved.tree.nodes > 1);
    }
    assert!(branched > 3, "{branched} branched");
}

#[test]
fn cutting_stock_finds_the_known_optima() {
    // The paper mill from the literature (Wikipedia, "Cutting stock problem"): 73 rolls.
    let widths = [
        1380, 1520, 1560, 1710, 1820, 1880, 1930, 2000, 2050, 2100, 2140, 2150, 2200,
    ];
    let demands = [22, 25, 12, 14, 18, 18, 20, 10, 12, 14, 16, 18, 20];
    let items: Vec<(usize, u32)> = widths.into_iter().zip(demands).collect();
    let mill = CuttingStock::new(5600, &items);
    verify(&mill, &SolveSettings::default(), Some(73), "the paper mill");
    // Three equal items fill a roll.
    let thirds = CuttingStock::new(30, &[(10, 7)]);
    verify(&thirds, &SolveSettings::default(), Some(3), "thirds");
}

#[test]
fn an_item_wider_than_the_roll_is_proven_impossible() {
    let stock = CuttingStock::new(10, &[(4, 3), (11, 1)]);
    let solved = verify(&stock, &SolveSettings::default(), None, "too wide");
    assert_eq!(solved.tree.nodes, 0);
}

#[test]
fn assignment_agrees_with_the_compact_model() {
    let (mut branched, mut infeasible) = (0, 0);
    for seed in 0..120 {
        let (agents, jobs) = (2 + seed as usize % 5, 4 + seed as usize * 7 % 12);
        let a = random_assignment(seed, agents, jobs);
        let optimum = compact_optimum(compact_assignment(&a));
        infeasible += u32::from(optimum.is_none());
        let solved = verify(&a, &switched(seed), optimum, &format!("seed {seed}"));
        branched += u32::from(solved.tree.nodes > 1);
    }
    for seed in 0..3 {
        let a = random::assignment(seed, 20);
        let optimum = compact_optimum(compact_assignment(&a));
        verify(
            &a,
            &switched(seed),
            optimum,
            &format!("class D, seed {seed}"),
        );
    }
    assert!(branched > 10, "{branched} branched");
    assert!(infeasible > 10, "{infeasible} infeasible");
}

#[test]
fn assignment_agrees_with_enumeration() {
    let mut infeasible = 0;
    for seed in 1000..1100 {
        let a = random_assignment(seed, 2 + seed as usize % 3, 3 + seed as usize % 6);
        let optimum = enumerate_assignment(&a);
        infeasible += u32::from(optimum.is_none());
        verify(&a, &switched(seed), optimum, &format!("seed {seed}"));
    }
    assert!(infeasible >= 5, "{infeasible} infeasible instances");
}

#[test]
fn colouring_finds_the_known_optima() {
    let settings = SolveSettings::default();
    let known = [
        (circle(5), 3, "an odd circle"),
        (circle(8), 2, "an even circle"),
        (mycielski(&circle(5)), 4, "Grötzsch's graph"),
        (vec![0; 6], 1, "no edges"),
        ((0..7).map(|v| 0x7f & !(1 << v)).collect(), 7, "a clique"),
    ];
    for (adjacent, colours, what) in known {
        verify(&Colouring::new(adjacent), &settings, Some(colours), what);
    }
}

#[test]
fn colouring_with_cuts_and_separated_rows_agrees_with_the_compact_model() {
    let (mut cuts, mut branched) = (0, 0);
    for seed in 0..24 {
        let mut graph = random::graph(seed, 5 + seed % 6);
        let optimum = compact_optimum(compact_colouring(&graph));
        for variant in 0..4 {
            graph.lazy = variant & 1 == 1;
            let mut settings = switched(seed * 4 + variant);
            settings.root.cut_rounds = if variant & 2 == 2 { 20 } else { 0 };
            let solved = verify(&graph, &settings, optimum, &format!("{seed}, {variant}"));
            cuts += solved.tree.cuts;
            branched += u32::from(solved.tree.nodes > 1);
        }
    }
    assert!(cuts > 0 && branched > 5, "{cuts} cuts, {branched} branched");
}
