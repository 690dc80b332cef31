//! The first-order method against the simplex method: objective and bound of its point, the order
//! of the rows, and points of smaller programs.

use crate::support::Rng;
use remat_lp::certificate::safe_bound;
use remat_lp::{
    Bounds, ColId, FirstOrder, FirstOrderPoint, Model, ModelBuilder, NewCol, NewRow, RowId,
    RowOrder, Sense, Settings, Solver,
};

/// A bounded feasible program with rows of every kind, some with runs of equal coefficients.
fn program(r: &mut Rng) -> Model {
    let sense = match r.below(2) {
        0 => Sense::Minimise,
        _ => Sense::Maximise,
    };
    let mut b = ModelBuilder::new(sense);
    let columns = 2 + r.below(7);
    let value = |r: &mut Rng| r.below(9) as f64;
    let inside: Vec<f64> = (0..columns).map(|_| value(r)).collect();
    let cols: Vec<ColId> = inside
        .iter()
        .map(|x| b.add_col(value(r) - 4.0, (x - value(r))..=(x + value(r))))
        .collect();
    for _ in 0..1 + r.below(6) {
        let same = r.below(2) == 0;
        let own: Vec<(ColId, f64)> = cols
            .iter()
            .map(|c| (*c, if same { 2.0 } else { value(r) - 3.0 }))
            .filter(|e| e.1 != 0.0)
            .collect();
        let at: f64 = own.iter().map(|(c, v)| v * inside[c.index()]).sum();
        let bounds: Bounds = match r.below(4) {
            0 => (at - value(r)..).into(),
            1 => (..=at + value(r)).into(),
            2 => (at..=at).into(),
            _ => (at - value(r)..=at + value(r)).into(),
        };
        b.add_row(bounds, own);
    }
    b.build().unwrap()
}

fn run(model: &Model, order: &RowOrder, start: &FirstOrderPoint) -> FirstOrderPoint {
    let mut method = FirstOrder::new(model, order, start);
    assert!(method.ticks_per_iteration() > 0);
    method.run(4_000);
    method.point()
}

fn optimum(model: &Model) -> f64 {
    let outcome = Solver::new(model.clone(), Settings::default()).solve();
    outcome.optimal().unwrap().objective
}

/// Checks that the point is within bounds, nearly feasible and nearly optimal, and that its duals
/// prove it.
fn check(what: &str, model: &Model, point: &FirstOrderPoint) {
    let optimum = optimum(model);
    let near = 2e-3 * (1.0 + optimum.abs());
    let value = model.objective(&point.x);
    assert!((value - optimum).abs() <= near, "{what}: {value} {optimum}");
    let bound = safe_bound(model, &point.y);
    assert!((bound - optimum).abs() <= near, "{what}: {bound} {optimum}");
    for (j, x) in point.x.iter().enumerate() {
        let bounds = model.col_bounds(ColId(j as u32));
        let inside = bounds.lower - 1e-9..=bounds.upper + 1e-9;
        assert!(inside.contains(x), "{what}: column {j} at {x}");
    }
    for i in 0..model.num_rows() as u32 {
        let activity: f64 = model
            .row(RowId(i))
            .map(|(c, v)| v * point.x[c.index()])
            .sum();
        let bounds = model.row_bounds(RowId(i));
        let off = (bounds.lower - activity).max(activity - bounds.upper);
        assert!(off <= 2e-3 * (1.0 + activity.abs()), "{what}: row {i}");
    }
}

#[test]
fn points_are_near_the_optimum_in_any_order_of_the_rows() {
    let mut r = Rng::new(41);
    for seed in 0..120 {
        let model = program(&mut r);
        let nothing = FirstOrderPoint::default();
        let given = run(&model, &RowOrder::AsGiven, &nothing);
        check(&format!("{seed}"), &model, &given);
        assert_eq!(given, run(&model, &RowOrder::AsGiven, &nothing), "{seed}");
        // Backwards, with one row twice, one that does not exist, and the last one missing.
        let mut listed: Vec<u32> = (1..model.num_rows() as u32).rev().collect();
        listed.extend([
            model.num_rows() as u32,
            listed.first().copied().unwrap_or(0),
        ]);
        let other = run(&model, &RowOrder::Listed(listed), &nothing);
        check(&format!("{seed} in another order"), &model, &other);
    }
}

#[test]
fn a_point_serves_when_columns_and_rows_have_come() {
    let mut r = Rng::new(42);
    let (mut saved, mut cold) = (0.0, 0.0);
    for seed in 0..60 {
        let model = program(&mut r);
        let before = run(&model, &RowOrder::AsGiven, &FirstOrderPoint::default());
        let mut solver = Solver::new(model.clone(), Settings::default());
        let entries = (0..model.num_rows() as u32).map(|i| (RowId(i), 1.0));
        let column = NewCol::new(1.0, -1.0..=1.0, entries);
        solver.add_cols(&[column]).unwrap();
        let all = (0..solver.model().num_cols() as u32).map(|j| (ColId(j), 1.0));
        let sum: f64 = before.x.iter().sum();
        solver.add_rows(&[NewRow::new(..=sum + 0.5, all)]).unwrap();
        let grown = solver.model();
        let after = run(grown, &RowOrder::AsGiven, &before);
        check(&format!("{seed}"), grown, &after);
        // Of two short runs, the one from the point ends nearer overall.
        let off = |start: &FirstOrderPoint| {
            let mut method = FirstOrder::new(grown, &RowOrder::AsGiven, start);
            method.run(50);
            (safe_bound(grown, &method.point().y) - optimum(grown)).abs()
        };
        saved += off(&before);
        cold += off(&FirstOrderPoint::default());
    }
    assert!(
        saved < 0.5 * cold,
        "{saved} from points, {cold} from nothing"
    );
}
