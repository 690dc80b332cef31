//! Load over time.

use super::Lives;

/// The largest load and the first moment with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Bytes in use at that moment.
    pub bytes: u64,
    /// The moment.
    pub time: u64,
}

/// A maximal set of buffers in use at one moment: no other moment has a proper superset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// First moment of the period.
    pub lower: u64,
    /// First moment after it.
    pub upper: u64,
    /// Bytes in use.
    pub load: u64,
    /// Positions of the buffers, ascending.
    pub buffers: Vec<usize>,
}

impl Lives {
    /// The largest load; zero at moment 0 if no bytes are in use.
    pub fn load(&self) -> Load {
        let mut largest = Load { bytes: 0, time: 0 };
        for (time, bytes) in self.profile() {
            if bytes > largest.bytes {
                largest = Load { bytes, time };
            }
        }
        largest
    }

    /// The load over time: the moments at which it changes, in order, each with the bytes from then
    /// on.
    ///
    /// ```
    /// use remat_instances::place::{Buffer, Lives};
    /// let lives = Lives::new(vec![Buffer::new("x", 0, 2, 8), Buffer::new("y", 2, 3, 5)])?;
    /// assert_eq!(lives.profile(), [(0, 8), (2, 5), (3, 0)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn profile(&self) -> Vec<(u64, u64)> {
        let mut changes = Vec::with_capacity(2 * self.buffers().len());
        for piece in self.buffers().iter().flat_map(|buffer| buffer.pieces()) {
            changes.push((piece.lower, piece.end - piece.start, true));
            changes.push((piece.upper, piece.end - piece.start, false));
        }
        changes.sort_unstable();
        let mut profile: Vec<(u64, u64)> = Vec::new();
        let mut bytes: u64 = 0;
        for group in changes.chunk_by(|a, b| a.0 == b.0) {
            let sum = |begins| {
                group
                    .iter()
                    .filter(|c| c.2 == begins)
                    .map(|c| c.1)
                    .sum::<u64>()
            };
            bytes = bytes + sum(true) - sum(false);
            if profile.last().is_none_or(|last| last.1 != bytes) {
                profile.push((group[0].0, bytes));
            }
        }
        profile
    }

    /// The maximal sets of buffers in use at one moment, in order of time. Each set belongs to a
    /// period from a buffer's beginning to the next end; a window counts as a buffer in use.
    pub fn sections(&self) -> Vec<Section> {
        // Ends come first: lives are half-open.
        let mut changes: Vec<(u64, bool, usize, u64)> = Vec::new();
        for (index, buffer) in self.buffers().iter().enumerate() {
            for piece in buffer.pieces() {
                let bytes = piece.end - piece.start;
                changes.push((piece.lower, true, index, bytes));
                changes.push((piece.upper, false, index, bytes));
            }
        }
        changes.sort_unstable();
        let mut sections: Vec<Section> = Vec::new();
        let mut live = std::collections::BTreeMap::new();
        let mut load: u64 = 0;
        let mut grown = None;
        for (time, begins, index, bytes) in changes {
            match (begins, grown) {
                (true, _) => {
                    live.insert(index, bytes);
                    load += bytes;
                    grown = Some(time);
                    continue;
                }
                (false, Some(lower)) => {
                    let buffers = live.keys().copied().collect();
                    sections.push(Section {
                        lower,
                        upper: time,
                        load,
                        buffers,
                    });
                    grown = None;
                }
                (false, None) => {}
            }
            live.remove(&index);
            load -= bytes;
        }
        sections
    }
}
