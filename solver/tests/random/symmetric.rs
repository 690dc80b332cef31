//! Random programs with symmetry: interchangeable machines, rows shifted around a circle. The trees
//! are large enough for symmetry to matter.

use crate::models::Dice;
use crate::random_settings;
use crate::truth::{Truth, enumerate};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use remat_lp::{Bounds, ColId, Model, ModelBuilder, Sense};
use remat_solver::mip::{Control, Settings, Solver, Statistics};
use std::sync::Arc;

fn sides(dice: &mut Dice, low: i64, high: i64) -> Bounds {
    let side = dice.range(low, high) as f64;
    match dice.range(0, 2) {
        0 => Bounds::new(side, side),
        1 => Bounds::new(f64::NEG_INFINITY, side),
        _ => Bounds::new(side, f64::INFINITY),
    }
}

/// Amounts of items on identical machines, or nearly identical ones.
fn machines(dice: &mut Dice) -> Model {
    let mut b = ModelBuilder::new(Sense::Minimise);
    let (machines, items, most) = [
        (2, 4, 1),
        (3, 3, 1),
        (4, 3, 1),
        (5, 2, 1),
        (3, 2, 2),
        (2, 3, 2),
    ][dice.range(0, 5) as usize];
    let x: Vec<Vec<ColId>> = (0..items)
        .map(|_| {
            let cost = dice.range(-5, 5) as f64;
            let column = |_| {
                let c = b.add_col(cost, 0.0..=f64::from(most));
                b.set_integer(c, true);
                c
            };
            (0..machines).map(column).collect()
        })
        .collect();
    for row in &x {
        if dice.chance(70) {
            let sides = sides(dice, 1, 2);
            b.add_row(sides, row.iter().map(|&c| (c, 1.0)));
        }
    }
    for _ in 0..dice.range(1, 2) {
        let size: Vec<i64> = (0..items).map(|_| dice.range(-3, 6)).collect();
        let (sides, odd) = (sides(dice, 1, 8), dice.chance(10));
        let latest = dice.chance(20).then(|| b.add_col(1.0, 0.0..=20.0));
        for k in 0..machines {
            let own = f64::from(u8::from(odd && k == 0));
            let entries = size
                .iter()
                .zip(&x)
                .map(|(&s, row)| (row[k], s as f64 + own));
            let entries = entries.filter(|e| e.1 != 0.0);
            match latest {
                Some(z) => b.add_row(..=0.0, entries.chain([(z, -1.0)])),
                None => b.add_row(sides, entries),
            };
        }
    }
    b.build().unwrap()
}

/// Rows shifted around a circle of columns.
fn circle(dice: &mut Dice) -> Model {
    let mut b = ModelBuilder::new(Sense::Maximise);
    let n = dice.range(5, 10) as usize;
    let period = [1, 1, 2, 3][dice.range(0, 3) as usize];
    let costs: Vec<f64> = (0..period).map(|_| dice.range(-2, 6) as f64).collect();
    let cols: Vec<ColId> = (0..n)
        .map(|j| {
            let c = b.add_col(costs[j % period], 0.0..=1.0);
            b.set_integer(c, true);
            c
        })
        .collect();
    for _ in 0..dice.range(1, 2) {
        let pattern: Vec<f64> = (0..n)
            .map(|_| f64::from(u8::from(dice.chance(40))))
            .collect();
        let step = if dice.chance(70) { 1 } else { 2 };
        let sides = Bounds::new(f64::NEG_INFINITY, dice.range(1, 3) as f64);
        for s in (0..n).step_by(step) {
            let entries = (0..n).map(|k| (cols[(k + s) % n], pattern[k]));
            b.add_row(sides, entries.filter(|e| e.1 != 0.0));
        }
    }
    b.build().unwrap()
}

#[test]
fn symmetric_programs_match_enumeration() {
    let seeds = super::seeds(300);
    let count = seeds.end - seeds.start;
    let mut tightened = 0;
    for seed in seeds {
        let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(seed));
        let model = if dice.chance(60) {
            machines(&mut dice)
        } else {
            circle(&mut dice)
        };
        let truth = enumerate(&model);
        let settings = Settings {
            symmetry: dice.chance(90),
            presolve: dice.chance(30),
            cuts: dice.chance(15),
            heuristics: dice.chance(15),
            exact: false,
            ..random_settings(&mut dice)
        };
        let statistics = Arc::new(Statistics::default());
        let control = Control {
            statistics: Some(statistics.clone()),
            ..Control::default()
        };
        let solver = Solver::new(model, settings.clone()).with_control(control);
        let result = solver.run().unwrap();
        let found = Truth::told(&result);
        assert!(
            found.is_some_and(|found| found.agrees(&truth)),
            "seed {seed}: {:?}, {truth:?} expected; {settings:?}",
            (result.status, &result.solution)
        );
        let rows = statistics.rows();
        let fixings = rows
            .iter()
            .find(|r| r.name == "symmetry" && r.tally.kept == 0);
        tightened += fixings.map_or(0, |r| r.tally.found);
        assert!(settings.symmetry || !rows.iter().any(|r| r.name == "symmetry"));
    }
    assert!(
        count < 300 || tightened > 30,
        "{tightened} bounds tightened"
    );
}
