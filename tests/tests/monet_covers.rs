//! Lifted covers of MONeT's memory rows: every schedule that fits meets them.

use remat_formulations::interval::SeparationSettings;
use remat_formulations::monet::interval::{
    Graph, Interval, Kind, Point, Row, Term, Which, separate_cuts,
};
use remat_formulations::schedule::MonetSchedule;
use remat_formulations::simulate;
use remat_tests::graphs::Numbers;
use remat_tests::monet::{Mode, schedule, training};

/// A point of the program: intervals, and the choice of each stage.
fn point(graph: &Graph, schedule: &MonetSchedule) -> (Vec<Interval>, Vec<usize>) {
    let ways = schedule.backward_choice.iter().enumerate();
    let ways = ways.map(|(t, &w)| graph.choice_of(t, w)).collect();
    (Interval::of_schedule(graph, schedule), ways)
}

/// The point half way between schedules.
fn average(graph: &Graph, schedules: &[MonetSchedule]) -> Point {
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

#[test]
fn covers_hold_at_schedules_that_fit() {
    let (mut count, mut of_runs, mut of_windows, mut heavy) = (0, 0, 0, 0);
    let (mut tight, mut fitting) = (0, 0);
    let settings = SeparationSettings {
        violation: 0.01,
        memory_limit: 200,
        covers: true,
        ..SeparationSettings::default()
    };
    for round in 0..960 {
        let numbers = &mut Numbers::new(70_000 + round);
        let mode = Mode::all().nth(round as usize % 16).unwrap();
        let instance = training(3 + round as usize % 4, mode, numbers);
        let schedules: Vec<_> = (0..10).map(|_| schedule(&instance, numbers)).collect();
        let peak = |s: &MonetSchedule| simulate::monet(&instance, s).unwrap().peak_bytes;
        let mut peaks: Vec<u64> = schedules.iter().map(&peak).collect();
        peaks.sort_unstable();
        let budget = peaks[2];
        let graph = Graph::new(&instance, budget).unwrap();
        // Covers cut off what schedules that do not fit are on average.
        let points = schedules.windows(3).map(|some| average(&graph, some));
        let cuts = points.flat_map(|p| separate_cuts(&graph, &p, &settings, true));
        let rows: Vec<Row> = cuts.filter(|row| row.kind == Kind::Cover).collect();
        count += rows.len();
        for row in &rows {
            let run = |t: &Term| {
                matches!(
                    t,
                    Term::Start {
                        which: Which::AtLeast(_),
                        ..
                    }
                )
            };
            let window = |t: &Term| {
                matches!(
                    t,
                    Term::Start {
                        which: Which::All,
                        ..
                    }
                )
            };
            let weight =
                |t: &Term| matches!(t, Term::Stored { coefficient, .. } if *coefficient < -1);
            of_runs += usize::from(row.terms.iter().any(run));
            of_windows += usize::from(row.terms.iter().any(window));
            heavy += usize::from(row.terms.iter().any(weight));
        }
        for s in schedules.iter().filter(|s| peak(s) <= budget) {
            let (intervals, ways) = point(&graph, s);
            fitting += 1;
            for row in &rows {
                let holds = row.holds(&graph, &intervals, &ways);
                assert!(holds, "round {round}: {row:?} at {intervals:?} {ways:?}");
                tight += usize::from(row.activity(&graph, &intervals, &ways) == row.right);
            }
        }
    }
    println!(
        "{count} covers, {of_runs} of runs, {of_windows} of windows, {heavy} with weights, {tight} times tight, {fitting} schedules"
    );
    assert!(count > 1_000 && of_runs > 100 && of_windows > 10 && heavy > 50);
    assert!(tight > 1_000 && fitting > 2_000);
}
