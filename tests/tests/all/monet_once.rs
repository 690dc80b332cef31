//! Nodes that are never recomputed in MONeT's program, against enumeration.

use remat_formulations::monet::original::Original;
use remat_instances::Instance;
use remat_instances::instance::{InstanceData, NodeKind};
use remat_instances::plan::Plan;
use remat_instances::schedule::MonetSchedule;
use remat_instances::simulate::{self, ReplayError};
use remat_search::Status;
use remat_solver::mip::{Settings, SolveStatus, Solver};
use remat_tests::graphs::Numbers;
use remat_tests::monet::{Mode, training};
use remat_tests::{monet_optimum, whole};

/// A random instance with every choice in which some nodes are never recomputed.
fn random_instance(numbers: &mut Numbers) -> Instance {
    let columns = 3 + numbers.below(3) as usize;
    let plain = monet_optimum::random(columns, 1 + numbers.below(3) as usize, numbers);
    with_once(&plain, numbers)
}

fn with_once(plain: &Instance, numbers: &mut Numbers) -> Instance {
    let mut nodes = plain.nodes().to_vec();
    for node in &mut nodes {
        node.once = node.kind != NodeKind::Loss && numbers.below(3) == 0;
    }
    let data = InstanceData {
        nodes,
        ..plain.data().clone()
    };
    Instance::new(data).unwrap()
}

/// A budget from half of the peak of storing everything to just above that peak.
fn random_budget(instance: &Instance, numbers: &mut Numbers) -> u64 {
    let plain = MonetSchedule::checkpoint_all(instance).unwrap();
    let peak = simulate::monet(instance, &plain).unwrap().peak_bytes;
    peak / 2 + numbers.below(peak / 2 + 8)
}

fn by_another_solver(instance: &Instance, budget: u64) -> Option<u64> {
    let program = Original::new(instance, budget, 1.0).unwrap();
    let found = Solver::new(program.model().clone(), Settings::default()).run();
    let found = found.unwrap();
    match found.status {
        SolveStatus::Optimal => Some(found.solution.unwrap().objective.round() as u64),
        SolveStatus::Infeasible => None,
        status => panic!("{status:?}"),
    }
}

#[test]
fn the_optimum_is_that_of_enumeration() {
    let mut numbers = Numbers::new(71);
    let settings = remat_search::Settings {
        gap: 0.0,
        rounds: 1,
        threads: 1,
        ..remat_search::Settings::default()
    };
    let (mut feasible, mut bites, mut proven) = (0, 0, 0);
    for round in 0..200 {
        let instance = random_instance(&mut numbers);
        let budget = random_budget(&instance, &mut numbers);
        let best = monet_optimum::optimum(&instance, budget);
        let found = whole::monet(&instance, budget, &[], &settings).unwrap();
        assert_eq!(found.cost(), best, "round {round}");
        assert!(best.is_none_or(|best| found.bound <= best), "round {round}");
        proven += usize::from(matches!(found.status, Status::Optimal | Status::Infeasible));
        if let Some(schedule) = &found.schedule {
            let plan = Plan::from_monet(&instance, schedule).unwrap();
            simulate::plan(&instance, &plan).unwrap();
            feasible += 1;
        }
        let mut nodes = instance.nodes().to_vec();
        nodes.iter_mut().for_each(|node| node.once = false);
        let data = InstanceData {
            nodes,
            ..instance.data().clone()
        };
        let free = Instance::new(data).unwrap();
        bites += usize::from(monet_optimum::optimum(&free, budget) != best);
    }
    // The replay is stricter than the program (`docs/theory/monet.md`): some bounds stay below.
    assert!(proven > 120, "{proven}");
    assert!(feasible > 60 && bites > 5, "{feasible} {bites}");
}

#[test]
fn the_program_for_other_solvers_has_every_such_schedule_and_no_other() {
    let mut numbers = Numbers::new(79);
    let (mut equal, mut compared) = (0, 0);
    for (round, mode) in (0..64).zip(Mode::all().cycle()) {
        let plain = training(3, mode, &mut numbers);
        if MonetSchedule::shape(&plain).unwrap().1 > 5 {
            continue;
        }
        let instance = with_once(&plain, &mut numbers);
        let budget = random_budget(&instance, &mut numbers);
        let best = monet_optimum::optimum(&instance, budget);
        let other = by_another_solver(&instance, budget);
        // The replay requires more if buffers are overwritten.
        let holds = |best| other.is_some_and(|other| other <= best);
        assert!(best.is_none_or(holds), "round {round}");
        equal += usize::from(other == best);
        compared += 1;
    }
    assert!(
        compared > 20 && equal * 10 > compared * 9,
        "{equal} of {compared}"
    );
}

#[test]
fn a_schedule_that_recomputes_such_a_node_is_refused_at_its_stage() {
    let mut numbers = Numbers::new(73);
    let mut refused = 0;
    for _ in 0..60 {
        let instance = random_instance(&mut numbers);
        let mut schedule = MonetSchedule::checkpoint_all(&instance).unwrap();
        let once = instance.ids().find(|i| instance.node(*i).once);
        let Some(once) = once.filter(|i| i.index() < schedule.computed.columns()) else {
            continue;
        };
        for t in 1..schedule.computed.rows() {
            schedule.computed.set(t, once.index(), true);
        }
        let replay = simulate::monet(&instance, &schedule);
        if let Err(ReplayError::NeverAgain { stage, node, .. }) = replay {
            assert_eq!((stage, node), (1, once));
            refused += 1;
        }
    }
    assert!(refused > 10, "{refused}");
}
