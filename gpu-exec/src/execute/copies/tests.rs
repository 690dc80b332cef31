//! Copies that fail: the step ends with an error, and never hangs.

use super::lane::{CopyPart, LaneTuning, Lanes};
use super::{Carrier, Direction, HostMemory, Pair};
use crate::device::Device;
use crate::error::ExecError;
use crate::execute::run_with_host;
use crate::shim;
use crate::training::Training;
use remat_instances::Instance;
use remat_instances::instance::{Duplex, HostLink, NodeId};
use remat_instances::plan::{HostBuffer, Plan, Register, Step};
use remat_instances::schedule::CheckmateSchedule;
use remat_instances::zoo::{self, ModelSpec};
use std::sync::atomic::{AtomicU32, Ordering};
use tch::{Kind, Tensor};

fn fast(duplex: Duplex) -> HostLink {
    HostLink {
        duplex,
        ..HostLink::new(1 << 40, 1 << 40)
    }
}

fn lanes(duplex: Duplex, copy: CopyPart) -> Lanes {
    let tuning = LaneTuning {
        piece_bytes: 100,
        ..LaneTuning::default()
    };
    Lanes::new(&fast(duplex), tuning, copy).expect("threads")
}

fn numbers(seed: i64) -> Tensor {
    Tensor::arange(1000, (Kind::Int64, tch::Device::Cpu)) + seed
}

/// A chain of copies there and back, on one lane and on two: bytes arrive in order.
#[test]
fn copies_wait_for_those_that_they_need() {
    for duplex in [Duplex::Full, Duplex::Half] {
        let mut link = lanes(duplex, shim::copy_part);
        for seed in 0..50 {
            let chain: Vec<Tensor> = (0..4).map(|_| numbers(0).zeros_like()).collect();
            let mut after = None;
            let mut from = numbers(seed);
            for (k, to) in chain.iter().enumerate() {
                let direction = [Direction::ToHost, Direction::FromHost][k % 2];
                let pair = Pair {
                    to: to.shallow_clone(),
                    from,
                };
                after = Some(link.start(direction, vec![pair], after).expect("a copy"));
                from = to.shallow_clone();
            }
            link.wait(after.expect("some")).expect("the end of it");
            assert!(chain[3].equal(&numbers(seed)));
            link.settle(false);
        }
    }
}

/// Fails at its third piece.
fn breaks(to: &Tensor, from: &Tensor, offset: u64, bytes: u64) -> Result<(), ExecError> {
    match offset {
        200.. => Err(ExecError::Torch("the link broke".into())),
        _ => shim::copy_part(to, from, offset, bytes),
    }
}

#[test]
fn a_failure_reaches_whoever_waits_and_what_needs_the_copy() {
    let mut link = lanes(Duplex::Full, breaks);
    let pair = || Pair {
        to: numbers(0),
        from: numbers(1),
    };
    let first = link.start(Direction::ToHost, vec![pair()], None);
    let first = first.expect("a start");
    let second = link.start(Direction::FromHost, vec![pair()], Some(first));
    for ticket in [first, second.expect("a start")] {
        let error = link.wait(ticket).expect_err("a broken link");
        assert!(error.contains("the link broke"), "{error}");
    }
    link.settle(true);
    // Pieces of a tensor that does not exist.
    let short = numbers(0).narrow(0, 0, 5).copy();
    let error = shim::copy_part(&short, &numbers(0), 30, 11).expect_err("beyond its end");
    assert!(error.to_string().contains("bytes 30 to 41"), "{error}");
}

fn panics(_: &Tensor, _: &Tensor, _: u64, _: u64) -> Result<(), ExecError> {
    panic!("a defect of the copy")
}

#[test]
fn a_panic_of_a_thread_goes_on_in_the_call() {
    let call = std::panic::catch_unwind(|| {
        let mut link = lanes(Duplex::Half, panics);
        let pair = Pair {
            to: numbers(0),
            from: numbers(1),
        };
        let ticket = link.start(Direction::ToHost, vec![pair], None);
        let _ = link.wait(ticket.expect("a start"));
    });
    let panic = call.expect_err("the panic");
    assert_eq!(panic.downcast_ref(), Some(&"a defect of the copy"));
}

/// A step of a small network; one of its activations is on the host before its last reader.
fn case() -> (Training, Instance, Plan) {
    let spec = "zoo:gpt2?batch=1&layers=1&d_model=16&heads=2&seq=8&vocab=50&positions=8";
    let spec: ModelSpec = spec.parse().unwrap();
    let program = zoo::program(&spec).unwrap().unwrap();
    let link = Some(fast(Duplex::Full));
    let instance = program.instance.with_host_link(link).unwrap();
    let device = Device::open("cpu", true).unwrap();
    let training = Training::new(program, &device, 1).unwrap();
    let schedule = CheckmateSchedule::checkpoint_all(&instance);
    let plain = Plan::from_checkmate(&instance, &schedule).unwrap();
    let buffer = HostBuffer(0);
    let reads = |step: &Step, node: NodeId| match step {
        Step::Compute { node: by, .. } => instance.needs(*by).contains(&node),
        _ => false,
    };
    let readers = |node: NodeId| -> Vec<usize> {
        let all = 0..plain.steps.len();
        all.filter(|k| reads(&plain.steps[*k], node)).collect()
    };
    let mut computed = plain.steps.iter().filter_map(|step| match *step {
        Step::Compute { node, register, .. } => Some((node, register, readers(node))),
        _ => None,
    });
    let found = computed.find(|(_, _, readers)| readers.len() > 1).unwrap();
    let (node, register, readers) = found;
    let [.., second_last, last] = readers[..] else {
        panic!("two readers")
    };
    let mut steps = Vec::new();
    for (k, step) in plain.steps.iter().enumerate() {
        let mut step = *step;
        if k == second_last + 1 {
            steps.push(Step::Offload { register, buffer });
            steps.push(Step::Wait { buffer });
            steps.push(Step::Deallocate { register });
        }
        if k == last {
            let register = Register(1000);
            steps.push(Step::Allocate { register, node });
            steps.push(Step::Prefetch { buffer, register });
        }
        if let Step::Deallocate { register: freed } = &mut step
            && *freed == register
            && k > last
        {
            *freed = Register(1000);
        }
        steps.push(step);
        if k == last {
            steps.push(Step::Release { buffer });
        }
    }
    let (instance_name, semantics) = (plain.instance.clone(), plain.semantics);
    let plan = Plan {
        instance: instance_name,
        semantics,
        steps,
    };
    (training, instance, plan)
}

static PIECES: AtomicU32 = AtomicU32::new(0);

/// Copies to the host, but fails on the way back.
fn one_way(to: &Tensor, from: &Tensor, offset: u64, bytes: u64) -> Result<(), ExecError> {
    let pieces = PIECES.fetch_add(1, Ordering::Relaxed);
    match pieces {
        0 => shim::copy_part(to, from, offset, bytes),
        _ => Err(ExecError::Torch("no way back".into())),
    }
}

/// The step that waits for a failed copy returns its error. With a working link, the same host
/// memory and training can be used again.
#[test]
fn a_failed_copy_ends_the_step_with_an_error() {
    let (mut training, instance, plan) = case();
    let mut host = HostMemory::new(&training, &instance, &plan).unwrap();
    let mut step = |host: &mut HostMemory| {
        run_with_host(&mut training, &instance, &plan, None, host, true).map(|run| run.loss)
    };
    let loss = step(&mut host).expect("a step");
    let whole = LaneTuning {
        piece_bytes: u64::MAX,
        ..LaneTuning::default()
    };
    let broken = Lanes::new(&fast(Duplex::Full), whole, one_way);
    host.set_carrier(Box::new(broken.expect("threads")));
    let error = step(&mut host).expect_err("no way back");
    let ExecError::Copy { step: at, problem } = error else {
        panic!("{error}");
    };
    assert!(matches!(plan.steps[at], Step::Compute { .. }), "{at}");
    assert!(problem.contains("no way back"), "{problem}");
    let works = lanes(Duplex::Full, shim::copy_part);
    host.set_carrier(Box::new(works));
    assert_eq!(step(&mut host), Ok(loss));
}

/// Host memory of another plan, and a plan without host memory.
#[test]
fn a_plan_needs_host_memory_of_its_own() {
    let (mut training, instance, plan) = case();
    let mut other = plan.clone();
    other.steps.retain(|step| {
        !matches!(
            step,
            Step::Offload { .. } | Step::Wait { .. } | Step::Prefetch { .. } | Step::Release { .. }
        )
    });
    let error = HostMemory::new(&training, &instance, &other).err();
    assert!(matches!(error, Some(ExecError::Mismatch(_))), "{error:?}");
    let schedule = CheckmateSchedule::checkpoint_all(&instance);
    let plain = Plan::from_checkmate(&instance, &schedule).unwrap();
    let mut host = HostMemory::new(&training, &instance, &plain).unwrap();
    assert_eq!((host.bytes(), host.peak_bytes()), (0, 0));
    let error = run_with_host(&mut training, &instance, &plan, None, &mut host, true);
    let error = error.map(|run| run.loss).unwrap_err().to_string();
    assert!(error.contains("another plan's"), "{error}");
    let error = crate::run(&mut training, &plan).map(|run| run.loss);
    assert!(
        matches!(error, Err(ExecError::Copies { .. })),
        "a run without host memory"
    );
}
