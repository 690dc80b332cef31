//! When restricted programs are searched for better solutions.

use super::Search;
use crate::outcome::SolveError;
use crate::worker::Report;

impl Search {
    pub(super) fn sub_mip_is_due(&self) -> bool {
        let s = &self.shared.settings;
        s.heuristics
            && s.sub_mips
            && self.info.nodes >= self.next_sub_mip
            && !self.queue.is_empty()
            && self.root.is_some()
            && !self.shared.stopped()
            && !self.shared.extensions.need_columns()
    }

    /// The next neighbourhood's number and what it may cost, if there is something left to spend.
    pub(super) fn next_neighbourhood(&mut self) -> Option<(u64, u64)> {
        self.next_sub_mip = self.info.nodes + 100 + self.info.nodes / 4;
        let turn = self.sub_mip_turn;
        self.sub_mip_turn += 1;
        let main = self.ticks() - self.side_ticks;
        (self.side_ticks <= main / 4).then_some((turn, main / 10))
    }

    pub(super) fn run_sub_mip(&mut self) -> Result<(), SolveError> {
        let Some(root) = self.root.clone() else {
            return Ok(());
        };
        let Some((turn, ticks)) = self.next_neighbourhood() else {
            return Ok(());
        };
        let found = crate::heuristics::neighbourhood::run(&self.shared, &root, turn, ticks)?;
        self.side_ticks += found.ticks;
        self.side_iterations += found.iterations;
        if let Some(x) = found.x {
            let mut worker = self.workers.remove(0);
            worker.begin(&self.shared);
            worker.offer(&self.shared, &x, found.name)?;
            let report = std::mem::replace(&mut worker.report, Report::new());
            self.workers.insert(0, worker);
            self.merge(vec![report]);
        }
        Ok(())
    }
}
