//! Expressions of a `.nl` file in Polish notation, as linear sums of columns and piecewise linear
//! terms.

use super::NlError;
use super::input::{Input, Word};
use crate::ids::ColId;
use std::collections::BTreeMap;

/// A sum of columns and a constant.
#[derive(Clone, Debug, Default)]
pub(super) struct Sum {
    /// Entries by position.
    pub terms: BTreeMap<usize, f64>,
    /// The constant.
    pub constant: f64,
}

impl Sum {
    fn column(position: usize) -> Sum {
        Sum {
            terms: BTreeMap::from([(position, 1.0)]),
            constant: 0.0,
        }
    }

    fn number(constant: f64) -> Sum {
        let terms = BTreeMap::new();
        Sum { terms, constant }
    }

    /// The value of the sum if it has no columns.
    fn as_number(&self) -> Option<f64> {
        self.terms.is_empty().then_some(self.constant)
    }

    fn times(mut self, factor: f64) -> Sum {
        self.terms.values_mut().for_each(|v| *v *= factor);
        self.constant *= factor;
        self
    }

    /// The sum of both, in time proportional to the shorter one.
    pub fn plus(self, other: Sum) -> Sum {
        let (mut long, short) = match self.terms.len() < other.terms.len() {
            true => (other, self),
            false => (self, other),
        };
        for (position, value) in short.terms {
            *long.terms.entry(position).or_insert(0.0) += value;
        }
        long.constant += short.constant;
        long
    }
}

/// A column that is a piecewise linear function of another one; the first and the last slope
/// continue beyond the ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Piecewise {
    /// The argument.
    pub x: ColId,
    /// The result.
    pub y: ColId,
    /// At least two points, in order of increasing `x`.
    pub points: Vec<(f64, f64)>,
}

/// Supported operators.
enum Operator {
    Plus,
    Minus,
    Times,
    Divide,
    Power,
    Negate,
    Sum,
    /// Slopes, and the breakpoints between them.
    Pieces(Vec<f64>, Vec<f64>),
}

/// Sums and piecewise linear terms read from the expressions of a problem.
pub(super) struct Expressions {
    /// Columns of the problem.
    cols: usize,
    /// Defined variables, by their number.
    pub defined: BTreeMap<usize, Sum>,
    /// Additional columns that are piecewise linear functions of others, after the columns of the
    /// problem.
    pub pieces: Vec<Piecewise>,
    /// Additional columns that are sums of others, after the columns of the problem.
    pub sums: Vec<(usize, Sum)>,
    /// Number of all columns.
    pub total: usize,
}

impl Expressions {
    pub fn new(cols: usize) -> Self {
        Expressions {
            cols,
            defined: BTreeMap::new(),
            pieces: Vec::new(),
            sums: Vec::new(),
            total: cols,
        }
    }

    /// Reads an expression; errors name it `place`.
    pub fn read(&mut self, input: &mut Input<'_>, place: &str) -> Result<Sum, NlError> {
        // Operators that wait for operands, and their numbers of operands.
        let mut open: Vec<(Operator, usize, Vec<Sum>)> = Vec::new();
        loop {
            let mut value = match input.word()? {
                Word::Number(v) => Sum::number(v),
                Word::Variable(k) => self.variable(k, input)?,
                Word::Operator(code) => {
                    let (operator, count) = operator(code, input, place)?;
                    if count > 0 {
                        open.push((operator, count, Vec::new()));
                        continue;
                    }
                    Sum::default()
                }
                Word::Other(word) => return Err(input.not_linear(place, &word)),
            };
            loop {
                let Some((_, count, operands)) = open.last_mut() else {
                    return Ok(value);
                };
                operands.push(value);
                if operands.len() < *count {
                    break;
                }
                let Some((operator, _, operands)) = open.pop() else {
                    return Ok(Sum::default());
                };
                value = self.applied(operator, operands, input, place)?;
            }
        }
    }

    fn variable(&self, k: usize, input: &Input<'_>) -> Result<Sum, NlError> {
        match self.defined.get(&k) {
            _ if k < self.cols => Ok(Sum::column(k)),
            Some(sum) => Ok(sum.clone()),
            None => input.wrong(format!("variable {k} is not defined before it is used")),
        }
    }

    fn applied(
        &mut self,
        operator: Operator,
        operands: Vec<Sum>,
        input: &Input<'_>,
        place: &str,
    ) -> Result<Sum, NlError> {
        let mut operands = operands.into_iter();
        let mut next = || operands.next().unwrap_or_default();
        let refused = |word: &str| Err(input.not_linear(place, word));
        match operator {
            Operator::Plus => Ok(next().plus(next())),
            Operator::Minus => Ok(next().plus(next().times(-1.0))),
            Operator::Negate => Ok(next().times(-1.0)),
            Operator::Sum => Ok(operands.fold(Sum::default(), Sum::plus)),
            Operator::Times => {
                let (first, second) = (next(), next());
                match (first.as_number(), second.as_number()) {
                    (Some(v), _) => Ok(second.times(v)),
                    (None, Some(v)) => Ok(first.times(v)),
                    _ => refused("o2 (a product)"),
                }
            }
            Operator::Divide => match (next(), next().as_number()) {
                (_, Some(0.0)) => input.wrong("a division by 0"),
                (first, Some(v)) => Ok(Sum {
                    terms: first.terms.into_iter().map(|(j, a)| (j, a / v)).collect(),
                    constant: first.constant / v,
                }),
                _ => refused("o3 (a quotient)"),
            },
            Operator::Power => {
                let (base, exponent) = (next(), next());
                match (base.as_number(), exponent.as_number()) {
                    (Some(base), Some(exponent)) => Ok(Sum::number(base.powf(exponent))),
                    (None, Some(1.0)) => Ok(base),
                    _ => refused("o5 (a power)"),
                }
            }
            Operator::Pieces(slopes, places) => self.pieces(&slopes, &places, next(), input),
        }
    }

    /// The function that is 0 at 0 and has the given slopes between the breakpoints `places`.
    fn pieces(
        &mut self,
        slopes: &[f64],
        places: &[f64],
        of: Sum,
        input: &Input<'_>,
    ) -> Result<Sum, NlError> {
        if places.windows(2).any(|w| w[0] >= w[1]) {
            return input.wrong("the places between slopes of a piecewise term must increase");
        }
        let value = |x: f64| {
            // The sum over pieces of slope times length between 0 and x.
            let ends = |k: usize| {
                let low = if k == 0 {
                    f64::NEG_INFINITY
                } else {
                    places[k - 1]
                };
                (low, places.get(k).copied().unwrap_or(f64::INFINITY))
            };
            let length = |k: usize| {
                let (low, high) = ends(k);
                x.clamp(low, high) - 0.0_f64.clamp(low, high)
            };
            let pieces = slopes.iter().enumerate();
            pieces.map(|(k, slope)| slope * length(k)).sum::<f64>()
        };
        if let [slope] = slopes {
            return Ok(of.times(*slope));
        }
        if let Some(x) = of.as_number() {
            return Ok(Sum::number(value(x)));
        }
        let (first, last) = match places {
            [first, .., last] => (*first, *last),
            [only] => (*only, *only),
            [] => return input.wrong("a piecewise term without slopes"),
        };
        let beyond = |place: f64| place.abs().max(1.0);
        let ends = [first - beyond(first), last + beyond(last)];
        let xs = std::iter::once(ends[0])
            .chain(places.iter().copied())
            .chain([ends[1]]);
        let points = xs.map(|x| (x, value(x))).collect();
        let is_column = of.constant == 0.0 && of.terms.len() == 1;
        let x = match of.terms.first_key_value() {
            Some((&x, &1.0)) if is_column => x,
            _ => {
                let x = self.new_col();
                self.sums.push((x, of));
                x
            }
        };
        let y = self.new_col();
        self.pieces.push(Piecewise {
            x: ColId(x as u32),
            y: ColId(y as u32),
            points,
        });
        Ok(Sum::column(y))
    }

    fn new_col(&mut self) -> usize {
        self.total += 1;
        self.total - 1
    }
}

/// The operator of a code and the number of its operands. Reads the data in between.
fn operator(code: i64, input: &mut Input<'_>, place: &str) -> Result<(Operator, usize), NlError> {
    let count = |input: &mut Input<'_>| match input.whole()? {
        count @ 0..=LARGEST_COUNT => Ok(count as usize),
        count => input.wrong(format!("{count} operands")),
    };
    Ok(match code {
        0 => (Operator::Plus, 2),
        1 => (Operator::Minus, 2),
        2 => (Operator::Times, 2),
        3 => (Operator::Divide, 2),
        5 | 76 => (Operator::Power, 2),
        15 => (Operator::Pieces(vec![-1.0, 1.0], vec![0.0]), 1),
        16 => (Operator::Negate, 1),
        54 => (Operator::Sum, count(input)?),
        64 => {
            let (mut slopes, mut places) = (Vec::new(), Vec::new());
            for k in 0..(2 * count(input)?).saturating_sub(1) {
                let Word::Number(v) = input.word()? else {
                    return input.wrong("slopes and the places between them are numbers");
                };
                if k % 2 == 0 { &mut slopes } else { &mut places }.push(v);
            }
            (Operator::Pieces(slopes, places), 1)
        }
        code => return Err(input.not_linear(place, &format!("o{code}"))),
    })
}

/// Largest number of operands of one operator.
const LARGEST_COUNT: i64 = 1 << 31;
