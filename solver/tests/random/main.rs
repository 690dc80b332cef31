//! Random small programs against enumeration of all integer points, with switches drawn at random.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use remat_lp::{Bounds, ColId, Model, ModelBuilder, Sense};
use remat_solver::{
    Checkpoint, Control, Limits, NodeSelection, Settings, SolveResult, SolveStatus, Solver,
    check_point,
};

struct Dice(Xoshiro256PlusPlus);

impl Dice {
    fn range(&mut self, low: i64, high: i64) -> i64 {
        low + (self.0.next_u64() % (high - low + 1) as u64) as i64
    }

    fn chance(&mut self, percent: i64) -> bool {
        self.range(0, 99) < percent
    }
}

/// A box of integer points seen through a unimodular map: no column has bounds, rows alone keep it finite, and columns may
/// have large values. The last coordinate of the box may be unbounded (`.2`). The truth comes from the box.
fn lattice_model(dice: &mut Dice) -> (Model, Truth, bool) {
    let n = dice.range(2, 4) as usize;
    // `inverse` maps a point of the model (after subtracting `shift`) to one of the box; built from elementary steps.
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
    // Branch and bound on an unbounded polyhedron need not end where there is no point, or at no cost along a ray.
    let open = open && best.is_some() && cost[n - 1] != 0;
    let mut b = ModelBuilder::new(Sense::Minimise);
    // A linear form over the box as one over the model, and what the shift adds to it.
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
        // A last coordinate that turned out bounded is at the better end of its interval.
        Some(v) if bounded < n && !open => {
            let (l, u) = box_of[n - 1];
            Truth::Optimal((v + (cost[n - 1] * (u - l)).min(0)) as f64)
        }
        Some(v) => Truth::Optimal(v as f64),
    };
    (b.build().unwrap(), truth, open)
}

/// Products of literals, written with the weak rows that are usual, that relieve a recurrence: Checkmate's `FREE` and `U`
/// in small, with accidents.
fn recurrence(b: &mut ModelBuilder, dice: &mut Dice, sign: f64) {
    let n = dice.range(3, 6) as usize;
    let binary = |b: &mut ModelBuilder, cost: i64| {
        let c = b.add_col(sign * cost as f64, 0.0..=1.0);
        b.set_integer(c, true);
        c
    };
    let x: Vec<ColId> = (0..n).map(|_| binary(b, dice.range(-2, 9))).collect();
    for _ in 0..dice.range(1, 4) {
        // x_a <= x_b + x_c, or some other clause.
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
        // x_k and no later one, or any literals.
        let nested = dice.chance(70);
        let mut terms: Vec<(ColId, f64)> = Vec::new();
        for (j, &c) in x.iter().enumerate() {
            let (in_it, not) = if nested {
                (j >= k || j == last, j > k || j == last)
            } else {
                (dice.chance(50), dice.chance(50))
            };
            if in_it {
                // The hazard of a factor is what the factor is not.
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

/// A model whose integer columns have finite small bounds.
fn random_model(dice: &mut Dice) -> (Model, &'static str) {
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

#[derive(Debug, PartialEq)]
enum Truth {
    Infeasible,
    Unbounded,
    Optimal(f64),
}

/// Every integer point; the continuous rest by the linear programming solver.
fn enumerate(model: &Model) -> Truth {
    let n = model.num_cols();
    let sign = model.sense().sign();
    let ints: Vec<usize> = (0..n)
        .filter(|&j| model.is_integer(ColId(j as u32)))
        .collect();
    let mut x: Vec<f64> = vec![0.0; n];
    for &j in &ints {
        x[j] = model.col_lower()[j];
    }
    let mut lp = (ints.len() < n).then(|| remat_lp::Solver::new(model.clone(), Default::default()));
    let mut best = f64::INFINITY;
    loop {
        if let Some(lp) = &mut lp {
            for &j in &ints {
                lp.set_col_bounds(ColId(j as u32), x[j]).unwrap();
            }
            match lp.solve() {
                remat_lp::LpOutcome::Optimal(s) => best = best.min(sign * s.objective),
                remat_lp::LpOutcome::Unbounded(_) => return Truth::Unbounded,
                _ => {}
            }
        } else if let Ok(v) = check_point(model, &x, 1e-9) {
            best = best.min(sign * v);
        }
        // The next point, as an odometer.
        let mut k = 0;
        loop {
            let Some(&j) = ints.get(k) else {
                return if best.is_finite() {
                    Truth::Optimal(sign * best)
                } else {
                    Truth::Infeasible
                };
            };
            x[j] += 1.0;
            if x[j] <= model.col_upper()[j] {
                break;
            }
            x[j] = model.col_lower()[j];
            k += 1;
        }
    }
}

fn random_settings(dice: &mut Dice) -> Settings {
    let reliability = dice.range(0, 3) as u32 * 2;
    Settings {
        presolve: dice.chance(60),
        probing: dice.chance(50),
        restarts: dice.chance(70),
        propagation: dice.chance(70),
        reduced_cost_fixing: dice.chance(70),
        conflicts: dice.chance(75),
        cuts: dice.chance(60),
        heuristics: dice.chance(60),
        sub_mips: dice.chance(60),
        safe_bounds: dice.chance(80),
        reliability,
        node_selection: match dice.range(0, 2) {
            0 => NodeSelection::BestBound,
            1 => NodeSelection::DepthFirst,
            _ => NodeSelection::BestEstimate,
        },
        round_width: dice.range(1, 6) as usize,
        threads: if dice.chance(3) { 2 } else { 1 },
        opportunistic: dice.chance(50),
        pool_size: dice.range(1, 4) as usize,
        seed: dice.0.next_u64(),
        ..Settings::default()
    }
}

/// Ends the search after some nodes and goes on from its state.
fn solve_in_two_runs(model: &Model, settings: &Settings, dice: &mut Dice) -> SolveResult {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let mut first = settings.clone();
    first.limits.nodes = Some(dice.range(0, 12) as u64);
    let control = |resume: bool| Control {
        checkpoint: Some(Checkpoint {
            path: path.clone(),
            seconds: 0.0,
        }),
        resume: resume.then(|| path.clone()),
        node_files: Some(folder.path().join("nodes")),
        ..Control::default()
    };
    // A limit so small that nearly every node goes through a file.
    let mut settings = settings.clone();
    if dice.chance(50) {
        settings.limits.memory_bytes = Some(3_000);
    }
    let solver = Solver::new(model.clone(), first).with_control(control(false));
    let result = solver.run().unwrap();
    if result.status != SolveStatus::NodeLimit {
        return result;
    }
    let solver = Solver::new(model.clone(), settings.clone()).with_control(control(true));
    solver.run().unwrap()
}

fn compare(seed: u64) -> &'static str {
    let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(seed));
    let (model, kind, truth) = if dice.chance(12) {
        let (model, truth, open) = lattice_model(&mut dice);
        (model, if open { "open" } else { "lattice" }, truth)
    } else {
        let (model, kind) = random_model(&mut dice);
        let truth = enumerate(&model);
        (model, kind, truth)
    };
    let mut settings = random_settings(&mut dice);
    if kind == "open" {
        settings.node_selection = NodeSelection::BestBound;
    }
    if std::env::var_os("REMAT_SHOW").is_some() {
        let text = remat_lp::lp_format::to_string(&model);
        eprintln!("seed {seed} ({kind}), {truth:?} expected\n{settings:?}\n{text}");
    }
    let result = if dice.chance(10) {
        solve_in_two_runs(&model, &settings, &mut dice)
    } else {
        Solver::new(model.clone(), settings.clone()).run().unwrap()
    };
    for (k, s) in result.pool.iter().enumerate() {
        assert_eq!(
            check_point(&model, &s.x, 1e-6),
            Ok(s.objective),
            "seed {seed}"
        );
        let sign = model.sense().sign();
        assert!(k == 0 || sign * s.objective >= sign * result.pool[k - 1].objective);
    }
    let found = match (result.status, &result.solution) {
        (SolveStatus::Infeasible, None) => Truth::Infeasible,
        (SolveStatus::Unbounded, Some(_)) => Truth::Unbounded,
        (SolveStatus::Optimal, Some(s)) => {
            assert_eq!(
                check_point(&model, &s.x, 1e-6),
                Ok(s.objective),
                "seed {seed} ({kind}): solution"
            );
            let short = model.sense().sign() * (s.objective - result.dual_bound);
            assert!(
                (-1e-9..=1e-5 * (1.0 + s.objective.abs())).contains(&short),
                "seed {seed} ({kind}): dual bound {} against {}",
                result.dual_bound,
                s.objective
            );
            Truth::Optimal(s.objective)
        }
        other => {
            panic!("seed {seed} ({kind}): ended with {other:?}, {truth:?} expected; {settings:?}")
        }
    };
    // Again with the solution carried along: whatever loses it panics.
    if let (true, Some(s)) = (seed.is_multiple_of(4), &result.solution) {
        let settings = Settings {
            debug_solution: Some(s.x.clone()),
            ..random_settings(&mut dice)
        };
        Solver::new(model.clone(), settings).run().unwrap();
    }
    let same = match (&found, &truth) {
        (Truth::Optimal(a), Truth::Optimal(b)) => (a - b).abs() <= 1e-5 * (1.0 + b.abs()),
        (a, b) => a == b,
    };
    assert!(
        same,
        "seed {seed} ({kind}): {found:?}, {truth:?} expected; {settings:?}"
    );
    kind
}

#[test]
fn random_programs_match_enumeration() {
    // REMAT_RANDOM=start,count runs others, or more.
    let range = std::env::var("REMAT_RANDOM").ok();
    let (start, count) = range
        .as_deref()
        .and_then(|r| r.split_once(','))
        .and_then(|(a, b)| Some((a.parse::<u64>().ok()?, b.parse::<u64>().ok()?)))
        .unwrap_or((0, 2500));
    for seed in start..start + count {
        compare(seed);
    }
}

/// Programs that once had a wrong answer, and their optima.
#[test]
fn programs_that_once_went_wrong() {
    let cases = [(
        // Coefficient tightening left 1e-15 of a coefficient, which a singleton row then divided by.
        "Minimize\n c: - 8 x0 - 8 x1 - 7 x2 - x3 - x4\nSubject To\n r0: - 9 x0 + 3 x3 + 7 x4 = -6\n \
         r1: 22 <= 2 x1 - 2 x2 - 8 x4 <= 25\n r2: - 9 x0 - 5 x1 - 5 x3 <= 21\n r3: - 3 x0 + 6 x1 + 3 x3 = 9\n \
         r4: - x0 + 9 x1 - 5 x4 >= -6\nBounds\n -2 <= x0 <= 0\n 1 <= x1 <= 2\n x2 <= 2\n -5 <= x3 <= 1\n \
         -4 <= x4 <= -1\nGeneral\n x0\n x1\n x2\nEnd\n",
        -2.0,
    )];
    for (text, optimum) in cases {
        let model = remat_lp::lp_format::parse(text, "case").unwrap();
        let result = Solver::new(model, Settings::default()).run().unwrap();
        assert_eq!(result.status, SolveStatus::Optimal);
        let objective = result.solution.unwrap().objective;
        assert!((objective - optimum).abs() < 1e-6, "{objective}");
    }
}

#[test]
fn unbounded_integers_and_unbounded_programs() {
    // Integers without bounds; the best point is far out, or there is none.
    let solve = |f: &dyn Fn(&mut ModelBuilder)| {
        let mut b = ModelBuilder::new(Sense::Minimise);
        f(&mut b);
        Solver::new(b.build().unwrap(), Settings::default())
            .run()
            .unwrap()
    };
    let free = |b: &mut ModelBuilder, cost: f64| {
        let c = b.add_col(cost, ..);
        b.set_integer(c, true);
        c
    };
    let r = solve(&|b| {
        let (x, y) = (free(b, 3.0), free(b, 5.0));
        b.add_row(7.5.., [(x, 2.0), (y, 3.0)]);
        b.add_row(..=4.0, [(x, 1.0), (y, -1.0)]);
        b.add_row(..=1000.0, [(y, 1.0), (x, -1.0)]);
    });
    // 2x + 3y >= 8, x - y <= 4: 12 at (4, 0).
    assert_eq!(r.status, SolveStatus::Optimal);
    assert_eq!(r.solution.unwrap().objective, 12.0);
    let r = solve(&|b| {
        let (x, y) = (free(b, 1.0), free(b, 1.0));
        b.add_row(..=0.0, [(x, 1.0), (y, 2.0)]);
    });
    assert_eq!(r.status, SolveStatus::Unbounded);
    assert!(r.solution.is_some());
    // The relaxation is unbounded, the program has no point: 2x - 2y = 1.
    let mut b = ModelBuilder::new(Sense::Minimise);
    let (x, y) = (free(&mut b, 1.0), free(&mut b, 1.0));
    b.add_row(1.0, [(x, 2.0), (y, -2.0)]);
    b.add_row(-50.0..=50.0, [(x, 1.0)]);
    let z = free(&mut b, -1.0);
    b.add_row(0.0.., [(z, 1.0)]);
    let r = Solver::new(b.build().unwrap(), Settings::default())
        .run()
        .unwrap();
    assert_eq!(r.status, SolveStatus::Infeasible);
}

/// A knapsack of several rows that needs a real tree.
fn hard_model(seed: u64) -> Model {
    let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(seed));
    let mut b = ModelBuilder::new(Sense::Maximise);
    let weights: Vec<Vec<f64>> = (0..3)
        .map(|_| (0..30).map(|_| dice.range(10, 99) as f64).collect())
        .collect();
    let cols: Vec<ColId> = (0..30)
        .map(|k| {
            // Profits that follow the weights make the bounds weak.
            let profit = weights.iter().map(|w| w[k]).sum::<f64>() + dice.range(0, 20) as f64;
            let c = b.add_col(profit, 0.0..=1.0);
            b.set_integer(c, true);
            c
        })
        .collect();
    for w in &weights {
        let half = (w.iter().sum::<f64>() / 2.0).floor();
        b.add_row(..=half, cols.iter().zip(w).map(|(&c, &w)| (c, w)));
    }
    b.build().unwrap()
}

#[test]
fn the_tree_does_not_depend_on_the_number_of_threads() {
    for seed in 0..4 {
        let run = |threads| {
            let settings = Settings {
                threads,
                cuts: false,
                ..Settings::default()
            };
            let r = Solver::new(hard_model(seed), settings).run().unwrap();
            let s = r.solution.unwrap();
            (
                r.status,
                s.objective,
                s.x,
                r.info.nodes,
                r.info.lp_iterations,
                r.info.ticks,
            )
        };
        let one = run(1);
        assert!(one.3 > 300, "{} nodes", one.3);
        assert_eq!(one, run(2));
        assert_eq!(one, run(8));
    }
}

#[test]
fn limits_leave_valid_bounds() {
    let model = hard_model(7);
    let best = Solver::new(model.clone(), Settings::default())
        .run()
        .unwrap();
    let best = best.solution.unwrap().objective;
    for nodes in [1, 3, 10, 40] {
        let settings = Settings {
            limits: Limits {
                nodes: Some(nodes),
                ..Default::default()
            },
            cuts: false,
            ..Settings::default()
        };
        let r = Solver::new(model.clone(), settings).run().unwrap();
        assert_eq!(r.status, SolveStatus::NodeLimit);
        assert!(r.dual_bound >= best && r.info.nodes <= nodes + 4);
        assert!(r.solution.is_none_or(|s| s.objective <= best));
    }
}

#[test]
fn a_memory_limit_ends_the_search_or_spills() {
    let model = hard_model(7);
    let mut settings = Settings {
        cuts: false,
        ..Settings::default()
    };
    let whole = Solver::new(model.clone(), settings.clone()).run().unwrap();
    let best = whole.solution.unwrap().objective;
    settings.limits.memory_bytes = Some(10_000);
    let r = Solver::new(model.clone(), settings.clone()).run().unwrap();
    assert_eq!(r.status, SolveStatus::MemoryLimit);
    assert!(r.dual_bound >= best && r.info.nodes < whole.info.nodes);
    let folder = tempfile::tempdir().unwrap();
    let control = Control {
        node_files: Some(folder.path().join("nodes")),
        ..Control::default()
    };
    let solver = Solver::new(model, settings).with_control(control);
    let r = solver.run().unwrap();
    assert_eq!(r.status, SolveStatus::Optimal);
    assert_eq!(r.solution.unwrap().objective, best);
    assert!(r.info.spilled_nodes > 50, "{}", r.info.spilled_nodes);
    assert!(!folder.path().join("nodes").exists());
}

#[test]
fn opportunistic_searches_in_many_runs_lose_no_node() {
    let model = hard_model(7);
    let mut settings = Settings {
        cuts: false,
        ..Settings::default()
    };
    let whole = Solver::new(model.clone(), settings.clone()).run().unwrap();
    let best = whole.solution.unwrap().objective;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    settings.threads = 2;
    settings.opportunistic = true;
    settings.limits.memory_bytes = Some(60_000);
    for run in 1.. {
        let control = Control {
            checkpoint: Some(Checkpoint {
                path: path.clone(),
                seconds: 0.0,
            }),
            resume: (run > 1).then(|| path.clone()),
            node_files: Some(folder.path().join("nodes")),
            ..Control::default()
        };
        settings.limits.nodes = Some(120 * run);
        let solver = Solver::new(model.clone(), settings.clone()).with_control(control);
        let r = solver.run().unwrap();
        assert!(r.dual_bound >= best);
        if r.status == SolveStatus::Optimal {
            assert!(run > 2, "{run}");
            assert_eq!((r.solution.unwrap().objective, r.dual_bound), (best, best));
            break;
        }
        assert_eq!(r.status, SolveStatus::NodeLimit);
    }
}

#[test]
fn a_start_is_used_and_a_cutoff_at_the_optimum_leaves_nothing() {
    let model = hard_model(3);
    let best = Solver::new(model.clone(), Settings::default())
        .run()
        .unwrap()
        .solution
        .unwrap();
    let settings = Settings {
        starts: vec![best.x.clone(), vec![0.5; 3]],
        limits: Limits {
            nodes: Some(0),
            ..Default::default()
        },
        cuts: false,
        heuristics: false,
        ..Settings::default()
    };
    let r = Solver::new(model.clone(), settings).run().unwrap();
    assert_eq!(
        r.solution.map(|s| (s.objective, s.found_by)),
        Some((best.objective, "start"))
    );
    let settings = Settings {
        cutoff: Some(best.objective),
        ..Settings::default()
    };
    let r = Solver::new(model.clone(), settings).run().unwrap();
    assert_eq!((r.status, r.solution), (SolveStatus::Infeasible, None));
    let settings = Settings {
        cutoff: Some(best.objective - 0.5),
        ..Settings::default()
    };
    let r = Solver::new(model, settings).run().unwrap();
    assert_eq!(r.solution.map(|s| s.objective), Some(best.objective));
}
