//! Random small programs against enumeration of all integer points, with switches drawn at random.

mod gated;
mod known;
mod models;
mod switched;
mod symmetric;
mod truth;

use models::{Dice, lattice_model, random_model};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use remat_lp::Model;
use remat_solver::mip::{
    Checkpoint, Control, NodeSelection, Settings, Solution, SolveResult, SolveStatus, Solver,
    check_point,
};
use truth::{Truth, enumerate};

fn random_settings(dice: &mut Dice) -> Settings {
    let reliability = dice.range(0, 3) as u32 * 2;
    Settings {
        presolve: dice.chance(60),
        probing: dice.chance(50),
        restarts: dice.chance(70),
        propagation: dice.chance(70),
        reduced_cost_fixing: dice.chance(70),
        conflicts: dice.chance(75),
        clauses: dice.chance(75),
        symmetry: dice.chance(75),
        cuts: dice.chance(60),
        local_cuts: dice.chance(75),
        heuristics: dice.chance(60),
        sub_mips: dice.chance(60),
        safe_bounds: dice.chance(80),
        exact: dice.chance(10),
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

/// Ends the search after some nodes and resumes it from its state.
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
    // A limit so small that nearly every node is written to a file.
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
    // An exact objective is the double nearest to its fraction; the sum in doubles may differ by
    // rounding.
    let is_told = |s: &Solution| {
        let value = check_point(&model, &s.x, 1e-6).unwrap();
        let apart = (value - s.objective).abs();
        apart == 0.0 || settings.exact && apart <= 1e-14 * (1.0 + value.abs())
    };
    for (k, s) in result.pool.iter().enumerate() {
        assert!(is_told(s), "seed {seed}");
        let sign = model.sense().sign();
        assert!(k == 0 || sign * s.objective >= sign * result.pool[k - 1].objective);
    }
    // Proofs over columns without bounds may exceed the limit on depth; the result then reports
    // that.
    let is_wide = kind == "lattice" || kind == "open";
    if is_wide && settings.exact && result.status == SolveStatus::Unresolved {
        assert!(result.exact.unwrap().problem.is_some(), "seed {seed}");
        return kind;
    }
    let found = match (result.status, &result.solution) {
        (SolveStatus::Infeasible, None) => Truth::Infeasible,
        (SolveStatus::Unbounded, Some(_)) => Truth::Unbounded,
        (SolveStatus::Optimal, Some(s)) => {
            assert!(is_told(s), "seed {seed} ({kind}): solution");
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
    // Solves again with the solution carried along: a step that loses it panics.
    if let (true, Some(s)) = (seed.is_multiple_of(4), &result.solution) {
        let settings = Settings {
            debug_solution: Some(s.x.clone()),
            ..random_settings(&mut dice)
        };
        Solver::new(model.clone(), settings).run().unwrap();
    }
    assert!(
        found.agrees(&truth),
        "seed {seed} ({kind}): {found:?}, {truth:?} expected; {settings:?}"
    );
    kind
}

/// The first `count` seeds; REMAT_RANDOM=start,count selects others.
fn seeds(count: u64) -> std::ops::Range<u64> {
    let range = std::env::var("REMAT_RANDOM").ok();
    let (start, count) = range
        .as_deref()
        .and_then(|r| r.split_once(','))
        .and_then(|(a, b)| Some((a.parse::<u64>().ok()?, b.parse::<u64>().ok()?)))
        .unwrap_or((0, count));
    start..start + count
}

#[test]
fn random_programs_match_enumeration() {
    for seed in seeds(2500) {
        compare(seed);
    }
}
