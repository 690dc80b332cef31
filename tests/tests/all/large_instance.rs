//! Instances of 10,000 and 20,000 nodes go through reader, writer, both replays and both programs;
//! times are printed, not asserted.

use remat_formulations::{Budget, Solve};
use remat_instances::instance::{
    CostUnit, Instance, InstanceData, Node, NodeId, passing_in_plain_order,
};
use remat_instances::schedule::{
    BitMatrix, CheckmateSchedule, Choices, MonetSchedule, Schedule, ScheduleDocument, ScheduleFile,
    write_schedule,
};
use remat_instances::{Semantics, read_bytes, simulate, write_instance};
use remat_search::Status;
use std::time::{Duration, Instant};

/// A network of `layers` forward nodes with skips over 3 and 50 layers, a loss, and a backward node
/// for each layer.
fn network(layers: usize) -> Instance {
    let mut nodes: Vec<Node> = Vec::new();
    for i in 0..layers {
        let needs = [50, 3, 1]
            .into_iter()
            .filter(|back| *back <= i)
            .map(|back| NodeId::from(i - back));
        let bytes = 1 << (10 + i % 7);
        nodes.push(Node::forward(
            format!("layer{i}"),
            needs.collect(),
            100 + (i % 13) as u64,
            bytes,
        ));
    }
    nodes.push(Node::loss("loss", vec![NodeId::from(layers - 1)], 1, 4));
    for i in (0..layers).rev() {
        let before = nodes.len() - 1;
        let mut needs: Vec<_> = nodes[i].needs().to_vec();
        needs.push(NodeId::from(before));
        // The gradients of the skips come from the backward nodes of the layers that read them.
        let skips = [3, 50].into_iter().filter(|on| i + on < layers);
        needs.extend(skips.map(|on| NodeId::from(before - on + 1)));
        needs.sort();
        needs.dedup();
        let bytes = nodes[i].output_bytes;
        nodes.push(Node::backward(
            format!("gradient{i}"),
            Some(NodeId::from(i)),
            needs,
            200,
            bytes,
        ));
    }
    let passing = passing_in_plain_order(&nodes);
    for (node, passing) in nodes.iter_mut().zip(passing) {
        node.passing = passing;
    }
    let name = "large".into();
    let data = InstanceData {
        name,
        cost_unit: CostUnit::nanoseconds(),
        host_link: None,
        in_flight: 1,
        nodes,
    };
    Instance::new(data).unwrap()
}

/// Everything is computed once and stored until the last backward node that reads it.
fn store_all(instance: &Instance) -> MonetSchedule {
    let (stages, columns) = MonetSchedule::shape(instance).unwrap();
    let mut schedule = MonetSchedule {
        computed: BitMatrix::new(stages, columns),
        retained: BitMatrix::new(stages + 1, columns),
        in_place: BitMatrix::new(stages, columns),
        forward_choice: Choices::new(stages, columns),
        backward_choice: vec![0; stages],
    };
    for i in 0..columns {
        schedule.computed.set(0, i, true);
        let last = instance
            .users(NodeId::from(i))
            .last()
            .map_or(0, |u| u.index());
        for t in 1..=(last + 2).saturating_sub(columns) {
            schedule.retained.set(t, i, true);
            schedule.retained.set(t + 1, i, true);
        }
    }
    schedule
}

#[test]
fn ten_thousand_nodes_are_read_written_and_replayed() {
    let built = network(5_000);
    let clock = Instant::now();
    let step = |what: &str| println!("{what:24} {:6.0} ms", clock.elapsed().as_secs_f64() * 1e3);
    let text = write_instance(&built);
    step("written");
    let instance = read_bytes("large", text.as_bytes()).unwrap();
    step("read and validated");
    assert_eq!(instance, built);
    assert_eq!(instance.len(), 10_001);

    let schedule = CheckmateSchedule::checkpoint_all(&instance);
    step("schedule made");
    let replay = simulate::checkmate(&instance, &schedule).unwrap();
    step("replayed (Checkmate)");
    assert_eq!(replay.cost, instance.base_cost());
    assert_eq!(replay.computations, instance.len());

    let monet = store_all(&instance);
    let replay = simulate::monet(&instance, &monet).unwrap();
    step("replayed (MONeT)");
    assert_eq!(replay.cost, instance.base_cost());

    let objective = replay.cost;
    for schedule in [Schedule::Checkmate(schedule), Schedule::Monet(monet)] {
        let instance_name = instance.name().into();
        let document = ScheduleDocument {
            instance: instance_name,
            budget_bytes: None,
            objective,
            schedule,
        };
        let text = write_schedule(&document, &instance);
        let file = ScheduleFile::parse("large", text.as_bytes()).unwrap();
        assert_eq!(file.schedule(&instance).unwrap(), document);
        step("schedule written, read");
    }
}

#[test]
fn what_is_too_large_for_the_search_gets_a_plan_and_a_bound_under_both_programs() {
    let instance = network(11_000);
    for (semantics, seconds) in [(Semantics::Checkmate, 5), (Semantics::Monet, 90)] {
        let solve = Solve::by(&instance, semantics, Budget::Percent(75.0)).unwrap();
        let solve = solve.time_limit(Duration::from_secs(seconds));
        let solution = solve.run().unwrap();
        let plan = solution.plan().unwrap();
        let replay = simulate::plan(&instance, &plan.document.plan).unwrap();
        assert!(replay.peak_bytes <= solution.budget_bytes());
        let cost = solution.objective().unwrap();
        assert!(replay.cost <= cost && solution.bound <= replay.cost);
        let percent = |value: u64| value as f64 / instance.base_cost() as f64 * 100.0 - 100.0;
        println!(
            "{} {:.3}%, at least {:.3}%",
            semantics.as_str(),
            percent(cost),
            percent(solution.bound)
        );
        // Half of the forward pass once more: two elevenths of a step.
        assert!(percent(cost) < 18.2);
    }
}

#[test]
fn time_that_is_over_before_the_search_begins_is_a_limit() {
    let instance = network(11_000);
    let solve = Solve::new(&instance, Budget::Percent(75.0)).time_limit(Duration::ZERO);
    let solution = solve.run().unwrap();
    assert_eq!((solution.status, solution.bound), (Status::Limit, 0));
}
