//! Schedules of POET's program: Checkmate schedules with pages to secondary storage.

use super::{BitMatrix, CheckmateSchedule};
use crate::instance::NodeId;

/// Costs of paging a tensor, in the cost unit of its instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageCosts {
    /// Cost of a page-out: the tensor is written to secondary storage.
    pub out: u64,
    /// Cost of a page-in: the tensor is read back.
    pub back: u64,
}

/// An input that its reader lists more than once. When it is freed after the reader, more bytes
/// than its size count as free until the end of the stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreedAgain {
    /// The input.
    pub input: NodeId,
    /// The reader.
    pub reader: NodeId,
    /// Bytes counted in addition to the size of the input.
    pub bytes: u64,
}

/// Terms of POET's program besides the graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoetTerms {
    /// Paging costs by node; `None` for a tensor that cannot be paged.
    pub pages: Vec<Option<PageCosts>>,
    /// Inputs that are listed more than once; in the published program, an input of the first
    /// backward node.
    pub freed_again: Vec<FreedAgain>,
}

impl PoetTerms {
    /// Additional bytes that count as free when an input is freed after a reader.
    pub fn freed_again(&self, input: NodeId, reader: NodeId) -> u64 {
        let of = |one: &&FreedAgain| (one.input, one.reader) == (input, reader);
        self.freed_again
            .iter()
            .filter(of)
            .map(|one| one.bytes)
            .sum()
    }
}

/// A schedule of POET's program (Patil et al., ICML 2022): `n` stages over `n` nodes, as in
/// Checkmate's program, and pages of their outputs.
///
/// A tensor in memory at the start of a stage may be paged out in it. From the next stage on, it
/// stays in secondary storage permanently. A tensor there may be paged in during a stage, and is in
/// memory when the next one starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoetSchedule {
    /// `R` and `SRam`.
    pub schedule: CheckmateSchedule,
    /// `MOut`: for each node, the stage in which its output is paged out, if any.
    pub paged_out: Vec<Option<u32>>,
    /// `MIn[t, i]`: true if stage `t` pages in the output of node `i`. Shape `n x n`.
    pub paged_in: BitMatrix,
}

impl PoetSchedule {
    /// A schedule without pages.
    ///
    /// ```
    /// use remat_instances::schedule::{CheckmateSchedule, PoetSchedule};
    ///
    /// let instance = remat_instances::zoo::build(&"zoo:chain?n=4".parse()?)?;
    /// let all = PoetSchedule::plain(CheckmateSchedule::checkpoint_all(&instance));
    /// assert_eq!(all.paged_in.count_ones(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn plain(schedule: CheckmateSchedule) -> Self {
        let n = schedule.retained.columns();
        PoetSchedule {
            schedule,
            paged_out: vec![None; n],
            paged_in: BitMatrix::new(n, n),
        }
    }
}
