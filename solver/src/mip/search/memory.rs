//! Transfer of open nodes between memory and node files.

use super::TreeSearch;
use crate::mip::outcome::SolveError;
use crate::mip::state::spill::NodeFiles;
use crate::mip::tree::TreeNode;

impl TreeSearch {
    /// Returns whether open nodes need more memory than allowed and cannot be moved to files.
    pub(super) fn memory_is_full(&self) -> bool {
        let limit = self.shared.settings.limits.memory_bytes;
        let stay = self.spilling_failed || self.control.node_files.is_none();
        stay && limit.is_some_and(|l| self.queue.bytes() > l)
    }

    /// Writes the less promising half of the nodes to a file if memory is short, and reads a file
    /// once there is room again. Nodes that cannot be written stay in memory; a file that cannot be
    /// read ends the search.
    pub(super) fn balance_memory(&mut self) {
        let Some(limit) = self.shared.settings.limits.memory_bytes else {
            return;
        };
        if self.queue.bytes() > limit && !self.memory_is_full() {
            let nodes = self.queue.take_last(limit / 2);
            match self.write_nodes(&nodes) {
                Ok(written) => self.info.spilled_nodes += written,
                Err(error) => {
                    for node in nodes {
                        self.queue.push(node);
                    }
                    self.spilling_failed = true;
                    self.nodes_have_problem(error, "the nodes stay in memory");
                }
            }
        }
        let Some(files) = &mut self.files else {
            return;
        };
        files.prune(self.shared.cutoff);
        while (self.queue.is_empty() || self.queue.bytes() < limit / 8) && !files.is_empty() {
            match files.read_best() {
                Ok(nodes) => {
                    for node in nodes {
                        if node.bound < self.shared.cutoff {
                            self.queue.push(node);
                        }
                    }
                }
                Err(error) => {
                    self.nodes_are_lost = true;
                    self.nodes_have_problem(error, "the search ends, as its nodes are lost");
                    return;
                }
            }
        }
    }

    /// Writes nodes to a file, if node files are allowed. Returns their number.
    fn write_nodes(&mut self, nodes: &[TreeNode]) -> Result<u64, SolveError> {
        let folder = self.control.node_files.as_ref();
        let Some(folder) = folder.filter(|_| !nodes.is_empty()) else {
            return Ok(0);
        };
        let files = match &mut self.files {
            Some(files) => files,
            none => none.insert(NodeFiles::new(folder)?),
        };
        files.write(nodes)?;
        Ok(nodes.len() as u64)
    }

    fn nodes_have_problem(&mut self, error: SolveError, consequence: &str) {
        let problem = error.to_string();
        self.report_file(&problem, consequence);
        self.file_problems.node_files = Some(problem);
    }

    /// Number of open nodes, including those in files and at workers.
    pub(super) fn open_nodes(&self) -> u64 {
        let away = self.away.iter().filter(|w| w.bound.is_finite()).count();
        let filed = self.files.as_ref().map_or(0, NodeFiles::len);
        (self.queue.len() + away + filed) as u64
    }
}
