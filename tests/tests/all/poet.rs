//! POET's program: recognised and solved by its own method, with the general search's optima.

use remat_formulations::checkmate::interval::Row;
use remat_formulations::checkmate::path_cuts::PathCut;
use remat_formulations::offload::interval::{LinkGraph, LinkRow};
use remat_formulations::poet::{PoetFormulation, PoetLandscape, recognise, trips};
use remat_lp::{Bounds, ColId, Model, ModelBuilder, RowId, Sense, mps};
use remat_models::{ModelSettings, solve_integer};
use remat_search::anneal::{Found, Landscape, Walk, Xoshiro256};
use remat_search::recognise::Recognised;
use remat_search::{Formulation, Problem, Start};
use remat_solver::mip::{SolveResult, SolveStatus};
use remat_solver::price::{Columns, Incumbents, Pricing, Root, RootSettings, Rows};
use remat_tests::graphs::Numbers;
use remat_tests::models::violation;
use remat_tests::poet::{Input, program, random, rewritten};
use remat_tests::shared_data;
use std::sync::Arc;

/// Variable with the number of random programs; 40 if it is not set.
const PROGRAMS_VARIABLE: &str = "REMAT_POET_PROGRAMS";

fn programs() -> u64 {
    let asked = std::env::var(PROGRAMS_VARIABLE).ok();
    asked.map_or(40, |text| text.parse().unwrap())
}

fn solved(
    model: &Model,
    recognise: bool,
    starts: &[Vec<f64>],
) -> (SolveResult, Option<&'static str>) {
    let mut settings = ModelSettings {
        recognise,
        ..ModelSettings::default()
    };
    settings.mip.relative_gap = 1e-9;
    settings.mip.absolute_gap = 1e-9;
    settings.mip.threads = 1;
    settings.mip.starts = starts.to_vec();
    let model = Arc::new(model.clone());
    let (result, program) = solve_integer(&model, &settings, Default::default()).unwrap();
    (result, program.map(|p| p.program))
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-7 * a.abs().max(1e-3)
}

#[test]
fn recognised_programs_have_the_optima_of_the_general_search() {
    let (mut recognised, mut paged, mut limited) = (0, 0, 0);
    for seed in 0..programs() {
        let mut numbers = Numbers::new(seed);
        let input = random(&mut numbers);
        let plain = program(&input);
        let (general, _) = solved(&plain, false, &[]);
        let Some(best) = general.solution.map(|found| found.objective) else {
            let (result, _) = solved(&plain, true, &[]);
            assert_eq!(result.status, SolveStatus::Infeasible, "seed {seed}");
            continue;
        };
        assert_eq!(general.status, SolveStatus::Optimal, "seed {seed}");
        let other = rewritten(&plain, &mut numbers);
        for (model, value) in [(&plain, best), (&other, 3.0 + best / 2.0)] {
            let found = recognise(model).unwrap_or_else(|| panic!("seed {seed}: {input:?}"));
            let (result, program) = solved(model, true, &[]);
            assert_eq!(result.status, SolveStatus::Optimal, "seed {seed}");
            let solution = result.solution.unwrap();
            assert!(near(solution.objective, value), "seed {seed}: {solution:?}");
            assert!(result.dual_bound <= value + 1e-6, "seed {seed}");
            assert!(violation(model, &solution.x) < 1e-6, "seed {seed}");
            let start = found.schedule(&solution.x).unwrap();
            paged += start.paged_in.count_ones();
            match program {
                Some(program) => {
                    assert_eq!(program, "poet");
                    recognised += 1;
                }
                // The time limit binds.
                None => {
                    assert!(input.limit.is_some(), "seed {seed}");
                    limited += 1;
                }
            }
        }
    }
    assert!(
        recognised > 12 * limited && paged as u64 > programs() / 8,
        "{recognised} {limited} {paged}"
    );
}

/// An input whose optimum has pages: a tensor that is expensive to compute waits for a long time.
fn paging() -> Input {
    Input {
        edges: vec![(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (1, 5)],
        bytes: vec![1, 3, 3, 3, 3, 1],
        costs: (0..6).map(|_| [20.0, 1.0, 2.0]).collect(),
        time: vec![1.0; 6],
        ram: 8.0,
        limit: Some(24.0),
    }
}

#[test]
fn a_tensor_that_waits_is_paged_out_and_in() {
    let model = program(&paging());
    let (result, program) = solved(&model, true, &[]);
    assert_eq!(
        (result.status, program),
        (SolveStatus::Optimal, Some("poet"))
    );
    let solution = result.solution.unwrap();
    // Each node runs once, and there are a page-out and a page-in.
    assert_eq!(solution.objective, 123.0);
    // As a start of the program in another order of rows it is read back.
    let found = recognise(&model).unwrap();
    let schedule = found.schedule(&solution.x).unwrap();
    assert_eq!(schedule.paged_in.count_ones(), 1);
    assert_eq!(found.point(&schedule), solution.x);
    let (again, _) = solved(&model, true, &[solution.x]);
    assert_eq!(again.solution.unwrap().objective, 123.0);
}

/// The program without one of its rows.
fn without(model: &Model, row: usize) -> Model {
    let mut b = ModelBuilder::new(Sense::Minimise);
    for c in 0..model.num_cols() as u32 {
        let c = ColId(c);
        let id = b.add_col(model.costs()[c.index()], model.col_bounds(c));
        b.set_integer(id, model.is_integer(c));
        b.set_col_name(id, model.col_name(c));
    }
    for r in (0..model.num_rows()).filter(|r| *r != row) {
        let r = RowId(r as u32);
        b.add_row(model.row_bounds(r), model.row(r));
    }
    b.build().unwrap()
}

#[test]
fn programs_that_are_nearly_it_are_refused_or_solved_right() {
    let model = program(&paging());
    let mut refused = 0;
    for r in 0..model.num_rows() {
        // Rows of pages; the first and last ones of all tensors count separately.
        let names: Vec<String> = model
            .row(RowId(r as u32))
            .map(|(c, _)| model.col_name(c))
            .collect();
        let is_page = |name: &String| name.starts_with("MIn") || name.starts_with("SSd");
        if !names.iter().any(is_page) || names.len() > 4 {
            continue;
        }
        let changed = without(&model, r);
        if recognise(&changed).is_none() {
            refused += 1;
            continue;
        }
        // A redundant row may be missing: the optimum is the same with and without recognition.
        let [a, b] = [false, true].map(|recognise| solved(&changed, recognise, &[]).0);
        let [a, b] = [a, b].map(|result| result.solution.unwrap().objective);
        assert!(near(a, b), "row {r} {names:?}: {a} {b}");
    }
    assert!(refused >= 20, "{refused}");
    let mut dearer = ModelBuilder::new(Sense::Minimise);
    for c in 0..model.num_cols() as u32 {
        let c = ColId(c);
        let extra = if model.col_name(c) == "MIn[4,1]" {
            1.0
        } else {
            0.0
        };
        let id = dearer.add_col(model.costs()[c.index()] + extra, model.col_bounds(c));
        dearer.set_integer(id, model.is_integer(c));
    }
    for r in 0..model.num_rows() as u32 {
        dearer.add_row(model.row_bounds(RowId(r)), model.row(RowId(r)));
    }
    assert!(
        recognise(&dearer.build().unwrap()).is_none(),
        "page-ins of other costs"
    );
}

#[test]
fn a_cutoff_row_does_not_hide_the_program() {
    let model = program(&paging());
    let mut b = ModelBuilder::new(Sense::Minimise);
    for c in 0..model.num_cols() as u32 {
        let c = ColId(c);
        let id = b.add_col(model.costs()[c.index()], model.col_bounds(c));
        b.set_integer(id, model.is_integer(c));
    }
    for r in 0..model.num_rows() as u32 {
        b.add_row(model.row_bounds(RowId(r)), model.row(RowId(r)));
    }
    let costs = (0..).map(ColId).zip(model.costs().iter().copied());
    let costs: Vec<_> = costs.filter(|c| c.1 != 0.0).collect();
    b.add_row(Bounds::from(..=130.0), costs);
    let (result, program) = solved(&b.build().unwrap(), true, &[]);
    assert_eq!(program, Some("poet"));
    assert_eq!(result.solution.map(|s| s.objective), Some(123.0));
}

/// States of the annealing are schedules with their replayed cost and excess after any flips, and
/// return to the state before when the flips are taken back.
#[test]
fn states_of_the_annealing_are_schedules() {
    let mut pages = 0;
    for seed in 0..12 {
        let input = random(&mut Numbers::new(seed));
        let Some(found) = recognise(&program(&input)) else {
            continue;
        };
        let formulation = PoetFormulation::new(found.instance.clone());
        let start = Formulation::problem(&formulation, found.budget_bytes(), &[]).unwrap();
        let Start::Open(problem, _) = start else {
            continue;
        };
        let landscape = PoetLandscape::new(&found.instance, found.budget_bytes());
        let mut walk = landscape.walk(problem.everything());
        let mut random = Xoshiro256::new(seed, 0);
        for step in 0..400 {
            let before = (walk.cost(), walk.excess());
            let mut done = Vec::new();
            if random.one_in(3) {
                walk.leap(0.0, f64::MAX, &mut random, &mut done);
                match random.one_in(2) {
                    true => walk.settle(),
                    false => {
                        done.iter().rev().for_each(|flip| walk.take_back(*flip));
                        assert_eq!(before, (walk.cost(), walk.excess()), "{seed} {step}");
                    }
                }
            } else if let Some(flip) = walk.anywhere(&mut random) {
                let delta = walk.evaluate(flip);
                walk.apply(flip);
                assert_eq!(walk.excess(), before.1 + delta.excess, "{seed} {step}");
            }
            let sets = walk.retained();
            let fresh = landscape.walk(&sets);
            let now = (walk.cost(), walk.excess());
            assert_eq!((fresh.cost(), fresh.excess()), now, "{seed} {step}");
            let (schedule, replay) = problem
                .judge(Found {
                    cost: 0,
                    retained: sets,
                })
                .unwrap();
            pages += schedule.paged_in.count_ones();
            let fits = replay.peak_bytes <= found.budget_bytes();
            assert_eq!(fits, walk.excess() == 0.0, "{seed} {step}");
            // A tensor that is paged out and never in costs extra in the walk only.
            assert!(replay.cost <= walk.cost(), "{seed} {step}");
        }
    }
    assert!(pages > 100, "{pages}");
}

/// Some rows of each kind, of every stage.
fn rows_of(graph: &LinkGraph, numbers: &mut Numbers) -> Vec<LinkRow> {
    let n = graph.len() as u32;
    let (mut rows, _) = Rows::start(graph);
    for stage in 1..n {
        for node in 0..stage {
            rows.push(LinkRow::Base(Row::Memory {
                stage,
                node: node + 1,
                gauge: 0,
            }));
            for &reader in &graph.graph.users[node as usize] {
                if stage <= reader {
                    let path = PathCut {
                        reader,
                        from: stage,
                        path: vec![node],
                    };
                    rows.push(LinkRow::Base(Row::Path(path)));
                }
            }
        }
    }
    for node in 0..n {
        let count = numbers.below(2) as u32;
        rows.push(LinkRow::Leaves {
            node,
            at_least: count == 1,
            count,
        });
    }
    rows.sort();
    rows.dedup();
    rows
}

/// Prices of trips equal the prices by their coefficients. For all duals, no bound is above the
/// cost of a schedule that satisfies the rows.
#[test]
fn prices_are_those_of_coefficients_and_bounds_hold() {
    let (mut priced, mut paged, mut bounds) = (0, 0, 0);
    for seed in 0..40 {
        let mut numbers = Numbers::new(seed);
        let input = random(&mut numbers);
        let model = program(&input);
        let found = recognise(&model).unwrap();
        let Some(graph) = LinkGraph::with_pages(
            found.instance.graph(),
            found.instance.terms(),
            found.budget_bytes(),
        ) else {
            continue;
        };
        let (best, kind) = solved(&model, true, &[]);
        let best = found.schedule(&best.solution.unwrap().x).unwrap();
        let own = trips(&graph, &best);
        let cost: u64 = own.iter().map(|trip| graph.cost(trip)).sum::<u64>() + graph.offset();
        let rows = rows_of(&graph, &mut numbers);
        let unit = graph.cost_unit() * 300.0;
        for _ in 0..6 {
            let dual = |row: &LinkRow| {
                let share =
                    numbers.below(9) as f64 * unit * f64::from(u8::from(numbers.below(4) == 0));
                match graph.row_traits(row).sense {
                    remat_solver::price::Sense::AtMost => -share / 8.0,
                    _ => share,
                }
            };
            let duals: Vec<f64> = rows.iter().map(dual).collect();
            let open = graph.no_exclusions();
            let found = graph.price(&open, &rows, &duals, usize::MAX, 1e-9);
            for candidate in &found.candidates {
                let column = &candidate.column;
                let coefficient = |row: &LinkRow| graph.coefficient(row, (), column) as f64;
                let paid: f64 = rows
                    .iter()
                    .zip(&duals)
                    .map(|(row, y)| y * coefficient(row))
                    .sum();
                let price = graph.cost(column) as f64 - paid;
                let size = price.abs().max(paid.abs()).max(1.0);
                let same = (price - candidate.reduced_cost).abs() <= 1e-9 * size;
                assert!(same, "seed {seed}: {price} {candidate:?}");
                priced += 1;
                paged += u32::from(column.leaves() > 0);
            }
            // Only rows that the schedule's trips satisfy; it satisfies all cuts and memory rows.
            let activity = |row: &LinkRow| {
                let all = own.iter().map(|trip| graph.coefficient(row, (), trip));
                all.sum::<i64>()
            };
            let met: Vec<(LinkRow, f64)> = rows
                .iter()
                .zip(&duals)
                .filter(|(row, _)| match graph.row_traits(row).sense {
                    remat_solver::price::Sense::AtMost => activity(row) <= graph.right_side(row),
                    _ => activity(row) >= graph.right_side(row),
                })
                .map(|(row, y)| (row.clone(), *y))
                .collect();
            let is_branch = |row: &LinkRow| matches!(row, LinkRow::Leaves { .. });
            // Except for branchings, the schedule satisfies all rows of the program.
            if kind.is_some() {
                let missed = rows.iter().filter(|row| !met.iter().any(|m| m.0 == **row));
                let missed: Vec<_> = missed.filter(|row| !is_branch(row)).collect();
                assert!(missed.is_empty(), "seed {seed}: {missed:?} {own:?}");
            }
            let (met, duals): (Vec<LinkRow>, Vec<f64>) = met.into_iter().unzip();
            let bound = graph.lagrangian_bound(&open, &met, &duals);
            assert!(bound <= cost, "seed {seed}: {bound} {cost}");
        }
        let (settings, incumbents) = (RootSettings::default(), Incumbents::default());
        let base = graph.base_cost();
        let root = Root::solve(Arc::new(graph), &settings, &incumbents).unwrap();
        assert!(root.safe_bound() <= cost, "seed {seed}");
        bounds += u32::from(root.safe_bound() > base);
    }
    assert!(
        priced > 1_000 && paged > 100 && bounds > 5,
        "{priced} {paged} {bounds}"
    );
}

/// A recorded program, if the data are present.
fn recorded(name: &str) -> Option<Model> {
    let path = shared_data("mlsys")?.join(format!("{name}.mps.gz"));
    Some(mps::read(path).unwrap())
}

#[test]
fn the_recorded_linear_network_is_proven() {
    let Some(model) = recorded("poet_linear_a72_r3500") else {
        return;
    };
    let (result, program) = solved(&model, true, &[]);
    assert_eq!(program, Some("poet"));
    assert_eq!(result.status, SolveStatus::Optimal);
    let best = result.solution.unwrap();
    // The reference is HiGHS's, with costs multiplied by 10^4.
    assert!(near(best.objective, 0.00659972797477), "{best:?}");
    let is_whole = |(x, c): (&f64, u32)| !model.is_integer(ColId(c)) || *x == 0.0 || *x == 1.0;
    assert!(best.x.iter().zip(0..).all(is_whole));
}

#[test]
fn the_recorded_vgg16_has_a_good_solution() {
    let Some(model) = recorded("poet_vgg16_cifar_a72_r2000000") else {
        return;
    };
    let mut settings = ModelSettings::default();
    settings.mip.limits.seconds = Some(2.0);
    let solved = solve_integer(&Arc::new(model), &settings, Default::default());
    let (result, program) = solved.unwrap();
    assert_eq!(program.map(|p| (p.program, p.nodes)), Some(("poet", 81)));
    let best = result.solution.unwrap();
    // HiGHS has 49.7835 after 30 s.
    assert!(best.objective < 49.7834956346, "{}", best.objective);
    assert!(result.dual_bound > 49.7365 && result.dual_bound <= best.objective);
}
