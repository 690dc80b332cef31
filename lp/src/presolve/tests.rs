//! Tests of each reduction on a minimal program, and of all together on random programs (`random`).

mod random;

use super::*;
use crate::ids::ColId;
use crate::model::{ModelBuilder, Sense};
use crate::outcome::LpOutcome;
use crate::settings::{Limits, Settings};
use crate::solver::Solver;

const INF: f64 = f64::INFINITY;

/// Bounds and entries.
type Row<'a> = (f64, f64, &'a [(u32, f64)]);

/// A program from columns `(cost, lower, upper)` and rows `(lower, upper, entries)`.
fn program(cols: &[(f64, f64, f64)], rows: &[Row<'_>]) -> Arc<Model> {
    let mut b = ModelBuilder::new(Sense::Minimise);
    for &(c, l, u) in cols {
        b.add_col(c, l..=u);
    }
    for &(l, u, entries) in rows {
        b.add_row(l..=u, entries.iter().map(|&(j, v)| (ColId(j), v)));
    }
    Arc::new(b.build().unwrap())
}

/// Compares the optima with and without a presolve, and checks that the restored solution is exact.
/// Returns the reduced size and the solution.
fn check(model: &Arc<Model>, settings: &PresolveSettings) -> (usize, usize, Solution) {
    let PresolveOutcome::Reduced(p) = Presolved::new(model, settings) else {
        panic!("feasible and bounded")
    };
    let outcome = Solver::new(p.model().clone(), Settings::default()).solve();
    let whole = p.postsolve(outcome.optimal().expect("optimal"));
    restored_is_optimal(model, &whole).unwrap();
    (p.model().num_rows(), p.model().num_cols(), whole)
}

/// Checks that the certificate holds, nonbasic values are at their bounds, and the simplex needs no
/// pivot from the basis.
fn restored_is_optimal(model: &Arc<Model>, s: &Solution) -> Result<(), String> {
    certificate::check(model, &LpOutcome::Optimal(s.clone()), 1e-7).map_err(|e| e.to_string())?;
    if s.basis.num_basic() != model.num_rows() {
        return Err(format!(
            "{} basic of {}",
            s.basis.num_basic(),
            model.num_rows()
        ));
    }
    let columns = (0..model.num_cols()).map(|j| {
        (
            s.basis.cols[j],
            s.x[j],
            s.reduced_costs[j],
            model.col_lower[j],
            model.col_upper[j],
        )
    });
    let rows = (0..model.num_rows()).map(|i| {
        (
            s.basis.rows[i],
            s.row_activity[i],
            s.y[i],
            model.row_lower[i],
            model.row_upper[i],
        )
    });
    for (k, (status, v, d, l, u)) in columns.chain(rows).enumerate() {
        let off = match status {
            VarStatus::Basic => d.abs(),
            VarStatus::AtLower => (v - l).abs(),
            VarStatus::AtUpper => (v - u).abs(),
            VarStatus::Free => v.abs(),
        };
        if off.is_nan() || off > 1e-6 {
            return Err(format!(
                "variable {k} (columns, then rows), {status:?} in [{l}, {u}]: value {v}, dual {d}"
            ));
        }
    }
    let mut solver = Solver::new(
        model.clone(),
        Settings {
            perturbation: false,
            ..Settings::default()
        },
    );
    solver.set_basis(&s.basis).map_err(|e| e.to_string())?;
    let again = solver.solve();
    let again = again
        .optimal()
        .ok_or("not optimal from the restored basis")?;
    if (again.objective - s.objective).abs() > 1e-7 * (1.0 + s.objective.abs()) {
        return Err(format!(
            "{} from the restored basis, {} restored",
            again.objective, s.objective
        ));
    }
    match solver.stats().iterations() {
        0 => Ok(()),
        pivots => Err(format!("{pivots} pivots from the restored basis")),
    }
}

fn only(change: impl FnOnce(&mut PresolveSettings)) -> PresolveSettings {
    let mut s = PresolveSettings::minimal();
    change(&mut s);
    s
}

#[test]
fn a_singleton_row_prices_the_bound_it_became() {
    let m = program(
        &[(-1.0, 0.0, 10.0), (-1.0, 0.0, 10.0)],
        &[
            (-INF, 6.0, &[(0, -2.0), (1, 0.0)]),
            (-INF, 6.0, &[(0, 2.0)]),
            (-INF, 9.0, &[(0, 1.0), (1, 1.0)]),
        ],
    );
    let (rows, _, s) = check(&m, &only(|s| s.singleton_rows = true));
    assert_eq!((rows, s.objective), (1, -9.0));
    let m = program(
        &[(1.0, -10.0, 10.0), (1.0, 0.0, 1.0)],
        &[
            (-INF, 6.0, &[(0, -2.0)]),
            (-5.0, INF, &[(0, 1.0), (1, 1.0)]),
        ],
    );
    let (_, _, s) = check(&m, &only(|s| s.singleton_rows = true));
    assert_eq!((s.x[0], s.y[0]), (-3.0, -0.5));
}

#[test]
fn forcing_and_redundant_rows_go() {
    // x + y <= 2 with x, y >= 1 forces both; x - y >= -5 never binds.
    let m = program(
        &[(-1.0, 1.0, 3.0), (-2.0, 1.0, 3.0), (1.0, 0.0, 2.0)],
        &[
            (-INF, 2.0, &[(0, 1.0), (1, 1.0)]),
            (-5.0, INF, &[(0, 1.0), (1, -1.0)]),
            (1.0, INF, &[(2, 1.0), (0, 0.5)]),
        ],
    );
    let (rows, cols, s) = check(&m, &only(|s| s.forcing = true));
    assert_eq!((rows, cols), (1, 1));
    assert_eq!((s.x, s.y), (vec![1.0, 1.0, 0.5], vec![-2.0, 0.0, 1.0]));
    assert_eq!(s.objective, -2.5);
}

#[test]
fn doubletons_hand_bounds_over_and_back() {
    // x + 2 y = 4 with x in [0, 1]: the bounds of x imply that y is in [1.5, 2].
    for cost in [-1.0, 0.0, 1.0] {
        let m = program(
            &[(cost, 0.0, 1.0), (1.0, 0.0, 5.0), (0.3, 0.0, 9.0)],
            &[
                (4.0, 4.0, &[(0, 1.0), (1, 2.0)]),
                (3.0, 8.0, &[(0, 1.0), (1, 1.0), (2, 1.0)]),
            ],
        );
        let (rows, cols, _) = check(&m, &only(|s| s.doubletons = true));
        assert_eq!((rows, cols), (1, 2));
    }
}

#[test]
fn slacks_widen_rows() {
    for (cost, sense) in [(0.0, 5.0), (2.0, 5.0), (-2.0, 5.0), (0.0, 7.0)] {
        let m = program(
            &[
                (1.0, 0.0, 9.0),
                (2.0, 0.0, 9.0),
                (cost, 1.0, 3.0),
                (0.0, -1.0, 1.0),
            ],
            &[
                (5.0, sense, &[(0, 1.0), (1, 2.0), (2, 1.0), (3, -1.0)]),
                (1.0, INF, &[(0, 1.0), (1, -1.0)]),
            ],
        );
        let (rows, cols, _) = check(&m, &only(|s| s.slacks = true));
        // A cost moves to the other slack, which then cannot leave an inequality.
        assert_eq!((rows, cols), (2, if cost == 0.0 { 2 } else { 3 }));
    }
}

#[test]
fn implied_free_columns_leave_with_their_row() {
    // x = 10 - y - z is in [4, 10] by the bounds of y and z, so its own bounds [0, 20] never bind.
    let m = program(
        &[(3.0, 0.0, 20.0), (1.0, 0.0, 3.0), (1.0, 0.0, 3.0)],
        &[
            (10.0, 10.0, &[(0, 1.0), (1, 1.0), (2, 1.0)]),
            (1.0, 5.0, &[(1, 1.0), (2, -1.0)]),
            (2.0, INF, &[(0, 1.0), (1, 2.0)]),
        ],
    );
    let (rows, cols, s) = check(&m, &only(|s| s.substitution = true));
    assert!(rows < 3 && cols < 3);
    assert_eq!(s.objective, m.objective(&s.x));
    // With an inequality, the cost determines the side that binds.
    let m = program(
        &[(2.0, -INF, INF), (1.0, 0.0, 3.0), (-1.0, 0.0, 4.0)],
        &[
            (4.0, 9.0, &[(0, 1.0), (1, 1.0), (2, 1.0)]),
            (-1.0, 1.0, &[(1, 1.0), (2, -1.0)]),
        ],
    );
    let (rows, _, s) = check(&m, &only(|s| s.substitution = true));
    assert!(rows <= 1);
    assert_eq!(s.basis.rows[0], VarStatus::AtLower);
}

#[test]
fn dominated_columns_rest_on_a_bound() {
    // The slack s caps the dual of the first row at 1, so z at price 5 never pays.
    let m = program(
        &[(1.0, 0.0, INF), (5.0, 0.0, 4.0), (0.5, 0.0, 2.0)],
        &[
            (3.0, INF, &[(0, 1.0), (1, 1.0), (2, 1.0)]),
            (-INF, 6.0, &[(1, 1.0), (2, 1.0)]),
        ],
    );
    let (_, cols, s) = check(&m, &only(|s| s.dominated = true));
    assert!(cols < 3);
    assert_eq!((s.x[1], s.objective), (0.0, 2.0));
}

#[test]
fn duplicate_rows_share_one_dual() {
    for (l, u) in [(-INF, -6.0), (-10.0, -4.0), (-8.0, -8.0), (-INF, -1.0)] {
        let m = program(
            &[(1.0, 0.0, 9.0), (3.0, 0.0, 9.0)],
            &[
                (2.0, 5.0, &[(0, 1.0), (1, 1.0)]),
                (l, u, &[(0, -2.0), (1, -2.0)]),
            ],
        );
        let (rows, _, s) = check(&m, &only(|s| s.duplicate_rows = true));
        assert_eq!(rows, 1);
        assert!(s.y[0] == 0.0 || s.y[1] == 0.0);
    }
}

#[test]
fn duplicate_columns_divide_their_sum() {
    for (u, need) in [(1.0, 3.0), (1.0, 7.0), (INF, 7.0), (1.0, 0.0), (3.0, 9.0)] {
        for factor in [2.0, -2.0] {
            let (l2, u2) = if factor > 0.0 {
                (0.0, 3.0)
            } else {
                (-3.0, 0.0)
            };
            let m = program(
                &[(1.0, 0.0, u), (factor, l2, u2), (4.0, 0.0, 9.0)],
                &[
                    (need, INF, &[(0, 1.0), (1, factor), (2, 1.0)]),
                    (-20.0, 20.0, &[(0, 3.0), (1, 3.0 * factor), (2, 1.0)]),
                ],
            );
            let (_, cols, _) = check(&m, &only(|s| s.duplicate_cols = true));
            assert_eq!(cols, 2);
        }
    }
    // The more expensive of two columns, one without an upper bound, stays at its lower bound.
    let m = program(
        &[(1.0, 0.0, INF), (3.0, 0.5, 4.0)],
        &[
            (3.0, INF, &[(0, 1.0), (1, 2.0)]),
            (-INF, 20.0, &[(0, 1.0), (1, 2.0)]),
        ],
    );
    let (_, cols, s) = check(&m, &only(|s| s.duplicate_cols = true));
    assert_eq!((cols, s.x[1]), (1, 0.5));
}

#[test]
fn impossible_programs_come_with_proof() {
    // Hidden behind a doubleton, a singleton and a duplicate row.
    let m = program(
        &[(1.0, 0.0, 4.0), (1.0, 0.0, 9.0), (1.0, 0.0, 9.0)],
        &[
            (2.0, 2.0, &[(0, 1.0), (1, -1.0)]),
            (7.0, INF, &[(1, 2.0)]),
            (1.0, INF, &[(1, 1.0), (2, 1.0)]),
        ],
    );
    let PresolveOutcome::Infeasible(Some(ray)) = Presolved::new(&m, &PresolveSettings::default())
    else {
        panic!()
    };
    assert!(certificate::check_farkas(&m, &ray).is_ok());
    let m = program(
        &[(1.0, 0.0, 4.0), (1.0, 0.0, 9.0)],
        &[
            (2.0, 3.0, &[(0, 1.0), (1, 1.0)]),
            (-12.0, -8.0, &[(0, -2.0), (1, -2.0)]),
        ],
    );
    let PresolveOutcome::Infeasible(Some(ray)) =
        Presolved::new(&m, &only(|s| s.duplicate_rows = true))
    else {
        panic!()
    };
    assert!(certificate::check_farkas(&m, &ray).is_ok());
    // Two free columns that one row ties together and two other rows keep apart.
    let m = program(
        &[(1.0, -INF, INF), (1.0, -INF, INF), (0.0, 0.0, 1.0)],
        &[
            (-INF, 0.0, &[(0, 1.0), (1, -1.0), (2, 1.0)]),
            (3.0, INF, &[(0, 1.0), (2, 0.5)]),
            (-INF, 2.0, &[(1, 1.0), (2, 0.25)]),
        ],
    );
    let PresolveOutcome::Infeasible(Some(ray)) =
        Presolved::new(&m, &only(|s| s.contradictions = true))
    else {
        panic!()
    };
    assert!(certificate::check_farkas(&m, &ray).is_ok());
    // A column that no bound or row stops.
    let m = program(
        &[(-1.0, 0.0, INF), (1.0, 0.0, 1.0)],
        &[(0.0, INF, &[(0, 1.0), (1, 1.0)])],
    );
    assert!(matches!(
        Presolved::new(&m, &PresolveSettings::default()),
        PresolveOutcome::DualInfeasible
    ));
    let solved = crate::solve(
        &m,
        &Settings::default(),
        &Limits::default(),
        Some(&PresolveSettings::default()),
    );
    assert!(matches!(solved.outcome, LpOutcome::Unbounded(_)));
    certificate::check(&m, &solved.outcome, 1e-9).unwrap();
}

#[test]
fn nothing_left_is_a_solution() {
    let m = program(&[(1.0, 2.0, 5.0)], &[(3.0, INF, &[(0, 1.0)])]);
    let solved = crate::solve(
        &m,
        &Settings::default(),
        &Limits::default(),
        Some(&PresolveSettings::default()),
    );
    assert_eq!(solved.reduced, Some((0, 0, 0)));
    let s = solved.outcome.optimal().unwrap();
    assert_eq!((s.objective, s.y[0]), (3.0, 1.0));
}

#[test]
fn limits_reach_the_simplex() {
    let m = program(
        &[(-1.0, 0.0, 9.0), (-2.0, 0.0, 9.0), (-3.0, 0.0, 9.0)],
        &[
            (-INF, 10.0, &[(0, 1.0), (1, 2.0), (2, 1.0)]),
            (-INF, 12.0, &[(0, 3.0), (1, 1.0), (2, 2.0)]),
        ],
    );
    let settings = PresolveSettings::default();
    let with = |limits| crate::solve(&m, &Settings::default(), &limits, Some(&settings));
    let free = with(Limits::default());
    assert!(free.stats.iterations() > 0 && free.reduced.is_some());
    let none = with(Limits {
        iterations: Some(0),
        ..Limits::default()
    });
    assert!(
        matches!(none.outcome, LpOutcome::Limit(_)),
        "{:?}",
        none.outcome
    );
    // A cutoff refers to the original's duals, so there is no presolve.
    let cut = with(Limits {
        objective_cutoff: Some(-100.0),
        ..Limits::default()
    });
    assert_eq!(cut.reduced, None);
    certificate::check(&m, &cut.outcome, 1e-9).unwrap();
}
