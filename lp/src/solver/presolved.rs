//! Presolve, solve and postsolve in one call.

use super::accept::accepted;
use super::refine::refine;
use super::{Solver, Stats};
use crate::model::Model;
use crate::outcome::{LimitKind, LpOutcome};
use crate::presolve::{PresolveOutcome, PresolveSettings, Presolved};
use crate::settings::{Algorithm, Limits, Settings};
use crate::{barrier, certificate};
use std::sync::Arc;

/// The result of a solve with presolve.
#[derive(Clone, Debug, PartialEq)]
pub struct Solved {
    /// The outcome for the original.
    pub outcome: LpOutcome,
    /// Statistics of the solves of the reduced program and of the clean-up.
    pub stats: Stats,
    /// Numbers of rows, columns and nonzeros of the reduced program; `None` if presolve determined
    /// the outcome or was not used.
    pub reduced: Option<(usize, usize, usize)>,
    /// Pivots on the original after postsolve; usually 0.
    pub cleanup: u64,
}

/// Presolves, solves and postsolves. If a restored solution misses the tolerances, it is cleaned up
/// on the original from the restored basis. With [`Algorithm::Auto`], the barrier method is chosen
/// if it is expected to be faster. Without presolve, and always with an objective cutoff,
/// [`Solver::solve`] is called on the original.
///
/// An outcome that [`certificate::check`] rejects is not returned: other methods are tried, without
/// presolve. If all outcomes are rejected, the result is [`LimitKind::Numerical`]. Small programs
/// are solved in rational numbers if their numbers differ widely in size or their outcome is not
/// accurate.
///
/// ```
/// use remat_lp::{Limits, ModelBuilder, Sense, Settings};
/// let mut b = ModelBuilder::new(Sense::Maximise);
/// let x = b.add_col(1.0, 0.0..=9.0);
/// b.add_row(..=4.0, [(x, 2.0)]);
/// let model = std::sync::Arc::new(b.build()?);
/// let solved = remat_lp::solve(&model, &Settings::default(), &Limits::default(), Some(&Default::default()));
/// assert_eq!(solved.outcome.optimal().unwrap().objective, 2.0);
/// # Ok::<(), remat_lp::ModelError>(())
/// ```
pub fn solve(
    model: &Arc<Model>,
    settings: &Settings,
    limits: &Limits,
    presolve: Option<&PresolveSettings>,
) -> Solved {
    let choose = settings.algorithm == Algorithm::Auto;
    // With a looser tolerance, leftover reduced costs would require a clean-up of the restored
    // solution without perturbation, which may not terminate.
    let tight = Settings::default().dual_tolerance;
    let settings = &Settings {
        dual_tolerance: settings.dual_tolerance.min(tight),
        ..settings.clone()
    };
    let first = solve_with(model, settings, limits, presolve, choose);
    accepted(model, settings, limits, first)
}

/// Like [`solve`], without the acceptance check; `choose` allows the barrier method where it is
/// faster.
pub(crate) fn solve_with(
    model: &Arc<Model>,
    settings: &Settings,
    limits: &Limits,
    presolve: Option<&PresolveSettings>,
    choose: bool,
) -> Solved {
    if !settings.refine {
        return solve_once(model, settings, limits, presolve, choose);
    }
    // Only the residuals of the original matter.
    let plain = Settings {
        refine: false,
        ..settings.clone()
    };
    let mut solved = solve_once(model, &plain, limits, presolve, choose);
    if let LpOutcome::Optimal(s) = &mut solved.outcome {
        *s = refine(model, s, &plain);
    }
    solved
}

fn solve_once(
    model: &Arc<Model>,
    settings: &Settings,
    limits: &Limits,
    presolve: Option<&PresolveSettings>,
    choose: bool,
) -> Solved {
    let direct = |stats: Stats| {
        let chosen = chosen(model, settings, limits, choose);
        let mut solver = Solver::new(model.clone(), chosen);
        solver.set_limits(remaining(limits, &stats));
        let outcome = solver.solve();
        Solved {
            outcome,
            stats: stats.plus(&solver.stats()),
            reduced: None,
            cleanup: 0,
        }
    };
    let presolve = match presolve {
        Some(p) if limits.objective_cutoff.is_none() => p,
        _ => return direct(Stats::default()),
    };
    let presolved = match Presolved::new(model, presolve) {
        PresolveOutcome::Reduced(p) => p,
        PresolveOutcome::Infeasible(Some(ray)) => {
            let outcome = LpOutcome::Infeasible(ray);
            return Solved {
                outcome,
                stats: Stats::default(),
                reduced: None,
                cleanup: 0,
            };
        }
        PresolveOutcome::Infeasible(None) | PresolveOutcome::DualInfeasible => {
            return direct(Stats::default());
        }
    };
    let small = presolved.model();
    let reduced = Some((small.num_rows(), small.num_cols(), small.num_nonzeros()));
    let mut solver = Solver::new(small.clone(), chosen(small, settings, limits, choose));
    solver.set_limits(limits.clone());
    let outcome = solver.solve();
    let stats = solver.stats();
    drop(solver);
    match outcome {
        LpOutcome::Optimal(s) => {
            let restored = presolved.postsolve(&s);
            let basis = restored.basis.clone();
            let outcome = LpOutcome::Optimal(restored);
            let found = quality(model, &outcome, settings);
            if found == Quality::Exact {
                return Solved {
                    outcome,
                    stats,
                    reduced,
                    cleanup: 0,
                };
            }
            let mut solver = Solver::new(model.clone(), careful(settings));
            solver.set_limits(remaining(limits, &stats));
            // The basis fits the original's dimensions, so there is no error.
            let _ = solver.set_basis(&basis);
            let cleaned = solver.solve();
            let cleanup = solver.stats().iterations();
            let stats = stats.plus(&solver.stats());
            let accept = found == Quality::Poor || matches!(cleaned, LpOutcome::Optimal(_));
            let outcome = if accept { cleaned } else { outcome };
            Solved {
                outcome,
                stats,
                reduced,
                cleanup,
            }
        }
        LpOutcome::Infeasible(ray) => match presolved.postsolve_ray(&ray) {
            Some(ray) => Solved {
                outcome: LpOutcome::Infeasible(ray),
                stats,
                reduced,
                cleanup: 0,
            },
            None => direct(stats),
        },
        LpOutcome::Unbounded(_)
        | LpOutcome::CutoffReached { .. }
        | LpOutcome::Limit(LimitKind::Numerical) => direct(stats),
        LpOutcome::Limit(kind) => Solved {
            outcome: LpOutcome::Limit(kind),
            stats,
            reduced,
            cleanup: 0,
        },
    }
}

/// Settings with the method chosen for this program.
fn chosen(model: &Model, settings: &Settings, limits: &Limits, choose: bool) -> Settings {
    let mut out = settings.clone();
    // A basis of the dual simplex proves a bound before its end, a barrier point does not.
    if choose && limits.objective_cutoff.is_none() && barrier::pays(model) {
        out.algorithm = Algorithm::Barrier;
    }
    out
}

/// Quality of a restored solution.
#[derive(Clone, Copy, PartialEq)]
enum Quality {
    /// Dual violation and gap are within a hundredth of the tolerance: no clean-up is needed.
    Exact,
    /// Within tolerances. A reduced cost near its tolerance can change the objective by 1e-8
    /// (Netlib's pilot).
    Fair,
    /// Outside tolerances.
    Poor,
}

fn quality(model: &Model, outcome: &LpOutcome, settings: &Settings) -> Quality {
    let tol = settings.primal_tolerance.min(settings.dual_tolerance);
    match certificate::check(model, outcome, tol) {
        Ok(report) if report.dual_violation <= 1e-2 * tol && report.gap <= 1e-2 * tol => {
            Quality::Exact
        }
        Ok(_) => Quality::Fair,
        Err(_) => Quality::Poor,
    }
}

/// Settings for the last few pivots: tolerances are in the model's own units, and no perturbation
/// moves an optimal basis.
fn careful(settings: &Settings) -> Settings {
    Settings {
        scaling: false,
        perturbation: false,
        algorithm: match settings.algorithm {
            // The present basis is nearly optimal.
            Algorithm::Barrier => Algorithm::Auto,
            other => other,
        },
        dual_tolerance: 1e-2 * settings.dual_tolerance,
        ..settings.clone()
    }
}

pub(super) fn remaining(limits: &Limits, used: &Stats) -> Limits {
    Limits {
        iterations: limits
            .iterations
            .map(|l| l.saturating_sub(used.iterations())),
        ticks: limits.ticks.map(|l| l.saturating_sub(used.ticks)),
        ..limits.clone()
    }
}
