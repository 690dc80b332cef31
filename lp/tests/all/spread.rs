//! Small programs, some with entries spread over twelve orders of magnitude, compared with exact
//! enumeration in fractions. Status, objective, duals, Farkas multipliers and rays are checked for
//! every algorithm, with and without presolve.

use crate::support::Rng;
use remat_lp::presolve::PresolveSettings;
use remat_lp::rational::{Rational, decimal};
use remat_lp::{
    Algorithm, Bounds, ColId, Limits, LpOutcome, Model, ModelBuilder, RowId, Sense, Settings,
};
use std::sync::Arc;

/// Environment variable with the number of programs.
const COUNT: &str = "REMAT_SPREAD_PROGRAMS";

fn q(v: f64) -> Rational {
    decimal(v).unwrap()
}

fn abs(v: Rational) -> Rational {
    if v < Rational::ZERO { -v } else { v }
}

fn finite(v: f64) -> Option<Rational> {
    decimal(v)
}

/// A linear inequality `entries . x >= side`, or an equation.
#[derive(Clone)]
struct Condition {
    entries: Vec<Rational>,
    side: Rational,
}

impl Condition {
    fn activity(&self, x: &[Rational]) -> Rational {
        let terms = self.entries.iter().zip(x);
        terms.fold(Rational::ZERO, |s, (a, x)| s + a * x)
    }
}

/// A program in fractions: minimise `cost . x` under the conditions. Sides are relaxed by `met`
/// times the tolerance for satisfied sides.
struct Exact {
    cost: Vec<Rational>,
    conditions: Vec<Condition>,
}

impl Exact {
    fn new(model: &Model, met: f64) -> Exact {
        let n = model.num_cols();
        let mut conditions = Vec::new();
        let mut add = |entries: &[Rational], Bounds { lower, upper }: Bounds| {
            let looser = |v: f64| q(met * 1e-7f64.max(1e-9 * v.abs()));
            if let Some(side) = finite(lower) {
                let entries = entries.to_vec();
                let side = side - looser(lower);
                conditions.push(Condition { entries, side });
            }
            if let Some(side) = finite(upper) {
                let entries = entries.iter().map(|a| -a.clone()).collect();
                let side = -(side + looser(upper));
                conditions.push(Condition { entries, side });
            }
        };
        for i in 0..model.num_rows() {
            let mut entries = vec![Rational::ZERO; n];
            for (j, a) in model.row(RowId(i as u32)) {
                entries[j.index()] += q(a);
            }
            add(&entries, model.row_bounds(RowId(i as u32)));
        }
        for j in 0..n {
            let mut entries = vec![Rational::ZERO; n];
            entries[j] = Rational::ONE;
            add(&entries, model.col_bounds(ColId(j as u32)));
        }
        let sign = q(model.sense().sign());
        let cost = (0..n).map(|j| q(model.costs()[j]) * &sign);
        Exact {
            cost: cost.collect(),
            conditions,
        }
    }

    fn value(&self, x: &[Rational]) -> Rational {
        let terms = self.cost.iter().zip(x);
        terms.fold(Rational::ZERO, |s, (c, x)| s + c * x)
    }

    fn holds(&self, x: &[Rational]) -> bool {
        self.conditions.iter().all(|c| c.activity(x) >= c.side)
    }

    /// The best vertex. Every column has a bound, so a feasible program has a vertex.
    fn best_vertex(&self) -> Option<Rational> {
        let mut best: Option<Rational> = None;
        self.vertices(&mut |x| {
            let value = self.value(x);
            if best.as_ref().is_none_or(|b| value < *b) {
                best = Some(value);
            }
        });
        best
    }

    fn vertices(&self, found: &mut dyn FnMut(&[Rational])) {
        let n = self.cost.len();
        let mut chosen: Vec<usize> = (0..n).collect();
        let all = self.conditions.len();
        if all < n {
            return;
        }
        loop {
            let rows = chosen.iter().map(|&k| self.conditions[k].clone());
            if let Some(x) = solved(rows.collect())
                && self.holds(&x)
            {
                found(&x);
            }
            // Advance to the next combination.
            let Some(k) = (0..n).rev().find(|&k| chosen[k] < all - n + k) else {
                return;
            };
            chosen[k] += 1;
            for l in k + 1..n {
                chosen[l] = chosen[l - 1] + 1;
            }
        }
    }

    /// Returns whether the objective improves along an unbounded direction: the cone of directions,
    /// cut off at one unit of improvement, has a vertex.
    fn improves_without_end(&self) -> bool {
        let mut cone = Exact {
            cost: self.cost.clone(),
            conditions: (self.conditions.iter())
                .map(|c| Condition {
                    entries: c.entries.clone(),
                    side: Rational::ZERO,
                })
                .collect(),
        };
        cone.conditions.push(Condition {
            entries: self.cost.iter().map(|c| -c.clone()).collect(),
            side: Rational::ONE,
        });
        cone.best_vertex().is_some()
    }
}

/// The solution of as many equations as variables; `None` if they are dependent.
fn solved(mut rows: Vec<Condition>) -> Option<Vec<Rational>> {
    let n = rows.len();
    for k in 0..n {
        let pivot = (k..n).find(|&i| rows[i].entries[k] != Rational::ZERO)?;
        rows.swap(k, pivot);
        let by = rows[k].clone();
        for (i, row) in rows.iter_mut().enumerate() {
            if i == k || row.entries[k] == Rational::ZERO {
                continue;
            }
            let factor = &row.entries[k] / &by.entries[k];
            for (a, b) in row.entries.iter_mut().zip(&by.entries) {
                *a -= &factor * b;
            }
            row.side -= &factor * &by.side;
        }
    }
    Some(
        (0..n)
            .map(|k| &rows[k].side / &rows[k].entries[k])
            .collect(),
    )
}

/// A random program; most have a planted feasible point.
fn program(r: &mut Rng) -> Model {
    let spread = if r.once_in(4) { 0 } else { 6 };
    let planted = !r.once_in(4);
    let (m, n) = (1 + r.below(4), 1 + r.below(3));
    let sense = if r.once_in(2) {
        Sense::Minimise
    } else {
        Sense::Maximise
    };
    let mut b = ModelBuilder::new(sense);
    let point: Vec<i64> = (0..n).map(|_| r.below(9) as i64).collect();
    let cols: Vec<ColId> = (point.iter())
        .map(|&x| {
            let x = x as f64;
            let bounds = match r.below(4) {
                0 => Bounds::new(0.0, x + r.below(5) as f64),
                1 => Bounds::new(x - r.below(5) as f64, f64::INFINITY),
                2 => Bounds::new(f64::NEG_INFINITY, x + r.below(3) as f64),
                _ => Bounds::NONNEGATIVE,
            };
            b.add_col(r.int(-9, 9), bounds)
        })
        .collect();
    for _ in 0..m {
        let mut entries = Vec::new();
        let mut side = Rational::ZERO;
        for (&col, &x) in cols.iter().zip(&point) {
            if r.once_in(3) {
                continue;
            }
            let text = format!("{}e{}", r.int(-9, 9), r.int(-spread, spread));
            let a: f64 = text.parse().unwrap();
            entries.push((col, a));
            side += q(a) * q(x as f64);
        }
        // Sums of such terms have fewer digits than a double represents.
        let side = side.to_f64().value();
        let side = if planted { side } else { r.int(-20, 20) };
        let looser = r.int(0, 3);
        let bounds = match r.below(4) {
            0 => Bounds::new(side, side),
            1 => Bounds::new(side, f64::INFINITY),
            2 => Bounds::new(f64::NEG_INFINITY, side),
            _ => Bounds::new(side, side + looser),
        };
        b.add_row(bounds, entries);
    }
    b.build().unwrap()
}

/// Exact result of a program.
#[derive(Debug, PartialEq)]
enum Truth {
    Optimal(Rational),
    Infeasible,
    Unbounded,
}

fn truth(exact: &Exact) -> Truth {
    match exact.best_vertex() {
        None => Truth::Infeasible,
        Some(_) if exact.improves_without_end() => Truth::Unbounded,
        Some(best) => Truth::Optimal(best),
    }
}

/// The bound that multipliers prove, on the cost or on `y^T A x`, and the part of it that may be
/// rounding of the multipliers.
fn dual_bound(model: &Model, y: &[f64], with_cost: bool) -> Result<(Rational, Rational), String> {
    let sign = q(model.sense().sign());
    let (mut low, mut total) = (Rational::ZERO, Rational::ZERO);
    // A Farkas proof must hold to the last digits of doubles; duals only have the accuracy of a
    // solve.
    let noise = |size: &Rational| match with_cost {
        true => q(1e-10) * (Rational::ONE + size),
        false => q(1e-14) * size,
    };
    let mut price = |d: Rational, size: Rational, Bounds { lower, upper }: Bounds, what: &str| {
        let side = finite(if d > Rational::ZERO { lower } else { upper });
        match side {
            Some(side) => {
                total += abs(&side
                    * if size > abs(d.clone()) {
                        size
                    } else {
                        abs(d.clone())
                    });
                low += d * side;
            }
            None if abs(d.clone()) <= noise(&size) => {}
            None => return Err(format!("{what} prices an infinite side")),
        }
        Ok(())
    };
    for (i, &v) in y.iter().enumerate() {
        let v = if with_cost { q(v) * &sign } else { q(v) };
        price(v, Rational::ZERO, model.row_bounds(RowId(i as u32)), "row")?;
    }
    for j in 0..model.num_cols() {
        let col = ColId(j as u32);
        let mut d = if with_cost {
            q(model.costs()[j]) * &sign
        } else {
            Rational::ZERO
        };
        let mut size = abs(d.clone());
        for (i, a) in model.col(col) {
            let v = q(y[i.index()]);
            let term = q(a) * if with_cost { v * &sign } else { v };
            size += abs(term.clone());
            d -= term;
        }
        price(d, size, model.col_bounds(col), "column")?;
    }
    Ok((low, total * q(1e-15)))
}

fn assert_ray(exact: &Exact, direction: &[f64]) -> Result<(), String> {
    let d: Vec<Rational> = direction.iter().map(|&v| q(v)).collect();
    if exact.value(&d) >= Rational::ZERO {
        return Err("the direction does not improve".into());
    }
    for c in &exact.conditions {
        let terms = c.entries.iter().zip(&d);
        let size = terms.fold(Rational::ZERO, |s, (a, d)| s + abs(a * d));
        if c.activity(&d) < -(q(1e-12) * size) {
            return Err("the direction leaves a bound".into());
        }
    }
    Ok(())
}

fn judged(model: &Model, exact: &Exact, truth: &Truth, outcome: &LpOutcome) -> Result<(), String> {
    match (truth, outcome) {
        (Truth::Optimal(best), LpOutcome::Optimal(s)) => {
            let sign = q(model.sense().sign());
            let far = |v: &Rational| abs(v - best) - q(1e-7) * (Rational::ONE + abs(best.clone()));
            if far(&(q(s.objective) * &sign)) > Rational::ZERO {
                return Err(format!("objective {}", s.objective));
            }
            let (low, rounding) = dual_bound(model, &s.y, true)?;
            (far(&low) <= rounding)
                .then_some(())
                .ok_or(format!("dual bound {low}"))
        }
        (Truth::Infeasible, LpOutcome::Infeasible(ray)) => {
            let (low, _) = dual_bound(model, &ray.y, false)?;
            (low > Rational::ZERO)
                .then_some(())
                .ok_or("no proof".into())
        }
        (Truth::Unbounded, LpOutcome::Unbounded(ray)) => assert_ray(exact, &ray.direction),
        _ => Err("another status".into()),
    }
}

fn run(seeds: std::ops::Range<u64>) {
    let mut counts = [0usize; 4];
    let mut wrong = Vec::new();
    for seed in seeds {
        let mut r = Rng::new(seed);
        let model = Arc::new(program(&mut r));
        let exact = Exact::new(&model, 0.0);
        let truth = truth(&exact);
        // Within the tolerances (docs/reference/tolerances.md) there may still be a feasible point.
        let is_close =
            truth == Truth::Infeasible && Exact::new(&model, 4.0).best_vertex().is_some();
        counts[match truth {
            _ if is_close => 3,
            Truth::Optimal(_) => 0,
            Truth::Infeasible => 1,
            Truth::Unbounded => 2,
        }] += 1;
        use Algorithm::{Auto, Barrier, Dual, Primal};
        for algorithm in [Auto, Dual, Primal, Barrier] {
            for reductions in [None, Some(PresolveSettings::default())] {
                let settings = Settings {
                    algorithm,
                    ..Settings::default()
                };
                let limits = Limits::default();
                let solved = remat_lp::solve(&model, &settings, &limits, reductions.as_ref());
                let which = format!("seed {seed}, {algorithm:?}, {}", reductions.is_some());
                if is_close {
                    if matches!(solved.outcome, LpOutcome::Limit(_)) {
                        wrong.push(format!("{which}: {:?}\n", solved.outcome));
                    }
                } else if let Err(e) = judged(&model, &exact, &truth, &solved.outcome) {
                    let text = remat_lp::lp_format::to_string(&model);
                    let found = solved.outcome;
                    wrong.push(format!(
                        "{which}: {e}; {truth:?} is right: {found:?}\n{text}"
                    ));
                }
            }
        }
    }
    println!(
        "optimal {}, infeasible {}, unbounded {}, infeasible within tolerances {}",
        counts[0], counts[1], counts[2], counts[3]
    );
    let first: String = wrong.iter().take(8).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} wrong answers\n{first}", wrong.len());
    assert!(counts[..3].iter().all(|c| *c > 0), "{counts:?}");
}

#[test]
fn spread_programs_end_as_fractions_say() {
    let count = std::env::var(COUNT).ok().and_then(|v| v.parse().ok());
    run(0..count.unwrap_or(400));
}
