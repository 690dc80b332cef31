//! LP and MPS files in the styles of many programs are read to the same model.

use crate::support::{FAMILIES, Rng};
use remat_lp::{Bounds, ColId, Implication, Model, ModelBuilder, ModelFile, OrderedSet, RowId};
use remat_lp::{Sense, Specials, lp_format, mps};
use std::collections::BTreeMap;

/// Contents of a model by names, independent of order.
#[derive(Debug, PartialEq)]
struct Contents {
    maximise: bool,
    offset: f64,
    /// Cost, bounds and integrality of each column.
    cols: BTreeMap<String, (f64, f64, f64, bool)>,
    /// Bounds and entries of each row.
    rows: BTreeMap<String, (f64, f64, BTreeMap<String, f64>)>,
}

fn contents(m: &Model) -> Contents {
    let col = |j: u32| {
        let (id, b) = (ColId(j), m.col_bounds(ColId(j)));
        let said = (m.costs()[j as usize], b.lower, b.upper, m.is_integer(id));
        (m.col_name(id), said)
    };
    let row = |i: u32| {
        let (id, b) = (RowId(i), m.row_bounds(RowId(i)));
        let entries = m.row(id).map(|(j, v)| (m.col_name(j), v)).collect();
        (m.row_name(id), (b.lower, b.upper, entries))
    };
    let cols: BTreeMap<_, _> = (0..m.num_cols() as u32).map(col).collect();
    let rows: BTreeMap<_, _> = (0..m.num_rows() as u32).map(row).collect();
    assert_eq!((cols.len(), rows.len()), (m.num_cols(), m.num_rows()));
    Contents {
        maximise: m.sense() == Sense::Maximise,
        offset: m.offset(),
        cols,
        rows,
    }
}

fn by_lp(text: &str) -> Contents {
    contents(&lp_format::parse(text, "t.lp").unwrap_or_else(|e| panic!("{e}\n{text}")))
}

fn by_mps(text: &str) -> Contents {
    contents(&mps::parse(text, mps::MpsFormat::Auto).unwrap_or_else(|e| panic!("{e}\n{text}")))
}

/// A model with all kinds of names, bounds, rows and markers on the entries of `base`.
fn decorated(base: &Model, r: &mut Rng) -> Model {
    const STEMS: [&str; 8] = [
        "x", "flow[1,", "_a.b", "R{i}", "#", "y(2)~", "Constant", "OBJ'",
    ];
    let inf = f64::INFINITY;
    let sense = [Sense::Minimise, Sense::Maximise][r.below(2)];
    let mut b = ModelBuilder::new(sense);
    if r.once_in(2) {
        b.set_offset(r.real(-9.0, 9.0));
    }
    for j in 0..base.num_cols() as u32 {
        let (v, w) = (r.int(-9, 9), r.real(0.0, 7.0));
        let (bounds, integer) = match r.below(11) {
            0 => (Bounds::FREE, false),
            1 => (Bounds::from(v), false),
            2 => (Bounds::new(-inf, v), false),
            3 => (Bounds::new(v, inf), r.once_in(2)),
            4 => (Bounds::new(0.0, 1.0), true),
            5 => (Bounds::new(0.0, 0.0), true),
            6 => (Bounds::new(v, v + w), false),
            7 => (Bounds::new(v, v + w.ceil()), true),
            8 => (Bounds::new(-inf, v), true),
            _ => (Bounds::NONNEGATIVE, r.once_in(2)),
        };
        let cost = if r.once_in(3) { 0.0 } else { r.real(-1e3, 1e3) };
        let col = b.add_col(cost, bounds);
        b.set_integer(col, integer);
        b.set_col_name(col, format!("{}{j}", STEMS[r.below(STEMS.len())]));
    }
    for i in 0..base.num_rows() as u32 {
        let v = r.real(-1e-3, 1e6);
        let bounds = match r.below(5) {
            0 => Bounds::new(-inf, v),
            1 => Bounds::new(v, inf),
            2 => Bounds::from(v.floor()),
            // If one end is zero, the width of a range gives the other end exactly.
            3 => [Bounds::new(0.0, v.abs()), Bounds::new(-v.abs(), 0.0)][r.below(2)],
            _ => Bounds::FREE,
        };
        let row = b.add_row(bounds, base.row(RowId(i)));
        b.set_row_name(row, format!("{}{i}", STEMS[r.below(STEMS.len())]));
    }
    b.build().unwrap()
}

#[test]
fn both_formats_keep_all_that_a_model_says() {
    for (_, make) in FAMILIES {
        for seed in 0..40 {
            let mut r = Rng::new(seed);
            let size = 2 + r.below(12);
            let (base, _) = make(&mut r, size);
            let model = decorated(&base, &mut r);
            let expected = contents(&model);
            assert_eq!(by_lp(&lp_format::to_string(&model)), expected);
            assert_eq!(by_mps(&mps::to_string(&model)), expected);
        }
    }
}

/// Ordered sets, implications and columns that may be 0, on columns of a model.
fn special(model: &Model, r: &mut Rng) -> Specials {
    let n = model.num_cols();
    let some = |r: &mut Rng| -> Vec<ColId> {
        let chosen = (0..n as u32).filter(|_| r.once_in(3));
        chosen.map(ColId).collect()
    };
    let mut specials = Specials {
        semicontinuous: some(r),
        ..Specials::default()
    };
    for k in 0..r.below(4) {
        let members: Vec<_> = some(r)
            .into_iter()
            .map(|col| (col, r.real(-9.0, 9.0)))
            .collect();
        if !members.is_empty() {
            let width = 1 + r.below(2) as u8;
            specials.sets.push(OrderedSet { width, members });
        }
        let entries = some(r).into_iter();
        let entries = entries.map(|col| (col, r.real(0.5, 9.0))).collect();
        let v = r.real(-9.0, 9.0);
        let sides = match r.below(4) {
            0 => Bounds::from(v),
            1 => Bounds::new(f64::NEG_INFINITY, v),
            2 => Bounds::new(v, f64::INFINITY),
            _ => Bounds::new(0.0, v.abs()),
        };
        specials.implications.push(Implication {
            name: format!("on{k}"),
            col: ColId(r.below(n) as u32),
            value: r.once_in(2),
            entries,
            sides,
        });
    }
    specials
}

#[test]
fn both_formats_keep_all_that_a_file_has() {
    for (_, make) in FAMILIES {
        for seed in 0..40 {
            let mut r = Rng::new(seed);
            let size = 2 + r.below(12);
            let (base, _) = make(&mut r, size);
            let model = decorated(&base, &mut r);
            let specials = special(&model, &mut r);
            let file = ModelFile { model, specials };
            let expected = contents(&file.model);
            let text = lp_format::to_string_all(&file);
            let back =
                lp_format::parse_all(&text, "t.lp").unwrap_or_else(|e| panic!("{e}\n{text}"));
            assert_eq!(
                (contents(&back.model), back.specials),
                (expected, file.specials.clone())
            );
            let text = mps::to_string_all(&file).unwrap();
            let back = mps::parse_all(&text, mps::MpsFormat::Auto).unwrap();
            let expected = contents(&file.model);
            assert_eq!(
                (contents(&back.model), back.specials),
                (expected, file.specials.clone())
            );
            let is_linear = file.specials.is_empty();
            assert_eq!(mps::parse(&text, mps::MpsFormat::Auto).is_ok(), is_linear);
            assert_eq!(file.linear().is_ok(), is_linear);
        }
    }
}

/// One model in the LP layouts of Gurobi, CPLEX, HiGHS, SCIP, PuLP, Pyomo and linopy.
const LP_STYLES: [&str; 7] = [
    "\\ Model plant\n\\ LP format - for model browsing. Use MPS format to capture full model detail.\nMinimize\n  \
     3 make - 2.5 sell + 0 level + lots + 4 open\nSubject To\n balance: make - sell + level = 0.5\n cap: make - 40 open <= 0\n \
     low: lots + open >= 1\nBounds\n -2 <= sell <= 8\n level free\n lots <= 5\nBinaries\n open\nGenerals\n lots\nEnd\n",
    "\\ENCODING=ISO-8859-1\n\\Problem name: plant\n\nMinimize\n obj: 3 make - 2.5 sell + lots + 4 open\nSubject To\n \
     balance: make - sell + level  = 0.5\n cap:     make - 40 open <= 0\n low:     lots + open >= 1\nBounds\n-2 <= sell <= 8\n      \
     level Free\n 0 <= lots <= 5\n 0 <= open <= 1\nBinaries\n open \nGenerals\n lots \nEnd\n",
    "\\ File written by HiGHS .lp file handler\nmin\n obj: +3 make -2.5 sell +1 lots +4 open \nst\n balance: +1 make -1 sell +1 \
     level = +0.5\n cap: +1 make -40 open <= +0\n low: +1 lots +1 open >= +1\nbounds\n -2 <= sell <= 8\n level free\n lots <= 5\n \
     open <= 1\nbin\n open\ngen\n lots\nsemi\nend\n",
    "\\ SCIP STATISTICS\n\\   Problem name     : plant\n\\   Constraints      : 3\nMinimize\n Obj: +3 make -2.5 sell +1 lots +4 open\n\
     Subject to\n balance: +1 make -1 sell +1 level = +0.5\n cap: +1 make -40 open <= +0\n low: +1 lots +1 open >= +1\nBounds\n 0 \
     <= open <= 1\n 0 <= lots <= 5\n -2 <= sell <= 8\n level free\nBinaries\n open\nGenerals\n lots\nEnd\n",
    "\\* plant *\\\nMinimize\nOBJ: lots + 3 make + 4 open - 2.5 sell\nSubject To\nbalance: level + make - sell = 0.5\ncap: make - 40 \
     open <= 0\nlow: lots + open >= 1\nBounds\nlevel free\n 0 <= lots <= 5\n-2 <= sell <= 8\nGenerals\nlots\nBinaries\nopen\nEnd\n",
    "\\* Source Pyomo model name=plant *\\\n\nmin \ncost:\n+3 make\n-2.5 sell\n+1 lots\n+4 open\n\ns.t.\n\nbalance:\n+1 make\n-1 \
     sell\n+1 level\n= 0.5\n\ncap:\n+1 make\n-40 open\n<= 0\n\nlow:\n+1 lots\n+1 open\n>= 1\n\nbounds\n   0 <= make <= +inf\n   \
     -2 <= sell <= 8\n   0 <= lots <= 5\n   0 <= open <= 1\n    -inf <= level <= +inf\ngeneral\n  lots\nbinary\n  open\nend\n",
    "min\n\nobj:\n\n+3.0 make\n-2.5 sell\n+1.0 lots\n+4.0 open\n\n\ns.t.\n\nbalance:\n+1.0 make\n-1.0 sell\n+1.0 level\n= 0.5\n\
     cap:\n+1.0 make\n-40.0 open\n<= +0.0\nlow:\n+1.0 lots\n+1.0 open\n>= 1.0\n\n\nbounds\n\n-2.0 <=  sell <= +8.0\n-inf <=  level <= \
     +inf\n+0.0 <=  lots <= +5.0\n\n\nbinary\n\n open\n\n\ngeneral\n\n lots\nend\n",
];

/// The same model in the MPS layouts of Gurobi, CPLEX, HiGHS, SCIP, PuLP and Pyomo.
const MPS_STYLES: [&str; 6] = [
    "NAME plant\nROWS\n N  OBJ\n E  balance\n L  cap     \n G  low     \nCOLUMNS\n    make      OBJ       3\n    make      balance   1\n    \
     make      cap       1\n    sell      OBJ       -2.5\n    sell      balance   -1\n    level     balance   1\n    MARKER    \
     'MARKER'                 'INTORG'\n    lots      OBJ       1\n    lots      low       1\n    open      OBJ       4\n    open      cap   \
         -40\n    open      low       1\n    MARKER    'MARKER'                 'INTEND'\nRHS\n    RHS1      balance   0.5\n    RHS1      \
     low       1\nBOUNDS\n LO BND1      sell      -2\n UP BND1      sell      8\n FR BND1      level   \n UP BND1      lots      5\n BV \
     BND1      open    \nENDATA\n",
    "* ENCODING=ISO-8859-1\nNAME          plant\nROWS\n N  obj     \n E  balance \n L  cap     \n G  low     \nCOLUMNS\n    make      obj   \
                                 3   balance                        1\n    make      cap                             1\n    sell      obj      \
                          -2.5\n    sell      balance                        -1\n    level     balance                         1\n    MARK0000  \
     'MARKER'                 'INTORG'\n    lots      obj                             1\n    lots      low                             1\n    \
     open      obj                             4\n    open      cap                           -40\n    open      low                             1\n    \
     MARK0001  'MARKER'                 'INTEND'\nRHS\n    rhs       balance                       0.5\n    rhs       low                             \
     1\nBOUNDS\n LO bnd       sell                           -2\n UP bnd       sell                            8\n FR bnd       level   \n UP bnd       \
     lots                            5\n BV bnd       open    \nENDATA\n",
    "NAME        plant\nROWS\n N  obj     \n E  balance \n L  cap     \n G  low     \nCOLUMNS\n    make      obj       3\n    make      balance   1\n    \
     make      cap       1\n    sell      obj       -2.5\n    sell      balance   -1\n    level     balance   1\n    lots      obj       1\n    lots      \
     low       1\n    open      obj       4\n    open      cap       -40\n    open      low       1\nRHS\n    RHS_V     balance   0.5\n    RHS_V     low       \
     1\nBOUNDS\n LO BOUND     sell      -2\n UP BOUND     sell      8\n FR BOUND     level   \n LI BOUND     lots      0\n UI BOUND     lots      5\n BV \
     BOUND     open    \nENDATA\n",
    "* SCIP STATISTICS\n*   Problem name     : plant\nNAME          plant\nOBJSENSE\n  MIN\nROWS\n N  Obj \n E  balance \n L  cap \n G  low \nCOLUMNS\n    \
     INTSTART  'MARKER'                            'INTORG'                           \n    lots      Obj                              1  low                              1 \n    \
     open      Obj                              4  cap                            -40 \n    open      low                              1 \n    INTEND    'MARKER'                            \
     'INTEND'                           \n    make      Obj                              3  balance                          1 \n    make      cap                              1 \n    \
     sell      Obj                           -2.5  balance                         -1 \n    level     balance                          1 \nRHS\n    RHS       balance                        0.5  \
     low                              1 \nBOUNDS\n UP Bound     lots                             5 \n BV Bound     open                                  \n PL Bound     make                                  \n LO \
     Bound     sell                            -2 \n UP Bound     sell                             8 \n FR Bound     level                                 \nENDATA",
    "*SENSE:Minimize\nNAME          plant\nROWS\n N  OBJ\n E  balance\n L  cap\n G  low\nCOLUMNS\n    level     balance    1.000000000000e+00\n    MARK      'MARKER'                 'INTORG'\n    lots      \
     OBJ        1.000000000000e+00\n    lots      low        1.000000000000e+00\n    MARK      'MARKER'                 'INTEND'\n    make      balance    1.000000000000e+00\n    make      cap        1.000000000000e+00\n    \
     make      OBJ        3.000000000000e+00\n    MARK      'MARKER'                 'INTORG'\n    open      cap       -4.000000000000e+01\n    open      low        1.000000000000e+00\n    open      OBJ        4.000000000000e+00\n    \
     MARK      'MARKER'                 'INTEND'\n    sell      balance   -1.000000000000e+00\n    sell      OBJ       -2.500000000000e+00\nRHS\n    RHS       balance    5.000000000000e-01\n    RHS       cap        0.000000000000e+00\n    \
     RHS       low        1.000000000000e+00\nBOUNDS\n FR BND       level   \n LO BND       lots       0.000000000000e+00\n UP BND       lots       5.000000000000e+00\n BV BND       open    \n LO BND       sell      -2.000000000000e+00\n \
     UP BND       sell       8.000000000000e+00\nENDATA\n",
    "* Source:     Pyomo MPS Writer\n* Format:     Free MPS\n*\nNAME plant\nOBJSENSE\n MIN\nROWS\n N  cost\n E  balance\n L  cap\n G  low\nCOLUMNS\n     make cost 3\n     make balance 1\n     make cap 1\n     sell cost -2.5\n     \
     sell balance -1\n     level balance 1\n     lots cost 1\n     lots low 1\n     open cost 4\n     open cap -40\n     open low 1\nRHS\n     RHS balance 0.5\n     RHS cap 0\n     RHS low 1\nBOUNDS\n LO BOUND make 0\n LO BOUND sell -2\n UP BOUND \
     sell 8\n FR BOUND level\n LI BOUND lots 0\n UI BOUND lots 5\n BV BOUND open\nENDATA\n",
];

#[test]
fn files_of_many_programs_hold_the_same_model() {
    let inf = f64::INFINITY;
    let col =
        |name: &str, cost, lower, upper, integer| (name.to_string(), (cost, lower, upper, integer));
    let row = |name: &str, lower, upper, entries: &[(&str, f64)]| {
        let entries = entries.iter().map(|&(n, v)| (n.to_string(), v));
        (name.to_string(), (lower, upper, entries.collect()))
    };
    let expected = Contents {
        maximise: false,
        offset: 0.0,
        cols: BTreeMap::from([
            col("make", 3.0, 0.0, inf, false),
            col("sell", -2.5, -2.0, 8.0, false),
            col("level", 0.0, -inf, inf, false),
            col("lots", 1.0, 0.0, 5.0, true),
            col("open", 4.0, 0.0, 1.0, true),
        ]),
        rows: BTreeMap::from([
            row(
                "balance",
                0.5,
                0.5,
                &[("make", 1.0), ("sell", -1.0), ("level", 1.0)],
            ),
            row("cap", -inf, 0.0, &[("make", 1.0), ("open", -40.0)]),
            row("low", 1.0, inf, &[("lots", 1.0), ("open", 1.0)]),
        ]),
    };
    for text in LP_STYLES {
        assert_eq!(by_lp(text), expected, "{text}");
        assert_eq!(by_lp(&text.replace('\n', "\r\n")), expected, "{text}");
    }
    for text in MPS_STYLES {
        assert_eq!(by_mps(text), expected, "{text}");
        assert_eq!(by_mps(&text.replace('\n', "\r\n")), expected, "{text}");
    }
}
