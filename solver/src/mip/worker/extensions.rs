//! Separators and heuristics of extensions at a node.

use super::{RoundShared, Worker};
use crate::mip::extend::{CutRow, CutSink, SolutionSink};
use crate::mip::relaxation::ExtraRow;
use crate::mip::statistics::Component;
use remat_lp::{ModelError, Solution};
use std::sync::Arc;
use std::time::Instant;

impl Worker {
    /// Runs the separators of extensions. Returns whether rows were added.
    pub(super) fn separate_by_extensions(
        &mut self,
        shared: &RoundShared,
        s: &Solution,
        bound: f64,
        depth: u32,
        integral: bool,
    ) -> Result<bool, ModelError> {
        let mut sink = CutSink::default();
        let begun = Instant::now();
        for sep in &shared.extensions.separators {
            if !integral || sep.is_lazy() {
                self.with_view(shared, s, bound, depth, |view| {
                    sep.separate(view, &mut sink)
                });
            }
        }
        if shared.extensions.separators.is_empty() {
            return Ok(false);
        }
        let found = sink.rows.len() as u64;
        let before = self.report.rows.len();
        let any = self.take_rows(sink, &s.x)?;
        if let Some(statistics) = &shared.statistics {
            let kept = (self.report.rows.len() - before) as u64;
            statistics.call(Component::Separator, "extensions", begun, |tally| {
                tally.found += found;
                tally.kept += kept;
                tally.successes += u64::from(any);
            });
        }
        Ok(any)
    }

    /// Adds the violated rows of a sink to the relaxation and to the report.
    fn take_rows(&mut self, sink: CutSink, x: &[f64]) -> Result<bool, ModelError> {
        let mut rows = Vec::new();
        for r in sink.rows {
            if violation(&r, x) > 1e-6 {
                rows.push(Arc::new(ExtraRow {
                    tag: self.fresh_id(),
                    entries: r.entries.iter().map(|(j, v)| (j.0, *v)).collect(),
                    lower: r.bounds.lower,
                    upper: r.bounds.upper,
                }));
            }
        }
        self.relax.add_rows(&rows)?;
        let any = !rows.is_empty();
        self.report.rows.extend(rows);
        Ok(any)
    }

    /// Runs the heuristics of extensions.
    pub(super) fn extension_heuristics(
        &mut self,
        shared: &RoundShared,
        s: &Solution,
        bound: f64,
        depth: u32,
    ) -> Result<(), ModelError> {
        for h in &shared.extensions.heuristics {
            self.heuristic(shared, h.name(), |worker| {
                let mut sink = SolutionSink::default();
                let budget = 10 * (worker.ticks() / 100 + 10_000);
                let ticks = worker.with_view(shared, s, bound, depth, |view| {
                    h.run(view, budget, &mut sink)
                });
                worker.domain.ticks += ticks;
                for x in sink.points {
                    if x.len() == shared.problem.num_cols() {
                        worker.offer(shared, &x, h.name())?;
                    }
                }
                for x in sink.restored {
                    if x.len() == shared.original.num_cols() {
                        worker.offer_restored(shared, x, h.name())?;
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// Distance of a point outside a row, divided by the norm of the row.
pub(super) fn violation(r: &CutRow, x: &[f64]) -> f64 {
    let (mut a, mut norm) = (0.0, 0.0);
    for (j, v) in &r.entries {
        a += v * x[j.index()];
        norm += v * v;
    }
    (r.bounds.lower - a).max(a - r.bounds.upper) / f64::sqrt(norm).max(1e-9)
}
