//! Pieces of a plan's memory over its moments, each stretch with its class.

use super::classes::Class;
use super::document::{PiecesJson, SegmentsJson};
use super::moments::{Change, Moments};
use remat_instances::simulate::{PieceOf, PlanLife, PlanLives, Replay};

/// Pieces and their stretches; [`Pieces::credits`] compares them with the replay.
#[derive(Default)]
pub struct Pieces {
    pub json: PiecesJson,
    pub segments: SegmentsJson,
    /// For each piece the position of its life.
    pub origin: Vec<usize>,
}

impl Pieces {
    /// Pieces of the lives of a plan; `moments` are those of the same plan.
    pub fn of(lives: &PlanLives, moments: &Moments, replay: &Replay) -> Self {
        let mut out = Pieces::default();
        for (k, life) in lives.lives().iter().enumerate() {
            out.life(life, moments, replay.waiting_bytes);
            out.origin.resize(out.json.kind.len(), k);
        }
        if replay.waiting_bytes > 0 {
            let piece = out.piece(3, -1, 0);
            let end = moments.json.kind.len();
            out.segment(piece, (0, end), replay.waiting_bytes, Class::Waiting);
            out.origin.push(usize::MAX);
        }
        out
    }

    /// Adds a piece: 0 fixed, 1 tensor, 2 workspace, 3 other micro-batches.
    pub fn piece(&mut self, kind: u8, node: i64, filled: usize) -> usize {
        self.json.kind.push(kind);
        self.json.node.push(node);
        self.json.filled.push(filled);
        self.json.kind.len() - 1
    }

    /// Adds a stretch of a piece, unless it is empty.
    pub fn segment(
        &mut self,
        piece: usize,
        (begin, end): (usize, usize),
        bytes: u64,
        class: Class,
    ) {
        if begin >= end || bytes == 0 {
            return;
        }
        let out = &mut self.segments;
        out.piece.push(piece);
        out.begin.push(begin);
        out.end.push(end);
        out.bytes.push(bytes);
        out.class.push(class.index());
    }

    fn life(&mut self, life: &PlanLife, moments: &Moments, waiting_bytes: u64) {
        let node = life.node.map_or(-1, |node| i64::from(node.0));
        let at = |moment: usize| moments.places[moment.min(moments.places.len() - 1)];
        match life.of {
            PieceOf::Fixed(_) => {
                let class = match life.node {
                    None => Class::Fixed,
                    Some(_) => Class::Added,
                };
                // Memory before the step exists before its first moment.
                let first = match life.begin {
                    0 => 0,
                    begin => at(begin).1,
                };
                let piece = self.piece(0, node, first);
                let mut begin = first;
                for stretch in &life.stretches {
                    self.segment(piece, (begin, at(stretch.end).1), stretch.bytes, class);
                    begin = at(stretch.end).1;
                }
            }
            PieceOf::Workspace(_) => {
                let own = at(life.begin).1;
                let bytes = life.bytes().saturating_sub(waiting_bytes);
                let piece = self.piece(2, node, own);
                self.segment(piece, (own, own + 1), bytes, Class::Workspace);
            }
            PieceOf::Tensor(statement) => {
                let known = moments.changes.get(&statement);
                self.tensor(life, node, moments, known.map_or(&[], |list| list));
            }
        }
    }

    fn tensor(&mut self, life: &PlanLife, node: i64, moments: &Moments, changes: &[Change]) {
        let at = |moment: usize| moments.places[moment.min(moments.places.len() - 1)];
        let end = at(life.end()).0;
        // A tensor computed in place is another node's; each has a piece of its own name.
        let mut owner = changes.first().map_or(node, |c| i64::from(c.node.0));
        let filled = changes.first().map_or(at(life.begin).0, |c| c.from);
        let mut piece = self.piece(1, owner, filled);
        let mut begin = at(life.begin).0;
        let last = life.stretches.len() - 1;
        for (k, stretch) in life.stretches.iter().enumerate() {
            let until = match k == last {
                true => end,
                false => at(stretch.end).1,
            };
            while begin < until {
                let now = changes.iter().rev().find(|c| c.from <= begin);
                let now = now.or(changes.first());
                let next = changes.iter().map(|c| c.from).find(|from| *from > begin);
                let stop = next.map_or(until, |next| next.min(until));
                let class = now.map_or(Class::Passing, |c| match c.class {
                    Class::Kept if end <= moments.backward => Class::Passing,
                    class => class,
                });
                if let Some(now) = now
                    && i64::from(now.node.0) != owner
                {
                    owner = i64::from(now.node.0);
                    piece = self.piece(1, owner, now.from);
                }
                self.segment(piece, (begin, stop), stretch.bytes, class);
                begin = stop;
            }
        }
    }

    /// Memory of the pieces at each moment, in bytes.
    pub fn sums(&self, moments: usize) -> Vec<u64> {
        let mut change = vec![0i128; moments + 1];
        let list = &self.segments;
        for k in 0..list.piece.len() {
            change[list.begin[k]] += i128::from(list.bytes[k]);
            change[list.end[k]] -= i128::from(list.bytes[k]);
        }
        let sums = change.iter().scan(0i128, |sum, more| {
            *sum += more;
            Some(*sum as u64)
        });
        sums.take(moments).collect()
    }

    /// Moments at which the pieces exceed the memory `bytes` of the replay, with the excess.
    pub fn credits(&self, bytes: &[u64]) -> Vec<(usize, u64)> {
        let sums = self.sums(bytes.len()).into_iter().zip(bytes).enumerate();
        let excess = sums.map(|(at, (sum, bytes))| (at, sum.saturating_sub(*bytes)));
        excess.filter(|(_, excess)| *excess > 0).collect()
    }
}
