//! The search tree as a file for VBCTOOL, which animates its growth.
//!
//! Source: Leipert, *The Tree Interface, version 1.0, user manual* (Cologne 1996).

use crate::mip::control::{NodeChange, NodeEvent, Observer, Progress};
use crate::mip::outcome::Solution;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Colours of nodes, by VBCTOOL's numbers.
const OPEN: u8 = 3;
const SPLIT: u8 = 2;
const CLOSED: u8 = 4;
const SOLVED: u8 = 14;

/// The tree of a search in the order of its growth. Every node has its bound, and a colour for its
/// state: open (3), split (2), closed (4), with a solution (14).
///
/// Lines `U` show the objective of a new incumbent, lines `L` a new bound, both in the model's
/// sense. After a restart the new tree hangs below the first root.
#[derive(Debug)]
pub struct VbcTree(Mutex<VbcLog>);

#[derive(Debug)]
struct VbcLog {
    begun: Instant,
    text: String,
    /// Open nodes of the present tree, and their numbers in the file.
    known: BTreeMap<u64, u64>,
    count: u64,
    /// The last bound shown.
    bound: f64,
}

impl Default for VbcTree {
    /// A tree without nodes, whose time starts now.
    fn default() -> Self {
        VbcTree(Mutex::new(VbcLog {
            begun: Instant::now(),
            text: String::new(),
            known: BTreeMap::new(),
            count: 0,
            bound: f64::NAN,
        }))
    }
}

impl VbcLog {
    fn line(&mut self, text: &str) {
        let hundredths = self.begun.elapsed().as_millis() / 10;
        let (seconds, rest) = (hundredths / 100, hundredths % 100);
        let (minutes, hours) = (seconds / 60, seconds / 3600);
        // Writing to a string cannot fail.
        let _ = writeln!(
            self.text,
            "{hours:02}:{:02}:{:02}.{rest:02} {text}",
            minutes % 60,
            seconds % 60
        );
    }

    fn take(&mut self, event: &NodeEvent) {
        let colour = match event.change {
            NodeChange::Created {
                parent,
                depth,
                bound,
            } => {
                let above = match parent {
                    Some(parent) => self.known.get(&parent).copied().unwrap_or(0),
                    // The first root has no parent; the root of a restart hangs below it.
                    None => u64::from(self.count > 0),
                };
                if parent.is_none() {
                    self.known.clear();
                }
                self.count += 1;
                let own = self.count;
                self.known.insert(event.id, own);
                self.line(&format!("N {above} {own} {OPEN}"));
                let number = event.id;
                self.line(&format!(
                    "I {own} \\inode:\\t{number}\\idepth:\\t{depth}\\nbound:\\t{bound}"
                ));
                return;
            }
            NodeChange::Split => SPLIT,
            NodeChange::Closed => CLOSED,
            NodeChange::Solved => SOLVED,
        };
        let own = match event.change {
            // Later events do not refer to a finished node.
            NodeChange::Closed | NodeChange::Solved => self.known.remove(&event.id),
            _ => self.known.get(&event.id).copied(),
        };
        if let Some(own) = own {
            self.line(&format!("P {own} {colour}"));
        }
    }
}

impl VbcTree {
    /// The file.
    pub fn to_text(&self) -> String {
        let tree = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        format!(
            "#TYPE: COMPLETE TREE\n#TIME: SET\n#BOUNDS: SET\n#INFORMATION: STANDARD\n\
             #NODE_NUMBER: NONE\n{}",
            tree.text
        )
    }
}

impl Observer for VbcTree {
    fn incumbent(&self, solution: &Solution) {
        let mut tree = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tree.line(&format!("U {}", solution.objective));
    }

    fn nodes(&self, events: &[NodeEvent]) {
        let mut tree = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        events.iter().for_each(|event| tree.take(event));
    }

    fn watches_nodes(&self) -> bool {
        true
    }

    fn progress(&self, progress: &Progress) -> bool {
        let mut tree = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if progress.dual_bound.is_finite() && tree.bound != progress.dual_bound {
            tree.bound = progress.dual_bound;
            tree.line(&format!("L {}", progress.dual_bound));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines without their times.
    fn shown(tree: &VbcTree) -> Vec<String> {
        let text = tree.to_text();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines
            .map(|line| line.split_once(' ').unwrap().1.into())
            .collect()
    }

    #[test]
    fn nodes_are_created_and_coloured() {
        let tree = VbcTree::default();
        let created = |id, parent, bound| NodeEvent {
            id,
            change: NodeChange::Created {
                parent,
                depth: u32::from(parent.is_some()),
                bound,
            },
        };
        let became = |id, change| NodeEvent { id, change };
        tree.nodes(&[created(0, None, 5.0)]);
        tree.nodes(&[
            became(0, NodeChange::Split),
            created(256, Some(0), 6.0),
            created(512, Some(0), 5.5),
            became(256, NodeChange::Closed),
            became(512, NodeChange::Solved),
        ]);
        // A restart: numbers start again.
        tree.nodes(&[created(0, None, 5.5), became(0, NodeChange::Closed)]);
        let wanted = [
            "N 0 1 3",
            "I 1 \\inode:\\t0\\idepth:\\t0\\nbound:\\t5",
            "P 1 2",
            "N 1 2 3",
            "I 2 \\inode:\\t256\\idepth:\\t1\\nbound:\\t6",
            "N 1 3 3",
            "I 3 \\inode:\\t512\\idepth:\\t1\\nbound:\\t5.5",
            "P 2 4",
            "P 3 14",
            "N 1 4 3",
            "I 4 \\inode:\\t0\\idepth:\\t0\\nbound:\\t5.5",
            "P 4 4",
        ];
        assert_eq!(shown(&tree), wanted);
        let all = tree.to_text();
        let times = all.lines().filter(|line| !line.starts_with('#'));
        assert!(
            times
                .map(|line| &line[..8])
                .all(|time| time.starts_with("00:0"))
        );
    }
}
