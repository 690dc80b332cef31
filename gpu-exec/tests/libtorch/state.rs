//! Effects of a training step besides gradients, which must happen only once: updates of running
//! statistics, and random masks.

use crate::common::{Case, RESNET, VGG, checkmate_plan, monet_schedule, plain, program};
use remat_gpu_exec::{Device, Tensor, Training, run};
use remat_instances::instance::Instance;
use remat_instances::plan::Plan;
use remat_instances::zoo::{Action, Op};

/// Largest number of computations of an operator's forward nodes in a plan.
fn most_often(plan: &Plan, instance: &Instance, model: &str, wanted: &Op) -> u32 {
    let program = program(model);
    let computed = plan.computations(instance.len());
    let of = computed.iter().zip(&program.actions);
    let of = of.filter(|(_, action)| match action {
        Action::Forward { operation } => program.network.operations()[*operation].op == *wanted,
        _ => false,
    });
    of.map(|(times, _)| *times).max().unwrap_or(0)
}

/// Running statistics of a fresh network after `steps` steps.
fn statistics(model: &str, plan: &Plan, steps: usize) -> Vec<Tensor> {
    let device = Device::open("cpu", true).expect("the CPU");
    let mut training = Training::new(program(model), &device, 3).expect("a small model");
    for _ in 0..steps {
        run(&mut training, plan).expect("an executable plan");
    }
    let statistics = training.running_statistics();
    statistics.into_iter().map(Tensor::copy).collect()
}

/// The running statistics of a batch norm are updated once a step, however often the node is
/// computed.
#[test]
fn running_statistics_move_once_a_step() {
    for choices in ["", "&implementations=monet"] {
        let model = format!("{RESNET}{choices}");
        let case = Case::new(&model);
        let instance = &case.instance;
        let plan = match choices {
            "" => checkmate_plan(instance, "linearised-sqrt").expect("a plan"),
            _ => {
                let schedule = monet_schedule(instance, "linearised-sqrt", 0);
                Plan::from_monet(instance, &schedule).expect("a plan")
            }
        };
        let times = most_often(&plan, instance, &model, &Op::BatchNorm);
        assert!(times > 2, "a batch norm is computed {times} times");
        let without = plain(instance);
        let one = statistics(&model, &without, 1);
        assert_eq!(one.len(), 2 * 20, "mean and variance of 20 normalisations");
        assert!(one == statistics(&model, &plan, 1), "{model}: one step");
        let two = statistics(&model, &without, 2);
        assert!(two == statistics(&model, &plan, 2), "{model}: two steps");
        // Same batch, same parameters: m1 = 0.1 b, m2 = 0.9 m1 + 0.1 b.
        for (one, two) in one.iter().step_by(2).zip(two.iter().step_by(2)) {
            let off = (one * 1.9 - two).abs().max().double_value(&[]);
            let size = two.abs().max().double_value(&[]);
            assert!(size > 0.0 && off <= 1e-6 * size, "{off} of {size}");
        }
    }
}

/// A dropout mask that is drawn again has the same bits: gradients stay the same, bit for bit.
#[test]
fn masks_are_replayed() {
    for choices in ["", "&implementations=monet"] {
        let model = format!("{VGG}{choices}");
        let mut case = Case::new(&model);
        let instance = case.instance.clone();
        let plan = match choices {
            "" => checkmate_plan(&instance, "linearised-sqrt").expect("a plan"),
            _ => {
                let schedule = monet_schedule(&instance, "linearised-sqrt", 0);
                Plan::from_monet(&instance, &schedule).expect("a plan")
            }
        };
        let times = most_often(&plan, &instance, &model, &Op::DropoutMask);
        assert!(times > 1, "{model}: masks are drawn {times} times");
        case.check("linearised-sqrt", &plan);
    }
}
