//! A buffer: its life, size and options.

use crate::name::Name;

/// A period of a buffer's life in which only a window of it, or no part, is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gap {
    /// First moment of the gap.
    pub lower: u64,
    /// First moment after it.
    pub upper: u64,
    /// Bytes that stay in use, from and to, counted from the buffer's offset; `None` if no bytes
    /// do.
    pub window: Option<(u64, u64)>,
}

/// A buffer with a life `[lower, upper)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Buffer {
    /// Name.
    pub id: Name,
    /// First live moment, counted from the origin of the [`Lives`](super::Lives).
    pub lower: u64,
    /// First moment after its life.
    pub upper: u64,
    /// Size in bytes.
    pub size: u64,
    /// Alignment of its offset; 1 or 0 allows every address.
    pub alignment: u64,
    /// Gaps in its life, in order of time.
    pub gaps: Vec<Gap>,
    /// Fixed offset, if required.
    pub offset: Option<u64>,
}

/// A rectangle of a buffer: a range of addresses in use during a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// First moment.
    pub lower: u64,
    /// First moment after it.
    pub upper: u64,
    /// First byte in use, counted from the buffer's offset.
    pub start: u64,
    /// First byte after those in use.
    pub end: u64,
}

impl Buffer {
    /// A buffer without gaps or a fixed offset.
    pub fn new(id: impl Into<Name>, lower: u64, upper: u64, size: u64) -> Self {
        Buffer {
            id: id.into(),
            lower,
            upper,
            size,
            alignment: 1,
            gaps: Vec::new(),
            offset: None,
        }
    }

    /// The rectangles of the buffer, in order of time; empty if no bytes are in use.
    ///
    /// ```
    /// use remat_instances::place::{Buffer, Gap};
    /// let mut buffer = Buffer::new("x", 0, 9, 64);
    /// buffer.gaps.push(Gap { lower: 3, upper: 5, window: None });
    /// let pieces: Vec<_> = buffer.pieces().iter().map(|p| (p.lower, p.upper)).collect();
    /// assert_eq!(pieces, [(0, 3), (5, 9)]);
    /// ```
    pub fn pieces(&self) -> Vec<Piece> {
        let mut pieces = Vec::with_capacity(1 + 2 * self.gaps.len());
        let mut push = |lower, upper, (start, end)| {
            if lower < upper && start < end {
                let piece = Piece {
                    lower,
                    upper,
                    start,
                    end,
                };
                pieces.push(piece);
            }
        };
        let mut moment = self.lower;
        for gap in &self.gaps {
            push(moment, gap.lower, (0, self.size));
            push(gap.lower, gap.upper, gap.window.unwrap_or((0, 0)));
            moment = gap.upper;
        }
        push(moment, self.upper, (0, self.size));
        pieces
    }

    /// Returns whether any gap leaves a part of the buffer in use.
    pub fn has_windows(&self) -> bool {
        let is_used = |(start, end)| start < end;
        self.gaps.iter().any(|gap| gap.window.is_some_and(is_used))
    }
}
