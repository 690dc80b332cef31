//! The text of a certificate.

use super::entries;
use super::settling::Settled;
use crate::mip::exact::Rational;
use crate::mip::outcome::SolveError;
use remat_lp::{ColId, Model, encode, whole_file};
use std::fmt::Write as _;
use std::path::Path;

/// Distinct names without white space.
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

impl Settled {
    /// Writes the proof.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path, model: &Model) -> Result<(), SolveError> {
        let Settled {
            exact,
            point,
            goal,
            proof,
            constraints,
        } = self;
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
        let text = proof.text(*constraints);
        let _ = writeln!(out, "CON {} {}", text.constraints, proof.bounds);
        out += &text.given;
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
        let _ = writeln!(out, "DER {}", text.count);
        out += &text.derived;
        let packed = encode(path, &out).map_err(|e| SolveError::file(path, e))?;
        whole_file::write(path, &[&packed]).map_err(|e| SolveError::file(path, e))
    }
}
