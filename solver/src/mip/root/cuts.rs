//! Rounds of separation at the root.

use crate::mip::cuts::{self, Context, CutPool, SeparationEffort};
use crate::mip::relaxation::{ExtraRow, Relaxed};
use crate::mip::statistics::Component;
use crate::mip::worker::{RoundShared, Worker};
use remat_lp::{ModelError, Solution, VarStatus};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// End of the rounds.
pub(super) enum CutEnd {
    Open,
    Closed,
}

/// Runs rounds of separation until they gain too little. Leaves the binding rows in `shared.rows`.
pub(super) fn cut_loop(
    shared: &mut RoundShared,
    worker: &mut Worker,
    solution: &mut Solution,
    lp_bound: &mut f64,
) -> Result<CutEnd, ModelError> {
    shared.tables = Arc::new(OnceLock::new());
    let mut pool = CutPool::default();
    let first = solution.objective;
    let budget = worker.relax.iterations() + 30 * shared.root_iterations + 20_000;
    // Rounds with little gain are expensive if the relaxation is large.
    let patience = match shared.problem.rows.index.len() {
        0..20_000 => 6,
        20_000..200_000 => 4,
        _ => 2,
    };
    let mut stalled = 0;
    let effort = match shared.settings.nesting {
        0 => SeparationEffort::Root,
        _ => SeparationEffort::Brief,
    };
    let mut ages: Vec<(u64, u32)> = Vec::new();
    for round in 0..shared.settings.cut_rounds {
        if worker.is_spent(shared) || worker.relax.iterations() > budget {
            break;
        }
        worker.heuristic(shared, "rounding", |w| {
            w.simple_rounding(shared, &solution.x)
        })?;
        if worker.fractional(shared, &solution.x).is_empty() {
            break;
        }
        let begun = Instant::now();
        let rows = separated(shared, worker, solution, &mut pool, effort);
        if rows.is_empty() {
            break;
        }
        let count = rows.len();
        ages.extend(rows.iter().map(|r| (r.tag, 0)));
        worker.relax.add_rows(&rows)?;
        let before = solution.objective;
        match resolved(worker, &rows, solution, lp_bound)? {
            Resolved::Solved => {}
            Resolved::Closed => return Ok(CutEnd::Closed),
            Resolved::Trouble => break,
        }
        if shared.emits_events {
            tracing::debug!(
                name: "cuts",
                target: "remat_solver::mip",
                round,
                new = rows.len(),
                kept = ages.len(),
                objective = shared.problem.in_model_units(solution.objective),
                "round of cuts"
            );
        }
        // Removes rows that have been slack for some rounds.
        let base = shared.problem.num_rows();
        for (k, age) in ages.iter_mut().enumerate() {
            let basic = solution.basis.rows.get(base + k) == Some(&VarStatus::Basic);
            age.1 = if basic { age.1 + 1 } else { 0 };
        }
        let old: Vec<bool> = ages.iter().map(|a| a.1 >= 2).collect();
        drop_rows(worker, solution, base, &mut ages, &old)?;
        let gain = solution.objective - before;
        if let Some(statistics) = &shared.statistics {
            statistics.call(Component::Separator, "rounds at the root", begun, |tally| {
                tally.found += count as u64;
                tally.successes += u64::from(gain > 0.0);
                tally.bound_change += shared.problem.in_model_units(gain);
            });
        }
        let total = solution.objective - first;
        if gain > 0.01 * total && gain > 3e-5 * solution.objective.abs().max(1e-2) {
            stalled = 0;
        } else {
            stalled += 1;
            if stalled >= patience {
                break;
            }
        }
    }
    let base = shared.problem.num_rows();
    let slack: Vec<bool> = (0..ages.len())
        .map(|k| solution.basis.rows.get(base + k) == Some(&VarStatus::Basic))
        .collect();
    drop_rows(worker, solution, base, &mut ages, &slack)?;
    shared.rows = worker.relax.extra().to_vec();
    Ok(CutEnd::Open)
}

/// Finds rows in a round of separation.
fn separated(
    shared: &RoundShared,
    worker: &mut Worker,
    solution: &Solution,
    pool: &mut CutPool,
    effort: SeparationEffort,
) -> Vec<Arc<ExtraRow>> {
    let nonzeros = worker.relax.model().num_nonzeros();
    let sources = cuts::gomory::sources(&shared.problem, solution, nonzeros);
    let tableau = worker.relax.tableau(&sources);
    let context = Context::new(
        &shared.problem,
        worker.relax.model(),
        solution,
        (&shared.lower, &shared.upper),
        shared.tables(),
        tableau,
        effort,
    );
    let cuts = cuts::separate(&context, pool, shared.statistics.as_deref());
    worker.domain.ticks += context.spent.get();
    if let Some(d) = &shared.debug {
        for c in &cuts {
            d.check_cut(&c.entries, c.rhs, "cut");
        }
    }
    let rows = cuts.into_iter().map(|c| {
        Arc::new(ExtraRow {
            tag: worker.fresh_id(),
            entries: c.entries,
            lower: f64::NEG_INFINITY,
            upper: c.rhs,
        })
    });
    rows.collect()
}

/// End of a relaxation with new rows.
enum Resolved {
    Solved,
    Closed,
    /// The new rows caused numerical trouble, and have been removed.
    Trouble,
}

/// Solves the relaxation with new rows.
fn resolved(
    worker: &mut Worker,
    rows: &[Arc<ExtraRow>],
    solution: &mut Solution,
    lp_bound: &mut f64,
) -> Result<Resolved, ModelError> {
    let mut take = |s: Solution, b: f64| {
        *solution = s;
        *lp_bound = lp_bound.max(b);
    };
    match worker.relax.solve(worker.cutoff, &worker.domain)? {
        Relaxed::Solved(s, b) => {
            take(s, b);
            Ok(Resolved::Solved)
        }
        Relaxed::Infeasible | Relaxed::Cutoff => Ok(Resolved::Closed),
        Relaxed::Unbounded | Relaxed::Failed => {
            let tags: Vec<u64> = rows.iter().map(|r| r.tag).collect();
            worker.relax.retain_rows(|_, r| !tags.contains(&r.tag))?;
            if let Relaxed::Solved(s, b) = worker.relax.solve(worker.cutoff, &worker.domain)? {
                take(s, b);
            }
            Ok(Resolved::Trouble)
        }
    }
}

/// Deletes extra rows, all of them basic, and their entries in the solution.
fn drop_rows(
    worker: &mut Worker,
    solution: &mut Solution,
    base: usize,
    ages: &mut Vec<(u64, u32)>,
    gone: &[bool],
) -> Result<(), ModelError> {
    if !gone.contains(&true) {
        return Ok(());
    }
    worker.relax.retain_rows(|k, _| !gone[k])?;
    let keep = |k: usize| k < base || !gone[k - base];
    let mut k = 0;
    ages.retain(|_| {
        k += 1;
        !gone[k - 1]
    });
    let mut k = 0;
    solution.basis.rows.retain(|_| {
        k += 1;
        keep(k - 1)
    });
    let mut k = 0;
    solution.row_activity.retain(|_| {
        k += 1;
        keep(k - 1)
    });
    let mut k = 0;
    solution.y.retain(|_| {
        k += 1;
        keep(k - 1)
    });
    Ok(())
}
