//! Reading LP files: every section, every mistake, any text.

use super::{LpFormatError, parse, parse_all, to_string_all};
use crate::ids::Bounds;
use crate::ids::{ColId, RowId};
use crate::model::{Crossed, Sense};
use crate::model_file::{Implication, OrderedSet};

fn wrong(text: &str) -> (usize, String, String) {
    match parse(text, "t.lp").unwrap_err() {
        LpFormatError::Syntax {
            file,
            line,
            token,
            message,
        } => {
            assert_eq!(file, "t.lp");
            (line, token, message)
        }
        e => panic!("{e}"),
    }
}

const ALL: &str = "\\ a comment\nMAXIMISE\n obj: 3x - 2.5e0 y\n + z + 10 - y\nsubject to\n\
    c1: x + y <= 1e1 \\ another\n -2 <= x - z <= 5\n c3: 3 >= y - x >= -inf\n 4 x + 2 = 10\n \
    Bounds\n x <= 7\n -1 <= y <= 1\n z free\n w >= -3\n 2 = v\nGENERAL\n y w\nBinary b\nEnd\n";

#[test]
fn every_section_is_understood() {
    let m = parse(ALL, "t").unwrap();
    let names: Vec<String> = (0..m.num_cols())
        .map(|j| m.col_name(ColId(j as u32)))
        .collect();
    assert_eq!(names, ["x", "y", "z", "w", "v", "b"]);
    assert_eq!(m.sense(), Sense::Maximise);
    assert_eq!(m.costs(), [3.0, -3.5, 1.0, 0.0, 0.0, 0.0]);
    assert_eq!(m.offset(), 10.0);
    assert_eq!(
        m.row_lower(),
        [f64::NEG_INFINITY, -2.0, f64::NEG_INFINITY, 8.0]
    );
    assert_eq!(m.row_upper(), [10.0, 5.0, 3.0, 8.0]);
    assert_eq!(
        m.col_lower(),
        [0.0, -1.0, f64::NEG_INFINITY, -3.0, 2.0, 0.0]
    );
    assert_eq!(
        m.col_upper(),
        [7.0, 1.0, f64::INFINITY, f64::INFINITY, 2.0, 1.0]
    );
    let integer: Vec<bool> = (0..6).map(|j| m.is_integer(ColId(j))).collect();
    assert_eq!(integer, [false, true, false, true, false, true]);
    assert_eq!(m.row_name(RowId(2)), "c3");
    assert_eq!(
        m.row(RowId(2)).collect::<Vec<_>>(),
        [(ColId(0), -1.0), (ColId(1), 1.0)]
    );
}

#[test]
fn binaries_keep_narrower_bounds_wherever_they_are_stated() {
    let bounds = "bounds\n a = 0\n 1 <= b <= 1\n c <= 7\n -2 <= d <= 0.5\n";
    let binary = "binary\n a b c d e\n";
    for sections in [[bounds, binary], [binary, bounds]] {
        let text = format!("min\n a + b + c + d + e\nst\n{}end\n", sections.concat());
        let m = parse(&text, "t").unwrap();
        assert_eq!(m.col_lower(), [0.0, 1.0, 0.0, 0.0, 0.0]);
        assert_eq!(m.col_upper(), [0.0, 1.0, 1.0, 0.5, 1.0]);
        let again = parse(&crate::lp_format::to_string(&m), "t").unwrap();
        assert_eq!(again, m);
    }
}

#[test]
fn mistakes_are_named_with_line_and_word() {
    let rows = |r: &str| format!("min\n x\nst\n{r}\nend\n");
    let cases: [(String, usize, &str, &str); 18] = [
        ("x + y".into(), 1, "x", "starts with"),
        ("min\n x y\nend".into(), 2, "y", "before this term"),
        (rows("c: x + y < z"), 4, "z", "number was expected"),
        (rows("c: x + y"), 5, "end", "`<=`, `>=` or `=`"),
        (rows("c: 1 <= x >= 2"), 4, ">=", "both relations"),
        (rows("c: x >= 2 y\nd: y >= 2"), 4, "y", "on the left"),
        (rows("x >= 2 + 3 y"), 4, "+", "on the left"),
        (rows("3 <= x + y z >= 1"), 4, "z", "before this term"),
        (rows("1 <= 5\nx <= 2"), 5, "x", "on one line"),
        (rows("c: 3 <="), 5, "end", "terms or a number"),
        (rows("c: x >= inf"), 4, "x", "no value"),
        (rows("c: 1e400 x >= 1"), 4, "x", "finite"),
        (rows("x\u{1b}[2J\u{7} y >= 1"), 4, "\\u{1b}", "no meaning"),
        (rows("q: [ x ^ 2 ] <= 2"), 4, "[", "quadratic"),
        (rows("x * y <= 2"), 4, "*", "products"),
        (rows("x >= 1\nsos\n s1: x:1"), 6, "x", "`S1 ::` or `S2 ::`"),
        (
            rows("x >= 1\ngeneral constraints\n g: y = MAX ( x , 2 )"),
            6,
            "y",
            "general constraints other than",
        ),
        (rows("x + <= 1"), 4, "<=", "after the sign"),
    ];
    for (text, line, token, part) in cases {
        let (l, t, m) = wrong(&text);
        assert_eq!((l, t.as_str()), (line, token), "{text}: {m}");
        assert!(m.contains(part), "{text}: {m}");
    }
    let crossed = parse("min\n x\nst\n x>=1\nbounds\n x <= -1\nend", "t.lp").unwrap();
    assert_eq!(crossed.crossed(), Some(Crossed::Col(ColId(0))));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    /// Any text gives a model or an error, and a model reads back from its written text.
    #[test]
    fn any_text_is_read_or_refused(words in proptest::collection::vec(proptest::sample::select(WORDS.to_vec()), 0..60)) {
        let mut text = String::from("min\n");
        words.iter().for_each(|w| {
            text.push_str(w);
            text.push(' ');
        });
        for text in [text.clone(), format!("{text}\nend"), words.concat()] {
            // `parse_all` reads at least every text that `parse` reads.
            let all = parse_all(&text, "t");
            if let Ok(model) = parse(&text, "t") {
                let all = all.expect("what is linear is taken");
                proptest::prop_assert!(all.specials.is_empty());
                proptest::prop_assert_eq!(all.model.costs(), model.costs());
                let back = parse(&crate::lp_format::to_string(&model), "t").expect("what is written is right");
                proptest::prop_assert_eq!(back.costs(), model.costs());
                proptest::prop_assert_eq!(back.num_rows(), model.num_rows());
            }
        }
    }
}

const WORDS: [&str; 42] = [
    "x",
    "y",
    "x1",
    "3",
    "-2.5e3",
    "1e",
    ".",
    "e5",
    "+",
    "-",
    "<=",
    ">=",
    "=",
    "<",
    ":",
    "::",
    "->",
    "[",
    "]",
    "^",
    "*",
    "/",
    "\\",
    "\n",
    "\nst\n",
    "\nsubject to\n",
    "\nbounds\n",
    "\ngeneral\n",
    "\nbinary\n",
    "\nend\n",
    "free",
    "inf",
    "-inf",
    "1e400",
    "\nsos\n",
    "\nsemi-continuous\n",
    "é",
    "0",
    "c:",
    "\u{0}",
    "S1 ::",
    "b = 1 ->",
];

#[test]
fn rows_without_columns_are_read_where_they_have_a_name() {
    let text = "min\n x\nst\n c1: = 0\n c2: >= -3\n c3: x >= 1\nend\n";
    let m = parse(text, "t.lp").unwrap();
    assert_eq!(m.num_rows(), 3);
    assert_eq!(m.row_lower(), [0.0, -3.0, 1.0]);
    assert_eq!(m.row(RowId(0)).count(), 0);
    let (line, token, _) = wrong("min\n x\nst\n = 0\nend\n");
    assert_eq!((line, token.as_str()), (4, "="));
}

#[test]
fn rows_of_a_model_without_columns_are_kept_when_written() {
    use crate::{Bounds, ModelBuilder};
    let mut b = ModelBuilder::new(crate::Sense::Minimise);
    for (l, u) in [(3.0, f64::INFINITY), (-1.0, 2.0), (0.0, 0.0)] {
        b.add_row(Bounds::new(l, u), []);
    }
    b.add_row(Bounds::FREE, []);
    let model = b.build().unwrap();
    let back = parse(&crate::lp_format::to_string(&model), "t.lp").unwrap();
    assert_eq!(back.row_lower(), model.row_lower());
    assert_eq!(back.row_upper(), model.row_upper());
}

/// Limits of the rows of `min x + y`, and their entries in `x` and `y`.
fn rows_of(rows: &str) -> Vec<(f64, f64, f64, f64)> {
    let text = format!("min\n x + y\nst\n{rows}end\n");
    let m = parse(&text, "t.lp").unwrap_or_else(|e| panic!("{e}\n{text}"));
    let entry = |i, j| m.row(RowId(i)).find(|e| e.0 == ColId(j));
    let entry = |i, j| entry(i, j).map_or(0.0, |e| e.1);
    let row = |i: u32| {
        let b = m.row_bounds(RowId(i));
        (b.lower, b.upper, entry(i, 0), entry(i, 1))
    };
    (0..m.num_rows() as u32).map(row).collect()
}

#[test]
fn numbers_stand_on_the_left_in_several_rows_in_turn() {
    const INF: f64 = f64::INFINITY;
    let expected = [
        (3.0, INF, 1.0, 1.0),
        (-INF, 1.0, 1.0, -1.0),
        (-2.0, INF, 1.0, -4.0),
        (1.0, 3.0, 2.0, 0.0),
        (0.0, 8.0, 0.0, 1.0),
        (5.0, 5.0, 1.0, 0.0),
    ];
    let labels = "a: 3 <= x + y\nb: 1 >= x - y\nc: -2 <= x - 4 y\nd: 1 <= 2 x <= 3\n1: 9 >= y + 1 >= 1\ne: 5 = x\n";
    let bare =
        "3 <= x + y\n 1 >= x - y\n -2 <= x - 4 y\n 1 <= 2 x <= 3\n 9 >= y + 1 >= 1\n 5 = x\n";
    let spread = "3\n <= x\n + y 2: 1 >=\n x - y 3: - 2\n <= x -\n 4 y 4: 1 <= 2 x\n <= 3\n 5: 9 >= y\n + 1\n >= 1\n 5 = x\n";
    for rows in [labels, bare, spread] {
        assert_eq!(rows_of(rows), expected, "{rows}");
    }
    // A constant on a line of its own belongs to the terms before it, unless it is compared with a
    // column.
    assert_eq!(rows_of("3 <= x\n - 2 <= 7\n"), [(5.0, 9.0, 1.0, 0.0)]);
    let two = [(3.0, INF, 1.0, 0.0), (-2.0, INF, 0.0, 7.0)];
    assert_eq!(rows_of("3 <= x\n - 2 <= 7 y\n"), two);
}

#[test]
fn rows_of_numbers_alone_are_rows_without_columns() {
    let inf = f64::INFINITY;
    assert_eq!(rows_of("c: 0 >= 1\n"), [(-inf, -1.0, 0.0, 0.0)]);
    let two = [(-3.0, inf, 0.0, 0.0), (2.0, inf, 1.0, 0.0)];
    assert_eq!(rows_of("2 <= 5\n c: x >= 2\n"), two);
}

/// Remarks on a text, each with its line.
fn remarks(text: &str) -> Vec<String> {
    crate::text_file::tests::remarks(|| drop(parse(text, "t.lp").unwrap()))
}

#[test]
fn doubtful_ends_and_names_are_told() {
    let told = |text| remarks(text).join("|");
    assert_eq!(told("min\n x\nst\n c: x >= 1\nend\n\\ a comment\n"), "");
    assert_eq!(
        told("min\n x\nend\ntight: x <= 2\nend\n"),
        "4: text behind `End` does not count"
    );
    assert_eq!(
        told("min\n x\nst\n x >= 1\n"),
        "4: the file ends without `End`: part of it may be missing"
    );
    let names = "min\n x\nst\n c: x >= 1\n d: x >= 2\n c: x >= 3\n d: x >= 4\nend\n";
    assert_eq!(
        told(names),
        "6: a row on line 4 is called `c`, too: both are kept"
    );
}

#[test]
fn sections_come_in_any_order_by_any_name_and_may_be_empty() {
    let plain =
        "min\n 2 x + y\nst\n c: x + y >= 1.5\nbounds\n y <= 4\ngeneral\n x\nbinary\n y\nend\n";
    let model = parse(plain, "t").unwrap();
    let same = [
        "MINIMIZE 2 x + y\nbounds y <= 4\nsemi-continuous\nINTEGERS x\nBin y\nSuch That c: x + y >= 1.5\nSOS\nend",
        "minimise\n obj: 2 x + y\nsubject to:\n c: x + y => 1.5\nlazy constraints\nuser cuts\ngens\nend",
    ];
    assert_eq!(parse(same[0], "t").unwrap(), model);
    // `gens` is not a section name here: it is a column of `user cuts`.
    let (line, token, _) = wrong(same[1]);
    assert_eq!((line, token.as_str()), (6, "user"));
    let all = "Minimum\n obj: 2 x + y\nS.T.\n c: x + y >= +1.5e0\nBOUND\n y < 4\nint\n x\nbinaries\n y\ngen\n\
        sos1\nsos2\npwlobj\ngeneral constraints\nlazy constraints\nsemis\nEnd\n";
    assert_eq!(parse(all, "t").unwrap(), model);
}

#[test]
fn bounds_and_numbers_are_read_as_other_programs_write_them() {
    let text = "max\n a + b + c + d + e + f + g + 0 h\nst\n r: 1.e+05 a + +2 b + -3 c - -d + e + e >= -1.E2\nbounds\n\
        -inf <= a <= 5\n b >= -infinity\n c = 3\n d Free\n -1e30 <= e <= 1e30\n +0.0 <=  f <= +inf\n g <= 1e20\n\
        -INF < h =< -1\nend\n";
    let m = parse(text, "t").unwrap();
    let inf = f64::INFINITY;
    assert_eq!(m.col_lower(), [-inf, -inf, 3.0, -inf, -inf, 0.0, 0.0, -inf]);
    assert_eq!(m.col_upper(), [5.0, inf, 3.0, inf, inf, inf, inf, -1.0]);
    let row: Vec<f64> = m.row(RowId(0)).map(|e| e.1).collect();
    assert_eq!(row, [1e5, 2.0, -3.0, 1.0, 2.0]);
    assert_eq!(m.row_lower(), [-100.0]);
    for objective in ["", "obj:", "0", "obj: 0 x"] {
        let m = parse(&format!("min\n {objective}\nst\n x >= 1\nend\n"), "t").unwrap();
        assert_eq!((m.costs(), m.offset()), (&[0.0][..], 0.0));
    }
}

#[test]
fn what_is_no_row_is_kept_for_those_that_take_it() {
    let text = "min x + y + z\nst\n on: b = 1 -> 2 x + y <= 3\n b = 0 -> z >= 1\n c: x + b >= 1\nbounds\n \
                2 <= z <= 9\nbinary\n b\nsemi-continuous\n z\nsos\n first: S1 :: x:1 y:2\n \
                S2 :: x : 3 y : 1 z : 2\nend\n";
    let all = parse_all(text, "t.lp").unwrap();
    let [x, y, z, b] = [0, 1, 2, 3].map(ColId);
    assert_eq!(
        (all.model.num_rows(), all.model.row_name(RowId(0))),
        (1, "c".into())
    );
    assert_eq!(all.specials.semicontinuous, [z]);
    let set = |width, members: &[(ColId, f64)]| OrderedSet {
        width,
        members: members.to_vec(),
    };
    let sets = [
        set(1, &[(x, 1.0), (y, 2.0)]),
        set(2, &[(x, 3.0), (y, 1.0), (z, 2.0)]),
    ];
    assert_eq!(all.specials.sets, sets);
    let implication = |name: &str, value, entries: &[(ColId, f64)], sides| Implication {
        name: name.into(),
        col: b,
        value,
        entries: entries.to_vec(),
        sides,
    };
    let below = Bounds::new(f64::NEG_INFINITY, 3.0);
    let above = Bounds::new(1.0, f64::INFINITY);
    let implications = [
        implication("on", true, &[(x, 2.0), (y, 1.0)], below),
        implication("", false, &[(z, 1.0)], above),
    ];
    assert_eq!(all.specials.implications, implications);
    assert_eq!(parse_all(&to_string_all(&all), "again").unwrap(), all);
    let error = parse(text, "t.lp").unwrap_err().to_string();
    assert!(
        error.starts_with("t.lp: column z is semi-continuous"),
        "{error}"
    );
    // Gurobi writes implications among the general constraints.
    let there = text.replace(" on: b = 1 -> 2 x + y <= 3\n", "");
    let there = there.replace(
        "sos\n",
        "general constraints\n on: b = 1 -> 2 x + y <= 3\nsos\n",
    );
    let mut moved = parse_all(&there, "t.lp").unwrap().specials.implications;
    moved.reverse();
    assert_eq!(moved[0].name, "on");
    assert_eq!((moved[0].entries.len(), moved.len()), (2, 2));
    for (text, word) in [
        ("min x\nst\n b + x = 1 -> x >= 1\nend", "->"),
        ("min x\nst\n b = 2 -> x >= 1\nend", "->"),
        ("min x\nsos\n s: x:1\nend", "x"),
        ("min x\nsos1\n s: y\nend", "y"),
    ] {
        let error = parse_all(text, "t.lp").unwrap_err().to_string();
        assert!(error.contains(&format!("at `{word}`")), "{error}");
    }
}

#[test]
fn sums_are_those_of_decimals_and_digits_that_are_lost_are_noted() {
    let parsed = |row: &str, bound: &str| {
        let text =
            format!("Minimize\n x\nSubject To\n r: {row}\n 2 x >= 1\nBounds\n {bound}\nEnd\n");
        parse(&text, "test").unwrap()
    };
    let held = parsed("0.1 x + 0.2 x + 0.1 >= 0.4", "x <= 4");
    assert_eq!(held.row_lower()[0], 0.3);
    assert_eq!(held.row(crate::RowId(0)).next().unwrap().1, 0.3);
    assert_eq!(held.rounded(), None);
    let noted = |row: &str, bound: &str| {
        let number = parsed(row, bound).rounded().unwrap().clone();
        (number.line, number.place, number.number)
    };
    let digits = "1975308624.864197523";
    let of_row = noted(&format!("0.123456789 x = {digits}"), "x <= 4");
    assert_eq!(of_row, (4, "row r".into(), digits.into()));
    let of_bound = noted("x >= 1", &format!("x <= {digits}"));
    assert_eq!(
        of_bound,
        (7, "the bounds of column x".into(), digits.into())
    );
    let of_bound = noted("x >= 1", &format!("-{digits} <= x"));
    assert_eq!(of_bound.1, "the bounds of column x");
}

#[test]
fn quadratic_objectives_are_read_and_written() {
    let with =
        |objective: &str| format!("Minimize\n{objective}\nSubject To\n c: x + y >= 1\nEnd\n");
    for (text, value) in [
        (
            "obj: x + [ 2 x ^ 2 + 4 x * y + y^2 ] / 2 + 3",
            2.0 + 4.0 + 4.0 + 0.5 + 3.0,
        ),
        ("[ x*x ]/2", 2.0),
        ("- [ 3 * x ^2 - y * x ] /2 + y", -6.0 + 1.0 + 1.0),
    ] {
        let file = super::parse_all(&with(text), "t").unwrap();
        assert!(super::parse(&with(text), "t").is_err());
        let quadratic = file.specials.quadratic.as_ref().unwrap();
        // At x = 2, y = 1.
        assert_eq!(
            file.model.objective(&[2.0, 1.0]) + quadratic.value(&[2.0, 1.0]),
            value
        );
        let again = super::to_string_all(&file);
        assert_eq!(super::parse_all(&again, "t").unwrap(), file, "{again}");
    }
    for (text, problem) in [
        ("[ x ^ 3 ] / 2", "`^ 2` or `*`"),
        ("[ x ^ 2 ]", "`/ 2` was expected"),
        ("[ x ^ 2 y ^ 2 ] / 2", "`+`, `-` or `]`"),
        ("[ x + y ] / 2", "products of two columns"),
        ("x ^ 2", "in the objective alone"),
    ] {
        let error = super::parse_all(&with(text), "t").unwrap_err().to_string();
        assert!(error.contains(problem), "{text}: {error}");
    }
}
