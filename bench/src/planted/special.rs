//! Special constraints that a planted point satisfies.

use super::dice::{Dice, Style};
use super::draw::sides;
use remat_models::program::{Col, Kind, Norm, Product, Program, SosType, Special};

/// Largest size of a value in a special constraint.
const VALUE_LIMIT: f64 = 1000.0;

/// Adds a special constraint, and the columns that it needs, with their planted values.
pub fn plant_special(dice: &mut Dice, program: &mut Program, point: &mut Vec<f64>) {
    let args = arguments(dice, program, point);
    let values: Vec<f64> = args.iter().map(|c| point[c.index()]).collect();
    let mut result = |dice: &mut Dice, program: &mut Program, value: f64| {
        let kind = match value.fract() == 0.0 && dice.chance(50) {
            true => Kind::Integer,
            false => Kind::Continuous,
        };
        add(program, point, value, (value - 3.0, value + 3.0), kind)
    };
    let extremum = |values: &[f64], constant: Option<f64>, pick: fn(f64, f64) -> f64| {
        let all = values.iter().copied().chain(constant);
        all.reduce(pick).expect("an argument")
    };
    let special = match dice.range(0, 8) {
        0 => {
            let constant = dice.chance(50).then(|| dice.range(-9, 9) as f64);
            let value = extremum(&values, constant, f64::max);
            let result = result(dice, program, value);
            Special::Maximum {
                result,
                of: args,
                constant,
            }
        }
        1 => {
            let constant = dice.chance(50).then(|| dice.range(-9, 9) as f64);
            let value = extremum(&values, constant, f64::min);
            let result = result(dice, program, value);
            Special::Minimum {
                result,
                of: args,
                constant,
            }
        }
        2 => Special::Abs {
            result: result(dice, program, values[0].abs()),
            of: args[0],
        },
        3 => {
            let norm = *dice.pick(&[Norm::Zero, Norm::One, Norm::Infinity]);
            let sizes = values.iter().map(|v| v.abs());
            let value = match norm {
                Norm::Zero => sizes.filter(|&v| v > 0.0).count() as f64,
                Norm::One => sizes.sum(),
                Norm::Infinity => sizes.fold(0.0, f64::max),
            };
            let result = result(dice, program, value);
            Special::Norm {
                result,
                of: args,
                norm,
            }
        }
        4 => plant_and_or(dice, program, point),
        5 => plant_indicator(dice, program, point, &args),
        6 => plant_set(dice, program, point),
        7 => plant_pieces(dice, program, point, args[0]),
        _ => plant_products(dice, program, point, &args),
    };
    let added = program.add_special(special);
    added.expect("a special constraint of columns that are there");
}

/// Adds a column with a planted value.
fn add(
    program: &mut Program,
    point: &mut Vec<f64>,
    value: f64,
    (lower, upper): (f64, f64),
    kind: Kind,
) -> Col {
    point.push(value);
    let added = program.add_col(lower, upper, 0.0, kind, None);
    added.expect("bounds around a planted value")
}

fn add_binary(program: &mut Program, point: &mut Vec<f64>, value: bool) -> Col {
    let value = f64::from(u8::from(value));
    add(program, point, value, (0.0, 1.0), Kind::Integer)
}

/// Two integer columns or more with small values and bounds; adds new ones if there are too few.
fn arguments(dice: &mut Dice, program: &mut Program, point: &mut Vec<f64>) -> Vec<Col> {
    let small = program.cols().filter(|&c| {
        let (lower, upper) = program.col_bounds(c).expect("a column that is there");
        program.kind(c) == Ok(Kind::Integer) && lower.abs().max(upper.abs()) <= VALUE_LIMIT
    });
    let mut small: Vec<Col> = small.collect();
    while small.len() < 2 {
        let value = dice.range(-6, 6) as f64;
        let bounds = (
            value - dice.range(0, 4) as f64,
            value + dice.range(0, 4) as f64,
        );
        small.push(add(program, point, value, bounds, Kind::Integer));
    }
    let of = dice.some(small.len(), 1);
    of.into_iter().map(|k| small[k]).collect()
}

fn plant_and_or(dice: &mut Dice, program: &mut Program, point: &mut Vec<f64>) -> Special {
    let bits: Vec<bool> = (0..dice.range(1, 3)).map(|_| dice.chance(60)).collect();
    let of = bits
        .iter()
        .map(|&b| add_binary(program, point, b))
        .collect();
    if dice.chance(50) {
        let result = add_binary(program, point, bits.iter().all(|&b| b));
        Special::And { result, of }
    } else {
        let result = add_binary(program, point, bits.iter().any(|&b| b));
        Special::Or { result, of }
    }
}

fn plant_indicator(
    dice: &mut Dice,
    program: &mut Program,
    point: &mut Vec<f64>,
    args: &[Col],
) -> Special {
    let (is_on, value) = (dice.chance(60), dice.chance(50));
    let entries: Vec<(Col, f64)> = args
        .iter()
        .map(|&c| (c, dice.entry(Style::Whole)))
        .collect();
    let (mut lower, mut upper) = sides(dice, &entries, point, Style::Whole);
    if !is_on {
        // A row that the point violates as a rule.
        (lower, upper) = (lower + 1.0, upper + 1.0);
    }
    let col = add_binary(program, point, is_on == value);
    Special::Indicator {
        col,
        value,
        entries,
        lower,
        upper,
    }
}

fn plant_set(dice: &mut Dice, program: &mut Program, point: &mut Vec<f64>) -> Special {
    let kind = *dice.pick(&[SosType::One, SosType::Two]);
    let count = dice.range(2, 5);
    let first = dice.range(0, count - 1);
    let width = if kind == SosType::One { 1 } else { 2 };
    let members = (0..count).map(|k| {
        let value = match (first..first + width).contains(&k) {
            true => dice.range(0, 7) as f64,
            false => 0.0,
        };
        let column = *dice.pick(&[Kind::Integer, Kind::Continuous]);
        let col = add(program, point, value, (0.0, value + 4.0), column);
        (col, (k + 1) as f64)
    });
    Special::Sos {
        kind,
        members: members.collect(),
    }
}

/// A function by pieces through a planted value: breakpoints and slopes are whole numbers.
fn plant_pieces(dice: &mut Dice, program: &mut Program, point: &mut Vec<f64>, x: Col) -> Special {
    let at = point[x.index()];
    let start = at - dice.range(0, 6) as f64;
    let mut points = vec![(start, dice.range(-9, 9) as f64)];
    for _ in 0..dice.range(1, 3) {
        let &(from, height) = points.last().expect("a point");
        let (width, slope) = (dice.range(1, 4) as f64, dice.range(-4, 4) as f64);
        points.push((from + width, height + width * slope));
    }
    let after = points.iter().position(|p| p.0 >= at);
    let k = after.unwrap_or(points.len() - 1).max(1);
    let (from, to) = (points[k - 1], points[k]);
    let value = from.1 + (to.1 - from.1) / (to.0 - from.0) * (at - from.0);
    let y = add(
        program,
        point,
        value,
        (value - 9.0, value + 9.0),
        Kind::Continuous,
    );
    Special::Pieces { x, y, points }
}

fn plant_products(
    dice: &mut Dice,
    program: &mut Program,
    point: &mut Vec<f64>,
    args: &[Col],
) -> Special {
    let binary = {
        let value = dice.chance(50);
        add_binary(program, point, value)
    };
    let products: Vec<Product> = args
        .iter()
        .map(|&second| Product {
            first: binary,
            second,
            factor: dice.range(1, 5) as f64,
        })
        .collect();
    let value = |p: &Product| p.factor * point[p.first.index()] * point[p.second.index()];
    let value: f64 = products.iter().map(value).sum();
    let (lower, upper) = match dice.range(0, 2) {
        0 => (value, value),
        1 => (value - dice.range(0, 4) as f64, f64::INFINITY),
        _ => (f64::NEG_INFINITY, value + dice.range(0, 4) as f64),
    };
    Special::ProductRow {
        entries: Vec::new(),
        products,
        lower,
        upper,
    }
}
