//! Placements, checked by a sweep over time.

use remat_instances::place::{Lives, Placement};
use std::collections::BTreeSet;
use std::fmt;

/// Reason why offsets are no placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OffsetFault {
    /// Another number of offsets than buffers.
    Count,
    /// The offset of this buffer (by position) is no multiple of its alignment.
    Alignment(usize),
    /// The offset of this buffer is not the one that it must have.
    Fixed(usize),
    /// The end of this buffer is no number of 64 bits.
    Range(usize),
    /// These two buffers share an address at this time.
    Shared(usize, usize, u64),
}

impl fmt::Display for OffsetFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OffsetFault::Count => write!(f, "there is not one offset for each buffer"),
            OffsetFault::Alignment(k) => write!(f, "buffer {k} is not aligned"),
            OffsetFault::Fixed(k) => write!(f, "buffer {k} is not at its fixed offset"),
            OffsetFault::Range(k) => write!(f, "buffer {k} ends beyond 64 bits"),
            OffsetFault::Shared(a, b, time) => {
                write!(f, "buffers {a} and {b} share an address at time {time}")
            }
        }
    }
}

impl std::error::Error for OffsetFault {}

/// Checks a placement and returns its height in bytes.
///
/// # Errors
/// [`OffsetFault`] names the buffers that contradict it.
pub fn offsets(lives: &Lives, placement: &Placement) -> Result<u64, OffsetFault> {
    let offsets = placement.offsets();
    if offsets.len() != lives.buffers().len() {
        return Err(OffsetFault::Count);
    }
    // Begins and ends by time; at one time ends are first.
    let mut events = Vec::new();
    let mut height = 0;
    for (k, (buffer, &offset)) in lives.buffers().iter().zip(offsets).enumerate() {
        if offset % buffer.alignment != 0 {
            return Err(OffsetFault::Alignment(k));
        }
        if buffer.offset.is_some_and(|fixed| fixed != offset) {
            return Err(OffsetFault::Fixed(k));
        }
        for piece in buffer.pieces() {
            let first = offset
                .checked_add(piece.start)
                .ok_or(OffsetFault::Range(k))?;
            let last = offset
                .checked_add(piece.end - 1)
                .ok_or(OffsetFault::Range(k))?;
            height = height.max(last.checked_add(1).ok_or(OffsetFault::Range(k))?);
            events.push((piece.upper, 0, first, last, k));
            events.push((piece.lower, 1, first, last, k));
        }
    }
    events.sort_unstable();
    let mut used = BTreeSet::new();
    for (time, begins, first, last, k) in events {
        if begins == 0 {
            used.remove(&(first, last, k));
            continue;
        }
        let before = used.range(..(first, 0, 0)).next_back();
        let after = used.range((first, 0, 0)..).next();
        if let Some(&(_, end, other)) = before
            && end >= first
        {
            return Err(OffsetFault::Shared(other, k, time));
        }
        if let Some(&(begin, _, other)) = after
            && begin <= last
        {
            return Err(OffsetFault::Shared(other, k, time));
        }
        used.insert((first, last, k));
    }
    Ok(height)
}
