//! Reading of `.nl` files.

use super::NlError;
use super::expression::{Expressions, Piecewise, Sum};
use super::input::Input;
use crate::ids::{ColId, RowId};
use crate::model::{Model, ModelBuilder, Sense};
use crate::model_file::OrderedSet;
use std::collections::BTreeMap;

/// Most columns, rows and entries, so that a damaged header asks for no memory.
const MOST: i64 = 1 << 31;

/// A problem of a `.nl` file.
#[derive(Clone, Debug)]
pub struct NlProblem {
    /// The linear program, with its integer columns. Columns and rows behind those of the file are
    /// arguments and results of `pieces`.
    pub model: Model,
    /// Rows and columns of the file.
    pub size: (usize, usize),
    /// Columns that are functions of others, linear between points.
    pub pieces: Vec<Piecewise>,
    /// Ordered sets.
    pub sets: Vec<OrderedSet>,
    /// The starting point, where the file has one: one value per column, 0 where it says nothing.
    pub start: Option<Vec<f64>>,
    /// Options of the first line, which a `.sol` file gives back.
    pub options: Vec<i64>,
    /// Number of the objective, from 1; 0 without one.
    pub objective: usize,
}

/// Sizes of the header.
struct Header {
    cols: usize,
    rows: usize,
    objectives: usize,
    /// True for integer columns.
    integers: Vec<bool>,
    options: Vec<i64>,
}

/// Reads the bytes of a `.nl` file, in text or binary.
///
/// ```
/// let text = "g3 1 1 0\n 2 1 1 0 0\n 0 0\n 0 0\n 0 0 0\n 0 0 0 1\n 0 1 0 0 0\n 2 2\n 0 0\n 0 0 0 0 0\n\
///             C0\nn0\nO0 1\nn3\nr\n1 7\nb\n2 0\n0 0 4\nk1\n1\nJ0 2\n0 2\n1 1\nG0 2\n0 1\n1 5\n";
/// let problem = remat_lp::nl::parse(text.as_bytes(), "a.nl", 1).unwrap();
/// assert_eq!((problem.model.costs(), problem.model.offset()), (&[1.0, 5.0][..], 3.0));
/// assert!(problem.model.is_integer(remat_lp::ColId(1)));
/// ```
///
/// # Errors
/// [`NlError`] with file and line; `objective` is the number of the objective, from 1, or 0 for
/// none.
pub fn parse(bytes: &[u8], file: &str, objective: usize) -> Result<NlProblem, NlError> {
    let mut input = Input::new(bytes, file);
    let header = header(&mut input, file)?;
    let not_linear = |what: String| NlError::NotLinear {
        file: file.into(),
        what,
    };
    if objective > header.objectives && header.objectives > 0 {
        let message = format!("objective {objective} of {}", header.objectives);
        return input.wrong(message);
    }
    let objective = objective.min(header.objectives);
    let mut builder = ModelBuilder::new(Sense::Minimise);
    for &integer in &header.integers {
        let col = builder.add_col(0.0, ..);
        builder.set_integer(col, integer);
    }
    for _ in 0..header.rows {
        builder.add_row(.., []);
    }
    let mut expressions = Expressions::new(header.cols);
    let mut sums: BTreeMap<usize, Sum> = BTreeMap::new();
    let mut goal = Sum::default();
    let (mut set_numbers, mut set_weights) = (BTreeMap::new(), BTreeMap::new());
    let mut sides = vec![(f64::NEG_INFINITY, f64::INFINITY); header.rows];
    let mut start: Option<Vec<f64>> = None;
    let counts = |letter| match letter {
        'C' | 'k' | 'K' | 'x' | 'd' | 'L' => Some(1),
        'O' | 'J' | 'G' | 'S' => Some(2),
        'V' | 'F' => Some(3),
        'r' | 'b' => Some(0),
        _ => None,
    };
    while let Some((letter, numbers)) = input.part(counts)? {
        let of = |what: &str, k: i64, len: usize, input: &Input<'_>| match usize::try_from(k) {
            Ok(k) if k < len => Ok(k),
            _ => input.wrong(format!("{what} {k} of {len}")),
        };
        match letter {
            'C' => {
                let i = of("constraint", numbers[0], header.rows, &input)?;
                let sum = expressions.read(&mut input, &format!("constraint {i}"))?;
                sums.insert(i, sum);
            }
            'O' => {
                let k = of("objective", numbers[0], header.objectives, &input)?;
                let sum = expressions.read(&mut input, &format!("objective {k}"))?;
                if k + 1 == objective {
                    goal = goal.plus(sum);
                }
                if k + 1 == objective && numbers[1] != 0 {
                    builder.set_sense(Sense::Maximise);
                }
            }
            'r' => {
                for side in &mut sides {
                    *side = input.sides()?;
                }
            }
            'b' => {
                for j in 0..header.cols {
                    let (lower, upper) = input.sides()?;
                    builder.set_col_bounds(ColId(j as u32), lower..=upper);
                }
            }
            // Counts of entries by column: the entries themselves follow.
            'k' | 'K' => {
                for _ in 0..of("count", numbers[0], header.cols.max(1), &input)? {
                    input.whole()?;
                }
            }
            'J' => {
                let i = of("constraint", numbers[0], header.rows, &input)?;
                for _ in 0..of("length", numbers[1], header.cols + 1, &input)? {
                    let (j, value) = input.entry()?;
                    let j = of("column", j, header.cols, &input)?;
                    let sum = sums.get_mut(&i).and_then(|sum| sum.terms.remove(&j));
                    let value = value + sum.unwrap_or(0.0);
                    builder.add_entry(RowId(i as u32), ColId(j as u32), value);
                }
            }
            'G' => {
                let k = of("objective", numbers[0], header.objectives, &input)?;
                for _ in 0..of("length", numbers[1], header.cols + 1, &input)? {
                    let (j, value) = input.entry()?;
                    let j = of("column", j, header.cols, &input)?;
                    if k + 1 == objective {
                        *goal.terms.entry(j).or_insert(0.0) += value;
                    }
                }
            }
            'x' => {
                let point = start.get_or_insert_with(|| vec![0.0; header.cols]);
                for _ in 0..of("length", numbers[0], header.cols + 1, &input)? {
                    let (j, value) = input.entry()?;
                    point[of("column", j, header.cols, &input)?] = value;
                }
            }
            // A start of the duals changes no answer.
            'd' => {
                for _ in 0..of("length", numbers[0], header.rows + 1, &input)? {
                    input.entry()?;
                }
            }
            'S' => {
                let name = input.name()?;
                let real = numbers[0] & 4 != 0;
                let most = header.cols.max(header.rows).max(header.objectives) + 1;
                let of_cols = numbers[0] & 3 == 0;
                for _ in 0..of("length", numbers[1], most, &input)? {
                    let (j, value) = match real {
                        true => input.entry()?,
                        false => input.whole_entry()?,
                    };
                    match name.as_str() {
                        "sos" if value != 0.0 => {
                            let what = "AMPL made its own rows of piecewise terms".into();
                            return Err(not_linear(what));
                        }
                        "sosno" if of_cols => {
                            set_numbers.insert(of("column", j, header.cols, &input)?, value);
                        }
                        "ref" if of_cols => {
                            set_weights.insert(of("column", j, header.cols, &input)?, value);
                        }
                        _ => {}
                    }
                }
            }
            'L' => return Err(not_linear(format!("constraint {} is logical", numbers[0]))),
            'F' => return Err(not_linear(format!("function {} is called", numbers[0]))),
            // A defined variable: linear terms, then an expression.
            _ => {
                let mut sum = Sum::default();
                for _ in 0..of("length", numbers[1], header.cols + 1, &input)? {
                    let (j, value) = input.entry()?;
                    *sum.terms
                        .entry(of("column", j, header.cols, &input)?)
                        .or_insert(0.0) += value;
                }
                let place = format!("defined variable {}", numbers[0]);
                let sum = sum.plus(expressions.read(&mut input, &place)?);
                expressions.defined.insert(numbers[0].max(0) as usize, sum);
            }
        }
    }
    for _ in header.cols..expressions.total {
        builder.add_col(0.0, ..);
    }
    for (i, &(lower, upper)) in sides.iter().enumerate() {
        let id = RowId(i as u32);
        let sum = sums.remove(&i).unwrap_or_default();
        let entries = sum.terms.iter().filter(|entry| *entry.1 != 0.0);
        entries.for_each(|(&j, &value)| builder.add_entry(id, ColId(j as u32), value));
        builder.set_row_bounds(id, lower - sum.constant..=upper - sum.constant);
    }
    for (j, cost) in goal.terms {
        builder.set_cost(ColId(j as u32), cost);
    }
    builder.set_offset(goal.constant);
    for (j, mut sum) in expressions.sums {
        *sum.terms.entry(j).or_insert(0.0) -= 1.0;
        let entries = sum.terms.into_iter().filter(|entry| entry.1 != 0.0);
        let entries = entries.map(|(k, value)| (ColId(k as u32), value));
        builder.add_row(-sum.constant, entries);
    }
    let model = builder.build().map_err(|source| NlError::Model {
        file: file.into(),
        source,
    })?;
    Ok(NlProblem {
        model,
        size: (header.rows, header.cols),
        pieces: expressions.pieces,
        sets: sets(&set_numbers, &set_weights),
        start,
        options: header.options,
        objective,
    })
}

fn header(input: &mut Input<'_>, file: &str) -> Result<Header, NlError> {
    let first = input.line().unwrap_or_default();
    let binary = match first.chars().next() {
        Some('g') => false,
        Some('b') => true,
        _ => return input.wrong("a .nl file begins with g or b and its options, `g3 1 1 0`"),
    };
    let options = numbers(input, &first[1..])?;
    let mut lines = Vec::new();
    for _ in 1..10 {
        let line = input.line().unwrap_or_default();
        let mut found = numbers(input, &line)?;
        if let Some(wrong) = found.iter().find(|n| !(0..MOST).contains(*n)) {
            return input.wrong(format!("{wrong} in the header"));
        }
        found.resize(found.len().max(6), 0);
        lines.push(found);
    }
    let at = |line: usize, place: usize| lines[line][place] as usize;
    let refused = [
        (at(0, 5), "logical constraints"),
        (at(2, 0) + at(2, 1), "network constraints"),
        (at(4, 1), "functions"),
    ];
    if let Some((count, what)) = refused.iter().find(|(count, _)| *count > 0) {
        return Err(NlError::NotLinear {
            file: file.into(),
            what: format!("the problem has {what} ({count})"),
        });
    }
    // Columns in expressions come first, of each kind the integer ones last: those of constraints
    // and objectives, of constraints alone, of objectives alone, then those of linear parts.
    let (in_rows, in_goals, in_both) = (at(3, 0), at(3, 1), at(3, 2));
    let kinds = [
        (in_both, at(5, 2)),
        (in_rows.saturating_sub(in_both), at(5, 3)),
        (in_goals.saturating_sub(in_rows), at(5, 4)),
    ];
    let nonlinear: usize = kinds.iter().map(|kind| kind.0).sum();
    let linear = (at(0, 0).saturating_sub(nonlinear), at(5, 0) + at(5, 1));
    let mut integers = Vec::new();
    for (count, whole) in kinds.into_iter().chain([linear]) {
        let Some(continuous) = count.checked_sub(whole) else {
            return input.wrong("the header counts more integer columns than columns");
        };
        integers.resize(integers.len() + continuous, false);
        integers.resize(integers.len() + whole, true);
    }
    if integers.len() != at(0, 0) {
        return input.wrong("the header counts more columns in expressions than columns");
    }
    if binary {
        input.turn_binary(at(4, 2) == 2);
    }
    Ok(Header {
        cols: at(0, 0),
        rows: at(0, 1),
        objectives: at(0, 2),
        integers,
        // Their number stands first.
        options: options.into_iter().skip(1).collect(),
    })
}

/// Ordered sets by the numbers of their columns: positive ones are of type 1. Columns without a
/// weight keep their order.
fn sets(numbers: &BTreeMap<usize, f64>, weights: &BTreeMap<usize, f64>) -> Vec<OrderedSet> {
    let mut sets: BTreeMap<i64, Vec<(ColId, f64)>> = BTreeMap::new();
    for (&j, &number) in numbers.iter().filter(|set| *set.1 != 0.0) {
        let weight = weights.get(&j).copied().unwrap_or(j as f64);
        let members = sets.entry(number as i64).or_default();
        members.push((ColId(j as u32), weight));
    }
    let sets = sets.into_iter().map(|(number, members)| OrderedSet {
        width: if number > 0 { 1 } else { 2 },
        members,
    });
    sets.collect()
}

fn numbers(input: &Input<'_>, text: &str) -> Result<Vec<i64>, NlError> {
    let words = text.split_whitespace();
    let numbers = words.map(|w| w.parse::<f64>().map(|v| v as i64));
    match numbers.collect() {
        Ok(numbers) => Ok(numbers),
        Err(_) => input.wrong(format!("numbers belong where {text:?} stands")),
    }
}
