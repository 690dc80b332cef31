//! Networks of equal layers: what is carried over from a few of them is right, and leads where the
//! plain relaxation leads.

use remat_check::proof::{parse, tree as checker};
use remat_formulations::checkmate::CheckmateFormulation;
use remat_formulations::solve::{Formulation, Problem, Settings, Start, Watch};
use remat_instances::{Instance, zoo};
use remat_solver::price::{Incumbents, Root, RootSettings};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn network(spec: &str) -> Instance {
    zoo::build(&spec.parse().unwrap()).unwrap()
}

/// A budget as a share of the peak without recomputation.
fn budget(formulation: &CheckmateFormulation, percent: u64) -> u64 {
    Formulation::plain(formulation).unwrap().peak_bytes * percent / 100
}

#[test]
fn a_root_from_fewer_layers_ends_where_the_plain_one_ends() {
    // At 20% of Bert the value stands still for some rounds of eager cutting before it goes on.
    let networks = [
        ("zoo:gpt2?layers=16", 60),
        ("zoo:bert?layers=14", 30),
        ("zoo:bert?layers=16", 20),
        ("zoo:llama?layers=16", 80),
    ];
    for (spec, percent) in networks {
        let formulation = CheckmateFormulation::new(network(spec));
        let budget = budget(&formulation, percent);
        let Start::Open(problem, _) = formulation.problem(budget, &[]).unwrap() else {
            panic!("{spec} is searched");
        };
        let program = problem.program().unwrap();
        let told = Incumbents::default();
        let start = problem.root_start(&program, &Arc::new(AtomicBool::new(false)), &told);
        let start = start.unwrap();
        let settings = RootSettings::default();
        let plain = Root::solve(program.clone(), &settings, None, &Incumbents::default()).unwrap();
        let warm = Root::solve_from(program, &settings, &told, start).unwrap();
        let [cold, carried] = [plain.safe_bound(), told.bound()].map(|b| b as f64);
        let warm_bound = warm.safe_bound() as f64;
        println!(
            "{spec}: carried {carried}, from there {warm_bound} ({} pivots), plain {cold} ({})",
            warm.iterations(),
            plain.iterations()
        );
        assert!(
            (warm_bound - cold).abs() <= 5e-6 * cold,
            "{spec}: {warm_bound} and {cold}"
        );
        assert!(
            carried <= warm_bound && carried >= 0.995 * cold,
            "{spec}: {carried}"
        );
    }
}

#[test]
fn a_network_with_an_unequal_layer_has_bounds_that_the_judge_accepts() {
    let mut data = network("zoo:gpt2?layers=26").data().clone();
    let odd = data.nodes.len() / 4;
    data.nodes[odd].output_bytes += 1 << 20;
    let formulation = CheckmateFormulation::new(Instance::new(data).unwrap());
    let layers: Vec<u32> = formulation.layers().map_or_else(Vec::new, |layout| {
        layout.stacks().iter().map(|s| s.layers).collect()
    });
    assert_eq!(layers.len(), 2, "{layers:?}");
    let budget = budget(&formulation, 60);
    let Start::Open(problem, least) = formulation.problem(budget, &[]).unwrap() else {
        panic!("it is searched");
    };
    let program = problem.program().unwrap();
    let told = Incumbents::default();
    let stop = Arc::new(AtomicBool::new(false));
    let start = problem.root_start(&program, &stop, &told).unwrap();
    let settings = RootSettings {
        cut_rounds: 4,
        dense_cuts: false,
        ..RootSettings::default()
    };
    let root = Root::solve_from(program.clone(), &settings, &told, start).unwrap();
    assert!(root.safe_bound() > least);
    let proof = problem.proof(&program, &root.proof()).unwrap();
    assert_eq!(proof.bound(), Some(root.safe_bound()));
    let parsed = parse::parse(proof.text()).unwrap();
    checker::check(&parsed, formulation.instance()).unwrap();
    let known = problem.known(&Watch::new(&Settings::default(), &()));
    let cost = known.iter().map(|found| found.cost).min().unwrap();
    assert!(
        root.safe_bound() <= cost && cost <= root.safe_bound() * 101 / 100,
        "{cost}"
    );
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
