//! Confirmation of claims about models whose numbers lie so far apart, or are so large, that the
//! tolerances of presolve and propagation amount to whole units. The claim is confirmed in rational
//! numbers, or by a second search without presolve.

use crate::mip::certificate::{OUT_OF_WORK, Settling};
use crate::mip::clock::Stop;
use crate::mip::control::Control;
use crate::mip::outcome::{SolveError, SolveResult, SolveStatus};
use crate::mip::problem::INFINITE;
use crate::mip::settings::{Confirmation, Settings};
use crate::mip::solver::Solver;
use remat_lp::{Model, RowId};
use std::time::Instant;

/// Returns whether a model has numbers that doubles with tolerances may fail to distinguish.
fn is_wide(model: &Model, limits: &Confirmation) -> bool {
    let sizes = |v: &[f64]| -> Vec<f64> {
        let size = |v: &f64| if v.abs() < INFINITE { v.abs() } else { 0.0 };
        v.iter().map(size).collect()
    };
    let of_columns = sizes(model.col_lower()).into_iter();
    if of_columns
        .chain(sizes(model.col_upper()))
        .any(|v| v >= limits.side_size)
    {
        return true;
    }
    let (lower, upper) = (sizes(model.row_lower()), sizes(model.row_upper()));
    (0..model.num_rows()).any(|i| {
        let side = lower[i].max(upper[i]);
        let coefficients = model.row(RowId(i as u32)).map(|(_, a)| a.abs());
        let used = coefficients.filter(|a| *a > 0.0);
        let ends = used.fold((f64::INFINITY, side), |(s, l), a| (s.min(a), l.max(a)));
        side >= limits.side_size || ends.1 / ends.0 >= limits.row_ratio
    })
}

impl Solver {
    /// Confirms a claim about a wide model. A lost point is restored, and a claim refuted in
    /// rational numbers is withdrawn.
    pub(crate) fn confirm(&self, result: &mut SolveResult, stop: &Stop) -> Result<(), SolveError> {
        let claims = matches!(
            result.status,
            SolveStatus::Infeasible | SolveStatus::Optimal
        );
        let lazy = self.extensions.separators.iter().any(|s| s.is_lazy());
        let own = !lazy && self.extensions.propagators.is_empty() && self.settings.cutoff.is_none();
        let is_asked = self.settings.nesting == 0 && !self.settings.exact;
        let limits = &self.settings.confirmation;
        if !claims || !own || !is_asked || !is_wide(&self.model, limits) {
            return Ok(());
        }
        let model = &*self.model;
        let entries: usize = (0..model.num_rows())
            .map(|i| model.row(RowId(i as u32)).count())
            .sum();
        let is_small = entries <= limits.entries && model.num_cols() <= limits.columns;
        let settled = match is_small {
            true => Settling::within(model, result, &self.settings, stop.flag()).run(),
            false => Err(OUT_OF_WORK.into()),
        };
        let is_infeasible = result.status == SolveStatus::Infeasible;
        match settled {
            Ok(settled) => {
                settled.correct(result, model);
                Ok(())
            }
            Err(_) if !is_infeasible => Ok(()),
            Err(_) if stop.status().is_some() => {
                result.status = stop.status().unwrap_or(SolveStatus::Unresolved);
                result.dual_bound = -self.model.sense().sign() * f64::INFINITY;
                Ok(())
            }
            Err(problem) => self.search_plainly(result, problem != OUT_OF_WORK, stop),
        }
    }

    /// Searches without presolve and propagation for a point of a program claimed to be infeasible.
    /// `refuted`: the claim has failed in rational numbers.
    fn search_plainly(
        &self,
        result: &mut SolveResult,
        refuted: bool,
        stop: &Stop,
    ) -> Result<(), SolveError> {
        let plain = Solver {
            model: self.model.clone(),
            settings: Settings {
                presolve: false,
                propagation: false,
                probing: false,
                conflicts: false,
                ..self.settings.clone()
            },
            extensions: self.extensions.clone(),
            control: Control::default(),
            emits_events: false,
        };
        let again = plain.searched(stop, Instant::now())?;
        match again.status {
            SolveStatus::Infeasible if !refuted => {}
            SolveStatus::Infeasible => result.status = SolveStatus::Unresolved,
            _ => {
                result.status = again.status;
                result.solution = again.solution;
                result.pool = again.pool;
                result.dual_bound = again.dual_bound;
            }
        }
        if result.status == SolveStatus::Unresolved && result.solution.is_none() {
            result.dual_bound = -self.model.sense().sign() * f64::INFINITY;
        }
        Ok(())
    }
}
