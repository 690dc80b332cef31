//! Reading LP files: every section, every mistake, any text.

use super::{LpFormatError, parse};
use crate::ids::{ColId, RowId};
use crate::model::{Crossed, Sense};

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
    let cases: [(String, usize, &str, &str); 14] = [
        ("x + y".into(), 1, "x", "starts with"),
        ("min\n x y\nend".into(), 2, "y", "before this term"),
        (
            "min\n x\nst\n x <= 1\n".into(),
            4,
            "end of file",
            "without `End`",
        ),
        (rows("c: x + y < z"), 4, "z", "number was expected"),
        (rows("c: x + y"), 5, "end", "`<=`, `>=` or `=`"),
        (rows("c: 1 <= x >= 2"), 4, ">=", "both relations"),
        (rows("c: x >= 1\nc: x <= 2"), 5, "c", "line 4"),
        (rows("5 <= x <= 3"), 4, "5", "empty"),
        (rows("q: [ x ^ 2 ] <= 2"), 4, "[", "quadratic"),
        (rows("b = 1 -> x <= 2"), 4, "->", "indicator"),
        (rows("x * y <= 2"), 4, "*", "products"),
        (rows("x >= 1\nsos\n s1: x:1"), 5, "sos", "SOS"),
        (
            rows("x >= 1\nsemi-continuous\n x"),
            5,
            "semi-continuous",
            "semi-continuous",
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

    /// Whatever the text, the answer is a model or an error; and a model reads back from what is
    /// written.
    #[test]
    fn any_text_is_read_or_refused(words in proptest::collection::vec(proptest::sample::select(WORDS.to_vec()), 0..60)) {
        let mut text = String::from("min\n");
        words.iter().for_each(|w| {
            text.push_str(w);
            text.push(' ');
        });
        for text in [text.clone(), format!("{text}\nend"), words.concat()] {
            if let Ok(model) = parse(&text, "t") {
                let back = parse(&crate::lp_format::to_string(&model), "t").expect("what is written is right");
                proptest::prop_assert_eq!(back.costs(), model.costs());
                proptest::prop_assert_eq!(back.num_rows(), model.num_rows());
            }
        }
    }
}

const WORDS: [&str; 40] = [
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
