//! When restricted programs are searched for better solutions.

use super::Search;
use crate::heuristics::neighbourhood::{self, Around};
use crate::outcome::SolveError;
use crate::worker::Report;

impl Search {
    pub(super) fn sub_mip_is_due(&self) -> bool {
        let s = &self.shared.settings;
        s.heuristics
            && s.sub_mips
            && self.info.nodes >= self.next_sub_mip
            && !self.queue.is_empty()
            && !self.shared.stopped()
            && !self.shared.extensions.need_columns()
    }

    pub(super) fn run_sub_mip(&mut self) -> Result<(), SolveError> {
        let Some(root) = &self.root else {
            return Ok(());
        };
        // What was found of late earns further turns; without a solution nothing matters more.
        let main = self.ticks() - self.side_ticks;
        let share = match &self.shared.incumbent {
            None => 60,
            Some(_) => 15 + 10 * self.sub_mip_luck.min(3),
        };
        let allowed = main / 100 * share + self.root_ticks;
        if self.side_ticks > allowed {
            self.next_sub_mip = self.info.nodes + 50;
            return Ok(());
        }
        let turn = self.sub_mip_turn;
        self.sub_mip_turn += 1;
        let budget = (main / 10).max(self.root_ticks / 2);
        let around = Around {
            shared: &self.shared,
            root,
            relaxed: &self.relaxed,
            best: &self.best,
            share: self.sub_mip_share,
        };
        let found = neighbourhood::run(&around, turn, budget)?;
        // Quickly searched to the end: more freedom next time. Not searched to the end: less.
        if found.exhausted && found.ticks < budget / 2 {
            self.sub_mip_share = (self.sub_mip_share - 0.1).max(0.3);
        } else if found.out_of_work {
            self.sub_mip_share = (self.sub_mip_share + 0.05).min(0.97);
        }
        self.side_ticks += found.ticks;
        self.side_iterations += found.iterations;
        let before = self.shared.incumbent.as_ref().map(|i| i.objective);
        if let Some(x) = found.x {
            let mut worker = self.workers.remove(0);
            worker.begin(&self.shared);
            worker.offer(&self.shared, &x, found.name)?;
            let report = std::mem::replace(&mut worker.report, Report::new());
            self.workers.insert(0, worker);
            self.merge(vec![report]);
        }
        let better = self.shared.incumbent.as_ref().map(|i| i.objective) != before;
        self.sub_mip_luck = if better {
            self.sub_mip_luck + 1
        } else {
            self.sub_mip_luck.saturating_sub(u64::from(turn % 3 == 0))
        };
        self.next_sub_mip = if better || turn < 4 {
            self.info.nodes
        } else {
            self.info.nodes + 100 + self.info.nodes / 10
        };
        Ok(())
    }
}
