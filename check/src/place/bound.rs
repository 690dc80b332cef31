//! Certificates of bounds on the height.

use super::refutation::refute;
use remat_instances::place::{Argument, BoundCertificate, Buffer, Lives};
use std::fmt;

/// Evidence that was checked for a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// No buffer is in use.
    Empty,
    /// The load of a moment.
    Load,
    /// The load of a moment with sizes rounded up to the common divisor of the alignments.
    AlignedLoad,
    /// The end of a buffer with a fixed offset.
    Fixed,
    /// A search tree of so many nodes without a placement.
    Refutation(u64),
    /// Another kind of evidence for a lower height, and no sum of sizes between that height and the
    /// bound.
    Sum,
}

/// Reason why a certificate does not show its bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoundFault {
    /// There is no buffer with this position, or positions do not ascend.
    Buffers(u64),
    /// The argument shows this bound, which is less than the claimed one.
    Less(u64),
    /// The argument makes a false statement.
    Wrong(String),
    /// The certificate claims a search but does not contain its tree.
    NotShown,
    /// Sums of sizes cannot be counted: too many, or alignments, fixed offsets or windows forbid
    /// it.
    Sums,
}

impl fmt::Display for BoundFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BoundFault::Buffers(k) => write!(f, "buffer {k} is not there or out of order"),
            BoundFault::Less(bound) => write!(f, "no more than {bound} bytes are shown"),
            BoundFault::Wrong(what) => f.write_str(what),
            BoundFault::NotShown => write!(f, "the search is not written down"),
            BoundFault::Sums => write!(f, "the sums of sizes cannot be counted"),
        }
    }
}

impl std::error::Error for BoundFault {}

/// Limits on the number of sums that are counted, and on the steps to count them.
const SUMS_LIMIT: u64 = 1 << 22;
const SUM_STEPS_LIMIT: u64 = 1 << 34;

/// Checks that a certificate shows its bound, and returns the kind of evidence.
///
/// # Errors
/// [`BoundFault`] if the bound is not shown.
pub fn bound(lives: &Lives, certificate: &BoundCertificate) -> Result<Evidence, BoundFault> {
    let count = lives.buffers().len() as u64;
    let mut last = None;
    for &position in &certificate.buffers {
        if position >= count || last >= Some(position) {
            return Err(BoundFault::Buffers(position));
        }
        last = Some(position);
    }
    let positions: Vec<u64> = match certificate.buffers.is_empty() {
        true => (0..count).collect(),
        false => certificate.buffers.clone(),
    };
    let buffers: Vec<&Buffer> = positions
        .iter()
        .map(|&k| &lives.buffers()[k as usize])
        .collect();
    let (shown, evidence) = shown(&certificate.argument, &positions, &buffers)?;
    if shown >= certificate.bound {
        return Ok(evidence);
    }
    if !certificate.is_sum {
        return Err(BoundFault::Less(shown));
    }
    // The bound follows if no sum of sizes lies between the two heights.
    match next_sum(&buffers, shown).ok_or(BoundFault::Sums)? {
        sum if sum >= certificate.bound => Ok(Evidence::Sum),
        sum => Err(BoundFault::Less(sum)),
    }
}

/// The bound that an argument shows.
fn shown(
    argument: &Argument,
    positions: &[u64],
    buffers: &[&Buffer],
) -> Result<(u64, Evidence), BoundFault> {
    Ok(match argument {
        Argument::Empty => (0, Evidence::Empty),
        Argument::Stack { time } => {
            let aligned = stack(buffers, *time, divisor(buffers));
            let plain = stack(buffers, *time, 1);
            let evidence = if aligned > plain {
                Evidence::AlignedLoad
            } else {
                Evidence::Load
            };
            (aligned.max(plain), evidence)
        }
        Argument::Fixed { buffer } => {
            let place = positions.binary_search(buffer).ok();
            let buffer = place.map(|place| buffers[place]);
            let end = buffer.and_then(|buffer| {
                let end = buffer.pieces().iter().map(|piece| piece.end).max()?;
                Some(buffer.offset? + end)
            });
            let wrong =
                || BoundFault::Wrong("the buffer has no fixed offset, or is not used".into());
            (end.ok_or_else(wrong)?, Evidence::Fixed)
        }
        Argument::Refuted { height, steps } => {
            let nodes = refute(positions, buffers, *height, steps).map_err(BoundFault::Wrong)?;
            (height.saturating_add(1), Evidence::Refutation(nodes))
        }
        Argument::Searched { .. } => return Err(BoundFault::NotShown),
    })
}

/// A divisor of every offset.
pub(super) fn divisor(buffers: &[&Buffer]) -> u64 {
    if buffers.iter().any(|buffer| buffer.has_windows()) {
        return 1;
    }
    buffers
        .iter()
        .map(|buffer| buffer.alignment)
        .reduce(common)
        .unwrap_or(1)
}

/// Greatest common divisor.
pub(super) fn common(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Height of the buffers live at a moment, stacked. All begin at multiples of `divisor`, so only
/// the topmost one may end between multiples.
fn stack(buffers: &[&Buffer], time: u64, divisor: u64) -> u64 {
    let mut sum = 0;
    let mut spared = 0;
    for buffer in buffers {
        for piece in buffer.pieces() {
            if piece.lower <= time && time < piece.upper {
                let bytes = piece.end - piece.start;
                let rounded = bytes.next_multiple_of(divisor);
                sum += rounded;
                spared = spared.max(rounded - bytes);
            }
        }
    }
    sum - spared
}

/// The least sum of sizes that is at least `from`. Some lowest placement is pushed down: then its
/// height is the sum of the sizes of a chain of buffers, each on the one before.
fn next_sum(buffers: &[&Buffer], from: u64) -> Option<u64> {
    let allowed = |buffer: &&Buffer| {
        buffer.alignment == 1 && buffer.offset.is_none() && !buffer.has_windows()
    };
    let used: Vec<&Buffer> = buffers
        .iter()
        .copied()
        .filter(|buffer| !buffer.pieces().is_empty())
        .collect();
    let unit = used.iter().map(|buffer| buffer.size).reduce(common)?;
    // Alignments that divide every size are no restriction.
    let is_free = used
        .iter()
        .all(|buffer| allowed(buffer) || unit % buffer.alignment == 0 && buffer.offset.is_none());
    let total: u64 = used.iter().map(|buffer| buffer.size / unit).sum();
    let is_long = total > SUMS_LIMIT || total * used.len() as u64 > SUM_STEPS_LIMIT;
    if !is_free || used.iter().any(|buffer| buffer.has_windows()) || is_long {
        return None;
    }
    let mut reached = vec![false; total as usize + 1];
    reached[0] = true;
    let mut largest = 0;
    for buffer in used {
        let size = (buffer.size / unit) as usize;
        for sum in (0..=largest).rev() {
            reached[sum + size] |= reached[sum];
        }
        largest += size;
    }
    let first = from.div_ceil(unit) as usize;
    (first..reached.len())
        .find(|&sum| reached[sum])
        .map(|sum| sum as u64 * unit)
}
