//! Programs with convex quadratic objectives against enumeration of their integers.

use super::{Ending, Kind, Product, Program, ProgramError, ProgramSettings, solve_program};
use remat_lp::random::SplitMix64;
use std::sync::Arc;

struct Draw(SplitMix64);

impl Draw {
    fn int(&mut self, low: i64, high: i64) -> f64 {
        (low + self.0.below((high - low + 1) as usize) as i64) as f64
    }

    fn once_in(&mut self, n: usize) -> bool {
        self.0.below(n) == 0
    }
}

/// A program with a few integer columns, continuous ones, rows, and a convex objective.
fn drawn(draw: &mut Draw) -> Program {
    let mut p = Program::default();
    let maximised = draw.once_in(3);
    let sign = if maximised { -1.0 } else { 1.0 };
    if maximised {
        p.set_sense(remat_lp::Sense::Maximise);
    }
    let (integers, others) = (1 + draw.0.below(4), draw.0.below(3));
    let mut cols = Vec::new();
    for k in 0..integers + others {
        let kind = match k {
            k if k >= integers => Kind::Continuous,
            _ if draw.once_in(2) => Kind::Binary,
            _ => Kind::Integer,
        };
        let (low, high) = match kind {
            Kind::Binary => (0.0, 1.0),
            _ => (draw.int(-3, 0), draw.int(0, 3)),
        };
        cols.push(p.add_col(low, high, draw.int(-9, 9), kind, None).unwrap());
    }
    for _ in 0..draw.0.below(4) {
        let entries: Vec<_> = cols.iter().map(|&c| (c, draw.int(-3, 3))).collect();
        let (low, width) = (draw.int(-6, 3), draw.int(0, 6));
        let entries: Vec<_> = entries.into_iter().filter(|e| e.1 != 0.0).collect();
        p.add_row(&entries, low, low + width, None).unwrap();
    }
    let mut products = Vec::new();
    for _ in 0..1 + draw.0.below(3) {
        let f: Vec<f64> = cols
            .iter()
            .map(|_| {
                if draw.once_in(3) {
                    0.0
                } else {
                    draw.int(-3, 3)
                }
            })
            .collect();
        for (a, x) in cols.iter().zip(&f) {
            for (b, y) in cols.iter().zip(&f) {
                let factor = sign * 0.5 * x * y;
                let (first, second) = (*a, *b);
                products.push(Product {
                    first,
                    second,
                    factor,
                });
            }
        }
    }
    p.set_products(products).unwrap();
    p
}

/// The best objective over all integers, each with its own program in continuous columns.
fn enumerated(program: &Program) -> Option<f64> {
    let integers: Vec<_> = program
        .cols()
        .filter(|&c| program.kind(c).unwrap().is_integer())
        .collect();
    let sign = program.sense().sign();
    let mut best: Option<f64> = None;
    let mut fixed = vec![program.clone()];
    for &col in &integers {
        let (low, high) = program.col_bounds(col).unwrap();
        let mut next = Vec::new();
        for part in fixed {
            for value in low as i64..=high as i64 {
                let mut part = part.clone();
                part.set_kind(col, Kind::Continuous).unwrap();
                part.set_col_bounds(col, value as f64, value as f64)
                    .unwrap();
                next.push(part);
            }
        }
        fixed = next;
    }
    for part in fixed {
        let answer = solve_program(&part, &ProgramSettings::default(), Arc::new(())).unwrap();
        if answer.ending == Ending::Optimal {
            let value = answer.points[0].objective;
            if best.is_none_or(|b| sign * value < sign * b) {
                best = Some(value);
            }
        } else {
            assert_eq!(answer.ending, Ending::Infeasible);
        }
    }
    best
}

/// Number of random programs; `REMAT_QUADRATIC_CASES` replaces it.
const CASES: usize = 200;

#[test]
fn random_programs_agree_with_enumeration() {
    let given = std::env::var("REMAT_QUADRATIC_CASES").ok();
    let cases = given.and_then(|v| v.parse().ok()).unwrap_or(CASES);
    let mut draw = Draw(SplitMix64::new(84));
    for case in 0..cases {
        let program = drawn(&mut draw);
        let mut settings = ProgramSettings::default();
        settings.model.mip.threads = 1;
        let answer = solve_program(&program, &settings, Arc::new(())).unwrap();
        let Some(best) = enumerated(&program) else {
            assert_eq!(answer.ending, Ending::Infeasible, "case {case}");
            continue;
        };
        let text = || remat_lp::lp_format::to_string_all(&program.file().unwrap());
        assert_eq!(answer.ending, Ending::Optimal, "case {case}: {}", text());
        let found = answer.points[0].objective;
        let size = 1.0 + best.abs();
        assert!(
            (found - best).abs() <= 2e-6 * size,
            "case {case}: {found}, not {best}"
        );
        let beyond = program.sense().sign() * (answer.bound - best);
        assert!(
            beyond <= 2e-6 * size,
            "case {case}: bound {}, optimum {best}",
            answer.bound
        );
        assert!(program.violated_special(&answer.points[0].x).is_none());
    }
}

#[test]
fn answers_are_the_same_on_any_number_of_threads() {
    let mut draw = Draw(SplitMix64::new(3));
    for case in 0..20 {
        let program = drawn(&mut draw);
        let answers = [1, 3].map(|threads| {
            let mut settings = ProgramSettings::default();
            settings.model.mip.threads = threads;
            let answer = solve_program(&program, &settings, Arc::new(())).unwrap();
            let point = answer.points.first().map(|p| p.x.clone());
            (answer.ending, point, answer.info.nodes)
        });
        assert_eq!(answers[0], answers[1], "case {case}");
    }
}

#[test]
fn objectives_that_are_not_convex_are_refused_with_their_column() {
    let mut p = Program::default();
    let x = p
        .add_col(0.0, f64::INFINITY, 0.0, Kind::Continuous, Some("speed"))
        .unwrap();
    let product = |factor| {
        vec![Product {
            first: x,
            second: x,
            factor,
        }]
    };
    p.set_products(product(-1.0)).unwrap();
    let error = solve_program(&p, &ProgramSettings::default(), Arc::new(())).unwrap_err();
    assert!(matches!(error, ProgramError::NotConvex { .. }));
    let text = error.to_string();
    assert!(
        text.contains("eigenvalue of at most -2") && text.contains("column speed"),
        "{text}"
    );
    p.set_sense(remat_lp::Sense::Maximise);
    let answer = solve_program(&p, &ProgramSettings::default(), Arc::new(())).unwrap();
    assert_eq!(answer.ending, Ending::Optimal);
    p.set_products(product(1.0)).unwrap();
    let error = solve_program(&p, &ProgramSettings::default(), Arc::new(())).unwrap_err();
    assert!(error.to_string().contains("not concave"), "{error}");
}

#[test]
fn products_with_binary_factors_may_stand_beside_a_convex_rest() {
    // min (x - 1)^2 - 3 x b, b binary, 0 <= x <= 2: x = 2 and b = 1 give 1 - 6.
    let mut p = Program::default();
    let x = p.add_col(0.0, 2.0, -2.0, Kind::Continuous, None).unwrap();
    let b = p.add_col(0.0, 1.0, 0.0, Kind::Binary, None).unwrap();
    p.set_offset(1.0).unwrap();
    let product = |first, second, factor| Product {
        first,
        second,
        factor,
    };
    p.set_products(vec![product(x, x, 1.0), product(x, b, -3.0)])
        .unwrap();
    let answer = solve_program(&p, &ProgramSettings::default(), Arc::new(())).unwrap();
    assert!(
        (answer.points[0].objective + 5.0).abs() < 1e-6,
        "{:?}",
        answer.points
    );
}

#[test]
fn files_keep_convex_products() {
    let text = "Minimize\n obj: x + 0 y + [ 2 x ^ 2 + 2 x * y + 2 y ^ 2 ] / 2\nSubject To\n \
                c: x + y >= 1\nBounds\n x free\n y free\nEnd\n";
    let file = remat_lp::lp_format::parse_all(text, "example").unwrap();
    let program = Program::of_file(&file).unwrap();
    assert_eq!(program.file().unwrap(), file);
    // x = 0, y = 1.
    let answer = solve_program(&program, &ProgramSettings::default(), Arc::new(())).unwrap();
    assert!(
        (answer.points[0].objective - 1.0).abs() < 1e-8,
        "{answer:?}"
    );
    assert!((answer.points[0].x[0]).abs() < 1e-6);
}
