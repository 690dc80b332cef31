//! Progress lines.

use super::Search;

impl Search {
    pub(super) fn line_if_due(&mut self) {
        if self.shared.settings.log && self.start.elapsed().as_secs_f64() > self.last_line + 5.0 {
            self.line();
        }
    }

    pub(super) fn line(&mut self) {
        if !self.shared.settings.log {
            return;
        }
        self.last_line = self.start.elapsed().as_secs_f64();
        let (best, by) = self
            .shared
            .incumbent
            .as_ref()
            .map_or((f64::INFINITY, "-"), |i| (i.objective, i.found_by));
        eprintln!(
            "{:>8.1}s {:>8} nodes {:>7} open {:>9} LP it  bound {:<18.9} best {:<18.9} {by}",
            self.last_line,
            self.info.nodes,
            self.queue.len(),
            self.workers
                .iter()
                .map(|w| w.relax.iterations())
                .sum::<u64>(),
            self.sense.sign() * self.bound(),
            self.sense.sign() * best,
        );
    }
}
