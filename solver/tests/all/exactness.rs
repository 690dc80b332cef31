//! Exact feasibility: rows of decimals over integer columns are decided without tolerance, other
//! rows within 1e-7, with presolve and without (docs/reference/tolerances.md).

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use remat_lp::{Bounds, ColId, Model, ModelBuilder, Sense};
use remat_solver::mip::{ExactClaim, Settings, SolveResult, SolveStatus, Solver};

struct Dice(Xoshiro256PlusPlus);

impl Dice {
    fn range(&mut self, low: i64, high: i64) -> i64 {
        low + (self.0.next_u64() % (high - low + 1) as u64) as i64
    }
}

/// Unit of which decimals with eight places are integer multiples.
const UNIT: i64 = 100_000_000;

fn decimal(v: i64) -> f64 {
    v as f64 / UNIT as f64
}

/// A pure integer program in units of 1e-8: bounds, costs, and rows `a x <= side`.
struct Program {
    bounds: Vec<(i64, i64)>,
    cost: Vec<i64>,
    rows: Vec<(Vec<i64>, i64)>,
}

impl Program {
    /// A random program whose numbers differ from integers by at most a few millionths.
    fn random(dice: &mut Dice) -> Program {
        let near = |dice: &mut Dice, low: i64, high: i64| {
            let off = match dice.range(0, 3) {
                0 => 0,
                1 => dice.range(-9, 9),
                2 => dice.range(-150, 150),
                _ => dice.range(-20_000, 20_000),
            };
            dice.range(low, high) * UNIT + off
        };
        let n = dice.range(1, 4) as usize;
        Program {
            bounds: (0..n)
                .map(|_| (near(dice, -3, 0), near(dice, 0, 4)))
                .collect(),
            cost: (0..n).map(|_| dice.range(-5, 5)).collect(),
            rows: (0..dice.range(1, 3))
                .map(|_| {
                    let a: Vec<i64> = (0..n).map(|_| near(dice, -4, 4)).collect();
                    (a, near(dice, -6, 8))
                })
                .collect(),
        }
    }

    fn model(&self) -> Model {
        let mut b = ModelBuilder::new(Sense::Minimise);
        let columns: Vec<ColId> = (self.bounds.iter().zip(&self.cost))
            .map(|(&(l, u), &c)| {
                let col = b.add_col(c as f64, Bounds::new(decimal(l), decimal(u)));
                b.set_integer(col, true);
                col
            })
            .collect();
        for (a, side) in &self.rows {
            let entries = columns.iter().zip(a).filter(|(_, a)| **a != 0);
            b.add_row(..=decimal(*side), entries.map(|(&c, &a)| (c, decimal(a))));
        }
        b.build().unwrap()
    }

    /// Tries every point. A bound may be exceeded by a billionth, its rounding.
    fn optimum(&self) -> Option<i64> {
        let ranges: Vec<Vec<i64>> = self
            .bounds
            .iter()
            .map(|&(l, u)| {
                (-5..=6)
                    .filter(|x| l <= x * UNIT && x * UNIT <= u)
                    .collect()
            })
            .collect();
        let mut points: Vec<Vec<i64>> = vec![Vec::new()];
        for range in &ranges {
            points = points
                .iter()
                .flat_map(|p| range.iter().map(|&x| [p.as_slice(), &[x]].concat()))
                .collect();
        }
        let dot = |a: &[i64], x: &[i64]| -> i64 { a.iter().zip(x).map(|(a, x)| a * x).sum() };
        points
            .into_iter()
            .filter(|x| self.rows.iter().all(|(a, side)| dot(a, x) <= *side))
            .map(|x| dot(&self.cost, &x))
            .min()
    }
}

fn solve(model: &Model, presolve: bool, seed: u64) -> SolveResult {
    let settings = Settings {
        presolve,
        heuristics: seed.is_multiple_of(2),
        cuts: seed.is_multiple_of(3),
        ..Settings::default()
    };
    Solver::new(model.clone(), settings).run().unwrap()
}

/// Solves with gaps of 0 and confirmation in rational numbers.
fn solve_exactly(model: &Model, seed: u64) -> (SolveStatus, ExactClaim) {
    let settings = Settings {
        exact: true,
        relative_gap: 0.0,
        absolute_gap: 0.0,
        presolve: !seed.is_multiple_of(5),
        heuristics: seed.is_multiple_of(2),
        cuts: seed.is_multiple_of(3),
        ..Settings::default()
    };
    let result = Solver::new(model.clone(), settings).run().unwrap();
    (result.status, result.exact.unwrap())
}

#[test]
fn nearly_whole_numbers_are_what_is_written() {
    let mut feasible = 0;
    for seed in 0..3000 {
        let program = Program::random(&mut Dice(Xoshiro256PlusPlus::seed_from_u64(seed)));
        let truth = program.optimum();
        feasible += usize::from(truth.is_some());
        let model = program.model();
        for presolve in [false, true] {
            let result = solve(&model, presolve, seed);
            let found = match result.status {
                SolveStatus::Optimal => result.solution.map(|s| s.objective.round() as i64),
                SolveStatus::Infeasible => None,
                other => panic!("seed {seed}, presolve {presolve}: {other:?}, {truth:?} expected"),
            };
            assert_eq!(found, truth, "seed {seed}, presolve {presolve}");
        }
        let (status, claim) = solve_exactly(&model, seed);
        assert_eq!(claim.problem, None, "seed {seed}: {status:?}");
        let exact = truth.map(|value| value.to_string());
        assert_eq!(claim.objective, exact, "seed {seed}");
        assert_eq!(claim.bound, exact, "seed {seed}");
        assert_eq!(status == SolveStatus::Infeasible, truth.is_none());
    }
    assert!((500..2900).contains(&feasible), "{feasible}");
}

/// A model of `a x = side` over integer columns from `-reach` to `reach`.
fn equations(rows: &[(Vec<i64>, i64)], cost: &[i64], reach: f64) -> Model {
    let mut b = ModelBuilder::new(Sense::Minimise);
    let columns: Vec<ColId> = cost
        .iter()
        .map(|&c| {
            let col = b.add_col(c as f64, -reach..=reach);
            b.set_integer(col, true);
            col
        })
        .collect();
    for (a, side) in rows {
        let entries = columns.iter().zip(a).filter(|(_, a)| **a != 0);
        b.add_row(*side as f64, entries.map(|(&c, &a)| (c, a as f64)));
    }
    b.build().unwrap()
}

#[test]
fn equations_over_wide_columns_match_enumeration() {
    let mut feasible = 0;
    for seed in 0..400 {
        let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(seed));
        let n = dice.range(2, 3) as usize;
        let reach = 15;
        let rows: Vec<(Vec<i64>, i64)> = (0..dice.range(1, 2))
            .map(|_| {
                let a = (0..n).map(|_| dice.range(-40, 40)).collect();
                (a, dice.range(-90, 90))
            })
            .collect();
        let cost: Vec<i64> = (0..n).map(|_| dice.range(-4, 4)).collect();
        let mut best = None;
        let side = 2 * reach + 1;
        for code in 0..i64::pow(side, n as u32) {
            let x: Vec<i64> = (0..n as u32)
                .map(|k| code / i64::pow(side, k) % side - reach)
                .collect();
            let dot = |a: &[i64]| -> i64 { a.iter().zip(&x).map(|(a, x)| a * x).sum() };
            if rows.iter().all(|(a, s)| dot(a) == *s) {
                best = best.into_iter().chain([dot(&cost)]).min();
            }
        }
        feasible += usize::from(best.is_some());
        let model = equations(&rows, &cost, reach as f64);
        let result = solve(&model, true, seed);
        assert!(
            matches!(
                result.status,
                SolveStatus::Optimal | SolveStatus::Infeasible
            ),
            "seed {seed}: {:?}",
            result.status
        );
        let found = result.solution.map(|s| s.objective.round() as i64);
        assert_eq!(found, best, "seed {seed}: {rows:?}");
    }
    assert!((40..390).contains(&feasible), "{feasible}");
}

/// Coefficients as in Aardal, Hurkens & Lenstra: halving bounds does not reach the side.
#[test]
fn equations_that_branching_on_columns_never_closes_end_at_once() {
    let a = vec![12_223, 12_224, 36_674, 61_119, 85_569];
    let mut b = ModelBuilder::new(Sense::Minimise);
    let columns: Vec<ColId> = a
        .iter()
        .map(|_| {
            let col = b.add_col(1.0, 0.0..);
            b.set_integer(col, true);
            col
        })
        .collect();
    let entries = columns.iter().zip(&a).map(|(&c, &a)| (c, f64::from(a)));
    b.add_row(89_643_481.0, entries);
    let result = solve(&b.build().unwrap(), true, 0);
    assert_eq!(result.status, SolveStatus::Infeasible);
    assert!(result.info.nodes < 500, "{}", result.info.nodes);
}

#[test]
fn continuous_rows_contradict_each_other_beyond_the_tolerance_only() {
    for (apart, feasible) in [(2e-9, true), (4e-8, true), (4e-7, false), (2e-5, false)] {
        for shape in 0..3 {
            let mut b = ModelBuilder::new(Sense::Minimise);
            let x = b.add_col(1.0, 0.0..=9.0);
            let y = b.add_col(1.0, 0.0..=9.0);
            let n = b.add_col(1.0, 0.0..=9.0);
            b.set_integer(n, true);
            b.add_row(1.0.., [(n, 1.0), (x, 1.0)]);
            let entries: Vec<(ColId, f64)> = match shape {
                0 => vec![(x, 1.0)],
                1 => vec![(x, 1.0), (y, 1.0)],
                _ => vec![(x, 1.0), (y, 1.0), (n, 0.5)],
            };
            b.add_row(..=2.0, entries.clone());
            b.add_row(2.0 + apart.., entries);
            let model = b.build().unwrap();
            for presolve in [false, true] {
                let expected = if feasible {
                    SolveStatus::Optimal
                } else {
                    SolveStatus::Infeasible
                };
                let status = solve(&model, presolve, 0).status;
                assert_eq!(status, expected, "{apart:e}, shape {shape}, {presolve}");
            }
            // Exactly, they contradict each other.
            let (status, claim) = solve_exactly(&model, 1);
            assert_eq!(
                (status, claim),
                (SolveStatus::Infeasible, ExactClaim::default())
            );
        }
    }
}

#[test]
fn exact_answers_are_fractions() {
    let mut b = ModelBuilder::new(Sense::Maximise);
    let x = b.add_col(1.0, 0.0..);
    let y = b.add_col(0.1, 0.0..);
    let n = b.add_col(0.3, 0.0..=5.0);
    b.set_integer(n, true);
    b.set_offset(0.25);
    b.add_row(..=2.0, [(x, 3.0), (y, 7.0), (n, 1.0)]);
    b.add_row(..=1.5, [(n, 1.0), (y, -1.0)]);
    // n = 0: 2/3; n = 1: 1/3 + 0.3; n = 2 needs y of 1/2, and then 3 x <= -7/2.
    let (status, claim) = solve_exactly(&b.build().unwrap(), 0);
    assert_eq!((status, claim.problem), (SolveStatus::Optimal, None));
    assert_eq!(claim.objective.as_deref(), Some("11/12"));
    assert_eq!(
        (&claim.bound, claim.values),
        (
            &claim.objective,
            ["2/3", "0", "0"].map(String::from).to_vec()
        )
    );
}

#[test]
fn what_cannot_be_settled_is_said() {
    let mut b = ModelBuilder::new(Sense::Minimise);
    let x = b.add_col(-1.0, 0.0..);
    let n = b.add_col(0.0, 0.0..=1.0);
    b.set_integer(n, true);
    b.add_row(0.0.., [(x, 1.0), (n, 1.0)]);
    let (status, claim) = solve_exactly(&b.build().unwrap(), 0);
    assert_eq!(status, SolveStatus::Unbounded);
    assert!(claim.problem.unwrap().contains("no complete result"));
    let settings = Settings {
        exact: true,
        cutoff: Some(3.0),
        ..Settings::default()
    };
    let model = equations(&[(vec![2, 3], 7)], &[1, 1], 9.0);
    let result = Solver::new(model, settings).run().unwrap();
    let claim = result.exact.unwrap();
    assert!(claim.problem.unwrap().contains("cutoffs"));
}

#[test]
fn a_small_part_of_an_integer_column_may_be_much_of_its_row() {
    // x >= 0.9999952e-6, which is small compared with the tolerance of a column; at x = 0 the row
    // is violated by 10.
    let mut b = ModelBuilder::new(Sense::Minimise);
    let x = b.add_col(1.0, 0.0..=1.0);
    b.set_integer(x, true);
    b.add_row(..=-10.0, [(x, -10_000_048.0)]);
    let result = Solver::new(b.build().unwrap(), Settings::default())
        .run()
        .unwrap();
    assert_eq!(result.status, SolveStatus::Optimal);
    assert_eq!(result.solution.unwrap().x, [1.0]);
}
