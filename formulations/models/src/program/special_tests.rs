//! Special constraints, kinds and products against enumeration.

use super::*;
use proptest::prelude::*;
use remat_lp::{Sense, lp_format, mps};
use std::sync::Arc;

/// A function of earlier columns, or a condition on them.
#[derive(Clone, Debug)]
enum Drawn {
    Extremum(bool, Vec<usize>, Option<i8>),
    Abs(usize),
    Norm(u8, Vec<usize>),
    Pieces(usize, Vec<(u8, i8)>),
    Indicator(usize, bool, Vec<(usize, i8)>, i8),
    Logical(bool, usize, Vec<usize>),
    Sos(bool, Vec<usize>),
    Products(Vec<(usize, usize, i8)>, i8),
}

#[derive(Clone, Debug)]
struct Case {
    /// Lower bound, width, kind and cost.
    cols: Vec<(i8, u8, bool, i8)>,
    specials: Vec<Drawn>,
    row: Vec<i8>,
    side: i8,
    objective: Vec<(usize, usize, i8)>,
    maximise: bool,
    open: bool,
}

/// Integer columns first, then binaries.
const INTEGERS: usize = 3;
const BINARIES: usize = 3;
const BASE: usize = INTEGERS + BINARIES;

fn drawn() -> impl Strategy<Value = Drawn> {
    let at = || 0usize..BASE;
    let some = |most: usize| prop::collection::vec(at(), 1..most);
    let pairs = || prop::collection::vec((at(), at(), -3i8..4), 1..4);
    prop_oneof![
        (any::<bool>(), some(5), prop::option::of(-4i8..5))
            .prop_map(|(m, of, c)| Drawn::Extremum(m, of, c)),
        at().prop_map(Drawn::Abs),
        (0u8..3, prop::collection::btree_set(at(), 1..4))
            .prop_map(|(n, of)| Drawn::Norm(n, of.into_iter().collect())),
        (at(), prop::collection::vec((1u8..4, -5i8..6), 2..5))
            .prop_map(|(x, p)| Drawn::Pieces(x, p)),
        (
            INTEGERS..BASE,
            any::<bool>(),
            prop::collection::vec((at(), -3i8..4), 1..4),
            -6i8..7
        )
            .prop_map(|(b, v, e, s)| Drawn::Indicator(b, v, e, s)),
        (
            any::<bool>(),
            INTEGERS..BASE,
            prop::collection::vec(INTEGERS..BASE, 0..4)
        )
            .prop_map(|(and, r, of)| Drawn::Logical(and, r, of)),
        (any::<bool>(), prop::collection::btree_set(at(), 2..6))
            .prop_map(|(one, of)| Drawn::Sos(one, of.into_iter().collect())),
        (pairs(), -9i8..10).prop_map(|(p, s)| Drawn::Products(p, s)),
    ]
}

fn cases() -> impl Strategy<Value = Case> {
    (
        prop::collection::vec((-4i8..4, 0u8..5, prop::bool::weighted(0.3), -4i8..5), BASE),
        prop::collection::vec(drawn(), 1..4),
        prop::collection::vec(-3i8..4, BASE + 3),
        -8i8..12,
        prop::collection::vec((0usize..BASE, 0usize..BASE, -3i8..4), 0..3),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(
            |(cols, specials, row, side, objective, maximise, open)| Case {
                cols,
                specials,
                row,
                side,
                objective,
                maximise,
                open,
            },
        )
}

fn products(of: &[(usize, usize, i8)], cols: &[Col]) -> Vec<Product> {
    let made = of.iter().map(|&(a, b, v)| Product {
        first: cols[a],
        second: cols[b],
        factor: f64::from(v),
    });
    made.collect()
}

fn points(drawn: &[(u8, i8)]) -> Vec<(f64, f64)> {
    let mut x = -4.0;
    let points = drawn.iter().map(|&(step, y)| {
        x += f64::from(step);
        (x, f64::from(y))
    });
    points.collect()
}

/// The program, and its columns.
fn built(case: &Case) -> Result<(Program, Vec<Col>), ProgramError> {
    let mut p = Program::default();
    p.set_sense(if case.maximise {
        Sense::Maximise
    } else {
        Sense::Minimise
    });
    let mut cols = Vec::new();
    for (k, &(lower, width, semi, cost)) in case.cols.iter().enumerate() {
        let (lower, upper) = (f64::from(lower), f64::from(lower) + f64::from(width));
        let kind = if semi {
            Kind::SemiInteger
        } else {
            Kind::Integer
        };
        cols.push(match k < INTEGERS {
            true => p.add_col(lower, upper, f64::from(cost), kind, None)?,
            false => p.add_col(0.0, 1.0, f64::from(cost), Kind::Binary, None)?,
        });
    }
    let many = |of: &[usize], cols: &[Col]| of.iter().map(|&k| cols[k]).collect::<Vec<_>>();
    for drawn in &case.specials {
        let wide = if case.open { INFINITE } else { 500.0 };
        let mut result = |p: &mut Program| {
            let col = p.add_col(-wide, wide, 1.0, Kind::Continuous, None);
            col.inspect(|&c| cols.push(c))
        };
        let special = match drawn {
            Drawn::Extremum(max, of, constant) => {
                let result = result(&mut p)?;
                let (of, constant) = (many(of, &cols), constant.map(f64::from));
                match max {
                    true => Special::Maximum {
                        result,
                        of,
                        constant,
                    },
                    false => Special::Minimum {
                        result,
                        of,
                        constant,
                    },
                }
            }
            Drawn::Abs(of) => Special::Abs {
                result: result(&mut p)?,
                of: cols[*of],
            },
            Drawn::Norm(which, of) => Special::Norm {
                result: result(&mut p)?,
                of: many(of, &cols),
                norm: [Norm::Zero, Norm::One, Norm::Infinity][usize::from(*which)],
            },
            Drawn::Pieces(x, drawn) => Special::Pieces {
                y: result(&mut p)?,
                x: cols[*x],
                points: points(drawn),
            },
            Drawn::Indicator(b, value, entries, side) => Special::Indicator {
                col: cols[*b],
                value: *value,
                entries: entries
                    .iter()
                    .map(|&(k, v)| (cols[k], f64::from(v)))
                    .collect(),
                lower: f64::from(*side) - 2.0,
                upper: f64::from(*side),
            },
            Drawn::Logical(and, r, of) => {
                let (result, of) = (cols[*r], many(of, &cols));
                match and {
                    true => Special::And { result, of },
                    false => Special::Or { result, of },
                }
            }
            Drawn::Sos(one, of) => Special::Sos {
                kind: if *one { SosType::One } else { SosType::Two },
                members: of.iter().map(|&k| (cols[k], -(k as f64))).collect(),
            },
            Drawn::Products(of, side) => Special::ProductRow {
                entries: vec![(cols[0], 1.0)],
                products: products(of, &cols),
                lower: f64::NEG_INFINITY,
                upper: f64::from(*side),
            },
        };
        p.add_special(special)?;
    }
    let row: Vec<_> = cols
        .iter()
        .zip(&case.row)
        .map(|(&c, &v)| (c, f64::from(v)))
        .collect();
    p.add_row(&row, f64::NEG_INFINITY, f64::from(case.side), None)?;
    p.set_products(products(&case.objective, &cols))?;
    Ok((p, cols))
}

/// The best objective over all points; results of functions follow from the others.
fn enumerated(case: &Case, program: &Program, cols: &[Col]) -> Option<f64> {
    let sign = program.sense().sign();
    let mut best: Option<f64> = None;
    let mut x = vec![0.0; cols.len()];
    fn go(k: usize, case: &Case, x: &mut Vec<f64>, visit: &mut dyn FnMut(&mut Vec<f64>)) {
        if k == BASE {
            return visit(x);
        }
        let (lower, width, semi, _) = case.cols[k];
        let values = match k < INTEGERS {
            true => (f64::from(lower), f64::from(lower) + f64::from(width)),
            false => (0.0, 1.0),
        };
        let semi = semi && k < INTEGERS && !(values.0..=values.1).contains(&0.0);
        let mut v = values.0;
        while v <= values.1 {
            x[k] = v;
            go(k + 1, case, x, visit);
            v += 1.0;
        }
        if semi {
            x[k] = 0.0;
            go(k + 1, case, x, visit);
        }
    }
    go(0, case, &mut x, &mut |x| {
        let mut next = BASE;
        for drawn in &case.specials {
            let value = match drawn {
                Drawn::Extremum(max, of, constant) => {
                    let values = of.iter().map(|&k| x[k]).chain(constant.map(f64::from));
                    match max {
                        true => values.fold(f64::NEG_INFINITY, f64::max),
                        false => values.fold(f64::INFINITY, f64::min),
                    }
                }
                Drawn::Abs(of) => x[*of].abs(),
                Drawn::Norm(0, of) => of.iter().filter(|&&k| x[k] != 0.0).count() as f64,
                Drawn::Norm(1, of) => of.iter().map(|&k| x[k].abs()).sum(),
                Drawn::Norm(_, of) => of.iter().map(|&k| x[k].abs()).fold(0.0, f64::max),
                Drawn::Pieces(arg, drawn) => {
                    let points = points(drawn);
                    let last = points.len() - 1;
                    let k = points.partition_point(|p| p.0 <= x[*arg]).clamp(1, last);
                    let ((x0, y0), (x1, y1)) = (points[k - 1], points[k]);
                    y0 + (y1 - y0) * (x[*arg] - x0) / (x1 - x0)
                }
                _ => continue,
            };
            x[next] = value;
            next += 1;
        }
        let activity: f64 = x
            .iter()
            .zip(&case.row)
            .map(|(x, &v)| x * f64::from(v))
            .sum();
        if activity > f64::from(case.side) + 1e-9 || program.violated_special(x).is_some() {
            return;
        }
        let objective = program.objective_of(x);
        best = Some(best.map_or(objective, |b| {
            if sign * objective < sign * b {
                objective
            } else {
                b
            }
        }));
    });
    best
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn special_constraints_are_exact(case in cases()) {
        let (program, cols) = built(&case).unwrap();
        let answer = solve_program(&program, &ProgramSettings::default(), Arc::new(())).unwrap();
        match enumerated(&case, &program, &cols) {
            None => prop_assert_eq!(answer.ending, Ending::Infeasible),
            Some(best) => {
                prop_assert_eq!(answer.ending, Ending::Optimal);
                let point = &answer.points[0];
                prop_assert!((point.objective - best).abs() < 1e-5, "{} for {best}", point.objective);
                prop_assert!(cols[..BASE].iter().all(|c| point.x[c.index()].fract() == 0.0));
                // The point is a start that the same program accepts with its derived columns.
                let compiled = program.compile().unwrap();
                let whole = compiled.complete(&point.x).unwrap();
                let checked = remat_solver::mip::check_point(&compiled.model, &whole, 1e-5);
                prop_assert!(checked.is_ok(), "{checked:?}");
            }
        }
        // Its files have the same points. Functions without bounds cannot be written.
        let Ok(file) = program.file() else {
            prop_assert!(case.open);
            return Ok(());
        };
        let lp = lp_format::parse_all(&lp_format::to_string_all(&file), "t.lp").unwrap();
        let text = mps::to_string_all(&file).unwrap();
        let mps = mps::parse_all(&text, mps::MpsFormat::Auto).unwrap();
        for back in [lp, mps] {
            let again = solved(&Program::of_file(&back).unwrap());
            prop_assert_eq!(again.ending, answer.ending);
            if let Some(point) = again.points.first() {
                prop_assert!((point.objective - answer.points[0].objective).abs() < 1e-5);
            }
        }
    }
}

fn solved(program: &Program) -> Answer {
    solve_program(program, &ProgramSettings::default(), Arc::new(())).unwrap()
}

#[test]
fn a_batch_times_a_binary_is_tight() {
    let mut p = Program::default();
    p.set_sense(Sense::Maximise);
    let batch = p
        .add_col(1.0, 16384.0, 0.0, Kind::Continuous, None)
        .unwrap();
    let on = p.add_col(0.0, 1.0, -2.0, Kind::Binary, None).unwrap();
    let off = p.add_col(0.0, 1.0, -1.0, Kind::Binary, None).unwrap();
    let times = |b, factor| Product {
        first: batch,
        second: b,
        factor,
    };
    p.set_products(vec![times(on, 1.0), times(off, -0.5)])
        .unwrap();
    let memory = Special::ProductRow {
        entries: vec![(batch, 3.0)],
        products: vec![times(on, 4.0), times(off, -1.0)],
        lower: -INFINITE,
        upper: 60_000.0,
    };
    p.add_special(memory).unwrap();
    let answer = solved(&p);
    // With `on` alone 7 a batch: 60000 / 7 - 2.
    assert_eq!(answer.ending, Ending::Optimal);
    let x = &answer.points[0].x;
    assert_eq!((x[1], x[2]), (1.0, 0.0));
    assert!((answer.points[0].objective - (60_000.0 / 7.0 - 2.0)).abs() < 1e-5);
}

#[test]
fn squares_both_ways() {
    for (sense, shift, best) in [(Sense::Minimise, 3.4, 0.16), (Sense::Maximise, 1.0, 121.0)] {
        let mut p = Program::default();
        p.set_sense(sense);
        // (x - shift)^2
        let x = p
            .add_col(-10.0, 10.0, -2.0 * shift, Kind::Integer, None)
            .unwrap();
        p.set_offset(shift * shift).unwrap();
        p.set_products(vec![Product {
            first: x,
            second: x,
            factor: 1.0,
        }])
        .unwrap();
        let answer = solved(&p);
        assert_eq!(answer.ending, Ending::Optimal);
        assert!(
            (answer.points[0].objective - best).abs() < 1e-9,
            "{answer:?}"
        );
    }
}

#[test]
fn what_has_no_exact_form_is_named() {
    let mut p = Program::default();
    let x = p
        .add_col(0.0, INFINITE, 0.0, Kind::Continuous, Some("x"))
        .unwrap();
    let y = p
        .add_col(0.0, 4.0, 0.0, Kind::Continuous, Some("y"))
        .unwrap();
    let b = p.add_col(0.0, 1.0, 0.0, Kind::Binary, Some("b")).unwrap();
    let product = |first, second| {
        vec![Product {
            first,
            second,
            factor: 1.0,
        }]
    };
    p.set_products(product(b, x)).unwrap();
    let words = p.compile().unwrap_err().to_string();
    assert!(
        words.contains("the product of x and b") && words.contains("x needs finite bounds"),
        "{words}"
    );
    // A row bounds x as well as a bound does.
    let row = p
        .add_row(&[(x, 1.0), (y, 2.0)], -INFINITE, 7.0, None)
        .unwrap();
    p.compile().unwrap();
    p.set_products(product(x, y)).unwrap();
    let words = p.compile().unwrap_err().to_string();
    assert!(
        words.contains("the product of x and y") && words.contains("integer"),
        "{words}"
    );
    p.set_products(Vec::new()).unwrap();
    p.remove_row(row).unwrap();
    let indicator = Special::Indicator {
        col: b,
        value: true,
        entries: vec![(x, 1.0)],
        lower: -INFINITE,
        upper: 3.0,
    };
    let id = p.add_special(indicator).unwrap();
    let words = p.compile().unwrap_err().to_string();
    assert!(
        words.contains("an implication needs a finite upper bound of x"),
        "{words}"
    );
    p.remove_special(id).unwrap();
    assert_eq!(
        p.special(id).unwrap_err().to_string(),
        "special constraint 0 is not in the program"
    );
    p.set_kind(x, Kind::SemiContinuous).unwrap();
    p.set_col_bounds(x, 2.0, INFINITE).unwrap();
    let words = p.compile().unwrap_err().to_string();
    assert!(
        words.contains("a semi-continuous column needs a finite upper bound of x"),
        "{words}"
    );
    let and = Special::And {
        result: b,
        of: vec![y],
    };
    p.set_kind(x, Kind::Continuous).unwrap();
    p.add_special(and).unwrap();
    assert_eq!(
        p.compile().unwrap_err().to_string(),
        "and is about binary columns, and y is none"
    );
}

#[test]
fn bounds_that_rows_imply_together_are_found_by_a_linear_program() {
    let mut p = Program::default();
    p.set_sense(Sense::Maximise);
    let mut free = || {
        p.add_col(-INFINITE, INFINITE, 0.0, Kind::Continuous, None)
            .unwrap()
    };
    let (x, y) = (free(), free());
    let r = p
        .add_col(-INFINITE, INFINITE, 1.0, Kind::Continuous, None)
        .unwrap();
    for (a, b) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
        p.add_row(&[(x, a), (y, b)], -INFINITE, 4.0, None).unwrap();
    }
    p.add_special(Special::Abs { result: r, of: x }).unwrap();
    let answer = solved(&p);
    assert_eq!(answer.ending, Ending::Optimal);
    assert!((answer.points[0].objective - 4.0).abs() < 1e-6);
}

#[test]
fn at_a_jump_any_value_between_is_taken() {
    let mut p = Program::default();
    let x = p.add_col(-5.0, 5.0, 0.0, Kind::Continuous, None).unwrap();
    let y = p
        .add_col(-INFINITE, INFINITE, 0.0, Kind::Continuous, None)
        .unwrap();
    let points = vec![(-1.0, -2.0), (0.0, -1.0), (0.0, 1.0), (2.0, 1.0)];
    p.add_special(Special::Pieces { x, y, points }).unwrap();
    p.add_row(&[(y, 1.0)], 0.25, 0.25, None).unwrap();
    let answer = solved(&p);
    assert_eq!(answer.ending, Ending::Optimal);
    assert!(answer.points[0].x[0].abs() < 1e-6);
    p.set_col_bounds(y, -6.0, -6.0).unwrap();
    p.set_cost(x, 1.0).unwrap();
    p.remove_row(Row(0)).unwrap();
    // The first slope goes on.
    assert!((solved(&p).points[0].x[0] + 5.0).abs() < 1e-6);
}

#[test]
fn a_column_leaves_special_constraints() {
    let mut p = Program::default();
    p.set_sense(Sense::Maximise);
    let mut col = |cost| p.add_col(0.0, 5.0, cost, Kind::Integer, None).unwrap();
    let (x, y, r) = (col(0.0), col(0.0), col(1.0));
    let least = Special::Minimum {
        result: r,
        of: vec![x, y],
        constant: None,
    };
    let id = p.add_special(least).unwrap();
    p.set_col_bounds(y, 0.0, 2.0).unwrap();
    assert_eq!(solved(&p).points[0].objective, 2.0);
    p.remove_col(y).unwrap();
    assert_eq!(solved(&p).points[0].objective, 5.0);
    p.remove_col(r).unwrap();
    assert!(p.special(id).is_err() && !p.has_specials());
}

#[test]
fn huge_bounds_of_integer_columns_are_none() {
    let mut p = Program::default();
    p.add_col(-9.3e18, 9.3e18, 1.0, Kind::Integer, None)
        .unwrap();
    p.add_col(-9.3e18, 9.3e18, 1.0, Kind::Continuous, None)
        .unwrap();
    let model = p.compile().unwrap().model;
    assert_eq!(model.col_lower(), [f64::NEG_INFINITY, -9.3e18]);
    assert_eq!(model.col_upper(), [f64::INFINITY, 9.3e18]);
}

#[test]
fn steep_pieces_and_wide_bounds_are_met_to_the_tolerance() {
    let mut p = Program::default();
    p.set_sense(Sense::Maximise);
    let x = p.add_col(0.0, 1e6, -1.0, Kind::Continuous, None).unwrap();
    let y = p
        .add_col(-INFINITE, INFINITE, 1.0, Kind::Continuous, None)
        .unwrap();
    let b = p.add_col(0.0, 1.0, 10.0, Kind::Binary, None).unwrap();
    let points = vec![(0.0, 0.0), (1.0, 1e6), (3.0, 1.0), (1e6, 2.0)];
    let pieces = p.add_special(Special::Pieces { x, y, points }).unwrap();
    let indicator = Special::Indicator {
        col: b,
        value: false,
        entries: vec![(y, 1.0), (x, 1.0)],
        lower: -INFINITE,
        upper: 7.0,
    };
    p.add_special(indicator).unwrap();
    p.add_row(&[(y, 1.0), (b, 2e6)], -INFINITE, 1_999_999.5, None)
        .unwrap();
    let answer = solved(&p);
    assert_eq!(answer.ending, Ending::Optimal);
    let x = &answer.points[0].x;
    assert!(p.special(pieces).unwrap().violation(x) <= SPECIAL_TOLERANCE);
    // y + x <= 7 with y = 1e6 x.
    let best = 7.0 * (1e6 - 1.0) / (1e6 + 1.0);
    assert!(
        (answer.points[0].objective - best).abs() < 1e-4,
        "{answer:?}"
    );
}

#[test]
fn a_bound_that_a_special_constraint_gives_stays_when_it_is_used() {
    // r = |x|_0 is at least 0, so x is; then r = x would do, were it not that -1 = -1.
    let mut p = Program::default();
    let x = p.add_col(-1.0, 0.0, 0.0, Kind::Integer, None).unwrap();
    let a = p.add_col(0.0, 1.0, 0.0, Kind::Binary, None).unwrap();
    let b = p.add_col(0.0, 1.0, 0.0, Kind::Binary, None).unwrap();
    let r = p
        .add_col(-500.0, 500.0, 1.0, Kind::Continuous, None)
        .unwrap();
    let (of, norm) = (vec![x], Norm::Zero);
    p.add_special(Special::Norm {
        result: r,
        of,
        norm,
    })
    .unwrap();
    let row = [(x, -1.0), (a, -3.0), (b, -3.0), (r, 1.0)];
    p.add_row(&row, -INFINITE, -6.0, None).unwrap();
    let answer = solved(&p);
    assert_eq!(answer.ending, Ending::Optimal);
    assert_eq!(answer.points[0].x, [0.0, 1.0, 1.0, 0.0]);
}
