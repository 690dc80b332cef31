//! A model to train, and plans compared with the plan without recomputation.
// Every test file uses a part of this module.
#![allow(dead_code)]

use remat_formulations::baselines::Baseline;
use remat_formulations::monet;
use remat_formulations::strategies;
use remat_gpu_exec::{
    Device, ProfileSettings, Run, Tensor, Training, compare, gradients, profile, run,
};
use remat_instances::instance::Instance;
use remat_instances::plan::Plan;
use remat_instances::schedule::{CheckmateSchedule, MonetSchedule};
use remat_instances::simulate;
use remat_instances::zoo::{self, ModelSpec, TrainingProgram};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Small relatives of the models, with their operators. VGG with joint gradients has its peak at
/// the gradients of the second convolution, where memory holds only their inputs, outputs and
/// workspace. With split gradients there is memory to save.
pub const VGG: &str = "zoo:vgg16?batch=2&size=64x64&classes=10&hidden=64&gradients=split";
pub const RESNET: &str = "zoo:resnet18?batch=2&size=64x64&classes=10";
pub const MOBILENET: &str = "zoo:mobilenet_v2?batch=2&size=64x64&classes=10";
pub const UNET: &str = "zoo:unet?batch=1&size=64x64";
pub const GOOGLENET: &str = "zoo:googlenet?batch=2&size=64x64&classes=10";
pub const GPT2: &str = "zoo:gpt2?batch=2&layers=2&d_model=64&heads=4&seq=32&vocab=100&positions=32";

/// Allocated bytes are counted for the whole process, so tests that run training take turns.
static TURN: Mutex<()> = Mutex::new(());

pub fn program(spec: &str) -> TrainingProgram {
    let spec: ModelSpec = spec.parse().expect("a model");
    let program = zoo::program(&spec).expect("a graph");
    program.expect("with operators")
}

/// A model to train, its profile, and its run without recomputation.
pub struct Case {
    pub model: String,
    pub training: Training,
    pub instance: Instance,
    pub plain_peak: u64,
    loss: f64,
    reference: Vec<Tensor>,
    _turn: MutexGuard<'static, ()>,
}

impl Case {
    /// A case on one thread.
    pub fn new(model: &str) -> Self {
        Case::with(model, 1, 1)
    }

    /// A case with a seed, on `threads` threads.
    pub fn with(model: &str, seed: u64, threads: i32) -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        tch::set_num_threads(threads);
        let device = Device::open("cpu", true).expect("the CPU");
        let training = Training::new(program(model), &device, seed);
        let mut training = training.unwrap_or_else(|e| panic!("{model}: {e}"));
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

    /// The fixed memory, and a percentage of the rest of the plain peak.
    pub fn budget(&self, percent: u64) -> u64 {
        let fixed = self.instance.static_bytes();
        fixed + (self.plain_peak - fixed) * percent / 100
    }

    /// Asserts that loss and gradients of a plan have the bits of plain training, and that its peak
    /// is the predicted one. Returns whether it recomputes: runs some operators again.
    pub fn check(&mut self, name: &str, plan: &Plan) -> bool {
        let model = &self.model;
        let predicted = simulate::plan(&self.instance, plan).expect("a replay");
        let found =
            run(&mut self.training, plan).unwrap_or_else(|e| panic!("{model}, {name}: {e}"));
        near(&found, predicted.peak_bytes, model, name);
        self.same(&found, &format!("{model}, {name}"));
        let computed = plan.computations(self.instance.len());
        let distinct = computed.iter().filter(|times| **times > 0).count();
        computed.iter().sum::<u32>() as usize > distinct
    }

    /// Asserts that loss and gradients of the last run have the bits of plain training.
    pub fn same(&self, run: &Run, what: &str) {
        self.has_loss(run.loss);
        let found = gradients(&self.training).expect("gradients");
        let found = compare(&found, &self.reference).expect("the same parameters");
        assert!(found.equal, "{what}: {}", found.largest);
    }

    /// Asserts that the loss is plain training's.
    pub fn has_loss(&self, loss: f64) {
        assert_eq!(loss, self.loss, "{}", self.model);
    }
}

/// The plan without recomputation.
pub fn plain(instance: &Instance) -> Plan {
    let schedule = CheckmateSchedule::checkpoint_all(instance);
    Plan::from_checkmate(instance, &schedule).expect("a plan")
}

pub fn baseline(name: &str) -> &'static Baseline {
    strategies::by_name(name).expect("a known one")
}

/// Plan of a baseline of Checkmate's semantics that ignores the budget; `None` if it does not
/// support such graphs.
pub fn checkmate_plan(instance: &Instance, name: &str) -> Option<Plan> {
    let schedule = baseline(name).run(instance, 0).ok()?;
    Some(Plan::from_checkmate(instance, &schedule).expect("a plan"))
}

/// Schedule of MONeT's semantics: a baseline's stored tensors, completed with the best
/// implementations that fit.
pub fn monet_schedule(instance: &Instance, name: &str, budget_bytes: u64) -> MonetSchedule {
    let (view, ids) = instance.single_implementation();
    let schedule = baseline(name)
        .run(&view, budget_bytes)
        .expect("a training graph");
    let stored = MonetSchedule::stored_by_checkmate(instance, &ids, &schedule);
    monet::complete(instance, budget_bytes, &stored.expect("the view's shape")).expect("a loss")
}

/// Asserts that the measured peak is within 1% of the predicted one.
fn near(found: &Run, predicted: u64, model: &str, name: &str) {
    let off = found.memory.peak as f64 / predicted as f64 - 1.0;
    assert!(off.abs() < 0.01, "{model}, {name}: peak {off:+.4}");
}
