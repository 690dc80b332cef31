//! The two bounds on local memory in MONeT's published program: the relation of their optima, and
//! the schedules that the tighter one allows.

use remat_formulations::monet::original::{LocalBound, Original};
use remat_instances::Instance;
use remat_instances::instance::{NodeId, NodeKind};
use remat_instances::plan::Plan;
use remat_instances::schedule::MonetSchedule;
use remat_instances::simulate;
use remat_solver::mip::{Settings, SolveStatus, Solver};
use remat_tests::graphs::Numbers;
use remat_tests::monet::{Mode, schedule, training};

/// The optimum and its schedule, or `None` if it is infeasible.
fn optimum(program: &Original) -> Option<(u64, MonetSchedule)> {
    let settings = Settings {
        threads: 1,
        ..Settings::default()
    };
    let result = Solver::new(program.model().clone(), settings)
        .run()
        .unwrap();
    match result.status {
        SolveStatus::Optimal => {
            let solution = result.solution.unwrap();
            let cost = solution.objective.round() as u64;
            Some((cost, program.schedule(&solution.x)))
        }
        SolveStatus::Infeasible => None,
        other => panic!("{other:?}"),
    }
}

/// A budget up to 5 bytes below the least peak of some random schedules.
fn budget(instance: &Instance, numbers: &mut Numbers) -> u64 {
    let peaks = (0..60).map(|_| {
        let s = schedule(instance, numbers);
        simulate::monet(instance, &s).unwrap().peak_bytes
    });
    peaks.min().unwrap() - numbers.below(6)
}

/// Returns whether every proper forward node reads only the one before it.
fn is_chain(instance: &Instance) -> bool {
    let loss = instance.loss().unwrap().index();
    let proper = |i: &usize| {
        !matches!(
            instance.node(NodeId::from(*i)).kind,
            NodeKind::ByProduct { .. }
        )
    };
    let nodes: Vec<usize> = (0..=loss).filter(proper).collect();
    nodes.windows(2).all(|pair| {
        let needs = instance.node(NodeId::from(pair[1])).needs();
        needs == [NodeId::from(pair[0])]
    })
}

#[test]
fn the_tighter_bound_costs_no_optimum_and_its_plans_fit() {
    let (mut lower, mut only_tight, mut chains, mut replayed) = (0, 0, 0, 0);
    for round in 0..320 {
        let numbers = &mut Numbers::new(7000 + round);
        let mode = Mode::all().nth(round as usize % 16).unwrap();
        let instance = training(4 + round as usize % 3, mode, numbers);
        let budget = budget(&instance, numbers);
        let program = |local| Original::with_local_bound(&instance, budget, 1.0, local).unwrap();
        let plain = optimum(&program(LocalBound::Plain));
        let tight = optimum(&program(LocalBound::Tight));
        match (&plain, &tight) {
            (Some(plain), Some(tight)) => {
                assert!(tight.0 <= plain.0, "round {round}");
                lower += usize::from(tight.0 < plain.0);
            }
            (Some(_), None) => panic!("round {round}: the tighter bound refuses a schedule"),
            (None, Some(_)) => only_tight += 1,
            (None, None) => {}
        }
        // Without skips the two bounds are equal.
        if is_chain(&instance) {
            let cost = |found: &Option<(u64, MonetSchedule)>| found.as_ref().map(|f| f.0);
            assert_eq!(cost(&plain), cost(&tight), "round {round}");
            chains += 1;
        }
        let Some((cost, schedule)) = tight else {
            continue;
        };
        let check = Original::check(&instance, &schedule, budget, 1.0, LocalBound::Tight).unwrap();
        assert_eq!((check.violation, check.objective), (0.0, cost as f64));
        // The published program lets overwritten buffers be read; the replay does not.
        if let Ok(plan) = Plan::from_monet(&instance, &schedule) {
            let replay = simulate::plan(&instance, &plan).unwrap();
            assert!(replay.peak_bytes <= budget, "round {round}");
            replayed += 1;
        }
    }
    println!("{lower} lower, {only_tight} only under it, {chains} chains, {replayed} plans");
    assert!(lower > 0 && chains > 50 && replayed > 150);
}
