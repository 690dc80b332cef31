//! Sets of buffers.

use super::{Buffer, Gap, Placement};
use crate::name::Name;
use std::collections::HashMap;

/// Limit of sizes, offsets and alignments, in bytes.
const VALUE_LIMIT: u64 = 1 << 53;
/// Limit of the sum of all sizes, rounded up to alignments, in bytes, so that sums of addresses do
/// not overflow.
const TOTAL_LIMIT: u64 = 1 << 61;

/// Buffers with lives, and their memory capacity.
///
/// Every life, gap, alignment and fixed offset is valid; two fixed buffers may still overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lives {
    buffers: Vec<Buffer>,
    capacity: Option<u64>,
    /// The time of moment 0.
    origin: i64,
}

/// Fault of a buffer: the field, its value, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {found}; {remedy}")]
pub struct BufferFault {
    /// Name of the field.
    pub field: &'static str,
    /// Value found.
    pub found: String,
    /// Description of a correct value.
    pub remedy: String,
}

impl BufferFault {
    pub(super) fn new(
        field: &'static str,
        found: impl ToString,
        remedy: impl Into<String>,
    ) -> Self {
        BufferFault {
            field,
            found: found.to_string(),
            remedy: remedy.into(),
        }
    }
}

/// Reason to reject buffers as [`Lives`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("buffer {index} ({id:?}): {fault}")]
pub struct LivesError {
    /// Position of the buffer.
    pub index: usize,
    /// Its name.
    pub id: Name,
    /// The fault.
    pub fault: BufferFault,
}

impl Lives {
    /// Creates lives from valid buffers, with gaps in any order; names must be distinct. An
    /// alignment of 0 counts as 1.
    ///
    /// # Errors
    /// [`LivesError`] names the first invalid buffer, the field and its value.
    ///
    /// ```
    /// use remat_instances::place::{Buffer, Lives};
    /// let lives = Lives::new(vec![Buffer::new("x", 0, 2, 8), Buffer::new("y", 1, 3, 8)])?;
    /// assert_eq!(lives.load().bytes, 16);
    /// let error = Lives::new(vec![Buffer::new("x", 2, 1, 8)]).unwrap_err();
    /// assert!(error.to_string().contains("upper is 1"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(buffers: Vec<Buffer>) -> Result<Self, LivesError> {
        Lives::counted_from(0, buffers)
    }

    /// Creates lives from buffers whose moments are counted from `origin`, for lives that begin
    /// before 0.
    ///
    /// # Errors
    /// The errors of [`Lives::new`], with times in place of moments.
    ///
    /// ```
    /// use remat_instances::place::{Buffer, Lives};
    /// let error = Lives::counted_from(-5, vec![Buffer::new("x", 2, 1, 8)]).unwrap_err();
    /// assert!(error.to_string().contains("upper is -4"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn counted_from(origin: i64, mut buffers: Vec<Buffer>) -> Result<Self, LivesError> {
        let mut names = HashMap::with_capacity(buffers.len());
        let mut total: u64 = 0;
        for (index, buffer) in buffers.iter_mut().enumerate() {
            buffer.gaps.sort_by_key(|gap| (gap.lower, gap.upper));
            buffer.alignment = buffer.alignment.max(1);
            let mut checked = check(buffer, origin);
            if let Some(first) = names.insert(buffer.id.clone(), index) {
                let remedy = format!("buffer {first} has this name; give each its own");
                checked = Err(BufferFault::new("id", format!("{:?}", buffer.id), remedy));
            }
            total = total
                .saturating_add(buffer.size)
                .saturating_add(buffer.alignment);
            if total > TOTAL_LIMIT {
                let remedy = format!("sizes and alignments add up to {TOTAL_LIMIT} at most");
                checked = checked.and(Err(BufferFault::new("size", buffer.size, remedy)));
            }
            checked.map_err(|fault| LivesError {
                index,
                id: buffer.id.clone(),
                fault,
            })?;
        }
        Ok(Lives {
            buffers,
            capacity: None,
            origin,
        })
    }

    /// The same lives with a capacity in bytes.
    pub fn with_capacity(self, capacity: Option<u64>) -> Self {
        Lives { capacity, ..self }
    }

    /// A subset of the buffers, by position, in the given order; each at most once.
    pub fn restricted(&self, positions: &[u32]) -> Lives {
        let buffers = positions
            .iter()
            .map(|&index| self.buffers[index as usize].clone());
        Lives {
            buffers: buffers.collect(),
            capacity: self.capacity,
            origin: self.origin,
        }
    }

    /// The buffers.
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// The time of a moment.
    pub fn time(&self, moment: u64) -> i128 {
        time(self.origin, moment)
    }

    /// Memory capacity in bytes, if given.
    pub fn capacity(&self) -> Option<u64> {
        self.capacity
    }

    /// Height of a placement: the largest end of a buffer in use, in bytes. Overlaps are not
    /// checked.
    pub fn height(&self, placement: &Placement) -> u64 {
        let ends = self
            .buffers
            .iter()
            .zip(placement.offsets())
            .map(|(buffer, offset)| {
                let end = buffer.pieces().iter().map(|piece| piece.end).max();
                end.map_or(0, |end| offset.saturating_add(end))
            });
        ends.max().unwrap_or(0)
    }
}

fn time(origin: i64, moment: u64) -> i128 {
    i128::from(origin) + i128::from(moment)
}

/// Checks the fields of one buffer with sorted gaps.
fn check(buffer: &Buffer, origin: i64) -> Result<(), BufferFault> {
    let limited = [
        ("size", buffer.size),
        ("alignment", buffer.alignment),
        ("offset", buffer.offset.unwrap_or(0)),
    ];
    for (field, value) in limited {
        if value > VALUE_LIMIT {
            return Err(BufferFault::new(
                field,
                value,
                format!("{VALUE_LIMIT} is the largest"),
            ));
        }
    }
    if buffer.lower > buffer.upper {
        let remedy = format!(
            "a life ends after it begins, at {}",
            time(origin, buffer.lower)
        );
        return Err(BufferFault::new(
            "upper",
            time(origin, buffer.upper),
            remedy,
        ));
    }
    if let Some(offset) = buffer
        .offset
        .filter(|offset| offset % buffer.alignment != 0)
    {
        let remedy = format!("give a multiple of the alignment {}", buffer.alignment);
        return Err(BufferFault::new("offset", offset, remedy));
    }
    let mut moment = buffer.lower;
    for gap in &buffer.gaps {
        check_gap(buffer, gap, moment, origin)?;
        moment = gap.upper;
    }
    Ok(())
}

/// Checks a gap, which must not begin before `moment`.
fn check_gap(buffer: &Buffer, gap: &Gap, moment: u64, origin: i64) -> Result<(), BufferFault> {
    let [lower, upper] = [gap.lower, gap.upper].map(|moment| time(origin, moment));
    let words = format!("{lower}-{upper}");
    if gap.lower > gap.upper {
        return Err(BufferFault::new(
            "gaps",
            words,
            "a gap ends after it begins",
        ));
    }
    if gap.lower < moment || gap.upper > buffer.upper {
        let [lower, upper] = [buffer.lower, buffer.upper].map(|moment| time(origin, moment));
        let remedy = format!("gaps are apart and within the life {lower}-{upper}");
        return Err(BufferFault::new("gaps", words, remedy));
    }
    match gap.window {
        Some((start, end)) if start > end || end > buffer.size => {
            let found = format!("{words}:{start}-{end}");
            let remedy = format!("a window is a part of the {} bytes", buffer.size);
            Err(BufferFault::new("gaps", found, remedy))
        }
        _ => Ok(()),
    }
}
