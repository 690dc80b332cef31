//! Results of a step (`"result": true`): in memory at its end, in every program and proof. Also
//! costs with decimals.

use remat_check::proof as checker;
use remat_formulations::AnyFormulation;
use remat_formulations::bound::smallest_budget;
use remat_instances::{Instance, Semantics, read_bytes, simulate, write_instance};
use remat_search::{Settings, Solvable, Status};
use remat_tests::brute;

/// Two layers whose parameter gradients, of 50 and 30 bytes, are results.
fn instance(result: bool) -> Instance {
    let text = r#"{"schema": "remat-instance/1", "name": "results", "cost_unit": "ms", "nodes": [
        {"name": "f0", "cost": 1.5, "output_bytes": 40},
        {"name": "f1", "needs": ["f0"], "cost": 2.25, "output_bytes": 60},
        {"name": "loss", "kind": "loss", "needs": ["f1"], "cost": 1, "output_bytes": 1},
        {"name": "w1", "kind": "backward", "needs": ["f1", "loss"], "cost": 2, "output_bytes": 50, RESULT},
        {"name": "b1", "kind": "backward", "needs": ["loss"], "cost": 2, "output_bytes": 20},
        {"name": "w0", "kind": "backward", "needs": ["f0", "b1"], "cost": 2, "output_bytes": 30, RESULT},
        {"name": "b0", "kind": "backward", "needs": ["b1"], "cost": 3, "output_bytes": 10}]}"#;
    let text = text.replace("RESULT", &format!("\"result\": {result}"));
    read_bytes("results.json", text.as_bytes()).unwrap()
}

#[test]
fn results_are_there_at_the_end_under_both_programs() {
    for semantics in [Semantics::Checkmate, Semantics::Monet] {
        let [with, without] = [true, false].map(|result| {
            let replay = instance(result).plain_replay(semantics).unwrap();
            replay.timeline.last().unwrap().bytes
        });
        // At the last computation, b0, both results are in memory in addition to its own tensors.
        assert_eq!(with, without + 50 + 30, "{}", semantics.as_str());
    }
}

#[test]
fn every_budget_has_the_optimum_of_enumeration_and_a_proof_of_it() {
    let instance = instance(true);
    assert_eq!(
        (instance.base_cost(), instance.cost_unit().name.as_str()),
        (13_750, "us")
    );
    let formulation = AnyFormulation::of(&instance, Semantics::Checkmate).unwrap();
    let peak = instance
        .plain_replay(Semantics::Checkmate)
        .unwrap()
        .peak_bytes;
    let settings = Settings {
        prove: true,
        threads: 1,
        gap: 0.0,
        ..Settings::default()
    };
    let mut dearer = 0;
    let least = smallest_budget(&instance).needed_bytes;
    for budget in [least - 1, least, 140, peak - 1, peak] {
        let outcome = formulation.solve(budget, &[], &settings, &()).unwrap();
        let best = brute::optimum(&instance, budget);
        assert_eq!(outcome.cost(), best, "{budget} B");
        dearer += u32::from(best.is_some_and(|cost| cost > instance.base_cost()));
        assert_eq!(outcome.status == Status::Infeasible, best.is_none());
        let proof = outcome.proof.unwrap();
        checker::check(&checker::parse(proof.text()).unwrap(), &instance).unwrap();
        assert!(
            proof.bound().is_none_or(|bound| Some(bound) <= best),
            "{budget} B"
        );
    }
    assert!(dearer > 0);
}

/// A step whose last tensors are two gradients made by one call, by-products of a backward node.
fn ends_in_a_by_product(result: bool) -> Instance {
    let text = r#"{"schema": "remat-instance/1", "name": "outputs", "nodes": [
        {"name": "f0", "cost": 5, "output_bytes": 40},
        {"name": "m0", "kind": "by_product", "parent": "f0", "cost": 0, "output_bytes": 6},
        {"name": "f1", "needs": ["f0"], "cost": 7, "output_bytes": 60},
        {"name": "f2", "needs": ["f1"], "cost": 4, "output_bytes": 30},
        {"name": "b2", "kind": "backward", "needs": ["f1", "f2"], "cost": 6, "output_bytes": 60},
        {"name": "w2", "kind": "by_product", "parent": "b2", "cost": 0, "output_bytes": 25, "result": true},
        {"name": "b1", "kind": "backward", "needs": ["f0", "b2"], "cost": 8, "output_bytes": 40},
        {"name": "b0", "kind": "backward", "needs": ["b1", "m0"], "cost": 3, "output_bytes": 10, "result": true},
        {"name": "w0", "kind": "by_product", "parent": "b0", "cost": 0, "output_bytes": 45, RESULT}]}"#;
    let text = text.replace("RESULT", &format!("\"result\": {result}"));
    read_bytes("outputs.json", text.as_bytes()).unwrap()
}

#[test]
fn a_last_by_product_is_there_at_the_end_if_it_is_a_result() {
    let [with, without] = [true, false].map(ends_in_a_by_product);
    let [kept, left] = [&with, &without].map(|step| step.single_implementation_view());
    assert_eq!((kept.len(), left.len()), (9, 8));
    let end = |step: &Instance| {
        let replay = step.plain_replay(Semantics::Checkmate).unwrap();
        replay.timeline.last().unwrap().bytes
    };
    // The gradients of both calls; without the last result, the inputs of its operator are still in
    // memory.
    assert_eq!(end(&kept), 25 + 10 + 45);
    assert_eq!(end(&left), 25 + 10 + 40 + 6);
    let again = read_bytes("outputs.json", write_instance(&with).as_bytes()).unwrap();
    assert_eq!(again, with);
}

#[test]
fn by_products_of_the_backward_pass_have_the_optimum_of_enumeration() {
    for step in [true, false].map(ends_in_a_by_product) {
        let step = step.single_implementation_view();
        let formulation = AnyFormulation::of(&step, Semantics::Checkmate).unwrap();
        let peak = formulation.plain().unwrap().peak_bytes;
        let settings = Settings {
            prove: true,
            threads: 1,
            gap: 0.0,
            ..Settings::default()
        };
        let mut dearer = 0;
        let least = smallest_budget(&step).needed_bytes;
        let budgets = (least..peak).step_by((peak - least) as usize / 4 + 1);
        for budget in budgets.chain([peak - 1, peak]) {
            let best = brute::optimum(&step, budget);
            let outcome = formulation.solve(budget, &[], &settings, &()).unwrap();
            assert_eq!(outcome.cost(), best, "{budget} B");
            dearer += u32::from(best.is_some_and(|cost| cost > step.base_cost()));
            let proof = outcome.proof.unwrap();
            checker::check(&checker::parse(proof.text()).unwrap(), &step).unwrap();
        }
        assert!(dearer > 0);
    }
}

#[test]
fn by_products_of_the_backward_pass_and_a_loss_do_not_go_together() {
    let text = r#"{"schema": "remat-instance/1", "nodes": [
        {"name": "f", "cost": 1, "output_bytes": 1},
        {"name": "loss", "kind": "loss", "needs": ["f"], "cost": 1, "output_bytes": 1},
        {"name": "b", "kind": "backward", "needs": ["loss"], "cost": 1, "output_bytes": 1},
        {"name": "w", "kind": "by_product", "parent": "b", "cost": 0, "output_bytes": 1}]}"#;
    let error = read_bytes("loss.json", text.as_bytes()).unwrap_err();
    assert!(error.to_string().contains("nodes[1] is a loss"), "{error}");
}

#[test]
fn monets_program_keeps_results_too() {
    let instance = instance(true);
    let formulation = AnyFormulation::of(&instance, Semantics::Monet).unwrap();
    let peak = formulation.plain().unwrap().peak_bytes;
    let outcome = formulation
        .solve(peak - 1, &[], &Settings::default(), &())
        .unwrap();
    let schedule = outcome.schedule.unwrap();
    let plan = schedule.plan(&instance).unwrap();
    let replay = simulate::plan(&instance, &plan).unwrap();
    assert!(replay.peak_bytes < peak && replay.cost > instance.base_cost());
    assert!(replay.timeline.last().unwrap().bytes >= 50 + 30 + 10);
}

#[test]
fn what_is_written_is_the_same_instance() {
    let instance = instance(true);
    let again = read_bytes("results.json", write_instance(&instance).as_bytes()).unwrap();
    assert_eq!(again, instance);
}
