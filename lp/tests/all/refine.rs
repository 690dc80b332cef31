//! Iterative refinement: residuals of badly scaled programs, in the model's own units.

use remat_lp::presolve::PresolveSettings;
use remat_lp::refine::{refine, residuals};
use remat_lp::{
    ColId, Limits, Model, ModelBuilder, RowId, Sense, Settings, Solution, Solver, certificate,
};
use std::sync::Arc;

use crate::support::{Rng, netlib, scaled_over_decades};

/// Allowed residual: 1e-9, or the largest effect of rounding `x` and `y` to doubles on one row or
/// column, if larger.
fn allowed(model: &Model, s: &Solution) -> (f64, f64) {
    let rows = (0..model.num_rows()).map(|i| {
        let row = model.row(RowId(i as u32));
        row.map(|(c, v)| (v * s.x[c.index()]).abs()).sum::<f64>()
    });
    let cols = (0..model.num_cols()).map(|j| {
        let col = model.col(ColId(j as u32));
        col.map(|(r, v)| (v * s.y[r.index()]).abs()).sum::<f64>()
    });
    let limit = |size: f64| 1e-9f64.max(f64::EPSILON * size);
    (
        limit(rows.fold(0.0, f64::max)),
        limit(cols.fold(0.0, f64::max)),
    )
}

#[test]
fn residuals_of_badly_scaled_programs_end_below_a_billionth() {
    let mut rng = Rng::new(5);
    let (mut before, mut after) = (0, 0);
    for trial in 0..60 {
        let model = Arc::new(scaled_over_decades(&mut rng, 2 + trial % 3));
        for scaling in [true, false] {
            let settings = Settings {
                scaling,
                ..Default::default()
            };
            let outcome = Solver::new(model.clone(), settings.clone()).solve();
            let Some(rough) = outcome.optimal() else {
                panic!(
                    "trial {trial}, scaling {scaling}: {outcome:?} {:?}",
                    certificate::check(&model, &outcome, 1e-6)
                )
            };
            let s = refine(&model, rough, &settings);
            let found = residuals(&model, &s);
            let (primal, dual) = allowed(&model, &s);
            assert!(
                found.primal <= primal && found.dual <= dual,
                "trial {trial}, scaling {scaling}: {found:?}, allowed {primal:e} {dual:e}"
            );
            before += (residuals(&model, rough).primal > 1e-9) as usize;
            after += (found.primal > 1e-9) as usize;
            certificate::check(&model, &remat_lp::LpOutcome::Optimal(s.clone()), 1e-9).unwrap();
            assert!((s.objective - rough.objective).abs() <= 1e-6 * (1.0 + s.objective.abs()));
        }
    }
    assert!(after < before, "{after} of {before} are left");
}

#[test]
fn a_basis_that_is_not_quite_optimal_is_put_right() {
    // At the default tolerance x = 0 is optimal, since its reduced cost is -1e-8. A unit of x
    // changes the objective by that much.
    let mut b = ModelBuilder::new(Sense::Minimise);
    let x = b.add_col(-1e-8, 0.0..=1.0);
    let y = b.add_col(1.0, 0.0..=1.0);
    b.add_row(0.5.., [(y, 1.0)]);
    let _ = x;
    let model = Arc::new(b.build().unwrap());
    let settings = Settings {
        refine: true,
        ..Default::default()
    };
    let s = Solver::new(model.clone(), settings).solve();
    let s = s.optimal().unwrap();
    assert_eq!(s.x, [1.0, 0.5]);
    assert!(residuals(&model, s).dual <= 1e-9);
}

#[test]
fn netlib_problems_end_with_small_residuals_presolved_or_not() {
    for name in ["pilot4", "perold", "greenbeb", "scfxm1", "etamacro", "agg"] {
        let Some(model) = netlib(name) else { return };
        let model = Arc::new(model);
        let settings = Settings {
            refine: true,
            ..Default::default()
        };
        for presolve in [None, Some(PresolveSettings::default())] {
            let solved = remat_lp::solve(&model, &settings, &Limits::default(), presolve.as_ref());
            let s = solved.outcome.optimal().unwrap();
            let found = residuals(&model, s);
            let (primal, dual) = allowed(&model, s);
            assert!(
                found.primal <= primal && found.dual <= dual,
                "{name}: {found:?}, allowed {primal:e} {dual:e}"
            );
        }
    }
}
