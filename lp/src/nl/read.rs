//! Reading of `.nl` files.

use super::NlError;
use super::input::{Expression, Input};
use crate::ids::{ColId, RowId};
use crate::model::{Model, ModelBuilder, Sense};

/// Most columns, rows and entries, so that a damaged header asks for no memory.
const MOST: i64 = 1 << 31;

/// A problem of a `.nl` file.
#[derive(Clone, Debug)]
pub struct NlProblem {
    /// The linear program, with its integer columns.
    pub model: Model,
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
    binaries: usize,
    integers: usize,
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
    let continuous = header.cols.checked_sub(header.binaries + header.integers);
    let Some(continuous) = continuous else {
        return input.wrong("the header counts more integer columns than columns");
    };
    for j in 0..header.cols {
        let col = builder.add_col(0.0, ..);
        builder.set_integer(col, j >= continuous);
    }
    for _ in 0..header.rows {
        builder.add_row(.., []);
    }
    let mut constants = vec![0.0; header.rows];
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
                match input.expression()? {
                    Expression::Constant(v) => constants[i] = v,
                    Expression::Other(word) => {
                        let what = format!("constraint {i} has the nonlinear expression {word}");
                        return Err(not_linear(what));
                    }
                }
            }
            'O' => {
                let k = of("objective", numbers[0], header.objectives, &input)?;
                match input.expression()? {
                    _ if k + 1 != objective => {}
                    Expression::Constant(v) => builder.set_offset(v),
                    Expression::Other(word) => {
                        let what = format!("objective {k} has the nonlinear expression {word}");
                        return Err(not_linear(what));
                    }
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
                    builder.add_entry(RowId(i as u32), ColId(j as u32), value);
                }
            }
            'G' => {
                let k = of("objective", numbers[0], header.objectives, &input)?;
                for _ in 0..of("length", numbers[1], header.cols + 1, &input)? {
                    let (j, value) = input.entry()?;
                    let j = of("column", j, header.cols, &input)?;
                    if k + 1 == objective {
                        builder.set_cost(ColId(j as u32), value);
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
                let mut told = false;
                for _ in 0..of("length", numbers[1], most, &input)? {
                    let (_, value) = match real {
                        true => input.entry()?,
                        false => input.whole_entry()?,
                    };
                    told |= value != 0.0;
                }
                if told && matches!(name.as_str(), "sosno" | "sos") {
                    return Err(not_linear("there are ordered sets of columns".into()));
                }
            }
            'L' => return Err(not_linear(format!("constraint {} is logical", numbers[0]))),
            'F' => return Err(not_linear(format!("function {} is called", numbers[0]))),
            _ => return Err(not_linear("there are common expressions".into())),
        }
    }
    for (i, (&(lower, upper), constant)) in sides.iter().zip(constants).enumerate() {
        builder.set_row_bounds(RowId(i as u32), lower - constant..=upper - constant);
    }
    let model = builder.build().map_err(|source| NlError::Model {
        file: file.into(),
        source,
    })?;
    Ok(NlProblem {
        model,
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
        (at(1, 0) + at(1, 1), "nonlinear constraints or objectives"),
        (at(2, 0) + at(2, 1), "network constraints"),
        (at(3, 0) + at(3, 1) + at(3, 2), "nonlinear variables"),
        (at(4, 1), "functions"),
        (
            at(5, 2) + at(5, 3) + at(5, 4),
            "nonlinear integer variables",
        ),
        (lines[8].iter().sum::<i64>() as usize, "common expressions"),
    ];
    if let Some((count, what)) = refused.iter().find(|(count, _)| *count > 0) {
        return Err(NlError::NotLinear {
            file: file.into(),
            what: format!("the problem has {what} ({count})"),
        });
    }
    if binary {
        input.turn_binary(at(4, 2) == 2);
    }
    Ok(Header {
        cols: at(0, 0),
        rows: at(0, 1),
        objectives: at(0, 2),
        binaries: at(5, 0),
        integers: at(5, 1),
        // Their number stands first.
        options: options.into_iter().skip(1).collect(),
    })
}

fn numbers(input: &Input<'_>, text: &str) -> Result<Vec<i64>, NlError> {
    let words = text.split_whitespace();
    let numbers = words.map(|w| w.parse::<f64>().map(|v| v as i64));
    match numbers.collect() {
        Ok(numbers) => Ok(numbers),
        Err(_) => input.wrong(format!("numbers belong where {text:?} stands")),
    }
}
