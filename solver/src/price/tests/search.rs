//! Whole searches against brute force, and their proofs against a checker that knows only the
//! program.

use super::tenants::Tenants;
use crate::price::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn settings(prove: bool) -> SolveSettings {
    let mut settings = SolveSettings::default();
    settings.tree.prove = prove;
    settings
}

fn solved(program: &Tenants, settings: &SolveSettings) -> Solved<Tenants> {
    solve(Arc::new(program.clone()), settings, Vec::new()).unwrap()
}

fn optimum(program: &Tenants) -> Option<u64> {
    program.all_solutions().iter().map(|s| s.0).min()
}

/// Instances from easy to impossible.
fn instances() -> impl Iterator<Item = (u64, Tenants)> {
    (0..150).map(|seed| {
        let (tenants, plans) = (2 + seed as usize % 5, 2 + seed as usize % 3);
        (
            seed,
            Tenants::random(seed, tenants, plans, 1 + seed as usize % 4),
        )
    })
}

/// Settings in which every switch occurs both ways.
fn switched(k: u64) -> SolveSettings {
    let on = |bit: u64| k >> bit & 1 == 1;
    let mut settings = settings(on(0));
    settings.root.eager_cuts = on(1);
    settings.root.cut_rounds = if on(2) { 20 } else { 0 };
    settings.root.purge_age = if on(3) { 1 } else { 0 };
    settings.root.approach = on(7).then(|| ApproachSettings {
        pivots: 0,
        pivots_per_solve: 0,
        tail_rounds: 5,
        rounds: 60,
        ..ApproachSettings::default()
    });
    settings.tree.node_cut_rounds = if on(5) { 3 } else { 0 };
    settings.tree.dive_every = if on(6) { 2 } else { 0 };
    settings.tree.lanes = 1 + k as usize % 3;
    settings
}

#[test]
fn every_way_to_search_finds_the_optimum_of_brute_force() {
    let (mut branched, mut cut, mut infeasible) = (0, 0, 0);
    for (seed, program) in instances() {
        let optimum = optimum(&program);
        infeasible += u32::from(optimum.is_none());
        for k in [seed, seed * 37 + 11, !seed] {
            let solved = solved(&program, &switched(k));
            branched += u32::from(solved.tree.nodes > 1);
            cut += solved.tree.cuts;
            match optimum {
                None => assert_eq!(
                    (solved.tree.end, solved.best),
                    (TreeEnd::Infeasible, None),
                    "{seed}"
                ),
                Some(optimum) => {
                    let (cost, choices) = solved.best.unwrap();
                    assert_eq!(solved.tree.end, TreeEnd::Closed, "{seed}");
                    assert_eq!((cost, solved.tree.bound), (optimum, optimum), "{seed}");
                    assert_eq!(program.cost_if_feasible(&choices), Some(optimum));
                    assert!(solved.tree.root_bound <= optimum);
                }
            }
        }
    }
    assert!(branched > 50 && cut > 50, "{branched} branched, {cut} cuts");
    assert!(infeasible > 10, "{infeasible} infeasible");
}

/// The bound that a proof proves, from the program alone. It uses the duals and branchings of each
/// node, and the exclusions of the nodes above it below the cutoff.
fn checked(program: &Tenants, proof: &TreeProof<Tenants>, cutoff: u64) -> u64 {
    let mut known: Vec<(u64, Vec<Vec<bool>>, BTreeSet<usize>)> = Vec::new();
    let mut leaf = vec![true; proof.nodes.len()];
    let row_of = |branch: &Branch<_>| {
        let row = program.branch_row(branch);
        proof.rows.iter().position(|r| *r == row)
    };
    let is_branch = |row: usize| matches!(proof.rows[row], super::tenants::Row::Branch(_));
    for node in &proof.nodes {
        let (mut bound, mut exclusions, mut branches) = match &node.above {
            None => (0, program.no_exclusions(), BTreeSet::new()),
            Some((above, branch)) => {
                leaf[*above as usize] = false;
                let (bound, exclusions, mut branches) = known[*above as usize].clone();
                branches.extend(branch.as_ref().and_then(row_of));
                (bound, exclusions, branches)
            }
        };
        let (rows, duals): (Vec<_>, Vec<_>) = node
            .duals
            .iter()
            .map(|&(row, dual)| (proof.rows[row as usize].clone(), dual))
            .unzip();
        let used = node
            .duals
            .iter()
            .map(|d| d.0 as usize)
            .filter(|r| is_branch(*r));
        let foreign: Vec<usize> = used.filter(|r| !branches.contains(r)).collect();
        assert!(foreign.is_empty(), "branchings {foreign:?} are not above");
        bound = bound.max(
            program
                .lagrangian_bound(&exclusions, &rows, &duals)
                .min(cutoff),
        );
        program.exclude(&mut exclusions, &rows, &duals, cutoff);
        known.push((bound, exclusions, std::mem::take(&mut branches)));
    }
    let leaves = known.iter().zip(leaf).filter(|k| k.1);
    leaves.map(|k| k.0.0).min().unwrap()
}

#[test]
fn a_proof_holds_for_one_who_knows_the_program_alone() {
    let mut nodes = 0;
    for seed in 0..60 {
        let program = Tenants::random(seed, 8, 4, 4);
        let Some(optimum) = optimum(&program) else {
            continue;
        };
        let solved = solved(&program, &settings(true));
        let proof = solved.tree.proof.unwrap();
        nodes += proof.nodes.len();
        assert_eq!(proof.bound().min(optimum), solved.tree.bound, "{seed}");
        assert_eq!(checked(&program, &proof, optimum), optimum, "{seed}");
    }
    assert!(nodes > 400, "{nodes} nodes");
}

#[test]
fn threads_change_nothing_and_lanes_the_tree_alone() {
    let mut trees = BTreeSet::new();
    for seed in 0..6 {
        let program = Tenants::random(seed, 14, 6, 5);
        let run = |threads, lanes| {
            let mut settings = settings(false);
            settings.threads = threads;
            settings.tree.lanes = lanes;
            let s = solved(&program, &settings);
            (
                s.best,
                s.tree.bound,
                s.tree.nodes,
                s.tree.iterations,
                s.tree.cuts,
            )
        };
        let one = run(1, 4);
        assert_eq!(one, run(2, 4), "{seed}");
        assert_eq!(one, run(7, 4), "{seed}");
        for lanes in [1, 2, 32] {
            let other = run(2, lanes);
            let cost = |r: &(Option<(u64, _)>, u64, u64, u64, usize)| r.0.as_ref().map(|b| b.0);
            assert_eq!((cost(&one), one.1), (cost(&other), other.1), "{seed}");
            trees.insert((seed, other.2, other.3));
        }
    }
    assert!(trees.len() > 8, "lanes make no difference: {trees:?}");
}

#[test]
fn starts_are_taken_and_what_is_none_is_left_out() {
    let program = Tenants::random(4, 6, 3, 2);
    let all = program.all_solutions();
    let best = all.iter().min().unwrap();
    let choices: Vec<_> = best.1.iter().copied().enumerate().collect();
    let mut settings = settings(false);
    settings.tree.nodes = 0;
    let starts = vec![Vec::new(), vec![(0, 0)], choices.clone()];
    let stopped = solve(Arc::new(program), &settings, starts).unwrap();
    assert_eq!(stopped.best, Some((best.0, choices)));
    assert!(stopped.tree.bound <= best.0);
}

#[test]
fn a_search_that_is_stopped_claims_what_it_has_proven() {
    for seed in 0..20 {
        let program = Tenants::random(seed, 7, 4, 3);
        let Some(optimum) = optimum(&program) else {
            continue;
        };
        let mut limited = settings(false);
        limited.tree.nodes = 1 + seed % 3;
        let mut flagged = settings(false);
        flagged.root.stop = Some(Arc::new(AtomicBool::new(true)));
        for settings in [limited, flagged] {
            let stopped = solved(&program, &settings);
            assert!(stopped.tree.bound <= optimum, "{seed}");
            assert_ne!(stopped.tree.end, TreeEnd::Infeasible);
            assert!(stopped.best.is_none_or(|(cost, _)| cost >= optimum));
        }
    }
}
