//! Small programs whose entries spread over fifteen orders of magnitude within a row, against
//! enumeration in fractions, with presolve and without. Claims are not confirmed.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use remat_lp::rational::{Rational, decimal};
use remat_lp::{Bounds, ColId, Model, ModelBuilder, RowId, Sense};
use remat_solver::mip::{Confirmation, Limits, Settings, SolveResult, SolveStatus, Solver};

/// Environment variable with the number of programs.
const COUNT: &str = "REMAT_SPREAD_PROGRAMS";

/// Ticks after which a search of such a program is considered endless.
const TICKS_LIMIT: u64 = 50_000_000;

fn q(v: f64) -> Rational {
    decimal(v).unwrap()
}

fn size(v: &Rational) -> Rational {
    if *v < Rational::ZERO {
        -v.clone()
    } else {
        v.clone()
    }
}

struct Dice(Xoshiro256PlusPlus);

impl Dice {
    fn range(&mut self, low: i64, high: i64) -> i64 {
        low + (self.0.next_u64() % (high - low + 1) as u64) as i64
    }

    fn once_in(&mut self, n: i64) -> bool {
        self.range(1, n) == 1
    }

    /// A decimal with a random number of digits and an exponent from -6 to 8.
    fn entry(&mut self) -> f64 {
        let digits = match self.range(0, 2) {
            0 => format!("{}", self.range(1, 9)),
            1 => format!("{}.{}", self.range(1, 9), self.range(0, 99)),
            _ => "1".into(),
        };
        let sign = if self.once_in(2) { "-" } else { "" };
        format!("{sign}{digits}e{}", self.range(-6, 8))
            .parse()
            .unwrap()
    }
}

/// A program around a point: integer columns with few values, and sometimes a continuous one.
fn program(dice: &mut Dice) -> Model {
    let mut b = ModelBuilder::new(match dice.once_in(2) {
        true => Sense::Minimise,
        false => Sense::Maximise,
    });
    let integers = dice.range(1, 4);
    let continuous = i64::from(dice.once_in(2));
    let mut point = Vec::new();
    let cols: Vec<ColId> = (0..integers + continuous)
        .map(|k| {
            let x = dice.range(-2, 3);
            point.push(x);
            let (down, up) = (dice.range(0, 2), dice.range(0, 2));
            let cost = if dice.once_in(3) {
                0
            } else {
                dice.range(-9, 9)
            };
            let bounds = Bounds::new((x - down) as f64, (x + up) as f64);
            let col = b.add_col(cost as f64, bounds);
            b.set_integer(col, k < integers);
            col
        })
        .collect();
    for _ in 0..dice.range(1, 3) {
        let mut entries = Vec::new();
        let mut side = Rational::ZERO;
        for (&col, &x) in cols.iter().zip(&point) {
            if dice.once_in(4) {
                continue;
            }
            let a = dice.entry();
            entries.push((col, a));
            side += q(a) * q(x as f64);
        }
        let side = side.to_f64().value();
        b.add_row(
            match dice.range(0, 3) {
                0 | 1 => Bounds::new(side, side),
                2 => Bounds::new(side, f64::INFINITY),
                _ => Bounds::new(f64::NEG_INFINITY, side),
            },
            entries,
        );
    }
    b.build().unwrap()
}

/// Best objectives (minimised) of the points that satisfy all rows within a tolerance.
fn best(model: &Model, tolerance: &dyn Fn(f64, &Rational) -> Rational) -> Option<Rational> {
    let n = model.num_cols();
    let is_integer = |j: usize| model.is_integer(ColId(j as u32));
    let sign = q(model.sense().sign());
    let free = (0..n).find(|&j| !is_integer(j));
    let mut x: Vec<Rational> = model.col_lower().iter().map(|&v| q(v)).collect();
    let mut best: Option<Rational> = None;
    loop {
        // Ends of the continuous column, if there is one.
        let mut ends = free.map(|j| (q(model.col_lower()[j]), q(model.col_upper()[j])));
        let mut is_met = true;
        for i in 0..model.num_rows() {
            let id = RowId(i as u32);
            let (mut rest, mut terms, mut a) = (Rational::ZERO, Rational::ZERO, Rational::ZERO);
            for (j, v) in model.row(id) {
                if Some(j.index()) == free {
                    a = q(v);
                } else {
                    let term = q(v) * &x[j.index()];
                    terms += size(&term);
                    rest += term;
                }
            }
            let sides = model.row_bounds(id);
            for (side, is_upper) in [(sides.lower, false), (sides.upper, true)] {
                if side.is_infinite() {
                    continue;
                }
                let loose = tolerance(side, &terms);
                let at = if is_upper {
                    q(side) + loose
                } else {
                    q(side) - loose
                };
                let room = at - &rest;
                if a == Rational::ZERO {
                    is_met &= if is_upper {
                        Rational::ZERO <= room
                    } else {
                        Rational::ZERO >= room
                    };
                } else if let Some((low, high)) = &mut ends {
                    let end = room / &a;
                    match is_upper == (a > Rational::ZERO) {
                        true if end < *high => *high = end,
                        false if end > *low => *low = end,
                        _ => {}
                    }
                }
            }
        }
        let points = match ends {
            Some((low, high)) if low > high => Vec::new(),
            Some((low, high)) => vec![Some(low), Some(high)],
            None => vec![None],
        };
        for end in points.into_iter().filter(|_| is_met) {
            let value = (0..n).fold(Rational::ZERO, |sum, j| {
                let at = if Some(j) == free { end.as_ref() } else { None };
                sum + q(model.costs()[j]) * &sign * at.unwrap_or(&x[j])
            });
            if best.as_ref().is_none_or(|b| value < *b) {
                best = Some(value);
            }
        }
        // Advances to the next point, as an odometer does.
        let turning = (0..n).filter(|&j| is_integer(j)).find(|&j| {
            x[j] += Rational::ONE;
            let is_within = x[j] <= q(model.col_upper()[j]);
            if !is_within {
                x[j] = q(model.col_lower()[j]);
            }
            is_within
        });
        if turning.is_none() {
            return best;
        }
    }
}

fn judged(model: &Model, result: &SolveResult) -> Result<(), String> {
    // Exactly, with the rounding of the sides, and within the accepted tolerance.
    let strict = best(model, &|_, _| Rational::ZERO);
    let met = best(model, &|side, terms| q(2e-16) * (q(side.abs()) + terms));
    let accepted = best(model, &|side, _| q(1.1 * 1e-6f64.max(1e-9 * side.abs())));
    let sign = model.sense().sign();
    match (result.status, &result.solution, met) {
        (SolveStatus::Infeasible, None, None) => Ok(()),
        (SolveStatus::Infeasible, None, Some(best)) => {
            Err(format!("infeasible, for {}", sign * best.to_f64().value()))
        }
        (SolveStatus::Optimal, Some(s), _) => {
            let found = sign * s.objective;
            let near = |v: f64| 1e-6 * (1.0 + v.abs());
            let worst = strict.map_or(f64::INFINITY, |v| v.to_f64().value());
            let least = accepted.map_or(f64::INFINITY, |v| v.to_f64().value());
            match found > worst + near(worst) || found < least - near(least) {
                true => Err(format!("optimal {found}, for {least} to {worst}")),
                false => Ok(()),
            }
        }
        (status, ..) => Err(format!("{status:?}")),
    }
}

/// Solves programs, and counts the answers that report numerical trouble and the wrong ones.
fn run(seeds: std::ops::Range<u64>) {
    let (mut numeric, mut wrong) = (0, Vec::new());
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let model = program(&mut Dice(Xoshiro256PlusPlus::seed_from_u64(seed)));
        for presolve in [true, false] {
            let settings = Settings {
                presolve,
                relative_gap: 0.0,
                confirmation: Confirmation::none(),
                limits: Limits {
                    ticks: Some(TICKS_LIMIT),
                    ..Limits::default()
                },
                ..Settings::default()
            };
            let result = Solver::new(model.clone(), settings).run().unwrap();
            if result.status == SolveStatus::Unresolved {
                numeric += 1;
            } else if let Err(mistake) = judged(&model, &result) {
                let text = remat_lp::lp_format::to_string(&model);
                wrong.push(format!(
                    "seed {seed}, presolve {presolve}: {mistake}\n{text}"
                ));
            }
        }
    }
    println!("{count} programs, {numeric} numeric, {} wrong", wrong.len());
    let first: String = wrong.iter().take(8).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} wrong answers\n{first}", wrong.len());
    assert!(numeric <= count / 50, "{numeric} of {count} are numeric");
}

#[test]
fn spread_programs_end_as_fractions_say() {
    let count = std::env::var(COUNT).ok().and_then(|v| v.parse().ok());
    run(0..count.unwrap_or(600));
}

/// Checks the optimum of a program in LP format, with presolve and without. Claims are not
/// confirmed.
fn assert_optimum(text: &str, optimum: f64) {
    let model = remat_lp::lp_format::parse(text, "case").unwrap();
    for presolve in [true, false] {
        let settings = Settings {
            presolve,
            confirmation: Confirmation::none(),
            ..Settings::default()
        };
        let result = Solver::new(model.clone(), settings).run().unwrap();
        let found = result.solution.as_ref().map(|s| s.objective);
        let near = |v: f64| (v - optimum).abs() <= 1e-9 * optimum.abs().max(1.0);
        assert!(
            result.status == SolveStatus::Optimal && found.is_some_and(near),
            "presolve {presolve}: {:?} {found:?} for {optimum}\n{text}",
            result.status
        );
    }
}

#[test]
fn large_sides_are_met_to_the_unit() {
    let case =
        |side: &str| format!("Minimize\n c: n\nSubject To\n r: 3 n = {side}\nGeneral\n n\nEnd\n");
    assert_optimum(&case("4500000000003"), 1500000000001.0);
    assert_optimum(
        &case("-4500000000003").replace("3 n", "-3 n"),
        1500000000001.0,
    );
    let cap = "Maximize\n c: a\nSubject To\n r: 2 a + b <= 7000000000001\nGeneral\n a b\nEnd\n";
    assert_optimum(cap, 3500000000000.0);
    let floor = "Minimize\n c: a\nSubject To\n r: 2 a - b >= 7000000000001\nBounds\n b <= 9\nGeneral\n a b\nEnd\n";
    assert_optimum(floor, 3500000000001.0);
}

#[test]
fn rows_beyond_whole_numbers_keep_their_small_terms() {
    // x = 17, y = 210000000; scaled to integers, the side exceeds 1e15.
    assert_optimum(
        "Minimize\n c: y\nSubject To\n r: 0.000731 x + 5.171913 y = 1086101730.012427\nBounds\n x <= 20\n y <= 1e9\n\
         General\n x y\nEnd\n",
        210000000.0,
    );
}

#[test]
fn a_small_entry_misses_by_the_tolerance_of_its_row() {
    // n is 0.999995: the row misses n = 1 by 1e-11 in its units.
    let row = "Minimize\n c: n\nSubject To\n r: 0.000002 n = 1.99999e-06\nGeneral\n n\nEnd\n";
    assert_optimum(row, 1.0);
    let pair = "Minimize\n c: n + m\nSubject To\n r: 0.000002 n - 0.000002 m = 1.99999e-06\n s: m >= 3\nBounds\n n <= 9\n\
                m <= 9\nGeneral\n n m\nEnd\n";
    assert_optimum(pair, 7.0);
}

#[test]
fn a_bound_at_infinity_leaves_no_value() {
    let mut b = ModelBuilder::new(Sense::Minimise);
    let n = b.add_col(1.0, 2e20..=3e20);
    b.set_integer(n, true);
    b.add_row(1.0.., [(n, 1.0)]);
    let result = Solver::new(b.build().unwrap(), Settings::default()).run();
    assert_eq!(result.unwrap().status, SolveStatus::Infeasible);
}

#[test]
fn a_small_wide_model_has_the_optimum_of_its_decimals() {
    // In doubles both values of x are wrong by some 2e-7, in opposite directions.
    for (side, optimum) in [("-2999.999994", 6.0), ("-2999.999996", 4.0)] {
        for sense in ["Maximize", "Minimize"] {
            let text = format!(
                "{sense}\n c: x\nSubject To\n r: 0.000001 x - 3000 z = {side}\n s: 0.05 z = 0.05\n t: n + x <= 70\nGeneral\n \
                 n\nEnd\n"
            );
            let model = remat_lp::lp_format::parse(&text, "case").unwrap();
            let result = Solver::new(model, Settings::default()).run().unwrap();
            assert_eq!(result.solution.unwrap().objective, optimum, "{text}");
        }
    }
}
