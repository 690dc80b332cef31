//! Fixed memory that an instance states smaller after a node that needs more.

use super::graphs::{ids, instance};
use remat_formulations::AnyFormulation;
use remat_instances::instance::{Node, passing_in_plain_order};
use remat_instances::{Semantics, simulate};
use remat_search::{Settings, Solvable, Status};
use remat_tests::graphs::Numbers;
use remat_tests::monet_optimum;

#[test]
fn fixed_memory_that_an_instance_states_once_stays() {
    let mut nodes = vec![
        Node::forward("a", vec![], 1, 10),
        Node::forward("b", ids(&[0]), 1, 10),
        Node::loss("loss", ids(&[1]), 1, 1),
        Node::backward("grad b", None, ids(&[0, 2]), 1, 10),
        Node::backward("grad a", None, ids(&[0, 3]), 1, 10),
    ];
    nodes[0].fixed_bytes = 100;
    for (node, passing) in passing_in_plain_order(&nodes).into_iter().enumerate() {
        nodes[node].passing = passing;
    }
    let graph = instance(nodes);
    assert_eq!(graph.static_bytes(), 100);
    // Under MONeT's semantics the forward pass needs it, while b runs beside a. Under Checkmate's
    // the whole run needs it, and a, grad b and grad a are in memory together.
    for (semantics, least) in [(Semantics::Monet, 120), (Semantics::Checkmate, 130)] {
        let formulation = AnyFormulation::of(&graph, semantics).unwrap();
        let plain = formulation.plain().unwrap();
        let solve = |budget| {
            let solved = formulation.solve(budget, &[], &Settings::default(), &());
            solved.unwrap()
        };
        assert_eq!(solve(least - 1).status, Status::Infeasible, "{semantics:?}");
        let outcome = solve(plain.peak_bytes);
        assert_eq!(outcome.status, Status::Optimal);
        let plan = outcome.schedule.unwrap().plan(&graph).unwrap();
        let replay = simulate::plan(&graph, &plan).unwrap();
        assert!((least..=plain.peak_bytes).contains(&replay.peak_bytes));
    }
}

/// MONeT's program charges at least the memory that the statements of its schedule use.
#[test]
fn statements_take_no_more_than_the_schedule_they_are_of() {
    let (mut solved, mut falling) = (0, 0);
    for round in 0..80 {
        let numbers = &mut Numbers::new(75_000 + round);
        let (columns, backward) = (3 + numbers.below(4), 1 + numbers.below(4));
        let graph = monet_optimum::random(columns as usize, backward as usize, numbers);
        let formulation = AnyFormulation::of(&graph, Semantics::Monet).unwrap();
        let plain = formulation.plain().unwrap().peak_bytes;
        let budget = plain * (60 + numbers.below(60)) / 100;
        let outcome = formulation.solve(budget, &[], &Settings::default(), &());
        let outcome = outcome.unwrap_or_else(|e| panic!("round {round}: {e}"));
        let Some(schedule) = outcome.schedule else {
            continue;
        };
        let peak = schedule.replay(&graph).unwrap().peak_bytes;
        let plan = schedule.plan(&graph).unwrap();
        let replay = simulate::plan(&graph, &plan).unwrap();
        assert!(replay.peak_bytes <= peak && peak <= budget, "round {round}");
        solved += 1;
        falling += usize::from(graph.static_bytes() > 0);
    }
    println!("{solved} solved, {falling} with fixed memory");
    assert!(solved > 40 && falling > 30);
}
