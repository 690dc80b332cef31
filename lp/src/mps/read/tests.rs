//! Tests of reading MPS.

use super::*;
use crate::model::Crossed;
use crate::mps::to_string;

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
fn the_first_set_of_a_section_counts() {
    let m = with(
        "RHS\n a r 9\n b r 4\nRANGES\n a r 2\n b r 5\nBOUNDS\n LO a x 6\n LO b x 7\n UP a x 8\n",
    )
    .unwrap();
    assert_eq!((m.row_lower(), m.row_upper()), (&[9.0][..], &[11.0][..]));
    assert_eq!((m.col_lower(), m.col_upper()), (&[6.0][..], &[8.0][..]));
    // A set without a name is one, too.
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
fn semicontinuous_and_garbage_are_refused_with_the_line() {
    let base = "NAME\nROWS\n N c\n L r\nCOLUMNS\n x c 1 r 1\nRHS\nBOUNDS\n SC b x 3\nENDATA\n";
    let e = parse(base, MpsFormat::Free).unwrap_err().to_string();
    assert!(e.contains("line 9") && e.contains("semi-continuous"), "{e}");
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
    assert!(parse("QUADOBJ\n", MpsFormat::Free).is_err());
}
