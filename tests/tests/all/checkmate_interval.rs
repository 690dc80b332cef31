//! The interval form: its rows hold at every schedule, its bounds are below every optimum and reach
//! the known values.

use remat_formulations::checkmate::graph::CheckmateGraph;
use remat_formulations::checkmate::interval::{Interval, IntervalPoint, Row, root_bound, written};
use remat_formulations::checkmate::path_cuts::{SeparationSettings, separate};
use remat_formulations::life::Exclusions;
use remat_instances::Instance;
use remat_instances::schedule::CheckmateSchedule;
use remat_instances::simulate;
use remat_solver::price::{Incumbents, Pricing, Root, RootSettings, RootStatus};
use remat_tests::graphs::{Numbers, general, random_schedule, tight_budget, training};
use remat_tests::{brute, shared_data};
use std::sync::Arc;

fn random_instance(round: usize, numbers: &mut Numbers) -> Instance {
    match round % 2 {
        0 => general(4 + round % 5, numbers),
        _ => training(2 + round % 3, numbers),
    }
}

/// All rows of a graph but cuts.
fn all_rows(graph: &CheckmateGraph) -> Vec<Row> {
    let mut rows = Vec::new();
    for t in 0..graph.len() as u32 {
        for k in 0..=t {
            for gauge in 0..graph.gauges.len() as u32 {
                rows.push(Row::Memory {
                    stage: t,
                    node: k,
                    gauge,
                });
            }
            for &input in &graph.needs[k as usize] {
                rows.push(if k == t {
                    Row::Need {
                        node: input,
                        reader: t,
                    }
                } else {
                    Row::Input {
                        stage: t,
                        node: k,
                        input,
                    }
                });
            }
        }
    }
    rows
}

/// A combination of schedules with most intervals thinned out, so that it is no schedule's
/// neighbour.
fn thinned(
    graph: &CheckmateGraph,
    schedules: &[CheckmateSchedule],
    numbers: &mut Numbers,
) -> IntervalPoint {
    let mut all: Vec<Interval> = schedules
        .iter()
        .flat_map(|s| Interval::of_schedule(graph, s))
        .collect();
    all.sort();
    let share = 1.0 / schedules.len() as f64;
    let stay = numbers.below(3);
    let groups = all.chunk_by(|a, b| a == b).map(|g| {
        let spared = !g[0].is_recomputed() && numbers.below(3) < stay;
        let factor = if spared {
            2.0
        } else {
            numbers.below(10) as f64 / 12.0
        };
        (g[0], (g.len() as f64 * share * factor).min(1.0))
    });
    IntervalPoint::new(groups.collect::<Vec<_>>().into_iter())
}

/// The point half way between schedules.
fn average(graph: &CheckmateGraph, schedules: &[CheckmateSchedule]) -> IntervalPoint {
    let share = 1.0 / schedules.len() as f64;
    let all = schedules
        .iter()
        .flat_map(|s| Interval::of_schedule(graph, s));
    let mut all: Vec<Interval> = all.collect();
    all.sort_unstable();
    let groups: Vec<(Interval, f64)> = all
        .chunk_by(|a, b| a == b)
        .map(|g| (g[0], g.len() as f64 * share))
        .collect();
    IntervalPoint::new(groups.into_iter())
}

#[test]
fn rows_and_cuts_hold_at_every_schedule_that_fits() {
    let mut numbers = Numbers::new(3);
    let (mut checks, mut cuts, mut memory_cuts, mut with_companions) = (0, 0, 0, 0);
    let (mut tight, mut covers, mut full) = (0, 0, [0; 2]);
    for round in 0..400 {
        let instance = random_instance(round, &mut numbers);
        let schedules: Vec<_> = (0..12)
            .map(|_| random_schedule(&instance, &mut numbers))
            .collect();
        let peak = |s: &CheckmateSchedule| simulate::checkmate(&instance, s).unwrap().peak_bytes;
        let mut peaks: Vec<u64> = schedules.iter().map(&peak).collect();
        peaks.sort_unstable();
        let budget = peaks[3 + round % 6];
        let Ok(graph) = CheckmateGraph::new(&instance, budget) else {
            continue;
        };
        let mut rows = all_rows(&graph);
        // Cuts of a point that no schedule is near to.
        let point = thinned(&graph, &schedules, &mut numbers);
        let limits = SeparationSettings {
            violation: 0.01,
            per_target: 9,
            limit: 200,
            resource_cuts: true,
            resource_cut_limit: 200,
            dense: true,
        };
        let found = separate(&graph, &point.fractional(&graph), 0, &limits);
        cuts += found.len();
        rows.extend(found.into_iter().map(|f| Row::Path(f.cut)));
        // Covers cut off averages of schedules that do not fit.
        for some in schedules.windows(3) {
            let found = average(&graph, some).violated_covers(&graph);
            covers += found.len();
            rows.extend(found);
        }
        // Window, path and companions do not depend on the capacity: a smaller one gives more cuts
        // to check.
        let mut squeezed = graph.clone();
        squeezed.capacity /= 4;
        let found = point.violated_path_memory(&squeezed, &limits);
        memory_cuts += found.len();
        // Any companions make a valid cut.
        let mut more = found.clone();
        for cut in &mut more {
            let (a, b, j) = (cut.path.from, cut.path.reader, cut.path.source());
            cut.companions.clear();
            cut.other_bytes = u64::MAX;
            for t in a..=b {
                let mut sum = 0;
                for k in 0..t {
                    let own = k == j || graph.needs[j as usize].contains(&k);
                    if !own && !cut.staying.contains(&k) && numbers.below(3) > 0 {
                        cut.companions.push((t, k));
                        sum += graph.bytes[k as usize];
                    }
                }
                cut.other_bytes = cut.other_bytes.min(sum);
            }
            with_companions += usize::from(!cut.companions.is_empty());
        }
        rows.extend(more.into_iter().map(Row::PathMemory));
        rows.extend(found.into_iter().map(Row::PathMemory));
        for schedule in &schedules {
            let fits = peak(&graph.cleaned(schedule)) <= budget;
            let intervals = Interval::of_schedule(&graph, schedule);
            let cost: u64 = intervals
                .iter()
                .filter(|c| c.is_recomputed())
                .map(|c| graph.cost_again[c.node as usize])
                .sum();
            let replayed = simulate::checkmate(&instance, &graph.cleaned(schedule))
                .unwrap()
                .cost;
            assert_eq!(cost + graph.base_cost(), replayed);
            let mut exceeded = false;
            for row in &rows {
                let left: i64 = intervals.iter().map(|c| row.coefficient(&graph, c)).sum();
                let right = row.right_side(&graph);
                let holds = if row.is_memory() {
                    left <= right
                } else {
                    left >= right
                };
                exceeded |= matches!(row, Row::Memory { gauge: 0, .. }) && !holds;
                let of_memory = row.is_memory() || matches!(row, Row::Cover(_));
                assert!(
                    holds || (of_memory && !fits),
                    "round {round}: {row:?} {left} {right}"
                );
                checks += 1;
                tight += usize::from(matches!(row, Row::PathMemory(_)) && left == right);
                if let Row::Cover(at) = row {
                    full[usize::from(at.made > 0)] += usize::from(left == right && fits);
                }
            }
            assert_eq!(
                exceeded, !fits,
                "round {round}: memory rows say what the replay says"
            );
        }
    }
    println!(
        "{checks} checks, {covers} covers, {full:?} times full without and with a recomputation, {cuts} path cuts, {memory_cuts} path memory cuts, {with_companions} of them with companions, {tight} times tight"
    );
    assert!(covers > 100 && full.iter().all(|f| *f > 100));
    assert!(checks > 100_000 && cuts > 100 && memory_cuts > 500 && with_companions > 50);
}

#[test]
fn full_events_are_found_where_the_rows_say_so_worst_first() {
    const PER_STAGE: usize = 2;
    let mut numbers = Numbers::new(29);
    let mut reported = 0;
    for round in 0..200 {
        let instance = random_instance(round, &mut numbers);
        let schedules: Vec<_> = (0..3)
            .map(|_| random_schedule(&instance, &mut numbers))
            .collect();
        let peak = |s: &CheckmateSchedule| simulate::checkmate(&instance, s).unwrap().peak_bytes;
        let budget = schedules.iter().map(peak).max().unwrap();
        let graph = CheckmateGraph::new(&instance, budget).unwrap();
        let point = thinned(&graph, &schedules, &mut numbers);
        let limit = graph.capacity as f64 * (1 + numbers.below(9)) as f64 / 10.0;
        for gauge in 0..graph.gauges.len() as u32 {
            let load = |row: &Row| {
                let spoken_for =
                    graph.gauges[gauge as usize].capacity as i64 - row.right_side(&graph);
                let terms = point.intervals.iter();
                spoken_for as f64
                    + terms
                        .map(|(c, x)| row.coefficient(&graph, c) as f64 * x)
                        .sum::<f64>()
            };
            // Of every other event the row is in the program already.
            let known = |row: &Row| matches!(row, Row::Memory { stage, node, .. } if (stage + node) % 2 == 0);
            let found = point.violated_memory(&graph, gauge, limit, PER_STAGE, known);
            let rows = all_rows(&graph).into_iter().filter(
                |row| matches!(row, Row::Memory { gauge: g, .. } if *g == gauge && !known(row)),
            );
            let mut full: Vec<(u32, f64)> = rows
                .filter_map(|row| match row {
                    Row::Memory { stage, .. } => Some((stage, load(&row))),
                    _ => None,
                })
                .filter(|(_, load)| *load > limit + 1e-6)
                .collect();
            full.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
            let worst = full
                .chunk_by(|a, b| a.0 == b.0)
                .flat_map(|stage| stage.iter().take(PER_STAGE));
            let mut worst: Vec<f64> = worst.map(|w| w.1).collect();
            worst.sort_by(|a, b| b.total_cmp(a));
            let loads: Vec<f64> = found.iter().map(load).collect();
            let loads = &loads[..worst.len()];
            for (load, expected) in loads.iter().zip(&worst) {
                assert!((load - expected).abs() < 1e-6, "{loads:?} {worst:?}");
            }
            reported += worst.len();
        }
    }
    assert!(reported > 1000, "{reported} full events");
}

#[test]
fn lagrangian_bounds_hold_for_any_duals() {
    let mut numbers = Numbers::new(77);
    let mut above_base = 0;
    for round in 0..150 {
        let instance = random_instance(round, &mut numbers);
        if instance.len() > 8 {
            continue;
        }
        let budget = tight_budget(&instance, 8, &mut numbers);
        let Some(optimum) = brute::optimum(&instance, budget) else {
            continue;
        };
        let graph = CheckmateGraph::new(&instance, budget).unwrap();
        let root = root_bound(&instance, budget, &RootSettings::default()).unwrap();
        let everything = Exclusions::none(graph.extent());
        let (rows, best): (Vec<Row>, Vec<f64>) = root.proof.into_iter().unzip();
        assert_eq!(
            graph.lagrangian_bound(&everything, &rows, &best),
            root.safe_bound
        );
        for k in 0..20 {
            // The best duals with noise, large and small, on all rows.
            let noise = [0.01, 0.1, 0.5, 2.0][k % 4];
            let duals: Vec<f64> = best
                .iter()
                .map(|y| y * (1.0 + noise * (numbers.below(200) as f64 / 100.0 - 1.0)))
                .collect();
            let bound = graph.lagrangian_bound(&everything, &rows, &duals);
            assert!(bound <= optimum, "round {round}: {bound} {optimum}");
            above_base += usize::from(bound > graph.base_cost());
        }
    }
    println!("{above_base} bounds above the base cost");
    assert!(above_base > 20);
}

#[test]
fn root_bounds_are_below_the_optimum_of_small_graphs_with_and_without_cuts() {
    let mut numbers = Numbers::new(8);
    let (mut solved, mut closed, mut closed_plain) = (0, 0, 0);
    for round in 0..300 {
        let instance = random_instance(round, &mut numbers);
        if instance.len() > 8 {
            continue;
        }
        let budget = tight_budget(&instance, 10, &mut numbers);
        let optimum = brute::optimum(&instance, budget);
        let purge_age = [0, 1, 3][round % 3];
        let settings = RootSettings {
            purge_age,
            ..Default::default()
        };
        let root = root_bound(&instance, budget, &settings).unwrap();
        let Some(optimum) = optimum else {
            assert!(matches!(
                root.status,
                RootStatus::Infeasible | RootStatus::Converged
            ));
            continue;
        };
        assert_eq!(root.status, RootStatus::Converged, "round {round}");
        assert!(
            root.safe_bound <= optimum,
            "round {round}: {} {optimum}",
            root.safe_bound
        );
        assert!(
            root.safe_bound as f64 >= root.lp_value - 1e-3,
            "round {round}"
        );
        solved += 1;
        closed += usize::from(root.safe_bound == optimum);
        closed_plain += usize::from(root.plain_bound == optimum);
    }
    println!("{solved} solved, {closed} closed at the root, {closed_plain} of them without cuts");
    assert!(solved > 100 && closed >= closed_plain && closed * 10 > solved * 7);
}

#[test]
fn intervals_of_schedules_change_nothing_but_the_way() {
    let mut numbers = Numbers::new(12);
    let (mut shorter, mut longer) = (0, 0);
    for round in 0..200 {
        let instance = random_instance(round, &mut numbers);
        let schedule = random_schedule(&instance, &mut numbers);
        let replay = simulate::checkmate(&instance, &schedule).unwrap();
        let graph = Arc::new(CheckmateGraph::new(&instance, replay.peak_bytes).unwrap());
        let settings = RootSettings {
            cut_rounds: 0,
            purge_age: [1, 3][round % 2],
            ..Default::default()
        };
        let [with, without] = [true, false].map(|offered| {
            let incumbents = Incumbents::default();
            if offered {
                incumbents.offer(Interval::of_schedule(&graph, &schedule));
            }
            let root = Root::solve(graph.clone(), &settings, &incumbents).unwrap();
            root.into_bound()
        });
        assert_eq!(with.status, RootStatus::Converged, "round {round}");
        assert!(with.lp_value <= replay.cost as f64 + 1e-6, "round {round}");
        let off = (with.lp_value - without.lp_value).abs();
        assert!(off <= 1e-6 * without.lp_value.max(1.0), "round {round}");
        assert_eq!(with.safe_bound, without.safe_bound, "round {round}");
        shorter += usize::from(with.rounds < without.rounds);
        longer += usize::from(with.rounds > without.rounds);
    }
    println!("{shorter} shorter, {longer} longer");
    assert!(shorter > longer);
}

fn bound(
    folder: &str,
    name: &str,
    budget: impl Fn(&Instance) -> u64,
    cut_rounds: usize,
) -> Option<(f64, u64)> {
    let path = shared_data(folder)?.join(name);
    let instance = remat_instances::read(path)
        .unwrap()
        .single_implementation_view();
    let settings = RootSettings {
        cut_rounds,
        purge_age: 10,
        ..Default::default()
    };
    let root = root_bound(&instance, budget(&instance), &settings).unwrap();
    assert_eq!(root.status, RootStatus::Converged);
    println!(
        "{name}: {:.2}, proven {}, {} rows, {} columns",
        root.lp_value, root.safe_bound, root.rows, root.cols
    );
    Some((root.lp_value, root.safe_bound))
}

#[test]
fn published_instances_have_the_known_bounds() {
    // The plain relaxation of the full space has the value of the rectangular one.
    for (name, gib, value) in [
        ("unet_11", 5u64, 201824.8),
        ("unet_11", 6, 196937.8),
        ("vgg16_176", 8, 253755.4),
    ] {
        let file = format!("graphs/{name}_normal.json");
        let Some((lp, safe)) = bound("zoo", &file, |_| gib << 30, 0) else {
            return;
        };
        assert!(
            (lp - value).abs() < 0.1 && (safe as f64 - value).abs() < 1.1,
            "{name} {gib}: {lp} {safe}"
        );
    }
    let (_, safe) = bound("zoo", "graphs/unet_11_normal.json", |_| 6 << 30, 25).unwrap();
    assert!((198_700..=199_613).contains(&safe));
    let share = |percent: u64| {
        move |instance: &Instance| {
            let plain = CheckmateSchedule::checkpoint_all(instance);
            let peak = simulate::checkmate(instance, &plain).unwrap().peak_bytes;
            (peak * percent).div_ceil(100)
        }
    };
    // No backward pass: any node may be recomputed in any stage. The best known plans cost 48146
    // and 48866.
    let (lp, safe) = bound("moccasin", "random_layered_100.json", share(90), 25).unwrap();
    assert!(lp >= 47990.0 && safe <= 48146);
    let (lp, safe) = bound("moccasin", "random_layered_100.json", share(80), 25).unwrap();
    assert!(lp >= 48655.0 && safe <= 48866);
    // Costs beyond 2^43: the program counts them in a larger unit. The best known plan costs
    // 10289323652736.
    let (lp, safe) = bound("moccasin", "fcn8_32.json", share(80), 25).unwrap();
    assert!(lp >= 1.02835e13 && safe <= 10_289_323_652_736);
}

#[test]
fn the_form_written_out_has_the_optima_of_all_schedules() {
    use remat_solver::mip::{Settings, SolveStatus, Solver};
    let mut numbers = Numbers::new(84);
    let (mut optimal, mut infeasible) = (0, 0);
    for round in 0..120 {
        let instance = random_instance(round, &mut numbers);
        if instance.len() > 7 {
            continue;
        }
        let budget = tight_budget(&instance, 10, &mut numbers);
        let Ok(graph) = CheckmateGraph::new(&instance, budget) else {
            continue;
        };
        let model = Arc::new(written(&graph));
        let result = Solver::new(model, Settings::default()).run().unwrap();
        match brute::optimum(&instance, budget) {
            Some(cost) => {
                optimal += 1;
                assert_eq!(result.status, SolveStatus::Optimal, "round {round}");
                let found = result.solution.map(|s| s.objective);
                assert_eq!(found, Some(cost as f64), "round {round}");
            }
            None => {
                infeasible += 1;
                assert_eq!(result.status, SolveStatus::Infeasible, "round {round}");
            }
        }
    }
    assert!(optimal > 40 && infeasible > 0, "{optimal} {infeasible}");
}
