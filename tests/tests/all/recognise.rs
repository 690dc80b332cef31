//! Checkmate's program recognised without names, in any order and scale; programs that differ
//! slightly from it are refused.

use remat_formulations::checkmate::original::{Decision, Original, Stages};
use remat_formulations::checkmate::{RecognisedCheckmate, recognise};
use remat_instances::schedule::{BitMatrix, CheckmateSchedule, Schedule, ScheduleFile};
use remat_instances::{Instance, Semantics, simulate};
use remat_lp::{Bounds, ColId, Model, ModelBuilder, RowId, Sense, lp_format, mps};
use remat_search::recognise::Recognised;
use remat_tests::graphs::{Numbers, general, training};
use remat_tests::models::{shuffled, violation};
use remat_tests::{brute, files, shared_data};

fn original(instance: &Instance, budget: u64, unit: f64) -> Original {
    Original::new(instance, budget, Stages::FrontierAdvancing, unit).unwrap()
}

/// A different way to write down a program.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Way {
    /// Rows and columns shuffled, without names, rows scaled and negated.
    Shuffled,
    /// In addition, fixed columns as bounds in place of the sums over stages.
    Bounds,
    /// In addition, without the columns and rows beyond the stage.
    Triangular,
}

/// The program written in another way, and for each of its columns the original one.
fn rewritten(program: &Original, n: u32, way: Way, numbers: &mut Numbers) -> (Model, Vec<ColId>) {
    let model = program.model();
    let fixed = |d: Decision| match d {
        Decision::Computed { stage, node } if node > stage => Some(0.0),
        Decision::Computed { stage, node } if node == stage => Some(1.0),
        Decision::Retained { stage, node } if node >= stage => Some(0.0),
        _ => None,
    };
    let beyond = |d: Decision| match d {
        Decision::Freed { stage, reader, .. } => reader > stage,
        Decision::Memory { stage, node } => node > stage,
        Decision::Computed { stage, node } => node > stage,
        Decision::Retained { stage, node } => node >= stage,
    };
    let out = |c: ColId| way == Way::Triangular && beyond(program.decision(c));
    let old: Vec<ColId> = shuffled(model.num_cols(), numbers)
        .into_iter()
        .map(|c| ColId(c as u32))
        .filter(|c| !out(*c))
        .collect();
    let mut new = vec![None; model.num_cols()];
    let mut b = ModelBuilder::new(Sense::Minimise);
    let factor = 0.5;
    b.set_offset(3.0);
    for c in &old {
        let mut bounds = model.col_bounds(*c);
        if let (Some(value), true) = (fixed(program.decision(*c)), way != Way::Shuffled) {
            bounds = Bounds::from(value);
        }
        let id = b.add_col(model.costs()[c.index()] * factor, bounds);
        b.set_integer(id, model.is_integer(*c));
        new[c.index()] = Some(id);
    }
    for r in shuffled(model.num_rows(), numbers) {
        let row = RowId(r as u32);
        let length = model.row(row).count();
        let sums = r < 3 && length >= n as usize;
        let uses =
            |d: &dyn Fn(Decision) -> bool| model.row(row).any(|(c, _)| d(program.decision(c)));
        let later =
            uses(&|d| matches!(d, Decision::Freed { .. } | Decision::Memory { .. }) && beyond(d));
        if way != Way::Shuffled && sums || way == Way::Triangular && later {
            continue;
        }
        let scale = [1.0, -1.0, 2.0, -0.25][numbers.below(4) as usize];
        let mut bounds = model.row_bounds(row);
        bounds = Bounds::new(bounds.lower * scale, bounds.upper * scale);
        if scale < 0.0 {
            bounds = Bounds::new(bounds.upper, bounds.lower);
        }
        let entries = model
            .row(row)
            .filter_map(|(c, v)| Some((new[c.index()]?, v * scale)));
        let entries: Vec<_> = entries.collect();
        if !entries.is_empty() {
            b.add_row(bounds, entries);
        }
    }
    (b.build().unwrap(), old)
}

fn instance(round: usize, numbers: &mut Numbers) -> Instance {
    match round % 2 {
        0 => general(3 + round % 7, numbers),
        _ => training(2 + round % 4, numbers),
    }
}

/// Checks that the recognised instance has the schedules of the original one, with points of the
/// model.
fn check(
    found: &RecognisedCheckmate,
    model: &Model,
    instance: &Instance,
    budget: u64,
    schedules: &[CheckmateSchedule],
    what: &str,
) {
    assert_eq!(found.instance.len(), instance.len(), "{what}");
    for (a, b) in found.instance.nodes().iter().zip(instance.nodes()) {
        assert_eq!(a.needs(), b.needs(), "{what}");
    }
    for schedule in schedules {
        let replay = simulate::checkmate(instance, schedule).unwrap();
        let other = simulate::checkmate(&found.instance, schedule).unwrap();
        let fits = replay.peak_bytes <= budget;
        assert_eq!(other.peak_bytes <= found.budget_bytes, fits, "{what}");
        let x = found.point(schedule);
        let objective = model.objective(&x);
        assert!(
            (objective - found.objective(other.cost)).abs() < 1e-6,
            "{what}"
        );
        assert!(
            (objective - (replay.cost as f64 * 0.5 + 3.0)).abs() < 1e-6,
            "{what}"
        );
        if fits {
            assert!(
                violation(model, &x) < 1e-9,
                "{what}: {}",
                violation(model, &x)
            );
        } else {
            assert!(violation(model, &x) > 1e-9, "{what}");
        }
    }
}

#[test]
fn shuffled_nameless_programs_are_recognised_and_answered_in_their_own_columns() {
    let mut numbers = Numbers::new(3);
    let mut optima = 0;
    for round in 0..90 {
        let instance = instance(round, &mut numbers);
        let plain = CheckmateSchedule::checkpoint_all(&instance);
        let peak = simulate::checkmate(&instance, &plain).unwrap().peak_bytes;
        let budget = peak * (60 + numbers.below(50)) / 100;
        let unit = [1.0, 4.0, 1024.0][round % 3];
        let program = original(&instance, budget, unit);
        for way in [Way::Shuffled, Way::Bounds, Way::Triangular] {
            let what = format!("round {round}, {way:?}");
            let (model, _) = rewritten(&program, instance.len() as u32, way, &mut numbers);
            let found = recognise(&model).unwrap_or_else(|| panic!("{what}: not recognised"));
            let mut schedules = vec![plain.clone()];
            for _ in 0..4 {
                let n = instance.len();
                let mut retained = BitMatrix::new(n, n);
                for t in 0..n {
                    for i in 0..t {
                        retained.set(t, i, numbers.below(3) > 0);
                    }
                }
                schedules.push(CheckmateSchedule::cheapest(&instance, retained));
            }
            check(&found, &model, &instance, budget, &schedules, &what);
            if instance.len() <= 6 {
                let best = brute::optimum(&instance, budget).map(|c| c as f64 * 0.5 + 3.0);
                let answer = brute::optimum(&found.instance, found.budget_bytes);
                let answer = answer.map(|c| found.objective(c));
                assert_eq!(answer, best, "{what}");
                optima += 1;
            }
        }
    }
    assert!(optima > 50);
}

#[test]
fn files_in_either_format_are_recognised() {
    let mut numbers = Numbers::new(8);
    let instance = training(4, &mut numbers);
    let plain = CheckmateSchedule::checkpoint_all(&instance);
    let peak = simulate::checkmate(&instance, &plain).unwrap().peak_bytes;
    let program = original(&instance, peak - 1, 1.0);
    let (model, _) = rewritten(&program, instance.len() as u32, Way::Shuffled, &mut numbers);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mps");
    mps::write(&model, &path).unwrap();
    assert!(recognise(&mps::read(&path).unwrap()).is_some());
    let text = lp_format::to_string(&model);
    assert!(recognise(&lp_format::parse(&text, "a.lp").unwrap()).is_some());
}

/// A copy of a model with one row changed by `change`.
fn changed(
    model: &Model,
    row: usize,
    change: impl Fn(&mut Bounds, &mut Vec<(ColId, f64)>),
) -> Model {
    let mut b = ModelBuilder::new(Sense::Minimise);
    for c in (0..model.num_cols() as u32).map(ColId) {
        let id = b.add_col(model.costs()[c.index()], model.col_bounds(c));
        b.set_integer(id, model.is_integer(c));
    }
    for r in 0..model.num_rows() {
        let id = RowId(r as u32);
        let (mut bounds, mut entries) = (model.row_bounds(id), model.row(id).collect());
        if r == row {
            change(&mut bounds, &mut entries);
        }
        b.add_row(bounds, entries);
    }
    b.build().unwrap()
}

#[test]
fn what_is_nearly_the_program_is_not_recognised() {
    let mut numbers = Numbers::new(31);
    let instance = training(3, &mut numbers);
    let plain = CheckmateSchedule::checkpoint_all(&instance);
    let peak = simulate::checkmate(&instance, &plain).unwrap().peak_bytes;
    let program = original(&instance, peak - 1, 1.0);
    let model = program.model();
    assert!(recognise(model).is_some());
    let free = |c: ColId| match program.decision(c) {
        Decision::Computed { stage, node } | Decision::Retained { stage, node } => node < stage,
        Decision::Freed { stage, reader, .. } => reader <= stage,
        Decision::Memory { stage, node } => node <= stage,
    };
    let (mut refused, mut tried) = (0, 0);
    for row in 0..model.num_rows() {
        if !model.row(RowId(row as u32)).all(|(c, _)| free(c)) {
            continue;
        }
        tried += 1;
        // Without the row, and with one coefficient doubled.
        let without = changed(model, row, |bounds, _| *bounds = Bounds::FREE);
        let doubled = changed(model, row, |_, entries| entries[0].1 *= 2.0);
        for other in [without, doubled] {
            match recognise(&other) {
                None => refused += 1,
                Some(found) => {
                    // Rows that others imply may go or change; the answer may not.
                    let x = found.point(&plain);
                    assert_eq!(x.len(), other.num_cols());
                }
            }
        }
    }
    println!("{refused} of {} changes refused", 2 * tried);
    assert!(tried > 50 && refused == 2 * tried);
    let other = Original::new(&instance, peak, Stages::Unpartitioned, 1.0).unwrap();
    assert!(recognise(other.model()).is_none());
    let empty = ModelBuilder::new(Sense::Minimise).build().unwrap();
    assert!(recognise(&empty).is_none());
}

#[test]
fn further_rows_leave_the_program_recognised() {
    let mut numbers = Numbers::new(32);
    let instance = training(3, &mut numbers);
    let plain = CheckmateSchedule::checkpoint_all(&instance);
    let replay = simulate::checkmate(&instance, &plain).unwrap();
    let program = original(&instance, replay.peak_bytes - 1, 1.0);
    let model = program.model();
    let costs = model.costs().iter().enumerate();
    let dear: Vec<_> = costs.map(|(c, v)| (ColId(c as u32), *v)).collect();
    let more = [
        (3.0 * replay.cost as f64, dear),
        (1.0, vec![(ColId(0), 1.0), (ColId(1), 1.0)]),
    ];
    for (upper, entries) in more {
        let mut b = ModelBuilder::new(Sense::Minimise);
        for c in (0..model.num_cols() as u32).map(ColId) {
            let id = b.add_col(model.costs()[c.index()], model.col_bounds(c));
            b.set_integer(id, model.is_integer(c));
        }
        for r in (0..model.num_rows() as u32).map(RowId) {
            b.add_row(model.row_bounds(r), model.row(r));
        }
        let entries = entries.into_iter().filter(|e| e.1 != 0.0);
        b.add_row(Bounds::new(f64::NEG_INFINITY, upper), entries);
        let found = recognise(&b.build().unwrap()).expect("a further row");
        assert_eq!(found.instance.len(), instance.len());
        assert_eq!(found.objective(7), recognise(model).unwrap().objective(7));
    }
}

#[test]
fn published_instances_are_recognised_and_their_schedules_are_points() {
    let Some(folder) = shared_data("zoo") else {
        return;
    };
    let mut numbers = Numbers::new(77);
    let mut count = 0;
    for path in files(&folder.join("solutions"), "json") {
        let file = ScheduleFile::open(&path).unwrap();
        let small = ["unet", "vgg16"]
            .iter()
            .any(|n| file.instance().starts_with(n));
        if file.semantics() != Semantics::Checkmate || !small || count == 4 {
            continue;
        }
        let graph = folder
            .join("graphs")
            .join(format!("{}.json", file.instance()));
        let instance = remat_instances::read(graph)
            .unwrap()
            .single_implementation_view();
        let document = file.schedule(&instance).unwrap();
        let Schedule::Checkmate(schedule) = &document.schedule else {
            panic!("{}", path.display());
        };
        let budget = document.budget_bytes.unwrap();
        let program = original(&instance, budget, 1024.0);
        let (model, _) = rewritten(&program, instance.len() as u32, Way::Shuffled, &mut numbers);
        let found = recognise(&model).unwrap_or_else(|| panic!("{}", path.display()));
        let x = found.point(schedule);
        assert!(violation(&model, &x) < 1e-6, "{}", path.display());
        assert_eq!(model.objective(&x), document.objective as f64 * 0.5 + 3.0);
        count += 1;
    }
    assert!(count >= 3);
}
