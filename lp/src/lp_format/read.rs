//! Reading LP files.

use super::LpFormatError;
use super::lex::{Token, WordKind, tokens};
use crate::ids::{Bounds, ColId};
use crate::model::{Model, ModelBuilder, Sense};
use crate::text_file;
use std::collections::HashMap;
use std::path::Path;

/// Reads a file, unpacking it if it starts like a gzip file.
///
/// # Errors
/// [`LpFormatError::Io`], or whatever [`parse`] finds.
pub fn read(path: impl AsRef<Path>) -> Result<Model, LpFormatError> {
    let path = path.as_ref();
    let file = path.display().to_string();
    let io = |source| LpFormatError::Io {
        file: file.clone(),
        source,
    };
    let text = text_file::read(path).map_err(io)?;
    parse(&text, &file)
}

/// Reads a model from text; `file` is what errors call it.
///
/// ```
/// let text = "Maximize\n profit: 3 x + 2 y + 10\nSubject To\n c1: -2 <= x - y <= 4\nBounds\n x <= 3\n y free\nEnd\n";
/// let model = remat_lp::lp_format::parse(text, "example").unwrap();
/// assert_eq!((model.num_rows(), model.num_cols(), model.offset()), (1, 2, 10.0));
/// assert_eq!((model.row_lower()[0], model.row_upper()[0]), (-2.0, 4.0));
/// ```
///
/// # Errors
/// [`LpFormatError::Syntax`] with line and word, or [`LpFormatError::Model`].
pub fn parse(text: &str, file: &str) -> Result<Model, LpFormatError> {
    let mut reader = LpReader {
        file,
        tokens: tokens(text),
        at: 0,
        builder: ModelBuilder::new(Sense::Minimise),
        cols: HashMap::new(),
        rows: HashMap::new(),
        costs: Vec::new(),
        binaries: Vec::new(),
        scratch: HashMap::new(),
    };
    reader.file()?;
    let LpReader {
        mut builder,
        costs,
        binaries,
        ..
    } = reader;
    // Narrower bounds that were stated stay, before the section or behind it.
    for col in binaries {
        let stated = builder.col_bounds(col);
        builder.set_col_bounds(col, stated.lower.max(0.0)..=stated.upper.min(1.0));
    }
    for (j, &c) in costs.iter().enumerate() {
        builder.set_cost(ColId(j as u32), c);
    }
    builder.build().map_err(|source| LpFormatError::Model {
        file: file.to_string(),
        source,
    })
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum LpSection {
    Objective(Sense),
    Rows,
    Bounds,
    General,
    Binary,
    End,
    Unsupported(&'static str),
}

/// Terms by column in order of appearance, and a constant.
struct Expression {
    terms: Vec<(ColId, f64)>,
    constant: f64,
    /// True if anything was there at all.
    any: bool,
}

struct LpReader<'a> {
    file: &'a str,
    tokens: Vec<Token<'a>>,
    at: usize,
    builder: ModelBuilder,
    cols: HashMap<&'a str, ColId>,
    /// Line of each row label, to tell where the first of two equal ones stands.
    rows: HashMap<&'a str, usize>,
    costs: Vec<f64>,
    /// Columns of a Binary section.
    binaries: Vec<ColId>,
    /// Position of a column in the expression being read.
    scratch: HashMap<ColId, usize>,
}

/// The limits that one relation states.
#[derive(Clone, Copy)]
struct RelationSides {
    lower: Option<f64>,
    upper: Option<f64>,
}

impl RelationSides {
    /// Of what stands left of `relation value`.
    fn left_of(relation: WordKind, value: f64) -> Self {
        RelationSides {
            lower: (relation != WordKind::LessEqual).then_some(value),
            upper: (relation != WordKind::GreaterEqual).then_some(value),
        }
    }

    /// Of what stands right of `value relation`.
    fn right_of(value: f64, relation: WordKind) -> Self {
        RelationSides {
            lower: (relation != WordKind::GreaterEqual).then_some(value),
            upper: (relation != WordKind::LessEqual).then_some(value),
        }
    }
}

fn is_relation(kind: WordKind) -> bool {
    matches!(
        kind,
        WordKind::LessEqual | WordKind::GreaterEqual | WordKind::Equal
    )
}

/// Numbers this large mean infinity, as all writers have it.
const HUGE: f64 = 1e30;

fn clip(v: f64) -> f64 {
    if v.abs() >= HUGE {
        v.signum() * f64::INFINITY
    } else {
        v
    }
}

impl<'a> LpReader<'a> {
    fn peek(&self) -> Token<'a> {
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn ahead(&self, by: usize) -> Token<'a> {
        self.tokens[(self.at + by).min(self.tokens.len() - 1)]
    }

    fn next(&mut self) -> Token<'a> {
        let t = self.peek();
        self.at += 1;
        t
    }

    fn error<T>(&self, at: Token<'_>, message: impl Into<String>) -> Result<T, LpFormatError> {
        Err(LpFormatError::Syntax {
            file: self.file.to_string(),
            line: at.line,
            token: at.text.to_string(),
            message: message.into(),
        })
    }

    /// The section that starts here, and how many words its name has.
    fn section(&self) -> Option<(LpSection, usize)> {
        let t = self.peek();
        if t.kind == WordKind::End {
            return Some((LpSection::End, 0));
        }
        // A label may be called anything: `end: x >= 1` is a row.
        if !t.first || t.kind != WordKind::Name || self.ahead(1).kind == WordKind::Colon {
            return None;
        }
        let second = self.ahead(1).text.to_ascii_lowercase();
        Some(match t.text.to_ascii_lowercase().as_str() {
            "min" | "minimise" | "minimize" | "minimum" => {
                (LpSection::Objective(Sense::Minimise), 1)
            }
            "max" | "maximise" | "maximize" | "maximum" => {
                (LpSection::Objective(Sense::Maximise), 1)
            }
            "subject" if second == "to" => (LpSection::Rows, 2),
            "such" if second == "that" => (LpSection::Rows, 2),
            "st" | "s.t." | "st." => (LpSection::Rows, 1),
            "bound" | "bounds" => (LpSection::Bounds, 1),
            "general" | "gen" if second == "constraints" => {
                (LpSection::Unsupported("general constraints"), 2)
            }
            "gen" | "general" | "generals" | "int" | "integer" | "integers" => {
                (LpSection::General, 1)
            }
            "bin" | "binary" | "binaries" => (LpSection::Binary, 1),
            "semi" | "semis" | "semi-continuous" => {
                (LpSection::Unsupported("semi-continuous columns"), 1)
            }
            "sos" | "sos1" | "sos2" => (LpSection::Unsupported("special ordered sets (SOS)"), 1),
            "pwlobj" => (LpSection::Unsupported("piecewise linear objectives"), 1),
            "lazy" if second == "constraints" => (LpSection::Unsupported("lazy constraints"), 2),
            "user" if second == "cuts" => (LpSection::Unsupported("user cuts"), 2),
            "end" => (LpSection::End, 1),
            _ => return None,
        })
    }

    fn file(&mut self) -> Result<(), LpFormatError> {
        let start = self.peek();
        let Some((LpSection::Objective(sense), words)) = self.section() else {
            return self.error(start, "a model starts with `Minimize` or `Maximize`");
        };
        self.at += words;
        self.builder.set_sense(sense);
        self.objective()?;
        loop {
            let here = self.peek();
            let Some((section, words)) = self.section() else {
                return self.error(
                    here,
                    "a section was expected: Subject To, Bounds, General, Binary or End",
                );
            };
            if section == LpSection::End {
                if here.kind == WordKind::End {
                    return self.error(here, "the file ends without `End`");
                }
                return Ok(());
            }
            self.at += words;
            match section {
                LpSection::Rows => self.rows()?,
                LpSection::Bounds => self.bounds()?,
                LpSection::General | LpSection::Binary => {
                    self.integers(section == LpSection::Binary)?
                }
                LpSection::Objective(_) => {
                    return self.error(here, "there is already an objective; one is supported");
                }
                LpSection::Unsupported(what) => {
                    return self.error(
                        here,
                        format!("{what} are not supported: linear programs only"),
                    );
                }
                LpSection::End => {}
            }
        }
    }

    fn label(&mut self) -> Option<Token<'a>> {
        let t = self.peek();
        // Labels may look like numbers to us (`1:`), as rows are often numbered.
        let labelled = matches!(t.kind, WordKind::Name | WordKind::Number(_))
            && self.ahead(1).kind == WordKind::Colon
            && self.section().is_none();
        labelled.then(|| {
            self.at += 2;
            t
        })
    }

    fn col(&mut self, name: &'a str) -> ColId {
        if let Some(&col) = self.cols.get(name) {
            return col;
        }
        let col = self.builder.add_col(0.0, Bounds::NONNEGATIVE);
        self.builder.set_col_name(col, name);
        self.costs.push(0.0);
        self.cols.insert(name, col);
        col
    }

    fn objective(&mut self) -> Result<(), LpFormatError> {
        let here = self.peek();
        if here.text.eq_ignore_ascii_case("multi") {
            return self.error(here, "several objectives are not supported; one is");
        }
        self.label();
        let expression = self.expression()?;
        for (col, v) in expression.terms {
            self.costs[col.index()] = v;
        }
        self.builder.set_offset(expression.constant);
        let after = self.peek();
        if self.section().is_none() {
            return self.error(
                after,
                "`+`, `-` or a section was expected after a term of the objective",
            );
        }
        Ok(())
    }

    /// A sum of terms, up to what cannot continue one.
    fn expression(&mut self) -> Result<Expression, LpFormatError> {
        let mut e = Expression {
            terms: Vec::new(),
            constant: 0.0,
            any: false,
        };
        self.scratch.clear();
        loop {
            if self.section().is_some() {
                return Ok(e);
            }
            let start = self.peek();
            let mut sign = 1.0;
            let mut signed = false;
            while matches!(self.peek().kind, WordKind::Plus | WordKind::Minus) {
                signed = true;
                if self.next().kind == WordKind::Minus {
                    sign = -sign;
                }
            }
            if !signed && e.any {
                return match start.kind {
                    WordKind::Name | WordKind::Number(_) => self.error(
                        start,
                        "`+`, `-` or a relation was expected before this term",
                    ),
                    _ => self.unsupported_here(start).map(|()| e),
                };
            }
            let mut value = None;
            if let WordKind::Number(v) = self.peek().kind {
                self.at += 1;
                value = Some(v);
                if self.peek().kind == WordKind::Times {
                    self.at += 1;
                    if self.peek().kind != WordKind::Name {
                        return self.error(self.peek(), "a column name was expected after `*`");
                    }
                }
            }
            let t = self.peek();
            if t.kind == WordKind::Name
                && self.section().is_none()
                && self.ahead(1).kind != WordKind::Colon
            {
                self.at += 1;
                let v = sign * value.unwrap_or(1.0);
                if !v.is_finite() {
                    return self.error(
                        t,
                        format!("the coefficient of this column is {v}; a finite number is needed"),
                    );
                }
                let col = self.col(t.text);
                let terms = &mut e.terms;
                let k = *self.scratch.entry(col).or_insert_with(|| {
                    terms.push((col, 0.0));
                    terms.len() - 1
                });
                e.terms[k].1 += v;
            } else if let Some(v) = value {
                e.constant += sign * v;
            } else if signed {
                self.unsupported_here(t)?;
                return self.error(t, "a number or a column name was expected after the sign");
            } else {
                self.unsupported_here(t)?;
                return Ok(e);
            }
            e.any = true;
        }
    }

    /// Names what is not supported, if that is what stands here.
    fn unsupported_here(&self, t: Token<'_>) -> Result<(), LpFormatError> {
        match t.text {
            "[" | "]" | "^" => {
                self.error(t, "quadratic terms are not supported: linear programs only")
            }
            "->" => self.error(
                t,
                "indicator constraints are not supported: linear programs only",
            ),
            "*" => self.error(
                t,
                "products of columns are not supported: a term is a number and a column",
            ),
            _ if t.kind == WordKind::Other => self.error(t, "this character has no meaning here"),
            _ => Ok(()),
        }
    }

    fn relation(&mut self) -> Result<WordKind, LpFormatError> {
        let t = self.next();
        match t.kind {
            WordKind::LessEqual | WordKind::GreaterEqual | WordKind::Equal => Ok(t.kind),
            _ => {
                self.unsupported_here(t)?;
                self.error(t, "`<=`, `>=` or `=` was expected")
            }
        }
    }

    /// A number with signs before it.
    fn constant(&mut self) -> Result<f64, LpFormatError> {
        let mut sign = 1.0;
        while matches!(self.peek().kind, WordKind::Plus | WordKind::Minus) {
            if self.next().kind == WordKind::Minus {
                sign = -sign;
            }
        }
        let t = self.next();
        match t.kind {
            WordKind::Number(v) => Ok(sign * v),
            _ => {
                self.unsupported_here(t)?;
                self.error(
                    t,
                    "a number was expected; columns stand on the left of a relation",
                )
            }
        }
    }

    fn rows(&mut self) -> Result<(), LpFormatError> {
        while self.section().is_none() {
            let label = self.label();
            let here = self.peek();
            let first = self.expression()?;
            // Other programs write rows that lost all their columns as `name: = 0`.
            let empty = !first.any && label.is_some() && is_relation(self.peek().kind);
            if !first.any && !empty {
                return self.error(
                    self.peek(),
                    "a row was expected: terms, a relation and a number",
                );
            }
            let relation = self.relation()?;
            let (sides, terms) = if empty {
                (
                    RelationSides::left_of(relation, self.constant()?),
                    first.terms,
                )
            } else if first.terms.is_empty() {
                // number <= terms [<= number]
                let middle = self.expression()?;
                if middle.terms.is_empty() {
                    return self.error(here, "a row without columns; write `0 x` for an empty one");
                }
                let mut sides = RelationSides::right_of(first.constant - middle.constant, relation);
                if is_relation(self.peek().kind) {
                    let sign = self.peek();
                    let second = self.relation()?;
                    if second != relation || second == WordKind::Equal {
                        return self.error(
                            sign,
                            "both relations of a ranged row must be `<=`, or both `>=`",
                        );
                    }
                    let other = RelationSides::left_of(second, self.constant()? - middle.constant);
                    sides = RelationSides {
                        lower: sides.lower.or(other.lower),
                        upper: sides.upper.or(other.upper),
                    };
                }
                (sides, middle.terms)
            } else {
                let right = self.constant()?;
                (
                    RelationSides::left_of(relation, right - first.constant),
                    first.terms,
                )
            };
            let bounds = Bounds::new(
                sides.lower.map_or(f64::NEG_INFINITY, clip),
                sides.upper.map_or(f64::INFINITY, clip),
            );
            if bounds.lower > bounds.upper {
                return self.error(
                    here,
                    format!(
                        "the row's range is empty: {} to {}",
                        bounds.lower, bounds.upper
                    ),
                );
            }
            let row = self.builder.add_row(bounds, terms);
            if let Some(label) = label {
                if let Some(line) = self.rows.insert(label.text, label.line) {
                    return self
                        .error(label, format!("a row on line {line} has this name already"));
                }
                self.builder.set_row_name(row, label.text);
            }
        }
        Ok(())
    }

    fn bounds(&mut self) -> Result<(), LpFormatError> {
        while self.section().is_none() {
            let here = self.peek();
            if here.kind == WordKind::Name {
                self.at += 1;
                let col = self.col(here.text);
                if self.peek().text.eq_ignore_ascii_case("free") {
                    self.at += 1;
                    self.builder.set_col_bounds(col, Bounds::FREE);
                    continue;
                }
                let relation = self.relation()?;
                let value = self.constant()?;
                self.tighten(here, col, RelationSides::left_of(relation, value))?;
                if is_relation(self.peek().kind) {
                    return self.error(
                        self.peek(),
                        "two bounds on a line are written `lower <= x <= upper`",
                    );
                }
            } else {
                let left = self.constant()?;
                let relation = self.relation()?;
                let t = self.next();
                if t.kind != WordKind::Name {
                    return self.error(t, "a column name was expected");
                }
                let col = self.col(t.text);
                self.tighten(t, col, RelationSides::right_of(left, relation))?;
                if is_relation(self.peek().kind) {
                    let sign = self.peek();
                    let second = self.relation()?;
                    if second != relation || second == WordKind::Equal {
                        return self
                            .error(sign, "both relations of a bound must be `<=`, or both `>=`");
                    }
                    let right = self.constant()?;
                    self.tighten(t, col, RelationSides::left_of(second, right))?;
                }
            }
        }
        Ok(())
    }

    /// Replaces the stated sides of a column's bounds; an infinite number takes the bound of its
    /// side away.
    fn tighten(
        &mut self,
        at: Token<'_>,
        col: ColId,
        stated: RelationSides,
    ) -> Result<(), LpFormatError> {
        let mut b = self.builder.col_bounds(col);
        b.lower = stated.lower.map_or(b.lower, clip);
        b.upper = stated.upper.map_or(b.upper, clip);
        if b.lower == f64::INFINITY || b.upper == f64::NEG_INFINITY {
            return self.error(
                at,
                format!("the bounds [{}, {}] leave no value", b.lower, b.upper),
            );
        }
        self.builder.set_col_bounds(col, b);
        Ok(())
    }

    fn integers(&mut self, binary: bool) -> Result<(), LpFormatError> {
        while self.section().is_none() {
            let t = self.next();
            if t.kind != WordKind::Name {
                return self.error(t, "a column name was expected");
            }
            let col = self.col(t.text);
            self.builder.set_integer(col, true);
            if binary {
                self.binaries.push(col);
            }
        }
        Ok(())
    }
}
