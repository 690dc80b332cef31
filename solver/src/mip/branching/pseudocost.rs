//! Pseudo-costs: the mean gain per unit of branching on a column (Benichou et al. 1971; Achterberg,
//! Koch & Martin 2005).

use serde::{Deserialize, Serialize};

/// One observation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observation {
    pub col: u32,
    pub up: bool,
    pub gain_per_unit: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PseudoCosts {
    sum: [Vec<f64>; 2],
    count: [Vec<u32>; 2],
    total: [f64; 2],
    total_count: [u32; 2],
}

impl PseudoCosts {
    pub fn new(n: usize) -> Self {
        PseudoCosts {
            sum: [vec![0.0; n], vec![0.0; n]],
            count: [vec![0; n], vec![0; n]],
            total: [0.0; 2],
            total_count: [0; 2],
        }
    }

    pub fn copy_from(&mut self, other: &PseudoCosts) {
        for k in 0..2 {
            self.sum[k].copy_from_slice(&other.sum[k]);
            self.count[k].copy_from_slice(&other.count[k]);
        }
        self.total = other.total;
        self.total_count = other.total_count;
    }

    pub fn observe(&mut self, o: Observation) {
        let (k, j) = (usize::from(o.up), o.col as usize);
        self.sum[k][j] += o.gain_per_unit;
        self.count[k][j] += 1;
        self.total[k] += o.gain_per_unit;
        self.total_count[k] += 1;
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
