//! A local search of jump moves. It takes a violated row and moves the column of it that lowers the
//! weighted violation most, to the value that satisfies the row. If no move helps, violated rows
//! gain weight (after Luteberget & Sartor 2023, *Feasibility Jump*; weights as in Thornton 2005).
//! Once all rows hold, a better objective becomes one more row (after Lin, Zou & Cai 2024,
//! *Local-MIP*).

use super::violated::{Violated, penalty, violation};
use crate::mip::problem::Problem;
use crate::mip::worker::{Attempt, RoundShared, Worker};
use remat_lp::random::SplitMix64;
use remat_lp::{Bounds, ModelError};

/// Share of the objective by which each solution must improve on the one before.
const LEAST_GAIN: f64 = 1e-2;

/// Divisor of a walk's budget: the ticks it continues after its last improvement.
const PATIENCE: u64 = 10;

struct JumpWalk<'a> {
    p: &'a Problem,
    lower: &'a [f64],
    upper: &'a [f64],
    x: Vec<f64>,
    /// Activities of the rows, then of the objective.
    activity: Vec<f64>,
    weight: Vec<f64>,
    violated: Violated,
    /// The row of the objective: columns and costs, its right side, and the last decrease of that.
    priced: (Vec<u32>, Vec<f64>),
    most: f64,
    gain: f64,
    random: SplitMix64,
    /// Number of moves so far, and the move until which each column is taboo.
    step: u64,
    taboo: Vec<u64>,
    ticks: u64,
}

impl<'a> JumpWalk<'a> {
    /// A walk from a point within the bounds.
    fn new(p: &'a Problem, lower: &'a [f64], upper: &'a [f64], x: Vec<f64>, seed: u64) -> Self {
        let rows = p.num_rows();
        let priced: Vec<u32> = (0..p.num_cols() as u32)
            .filter(|&j| p.cost[j as usize] != 0.0)
            .collect();
        let costs = priced.iter().map(|&j| p.cost[j as usize]).collect();
        let mut walk = JumpWalk {
            p,
            lower,
            upper,
            x,
            activity: vec![0.0; rows + 1],
            weight: vec![1.0; rows + 1],
            violated: Violated::new(rows + 1),
            priced: (priced, costs),
            most: f64::INFINITY,
            gain: f64::INFINITY,
            random: SplitMix64::new(seed),
            step: 0,
            taboo: vec![0; p.num_cols()],
            ticks: p.rows.index.len() as u64,
        };
        for i in 0..=rows {
            let (index, value) = walk.row(i);
            let terms = index.iter().zip(value);
            walk.activity[i] = terms.map(|(&j, a)| a * walk.x[j as usize]).sum();
            walk.refresh(i);
        }
        walk
    }

    /// The number of the objective's row, after all others.
    fn objective_row(&self) -> usize {
        self.p.num_rows()
    }

    /// Columns and coefficients of a row, or of the objective.
    fn row(&self, i: usize) -> (&[u32], &[f64]) {
        match i < self.objective_row() {
            true => self.p.rows.vector(i),
            false => (&self.priced.0, &self.priced.1),
        }
    }

    fn sides(&self, i: usize) -> (f64, f64) {
        match i < self.objective_row() {
            true => (self.p.row_lower[i], self.p.row_upper[i]),
            false => (f64::NEG_INFINITY, self.most),
        }
    }

    fn row_violation(&self, i: usize, activity: f64) -> f64 {
        violation(activity, self.sides(i))
    }

    /// Requires a better objective than the present one.
    fn ask_for_more(&mut self) {
        let priced = self.objective_row();
        let objective = self.activity[priced];
        let step = self.p.objective_step.max(1e-6);
        self.gain = step.max(LEAST_GAIN * objective.abs());
        self.most = objective - self.gain;
        self.refresh(priced);
    }

    fn refresh(&mut self, i: usize) {
        let is_violated = self.row_violation(i, self.activity[i]) > 0.0;
        self.violated.note(i, is_violated);
    }

    /// Change of the weighted violation if a column takes a value.
    fn change(&mut self, j: usize, value: f64) -> f64 {
        let d = value - self.x[j];
        let change = |i: usize, a: f64, unit: f64| {
            let now = self.activity[i];
            let after = self.row_violation(i, now + a * d);
            let before = self.row_violation(i, now);
            self.weight[i] * (penalty(after, unit) - penalty(before, unit))
        };
        let rows: f64 = (self.p.cols.iter(j))
            .map(|(i, a)| change(i, a, a.abs()))
            .sum();
        let objective = match self.p.cost[j] {
            0.0 => 0.0,
            c => change(self.objective_row(), c, self.gain),
        };
        self.ticks += self.p.cols.len(j) as u64 + 1;
        rows + objective
    }

    fn set(&mut self, j: usize, value: f64) {
        let d = value - self.x[j];
        self.x[j] = value;
        for (i, a) in self.p.cols.iter(j) {
            self.activity[i] += a * d;
            self.refresh(i);
        }
        let priced = self.objective_row();
        self.activity[priced] += self.p.cost[j] * d;
        self.refresh(priced);
        self.ticks += 2 * self.p.cols.len(j) as u64;
    }

    /// The value of column `j` that satisfies row `i` exactly, as far as its bounds allow.
    fn suiting(&self, i: usize, j: usize, a: f64) -> Option<f64> {
        let (l, u) = self.sides(i);
        let side = if self.activity[i] > u { u } else { l };
        let mut v = self.x[j] + (side - self.activity[i]) / a;
        if self.p.integer[j] {
            // Rounded so that the row holds.
            v = if (v - self.x[j]) > 0.0 {
                (v - 1e-9).ceil()
            } else {
                (v + 1e-9).floor()
            };
        }
        let v = Bounds::new(self.lower[j], self.upper[j]).nearest(v);
        (v.is_finite() && (v - self.x[j]).abs() > 1e-9).then_some(v)
    }

    /// Walks until all rows hold, at most to tick `last_tick`. Then requires a better objective.
    fn next_point(&mut self, last_tick: u64, stopped: impl Fn() -> bool) -> Option<Vec<f64>> {
        while self.ticks < last_tick {
            if self.violated.rows().is_empty() {
                self.ticks += self.x.len() as u64;
                let x = self.x.clone();
                self.ask_for_more();
                return Some(x);
            }
            self.step += 1;
            if self.step.is_multiple_of(1000) && stopped() {
                break;
            }
            let i = self.violated.draw(&mut self.random);
            if self.row(i).0.is_empty() {
                break;
            }
            self.move_for(i);
        }
        None
    }

    /// Moves a column of a violated row, or increases the weights of the violated rows.
    fn move_for(&mut self, i: usize) {
        let length = self.row(i).0.len();
        let offset = self.random.below(length);
        let mut best: Option<(f64, usize, f64)> = None;
        for k in 0..length.min(40) {
            let (index, value) = self.row(i);
            let at = (offset + k) % length;
            let (j, a) = (index[at] as usize, value[at]);
            if self.taboo[j] > self.step {
                continue;
            }
            if let Some(v) = self.suiting(i, j, a) {
                // Costs break ties between moves with the same effect on rows.
                let price = 1e-6 * self.p.cost[j] * (v - self.x[j]);
                let change = self.change(j, v) + price.clamp(-1e-3, 1e-3);
                if best.is_none_or(|b| change < b.0) {
                    best = Some((change, j, v));
                }
            }
        }
        match best {
            Some((change, j, v)) if change < 0.0 || self.random.below(100) < 2 => self.go(j, v),
            other => {
                let violated = self.violated.rows();
                violated
                    .iter()
                    .for_each(|i| self.weight[*i as usize] += 1.0);
                self.ticks += violated.len() as u64;
                if let (Some((_, j, v)), true) = (other, self.random.below(10) == 0) {
                    self.go(j, v);
                }
            }
        }
    }

    /// Sets a column and makes it taboo for some steps.
    fn go(&mut self, j: usize, value: f64) {
        self.set(j, value);
        self.taboo[j] = self.step + 3 + self.random.below(8) as u64;
    }
}

impl Worker {
    /// Walks from the rounded point `start` until every row holds, then to better objectives while
    /// it finds them, within the budget of ticks.
    pub(crate) fn jump(
        &mut self,
        shared: &RoundShared,
        start: &[f64],
        budget: u64,
        seed: u64,
    ) -> Result<bool, ModelError> {
        let p = shared.problem.clone();
        let (lower, upper) = (self.domain.lower.clone(), self.domain.upper.clone());
        let rounded = |j: usize| match p.integer[j] {
            true => start[j].round(),
            false => start[j],
        };
        let x: Vec<f64> = (0..p.num_cols())
            .map(|j| Bounds::new(lower[j], upper[j]).nearest(rounded(j)))
            .collect();
        if x.iter().any(|v| !v.is_finite()) {
            return Ok(false);
        }
        let mut walk = JumpWalk::new(&p, &lower, &upper, x, seed);
        let stopped = || shared.stopped();
        let mut accepted = false;
        if let Some(first) = walk.next_point(budget, stopped) {
            accepted = self.try_integral(shared, &first, "jump")? == Attempt::Accepted;
            let mut best = None;
            let patience = budget / PATIENCE;
            while let Some(x) = walk.next_point(budget.min(walk.ticks + patience), stopped) {
                best = Some(x);
            }
            if let Some(x) = best {
                accepted |= self.try_integral(shared, &x, "jump")? == Attempt::Accepted;
            }
        }
        self.domain.ticks += walk.ticks;
        Ok(accepted)
    }
}
