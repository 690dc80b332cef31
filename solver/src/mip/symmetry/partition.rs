//! Ordered partitions of a graph's vertices, with undo. They are refined until all vertices of a
//! cell have the same number of neighbours of each colour in each cell (McKay 1981).

use super::graph::Graph;
use std::collections::VecDeque;

/// The splits of a refinement, as numbers that do not depend on the names of vertices. They are
/// recorded in a first refinement, and another one must repeat them.
pub(super) struct Trace<'a> {
    known: Option<&'a [u64]>,
    at: usize,
    pub made: Vec<u64>,
}

impl<'a> Trace<'a> {
    pub fn record() -> Trace<'static> {
        Trace {
            known: None,
            at: 0,
            made: Vec::new(),
        }
    }

    pub fn repeat(known: &'a [u64]) -> Trace<'a> {
        Trace {
            known: Some(known),
            at: 0,
            made: Vec::new(),
        }
    }

    fn is_complete(&self) -> bool {
        self.known.is_none_or(|known| known.len() == self.at)
    }

    /// Takes the next number. Returns whether it agrees with the recorded one.
    fn push(&mut self, v: u64) -> bool {
        match self.known {
            None => {
                self.made.push(v);
                true
            }
            Some(known) => {
                self.at += 1;
                known.get(self.at - 1) == Some(&v)
            }
        }
    }
}

fn mix(a: u64, b: u64) -> u64 {
    let h = (a ^ b.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (h ^ (h >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// A partition. The position of its first vertex identifies a cell.
pub(super) struct Partition {
    /// Vertices by position, and positions by vertex.
    pub at: Vec<u32>,
    position: Vec<u32>,
    /// Cell of each vertex; length of each cell.
    pub cell: Vec<u32>,
    pub len: Vec<u32>,
    /// A cell, and the cell that was split from its end.
    splits: Vec<(u32, u32)>,
    queue: VecDeque<u32>,
    queued: Vec<bool>,
    edges: Vec<(u32, u32)>,
    touched: Vec<(u32, u32, u32)>,
    pub ticks: u64,
}

impl Partition {
    /// The partition by colours.
    pub fn new(graph: &Graph) -> Partition {
        let n = graph.vertices();
        let mut partition = Partition {
            at: graph.order.clone(),
            position: vec![0; n],
            cell: vec![0; n],
            len: vec![0; n],
            splits: Vec::new(),
            queue: graph.cells.iter().copied().collect(),
            queued: vec![false; n],
            edges: Vec::new(),
            touched: Vec::new(),
            ticks: n as u64,
        };
        let ends = graph.cells.iter().skip(1).copied().chain([n as u32]);
        for (&start, end) in graph.cells.iter().zip(ends) {
            partition.len[start as usize] = end - start;
            partition.queued[start as usize] = true;
            for k in start..end {
                let v = partition.at[k as usize] as usize;
                partition.position[v] = k;
                partition.cell[v] = start;
            }
        }
        partition
    }

    /// Vertices of a cell.
    pub fn members(&self, cell: u32) -> &[u32] {
        let start = cell as usize;
        &self.at[start..start + self.len[start] as usize]
    }

    /// Number of splits so far, for undo.
    pub fn mark(&self) -> usize {
        self.splits.len()
    }

    pub fn undo(&mut self, mark: usize) {
        while self.splits.len() > mark {
            let Some((cell, new)) = self.splits.pop() else {
                break;
            };
            let len = std::mem::take(&mut self.len[new as usize]);
            for k in new..new + len {
                self.cell[self.at[k as usize] as usize] = cell;
            }
            self.ticks += u64::from(len);
            self.len[cell as usize] += len;
        }
    }

    fn swap(&mut self, v: u32, to: u32) {
        let from = self.position[v as usize];
        let other = self.at[to as usize];
        self.at[from as usize] = other;
        self.position[other as usize] = from;
        self.at[to as usize] = v;
        self.position[v as usize] = to;
    }

    fn enqueue(&mut self, cell: u32) {
        if !std::mem::replace(&mut self.queued[cell as usize], true) {
            self.queue.push_back(cell);
        }
    }

    /// Puts a vertex into a separate cell.
    pub fn individualise(&mut self, v: u32) {
        let cell = self.cell[v as usize];
        let last = cell + self.len[cell as usize] - 1;
        if last == cell {
            return;
        }
        self.swap(v, last);
        self.len[cell as usize] -= 1;
        self.len[last as usize] = 1;
        self.cell[v as usize] = last;
        self.splits.push((cell, last));
        self.enqueue(last);
    }

    /// Refines. Returns whether the trace agrees and the limit on ticks is kept.
    pub fn refine(&mut self, graph: &Graph, trace: &mut Trace<'_>, ticks_limit: u64) -> bool {
        while let Some(cell) = self.queue.pop_front() {
            self.queued[cell as usize] = false;
            if self.ticks > ticks_limit || !self.refine_by(graph, cell, trace) {
                for cell in std::mem::take(&mut self.queue) {
                    self.queued[cell as usize] = false;
                }
                return false;
            }
        }
        trace.is_complete()
    }

    /// Splits every cell by its vertices' numbers of neighbours in one cell.
    fn refine_by(&mut self, graph: &Graph, cell: u32, trace: &mut Trace<'_>) -> bool {
        let mut edges = std::mem::take(&mut self.edges);
        edges.clear();
        let mut single = mix(u64::from(cell), u64::from(self.len[cell as usize]));
        for &v in self.members(cell) {
            for (to, colour) in graph.edges(v as usize) {
                let c = self.cell[to as usize];
                if self.len[c as usize] == 1 {
                    single = single.wrapping_add(mix(u64::from(colour), u64::from(c)));
                } else {
                    edges.push((colour, to));
                }
            }
        }
        self.ticks += u64::from(self.len[cell as usize]) + 5 * edges.len() as u64;
        edges.sort_unstable();
        let mut right = trace.push(single);
        let mut touched = std::mem::take(&mut self.touched);
        for run in edges.chunk_by(|a, b| a.0 == b.0) {
            touched.clear();
            for same in run.chunk_by(|a, b| a.1 == b.1) {
                let v = same[0].1;
                touched.push((self.cell[v as usize], same.len() as u32, v));
            }
            touched.sort_unstable();
            for group in touched.chunk_by(|a, b| a.0 == b.0) {
                right = right && self.split(group, run[0].0, trace);
            }
            if !right {
                break;
            }
        }
        self.edges = edges;
        self.touched = touched;
        right
    }

    /// Splits a cell by the counts of some of its members; members without a count come first.
    fn split(&mut self, group: &[(u32, u32, u32)], colour: u32, trace: &mut Trace<'_>) -> bool {
        let cell = group[0].0;
        let untouched = self.len[cell as usize] - group.len() as u32;
        let mut number = mix(u64::from(cell), u64::from(colour));
        let counts = || group.chunk_by(|a, b| a.1 == b.1);
        for same in counts() {
            number = mix(number, (u64::from(same[0].1) << 32) | same.len() as u64);
        }
        if !trace.push(number) {
            return false;
        }
        if untouched == 0 && counts().count() == 1 {
            return true;
        }
        for (k, &(_, _, v)) in group.iter().enumerate() {
            self.swap(v, cell + untouched + k as u32);
        }
        // If the whole cell was processed, its largest part need not be.
        let mut largest = (untouched, cell);
        let mut start = cell + untouched;
        let mut parts = 0;
        for same in counts() {
            let len = same.len() as u32;
            if start != cell {
                for &(_, _, v) in same {
                    self.cell[v as usize] = start;
                }
                self.splits.push((cell, start));
                parts += 1;
            }
            self.len[start as usize] = len;
            if len > largest.0 {
                largest = (len, start);
            }
            start += len;
        }
        if untouched > 0 {
            self.len[cell as usize] = untouched;
        }
        let whole = self.queued[cell as usize];
        let first = self.splits.len() - parts;
        for k in first..self.splits.len() {
            let new = self.splits[k].1;
            if whole || new != largest.1 {
                self.enqueue(new);
            }
        }
        if !whole && cell != largest.1 {
            self.enqueue(cell);
        }
        true
    }
}
