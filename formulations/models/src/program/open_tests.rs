//! Special constraints without bounds, against the same ones with bounds that cut no point off.
//! Rows with products, sums of integers in products. Parts of the objective that are linear between
//! points.

use super::*;
use proptest::prelude::*;
use remat_lp::Sense;
use std::sync::Arc;

/// Bound in place of an infinite one: no optimum of these programs is beyond it.
const FAR: f64 = 1000.0;

fn solved(program: &Program) -> Answer {
    solve_program(program, &ProgramSettings::default(), Arc::new(())).unwrap()
}

/// Drawn numbers: for each of three columns the cost and the side of a row that keeps its optimum
/// near; kinds of special constraints on them.
#[derive(Clone, Debug)]
struct Case {
    costs: Vec<i8>,
    sides: Vec<u8>,
    rows: Vec<(Vec<i8>, i8)>,
    specials: Vec<(u8, usize, usize, i8)>,
    maximise: bool,
}

fn cases() -> impl Strategy<Value = Case> {
    (
        prop::collection::vec(1i8..5, 3),
        prop::collection::vec(0u8..6, 3),
        prop::collection::vec((prop::collection::vec(-2i8..3, 3), -4i8..5), 0..3),
        prop::collection::vec((0u8..6, 0usize..3, 0usize..3, -3i8..4), 1..5),
        any::<bool>(),
    )
        .prop_map(|(costs, sides, rows, specials, maximise)| Case {
            costs,
            sides,
            rows,
            specials,
            maximise,
        })
}

/// The program; `bounded` columns are within [-FAR, FAR], others are free.
fn built(case: &Case, bounded: bool) -> Program {
    let mut p = Program::default();
    let sign = if case.maximise { -1.0 } else { 1.0 };
    p.set_sense(if case.maximise {
        Sense::Maximise
    } else {
        Sense::Minimise
    });
    let far = if bounded { FAR } else { INFINITE };
    let mut cols = Vec::new();
    for (&cost, &side) in case.costs.iter().zip(&case.sides) {
        let x = p.add_col(-far, far, 0.0, Kind::Continuous, None).unwrap();
        // Its distance from a value is its cost, so that optima are near.
        let away = p
            .add_col(
                0.0,
                INFINITE,
                sign * f64::from(cost),
                Kind::Continuous,
                None,
            )
            .unwrap();
        let side = f64::from(side);
        p.add_row(&[(x, 1.0), (away, 1.0)], side, INFINITE, None)
            .unwrap();
        p.add_row(&[(x, 1.0), (away, -1.0)], -INFINITE, side, None)
            .unwrap();
        cols.push(x);
    }
    for (factors, side) in &case.rows {
        let entries: Vec<_> = cols
            .iter()
            .zip(factors)
            .map(|(&c, &v)| (c, f64::from(v)))
            .collect();
        p.add_row(&entries, -INFINITE, f64::from(*side), None)
            .unwrap();
    }
    for &(kind, a, b, number) in &case.specials {
        let number = f64::from(number);
        let binary = |p: &mut Program, cost: f64| {
            p.add_col(0.0, 1.0, sign * cost, Kind::Binary, None)
                .unwrap()
        };
        let special = match kind {
            0 | 1 => Special::Indicator {
                col: binary(&mut p, if kind == 0 { 2.5 } else { -2.5 }),
                value: kind == 1,
                entries: vec![(cols[a], 1.0), (cols[b], 2.0)],
                lower: if number < 0.0 { number } else { -INFINITE },
                upper: if number < 0.0 { INFINITE } else { -number },
            },
            2 => Special::Maximum {
                result: cols[a],
                of: vec![cols[b], cols[(b + 1) % 3]],
                constant: Some(number),
            },
            3 => Special::Abs {
                result: cols[a],
                of: cols[b],
            },
            4 => Special::Sos {
                kind: SosType::One,
                members: cols
                    .iter()
                    .enumerate()
                    .map(|(k, &c)| (c, k as f64))
                    .collect(),
            },
            _ => Special::Sos {
                kind: SosType::Two,
                members: cols
                    .iter()
                    .enumerate()
                    .map(|(k, &c)| (c, k as f64))
                    .collect(),
            },
        };
        p.add_special(special).unwrap();
    }
    p
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn without_bounds_the_answer_is_that_of_wide_ones(case in cases()) {
        let (open, closed) = (solved(&built(&case, false)), solved(&built(&case, true)));
        prop_assert_eq!(open.ending, closed.ending);
        if let [a, ..] = &open.points[..] {
            let b = &closed.points[0];
            let (a_value, b_value) = (a.objective, b.objective);
            prop_assert!((a_value - b_value).abs() <= 1e-5, "{} {}", a_value, b_value);
            prop_assert!(built(&case, false).violated_special(&a.x).is_none());
            let sign = if case.maximise { -1.0 } else { 1.0 };
            prop_assert!(sign * open.bound <= sign * a.objective + 1e-9);
        }
    }
}

#[test]
fn an_unbounded_implication_is_branched_on_and_named_where_a_model_is_wanted() {
    let mut p = Program::default();
    let x = p
        .add_col(-INFINITE, INFINITE, 1.0, Kind::Continuous, Some("x"))
        .unwrap();
    let y = p
        .add_col(0.0, INFINITE, 3.0, Kind::Continuous, None)
        .unwrap();
    let on = p.add_col(0.0, 1.0, -5.0, Kind::Binary, None).unwrap();
    p.add_row(&[(x, 1.0), (y, 1.0)], 2.0, INFINITE, None)
        .unwrap();
    let implication = |p: &mut Program, value, lower| {
        p.add_special(Special::Indicator {
            col: on,
            value,
            entries: vec![(x, 1.0)],
            lower,
            upper: INFINITE,
        })
        .unwrap()
    };
    let first = implication(&mut p, true, 4.0);
    // Off, `x` has no lower bound but by `y`, which is expensive: -2 + 3 * 4 there, 4 - 5 if it is
    // on.
    let second = implication(&mut p, false, -2.0);
    let words = p.compile().unwrap_err().to_string();
    assert!(
        words.starts_with("an implication needs a finite lower bound of x"),
        "{words}"
    );
    let answer = solved(&p);
    assert_eq!(
        (answer.ending, answer.points[0].objective),
        (Ending::Optimal, -1.0)
    );
    assert!((answer.bound + 1.0).abs() <= 1e-6, "{}", answer.bound);
    // `y` at half the cost makes the program unbounded if `x` need not stay.
    p.set_cost(y, 0.5).unwrap();
    p.remove_special(first).unwrap();
    let off = solved(&p);
    assert_eq!(off.ending, Ending::Unbounded);
    p.remove_special(second).unwrap();
    assert_eq!(solved(&p).ending, Ending::Unbounded);
    // With both, every point has a bound.
    implication(&mut p, true, 4.0);
    implication(&mut p, false, -2.0);
    assert_eq!(solved(&p).ending, Ending::Optimal);
}

#[test]
fn a_row_with_products_bounds_its_columns() {
    let mut p = Program::default();
    p.set_sense(Sense::Maximise);
    let on = p.add_col(0.0, 1.0, 0.0, Kind::Binary, None).unwrap();
    let x = p.add_col(0.0, 5.0, 0.0, Kind::Continuous, None).unwrap();
    let total = p
        .add_col(0.0, INFINITE, 0.0, Kind::Continuous, None)
        .unwrap();
    let largest = p
        .add_col(0.0, INFINITE, 1.0, Kind::Continuous, None)
        .unwrap();
    p.add_special(Special::ProductRow {
        entries: vec![(total, -1.0), (x, 1.0)],
        products: vec![Product {
            first: on,
            second: x,
            factor: 2.0,
        }],
        lower: 0.0,
        upper: 0.0,
    })
    .unwrap();
    p.add_special(Special::Maximum {
        result: largest,
        of: vec![total, x],
        constant: None,
    })
    .unwrap();
    p.compile().unwrap();
    assert_eq!(solved(&p).points[0].objective, 15.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_number_over_a_sum_of_integers_is_exact(
        weights in prop::collection::vec(1u8..9, 3),
        number in 1u8..40,
        constant in 1u8..4,
        cost in -30i8..30,
    ) {
        // ratio * (constant + weights . b) = number, and cost . ratio + b is minimised.
        let mut p = Program::default();
        let value = p.add_col(1.0, INFINITE, 0.0, Kind::Continuous, None).unwrap();
        let ratio = p.add_col(0.0, 100.0, f64::from(cost), Kind::Continuous, None).unwrap();
        let mut entries = vec![(value, 1.0)];
        for &weight in &weights {
            let b = p.add_col(0.0, 1.0, 1.0, Kind::Binary, None).unwrap();
            entries.push((b, -f64::from(weight)));
        }
        let constant = f64::from(constant);
        p.add_row(&entries, constant, constant, None).unwrap();
        p.add_special(Special::ProductRow {
            entries: Vec::new(),
            products: vec![Product { first: value, second: ratio, factor: 1.0 }],
            lower: f64::from(number),
            upper: f64::from(number),
        }).unwrap();
        let best = (0..8u8).map(|set| {
            let chosen = weights.iter().enumerate().filter(|(k, _)| (set >> k) & 1 == 1);
            let sum: f64 = chosen.map(|(_, &w)| f64::from(w)).sum();
            f64::from(cost) * f64::from(number) / (constant + sum) + f64::from(set.count_ones())
        });
        let best = best.fold(f64::INFINITY, f64::min);
        let found = solved(&p).points[0].objective;
        prop_assert!((found - best).abs() <= 1e-5 * best.abs().max(1.0), "{} {}", found, best);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn parts_of_the_objective_are_exact(
        steps in prop::collection::vec((0u8..3, -6i8..7), 2..6),
        cost in -3i8..4,
        lower in -4i8..0,
        width in 0u8..8,
        maximise in any::<bool>(),
        integer in any::<bool>(),
    ) {
        let mut at = -3.0;
        let mut points = Vec::new();
        for (k, &(step, y)) in steps.iter().enumerate() {
            // No jump at either end.
            let inner = k > 1 && k + 1 < steps.len();
            at += if inner { f64::from(step) } else { 1.0 };
            points.push((at, f64::from(y)));
        }
        let (lower, upper) = (f64::from(lower), f64::from(lower) + f64::from(width));
        let mut p = Program::default();
        p.set_sense(if maximise { Sense::Maximise } else { Sense::Minimise });
        let kind = if integer { Kind::Integer } else { Kind::Continuous };
        let x = p.add_col(lower, upper, f64::from(cost), kind, None).unwrap();
        p.set_pieces(x, points.clone()).unwrap();
        let sign = if maximise { -1.0 } else { 1.0 };
        let value = |at: f64| p.objective_of(&[at]);
        // The optimum is at a point, a bound, or an integer.
        let mut candidates: Vec<f64> = (0..=width).map(|k| lower + f64::from(k)).collect();
        if !integer {
            candidates.extend(points.iter().map(|p| p.0).filter(|v| (lower..=upper).contains(v)));
        }
        let best = candidates.into_iter().map(|at| sign * value(at));
        let best = sign * best.fold(f64::INFINITY, f64::min);
        let found = solved(&p);
        prop_assert_eq!(found.ending, Ending::Optimal);
        let objective = found.points[0].objective;
        prop_assert!((objective - best).abs() <= 1e-5, "{} {}", objective, best);
    }
}

#[test]
fn convex_parts_need_no_bounds_and_no_integers() {
    let mut p = Program::default();
    let x = p
        .add_col(-INFINITE, INFINITE, 0.0, Kind::Continuous, Some("x"))
        .unwrap();
    let y = p
        .add_col(-INFINITE, INFINITE, 0.0, Kind::Continuous, None)
        .unwrap();
    p.add_row(&[(x, 1.0), (y, 2.0)], 7.0, INFINITE, None)
        .unwrap();
    let bowl = |p: &mut Program, col| {
        p.set_pieces(col, vec![(-1.0, 1.0), (0.0, 0.0), (1.0, 1.0), (2.0, 4.0)])
            .unwrap();
    };
    bowl(&mut p, x);
    bowl(&mut p, y);
    assert!(!p.compile().unwrap().has_integers());
    // A unit of the row costs 1/2 by `y` up to 1, then 1 by `x` up to 1, then 3/2 by `y`.
    let answer = solved(&p);
    assert!(
        (answer.points[0].objective - 8.0).abs() <= 1e-9,
        "{}",
        answer.points[0].objective
    );
    assert_eq!(answer.points[0].x, [1.0, 3.0]);
    p.set_sense(Sense::Maximise);
    let words = p.compile().unwrap_err().to_string();
    assert!(
        words.starts_with("a piecewise linear function needs a finite"),
        "{words}"
    );
    p.set_pieces(x, Vec::new()).unwrap();
    p.remove_cols(&[y]).unwrap();
    assert!(!p.has_specials());
}

#[test]
fn a_node_whose_optimum_is_the_cutoff_is_closed() {
    // The best points of two nodes have the same cost, to the last digit.
    let case = Case {
        costs: vec![3, 3, 1],
        sides: vec![1, 0, 1],
        rows: Vec::new(),
        specials: vec![(0, 0, 1, 0), (0, 1, 0, 0), (2, 2, 0, 0)],
        maximise: false,
    };
    let answer = solved(&built(&case, false));
    assert_eq!(
        (answer.ending, answer.points[0].objective),
        (Ending::Optimal, 4.0)
    );
}
