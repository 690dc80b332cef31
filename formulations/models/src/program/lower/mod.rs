//! Special constraints, kinds and products as rows and columns of a linear model, exactly.
//!
//! | module | concept |
//! |---|---|
//! | `affine` | sums of columns and a constant |
//! | `bounds` | bounds of columns and sums that follow from rows and definitions |
//! | `functions` | maximum, minimum, absolute value, and, or, norms |
//! | `choices` | implications, ordered sets, columns that may be 0 |
//! | `pieces` | functions linear between points |
//! | `products` | products of columns |
//! | `curved` | products of a convex objective, which stay |
//!
//! New columns and rows come after the program's own. Each new column has a definition: its value
//! at a point of the program, so that starts can be completed.

mod affine;
mod bounds;
mod choices;
mod curved;
mod functions;
mod pieces;
mod products;

use super::special::Special;
use super::{Col, Kind, Program, ProgramError};
use affine::Affine;
use bounds::LpBounds;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Largest size of a bound in a row: with more, a binary column within the tolerance of the simplex
/// from 0 moves the row by thousands.
const LARGEST: f64 = 1e9;

/// Value of a column at a point, from the columns before it.
pub(super) type Definition = Arc<dyn Fn(&[f64]) -> f64 + Send + Sync>;

/// A column that the program does not have.
#[derive(Clone)]
pub(super) struct NewCol {
    pub lower: f64,
    pub upper: f64,
    pub integer: bool,
    pub definition: Definition,
}

/// A row over the model's columns.
#[derive(Clone)]
pub(super) struct NewRow {
    pub entries: Vec<(usize, f64)>,
    pub lower: f64,
    pub upper: f64,
}

/// A row that holds if a sum of binary columns is 0 and not if it is 1, without a known bound for
/// one row that covers both.
#[derive(Clone)]
pub(super) struct OpenRow {
    /// The sum: 1 if the row need not hold.
    pub idle: Affine,
    /// The row.
    pub row: NewRow,
    /// The bound that is missing.
    pub missing: ProgramError,
}

/// Additions to the program's own columns and rows.
#[derive(Clone, Default)]
pub(super) struct Lowered {
    pub cols: Vec<NewCol>,
    pub rows: Vec<NewRow>,
    /// Further costs by column, of the program's and of new ones.
    pub costs: Vec<(usize, f64)>,
    /// Bounds of the program's columns, by position, that are tighter than its own.
    pub bounds: BTreeMap<usize, (f64, f64)>,
    /// Addition to the constant of the objective.
    pub offset: f64,
    /// Conditional rows that a search has to branch on.
    pub open: Vec<OpenRow>,
    /// Products of the objective that stay, by position.
    pub products: Vec<(usize, usize, f64)>,
}

/// Bounds of a column in the linear model.
///
/// # Errors
/// As the program.
pub(super) fn model_bounds(program: &Program, col: Col) -> Result<(f64, f64), ProgramError> {
    /// Bounds of integer columns from here on are infinite: `sys.maxsize` is not meant.
    const WIDE: f64 = 1e18;
    let (mut lower, mut upper) = program.col_bounds(col)?;
    let kind = program.kind(col)?;
    if kind == Kind::Binary {
        (lower, upper) = (lower.max(0.0), upper.min(1.0));
    }
    if kind.is_integer() {
        lower = if lower <= -WIDE {
            f64::NEG_INFINITY
        } else {
            lower
        };
        upper = if upper >= WIDE { f64::INFINITY } else { upper };
    }
    if kind.is_semi() {
        (lower, upper) = (lower.min(0.0), upper.max(0.0));
    }
    Ok((lower, upper))
}

/// The columns and rows of a program's special parts; empty without such parts.
///
/// # Errors
/// [`ProgramError::Unbounded`], [`ProgramError::NotBinary`], [`ProgramError::Product`].
pub(super) fn lower(program: &Program) -> Result<Lowered, ProgramError> {
    lower_as(program, Wanted::All)
}

/// As [`lower`], with a convex quadratic part of the objective in its own form.
///
/// # Errors
/// As [`lower`], and [`ProgramError::NotConvex`].
pub(super) fn lower_curved(program: &Program) -> Result<Lowered, ProgramError> {
    lower_as(program, Wanted::Curved)
}

/// As [`lower_curved`], without parts that a file has in their own form: implications, ordered
/// sets, columns that may be 0.
///
/// # Errors
/// As [`lower`].
pub(super) fn beside_file(program: &Program) -> Result<Lowered, ProgramError> {
    lower_as(program, Wanted::BesideFile)
}

/// As [`lower`], without parts that have no exact linear form: the result holds for every point of
/// the program, and for others.
///
/// # Errors
/// As the program.
pub(super) fn relax(program: &Program) -> Result<Lowered, ProgramError> {
    lower_as(program, Wanted::Relaxed)
}

/// The part of a program that becomes rows and columns.
#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    /// All, in linear form.
    All,
    /// All except products of a convex objective.
    Curved,
    /// Parts with an exact linear form.
    Relaxed,
    /// Parts that a file does not have in their own form.
    BesideFile,
}

fn lower_as(program: &Program, wanted: Wanted) -> Result<Lowered, ProgramError> {
    // Every row that was added before an error holds by itself.
    let forgive = |result: Result<(), ProgramError>| match result {
        Err(error) if wanted == Wanted::Relaxed && error.is_of_form() => Ok(()),
        other => other,
    };
    if !program.has_specials() {
        return Ok(Lowered::default());
    }
    let mut lowering = Lowering::new(program)?;
    lowering.tighten()?;
    match wanted {
        Wanted::BesideFile => lowering.bounds_of_semis()?,
        _ => (0..lowering.own.len()).try_for_each(|k| forgive(lowering.semi(k)))?,
    }
    for (_, special) in program.specials() {
        let in_file = matches!(special, Special::Indicator { .. } | Special::Sos { .. });
        if !in_file || wanted != Wanted::BesideFile {
            forgive(lowering.special(special))?;
        }
    }
    let kept = match wanted {
        Wanted::All => Ok(vec![false; program.products().len()]),
        // The objective is no part of the question.
        Wanted::Relaxed => Ok(vec![true; program.products().len()]),
        Wanted::Curved | Wanted::BesideFile => lowering.kept_products(),
    };
    for (k, product) in program.products().iter().enumerate() {
        if kept.as_ref().is_ok_and(|kept| kept[k]) {
            let (a, b) = (lowering.at(product.first), lowering.at(product.second));
            lowering.lowered.products.push((a, b, product.factor));
            continue;
        }
        let value = match (lowering.product(product), &kept) {
            (Err(error), Err(curved)) if error.is_of_form() => {
                let column = lowering.name(curved.col.index());
                return Err(ProgramError::NotConvex {
                    problem: curved.at(&column),
                    missing: error.to_string(),
                });
            }
            (value, _) => value?,
        };
        lowering.lowered.offset += value.constant;
        lowering.lowered.costs.extend(value.merged());
    }
    for (&col, points) in program.pieces() {
        lowering.cost_by_pieces(col, points)?;
    }
    Ok(lowering.lowered)
}

struct Lowering<'a> {
    program: &'a Program,
    /// The program's columns in the order of the model.
    own: Vec<Col>,
    /// Position of each column, by handle.
    place: Vec<usize>,
    /// Bounds that every point keeps, by position.
    lower: Vec<f64>,
    upper: Vec<f64>,
    integer: Vec<bool>,
    lowered: Lowered,
    /// Linear forms of products of two positions.
    products: HashMap<(usize, usize), Affine>,
    /// Sums of integer columns that equal continuous ones, once a product needs one.
    values: Option<HashMap<usize, Affine>>,
    /// Bits of integer columns.
    bits: HashMap<usize, Vec<usize>>,
    /// Linear programs over the program's rows, once a bound needs one.
    linear: Option<LpBounds>,
}

impl<'a> Lowering<'a> {
    fn new(program: &'a Program) -> Result<Self, ProgramError> {
        let own: Vec<Col> = program.cols().collect();
        let mut made = Lowering {
            program,
            place: vec![usize::MAX; program.col_handles()],
            lower: Vec::with_capacity(own.len()),
            upper: Vec::with_capacity(own.len()),
            integer: Vec::with_capacity(own.len()),
            own,
            lowered: Lowered::default(),
            products: HashMap::new(),
            values: None,
            bits: HashMap::new(),
            linear: None,
        };
        for (k, &col) in made.own.iter().enumerate() {
            let (lower, upper) = model_bounds(program, col)?;
            made.place[col.index()] = k;
            made.lower.push(lower);
            made.upper.push(upper);
            made.integer.push(program.kind(col)?.is_integer());
        }
        Ok(made)
    }

    /// Position of a column.
    fn at(&self, col: Col) -> usize {
        self.place[col.index()]
    }

    fn column(&self, col: Col) -> Affine {
        Affine::column(self.at(col))
    }

    fn sum(&self, entries: &[(Col, f64)]) -> Affine {
        let terms = entries.iter().map(|&(col, v)| (self.at(col), v));
        Affine::of(terms, 0.0)
    }

    /// Name of a column, for errors.
    fn name(&self, position: usize) -> String {
        match self.own.get(position) {
            Some(&col) => match self.program.col_name(col) {
                Ok(Some(name)) => name.to_owned(),
                _ => format!("C{}", col.0),
            },
            None => "a derived column".into(),
        }
    }

    fn is_binary(&self, position: usize) -> bool {
        self.integer[position] && self.lower[position] >= 0.0 && self.upper[position] <= 1.0
    }

    /// The position of a column that has to be binary.
    fn binary(&self, col: Col, what: &'static str) -> Result<usize, ProgramError> {
        let position = self.at(col);
        match self.is_binary(position) {
            true => Ok(position),
            false => Err(ProgramError::NotBinary {
                what,
                column: self.name(position),
            }),
        }
    }

    /// Adds a column.
    fn add(&mut self, bounds: (f64, f64), integer: bool, definition: Definition) -> usize {
        self.lower.push(bounds.0);
        self.upper.push(bounds.1);
        self.integer.push(integer);
        self.lowered.cols.push(NewCol {
            lower: bounds.0,
            upper: bounds.1,
            integer,
            definition,
        });
        self.lower.len() - 1
    }

    /// Adds a binary column that is 1 if a condition holds.
    fn choice(&mut self, holds: impl Fn(&[f64]) -> bool + Send + Sync + 'static) -> usize {
        let definition: Definition = Arc::new(move |x| f64::from(u8::from(holds(x))));
        self.add((0.0, 1.0), true, definition)
    }

    /// Adds `lower <= sum <= upper`.
    fn row(&mut self, sum: &Affine, lower: f64, upper: f64) {
        self.lowered.rows.push(NewRow {
            entries: sum.merged(),
            lower: lower - sum.constant,
            upper: upper - sum.constant,
        });
    }

    /// Adds `left <= right`.
    fn at_most(&mut self, left: &Affine, right: &Affine) {
        self.row(&left.minus(right), f64::NEG_INFINITY, 0.0);
    }

    /// Adds `left <= right` for the case that a sum of binary columns is 0; if it is 1, the row is
    /// no restriction.
    ///
    /// # Errors
    /// Not [`ProgramError::Unbounded`]: if a bound is missing, the row stays open.
    fn at_most_unless(
        &mut self,
        what: &'static str,
        idle: &Affine,
        left: &Affine,
        right: &Affine,
    ) -> Result<(), ProgramError> {
        let difference = left.minus(right);
        match self.most(what, &difference) {
            Ok(over) if over > 0.0 => self.at_most(&difference, &idle.times(over)),
            Ok(_) => {}
            Err(missing @ ProgramError::Unbounded { .. }) => {
                self.open(idle.clone(), &difference, missing);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Leaves `sum <= 0` for `idle == 0` to a search.
    fn open(&mut self, idle: Affine, sum: &Affine, missing: ProgramError) {
        self.lowered.open.push(OpenRow {
            idle,
            row: NewRow {
                entries: sum.merged(),
                lower: f64::NEG_INFINITY,
                upper: -sum.constant,
            },
            missing,
        });
    }

    /// Adds `left == right`.
    fn equal(&mut self, left: &Affine, right: &Affine) {
        self.row(&left.minus(right), 0.0, 0.0);
    }

    /// Tighter bounds of columns that may be 0 become rows: in a file their bounds hold only if
    /// they are not 0.
    fn bounds_of_semis(&mut self) -> Result<(), ProgramError> {
        for (j, (lower, upper)) in std::mem::take(&mut self.lowered.bounds) {
            match self.program.kind(self.own[j])?.is_semi() {
                true => self.row(&Affine::column(j), lower, upper),
                false => drop(self.lowered.bounds.insert(j, (lower, upper))),
            }
        }
        Ok(())
    }

    fn special(&mut self, special: &Special) -> Result<(), ProgramError> {
        match special {
            Special::Indicator {
                col,
                value,
                entries,
                lower,
                upper,
            } => self.indicator(*col, *value, entries, (*lower, *upper)),
            Special::Maximum {
                result,
                of,
                constant,
            } => self.extremum(*result, of, *constant, 1.0),
            Special::Minimum {
                result,
                of,
                constant,
            } => self.extremum(*result, of, *constant, -1.0),
            Special::Abs { result, of } => {
                let (result, of) = (self.column(*result), self.column(*of));
                self.absolute(&result, &of)
            }
            Special::And { result, of } => self.and(*result, of),
            Special::Or { result, of } => self.or(*result, of),
            Special::Norm { result, of, norm } => self.norm(*result, of, *norm),
            Special::Pieces { x, y, points } => self.pieces(self.at(*x), self.at(*y), points),
            Special::Sos { kind, members } => self.sos(*kind, members),
            Special::ProductRow {
                entries,
                products,
                lower,
                upper,
            } => {
                let mut sum = self.sum(entries);
                for product in products {
                    sum = sum.plus(&self.product(product)?);
                }
                self.row(&sum, *lower, *upper);
                Ok(())
            }
        }
    }
}
