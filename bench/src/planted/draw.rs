//! Programs drawn around a point that satisfies them.

use super::dice::{Dice, Style};
use super::exact::{above, activity, below, decimal, nearest, size, written};
use super::special::plant_special;
use dashu_ratio::RBig;
use remat_lp::Sense;
use remat_models::program::{Col, Kind, Program};

/// Largest size of a finite side: beyond 1e20 sides count as infinite.
const SIDE_LIMIT: f64 = 1e18;

/// A program and a point that satisfies it.
pub struct Planted {
    /// The program.
    pub program: Program,
    /// Value of each column, by handle.
    pub point: Vec<f64>,
    /// Style of the numbers.
    pub style: Style,
    /// False if a column with a cost has no bound in the direction of better objectives.
    pub is_bounded: bool,
}

/// Two doubles around a planted value, infinite now and then.
fn around(dice: &mut Dice, value: f64, style: Style, is_whole: bool) -> (f64, f64) {
    let mut step = || match (dice.range(0, 3), is_whole) {
        (0, _) => 0.0,
        (1, true) => dice.range(1, 3) as f64,
        (1, false) => dice.value(style).abs(),
        (2, true) => dice.whole(style).abs(),
        _ => f64::INFINITY,
    };
    let (down, up) = (step(), step());
    // Outward to doubles whose decimals are outside as well.
    let at =
        |side: RBig, outward: fn(&RBig) -> f64| written(&side).unwrap_or_else(|| outward(&side));
    let end = |step: f64, sign: f64, outward: fn(&RBig) -> f64| match step {
        s if s.is_infinite() => sign * s,
        s => at(decimal(value) + decimal(sign * s), outward),
    };
    (end(down, -1.0, below), end(up, 1.0, above))
}

/// Draws a program with integer and continuous columns, rows, and special constraints if wanted.
pub fn draw(dice: &mut Dice, with_specials: bool, is_linear: bool) -> Planted {
    let style = dice.style();
    let mut program = Program::default();
    let mut point = Vec::new();
    if dice.chance(50) {
        program.set_sense(Sense::Maximise);
    }
    for _ in 0..dice.range(1, 7) {
        let kind = match dice.range(0, 9) {
            _ if is_linear => Kind::Continuous,
            0..=5 => Kind::Integer,
            6 => Kind::SemiInteger,
            7 => Kind::SemiContinuous,
            _ => Kind::Continuous,
        };
        plant_column(dice, &mut program, &mut point, kind, style);
    }
    for _ in 0..dice.range(1, 6) {
        plant_row(dice, &mut program, &point, style);
    }
    if with_specials {
        for _ in 0..dice.range(1, 3) {
            plant_special(dice, &mut program, &mut point);
        }
    }
    let is_bounded = plant_costs(dice, &mut program, style);
    Planted {
        program,
        point,
        style,
        is_bounded,
    }
}

/// Adds a column with a planted value.
fn plant_column(
    dice: &mut Dice,
    program: &mut Program,
    point: &mut Vec<f64>,
    kind: Kind,
    style: Style,
) {
    let is_whole = kind.is_integer();
    let (value, (lower, upper)) = if is_whole && !kind.is_semi() && dice.chance(30) {
        (dice.range(0, 1) as f64, (0.0, 1.0))
    } else {
        let value = match is_whole {
            true => dice.whole(style),
            false => dice.value(style),
        };
        let value = if kind.is_semi() { value.abs() } else { value };
        (value, around(dice, value, style, is_whole))
    };
    // A semi-continuous column is 0, or within bounds that are not negative.
    let (value, lower) = match kind.is_semi() {
        true if dice.chance(40) => (0.0, lower.max(0.0)),
        true => (value, lower.max(0.0)),
        false => (value, lower),
    };
    let added = program.add_col(lower, upper, 0.0, kind, None);
    added.expect("bounds around a planted value");
    point.push(value);
}

/// Adds a row that the point satisfies.
pub fn plant_row(dice: &mut Dice, program: &mut Program, point: &[f64], style: Style) {
    let cols: Vec<Col> = program.cols().collect();
    let of = dice.some(cols.len(), 1);
    let entries: Vec<(Col, f64)> = of.iter().map(|&k| (cols[k], dice.entry(style))).collect();
    let (lower, upper) = sides(dice, &entries, point, style);
    let added = program.add_row(&entries, lower, upper, None);
    added.expect("finite entries of columns that are there");
}

/// Sides that a planted point satisfies: an equation if a double is its activity, slack or tight.
pub fn sides(dice: &mut Dice, entries: &[(Col, f64)], point: &[f64], style: Style) -> (f64, f64) {
    let (at, _) = activity(entries.iter().map(|&(c, v)| (v, point[c.index()])));
    let tight = written(&at);
    let slack = |dice: &mut Dice| match dice.chance(50) {
        true => RBig::ZERO,
        false => size(&decimal(dice.entry(style))),
    };
    if nearest(&size(&at)) > SIDE_LIMIT {
        return (f64::NEG_INFINITY, f64::INFINITY);
    }
    let up = |side: RBig| written(&side).unwrap_or_else(|| above(&side));
    let down = |side: RBig| written(&side).unwrap_or_else(|| below(&side));
    match (dice.range(0, 3), tight) {
        (0, Some(side)) => (side, side),
        (0 | 1, _) => (down(&at - slack(dice)), f64::INFINITY),
        (2, _) => (f64::NEG_INFINITY, up(&at + slack(dice))),
        _ => (down(&at - slack(dice)), up(&at + slack(dice))),
    }
}

/// Draws costs; returns whether each has a bound in the direction of better objectives.
fn plant_costs(dice: &mut Dice, program: &mut Program, style: Style) -> bool {
    let cols: Vec<Col> = program.cols().collect();
    let mut is_bounded = true;
    for col in cols {
        if dice.chance(35) {
            continue;
        }
        let cost = dice.entry(match style {
            Style::Spread | Style::Large => Style::Whole,
            other => other,
        });
        program.set_cost(col, cost).expect("a finite cost");
        let (lower, upper) = program.col_bounds(col).expect("a column that is there");
        let best = match program.sense().sign() * cost > 0.0 {
            true => lower,
            false => upper,
        };
        is_bounded &= best.is_finite();
    }
    if dice.chance(30) {
        let offset = dice.range(-9, 9) as f64;
        program.set_offset(offset).expect("a finite offset");
    }
    is_bounded
}

/// The planted point's objective, and the sum of the sizes of its terms.
pub fn planted_objective(program: &Program, point: &[f64]) -> (f64, f64) {
    let terms = program.cols();
    let terms = terms.map(|c| (program.cost(c).unwrap_or(0.0), point[c.index()]));
    let (sum, sizes) = activity(terms);
    let sum = sum + decimal(program.offset());
    (nearest(&sum), nearest(&sizes) + program.offset().abs())
}

/// A program for a reader.
pub fn described(program: &Program) -> String {
    let mut text = format!("{:?} offset {}\n", program.sense(), program.offset());
    for col in program.cols() {
        let (lower, upper) = program.col_bounds(col).unwrap_or_default();
        text += &format!(
            "x{}: {:?} [{lower}, {upper}] cost {}\n",
            col.0,
            program.kind(col).unwrap_or(Kind::Continuous),
            program.cost(col).unwrap_or_default()
        );
    }
    for row in program.rows() {
        let (lower, upper) = program.row_bounds(row).unwrap_or_default();
        let entries = program.entries(row).unwrap_or_default();
        let terms = entries.iter().map(|(c, v)| format!("{v} x{}", c.0));
        let terms = terms.collect::<Vec<_>>().join(" + ");
        text += &format!("r{}: {lower} <= {terms} <= {upper}\n", row.0);
    }
    for (id, special) in program.specials() {
        text += &format!("s{}: {special:?}\n", id.0);
    }
    text
}
