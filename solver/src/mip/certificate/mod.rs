//! Proofs that others can check: VIPR 1.1 (Cheung, Gleixner & Steffy 2017, *Verifying integer
//! programming results*).
//!
//! The search that finds a result may do what it likes; what is written here is a second tree: no
//! presolve, cuts at the root that are proven one by one, depth first, with the optimum known. Each
//! of its leaves is a combination of rows, bounds and assumptions with rational multipliers, taken
//! from the duals of the floating-point relaxation and corrected by the bounds so that it holds
//! exactly. Numbers of the model are taken as the decimals that they print as.

mod aggregation;
mod bounds;
mod choice;
mod cuts;
mod equations;
mod probing;
mod proof;
mod solution;
mod tree;

use crate::mip::exact::{Rational, decimal};
use crate::mip::outcome::{SolveError, SolveResult, SolveStatus};
use crate::mip::state_file::fail;
use remat_lp::{ColId, Model, RowId, encode, whole_file};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use proof::Derivation;

/// Direction of a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConstraintSense {
    AtLeast,
    AtMost,
    Equal,
}

impl ConstraintSense {
    fn letter(self) -> char {
        match self {
            ConstraintSense::AtLeast => 'G',
            ConstraintSense::AtMost => 'L',
            ConstraintSense::Equal => 'E',
        }
    }
}

/// Positions of a row's or column's sides among the constraints.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SidePositions {
    pub lower: Option<usize>,
    pub upper: Option<usize>,
}

/// The model in exact numbers, minimised.
pub(crate) struct ExactModel {
    /// Costs in minimised form.
    pub cost: Vec<Rational>,
    pub integer: Vec<bool>,
    pub rows: Vec<Vec<(usize, Rational)>>,
    pub row_sides: Vec<(Option<Rational>, Option<Rational>)>,
    pub col_sides: Vec<(Option<Rational>, Option<Rational>)>,
    /// `true` if the model given is maximised.
    pub maximise: bool,
}

/// Bounds at or beyond this are none, as in MPS files.
const INFINITE: f64 = 1e20;

fn side(v: f64) -> Option<Rational> {
    if v.abs() >= INFINITE {
        None
    } else {
        decimal(v)
    }
}

impl ExactModel {
    fn new(model: &Model) -> Option<ExactModel> {
        let maximise = model.sense().sign() < 0.0;
        let n = model.num_cols();
        let mut cost = Vec::with_capacity(n);
        for &c in model.costs() {
            let c = decimal(c)?;
            cost.push(if maximise { -c } else { c });
        }
        let mut rows = Vec::with_capacity(model.num_rows());
        for i in 0..model.num_rows() {
            let mut row = Vec::new();
            for (j, a) in model.row(RowId(i as u32)) {
                row.push((j.index(), decimal(a)?));
            }
            rows.push(row);
        }
        let pairs = |l: &[f64], u: &[f64]| -> Vec<_> {
            l.iter().zip(u).map(|(&l, &u)| (side(l), side(u))).collect()
        };
        Some(ExactModel {
            cost,
            integer: (0..n).map(|j| model.is_integer(ColId(j as u32))).collect(),
            rows,
            row_sides: pairs(model.row_lower(), model.row_upper()),
            col_sides: pairs(model.col_lower(), model.col_upper()),
            maximise,
        })
    }

    /// Costs as the model given has them.
    fn given_cost(&self, j: usize) -> Rational {
        if self.maximise {
            -self.cost[j].clone()
        } else {
            self.cost[j].clone()
        }
    }
}

/// Names without white space, all different.
fn names(model: &Model) -> Vec<String> {
    let plain: Vec<String> = (0..model.num_cols())
        .map(|j| model.col_name(ColId(j as u32)))
        .collect();
    let mut sorted: Vec<&String> = plain.iter().collect();
    sorted.sort();
    let twice = sorted.windows(2).any(|w| w[0] == w[1]);
    let odd = |s: &String| s.is_empty() || s.chars().any(char::is_whitespace);
    if twice || plain.iter().any(odd) {
        (0..plain.len()).map(|j| format!("x{j}")).collect()
    } else {
        plain
    }
}

fn entries<'a>(e: impl Iterator<Item = (usize, &'a Rational)>) -> String {
    let mut out = String::new();
    let mut count = 0;
    for (j, v) in e {
        // Writing to a string cannot fail.
        let _ = write!(out, " {j} {v}");
        count += 1;
    }
    format!("{count}{out}")
}

/// Writes the proof of a finished search. `stop` ends the work with an error.
///
/// # Errors
/// A search that did not end, a proof that needs more than the duals give, or a file that cannot be
/// written.
pub(crate) fn write(
    path: &Path,
    model: &Model,
    result: &SolveResult,
    gaps: (f64, f64),
    stop: Arc<AtomicBool>,
) -> Result<(), SolveError> {
    let solution = match (result.status, &result.solution) {
        (SolveStatus::Infeasible, None) => None,
        (SolveStatus::Optimal, Some(s)) => Some(s),
        _ => return Err(fail(path, "the search has no complete result to prove")),
    };
    let exact = ExactModel::new(model).ok_or_else(|| fail(path, "numbers that are not finite"))?;
    let point = match solution {
        Some(s) => Some(
            solution::exact_point(model, &exact, &s.x)
                .ok_or_else(|| fail(path, "the solution is feasible within tolerances only"))?,
        ),
        None => None,
    };
    let goal = point.as_ref().map(|x| {
        let value = exact.cost.iter().zip(x).map(|(c, x)| c * x).sum();
        tree::Goal::new(&exact, value, gaps)
    });
    let mut proof = Derivation::new(&exact);
    let constraints = proof.constraints();
    let at_once = goal.is_none() && equations::contradiction(&exact, &mut proof).is_some();
    if !at_once {
        let end = tree::prove(model, &exact, goal.as_ref(), &mut proof, stop);
        end.map_err(|problem| fail(path, format!("no proof: {problem}")))?;
    }

    let mut out = format!(
        "% {}: written by remat-bb; constant {} is not part of the objective\nVER 1.1\nVAR {}\n",
        if model.name().is_empty() {
            "model"
        } else {
            model.name()
        },
        model.offset(),
        model.num_cols()
    );
    let names = names(model);
    out += &names.join("\n");
    let integers: Vec<String> = (exact.integer.iter().enumerate())
        .filter(|(_, i)| **i)
        .map(|(j, _)| j.to_string())
        .collect();
    let given: Vec<Rational> = (0..names.len()).map(|j| exact.given_cost(j)).collect();
    let costs = given
        .iter()
        .enumerate()
        .filter(|(_, c)| **c != Rational::default());
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "\nINT {}\n{}\nOBJ {}\n{}",
        integers.len(),
        integers.join(" "),
        if exact.maximise { "max" } else { "min" },
        entries(costs)
    );
    let _ = writeln!(out, "CON {} {}", constraints, proof.bounds);
    for line in &proof.lines[..constraints] {
        let _ = writeln!(out, "{}", line.text);
    }
    let _ = match (&goal, &point) {
        (Some(goal), Some(x)) => {
            let (low, high) = if exact.maximise {
                (-goal.value.clone(), -goal.bound.clone())
            } else {
                (goal.bound.clone(), goal.value.clone())
            };
            let nonzero = x
                .iter()
                .enumerate()
                .filter(|(_, v)| **v != Rational::default());
            writeln!(
                out,
                "RTP range {low} {high}\nSOL 1\nbest {}",
                entries(nonzero)
            )
        }
        _ => writeln!(out, "RTP infeas\nSOL 0"),
    };
    let _ = writeln!(out, "DER {}", proof.lines.len() - constraints);
    for line in &proof.lines[constraints..] {
        let _ = writeln!(out, "{}", line.text);
    }
    let packed = encode(path, &out).map_err(|e| fail(path, e))?;
    whole_file::write(path, &[&packed]).map_err(|e| fail(path, e))
}
