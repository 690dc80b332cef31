//! A local search of jump moves: take a violated row, move the column of it that lowers the
//! weighted violation most to the value that suits the row; where nothing helps, violated rows gain
//! weight (after Luteberget & Sartor 2023, *Feasibility Jump*; weights as in Thornton 2005).

use crate::mip::problem::Problem;
use crate::mip::worker::{Attempt, RoundShared, Worker};
use remat_lp::ModelError;
use remat_lp::random::SplitMix64;

struct JumpWalk<'a> {
    p: &'a Problem,
    lower: &'a [f64],
    upper: &'a [f64],
    x: Vec<f64>,
    activity: Vec<f64>,
    weight: Vec<f64>,
    /// Violated rows, and the place of each row among them.
    violated: Vec<u32>,
    place: Vec<u32>,
    ticks: u64,
}

fn violation(a: f64, l: f64, u: f64) -> f64 {
    (l - a).max(a - u).max(0.0)
}

const NOWHERE: u32 = u32::MAX;

impl JumpWalk<'_> {
    fn row_violation(&self, i: usize, activity: f64) -> f64 {
        let (l, u) = (self.p.row_lower[i], self.p.row_upper[i]);
        let v = violation(activity, l, u);
        if v <= 1e-7 * activity.abs().max(1.0) {
            0.0
        } else {
            v
        }
    }

    fn refresh(&mut self, i: usize) {
        let bad = self.row_violation(i, self.activity[i]) > 0.0;
        let at = self.place[i];
        if bad && at == NOWHERE {
            self.place[i] = self.violated.len() as u32;
            self.violated.push(i as u32);
        } else if !bad && at != NOWHERE {
            self.violated.swap_remove(at as usize);
            if let Some(&moved) = self.violated.get(at as usize) {
                self.place[moved as usize] = at;
            }
            self.place[i] = NOWHERE;
        }
    }

    /// Change of the weighted violation if a column takes a value.
    fn change(&mut self, j: usize, value: f64) -> f64 {
        let d = value - self.x[j];
        let mut sum = 0.0;
        for (i, a) in self.p.cols.iter(j) {
            let now = self.activity[i];
            // Every row counts by whether it is violated, and a little by how much.
            let (before, after) = (
                self.row_violation(i, now),
                self.row_violation(i, now + a * d),
            );
            let cost = |v: f64| {
                if v > 0.0 {
                    1.0 + (v / a.abs()).min(10.0)
                } else {
                    0.0
                }
            };
            sum += self.weight[i] * (cost(after) - cost(before));
        }
        self.ticks += self.p.cols.len(j) as u64 + 1;
        sum
    }

    fn set(&mut self, j: usize, value: f64) {
        let d = value - self.x[j];
        self.x[j] = value;
        for (i, a) in self.p.cols.iter(j) {
            self.activity[i] += a * d;
            self.refresh(i);
        }
        self.ticks += 2 * self.p.cols.len(j) as u64;
    }

    /// The value of column `j` that just satisfies row `i`, as far as its bounds allow.
    fn suiting(&self, i: usize, j: usize, a: f64) -> Option<f64> {
        let (l, u) = (self.p.row_lower[i], self.p.row_upper[i]);
        let side = if self.activity[i] > u { u } else { l };
        let mut v = self.x[j] + (side - self.activity[i]) / a;
        if self.p.integer[j] {
            // Past the side rather than short of it.
            v = if (v - self.x[j]) > 0.0 {
                (v - 1e-9).ceil()
            } else {
                (v + 1e-9).floor()
            };
        }
        let v = v.clamp(self.lower[j], self.upper[j]);
        (v.is_finite() && (v - self.x[j]).abs() > 1e-9).then_some(v)
    }
}

impl Worker {
    /// Walks from the rounded point given until every row holds or the ticks are spent.
    pub(crate) fn jump(
        &mut self,
        shared: &RoundShared,
        start: &[f64],
        budget: u64,
        seed: u64,
    ) -> Result<bool, ModelError> {
        let p = shared.problem.clone();
        let (lower, upper) = (self.domain.lower.clone(), self.domain.upper.clone());
        let mut walk = JumpWalk {
            p: &p,
            lower: &lower,
            upper: &upper,
            x: (0..p.num_cols())
                .map(|j| {
                    let v = if p.integer[j] {
                        start[j].round()
                    } else {
                        start[j]
                    };
                    v.clamp(lower[j], upper[j])
                })
                .collect(),
            activity: vec![0.0; p.num_rows()],
            weight: vec![1.0; p.num_rows()],
            violated: Vec::new(),
            place: vec![NOWHERE; p.num_rows()],
            ticks: p.rows.index.len() as u64,
        };
        if walk.x.iter().any(|v| !v.is_finite()) {
            return Ok(false);
        }
        for i in 0..p.num_rows() {
            walk.activity[i] = p.rows.iter(i).map(|(j, a)| a * walk.x[j]).sum();
            walk.refresh(i);
        }
        let mut random = SplitMix64::new(seed);
        let mut taboo = vec![0u64; p.num_cols()];
        let mut step = 0u64;
        while !walk.violated.is_empty() && walk.ticks < budget {
            step += 1;
            if step.is_multiple_of(1000) && shared.stopped() {
                break;
            }
            let i = walk.violated[random.below(walk.violated.len())] as usize;
            let (index, value) = p.rows.vector(i);
            let offset = random.below(index.len());
            let mut best: Option<(f64, usize, f64)> = None;
            for k in 0..index.len().min(40) {
                let at = (offset + k) % index.len();
                let j = index[at] as usize;
                if taboo[j] > step {
                    continue;
                }
                if let Some(v) = walk.suiting(i, j, value[at]) {
                    // Costs break ties between moves that are as good for the rows.
                    let price = 1e-6 * p.cost[j] * (v - walk.x[j]);
                    let change = walk.change(j, v) + price.clamp(-1e-3, 1e-3);
                    if best.is_none_or(|b| change < b.0) {
                        best = Some((change, j, v));
                    }
                }
            }
            match best {
                Some((change, j, v)) if change < 0.0 || random.below(100) < 2 => {
                    walk.set(j, v);
                    taboo[j] = step + 3 + random.below(8) as u64;
                }
                other => {
                    for k in 0..walk.violated.len() {
                        walk.weight[walk.violated[k] as usize] += 1.0;
                    }
                    walk.ticks += walk.violated.len() as u64;
                    if let (Some((_, j, v)), true) = (other, random.below(10) == 0) {
                        walk.set(j, v);
                        taboo[j] = step + 3 + random.below(8) as u64;
                    }
                }
            }
        }
        let (done, ticks, x) = (walk.violated.is_empty(), walk.ticks, walk.x);
        self.domain.ticks += ticks;
        if !done {
            return Ok(false);
        }
        Ok(self.try_integral(shared, &x, "jump")? == Attempt::Accepted)
    }
}
