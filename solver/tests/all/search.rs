//! Searches with large trees: threads, limits, memory, files, starts.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use remat_lp::{ColId, Model, ModelBuilder, Sense};
use remat_solver::mip::{
    Checkpoint, Control, Info, Limits, Observer, Progress, Settings, Solution, SolveStatus, Solver,
};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

struct Dice(Xoshiro256PlusPlus);

impl Dice {
    fn range(&mut self, low: i64, high: i64) -> i64 {
        low + (self.0.next_u64() % (high - low + 1) as u64) as i64
    }
}

/// A knapsack of several rows that needs a large tree.
fn hard_model(seed: u64) -> Model {
    let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(seed));
    let mut b = ModelBuilder::new(Sense::Maximise);
    let weights: Vec<Vec<f64>> = (0..3)
        .map(|_| (0..30).map(|_| dice.range(10, 99) as f64).collect())
        .collect();
    let cols: Vec<ColId> = (0..30)
        .map(|k| {
            // Profits correlated with the weights make the bounds weak.
            let profit = weights.iter().map(|w| w[k]).sum::<f64>() + dice.range(0, 20) as f64;
            let c = b.add_col(profit, 0.0..=1.0);
            b.set_integer(c, true);
            c
        })
        .collect();
    for w in &weights {
        let half = (w.iter().sum::<f64>() / 2.0).floor();
        b.add_row(..=half, cols.iter().zip(w).map(|(&c, &w)| (c, w)));
    }
    b.build().unwrap()
}

/// The parts of a result that the number of threads must not change.
#[derive(Debug, PartialEq)]
struct End {
    status: SolveStatus,
    objective: f64,
    x: Vec<f64>,
    bound: f64,
    info: Info,
}

fn end(seed: u64, settings: Settings) -> End {
    let r = Solver::new(hard_model(seed), settings).run().unwrap();
    let s = r.solution.unwrap();
    End {
        status: r.status,
        objective: s.objective,
        x: s.x,
        bound: r.dual_bound,
        info: Info {
            seconds: 0.0,
            ..r.info
        },
    }
}

#[test]
fn the_tree_does_not_depend_on_the_number_of_threads() {
    for seed in 0..4 {
        let run = |threads| {
            let settings = Settings {
                threads,
                cuts: false,
                ..Settings::default()
            };
            end(seed, settings)
        };
        let one = run(1);
        assert!(one.info.nodes > 300, "{} nodes", one.info.nodes);
        assert_eq!(one, run(2));
        assert_eq!(one, run(8));
    }
}

#[test]
fn limits_leave_valid_bounds() {
    let model = hard_model(7);
    let best = Solver::new(model.clone(), Settings::default())
        .run()
        .unwrap();
    let best = best.solution.unwrap().objective;
    for nodes in [1, 3, 10, 40] {
        let settings = Settings {
            limits: Limits {
                nodes: Some(nodes),
                ..Default::default()
            },
            cuts: false,
            ..Settings::default()
        };
        let r = Solver::new(model.clone(), settings).run().unwrap();
        assert_eq!(r.status, SolveStatus::NodeLimit);
        assert!(r.dual_bound >= best && r.info.nodes <= nodes + 4);
        assert!(r.solution.is_none_or(|s| s.objective <= best));
    }
}

#[test]
fn a_memory_limit_ends_the_search_or_spills() {
    let model = hard_model(7);
    let mut settings = Settings {
        cuts: false,
        ..Settings::default()
    };
    let whole = Solver::new(model.clone(), settings.clone()).run().unwrap();
    let best = whole.solution.unwrap().objective;
    settings.limits.memory_bytes = Some(10_000);
    let r = Solver::new(model.clone(), settings.clone()).run().unwrap();
    assert_eq!(r.status, SolveStatus::MemoryLimit);
    assert!(r.dual_bound >= best && r.info.nodes < whole.info.nodes);
    let folder = tempfile::tempdir().unwrap();
    let control = Control {
        node_files: Some(folder.path().join("nodes")),
        ..Control::default()
    };
    let solver = Solver::new(model, settings).with_control(control);
    let r = solver.run().unwrap();
    assert_eq!(r.status, SolveStatus::Optimal);
    assert_eq!(r.solution.unwrap().objective, best);
    assert!(r.info.spilled_nodes > 50, "{}", r.info.spilled_nodes);
    assert!(!folder.path().join("nodes").exists());
}

#[test]
fn opportunistic_searches_in_many_runs_lose_no_node() {
    let model = hard_model(7);
    let mut settings = Settings {
        cuts: false,
        ..Settings::default()
    };
    let whole = Solver::new(model.clone(), settings.clone()).run().unwrap();
    let best = whole.solution.unwrap().objective;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    settings.threads = 2;
    settings.opportunistic = true;
    settings.limits.memory_bytes = Some(60_000);
    for run in 1.. {
        let control = Control {
            checkpoint: Some(Checkpoint {
                path: path.clone(),
                seconds: 0.0,
            }),
            resume: (run > 1).then(|| path.clone()),
            node_files: Some(folder.path().join("nodes")),
            ..Control::default()
        };
        settings.limits.nodes = Some(120 * run);
        let solver = Solver::new(model.clone(), settings.clone()).with_control(control);
        let r = solver.run().unwrap();
        assert!(r.dual_bound >= best);
        if r.status == SolveStatus::Optimal {
            assert!(run > 2, "{run}");
            assert_eq!((r.solution.unwrap().objective, r.dual_bound), (best, best));
            break;
        }
        assert_eq!(r.status, SolveStatus::NodeLimit);
    }
}

/// Settings without cuts, so that there is a tree, in rounds or opportunistic.
fn with_a_tree(opportunistic: bool) -> Settings {
    Settings {
        cuts: false,
        opportunistic,
        threads: if opportunistic { 2 } else { 1 },
        ..Settings::default()
    }
}

#[test]
fn a_state_that_cannot_be_written_ends_no_search() {
    let model = hard_model(7);
    let folder = tempfile::tempdir().unwrap();
    let places = [
        PathBuf::from("/dev/full"),
        folder.path().join("absent/state"),
    ];
    for path in places
        .iter()
        .filter(|p| !p.starts_with("/dev") || p.exists())
    {
        for opportunistic in [false, true] {
            let settings = with_a_tree(opportunistic);
            let whole = Solver::new(model.clone(), settings.clone()).run().unwrap();
            let control = Control {
                checkpoint: Some(Checkpoint {
                    path: path.clone(),
                    seconds: 0.0,
                }),
                ..Control::default()
            };
            let solver = Solver::new(model.clone(), settings).with_control(control);
            let r = solver.run().unwrap();
            assert_eq!(r.status, SolveStatus::Optimal);
            let best = |s: Option<Solution>| s.unwrap().objective;
            assert_eq!(best(r.solution), best(whole.solution));
            let problem = r.file_problems.checkpoint.unwrap();
            assert!(problem.starts_with(path.to_str().unwrap()), "{problem}");
        }
    }
}

#[test]
fn nodes_that_cannot_be_written_stay_and_are_in_the_state() {
    let model = hard_model(7);
    let folder = tempfile::tempdir().unwrap();
    let [file, state] = ["file", "state"].map(|n| folder.path().join(n));
    std::fs::write(&file, "").unwrap();
    for opportunistic in [false, true] {
        let mut settings = with_a_tree(opportunistic);
        let whole = Solver::new(model.clone(), settings.clone()).run().unwrap();
        let best = whole.solution.unwrap().objective;
        let control = |resume: bool| Control {
            checkpoint: Some(Checkpoint {
                path: state.clone(),
                seconds: 1e9,
            }),
            resume: resume.then(|| state.clone()),
            node_files: Some(file.join("nodes")),
            ..Control::default()
        };
        settings.limits.memory_bytes = Some(10_000);
        let solver = Solver::new(model.clone(), settings.clone()).with_control(control(false));
        let r = solver.run().unwrap();
        assert_eq!(r.status, SolveStatus::MemoryLimit);
        assert!(r.solution.is_some() && r.dual_bound >= best);
        assert_eq!(r.info.spilled_nodes, 0);
        let problem = r.file_problems.node_files.unwrap();
        assert!(problem.contains("nodes: "), "{problem}");
        settings.limits.memory_bytes = None;
        let solver = Solver::new(model.clone(), settings).with_control(control(true));
        let r = solver.run().unwrap();
        assert_eq!(r.status, SolveStatus::Optimal);
        assert_eq!((r.solution.unwrap().objective, r.dual_bound), (best, best));
    }
}

type Damage = fn(&Path);

/// Damages the node files in a folder.
struct Vandal(PathBuf, Damage);

impl Observer for Vandal {
    fn progress(&self, _: &Progress) -> bool {
        for own in std::fs::read_dir(&self.0).into_iter().flatten() {
            for file in std::fs::read_dir(own.unwrap().path()).into_iter().flatten() {
                let path = file.unwrap().path();
                if path.extension().is_some_and(|e| e == "nodes") {
                    (self.1)(&path);
                }
            }
        }
        true
    }
}

#[test]
fn nodes_that_cannot_be_read_end_a_search_with_its_solution() {
    let model = hard_model(7);
    let folder = tempfile::tempdir().unwrap();
    let nodes = folder.path().join("nodes");
    let damages: [(Damage, &str); 4] = [
        (
            |path| {
                let mut bytes = std::fs::read(path).unwrap();
                *bytes.last_mut().unwrap() = 77;
                std::fs::write(path, bytes).unwrap();
            },
            "checksum",
        ),
        (
            |path| {
                let bytes = std::fs::read(path).unwrap();
                std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
            },
            "checksum",
        ),
        (|path| std::fs::write(path, "").unwrap(), "checksum"),
        (|path| std::fs::remove_file(path).unwrap(), "No such file"),
    ];
    for opportunistic in [false, true] {
        for (damage, word) in damages {
            let mut settings = with_a_tree(opportunistic);
            let whole = Solver::new(model.clone(), settings.clone()).run().unwrap();
            let best = whole.solution.unwrap().objective;
            settings.limits.memory_bytes = Some(10_000);
            let control = Control {
                observers: vec![Arc::new(Vandal(nodes.clone(), damage))],
                node_files: Some(nodes.clone()),
                ..Control::default()
            };
            let solver = Solver::new(model.clone(), settings).with_control(control);
            let r = solver.run().unwrap();
            assert_eq!(r.status, SolveStatus::MemoryLimit);
            assert!(r.solution.is_some() && r.dual_bound >= best);
            let problem = r.file_problems.node_files.unwrap();
            assert!(
                problem.contains(".nodes: ") && problem.contains(word),
                "{problem}"
            );
            assert!(!nodes.exists());
        }
    }
}

#[test]
fn a_start_is_used_and_a_cutoff_at_the_optimum_leaves_nothing() {
    let model = hard_model(3);
    let best = Solver::new(model.clone(), Settings::default())
        .run()
        .unwrap()
        .solution
        .unwrap();
    let settings = Settings {
        starts: vec![best.x.clone(), vec![0.5; 3]],
        limits: Limits {
            nodes: Some(0),
            ..Default::default()
        },
        cuts: false,
        heuristics: false,
        ..Settings::default()
    };
    let r = Solver::new(model.clone(), settings).run().unwrap();
    assert_eq!(
        r.solution.map(|s| (s.objective, s.found_by)),
        Some((best.objective, "start"))
    );
    let settings = Settings {
        cutoff: Some(best.objective),
        ..Settings::default()
    };
    let r = Solver::new(model.clone(), settings).run().unwrap();
    assert_eq!((r.status, r.solution), (SolveStatus::Cutoff, None));
    let settings = Settings {
        cutoff: Some(best.objective - 0.5),
        ..Settings::default()
    };
    let r = Solver::new(model, settings).run().unwrap();
    assert_eq!(r.solution.map(|s| s.objective), Some(best.objective));
}

/// Tasks on machines. The first machine holds all of them; the cost is the longest load plus every
/// move from one machine to another.
fn tasks_on_machines(tasks: usize, machines: usize) -> Model {
    let mut b = ModelBuilder::new(Sense::Minimise);
    let binary = |b: &mut ModelBuilder| {
        let c = b.add_col(0.0, 0.0..=1.0);
        b.set_integer(c, true);
        c
    };
    let on: Vec<Vec<ColId>> = (0..tasks)
        .map(|_| (0..machines).map(|_| binary(&mut b)).collect())
        .collect();
    let end = b.add_col(1.0, 0.0..);
    let size = |t: usize| (3 + t * 7 % 11) as f64;
    for row in &on {
        b.add_row(1.0, row.iter().map(|&c| (c, 1.0)));
    }
    for m in 0..machines {
        let load = on.iter().enumerate().map(|(t, row)| (row[m], -size(t)));
        b.add_row(0.0.., load.chain([(end, 1.0)]));
        let held = on.iter().enumerate().map(|(t, row)| (row[m], size(t)));
        if m > 0 {
            b.add_row(..=tasks as f64 / 10.0, held);
        }
    }
    for pair in on.windows(2) {
        let moves = b.add_col(2.0, 0.0..);
        for (&before, &here) in pair[0].iter().zip(&pair[1]) {
            b.add_row(0.0.., [(moves, 1.0), (before, -1.0), (here, 1.0)]);
        }
    }
    b.build().unwrap()
}

/// Finders and objectives of the solutions reported to an observer.
#[derive(Default)]
struct Told(Mutex<Vec<(&'static str, f64)>>);

impl Observer for Told {
    fn incumbent(&self, solution: &Solution) {
        let told = (solution.found_by, solution.objective);
        self.0.lock().unwrap().push(told);
    }
}

#[test]
fn programs_have_a_solution_before_the_first_relaxation() {
    for (tasks, ticks, finders) in [
        (2_600, 150_000_000, &["fixing", "jump"][..]),
        (300, 8_000_000, &["jump", "jump"]),
    ] {
        let model = tasks_on_machines(tasks, 3);
        assert_eq!(model.num_rows() > 10_000, finders[0] == "fixing");
        let settings = Settings {
            limits: Limits {
                ticks: Some(ticks),
                ..Default::default()
            },
            presolve: false,
            ..Settings::default()
        };
        let told = Arc::new(Told::default());
        let control = Control {
            observers: vec![told.clone()],
            ..Control::default()
        };
        let r = Solver::new(model, settings).with_control(control);
        let r = r.run().unwrap();
        assert_eq!(r.status, SolveStatus::TickLimit);
        // The walk improves on its start.
        let told = told.0.lock().unwrap();
        let found: Vec<_> = told.iter().map(|t| t.0).collect();
        assert_eq!(found, finders, "{told:?}");
        assert!(told[1].1 < told[0].1, "{told:?}");
        assert_eq!(told[1].1, r.solution.unwrap().objective);
    }
}
