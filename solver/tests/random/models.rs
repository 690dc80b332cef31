//! Random programs: knapsacks, covers, general and unbounded integers, lattices, recurrences.

use crate::truth::Truth;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::RngCore;
use remat_lp::{Bounds, ColId, Model, ModelBuilder, Sense};

/// A seeded generator of random choices.
pub struct Dice(pub Xoshiro256PlusPlus);

impl Dice {
    pub fn range(&mut self, low: i64, high: i64) -> i64 {
        low + (self.0.next_u64() % (high - low + 1) as u64) as i64
    }

    pub fn chance(&mut self, percent: i64) -> bool {
        self.range(0, 99) < percent
    }
}

/// A box of integer points seen through a unimodular map. No column has bounds: rows alone keep the
/// model finite, and columns may have large values. The last coordinate of the box may be unbounded
/// (`.2`). The truth is computed in the box.
pub fn lattice_model(dice: &mut Dice) -> (Model, Truth, bool) {
    let n = dice.range(2, 4) as usize;
    // `inverse` maps a point of the model (after subtracting `shift`) to a point of the box. It is
    // built from elementary steps.
    let mut inverse: Vec<Vec<i64>> = (0..n)
        .map(|i| (0..n).map(|j| i64::from(i == j)).collect())
        .collect();
    for _ in 0..dice.range(1, 5) {
        let (i, j) = (
            dice.range(0, n as i64 - 1) as usize,
            dice.range(0, n as i64 - 1) as usize,
        );
        if i != j {
            let f = dice.range(-2, 2);
            let from = inverse[j].clone();
            for (to, v) in inverse[i].iter_mut().zip(from) {
                *to += f * v;
            }
        }
    }
    let shift: Vec<i64> = (0..n).map(|_| dice.range(-300, 300)).collect();
    let box_of: Vec<(i64, i64)> = (0..n)
        .map(|_| {
            let l = dice.range(-3, 3);
            (l, l + dice.range(0, 5))
        })
        .collect();
    let open = dice.chance(30);
    let bounded = if open { n - 1 } else { n };
    let cost: Vec<i64> = (0..n).map(|_| dice.range(-9, 9)).collect();
    let rows: Vec<(Vec<i64>, i64)> = (0..dice.range(0, 3))
        .map(|_| {
            let a: Vec<i64> = (0..n)
                .map(|j| if j < bounded { dice.range(-6, 6) } else { 0 })
                .collect();
            (a, dice.range(-12, 15))
        })
        .collect();
    // Every point of the bounded part.
    let mut best: Option<i64> = None;
    let mut z: Vec<i64> = box_of.iter().map(|b| b.0).collect();
    'points: loop {
        let holds = rows
            .iter()
            .all(|(a, side)| (0..n).map(|j| a[j] * z[j]).sum::<i64>() <= *side);
        if holds {
            let v: i64 = (0..n).map(|j| cost[j] * z[j]).sum();
            best = Some(best.map_or(v, |b| b.min(v)));
        }
        let mut k = 0;
        loop {
            if k == bounded {
                break 'points;
            }
            z[k] += 1;
            if z[k] <= box_of[k].1 {
                break;
            }
            z[k] = box_of[k].0;
            k += 1;
        }
    }
    // Branch and bound on an unbounded polyhedron may not end without a point, or with a ray of
    // cost 0.
    let open = open && best.is_some() && cost[n - 1] != 0;
    let mut b = ModelBuilder::new(Sense::Minimise);
    // Converts a linear form over the box to one over the model, with the contribution of the
    // shift.
    let through = |a: &[i64]| -> (Vec<f64>, f64) {
        let form: Vec<i64> = (0..n)
            .map(|k| (0..n).map(|i| a[i] * inverse[i][k]).sum())
            .collect();
        let at_shift: i64 = (0..n).map(|k| form[k] * shift[k]).sum();
        (form.iter().map(|&v| v as f64).collect(), at_shift as f64)
    };
    let (c, c0) = through(&cost);
    let cols: Vec<ColId> = c
        .iter()
        .map(|&c| {
            let col = b.add_col(c, ..);
            b.set_integer(col, true);
            col
        })
        .collect();
    b.set_offset(-c0);
    let entries = |form: &[f64]| -> Vec<(ColId, f64)> {
        cols.iter()
            .zip(form)
            .filter(|(_, v)| **v != 0.0)
            .map(|(&c, &v)| (c, v))
            .collect()
    };
    for (i, &(l, u)) in box_of.iter().enumerate() {
        let unit: Vec<i64> = (0..n).map(|k| i64::from(k == i)).collect();
        let (form, at) = through(&unit);
        let upper = if i + 1 < n || !open {
            u as f64 + at
        } else {
            f64::INFINITY
        };
        b.add_row(Bounds::new(l as f64 + at, upper), entries(&form));
    }
    for (a, side) in &rows {
        let (form, at) = through(a);
        b.add_row(..=*side as f64 + at, entries(&form));
    }
    let truth = match best {
        None => Truth::Infeasible,
        Some(_) if open && cost[n - 1] < 0 => Truth::Unbounded,
        // A last coordinate that is bounded after all is at the better end of its interval.
        Some(v) if bounded < n && !open => {
            let (l, u) = box_of[n - 1];
            Truth::Optimal((v + (cost[n - 1] * (u - l)).min(0)) as f64)
        }
        Some(v) => Truth::Optimal(v as f64),
    };
    (b.build().unwrap(), truth, open)
}

/// Products of literals with the usual weak rows, which relieve a recurrence: a small version of
/// Checkmate's `FREE` and `U`, with random deviations.
pub fn recurrence(b: &mut ModelBuilder, dice: &mut Dice, sign: f64) {
    let n = dice.range(3, 6) as usize;
    let binary = |b: &mut ModelBuilder, cost: i64| {
        let c = b.add_col(sign * cost as f64, 0.0..=1.0);
        b.set_integer(c, true);
        c
    };
    let x: Vec<ColId> = (0..n).map(|_| binary(b, dice.range(-2, 9))).collect();
    for _ in 0..dice.range(1, 4) {
        // x_a <= x_b + x_c, or another clause.
        let mut entries: Vec<(ColId, f64)> = Vec::new();
        let mut side = 1.0;
        for &c in &x {
            if dice.chance(50) && entries.len() < 3 {
                let not = dice.chance(35);
                side -= f64::from(u8::from(not));
                entries.push((c, if not { -1.0 } else { 1.0 }));
            }
        }
        b.add_row(side.., entries);
    }
    let mut products = Vec::new();
    let last = dice.range(0, n as i64 - 1) as usize;
    for k in 0..dice.range(1, 4) as usize {
        // x_k without any later one, or random literals.
        let nested = dice.chance(70);
        let mut terms: Vec<(ColId, f64)> = Vec::new();
        for (j, &c) in x.iter().enumerate() {
            let (in_it, not) = if nested {
                (j >= k || j == last, j > k || j == last)
            } else {
                (dice.chance(50), dice.chance(50))
            };
            if in_it {
                // The row contains the complement of each factor.
                terms.push((c, if not { 1.0 } else { -1.0 }));
            }
        }
        if terms.len() < 2 {
            continue;
        }
        let cost = if dice.chance(80) {
            0
        } else {
            dice.range(-2, 2)
        };
        let f = binary(b, cost);
        let plain = terms.iter().filter(|t| t.1 < 0.0).count() as f64;
        let most = terms.len() as f64;
        let (mut force, mut forbid) = (terms.clone(), terms);
        force.push((f, 1.0));
        forbid.push((f, most));
        if dice.chance(90) {
            b.add_row(1.0 - plain.., force);
        }
        b.add_row(..=most - plain, forbid);
        products.push(f);
    }
    let capacity = dice.range(4, 25) as f64;
    let mut before: Option<ColId> = None;
    let lower = if dice.chance(70) {
        0.0
    } else {
        dice.range(-9, 0) as f64
    };
    for _ in 0..dice.range(1, 4) {
        let cost = if dice.chance(80) {
            0.0
        } else {
            dice.range(-2, 2) as f64
        };
        let u = b.add_col(cost, lower..=capacity);
        let mut entries = vec![(u, 1.0)];
        entries.extend(before.map(|u| (u, -1.0)));
        for &c in &x {
            if dice.chance(50) {
                entries.push((c, -dice.range(0, 9) as f64));
            }
        }
        for &f in &products {
            if dice.chance(50) {
                entries.push((f, dice.range(0, 6) as f64));
            }
        }
        entries.retain(|e| e.1 != 0.0);
        b.add_row(dice.range(-3, 3) as f64, entries);
        before = Some(u);
    }
}

/// Groups of binaries of which one is chosen, switches turned on by choices, and products of both
/// as continuous columns, as in mapping programs (CoSA; Huang et al., ISCA 2021).
pub fn products(b: &mut ModelBuilder, dice: &mut Dice, sign: f64) {
    let binary = |b: &mut ModelBuilder, cost: i64| {
        let c = b.add_col(sign * cost as f64, 0.0..=1.0);
        b.set_integer(c, true);
        c
    };
    let switches: Vec<ColId> = (0..dice.range(1, 3))
        .map(|_| binary(b, dice.range(0, 6)))
        .collect();
    for pair in switches.windows(2) {
        b.add_row(0.0.., [(pair[1], 1.0), (pair[0], -1.0)]);
    }
    let mut terms: Vec<(ColId, f64)> = Vec::new();
    for _ in 0..dice.range(1, 2) {
        let choices: Vec<ColId> = (0..dice.range(2, 4))
            .map(|_| binary(b, dice.range(-4, 6)))
            .collect();
        match dice.chance(80) {
            true => b.add_row(1.0, choices.iter().map(|&c| (c, 1.0))),
            false => b.add_row(..=1.0, choices.iter().map(|&c| (c, 1.0))),
        };
        for &switch in &switches {
            // Choices that turn the switch on, so that their products equal the choices.
            let of = choices.iter().filter(|_| dice.chance(40));
            let mut on: Vec<(ColId, f64)> = of.map(|&c| (c, -1.0)).collect();
            if !on.is_empty() {
                on.push((switch, 1.0));
                b.add_row(0.0.., on);
            }
            for &choice in &choices {
                let upper = [1.0, 2.0, f64::INFINITY][dice.range(0, 2) as usize];
                let z = b.add_col(sign * dice.range(-5, 5) as f64, 0.0..=upper);
                let not = dice.chance(20);
                // The switch, or its complement.
                let (a, one) = if not { (-1.0, 1.0) } else { (1.0, 0.0) };
                b.add_row(..=0.0, [(z, 1.0), (choice, -1.0)]);
                if dice.chance(90) {
                    b.add_row(..=one, [(z, 1.0), (switch, -a)]);
                }
                if dice.chance(90) {
                    b.add_row(one - 1.0.., [(z, 1.0), (choice, -1.0), (switch, -a)]);
                }
                terms.push((z, dice.range(1, 9) as f64));
            }
        }
    }
    let load = b.add_col(
        sign * dice.range(0, 2) as f64,
        0.0..=dice.range(5, 40) as f64,
    );
    terms.push((load, -1.0));
    b.add_row(..=dice.range(0, 9) as f64, terms);
}

/// Assignment of tasks to machines, with loads and times by equations. Rows have a large factor
/// that relaxes them for other choices, and the latest time is most of the objective.
pub fn placement(b: &mut ModelBuilder, dice: &mut Dice, sign: f64) {
    let (tasks, machines) = [(2, 3), (3, 2), (4, 2), (3, 3)][dice.range(0, 3) as usize];
    let x: Vec<Vec<ColId>> = (0..tasks)
        .map(|_| {
            let of = |_| {
                let cost = if dice.chance(70) { 0 } else { dice.range(0, 3) };
                let c = b.add_col(sign * cost as f64, 0.0..=1.0);
                b.set_integer(c, true);
                c
            };
            let choices: Vec<ColId> = (0..machines).map(of).collect();
            let one = choices.iter().map(|&c| (c, 1.0));
            match dice.chance(85) {
                true => b.add_row(1.0, one),
                false => b.add_row(1.0.., one),
            };
            choices
        })
        .collect();
    let upper = |dice: &mut Dice| match dice.chance(70) {
        true => f64::INFINITY,
        false => dice.range(10, 60) as f64,
    };
    let latest = b.add_col(sign * dice.range(1, 3) as f64, 0.0..=upper(dice));
    let times: Vec<ColId> = (0..tasks)
        .map(|_| b.add_col(0.0, 0.0..=upper(dice)))
        .collect();
    for &t in &times {
        b.add_row(0.0.., [(latest, 1.0), (t, -1.0)]);
    }
    for i in 0..machines {
        let start = b.add_col(0.0, 0.0..=upper(dice));
        let end = b.add_col(0.0, 0.0..=upper(dice));
        let mut terms = vec![(end, 1.0), (start, -1.0)];
        for of in &x {
            terms.push((of[i], -dice.range(1, 9) as f64));
        }
        b.add_row(0.0, terms);
        let large = dice.range(30, 200) as f64;
        for v in 0..tasks {
            // If chosen, the task's time is not before the machine's end.
            b.add_row(-large.., [(times[v], 1.0), (end, -1.0), (x[v][i], -large)]);
            if v > 0 && dice.chance(60) {
                b.add_row(
                    -large..,
                    [(start, 1.0), (times[v - 1], -1.0), (x[v][i], -large)],
                );
            }
        }
        if dice.chance(30) {
            let sizes = x.iter().map(|of| (of[i], dice.range(1, 5) as f64));
            let sizes: Vec<(ColId, f64)> = sizes.collect();
            b.add_row(..=dice.range(3, 9) as f64, sizes);
        }
    }
}

/// A model whose integer columns have finite small bounds.
pub fn random_model(dice: &mut Dice) -> (Model, &'static str) {
    let sense = if dice.chance(50) {
        Sense::Minimise
    } else {
        Sense::Maximise
    };
    let mut b = ModelBuilder::new(sense);
    if dice.chance(30) {
        b.set_offset(dice.range(-20, 20) as f64 / 2.0);
    }
    let kinds = [
        "knapsack",
        "cover",
        "general",
        "equality",
        "packing",
        "mixed",
        "fractional",
        "lotsizing",
        "recurrence",
        "products",
        "placement",
    ];
    let kind = kinds[dice.range(0, kinds.len() as i64 - 1) as usize];
    match kind {
        "knapsack" | "equality" => {
            let n = dice.range(2, 10);
            let cols: Vec<ColId> = (0..n)
                .map(|_| {
                    let u = if dice.chance(80) { 1 } else { dice.range(1, 3) };
                    let c = b.add_col(dice.range(-20, 20) as f64, 0.0..=u as f64);
                    b.set_integer(c, true);
                    c
                })
                .collect();
            for _ in 0..dice.range(1, 3) {
                let entries: Vec<_> = cols
                    .iter()
                    .map(|&c| (c, dice.range(1, 40) as f64))
                    .collect();
                let total: f64 = entries.iter().map(|e| e.1).sum();
                let side = (total * dice.range(20, 80) as f64 / 100.0).floor();
                if kind == "equality" {
                    b.add_row(side, entries);
                    break;
                }
                b.add_row(..=side, entries);
            }
        }
        "cover" | "packing" => {
            let n = dice.range(3, 11);
            let cols: Vec<ColId> = (0..n)
                .map(|_| {
                    let c = b.add_col(dice.range(1, 9) as f64 * sense.sign(), 0.0..=1.0);
                    b.set_integer(c, true);
                    c
                })
                .collect();
            for _ in 0..dice.range(2, 9) {
                let chosen: Vec<ColId> = cols.iter().copied().filter(|_| dice.chance(40)).collect();
                let entries = chosen.iter().map(|&c| (c, 1.0));
                if kind == "cover" {
                    b.add_row(1.0.., entries);
                } else if dice.chance(80) {
                    b.add_row(..=1.0, entries);
                } else {
                    b.add_row(1.0, entries);
                }
            }
            if kind == "packing" {
                for &c in &cols {
                    b.set_cost(c, -sense.sign() * dice.range(1, 9) as f64);
                }
            }
        }
        "recurrence" => recurrence(&mut b, dice, sense.sign()),
        "products" => products(&mut b, dice, sense.sign()),
        "placement" => placement(&mut b, dice, sense.sign()),
        "lotsizing" => {
            // Stock, production and set-up per period: variable upper bounds, paths, flow covers.
            let periods = dice.range(2, 5);
            let products = if periods <= 3 { dice.range(1, 2) } else { 1 };
            let mut made: Vec<Vec<ColId>> = vec![Vec::new(); periods as usize];
            for _ in 0..products {
                let mut stock: Option<ColId> = None;
                for t in 0..periods {
                    let capacity = dice.range(3, 20) as f64;
                    let x = b.add_col(dice.range(0, 3) as f64 * sense.sign(), 0.0..);
                    let y = b.add_col(dice.range(1, 30) as f64 * sense.sign(), 0.0..=1.0);
                    let s = b.add_col(dice.range(0, 2) as f64 * sense.sign(), 0.0..);
                    b.set_integer(y, true);
                    b.add_row(..=0.0, [(x, 1.0), (y, -capacity)]);
                    let mut balance = vec![(x, 1.0), (s, -1.0)];
                    balance.extend(stock.map(|s| (s, 1.0)));
                    b.add_row(dice.range(0, 8) as f64, balance);
                    stock = Some(s);
                    made[t as usize].push(x);
                }
            }
            if products > 1 {
                for xs in made {
                    b.add_row(
                        ..=dice.range(4, 24) as f64,
                        xs.into_iter().map(|x| (x, 1.0)),
                    );
                }
            }
        }
        _ => {
            let n = dice.range(1, 5);
            let scale = if kind == "fractional" { 8.0 } else { 1.0 };
            let mut cols = Vec::new();
            for _ in 0..n {
                let l = dice.range(-4, 2);
                let u = l + dice.range(0, 5);
                let c = b.add_col(
                    dice.range(-9, 9) as f64 / scale,
                    Bounds::new(l as f64, u as f64),
                );
                b.set_integer(c, true);
                cols.push(c);
            }
            if kind == "mixed" {
                for _ in 0..dice.range(1, 3) {
                    let l = dice.range(-5, 1) as f64;
                    let bounds = if dice.chance(70) {
                        Bounds::new(l, l + dice.range(0, 12) as f64 / 2.0)
                    } else {
                        Bounds::new(l, f64::INFINITY)
                    };
                    cols.push(b.add_col(dice.range(-9, 9) as f64, bounds));
                }
            }
            for _ in 0..dice.range(1, 5) {
                let mut entries: Vec<(ColId, f64)> = Vec::new();
                for &c in &cols {
                    if dice.chance(70) {
                        let v = dice.range(-9, 9) as f64 / scale;
                        if v != 0.0 {
                            entries.push((c, v));
                        }
                    }
                }
                let side = dice.range(-15, 25) as f64 / scale;
                match dice.range(0, 9) {
                    0 => b.add_row(side, entries),
                    1 | 2 => b.add_row(side - dice.range(0, 9) as f64..=side, entries),
                    3..=5 => b.add_row(side.., entries),
                    _ => b.add_row(..=side, entries),
                };
            }
        }
    }
    (b.build().unwrap(), kind)
}
