//! Open nodes between memory and node files.

use super::TreeSearch;
use crate::mip::outcome::SolveError;
use crate::mip::spill::NodeFiles;

impl TreeSearch {
    /// Returns whether open nodes need more memory than allowed and have nowhere to go.
    pub(super) fn memory_is_full(&self) -> bool {
        let limit = self.shared.settings.limits.memory_bytes;
        limit.is_some_and(|l| self.queue.bytes() > l) && self.control.node_files.is_none()
    }

    /// Sends the least promising half to a file where memory is short, and fetches a file where
    /// there is room again.
    pub(super) fn balance_memory(&mut self) -> Result<(), SolveError> {
        let (Some(limit), Some(folder)) = (
            self.shared.settings.limits.memory_bytes,
            self.control.node_files.as_ref(),
        ) else {
            return Ok(());
        };
        if self.queue.bytes() > limit {
            let nodes = self.queue.take_last(limit / 2);
            if !nodes.is_empty() {
                let files = match &mut self.files {
                    Some(files) => files,
                    none => none.insert(NodeFiles::new(folder)?),
                };
                files.write(&nodes)?;
                self.info.spilled_nodes += nodes.len() as u64;
            }
        }
        let Some(files) = &mut self.files else {
            return Ok(());
        };
        files.prune(self.shared.cutoff);
        while (self.queue.is_empty() || self.queue.bytes() < limit / 8) && !files.is_empty() {
            for node in files.read_best()? {
                if node.bound < self.shared.cutoff {
                    self.queue.push(node);
                }
            }
        }
        Ok(())
    }

    /// Open nodes, wherever they are.
    pub(super) fn open_nodes(&self) -> u64 {
        let away = self.away.iter().filter(|w| w.bound.is_finite()).count();
        let filed = self.files.as_ref().map_or(0, NodeFiles::len);
        (self.queue.len() + away + filed) as u64
    }
}
