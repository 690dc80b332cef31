//! Training steps from one arena on the CPU: every tensor is at the offset of the plan's address,
//! no tensor is overwritten too early, and the bits are the same.

use crate::common::{Case, GPT2, MOBILENET, RESNET, plain};
use remat_formulations::strategies;
use remat_gpu_exec::{Run, run_in_arena};
use remat_instances::instance::Instance;
use remat_instances::plan::{Plan, PlanAddresses};
use remat_instances::schedule::MonetSchedule;
use remat_instances::simulate::{self, PlanLife, PlanLives};
use remat_memory::place::{PlaceSettings, PlacedPlan, place_plan};

fn placed(instance: &Instance, plan: &Plan) -> PlacedPlan {
    let settings = PlaceSettings {
        threads: 1,
        ..PlaceSettings::default()
    };
    place_plan(instance, plan, Some(64), None, &settings).expect("a placement")
}

/// Runs a plan twice from an arena, the second time with known output sizes, and compares both with
/// the step without an arena.
fn check(case: &mut Case, name: &str, plan: &Plan) -> (PlacedPlan, Run) {
    let found = placed(&case.instance, plan);
    let what = format!("{}, {name}", case.model);
    let mut last = Run::default();
    for _ in 0..2 {
        let run = run_in_arena(
            &mut case.training,
            &case.instance,
            plan,
            &found.addresses,
            true,
        );
        last = run.unwrap_or_else(|e| panic!("{what}: {e}"));
        case.same(&last, &what);
    }
    let used = last.arena.expect("an arena");
    assert_eq!(used.arena_bytes, found.arena_bytes(), "{what}");
    assert!(used.used_bytes <= used.arena_bytes, "{what}: {used:?}");
    (found, last)
}

/// Plans without recomputation, of baselines, and of MONeT's program.
#[test]
fn every_tensor_is_at_its_address_and_nothing_is_clobbered() {
    for model in [RESNET, MOBILENET, GPT2] {
        let mut case = Case::new(model);
        let mut plans = vec![("no recomputation".to_string(), plain(&case.instance))];
        for name in ["linearised-sqrt", "dtr"] {
            let budget = case.budget(70);
            let baseline = strategies::by_name(name).expect("a known one");
            let schedule = baseline
                .run(&case.instance, budget)
                .expect("a graph it knows");
            let plan = Plan::from_checkmate(&case.instance, &schedule).expect("a plan");
            plans.push((name.into(), plan));
        }
        for (name, plan) in &plans {
            let (found, run) = check(&mut case, name, plan);
            // No bytes are lost to fragmentation. The measured memory is the arena's, except for
            // scratch of some kernels.
            let used = run.arena.expect("an arena");
            let lost = found.arena_bytes() - found.peak_bytes;
            assert!(lost <= 64, "{model}, {name}: {lost}");
            let most = found.addresses.pieces.iter().map(|p| p.bytes).max();
            let beyond = run.memory.peak.saturating_sub(found.arena_bytes());
            assert_eq!(beyond, used.outside_bytes, "{model}, {name}");
            assert!(beyond < most.unwrap_or(0), "{model}, {name}: {used:?}");
            assert!(used.beside_bytes <= 64, "{model}, {name}: {used:?}");
        }
    }
}

#[test]
fn masks_implementations_and_in_place_steps_run_from_an_arena() {
    let mut case = Case::new(&format!("{RESNET}&implementations=monet"));
    let instance = case.instance.clone();
    let plain = instance.without_recomputation(remat_instances::Semantics::Monet);
    let plain = plain.expect("a loss").plan(&instance).expect("a plan");
    check(&mut case, "monet, no recomputation", &plain);
    let stored = crate::common::monet_schedule(&instance, "dtr", case.budget(80));
    let schedule: &MonetSchedule = &stored;
    let plan = Plan::from_monet(&instance, schedule).expect("a plan");
    check(&mut case, "monet, dtr", &plan);
    // In place wherever possible, even if that was not measured to be fastest. A tensor overwritten
    // by a smaller one leaves the rest of its place to others.
    let mut schedule = stored;
    for (stage, node) in computations(&schedule) {
        let before = schedule.in_place.get(stage, node);
        schedule.in_place.set(stage, node, true);
        if simulate::monet(&instance, &schedule).is_err() {
            schedule.in_place.set(stage, node, before);
        }
    }
    let plan = Plan::from_monet(&instance, &schedule).expect("a plan");
    let lives = PlanLives::of(&instance, &plan).expect("a replay");
    let shrinks = |life: &PlanLife| life.stretches.windows(2).any(|s| s[1].bytes < s[0].bytes);
    assert!(lives.lives().iter().filter(|life| shrinks(life)).count() > 8);
    check(&mut case, "monet, dtr in place", &plan);
}

/// Stage and node of each computation of the forward pass.
fn computations(schedule: &MonetSchedule) -> Vec<(usize, usize)> {
    let computed = &schedule.computed;
    let row = |stage| computed.ones(stage).map(move |node| (stage, node));
    (0..computed.rows()).flat_map(row).collect()
}

/// Addresses that overlap, or belong to other pieces, are refused; the training does not change.
#[test]
fn wrong_addresses_are_refused() {
    let mut case = Case::new(RESNET);
    let plan = plain(&case.instance);
    let found = placed(&case.instance, &plan);
    let run = |case: &mut Case, addresses: &PlanAddresses| {
        run_in_arena(&mut case.training, &case.instance, &plan, addresses, true).map(|run| run.loss)
    };
    let mut shared = found.addresses.clone();
    shared.pieces[2].offset_bytes = shared.pieces[1].offset_bytes;
    let error = run(&mut case, &shared).unwrap_err().to_string();
    assert!(error.contains("share the addresses"), "{error}");
    // One piece fewer than the plan has.
    let mut other = found.addresses.clone();
    other.pieces.pop();
    let error = run(&mut case, &other).unwrap_err().to_string();
    assert!(error.contains("is for nothing"), "{error}");
    // Afterwards everything is as before.
    let loss = run(&mut case, &found.addresses).expect("a run");
    case.has_loss(loss);
}
