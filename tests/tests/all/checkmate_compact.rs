//! The retention-edge form: its points are the schedules, its relaxation has the published values.

use remat_formulations::checkmate::graph::CheckmateGraph;
use remat_instances::Instance;
use remat_instances::schedule::{Schedule, ScheduleFile};
use remat_instances::simulate;
use remat_lp::{LpOutcome, Model, Solver};
use remat_tests::compact::checkmate::{Compact, LazySettings, Space, solve_lazily};
use remat_tests::graphs::{Numbers, general, random_schedule, tight_budget, training};
use remat_tests::{brute, shared_data};

const GIB: f64 = (1u64 << 30) as f64;

/// A budget that never binds, but is small enough to keep numbers moderate.
fn ample(instance: &Instance) -> u64 {
    2 * instance
        .nodes()
        .iter()
        .map(|v| v.output_bytes + v.workspace_bytes())
        .sum::<u64>()
        + instance.static_bytes()
}

fn violation(model: &Model, x: &[f64]) -> f64 {
    let mut worst: f64 = 0.0;
    for r in 0..model.num_rows() {
        let row = remat_lp::RowId(r as u32);
        let activity: f64 = model.row(row).map(|(c, v)| v * x[c.index()]).sum();
        let bounds = model.row_bounds(row);
        worst = worst
            .max(bounds.lower - activity)
            .max(activity - bounds.upper);
    }
    worst
}

#[test]
fn points_of_schedules_satisfy_the_rows_and_load_memory_as_the_replay_does() {
    let mut numbers = Numbers::new(11);
    let (mut full, mut rectangular) = (0, 0);
    for round in 0..400 {
        let size = 3 + numbers.below(6) as usize;
        let instance = match round % 2 {
            0 => general(size, &mut numbers),
            _ => training(1 + size / 2, &mut numbers),
        };
        let schedule = random_schedule(&instance, &mut numbers);
        let graph = CheckmateGraph::new(&instance, ample(&instance)).unwrap();
        let clean = graph.cleaned(&schedule);
        let dirty = simulate::checkmate(&instance, &schedule).unwrap();
        let replay = simulate::checkmate(&instance, &clean).unwrap();
        assert!(replay.cost <= dirty.cost && replay.peak_bytes <= dirty.peak_bytes);
        for space in [Space::Full, Space::Rectangular] {
            let form = Compact::new(graph.clone(), space);
            let Some(x) = form.point(&schedule) else {
                assert!(space == Space::Rectangular && form.space() == space);
                continue;
            };
            *(if form.space() == Space::Full {
                &mut full
            } else {
                &mut rectangular
            }) += 1;
            assert_eq!(violation(form.model(), &x), 0.0);
            assert_eq!(form.model().objective(&x), replay.cost as f64);
            // The heaviest memory row among nodes that run is the peak.
            let capacity = graph.capacity as f64;
            let heaviest = form
                .violated_memory(&x, -2.0)
                .iter()
                .filter(|(p, _)| clean.computed.get(p.stage as usize, p.node as usize))
                .map(|(_, over)| ((over + 1.0) * capacity).round() as u64)
                .max()
                .unwrap();
            assert_eq!(
                heaviest + instance.static_bytes(),
                replay.peak_bytes,
                "round {round}"
            );
        }
    }
    println!("{full} points of the full space, {rectangular} of the rectangular");
    assert!(full > 300 && rectangular > 10);
}

#[test]
fn violations_found_by_the_sweep_are_those_of_the_rows() {
    let mut numbers = Numbers::new(5);
    for round in 0..100 {
        let instance = match round % 2 {
            0 => general(7, &mut numbers),
            _ => training(4, &mut numbers),
        };
        let graph = CheckmateGraph::new(&instance, ample(&instance) / 3);
        let Ok(graph) = graph else { continue };
        for space in [Space::Full, Space::Rectangular] {
            let form = Compact::new(graph.clone(), space);
            let x: Vec<f64> = form
                .decisions()
                .iter()
                .map(|_| numbers.below(101) as f64 / 100.0)
                .collect();
            let found = form.violated_memory(&x, -2.0);
            assert_eq!(found.len(), form.memory_rows().count());
            for (place, over) in found {
                let Some(row) = form.memory_row(place) else {
                    continue;
                };
                let activity: f64 = row.entries.iter().map(|(c, v)| v * x[c.index()]).sum();
                let unit = graph.memory_unit();
                let direct = (activity - row.bounds.upper) * unit / graph.capacity as f64;
                assert!(
                    (direct - over).abs() < 1e-9,
                    "round {round} {place:?}: {direct} {over}"
                );
            }
        }
    }
}

/// All memory rows at once.
fn complete(form: &Compact) -> Solver {
    let mut solver = Solver::new(form.model().clone(), Default::default());
    let rows: Vec<_> = form
        .memory_rows()
        .filter_map(|p| form.memory_row(p))
        .collect();
    solver.add_rows(&rows).unwrap();
    solver
}

#[test]
fn lazy_rows_give_the_value_of_all_rows_and_a_bound_below_the_optimum() {
    let mut numbers = Numbers::new(23);
    let mut tight = 0;
    for round in 0..120 {
        let instance = match round % 2 {
            0 => general(4 + round % 4, &mut numbers),
            _ => training(2 + round % 2, &mut numbers),
        };
        let budget = tight_budget(&instance, 10, &mut numbers);
        let optimum = brute::optimum(&instance, budget);
        let graph = CheckmateGraph::new(&instance, budget).unwrap();
        let form = Compact::new(graph, Space::Full);
        let lazy = solve_lazily(&form, &LazySettings::default()).unwrap();
        match (&lazy.outcome, complete(&form).solve()) {
            (LpOutcome::Optimal(a), LpOutcome::Optimal(b)) => {
                let gap = (a.objective - b.objective).abs();
                assert!(
                    gap < 1e-6 * b.objective,
                    "round {round}: {} {}",
                    a.objective,
                    b.objective
                );
                assert!(
                    lazy.safe_bound <= a.objective + 1e-6 && lazy.safe_bound > a.objective - 1e-3
                );
                if let Some(best) = optimum {
                    assert!(lazy.safe_bound <= best as f64 + 1e-9, "round {round}");
                    tight += usize::from(lazy.safe_bound > best as f64 - 1e-3);
                }
            }
            (LpOutcome::Infeasible(_), LpOutcome::Infeasible(_)) => assert_eq!(optimum, None),
            (a, b) => panic!("round {round}: {a:?} {b:?}"),
        }
    }
    println!("{tight} of 120 relaxations are tight");
    assert!(tight > 20);
}

fn zoo(name: &str) -> Option<Instance> {
    let folder = shared_data("zoo")?;
    let path = folder.join("graphs").join(format!("{name}.json"));
    Some(
        remat_instances::read(path)
            .unwrap()
            .single_implementation_view(),
    )
}

#[test]
fn relaxations_of_published_instances_have_the_known_values() {
    for (name, gib, value) in [
        ("unet_11_normal", 5.0, 201825.0),
        ("unet_11_normal", 6.0, 196938.0),
        ("unet_11_normal", 10.0, 192288.0),
        ("vgg16_176_normal", 8.0, 253755.0),
    ] {
        let Some(instance) = zoo(name) else { return };
        let graph = CheckmateGraph::new(&instance, (gib * GIB) as u64).unwrap();
        let form = Compact::new(graph, Space::Rectangular);
        let lazy = solve_lazily(&form, &LazySettings::default()).unwrap();
        let found = lazy.outcome.optimal().unwrap().objective;
        println!(
            "{name} {gib} GiB: {found:.1}, bound {:.1}, {} memory rows",
            lazy.safe_bound,
            lazy.rows.len()
        );
        assert!((found - value).abs() < 1.0, "{name} {gib}: {found}");
        assert!((lazy.safe_bound - found).abs() < 0.01 && lazy.safe_bound <= found + 1e-6);
    }
}

#[test]
fn published_optimal_schedules_are_points_of_the_rectangular_space() {
    let Some(folder) = shared_data("zoo") else {
        return;
    };
    let mut inside = 0;
    for path in remat_tests::files(&folder.join("solutions"), "json") {
        let file = ScheduleFile::open(&path).unwrap();
        if !path.to_string_lossy().contains("__B__") {
            continue;
        }
        let Some(instance) = zoo(file.instance()) else {
            return;
        };
        let document = file.schedule(&instance).unwrap();
        let Schedule::Checkmate(schedule) = &document.schedule else {
            continue;
        };
        let graph = CheckmateGraph::new(&instance, document.budget_bytes.unwrap()).unwrap();
        let form = Compact::new(graph, Space::Rectangular);
        let x = form
            .point(schedule)
            .unwrap_or_else(|| panic!("{}", path.display()));
        assert_eq!(violation(form.model(), &x), 0.0);
        assert!(form.model().objective(&x) <= document.objective as f64);
        assert!(
            form.violated_memory(&x, 0.0)
                .iter()
                .all(|(_, over)| *over < 1e-12)
        );
        inside += 1;
    }
    assert!(inside >= 10);
}
