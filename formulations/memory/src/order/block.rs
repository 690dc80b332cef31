//! Blocks: an operator with the lazy ones that it waits for, and their best order.

use super::bits;
use super::side::{Side, SideRun};
use std::collections::HashMap;

/// A step of a search from one executed set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockChoice {
    /// The operator that the block ends with.
    pub operator: u32,
    /// True if it runs alone, as a ready member of a block that is too large.
    pub alone: bool,
    /// Memory that the best order of the block needs, in bytes; a lower bound if some order is
    /// within the level.
    pub need: u64,
}

/// Operators that may be branched on in one window of orders.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    lazy: Vec<bool>,
    /// The operators of the window, each behind its predecessors.
    inside: Vec<u32>,
    /// Ranks in a known order: the operator with the least rank is tried first.
    ranks: Vec<u32>,
    /// Limit on the lazy operators of a block whose best order is computed.
    block_limit: usize,
    closed: Vec<bool>,
    seen: Vec<bool>,
}

impl Blocks {
    /// The blocks of orders from `start` to `goal`.
    pub fn new(
        side: &Side,
        lazy: Vec<bool>,
        start: &[u64],
        goal: &[u64],
        ranks: Vec<u32>,
        block_limit: usize,
    ) -> Self {
        let inside = side.topological.iter().copied();
        Blocks {
            inside: inside
                .filter(|v| bits::has(goal, *v) && !bits::has(start, *v))
                .collect(),
            closed: vec![false; side.len],
            seen: vec![false; side.len],
            lazy,
            ranks,
            block_limit: block_limit.min(62),
        }
    }

    /// Operators of the window.
    pub fn inside(&self) -> &[u32] {
        &self.inside
    }

    /// The choices at an executed set, the first of the known order first. Needs above `level` are
    /// exact.
    pub fn choices(&mut self, run: &mut SideRun<'_>, level: u64) -> Vec<BlockChoice> {
        let side = run.side;
        let mut ready = Vec::new();
        let inside = std::mem::take(&mut self.inside);
        for &v in &inside {
            if run.done[v as usize] {
                continue;
            }
            let mut before = side.before.row(v).iter().map(|u| *u as usize);
            let closed = before.all(|u| run.done[u] || (self.lazy[u] && self.closed[u]));
            self.closed[v as usize] = closed;
            if closed && !self.lazy[v as usize] {
                ready.push(v);
            }
        }
        self.inside = inside;
        let mut choices = Vec::with_capacity(ready.len());
        let mut alone = Vec::new();
        for v in ready {
            match self.order(run, v, level) {
                Ok((need, _)) => choices.push(BlockChoice {
                    operator: v,
                    alone: false,
                    need,
                }),
                Err(block) => alone.extend(block.into_iter().filter(|u| run.is_ready(*u))),
            }
        }
        alone.sort_unstable();
        alone.dedup();
        choices.extend(alone.into_iter().map(|operator| BlockChoice {
            operator,
            alone: true,
            need: run.need(operator),
        }));
        choices.sort_by_key(|choice| self.ranks[choice.operator as usize]);
        choices
    }

    /// The operators of a choice in a good order: the best one if it needs more than `level`.
    pub fn path(&mut self, run: &mut SideRun<'_>, choice: &BlockChoice, level: u64) -> Vec<u32> {
        match choice.alone {
            true => vec![choice.operator],
            false => match self.order(run, choice.operator, level) {
                Ok((_, order)) | Err(order) => order,
            },
        }
    }

    /// The need of a block as in [`BlockChoice`], and a good order of it; the block itself if it is
    /// too large.
    fn order(
        &mut self,
        run: &mut SideRun<'_>,
        v: u32,
        level: u64,
    ) -> Result<(u64, Vec<u32>), Vec<u32>> {
        let side = run.side;
        if run.is_ready(v) {
            return Ok((run.need(v), vec![v]));
        }
        let mut block = vec![v];
        let mut next = 0;
        while let Some(&at) = block.get(next) {
            next += 1;
            for &u in side.before.row(at) {
                if !run.done[u as usize] && !std::mem::replace(&mut self.seen[u as usize], true) {
                    block.push(u);
                }
            }
        }
        for u in &block {
            self.seen[*u as usize] = false;
        }
        block.sort_by_key(|u| self.ranks[*u as usize]);
        // The last need is the same in any order.
        let mut last = 0;
        let needs = block.iter().map(|u| {
            last = run.run(*u);
            last
        });
        let need = needs.max().unwrap_or(0);
        for u in block.iter().rev() {
            run.undo(*u);
        }
        if need <= level || need == last {
            return Ok((last, block));
        }
        if block.len() > self.block_limit {
            return Err(block);
        }
        let mut best = Best {
            block: &block,
            known: HashMap::new(),
        };
        let need = best.from(run, 0);
        let order = best.order();
        Ok((need, order))
    }
}

/// Dynamic programme over the executed subsets of a block.
struct Best<'a> {
    block: &'a [u32],
    /// The least need from a subset on, and the next operator.
    known: HashMap<u64, (u64, usize)>,
}

impl Best<'_> {
    fn from(&mut self, run: &mut SideRun<'_>, subset: u64) -> u64 {
        if subset.count_ones() as usize == self.block.len() {
            return 0;
        }
        if let Some((need, _)) = self.known.get(&subset) {
            return *need;
        }
        let mut best = (u64::MAX, 0);
        for (k, &v) in self.block.iter().enumerate() {
            if !run.is_ready(v) {
                continue;
            }
            let need = run.run(v);
            let need = match need < best.0 {
                true => need.max(self.from(run, subset | 1 << k)),
                false => need,
            };
            run.undo(v);
            if need < best.0 {
                best = (need, k);
            }
        }
        self.known.insert(subset, best);
        best.0
    }

    fn order(&self) -> Vec<u32> {
        let mut subset = 0;
        let mut order = Vec::with_capacity(self.block.len());
        while let Some((_, k)) = self.known.get(&subset) {
            order.push(self.block[*k]);
            subset |= 1 << k;
        }
        order
    }
}
