//! Path cuts and path memory cuts hold at every schedule that fits, and lift the bounds as
//! published.

use remat_formulations::checkmate::graph::CheckmateGraph;
use remat_formulations::checkmate::path_cuts::{
    FractionalPoint, PointBuilder, SeparationSettings, separate,
};
use remat_instances::schedule::{BitMatrix, CheckmateSchedule, Schedule, ScheduleFile};
use remat_instances::{Instance, simulate};
use remat_lp::NewRow;
use remat_tests::compact::checkmate::{
    Compact, LazySettings, Space, memory_cut_row, path_cut_row, point_of, separate_memory_cuts,
    solve_lazily,
};
use remat_tests::graphs::{Numbers, general, training};
use remat_tests::shared_data;

const ALL: SeparationSettings = SeparationSettings {
    violation: 0.01,
    per_target: 50,
    limit: 400,
    resource_cuts: true,
    resource_cut_limit: 400,
    dense: true,
};

fn random_retained(n: usize, numbers: &mut Numbers) -> BitMatrix {
    let mut retained = BitMatrix::new(n, n);
    let share = 1 + numbers.below(4);
    for t in 0..n {
        for i in 0..t {
            retained.set(t, i, numbers.below(5) < share);
        }
    }
    retained
}

/// A point with arbitrary values between 0 and 1, so that separation finds cuts of every shape.
fn random_point(n: usize, numbers: &mut Numbers) -> FractionalPoint {
    let mut point = PointBuilder::new(n);
    for i in 0..n {
        for t in i + 1..n {
            if numbers.below(3) == 0 {
                point.add_retained(i, t..t + 1, numbers.below(10) as f64 / 20.0);
            }
            if numbers.below(6) == 0 {
                point.add_recomputed(i, t, numbers.below(10) as f64 / 30.0);
            }
        }
    }
    point.finish()
}

fn activity(row: &NewRow, x: &[f64]) -> f64 {
    row.entries.iter().map(|(c, v)| v * x[c.index()]).sum()
}

#[test]
fn path_cuts_hold_at_every_schedule_of_small_graphs() {
    let mut numbers = Numbers::new(31);
    let mut cuts = 0;
    let mut tight = 0;
    for round in 0..30 {
        let instance = match round % 2 {
            0 => general(5, &mut numbers),
            _ => training(2, &mut numbers),
        };
        let n = instance.len();
        let graph = CheckmateGraph::new(&instance, 1 << 40).unwrap();
        let found = separate(&graph, &random_point(n, &mut numbers), 0, &ALL);
        for f in &found {
            assert!(f.cut.is_valid(&graph), "{:?}", f.cut);
        }
        cuts += found.len();
        // All sets of retained tensors: one bit for each (stage, tensor).
        let pairs: Vec<(usize, usize)> = (0..n).flat_map(|t| (0..t).map(move |i| (t, i))).collect();
        for set in 0..1u32 << pairs.len() {
            let mut retained = BitMatrix::new(n, n);
            for (bit, &(t, i)) in pairs.iter().enumerate() {
                retained.set(t, i, set >> bit & 1 != 0);
            }
            let schedule = CheckmateSchedule::cheapest(&instance, retained);
            for f in &found {
                let activity = f.cut.activity(&schedule);
                assert!(activity >= 1, "{:?} at {schedule:?}", f.cut);
                tight += usize::from(activity == 1);
            }
        }
    }
    println!("{cuts} cuts, tight at {tight} schedules");
    assert!(cuts > 50 && tight > 100);
}

#[test]
fn cuts_hold_at_random_schedules_and_as_rows() {
    let mut numbers = Numbers::new(47);
    let (mut paths, mut memories) = (0, 0);
    for round in 0..300 {
        let instance = match round % 3 {
            0 => general(4 + round % 9, &mut numbers),
            _ => training(3 + round % 5, &mut numbers),
        };
        let n = instance.len();
        let schedules: Vec<_> = (0..20)
            .map(|_| CheckmateSchedule::cheapest(&instance, random_retained(n, &mut numbers)))
            .collect();
        let peaks: Vec<_> = schedules
            .iter()
            .map(|s| simulate::checkmate(&instance, s).unwrap().peak_bytes)
            .collect();
        let budget = *peaks.iter().min().unwrap() + numbers.below(5);
        let Ok(graph) = CheckmateGraph::new(&instance, budget) else {
            continue;
        };
        for space in [Space::Full, Space::Rectangular] {
            let form = Compact::new(graph.clone(), space);
            let first = match form.space() {
                Space::Rectangular => graph.first_backward.unwrap() as usize,
                Space::Full => 0,
            };
            let point = random_point(n, &mut numbers);
            let path_cuts = separate(&graph, &point, first, &ALL);
            let memory_cuts = separate_memory_cuts(&form, &point, &ALL);
            for (schedule, &peak) in schedules.iter().zip(&peaks) {
                let x = form.point(schedule);
                for f in &path_cuts {
                    assert!(f.cut.activity(schedule) >= 1);
                    assert!((1.0 - point.path_activity(&f.cut) - f.violation).abs() < 1e-9);
                    let row = path_cut_row(&form, &f.cut);
                    if let Some(x) = &x {
                        assert!(activity(&row, x) >= row.bounds.lower);
                    }
                    paths += 1;
                }
                if peak > budget {
                    continue;
                }
                for f in &memory_cuts {
                    let row = memory_cut_row(&form, &f.cut);
                    if form.space() == Space::Full {
                        assert!(f.cut.slack(&graph, schedule) >= 0, "{:?}", f.cut);
                    }
                    if let Some(x) = &x {
                        assert!(activity(&row, x) <= row.bounds.upper + 1e-9, "{:?}", f.cut);
                    }
                    memories += 1;
                }
            }
        }
    }
    println!("{paths} checks of path cuts, {memories} of path memory cuts");
    assert!(paths > 10_000 && memories > 500);
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

/// Rounds of both cuts on the rectangular form, every cut checked against the published schedule.
#[test]
fn root_bounds_with_cuts_reach_the_known_values_and_spare_the_published_schedules() {
    let Some(folder) = shared_data("zoo") else {
        return;
    };
    for (name, gib, optimum, least, rounds) in [
        ("unet_11_normal", 6u64, 199613.0, 198600.0, 12),
        ("unet_11_normal", 10, 192792.0, 192700.0, 12),
        ("vgg16_176_normal", 8, 255828.0, 253755.0, 5),
    ] {
        let Some(instance) = zoo(name) else { return };
        let graph = CheckmateGraph::new(&instance, gib << 30).unwrap();
        let form = Compact::new(graph.clone(), Space::Rectangular);
        let path = folder
            .join("solutions")
            .join(format!("{name}__B__{gib}.json"));
        let file = ScheduleFile::open(&path).unwrap();
        let document = file.schedule(&instance).unwrap();
        let Schedule::Checkmate(schedule) = &document.schedule else {
            panic!()
        };
        let x = form.point(schedule).unwrap();
        let settings = LazySettings::default();
        let mut lazy = solve_lazily(&form, &settings).unwrap();
        let mut added = 0;
        for _ in 0..rounds {
            let point = point_of(&form, &lazy.outcome.optimal().unwrap().x);
            let first = graph.first_backward.unwrap() as usize;
            let limits = SeparationSettings::default();
            let mut rows = Vec::new();
            for f in separate(&graph, &point, first, &limits) {
                assert!(f.cut.activity(schedule) >= 1);
                rows.push(path_cut_row(&form, &f.cut));
                assert!(activity(&rows[rows.len() - 1], &x) >= rows[rows.len() - 1].bounds.lower);
            }
            for f in separate_memory_cuts(&form, &point, &limits) {
                assert!(f.cut.slack(&graph, schedule) >= 0);
                rows.push(memory_cut_row(&form, &f.cut));
                assert!(
                    activity(&rows[rows.len() - 1], &x) <= rows[rows.len() - 1].bounds.upper + 1e-9
                );
            }
            if rows.is_empty() {
                break;
            }
            added += rows.len();
            lazy.solver.add_rows(&rows).unwrap();
            lazy.resolve(&form, &settings).unwrap();
        }
        println!(
            "{name} {gib} GiB: bound {:.1} with {added} cuts",
            lazy.safe_bound
        );
        assert!(
            lazy.safe_bound <= optimum + 0.5,
            "{name}: {}",
            lazy.safe_bound
        );
        assert!(lazy.safe_bound >= least, "{name}: {}", lazy.safe_bound);
    }
}
