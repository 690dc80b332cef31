//! Edits against programs that are built at once, answers against enumeration.

use super::*;
use proptest::prelude::*;
use remat_lp::{ColId, RowId, Sense};
use std::collections::BTreeMap;
use std::sync::Arc;

/// An edit, with numbers that choose among existing columns and rows.
#[derive(Clone, Debug)]
enum Edit {
    Col(i8, i8),
    Row(Vec<(usize, i8)>, i8),
    Entry(usize, usize, i8),
    Cost(usize, i8),
    Side(usize, i8),
    RemoveCols(Vec<usize>),
    RemoveRow(usize),
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let small = -5i8..6;
    let at = 0usize..1000;
    let entries = prop::collection::vec((at.clone(), small.clone()), 0..6);
    let edit = prop_oneof![
        4 => (small.clone(), 0i8..4).prop_map(|(c, u)| Edit::Col(c, u)),
        4 => (entries, small.clone()).prop_map(|(e, s)| Edit::Row(e, s)),
        2 => (at.clone(), at.clone(), small.clone()).prop_map(|(i, j, v)| Edit::Entry(i, j, v)),
        1 => (at.clone(), small.clone()).prop_map(|(j, c)| Edit::Cost(j, c)),
        1 => (at.clone(), small).prop_map(|(i, s)| Edit::Side(i, s)),
        1 => prop::collection::vec(at.clone(), 1..3).prop_map(Edit::RemoveCols),
        1 => at.prop_map(Edit::RemoveRow),
    ];
    prop::collection::vec(edit, 0..40)
}

/// A program kept in plain maps.
#[derive(Default)]
struct Plain {
    cols: BTreeMap<Col, (f64, f64)>,
    rows: BTreeMap<Row, (BTreeMap<Col, f64>, f64)>,
}

impl Plain {
    fn col(&self, k: usize) -> Option<Col> {
        self.cols.keys().nth(k % self.cols.len().max(1)).copied()
    }

    fn row(&self, k: usize) -> Option<Row> {
        self.rows.keys().nth(k % self.rows.len().max(1)).copied()
    }
}

/// Both programs after the edits; columns are integers from 0 up, rows have upper sides.
fn edited(edits: &[Edit]) -> Result<(Program, Plain), ProgramError> {
    let (mut program, mut plain) = (Program::default(), Plain::default());
    program.set_sense(Sense::Maximise);
    for edit in edits {
        match edit {
            &Edit::Col(cost, upper) => {
                let (cost, upper) = (f64::from(cost), f64::from(upper));
                let col = program.add_col(0.0, upper, cost, Kind::Integer, None)?;
                plain.cols.insert(col, (cost, upper));
            }
            Edit::Row(entries, side) => {
                let side = f64::from(*side);
                let entries = entries
                    .iter()
                    .filter_map(|&(k, v)| Some((plain.col(k)?, f64::from(v))));
                let entries: Vec<_> = entries.collect();
                let row = program.add_row(&entries, f64::NEG_INFINITY, side, None)?;
                let mut sums = BTreeMap::new();
                entries
                    .iter()
                    .for_each(|&(c, v)| *sums.entry(c).or_insert(0.0) += v);
                plain.rows.insert(row, (sums, side));
            }
            &Edit::Entry(i, j, v) => {
                if let (Some(row), Some(col)) = (plain.row(i), plain.col(j)) {
                    program.set_entry(row, col, f64::from(v))?;
                    let Some(data) = plain.rows.get_mut(&row) else {
                        continue;
                    };
                    data.0.insert(col, f64::from(v));
                }
            }
            &Edit::Cost(j, c) => {
                if let Some(col) = plain.col(j) {
                    program.set_cost(col, f64::from(c))?;
                    plain
                        .cols
                        .entry(col)
                        .and_modify(|data| data.0 = f64::from(c));
                }
            }
            &Edit::Side(i, s) => {
                if let Some(row) = plain.row(i) {
                    program.set_row_bounds(row, f64::NEG_INFINITY, f64::from(s))?;
                    plain
                        .rows
                        .entry(row)
                        .and_modify(|data| data.1 = f64::from(s));
                }
            }
            Edit::RemoveCols(which) => {
                let cols: Vec<Col> = which.iter().filter_map(|&k| plain.col(k)).collect();
                program.remove_cols(&cols)?;
                for col in &cols {
                    plain.cols.remove(col);
                    plain.rows.values_mut().for_each(|row| {
                        row.0.remove(col);
                    });
                }
            }
            &Edit::RemoveRow(k) => {
                if let Some(row) = plain.row(k) {
                    program.remove_row(row)?;
                    plain.rows.remove(&row);
                }
            }
        }
    }
    Ok((program, plain))
}

/// The best objective over all points.
fn enumerated(plain: &Plain) -> Option<f64> {
    let cols: Vec<_> = plain.cols.iter().collect();
    let mut x = BTreeMap::new();
    fn go(cols: &[(&Col, &(f64, f64))], plain: &Plain, x: &mut BTreeMap<Col, f64>) -> Option<f64> {
        let Some((&(&col, &(cost, upper)), rest)) = cols.split_first() else {
            let fits = plain
                .rows
                .values()
                .all(|(row, side)| row.iter().map(|(c, v)| v * x[c]).sum::<f64>() <= *side);
            return fits.then_some(0.0);
        };
        let values = (0..=upper as u32).filter_map(|v| {
            x.insert(col, f64::from(v));
            go(rest, plain, x).map(|below| below + cost * f64::from(v))
        });
        values.reduce(f64::max)
    }
    go(&cols, plain, &mut x)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

    #[test]
    fn edits_lead_to_the_same_model_as_building_at_once(edits in edits()) {
        let (program, plain) = edited(&edits).unwrap();
        let compiled = program.compile().unwrap();
        let model = &compiled.model;
        prop_assert_eq!(&compiled.cols, &plain.cols.keys().copied().collect::<Vec<_>>());
        prop_assert_eq!(&compiled.rows, &plain.rows.keys().copied().collect::<Vec<_>>());
        let mut nonzeros = 0;
        for (i, (sums, side)) in plain.rows.values().enumerate() {
            let found = model.row(RowId(i as u32)).map(|(c, v)| (compiled.cols[c.index()], v));
            let sums: BTreeMap<_, _> = sums.iter().map(|(&c, &v)| (c, v)).filter(|e| e.1 != 0.0).collect();
            nonzeros += sums.len();
            prop_assert_eq!(found.collect::<BTreeMap<_, _>>(), sums);
            prop_assert_eq!(model.row_upper()[i], *side);
        }
        prop_assert_eq!(program.num_nonzeros(), nonzeros);
        for (j, (cost, upper)) in plain.cols.values().enumerate() {
            prop_assert_eq!((model.costs()[j], model.col_upper()[j]), (*cost, *upper));
            prop_assert!(model.is_integer(ColId(j as u32)));
        }
        if plain.cols.values().map(|c| c.1 + 1.0).product::<f64>() < 5000.0 {
            let answer = solve_program(&program, &ProgramSettings::default(), Arc::new(())).unwrap();
            match enumerated(&plain) {
                None => prop_assert_eq!(answer.ending, Ending::Infeasible),
                Some(best) => {
                    prop_assert_eq!(answer.ending, Ending::Optimal);
                    prop_assert_eq!(answer.points[0].objective, best);
                    let x = &answer.points[0].x;
                    prop_assert_eq!(x.len(), program.col_handles());
                    let value: f64 = plain.cols.iter().map(|(c, d)| d.0 * x[c.index()]).sum();
                    prop_assert_eq!(value, best);
                }
            }
        }
    }
}

#[test]
fn a_linear_program_has_duals_under_its_handles() {
    let mut program = Program::default();
    let gone = program
        .add_col(0.0, 1.0, 1.0, Kind::Continuous, None)
        .unwrap();
    let x = program
        .add_col(0.0, INFINITE, -3.0, Kind::Continuous, Some("x"))
        .unwrap();
    let y = program
        .add_col(0.0, 1e30, -2.0, Kind::Continuous, None)
        .unwrap();
    let first = program
        .add_row(&[(x, 1.0), (y, 1.0), (gone, 1.0)], -1e21, 4.0, None)
        .unwrap();
    let second = program
        .add_row(&[(x, 1.0), (y, 3.0)], -1e20, 6.0, Some("second"))
        .unwrap();
    program.remove_col(gone).unwrap();
    assert_eq!(program.col_bounds(x).unwrap(), (0.0, f64::INFINITY));
    let answer = solve_program(&program, &ProgramSettings::default(), Arc::new(())).unwrap();
    assert_eq!((answer.ending, answer.bound), (Ending::Optimal, -12.0));
    let duals = answer.duals.unwrap();
    assert_eq!(
        (duals.rows[first.index()], duals.rows[second.index()]),
        (-3.0, 0.0)
    );
    assert!(duals.reduced_costs[gone.index()].is_nan());
    assert_eq!(duals.reduced_costs[y.index()], 1.0);
    assert_eq!(answer.points[0].x[x.index()], 4.0);
}

#[test]
fn infeasible_and_unbounded_linear_programs_come_with_proofs() {
    let mut program = Program::default();
    let x = program
        .add_col(0.0, 1.0, -1.0, Kind::Continuous, None)
        .unwrap();
    let y = program
        .add_col(0.0, INFINITE, -1.0, Kind::Continuous, None)
        .unwrap();
    let row = program.add_row(&[(x, 1.0)], 3.0, INFINITE, None).unwrap();
    let settings = ProgramSettings::default();
    let answer = solve_program(&program, &settings, Arc::new(())).unwrap();
    assert_eq!(answer.ending, Ending::Infeasible);
    assert!(answer.farkas.unwrap()[row.index()] > 0.0);
    program.remove_row(row).unwrap();
    let answer = solve_program(&program, &settings, Arc::new(())).unwrap();
    assert_eq!(answer.ending, Ending::Unbounded);
    let ray = answer.ray.unwrap();
    assert!(ray[y.index()] > 0.0 && ray[x.index()] == 0.0);
}

#[test]
fn mistakes_are_named_and_change_nothing() {
    let mut program = Program::default();
    let x = program
        .add_col(0.0, 1.0, 1.0, Kind::Binary, Some("keep"))
        .unwrap();
    let wrong = program
        .add_row(&[(x, f64::NAN)], 0.0, 1.0, None)
        .unwrap_err();
    assert!(
        wrong
            .to_string()
            .contains("row 0 in column 0 (keep) is NaN"),
        "{wrong}"
    );
    let wrong = program
        .add_row(&[(x, 1.0), (Col(7), 1.0)], 0.0, 1.0, None)
        .unwrap_err();
    assert_eq!(wrong.to_string(), "column 7 is not in the program");
    assert_eq!((program.num_rows(), program.num_nonzeros()), (0, 0));
    program
        .add_row(&[(x, 1.0), (x, -1.0)], 0.0, 0.0, None)
        .unwrap();
    assert_eq!(program.num_nonzeros(), 0);
    program.remove_col(x).unwrap();
    assert_eq!(
        program.cost(x),
        Err(ProgramError::Gone {
            what: "column",
            index: 0
        })
    );
    let wrong = program
        .add_col(f64::NAN, 1.0, 0.0, Kind::Integer, None)
        .unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "bounds of column 1 are [NaN, 1]: neither side may be NaN, the lower +inf or the upper -inf"
    );
}

#[test]
fn bounds_that_mean_nothing_are_refused_at_once() {
    const INF: f64 = f64::INFINITY;
    let wrong = [
        (INF, INF),
        (INFINITE, 1.0),
        (-INF, -INF),
        (0.0, -INFINITE),
        (f64::NAN, 1.0),
    ];
    let mut program = Program::default();
    let x = program
        .add_col(0.0, 1.0, 0.0, Kind::Continuous, None)
        .unwrap();
    let row = program.add_row(&[(x, 1.0)], 0.0, 1.0, None).unwrap();
    let is_refused = |outcome: Result<(), ProgramError>| {
        let words = outcome.unwrap_err().to_string();
        assert!(words.starts_with("bounds of "), "{words}");
    };
    for (lower, upper) in wrong {
        let (entries, cut) = (vec![(x, 1.0)], program.clone());
        is_refused(
            program
                .add_col(lower, upper, 0.0, Kind::Integer, None)
                .map(drop),
        );
        is_refused(program.add_row(&entries, lower, upper, None).map(drop));
        is_refused(program.set_col_bounds(x, lower, upper));
        is_refused(program.set_row_bounds(row, lower, upper));
        let special = Special::Indicator {
            col: x,
            value: true,
            entries,
            lower,
            upper,
        };
        is_refused(program.add_special(special).map(drop));
        assert_eq!(program.col_bounds(x), cut.col_bounds(x));
        assert_eq!(program.row_bounds(row), cut.row_bounds(row));
        assert_eq!((program.num_cols(), program.num_rows()), (1, 1));
    }
    // With crossing sides the program has no point.
    program.set_row_bounds(row, 1.0, 0.0).unwrap();
    // A sum that overflows.
    let twice = program.add_row(&[(x, 1e308), (x, 1e308)], 0.0, 1.0, None);
    assert!(
        matches!(twice, Err(ProgramError::NotFinite { value: INF, .. })),
        "{twice:?}"
    );
}

#[test]
fn columns_and_rows_are_added_all_or_none() {
    let mut program = Program::default();
    let x = program
        .add_col(0.0, 1.0, 0.0, Kind::Continuous, None)
        .unwrap();
    let failed = program.all_or_none(|program| {
        let y = program.add_col(0.0, 1.0, 0.0, Kind::Continuous, Some("y"))?;
        program.add_row(&[(x, 1.0), (y, 1.0)], 0.0, 1.0, None)?;
        program.add_row(&[(Col(7), 1.0)], 0.0, 1.0, None)
    });
    assert_eq!(
        failed,
        Err(ProgramError::Gone {
            what: "column",
            index: 7
        })
    );
    assert_eq!(
        (
            program.col_handles(),
            program.row_handles(),
            program.num_nonzeros()
        ),
        (1, 0, 0)
    );
    let y = program
        .add_col(0.0, 1.0, 0.0, Kind::Continuous, None)
        .unwrap();
    let row = program
        .add_row(&[(y, 2.0), (x, 1.0)], 0.0, 1.0, None)
        .unwrap();
    assert_eq!((y.index(), row.index()), (1, 0));
    assert_eq!(program.entries(row).unwrap(), [(y, 2.0), (x, 1.0)]);
}

#[test]
fn continuous_values_beside_integers_have_no_noise() {
    let mut program = Program::default();
    program.set_sense(Sense::Maximise);
    let x = program.add_col(0.0, 9.0, 3.0, Kind::Integer, None).unwrap();
    let y = program
        .add_col(0.0, INFINITE, 2.0, Kind::Continuous, None)
        .unwrap();
    let b = program.add_col(0.0, 1.0, -1.0, Kind::Binary, None).unwrap();
    program
        .add_row(&[(x, 2.0), (y, 1.0), (b, -1.0)], -INFINITE, 7.5, None)
        .unwrap();
    program
        .add_row(&[(x, 1.0), (y, 3.0)], -INFINITE, 6.0, None)
        .unwrap();
    let answer = solve_program(&program, &ProgramSettings::default(), Arc::new(())).unwrap();
    assert_eq!(
        (answer.points[0].objective, &answer.points[0].x[..]),
        (12.0, &[4.0, 0.5, 1.0][..])
    );
}

#[test]
fn exact_answers_are_refused_for_numbers_that_a_double_does_not_hold() {
    let text = |side: &str| format!("Min\n x\nSubject To\n low: 3 x >= {side}\nEnd\n");
    let mut settings = ProgramSettings::default();
    settings.model.ask_exact();
    let solved = |side: &str| {
        let file = remat_lp::lp_format::parse_all(&text(side), "example").unwrap();
        let program = Program::of_file(&file).unwrap();
        let answer = solve_program(&program, &settings, Arc::new(()));
        (program.rounded().map(str::to_owned), answer)
    };
    let (rounded, answer) = solved("1");
    let exact = answer.unwrap().exact.unwrap();
    assert_eq!((rounded, exact.objective.as_deref()), (None, Some("1/3")));
    assert_eq!((exact.bound.as_deref(), exact.problem), (Some("1/3"), None));
    let (rounded, answer) = solved("0.1234567890123456789");
    let rounded = rounded.unwrap();
    assert!(
        rounded.starts_with("line 4: row low: 0.1234567890123456789"),
        "{rounded}"
    );
    let words = answer.unwrap_err().to_string();
    assert!(words.contains(&rounded), "{words}");
    // Anything else is rounded.
    let file = remat_lp::lp_format::parse_all(&text("0.1234567890123456789"), "example").unwrap();
    let program = Program::of_file(&file).unwrap();
    let answer = solve_program(&program, &ProgramSettings::default(), Arc::new(())).unwrap();
    assert_eq!(answer.exact, None);
}

#[test]
fn names_of_files_do_not_promise_what_is_not_written() {
    for right in ["a.lp", "a.mps.gz", "a", "a.b/c", "bz2"] {
        check_ending(right).unwrap();
    }
    let words = check_ending("a.mps.BZ2").unwrap_err().to_string();
    assert!(words.contains(".BZ2: end the name in .gz"), "{words}");
    assert!(check_ending("a.lp.7z").is_err());
}
