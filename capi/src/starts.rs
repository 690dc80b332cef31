//! Whole starts out of partial ones.

use remat_formulations::program::{Program, ProgramSettings, solve_program};
use remat_formulations::solve::ModelSettings;
use std::sync::Arc;

/// Nodes of the search for the values that a start leaves open.
const NODES: u64 = 200;
/// Share of the time limit for one start.
const TIME_SHARE: f64 = 0.1;

/// The best point found that has the values of a start, by handle; `None` where none was found, or
/// none exists. A start with all values stays as it is.
pub fn completed(program: &Program, start: &[f64], settings: &ModelSettings) -> Option<Vec<f64>> {
    let mut fixed = program.clone();
    let mut gaps = false;
    for col in program.cols() {
        let given = start.get(col.index()).copied().unwrap_or(f64::NAN);
        if given.is_nan() {
            gaps = true;
            continue;
        }
        let whole = program.kind(col).ok()?.is_integer();
        let value = if whole { given.round() } else { given };
        let (lower, upper) = program.col_bounds(col).ok()?;
        if !(lower..=upper).contains(&value) {
            return None;
        }
        fixed.set_col_bounds(col, value, value).ok()?;
    }
    if !gaps {
        return Some(start.to_vec());
    }
    let mut how = ProgramSettings {
        model: settings.clone(),
        starts: Vec::new(),
    };
    how.model.recognise = false;
    let mip = &mut how.model.mip;
    mip.cutoff = None;
    mip.pool_size = 1;
    mip.limits.nodes = Some(mip.limits.nodes.unwrap_or(NODES).min(NODES));
    mip.limits.seconds = mip.limits.seconds.map(|seconds| TIME_SHARE * seconds);
    let answer = solve_program(&fixed, &how, Arc::new(())).ok()?;
    answer.points.into_iter().next().map(|point| point.x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_formulations::program::{Col, Kind};

    fn knapsack() -> (Program, Vec<Col>) {
        let mut program = Program::default();
        program.set_sense(remat_lp::Sense::Maximise);
        let worth = [10.0, 13.0, 7.0, 8.0];
        let add = |w| program.add_col(0.0, 1.0, w, Kind::Binary, None);
        let cols: Vec<Col> = worth
            .into_iter()
            .map(add)
            .collect::<Result<_, _>>()
            .unwrap();
        let entries: Vec<_> = cols.iter().copied().zip([3.0, 4.0, 2.0, 3.0]).collect();
        program
            .add_row(&entries, f64::NEG_INFINITY, 7.0, None)
            .unwrap();
        (program, cols)
    }

    #[test]
    fn what_a_start_leaves_open_is_found() {
        let (program, _) = knapsack();
        let settings = ModelSettings::default();
        let nan = f64::NAN;
        // Without the second item the first, and the third or the fourth.
        let x = completed(&program, &[nan, 0.0, nan], &settings).unwrap();
        let worth: f64 = x
            .iter()
            .zip([10.0, 13.0, 7.0, 8.0])
            .map(|(x, w)| x * w)
            .sum();
        assert_eq!((x[1], worth), (0.0, 18.0));
        let whole = [1.0, 1.0, 0.0, 0.0];
        assert_eq!(completed(&program, &whole, &settings), Some(whole.to_vec()));
    }

    #[test]
    fn starts_that_fit_no_point_come_to_nothing() {
        let (program, _) = knapsack();
        let settings = ModelSettings::default();
        let nan = f64::NAN;
        assert_eq!(completed(&program, &[2.0, nan, nan, nan], &settings), None);
        assert_eq!(completed(&program, &[1.0, 1.0, 1.0, nan], &settings), None);
    }
}
