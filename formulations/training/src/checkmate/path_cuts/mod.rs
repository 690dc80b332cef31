//! Path cuts and path memory cuts: the price of making a whole tensor anew.
//!
//! A node `q` is read in stage `b` (by the node of stage `b`). Take any stage `a <= b` behind the
//! first computation of `q`, and any path `j = p_0 -> p_1 -> .. -> p_k = q` of the graph. If no
//! `p_l` is held when stage `a` starts, `q` is recomputed in some stage of `[a, b]`. Its input
//! `p_{k-1}` is there then, and as it was not held at `a`, it was recomputed in the window as well;
//! and so on to `j`. Hence for every schedule
//!
//! ```text
//! path cut:         sum_l S[a,p_l] + sum_{t=a..b} R[t,j]  >=  1
//! ```
//!
//! Moreover `j` is computed *whole* at one moment of the window. Its inputs, its output and its
//! workspace are in memory then (`need_j` bytes together), beside all tensors that stay in memory
//! throughout. `D_k = S[b+1,k] - sum_{t=a..b} R[t,k]` is at most 1 for `k < a`, and 1 only if `k`
//! stays throughout. Let `J` be any set of such tensors, apart from `j` and its inputs. Let `g` be
//! the bytes of other tensors that are there in every stage of the window. Then
//!
//! ```text
//! path memory cut:  sum_{k in J} m_k D_k + need_j (1 - sum_l S[a,p_l])  <=  capacity - g
//! ```
//!
//! (If some `p_l` is held, the second term is at most 0, and the row says that the staying tensors
//! of `J` fit, which they do.)
//!
//! The tensors in memory beside them change from stage to stage (one gradient gives way to the
//! next). For each stage of the window, let `G_t` be any tensors except `j`, its inputs and the
//! tensors of `J`. Let `g` be the least of their total sizes. At the moment `(t,j)` in which `j` is
//! computed, at least `g - sum of m_k (1 - covers_k(t,j)) over G_t` bytes of them are there. So at
//! least `g` less that sum over the whole window is there. With this `g`, the left side gets
//! `- sum_t sum_{k in G_t} m_k (1 - covers_k(t,j))`. It needs `covers`, which only the interval
//! form has. The compact form takes the gradients that its space keeps, for which it is constant.
//!
//! With `k` micro-batches in flight, the others hold `(k - 1) saved` bytes at every event, so also
//! at the moment in which `j` is computed: the left side gets `(k - 1) saved`, which is linear in
//! the columns that cover the wait.
//!
//! Separation is a shortest path: for fixed `q`, walk backwards from `q` through the inputs with
//! `d_i(a) = S[a,i] + min over users of i on the way`, for all `a` at once; stop where `d` is near
//! one. Prefix sums of `R` give the rest. `d` does not depend on `b`, so one walk serves all
//! readers of `q`.

mod memory;
mod point;
mod walk;

pub use memory::{MemoryCandidate, walk_memory};
pub use point::{FractionalPoint, PointBuilder, Steps};
pub use walk::separate;
pub(crate) use walk::separate_for;

pub use remat_solver::price::SeparationSettings;

use super::CheckmateGraph;
use remat_instances::schedule::CheckmateSchedule;

/// A path cut. Ordered, so that sets of cuts are deterministic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathCut {
    /// The stage `b` whose node reads the end of the path.
    pub reader: u32,
    /// The stage `a` at whose start a tensor of the path is held; otherwise its first node is
    /// recomputed from there on.
    pub from: u32,
    /// The path, `j` first, `q` last; at least one node, all numbered below `from`.
    pub path: Vec<u32>,
}

impl PathCut {
    /// `j`, the first node of the path.
    pub fn source(&self) -> u32 {
        self.path[0]
    }

    /// Returns whether the cut is valid: an edge between neighbours of the path, a reader, and
    /// stages in order.
    pub fn is_valid(&self, graph: &CheckmateGraph) -> bool {
        let edge = |u: u32, v: u32| graph.needs[v as usize].contains(&u);
        let Some(&needed) = self.path.last() else {
            return false;
        };
        self.path.windows(2).all(|w| edge(w[0], w[1]))
            && edge(needed, self.reader)
            && needed < self.from
            && self.from <= self.reader
    }

    /// The left side at a schedule: at least 1 at every schedule that executes.
    pub fn activity(&self, schedule: &CheckmateSchedule) -> usize {
        let (a, b, j) = (
            self.from as usize,
            self.reader as usize,
            self.source() as usize,
        );
        let held = self
            .path
            .iter()
            .filter(|&&p| schedule.retained.get(a, p as usize))
            .count();
        held + (a..=b).filter(|&t| schedule.computed.get(t, j)).count()
    }
}

/// A path memory cut: the path, and the tensors whose stay through the window is charged.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathMemoryCut {
    /// Need, window and path.
    pub path: PathCut,
    /// `J`: tensors numbered below `path.from`, neither `j` nor its inputs, ascending.
    pub staying: Vec<u32>,
    /// `g`: bytes that are in memory in every stage of the window apart from the tensors of `J`,
    /// `j` and its inputs. With `companions`, the least of their bytes in any stage.
    pub other_bytes: u64,
    /// `G_t` as (stage `t`, tensor), ascending: tensors that are expected in memory at event
    /// `(t,j)`, neither in `J` nor `j` nor its inputs. For the interval form only.
    pub companions: Vec<(u32, u32)>,
}

impl PathMemoryCut {
    /// Capacity less the left side at a schedule, in bytes: at least 0 at every schedule that fits
    /// and in which `other_bytes` are there.
    pub fn slack(&self, graph: &CheckmateGraph, schedule: &CheckmateSchedule) -> i128 {
        let (a, b) = (self.path.from as usize, self.path.reader as usize);
        let n = graph.len();
        let stay = |k: usize| {
            let kept = b + 1 < n && schedule.retained.get(b + 1, k);
            let made = (a..=b).filter(|&t| schedule.computed.get(t, k)).count();
            i128::from(kept) - made as i128
        };
        let staying: i128 = self
            .staying
            .iter()
            .map(|&k| i128::from(graph.bytes[k as usize]) * stay(k as usize))
            .sum();
        let held = |p: &&u32| schedule.retained.get(a, **p as usize);
        let held = self.path.path.iter().filter(held).count() as i128;
        let need = i128::from(graph.need_bytes(self.path.source() as usize));
        let waits = |wait: &u32, k: usize| schedule.retained.get(*wait as usize + 1, k);
        let waiting = graph
            .waiting
            .map(|w| w.stage)
            .filter(|w| (*w as usize) + 1 < n);
        let waiting: u64 = waiting.map_or(0, |wait| {
            let sizes = graph.gauges[0].waiting.iter().enumerate();
            sizes
                .filter(|(k, _)| waits(&wait, *k))
                .map(|(_, bytes)| bytes)
                .sum()
        });
        i128::from(graph.capacity)
            - i128::from(waiting)
            - i128::from(self.other_bytes)
            - staying
            - need * (1 - held)
    }
}

/// A violated cut, its violation and its score.
#[derive(Clone, Debug, PartialEq)]
pub struct ViolatedCut<C> {
    /// The cut.
    pub cut: C,
    /// Violation: 1 less the activity for path cuts, the excess as a share of `need_j` for path
    /// memory cuts.
    pub violation: f64,
    /// Violation weighted by the cost of the recomputation.
    pub score: f64,
}
