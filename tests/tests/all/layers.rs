//! Networks of equal layers: values carried over from a smaller network are valid, and lead to the
//! bound of the plain relaxation.

use remat_check::proof as checker;
use remat_formulations::AnyFormulation;
use remat_formulations::bound::smallest_budget;
use remat_formulations::checkmate::CheckmateFormulation;
use remat_formulations::life::layers::{Layout, Stack, cut, find};
use remat_formulations::monet::MonetFormulation;
use remat_formulations::monet::interval::{Interval, Row};
use remat_instances::{Instance, Semantics, zoo};
use remat_search::{Formulation, Problem, Settings, Solvable, Start, Watch};
use remat_solver::price::{
    Incumbents, Pricing, ProvenNode, Root, RootSettings, RootStart, TreeProof,
};
use remat_tests::traced;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn network(spec: &str) -> Instance {
    zoo::build(&spec.parse().unwrap()).unwrap()
}

/// A network in which the tensor at `share` of the nodes has a different size from its layer's.
fn unequal(spec: &str, share: f64) -> Instance {
    let mut data = network(spec).data().clone();
    let odd = (data.nodes.len() as f64 * share) as usize;
    data.nodes[odd].output_bytes += 1 << 20;
    Instance::new(data).unwrap()
}

/// The program of a formulation for a share of the peak without recomputation.
fn open<F: Formulation>(formulation: &F, percent: u64) -> (F::Problem<'_>, u64, u64) {
    let budget = Formulation::plain(formulation).unwrap().peak_bytes * percent / 100;
    let Start::Open(problem, least) = formulation.problem(budget, &[]).unwrap() else {
        panic!("it is searched");
    };
    (problem, budget, least)
}

/// The start of a root, and the incumbents reported meanwhile.
fn carried<P: Problem>(
    problem: &P,
    program: &P::Program,
) -> (RootStart<P::Program>, Incumbents<P::Program>) {
    let told = Incumbents::default();
    let stop = Arc::new(AtomicBool::new(false));
    let start = problem.root_start(program, &stop, &told).unwrap();
    (start, told)
}

/// Numbers of layers of stacks.
fn layers(layout: Option<&Arc<Layout>>) -> Vec<u32> {
    let stacks = layout.map_or(&[][..], |layout| layout.stacks());
    stacks.iter().map(|s| s.layers).collect()
}

/// Bounds of a root from fewer layers: the carried bound, the final bound from there, and the plain
/// root's.
fn bounds<F: Formulation>(formulation: &F, spec: &str, percent: u64) -> [f64; 3] {
    let (problem, _, _) = open(formulation, percent);
    let program = problem.program().unwrap();
    let (start, told) = carried(&problem, &program);
    let carried = told.bound();
    let settings = RootSettings::default();
    let plain = Root::solve(program.clone(), &settings, &Incumbents::default()).unwrap();
    let warm = Root::solve_from(program, &settings, &told, start).unwrap();
    let bounds = [carried, warm.safe_bound(), plain.safe_bound()].map(|b| b as f64);
    println!(
        "{spec}: carried {}, from there {} ({} pivots), plain {} ({})",
        bounds[0],
        bounds[1],
        warm.iterations(),
        bounds[2],
        plain.iterations()
    );
    let [carried, warm, plain] = bounds;
    assert!(
        carried <= warm && carried >= 0.995 * plain,
        "{spec}: {carried}"
    );
    bounds
}

/// The root from fewer layers ends at the value of the plain one.
fn meets_the_plain_root<F: Formulation>(formulation: &F, spec: &str, percent: u64) {
    let [_, warm, plain] = bounds(formulation, spec, percent);
    assert!(
        (warm - plain).abs() <= 5e-6 * plain,
        "{spec}: {warm} and {plain}"
    );
}

#[test]
fn a_root_from_fewer_layers_ends_where_the_plain_one_ends() {
    // At 20% of Bert the value does not move for some rounds of eager cutting before it rises
    // further.
    let networks = [("zoo:gpt2?layers=16", 60), ("zoo:bert?layers=16", 20)];
    for (spec, percent) in networks {
        meets_the_plain_root(&CheckmateFormulation::new(network(spec)), spec, percent);
    }
}

/// Layers of a traced step are found although its end reads all their gradients; if one gradient is
/// missing there, they are not.
#[test]
fn a_traced_step_is_a_stack_whose_gradients_stay_until_its_end() {
    let step = traced::layers(16);
    let formulation = CheckmateFormulation::new(step.clone());
    let stack = Stack {
        layers: 16,
        forward: 6,
        backward: 9,
    };
    assert_eq!(formulation.layers().unwrap().stacks(), [stack]);
    for percent in [75, 85] {
        meets_the_plain_root(&formulation, "a traced step", percent);
    }

    let mut data = step.data().clone();
    let end = data.nodes.len() - 1;
    let needs = &mut data.nodes[end].implementations[0].needs;
    needs.remove(needs.len() / 2);
    let picked = CheckmateFormulation::new(Instance::new(data).unwrap());
    assert!(layers(picked.layers()).is_empty());
}

#[test]
fn what_is_cut_out_of_a_traced_step_is_that_of_fewer_layers() {
    let (large, few) = (traced::layers(30), traced::layers(12));
    let layout = find(&large, Semantics::Checkmate).unwrap();
    let small = layout.with_layers(&[12]);
    let found = cut(&large, &layout, &small, Semantics::Checkmate).unwrap();
    assert_eq!(found.len(), few.len());
    for i in few.ids() {
        let [a, b] = [&found, &few].map(|g| g.node(i));
        assert_eq!(a.kind, b.kind, "{i}");
        assert_eq!(a.implementations, b.implementations, "{i}");
        assert_eq!(a.output_bytes, b.output_bytes, "{i}");
    }
}

#[test]
fn a_root_of_monet_from_fewer_layers_ends_where_the_plain_one_ends() {
    for percent in [75, 80] {
        let spec = "zoo:llama?layers=14&batch=4";
        let formulation = MonetFormulation::new(network(spec)).unwrap();
        meets_the_plain_root(&formulation, spec, percent);
    }
}

/// A root from fewer layers ends with a bound no lower than the plain root's, where the plain root
/// ends early.
#[test]
fn a_root_of_monet_from_fewer_layers_ends_no_lower_than_the_plain_one() {
    let spec = "zoo:gpt2?layers=14&batch=16";
    let formulation = MonetFormulation::new(network(spec)).unwrap();
    let [_, warm, plain] = bounds(&formulation, spec, 85);
    assert!(warm >= plain, "{warm} and {plain}");
}

#[test]
fn a_network_with_an_unequal_layer_has_bounds_that_the_judge_accepts() {
    has_bounds_that_the_judge_accepts(unequal("zoo:gpt2?layers=26", 0.25), 60, 2);
}

#[test]
fn a_traced_step_has_bounds_that_the_judge_accepts() {
    has_bounds_that_the_judge_accepts(traced::layers(24), 80, 1);
}

fn has_bounds_that_the_judge_accepts(instance: Instance, percent: u64, stacks: usize) {
    let formulation = CheckmateFormulation::new(instance);
    assert_eq!(layers(formulation.layers()).len(), stacks);
    let (problem, _, least) = open(&formulation, percent);
    let program = problem.program().unwrap();
    let (start, told) = carried(&problem, &program);
    let settings = RootSettings {
        cut_rounds: 4,
        dense_cuts: false,
        ..RootSettings::default()
    };
    let root = Root::solve_from(program.clone(), &settings, &told, start).unwrap();
    assert!(root.safe_bound() > least);
    let proof = problem.proof(&program, &root.proof()).unwrap();
    assert_eq!(proof.bound(), Some(root.safe_bound()));
    let parsed = checker::parse(proof.text()).unwrap();
    checker::check(&parsed, formulation.instance()).unwrap();
    let known = problem.known(&Watch::new(&Settings::default(), &()));
    let cost = known.iter().map(|found| found.cost).min().unwrap();
    assert!(
        root.safe_bound() <= cost && cost <= root.safe_bound() * 101 / 100,
        "{cost}"
    );
}

/// Every schedule found satisfies every carried row and costs at least the bound, whose proof the
/// judge accepts.
fn schedules_meet_what_is_carried(instance: Instance, percent: u64, stacks: usize) {
    let formulation = MonetFormulation::new(instance).unwrap();
    assert_eq!(layers(formulation.layers()).len(), stacks);
    let (problem, budget, least) = open(&formulation, percent);
    let program = problem.program().unwrap();
    let (start, told) = carried(&problem, &program);
    assert!(told.bound() > least);
    let settings = Settings {
        time_limit: Some(Duration::from_secs(4)),
        threads: 1,
        ..Settings::default()
    };
    let (rows, duals): (Vec<Row>, Vec<f64>) = start.proof.iter().cloned().unzip();
    let bound = program.lagrangian_bound(&program.no_exclusions(), &rows, &duals);
    let root = ProvenNode {
        above: None,
        bound,
        duals: (0..).zip(duals).collect(),
    };
    let nodes = vec![root];
    let proof = problem.proof(&program, &TreeProof { rows, nodes }).unwrap();
    assert_eq!(proof.bound(), Some(bound));
    let parsed = checker::parse(proof.text()).unwrap();
    checker::check(&parsed, formulation.instance()).unwrap();
    let known = problem.known(&Watch::new(&settings, &()));
    assert!(!known.is_empty());
    let carried = start.proof.iter().map(|(row, _)| row).chain(&start.tight);
    let carried: Vec<&Row> = carried.collect();
    assert!(carried.len() > program.columns, "{}", carried.len());
    for found in known {
        assert!(
            told.bound() <= found.cost,
            "{} {}",
            told.bound(),
            found.cost
        );
        let (schedule, replay) = problem.judge(found).unwrap();
        assert!(replay.peak_bytes <= budget);
        let intervals = Interval::of_schedule(&program, &schedule);
        let choices: Vec<usize> = (0..program.stages)
            .map(|t| program.choice_of(t, schedule.backward_choice[t]))
            .collect();
        for row in &carried {
            assert!(row.holds(&program, &intervals, &choices), "{row:?}");
        }
    }
}

#[test]
fn schedules_of_monet_meet_the_rows_that_are_carried() {
    schedules_meet_what_is_carried(network("zoo:bert?layers=16"), 40, 1);
    let variants = "zoo:resnet152?implementations=monet&batch=64";
    schedules_meet_what_is_carried(network(variants), 70, 1);
}

#[test]
fn schedules_of_monet_meet_the_rows_of_a_network_with_an_unequal_layer() {
    schedules_meet_what_is_carried(unequal("zoo:gpt2?layers=26&batch=16", 0.25), 70, 2);
}

/// At the least budget of any plan, the small networks are about at their least budget too: their
/// roots may end by the time limit, or be infeasible.
#[test]
fn bounds_hold_at_the_least_budget() {
    let settings = Settings {
        time_limit: Some(Duration::from_secs(3)),
        threads: 2,
        ..Settings::default()
    };
    let mut planned = 0;
    for spec in ["zoo:gpt2?layers=14", "zoo:gpt2?layers=30", "zoo:chain?n=40"] {
        let formulation = CheckmateFormulation::new(network(spec));
        assert_eq!(layers(formulation.layers()).len(), 1, "{spec}");
        let budget = smallest_budget(formulation.instance()).needed_bytes;
        let Start::Open(problem, least) = formulation.problem(budget, &[]).unwrap() else {
            panic!("{spec} is searched");
        };
        let program = problem.program().unwrap();
        let told = Incumbents::default();
        let stop = Arc::new(AtomicBool::new(false));
        problem.root_start(&program, &stop, &told);
        let known = problem.known(&Watch::new(&settings, &()));
        let outcome = formulation.solve(budget, &[], &settings, &()).unwrap();
        assert!(outcome.bound >= least);
        let costs = known.iter().map(|found| found.cost);
        let best = costs.chain(outcome.replay.map(|replay| replay.cost)).min();
        if let Some(best) = best {
            planned += 1;
            assert!(told.bound() <= best && outcome.bound <= best, "{spec}");
        }
    }
    assert!(planned >= 2, "{planned}");
}

#[test]
fn equal_names_with_unequal_sizes_are_no_layers() {
    let mut data = network("zoo:gpt2?layers=30").data().clone();
    for (i, node) in data.nodes.iter_mut().enumerate() {
        node.output_bytes += 256 * (i as u64 * i as u64 % 97);
    }
    let formulation = CheckmateFormulation::new(Instance::new(data).unwrap());
    assert!(formulation.layers().is_none());
}

/// A layer with a different implementation is equal to the others in Checkmate's program, which
/// ignores implementations, and unequal to all of them in MONeT's.
#[test]
fn layers_of_other_implementations_are_unlike_for_monet_alone() {
    let mut data = network("zoo:resnet152?implementations=monet")
        .data()
        .clone();
    let several = |i: &usize| data.nodes[*i].implementations.len() > 1;
    let forward: Vec<usize> = (0..data.nodes.len() / 2).filter(several).collect();
    let odd = forward[forward.len() / 2];
    data.nodes[odd].implementations[1].workspace_bytes += 4096;
    let instance = Instance::new(data).unwrap();
    let stacks = |semantics| {
        let formulation = AnyFormulation::of(&instance, semantics).unwrap();
        let layers: Vec<u32> = formulation.layers().iter().map(|s| s.layers).collect();
        layers
    };
    let [checkmate, monet] = [Semantics::Checkmate, Semantics::Monet].map(stacks);
    assert_eq!(checkmate.len(), 1, "{checkmate:?}");
    assert!(monet.iter().max() < checkmate.iter().max(), "{monet:?}");
}
