//! OLLA's programs. Their optima are optima of orders and addresses, and their solutions are orders
//! and placements. Models are recognised without names, in any order and scale, and never wrongly.

use remat_instances::order::{OrderGraph, Variant, read_order_graph, read_order_graph_bytes};
use remat_instances::place::{Buffer, Lives, Placement};
use remat_lp::mps::MpsFormat;
use remat_lp::{Bounds, ColId, Model, ModelBuilder, RowId, mps};
use remat_memory::memory_plan::MemoryPlanSearch;
use remat_memory::olla::{JointProgram, OrderProgram, PlaceProgram, ProgramError, Steps};
use remat_memory::order::OrderSearch;
use remat_memory::place::{PlaceSettings, place};
use remat_models::{ModelSettings, RecognisedAs, solve_integer};
use remat_solver::mip::{Control, SolveResult, SolveStatus, check_point};
use remat_tests::graphs::Numbers;
use remat_tests::models::shuffled;
use remat_tests::{orders, shared_data};
use serde_json::Value;
use std::sync::Arc;

/// A change of a row's entries and bounds.
type Change<'a> = &'a mut dyn FnMut(RowId, &mut Vec<(ColId, f64)>, &mut Bounds);

/// The model without names, with rows and columns in another order, and rows scaled and negated.
fn rewritten(model: &Model, numbers: &mut Numbers, change: Change<'_>) -> Model {
    let mut new = vec![ColId(0); model.num_cols()];
    let mut b = ModelBuilder::new(model.sense());
    b.set_offset(model.offset());
    for c in shuffled(model.num_cols(), numbers) {
        let c = ColId(c as u32);
        new[c.index()] = b.add_col(model.costs()[c.index()], model.col_bounds(c));
        b.set_integer(new[c.index()], model.is_integer(c));
    }
    for r in shuffled(model.num_rows(), numbers) {
        let row = RowId(r as u32);
        let mut entries: Vec<_> = model.row(row).collect();
        let mut bounds = model.row_bounds(row);
        change(row, &mut entries, &mut bounds);
        let scale = [1.0, -1.0, 3.0, -0.1, 1.0 / 3.0][numbers.below(5) as usize];
        let (lower, upper) = (bounds.lower * scale, bounds.upper * scale);
        let bounds = Bounds::new(lower.min(upper), lower.max(upper));
        let entries = entries.into_iter();
        let entries: Vec<_> = entries.map(|(c, v)| (new[c.index()], v * scale)).collect();
        b.add_row(bounds, entries);
    }
    b.build().unwrap()
}

fn answer(model: &Model, recognise: bool) -> (SolveResult, Option<RecognisedAs>) {
    let mut settings = ModelSettings {
        recognise,
        ..ModelSettings::default()
    };
    settings.mip.relative_gap = 0.0;
    let (result, recognised) =
        solve_integer(&Arc::new(model.clone()), &settings, Control::default()).unwrap();
    if let Some(solution) = &result.solution {
        let checked = check_point(model, &solution.x, 1e-6).unwrap();
        assert!((checked - solution.objective).abs() <= 1e-6 * checked.abs().max(1.0));
    }
    (result, recognised)
}

fn optimum(model: &Model, recognise: bool) -> (Vec<f64>, f64, Option<RecognisedAs>) {
    let (result, recognised) = answer(model, recognise);
    assert_eq!(result.status, SolveStatus::Optimal);
    let solution = result.solution.unwrap();
    (solution.x, solution.objective, recognised)
}

/// Random graphs of at most `most` operators under variants without cycles.
fn graphs(seeds: std::ops::Range<u64>, most: usize) -> impl Iterator<Item = (OrderGraph, Variant)> {
    let graphs = seeds.filter_map(orders::random);
    let small = graphs.filter(move |g| g.len() <= most);
    small.flat_map(|g| {
        let variants = [Variant::Free, Variant::Sound].into_iter();
        let sound = variants.filter(|v| g.problem(*v).is_ok());
        sound.map(|v| (g.clone(), v)).collect::<Vec<_>>()
    })
}

#[test]
fn order_programs_have_the_least_peak_as_their_optimum() {
    let (mut programs, mut above) = (0, 0);
    for (graph, variant) in graphs(0..400, 7) {
        let least = orders::least_peak(&graph, variant);
        let program = OrderProgram::new(&graph, variant, Steps::Operators).unwrap();
        let best = OrderSearch::new(&graph).variant(variant).run().unwrap();
        let point = program.point(&best.order).unwrap();
        let value = check_point(program.model(), &point, 1e-9).unwrap();
        assert_eq!(value, least as f64, "{}", graph.name());
        let (x, value, _) = optimum(program.model(), false);
        assert_eq!(value, least as f64, "{}", graph.name());
        let replay = graph.replay(variant, &program.order(&x)).unwrap();
        assert_eq!(replay.peak_bytes, least, "{}", graph.name());
        // Several operators share one of fewer steps, which may raise the optimum and never lowers
        // it.
        let published = OrderProgram::new(&graph, variant, Steps::default()).unwrap();
        if published.steps() < program.steps() {
            let (x, value, _) = optimum(published.model(), false);
            let replay = graph.replay(variant, &published.order(&x)).unwrap();
            assert!(replay.peak_bytes as f64 <= value && least as f64 <= value);
            above += usize::from(value > least as f64);
        }
        programs += 1;
    }
    assert!(programs > 300 && above > 10, "{programs} {above}");
}

#[test]
fn joint_programs_have_the_least_arena_as_their_optimum() {
    let mut programs = 0;
    for (graph, variant) in graphs(0..150, 4) {
        let best = MemoryPlanSearch::new(&graph)
            .variant(variant)
            .run()
            .unwrap();
        let program = JointProgram::new(&graph, variant, Steps::Operators).unwrap();
        let addresses = best.plan.addresses.iter().map(|a| (a.of, a.offset_bytes));
        let point = program.point(&best.plan.order.order, addresses).unwrap();
        let value = check_point(program.model(), &point, 1e-9).unwrap();
        assert_eq!(value, best.total_bytes as f64, "{}", graph.name());
        let (x, value, _) = optimum(program.model(), true);
        assert!(best.bound_bytes as f64 <= value && value <= best.total_bytes as f64);
        let (order, offsets) = program.plan(&x);
        let replay = graph.replay(variant, &order).unwrap();
        let offset = |of| offsets.iter().find(|o| o.0 == of).unwrap().1;
        let placement = Placement::new(replay.lives.iter().map(|l| offset(l.of)).collect());
        let height = placement.replay(&replay.buffers().unwrap()).unwrap().height;
        assert!(
            (graph.base_bytes() + height) as f64 <= value,
            "{}",
            graph.name()
        );
        programs += 1;
    }
    assert!(programs > 40, "{programs}");
}

#[test]
fn address_programs_have_the_least_height_as_their_optimum_and_are_recognised() {
    let mut numbers = Numbers::new(5);
    let (mut programs, mut recognised) = (0, 0);
    for seed in 0..250 {
        let lives = remat_tests::place::small_lives(seed);
        let Ok(best) = place(&lives, &PlaceSettings::default()) else {
            continue;
        };
        let program = match PlaceProgram::new(&lives) {
            Ok(program) => program,
            Err(ProgramError::Window { .. }) => continue,
            Err(e) => panic!("{e}"),
        };
        let point = program.point(&best.placement).unwrap();
        let value = check_point(program.model(), &point, 1e-9).unwrap();
        assert_eq!(value, best.height as f64, "{seed}");
        let (x, value, _) = optimum(program.model(), false);
        assert_eq!(value, best.height as f64, "{seed}");
        assert_eq!(
            program.placement(&x).replay(&lives).unwrap().height,
            best.height
        );
        let model = rewritten(program.model(), &mut numbers, &mut |_, _, _| {});
        let (_, value, found) = optimum(&model, true);
        assert!((value - best.height as f64).abs() < 1e-6, "{seed}");
        recognised += usize::from(found.is_some_and(|f| f.program == "olla-place"));
        programs += 1;
    }
    assert!(
        programs > 100 && 10 * recognised > 7 * programs,
        "{programs} {recognised}"
    );
}

#[test]
fn order_programs_are_recognised_in_any_writing() {
    let mut numbers = Numbers::new(1);
    let (mut models, mut recognised) = (0, 0);
    for (graph, variant) in graphs(0..700, 12) {
        let least = orders::least_peak(&graph, variant);
        let program = OrderProgram::new(&graph, variant, Steps::Operators).unwrap();
        let model = rewritten(program.model(), &mut numbers, &mut |_, _, _| {});
        let columns = model.num_cols();
        if columns > 150 && recognised > 0 && models % 3 > 0 {
            models += 1;
            continue;
        }
        let (_, value, found) = optimum(&model, true);
        assert!((value - least as f64).abs() < 1e-6, "{}", graph.name());
        recognised += usize::from(found.is_some_and(|f| f.program == "olla-order"));
        models += 1;
    }
    assert!(recognised > 200, "{models} {recognised}");
}

/// Changes one row of a model, and asserts that recognition does not change the answer; returns
/// whether the model was recognised.
fn changed_has_one_answer(model: &Model, numbers: &mut Numbers, name: &str) -> bool {
    let (row, kind) = (numbers.below(model.num_rows() as u64), numbers.below(5));
    let column = ColId(numbers.below(model.num_cols() as u64) as u32);
    let pick = numbers.below(100) as usize;
    let changed = rewritten(model, numbers, &mut |r, entries, bounds| {
        if u64::from(r.0) != row || entries.is_empty() {
            return;
        }
        let at = pick % entries.len();
        match kind {
            // The row has no bounds.
            0 => *bounds = Bounds::FREE,
            1 => entries[at].1 *= 2.0,
            2 => drop(entries.remove(at)),
            3 if !entries.iter().any(|e| e.0 == column) => entries.push((column, 1.0)),
            _ => bounds.upper += 1.0,
        }
    });
    let (general, _) = answer(&changed, false);
    let (special, found) = answer(&changed, true);
    assert_eq!(general.status, special.status, "{name} {row} {kind}");
    let value = |r: &SolveResult| r.solution.as_ref().map_or(0.0, |s| s.objective);
    let off = (value(&general) - value(&special)).abs();
    assert!(
        off <= 1e-6 * value(&general).abs().max(1.0),
        "{name} {row} {kind}"
    );
    found.is_some()
}

#[test]
fn changed_programs_are_never_recognised_wrongly() {
    let mut numbers = Numbers::new(9);
    let (mut models, mut recognised) = (0, 0);
    for (graph, variant) in graphs(0..500, 6) {
        let steps = [Steps::Operators, Steps::default()][numbers.below(2) as usize];
        let program = OrderProgram::new(&graph, variant, steps).unwrap();
        let found = changed_has_one_answer(program.model(), &mut numbers, graph.name());
        recognised += usize::from(found);
        models += 1;
    }
    assert!(models > 250 && recognised > 20, "{models} {recognised}");
}

#[test]
fn changed_joint_programs_are_never_recognised_wrongly() {
    let mut numbers = Numbers::new(8);
    let (mut models, mut recognised) = (0, 0);
    for (graph, variant) in graphs(0..150, 5) {
        let steps = [Steps::Operators, Steps::default()][numbers.below(2) as usize];
        let program = JointProgram::new(&graph, variant, steps).unwrap();
        if program.model().num_rows() > 0 {
            let found = changed_has_one_answer(program.model(), &mut numbers, graph.name());
            recognised += usize::from(found);
            models += 1;
        }
    }
    assert!(models > 50 && recognised > 15, "{models} {recognised}");
}

#[test]
fn joint_programs_are_recognised_in_any_writing() {
    let mut numbers = Numbers::new(2);
    let (mut models, mut recognised, mut proven) = (0, 0, 0);
    for (graph, variant) in graphs(0..200, 5) {
        let steps = [Steps::Operators, Steps::default()][numbers.below(2) as usize];
        let program = JointProgram::new(&graph, variant, steps).unwrap();
        let model = rewritten(program.model(), &mut numbers, &mut |_, _, _| {});
        let (result, found) = answer(&model, true);
        assert_eq!(result.status, SolveStatus::Optimal, "{}", graph.name());
        let solution = result.solution.unwrap();
        let (_, value, _) = optimum(&model, false);
        let off = (value - solution.objective).abs();
        assert!(off <= 1e-6 * value.abs().max(1.0), "{}", graph.name());
        recognised += usize::from(found.is_some_and(|f| f.program == "olla"));
        proven += usize::from(solution.found_by == "olla");
        models += 1;
    }
    assert!(
        models > 80 && recognised > 30 && 10 * proven > 8 * recognised,
        "{models} {recognised} {proven}"
    );
}

#[test]
fn a_published_graph_has_an_arena_as_high_as_its_least_peak() {
    let Some(folder) = shared_data("order") else {
        return;
    };
    let graph = read_order_graph(folder.join("alexnet_b1.json.gz")).unwrap();
    let program = JointProgram::new(&graph, Variant::Free, Steps::Operators).unwrap();
    let (x, value, found) = optimum(program.model(), true);
    assert_eq!(value, 395_451_552.0);
    assert_eq!(found.map(|f| (f.program, f.nodes)), Some(("olla", 68)));
    let (order, offsets) = program.plan(&x);
    let replay = graph.replay(Variant::Free, &order).unwrap();
    let offset = |of| offsets.iter().find(|o| o.0 == of).unwrap().1;
    let placement = Placement::new(replay.lives.iter().map(|l| offset(l.of)).collect());
    let height = placement.replay(&replay.buffers().unwrap()).unwrap().height;
    assert_eq!(graph.base_bytes() + height, 395_451_552);
}

#[test]
fn unit_cases_have_their_values_as_programs() {
    let Some(folder) = shared_data("order") else {
        return;
    };
    let text = std::fs::read_to_string(folder.join("unit_cases.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let (mut orders, mut places) = (0, 0);
    for case in document["cases"].as_array().unwrap() {
        let (name, expect) = (case["name"].as_str().unwrap(), &case["expect"]);
        match case["kind"].as_str().unwrap() {
            "order" => {
                let text = case["graph"].to_string();
                let graph = read_order_graph_bytes(name, text.as_bytes()).unwrap();
                let variant = Variant::Free;
                let program = OrderProgram::new(&graph, variant, Steps::Operators).unwrap();
                let general = graph.len() > 9;
                let (_, value, _) = optimum(program.model(), general);
                assert_eq!(Some(value), expect["optimum"].as_f64(), "{name}");
                orders += 1;
            }
            "place" => {
                let number = |b: &Value, field: &str| b[field].as_u64().unwrap();
                let buffers = case["buffers"].as_array().unwrap().iter().map(|b| {
                    let life = (number(b, "lower"), number(b, "upper"));
                    Buffer::new(b["id"].as_str().unwrap(), life.0, life.1, number(b, "size"))
                });
                let lives = Lives::new(buffers.collect()).unwrap();
                let program = PlaceProgram::new(&lives).unwrap();
                let (_, value, _) = optimum(program.model(), true);
                assert_eq!(Some(value), expect["height"].as_f64(), "{name}");
                places += 1;
            }
            _ => {}
        }
    }
    assert!(orders >= 15 && places >= 8, "{orders} {places}");
}

#[test]
fn published_graphs_have_their_optima() {
    let Some(folder) = shared_data("order") else {
        return;
    };
    for (name, variant, steps, bytes) in [
        (
            "alexnet_b1",
            Variant::Free,
            Steps::Operators,
            395_451_552u64,
        ),
        ("alexnet_b1", Variant::Ctl, Steps::Operators, 399_090_336),
        // Several operators share a step of the published axis.
        ("alexnet_b1", Variant::Free, Steps::default(), 395_544_736),
        ("alexnet_b1", Variant::Ctl, Steps::default(), 399_106_720),
        ("resnet18_b1", Variant::Sound, Steps::Operators, 78_546_240),
        ("resnet18_b1", Variant::Ctl, Steps::default(), 78_546_240),
    ] {
        let graph = read_order_graph(folder.join(format!("{name}.json.gz"))).unwrap();
        let program = OrderProgram::new(&graph, variant, steps).unwrap();
        let text = mps::to_string(program.model());
        let model = mps::parse(&text, MpsFormat::Auto).unwrap();
        let (x, value, found) = optimum(&model, true);
        assert_eq!(value, bytes as f64, "{name} {variant}");
        let found = found.unwrap();
        assert_eq!((found.program, found.nodes), ("olla-order", graph.len()));
        let replay = graph.replay(variant, &program.order(&x)).unwrap();
        assert!(replay.peak_bytes <= bytes);
    }
}

#[test]
fn recorded_models_are_recognised() {
    let Some(folder) = shared_data("mlsys") else {
        return;
    };
    let mut numbers = Numbers::new(3);
    for (name, program, value) in [
        ("model_order_train8", "olla-order", 760.0),
        ("model_order_train12", "olla-order", 720.0),
        ("model_addr_n24", "olla-place", 102.0),
        ("model_orderaddr_train5", "olla", 376.0),
    ] {
        let model = mps::read(folder.join(format!("{name}.mps.gz"))).unwrap();
        let again = rewritten(&model, &mut numbers, &mut |_, _, _| {});
        for model in [model, again] {
            let (_, found, recognised) = optimum(&model, true);
            assert!((found - value).abs() < 1e-6, "{name}");
            assert_eq!(recognised.map(|r| r.program), Some(program), "{name}");
        }
    }
}

#[test]
fn further_rows_count() {
    let text = r#"{"schema": "remat-order/1", "operators": [
        {"outputs": [0]}, {"outputs": [1]}, {"inputs": [0], "outputs": [2]},
        {"inputs": [1, 2]}], "tensors": [{"bytes": 9}, {"bytes": 5}, {"bytes": 1}]}"#;
    let graph = read_order_graph_bytes("four.json", text.as_bytes()).unwrap();
    let program = OrderProgram::new(&graph, Variant::Free, Steps::Operators).unwrap();
    let (_, value, found) = optimum(program.model(), true);
    assert_eq!((value, found.is_some()), (10.0, true));
    // If the second operator runs first, its tensor is in memory together with all others.
    let model = program.model();
    let name = |name: &str| {
        let mut columns = (0..model.num_cols() as u32).map(ColId);
        columns.find(|c| model.col_name(*c) == name).unwrap()
    };
    let mut b = ModelBuilder::new(model.sense());
    for c in (0..model.num_cols() as u32).map(ColId) {
        let id = b.add_col(model.costs()[c.index()], model.col_bounds(c));
        b.set_integer(id, model.is_integer(c));
    }
    for r in (0..model.num_rows() as u32).map(RowId) {
        b.add_row(model.row_bounds(r), model.row(r));
    }
    b.add_row(1.0, [(name("t1_generate_ts1"), 1.0)]);
    let (_, value, found) = optimum(&b.build().unwrap(), true);
    assert_eq!((value, found.is_some()), (15.0, true));
}

#[test]
fn steps_are_as_published() {
    let graph = |n: usize| {
        let inputs = |k: usize| match k {
            0 => String::new(),
            k => format!(r#""inputs": [{}], "#, k - 1),
        };
        let operators = (0..n).map(|k| format!(r#"{{{}"outputs": [{k}]}}"#, inputs(k)));
        let operators: Vec<_> = operators.collect();
        let tensors = vec![r#"{"bytes": 1}"#; n];
        let text = format!(
            r#"{{"schema": "remat-order/1", "operators": [{}, {{"outputs": []}}, {{}}], "tensors": [{}]}}"#,
            operators.join(","),
            tensors.join(",")
        );
        read_order_graph_bytes("chain.json", text.as_bytes()).unwrap()
    };
    let steps = |n: usize, steps| OrderProgram::new(&graph(n), Variant::Free, steps);
    assert_eq!(steps(100, Steps::default()).unwrap().steps(), 101);
    assert_eq!(steps(100, Steps::Operators).unwrap().steps(), 102);
    assert_eq!(steps(100, Steps::Published(2.0)).unwrap().steps(), 202);
    assert_eq!(steps(100, Steps::Published(0.1)).unwrap().steps(), 100);
    let few = steps(100, Steps::Count(99)).unwrap_err();
    assert_eq!(
        (few.clone(), few.to_string().contains("100 operators")),
        (
            ProgramError::Steps {
                steps: 99,
                longest: 100
            },
            true
        )
    );
}
