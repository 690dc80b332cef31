//! Ends of searches: bounds that hold with any gaps, closed trees whose bound is the objective, and
//! programs over integers without bounds, which may not end.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use remat_lp::{Model, ModelBuilder, Sense, lp_format};
use remat_solver::mip::{Settings, SolveResult, SolveStatus, Solver};

fn solved(model: &Model, settings: Settings) -> SolveResult {
    Solver::new(model.clone(), settings).run().unwrap()
}

fn read(text: &str) -> Model {
    lp_format::parse(text, "test").unwrap()
}

/// Costs in hundredths, and rows of the form `<=` over columns from 0 to 3.
#[derive(Debug)]
struct Case {
    costs: Vec<i64>,
    rows: Vec<(Vec<i64>, i64)>,
    maximise: bool,
}

struct Dice(Xoshiro256PlusPlus);

impl Dice {
    fn range(&mut self, low: i64, high: i64) -> i64 {
        low + (self.0.next_u64() % (high - low + 1) as u64) as i64
    }
}

impl Case {
    fn random(dice: &mut Dice) -> Case {
        let row = |dice: &mut Dice| {
            let entries = (0..5).map(|_| dice.range(-5, 5)).collect();
            (entries, dice.range(-3, 8))
        };
        Case {
            costs: (0..5).map(|_| dice.range(-999, 999)).collect(),
            rows: (0..dice.range(1, 3)).map(|_| row(dice)).collect(),
            maximise: dice.range(0, 1) == 1,
        }
    }

    fn sense(&self) -> Sense {
        match self.maximise {
            true => Sense::Maximise,
            false => Sense::Minimise,
        }
    }

    fn model(&self) -> Model {
        let mut b = ModelBuilder::new(self.sense());
        let cols: Vec<_> = (self.costs.iter())
            .map(|&c| b.add_col(c as f64 / 100.0, 0.0..=3.0))
            .collect();
        cols.iter().for_each(|&c| b.set_integer(c, true));
        for (row, side) in &self.rows {
            let entries = cols.iter().zip(row).map(|(&c, &v)| (c, v as f64));
            b.add_row(..=*side as f64, entries);
        }
        b.build().unwrap()
    }

    /// The best objective in hundredths, by enumeration.
    fn best(&self) -> Option<i64> {
        let points = (0..4i64.pow(5)).map(|k| (0..5).map(|j| k / 4i64.pow(j) % 4).collect());
        let dot = |of: &dyn Fn(usize) -> i64, x: &[i64]| -> i64 {
            x.iter().enumerate().map(|(j, v)| of(j) * v).sum()
        };
        let feasible = points.filter(|x: &Vec<i64>| {
            let mut rows = self.rows.iter();
            rows.all(|(row, side)| dot(&|j| row[j], x) <= *side)
        });
        let values = feasible.map(|x| dot(&|j| self.costs[j], &x));
        match self.maximise {
            true => values.max(),
            false => values.min(),
        }
    }
}

#[test]
fn bounds_hold_under_every_gap() {
    let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(75));
    let mut solved_cases = 0;
    for k in 0..240 {
        let case = Case::random(&mut dice);
        let gap = [1e-7, 1e-4, 0.1, 0.5][k % 4];
        let settings = Settings {
            relative_gap: gap,
            presolve: dice.range(0, 1) == 1,
            ..Settings::default()
        };
        let result = solved(&case.model(), settings);
        let Some(best) = case.best() else {
            assert_eq!(result.status, SolveStatus::Infeasible, "{case:?}");
            continue;
        };
        solved_cases += 1;
        assert_eq!(result.status, SolveStatus::Optimal, "{case:?}");
        let (best, sign) = (best as f64 / 100.0, case.sense().sign());
        let found = result.solution.as_ref().unwrap().objective;
        let bound = result.dual_bound;
        assert!(sign * bound <= sign * best + 1e-6, "{bound} is past {best}");
        assert!(sign * found >= sign * best - 1e-9);
        assert!(result.gap() <= gap + 1e-9, "{found} {bound}");
        if gap < 1e-6 {
            assert_eq!(bound, found);
            assert!((found - best).abs() < 1e-9);
        }
    }
    assert!(solved_cases > 150);
}

#[test]
fn a_closed_search_has_no_gap() {
    let no_objective =
        "Minimize\n goal: 0 a\nSubject To\n r: a + b + c >= 2\nBinary\n a b c\nEnd\n";
    let zero = "Minimize\n goal: n + m\nSubject To\n r: n + m >= 0\nBounds\n n <= 3\n m <= 1\nGeneral\n n m\nEnd\n";
    let constant =
        "Minimize\n goal: a + b + c - 2\nSubject To\n r: a + b + c >= 2\nBinary\n a b c\nEnd\n";
    let mixed = "Maximize\n goal: 3 n + 0.37 s\nSubject To\n r: 7 n + 2 s <= 30\n q: n - 3 s <= 1.5\nGeneral\n n\nEnd\n";
    for text in [no_objective, zero, constant, mixed] {
        for presolve in [true, false] {
            let settings = Settings {
                relative_gap: 1e-4,
                presolve,
                ..Settings::default()
            };
            let result = solved(&read(text), settings);
            assert_eq!(result.status, SolveStatus::Optimal);
            let objective = result.solution.as_ref().unwrap().objective;
            assert_eq!(
                (result.dual_bound, result.gap()),
                (objective, 0.0),
                "{text}"
            );
        }
    }
}

#[test]
fn equations_with_continuous_columns_have_no_integer_point() {
    // Without s and t, 18 x + 81 y = -42, but the left side is a multiple of 9.
    let text = "Minimize\n goal: x + 5 y\nSubject To\n a: 6 x + 9 s = 1\n b: s - 3 y - t = 0\n c: 3 t = 5\nBounds\n \
                x free\n y free\n s <= 40\n t free\nGeneral\n x y\nEnd\n";
    let result = solved(&read(text), Settings::default());
    assert_eq!(result.status, SolveStatus::Infeasible);
    // With 15 instead of 1, integer points exist.
    let text = text.replace("= 1\n", "= 15\n");
    let result = solved(&read(&text), Settings::default());
    assert!(matches!(
        result.status,
        SolveStatus::Optimal | SolveStatus::Unbounded
    ));
}

#[test]
fn a_program_without_end_is_infeasible_or_unbounded() {
    // A strip so thin that its integer points are far out, if they exist. With entries of 1, the
    // point 37,619 is within the tolerance.
    let text = "Minimize\n goal: x\nSubject To\n strip: 300 <= 1414.2135623 x - 1000 y + 0 s <= 300.00000001\n up: x + s >= 1\n\
                Bounds\n x free\n y free\n s free\nGeneral\n x y\nEnd\n";
    let result = solved(&read(text), Settings::default());
    assert_eq!(result.status, SolveStatus::InfeasibleOrUnbounded);
    assert_eq!(
        (result.solution, result.dual_bound),
        (None, f64::NEG_INFINITY)
    );
    let mut settings = Settings::default();
    settings.limits.nodes = Some(1);
    let result = solved(&read(text), settings);
    assert_eq!(
        result.status,
        SolveStatus::NodeLimit,
        "the user's own limit"
    );
}
