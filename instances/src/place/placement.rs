//! Placements: an offset for each buffer, and the replay.

use super::Lives;
use crate::name::Name;
use std::collections::BTreeMap;

/// Offsets of buffers, in the order of the buffers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    offsets: Vec<u64>,
}

/// Result of replaying a placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Largest end of a buffer in use, in bytes.
    pub height: u64,
    /// Largest load, in bytes.
    pub load: u64,
}

impl Replayed {
    /// Height above the load, in percent of the load; 0 if no bytes are in use.
    pub fn fragmentation_percent(&self) -> f64 {
        match self.load {
            0 => 0.0,
            load => (self.height as f64 / load as f64 - 1.0) * 100.0,
        }
    }
}

/// Reason to reject a placement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// The number of offsets is wrong.
    #[error("{found} offsets for {buffers} buffers; give one for each buffer")]
    Count {
        /// Offsets found.
        found: usize,
        /// Buffers.
        buffers: usize,
    },
    /// An offset violates an alignment, a fixed offset or the range of addresses.
    #[error("buffer {id:?}: offset is {offset}; {remedy}")]
    Offset {
        /// Name of the buffer.
        id: Name,
        /// Its offset.
        offset: u64,
        /// Description of a correct offset.
        remedy: String,
    },
    /// Two buffers share addresses.
    #[error(
        "{first:?} and {second:?} share the addresses {start} to {end} at time {time}; \
         move one of them"
    )]
    Clash {
        /// Name of the buffer allocated first.
        first: Name,
        /// Name of the other.
        second: Name,
        /// First time at which both are live.
        time: i128,
        /// First shared address.
        start: u64,
        /// First address after the shared ones.
        end: u64,
    },
    /// The placement is higher than the capacity.
    #[error("the placement takes {height} bytes, the capacity is {capacity}; lower it by {}",
            .height - .capacity)]
    Capacity {
        /// Height in bytes.
        height: u64,
        /// Capacity in bytes.
        capacity: u64,
    },
}

impl Placement {
    /// A placement from offsets in bytes, one for each buffer, in their order.
    pub fn new(offsets: Vec<u64>) -> Self {
        Placement { offsets }
    }

    /// The offsets in bytes.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// Replays the placement over time, allocating and freeing. Returns its height and load. The
    /// capacity is ignored; see [`replay_within`](Self::replay_within).
    ///
    /// # Errors
    /// [`PlacementError`] names the first overlap, or the buffer with an invalid offset.
    pub fn replay(&self, lives: &Lives) -> Result<Replayed, PlacementError> {
        let (found, buffers) = (self.offsets.len(), lives.buffers().len());
        if found != buffers {
            return Err(PlacementError::Count { found, buffers });
        }
        let mut changes = Vec::new();
        for (index, (buffer, &offset)) in lives.buffers().iter().zip(&self.offsets).enumerate() {
            let refuse = |remedy| {
                let id = buffer.id.clone();
                Err(PlacementError::Offset { id, offset, remedy })
            };
            if !offset.is_multiple_of(buffer.alignment) {
                return refuse(format!("give a multiple of {}", buffer.alignment));
            }
            if let Some(fixed) = buffer.offset.filter(|&fixed| fixed != offset) {
                return refuse(format!("it is fixed at {fixed}"));
            }
            if offset.checked_add(buffer.size).is_none() {
                return refuse("give one whose end is a number of 64 bits".into());
            }
            for piece in buffer.pieces() {
                let (start, end) = (offset + piece.start, offset + piece.end);
                changes.push((piece.lower, true, index, start, end));
                changes.push((piece.upper, false, index, start, end));
            }
        }
        // Ends come first: lives are half-open.
        changes.sort_unstable();
        let mut used: BTreeMap<u64, (u64, usize)> = BTreeMap::new();
        let (mut height, mut load, mut bytes) = (0, 0, 0);
        for (time, begins, index, start, end) in changes {
            if !begins {
                used.remove(&start);
                bytes -= end - start;
                continue;
            }
            let below = used
                .range(..=start)
                .next_back()
                .filter(|(_, (top, _))| *top > start);
            let above = || {
                used.range(start..)
                    .next()
                    .filter(|(bottom, _)| **bottom < end)
            };
            if let Some((&bottom, &(top, other))) = below.or_else(above) {
                let id = |index: usize| lives.buffers()[index].id.clone();
                let (first, second) = (id(other), id(index));
                let (start, end) = (start.max(bottom), end.min(top));
                return Err(PlacementError::Clash {
                    first,
                    second,
                    time: lives.time(time),
                    start,
                    end,
                });
            }
            used.insert(start, (end, index));
            bytes += end - start;
            load = bytes.max(load);
            height = end.max(height);
        }
        Ok(Replayed { height, load })
    }

    /// Replays the placement like [`replay`](Self::replay), and checks the capacity of the lives.
    ///
    /// # Errors
    /// The errors of [`replay`](Self::replay), and [`PlacementError::Capacity`].
    pub fn replay_within(&self, lives: &Lives) -> Result<Replayed, PlacementError> {
        let replayed = self.replay(lives)?;
        let height = replayed.height;
        match lives.capacity().filter(|&capacity| height > capacity) {
            Some(capacity) => Err(PlacementError::Capacity { height, capacity }),
            None => Ok(replayed),
        }
    }
}
