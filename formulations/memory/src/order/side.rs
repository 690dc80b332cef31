//! An order problem seen from one end. Operators run one by one; a storage is taken by the first of
//! some operators and freed by the last of others.
//!
//! Read forwards, a storage is taken by its producer and freed by its last reader. Read backwards,
//! from the end of the step, it is taken by the first of its readers to be undone and freed by its
//! producer. Both are one kind of problem. The memory of an executed set is submodular either way,
//! so that every rule and search is written once (`docs/theory/order.md`, "Theory").

use super::bits;
use remat_instances::order::OrderProblem;

/// Lists of numbers, one after the other in one array.
#[derive(Clone, Debug, Default)]
pub(super) struct NumberLists {
    start: Vec<u32>,
    items: Vec<u32>,
}

impl NumberLists {
    /// The given lists.
    pub fn of<I: IntoIterator<Item = u32>>(lists: impl Iterator<Item = I>) -> Self {
        let mut all = NumberLists {
            start: vec![0],
            items: Vec::new(),
        };
        for list in lists {
            all.items.extend(list);
            all.start.push(all.items.len() as u32);
        }
        all
    }

    /// A list by its number.
    #[inline]
    pub fn row(&self, i: u32) -> &[u32] {
        let i = i as usize;
        &self.items[self.start[i] as usize..self.start[i + 1] as usize]
    }

    /// For each of `count` numbers the lists that hold it, ascending.
    pub fn transposed(&self, count: usize) -> NumberLists {
        let mut rows = vec![Vec::new(); count];
        for i in 0..self.start.len() - 1 {
            for item in self.row(i as u32) {
                rows[*item as usize].push(i as u32);
            }
        }
        NumberLists::of(rows.into_iter())
    }
}

/// Direction in which a side reads the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// From the first operator to the last.
    Forward,
    /// From the last operator to the first.
    Backward,
}

/// An order problem from one end. Operators are numbered as in the graph, storages as in the
/// problem.
#[derive(Clone, Debug)]
pub(super) struct Side {
    pub direction: Direction,
    /// Number of operators.
    pub len: usize,
    /// Memory at this end, in bytes.
    pub base_bytes: u64,
    /// Operators that are run before one, and behind it.
    pub before: NumberLists,
    pub after: NumberLists,
    /// Storages that an operator takes if it is the first maker, and storages it may be the last to
    /// hold.
    pub makes: NumberLists,
    pub uses: NumberLists,
    /// The same by storage.
    pub makers: NumberLists,
    pub users: NumberLists,
    /// Size of each storage in bytes.
    pub bytes: Vec<u64>,
    /// True for storages that are in memory at this end.
    pub there: Vec<bool>,
    /// True for storages that are never freed.
    pub stays: Vec<bool>,
    /// Workspace of each operator in bytes.
    pub workspace: Vec<u64>,
    /// Operators, each behind those that are run before it.
    pub topological: Vec<u32>,
}

impl Side {
    /// The problem from the beginning of the step.
    pub fn forward(problem: &OrderProblem) -> Self {
        let n = problem.len();
        let storages = problem.storages();
        let makers = NumberLists::of(storages.iter().map(|s| [s.producer]));
        let users = NumberLists::of(storages.iter().map(|s| s.readers.iter().copied()));
        let lists = |row: &dyn Fn(usize) -> Vec<u32>| NumberLists::of((0..n).map(row));
        Side {
            direction: Direction::Forward,
            len: n,
            base_bytes: problem.base_bytes(),
            before: lists(&|v| problem.predecessors(v).to_vec()),
            after: lists(&|v| problem.successors(v).to_vec()),
            makes: makers.transposed(n),
            uses: users.transposed(n),
            makers,
            users,
            bytes: storages.iter().map(|s| s.bytes).collect(),
            there: vec![false; storages.len()],
            stays: storages.iter().map(|s| s.kept).collect(),
            workspace: (0..n).map(|v| problem.workspace_bytes(v)).collect(),
            topological: problem.topological_order().to_vec(),
        }
    }

    /// The problem from the end of the step.
    pub fn backward(problem: &OrderProblem) -> Self {
        let side = Side::forward(problem);
        let kept = side.bytes.iter().zip(&side.stays);
        let kept: u64 = kept.filter(|(_, stays)| **stays).map(|(b, _)| *b).sum();
        Side {
            direction: Direction::Backward,
            len: side.len,
            base_bytes: side.base_bytes + kept,
            before: side.after,
            after: side.before,
            makes: side.uses,
            uses: side.makes,
            makers: side.users,
            users: side.makers,
            there: side.stays,
            stays: side.there,
            topological: side.topological.into_iter().rev().collect(),
            bytes: side.bytes,
            workspace: side.workspace,
        }
    }

    /// The side with more pairs of operators of which the first runs before the second, acyclic.
    pub fn with_precedence(&self, pairs: &[[u32; 2]]) -> Side {
        let row = |v: u32| self.before.row(v).to_vec();
        let mut before: Vec<Vec<u32>> = (0..self.len as u32).map(row).collect();
        pairs.iter().for_each(|[a, b]| before[*b as usize].push(*a));
        let before = NumberLists::of(before.into_iter());
        let after = before.transposed(self.len);
        let mut waits: Vec<usize> = (0..self.len as u32).map(|v| before.row(v).len()).collect();
        let is_ready = |v: &u32| waits[*v as usize] == 0;
        let mut topological: Vec<u32> = self.topological.iter().copied().filter(is_ready).collect();
        let mut at = 0;
        while let Some(&v) = topological.get(at) {
            for w in after.row(v) {
                waits[*w as usize] -= 1;
                if waits[*w as usize] == 0 {
                    topological.push(*w);
                }
            }
            at += 1;
        }
        debug_assert_eq!(topological.len(), self.len, "the pairs form no cycle");
        Side {
            before,
            after,
            topological,
            ..self.clone()
        }
    }

    /// An order of this side as an order of the graph, or the other way round.
    pub fn turned(&self, mut order: Vec<u32>) -> Vec<u32> {
        if self.direction == Direction::Backward {
            order.reverse();
        }
        order
    }

    /// The places in this side's topological order.
    pub fn ranks_of_topological(&self) -> Vec<u32> {
        let mut ranks = vec![0; self.len];
        for (k, v) in self.topological.iter().enumerate() {
            ranks[*v as usize] = k as u32;
        }
        ranks
    }

    /// The ranks of operators in an order of the graph, as this side reads it: the first one has
    /// rank 0.
    pub fn ranks(&self, order: &[u32]) -> Vec<u32> {
        let mut ranks = vec![0; self.len];
        for (k, v) in order.iter().enumerate() {
            ranks[*v as usize] = match self.direction {
                Direction::Forward => k as u32,
                Direction::Backward => (self.len - 1 - k) as u32,
            };
        }
        ranks
    }
}

/// An executed set, with the counts that the next operator needs.
#[derive(Clone, Debug)]
pub(super) struct SideRun<'a> {
    pub side: &'a Side,
    pub done: Vec<bool>,
    /// Operators that each operator still waits for.
    waits: Vec<u32>,
    /// Makers of each storage that have run, one more if it was there at the beginning.
    born: Vec<u32>,
    /// Users of each storage that have not run, one more if it stays.
    left: Vec<u32>,
    /// Memory in bytes.
    pub bytes: u64,
    /// The largest memory in bytes since the beginning or the last [`SideRun::load`], including the
    /// memory there. Undoing leaves it.
    pub peak: u64,
    /// Operators that have run.
    pub count: usize,
}

impl<'a> SideRun<'a> {
    /// The empty set.
    pub fn new(side: &'a Side) -> Self {
        let mut run = SideRun {
            side,
            done: vec![false; side.len],
            waits: vec![0; side.len],
            born: vec![0; side.bytes.len()],
            left: vec![0; side.bytes.len()],
            bytes: 0,
            peak: 0,
            count: 0,
        };
        run.reset();
        run
    }

    fn reset(&mut self) {
        let side = self.side;
        self.done.fill(false);
        for v in 0..side.len {
            self.waits[v] = side.before.row(v as u32).len() as u32;
        }
        for t in 0..side.bytes.len() {
            self.born[t] = u32::from(side.there[t]);
            self.left[t] = side.users.row(t as u32).len() as u32 + u32::from(side.stays[t]);
        }
        self.bytes = side.base_bytes;
        self.peak = self.bytes;
        self.count = 0;
    }

    /// Goes to an executed set.
    pub fn load(&mut self, set: &[u64]) {
        self.reset();
        let side = self.side;
        for v in bits::ones(set) {
            self.done[v as usize] = true;
            self.count += 1;
            side.after
                .row(v)
                .iter()
                .for_each(|w| self.waits[*w as usize] -= 1);
            side.makes
                .row(v)
                .iter()
                .for_each(|t| self.born[*t as usize] += 1);
            side.uses
                .row(v)
                .iter()
                .for_each(|t| self.left[*t as usize] -= 1);
        }
        // Storages in memory at this end are part of its base.
        for t in 0..side.bytes.len() {
            let is = self.born[t] > 0 && self.left[t] > 0;
            match (side.there[t], is) {
                (true, false) => self.bytes -= side.bytes[t],
                (false, true) => self.bytes += side.bytes[t],
                _ => {}
            }
        }
        self.peak = self.bytes;
    }

    /// Returns whether an operator may run next.
    #[inline]
    pub fn is_ready(&self, v: u32) -> bool {
        self.waits[v as usize] == 0 && !self.done[v as usize]
    }

    /// Returns whether a storage was taken.
    #[inline]
    pub fn is_born(&self, t: u32) -> bool {
        self.born[t as usize] > 0
    }

    /// Users of a storage that have not run, one more if it stays.
    #[inline]
    pub fn left_of(&self, t: u32) -> u32 {
        self.left[t as usize]
    }

    /// Returns whether a storage is in memory.
    #[inline]
    pub fn is_there(&self, t: u32) -> bool {
        self.is_born(t) && self.left[t as usize] > 0
    }

    /// Bytes that an operator takes beside its workspace.
    #[inline]
    pub fn taken(&self, v: u32) -> u64 {
        let makes = self.side.makes.row(v).iter();
        let first = makes.filter(|t| self.born[**t as usize] == 0);
        first.map(|t| self.side.bytes[*t as usize]).sum()
    }

    /// Bytes that an operator frees.
    #[inline]
    pub fn freed(&self, v: u32) -> u64 {
        let uses = self.side.uses.row(v).iter();
        let last = uses.filter(|t| self.left[**t as usize] == 1);
        last.map(|t| self.side.bytes[*t as usize]).sum()
    }

    /// Memory while an operator runs next, in bytes.
    #[inline]
    pub fn need(&self, v: u32) -> u64 {
        self.bytes + self.taken(v) + self.side.workspace[v as usize]
    }

    /// Runs an operator that is ready; returns the memory while it ran.
    pub fn run(&mut self, v: u32) -> u64 {
        debug_assert!(self.is_ready(v));
        let side = self.side;
        self.done[v as usize] = true;
        self.count += 1;
        for w in side.after.row(v) {
            self.waits[*w as usize] -= 1;
        }
        for t in side.makes.row(v) {
            let born = &mut self.born[*t as usize];
            if *born == 0 {
                self.bytes += side.bytes[*t as usize];
            }
            *born += 1;
        }
        let need = self.bytes + side.workspace[v as usize];
        self.peak = self.peak.max(need);
        for t in side.uses.row(v) {
            let left = &mut self.left[*t as usize];
            *left -= 1;
            if *left == 0 {
                self.bytes -= side.bytes[*t as usize];
            }
        }
        need
    }

    /// Undoes an operator. Its successors must not have run.
    pub fn undo(&mut self, v: u32) {
        let side = self.side;
        self.done[v as usize] = false;
        self.count -= 1;
        for w in side.after.row(v) {
            self.waits[*w as usize] += 1;
        }
        for t in side.uses.row(v) {
            let left = &mut self.left[*t as usize];
            if *left == 0 {
                self.bytes += side.bytes[*t as usize];
            }
            *left += 1;
        }
        for t in side.makes.row(v) {
            let born = &mut self.born[*t as usize];
            *born -= 1;
            if *born == 0 {
                self.bytes -= side.bytes[*t as usize];
            }
        }
    }
}
