//! Reading of `.nl` files.

use super::NlError;
use super::expression::{Expressions, Piecewise, Sum};
use super::input::Input;
use crate::ids::{ColId, RowId};
use crate::model::{Model, ModelBuilder, Sense};
use crate::model_file::OrderedSet;
use std::collections::BTreeMap;

/// Largest number of columns, rows and entries, so that a damaged header does not cause a huge
/// allocation.
const MOST: i64 = 1 << 31;

/// A problem of a `.nl` file.
#[derive(Clone, Debug)]
pub struct NlProblem {
    /// The linear program, with its integer columns. Columns and rows after the file's own belong
    /// to arguments and results of `pieces`.
    pub model: Model,
    /// Numbers of rows and columns in the file.
    pub size: (usize, usize),
    /// Columns that are piecewise linear functions of others.
    pub pieces: Vec<Piecewise>,
    /// Ordered sets.
    pub sets: Vec<OrderedSet>,
    /// The starting point, if the file has one: one value per column, 0 if not given.
    pub start: Option<Vec<f64>>,
    /// Options of the first line; a `.sol` file returns them.
    pub options: Vec<i64>,
    /// Number of the objective, from 1; 0 for no objective.
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
/// [`NlError`] with file and line; `objective` is the number of the objective, from 1, or 0 for no
/// objective.
pub fn parse(bytes: &[u8], file: &str, objective: usize) -> Result<NlProblem, NlError> {
    let mut input = Input::new(bytes, file);
    let header = header(&mut input, file)?;
    if objective > header.objectives && header.objectives > 0 {
        let message = format!("objective {objective} of {}", header.objectives);
        return input.wrong(message);
    }
    let objective = objective.min(header.objectives);
    let mut reading = NlReader::new(input, file, &header, objective);
    while let Some((letter, numbers)) = reading.input.part(count_of_numbers)? {
        reading.part(letter, &numbers)?;
    }
    reading.finish()
}

/// Number of integers after the letter of a part.
fn count_of_numbers(letter: char) -> Option<usize> {
    match letter {
        'C' | 'k' | 'K' | 'x' | 'd' | 'L' => Some(1),
        'O' | 'J' | 'G' | 'S' => Some(2),
        'V' | 'F' => Some(3),
        'r' | 'b' => Some(0),
        _ => None,
    }
}

/// The parts of a file after its header, as read so far.
struct NlReader<'a> {
    input: Input<'a>,
    file: &'a str,
    header: &'a Header,
    /// Number of the objective, from 1; 0 for no objective.
    objective: usize,
    builder: ModelBuilder,
    expressions: Expressions,
    /// Expressions of rows. A column's term moves to the matrix entry if the linear part has one.
    sums: BTreeMap<usize, Sum>,
    /// The objective.
    goal: Sum,
    set_numbers: BTreeMap<usize, f64>,
    set_weights: BTreeMap<usize, f64>,
    /// Sides of the rows.
    sides: Vec<(f64, f64)>,
    start: Option<Vec<f64>>,
}

impl<'a> NlReader<'a> {
    fn new(input: Input<'a>, file: &'a str, header: &'a Header, objective: usize) -> Self {
        let mut builder = ModelBuilder::new(Sense::Minimise);
        for &integer in &header.integers {
            let col = builder.add_col(0.0, ..);
            builder.set_integer(col, integer);
        }
        for _ in 0..header.rows {
            builder.add_row(.., []);
        }
        NlReader {
            input,
            file,
            header,
            objective,
            builder,
            expressions: Expressions::new(header.cols),
            sums: BTreeMap::new(),
            goal: Sum::default(),
            set_numbers: BTreeMap::new(),
            set_weights: BTreeMap::new(),
            sides: vec![(f64::NEG_INFINITY, f64::INFINITY); header.rows],
            start: None,
        }
    }

    fn not_linear<T>(&self, what: String) -> Result<T, NlError> {
        Err(NlError::NotLinear {
            file: self.file.into(),
            what,
        })
    }

    /// Converts a number of the file to an index below `len`.
    fn index(&self, what: &str, k: i64, len: usize) -> Result<usize, NlError> {
        match usize::try_from(k) {
            Ok(k) if k < len => Ok(k),
            _ => self.input.wrong(format!("{what} {k} of {len}")),
        }
    }

    /// Number of following entries, at most `most`.
    fn length(&self, k: i64, most: usize) -> Result<usize, NlError> {
        self.index("length", k, most + 1)
    }

    /// The next entry: a column and its value.
    fn col_entry(&mut self) -> Result<(usize, f64), NlError> {
        let (j, value) = self.input.entry()?;
        Ok((self.index("column", j, self.header.cols)?, value))
    }

    fn part(&mut self, letter: char, numbers: &[i64]) -> Result<(), NlError> {
        let header = self.header;
        match letter {
            'C' => {
                let i = self.index("constraint", numbers[0], header.rows)?;
                let place = format!("constraint {i}");
                let sum = self.expressions.read(&mut self.input, &place)?;
                self.sums.insert(i, sum);
            }
            'O' => self.objective_expression(numbers)?,
            'r' => {
                for side in &mut self.sides {
                    *side = self.input.sides()?;
                }
            }
            'b' => {
                for j in 0..header.cols {
                    let (lower, upper) = self.input.sides()?;
                    (self.builder).set_col_bounds(ColId(j as u32), lower..=upper);
                }
            }
            // Cumulative counts of entries by column; unneeded, since the entries follow.
            'k' | 'K' => {
                for _ in 0..self.index("count", numbers[0], header.cols.max(1))? {
                    self.input.whole()?;
                }
            }
            'J' => {
                let i = self.index("constraint", numbers[0], header.rows)?;
                for _ in 0..self.length(numbers[1], header.cols)? {
                    let (j, value) = self.col_entry()?;
                    let sum = self.sums.get_mut(&i);
                    let sum = sum.and_then(|sum| sum.terms.remove(&j));
                    let value = value + sum.unwrap_or(0.0);
                    (self.builder).add_entry(RowId(i as u32), ColId(j as u32), value);
                }
            }
            'G' => {
                let k = self.index("objective", numbers[0], header.objectives)?;
                for _ in 0..self.length(numbers[1], header.cols)? {
                    let (j, value) = self.col_entry()?;
                    if k + 1 == self.objective {
                        *self.goal.terms.entry(j).or_insert(0.0) += value;
                    }
                }
            }
            'x' => {
                let mut point = self.start.take().unwrap_or(vec![0.0; header.cols]);
                for _ in 0..self.length(numbers[0], header.cols)? {
                    let (j, value) = self.col_entry()?;
                    point[j] = value;
                }
                self.start = Some(point);
            }
            // Initial duals do not change the answer.
            'd' => {
                for _ in 0..self.length(numbers[0], header.rows)? {
                    self.input.entry()?;
                }
            }
            'S' => self.suffix(numbers)?,
            'L' => return self.not_linear(format!("constraint {} is logical", numbers[0])),
            'F' => return self.not_linear(format!("function {} is called", numbers[0])),
            _ => self.defined_variable(numbers)?,
        }
        Ok(())
    }

    fn objective_expression(&mut self, numbers: &[i64]) -> Result<(), NlError> {
        let k = self.index("objective", numbers[0], self.header.objectives)?;
        let place = format!("objective {k}");
        let sum = self.expressions.read(&mut self.input, &place)?;
        if k + 1 == self.objective {
            self.goal = std::mem::take(&mut self.goal).plus(sum);
            if numbers[1] != 0 {
                self.builder.set_sense(Sense::Maximise);
            }
        }
        Ok(())
    }

    /// Reads the values of a suffix; only those for ordered sets are used.
    fn suffix(&mut self, numbers: &[i64]) -> Result<(), NlError> {
        let header = self.header;
        let name = self.input.name()?;
        let real = numbers[0] & 4 != 0;
        let of_cols = numbers[0] & 3 == 0;
        let most = header.cols.max(header.rows).max(header.objectives);
        for _ in 0..self.length(numbers[1], most)? {
            let (j, value) = match real {
                true => self.input.entry()?,
                false => self.input.whole_entry()?,
            };
            let values = match name.as_str() {
                "sos" if value != 0.0 => {
                    return self.not_linear("AMPL made its own rows of piecewise terms".into());
                }
                "sosno" if of_cols => &mut self.set_numbers,
                "ref" if of_cols => &mut self.set_weights,
                _ => continue,
            };
            match usize::try_from(j) {
                Ok(j) if j < header.cols => values.insert(j, value),
                _ => return (self.input).wrong(format!("column {j} of {}", header.cols)),
            };
        }
        Ok(())
    }

    /// Reads a defined variable: linear terms, then an expression.
    fn defined_variable(&mut self, numbers: &[i64]) -> Result<(), NlError> {
        let mut sum = Sum::default();
        for _ in 0..self.length(numbers[1], self.header.cols)? {
            let (j, value) = self.col_entry()?;
            *sum.terms.entry(j).or_insert(0.0) += value;
        }
        let place = format!("defined variable {}", numbers[0]);
        let sum = sum.plus(self.expressions.read(&mut self.input, &place)?);
        (self.expressions.defined).insert(numbers[0].max(0) as usize, sum);
        Ok(())
    }

    fn finish(mut self) -> Result<NlProblem, NlError> {
        let (header, mut builder) = (self.header, self.builder);
        for _ in header.cols..self.expressions.total {
            builder.add_col(0.0, ..);
        }
        for (i, &(lower, upper)) in self.sides.iter().enumerate() {
            let id = RowId(i as u32);
            let sum = self.sums.remove(&i).unwrap_or_default();
            let entries = sum.terms.iter().filter(|entry| *entry.1 != 0.0);
            entries.for_each(|(&j, &value)| builder.add_entry(id, ColId(j as u32), value));
            builder.set_row_bounds(id, lower - sum.constant..=upper - sum.constant);
        }
        for (j, cost) in self.goal.terms {
            builder.set_cost(ColId(j as u32), cost);
        }
        builder.set_offset(self.goal.constant);
        for (j, mut sum) in self.expressions.sums {
            *sum.terms.entry(j).or_insert(0.0) -= 1.0;
            let entries = sum.terms.into_iter().filter(|entry| entry.1 != 0.0);
            let entries = entries.map(|(k, value)| (ColId(k as u32), value));
            builder.add_row(-sum.constant, entries);
        }
        let model = builder.build().map_err(|source| NlError::Model {
            file: self.file.into(),
            source,
        })?;
        Ok(NlProblem {
            model,
            size: (header.rows, header.cols),
            pieces: self.expressions.pieces,
            sets: sets(&self.set_numbers, &self.set_weights),
            start: self.start,
            options: header.options.clone(),
            objective: self.objective,
        })
    }
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
    // Columns in expressions come first: in both constraints and objectives, in constraints only,
    // in objectives only. Columns of linear parts follow. In each kind, integer columns come last.
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
        // The first number is the count of options.
        options: options.into_iter().skip(1).collect(),
    })
}

/// Groups columns into ordered sets by their set numbers; positive numbers mean type 1. Columns
/// without a weight keep their order.
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
