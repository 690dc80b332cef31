//! The iteration, its restarts, and the weight between values and duals.

use super::FirstOrderPoint;
use super::scaled::Scaled;

/// Share of the largest step; the norm of the scaled matrix is at most 1.
const STEP: f64 = 0.998;
/// Iterations between two checks of the progress.
const CHECK_EVERY: u64 = 32;
/// The method restarts when the error is at most `SUFFICIENT` times the error at the last restart,
/// or at most `NECESSARY` times that error and growing (Applegate et al., section 3.4).
const SUFFICIENT: f64 = 0.2;
const NECESSARY: f64 = 0.8;
/// Share of all iterations after which the method restarts in any case.
const LONGEST_SHARE: f64 = 0.36;
/// Share of the new logarithm of the weight at a restart; the old one keeps the rest.
const WEIGHT_SHARE: f64 = 0.5;

#[derive(Clone, Debug)]
pub(super) struct Iterate {
    x: Vec<f64>,
    y: Vec<f64>,
    /// Point of the last restart.
    from_x: Vec<f64>,
    from_y: Vec<f64>,
    /// End of the last step, within bounds.
    next_x: Vec<f64>,
    next_y: Vec<f64>,
    /// Reflected values, prefix sums of duals, and activities.
    mirror: Vec<f64>,
    sums: Vec<f64>,
    activity: Vec<f64>,
    weight: f64,
    /// Iterations since the last restart, and in total.
    inner: u64,
    all: u64,
    error_at_restart: f64,
    last_error: f64,
}

impl Iterate {
    pub fn new(p: &Scaled, start: &FirstOrderPoint) -> Iterate {
        let (m, n) = (p.row_lower.len(), p.cost.len());
        let x: Vec<f64> = (0..n)
            .map(|j| {
                let x = start.x.get(j).copied().unwrap_or(0.0) / p.col[j];
                x.max(p.lower[j]).min(p.upper[j])
            })
            .collect();
        let y: Vec<f64> = (0..m)
            .map(|k| {
                let y = start.y.get(p.order[k] as usize).copied().unwrap_or(0.0);
                p.sign * y / p.row[k]
            })
            .collect();
        let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>().sqrt();
        let sides = p.row_lower.iter().zip(&p.row_upper);
        let sides = sides.map(|(l, u)| if l.is_finite() { *l } else { *u });
        let costs = norm(&mut p.cost.iter().copied());
        let sides = norm(&mut sides.filter(|b| b.is_finite()));
        let first = if costs > 0.0 && sides > 0.0 {
            costs / sides
        } else {
            1.0
        };
        let weight = match start.weight > 0.0 {
            true => start.weight,
            false => first,
        };
        Iterate {
            from_x: x.clone(),
            from_y: y.clone(),
            next_x: x.clone(),
            next_y: y.clone(),
            mirror: x.clone(),
            sums: vec![0.0; m + 1],
            activity: vec![0.0; m + 1],
            x,
            y,
            weight,
            inner: 0,
            all: 0,
            error_at_restart: f64::INFINITY,
            last_error: f64::INFINITY,
        }
    }

    pub fn step(&mut self, p: &Scaled) {
        let (by_x, by_y) = (STEP / self.weight, STEP * self.weight);
        p.sums(&self.y, &mut self.sums);
        for j in 0..self.x.len() {
            let x = self.x[j];
            let next = x - by_x * (p.cost[j] - p.transposed(j, &self.sums));
            let next = next.max(p.lower[j]).min(p.upper[j]);
            self.next_x[j] = next;
            self.mirror[j] = 2.0 * next - x;
        }
        p.times(&self.mirror, &mut self.activity);
        for i in 0..self.y.len() {
            let moved = self.y[i] - by_y * self.activity[i];
            // Moreau decomposition: the residual of the projection on the row's bounds.
            let inside = (-moved / by_y).max(p.row_lower[i]).min(p.row_upper[i]);
            self.next_y[i] = moved + by_y * inside;
        }
        self.inner += 1;
        self.all += 1;
        let looks = self.inner.is_multiple_of(CHECK_EVERY) || self.inner == 1;
        if looks && self.restarts(p) {
            return;
        }
        let share = self.inner as f64 / (self.inner + 1) as f64;
        let go = |at: &mut Vec<f64>, next: &[f64], from: &[f64]| {
            for ((at, next), from) in at.iter_mut().zip(next).zip(from) {
                *at = share * (2.0 * next - *at) + (1.0 - share) * from;
            }
        };
        go(&mut self.x, &self.next_x, &self.from_x);
        go(&mut self.y, &self.next_y, &self.from_y);
    }

    /// Restarts if due; returns whether it did.
    fn restarts(&mut self, p: &Scaled) -> bool {
        let error = self.error(p);
        if self.inner == 1 {
            (self.error_at_restart, self.last_error) = (error, error);
            return false;
        }
        let due = error <= SUFFICIENT * self.error_at_restart
            || (error <= NECESSARY * self.error_at_restart && error > self.last_error)
            || self.inner as f64 >= LONGEST_SHARE * self.all as f64;
        self.last_error = error;
        if !due {
            return false;
        }
        let distance = |a: &[f64], b: &[f64]| {
            let square = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b));
            square.sum::<f64>().sqrt()
        };
        let by_x = distance(&self.next_x, &self.from_x);
        let by_y = distance(&self.next_y, &self.from_y);
        if by_x > 1e-10 && by_y > 1e-10 {
            let towards = (by_y / by_x).ln() * WEIGHT_SHARE;
            self.weight = (towards + self.weight.ln() * (1.0 - WEIGHT_SHARE)).exp();
        }
        self.x.copy_from_slice(&self.next_x);
        self.y.copy_from_slice(&self.next_y);
        self.from_x.copy_from_slice(&self.next_x);
        self.from_y.copy_from_slice(&self.next_y);
        self.inner = 0;
        true
    }

    /// Length of the last step in the norm in which the method's operator shrinks distances.
    fn error(&self, p: &Scaled) -> f64 {
        let dx: Vec<f64> = self
            .next_x
            .iter()
            .zip(&self.x)
            .map(|(a, b)| a - b)
            .collect();
        let dy: Vec<f64> = self
            .next_y
            .iter()
            .zip(&self.y)
            .map(|(a, b)| a - b)
            .collect();
        let square = |d: &[f64]| d.iter().map(|d| d * d).sum::<f64>();
        let mut moved = vec![0.0; dy.len() + 1];
        p.times(&dx, &mut moved);
        let cross: f64 = dy.iter().zip(&moved).map(|(dy, moved)| dy * moved).sum();
        let sum = square(&dx) * self.weight + square(&dy) / self.weight - 2.0 * STEP * cross;
        sum.max(0.0).sqrt()
    }

    pub fn point(&self, p: &Scaled) -> FirstOrderPoint {
        let x = self.next_x.iter().zip(&p.col).map(|(x, by)| x * by);
        let mut y = vec![0.0; self.next_y.len()];
        for (k, i) in p.order.iter().enumerate() {
            y[*i as usize] = p.sign * self.next_y[k] * p.row[k];
        }
        FirstOrderPoint {
            x: x.collect(),
            y,
            weight: self.weight,
        }
    }
}
