//! Flow through gates of large capacity between places that must follow each other. Such programs
//! are relaxations of placement programs, where a gate open by a millionth lets much flow through.
//! Bounds change as in a search tree; after each change the warm solve must end like a cold one.

use crate::support::Rng;
use remat_lp::{
    Bounds, ColId, Limits, LpOutcome, Model, ModelBuilder, NewRow, Sense, Settings, Solver,
    certificate,
};

/// The number of positions.
const LENGTH: f64 = 60.0;

/// A program, and its columns that are integer before relaxation, with their upper bounds.
fn network(rng: &mut Rng, nodes: usize) -> (Model, Vec<(ColId, f64)>) {
    let mut b = ModelBuilder::new(Sense::Maximise);
    let mut integers = Vec::new();
    let mut inflow: Vec<Vec<(ColId, f64)>> = vec![Vec::new(); nodes];
    let mut outflow: Vec<Vec<(ColId, f64)>> = vec![Vec::new(); nodes];
    let mut begin = Vec::new();
    for _ in 0..nodes {
        let start = b.add_col(0.0, 0.0..=LENGTH - 1.0);
        integers.push((start, LENGTH - 1.0));
        // One of several numbers of held layers, each with its throughput.
        let held: Vec<ColId> = (0..4).map(|_| b.add_col(0.0, 0.0..=1.0)).collect();
        integers.extend(held.iter().map(|&h| (h, 1.0)));
        b.add_row(1.0..=1.0, held.iter().map(|&h| (h, 1.0)));
        let layers = |k: usize| (5 * (k + 1)) as f64;
        let ends: Vec<(ColId, f64)> = held
            .iter()
            .enumerate()
            .map(|(k, &h)| (h, layers(k)))
            .collect();
        let end = ends.iter().copied().chain([(start, 1.0)]);
        b.add_row(..=LENGTH, end);
        begin.push((start, ends, held));
    }
    for i in 0..nodes {
        let source = b.add_col(1.0, 0.0..);
        let gate = b.add_col(0.0, 0.0..=1.0);
        integers.push((gate, 1.0));
        b.add_row(..=0.0, [(source, 1.0), (gate, -3_906.25 * rng.int(2, 6))]);
        b.add_row(..=LENGTH, [(begin[i].0, 1.0), (gate, LENGTH)]);
        inflow[i].push((source, 1.0));
        let sink = b.add_col(0.0, 0.0..);
        let gate = b.add_col(0.0, 0.0..=1.0);
        integers.push((gate, 1.0));
        b.add_row(..=0.0, [(sink, 1.0), (gate, -7_812.5 * rng.int(2, 6))]);
        let row = begin[i].1.iter().copied();
        let row = row.chain([(begin[i].0, 1.0), (gate, -LENGTH)]);
        b.add_row(0.0.., row);
        outflow[i].push((sink, 1.0));
        for j in 0..nodes {
            if i == j || rng.below(3) == 0 {
                continue;
            }
            let flow = b.add_col(0.0, 0.0..);
            let gate = b.add_col(0.0, 0.0..=1.0);
            integers.push((gate, 1.0));
            b.add_row(..=0.0, [(flow, 1.0), (gate, -976.562_5 * rng.int(1, 9))]);
            // start of j <= end of i <= end of j - 1, if the gate is open
            let first = begin[i].1.iter().copied();
            let first = first.chain([(begin[i].0, 1.0), (begin[j].0, -1.0), (gate, -LENGTH)]);
            b.add_row(-LENGTH.., first);
            let last = begin[j].1.iter().copied();
            let last = last.chain([(begin[j].0, 1.0), (begin[i].0, -1.0), (gate, -LENGTH)]);
            let last = last.chain(begin[i].1.iter().map(|&(h, v)| (h, -v)));
            b.add_row(1.0 - LENGTH.., last);
            outflow[i].push((flow, 1.0));
            inflow[j].push((flow, 1.0));
        }
    }
    for i in 0..nodes {
        let row = inflow[i].iter().copied();
        let row = row.chain(outflow[i].iter().map(|&(c, v)| (c, -v)));
        b.add_row(0.0..=0.0, row);
        let row = inflow[i].iter().copied();
        let rates = begin[i].2.iter().enumerate();
        let rate = rng.int(100, 2_000);
        let row = row.chain(rates.map(|(k, &h)| (h, -rate / (k + 1) as f64)));
        b.add_row(..=0.0, row);
    }
    (b.build().unwrap(), integers)
}

/// Adds rows of the tableau, slightly weakened: dense rows, like cuts.
fn add_cuts(warm: &mut Solver, rng: &mut Rng, integers: &[(ColId, f64)]) {
    let LpOutcome::Optimal(s) = warm.solve() else {
        return;
    };
    let mut cuts = Vec::new();
    for _ in 0..4 {
        let (c, _) = integers[rng.below(integers.len())];
        let Some(rho) = warm.tableau_multipliers(c) else {
            continue;
        };
        let model = warm.model();
        let row: Vec<(ColId, f64)> = (0..model.num_cols() as u32)
            .map(ColId)
            .map(|c| {
                (
                    c,
                    model.col(c).map(|(i, a)| a * rho[i.index()]).sum::<f64>(),
                )
            })
            .filter(|(_, v)| v.abs() > 1e-9)
            .collect();
        let activity: f64 = row.iter().map(|&(c, v)| v * s.value(c)).sum();
        cuts.push(NewRow::new(..=activity - 1e-3 * rng.int(1, 9), row));
    }
    warm.add_rows(&cuts).unwrap();
}

fn warm_like_cold(seed: u64, steps: usize) -> usize {
    let mut rng = Rng::new(seed);
    let nodes = 4 + rng.below(8);
    let (model, integers) = network(&mut rng, nodes);
    let mut warm = Solver::new(model, Settings::default());
    let mut fixed: Vec<ColId> = Vec::new();
    let mut optimal = 0;
    for step in 0..steps {
        match rng.below(8) {
            // Moves up and down the tree.
            0 | 1 if fixed.len() > 4 => {
                for _ in 0..1 + rng.below(fixed.len()) {
                    let c = fixed.pop().unwrap();
                    let upper = integers.iter().find(|i| i.0 == c).unwrap().1;
                    warm.set_col_bounds(c, 0.0..=upper).unwrap();
                }
            }
            2 => add_cuts(&mut warm, &mut rng, &integers),
            _ => {
                for _ in 0..1 + rng.below(3) {
                    let (c, upper) = integers[rng.below(integers.len())];
                    if fixed.contains(&c) {
                        continue;
                    }
                    let at = rng.below(upper as usize + 1) as f64;
                    let bounds = match rng.below(3) {
                        0 => Bounds::new(at, at),
                        1 => Bounds::new(0.0, at),
                        _ => Bounds::new(at, upper),
                    };
                    warm.set_col_bounds(c, bounds).unwrap();
                    fixed.push(c);
                }
            }
        }
        if rng.once_in(3) {
            // A probe and its reversal.
            let basis = warm.basis();
            warm.set_limits(Limits {
                iterations: Some(rng.below(40) as u64),
                ..Default::default()
            });
            warm.solve();
            warm.set_limits(Limits::default());
            if rng.once_in(2) {
                warm.set_basis(&basis).unwrap();
            }
        }
        let outcome = warm.solve();
        let model = warm.model().clone();
        let name = |o: &LpOutcome| std::mem::discriminant(o);
        let cold = Solver::new(model.clone(), Settings::default()).solve();
        certificate::check(&model, &outcome, 1e-6)
            .unwrap_or_else(|e| panic!("seed {seed}, step {step}: {e}"));
        assert_eq!(name(&outcome), name(&cold), "seed {seed}, step {step}");
        if let (Some(a), Some(b)) = (outcome.optimal(), cold.optimal()) {
            optimal += 1;
            assert!(
                (a.objective - b.objective).abs() <= 1e-6 * (1.0 + b.objective.abs()),
                "seed {seed}, step {step}: {} warm, {} cold",
                a.objective,
                b.objective
            );
        } else {
            // Return to the root after an infeasible node.
            for c in fixed.drain(..) {
                let upper = integers.iter().find(|i| i.0 == c).unwrap().1;
                warm.set_col_bounds(c, 0.0..=upper).unwrap();
            }
        }
    }
    optimal
}

#[test]
fn a_warm_solve_of_gated_flow_ends_like_a_cold_one() {
    let asked = std::env::var("REMAT_RANDOM").unwrap_or_else(|_| "0,40".into());
    let (start, count) = asked.split_once(',').expect("start,count");
    let (start, count): (u64, u64) = (start.parse().unwrap(), count.parse().unwrap());
    let optimal: usize = (start..start + count)
        .map(|s| warm_like_cold(s + 1, 60))
        .sum();
    assert!(optimal as u64 > 10 * count, "{optimal}");
}
