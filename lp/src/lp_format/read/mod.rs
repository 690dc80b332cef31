//! Reading LP files: the order of sections, and helpers for all of them. A section is read in
//! [`rows`] or [`columns`], a sum of terms in [`expression`].

mod columns;
mod expression;
mod quadratic;
mod rows;
mod section;
mod specials;

use super::LpFormatError;
use super::lex::{Token, WordKind, tokens};
use crate::decimal::{self, RoundedNumber, is_held};
use crate::ids::{Bounds, ColId, RowId};
use crate::model::{Model, ModelBuilder, Sense};
use crate::model_file::{ModelFile, Specials};
use crate::quadratic::Quadratic;
use crate::text_file::{self, Remark, shown};
use section::LpSection;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;

/// Reads a file, unpacking it if it starts like a gzip file.
///
/// # Errors
/// [`LpFormatError::Io`], or any error of [`parse`].
pub fn read(path: impl AsRef<Path>) -> Result<Model, LpFormatError> {
    read_by(path.as_ref(), parse)
}

fn read_by<T>(
    path: &Path,
    parse: impl FnOnce(&str, &str) -> Result<T, LpFormatError>,
) -> Result<T, LpFormatError> {
    let file = path.display().to_string();
    let text = text_file::read(path).map_err(|source| LpFormatError::Io {
        file: file.clone(),
        source,
    })?;
    parse(&text, &file)
}

/// Reads a model from text; errors name it `file`.
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
    let linear = parse_all(text, file)?.linear();
    linear.map_err(|source| LpFormatError::NotLinear {
        file: file.to_string(),
        source,
    })
}

/// Reads a file as [`parse_all`] reads text, unpacking it if it starts like a gzip file.
///
/// # Errors
/// [`LpFormatError::Io`], or any error of [`parse_all`].
pub fn read_all(path: impl AsRef<Path>) -> Result<ModelFile, LpFormatError> {
    read_by(path.as_ref(), parse_all)
}

/// Reads text with semi-continuous columns, special ordered sets and implications, which [`parse`]
/// rejects.
///
/// ```
/// let text = "Minimize\n x\nSubject To\n b = 1 -> x + y >= 2\nBinary\n b\nSOS\n S1 :: x:1 y:2\nEnd";
/// let all = remat_lp::lp_format::parse_all(text, "example").unwrap();
/// let specials = all.specials;
/// assert_eq!((specials.implications.len(), specials.sets[0].width), (1, 1));
/// ```
///
/// # Errors
/// The errors of [`parse`], except for these parts.
pub fn parse_all(text: &str, file: &str) -> Result<ModelFile, LpFormatError> {
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
        remarks: Vec::new(),
        place: LpPlace::Objective,
        told_of_names: false,
        specials: Specials::default(),
        products: Vec::new(),
    };
    reader.file()?;
    let LpReader {
        mut builder,
        costs,
        binaries,
        remarks,
        mut specials,
        products,
        ..
    } = reader;
    // Narrower stated bounds are kept, whether before or after the section.
    for col in binaries {
        let stated = builder.col_bounds(col);
        builder.set_col_bounds(col, stated.lower.max(0.0)..=stated.upper.min(1.0));
    }
    for (j, &c) in costs.iter().enumerate() {
        builder.set_cost(ColId(j as u32), c);
    }
    let wrong = |source| LpFormatError::Model {
        file: file.to_string(),
        source,
    };
    let quadratic = Quadratic::of_products(builder.num_cols(), products).map_err(wrong)?;
    specials.quadratic = (!quadratic.is_empty()).then_some(quadratic);
    let model = builder.build().map_err(wrong)?;
    text_file::tell(&remarks);
    Ok(ModelFile { model, specials })
}

struct LpReader<'a> {
    file: &'a str,
    tokens: Vec<Token<'a>>,
    at: usize,
    builder: ModelBuilder,
    cols: HashMap<&'a str, ColId>,
    /// Line of each row label, to find the first of two equal labels.
    rows: HashMap<&'a str, usize>,
    costs: Vec<f64>,
    /// Columns of a Binary section.
    binaries: Vec<ColId>,
    /// Position of a column in the expression being read.
    scratch: HashMap<ColId, usize>,
    remarks: Vec<Remark>,
    place: LpPlace<'a>,
    /// True once a repeated row name was reported.
    told_of_names: bool,
    specials: Specials,
    /// Products of the objective.
    products: Vec<(ColId, ColId, f64)>,
}

/// The part of the file being read.
#[derive(Clone, Copy)]
enum LpPlace<'a> {
    Objective,
    /// A row, with its label if it has one.
    Row(Option<&'a str>, RowId),
    /// The bounds of a column.
    Bounds(&'a str),
}

impl fmt::Display for LpPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LpPlace::Objective => f.write_str("the objective"),
            LpPlace::Row(Some(label), _) => write!(f, "row {}", shown(label)),
            LpPlace::Row(None, row) => write!(f, "row r{}", row.0),
            LpPlace::Bounds(col) => write!(f, "the bounds of column {}", shown(col)),
        }
    }
}

/// The limits stated by one relation.
#[derive(Clone, Copy)]
struct RelationSides {
    lower: Option<f64>,
    upper: Option<f64>,
}

impl RelationSides {
    /// The limits of the expression on the left of `relation value`.
    fn left_of(relation: WordKind, value: f64) -> Self {
        RelationSides {
            lower: (relation != WordKind::LessEqual).then_some(value),
            upper: (relation != WordKind::GreaterEqual).then_some(value),
        }
    }

    /// The limits of the expression on the right of `value relation`.
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

impl<'a> LpReader<'a> {
    fn peek(&self) -> Token<'a> {
        self.ahead(0)
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
            token: shown(at.text),
            message: message.into(),
        })
    }

    fn remark(&mut self, at: Token<'_>, text: impl Into<String>) {
        let text = text.into();
        let line = at.line;
        self.remarks.push(Remark { line, text });
    }

    fn file(&mut self) -> Result<(), LpFormatError> {
        let start = self.peek();
        let Some((LpSection::Objective(sense), words)) = self.section() else {
            return self.error(
                start,
                "a model starts with `Minimize` or `Maximize`, without a colon",
            );
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
                // Some programs write the names of all sections, even of empty ones.
                _ if section != LpSection::End && self.section().is_some() => {}
                LpSection::Semicontinuous => self.semicontinuous()?,
                LpSection::Sets(width) => self.sets(width)?,
                LpSection::GeneralConstraints => self.general_constraints()?,
                LpSection::Unsupported(what) => {
                    return self.error(
                        here,
                        format!("{what} are not supported: linear terms and integers only"),
                    );
                }
                LpSection::End => {
                    self.end(here);
                    return Ok(());
                }
            }
        }
    }

    /// Emits a remark if `End` is missing or text follows it.
    fn end(&mut self, here: Token<'_>) {
        let behind = self.peek();
        if here.kind == WordKind::End {
            self.remark(
                here,
                "the file ends without `End`: part of it may be missing",
            );
        } else if behind.kind != WordKind::End {
            self.remark(behind, "text behind `End` does not count");
        }
    }

    fn label(&mut self) -> Option<Token<'a>> {
        let labelled = self.is_label() && self.section().is_none();
        labelled.then(|| {
            let label = self.next();
            self.at += 1;
            label
        })
    }

    /// Returns whether a label starts here. The lexer may classify it as a number (`1:`), since
    /// rows are often numbered.
    fn is_label(&self) -> bool {
        matches!(self.peek().kind, WordKind::Name | WordKind::Number(_))
            && self.ahead(1).kind == WordKind::Colon
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
        self.place = LpPlace::Objective;
        let expression = self.expression(false)?;
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

    /// Records a number that a double does not represent.
    fn held(&mut self, number: Token<'_>, value: f64) {
        if !is_held(number.text, value) {
            self.note_rounded(number.line, shown(number.text));
        }
    }

    fn note_rounded(&mut self, line: usize, number: String) {
        let place = self.place;
        self.builder.note_rounded(|| RoundedNumber {
            line,
            place: place.to_string(),
            number,
        });
    }

    /// The sum of two numbers as decimals.
    fn sum(&mut self, a: f64, b: f64) -> f64 {
        let (sum, held) = decimal::sum(a, b);
        if !held {
            let line = self.tokens[self.at.saturating_sub(1)].line;
            self.note_rounded(line, format!("the sum of {a} and {b}"));
        }
        sum
    }

    fn relation(&mut self) -> Result<WordKind, LpFormatError> {
        let t = self.next();
        if is_relation(t.kind) {
            return Ok(t.kind);
        }
        self.unsupported_here(t)?;
        self.error(t, "`<=`, `>=` or `=` was expected")
    }

    /// Reads a number with signs before it; numbers of magnitude 1e20 become infinite.
    fn constant(&mut self) -> Result<f64, LpFormatError> {
        let mut sign = 1.0;
        while matches!(self.peek().kind, WordKind::Plus | WordKind::Minus) {
            if self.next().kind == WordKind::Minus {
                sign = -sign;
            }
        }
        let t = self.next();
        match t.kind {
            WordKind::Number(v) => {
                self.held(t, v);
                Ok(sign * text_file::clip(v))
            }
            _ => {
                self.unsupported_here(t)?;
                self.error(
                    t,
                    "a number was expected; columns stand on the left of a relation",
                )
            }
        }
    }
}
