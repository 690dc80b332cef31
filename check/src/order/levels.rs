//! Executed sets from which every way to the end needs the bound.
//!
//! The reason for a listed set refers only to larger listed sets, and the set of all operators is
//! not listed. So, from the largest set to the smallest, no listed set can be completed below the
//! bound.

use super::ends::{Ends, ExecutedSet};
use super::flow;
use super::lazy::lazy;
use super::parse::{Levels, Reason};
use remat_instances::order::OrderProblem;
use std::collections::{HashMap, HashSet};

/// Most operators of a block whose orders are enumerated.
const BLOCK_LIMIT: usize = 24;

/// Checks a proof by executed sets and returns their number.
pub fn check(problem: &OrderProblem, levels: &Levels, bound: u64) -> Result<usize, String> {
    let (mut ends, mut far_ends) = (Ends::forward(problem), Ends::backward(problem));
    let (mut near, mut far) = (&levels.head, &levels.tail);
    if levels.is_backward {
        (ends, far_ends) = (far_ends, ends);
        (near, far) = (far, near);
    }
    let mut start = ExecutedSet::new(&ends);
    fall(&mut start, near, bound, &vec![true; ends.len()])?;
    let mut end = ExecutedSet::new(&far_ends);
    let inside: Vec<bool> = start.done.iter().map(|done| !done).collect();
    fall(&mut end, far, bound, &inside)?;
    let inside = inside
        .iter()
        .zip(&end.done)
        .map(|(inside, done)| *inside && !done);
    let inside: Vec<bool> = inside.collect();
    let mut checker = Checker {
        lazy: lazy(&ends, &inside),
        ends: &ends,
        inside,
        bound,
        listed: HashMap::new(),
    };
    checker.check(&start, levels)?;
    Ok(levels.sets.len())
}

/// Runs operators, and checks that each frees at least the bytes that it takes and needs less than
/// the bound.
fn fall(
    run: &mut ExecutedSet<'_>,
    path: &[u32],
    bound: u64,
    inside: &[bool],
) -> Result<(), String> {
    let mut bytes = run.bytes();
    for &v in path {
        run.ends.operator(v)?;
        if !inside[v as usize] || !run.is_ready(v) {
            return Err(format!(
                "operator {v} cannot run where it is to free memory"
            ));
        }
        let (need, after) = run.step(v, bytes);
        if need >= bound || after > bytes {
            return Err(format!(
                "operator {v} takes more than it frees, or needs the bound"
            ));
        }
        bytes = after;
    }
    Ok(())
}

struct Checker<'a> {
    ends: &'a Ends,
    /// Operators between start and goal.
    inside: Vec<bool>,
    lazy: Vec<bool>,
    bound: u64,
    /// Executed sets, as words of bits.
    listed: HashMap<Vec<u64>, usize>,
}

fn words(done: &[bool]) -> Vec<u64> {
    let mut words = vec![0; done.len().div_ceil(64)];
    for v in (0..done.len()).filter(|v| done[*v]) {
        words[v / 64] |= 1 << (v % 64);
    }
    words
}

impl Checker<'_> {
    fn check(&mut self, start: &ExecutedSet<'_>, levels: &Levels) -> Result<(), String> {
        let mut sets: Vec<Vec<u64>> = Vec::with_capacity(levels.sets.len());
        for (k, listed) in levels.sets.iter().enumerate() {
            let mut set = match listed.before {
                Some(before) => sets[before].clone(),
                None => words(&start.done),
            };
            for &v in &listed.operators {
                self.ends.operator(v)?;
                set[v as usize / 64] |= 1 << (v % 64);
            }
            self.listed.insert(set.clone(), k);
            sets.push(set);
        }
        if !self.listed.contains_key(&words(&start.done)) {
            return Err("the set at the start is not listed".into());
        }
        let goal = start.done.iter().zip(&self.inside);
        let goal: Vec<bool> = goal.map(|(done, inside)| *done || *inside).collect();
        if self.listed.contains_key(&words(&goal)) {
            return Err("the set of the whole is listed, as if it could not be reached".into());
        }
        for (k, (listed, set)) in levels.sets.iter().zip(&sets).enumerate() {
            let refuse = |what: String| format!("set {k}: {what}");
            let mut run = self.load(set, &goal).map_err(refuse)?;
            let checked = match &listed.reason {
                Reason::Steps => self.steps(&mut run),
                Reason::Falls(path) => fall(&mut run, path, self.bound, &self.inside)
                    .and_then(|()| self.arrives(&run, path.len())),
                Reason::Valley(path, flow) => self.valley(&mut run, path, flow),
            };
            checked.map_err(|what| format!("set {k}: {what}"))?;
        }
        Ok(())
    }

    /// The executed set given by bits. It must hold all predecessors of its operators.
    fn load(&self, set: &[u64], goal: &[bool]) -> Result<ExecutedSet<'_>, String> {
        let mut run = ExecutedSet::new(self.ends);
        for v in 0..self.ends.len() {
            run.done[v] = set[v / 64] >> (v % 64) & 1 != 0;
        }
        for v in (0..self.ends.len()).filter(|v| run.done[*v]) {
            let mut before = self.ends.before[v].iter();
            if !goal[v] || !before.all(|u| run.done[*u as usize]) {
                return Err(format!(
                    "operator {v} has run, and what is before it has not"
                ));
            }
        }
        Ok(run)
    }

    /// Checks that the set is listed, and larger than before.
    fn arrives(&self, run: &ExecutedSet<'_>, steps: usize) -> Result<(), String> {
        match steps > 0 && self.listed.contains_key(&words(&run.done)) {
            true => Ok(()),
            false => Err("what it leads to is not listed".into()),
        }
    }

    fn valley(
        &self,
        run: &mut ExecutedSet<'_>,
        path: &[u32],
        flow: &super::parse::Flow,
    ) -> Result<(), String> {
        let from = run.clone();
        let mut bytes = run.bytes();
        for &v in path {
            self.ends.operator(v)?;
            if !self.inside[v as usize] || !run.is_ready(v) {
                return Err(format!("operator {v} cannot run there"));
            }
            let (need, after) = run.step(v, bytes);
            if need >= self.bound {
                return Err(format!(
                    "operator {v} needs {need} B on the way to the valley"
                ));
            }
            bytes = after;
        }
        let free = from
            .done
            .iter()
            .zip(&run.done)
            .map(|(before, after)| !before && *after);
        let free: Vec<bool> = free.collect();
        let least = flow::least(&from, &free, &[], flow)?;
        if least < u128::from(bytes) {
            return Err(format!("the flow proves {least} B, the valley has {bytes}"));
        }
        self.arrives(run, path.len())
    }

    /// Checks that each step needs the bound, or leads to a listed set.
    fn steps(&self, run: &mut ExecutedSet<'_>) -> Result<(), String> {
        let mut closed = vec![false; self.ends.len()];
        let bytes = run.bytes();
        for &v in &self.ends.topological {
            if !self.inside[v as usize] || run.done[v as usize] {
                continue;
            }
            let mut before = self.ends.before[v as usize].iter().map(|u| *u as usize);
            closed[v as usize] = before.all(|u| run.done[u] || (self.lazy[u] && closed[u]));
            if closed[v as usize] && !self.lazy[v as usize] {
                self.block(run, v, bytes)?;
            }
        }
        Ok(())
    }

    /// Checks the step by an operator and the lazy ones that it waits for.
    fn block(&self, run: &mut ExecutedSet<'_>, v: u32, bytes: u64) -> Result<(), String> {
        let mut block = vec![v];
        let mut next = 0;
        while let Some(&at) = block.get(next) {
            next += 1;
            for &u in &self.ends.before[at as usize] {
                if !run.done[u as usize] && !block.contains(&u) {
                    block.push(u);
                }
            }
        }
        let is_listed = |run: &mut ExecutedSet<'_>, block: &[u32]| {
            block.iter().for_each(|u| run.run(*u));
            let is_listed = self.listed.contains_key(&words(&run.done));
            block.iter().for_each(|u| run.undo(*u));
            is_listed
        };
        if is_listed(run, &block) {
            return Ok(());
        }
        // The operator itself comes last in every order of the block.
        let others = &block[1..];
        others.iter().for_each(|u| run.run(*u));
        let last = run.bytes() + run.taken(v) + self.ends.workspace[v as usize];
        others.iter().for_each(|u| run.undo(*u));
        if last >= self.bound {
            return Ok(());
        }
        if block.len() <= BLOCK_LIMIT {
            let mut seen = HashSet::new();
            if !self.fits(run, &block, bytes, 0, &mut seen) {
                return Ok(());
            }
        }
        // Each operator of the block that may come first, on its own.
        for &u in others {
            if run.is_ready(u) {
                let need = bytes + run.taken(u) + self.ends.workspace[u as usize];
                if need < self.bound && !is_listed(run, &[u]) {
                    return Err(format!("the step by operator {v} is not accounted for"));
                }
            }
        }
        match others.is_empty() {
            true => Err(format!("the step by operator {v} is not accounted for")),
            false => Ok(()),
        }
    }

    /// Returns whether the rest of a block has an order below the bound.
    fn fits(
        &self,
        run: &mut ExecutedSet<'_>,
        block: &[u32],
        bytes: u64,
        subset: u32,
        seen: &mut HashSet<u32>,
    ) -> bool {
        if subset.count_ones() as usize == block.len() {
            return true;
        }
        if !seen.insert(subset) {
            return false;
        }
        for (k, &u) in block.iter().enumerate() {
            if !run.is_ready(u) {
                continue;
            }
            let (need, after) = run.step(u, bytes);
            let fits = need < self.bound && self.fits(run, block, after, subset | 1 << k, seen);
            run.undo(u);
            if fits {
                return true;
            }
        }
        false
    }
}
