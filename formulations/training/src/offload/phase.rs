//! Times at which copies are made.

use remat_instances::instance::Instance;
use remat_instances::simulate::Replay;

/// Time at which tensors may leave and come back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CopyPhase {
    /// Any time.
    #[default]
    Any,
    /// Copies to the host are complete when the loss starts, copies back are issued after it has
    /// run, and a tensor goes and comes at most once.
    Loss,
}

impl CopyPhase {
    /// Returns whether all copies of a replay of a plan of the instance are made at this time. In a
    /// graph without a loss every time is admitted.
    ///
    /// ```
    /// use remat_formulations::offload::CopyPhase;
    /// use remat_formulations::{AnyFormulation, zoo};
    /// use remat_search::Solvable;
    ///
    /// let instance = zoo::build(&"zoo:chain?n=4".parse()?)?;
    /// let replay = AnyFormulation::checkmate(&instance).plain()?;
    /// assert!(CopyPhase::Loss.admits(&instance, &replay));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn admits(self, instance: &Instance, replay: &Replay) -> bool {
        let Some(loss) = instance.loss().filter(|_| self == CopyPhase::Loss) else {
            return true;
        };
        let spans = &replay.transfers.spans;
        let mut before = 0;
        let mut found = None;
        for point in &replay.timeline {
            if point.at.node == Some(loss) {
                found = Some((point.clock - (point.cost - before), point.clock));
                break;
            }
            before = point.cost;
        }
        let Some((begin, end)) = found else {
            return spans.is_empty();
        };
        let mut seen = vec![[false; 2]; instance.len()];
        spans.iter().all(|span| {
            let is_in_time = match span.to_host {
                true => span.end <= begin,
                false => span.begin >= end,
            };
            let seen = &mut seen[span.node.index()][usize::from(span.to_host)];
            is_in_time && !std::mem::replace(seen, true)
        })
    }
}
