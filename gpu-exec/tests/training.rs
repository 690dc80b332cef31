//! Training steps on the CPU: gradients and memory of plans that recompute, held against the plan that does not.

use remat_formulations::baselines;
use remat_formulations::instance::{Instance, NodeKind};
use remat_formulations::monet;
use remat_formulations::plan::{Plan, Step};
use remat_formulations::schedule::{CheckmateSchedule, MonetSchedule};
use remat_formulations::simulate;
use remat_formulations::solve::{self, Settings};
use remat_formulations::zoo::{self, ModelSpec, TrainingProgram};
use remat_gpu_exec::{
    Device, ExecError, ProfileSettings, Run, Tensor, Training, compare, gradients, profile, run,
};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Small relatives of the models, with their operators.
const VGG: &str = "zoo:vgg16?batch=2&size=32x32&classes=10";
const RESNET: &str = "zoo:resnet18?batch=2&size=64x64&classes=10";
const MOBILENET: &str = "zoo:mobilenet_v2?batch=2&size=64x64&classes=10";
const UNET: &str = "zoo:unet?batch=1&size=64x64";
const GOOGLENET: &str = "zoo:googlenet?batch=2&size=64x64&classes=10";
const GPT2: &str = "zoo:gpt2?batch=2&layers=2&d_model=64&heads=4&seq=32&vocab=100&positions=32";

/// Allocated bytes are counted for the whole process: tests that run training take turns.
static TURN: Mutex<()> = Mutex::new(());

fn program(spec: &str) -> TrainingProgram {
    let spec: ModelSpec = spec.parse().expect("a model");
    let program = zoo::program(&spec).expect("a graph");
    program.expect("with operators")
}

/// A model to train, measured, with the run that recomputes nothing.
struct Case {
    model: String,
    training: Training,
    instance: Instance,
    plain_peak: u64,
    loss: f64,
    reference: Vec<Tensor>,
    _turn: MutexGuard<'static, ()>,
}

impl Case {
    /// On one thread, so that sums come in the same order.
    fn new(model: &str) -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        tch::set_num_threads(1);
        let device = Device::open("cpu", true).expect("the CPU");
        let mut training =
            Training::new(program(model), &device, 1).expect("room for a small model");
        let once = ProfileSettings {
            warmup: 0,
            repeats: 1,
            whole_steps: false,
        };
        let profile = profile(&mut training, &once);
        let instance = profile.unwrap_or_else(|e| panic!("{model}: {e}")).instance;
        let without = plain(&instance);
        let found = run(&mut training, &without).unwrap_or_else(|e| panic!("{model}: {e}"));
        let plain_peak = simulate::plan(&instance, &without)
            .expect("a replay")
            .peak_bytes;
        near(&found, plain_peak, model, "no recomputation");
        Case {
            model: model.into(),
            reference: gradients(&training).expect("gradients"),
            training,
            instance,
            plain_peak,
            loss: found.loss,
            _turn: turn,
        }
    }

    /// A part of the memory that varies, and what is fixed.
    fn budget(&self, percent: u64) -> u64 {
        let fixed = self.instance.static_bytes();
        fixed + (self.plain_peak - fixed) * percent / 100
    }

    /// Loss and gradients of a plan have the bits of plain training, its peak is the predicted one. Whether it recomputes.
    fn check(&mut self, name: &str, plan: &Plan) -> bool {
        let model = &self.model;
        let predicted = simulate::plan(&self.instance, plan).expect("a replay");
        let found =
            run(&mut self.training, plan).unwrap_or_else(|e| panic!("{model}, {name}: {e}"));
        near(&found, predicted.peak_bytes, model, name);
        assert_eq!(found.loss, self.loss, "{model}, {name}");
        let found = compare(
            &gradients(&self.training).expect("gradients"),
            &self.reference,
        );
        let found = found.expect("the same parameters");
        assert!(found.equal, "{model}, {name}: {}", found.largest);
        let computed = plan.computations(self.instance.len());
        computed.iter().any(|times| *times > 1)
    }
}

fn plain(instance: &Instance) -> Plan {
    let schedule = CheckmateSchedule::checkpoint_all(instance);
    Plan::from_checkmate(instance, &schedule).expect("a plan")
}

/// The measured peak is within 1% of the predicted one.
fn near(found: &Run, predicted: u64, model: &str, name: &str) {
    let off = found.memory.peak as f64 / predicted as f64 - 1.0;
    assert!(off.abs() < 0.01, "{model}, {name}: peak {off:+.4}");
}

/// Little work: whatever is found in that time is checked.
fn settings(budget_bytes: u64) -> Settings {
    Settings {
        time_limit: Some(Duration::from_secs(1)),
        threads: 1,
        ..Settings::new(budget_bytes)
    }
}

fn never() -> AtomicBool {
    AtomicBool::new(false)
}

/// Plans of Checkmate's program: its own, and those of all combinatorial baselines, checkpoint-all and sqrt(n) among them.
fn checkmate(model: &str) {
    let mut case = Case::new(model);
    let budget = case.budget(70);
    let mut names = Vec::new();
    for baseline in baselines::all().iter().filter(|b| !b.solves_program) {
        let Ok(schedule) = baseline.run(&case.instance, budget) else {
            continue;
        };
        let plan = Plan::from_checkmate(&case.instance, &schedule).expect("a plan");
        if case.check(baseline.name, &plan) {
            names.push(baseline.name);
        }
    }
    assert!(names.contains(&"linearised-sqrt"), "{model}: {names:?}");
    // Where workspaces are large, not every model comes down that far.
    let plan = [70, 80, 90, 100].iter().find_map(|percent| {
        let settings = settings(case.budget(*percent));
        let outcome = solve::solve(&case.instance, &settings, &never(), &|_| {});
        let schedule = outcome.expect("a graph to solve").schedule?;
        let plan = Plan::from_checkmate(&case.instance, &schedule).expect("a plan");
        Some(plan.optimised(&case.instance).expect("an executable plan"))
    });
    let plan = plan.unwrap_or_else(|| panic!("{model}: nothing fits"));
    case.check("remat-bb", &plan);
}

/// Plans of MONeT's program: stored sets of the baselines with the best implementations that fit, and its own. Every
/// implementation that libtorch tells apart is in one of them, or in a variation of one.
fn monet(model: &str) {
    let mut case = Case::new(&format!("{model}&implementations=monet"));
    let instance = case.instance.clone();
    assert!(instance.has_choices());
    let mut used: Vec<Vec<bool>> = instance
        .nodes()
        .iter()
        .map(|node| vec![false; node.implementations.len() + 1])
        .collect();
    let mut check = |name: &str, schedule: &MonetSchedule| {
        let plan = Plan::from_monet(&instance, schedule).expect("a plan");
        note(&plan, &mut used);
        case.check(name, &plan)
    };
    let plain = MonetSchedule::checkpoint_all(&instance).expect("a loss");
    check("checkpoint-all", &plain);
    let plain_peak = simulate::monet(&instance, &plain)
        .expect("a replay")
        .peak_bytes;
    let fixed = instance.static_bytes();
    let budget = fixed + (plain_peak - fixed) * 7 / 10;
    let (view, ids) = instance.single_implementation();
    let mut recomputing = 0;
    for name in ["linearised-sqrt", "dtr"] {
        let baseline = baselines::all().iter().find(|b| b.name == name);
        let baseline = baseline.expect("a known one");
        let schedule = baseline.run(&view, budget).expect("a training graph");
        let stored = MonetSchedule::stored_by_checkmate(&instance, &ids, &schedule);
        let schedule = monet::complete(&instance, budget, &stored.expect("the view's shape"));
        recomputing += usize::from(check(name, &schedule.expect("a loss")));
    }
    assert!(recomputing > 0, "{model}: no recomputation");
    let schedule = [7, 8, 9, 10].iter().find_map(|tenths| {
        let settings = settings(fixed + (plain_peak - fixed) * tenths / 10);
        let outcome = monet::solve(&instance, &settings, &[], &never(), &|_| {});
        outcome.expect("a graph to solve").schedule
    });
    let schedule = schedule.unwrap_or_else(|| panic!("{model}: nothing fits"));
    check("remat-bb", &schedule);
    // Each backward node by each of its implementations, with whatever that needs kept.
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

/// Marks the implementations that a plan uses, and last whether the node is computed in place.
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
            Step::Allocate { .. } => {}
        }
    }
}

/// Nothing is recomputed; every backward node runs by its implementation of that number, or its last.
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

/// A transformer has no ways to choose among, but MONeT's program and its semantics of memory.
#[test]
fn monet_gpt2() {
    let mut case = Case::new(GPT2);
    let instance = case.instance.clone();
    let budget = case.budget(70);
    let baseline = baselines::all()
        .iter()
        .find(|b| b.name == "linearised-sqrt");
    let baseline = baseline.expect("a known one");
    let (view, ids) = instance.single_implementation();
    let schedule = baseline.run(&view, budget).expect("a training graph");
    let stored = MonetSchedule::stored_by_checkmate(&instance, &ids, &schedule);
    let schedule = monet::complete(&instance, budget, &stored.expect("the view's shape"));
    let plan = Plan::from_monet(&instance, &schedule.expect("a loss")).expect("a plan");
    assert!(case.check("linearised-sqrt", &plan), "no recomputation");
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

/// What a plan frees too early, or never computes, is found at the statement that reads it.
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

#[test]
fn devices_that_are_not_there_are_named() {
    for name in ["tpu", "cuda:x", "cpu:0"] {
        let found = Device::open(name, false).expect_err("no such device");
        assert!(found.to_string().contains(name), "{found}");
    }
}
