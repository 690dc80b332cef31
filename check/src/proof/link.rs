//! The link to host memory that a proof is about, and its capacity.
//!
//! A link is part of the claim, as the budget is: the instance gives the tensors that may leave,
//! and the length of a unit of cost.

use super::text::ProofLines;
use remat_instances::Instance;
use remat_instances::instance::{CopyTimes, Duplex, HostLink, NodeId};

/// A link to host memory, and when it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTerms {
    /// Speeds, latency, lanes and host memory.
    pub link: HostLink,
    /// True if copies to the host end before the loss starts, and copies back begin behind it.
    pub by_loss: bool,
}

impl LinkTerms {
    /// Reads the line of a link.
    ///
    /// # Errors
    /// The faulty word, and the expected text.
    pub(super) fn read(lines: &mut ProofLines<'_>) -> Result<Self, String> {
        let mut line = lines.next()?;
        line.keyword("link")?;
        let to_host_bytes_per_second = line.number("bytes a second to the host")?;
        let from_host_bytes_per_second = line.number("bytes a second from the host")?;
        line.keyword("latency")?;
        let latency_ns = line.number("a latency in nanoseconds")?;
        let duplex = match line.word("full or half")? {
            "full" => Duplex::Full,
            "half" => Duplex::Half,
            other => return line.refuse(other, "full or half"),
        };
        line.keyword("host")?;
        let host_memory_bytes = match line.word("bytes of host memory, or unlimited")? {
            "unlimited" => None,
            word => match word.parse() {
                Ok(bytes) => Some(bytes),
                Err(_) => return line.refuse(word, "bytes of host memory, or unlimited"),
            },
        };
        line.keyword("copies")?;
        let by_loss = match line.word("any or loss")? {
            "any" => false,
            "loss" => true,
            other => return line.refuse(other, "any or loss"),
        };
        line.end()?;
        Ok(LinkTerms {
            link: HostLink {
                to_host_bytes_per_second,
                from_host_bytes_per_second,
                latency_ns,
                duplex,
                host_memory_bytes,
            },
            by_loss,
        })
    }

    /// Times of copies in the instance's unit of cost, after a check of the numbers.
    ///
    /// # Errors
    /// A value that an instance may not have, or a unit that is no time.
    pub(super) fn times(&self, instance: &Instance) -> Result<CopyTimes, String> {
        let checked = instance.with_host_link(Some(self.link.clone()));
        checked.map_err(|e| format!("the link: {}: {}", e.path, e.problem))?;
        let unit = instance.cost_unit();
        self.link.times(unit).ok_or_else(|| {
            format!(
                "the cost unit {:?} of the instance is no time, and copies take time",
                unit.name
            )
        })
    }

    /// The stage of the loss, if copies to the host must end before it and copies back begin behind
    /// it.
    pub(super) fn loss(&self, instance: &Instance) -> Option<usize> {
        let loss = instance.loss().map(NodeId::index);
        loss.filter(|_| self.by_loss)
    }
}

/// Returns whether a tensor may leave at all: the instance lets it, and it has bytes.
pub(super) fn may_leave(instance: &Instance, id: NodeId) -> bool {
    instance.may_offload(id) && instance.node(id).output_bytes > 0
}
