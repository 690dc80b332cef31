//! Gomory mixed-integer cuts (Gomory 1960), as mixed-integer rounding of rows of the simplex tableau.
//!
//! The multipliers of a tableau row are the duals of a program with the same basis in which everything nonbasic is
//! fixed, everything basic is free and the cost is one on the row's basic column: it is optimal as it stands, so the
//! linear programming core hands out `e_r B^-1` without a pivot.

use super::mir::{self, Base};
use super::{Context, Cut};
use remat_lp::{Bounds, ColId, LpOutcome, ModelBuilder, RowId, Sense, VarStatus};

/// Cuts from tableau rows of fractional basic columns.
pub(crate) fn separate(c: &Context<'_>, out: &mut Vec<Cut>) {
    let (m, n) = (c.model.num_rows(), c.problem.num_cols());
    let basis = &c.solution.basis;
    let x = &c.solution.x;
    let mut sources: Vec<(f64, usize)> = (0..n)
        .filter(|&j| c.problem.integer[j] && basis.cols[j] == VarStatus::Basic)
        .map(|j| ((x[j] - x[j].floor() - 0.5).abs(), j))
        .filter(|s| s.0 < 0.49)
        .collect();
    if sources.is_empty() || m == 0 {
        return;
    }
    sources.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let nnz = c.model.num_nonzeros() + m + n;
    sources.truncate((8_000_000 / nnz).clamp(5, 200));
    let mut b = ModelBuilder::new(Sense::Minimise);
    for j in 0..n {
        let bounds = match basis.cols[j] {
            VarStatus::Basic => Bounds::FREE,
            _ => Bounds::from(x[j]),
        };
        b.add_col(0.0, bounds);
    }
    for i in 0..m {
        let row = RowId(i as u32);
        let sides = c.model.row_bounds(row);
        let bounds = match basis.rows[i] {
            VarStatus::Basic => Bounds::FREE,
            VarStatus::AtLower => Bounds::from(sides.lower),
            VarStatus::AtUpper => Bounds::from(sides.upper),
            VarStatus::Free => Bounds::from(0.0),
        };
        b.add_row(bounds, c.model.row(row));
    }
    let Ok(model) = b.build() else { return };
    let mut lp = remat_lp::Solver::new(
        model,
        remat_lp::Settings {
            perturbation: false,
            ..Default::default()
        },
    );
    let mut fixed = basis.clone();
    for s in fixed.cols.iter_mut().chain(fixed.rows.iter_mut()) {
        if *s != VarStatus::Basic {
            *s = VarStatus::AtLower;
        }
    }
    if lp.set_basis(&fixed).is_err() {
        return;
    }
    lp.set_limits(remat_lp::Limits {
        iterations: Some(5),
        ..Default::default()
    });
    let mut dense = vec![0.0; n];
    for (_, j) in sources {
        let col = ColId(j as u32);
        if lp.set_cost(col, 1.0).is_err() {
            return;
        }
        let outcome = lp.solve();
        if lp.set_cost(col, 0.0).is_err() {
            return;
        }
        let LpOutcome::Optimal(s) = outcome else {
            continue;
        };
        // The tableau row as an equation: sum_i y_i (row_i . x) with each row's activity at its side minus a slack.
        dense.fill(0.0);
        let mut base = Base::default();
        let largest = s.y.iter().fold(0.0f64, |a, v| a.max(v.abs()));
        let mut usable = largest > 0.0;
        for i in 0..m {
            let y = s.y[i];
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
            }
            base.rhs += y * if upper { sides.upper } else { sides.lower };
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
        out.extend(mir::separate(c, &base, false));
        let mut opposite = base;
        opposite.rhs = -opposite.rhs;
        for e in &mut opposite.entries {
            e.1 = -e.1;
        }
        for e in &mut opposite.slacks {
            e.1 = -e.1;
        }
        out.extend(mir::separate(c, &opposite, false));
    }
}
