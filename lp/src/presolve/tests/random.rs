//! All reductions on structured random programs.

use super::*;
use crate::ids::Bounds;
use proptest::prelude::*;

/// A generator of small whole numbers, which produce ties and exact cancellations.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }

    fn int(&mut self, low: i64, high: i64) -> f64 {
        (low + self.below((high - low + 1) as u64) as i64) as f64
    }

    fn interval(&mut self, low: i64, high: i64, boxed: bool) -> Bounds {
        let (a, b) = (self.int(low, high), self.int(low, high));
        match self.below(if boxed { 1000 } else { 8 }) + u64::from(boxed) * 5 {
            0 => Bounds::FREE,
            1 | 2 => Bounds::new(a.min(b), INF),
            3 => Bounds::new(-INF, a.max(b)),
            4 => Bounds::from(a),
            _ => Bounds::new(a.min(b), a.max(b)),
        }
    }
}

/// A random program around a known point (so that most are feasible), with planted singletons,
/// doubletons, duplicates, slacks and tight rows.
fn structured(seed: u64) -> Arc<Model> {
    let mut r = Rng(seed);
    let (m, n) = (1 + r.below(7) as usize, 2 + r.below(9) as usize);
    let mut b = ModelBuilder::new(if r.below(2) == 0 {
        Sense::Minimise
    } else {
        Sense::Maximise
    });
    b.set_offset(r.int(-3, 3));
    let boxed = r.below(2) == 0;
    let inexact = r.below(3) == 0;
    let mut point = Vec::new();
    let mut cost = Vec::new();
    let mut bounds = Vec::new();
    for _ in 0..n {
        let around = r.interval(-4, 6, boxed);
        let x = (r.int(-4, 6) + if inexact { 0.3 } else { 0.0 }).clamp(around.lower, around.upper);
        point.push(x);
        cost.push(r.int(-4, 4));
        bounds.push(around);
    }
    let mut rows: Vec<(Bounds, Vec<(usize, f64)>)> = Vec::new();
    for _ in 0..m {
        let kind = r.below(10);
        // Thirds and tenths are rounded, so that equal values are only nearly equal.
        let unit = if inexact {
            [1.0 / 3.0, 0.1, 0.7][r.below(3) as usize]
        } else {
            1.0
        };
        let len = match kind {
            0 | 1 => 1,
            2 | 3 => 2,
            _ => 2 + r.below(n as u64 - 1) as usize,
        };
        let mut entries: Vec<(usize, f64)> = Vec::new();
        for _ in 0..len {
            let j = r.below(n as u64) as usize;
            let v = unit * [1.0, -1.0, 2.0, -3.0, 1.0, 0.5][r.below(6) as usize];
            if entries.iter().all(|e| e.0 != j) {
                entries.push((j, v));
            }
        }
        if kind == 9 && !rows.is_empty() {
            let factor = [2.0, -1.0, if inexact { 1.0 / 7.0 } else { -0.5 }][r.below(3) as usize];
            let source = r.below(rows.len() as u64) as usize;
            entries = rows[source]
                .1
                .iter()
                .map(|&(j, v)| (j, factor * v))
                .collect();
        }
        let at: f64 = entries.iter().map(|&(j, v)| v * point[j]).sum();
        let extreme = |upper: bool| -> f64 {
            entries
                .iter()
                .map(|&(j, v)| {
                    v * if (v > 0.0) == upper {
                        bounds[j].upper
                    } else {
                        bounds[j].lower
                    }
                })
                .sum()
        };
        let bound = match r.below(9) {
            0..=2 => Bounds::from(at),
            3 => Bounds::new(at, INF),
            4 => Bounds::new(-INF, at + r.int(0, 2)),
            5 => Bounds::new(at - r.int(0, 3), at + r.int(0, 3)),
            6 if extreme(true).is_finite() => Bounds::new(extreme(true), INF),
            7 if extreme(false).is_finite() => Bounds::new(-INF, extreme(false)),
            8 if r.below(4) == 0 => Bounds::from(at + 1.0),
            _ => Bounds::new(at - r.int(0, 3), INF),
        };
        rows.push((bound, entries));
    }
    // Duplicate columns and slacks.
    for _ in 0..r.below(4) {
        let source = r.below(n as u64) as usize;
        let factor = [1.0, 2.0, -1.0][r.below(3) as usize];
        let j = cost.len();
        if r.below(2) == 0 {
            for (_, entries) in &mut rows {
                if let Some(&(_, v)) = entries.iter().find(|e| e.0 == source) {
                    entries.push((j, factor * v));
                }
            }
            cost.push(factor * cost[source] + if r.below(3) == 0 { r.int(-2, 2) } else { 0.0 });
        } else {
            let row = r.below(rows.len() as u64) as usize;
            rows[row].1.push((j, factor));
            cost.push(if r.below(2) == 0 { 0.0 } else { r.int(-3, 3) });
        }
        bounds.push(if r.below(3) == 0 {
            r.interval(-3, 3, boxed)
        } else {
            Bounds::NONNEGATIVE
        });
    }
    for (c, bound) in cost.iter().zip(&bounds) {
        b.add_col(*c, *bound);
    }
    for (bound, entries) in rows {
        b.add_row(
            bound,
            entries.into_iter().map(|(j, v)| (ColId(j as u32), v)),
        );
    }
    Arc::new(b.build().unwrap())
}

/// Checks that presolved and direct solves agree, and that their outcomes are proven.
fn agree(model: &Arc<Model>, settings: &PresolveSettings) -> Result<bool, String> {
    let direct = Solver::new(model.clone(), Settings::default()).solve();
    certificate::check(model, &direct, 1e-7).map_err(|e| format!("direct: {e}"))?;
    match Presolved::new(model, settings) {
        PresolveOutcome::Infeasible(ray) => {
            if !matches!(direct, LpOutcome::Infeasible(_)) {
                return Err(format!(
                    "presolve says infeasible ({}), direct {direct:?}",
                    ray.is_some()
                ));
            }
        }
        PresolveOutcome::DualInfeasible => {
            if direct.optimal().is_some() {
                return Err("presolve says dual infeasible".into());
            }
        }
        PresolveOutcome::Reduced(p) => match (
            Solver::new(p.model().clone(), Settings::default()).solve(),
            &direct,
        ) {
            (LpOutcome::Optimal(s), LpOutcome::Optimal(d)) => {
                let whole = p.postsolve(&s);
                restored_is_optimal(model, &whole)?;
                if (whole.objective - d.objective).abs() > 1e-7 * (1.0 + d.objective.abs()) {
                    return Err(format!(
                        "{} presolved, {} direct",
                        whole.objective, d.objective
                    ));
                }
            }
            (LpOutcome::Infeasible(_), LpOutcome::Infeasible(_))
            | (LpOutcome::Unbounded(_), LpOutcome::Unbounded(_)) => {}
            // Both are right if a program is neither primal nor dual feasible.
            (LpOutcome::Unbounded(_), LpOutcome::Infeasible(_)) => {}
            (a, b) => return Err(format!("reduced {a:?}, direct {b:?}")),
        },
    }
    let solved = crate::solve(
        model,
        &Settings::default(),
        &Limits::default(),
        Some(settings),
    );
    certificate::check(model, &solved.outcome, 1e-7).map_err(|e| format!("in one go: {e}"))?;
    Ok(direct.optimal().is_some())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_programs_survive_everything(seed in any::<u64>()) {
        let model = structured(seed);
        if let Err(e) = agree(&model, &PresolveSettings::default()) {
            return Err(TestCaseError::fail(format!("{e}\n{}", crate::lp_format::to_string(&model))));
        }
    }

    #[test]
    fn random_programs_survive_each_reduction(seed in any::<u64>(), which in 0usize..9) {
        let settings = only(|s| {
            *[&mut s.singleton_rows, &mut s.forcing, &mut s.doubletons, &mut s.slacks, &mut s.substitution,
              &mut s.dominated, &mut s.duplicate_rows, &mut s.duplicate_cols,
              &mut s.contradictions].into_iter().nth(which).unwrap() = true;
        });
        let model = structured(seed);
        if let Err(e) = agree(&model, &settings) {
            return Err(TestCaseError::fail(format!("{e}\n{settings:?}\n{}", crate::lp_format::to_string(&model))));
        }
    }
}

#[test]
fn duplicate_rows_whose_bounds_meet_up_to_rounding_make_an_equation() {
    // Found by the random programs: an inequality, and an equation that is a multiple of it, whose
    // bounds differ in the last digit.
    let model = structured(12152837341608108654);
    assert_eq!(agree(&model, &PresolveSettings::default()), Ok(true));
}

#[test]
fn the_random_programs_are_worth_testing() {
    let (mut optimal, mut smaller, mut empty) = (0, 0, 0);
    for seed in 0..400 {
        let model = structured(seed);
        optimal += usize::from(agree(&model, &PresolveSettings::default()) == Ok(true));
        if let PresolveOutcome::Reduced(p) = Presolved::new(&model, &PresolveSettings::default()) {
            smaller += usize::from(p.model().num_rows() < model.num_rows());
            empty += usize::from(p.model().num_cols() == 0);
        }
    }
    assert!(
        optimal > 150 && smaller > 150 && empty < smaller,
        "{optimal} {smaller} {empty}"
    );
}
