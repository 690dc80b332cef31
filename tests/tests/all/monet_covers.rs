//! Lifted covers of MONeT's memory rows, and path memory cuts: every schedule that fits satisfies
//! them.

use remat_formulations::life::{Atom, Term, Which};
use remat_formulations::monet::interval::{
    Interval, MonetGraph, Point, Row, RowKind, separate_cuts,
};
use remat_instances::schedule::MonetSchedule;
use remat_instances::simulate;
use remat_solver::price::SeparationSettings;
use remat_tests::graphs::Numbers;
use remat_tests::monet::{Mode, schedule, training};

/// A point of the program: intervals, and the choice of each stage.
fn point(graph: &MonetGraph, schedule: &MonetSchedule) -> (Vec<Interval>, Vec<usize>) {
    let ways = schedule.backward_choice.iter().enumerate();
    let ways = ways.map(|(t, &w)| graph.choice_of(t, w)).collect();
    (Interval::of_schedule(graph, schedule), ways)
}

/// The point half way between schedules.
fn average(graph: &MonetGraph, schedules: &[MonetSchedule]) -> Point {
    let share = 1.0 / schedules.len() as f64;
    let mut choices: Vec<Vec<f64>> = graph.choices.iter().map(|c| vec![0.0; c.len()]).collect();
    let mut all = Vec::new();
    for schedule in schedules {
        let (intervals, ways) = point(graph, schedule);
        all.extend(intervals);
        for (values, way) in choices.iter_mut().zip(ways) {
            values[way] += share;
        }
    }
    all.sort_unstable();
    let same = all.chunk_by(|a, b| a == b);
    let columns: Vec<(Interval, f64)> = same.map(|g| (g[0], g.len() as f64 * share)).collect();
    Point::new(graph, columns.into_iter(), choices)
}

/// Rows of a kind that cut off averages of schedules, from many small instances.
#[derive(Default)]
struct Found {
    rows: Vec<Row>,
    /// Times that one held with equality, and schedules that fit.
    tight: usize,
    fitting: usize,
}

/// Separates rows and asserts that they hold at the schedules that fit.
fn rows_of(kind: RowKind, rounds: std::ops::Range<u64>) -> Found {
    let settings = SeparationSettings {
        violation: 0.01,
        resource_cut_limit: 200,
        dense: true,
        ..SeparationSettings::default()
    };
    let mut all = Found::default();
    for round in rounds {
        let numbers = &mut Numbers::new(round);
        let mode = Mode::all().nth(round as usize % 16).unwrap();
        let instance = training(3 + round as usize % 4, mode, numbers);
        let schedules: Vec<_> = (0..10).map(|_| schedule(&instance, numbers)).collect();
        let peak = |s: &MonetSchedule| simulate::monet(&instance, s).unwrap().peak_bytes;
        let mut peaks: Vec<u64> = schedules.iter().map(&peak).collect();
        peaks.sort_unstable();
        let budget = peaks[2];
        let graph = MonetGraph::new(&instance, budget).unwrap();
        // They cut off averages of schedules that do not fit.
        let points = schedules.windows(3).map(|some| average(&graph, some));
        let cuts = points.flat_map(|p| separate_cuts(&graph, &p, &settings));
        let rows: Vec<Row> = cuts.filter(|row| row.kind == kind).collect();
        for s in schedules.iter().filter(|s| peak(s) <= budget) {
            let (intervals, ways) = point(&graph, s);
            all.fitting += 1;
            for row in &rows {
                let holds = row.holds(&graph, &intervals, &ways);
                assert!(holds, "round {round}: {row:?} at {intervals:?} {ways:?}");
                all.tight += usize::from(row.activity(&graph, &intervals, &ways) == row.right);
            }
        }
        all.rows.extend(rows);
    }
    all
}

impl Found {
    /// Number of rows, times that one was tight, number of schedules.
    fn counts(&self) -> (usize, usize, usize) {
        (self.rows.len(), self.tight, self.fitting)
    }

    fn with(&self, term: impl Fn(&Term) -> bool) -> usize {
        let has = |row: &&Row| row.terms.iter().any(&term);
        self.rows.iter().filter(has).count()
    }
}

fn is_start(term: &Term, starts: Which) -> bool {
    matches!(term.atom, Atom::Start { which, .. } if which == starts)
}

#[test]
fn covers_hold_at_schedules_that_fit() {
    let found = rows_of(RowKind::Cover, 70_000..70_960);
    let run = |t: &Term| {
        matches!(
            t.atom,
            Atom::Start {
                which: Which::AtLeast(_),
                ..
            }
        )
    };
    let of_runs = found.with(run);
    let of_windows = found.with(|t| is_start(t, Which::All));
    let heavy = found.with(|t| matches!(t.atom, Atom::Crosses { .. }) && t.coefficient < -1);
    let (count, tight, fitting) = found.counts();
    println!(
        "{count} covers, {of_runs} of runs, {of_windows} of windows, {heavy} with weights, {tight} times tight, {fitting} schedules"
    );
    assert!(count > 1_000 && of_runs > 100 && of_windows > 10 && heavy > 50);
    assert!(tight > 1_000 && fitting > 2_000);
}

#[test]
fn path_memory_cuts_hold_at_schedules_that_fit() {
    let found = rows_of(RowKind::PathMemory, 80_000..87_000);
    let of_windows = found.with(|t| is_start(t, Which::All));
    let of_choices = found.with(|t| matches!(t.atom, Atom::Choice { .. }));
    let (count, tight, fitting) = found.counts();
    println!(
        "{count} cuts, {of_windows} of windows, {of_choices} of choices, {tight} times tight, {fitting} schedules"
    );
    assert!(count > 1_000 && of_windows > 100 && of_choices > 100);
    assert!(tight > 200 && fitting > 10_000);
}
