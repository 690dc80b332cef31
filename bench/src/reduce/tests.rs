//! Results of reductions: they still fail, every single edit ends the failure, and the number of
//! jobs does not matter.

use super::*;
use remat_lp::random::SplitMix64;
use remat_lp::{Model, ModelBuilder, RowId, Sense};
use std::sync::atomic::{AtomicU64, Ordering};

/// A model of integer columns with small bounds, and some rows that few points satisfy.
fn small_model(random: &mut SplitMix64) -> Model {
    let below = |random: &mut SplitMix64, n: usize| random.below(n) as i64;
    let senses = [Sense::Minimise, Sense::Maximise];
    let mut b = ModelBuilder::new(senses[below(random, 2) as usize]);
    b.set_offset(below(random, 3) as f64 / 4.0);
    let cols: Vec<_> = (0..2 + below(random, 4))
        .map(|_| {
            let lower = below(random, 3) - 1;
            let upper = lower + below(random, 3);
            let col = b.add_col(below(random, 9) as f64 - 4.0, lower as f64..=upper as f64);
            b.set_integer(col, true);
            col
        })
        .collect();
    for _ in 0..2 + below(random, 5) {
        let all = cols
            .iter()
            .map(|&c| (c, below(random, 9) as f64 / 2.0 - 2.0));
        let entries: Vec<_> = all.filter(|e| e.1 != 0.0).collect();
        let side = below(random, 13) as f64 / 2.0 - 3.0;
        match below(random, 4) {
            0 => b.add_row(side..=side, entries),
            1 => b.add_row(..=side, entries),
            2 => b.add_row(side.., entries),
            _ => b.add_row(side..=side + 1.25, entries),
        };
    }
    b.build().unwrap()
}

/// Returns whether no point of the box satisfies all rows. A box too large to enumerate counts as
/// feasible.
fn is_infeasible(model: &Model) -> bool {
    let n = model.num_cols();
    let (lower, upper) = (model.col_lower(), model.col_upper());
    let is_small = |j: usize| {
        let integer = model.is_integer(remat_lp::ColId(j as u32));
        integer && lower[j] >= -3.0 && upper[j] <= 3.0
    };
    if !(0..n).all(is_small) {
        return false;
    }
    let mut x: Vec<f64> = lower.iter().map(|l| l.ceil()).collect();
    if (0..n).any(|j| x[j] > upper[j]) {
        return true;
    }
    loop {
        let holds = |i: u32| {
            let activity: f64 = model.row(RowId(i)).map(|(j, v)| v * x[j.index()]).sum();
            let b = model.row_bounds(RowId(i));
            activity >= b.lower - 1e-9 && activity <= b.upper + 1e-9
        };
        if (0..model.num_rows() as u32).all(holds) {
            return false;
        }
        let Some(j) = (0..n).find(|&j| x[j] + 1.0 <= upper[j]) else {
            return true;
        };
        x[j] += 1.0;
        (0..j).for_each(|k| x[k] = lower[k].ceil());
    }
}

/// Every single edit of every step.
fn neighbours<T: Reducible>(thing: &T) -> Vec<T> {
    let steps = 0..thing.steps().len();
    let edits = steps.flat_map(|step| thing.edits(step));
    let changed = edits.map(|edit| {
        let mut other = thing.clone();
        assert!(other.apply(&edit), "an edit that is listed applies");
        other
    });
    changed.filter(Reducible::is_valid).collect()
}

#[test]
fn what_is_left_of_infeasible_models_is_infeasible_and_minimal() {
    let mut random = SplitMix64::new(7);
    let (mut reduced, mut rows) = (0, 0);
    for _ in 0..400 {
        let model = small_model(&mut random);
        if !is_infeasible(&model) {
            continue;
        }
        let fails = |d: &ModelDraft| Ok::<_, ()>(is_infeasible(&d.model().unwrap()));
        let start = ModelDraft::new(&model);
        let mut before = start.clone();
        let told = |d: &ModelDraft, _: &Tally| {
            assert!(fails(d).unwrap() && *d != before);
            before = d.clone();
            Ok(())
        };
        let small = reduce(start, &ReduceSettings::default(), fails, told).unwrap();
        assert_eq!(small.end, ReduceEnd::Minimal);
        let left = small.smallest.model().unwrap();
        assert!(is_infeasible(&left));
        assert_eq!(left.sense(), Sense::Minimise);
        assert_eq!(left.offset(), 0.0);
        assert!(left.costs().iter().all(|&c| c == 0.0));
        for other in neighbours(&small.smallest) {
            assert!(!fails(&other).unwrap(), "{left:?}\n{other:?}");
        }
        reduced += 1;
        rows += left.num_rows();
    }
    assert!(reduced > 100 && rows >= reduced, "{reduced} {rows}");
}

#[test]
fn exactly_what_the_failure_needs_is_left() {
    let mut b = ModelBuilder::new(Sense::Maximise);
    let cols: Vec<_> = (0..40)
        .map(|k| b.add_col(1.5 + f64::from(k), 0.25..=9.75))
        .collect();
    for i in 0..30 {
        let entries = (0..40).filter(|j| (i + j) % 3 == 0);
        let entries: Vec<_> = entries.map(|j| (cols[j], 2.71537 + j as f64)).collect();
        b.add_row(-7.5..=123.456, entries);
    }
    b.set_integer(cols[17], true);
    b.set_integer(cols[18], true);
    let model = b.build().unwrap();
    // A row with one of its columns, an integer column, and a cost.
    let fails = |d: &ModelDraft| {
        let m = d.model().unwrap();
        let named = |name: &str| (0..m.num_cols()).find(|&j| m.col_name(col(j)) == name);
        let rows = (0..m.num_rows() as u32).map(RowId);
        let row = rows.clone().find(|&i| m.row_name(i) == "r13");
        let entry = row.zip(named("x5")).is_some_and(|(i, j)| {
            let mut entries = m.row(i);
            entries.any(|(k, v)| k == col(j) && v > 2.0)
        });
        let integer = named("x17").is_some_and(|j| m.is_integer(col(j)) && m.col_upper()[j] < 10.0);
        let cost = named("x30").is_some_and(|j| m.costs()[j] > 30.0);
        Ok::<_, ()>(entry && integer && cost)
    };
    let start = ModelDraft::new(&model);
    assert!(fails(&start).unwrap());
    let small = reduce(start, &ReduceSettings::default(), fails, |_, _| Ok(())).unwrap();
    let m = small.smallest.model().unwrap();
    let names: Vec<_> = (0..m.num_cols()).map(|j| m.col_name(col(j))).collect();
    assert_eq!(names, ["x5", "x17", "x30"]);
    assert_eq!((m.num_rows(), m.num_nonzeros()), (1, 1));
    assert_eq!(m.row_name(RowId(0)), "r13");
    // 31.5 rounds to 32, whose first digit alone would be 30.
    assert_eq!(m.costs(), [0.0, 0.0, 32.0]);
    // 8.14.. is 8 as a whole number; 0 as an upper bound is the simplest.
    assert_eq!(m.row(RowId(0)).next().unwrap().1, 8.0);
    assert_eq!(m.col_upper()[1], 0.0);
    let integers: Vec<_> = (0..3).map(|j| m.is_integer(col(j))).collect();
    assert_eq!(integers, [false, true, false]);
    let blocks = small.tally.tries;
    assert!(blocks < 400, "{blocks} tries for 1,200 parts and more");
}

fn col(j: usize) -> remat_lp::ColId {
    remat_lp::ColId(j as u32)
}

#[test]
fn columns_are_fixed_where_the_reference_has_them() {
    // x + y = 3 with 0 <= x, y <= 2: fails while (2, 1) satisfies it, and rows have columns.
    let mut b = ModelBuilder::new(Sense::Minimise);
    let x = b.add_col(2.0, 0.0..=2.0);
    let y = b.add_col(5.0, 0.0..=2.0);
    b.add_row(3.0..=3.0, [(x, 1.0), (y, 1.0)]);
    let start = ModelDraft::new(&b.build().unwrap()).with_reference(&[2.0, 1.0]);
    let fails = |d: &ModelDraft| {
        let m = d.model().unwrap();
        let point: Vec<f64> = (0..m.num_cols())
            .map(|j| if m.col_name(col(j)) == "x0" { 2.0 } else { 1.0 })
            .collect();
        let rows = m.num_rows() == 1 && m.num_nonzeros() > 0;
        let side = if m.num_cols() == 2 {
            3.0
        } else {
            point.first().copied().unwrap_or(0.0)
        };
        Ok::<_, ()>(rows && m.row_lower() == [side] && m.row_upper() == [side])
    };
    let small = reduce(start, &ReduceSettings::default(), fails, |_, _| Ok(())).unwrap();
    let m = small.smallest.model().unwrap();
    assert_eq!((m.num_cols(), m.num_nonzeros()), (1, 1));
    assert_eq!(m.row_lower(), m.row_upper());
}

#[test]
fn jobs_change_nothing_and_limits_end_it() {
    let mut random = SplitMix64::new(11);
    let mut models = std::iter::from_fn(|| Some(small_model(&mut random)));
    let model = models.find(is_infeasible).unwrap();
    let texts = ["a = 1", "b = 2", "c = 3", "d = 4"];
    let start = (Parts::new("settings", texts), ModelDraft::new(&model));
    let fails = |(parts, draft): &(Parts, ModelDraft)| {
        let named = parts.kept().any(|text| text == "c = 3");
        Ok::<_, ()>(named && is_infeasible(&draft.model().unwrap()))
    };
    let with = |settings: &ReduceSettings| {
        let calls = AtomicU64::new(0);
        let counted = |thing: &(Parts, ModelDraft)| {
            calls.fetch_add(1, Ordering::Relaxed);
            fails(thing)
        };
        let reduced = reduce(start.clone(), settings, counted, |_, _| Ok(())).unwrap();
        (reduced, calls.into_inner())
    };
    let (one, calls) = with(&ReduceSettings::default());
    assert_eq!(one.smallest.0.to_text(), "c = 3\n");
    assert_eq!(one.tally.tries, calls);
    let sum: u64 = one.tally.steps.iter().map(|s| s.tries).sum();
    assert_eq!(one.tally.tries, sum);
    for jobs in [2, 3, 8] {
        let settings = ReduceSettings {
            jobs,
            ..ReduceSettings::default()
        };
        let (many, asked) = with(&settings);
        assert_eq!(many, one);
        assert!(asked >= calls);
    }
    for tries in [0, 1, calls / 2] {
        let settings = ReduceSettings {
            tries: Some(tries),
            ..ReduceSettings::default()
        };
        let (some, asked) = with(&settings);
        assert_eq!(
            (some.end, some.tally.tries, asked),
            (ReduceEnd::Tries, tries, tries)
        );
        assert!(fails(&some.smallest).unwrap() || tries == 0);
    }
    let stopped = ReduceSettings::default();
    stopped.stop.store(true, Ordering::Relaxed);
    let (none, asked) = with(&stopped);
    assert_eq!((none.end, asked), (ReduceEnd::Stopped, 0));
    assert_eq!(none.smallest, start);
    let settings = ReduceSettings {
        steps: Some(vec!["settings".into()]),
        ..ReduceSettings::default()
    };
    let (alone, _) = with(&settings);
    assert_eq!(alone.smallest.1, start.1);
    assert_eq!(alone.smallest.0, one.smallest.0);
}

#[test]
fn errors_of_the_predicate_end_it() {
    let parts = Parts::new("settings", ["a", "b", "c"]);
    let fails = |p: &Parts| match p.len() {
        2.. => Ok(true),
        _ => Err("the disk is full"),
    };
    let ended = reduce(parts, &ReduceSettings::default(), fails, |_, _| Ok(()));
    assert_eq!(ended.unwrap_err(), "the disk is full");
}
