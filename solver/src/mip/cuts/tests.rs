//! Tests that cuts of random programs hold at every integer point.

use super::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use remat_lp::{LpOutcome, ModelBuilder, Sense, Settings, Solver};

fn below(rng: &mut Xoshiro256PlusPlus, n: u64) -> usize {
    (rng.next_u64() % n) as usize
}

/// Seven binaries, the first six in two groups with at most one chosen, and an integer up to 5. A
/// knapsack covers all of them, and there are two more rows.
fn grouped_knapsack(rng: &mut Xoshiro256PlusPlus) -> Model {
    let mut b = ModelBuilder::new(Sense::Maximise);
    let cols: Vec<_> = (0..8)
        .map(|j| {
            let top = if j == 7 { 5.0 } else { 1.0 };
            let c = b.add_col(1.0 + below(rng, 20) as f64, 0.0..=top);
            b.set_integer(c, true);
            c
        })
        .collect();
    let weights: Vec<f64> = (0..8).map(|_| 2.0 + below(rng, 14) as f64).collect();
    let side = (weights.iter().sum::<f64>() * 0.3).floor();
    b.add_row(..=side, cols.iter().copied().zip(weights));
    b.add_row(..=1.0, cols[..3].iter().map(|&c| (c, 1.0)));
    b.add_row(..=1.0, cols[3..6].iter().map(|&c| (c, 1.0)));
    // Two implications from a binary to the integer, and one rounding.
    let factor = 1.0 + 2.0 * below(rng, 3) as f64;
    b.add_row(..=0.0, [(cols[0], 1.0), (cols[6], -1.0)]);
    b.add_row(..=10.0, [(cols[6], factor), (cols[7], 2.0), (cols[5], 1.0)]);
    b.build().unwrap()
}

/// The integer points of a program's box.
fn points(p: &Problem) -> Vec<Vec<f64>> {
    let mut all = vec![Vec::new()];
    for j in 0..p.num_cols() {
        let range = p.lower[j] as i64..=p.upper[j] as i64;
        all = all
            .iter()
            .flat_map(|x: &Vec<f64>| {
                range.clone().map(|v| {
                    let mut x = x.clone();
                    x.push(v as f64);
                    x
                })
            })
            .collect();
    }
    all
}

fn feasible(p: &Problem, x: &[f64], rows: impl IntoIterator<Item = usize>) -> bool {
    rows.into_iter().all(|i| {
        let activity: f64 = p.rows.iter(i).map(|(j, a)| a * x[j]).sum();
        p.row_lower[i] <= activity && activity <= p.row_upper[i]
    })
}

fn holds(cut: &Cut, x: &[f64]) -> bool {
    let activity: f64 = cut.entries.iter().map(|&(j, a)| a * x[j as usize]).sum();
    activity <= cut.rhs
}

/// The input of separators at the root.
fn context<'a>(
    p: &'a Problem,
    relaxation: &'a Model,
    solution: &'a Solution,
    tables: &'a Tables,
) -> Context<'a> {
    let bounds = (p.lower.as_slice(), p.upper.as_slice());
    let effort = SeparationEffort::Root;
    Context::new(p, relaxation, solution, bounds, tables, Vec::new(), effort)
}

#[test]
fn every_integer_point_meets_every_cut() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
    let (mut by_groups, mut implied_bounds, mut all) = (0, 0, 0);
    for _ in 0..400 {
        let model = grouped_knapsack(&mut rng);
        let p = Problem::from_model(&model);
        let relaxation = p.to_model().unwrap();
        let mut solver = Solver::new(relaxation.clone(), Settings::default());
        let LpOutcome::Optimal(solution) = solver.solve() else {
            panic!("feasible and bounded");
        };
        let bounds = (p.lower.as_slice(), p.upper.as_slice());
        let tables = Tables::new(&p, bounds, true, &AtomicBool::new(false));
        let c = context(&p, &relaxation, &solution, &tables);
        let points = points(&p);
        let rows = 0..p.num_rows();
        let feasible_points: Vec<_> = points
            .iter()
            .filter(|x| feasible(&p, x, rows.clone()))
            .collect();
        for cut in separate(&c, &mut CutPool::default(), None) {
            all += 1;
            for x in &feasible_points {
                assert!(holds(&cut, x), "{cut:?} at {x:?}\n{p:?}");
            }
        }
        // Covers that need more rows than the knapsack.
        let mut covers = Vec::new();
        cover::separate(&c, &mut covers);
        by_groups += covers
            .iter()
            .filter(|cut| {
                points
                    .iter()
                    .any(|x| feasible(&p, x, [0]) && !holds(cut, x))
            })
            .count();
        let mut implied = Vec::new();
        implied::separate(&c, &mut implied);
        implied_bounds += implied.len();
    }
    assert!(all > 400, "{all} cuts");
    assert!(by_groups > 20, "{by_groups} covers that use groups");
    assert!(implied_bounds > 20, "{implied_bounds} implied bounds");
}

#[test]
fn what_is_left_of_larger_numbers_is_no_cut() {
    let mut b = ModelBuilder::new(Sense::Maximise);
    let cols = [2.0, 1.0].map(|cost| b.add_col(cost, 0.0..=1.0));
    cols.iter().for_each(|&c| b.set_integer(c, true));
    b.add_row(..=1.5, cols.map(|c| (c, 1.0)));
    let model = b.build().unwrap();
    let p = Problem::from_model(&model);
    let relaxation = p.to_model().unwrap();
    let LpOutcome::Optimal(solution) = Solver::new(relaxation.clone(), Settings::default()).solve()
    else {
        panic!("feasible and bounded");
    };
    let bounds = (p.lower.as_slice(), p.upper.as_slice());
    let tables = Tables::new(&p, bounds, false, &AtomicBool::new(false));
    let c = context(&p, &relaxation, &solution, &tables);
    // x + y <= 1, in units of 4e-9.
    let made_of = |largest: f64| {
        let side = Sum {
            value: 4e-9,
            largest,
        };
        c.finish(vec![(0, 4e-9), (1, 4e-9)], side)
    };
    let exact = made_of(4e-9).expect("a cut").rhs;
    assert!((1.0..1.0 + 1e-8).contains(&exact), "{exact}");
    // The rounding of 0.1 is 1e-16: 2.5e-8 of the coefficients and of the side.
    let rounded = made_of(0.1).expect("a cut").rhs;
    assert!((exact + 7e-8..exact + 8e-8).contains(&rounded), "{rounded}");
    assert!(made_of(98.0).is_none());
}
