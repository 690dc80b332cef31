//! A local search of exchanges for partitions. It takes a row that is not covered, puts one of the
//! row's columns in and takes out the columns that collide with it. Their other rows are then
//! covered in the same way. Rows that stay uncovered gain weight; reduced costs are the price of a
//! column (after Umetani 2017, *Exploiting variable associations*; weights as in Thornton 2005).
//! Around a solution it ruins a part and repairs it (Schrimpf et al. 2000).

use super::violated::{Violated, penalty, violation};
use crate::mip::problem::Problem;
use crate::mip::worker::{RoundShared, Worker};
use remat_lp::random::SplitMix64;
use remat_lp::{ModelError, Solution};

/// Columns of a row that one step compares: its cheapest, and others by chance.
const CHEAPEST: usize = 24;
const OTHERS: usize = 8;

/// Mean weight of a row, in units, at which all weights fall to a part of themselves. Otherwise
/// rows would outweigh prices.
const MOST_WEIGHT: f64 = 3.0;
const KEPT_WEIGHT: f64 = 0.3;

/// Steps after which the walk starts again from the incumbent.
const STEPS_FROM_BEST: u64 = 4_000;

/// Largest share of its columns that a ruin takes out, as a divisor.
const RUIN_PART: usize = 5;

/// Part of a worker's ticks for walks in the tree, and the part of the root's for each walk, as
/// divisors.
const TREE_PART: u64 = 20;
const ROOT_PART: u64 = 4;

/// Rows that hold at most one of their columns, which all are binary.
struct Exclusive {
    rows: Vec<bool>,
    /// Number of those that need one, and of the entries in them.
    choices: usize,
    entries: usize,
}

impl Exclusive {
    fn new(p: &Problem) -> Exclusive {
        let mut found = Exclusive {
            rows: vec![false; p.num_rows()],
            choices: 0,
            entries: 0,
        };
        for i in 0..p.num_rows() {
            let (index, value) = p.rows.vector(i);
            found.rows[i] = p.row_upper[i] == 1.0 && value.iter().all(|&a| a == 1.0);
            if found.rows[i] && p.row_lower[i] == 1.0 {
                found.choices += 1;
                found.entries += index.len();
            }
        }
        found
    }

    /// Returns whether the program is mostly a partition in which columns share rows.
    fn is_partition(&self, p: &Problem) -> bool {
        let binary = |j: usize| p.integer[j] && p.lower[j] >= 0.0 && p.upper[j] <= 1.0;
        self.choices >= 10
            && self.choices * 2 >= p.num_rows()
            && self.entries * 2 >= p.num_cols() * 3
            && (0..p.num_cols()).all(binary)
    }
}

/// A set of columns whose exclusive rows are never covered twice.
struct ExchangeWalk<'a> {
    p: &'a Problem,
    exclusive: &'a [bool],
    /// The free columns of each row, the cheapest first, and the signs of their coefficients.
    choice: Vec<Vec<(u32, bool)>>,
    lower: &'a [f64],
    price: &'a [f64],
    x: Vec<bool>,
    /// The column inside each exclusive row, or [`NOBODY`].
    owner: Vec<u32>,
    activity: Vec<f64>,
    weight: Vec<f64>,
    /// Unit of the weights, and what they have gained since they last fell.
    unit: f64,
    gained: f64,
    violated: Violated,
    objective: f64,
    random: SplitMix64,
    step: u64,
    /// The step until which a column keeps its value.
    taboo: Vec<u64>,
    /// Changes of rows by the move under consideration.
    moved: Vec<f64>,
    rows: Vec<u32>,
    /// Columns that it takes out.
    out: Vec<u32>,
    ticks: u64,
}

const NOBODY: u32 = u32::MAX;

impl<'a> ExchangeWalk<'a> {
    /// A walk from the columns that must be inside.
    fn new(
        p: &'a Problem,
        exclusive: &'a [bool],
        price: &'a [f64],
        (lower, upper): (&'a [f64], &'a [f64]),
        seed: u64,
    ) -> Self {
        let mut sorted: Vec<f64> = price.iter().copied().filter(|&d| d > 1e-9).collect();
        sorted.sort_by(f64::total_cmp);
        let unit = sorted.get(sorted.len() / 10).copied().unwrap_or(1.0);
        let rows = p.num_rows();
        let mut walk = ExchangeWalk {
            p,
            exclusive,
            choice: Vec::with_capacity(rows),
            lower,
            price,
            x: vec![false; p.num_cols()],
            owner: vec![NOBODY; rows],
            activity: vec![0.0; rows],
            weight: vec![unit; rows],
            unit,
            gained: 0.0,
            violated: Violated::new(rows),
            objective: 0.0,
            random: SplitMix64::new(seed),
            step: 0,
            taboo: vec![0; p.num_cols()],
            moved: vec![0.0; rows],
            rows: Vec::new(),
            out: Vec::new(),
            ticks: p.rows.index.len() as u64,
        };
        (0..rows).for_each(|i| walk.refresh(i));
        for i in 0..rows {
            let free = p.rows.iter(i).filter(|&(j, _)| lower[j] < upper[j]);
            let mut free: Vec<(u32, bool)> = free.map(|(j, a)| (j as u32, a > 0.0)).collect();
            let price = |c: &(u32, bool)| price[c.0 as usize];
            free.sort_by(|a, b| price(a).total_cmp(&price(b)).then(a.0.cmp(&b.0)));
            walk.choice.push(free);
        }
        for j in (0..p.num_cols()).filter(|&j| lower[j] > 0.5) {
            walk.set(j, true);
        }
        walk
    }

    fn row_violation(&self, i: usize, activity: f64) -> f64 {
        violation(activity, (self.p.row_lower[i], self.p.row_upper[i]))
    }

    fn refresh(&mut self, i: usize) {
        let is_violated = self.row_violation(i, self.activity[i]) > 0.0;
        self.violated.note(i, is_violated);
    }

    fn set(&mut self, j: usize, inside: bool) {
        let d = if inside { 1.0 } else { -1.0 };
        self.x[j] = inside;
        self.objective += d * self.p.cost[j];
        for (i, a) in self.p.cols.iter(j) {
            self.activity[i] += a * d;
            if self.exclusive[i] {
                self.owner[i] = if inside { j as u32 } else { NOBODY };
            }
            self.refresh(i);
        }
        self.ticks += 2 * self.p.cols.len(j) as u64;
    }

    /// Change of prices and weighted violations if column `j` changes its value and the columns
    /// that collide with it leave. `None` if one of them must stay. They are left in `out`.
    fn change(&mut self, j: usize) -> Option<f64> {
        self.out.clear();
        if !self.x[j] {
            for (i, _) in self.p.cols.iter(j) {
                let k = self.owner[i];
                if k != NOBODY && !self.out.contains(&k) {
                    if self.lower[k as usize] > 0.5 || self.taboo[k as usize] > self.step {
                        return None;
                    }
                    self.out.push(k);
                }
            }
        }
        let mut change = self.note(j);
        for at in 0..self.out.len() {
            change += self.note(self.out[at] as usize);
        }
        for at in 0..self.rows.len() {
            let i = self.rows[at] as usize;
            let now = self.row_violation(i, self.activity[i]);
            let after = self.row_violation(i, self.activity[i] + self.moved[i]);
            let unit = self.moved[i].abs().max(1e-9);
            change += self.weight[i] * 0.5 * (penalty(after, unit) - penalty(now, unit));
            self.moved[i] = 0.0;
        }
        self.ticks += self.rows.len() as u64;
        self.rows.clear();
        Some(change)
    }

    /// Adds a column's change of value to `moved`. Returns the change of prices.
    fn note(&mut self, j: usize) -> f64 {
        let d = if self.x[j] { -1.0 } else { 1.0 };
        for (i, a) in self.p.cols.iter(j) {
            if self.moved[i] == 0.0 {
                self.rows.push(i as u32);
            }
            self.moved[i] += a * d;
        }
        self.ticks += self.p.cols.len(j) as u64 + 1;
        d * self.price[j]
    }

    /// Makes the best move for a violated row.
    fn move_for(&mut self, i: usize) {
        let length = self.choice[i].len();
        let short = self.activity[i] < self.p.row_lower[i];
        let mut best: Option<(f64, u64, usize)> = None;
        for k in 0..(CHEAPEST + OTHERS).min(length) {
            let at = match k < CHEAPEST {
                true => k,
                false => CHEAPEST + self.random.below(length - CHEAPEST),
            };
            let (j, positive) = self.choice[i][at];
            let j = j as usize;
            let rises = positive != self.x[j];
            if rises != short || self.taboo[j] > self.step {
                continue;
            }
            let Some(change) = self.change(j) else {
                continue;
            };
            if best.is_none_or(|b| (change, self.taboo[j]) < (b.0, b.1)) {
                best = Some((change, self.taboo[j], j));
            }
        }
        if best.is_none_or(|b| b.0 >= 0.0) {
            self.add_weight();
        }
        if let Some((_, _, j)) = best {
            self.exchange(j);
        }
    }

    /// Adds weight to the violated rows.
    fn add_weight(&mut self) {
        let violated = self.violated.rows();
        for &i in violated {
            self.weight[i as usize] += self.unit;
        }
        self.ticks += violated.len() as u64;
        self.gained += violated.len() as f64 * self.unit;
        if self.gained > MOST_WEIGHT * self.unit * self.weight.len() as f64 {
            for w in &mut self.weight {
                *w = (*w * KEPT_WEIGHT).max(0.1 * self.unit);
            }
            self.gained = self.weight.iter().sum();
            self.ticks += self.weight.len() as u64;
        }
    }

    /// Changes a column's value and takes out the columns that collide with it.
    fn exchange(&mut self, j: usize) {
        self.change(j);
        let out = std::mem::take(&mut self.out);
        for &k in &out {
            self.leave(k as usize);
        }
        self.out = out;
        let inside = !self.x[j];
        self.set(j, inside);
        self.taboo[j] = self.step + 3 + self.random.below(8) as u64;
    }

    fn leave(&mut self, k: usize) {
        self.set(k, false);
        self.taboo[k] = self.step + 3 + self.random.below(8) as u64;
    }

    /// Takes some columns out.
    fn ruin(&mut self) {
        let inside = (0..self.x.len()).filter(|&j| self.x[j] && self.lower[j] < 0.5);
        let mut inside: Vec<usize> = inside.collect();
        self.ticks += self.x.len() as u64 / 8;
        let most = (inside.len() / RUIN_PART).max(2);
        for _ in 0..2 + self.random.below(most) {
            if inside.is_empty() {
                break;
            }
            let j = inside.swap_remove(self.random.below(inside.len()));
            self.leave(j);
        }
    }

    fn go_to(&mut self, x: &[bool]) {
        for j in 0..x.len() {
            if self.x[j] && !x[j] {
                self.set(j, false);
            }
        }
        for j in 0..x.len() {
            if x[j] && !self.x[j] {
                self.set(j, true);
            }
        }
    }

    /// Walks until all rows hold at an objective below `cutoff`.
    fn next_better(
        &mut self,
        best: Option<&[bool]>,
        cutoff: f64,
        last_tick: u64,
        stopped: impl Fn() -> bool,
    ) -> bool {
        let mut since = 0;
        while self.ticks < last_tick {
            if self.violated.rows().is_empty() {
                if self.objective + self.p.offset < cutoff {
                    return true;
                }
                self.ruin();
                if self.violated.rows().is_empty() {
                    return false;
                }
            }
            // A step without a move is work, too.
            self.ticks += 1;
            self.step += 1;
            since += 1;
            if self.step.is_multiple_of(1000) && stopped() {
                return false;
            }
            if let (Some(best), true) = (best, since > STEPS_FROM_BEST) {
                since = 0;
                self.go_to(best);
                self.ruin();
                continue;
            }
            let i = self.violated.draw(&mut self.random);
            if self.choice[i].is_empty() {
                return false;
            }
            self.move_for(i);
        }
        false
    }
}

impl Worker {
    /// Walks by exchanges if the program is mostly a partition and a walk is due at this node,
    /// whose relaxation is `s`. Its reduced costs are the walk's prices.
    pub(crate) fn exchanges(
        &mut self,
        shared: &RoundShared,
        s: &Solution,
        depth: u32,
    ) -> Result<(), ModelError> {
        let spent = self.exchange_ticks.saturating_mul(TREE_PART);
        if shared.settings.nesting > 0 || (depth > 0 && spent >= self.ticks()) {
            return Ok(());
        }
        let exclusive = Exclusive::new(&shared.problem);
        if !exclusive.is_partition(&shared.problem) {
            self.exchange_ticks = u64::MAX;
            return Ok(());
        }
        let size = shared.problem.rows.index.len() as u64;
        let budget = match depth {
            0 => self.ticks() / ROOT_PART,
            _ => self.ticks() / TREE_PART / 4,
        };
        let budget = budget.max(1_000 * size);
        let before = self.domain.ticks;
        self.heuristic(shared, "exchange", |w| {
            w.exchange(shared, &exclusive.rows, s, budget)
        })?;
        self.exchange_ticks += self.domain.ticks - before;
        Ok(())
    }

    fn exchange(
        &mut self,
        shared: &RoundShared,
        exclusive: &[bool],
        s: &Solution,
        budget: u64,
    ) -> Result<(), ModelError> {
        let p = shared.problem.clone();
        let seed = shared.settings.first_seed() ^ self.processed.wrapping_mul(0x9e37_79b9);
        let bounds = (shared.lower.as_slice(), shared.upper.as_slice());
        let mut walk = ExchangeWalk::new(&p, exclusive, &s.reduced_costs, bounds, seed);
        let mut best: Option<Vec<bool>> = None;
        if let Some(b) = &self.best {
            best = Some(b.x.iter().map(|&v| v > 0.5).collect());
        }
        let stopped = || shared.stopped();
        while walk.next_better(best.as_deref(), self.cutoff, budget, stopped) {
            let x: Vec<f64> = walk.x.iter().map(|&v| f64::from(u8::from(v))).collect();
            if !self.offer(shared, &x, "exchange")? {
                break;
            }
            best = Some(walk.x.clone());
        }
        self.domain.ticks += walk.ticks;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mip::{Settings, SolveResult, SolveStatus, Solver, check_point};
    use remat_lp::{ColId, Model, ModelBuilder, Sense};

    const ELEMENTS: usize = 10;

    /// Columns over a few elements, half of the programs with a hidden partition, and a row that
    /// weighs all columns.
    fn random_partition(random: &mut SplitMix64) -> Model {
        let mut b = ModelBuilder::new(Sense::Minimise);
        let mut of: Vec<Vec<ColId>> = vec![Vec::new(); ELEMENTS];
        let mut all = Vec::new();
        let hidden = random.below(2) * 5;
        for k in 0..8 + hidden {
            let col = b.add_col(random.below(30) as f64, 0.0..=1.0);
            b.set_integer(col, true);
            all.push((col, 1.0 + random.below(3) as f64));
            let drawn = |random: &mut SplitMix64| random.below(ELEMENTS);
            let mut members: Vec<usize> = match k < hidden {
                true => vec![2 * k, 2 * k + 1],
                false => (0..3).map(|_| drawn(random)).collect(),
            };
            members.sort_unstable();
            members.dedup();
            members.iter().for_each(|&e| of[e].push(col));
        }
        for cols in of {
            b.add_row(1.0..=1.0, cols.into_iter().map(|c| (c, 1.0)));
        }
        b.add_row(..=(6 + random.below(8)) as f64, all);
        b.build().unwrap()
    }

    /// The least objective over all points.
    fn least(model: &Model) -> Option<f64> {
        let n = model.num_cols();
        let points = (0..1u32 << n).map(|bits| (0..n).map(move |j| f64::from(bits >> j & 1)));
        let points = points.map(|x| x.collect::<Vec<f64>>());
        let feasible = points.filter(|x| check_point(model, x, 1e-9).is_ok());
        feasible.map(|x| model.objective(&x)).min_by(f64::total_cmp)
    }

    #[test]
    fn walks_over_random_partitions_end_at_feasible_points_and_at_the_best() {
        let mut random = SplitMix64::new(116);
        let (mut found, mut feasible) = (0, 0);
        for seed in 0..120 {
            let model = random_partition(&mut random);
            let best = least(&model);
            feasible += u32::from(best.is_some());
            let p = Problem::as_given(&model);
            let exclusive = Exclusive::new(&p);
            let price: Vec<f64> = p.cost.clone();
            let bounds = (p.lower.as_slice(), p.upper.as_slice());
            let mut walk = ExchangeWalk::new(&p, &exclusive.rows, &price, bounds, seed);
            let mut cutoff = f64::INFINITY;
            let mut last: Option<Vec<bool>> = None;
            while walk.next_better(last.as_deref(), cutoff, 200_000, || false) {
                let x: Vec<f64> = walk.x.iter().map(|&v| f64::from(u8::from(v))).collect();
                assert!(check_point(&model, &x, 1e-9).is_ok());
                assert!(p.objective(&x) < cutoff);
                cutoff = p.objective(&x);
                last = Some(walk.x.clone());
            }
            if let Some(x) = last {
                let x: Vec<f64> = x.iter().map(|&v| f64::from(u8::from(v))).collect();
                found += u32::from(model.objective(&x) == best.unwrap());
            }
        }
        assert!(
            feasible >= 20 && found * 10 >= feasible * 9,
            "{found} of {feasible}"
        );
    }

    #[test]
    fn solves_of_random_partitions_agree_with_enumeration_on_any_threads() {
        let mut random = SplitMix64::new(117);
        for _ in 0..40 {
            let model = random_partition(&mut random);
            let solve = |threads| {
                let settings = Settings {
                    threads,
                    presolve: false,
                    cuts: false,
                    ..Settings::default()
                };
                Solver::new(model.clone(), settings).run().unwrap()
            };
            let (one, two) = (solve(1), solve(2));
            let objective = |r: &SolveResult| r.solution.as_ref().map(|s| s.objective);
            assert_eq!(objective(&one), least(&model));
            assert_eq!(objective(&one), objective(&two));
            assert_eq!(one.info.ticks, two.info.ticks);
            let end = match objective(&one) {
                Some(_) => SolveStatus::Optimal,
                None => SolveStatus::Infeasible,
            };
            assert_eq!(one.status, end);
        }
    }
}
