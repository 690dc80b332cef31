//! Path memory cuts that charge both ways: the computation of the source, and storage in its place.
//!
//! In the situation of a path cut there are two ways. Either `j` is computed whole in some stage of
//! `[a,b]`, or a tensor of the paths is stored when stage `a` begins. Each way takes memory beside
//! the tensors `J` that stay throughout. A relaxation that mixes the two ways has room for more
//! than either leaves. Let `D_k` be as for path memory cuts (`since = a`), and `G` some tensors
//! outside `J` and the paths. Let `room'_a` be the room for tensors that are stored when `a`
//! begins, and `r` any of the rooms of `[a,b]`:
//!
//! ```text
//! sum_J m_k D_k + need_j (sum_ways M[b,p] - sum_stored S[a,p]) + sum_stored (m_p + more) S[a,p]
//!     - sum_G m_k (1 - S[a,k]) - sum_{t=a..b} min(need_j, max(0, room_t - r)) R[t,j]   <=   r,
//! more = r - room'_a + sum_G m_k
//! ```
//!
//! `room'_a` is the room at the first turn of stage `a`. Or it is the room at the backward node
//! before, less the workspace and the reads of its smallest way. In any way, the tensors that this
//! node reads are stored then or held.
//!
//! Suppose that no tensor of the paths is stored. If one of the ways is chosen, `j` is computed in
//! some `t`, and the staying tensors fit beside it in `room_t`. If no way is chosen, the staying
//! tensors fit in every room of the window. Now suppose that `s >= 1` tensors of the paths are
//! stored. These, the staying tensors and all tensors of `G` that are not missing are there when
//! `a` begins. So the left side is at most `r + (s - 1) (more - need_j)`: `more` is at most
//! `need_j` where `s` may be 2. Any part of the bytes of a tensor of `G` may count.

use super::rows::RowKind;
use super::{Derivation, MonetGraph, PathCut, Point, Row};
use crate::life::{Term, Which};

/// Tensors with a smaller value count as absent.
const ABSENT: f64 = 1e-6;
/// Steps into which estimates divide the stored amount of the paths.
const LEVELS: usize = 8;

/// Charge at the beginning of a stage: at the turn of its first node, or at the backward node
/// before if that has less room.
pub(super) struct Beginning {
    stage: usize,
    /// Bytes for all tensors that are there.
    room: i64,
    /// Tensors that some choice of the backward node before reads, if tensors held for that node
    /// are charged too.
    reads: Option<Vec<u32>>,
}

impl Beginning {
    /// The beginning of a stage from 1 on.
    pub fn of(graph: &MonetGraph, stage: usize) -> Beginning {
        let first = graph.room[stage];
        let before = graph.backward_room[stage - 1];
        let choices = &graph.choices[stage - 1];
        let scratch = choices.iter().map(|c| c.workspace).min();
        // Stage 0 has no backward node.
        if stage == 1 || before - scratch.unwrap_or(0) > first {
            return Beginning {
                stage,
                room: first,
                reads: None,
            };
        }
        let mut reads: Vec<u32> = choices.iter().flat_map(|c| &c.reads).copied().collect();
        reads.sort_unstable();
        reads.dedup();
        Beginning {
            stage,
            room: before,
            reads: Some(reads),
        }
    }

    /// Bytes for tensors beside the backward node. In any way, its workspace and the tensors that
    /// it reads are there; tensors for which `counts` is false are charged elsewhere.
    fn room(&self, graph: &MonetGraph, counts: impl Fn(u32) -> bool) -> i64 {
        if self.reads.is_none() {
            return self.room;
        }
        let read = |k: &u32| {
            if counts(*k) {
                graph.bytes[*k as usize]
            } else {
                0
            }
        };
        let choices = graph.choices[self.stage - 1].iter();
        let taken = choices.map(|c| c.workspace + c.reads.iter().map(read).sum::<i64>());
        self.room - taken.min().unwrap_or(0)
    }

    /// Returns whether the backward node reads a tensor.
    fn is_read(&self, k: u32) -> bool {
        let reads = self.reads.as_deref().unwrap_or_default();
        reads.binary_search(&k).is_ok()
    }

    /// Estimates the bytes that other tensors fill beyond `room`, for each step of the stored
    /// amount of the paths. A tensor counts by its bytes that stay or by its bytes that are there
    /// when the stage begins, whichever are more. `staying` lists the tensors that have such bytes,
    /// with the bytes that stay.
    pub fn fill(
        &self,
        graph: &MonetGraph,
        point: &Point,
        room: i64,
        staying: impl Iterator<Item = (u32, f64)>,
    ) -> Fill {
        let beside = (room - self.room(graph, |_| true)) as f64;
        let mut sums: [f64; LEVELS + 1] =
            std::array::from_fn(|level| beside * level as f64 / LEVELS as f64 - room as f64);
        for (k, stays) in staying {
            let bytes = graph.bytes[k as usize] as f64;
            let missing = match self.is_read(k) {
                true => 1.0,
                false => 1.0 - point.stored(self.stage, k as usize),
            };
            for (level, sum) in sums.iter_mut().enumerate() {
                let begins = level as f64 / LEVELS as f64 - missing;
                *sum += stays.max(bytes * begins);
            }
        }
        Fill(sums)
    }
}

/// An estimate of the bytes that others fill.
pub(super) struct Fill([f64; LEVELS + 1]);

impl Fill {
    /// Estimate in bytes for a stored amount of the paths.
    pub fn at(&self, stored: f64) -> f64 {
        self.0[((stored * LEVELS as f64) as usize).min(LEVELS)]
    }
}

/// The paths and stages of a cut, at a point.
struct Either<'a> {
    graph: &'a MonetGraph,
    point: &'a Point,
    cut: &'a PathCut,
    begin: Beginning,
    /// `need_j`.
    needed: i64,
    /// Bytes for tensors that are there when the window begins.
    room: i64,
    /// Amount of the paths that is stored.
    stored: f64,
    /// Bytes of the staying tensors and of the stored tensors of the paths.
    taken: f64,
    /// `J`, and how much of each stays.
    staying: Vec<(u32, f64)>,
    /// Candidates for `G`, the best first. Each has its gain in violation for each byte over its
    /// gain as a staying tensor.
    there: Vec<(u32, f64)>,
}

/// A right side, and the terms that go with it.
struct Alternative {
    right: i64,
    more: i64,
    /// Bytes of `G` that count.
    there: Vec<(u32, i64)>,
    violation: f64,
}

impl<'a> Either<'a> {
    fn new(graph: &'a MonetGraph, point: &'a Point, cut: &'a PathCut) -> Self {
        let a = cut.from as usize;
        let stored = cut.stored.iter().map(|&p| point.stored(a, p as usize));
        let mut either = Either {
            graph,
            point,
            cut,
            begin: Beginning::of(graph, a),
            room: 0,
            needed: graph.need_bytes(cut.source),
            stored: stored.sum(),
            taken: 0.0,
            staying: Vec::new(),
            there: Vec::new(),
        };
        let bytes = |k: u32| graph.bytes[k as usize];
        let is_other = |k: &u32| bytes(*k) > 0 && !cut.stored.contains(k);
        // Tensors that the backward node reads are there in one way or the other. They need not be
        // in G, nor in J if little of them stays.
        let mut left = Vec::new();
        for k in (0..graph.columns as u32).filter(is_other) {
            let stays = either.stays(k);
            if stays <= either.stored && either.begin.is_read(k) {
                left.push(k);
                continue;
            }
            let begins = either.stored - (1.0 - point.stored(a, k as usize));
            if begins > stays + ABSENT {
                either.there.push((k, begins - stays));
            }
            if stays > ABSENT {
                either.staying.push((k, stays));
            }
        }
        let best_first = |x: &(u32, f64), y: &(u32, f64)| y.1.total_cmp(&x.1).then(x.0.cmp(&y.0));
        either.there.sort_by(best_first);
        either.room = either.begin.room(graph, |k| left.binary_search(&k).is_ok());
        let on_paths = cut.stored.iter();
        let on_paths = on_paths.map(|&p| bytes(p) as f64 * point.stored(a, p as usize));
        let staying = either.staying.iter().map(|&(k, x)| bytes(k) as f64 * x);
        either.taken = staying.sum::<f64>() + on_paths.sum::<f64>();
        either
    }

    /// The stage up to whose beginning a tensor stays.
    fn upto(&self, k: u32) -> u32 {
        self.cut.reader + u32::from(k < self.cut.source)
    }

    /// Part of a tensor that stays; 0 if the computation of `j` charges the tensor.
    fn stays(&self, k: u32) -> f64 {
        let j = self.cut.source;
        if k == j || self.graph.passing[j as usize].binary_search(&k).is_ok() {
            return 0.0;
        }
        let (from, upto) = (self.cut.from as usize, self.upto(k) as usize);
        self.point.stays(k as usize, from, upto).max(0.0)
    }

    /// The stages of the window with more room than `right`, and the bytes by which this relieves a
    /// computation of `j`.
    fn roomy(&self, right: i64) -> impl Iterator<Item = (u32, i64)> {
        let stages = self.cut.from..=self.cut.reader;
        let more = move |t: u32| (self.graph.room[t as usize] - right).clamp(0, self.needed);
        stages.map(move |t| (t, more(t))).filter(|t| t.1 > 0)
    }

    /// The alternative for a right side. `need` is the sum of the values of the cut's choices.
    fn way(&self, right: i64, need: f64) -> Alternative {
        let most = match self.cut.stored.len() {
            1 => i64::MAX,
            _ => self.needed,
        };
        let bytes = |k: u32| self.graph.bytes[k as usize];
        let source = self.cut.source as usize;
        let roomy = self.roomy(right);
        let roomy = roomy.map(|(t, less)| less as f64 * self.point.made(t as usize, source));
        let mut more = (right - self.room).min(most);
        let mut violation =
            self.taken + self.needed as f64 * (need - self.stored) + more as f64 * self.stored
                - roomy.sum::<f64>()
                - right as f64;
        let mut there = Vec::new();
        for &(k, promise) in &self.there {
            let part = bytes(k).min(most.saturating_sub(more));
            // A tensor that stays moves to G only with all its bytes.
            if part == bytes(k) || (part > 0 && self.stays(k) <= ABSENT) {
                more += part;
                violation += promise * part as f64;
                there.push((k, part));
            }
        }
        Alternative {
            right,
            more,
            there,
            violation,
        }
    }

    fn row(&self, way: &Alternative) -> Row {
        let Either { graph, cut, .. } = *self;
        let (a, j) = (cut.from, cut.source);
        let mut terms = Vec::new();
        let mut right = way.right;
        for &(k, part) in &way.there {
            right += part;
            graph.stored(&mut terms, k, a, part);
        }
        let counted = |k: u32| way.there.iter().any(|t| t.0 == k);
        let staying: Vec<u32> = self
            .staying
            .iter()
            .map(|s| s.0)
            .filter(|k| !counted(*k))
            .collect();
        for &k in &staying {
            let (bytes, upto) = (graph.bytes[k as usize], self.upto(k));
            graph.stays(&mut terms, k, a, upto, bytes);
        }
        for &p in &cut.stored {
            let bytes = graph.bytes[p as usize] + way.more;
            graph.stored(&mut terms, p, a, bytes - self.needed);
        }
        let relieved = |(t, less): (u32, i64)| Term::start(j, t, t, Which::All, -less);
        terms.extend(self.roomy(way.right).map(relieved));
        let mut beside = way.there.clone();
        beside.sort_unstable();
        let derivation = Derivation::Either {
            cut: cut.clone(),
            room: way.right,
            more: way.more,
            staying,
            beside,
        };
        let mut row = Row::new(RowKind::PathMemory, right, terms, derivation);
        row.require_ways(graph, cut.reader, &cut.ways, -self.needed);
        row
    }
}

/// The most violated cut of some paths, and its violation as a share of `need_j`. `need` is the sum
/// of the values of the cut's choices.
pub(super) fn either_way(
    graph: &MonetGraph,
    point: &Point,
    cut: &PathCut,
    need: f64,
) -> Option<(f64, Row)> {
    // A source that needs no memory fits beside any tensors.
    if graph.need_bytes(cut.source) < 1 {
        return None;
    }
    let either = Either::new(graph, point, cut);
    let mut rooms = graph.room[cut.from as usize..=cut.reader as usize].to_vec();
    rooms.sort_unstable();
    rooms.dedup();
    let ways = rooms.into_iter().map(|right| either.way(right, need));
    let best = ways.max_by(|x, y| x.violation.total_cmp(&y.violation))?;
    Some((best.violation / either.needed as f64, either.row(&best)))
}
