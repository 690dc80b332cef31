//! Tests of reading MPS.

use super::*;
use crate::model::Crossed;
use crate::mps::to_string;
use crate::mps::to_string_all;

#[test]
fn ranges_bounds_offset_and_markers() {
    let text = "\
NAME          demo
OBJSENSE
    MAX
ROWS
 N  obj
 N  spare
 L  l
 G  g
 E  ep
 E  en
COLUMNS
    a         obj                1.0   l                  1.0
    a         spare              9.0   g                  2.0
    M1        'MARKER'                 'INTORG'
    b         l                  1.0   ep                 1.0
    c         en                 1.0
    M2        'MARKER'                 'INTEND'
    d         en                 1.0
    e         en                 1.0
RHS
    RHS       obj               -7.5   l                  4.0
    RHS       g                  1.0   ep                 2.0
    RHS       en                 3.0
RANGES
    RNG       l                  2.5   g                  5.0
    RNG       ep                 1.0   en                -1.0
BOUNDS
 UP BND       a               -3.0
 LI BND       b                2
 FR BND       d
 MI BND       e
 UP BND       e                8
ENDATA
";
    for format in [MpsFormat::Auto, MpsFormat::Fixed, MpsFormat::Free] {
        let m = parse(text, format).unwrap();
        assert_eq!(m.sense(), Sense::Maximise);
        assert_eq!(m.offset(), 7.5);
        assert_eq!(m.row_lower(), [1.5, 1.0, 2.0, 2.0]);
        assert_eq!(m.row_upper(), [4.0, 6.0, 3.0, 3.0]);
        assert_eq!(
            m.col_lower(),
            [
                f64::NEG_INFINITY,
                2.0,
                0.0,
                f64::NEG_INFINITY,
                f64::NEG_INFINITY
            ]
        );
        assert_eq!(
            m.col_upper(),
            [-3.0, f64::INFINITY, 1.0, f64::INFINITY, 8.0]
        );
        let ints: Vec<bool> = (0..5).map(|j| m.is_integer(ColId(j))).collect();
        assert_eq!(ints, [false, true, true, false, false]);
        let again = parse(&crate::mps::to_string(&m), MpsFormat::Free).unwrap();
        assert_eq!(again, m);
    }
}

/// A program with one column, `x`, and one row, `r`.
fn with(sections: &str) -> Result<Model, MpsError> {
    let text = format!("NAME t\nROWS\n N c\n G r\nCOLUMNS\n x c 1 r 2\n{sections}ENDATA\n");
    parse(&text, MpsFormat::Free)
}

#[test]
fn the_word_free_behind_a_name_is_no_part_of_it() {
    let name = |line: &str| {
        let text = format!("{line}\nROWS\n N c\n G r\nCOLUMNS\n x c 1 r 2\nENDATA\n");
        let model = parse(&text, MpsFormat::Auto).unwrap();
        let again = parse(&to_string(&model), MpsFormat::Free).unwrap();
        assert_eq!(again.name(), model.name(), "{line}");
        model.name().to_owned()
    };
    assert_eq!(name("NAME a plant FREE"), "a plant");
    assert_eq!(name("NAME carefree"), "carefree");
    assert_eq!(name("NAME CAREFREE"), "CAREFREE");
    assert_eq!(name("NAME FREE"), "FREE");
    assert_eq!(name("NAME x FREE FREE"), "x FREE");
    assert_eq!(name("NAME"), "");
}

#[test]
fn the_first_set_of_a_section_counts() {
    let m = with(
        "RHS\n a r 9\n b r 4\nRANGES\n a r 2\n b r 5\nBOUNDS\n LO a x 6\n LO b x 7\n UP a x 8\n",
    )
    .unwrap();
    assert_eq!((m.row_lower(), m.row_upper()), (&[9.0][..], &[11.0][..]));
    assert_eq!((m.col_lower(), m.col_upper()), (&[6.0][..], &[8.0][..]));
    // A set without a name counts as a set too.
    let m = with("RHS\n r 9\n b r 4\nBOUNDS\n UP x 8\n UP b x 9\n").unwrap();
    assert_eq!((m.row_lower(), m.col_upper()), (&[9.0][..], &[8.0][..]));
}

#[test]
fn a_lower_bound_that_was_stated_stays_where_the_upper_one_is_negative() {
    let lower = |bounds: &str| with(&format!("BOUNDS\n{bounds}")).map(|m| m.col_lower()[0]);
    assert_eq!(lower(" UP b x -3\n").unwrap(), f64::NEG_INFINITY);
    assert_eq!(lower(" UP b x -3\n LO b x -5\n").unwrap(), -5.0);
    assert_eq!(lower(" LO b x -5\n UP b x -3\n").unwrap(), -5.0);
    let crossed = with("BOUNDS\n LO b x 0\n UP b x -3\n").unwrap();
    assert_eq!(crossed.crossed(), Some(Crossed::Col(ColId(0))));
    let again = parse(&to_string(&crossed), MpsFormat::Free).unwrap();
    assert_eq!(again.crossed(), crossed.crossed());
}

#[test]
fn remarks_are_dropped_and_unknown_columns_named() {
    let text = "NAME t\nROWS\n N c\n G $r\nCOLUMNS\n x c 1 $ a remark\n x $r 2 $more\nRHS\n b $r 9 $\nENDATA\n";
    let m = parse(text, MpsFormat::Free).unwrap();
    assert_eq!((m.row_lower()[0], m.num_nonzeros()), (9.0, 1));
    let unknown = |bound: &str| {
        with(&format!("BOUNDS\n {bound}\n"))
            .unwrap_err()
            .to_string()
    };
    for bound in [
        "FR bnd ghost",
        "UP bnd ghost 3",
        "FR ghost",
        "BV bnd ghost 1",
    ] {
        let error = unknown(bound);
        assert!(error.contains("column ghost was not declared"), "{error}");
    }
    assert_eq!(with("BOUNDS\n BV x 1\n").unwrap().col_upper(), [1.0]);
}

#[test]
fn names_with_spaces_need_fixed_format() {
    let text = "\
NAME          demo
ROWS
 N  the cost
 G  row one
COLUMNS
    col one   the cost           1.0   row one            1.0
RHS
              row one          4.0
ENDATA
";
    let m = parse(text, MpsFormat::Auto).unwrap();
    assert_eq!(m.row_name(RowId(0)), "row one");
    assert_eq!(m.row_lower(), [4.0]);
    assert!(parse(text, MpsFormat::Free).is_err());
}

#[test]
fn columns_that_may_be_0_and_garbage_are_refused_by_name() {
    let base = "NAME\nROWS\n N c\n L r\nCOLUMNS\n x c 1 r 1\nRHS\nBOUNDS\n SC b x 3\nENDATA\n";
    let e = parse(base, MpsFormat::Free).unwrap_err().to_string();
    assert!(e.contains("column x is semi-continuous"), "{e}");
    let e = parse("ROWS\n N c\nCOLUMNS\n x r 1\nENDATA\n", MpsFormat::Free)
        .unwrap_err()
        .to_string();
    assert!(e.contains("line 4") && e.contains("not declared"), "{e}");
    assert!(
        parse("ROWS\n N c\n", MpsFormat::Free)
            .unwrap_err()
            .to_string()
            .contains("ENDATA")
    );
    assert!(parse("QCMATRIX\n", MpsFormat::Free).is_err());
}

#[test]
fn mistakes_are_named_with_line_and_names() {
    let cases = [
        ("RHS\n b q 9\n", 8, "row q was not declared"),
        (
            "RHS\n b r 9\n b r 8\n",
            9,
            "row r has a right-hand side already",
        ),
        (
            "RHS\n b c 9 c 9\n",
            8,
            "row c has a right-hand side already",
        ),
        ("RANGES\n b r 9\n b r 8\n", 9, "row r has a range already"),
        (
            "RHS\n b r 1e30\n",
            8,
            "row r: the bounds [inf, inf] leave no value",
        ),
        ("BOUNDS\n LO b x inf\n", 8, "column x: the bounds"),
        ("BOUNDS\n SC b x y\n", 8, "y is not a number"),
        ("BOUNDS\n XX b x 3\n", 8, "bound type XX"),
        ("BOUNDS\n UP b x\n", 8, "x is not a number"),
        ("QCMATRIX\n x x 1\n", 7, "section QCMATRIX is not supported"),
        ("QUADOBJ\n x x\n", 8, "two columns and an entry"),
        ("QUADOBJ\n x w 1\n", 8, "column w was not declared"),
        ("QUADOBJ\n x x 1\n x x 2\n", 9, "is given twice"),
        ("RHS\nSOS\n x 1\n", 9, "column x is before the first set"),
        ("RHS\nSOS\n S1 s\n z 1\n", 10, "column z was not declared"),
        ("RHS\nSOS\n S3 s\n", 9, "S3 s: S1, S2, or a column"),
        (
            "RHS\nINDICATORS\n IF r x 2\n",
            9,
            "2 is no value of a binary",
        ),
        ("RHS\nINDICATORS\n IF c x 1\n", 9, "row c is an N row"),
        (
            "RHS\nINDICATORS\n IF r x 1\n IF r x 0\n",
            10,
            "row r has an indicator already",
        ),
        (
            "RHS\nGENCONS\n MAX g\n",
            8,
            "section GENCONS is not supported",
        ),
        (
            "RHS\nb r 9\n",
            8,
            "b is no section; a line of data begins with a blank",
        ),
        ("COLUMNS\n y r 1e400\n", 8, "1e400 is too large"),
        (
            "COLUMNS\n y r 1 r 2\n",
            8,
            "column y has two entries in row r",
        ),
        (
            "COLUMNS\n y c 1\n y c 2\n",
            9,
            "column y has two entries in row c",
        ),
        ("COLUMNS\n M 'MARKER' 'SOSORG'\n", 8, "marker SOSORG"),
        (
            "COLUMNS\n \u{1b}[2J\u{7} r 1\n x r 1\n",
            9,
            "column x are not together",
        ),
        (
            "COLUMNS\n y \u{1b}[2J 1\n",
            8,
            "row \\u{1b}[2J was not declared",
        ),
        ("OBJNAME q\n", 7, "OBJNAME is q"),
    ];
    for (sections, line, part) in cases {
        let error = with(sections).unwrap_err().to_string();
        let place = format!("line {line}: ");
        assert!(error.starts_with(&place) && error.contains(part), "{error}");
    }
    // If neither format fits, the error comes from the format that gets further.
    let text = "NAME t\nROWS\n N  c\n G  a row\nCOLUMNS\n    x         c                  1.0   a row              ?\nENDATA\n";
    let error = parse(text, MpsFormat::Auto).unwrap_err().to_string();
    assert_eq!(error, "line 6: ? is not a number");
}

#[test]
fn what_does_not_count_is_told() {
    let told = |text: &str| {
        let read = || drop(parse(text, MpsFormat::Auto).unwrap());
        crate::text_file::tests::remarks(read).join("|")
    };
    let base = "NAME t\nROWS\n N c\n G r\nCOLUMNS\n x c 1 r 2\n";
    let with = |sections: &str| told(&format!("{base}{sections}ENDATA\n"));
    assert_eq!(with("RHS\nRANGES\nBOUNDS\nQUADOBJ\nSOS\n"), "");
    assert_eq!(
        with("RHS\n a r 1\n b r 2\n b r 3\n"),
        "9: the RHS set \"b\" is left out: the first one, \"a\", counts"
    );
    assert_eq!(
        with("RANGES\n b c 2\n"),
        "8: the range of c, an N row, does not count"
    );
    assert_eq!(
        told(&format!("{base}ENDATA\n* a comment\n\nRHS\n b r 2\n")),
        "10: text behind ENDATA does not count"
    );
    let spare = base.replace(" G r", " N d\n N e\n G r");
    assert_eq!(
        told(&format!("{spare}ENDATA\n")),
        "4: d is an N row, but not the objective: it does not count"
    );
    let sense = told(&format!("*SENSE:Maximize\n{base}ENDATA\n"));
    assert!(
        sense.starts_with("1: this comment does not count"),
        "{sense}"
    );
}

#[test]
fn senses_sections_and_integers_are_read_as_other_programs_write_them() {
    let lines = "NAME t\r\nOBJSENSE MAXIMIZE\r\nROWS\r\n\tN\tc\r\n\tL\tr\r\nCOLUMNS\r\n\
        \tM\t'MARKER'\t'INTORG'\r\n\tx\tc\t1.e+0\tr\t1d0\r\n\tM\t'MARKER'\t'INTEND'\r\nRHS\r\n\
        \tr\t7.5\r\nENDATA\r\n";
    let m = parse(lines, MpsFormat::Auto).unwrap();
    assert_eq!((m.sense(), m.row_upper()[0]), (Sense::Maximise, 7.5));
    assert_eq!((m.col_lower()[0], m.col_upper()[0]), (0.0, 1.0));
    let unquoted = lines.replace('\'', "");
    assert_eq!(parse(&unquoted, MpsFormat::Auto).unwrap(), m);
    let bounds = |lines: &str| {
        let text = format!(
            "NAME t\nROWS\n N c\n L r\nCOLUMNS\n M 'MARKER' 'INTORG'\n x c 1 r 1\n M 'MARKER' 'INTEND'\nBOUNDS\n{lines}ENDATA\n"
        );
        let m = parse(&text, MpsFormat::Auto).unwrap();
        assert!(m.is_integer(ColId(0)));
        (m.col_lower()[0], m.col_upper()[0])
    };
    let inf = f64::INFINITY;
    for (lines, expected) in [
        (" UP b x 5\n", (0.0, 5.0)),
        (" up b x 5\n", (0.0, 5.0)),
        (" UI b x 5\n LI b x 2\n", (2.0, 5.0)),
        (" LO b x 0\n", (0.0, inf)),
        (" PL b x\n", (0.0, inf)),
        (" MI b x\n", (-inf, inf)),
        (" FR b x\n UP b x 1e20\n", (-inf, inf)),
        (" BV b x 1\n", (0.0, 1.0)),
        (" UP b x -3\n", (-inf, -3.0)),
        (" UP b x 0\n", (0.0, 0.0)),
    ] {
        assert_eq!(bounds(lines), expected, "{lines}");
    }
}

#[test]
fn what_is_no_row_is_kept_for_those_that_take_it() {
    let base = "NAME t\nROWS\n N c\n G on\n G r\n L off\nCOLUMNS\n M 'MARKER' 'INTORG'\n b c 1 r 1\n \
                M 'MARKER' 'INTEND'\n x on 2 r 1\n y off 3 c 4\n z r 5\nRHS\n s on 6 off 7\nBOUNDS\n";
    let sets = [
        // Variants of Gurobi and HiGHS, of CPLEX, with set names before members, and with headings
        // that state the kind.
        "SOS\n S1 first\n    x 1\n    y 2\n S2 second\n    z 3\n    x 1\n    y 2\n",
        "SOS\n S1\n    x\n    y\n S2 second\n    z 3\n    x 1\n    y 2\n",
        "SETS\n S1 SOS first 5\n SOS x 1\n SOS y 2\n S2 SOS second\n SOS z 3\n SOS x 1\n SOS y 2\n",
        "SOS1\n first\n x 1\n y 2\nSOS2\n second\n z 3\n x 1\n y 2\n",
    ];
    let semis = " LO d x 2\n SC d x 9\n SI d y 8\n SC d z\nINDICATORS\n IF on b 1\n IF off b 0\n";
    let [b, x, y, z] = [0, 1, 2, 3].map(ColId);
    let mut first = None;
    for set in sets {
        let file = parse_all(&format!("{base}{semis}{set}ENDATA\n"), MpsFormat::Auto).unwrap();
        let (model, specials) = (&file.model, &file.specials);
        assert_eq!(
            (model.num_rows(), model.row_name(RowId(0))),
            (1, "r".into())
        );
        assert_eq!(model.col_lower(), [0.0, 2.0, 0.0, 0.0]);
        assert_eq!(model.col_upper(), [1.0, 9.0, 8.0, f64::INFINITY]);
        assert_eq!(specials.semicontinuous, [x, y, z]);
        assert!(model.is_integer(y) && !model.is_integer(x));
        let implications: Vec<_> = specials
            .implications
            .iter()
            .map(|i| {
                (
                    i.name.as_str(),
                    i.col,
                    i.value,
                    i.entries.clone(),
                    i.sides.lower,
                    i.sides.upper,
                )
            })
            .collect();
        let inf = f64::INFINITY;
        let expected = [
            ("on", b, true, vec![(x, 2.0)], 6.0, inf),
            ("off", b, false, vec![(y, 3.0)], -inf, 7.0),
        ];
        assert_eq!(implications, expected);
        let members: Vec<_> = specials
            .sets
            .iter()
            .map(|s| (s.width, s.members.clone()))
            .collect();
        let expected = [
            (1, vec![(x, 1.0), (y, 2.0)]),
            (2, vec![(z, 3.0), (x, 1.0), (y, 2.0)]),
        ];
        assert_eq!(members, expected);
        let first = first.get_or_insert_with(|| file.clone());
        assert_eq!(*first, file);
        let text = to_string_all(&file).unwrap();
        assert_eq!(parse_all(&text, MpsFormat::Free).unwrap(), file, "{text}");
    }
}

#[test]
fn ranges_are_sums_of_decimals_and_digits_that_are_lost_are_noted() {
    let text = |side: &str| {
        format!(
            "NAME r\nROWS\n N obj\n G r\nCOLUMNS\n x obj 1 r 1\nRHS\n RHS r {side}\nRANGES\n RNG r 0.2\nENDATA\n"
        )
    };
    let held = parse(&text("0.1"), MpsFormat::Free).unwrap();
    assert_eq!((held.row_lower()[0], held.row_upper()[0]), (0.1, 0.3));
    assert_eq!(held.rounded(), None);
    let rounded = parse(&text("153919999.99994682"), MpsFormat::Free).unwrap();
    let number = rounded.rounded().unwrap();
    assert_eq!((number.line, number.place.as_str()), (8, "row r"));
    assert_eq!(number.number, "153919999.99994682");
    // Doubles represent both numbers but not their sum.
    let sum = parse(&text("1000000000000000.5"), MpsFormat::Free).unwrap();
    assert_eq!(sum.rounded().unwrap().place, "row r");
    assert_eq!(held, parse(&text("0.1000"), MpsFormat::Free).unwrap());
}

#[test]
fn both_sections_of_a_quadratic_objective_give_the_same_products() {
    let head = "ROWS\n N cost\n G lim\nCOLUMNS\n x cost 1 lim 1\n y lim 1\nRHS\n rhs lim 3\n";
    let read = |section: &str| {
        let text = format!("{head}{section}ENDATA\n");
        assert!(parse(&text, MpsFormat::Free).is_err());
        let file = parse_all(&text, MpsFormat::Auto).unwrap();
        let again = crate::mps::to_string_all(&file).unwrap();
        let back = parse_all(&again, MpsFormat::Auto).unwrap();
        assert_eq!(back.specials, file.specials, "{again}");
        file.specials.quadratic.unwrap()
    };
    let one = read("QUADOBJ\n x x 4\n x y -1.5\n y y 3\n");
    let whole = read("QMATRIX\n x x 4\n x y -1.5\n y x -1.5\n y y 3\n");
    assert_eq!(one, whole);
    // 1/2 (4 * 4 - 2 * 1.5 * 2 * 1 + 3).
    assert_eq!(one.value(&[2.0, 1.0]), 6.5);
    // A matrix that is not symmetric counts as its symmetric part.
    assert_eq!(read("QMATRIX\n x y -3\n x x 4\n y y 3\n"), one);
}
