//! Solutions judged by the model. Files of any solver are read back, and the solver's claims about
//! them are not trusted.

use remat_lp::solution_file::SolutionFile;
use remat_lp::{Bounds, ColId, Model, ModelBuilder, RowId};
use remat_models::{LinearSettings, solve_linear};
use remat_solver::mip::check_point;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Absolute tolerance of rows and bounds, the default of all solvers.
const FEASIBILITY: f64 = 1e-6;
/// Largest distance of an integer column's value from the whole number to which it is rounded.
const INTEGRALITY: f64 = 1e-5;
/// Time limit in seconds for recomputing the continuous columns.
const LINEAR_SECONDS: u64 = 60;

/// Verdict on a solution. An objective is the model's objective at the point.
#[derive(Clone, Debug, PartialEq)]
pub enum Checked {
    /// Feasible, with integer columns rounded to the nearest whole number.
    Feasible(f64),
    /// The integers are feasible with other values of the continuous columns, found by a linear
    /// program. Either the file has too few digits, or the rows hold within the solver's tolerances
    /// alone.
    Recomputed(f64),
    /// Infeasible, with the reason.
    Refused(String),
}

impl Checked {
    /// The objective of a feasible solution.
    pub fn objective(&self) -> Option<f64> {
        match self {
            Checked::Feasible(v) | Checked::Recomputed(v) => Some(*v),
            Checked::Refused(_) => None,
        }
    }

    /// The verdict in words.
    pub fn words(&self) -> String {
        match self {
            Checked::Feasible(_) => "feasible".into(),
            Checked::Recomputed(_) => "recomputed".into(),
            Checked::Refused(reason) => format!("refused: {reason}"),
        }
    }
}

/// A checked solution: the verdict, and the point if it is feasible.
pub type CheckedSolution = (Checked, Option<Vec<f64>>);

/// Judges the solution in a file.
pub fn check_file(model: &Model, path: &Path) -> CheckedSolution {
    let file = match SolutionFile::read(path) {
        Ok(file) => file,
        Err(e) => return (Checked::Refused(e.to_string()), None),
    };
    match file.point(model) {
        Ok(x) => check(model, &x),
        Err(e) => (Checked::Refused(e.to_string()), None),
    }
}

/// Judges a point.
pub fn check(model: &Model, point: &[f64]) -> CheckedSolution {
    let mut x = point.to_vec();
    let mut has_continuous = false;
    for (j, value) in x.iter_mut().enumerate() {
        let col = ColId(j as u32);
        if !model.is_integer(col) {
            has_continuous = true;
        } else if (*value - value.round()).abs() <= INTEGRALITY {
            *value = value.round();
        } else {
            let name = model.col_name(col);
            return (
                Checked::Refused(format!("{name} has the value {value}")),
                None,
            );
        }
    }
    let reason = match check_point(model, &x, FEASIBILITY) {
        Ok(objective) => return (Checked::Feasible(objective), Some(x)),
        Err(reason) => reason,
    };
    let again = match has_continuous {
        true => recomputed(model, &x),
        false => None,
    };
    match again.map(|x| (check_point(model, &x, FEASIBILITY), x)) {
        Some((Ok(objective), x)) => (Checked::Recomputed(objective), Some(x)),
        _ => (Checked::Refused(reason.to_string()), None),
    }
}

/// The best values of continuous columns for given integers.
fn recomputed(model: &Model, x: &[f64]) -> Option<Vec<f64>> {
    let mut b = ModelBuilder::new(model.sense());
    for (j, value) in x.iter().enumerate() {
        let col = ColId(j as u32);
        let bounds = match model.is_integer(col) {
            true => Bounds::from(*value..=*value),
            false => model.col_bounds(col),
        };
        b.add_col(model.costs()[j], bounds);
    }
    for i in 0..model.num_rows() {
        let row = RowId(i as u32);
        b.add_row(model.row_bounds(row), model.row(row));
    }
    let settings = LinearSettings {
        time_limit: Some(Duration::from_secs(LINEAR_SECONDS)),
        ..LinearSettings::default()
    };
    let solved = solve_linear(&Arc::new(b.build().ok()?), &settings, &()).ok()?;
    let mut again = solved.solved.outcome.optimal()?.x.clone();
    for (j, value) in again.iter_mut().enumerate() {
        if model.is_integer(ColId(j as u32)) {
            *value = x[j];
        }
    }
    Some(again)
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_lp::lp_format;

    /// A binary that opens up to 10 of a continuous column.
    fn model() -> Model {
        let text = "Minimize\n c: 5 b + x\nSubject To\n need: x >= 2\n open: x - 10 b <= 0\nBounds\n x <= 20\nBinary\n b\nEnd\n";
        lp_format::parse(text, "case").expect("a model")
    }

    #[test]
    fn solutions_are_believed_only_as_far_as_they_hold() {
        let model = model();
        assert_eq!(check(&model, &[1.0, 2.0]).0, Checked::Feasible(7.0));
        // Within the integrality tolerance of solvers, and with a row that misses by rounding.
        let (verdict, point) = check(&model, &[0.999_999_9, 1.99]);
        assert_eq!(
            (verdict, point),
            (Checked::Recomputed(7.0), Some(vec![1.0, 2.0]))
        );
        // A binary value next to 0 opens next to 0 of the continuous column.
        let (verdict, point) = check(&model, &[1e-6, 2.0]);
        assert!(
            matches!(&verdict, Checked::Refused(why) if why.starts_with("row ")),
            "{verdict:?}"
        );
        assert_eq!((point, verdict.objective()), (None, None));
        let (verdict, _) = check(&model, &[0.5, 2.0]);
        assert_eq!(verdict.words(), "refused: b has the value 0.5");
    }

    #[test]
    fn files_of_other_models_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.sol");
        std::fs::write(&path, "x 2\nb 1\n").expect("written");
        assert_eq!(check_file(&model(), &path).0, Checked::Feasible(7.0));
        std::fs::write(&path, "y 2\n").expect("written");
        let words = check_file(&model(), &path).0.words();
        assert_eq!(words, "refused: the model has no column `y`");
        let none = check_file(&model(), Path::new("nowhere.sol")).0.words();
        assert!(none.starts_with("refused: nowhere.sol"), "{none}");
    }
}
