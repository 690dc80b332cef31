//! A solve of a mixed-integer program, here or in another solver.

/// One solve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MipRun {
    /// How it ended: `optimal`, `infeasible`, `unbounded`, `limit` or (outside) `failed`.
    pub status: String,
    /// Objective of the best solution.
    pub objective: Option<f64>,
    /// The dual bound.
    pub bound: f64,
    /// Nodes.
    pub nodes: u64,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Times (seconds) and objectives of its solutions.
    pub incumbents: Vec<(f64, f64)>,
}

impl MipRun {
    /// Returns whether it ended with a proof.
    pub fn complete(&self) -> bool {
        self.status != "limit" && self.status != "failed"
    }

    /// `|objective - bound| / |objective|` in per cent.
    pub fn gap_percent(&self) -> Option<f64> {
        let v = self.objective?;
        let gap = 100.0 * (v - self.bound).abs() / v.abs().max(1e-10);
        (gap.is_finite() && self.bound.is_finite()).then_some(if v == self.bound {
            0.0
        } else {
            gap
        })
    }
}
