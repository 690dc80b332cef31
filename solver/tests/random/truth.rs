//! The answer of a small program, by enumeration.

use remat_lp::{ColId, Model};
use remat_solver::mip::{SolveResult, SolveStatus, check_point};

#[derive(Debug, PartialEq)]
pub enum Truth {
    Infeasible,
    Unbounded,
    Optimal(f64),
}

impl Truth {
    /// The answer of a search, if it ended with one.
    pub fn told(result: &SolveResult) -> Option<Truth> {
        match (result.status, &result.solution) {
            (SolveStatus::Infeasible, None) => Some(Truth::Infeasible),
            (SolveStatus::Unbounded, Some(_)) => Some(Truth::Unbounded),
            (SolveStatus::Optimal, Some(s)) => Some(Truth::Optimal(s.objective)),
            _ => None,
        }
    }

    /// Returns whether two answers agree within the tolerance of objectives.
    pub fn agrees(&self, other: &Truth) -> bool {
        match (self, other) {
            (Truth::Optimal(a), Truth::Optimal(b)) => (a - b).abs() <= 1e-5 * (1.0 + b.abs()),
            (a, b) => a == b,
        }
    }
}

/// Tries every integer point; the linear programming solver optimises the continuous columns.
pub fn enumerate(model: &Model) -> Truth {
    let n = model.num_cols();
    let sign = model.sense().sign();
    let ints: Vec<usize> = (0..n)
        .filter(|&j| model.is_integer(ColId(j as u32)))
        .collect();
    let mut x: Vec<f64> = vec![0.0; n];
    for &j in &ints {
        x[j] = model.col_lower()[j];
    }
    let mut lp = (ints.len() < n).then(|| remat_lp::Solver::new(model.clone(), Default::default()));
    let mut best = f64::INFINITY;
    loop {
        if let Some(lp) = &mut lp {
            for &j in &ints {
                lp.set_col_bounds(ColId(j as u32), x[j]).unwrap();
            }
            match lp.solve() {
                remat_lp::LpOutcome::Optimal(s) => best = best.min(sign * s.objective),
                remat_lp::LpOutcome::Unbounded(_) => return Truth::Unbounded,
                _ => {}
            }
        } else if let Ok(v) = check_point(model, &x, 1e-9) {
            best = best.min(sign * v);
        }
        // Advances to the next point, as an odometer does.
        let mut k = 0;
        loop {
            let Some(&j) = ints.get(k) else {
                return if best.is_finite() {
                    Truth::Optimal(sign * best)
                } else {
                    Truth::Infeasible
                };
            };
            x[j] += 1.0;
            if x[j] <= model.col_upper()[j] {
                break;
            }
            x[j] = model.col_lower()[j];
            k += 1;
        }
    }
}
