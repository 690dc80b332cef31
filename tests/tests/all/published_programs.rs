//! Both programs as published: their points are the schedules, and their sizes are the logged ones.
//! Checkmate's has the optima of the retention-edge form and of enumeration.

use remat_formulations::checkmate::graph::CheckmateGraph;
use remat_formulations::checkmate::original::{Decision, Original, Stages};
use remat_formulations::monet::{self, original::LocalBound};
use remat_instances::schedule::{CheckmateSchedule, Schedule, ScheduleFile};
use remat_instances::{Instance, Semantics, simulate};
use remat_lp::{ColId, Model, RowId, lp_format, mps};
use remat_solver::mip::{Settings, SolveStatus, Solver};
use remat_tests::compact::checkmate::{Compact, Space};
use remat_tests::graphs::{Numbers, general, random_schedule, training};
use remat_tests::monet::Mode;
use remat_tests::{brute, files, shared_data};
use std::path::Path;

const STAGES: [Stages; 2] = [Stages::FrontierAdvancing, Stages::Unpartitioned];

fn random_instance(round: usize, numbers: &mut Numbers, least: u64, most: u64) -> Instance {
    let size = (least + numbers.below(most - least + 1)) as usize;
    match round % 2 {
        0 => general(size, numbers),
        _ => training(size / 2, numbers),
    }
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

/// The peak by a point's `U` and workspaces, with fixed memory.
fn peak(program: &Original, instance: &Instance, x: &[f64]) -> u64 {
    let mut most = 0;
    for (at, value) in x.iter().enumerate() {
        if let Decision::Memory { stage, node } = program.decision(ColId(at as u32)) {
            let run = program.column(Decision::Computed { stage, node }).unwrap();
            let workspace = instance.nodes()[node as usize].workspace_bytes();
            let extra = if x[run.index()] > 0.5 { workspace } else { 0 };
            most = most.max((value * program.unit_bytes()).round() as u64 + extra);
        }
    }
    most + instance.static_bytes()
}

#[test]
fn points_of_schedules_satisfy_the_published_rows_exactly_if_they_fit() {
    let mut numbers = Numbers::new(41);
    let (mut fit, mut burst) = (0, 0);
    for round in 0..300 {
        let instance = random_instance(round, &mut numbers, 4, 9);
        let schedule = random_schedule(&instance, &mut numbers);
        let replay = simulate::checkmate(&instance, &schedule).unwrap();
        let budget = replay.peak_bytes + 2 - numbers.below(5);
        for stages in STAGES {
            let program = Original::new(&instance, budget, stages, 1.0).unwrap();
            let x = program.point(&schedule);
            assert_eq!(program.model().objective(&x), replay.cost as f64);
            assert_eq!(
                peak(&program, &instance, &x),
                replay.peak_bytes,
                "round {round}"
            );
            let over = violation(program.model(), &x);
            if replay.peak_bytes <= budget {
                assert_eq!(over, 0.0, "round {round}");
                fit += 1;
            } else {
                assert_eq!(over, (replay.peak_bytes - budget) as f64, "round {round}");
                burst += 1;
            }
            assert_eq!(program.schedule(&x), schedule);
            let plan = program.plan(&instance, &x).unwrap();
            let replayed = simulate::plan(&instance, &plan).unwrap();
            assert_eq!(replayed.cost, replay.cost);
            assert!(replayed.peak_bytes <= replay.peak_bytes);
        }
    }
    assert!(fit > 100 && burst > 100, "{fit} {burst}");
}

/// The optimum and its point, `Some(None)` if it is infeasible, `None` if the time is over.
#[allow(clippy::option_option)]
fn solved_within(model: &Model, seconds: Option<f64>) -> Option<Option<(f64, Vec<f64>)>> {
    let mut settings = Settings::default();
    settings.limits.seconds = seconds;
    let result = Solver::new(model.clone(), settings).run().unwrap();
    match result.status {
        SolveStatus::Optimal => {
            let solution = result.solution.unwrap();
            Some(Some((solution.objective, solution.x)))
        }
        SolveStatus::Infeasible => Some(None),
        SolveStatus::TimeLimit if seconds.is_some() => None,
        status => panic!("{status:?}"),
    }
}

fn solved(model: &Model) -> Option<(f64, Vec<f64>)> {
    solved_within(model, None).unwrap()
}

/// Solves the program read from a file, compares both file formats, and replays the solution.
fn through_files(instance: &Instance, budget: u64, stages: Stages, folder: &Path) -> Option<u64> {
    let unit = Original::unit_for(instance, budget);
    let program = Original::new(instance, budget, stages, unit).unwrap();
    let path = folder.join("program.mps.gz");
    mps::write(program.model(), &path).unwrap();
    let model = mps::read(&path).unwrap();
    assert!(mps::to_string(&model) == mps::to_string(program.model()));
    let text = lp_format::to_string(program.model());
    let other = lp_format::parse(&text, "program.lp").unwrap();
    let size = |m: &Model| (m.num_rows(), m.num_cols(), m.num_nonzeros());
    assert_eq!(size(&other), size(&model));
    let (objective, x) = solved(&model)?;
    if stages == Stages::FrontierAdvancing {
        let schedule = program.schedule(&x);
        let replay = simulate::checkmate(instance, &schedule).unwrap();
        assert_eq!(replay.cost as f64, objective.round());
        assert!(replay.peak_bytes <= budget);
    }
    let plan = program.plan(instance, &x).unwrap();
    let replay = simulate::plan(instance, &plan).unwrap();
    assert_eq!(replay.cost as f64, objective.round());
    assert!(replay.peak_bytes <= budget);
    Some(replay.cost)
}

/// A budget between the smallest one and the peak without recomputation.
fn tight(instance: &Instance, numbers: &mut Numbers) -> u64 {
    let least = remat_formulations::bound::smallest_budget(instance).needed_bytes;
    let plain = CheckmateSchedule::checkpoint_all(instance);
    let most = simulate::checkmate(instance, &plain).unwrap().peak_bytes;
    least + numbers.below((most - least).max(1) / 2 + 1)
}

#[test]
fn the_optimum_is_that_of_enumeration_and_of_the_compact_form() {
    let folder = tempfile::tempdir().unwrap();
    let mut numbers = Numbers::new(7);
    let (mut feasible, mut dearer) = (0, 0);
    for round in 0..24 {
        let instance = random_instance(round, &mut numbers, 5, 7);
        let budget = tight(&instance, &mut numbers);
        let best = brute::optimum(&instance, budget);
        let found = through_files(&instance, budget, Stages::FrontierAdvancing, folder.path());
        assert_eq!(found, best, "round {round}");
        let graph = CheckmateGraph::new(&instance, budget).unwrap();
        let compact = solved(&Compact::new(graph, Space::Full).with_memory_rows());
        assert_eq!(compact.map(|c| c.0.round() as u64), best, "round {round}");
        feasible += usize::from(best.is_some());
        dearer += usize::from(best.is_some_and(|b| b > instance.base_cost()));
    }
    assert!(feasible > 12 && dearer > 6, "{feasible} {dearer}");
}

#[test]
fn without_frontier_advancing_stages_the_optimum_can_only_be_lower() {
    let folder = tempfile::tempdir().unwrap();
    let mut numbers = Numbers::new(19);
    for round in 0..6 {
        let instance = random_instance(round, &mut numbers, 4, 5);
        let budget = tight(&instance, &mut numbers);
        let best = brute::optimum(&instance, budget);
        let found = through_files(&instance, budget, Stages::Unpartitioned, folder.path());
        match (found, best) {
            (Some(found), Some(best)) => {
                assert!(
                    found <= best && found >= instance.base_cost(),
                    "round {round}"
                );
            }
            (None, Some(_)) => panic!("round {round}: a relaxation without a solution"),
            _ => {}
        }
    }
}

#[test]
#[ignore = "minutes: 200 graphs of 9 to 15 nodes"]
fn the_optimum_of_two_hundred_larger_graphs_is_that_of_the_compact_form() {
    let mut numbers = Numbers::new(2026);
    let folder = std::env::var_os("REMAT_PROGRAMS");
    let mut lines = String::new();
    let mut late = 0;
    for round in 0..200 {
        let instance = random_instance(round, &mut numbers, 10, 14);
        let budget = tight(&instance, &mut numbers);
        let unit = Original::unit_for(&instance, budget);
        let stages = Stages::FrontierAdvancing;
        let program = Original::new(&instance, budget, stages, unit).unwrap();
        let graph = CheckmateGraph::new(&instance, budget).unwrap();
        let compact = solved(&Compact::new(graph, Space::Full).with_memory_rows());
        let compact = compact.map(|c| c.0.round());
        if let Some(folder) = &folder {
            // For other solvers: the programs, and their optima.
            let path = Path::new(folder).join(format!("{round}.mps.gz"));
            mps::write(program.model(), path).unwrap();
            lines += &format!("{round} {compact:?}\n");
            std::fs::write(Path::new(folder).join("optima.txt"), &lines).unwrap();
        }
        let Some(original) = solved_within(program.model(), Some(20.0)) else {
            println!("{round}: {} nodes, not solved in time", instance.len());
            late += 1;
            continue;
        };
        let original = original.map(|(objective, x)| {
            let schedule = program.schedule(&x);
            let replay = simulate::checkmate(&instance, &schedule).unwrap();
            assert!(replay.cost as f64 == objective.round() && replay.peak_bytes <= budget);
            objective.round()
        });
        assert_eq!(original, compact, "round {round}");
        println!("{round}: {} nodes, {original:?}", instance.len());
    }
    // On an idle machine all take a second or less.
    println!("{late} not solved in time");
    assert!(late <= 20);
}

/// The logged sizes of an instance and program: rows, columns, nonzeros.
fn logged(folder: &Path, program: &str) -> Vec<(String, [usize; 3])> {
    let text = std::fs::read_to_string(folder.join("anchors.csv")).unwrap();
    let mut all = Vec::new();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        if cells[1] != program || cells[3].is_empty() {
            continue;
        }
        let entry = (
            cells[0].to_owned(),
            [3, 4, 5].map(|k| cells[k].parse().unwrap()),
        );
        if !all.contains(&entry) {
            all.push(entry);
        }
    }
    all
}

fn graph(folder: &Path, name: &str) -> Option<Instance> {
    let path = folder.join("graphs").join(format!("{name}.json"));
    path.is_file().then(|| remat_instances::read(path).unwrap())
}

#[test]
fn checkmates_program_has_the_logged_sizes_and_its_published_schedules() {
    let Some(folder) = shared_data("zoo") else {
        return;
    };
    let mut sizes = 0;
    for (name, size) in logged(&folder, "B") {
        // A program of GoogLeNet takes as much time and memory as all others together, and adds no
        // new case.
        if name.starts_with("googlenet") {
            continue;
        }
        let instance = graph(&folder, &name).unwrap().single_implementation_view();
        let program = Original::new(&instance, 8 << 30, STAGES[0], 1024.0).unwrap();
        let found = [
            program.published_rows(),
            program.model().num_cols(),
            program.published_nonzeros(),
        ];
        assert_eq!(found, size, "{name}");
        sizes += 1;
    }
    let mut schedules = 0;
    for path in files(&folder.join("solutions"), "json") {
        let file = ScheduleFile::open(&path).unwrap();
        if file.semantics() != Semantics::Checkmate || file.instance().starts_with("googlenet") {
            continue;
        }
        let instance = graph(&folder, file.instance())
            .unwrap()
            .single_implementation_view();
        let document = file.schedule(&instance).unwrap();
        let Schedule::Checkmate(schedule) = &document.schedule else {
            panic!("{}", path.display());
        };
        let budget = document.budget_bytes.unwrap();
        let program = Original::new(&instance, budget, STAGES[0], 1024.0).unwrap();
        let x = program.point(schedule);
        assert_eq!(violation(program.model(), &x), 0.0, "{}", path.display());
        assert_eq!(program.model().objective(&x), document.objective as f64);
        schedules += 1;
    }
    println!("{sizes} sizes and {schedules} schedules agree");
    assert!(sizes >= 3 && schedules >= 10);
}

#[test]
fn monets_program_has_the_logged_sizes() {
    let Some(folder) = shared_data("zoo") else {
        return;
    };
    let mut sizes = 0;
    for (name, size) in logged(&folder, "A") {
        let Some(instance) = graph(&folder, &name) else {
            continue;
        };
        // Logged with an older form of the program.
        if name.starts_with("vgg16_176_inplace_conv_multiway_newnode") {
            continue;
        }
        let found = monet::original::Original::size(&instance, LocalBound::Plain).unwrap();
        assert_eq!([found.rows, found.columns, found.nonzeros], size, "{name}");
        sizes += 1;
    }
    println!("{sizes} sizes agree");
    assert!(sizes >= 17);
}

#[test]
fn monets_published_schedules_are_points_of_its_program() {
    let Some(folder) = shared_data("zoo") else {
        return;
    };
    let mut count = 0;
    for path in files(&folder.join("solutions"), "json") {
        let file = ScheduleFile::open(&path).unwrap();
        if file.semantics() != Semantics::Monet {
            continue;
        }
        let instance = graph(&folder, file.instance()).unwrap();
        let document = file.schedule(&instance).unwrap();
        let Schedule::Monet(schedule) = &document.schedule else {
            panic!("{}", path.display());
        };
        let budget = document.budget_bytes.unwrap();
        let check = monet::original::Original::check(
            &instance,
            schedule,
            budget,
            1024.0,
            LocalBound::Plain,
        );
        let check = check.unwrap();
        assert_eq!(check.violation, 0.0, "{}", path.display());
        assert_eq!(check.objective, document.objective as f64);
        let replay = simulate::monet(&instance, schedule).unwrap();
        assert_eq!(replay.cost, document.objective);
        assert!(replay.peak_bytes <= budget);
        // One KiB less than its peak is too little for the rows as well.
        let less = replay.peak_bytes - 1024;
        let check =
            monet::original::Original::check(&instance, schedule, less, 1024.0, LocalBound::Plain);
        assert_eq!(check.unwrap().violation, 1.0, "{}", path.display());
        count += 1;
    }
    println!("{count} schedules agree");
    assert!(count >= 64);
}

#[test]
fn a_check_without_the_program_is_one_with_it() {
    let mut numbers = Numbers::new(3);
    let (mut met, mut missed) = (0, 0);
    for round in 0..160 {
        let mode = Mode::all().nth(round % 16).unwrap();
        let instance = remat_tests::monet::training(3 + round % 3, mode, &mut numbers);
        let schedule = remat_tests::monet::schedule(&instance, &mut numbers);
        let replay = simulate::monet(&instance, &schedule).unwrap();
        let budget = replay.peak_bytes + 2 - numbers.below(5);
        for local in [LocalBound::Plain, LocalBound::Tight] {
            let program =
                monet::original::Original::with_local_bound(&instance, budget, 1.0, local).unwrap();
            let x = program.point(&schedule);
            let check =
                monet::original::Original::check(&instance, &schedule, budget, 1.0, local).unwrap();
            assert_eq!(check.violation, violation(program.model(), &x));
            assert_eq!(check.objective, program.model().objective(&x));
            if local == LocalBound::Plain {
                let over = replay.peak_bytes.saturating_sub(budget) as f64;
                assert_eq!(check.violation, over, "round {round}");
            }
            met += usize::from(check.violation == 0.0);
            missed += usize::from(check.violation > 0.0);
        }
    }
    assert!(met > 100 && missed > 100, "{met} {missed}");
}
