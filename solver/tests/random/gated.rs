//! Random networks whose arcs have gates, most of which cost something. A closed gate makes other
//! gates useless, so every optimum closes them too; probing uses that.

use crate::models::Dice;
use crate::random_settings;
use crate::truth::{Truth, enumerate};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use remat_lp::{ColId, Model, ModelBuilder, Sense};
use remat_solver::mip::Solver;

/// Nodes in a line with forward arcs. An arc has separate gates, shared gates, or no gate. Flow out
/// of the last node earns; flow into the first one may cost.
fn network(dice: &mut Dice) -> Model {
    let mut b = ModelBuilder::new(Sense::Minimise);
    let nodes = dice.range(2, 4) as usize;
    let gate = |b: &mut ModelBuilder, dice: &mut Dice| {
        let cost = dice.range(-1, 9) as f64;
        let c = b.add_col(cost, 0.0..=1.0);
        b.set_integer(c, true);
        c
    };
    let shared: Vec<ColId> = (0..2).map(|_| gate(&mut b, dice)).collect();
    let mut left = 8;
    let mut balance: Vec<Vec<(ColId, f64)>> = vec![Vec::new(); nodes];
    for (k, entries) in balance.iter_mut().enumerate() {
        if k == 0 || dice.chance(20) {
            let top = dice.range(1, 6) as f64;
            entries.push((b.add_col(dice.range(0, 2) as f64, 0.0..=top), 1.0));
        }
        if k + 1 == nodes || dice.chance(20) {
            let pays = -(dice.range(1, 9) as f64);
            entries.push((b.add_col(pays, 0.0..), -1.0));
        }
    }
    for from in 0..nodes {
        for to in from + 1..nodes {
            for _ in 0..dice.range(i64::from(to == from + 1), 2) {
                let open = dice.chance(60);
                let top = if open {
                    f64::INFINITY
                } else {
                    dice.range(1, 5) as f64
                };
                let flow = b.add_col(dice.range(0, 2) as f64, 0.0..=top);
                balance[from].push((flow, -1.0));
                let gain = [1.0, 1.0, 0.5, 2.0][dice.range(0, 3) as usize];
                balance[to].push((flow, gain));
                for _ in 0..dice.range(0, 2) {
                    let gate = if left == 0 || dice.chance(30) {
                        shared[dice.range(0, 1) as usize]
                    } else {
                        left -= 1;
                        gate(&mut b, dice)
                    };
                    let most = dice.range(1, 7) as f64;
                    b.add_row(..=0.0, [(flow, 1.0), (gate, -most)]);
                }
            }
        }
    }
    for entries in balance {
        if dice.chance(80) {
            b.add_row(0.0..=0.0, entries);
        } else {
            b.add_row(0.0.., entries);
        }
    }
    // Gates that exclude each other, or of which at least one must be open.
    if dice.chance(40) {
        let both = shared.iter().map(|&c| (c, 1.0));
        match dice.chance(50) {
            true => b.add_row(..=1.0, both),
            false => b.add_row(1.0.., both),
        };
    }
    b.build().unwrap()
}

#[test]
fn gated_networks_match_enumeration() {
    for seed in crate::seeds(600) {
        let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(seed));
        let model = network(&mut dice);
        let truth = enumerate(&model);
        let mut settings = random_settings(&mut dice);
        settings.probing = dice.chance(80);
        let result = Solver::new(model.clone(), settings.clone()).run().unwrap();
        let found = Truth::told(&result);
        assert!(
            found.is_some_and(|found| found.agrees(&truth)),
            "seed {seed}: {:?}, {truth:?} expected; {settings:?}",
            (result.status, &result.solution)
        );
    }
}
