//! Random programs against brute force, and warm starts against cold ones over long sequences of
//! changes.

use remat_lp::{
    Algorithm, Bounds, ColId, LpOutcome, Model, ModelBuilder, NewCol, NewRow, RowId, Sense,
    Settings, Solver, certificate,
};

struct Lcg(u64);
impl Lcg {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        self.0 >> 33
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
    fn int(&mut self, lo: i64, hi: i64) -> f64 {
        (lo + (self.next() % (hi - lo + 1) as u64) as i64) as f64
    }
}

fn random_bounds(rng: &mut Lcg, boxed_only: bool) -> Bounds {
    let a = rng.int(-4, 4);
    let b = a + rng.int(0, 6);
    match rng.below(if boxed_only { 2 } else { 6 }) {
        0 | 1 => Bounds::new(a, b),
        2 => Bounds::new(a, f64::INFINITY),
        3 => Bounds::new(f64::NEG_INFINITY, b),
        4 => Bounds::from(a),
        _ => Bounds::NONNEGATIVE,
    }
}

fn random_model(rng: &mut Lcg, m: usize, n: usize, boxed: bool) -> Model {
    let sense = if rng.below(2) == 0 {
        Sense::Minimise
    } else {
        Sense::Maximise
    };
    let mut b = ModelBuilder::new(sense);
    b.set_offset(rng.int(-3, 3));
    for _ in 0..n {
        let bounds = random_bounds(rng, boxed);
        b.add_col(rng.int(-5, 5), bounds);
    }
    for _ in 0..m {
        let bounds = match rng.below(5) {
            0 => Bounds::from(rng.int(-3, 6)),
            1 => Bounds::new(rng.int(-8, 0), rng.int(0, 8)),
            2 => Bounds::new(f64::NEG_INFINITY, rng.int(-2, 9)),
            3 => Bounds::new(rng.int(-9, 2), f64::INFINITY),
            _ => random_bounds(rng, false),
        };
        let entries: Vec<(ColId, f64)> = (0..n)
            .filter(|_| rng.below(3) != 0)
            .map(|j| (ColId(j as u32), 0.0))
            .collect();
        let entries: Vec<_> = entries
            .into_iter()
            .map(|(c, _)| (c, rng.int(-3, 3)))
            .collect();
        b.add_row(bounds, entries);
    }
    b.build().unwrap()
}

/// Optimum of a small program over a box, by enumeration of all vertices: every choice of n tight
/// constraints among the bounds of columns and rows.
fn brute_force(model: &Model) -> Option<f64> {
    let (m, n) = (model.num_rows(), model.num_cols());
    let mut planes: Vec<(Vec<f64>, f64)> = Vec::new();
    for j in 0..n {
        let b = model.col_bounds(ColId(j as u32));
        let mut row = vec![0.0; n];
        row[j] = 1.0;
        for v in [b.lower, b.upper] {
            if v.is_finite() {
                planes.push((row.clone(), v));
            }
        }
    }
    for i in 0..m {
        let mut row = vec![0.0; n];
        for (c, v) in model.row(RowId(i as u32)) {
            row[c.index()] = v;
        }
        let b = model.row_bounds(RowId(i as u32));
        for v in [b.lower, b.upper] {
            if v.is_finite() {
                planes.push((row.clone(), v));
            }
        }
    }
    let mut best: Option<f64> = None;
    let mut pick = vec![0usize; n];
    fn combos(
        from: usize,
        k: usize,
        pick: &mut Vec<usize>,
        total: usize,
        visit: &mut dyn FnMut(&[usize]),
    ) {
        if k == pick.len() {
            visit(pick);
            return;
        }
        for p in from..total {
            pick[k] = p;
            combos(p + 1, k + 1, pick, total, visit);
        }
    }
    let total = planes.len();
    combos(0, 0, &mut pick, total, &mut |pick| {
        let mut a: Vec<Vec<f64>> = pick
            .iter()
            .map(|&p| [planes[p].0.clone(), vec![planes[p].1]].concat())
            .collect();
        for c in 0..n {
            let Some(p) = (c..n).find(|&r| a[r][c].abs() > 1e-9) else {
                return;
            };
            a.swap(c, p);
            let pivot = a[c].clone();
            for (r, row) in a.iter_mut().enumerate() {
                if r != c {
                    let f = row[c] / pivot[c];
                    row.iter_mut().zip(&pivot).for_each(|(x, p)| *x -= f * p);
                }
            }
        }
        let x: Vec<f64> = (0..n).map(|c| a[c][n] / a[c][c]).collect();
        let inside = |v: f64, b: Bounds| v >= b.lower - 1e-7 && v <= b.upper + 1e-7;
        if (0..n).all(|j| inside(x[j], model.col_bounds(ColId(j as u32))))
            && (0..m).all(|i| {
                let v: f64 = model
                    .row(RowId(i as u32))
                    .map(|(c, v)| v * x[c.index()])
                    .sum();
                inside(v, model.row_bounds(RowId(i as u32)))
            })
        {
            let z = model.objective(&x);
            let better = |old: f64| {
                if model.sense() == Sense::Minimise {
                    z < old
                } else {
                    z > old
                }
            };
            if best.is_none_or(better) {
                best = Some(z);
            }
        }
    });
    best
}

#[test]
fn boxed_programs_match_enumeration_of_vertices() {
    let mut rng = Lcg(5);
    let (mut feasible, mut infeasible) = (0, 0);
    for _ in 0..300 {
        let (m, n) = (1 + rng.below(4), 1 + rng.below(4));
        let model = random_model(&mut rng, m, n, true);
        let truth = brute_force(&model);
        for algorithm in [Algorithm::Dual, Algorithm::Primal] {
            let mut solver = Solver::new(
                model.clone(),
                Settings {
                    algorithm,
                    ..Default::default()
                },
            );
            let outcome = solver.solve();
            certificate::check(&model, &outcome, 1e-7)
                .unwrap_or_else(|e| panic!("{e}\n{outcome:?}\n{model:?}"));
            match (&outcome, truth) {
                (LpOutcome::Optimal(s), Some(z)) => {
                    assert!(
                        (s.objective - z).abs() < 1e-6,
                        "{} instead of {z}",
                        s.objective
                    );
                    feasible += 1;
                }
                (LpOutcome::Infeasible(_), None) => infeasible += 1,
                (o, t) => panic!("{o:?} where enumeration found {t:?}\n{model:?}"),
            }
        }
    }
    assert!(feasible > 100 && infeasible > 50, "{feasible} {infeasible}");
}

/// The kind of the outcome, and the objective if there is one.
fn summary(o: &LpOutcome) -> (u8, f64) {
    match o {
        LpOutcome::Optimal(s) => (0, s.objective),
        LpOutcome::Infeasible(_) => (1, 0.0),
        LpOutcome::Unbounded(_) => (2, 0.0),
        other => panic!("{other:?}"),
    }
}

#[test]
fn unrestricted_programs_end_with_a_checked_certificate() {
    let mut rng = Lcg(11);
    let mut seen = [0; 3];
    for _ in 0..600 {
        let (m, n) = (1 + rng.below(12), 1 + rng.below(12));
        let model = random_model(&mut rng, m, n, false);
        let mut kinds = Vec::new();
        for (algorithm, scaling) in [
            (Algorithm::Dual, true),
            (Algorithm::Primal, true),
            (Algorithm::Auto, false),
        ] {
            let mut solver = Solver::new(
                model.clone(),
                Settings {
                    algorithm,
                    scaling,
                    ..Default::default()
                },
            );
            let outcome = solver.solve();
            certificate::check(&model, &outcome, 1e-7)
                .unwrap_or_else(|e| panic!("{e}\n{outcome:?}\n{model:?}"));
            kinds.push(summary(&outcome));
        }
        seen[kinds[0].0 as usize] += 1;
        for k in &kinds {
            assert_eq!(k.0, kinds[0].0, "{model:?}");
            assert!((k.1 - kinds[0].1).abs() < 1e-6 * (1.0 + k.1.abs()));
        }
    }
    assert!(seen.iter().all(|&s| s > 20), "{seen:?}");
}

/// Bounds around zero, so that most programs are feasible.
fn wide_bounds(rng: &mut Lcg) -> Bounds {
    Bounds::new(rng.int(-6, 0), rng.int(0, 9))
}

/// Thousands of random changes; after each, the warm solve must end like a cold one.
fn warm_equals_cold(seed: u64, steps: usize, algorithm: Algorithm) {
    let mut rng = Lcg(seed);
    let mut model = ModelBuilder::new(if seed.is_multiple_of(2) {
        Sense::Minimise
    } else {
        Sense::Maximise
    });
    for _ in 0..15 {
        model.add_col(rng.int(-5, 5), wide_bounds(&mut rng));
    }
    let model = model.build().unwrap();
    let mut warm = Solver::new(
        model,
        Settings {
            algorithm,
            lazy_rows: Some(0).filter(|_| !seed.is_multiple_of(3)),
            ..Default::default()
        },
    );
    let mut optimal = 0;
    for step in 0..steps {
        let (m, n) = (warm.model().num_rows(), warm.model().num_cols());
        let col = |rng: &mut Lcg| ColId(rng.below(n) as u32);
        match rng.below(9) {
            0 | 1 => {
                let b = if rng.below(8) == 0 {
                    random_bounds(&mut rng, true)
                } else {
                    wide_bounds(&mut rng)
                };
                let c = col(&mut rng);
                warm.set_col_bounds(c, b).unwrap();
            }
            2 => {
                let c = col(&mut rng);
                warm.set_cost(c, rng.int(-5, 5)).unwrap();
            }
            3 if m > 0 => {
                let r = RowId(rng.below(m) as u32);
                let l = rng.int(-25, 1);
                let u = l + rng.int(0, 25);
                warm.set_row_bounds(r, l..=u).unwrap();
            }
            4 if m < 25 => {
                let rows: Vec<NewRow> = (0..1 + rng.below(3))
                    .map(|_| {
                        let entries: Vec<(ColId, f64)> = (0..n)
                            .filter(|_| rng.below(3) == 0)
                            .map(|j| ColId(j as u32))
                            .collect::<Vec<_>>()
                            .into_iter()
                            .map(|c| (c, rng.int(-3, 3)))
                            .collect();
                        NewRow::new(rng.int(-20, -1)..=rng.int(0, 20), entries)
                    })
                    .collect();
                assert_eq!(warm.add_rows(&rows).unwrap(), RowId(m as u32));
            }
            5 if n < 30 => {
                let entries: Vec<(RowId, f64)> = (0..m)
                    .filter(|_| rng.below(3) == 0)
                    .map(|i| RowId(i as u32))
                    .collect::<Vec<_>>()
                    .into_iter()
                    .map(|r| (r, rng.int(-3, 3)))
                    .collect();
                let b = wide_bounds(&mut rng);
                assert_eq!(
                    warm.add_cols(&[NewCol::new(rng.int(-5, 5), b, entries)])
                        .unwrap(),
                    ColId(n as u32)
                );
            }
            6 if m > 6 => {
                let doomed: Vec<RowId> = (0..1 + rng.below(3))
                    .map(|_| RowId(rng.below(m) as u32))
                    .collect();
                warm.delete_rows(&doomed).unwrap();
            }
            7 if n > 8 => {
                let doomed: Vec<ColId> = (0..1 + rng.below(3))
                    .map(|_| ColId(rng.below(n) as u32))
                    .collect();
                warm.delete_cols(&doomed).unwrap();
            }
            _ => {
                let basis = warm.basis();
                warm.set_basis(&basis).unwrap();
            }
        }
        let outcome = warm.solve();
        let model = warm.model().clone();
        certificate::check(&model, &outcome, 1e-7)
            .unwrap_or_else(|e| panic!("step {step}: {e}\n{outcome:?}"));
        let mut cold = Solver::new(model.clone(), Settings::default());
        let (a, b) = (summary(&outcome), summary(&cold.solve()));
        assert_eq!(a.0, b.0, "step {step}\n{model:?}");
        assert!(
            (a.1 - b.1).abs() < 1e-6 * (1.0 + b.1.abs()),
            "step {step}: warm {} cold {}",
            a.1,
            b.1
        );
        optimal += (a.0 == 0) as usize;
    }
    assert!(optimal * 4 > steps, "{optimal} of {steps}");
}

#[test]
fn warm_equals_cold_over_thousands_of_changes() {
    for (seed, algorithm) in [
        (1, Algorithm::Auto),
        (2, Algorithm::Dual),
        (3, Algorithm::Primal),
        (4, Algorithm::Auto),
    ] {
        warm_equals_cold(seed, 1500, algorithm);
    }
}

#[test]
fn the_same_seed_gives_the_same_path() {
    let model = std::sync::Arc::new(random_model(&mut Lcg(77), 40, 60, true));
    let run = |seed| {
        let mut s = Solver::new(
            model.clone(),
            Settings {
                seed,
                ..Default::default()
            },
        );
        let o = s.solve();
        (o, s.stats())
    };
    assert_eq!(run(3), run(3));
}

#[test]
fn tableau_rows_are_unit_vectors_on_the_basis() {
    let mut rng = Lcg(23);
    let mut rows = 0;
    for _ in 0..300 {
        let model = random_model(&mut rng, 4, 10, true);
        let mut s = Solver::new(model.clone(), Settings::default());
        let LpOutcome::Optimal(o) = s.solve() else {
            continue;
        };
        for j in 0..10 {
            let Some(rho) = s.tableau_multipliers(ColId(j)) else {
                assert_ne!(o.basis.cols[j as usize], remat_lp::VarStatus::Basic);
                continue;
            };
            rows += 1;
            for k in 0..10u32 {
                let coefficient: f64 = model.col(ColId(k)).map(|(r, v)| rho[r.index()] * v).sum();
                if o.basis.cols[k as usize] == remat_lp::VarStatus::Basic {
                    let unit = if k == j { 1.0 } else { 0.0 };
                    assert!((coefficient - unit).abs() < 1e-9);
                }
            }
            for (i, r) in rho.iter().enumerate() {
                if o.basis.rows[i] == remat_lp::VarStatus::Basic {
                    assert!(r.abs() < 1e-9);
                }
            }
        }
        // A clone is independent.
        let mut other = s.clone();
        other.set_col_bounds(ColId(0), 0.0).unwrap();
        other.solve();
        assert_eq!(s.solve().optimal().map(|o| o.objective), Some(o.objective));
    }
    assert!(rows > 30, "{rows}");
}
