//! Random small programs against enumeration of all integer points, with switches drawn at random.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use remat_lp::{Bounds, ColId, Model, ModelBuilder, Sense};
use remat_solver::{Limits, NodeSelection, Settings, SolveStatus, Solver, check_point};

struct Dice(Xoshiro256PlusPlus);

impl Dice {
    fn range(&mut self, low: i64, high: i64) -> i64 {
        low + (self.0.next_u64() % (high - low + 1) as u64) as i64
    }

    fn chance(&mut self, percent: i64) -> bool {
        self.range(0, 99) < percent
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
        seed: dice.0.next_u64(),
        ..Settings::default()
    }
}

fn compare(seed: u64) -> &'static str {
    let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(seed));
    let (model, kind) = random_model(&mut dice);
    let settings = random_settings(&mut dice);
    let truth = enumerate(&model);
    let result = Solver::new(model.clone(), settings.clone()).run().unwrap();
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
    if let (true, Some(s)) = (seed % 4 == 0, &result.solution) {
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
