//! Presolve with extensions that declare their needs: the answers equal the complete model's.

use remat_lp::random::SplitMix64;
use remat_lp::{Bounds, ColId, Model, ModelBuilder, Sense};
use remat_solver::mip::{
    BranchingRule, Control, CutSink, Decision, Heuristic, Needs, NodeView, Observer,
    PresolveEffect, PresolveStep, Propagator, Separator, Settings, Solution, SolutionSink,
    SolveError, SolveStatus, Solver, check_point,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

type Entries = Vec<(ColId, f64)>;

/// A program full of opportunities for presolve: slacks, doubletons, parallel and dominated
/// columns, columns without locks.
fn program(random: &mut SplitMix64) -> ModelBuilder {
    let senses = [Sense::Minimise, Sense::Maximise];
    let mut b = ModelBuilder::new(senses[random.below(2)]);
    let mut columns: Vec<(f64, Vec<f64>)> = Vec::new();
    let rows = 2 + random.below(3);
    for _ in 0..5 + random.below(6) {
        let one = match random.below(4) {
            // Parallel to another column.
            0 if !columns.is_empty() => columns[random.below(columns.len())].clone(),
            // In one row, or in no row.
            1 => {
                let mut column = vec![0.0; rows];
                column[random.below(rows)] = random.below(3) as f64 - 1.0;
                (random.below(5) as f64 - 2.0, column)
            }
            _ => {
                let column: Vec<f64> = (0..rows).map(|_| random.below(5) as f64 - 1.0).collect();
                (random.below(9) as f64 - 4.0, column)
            }
        };
        columns.push(one);
    }
    let cols: Vec<ColId> = (columns.iter())
        .map(|(cost, _)| {
            let lower = random.below(2) as f64 - 1.0;
            let col = b.add_col(*cost, lower..=lower + 1.0 + random.below(3) as f64);
            b.set_integer(col, random.below(5) > 0);
            col
        })
        .collect();
    for i in 0..rows {
        let entries = cols.iter().zip(&columns).map(|(&c, (_, a))| (c, a[i]));
        let entries: Entries = entries.filter(|e| e.1 != 0.0).collect();
        let side = random.below(7) as f64;
        match random.below(3) {
            0 => b.add_row(side - 2.0..=side - 2.0, entries),
            1 => b.add_row(side - 4.0.., entries),
            _ => b.add_row(..=side, entries),
        };
    }
    if random.below(2) == 0 {
        let (x, y) = (random.below(cols.len()), random.below(cols.len()));
        if x != y {
            b.add_row(1.0..=1.0, [(cols[x], 1.0), (cols[y], 1.0)]);
        }
    }
    b
}

/// Columns of a model, each with a probability of one half.
fn some(random: &mut SplitMix64, cols: usize) -> Vec<ColId> {
    let all = (0..cols as u32).map(ColId);
    all.filter(|_| random.below(2) == 0).collect()
}

/// A row that only this separator knows.
struct Hidden(Entries, f64, AtomicU64);

impl Hidden {
    fn activity(&self, x: &[f64]) -> f64 {
        self.0.iter().map(|&(j, a)| a * x[j.index()]).sum()
    }
}

impl Separator for Hidden {
    fn separate(&self, node: &NodeView<'_>, sink: &mut CutSink) {
        if self.activity(node.x) > self.1 + 1e-7 {
            self.2.fetch_add(1, Ordering::Relaxed);
            sink.add(..=self.1, self.0.iter().copied());
        }
    }

    fn is_lazy(&self) -> bool {
        true
    }

    fn needs(&self) -> Needs {
        Needs::Columns(self.0.iter().map(|e| e.0).collect())
    }
}

/// The same row, by propagation of its columns' upper bounds.
struct HiddenBounds(Entries, f64);

impl Propagator for HiddenBounds {
    fn propagate(&self, lower: &[f64], upper: &[f64]) -> Vec<(ColId, Bounds)> {
        let least = |&(j, a): &(ColId, f64)| (a * lower[j.index()]).min(a * upper[j.index()]);
        let sum: f64 = self.0.iter().map(least).sum();
        let one = |e: &(ColId, f64)| {
            let room = self.1 - (sum - least(e)) + 1e-7;
            let b = match e.1 > 0.0 {
                true => Bounds::new(f64::NEG_INFINITY, room / e.1),
                false => Bounds::new(room / e.1, f64::INFINITY),
            };
            (e.0, b)
        };
        self.0.iter().map(one).collect()
    }

    fn needs(&self) -> Needs {
        Needs::Columns(self.0.iter().map(|e| e.0).collect())
    }
}

/// Splits the first of its columns that is not fixed, in the middle.
struct Middle(Vec<ColId>, Vec<bool>, AtomicU64);

impl BranchingRule for Middle {
    fn branch(&self, node: &NodeView<'_>) -> Option<Vec<Decision>> {
        let open = |c: &&ColId| {
            let j = c.index();
            self.1[j] && node.lower[j] < node.upper[j]
        };
        let col = *self.0.iter().find(open)?;
        let (l, u) = (node.lower[col.index()], node.upper[col.index()]);
        assert!(l - 1e-9 <= node.x[col.index()] && node.x[col.index()] <= u + 1e-9);
        self.2.fetch_add(1, Ordering::Relaxed);
        let middle = ((l + u) / 2.0).floor();
        Some(vec![
            Decision::at_most(col, middle),
            Decision::at_least(col, middle + 1.0),
        ])
    }

    fn needs(&self) -> Needs {
        Needs::Columns(self.0.clone())
    }
}

/// Offers a known point, and the relaxation's point.
struct Known(Vec<f64>);

impl Heuristic for Known {
    fn name(&self) -> &'static str {
        "known"
    }

    fn run(&self, node: &NodeView<'_>, _budget: u64, sink: &mut SolutionSink) -> u64 {
        assert_eq!(node.x.len(), self.0.len());
        sink.add(self.0.clone());
        sink.add(node.x.to_vec());
        1
    }

    fn needs(&self) -> Needs {
        Needs::nothing()
    }
}

#[test]
fn hidden_rows_and_rules_give_the_answers_of_written_ones() {
    let mut random = SplitMix64::new(5);
    let (mut reduced, mut cut, mut branched, mut infeasible) = (0, 0, 0, 0);
    for _ in 0..400 {
        let open = program(&mut random);
        let model = open.clone().build().unwrap();
        let n = model.num_cols();
        let entries: Entries = (some(&mut random, n).into_iter())
            .map(|c| (c, random.below(5) as f64 - 2.0))
            .filter(|e| e.1 != 0.0)
            .collect();
        let side = random.below(5) as f64 - 1.0;
        let mut written = open;
        written.add_row(..=side, entries.iter().copied());
        let written = written.build().unwrap();
        let plain = Settings {
            presolve: false,
            cuts: false,
            heuristics: false,
            ..Settings::default()
        };
        let truth = Solver::new(written.clone(), plain).run().unwrap();
        let hidden = Arc::new(Hidden(entries.clone(), side, AtomicU64::new(0)));
        let integer: Vec<bool> = (0..n as u32).map(|j| model.is_integer(ColId(j))).collect();
        let rule = Arc::new(Middle(some(&mut random, n), integer, AtomicU64::new(0)));
        let settings = Settings {
            cuts: random.below(2) == 0,
            heuristics: random.below(2) == 0,
            probing: random.below(2) == 0,
            ..Settings::default()
        };
        let mut solver = Solver::new(model.clone(), settings)
            .with_separator(hidden.clone())
            .with_branching(rule.clone());
        if random.below(2) == 0 {
            solver = solver.with_propagator(Arc::new(HiddenBounds(entries, side)));
        }
        if let Some(s) = truth.solution.as_ref().filter(|_| random.below(2) == 0) {
            solver = solver.with_heuristic(Arc::new(Known(s.x.clone())));
        }
        let found = solver.run().unwrap();
        assert_eq!(found.status, truth.status, "{written:?}");
        match (&found.solution, &truth.solution) {
            (Some(a), Some(b)) => {
                assert!((a.objective - b.objective).abs() < 1e-6, "{written:?}");
                assert!(check_point(&written, &a.x, 1e-6).is_ok());
            }
            (a, b) => {
                assert_eq!(a.is_some(), b.is_some(), "{written:?}");
                infeasible += 1;
            }
        }
        reduced += u64::from(found.info.presolved_cols < n as u64);
        cut += hidden.2.load(Ordering::Relaxed);
        branched += rule.2.load(Ordering::Relaxed);
    }
    let counts = format!("{reduced} {cut} {branched} {infeasible}");
    assert!(reduced > 100 && cut > 20 && branched > 20, "{counts}");
    assert!((20..200).contains(&infeasible), "{counts}");
}

#[test]
fn a_column_that_was_not_named_ends_the_search() {
    struct Liar;
    impl Separator for Liar {
        fn separate(&self, _: &NodeView<'_>, sink: &mut CutSink) {
            sink.add(..=1.0, [(ColId(0), 1.0)]);
        }
        fn is_lazy(&self) -> bool {
            true
        }
        fn needs(&self) -> Needs {
            Needs::nothing()
        }
    }
    let mut b = ModelBuilder::new(Sense::Maximise);
    let cols: Vec<_> = (0..6)
        .map(|k| b.add_col(3.0 + f64::from(k % 3), 0.0..=1.0))
        .collect();
    cols.iter().for_each(|&c| b.set_integer(c, true));
    b.add_col(1.0, 0.0..=2.0);
    b.add_row(..=11.0, cols.iter().map(|&c| (c, 2.0 + f64::from(c.0 % 4))));
    let solver =
        Solver::new(b.build().unwrap(), Settings::default()).with_separator(Arc::new(Liar));
    let panic = catch_unwind(AssertUnwindSafe(|| solver.run())).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.contains("column 0 is not among those"), "{text}");
}

/// Replaces the first column by `x_j = 2 - y`, and counts its calls.
struct Mirror(AtomicU64);

impl PresolveStep for Mirror {
    fn name(&self) -> &'static str {
        "mirror"
    }

    fn reduce(&self, model: &Arc<Model>) -> PresolveEffect {
        self.0.fetch_add(1, Ordering::Relaxed);
        let mut b = ModelBuilder::new(model.sense());
        b.set_offset(model.offset() + 2.0 * model.costs()[0]);
        for j in (0..model.num_cols() as u32).map(ColId) {
            let (bounds, cost) = (model.col_bounds(j), model.costs()[j.index()]);
            let col = match j.0 {
                0 => b.add_col(-cost, 2.0 - bounds.upper..=2.0 - bounds.lower),
                _ => b.add_col(cost, bounds),
            };
            b.set_integer(col, model.is_integer(j));
        }
        for i in (0..model.num_rows() as u32).map(remat_lp::RowId) {
            let own = model.row(i).find(|e| e.0 == ColId(0)).map_or(0.0, |e| e.1);
            let entries = model
                .row(i)
                .map(|(j, a)| (j, if j.0 == 0 { -a } else { a }));
            let bounds = model.row_bounds(i);
            let bounds = Bounds::new(bounds.lower - 2.0 * own, bounds.upper - 2.0 * own);
            b.add_row(bounds, entries);
        }
        let way = |x: &[f64]| {
            let mut x = x.to_vec();
            x[0] = 2.0 - x[0];
            x
        };
        PresolveEffect::Reduced {
            model: Arc::new(b.build().unwrap()),
            way: Arc::new(way),
        }
    }
}

/// Records the reported solutions.
#[derive(Default)]
struct Told(Mutex<Vec<Vec<f64>>>);

impl Observer for Told {
    fn incumbent(&self, solution: &Solution) {
        self.0.lock().unwrap().push(solution.x.clone());
    }
}

#[test]
fn presolve_steps_come_first_and_their_answers_are_checked() {
    let mut random = SplitMix64::new(9);
    let mut solved = 0;
    for _ in 0..120 {
        let model = program(&mut random).build().unwrap();
        let truth = Solver::new(model.clone(), Settings::default())
            .run()
            .unwrap();
        let step = Arc::new(Mirror(AtomicU64::new(0)));
        let told = Arc::new(Told::default());
        let control = Control {
            observers: vec![told.clone()],
            ..Control::default()
        };
        let found = Solver::new(model.clone(), Settings::default())
            .with_presolve_step(step.clone())
            .with_presolve_step(step.clone())
            .with_presolve_step(step.clone())
            .with_heuristic(Arc::new(Known(vec![0.0; model.num_cols()])))
            .with_control(control)
            .run()
            .unwrap();
        assert_eq!(step.0.load(Ordering::Relaxed), 3);
        assert_eq!(found.status, truth.status);
        if let (Some(a), Some(b)) = (&found.solution, &truth.solution) {
            assert!((a.objective - b.objective).abs() < 1e-6, "{model:?}");
            assert!(check_point(&model, &a.x, 1e-6).is_ok());
            let told = told.0.lock().unwrap();
            assert!(told.iter().all(|x| check_point(&model, x, 1e-6).is_ok()));
            assert_eq!(told.last(), Some(&a.x));
            solved += 1;
        }
        // Skipped if columns are needed, and if presolve is off.
        let off = Settings {
            presolve: false,
            ..Settings::default()
        };
        let before = step.0.load(Ordering::Relaxed);
        let _ = Solver::new(model.clone(), off)
            .with_presolve_step(step.clone())
            .run()
            .unwrap();
        assert_eq!(step.0.load(Ordering::Relaxed), before);
    }
    assert!(solved > 50, "{solved}");
    struct Wrong;
    impl PresolveStep for Wrong {
        fn name(&self) -> &'static str {
            "wrong"
        }
        fn reduce(&self, model: &Arc<Model>) -> PresolveEffect {
            PresolveEffect::Reduced {
                model: model.clone(),
                way: Arc::new(|x| x.iter().map(|v| v + 5.0).collect()),
            }
        }
    }
    let mut b = ModelBuilder::new(Sense::Maximise);
    let x = b.add_col(1.0, 0.0..=3.0);
    b.set_integer(x, true);
    let solver = Solver::new(b.build().unwrap(), Settings::default());
    let error = solver
        .with_presolve_step(Arc::new(Wrong))
        .run()
        .unwrap_err();
    assert!(matches!(error, SolveError::PresolveStep { .. }), "{error}");
    assert!(error.to_string().contains("(wrong)"), "{error}");
    struct Never;
    impl PresolveStep for Never {
        fn name(&self) -> &'static str {
            "never"
        }
        fn reduce(&self, _: &Arc<Model>) -> PresolveEffect {
            PresolveEffect::Infeasible
        }
    }
    let mut b = ModelBuilder::new(Sense::Minimise);
    b.add_col(1.0, 0.0..);
    let solver = Solver::new(b.build().unwrap(), Settings::default());
    let found = solver.with_presolve_step(Arc::new(Never)).run().unwrap();
    assert_eq!(found.status, SolveStatus::Infeasible);
}
