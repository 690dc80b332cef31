//! Files in text and binary against the same models, and mistakes.

use super::*;
use crate::{ColId, Model, ModelBuilder, RowId, Sense};
use proptest::prelude::*;

/// The `.nl` file of a model whose integer columns come last.
fn written(model: &Model, binary: bool) -> Vec<u8> {
    let (n, m) = (model.num_cols(), model.num_rows());
    let integers = (0..n)
        .filter(|&j| model.is_integer(ColId(j as u32)))
        .count();
    let letter = if binary { 'b' } else { 'g' };
    let mut out = format!(
        "{letter}3 1 1 0\t# problem\n {n} {m} 1 0 0 # vars\n 0 0\n 0 0\n 0 0 0\n 0 0 1 1\n 0 {integers} 0 0 0\n {} {n}\n 0 0\n 0 0 0 0 0\n",
        model.num_nonzeros()
    )
    .into_bytes();
    let part = |out: &mut Vec<u8>, letter: char, numbers: &[usize]| {
        if binary {
            out.push(letter as u8);
            numbers
                .iter()
                .for_each(|&k| out.extend((k as i32).to_le_bytes()));
        } else {
            let words: Vec<_> = numbers.iter().map(usize::to_string).collect();
            out.extend(format!("{letter}{}\t# part\n", words.join(" ")).bytes());
        }
    };
    let number = |out: &mut Vec<u8>, v: f64| match binary {
        true => {
            out.push(b'n');
            out.extend(v.to_le_bytes());
        }
        false => out.extend(format!("n{v}\n").bytes()),
    };
    let sides = |out: &mut Vec<u8>, l: f64, u: f64| {
        let (code, values) = match (l.is_finite(), u.is_finite()) {
            (true, true) if l == u => ('4', vec![l]),
            (true, true) => ('0', vec![l, u]),
            (true, false) => ('2', vec![l]),
            (false, true) => ('1', vec![u]),
            (false, false) => ('3', vec![]),
        };
        out.push(code as u8);
        for v in values {
            match binary {
                true => out.extend(v.to_le_bytes()),
                false => out.extend(format!(" {v}").bytes()),
            }
        }
        if !binary {
            out.push(b'\n');
        }
    };
    let entry = |out: &mut Vec<u8>, k: u32, v: f64| match binary {
        true => {
            out.extend((k as i32).to_le_bytes());
            out.extend(v.to_le_bytes());
        }
        false => out.extend(format!("{k} {v}\n").bytes()),
    };
    for i in 0..m {
        part(&mut out, 'C', &[i]);
        number(&mut out, 0.0);
    }
    part(
        &mut out,
        'O',
        &[0, usize::from(model.sense() == Sense::Maximise)],
    );
    number(&mut out, model.offset());
    part(&mut out, 'r', &[]);
    (0..m).for_each(|i| sides(&mut out, model.row_lower()[i], model.row_upper()[i]));
    part(&mut out, 'b', &[]);
    (0..n).for_each(|j| sides(&mut out, model.col_lower()[j], model.col_upper()[j]));
    part(&mut out, 'x', &[1]);
    entry(&mut out, n as u32 - 1, 2.5);
    for i in 0..m {
        let row: Vec<_> = model.row(RowId(i as u32)).collect();
        part(&mut out, 'J', &[i, row.len()]);
        row.iter().for_each(|&(c, v)| entry(&mut out, c.0, v));
    }
    part(&mut out, 'G', &[0, n]);
    (0..n).for_each(|j| entry(&mut out, j as u32, model.costs()[j]));
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    #[test]
    fn text_and_binary_read_as_the_model(
        n in 1usize..6,
        rows in prop::collection::vec((prop::collection::vec(-3i8..4, 6), -9i8..9, 0u8..4), 0..5),
        costs in prop::collection::vec(-5i8..6, 6),
        integers in 0usize..3,
        maximise: bool,
    ) {
        let mut b = ModelBuilder::new(if maximise { Sense::Maximise } else { Sense::Minimise });
        b.set_offset(f64::from(costs[0]) / 4.0);
        for (j, &cost) in costs[..n].iter().enumerate() {
            let upper = if j % 2 == 0 { f64::INFINITY } else { j as f64 };
            let col = b.add_col(f64::from(cost) / 8.0, 0.0..=upper);
            b.set_integer(col, j + integers >= n);
        }
        for (row, side, kind) in &rows {
            let side = f64::from(*side) / 2.0;
            let (l, u) = [(side, side), (f64::NEG_INFINITY, side), (side, f64::INFINITY), (side, side + 1.0)][usize::from(*kind)];
            let entries = row[..n].iter().enumerate().filter(|e| *e.1 != 0);
            b.add_row(l..=u, entries.map(|(j, &v)| (ColId(j as u32), f64::from(v))));
        }
        let model = b.build().unwrap();
        for binary in [false, true] {
            let bytes = written(&model, binary);
            let problem = parse(&bytes, "t.nl", 1).unwrap();
            let back = &problem.model;
            prop_assert_eq!(back.costs(), model.costs());
            prop_assert_eq!((back.offset(), back.sense()), (model.offset(), model.sense()));
            prop_assert_eq!((back.row_lower(), back.row_upper()), (model.row_lower(), model.row_upper()));
            prop_assert_eq!((back.col_lower(), back.col_upper()), (model.col_lower(), model.col_upper()));
            for i in 0..model.num_rows() as u32 {
                let rows = [back, &model].map(|m| m.row(RowId(i)).collect::<Vec<_>>());
                prop_assert_eq!(&rows[0], &rows[1]);
            }
            for j in 0..n as u32 {
                prop_assert_eq!(back.is_integer(ColId(j)), model.is_integer(ColId(j)));
            }
            prop_assert_eq!(problem.options, vec![1, 1, 0]);
            prop_assert_eq!(problem.start.unwrap()[n - 1], 2.5);
            // A truncated file is either read as far as possible or rejected.
            for end in (0..bytes.len()).step_by(7) {
                let _ = parse(&bytes[..end], "t.nl", 1);
            }
        }
    }
}

const HEADER: &str =
    "g3 1 1 0\n 1 1 1 0 0\n 0 0\n 0 0\n 0 0 0\n 0 0 0 1\n 0 0 0 0 0\n 1 1\n 0 0\n 0 0 0 0 0\n";

#[test]
fn mistakes_are_named_with_their_lines() {
    let cases = [
        ("nothing", "line 1: a .nl file begins with g or b"),
        (
            &format!("{HEADER}C0\no2\nv0\nv0\n"),
            "constraint 0 has the nonlinear expression o2",
        ),
        (&format!("{HEADER}C1\nn0\n"), "line 11: constraint 1 of 1"),
        (
            &format!("{HEADER}J0 1\n0\n"),
            "line 12: a number belongs where \"\" stands",
        ),
        (
            &format!("{HEADER}r\n7 1\n"),
            "line 12: '7' is no kind of bound",
        ),
        (&format!("{HEADER}r\n5 1 1\n"), "complementarity"),
        (&format!("{HEADER}Z0\n"), "line 11: 'Z' begins no part"),
        (&format!("{HEADER}S0 1 sos\n0 1\n"), "piecewise terms"),
        (
            &format!("{HEADER}C0\no44\nv0\n"),
            "constraint 0 has the nonlinear expression o44",
        ),
        (&format!("{HEADER}C0\no0\nv0\n"), "ends in the middle"),
        (
            &format!("{HEADER}C0\nv7\n"),
            "line 12: variable 7 is not defined",
        ),
        (
            &format!("{HEADER}C0\no3\nv0\nn0\n"),
            "line 14: a division by 0",
        ),
        (
            &format!("{HEADER}C0\no64\n3\nn1\nn5\nn2\nn4\nn3\nv0\n"),
            "must increase",
        ),
        (
            &HEADER.replace(" 0 0 0\n 0 0 0 1", " 2 0 0\n 0 0 0 1"),
            "more columns in expressions",
        ),
        (
            &HEADER.replace(" 0 0 0 0 0\n 1 1", " 0 3 0 0 0\n 1 1"),
            "more integer columns",
        ),
        (
            &HEADER.replace("1 1 1 0 0", "-1 1 1 0 0"),
            "-1 in the header",
        ),
    ];
    for (text, words) in cases {
        let error = parse(text.as_bytes(), "t.nl", 1).unwrap_err().to_string();
        assert!(
            error.contains(words) && error.starts_with("t.nl"),
            "{error}"
        );
    }
}

#[test]
fn constants_of_constraints_move_their_sides() {
    let text = format!("{HEADER}C0\nn2.5\nO0 0\nn-1\nr\n1 7\nb\n0 0 9\nk0\nJ0 1\n0 3\nG0 1\n0 4\n");
    let model = parse(text.as_bytes(), "t.nl", 1).unwrap().model;
    assert_eq!((model.row_upper(), model.offset()), (&[4.5][..], -1.0));
}

#[test]
fn a_solution_has_the_parts_that_ampl_reads() {
    let solution = NlSolution {
        message: "remat-bb: optimal\n\nobjective 3",
        options: &[1, 1, 0],
        size: (1, 2),
        duals: Some(&[0.5]),
        x: Some(&[1.0, 2.25]),
        objective: 1,
        result: 0,
    };
    let expected = "remat-bb: optimal\nobjective 3\n\nOptions\n3\n1\n1\n0\n1\n1\n2\n2\n0.5\n1\n2.25\nobjno 0 0\n";
    assert_eq!(solution.to_text(), expected);
}

/// Two columns, a row, an objective, and a defined variable.
fn with(expressions: &str) -> NlProblem {
    let header =
        "g3 1 1 0\n 2 1 1 0 0\n 1 1\n 0 0\n 2 2 2\n 0 0 0 1\n 0 0 1 0 0\n 2 2\n 0 0\n 0 1 0 0 0\n";
    let text = format!(
        "{header}{expressions}r\n1 4\nb\n0 -9 9\n0 -9 9\nk1\n1\nJ0 2\n0 1\n1 0\nG0 2\n0 0\n1 5\n"
    );
    parse(text.as_bytes(), "t.nl", 1).unwrap()
}

#[test]
fn linear_expressions_and_defined_variables_are_sums() {
    // v2 = 3 x0 + 1; the row: x0 + (2 (v2 - x1) + sum(x1, 4, -x0) / 2), the objective: 5 x1 - v2.
    let problem = with(
        "V2 1 0\n0 3\nn1\nC0\no0\no2\nn2\no1\nv2\nv1\no3\no54\n3\nv1\nn4\no16\nv0\nn2\nO0 0\no16\no5\nv2\nn1\n",
    );
    let model = &problem.model;
    let row: Vec<_> = model.row(RowId(0)).map(|(c, v)| (c.0, v)).collect();
    assert_eq!(row, [(0, 1.0 + 6.0 - 0.5), (1, -2.0 + 0.5)]);
    assert_eq!(model.row_upper(), [4.0 - 2.0 - 2.0]);
    assert_eq!((model.costs(), model.offset()), (&[-3.0, 5.0][..], -1.0));
    // Columns of expressions come first; among them integer columns come last.
    let integers = [0, 1].map(|j| model.is_integer(ColId(j)));
    assert_eq!((integers, problem.size), ([false, true], (1, 2)));
}

#[test]
fn terms_by_pieces_are_columns_of_their_own() {
    // The row: <<-1, 2; 3, 0, 1>> x0 + |x0 - x1|; f is 0 at 0, so -2 at 2 and 3 at -1.
    let problem =
        with("C0\no0\no64\n3\nn3\nn-1\nn0\nn2\nn1\nv0\no15\no1\nv0\nv1\nO0 0\no64\n1\nn4\nv1\n");
    let [first, second] = &problem.pieces[..] else {
        panic!("{:?}", problem.pieces);
    };
    assert_eq!(
        (first.x, first.y, second.x, second.y),
        (ColId(0), ColId(2), ColId(3), ColId(4))
    );
    assert_eq!(
        first.points,
        [(-2.0, -3.0), (-1.0, 0.0), (2.0, 0.0), (4.0, 2.0)]
    );
    assert_eq!(second.points, [(-1.0, 1.0), (0.0, 0.0), (1.0, 1.0)]);
    let model = &problem.model;
    let row = |i| {
        model
            .row(RowId(i))
            .map(|(c, v)| (c.0, v))
            .collect::<Vec<_>>()
    };
    assert_eq!(row(0), [(0, 1.0), (2, 1.0), (4, 1.0)]);
    assert_eq!(row(1), [(0, 1.0), (1, -1.0), (3, -1.0)]);
    assert_eq!(model.costs(), [0.0, 9.0, 0.0, 0.0, 0.0]);
}

#[test]
fn ordered_sets_are_suffixes() {
    let sets = with("C0\nn0\nO0 0\nn0\nS0 2 sosno\n0 -1\n1 -1\nS4 2 ref\n0 7.5\n1 2\n").sets;
    assert_eq!(sets.len(), 1);
    assert_eq!(
        (sets[0].width, &sets[0].members),
        (2, &vec![(ColId(0), 7.5), (ColId(1), 2.0)])
    );
}
