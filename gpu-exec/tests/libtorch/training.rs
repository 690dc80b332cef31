//! Training steps on the CPU: gradients and memory of plans with recomputation, compared with the
//! plan without it.

use crate::common::{
    Case, GOOGLENET, GPT2, MOBILENET, RESNET, UNET, VGG, monet_schedule, plain, program,
};
use remat_formulations::checkmate::CheckmateFormulation;
use remat_formulations::monet::MonetFormulation;
use remat_formulations::strategies;
use remat_gpu_exec::{Device, ExecError, gradients, run};
use remat_instances::instance::{Instance, NodeKind};
use remat_instances::plan::{Plan, Register, Step};
use remat_instances::schedule::MonetSchedule;
use remat_instances::simulate;
use remat_search::{Settings, Solvable};

/// A small, fixed amount of work: every plan that it finds is checked.
fn settings() -> Settings {
    Settings {
        rounds: 1,
        iterations: 1_000,
        nodes: 1,
        threads: 1,
        ..Settings::default()
    }
}

/// Plans of Checkmate's program: plans of all combinatorial baselines, checkpoint-all and sqrt(n)
/// among them, and an own plan for half of the best baseline's saving.
fn checkmate(model: &str) {
    let mut case = Case::new(model);
    let budget = case.budget(70);
    let mut recomputing = Vec::new();
    let mut least = None;
    for baseline in strategies::all().iter().filter(|b| !b.solves_program) {
        let Ok(schedule) = baseline.run(&case.instance, budget) else {
            continue;
        };
        let plan = Plan::from_checkmate(&case.instance, &schedule).expect("a plan");
        if case.check(baseline.name, &plan) {
            recomputing.push(baseline.name);
        }
        let replay = simulate::checkmate(&case.instance, &schedule).expect("a replay");
        if least
            .as_ref()
            .is_none_or(|(peak, _)| replay.peak_bytes < *peak)
        {
            least = Some((replay.peak_bytes, schedule));
        }
    }
    assert!(
        recomputing.contains(&"linearised-sqrt"),
        "{model}: {recomputing:?}"
    );
    let (least_peak, start) = least.expect("a baseline");
    assert!(
        least_peak < case.plain_peak,
        "{model}: nothing saves memory"
    );
    let budget = least_peak.midpoint(case.plain_peak);
    let program = CheckmateFormulation::new(case.instance.clone());
    let outcome = program.solve(budget, &[start], &settings(), &());
    let schedule = outcome.expect("a graph to solve").schedule;
    let schedule = schedule.expect("the start fits");
    let plan = Plan::from_checkmate(&case.instance, &schedule).expect("a plan");
    let plan = plan.optimised(&case.instance).expect("an executable plan");
    assert!(case.check("remat-bb", &plan), "{model}: no recomputation");
}

/// Plans of MONeT's program: stored sets of the baselines with the best implementations that fit,
/// and an own plan for half of the best one's saving. Every implementation that libtorch
/// distinguishes is in one of them, or in a variation of one.
fn monet(model: &str) {
    let mut case = Case::new(&format!("{model}&implementations=monet"));
    let instance = case.instance.clone();
    assert!(instance.has_choices());
    let mut used: Vec<Vec<bool>> = instance
        .nodes()
        .iter()
        .map(|node| vec![false; node.implementations.len() + 1])
        .collect();
    own_and_stored(&mut case, &mut used);
    // Each backward node by each of its implementations, with all tensors kept that it needs.
    let most = instance
        .nodes()
        .iter()
        .map(|node| node.implementations.len());
    for k in 0..most.max().unwrap_or(1) {
        let plan = by_implementation(&instance, k);
        note(&plan, &mut used);
        case.check(&format!("implementation {k}"), &plan);
    }
    for (node, used) in instance.nodes().iter().zip(&used) {
        let ways = node.implementations.len();
        assert!(used[..ways].iter().all(|u| *u), "{model}: {}", node.name);
    }
    let in_place = |used: &Vec<bool>| used.last().copied().unwrap_or(false);
    let offered = instance.nodes().iter().any(|node| node.in_place.is_some());
    assert_eq!(used.iter().any(in_place), offered, "{model}");
}

/// Checks plans of MONeT's program, the baselines' and the search's, and marks the implementations
/// that they use.
fn own_and_stored(case: &mut Case, used: &mut [Vec<bool>]) {
    let (model, instance) = (case.model.clone(), case.instance.clone());
    let peak = |schedule: &MonetSchedule| {
        let replay = simulate::monet(&instance, schedule);
        replay.expect("a replay").peak_bytes
    };
    let mut check = |name: &str, schedule: &MonetSchedule| {
        let plan = Plan::from_monet(&instance, schedule).expect("a plan");
        note(&plan, used);
        case.check(name, &plan)
    };
    let plain = MonetSchedule::checkpoint_all(&instance).expect("a loss");
    check("checkpoint-all", &plain);
    let plain_peak = peak(&plain);
    let fixed = instance.static_bytes();
    let budget = fixed + (plain_peak - fixed) * 7 / 10;
    let stored = ["linearised-sqrt", "dtr"].map(|name| monet_schedule(&instance, name, budget));
    assert!(
        check("linearised-sqrt", &stored[0]),
        "{model}: no recomputation"
    );
    check("dtr", &stored[1]);
    let [a, b] = stored;
    let start = if peak(&a) < peak(&b) { a } else { b };
    assert!(peak(&start) < plain_peak, "{model}: nothing saves memory");
    let budget = peak(&start).midpoint(plain_peak);
    let program = MonetFormulation::new(instance.clone()).expect("a loss");
    let outcome = program.solve(budget, &[start], &settings(), &());
    let schedule = outcome.expect("a graph to solve").schedule;
    check("remat-bb", &schedule.expect("the start fits"));
}

/// Marks the implementations that a plan uses, and in the last entry whether the node is computed
/// in place.
fn note(plan: &Plan, used: &mut [Vec<bool>]) {
    let mut filled = std::collections::BTreeSet::new();
    for step in &plan.steps {
        match step {
            Step::Deallocate { register } => drop(filled.remove(register)),
            Step::Compute {
                node,
                register,
                implementation,
            } => {
                let used = &mut used[node.index()];
                used[usize::from(*implementation)] = true;
                let last = used.len() - 1;
                used[last] |= !filled.insert(*register);
            }
            _ => {}
        }
    }
}

/// A plan without recomputation; every backward node runs by its implementation with this number,
/// or its last.
fn by_implementation(instance: &Instance, number: usize) -> Plan {
    let mut schedule = MonetSchedule::checkpoint_all(instance).expect("a loss");
    let (stages, columns) = MonetSchedule::shape(instance).expect("a loss");
    for t in 1..stages {
        let node = instance.node((columns - 1 + t).into());
        let choice = number.min(node.implementations.len() - 1);
        schedule.backward_choice[t] = choice as u16;
        for need in &node.implementations[choice].needs {
            let u = need.index();
            if u < columns {
                schedule.computed.set(0, u, true);
                (1..=t + 1).for_each(|s| schedule.retained.set(s, u, true));
            }
        }
    }
    Plan::from_monet(instance, &schedule).expect("a plan")
}

#[test]
fn checkmate_vgg() {
    checkmate(VGG);
}

#[test]
fn checkmate_resnet() {
    checkmate(RESNET);
}

#[test]
fn checkmate_mobilenet() {
    checkmate(MOBILENET);
}

#[test]
fn checkmate_unet() {
    checkmate(UNET);
}

#[test]
fn checkmate_googlenet() {
    checkmate(GOOGLENET);
}

#[test]
fn checkmate_gpt2() {
    checkmate(GPT2);
}

#[test]
fn monet_vgg() {
    monet(VGG);
}

#[test]
fn monet_resnet() {
    monet(RESNET);
}

#[test]
fn monet_mobilenet() {
    monet(MOBILENET);
}

#[test]
fn monet_unet() {
    monet(UNET);
}

#[test]
fn monet_googlenet() {
    monet(GOOGLENET);
}

/// A transformer has no choices of implementations, but MONeT's program and its memory semantics.
#[test]
fn monet_gpt2() {
    let mut case = Case::new(GPT2);
    let mut used = vec![vec![false; 2]; case.instance.len()];
    own_and_stored(&mut case, &mut used);
}

/// The encodings have the sizes that the model of the zoo gives them.
#[test]
fn by_products_are_packed() {
    let model = format!("{RESNET}&implementations=monet");
    let case = Case::new(&model);
    let modelled = program(&model).instance;
    let mut seen = 0;
    for (found, wanted) in case.instance.nodes().iter().zip(modelled.nodes()) {
        if matches!(found.kind, NodeKind::ByProduct { .. }) {
            assert_eq!(found.output_bytes, wanted.output_bytes, "{}", found.name);
            seen += 1;
        }
    }
    assert_eq!(seen, 18, "17 ReLUs and a pooling");
}

/// An output that a plan frees too early, or never computes, is found at the statement that reads
/// it.
#[test]
fn tampered_plans_are_refused() {
    let mut case = Case::new(RESNET);
    let training = &mut case.training;
    let good = plain(&case.instance);
    let freed = good
        .steps
        .iter()
        .position(|s| matches!(s, Step::Deallocate { .. }));
    let mut early = good.clone();
    let free = early.steps.remove(freed.expect("a register is freed"));
    let Step::Deallocate { register } = free else {
        unreachable!("it was found as one")
    };
    let computed = early
        .steps
        .iter()
        .position(|s| matches!(s, Step::Compute { register: r, .. } if *r == register));
    early
        .steps
        .insert(computed.expect("it was computed") + 1, free);
    let found = run(training, &early).expect_err("freed before it was read");
    assert!(
        matches!(
            found,
            ExecError::Missing {
                problem: "was freed or overwritten",
                ..
            }
        ),
        "{found}"
    );

    let mut missing = good.clone();
    let first = missing
        .steps
        .iter()
        .position(|s| matches!(s, Step::Compute { .. }));
    missing.steps.remove(first.expect("something is computed"));
    let found = run(training, &missing).expect_err("never computed");
    assert!(
        matches!(
            found,
            ExecError::Missing {
                problem: "was not computed",
                ..
            }
        ),
        "{found}"
    );
}

/// A plan may number its registers arbitrarily.
#[test]
fn registers_have_any_number() {
    let mut case = Case::new(GPT2);
    let mut plan = plain(&case.instance);
    for step in &mut plan.steps {
        if let Step::Allocate { register, .. }
        | Step::Compute { register, .. }
        | Step::Deallocate { register } = step
        {
            *register = Register(u32::MAX - register.0);
        }
    }
    case.check("large numbers", &plan);
}

#[test]
fn devices_that_are_not_there_are_named() {
    for name in ["tpu", "cuda:x", "cpu:0"] {
        let found = Device::open(name, false).expect_err("no such device");
        assert!(found.to_string().contains(name), "{found}");
    }
}

/// Steps that do not wait for each computation have the same results and the same memory.
#[test]
fn asynchronous_steps_equal_synchronous_ones() {
    for model in [RESNET, GPT2] {
        let mut case = Case::new(model);
        let plan = plain(&case.instance);
        let mut steps = [false, true].map(|asynchronous| {
            case.training.set_asynchronous(asynchronous);
            let found = run(&mut case.training, &plan).unwrap_or_else(|e| panic!("{model}: {e}"));
            (found, gradients(&case.training).expect("gradients"))
        });
        let [(first, expected), (second, found)] = &mut steps;
        assert_eq!(first.loss.to_bits(), second.loss.to_bits(), "{model}");
        assert_eq!(first.memory.peak, second.memory.peak, "{model}");
        assert_eq!(first.computations.len(), second.computations.len());
        assert!(second.seconds > 0.0);
        for (mine, theirs) in found.iter().zip(expected.iter()) {
            assert!(mine.equal(theirs), "{model}");
        }
    }
}
