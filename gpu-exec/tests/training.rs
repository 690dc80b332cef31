//! Training steps on the CPU: gradients and memory of plans that recompute, held against the plan that does not.

use remat_formulations::baselines;
use remat_formulations::plan::{Plan, Step};
use remat_formulations::schedule::CheckmateSchedule;
use remat_formulations::simulate;
use remat_formulations::zoo::{self, ModelSpec, TrainingProgram};
use remat_gpu_exec::{
    Device, ExecError, ProfileSettings, Training, compare, gradients, profile, run,
};

fn program(spec: &str) -> TrainingProgram {
    let spec: ModelSpec = spec.parse().expect("a model");
    let program = zoo::program(&spec).expect("a graph");
    program.expect("with operators")
}

/// Small relatives of the models, with their operators.
const MODELS: [&str; 5] = [
    "zoo:resnet18?batch=2&size=64x64&classes=10",
    "zoo:mobilenet_v2?batch=2&size=64x64&classes=10",
    "zoo:unet?batch=1&size=64x64",
    "zoo:googlenet?batch=2&size=64x64&classes=10",
    "zoo:gpt2?batch=2&layers=2&d_model=64&heads=4&seq=32&vocab=100&positions=32",
];

/// On one thread, so that sums come in the same order.
fn setting(model: &str) -> Training {
    tch::set_num_threads(1);
    let device = Device::open("cpu", true).expect("the CPU");
    Training::new(program(model), &device, 1).expect("room for a small model")
}

fn plain(training: &Training) -> Plan {
    let instance = &training.program().instance;
    let schedule = CheckmateSchedule::checkpoint_all(instance);
    Plan::from_checkmate(instance, &schedule).expect("a plan")
}

/// Profile, plan by every baseline at 70% of the memory, run: the gradients' bits are those without recomputation, and the
/// measured peak is within 1% of the predicted one.
#[test]
fn recomputation_changes_no_bit_and_needs_the_memory_that_was_predicted() {
    for model in MODELS {
        let mut training = setting(model);
        let once = ProfileSettings {
            warmup: 0,
            repeats: 1,
        };
        let instance = profile(&mut training, &once)
            .unwrap_or_else(|e| panic!("{model}: {e}"))
            .instance;
        let without = plain(&training);
        let reference_run = run(&mut training, &without).unwrap_or_else(|e| panic!("{model}: {e}"));
        let reference = gradients(&training).expect("gradients");
        let plain_peak = simulate::plan(&instance, &without)
            .expect("a replay")
            .peak_bytes;
        let off = reference_run.memory.peak as f64 / plain_peak as f64 - 1.0;
        assert!(off.abs() < 0.01, "{model}: {off:+.4} without recomputation");
        let fixed = instance.static_bytes();
        let budget = fixed + (plain_peak - fixed) * 7 / 10;
        let mut recomputing = 0;
        for baseline in baselines::all().iter().filter(|b| !b.solves_program) {
            let Ok(schedule) = baseline.run(&instance, budget) else {
                continue;
            };
            let plan = Plan::from_checkmate(&instance, &schedule).expect("a plan");
            let predicted = simulate::plan(&instance, &plan).expect("a replay");
            let found = run(&mut training, &plan)
                .unwrap_or_else(|e| panic!("{model}, {}: {e}", baseline.name));
            let off = found.memory.peak as f64 / predicted.peak_bytes as f64 - 1.0;
            assert!(off.abs() < 0.01, "{model}, {}: {off:+.4}", baseline.name);
            assert_eq!(found.loss, reference_run.loss, "{model}, {}", baseline.name);
            let found = compare(&gradients(&training).expect("gradients"), &reference);
            let found = found.expect("the same parameters");
            assert!(found.equal, "{model}, {}: {}", baseline.name, found.largest);
            recomputing += usize::from(predicted.computations > instance.len());
        }
        assert!(recomputing >= 3, "{model}: {recomputing} plans recompute");
    }
}

/// What a plan frees too early, or never computes, is found at the statement that reads it.
#[test]
fn tampered_plans_are_refused() {
    let mut training = setting(MODELS[0]);
    let good = plain(&training);
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
    let found = run(&mut training, &early).expect_err("freed before it was read");
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
    let found = run(&mut training, &missing).expect_err("never computed");
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

#[test]
fn devices_that_are_not_there_are_named() {
    for name in ["tpu", "cuda:x", "cpu:0"] {
        let found = Device::open(name, false).expect_err("no such device");
        assert!(found.to_string().contains(name), "{found}");
    }
}
