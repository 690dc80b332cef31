//! Large-neighbourhood search: a separate search of the same program with most columns fixed.
//!
//! RINS fixes the columns on which incumbent and relaxation agree (Danna, Rothberg & Le Pape 2005).
//! RENS fixes the integral columns of the relaxation and bounds the rest by their roundings
//! (Berthold 2014). Crossover fixes the columns on which good solutions agree, mutation a random
//! part of the incumbent (Rothberg 2007). Local branching bounds the distance to the incumbent
//! (Fischetti & Lodi 2003). Another restriction fixes columns with large reduced costs at their
//! values in the root.

use crate::mip::domain::Domain;
use crate::mip::outcome::{SolveError, SolveStatus};
use crate::mip::problem::{Problem, Sparse};
use crate::mip::root::RootData;
use crate::mip::settings::{Limits, Settings};
use crate::mip::solver::Solver;
use crate::mip::statistics::Component;
use crate::mip::worker::{Incumbent, RoundShared};
use remat_lp::random::SplitMix64;
use std::sync::Arc;
use std::time::Instant;

/// Result of a neighbourhood.
pub(crate) struct NeighbourhoodFound {
    pub x: Option<Vec<f64>>,
    pub name: &'static str,
    pub ticks: u64,
    pub iterations: u64,
    pub verdict: NeighbourhoodVerdict,
}

impl NeighbourhoodFound {
    /// Counts a neighbourhood that started at `begun`.
    pub fn count(&self, shared: &RoundShared, begun: Instant) {
        if let Some(statistics) = &shared.statistics {
            statistics.call(Component::Heuristic, self.name, begun, |tally| {
                tally.ticks += self.ticks;
                tally.lp_iterations += self.iterations;
                tally.successes += u64::from(self.verdict == NeighbourhoodVerdict::Better);
            });
        }
    }
}

/// The search's verdict on the size of a restricted program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NeighbourhoodVerdict {
    /// It improved on the incumbent.
    Better,
    /// It was exhausted with almost no work.
    FarTooSmall,
    /// It was exhausted with much work left.
    TooSmall,
    /// The work ran out.
    TooLarge,
    Right,
}

/// Way in which a program is restricted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Restriction {
    Rens,
    ReducedCost,
    Rins,
    Crossover,
    Mutation,
    LocalBranching,
}

impl Restriction {
    fn name(self) -> &'static str {
        match self {
            Restriction::Rens => "RENS",
            Restriction::ReducedCost => "reduced costs",
            Restriction::Rins => "RINS",
            Restriction::Crossover => "crossover",
            Restriction::Mutation => "mutation",
            Restriction::LocalBranching => "local branching",
        }
    }
}

const WITHOUT_INCUMBENT: [Restriction; 2] = [Restriction::Rens, Restriction::ReducedCost];
/// Restrictions around an incumbent far from the bound, without those that rarely improve it.
const WITH_POOR_INCUMBENT: [Restriction; 4] = [
    Restriction::Rens,
    Restriction::ReducedCost,
    Restriction::Rins,
    Restriction::Mutation,
];
const WITH_INCUMBENT: [Restriction; 7] = [
    Restriction::Rins,
    Restriction::Crossover,
    Restriction::Mutation,
    Restriction::Rins,
    Restriction::LocalBranching,
    Restriction::Rens,
    Restriction::ReducedCost,
];

/// Depth of restricted programs within restricted programs: where feasibility is hard, the small
/// innermost ones find it.
const NESTING_LIMIT: u32 = 3;

/// Input of a neighbourhood.
#[derive(Clone)]
pub(crate) struct Around {
    pub root: Arc<RootData>,
    /// Relaxation of a recent node; empty before the first one.
    pub relaxed: Vec<f64>,
    /// Good solutions, the best first.
    pub best: Vec<Incumbent>,
    /// Limit on the columns to fix, as a share of the integer columns.
    pub share: f64,
    /// Number of the neighbourhood, which determines its kind.
    pub turn: u64,
    /// Limit on ticks.
    pub ticks: u64,
}

/// Runs the neighbourhood for this turn.
pub(crate) fn run(shared: &RoundShared, around: &Around) -> Result<NeighbourhoodFound, SolveError> {
    let (turn, ticks) = (around.turn, around.ticks);
    let kinds: &[Restriction] = match &shared.incumbent {
        None => &WITHOUT_INCUMBENT,
        Some(i) if i.objective - shared.lower_bound > 0.02 * i.objective.abs() => {
            &WITH_POOR_INCUMBENT
        }
        Some(_) => &WITH_INCUMBENT,
    };
    let kind = kinds[(turn % kinds.len() as u64) as usize];
    let name = kind.name();
    let mut p = (*shared.problem).clone();
    p.lower.copy_from_slice(&shared.lower);
    p.upper.copy_from_slice(&shared.upper);
    let Some(spent) = restrict(shared, around, kind, &mut p) else {
        return Ok(NeighbourhoodFound {
            x: None,
            name,
            ticks: p.num_cols() as u64,
            iterations: 0,
            verdict: NeighbourhoodVerdict::Right,
        });
    };
    // The solution must close at least a hundredth of the remaining gap: a smaller part is not
    // worth the work.
    let mut cutoff = shared.cutoff;
    if let Some(i) = &shared.incumbent {
        let gap = i.objective - shared.lower_bound.max(around.root.bound);
        if gap.is_finite() && gap > 0.0 {
            cutoff = cutoff.min(i.objective - 0.01 * gap);
        }
    }
    let settings = Settings {
        limits: Limits {
            seconds: None,
            nodes: Some(500),
            ticks: Some(ticks),
            interrupt: None,
            ..Default::default()
        },
        // The restricted program's costs are the scaled ones.
        absolute_gap: shared.absolute_gap(),
        cutoff: cutoff.is_finite().then_some(cutoff),
        sub_mips: shared.settings.nesting < NESTING_LIMIT,
        nesting: shared.settings.nesting + 1,
        cut_rounds: shared.settings.cut_rounds.min(5),
        probing: false,
        // The aim is a solution, not a small tree.
        reliability: 0,
        restarts: false,
        threads: 1,
        starts: Vec::new(),
        debug_solution: None,
        ..shared.settings.clone()
    };
    let solver = Solver::new(Arc::new(p.to_model()?), settings).without_events();
    let result = solver.run_inside(&shared.stop)?;
    let exhausted = matches!(
        result.status,
        SolveStatus::Infeasible | SolveStatus::Cutoff | SolveStatus::Optimal
    );
    let verdict = if result.solution.is_some() {
        NeighbourhoodVerdict::Better
    } else if !exhausted {
        NeighbourhoodVerdict::TooLarge
    } else if result.info.ticks < ticks / 20 {
        NeighbourhoodVerdict::FarTooSmall
    } else if result.info.ticks < ticks / 2 {
        NeighbourhoodVerdict::TooSmall
    } else {
        NeighbourhoodVerdict::Right
    };
    Ok(NeighbourhoodFound {
        x: result.solution.map(|s| s.x),
        name,
        ticks: result.info.ticks + spent,
        iterations: result.info.lp_iterations,
        verdict,
    })
}

/// Fixes columns of the program, with propagation after each. Returns the ticks used, or `None` if
/// too few columns are fixed.
fn restrict(
    shared: &RoundShared,
    around: &Around,
    kind: Restriction,
    p: &mut Problem,
) -> Option<u64> {
    let turn = around.turn;
    let n = p.num_cols();
    let incumbent = shared.incumbent.as_ref().map(|i| i.x.as_slice());
    let root = around.root.solution.x.as_slice();
    let relaxed = if around.relaxed.len() == n && !(turn / 7).is_multiple_of(2) {
        around.relaxed.as_slice()
    } else {
        root
    };
    let mut random = SplitMix64::new(shared.settings.first_seed() ^ turn.wrapping_mul(0x9e37_79b9));
    if kind == Restriction::LocalBranching {
        return near(p, incumbent?).then_some(n as u64);
    }
    // (rank, tie, column, value): columns in the order in which they are fixed.
    let mut wanted: Vec<(f64, u64, usize, f64)> = Vec::new();
    let mut integers = 0usize;
    for j in 0..n {
        if !p.integer[j] || p.lower[j] == p.upper[j] {
            continue;
        }
        integers += 1;
        let entry = match kind {
            Restriction::Rins => {
                let v = incumbent?[j];
                ((relaxed[j] - v).abs(), j, v)
            }
            Restriction::Crossover => {
                let v = incumbent?[j];
                let others = around.best.get(1..4.min(around.best.len()))?;
                if others.is_empty() {
                    return None;
                }
                let disagree = others.iter().filter(|o| o.x[j] != v).count();
                (if disagree > 0 { 2.0 } else { 0.0 }, j, v)
            }
            Restriction::Mutation => (random.unit(), j, incumbent?[j]),
            Restriction::Rens | Restriction::LocalBranching => {
                let v = relaxed[j].round();
                ((relaxed[j] - v).abs(), j, v)
            }
            Restriction::ReducedCost => {
                let d = around.root.solution.reduced_costs[j].abs();
                let v = root[j];
                if (v - v.round()).abs() > 1e-6 {
                    (1e20, j, v.round())
                } else {
                    (-d, j, v.round())
                }
            }
        };
        wanted.push((entry.0, random.next_bits(), entry.1, entry.2));
    }
    if integers == 0 {
        return None;
    }
    wanted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    // All columns in agreement are fixed: some more if they are few, fewer if they are nearly all.
    let agree = match kind {
        Restriction::Mutation | Restriction::ReducedCost => 0,
        _ => wanted.iter().take_while(|e| e.0 <= 1e-6).count(),
    };
    let most = (around.share * integers as f64) as usize;
    let take = match kind {
        Restriction::Mutation | Restriction::ReducedCost => most * 4 / 5,
        Restriction::Crossover if agree * 10 < integers * 3 => return None,
        _ => agree.max(integers * 6 / 10).min(most),
    };
    let wanted = wanted[..take].iter().map(|e| (e.2, e.3));
    let d = fixed(p, wanted)?;
    for j in 0..n {
        if p.integer[j] {
            p.lower[j] = d.lower[j];
            p.upper[j] = d.upper[j];
            if kind == Restriction::Rens && p.lower[j] < p.upper[j] {
                let (low, high) = (relaxed[j].floor(), relaxed[j].ceil());
                if low >= p.lower[j] && high <= p.upper[j] && p.upper[j] - p.lower[j] > 1.0 {
                    (p.lower[j], p.upper[j]) = (low, high);
                }
            }
        }
    }
    let fixed = (0..n)
        .filter(|&j| p.integer[j] && p.lower[j] == p.upper[j])
        .count();
    let before = (0..n)
        .filter(|&j| p.integer[j] && shared.lower[j] == shared.upper[j])
        .count();
    ((fixed - before) * 10 >= integers * 2).then_some(d.ticks)
}

/// Fixes columns at values in order, with propagation after each. Columns that lead to a
/// contradiction stay free. `None` if the program itself is contradictory.
fn fixed(p: &Problem, wanted: impl Iterator<Item = (usize, f64)>) -> Option<Domain> {
    let mut d = Domain::new(p);
    d.enqueue_all(p);
    if !d.propagate(p) {
        return None;
    }
    for (j, v) in wanted {
        if d.is_fixed(j) || v < d.lower[j] || v > d.upper[j] {
            continue;
        }
        let mark = d.mark();
        d.fix(p, j, v);
        if !d.propagate(p) {
            d.undo(p, mark);
        }
    }
    Some(d)
}

/// Adds a row that keeps the binaries within a short distance of a point. Returns whether there are
/// enough binaries.
fn near(p: &mut Problem, x: &[f64]) -> bool {
    let mut entries: Vec<(u32, f64)> = Vec::new();
    let mut side = 0.0;
    for j in 0..p.num_cols() {
        if p.integer[j] && p.lower[j] == 0.0 && p.upper[j] == 1.0 {
            if x[j] > 0.5 {
                entries.push((j as u32, -1.0));
                side -= 1.0;
            } else {
                entries.push((j as u32, 1.0));
            }
        }
    }
    if entries.len() < 20 {
        return false;
    }
    side += (entries.len() as f64 / 10.0).clamp(5.0, 20.0).floor();
    let mut rows = Sparse::default();
    for i in 0..p.num_rows() {
        rows.push(p.rows.iter(i).map(|(j, v)| (j as u32, v)));
    }
    rows.push(entries);
    p.cols = rows.transpose(p.num_cols());
    p.rows = rows;
    p.row_lower.push(f64::NEG_INFINITY);
    p.row_upper.push(side);
    true
}
