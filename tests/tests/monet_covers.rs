//! Lifted covers of MONeT's memory rows: whatever set that does not fit they are made from, every schedule that fits meets them.

use remat_formulations::monet::interval::{Graph, Interval, Row, Term};
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

/// Tensors in random order, or small ones first, until they exceed `room`, without those that `out` names; `None` if all of
/// them fit.
fn together(
    graph: &Graph,
    room: i64,
    out: impl Fn(u32) -> bool,
    numbers: &mut Numbers,
) -> Option<Vec<u32>> {
    let mut left: Vec<u32> = (0..graph.columns as u32).filter(|i| !out(*i)).collect();
    let small_first = numbers.below(2) == 0;
    // The smallest last.
    left.sort_by_key(|&i| std::cmp::Reverse(graph.bytes[i as usize]));
    let (mut taken, mut bytes) = (Vec::new(), 0);
    while bytes <= room {
        if left.is_empty() {
            return None;
        }
        let i = match small_first {
            true => left.remove(left.len() - 1),
            false => left.swap_remove(numbers.below(left.len() as u64) as usize),
        };
        // The coefficients of what is empty say nothing.
        if graph.bytes[i as usize] > 0 {
            bytes += graph.bytes[i as usize];
            taken.push(i);
        }
    }
    taken.sort_unstable();
    Some(taken)
}

/// Covers at random events, with the tensors that each is made from.
fn covers(graph: &Graph, numbers: &mut Numbers) -> Vec<(Vec<u32>, Row)> {
    let mut rows = Vec::new();
    for t in 0..graph.stages {
        let stage = t as u32;
        for node in 0..graph.columns as u32 {
            let room = graph.room[t];
            if let Some(set) = together(graph, room, |_| false, numbers) {
                let row = Row::cover(graph, stage, Some(node), &set, None);
                rows.push((set, row));
            }
            let starts = graph.starts(node, stage);
            let way = &starts[numbers.below(starts.len() as u64) as usize];
            let own = graph.bytes[node as usize] + graph.passing_bytes(node) + way.workspace;
            let passing = &graph.passing[node as usize];
            let out = |i: u32| i == node || passing.contains(&i);
            if let Some(set) = together(graph, room - own, out, numbers) {
                let row = Row::cover(graph, stage, Some(node), &set, Some(way.workspace));
                rows.push((set, row));
            }
        }
        for choice in graph.choices[t].iter().filter(|_| t > 0) {
            let room = graph.backward_room[t] - choice.workspace;
            if let Some(set) = together(graph, room, |_| false, numbers) {
                let row = Row::cover(graph, stage, None, &set, Some(choice.workspace));
                rows.push((set, row));
            }
        }
    }
    rows
}

#[test]
fn lifted_covers_hold_at_schedules_that_fit() {
    let (mut count, mut lifted, mut twice, mut tight, mut fitting) = (0, 0, 0, 0, 0);
    for round in 0..960 {
        let numbers = &mut Numbers::new(70_000 + round);
        let mode = Mode::all().nth(round as usize % 16).unwrap();
        let instance = training(3 + round as usize % 4, mode, numbers);
        let schedules: Vec<_> = (0..10).map(|_| schedule(&instance, numbers)).collect();
        let peak = |s: &MonetSchedule| simulate::monet(&instance, s).unwrap().peak_bytes;
        let mut peaks: Vec<u64> = schedules.iter().map(&peak).collect();
        peaks.sort_unstable();
        let budget = peaks[4];
        let graph = Graph::new(&instance, budget).unwrap();
        let rows = covers(&graph, numbers);
        count += rows.len();
        for (tensors, row) in &rows {
            let there = |t: &&Term| matches!(t, Term::Stored { .. } | Term::Held { .. });
            let mut there = row.terms.iter().filter(there);
            let beside = |t: &Term| t.node().is_some_and(|i| !tensors.contains(&i));
            lifted += usize::from(there.any(beside));
            let more =
                |t: &Term| matches!(t, Term::Stored { coefficient, .. } if *coefficient < -1);
            twice += usize::from(row.terms.iter().any(more));
        }
        for s in schedules.iter().filter(|s| peak(s) <= budget) {
            let (intervals, ways) = point(&graph, s);
            fitting += 1;
            for (_, row) in &rows {
                let holds = row.holds(&graph, &intervals, &ways);
                assert!(holds, "round {round}: {row:?} at {intervals:?} {ways:?}");
                tight += usize::from(row.activity(&graph, &intervals, &ways) == row.right);
            }
        }
    }
    println!(
        "{count} covers, {lifted} lifted, {twice} by more than 1, {tight} times tight, {fitting} schedules"
    );
    assert!(count > 20_000 && lifted > 800 && twice > 30 && tight > 1_500 && fitting > 4_000);
}
