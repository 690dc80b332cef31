//! Gomory mixed-integer cuts (Gomory 1960), as mixed-integer rounding of rows of the simplex
//! tableau.

use super::mir;
use super::shift::{Base, BoundSubstitution};
use super::{Context, Cut};
use crate::mip::problem::Problem;
use remat_lp::{RowId, Solution, VarStatus};

/// The fractional basic columns with promising tableau rows, the most fractional first.
pub(crate) fn sources(p: &Problem, s: &Solution, nonzeros: usize) -> Vec<usize> {
    let mut sources: Vec<(f64, usize)> = (0..p.num_cols())
        .filter(|&j| p.integer[j] && s.basis.cols[j] == VarStatus::Basic)
        .map(|j| ((s.x[j] - s.x[j].floor() - 0.5).abs(), j))
        .filter(|s| s.0 < 0.49)
        .collect();
    sources.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let work = nonzeros + s.y.len() + p.num_cols();
    sources.truncate((8_000_000 / work.max(1)).clamp(5, 200));
    sources.into_iter().map(|s| s.1).collect()
}

/// Cuts from the tableau rows of the context.
pub(crate) fn separate(c: &Context<'_>, out: &mut Vec<Cut>) {
    let (m, n) = (c.model.num_rows(), c.problem.num_cols());
    let basis = &c.solution.basis;
    let mut dense = vec![0.0; n];
    for multipliers in &c.tableau {
        // The tableau row as an equation: sum_i y_i (row_i . x) with each row's activity at its
        // side minus a slack.
        dense.fill(0.0);
        let mut base = Base::default();
        let largest = multipliers.iter().fold(0.0f64, |a, v| a.max(v.abs()));
        let mut usable = largest > 0.0;
        for i in 0..m {
            let y = multipliers[i];
            if y.abs() <= 1e-10 * largest {
                continue;
            }
            let sides = c.model.row_bounds(RowId(i as u32));
            let upper = match basis.rows[i] {
                VarStatus::AtUpper => true,
                VarStatus::AtLower => false,
                _ => {
                    usable = false;
                    break;
                }
            };
            for (k, a) in c.model.row(RowId(i as u32)) {
                dense[k.index()] += y * a;
                base.rhs.see(y * a);
            }
            base.rhs
                .add(y * if upper { sides.upper } else { sides.lower });
            if sides.lower != sides.upper {
                base.slacks
                    .push((i as u32, if upper { y } else { -y }, upper));
            }
        }
        if !usable {
            continue;
        }
        base.entries = (0..n as u32)
            .filter(|&k| dense[k as usize] != 0.0)
            .map(|k| (k, dense[k as usize]))
            .collect();
        mir::separate(
            c,
            &base,
            &[BoundSubstitution::Tighter, BoundSubstitution::Never],
            out,
        );
        let mut opposite = base;
        opposite.rhs = opposite.rhs.scaled(-1.0);
        for e in &mut opposite.entries {
            e.1 = -e.1;
        }
        for e in &mut opposite.slacks {
            e.1 = -e.1;
        }
        mir::separate(
            c,
            &opposite,
            &[BoundSubstitution::Tighter, BoundSubstitution::Never],
            out,
        );
    }
}
