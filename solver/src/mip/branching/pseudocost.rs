//! Pseudo-costs: the mean gain per unit of branching on a column (Benichou et al. 1971; Achterberg,
//! Koch & Martin 2005).

use super::history::{self, History};
use serde::{Deserialize, Serialize};

/// One observation.
#[derive(Clone, Debug)]
pub(crate) enum Observation {
    /// A branching that stayed open.
    Gain {
        col: u32,
        up: bool,
        gain_per_unit: f64,
    },
    /// A branching that was closed at once.
    Closed { col: u32, up: bool },
    /// Bounds implied by a branching.
    Implied { col: u32, up: bool, count: u32 },
    /// Bounds that are infeasible together: column, and whether it is a lower bound.
    Conflict(Vec<(u32, bool)>),
}

/// Gains above this count as progress.
const LEAST_GAIN: f64 = 1e-6;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PseudoCosts {
    sum: [Vec<f64>; 2],
    count: [Vec<u32>; 2],
    total: [f64; 2],
    total_count: [u32; 2],
    /// Number of gains above [`LEAST_GAIN`].
    gained: u32,
    history: History,
}

impl PseudoCosts {
    pub fn new(n: usize) -> Self {
        PseudoCosts {
            sum: [vec![0.0; n], vec![0.0; n]],
            count: [vec![0; n], vec![0; n]],
            total: [0.0; 2],
            total_count: [0; 2],
            gained: 0,
            history: History::new(n),
        }
    }

    pub fn copy_from(&mut self, other: &PseudoCosts) {
        for k in 0..2 {
            self.sum[k].copy_from_slice(&other.sum[k]);
            self.count[k].copy_from_slice(&other.count[k]);
        }
        self.total = other.total;
        self.total_count = other.total_count;
        self.gained = other.gained;
        self.history.clone_from(&other.history);
    }

    pub fn observe(&mut self, o: &Observation) {
        match *o {
            Observation::Gain {
                col,
                up,
                gain_per_unit,
            } => {
                let (k, j) = (usize::from(up), col as usize);
                self.sum[k][j] += gain_per_unit;
                self.count[k][j] += 1;
                self.total[k] += gain_per_unit;
                self.total_count[k] += 1;
                self.gained += u32::from(gain_per_unit > LEAST_GAIN);
                self.history.closed((j, up), false);
            }
            Observation::Closed { col, up } => self.history.closed((col as usize, up), true),
            Observation::Implied { col, up, count } => {
                self.history.implied((col as usize, up), count);
            }
            Observation::Conflict(ref bounds) => self.history.conflict(bounds),
        }
    }

    /// Returns whether at least half of the branchings so far have not moved the objective.
    pub fn is_flat(&self) -> bool {
        let count = self.total_count[0] + self.total_count[1];
        count > 0 && 2 * self.gained <= count
    }

    /// Score of branching on a column with these gains (down, up). If the objective is flat, the
    /// history of the column counts beside them. Scores with and without it cannot be compared.
    pub fn score(&self, j: usize, (down, up): (f64, f64), is_flat: bool) -> f64 {
        let gains = score(down, up);
        if !is_flat {
            return gains;
        }
        let mean = |k: usize| self.total[k] / f64::from(self.total_count[k].max(1));
        history::bounded(gains / score(mean(0), mean(1))) + self.history.score(j)
    }

    /// Number of observations of a column in the direction with fewer.
    pub fn reliability(&self, j: usize) -> u32 {
        self.count[0][j].min(self.count[1][j])
    }

    /// Expected gain per unit; the mean of all columns if the column has no observation.
    pub fn per_unit(&self, j: usize, up: bool) -> f64 {
        let k = usize::from(up);
        if self.count[k][j] > 0 {
            self.sum[k][j] / f64::from(self.count[k][j])
        } else if self.total_count[k] > 0 {
            self.total[k] / f64::from(self.total_count[k])
        } else {
            1.0
        }
    }

    /// Expected gains (down, up) of branching at value `v`.
    pub fn gains(&self, j: usize, v: f64) -> (f64, f64) {
        let f = v - v.floor();
        (
            self.per_unit(j, false) * f,
            self.per_unit(j, true) * (1.0 - f),
        )
    }
}

/// The product rule.
pub(crate) fn score(down: f64, up: f64) -> f64 {
    down.max(1e-6) * up.max(1e-6)
}
