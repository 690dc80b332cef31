//! Random chains of continuous columns, most of which cost nothing, behind inequalities with
//! switches. Some optimum has many of these inequalities tight; presolve uses that.

use crate::models::Dice;
use crate::random_settings;
use crate::truth::{Truth, enumerate};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use remat_lp::{ColId, Model, ModelBuilder, Sense};
use remat_solver::mip::Solver;

/// Each stage has a share, a time above lines through the share, and a paid time that a switch may
/// waive. Knapsacks over the shares force some of them up. Rows and columns are flipped at random.
fn stages(dice: &mut Dice) -> Model {
    let mut b = ModelBuilder::new(Sense::Minimise);
    let mut shares = Vec::new();
    let mut switches = Vec::new();
    for _ in 0..dice.range(1, 4) {
        let switch = b.add_col(dice.range(-2, 3) as f64, 0.0..=1.0);
        b.set_integer(switch, true);
        switches.push(switch);
        let flip = if dice.chance(30) { -1.0 } else { 1.0 };
        let end = |dice: &mut Dice, often| match dice.chance(often) {
            true => f64::INFINITY,
            false => dice.range(1, 6) as f64,
        };
        let column = |b: &mut ModelBuilder, cost: f64, flip: f64, low: f64, high: f64| match flip {
            -1.0 => b.add_col(-cost, -high..=-low),
            _ => b.add_col(cost, low..=high),
        };
        let cost = [0.0, 0.0, 0.0, -1.0, 1.0][dice.range(0, 4) as usize];
        let low = if dice.chance(80) { 0.0 } else { -3.0 };
        let high = end(dice, 80);
        let time = column(&mut b, cost, flip, low, high);
        let paid = b.add_col(dice.range(0, 2) as f64, 0.0..=end(dice, 70));
        let share = b.add_col(0.0, 0.0..=1.0);
        shares.push(share);
        if dice.chance(70) {
            b.add_row(..=0.0, [(share, 1.0), (switch, -1.0)]);
        }
        for _ in 0..dice.range(0, 3) {
            let (slope, base) = (dice.range(0, 4) as f64, dice.range(-2, 1) as f64);
            add_flipped(&mut b, dice, base, &[(time, flip), (share, -slope)]);
        }
        let (speed, large) = (dice.range(1, 5) as f64, dice.range(2, 30) as f64);
        let waived = [(paid, 1.0), (time, -flip * speed), (switch, -large)];
        add_flipped(&mut b, dice, -large, &waived);
        if dice.chance(50) {
            add_flipped(&mut b, dice, 0.0, &[(time, flip * speed), (paid, -1.0)]);
        }
        if dice.chance(30) {
            add_flipped(&mut b, dice, 0.0, &[(switch, large), (paid, -1.0)]);
        }
    }
    for _ in 0..dice.range(1, 2) {
        let part = |&c: &ColId| (c, dice.range(0, 3) as f64);
        let entries: Vec<(ColId, f64)> = shares.iter().map(part).collect();
        let side = dice.range(1, 4) as f64;
        add_flipped(&mut b, dice, side, &entries);
    }
    if dice.chance(40) {
        b.add_row(..=1.0, switches.iter().map(|&c| (c, 1.0)));
    }
    b.build().unwrap()
}

/// Adds `entries >= side`, as it is or negated.
fn add_flipped(b: &mut ModelBuilder, dice: &mut Dice, side: f64, entries: &[(ColId, f64)]) {
    match dice.chance(50) {
        true => b.add_row(side.., entries.iter().copied()),
        false => b.add_row(..=-side, entries.iter().map(|&(c, a)| (c, -a))),
    };
}

#[test]
fn switched_stages_match_enumeration() {
    let mut ended = [0; 3];
    for seed in crate::seeds(1_500) {
        let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(seed));
        let model = stages(&mut dice);
        let truth = enumerate(&model);
        ended[match truth {
            Truth::Optimal(_) => 0,
            Truth::Infeasible => 1,
            Truth::Unbounded => 2,
        }] += 1;
        let mut settings = random_settings(&mut dice);
        for presolve in [true, false] {
            settings.presolve = presolve;
            let result = Solver::new(model.clone(), settings.clone()).run().unwrap();
            let found = Truth::told(&result);
            assert!(
                found.as_ref().is_some_and(|f| f.agrees(&truth)),
                "seed {seed}, presolve {presolve}: {found:?}, not {truth:?}; {settings:?}"
            );
        }
    }
    println!("optimal, infeasible, unbounded: {ended:?}");
    assert!(ended.iter().all(|n| *n > 50), "{ended:?}");
}
