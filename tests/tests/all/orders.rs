//! Orders of training graphs: published graphs to the byte, small graphs against dynamic
//! programming, proofs against the checker.

use remat_check::order as checker;
use remat_instances::order::{
    Operator, OperatorId, OrderGraph, OrderGraphData, Tensor, TensorId, Variant, read_order_graph,
    read_order_graph_bytes,
};
use remat_instances::{Semantics, zoo};
use remat_memory::order::{
    BoundKind, Olla, OrderBaselines, OrderBounds, OrderOutcome, OrderSearch, OrderSettings, Rule,
};
use remat_search::{Listener, Status};
use remat_tests::graphs::Numbers;
use remat_tests::{files, orders, shared_data};
use serde_json::Value;

/// Random graphs that are compared with dynamic programming, unless the variable sets their number.
const GRAPHS: u64 = 400;
const GRAPHS_VARIABLE: &str = "REMAT_ORDER_GRAPHS";

/// A search that ends with a proof.
fn search(graph: &OrderGraph, variant: Variant) -> OrderSearch<'_> {
    OrderSearch::new(graph).variant(variant).threads(2)
}

/// Proves the bound of an outcome, and has it checked; returns the proof.
fn proven(graph: &OrderGraph, variant: Variant, outcome: &OrderOutcome) -> String {
    let proof = search(graph, variant).prove(outcome).unwrap();
    let proof = proof.unwrap_or_else(|| panic!("{} has no proof", graph.name()));
    let checked = checker::check(graph, proof.text());
    let checked = checked.unwrap_or_else(|e| panic!("{} {variant}: {e}", graph.name()));
    assert_eq!(checked.bound_bytes, outcome.bound_bytes);
    assert_eq!(checked.variant, variant);
    proof.text().to_owned()
}

#[test]
fn published_graphs_have_their_reference_values_to_the_byte() {
    let Some(folder) = shared_data("order") else {
        return;
    };
    let table = std::fs::read_to_string(folder.join("reference.csv")).unwrap();
    let mut rows = 0;
    for row in table.lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let bytes = |k: usize| cells[k].parse::<u64>().unwrap();
        let graph = read_order_graph(folder.join(format!("{}.json.gz", cells[0]))).unwrap();
        let variant: Variant = cells[1].parse().unwrap();
        let sizes = (
            graph.len() as u64,
            graph.tensors().len() as u64,
            graph.base_bytes(),
        );
        assert_eq!(sizes, (bytes(2), bytes(3), bytes(4)));
        if variant != Variant::Ctl {
            let program = graph.replay(variant, graph.program_order()).unwrap();
            assert_eq!(program.peak_bytes, bytes(5), "{row}");
        }
        let baselines = OrderBaselines::of(&graph, variant).unwrap();
        assert_eq!(
            baselines.rule(Rule::Lpmf).replay.peak_bytes,
            bytes(6),
            "{row}"
        );
        let bounds = OrderBounds::of(&graph, variant).unwrap();
        assert_eq!(bounds.forced_lives_bytes, bytes(7), "{row}");
        assert_eq!(bounds.node_cut_bytes, bytes(8), "{row}");
        // These two take 11 and 17 s, and their optimum is open in the table.
        if cells[11] != "yes" {
            continue;
        }
        let outcome = search(&graph, variant).run().unwrap();
        assert_eq!(outcome.status, Status::Optimal, "{row}");
        assert_eq!(outcome.peak_bytes(), bytes(10), "{row}");
        proven(&graph, variant, &outcome);
        rows += 1;
    }
    assert!(rows >= 24, "{rows} rows");
}

#[test]
fn the_unit_cases_of_olla_have_their_values() {
    let Some(folder) = shared_data("order") else {
        return;
    };
    let text = std::fs::read_to_string(folder.join("unit_cases.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let (mut cases, mut programs) = (0, 0);
    for case in document["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        if case["graph"].is_null() {
            continue;
        }
        let graph = read_order_graph_bytes(name, case["graph"].to_string().as_bytes()).unwrap();
        if case["kind"] != "order" {
            continue;
        }
        let expect = &case["expect"];
        // The program order of `two_hills` runs a reader before its producer.
        if let Ok(program) = graph.replay(Variant::Free, graph.program_order()) {
            let steps: Vec<u64> = serde_json::from_value(expect["program_steps"].clone()).unwrap();
            assert_eq!(program.step_bytes(), steps, "{name}");
            programs += 1;
        }
        let baselines = OrderBaselines::of(&graph, Variant::Free).unwrap();
        let program = baselines.rule(Rule::Program).replay.peak_bytes;
        assert_eq!(Some(program), expect["program_peak"].as_u64(), "{name}");
        for (variant, field) in [
            (Variant::Free, "optimum"),
            (Variant::Sound, "sound_optimum"),
        ] {
            let Some(optimum) = expect[field].as_u64() else {
                continue;
            };
            let outcome = search(&graph, variant).run().unwrap();
            let found = (outcome.peak_bytes(), outcome.bound_bytes);
            assert_eq!(found, (optimum, optimum), "{name}");
            assert_eq!(orders::least_peak(&graph, variant), optimum, "{name}");
            proven(&graph, variant, &outcome);
        }
        cases += 1;
    }
    assert!(
        cases >= 15 && programs + 1 >= cases,
        "{cases} cases, {programs} programs"
    );
}

#[test]
fn levels_overlaps_and_control_edges_are_those_of_olla() {
    let Some(folder) = shared_data("order") else {
        return;
    };
    let text = std::fs::read_to_string(folder.join("unit_cases.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let (mut levels, mut pairs, mut edges) = (0, 0, 0);
    for case in document["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        if case["graph"].is_null() {
            continue;
        }
        let graph = read_order_graph_bytes(name, case["graph"].to_string().as_bytes()).unwrap();
        let olla = Olla::of(&graph);
        let operators = graph.operators();
        let id = |name: &Value| {
            let mut all = operators.iter();
            all.position(|v| Some(v.name.as_str()) == name.as_str())
                .unwrap()
        };
        let expect = &case["expect"];
        for (field, found) in [
            ("forward", olla.forward_levels()),
            ("backward", olla.backward_levels()),
        ] {
            for (operator, level) in expect[field].as_object().into_iter().flatten() {
                let found = found[id(&operator.as_str().into())];
                assert_eq!(Some(u64::from(found)), level.as_u64(), "{name}: {operator}");
                levels += 1;
            }
        }
        for pair in expect["pairs"].as_array().into_iter().flatten() {
            let tensor = |k: usize| TensorId(pair[k].as_u64().unwrap() as u32);
            let found = olla.may_overlap(tensor(0), tensor(1));
            assert_eq!(Some(found), pair[2].as_bool(), "{name}: {pair}");
            pairs += 1;
        }
        if let Some(wanted) = expect["edges"].as_array() {
            let wanted: Vec<_> = wanted.iter().map(|e| [id(&e[0]), id(&e[1])]).collect();
            let found = olla.early_edges();
            let found: Vec<_> = found.iter().map(|e| e.map(|v| v.index())).collect();
            assert_eq!(found, wanted, "{name}");
            edges += 1;
        }
    }
    assert!(levels >= 50 && pairs >= 15 && edges >= 2);
    for file in files(&folder, "gz") {
        let graph = read_order_graph(&file).unwrap();
        let mut wanted = graph.data().olla_early_edges.clone();
        wanted.sort_unstable();
        assert_eq!(Olla::of(&graph).early_edges(), wanted, "{}", graph.name());
    }
}

/// Whether the precedence below the least peak refutes every order, by a proof with pairs of
/// operators. The checker accepts it, and refuses one of a larger bound or with a pair left out.
fn refutes(graph: &OrderGraph, variant: Variant, mut outcome: OrderOutcome) -> bool {
    let best = outcome.bound_bytes;
    outcome.bound_by = BoundKind::Precedence;
    outcome.bound_bytes = best + 1;
    assert!(search(graph, variant).prove(&outcome).unwrap().is_none());
    outcome.bound_bytes = best;
    let proof = search(graph, variant).prove(&outcome).unwrap();
    let Some(proof) = proof.filter(|proof| proof.text().contains("\nprecedence\n")) else {
        return false;
    };
    let text = proof.text();
    assert_eq!(checker::check(graph, text).unwrap().bound_bytes, best);
    let bold = text.replace(&format!("bound {best}\n"), &format!("bound {}\n", best + 1));
    assert!(checker::check(graph, &bold).is_err());
    let is_pair = |line: &str| line.starts_with("ahead") || line.starts_with("behind");
    let Some(pair) = text.lines().find(|line| is_pair(line)) else {
        return false;
    };
    let words: Vec<&str> = pair.split(' ').collect();
    let other = if words[0] == "ahead" {
        "behind"
    } else {
        "ahead"
    };
    let turned = text.replacen(pair, &format!("{other} {} {}", words[1], words[2]), 1);
    let cycle = text.replacen(pair, &format!("{} {} {}", words[0], words[1], words[1]), 1);
    assert!(checker::check(graph, &cycle).is_err());
    // The pair turned round has the flow of another case.
    checker::check(graph, &turned).is_err()
}

#[test]
fn small_graphs_of_every_kind_have_the_optimum_of_dynamic_programming() {
    let graphs = std::env::var(GRAPHS_VARIABLE).ok();
    let graphs = graphs.map_or(GRAPHS, |text| text.parse().expect("a number of graphs"));
    let (mut problems, mut searched, mut cuts, mut refuted) = (0, 0, 0, 0);
    for (seed, graph) in (0..graphs).filter_map(|seed| Some((seed, orders::random(seed)?))) {
        for variant in [Variant::Free, Variant::Sound] {
            if graph.problem(variant).is_err() {
                continue;
            }
            problems += 1;
            let best = orders::least_peak(&graph, variant);
            let bounds = OrderBounds::of(&graph, variant).unwrap();
            assert!(
                bounds.working_set_bytes <= bounds.forced_lives_bytes,
                "seed {seed}"
            );
            assert!(bounds.node_cut_bytes <= best, "seed {seed}");
            let outcome = search(&graph, variant).threads(1).run().unwrap();
            let found = (outcome.peak_bytes(), outcome.bound_bytes);
            assert_eq!(found, (best, best), "seed {seed}, {variant}");
            let proof = proven(&graph, variant, &outcome);
            let bold = proof.replace(&format!("bound {best}\n"), &format!("bound {}\n", best + 1));
            assert!(
                checker::check(&graph, &bold).is_err(),
                "seed {seed}, {variant}: bold"
            );
            searched += usize::from(outcome.states > 0);
            cuts += usize::from(proof.contains("\ncut "));
            refuted += usize::from(refutes(&graph, variant, outcome));
            let within = search(&graph, variant).budget(best).run().unwrap();
            assert!(within.peak_bytes() <= best, "seed {seed}");
            if best > 0 {
                let below = search(&graph, variant).budget(best - 1).run().unwrap();
                assert_eq!(below.status, Status::Infeasible, "seed {seed}");
                assert!(below.bound_bytes > best - 1, "seed {seed}");
            }
        }
    }
    println!(
        "{problems} problems, {searched} searched, {cuts} proven by a cut, {refuted} by precedence"
    );
    assert!(problems as u64 > graphs && searched > 0 && cuts > 0 && refuted > 0);
}

#[test]
fn larger_graphs_are_proven_best_by_orders_and_proofs() {
    let mut levels = 0;
    for graph in (0..80).filter_map(orders::larger) {
        let outcome = search(&graph, Variant::Free).run().unwrap();
        assert_eq!(outcome.status, Status::Optimal, "{}", graph.name());
        assert_eq!(outcome.peak_bytes(), outcome.bound_bytes);
        levels += usize::from(proven(&graph, Variant::Free, &outcome).contains("\nlevels "));
    }
    assert!(levels > 5, "{levels}");
}

#[test]
fn damaged_proofs_are_refused() {
    let mut refused = 0;
    let mut levels = 0;
    for graph in (0..400).filter_map(orders::random) {
        let outcome = search(&graph, Variant::Free).run().unwrap();
        let proof = proven(&graph, Variant::Free, &outcome);
        let lines: Vec<&str> = proof.lines().collect();
        levels += usize::from(proof.contains("\nlevels "));
        // Without a flow that it needs, a cut proves less.
        for k in (0..lines.len()).filter(|k| lines[*k].starts_with("t ")) {
            let mut less = lines.clone();
            less.remove(k);
            refused += usize::from(checker::check(&graph, &(less.join("\n") + "\n")).is_err());
        }
        // A set that is left out is missed, unless no other set leads to it.
        let steps = |k: &usize| {
            let next = lines.get(*k + 1).copied().unwrap_or("");
            lines[*k].starts_with("s ") && !next.starts_with(['f', 'c'])
        };
        if let Some(last) = (0..lines.len()).rfind(steps) {
            let mut less = lines.clone();
            less.remove(last);
            assert!(
                checker::check(&graph, &(less.join("\n") + "\n")).is_err(),
                "{proof}"
            );
        }
        for (from, to) in [
            ("remat-order-proof/1", "remat-order-proof/2"),
            ("variant free", "variant all"),
            ("bound ", "bound x"),
        ] {
            assert!(checker::check(&graph, &proof.replacen(from, to, 1)).is_err());
        }
        let other = OrderGraph::new(OrderGraphData {
            name: "another".into(),
            ..graph.data().clone()
        });
        assert!(
            checker::check(&other.unwrap(), &proof)
                .unwrap_err()
                .contains("SHA-256")
        );
    }
    assert!(
        refused > 100 && levels > 5,
        "{refused} refused, {levels} by levels"
    );
}

#[test]
fn threads_change_nothing() {
    let Some(folder) = shared_data("order") else {
        return;
    };
    for file in files(&folder, "gz") {
        let graph = read_order_graph(&file).unwrap();
        let [one, many] = [1, 3].map(|threads| {
            let outcome = search(&graph, Variant::SoundRng)
                .threads(threads)
                .run()
                .unwrap();
            (
                outcome.order,
                outcome.bound_bytes,
                outcome.states,
                outcome.found_by,
            )
        });
        assert_eq!(one, many, "{}", graph.name());
    }
}

/// A graph in layers that takes every search some time.
fn wide(operators: u32, width: u32) -> OrderGraph {
    let mut numbers = Numbers::new(7);
    let mut data = OrderGraphData::default();
    for v in 0..operators {
        let mut operator = Operator {
            outputs: vec![TensorId(v)],
            ..Operator::default()
        };
        let low = (v / width).saturating_sub(1) * width;
        for _ in 0..if v < width { 0 } else { 2 } {
            let input = TensorId(low + numbers.below(width.into()) as u32);
            if !operator.inputs.contains(&input) {
                operator.inputs.push(input);
            }
        }
        data.operators.push(operator);
        data.tensors.push(Tensor {
            bytes: 1 + numbers.below(1000),
            ..Tensor::default()
        });
        data.program_order.push(OperatorId(v));
    }
    OrderGraph::new(data).unwrap()
}

#[test]
fn a_search_that_is_not_done_is_the_same_on_any_number_of_threads() {
    let graph = wide(180, 15);
    let [one, many] = [1, 3].map(|threads| {
        let settings = OrderSettings {
            states: 2_000,
            threads,
            ..OrderSettings::default()
        };
        let outcome = OrderSearch::new(&graph).settings(settings).run().unwrap();
        assert!(outcome.bound_bytes < outcome.peak_bytes());
        assert_eq!(outcome.status, Status::Feasible);
        (outcome.order, outcome.bound_bytes, outcome.states)
    });
    assert_eq!(one, many);
    let best = OrderBaselines::of(&graph, Variant::Free).unwrap();
    let replay = graph.replay(Variant::Free, &one.0).unwrap();
    assert!(replay.peak_bytes < best.best().replay.peak_bytes);
}

#[test]
fn alternatives_are_other_orders_within_the_peak() {
    let mut several = 0;
    for graph in (0..200).filter_map(orders::random) {
        let search = search(&graph, Variant::Free);
        let outcome = search.run().unwrap();
        let others = search
            .alternatives(&outcome.order, outcome.peak_bytes(), 5)
            .unwrap();
        for (k, other) in others.iter().enumerate() {
            assert!(*other != outcome.order && !others[..k].contains(other));
            let replay = graph.replay(Variant::Free, other).unwrap();
            assert_eq!(replay.peak_bytes, outcome.peak_bytes());
        }
        several += usize::from(others.len() > 1);
    }
    assert!(several > 50, "{several}");
}

#[test]
fn a_search_that_ends_early_has_a_valid_order_and_bound() {
    struct Impatient;
    impl Listener for Impatient {
        fn is_interrupted(&self) -> bool {
            true
        }
    }
    for graph in (1000..1060).filter_map(orders::random) {
        let best = orders::least_peak(&graph, Variant::Free);
        let settings = OrderSettings {
            states: 3,
            threads: 1,
            ..OrderSettings::default()
        };
        let short = search(&graph, Variant::Free).settings(settings);
        for search in [search(&graph, Variant::Free).listener(&Impatient), short] {
            let outcome = search.run().unwrap();
            assert!(outcome.bound_bytes <= best && best <= outcome.peak_bytes());
        }
    }
}

#[test]
fn instances_keep_their_peak_in_the_order_of_the_program() {
    for name in [
        "zoo:vgg16?batch=2",
        "zoo:resnet50?batch=1",
        "zoo:unet?batch=1",
        "zoo:gpt2?layers=2&batch=1",
    ] {
        let instance = zoo::build(&name.parse().unwrap()).unwrap();
        let graph = OrderGraph::of_instance(&instance).unwrap();
        let plain = instance.plain_replay(Semantics::Checkmate).unwrap();
        let program = graph.replay(Variant::Free, graph.program_order()).unwrap();
        assert_eq!(program.peak_bytes, plain.peak_bytes, "{name}");
        let outcome = search(&graph, Variant::Free).run().unwrap();
        assert_eq!(outcome.status, Status::Optimal, "{name}");
        assert!(outcome.peak_bytes() <= plain.peak_bytes, "{name}");
    }
}
