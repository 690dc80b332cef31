//! Gomory mixed-integer cuts (Gomory 1960), as mixed-integer rounding of rows of the simplex
//! tableau.

use super::accumulator::Accumulator;
use super::mir;
use super::shift::BoundSubstitution;
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
    let basis = &c.solution.basis;
    let mut acc = Accumulator::new(c.problem.num_cols());
    let mut slacks = Vec::new();
    for multipliers in &c.tableau {
        // The tableau row as an equation: sum_i y_i (row_i . x) with each row's activity at its
        // side minus a slack.
        acc.clear();
        slacks.clear();
        let largest = multipliers.iter().fold(0.0f64, |a, v| a.max(v.abs()));
        let mut usable = largest > 0.0;
        for (i, &y) in multipliers.iter().enumerate() {
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
            acc.add_row(c.model, i, y);
            acc.side
                .add(y * if upper { sides.upper } else { sides.lower });
            if sides.lower != sides.upper {
                slacks.push((i as u32, if upper { y } else { -y }, upper));
            }
        }
        if !usable {
            continue;
        }
        acc.sort();
        for sign in [1.0, -1.0] {
            mir::separate(
                c,
                &acc.base(&slacks, sign),
                &[BoundSubstitution::Tighter, BoundSubstitution::Never],
                out,
            );
        }
    }
}
