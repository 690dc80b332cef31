//! A known solution that debug builds carry along. A cut, a reduction or a pruned node that loses
//! it, although it is better than the incumbent, reveals a defect at once (the idea of HiGHS's
//! `HighsDebugSol`).

use crate::mip::domain::Domain;
use crate::mip::domain::clauses::Literal;
use crate::mip::presolve::Postsolve;
use crate::mip::problem::Problem;
use crate::mip::relaxation::ExtraRow;
use crate::mip::tree::TreeNode;
use remat_lp::Model;
use std::sync::Arc;

/// Relative difference of two objectives that row violations within 1e-6 can cause.
const MARGIN: f64 = 1e-5;

#[derive(Clone, Debug)]
pub(crate) struct DebugSolution {
    x: Vec<f64>,
    /// In minimised form.
    objective: f64,
}

impl DebugSolution {
    /// The solution in the columns of the problem. `None` if presolve kept other solutions that are
    /// as good: its image then violates the problem or has another objective.
    pub fn new(
        model: &Model,
        p: &Problem,
        postsolve: &Postsolve,
        original: &[f64],
    ) -> Option<DebugSolution> {
        if !cfg!(debug_assertions) || original.len() != postsolve.original {
            return None;
        }
        let x = postsolve.project(original);
        let inside = |v: f64, l: f64, u: f64| {
            let tol = |s: f64| 1e-6 * s.abs().max(1.0);
            v >= l - tol(l) && v <= u + tol(u)
        };
        let columns = (0..p.num_cols()).all(|j| inside(x[j], p.lower[j], p.upper[j]));
        let rows = (0..p.num_rows()).all(|i| {
            let activity = p.rows.iter(i).map(|(j, a)| a * x[j]).sum();
            inside(activity, p.row_lower[i], p.row_upper[i])
        });
        let objective = p.objective(&x);
        let own = p.unit * model.objective(original);
        let same = (objective - own).abs() <= MARGIN * own.abs().max(1.0);
        (columns && rows && same).then_some(DebugSolution { x, objective })
    }

    /// Returns whether the solution beats a cutoff by more than the tolerances of rows can account
    /// for: costs may be several times the coefficients there.
    fn is_better(&self, cutoff: f64) -> bool {
        self.objective < cutoff - MARGIN * cutoff.abs().max(1.0)
    }

    /// Panics if a globally valid inequality `entries . x <= rhs` cuts the solution off.
    pub fn check_cut(&self, entries: &[(u32, f64)], rhs: f64, what: &str) {
        let activity: f64 = entries.iter().map(|&(j, a)| a * self.x[j as usize]).sum();
        let size: f64 = entries
            .iter()
            .map(|&(j, a)| (a * self.x[j as usize]).abs())
            .sum();
        assert!(
            activity <= rhs + 1e-6 * size.max(1.0),
            "{what}: the known solution with objective {} is cut off: {activity} > {rhs}",
            self.objective
        );
    }

    /// Panics if the solution is better than the cutoff but violates a row that holds for all such
    /// solutions.
    pub fn check_conflict(&self, entries: &[(u32, f64)], rhs: f64, cutoff: f64) {
        if self.is_better(cutoff) {
            self.check_cut(entries, rhs, "conflict");
        }
    }

    /// Panics if a cut of a node excludes the solution although it satisfies the node's bounds and
    /// rows.
    pub fn check_local_cut(
        &self,
        domain: &Domain,
        rows: &[Arc<ExtraRow>],
        entries: &[(u32, f64)],
        rhs: f64,
    ) {
        let value = |entries: &[(u32, f64)]| -> f64 {
            entries.iter().map(|&(j, a)| a * self.x[j as usize]).sum()
        };
        let bounds = (0..self.x.len())
            .all(|j| domain.lower[j] <= self.x[j] + 1e-9 && self.x[j] <= domain.upper[j] + 1e-9);
        let inside = bounds
            && rows.iter().all(|r| {
                let a = value(&r.entries);
                a >= r.lower - 1e-9 && a <= r.upper + 1e-9
            });
        if inside {
            self.check_cut(entries, rhs, "local cut");
        }
    }

    /// Panics if the solution is better than the cutoff but violates a clause that holds for all
    /// such solutions.
    pub fn check_clause(&self, literals: &[Literal], cutoff: f64) {
        if !self.is_better(cutoff) {
            return;
        }
        let excluded = literals.iter().all(|l| {
            let v = self.x[l.col as usize].round();
            if l.upper { v <= l.value } else { v >= l.value }
        });
        assert!(
            !excluded,
            "clause: the known solution with objective {} is excluded by {literals:?}",
            self.objective
        );
    }

    /// Panics if global bounds exclude the solution although it is better than the cutoff.
    pub fn check_bounds(&self, p: &Problem, lower: &[f64], upper: &[f64], cutoff: f64, what: &str) {
        if !self.is_better(cutoff) {
            return;
        }
        for j in 0..p.num_cols() {
            if p.integer[j] {
                let v = self.x[j].round();
                assert!(
                    lower[j] <= v && v <= upper[j],
                    "{what}: column {j} of the known solution has the value {v}, outside {}..{}",
                    lower[j],
                    upper[j]
                );
            }
        }
    }

    /// Panics if a node that contains the solution is closed although the solution is better than
    /// the cutoff.
    pub fn check_closed(&self, node: &TreeNode, cutoff: f64) {
        if !self.is_better(cutoff) {
            return;
        }
        let contains = node.steps().iter().all(|s| {
            let bounds = s.decision.bounds.iter().all(|(c, b)| {
                let v = self.x[c.index()].round();
                b.lower <= v && v <= b.upper
            });
            let rows = s.rows.iter().all(|r| {
                let activity: f64 = r.entries.iter().map(|&(j, a)| a * self.x[j as usize]).sum();
                activity >= r.lower - 1e-6 && activity <= r.upper + 1e-6
            });
            bounds && rows
        });
        assert!(
            !contains,
            "a node is closed that holds the known solution with objective {}, the cutoff is {cutoff}",
            self.objective
        );
    }
}
