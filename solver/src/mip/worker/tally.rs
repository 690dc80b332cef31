//! Work of a worker's components, counted if statistics are on.

use super::{RoundShared, Worker};
use crate::mip::statistics::{Component, ComponentTally};
use remat_lp::ModelError;
use std::time::Instant;

impl Worker {
    /// Runs a component and counts its work; `more` adds its results.
    pub(crate) fn counted<T>(
        &mut self,
        shared: &RoundShared,
        (component, name): (Component, &'static str),
        work: impl FnOnce(&mut Worker) -> Result<T, ModelError>,
        more: impl FnOnce(&T, &mut ComponentTally),
    ) -> Result<T, ModelError> {
        let Some(statistics) = shared.statistics.clone() else {
            return work(self);
        };
        let (begun, ticks, iterations) = (Instant::now(), self.ticks(), self.relax.iterations());
        let done = work(self)?;
        statistics.call(component, name, begun, |tally| {
            tally.ticks += self.ticks() - ticks;
            tally.lp_iterations += self.relax.iterations() - iterations;
            more(&done, tally);
        });
        Ok(done)
    }

    /// Runs a heuristic; an improved incumbent counts as its success.
    pub(crate) fn heuristic<T>(
        &mut self,
        shared: &RoundShared,
        name: &'static str,
        work: impl FnOnce(&mut Worker) -> Result<T, ModelError>,
    ) -> Result<T, ModelError> {
        let best = |worker: &Worker| worker.best.as_ref().map(|b| b.objective);
        let part = (Component::Heuristic, name);
        let counted = self.counted(
            shared,
            part,
            |worker| {
                let before = best(worker);
                let done = work(worker)?;
                Ok((done, best(worker) != before))
            },
            |(_, is_better), tally| tally.successes += u64::from(*is_better),
        );
        counted.map(|(done, _)| done)
    }
}
