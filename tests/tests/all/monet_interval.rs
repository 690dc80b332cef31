//! MONeT's interval form: its rows hold at every schedule, its bounds are below every optimum.

use remat_formulations::life::{Exclusions, Which};
use remat_formulations::monet::interval::{
    Interval, MonetGraph, Point, Row, RowKind, root_bound, separate_cuts,
};
use remat_formulations::monet::original::Original;
use remat_instances::schedule::{MonetSchedule, Schedule, ScheduleFile};
use remat_instances::{Instance, Semantics, simulate};
use remat_lp::{ColId, LpOutcome, Model, RowId};
use remat_solver::mip::{Settings, SolveStatus, Solver};
use remat_solver::price::{
    Incumbents, Pricing, PrimalHeuristic, Root, RootSettings, RootStatus, SeparationSettings,
    TreeEnd, TreeSettings, Visited, search,
};
use remat_tests::graphs::Numbers;
use remat_tests::monet::{Mode, schedule, training};
use remat_tests::{files, monet_optimum, shared_data};
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;

/// Every row that is not a cut; memory rows with a random part of the passing list charged by the
/// run.
fn all_rows(graph: &MonetGraph, numbers: &mut Numbers) -> Vec<Row> {
    let mut rows = Vec::new();
    for node in 0..graph.columns as u32 {
        if graph.is_forced(node) {
            rows.push(Row::first(node));
        }
        for stage in 0..graph.stages as u32 {
            if graph.is_read(node, stage) {
                rows.push(Row::need(graph, stage, node));
            }
            if graph.last_use[node as usize].is_none_or(|last| last < stage) {
                continue;
            }
            for &input in &graph.needs[node as usize] {
                if graph.parent[node as usize] != Some(input) {
                    rows.push(Row::input(graph, stage, node, input));
                }
            }
            if let Some(parent) = graph.parent[node as usize] {
                rows.push(Row::parent(stage, node, parent, Which::All));
                if graph.may_overwrite(parent) {
                    rows.push(Row::parent(stage, node, parent, Which::InPlace));
                    rows.push(Row::parent(stage, node, parent, Which::Plain));
                }
            }
            if let Some(over) = graph.over[node as usize] {
                rows.push(Row::overwritten(graph, stage, node, over));
                if stage > 0 {
                    rows.push(Row::ended(graph, stage, node, over));
                }
            }
        }
    }
    for stage in 0..graph.stages as u32 {
        if graph.choices[stage as usize].len() > 1 {
            rows.push(Row::choose(graph, stage));
        }
        if stage > 0 {
            rows.push(Row::backward(graph, stage));
        }
        for node in 0..graph.columns as u32 {
            rows.push(Row::memory(graph, stage, node, &[], false));
            let list = graph.passing[node as usize].iter().copied().chain([node]);
            let whole: Vec<u32> = list.collect();
            let part: Vec<u32> = whole
                .iter()
                .copied()
                .filter(|_| numbers.below(2) == 0)
                .collect();
            rows.push(Row::memory(graph, stage, node, &whole, true));
            rows.push(Row::memory(graph, stage, node, &part, true));
        }
    }
    let units = 1 + numbers.below(3) as i64..;
    let rounded = rows.iter().filter(|r| r.is_memory()).flat_map(|row| {
        let units = units.clone().step_by(3).take(5);
        units.filter_map(|unit| row.rounded(graph, unit))
    });
    let rounded: Vec<Row> = rounded.collect();
    rows.extend(rounded);
    rows
}

fn choices(graph: &MonetGraph, schedule: &MonetSchedule) -> Vec<usize> {
    let ways = schedule.backward_choice.iter().enumerate();
    ways.map(|(t, &w)| graph.choice_of(t, w)).collect()
}

/// Cost of intervals and choices.
fn cost(graph: &MonetGraph, intervals: &[Interval], choices: &[usize]) -> u64 {
    let starts: u64 = intervals.iter().map(|c| c.way(graph).cost).sum();
    let backward = choices.iter().enumerate().skip(1);
    starts
        + backward
            .map(|(t, &w)| graph.choices[t][w].cost)
            .sum::<u64>()
}

/// A point far from every schedule: an average of schedules, thinned out.
fn thinned(graph: &MonetGraph, schedules: &[MonetSchedule], numbers: &mut Numbers) -> Point {
    let share = 1.0 / schedules.len() as f64;
    let mut columns = Vec::new();
    let mut ways: Vec<Vec<f64>> = graph.choices.iter().map(|c| vec![0.0; c.len()]).collect();
    for s in schedules {
        let mut kept = Interval::of_schedule(graph, s);
        kept.retain(|_| numbers.below(3) > 0);
        columns.extend(kept.into_iter().map(|c| (c, share)));
        for (t, w) in choices(graph, s).into_iter().enumerate() {
            ways[t][w] += share;
        }
    }
    Point::new(graph, columns.into_iter(), ways)
}

#[test]
fn rows_and_cuts_hold_at_random_schedules() {
    let (mut cuts, mut fitting, mut in_place) = (0, 0, 0);
    for round in 0..600 {
        let numbers = &mut Numbers::new(round);
        let mode = Mode::all().nth(round as usize % 16).unwrap();
        let instance = training(3 + round as usize % 4, mode, numbers);
        let schedules: Vec<_> = (0..10).map(|_| schedule(&instance, numbers)).collect();
        let replays: Vec<_> = schedules
            .iter()
            .map(|s| simulate::monet(&instance, s).unwrap())
            .collect();
        let mut peaks: Vec<u64> = replays.iter().map(|r| r.peak_bytes).collect();
        peaks.sort_unstable();
        let budget = peaks[4];
        let graph = MonetGraph::new(&instance, budget).unwrap();
        let mut rows = all_rows(&graph, numbers);
        // A smaller room gives more cuts to check, which hold with more room as well.
        let point = thinned(&graph, &schedules, numbers);
        let limits = SeparationSettings {
            violation: 0.01,
            per_target: 50,
            limit: 1000,
            resource_cuts: true,
            resource_cut_limit: 1000,
            dense: true,
        };
        let found = separate_cuts(&graph, &point, &limits);
        cuts += found.len();
        rows.extend(found);
        let mut squeezed = graph.clone();
        let less = (budget / 2) as i64;
        squeezed.room.iter_mut().for_each(|room| *room -= less);
        let found = separate_cuts(&squeezed, &point, &limits);
        // A rounded row holds only for the room that it was rounded with.
        let looser = |r: &Row| r.is_memory() && r.kind != RowKind::Rounded;
        let loosened = found.into_iter().filter(looser).map(|mut r| {
            r.right += less;
            r
        });
        let before = rows.len();
        rows.extend(loosened);
        cuts += rows.len() - before;
        for (s, replay) in schedules.iter().zip(&replays) {
            let intervals = Interval::of_schedule(&graph, s);
            let ways = choices(&graph, s);
            let fits = replay.peak_bytes <= budget;
            let dearer = cost(&graph, &intervals, &ways) > replay.cost;
            assert!(!(fits && dearer), "round {round}");
            fitting += usize::from(fits);
            in_place += usize::from(intervals.iter().any(|c| c.way(&graph).in_place));
            // Columns that exceed the budget alone are left out of the program, so only schedules
            // that fit are points of it.
            for row in rows.iter().filter(|_| fits) {
                let holds = row.holds(&graph, &intervals, &ways);
                assert!(holds, "round {round}: {row:?} at {intervals:?} {ways:?}");
            }
        }
    }
    println!("{cuts} cuts, {fitting} schedules that fit, {in_place} with in-place steps");
    assert!(cuts > 2_000 && fitting > 2_000 && in_place > 500);
}

#[test]
fn what_is_partly_there_is_overwritten_by_that_part_at_most() {
    let mut steps = 0;
    for round in 0..160 {
        let numbers = &mut Numbers::new(5000 + round);
        let mode = Mode::all().nth(round as usize % 16).unwrap();
        let instance = training(3 + round as usize % 4, mode, numbers);
        let graph = MonetGraph::new(&instance, 1 << 40).unwrap();
        for (v, over) in graph.over.iter().enumerate() {
            let (Some(u), Some(last)) = (*over, graph.last_use[v]) else {
                continue;
            };
            for stage in 1..=last.min(graph.last_stored(u).saturating_sub(1)) {
                let node = v as u32;
                let ways = graph.starts(node, stage);
                let Some(way) = ways.iter().position(|s| s.in_place) else {
                    continue;
                };
                let violated = |share: f64, end: u32| {
                    let interval = |node, start, end, way| Interval {
                        node,
                        start,
                        end,
                        way,
                        held: false,
                    };
                    let columns = [
                        interval(u, 0, end, 0),
                        interval(node, stage, stage, way as u16),
                    ];
                    let choices = graph.choices.iter().map(|c| {
                        let first = (0..c.len()).map(|way| f64::from(u8::from(way == 0)));
                        first.collect()
                    });
                    let columns = columns.into_iter().map(|c| (c, share));
                    let point = Point::new(&graph, columns, choices.collect());
                    point.violated_links(&graph, 1e-6)
                };
                let overwritten = Row::overwritten(&graph, stage, node, u);
                let ended = Row::ended(&graph, stage, node, u);
                assert!(violated(0.5, stage + 1).contains(&ended), "round {round}");
                assert!(
                    violated(1.0, stage + 1).contains(&overwritten),
                    "round {round}"
                );
                let fine = violated(0.5, stage);
                assert!(!fine.contains(&ended) && !fine.contains(&overwritten));
                steps += 1;
            }
        }
    }
    println!("{steps} in-place steps");
    assert!(steps > 100);
}

/// The optimum of the published program, by the general solver; `None` if it is infeasible.
fn optimum(instance: &Instance, budget: u64) -> Option<u64> {
    let original = Original::new(instance, budget, 1.0).unwrap();
    let settings = Settings {
        threads: 1,
        ..Settings::default()
    };
    let result = Solver::new(original.model().clone(), settings)
        .run()
        .unwrap();
    match result.status {
        SolveStatus::Optimal => Some(result.solution.unwrap().objective.round() as u64),
        SolveStatus::Infeasible => None,
        other => panic!("{other:?}"),
    }
}

/// A budget between a single node's need and the need of keeping everything.
fn budget(instance: &Instance, numbers: &mut Numbers) -> u64 {
    let peaks = (0..12).map(|_| {
        let s = schedule(instance, numbers);
        simulate::monet(instance, &s).unwrap().peak_bytes
    });
    let mut peaks: Vec<u64> = peaks.collect();
    peaks.sort_unstable();
    peaks[numbers.below(4) as usize] - numbers.below(4)
}

#[test]
fn root_bounds_are_below_optima_and_above_the_published_relaxation() {
    let (mut feasible, mut higher, mut tight) = (0, 0, 0);
    for round in 0..320 {
        let numbers = &mut Numbers::new(1000 + round);
        let mode = Mode::all().nth(round as usize % 16).unwrap();
        let instance = training(3 + round as usize % 2, mode, numbers);
        let budget = budget(&instance, numbers);
        let settings = RootSettings {
            ..RootSettings::default()
        };
        let root = root_bound(&instance, budget, &settings, &Incumbents::default()).unwrap();
        let graph = MonetGraph::new(&instance, budget).unwrap();
        let everything = Exclusions::none(graph.extent());
        let (rows, duals): (Vec<Row>, Vec<f64>) = root.proof.iter().cloned().unzip();
        if !rows.is_empty() {
            assert_eq!(
                graph.lagrangian_bound(&everything, &rows, &duals),
                root.safe_bound
            );
        }
        let Some(best) = optimum(&instance, budget) else {
            continue;
        };
        feasible += 1;
        assert!(
            root.safe_bound <= best,
            "round {round}: {} > {best}",
            root.safe_bound
        );
        assert_eq!(root.status, RootStatus::Converged, "round {round}");
        let original = Original::new(&instance, budget, 1.0).unwrap();
        let mut lp = remat_lp::Solver::new(original.model().clone(), remat_lp::Settings::default());
        let LpOutcome::Optimal(published) = lp.solve() else {
            panic!("round {round}");
        };
        let slack = 1e-6 * published.objective;
        assert!(
            root.lp_value >= published.objective - slack,
            "round {round}"
        );
        higher += usize::from(root.lp_value > published.objective + 0.5);
        tight += usize::from(root.safe_bound == best);
    }
    println!(
        "{feasible} feasible, {higher} above the published relaxation, {tight} at the optimum"
    );
    assert!(feasible > 150 && higher > 50 && tight > 50);
}

#[test]
fn root_bounds_are_below_enumerated_optima() {
    let (mut feasible, mut tight) = (0, 0);
    for round in 0..400 {
        let numbers = &mut Numbers::new(9000 + round);
        let (columns, backward) = (3 + numbers.below(3), 1 + numbers.below(3));
        let instance = monet_optimum::random(columns as usize, backward as usize, numbers);
        let most: u64 = instance.nodes().iter().map(|v| v.output_bytes).sum();
        let budget = most / 2 + numbers.below(most + 20);
        let Some(best) = monet_optimum::optimum(&instance, budget) else {
            continue;
        };
        let root = root_bound(
            &instance,
            budget,
            &RootSettings::default(),
            &Incumbents::default(),
        )
        .unwrap();
        let bound = root.safe_bound;
        assert!(bound <= best, "round {round}: {bound} > {best}");
        feasible += 1;
        tight += usize::from(bound == best);
    }
    println!("{feasible} feasible, {tight} at the optimum");
    assert!(feasible > 150 && tight > 50);
}

/// Largest violation of a row or a column's bounds.
fn violation(model: &Model, x: &[f64]) -> f64 {
    let over =
        |bounds: remat_lp::Bounds, value: f64| (bounds.lower - value).max(value - bounds.upper);
    let rows = (0..model.num_rows() as u32).map(RowId).map(|row| {
        let activity: f64 = model.row(row).map(|(c, v)| v * x[c.index()]).sum();
        over(model.row_bounds(row), activity)
    });
    let columns = (0..model.num_cols() as u32).map(ColId);
    let columns = columns.map(|c| over(model.col_bounds(c), x[c.index()]));
    rows.chain(columns).fold(0.0, f64::max)
}

/// Records the points that the tree finds.
struct Found<'a> {
    graph: &'a MonetGraph,
    points: RefCell<Vec<(MonetSchedule, u64)>>,
}

impl Found<'_> {
    fn integral(&self) -> Option<u64> {
        self.points.borrow().iter().map(|p| p.1).min()
    }
}

impl PrimalHeuristic<MonetGraph> for Found<'_> {
    fn run(&self, visited: Vec<Visited<MonetGraph>>, incumbents: &Incumbents<MonetGraph>) -> u64 {
        for v in visited.into_iter().filter(|v| v.integral) {
            let point = v.point.rounded(self.graph);
            incumbents.found(point.1);
            self.points.borrow_mut().push(point);
        }
        0
    }
}

#[test]
fn the_tree_ends_at_the_optimum_of_the_published_program() {
    let (mut feasible, mut infeasible, mut branched, mut replayed) = (0, 0, 0, 0);
    for round in 0..320 {
        let numbers = &mut Numbers::new(5000 + round);
        let mode = Mode::all().nth(round as usize % 16).unwrap();
        let instance = training(3 + round as usize % 2, mode, numbers);
        let budget = budget(&instance, numbers);
        let graph = Arc::new(MonetGraph::new(&instance, budget).unwrap());
        let found = Found {
            graph: &graph,
            points: RefCell::default(),
        };
        let settings = TreeSettings {
            gap: 0.0,
            ..TreeSettings::default()
        };
        // Cuts leave little to branch on: every other sixteen rounds go without.
        let bare = round % 32 >= 16;
        let root = RootSettings {
            cut_rounds: if bare { 0 } else { 60 },
            ..RootSettings::default()
        };
        let settings = TreeSettings {
            node_cut_rounds: if bare { 0 } else { 4 },
            ..settings
        };
        let incumbents = Incumbents::default();
        let root = Root::solve(graph.clone(), &root, &incumbents).unwrap();
        let tree = search(root, &settings, &incumbents, &found).unwrap();
        let best = optimum(&instance, budget);
        match best {
            Some(best) => {
                assert_eq!(
                    tree.end,
                    TreeEnd::Closed,
                    "round {round}: {tree:?}, optimum {best}"
                );
                assert_eq!(
                    (tree.bound, found.integral()),
                    (best, Some(best)),
                    "round {round}"
                );
                feasible += 1;
                branched += usize::from(tree.nodes > 1);
            }
            None => {
                assert_eq!(tree.end, TreeEnd::Infeasible, "round {round}: {tree:?}");
                infeasible += 1;
            }
        }
        // The tree's schedule is a point of the published program, at that cost; the replay
        // requires more if buffers are overwritten.
        let original = Original::new(&instance, budget, 1.0).unwrap();
        for (schedule, cost) in found.points.borrow().iter() {
            let over = violation(original.model(), &original.point(schedule));
            assert_eq!(over, 0.0, "round {round}");
            if let Ok(replay) = simulate::monet(&instance, schedule) {
                assert_eq!(replay.cost, *cost, "round {round}");
                assert!(replay.peak_bytes <= budget, "round {round}");
                replayed += 1;
            }
        }
    }
    println!(
        "{feasible} feasible, {infeasible} not, {branched} with branchings, {replayed} replayed"
    );
    assert!(feasible > 150 && infeasible > 5 && branched > 30 && replayed > 100);
}

#[test]
fn published_schedules_meet_the_rows_and_cuts_of_the_root() {
    let Some(folder) = shared_data("zoo") else {
        return;
    };
    let (mut count, mut cuts) = (0, 0);
    // A root takes seconds: every third of the networks whose root does not take minutes.
    let small = |path: &PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let tight = ["_5", "_6", "_7"].iter().any(|b| name.ends_with(b));
        !(name.starts_with("resnet") || name.starts_with("unet") && tight)
    };
    let all = files(&folder.join("solutions"), "json");
    for path in all.into_iter().filter(small).step_by(3) {
        let file = ScheduleFile::open(&path).unwrap();
        if file.semantics() != Semantics::Monet {
            continue;
        }
        let graph = folder
            .join("graphs")
            .join(format!("{}.json", file.instance()));
        let instance = remat_instances::read(graph).unwrap();
        let document = file.schedule(&instance).unwrap();
        let Schedule::Monet(published) = document.schedule else {
            panic!("{}", path.display());
        };
        let replay = simulate::monet(&instance, &published).unwrap();
        let budget = replay.peak_bytes;
        let settings = RootSettings {
            cut_rounds: 3,
            ..RootSettings::default()
        };
        let root = root_bound(&instance, budget, &settings, &Incumbents::default()).unwrap();
        assert!(root.safe_bound <= replay.cost, "{}", path.display());
        let graph = MonetGraph::new(&instance, budget).unwrap();
        let intervals = Interval::of_schedule(&graph, &published);
        let ways = choices(&graph, &published);
        assert!(
            cost(&graph, &intervals, &ways) <= replay.cost,
            "{}",
            path.display()
        );
        let mut rows: Vec<Row> = root.proof.into_iter().map(|p| p.0).collect();
        rows.extend(separate_cuts(
            &graph,
            &root.point,
            &SeparationSettings {
                dense: true,
                ..SeparationSettings::default()
            },
        ));
        for row in &rows {
            assert!(
                row.holds(&graph, &intervals, &ways),
                "{}: {row:?}",
                path.display()
            );
        }
        count += 1;
        cuts += rows.len();
    }
    println!("{count} published schedules meet {cuts} rows");
    assert!(count > 0);
}
