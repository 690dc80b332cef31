//! The link of a GPU: a stream for each lane, and an event for each copy.

use super::{Carrier, Direction, Pair, Ticket};
use crate::error::ExecError;
use crate::shim;
use remat_instances::instance::Duplex;

/// Streams of a GPU beside the one that computes.
pub(crate) struct Streams {
    lanes: shim::Lanes,
    started: Vec<shim::Event>,
    asynchronous: bool,
}

impl Streams {
    /// Streams for a link.
    ///
    /// # Errors
    /// [`ExecError::Torch`].
    pub fn new(device: i32, duplex: Duplex) -> Result<Self, ExecError> {
        Ok(Streams {
            lanes: shim::Lanes::new(device, duplex == Duplex::Half)?,
            started: Vec::new(),
            asynchronous: false,
        })
    }
}

impl Carrier for Streams {
    fn start(
        &mut self,
        direction: Direction,
        pairs: Vec<Pair>,
        after: Option<Ticket>,
    ) -> Result<Ticket, ExecError> {
        let after = after.and_then(|ticket| self.started.get(ticket.0));
        let to_host = direction == Direction::ToHost;
        let pairs: Vec<_> = pairs.iter().map(|pair| (&pair.to, &pair.from)).collect();
        let event = self.lanes.copy(to_host, &pairs, after)?;
        self.started.push(event);
        Ok(Ticket(self.started.len() - 1))
    }

    fn wait(&mut self, ticket: Ticket) -> Result<(), String> {
        self.lanes
            .wait(&self.started[ticket.0], !self.asynchronous)
            .map_err(|e| e.to_string())
    }

    fn set_asynchronous(&mut self, asynchronous: bool) {
        self.asynchronous = asynchronous;
    }

    fn settle(&mut self, _abandon: bool) {
        // An error of the device persists, and the next call returns it.
        let _ = self.lanes.synchronise();
        self.started.clear();
    }
}
