//! Operators in fewer time steps than there are operators: several share a step, and all their
//! outputs count together.

use remat_instances::order::{OperatorId, OrderProblem};
use remat_search::random::SplitMix64;

/// Numbers that tune the search for steps. They do not change proven bounds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PackTuning {
    /// Limit on the moves of one operator to another step.
    pub moves: u64,
    /// Excess, as a share of the initial one, at which a worse move is accepted with probability
    /// 1/e: at first, and at last.
    pub heat: [f64; 2],
}

impl Default for PackTuning {
    fn default() -> Self {
        // Half a second for 500 operators. All published graphs but GoogLeNet get within 0.3% of
        // the bound of all orders; a hotter start brings no gain.
        PackTuning {
            moves: 300_000,
            heat: [0.03, 1e-5],
        }
    }
}

/// Operators that run at steps of their windows, each behind all its predecessors.
pub(super) struct Packing<'a> {
    pub problem: &'a OrderProblem,
    /// First and last step of each operator, from 0.
    pub windows: &'a [(u32, u32)],
    /// Number of steps.
    pub steps: u32,
    /// By storage: a step at which it must still be in memory.
    pub forced: &'a [Option<u32>],
}

/// Steps of operators, and memory of each step.
#[derive(Clone)]
struct PackState<'a> {
    packing: &'a Packing<'a>,
    step_of: Vec<u32>,
    memory: Vec<i64>,
    /// By operator: storages that it makes, or reads.
    near: Vec<Vec<u32>>,
    target: i64,
}

impl Packing<'_> {
    /// One operator a step, in an order, as early as windows allow; `None` if that does not fit.
    pub fn one_by_one(&self, order: &[OperatorId]) -> Option<Vec<u32>> {
        let mut step_of = vec![0; self.windows.len()];
        let mut next = 0;
        for v in order {
            let (first, last) = self.windows[v.index()];
            let step = first.max(next);
            (step <= last).then_some(())?;
            step_of[v.index()] = step;
            next = step + 1;
        }
        Some(step_of)
    }

    /// Steps with little memory, at best the target (resident memory included); `None` if a window
    /// leaves no step. The result depends only on the arguments and the seed.
    pub fn search(
        &self,
        order: &[OperatorId],
        target: u64,
        seed: u64,
        tuning: &PackTuning,
        is_over: &dyn Fn() -> bool,
    ) -> Option<Vec<u32>> {
        let starts = [self.early(order)?, self.late(order)?, self.spread(order)?];
        let states = starts
            .into_iter()
            .map(|s| PackState::new(self, s, target as i64));
        let mut best = states.min_by_key(PackState::peak)?;
        if best.peak() > best.target {
            let mut state = best.clone();
            state.anneal(&mut best, seed, tuning, is_over);
            best.descend();
        }
        Some(best.step_of)
    }

    /// All operators as early as possible.
    fn early(&self, order: &[OperatorId]) -> Option<Vec<u32>> {
        self.placed(order, &|_, first, _| first)
    }

    /// All operators as late as possible.
    fn late(&self, order: &[OperatorId]) -> Option<Vec<u32>> {
        let mut step_of = vec![0; self.windows.len()];
        for v in order.iter().rev().map(|v| v.index()) {
            let (first, last) = self.windows[v];
            let behind = self.problem.successors(v).iter();
            let limit = behind
                .map(|w| step_of[*w as usize])
                .min()
                .unwrap_or(self.steps);
            let step = last.min(limit.checked_sub(1)?);
            (step >= first).then_some(())?;
            step_of[v] = step;
        }
        Some(step_of)
    }

    /// In the order, as evenly as windows allow.
    fn spread(&self, order: &[OperatorId]) -> Option<Vec<u32>> {
        let late = self.late(order)?;
        let len = order.len().max(1) as u64;
        self.placed(order, &|k, first, v| {
            let even = (k as u64 * u64::from(self.steps) / len) as u32;
            even.clamp(first, late[v].max(first))
        })
    }

    /// Steps by a rule that maps place in the order, first step and operator to a step.
    fn placed(
        &self,
        order: &[OperatorId],
        rule: &dyn Fn(usize, u32, usize) -> u32,
    ) -> Option<Vec<u32>> {
        let mut step_of = vec![0; self.windows.len()];
        for (k, v) in order.iter().map(|v| v.index()).enumerate() {
            let (first, last) = self.windows[v];
            let before = self.problem.predecessors(v).iter();
            let before = before.map(|u| step_of[*u as usize] + 1).max().unwrap_or(0);
            let step = rule(k, first.max(before), v);
            (step <= last).then_some(())?;
            step_of[v] = step;
        }
        Some(step_of)
    }
}

impl<'a> PackState<'a> {
    fn new(packing: &'a Packing<'a>, step_of: Vec<u32>, target: i64) -> Self {
        let problem = packing.problem;
        let mut near = vec![Vec::new(); problem.len()];
        for (s, storage) in problem.storages().iter().enumerate() {
            near[storage.producer as usize].push(s as u32);
            for reader in storage.readers.iter().filter(|r| **r != storage.producer) {
                near[*reader as usize].push(s as u32);
            }
        }
        let mut state = PackState {
            packing,
            step_of,
            memory: vec![problem.base_bytes() as i64; packing.steps as usize],
            near,
            target,
        };
        for s in 0..problem.storages().len() {
            let bytes = problem.storages()[s].bytes as i64;
            let (begin, end) = state.life(s);
            state.memory[begin..=end]
                .iter_mut()
                .for_each(|m| *m += bytes);
        }
        for v in 0..problem.len() {
            let step = state.step_of[v] as usize;
            state.memory[step] += problem.workspace_bytes(v) as i64;
        }
        state
    }

    /// First and last step of a storage.
    fn life(&self, s: usize) -> (usize, usize) {
        let storage = &self.packing.problem.storages()[s];
        let begin = self.step_of[storage.producer as usize];
        let last = self.packing.steps - 1;
        let read = storage.readers.iter().map(|r| self.step_of[*r as usize]);
        let read = read.max().unwrap_or(begin).max(begin);
        let forced = self.packing.forced[s].map_or(begin, |f| f.min(last));
        let end = if storage.kept { last } else { read.max(forced) };
        (begin as usize, end as usize)
    }

    fn peak(&self) -> i64 {
        self.memory.iter().copied().max().unwrap_or(0)
    }

    /// Sum of squares of the memory above the target, as shares of the target.
    fn excess(&self, steps: std::ops::RangeInclusive<usize>) -> f64 {
        let scale = self.target.max(1) as f64;
        let above = self.memory[steps].iter().map(|m| (m - self.target).max(0));
        above.map(|m| (m as f64 / scale).powi(2)).sum()
    }

    /// Steps to which an operator may move alone.
    fn room(&self, v: usize) -> (u32, u32) {
        let (first, last) = self.packing.windows[v];
        let problem = self.packing.problem;
        let before = problem
            .predecessors(v)
            .iter()
            .map(|u| self.step_of[*u as usize] + 1);
        let after = problem
            .successors(v)
            .iter()
            .map(|w| self.step_of[*w as usize] - 1);
        (before.fold(first, u32::max), after.fold(last, u32::min))
    }

    /// Moves an operator to a step and returns the change of the excess.
    fn shift(&mut self, v: usize, step: u32) -> f64 {
        let problem = self.packing.problem;
        let old = self.step_of[v];
        let mut lives: Vec<(usize, (usize, usize))> = Vec::with_capacity(self.near[v].len());
        let (mut low, mut high) = (old.min(step) as usize, old.max(step) as usize);
        for &s in &self.near[v] {
            lives.push((s as usize, self.life(s as usize)));
        }
        self.step_of[v] = step;
        for (s, (begin, end)) in &lives {
            let (new_begin, new_end) = self.life(*s);
            // Only ends that moved change the memory.
            if new_begin != *begin {
                low = low.min(new_begin.min(*begin));
                high = high.max(new_begin.max(*begin));
            }
            if new_end != *end {
                low = low.min(new_end.min(*end));
                high = high.max(new_end.max(*end));
            }
        }
        let before = self.excess(low..=high);
        let workspace = problem.workspace_bytes(v) as i64;
        self.memory[old as usize] -= workspace;
        self.memory[step as usize] += workspace;
        for (s, (begin, end)) in lives {
            let bytes = problem.storages()[s].bytes as i64;
            let (new_begin, new_end) = self.life(s);
            for (from, to, sign) in [(begin, new_begin, -1), (new_begin, begin, 1)] {
                (from..to).for_each(|t| self.memory[t] += sign * bytes);
            }
            for (from, to, sign) in [(end + 1, new_end + 1, 1), (new_end + 1, end + 1, -1)] {
                (from..to).for_each(|t| self.memory[t] += sign * bytes);
            }
        }
        self.excess(low..=high) - before
    }

    /// Moves an operator to a step of its window, and its predecessors or successors out of the way
    /// as far as needed. Returns the change of the excess, and the moved operators with their old
    /// steps. `None`, with no operator moved, if a window is too narrow.
    fn push(&mut self, v: usize, step: u32) -> Option<(f64, Vec<(usize, u32)>)> {
        let problem = self.packing.problem;
        let is_later = step > self.step_of[v];
        let mut change = 0.0;
        let mut moved: Vec<(usize, u32)> = Vec::new();
        let mut waiting = vec![(v, step)];
        while let Some((v, step)) = waiting.pop() {
            let at = self.step_of[v];
            if at == step || (at > step) == is_later {
                continue;
            }
            let (first, last) = self.packing.windows[v];
            if step < first || step > last {
                self.take_back(&moved);
                return None;
            }
            moved.push((v, at));
            change += self.shift(v, step);
            if is_later {
                let behind = problem.successors(v).iter().map(|w| *w as usize);
                let behind = behind.filter(|w| self.step_of[*w] <= step);
                waiting.extend(behind.map(|w| (w, step + 1)));
            } else {
                let before = problem.predecessors(v).iter().map(|u| *u as usize);
                let before = before.filter(|u| self.step_of[*u] >= step);
                match step.checked_sub(1) {
                    Some(earlier) => waiting.extend(before.map(|u| (u, earlier))),
                    None if before.count() == 0 => {}
                    None => {
                        self.take_back(&moved);
                        return None;
                    }
                }
            }
        }
        Some((change, moved))
    }

    fn take_back(&mut self, moved: &[(usize, u32)]) {
        for &(v, step) in moved.iter().rev() {
            self.shift(v, step);
        }
    }

    fn anneal(
        &mut self,
        best: &mut PackState<'a>,
        seed: u64,
        tuning: &PackTuning,
        is_over: &dyn Fn() -> bool,
    ) {
        let mut random = Random(SplitMix64(seed));
        let free: Vec<usize> = (0..self.step_of.len())
            .filter(|v| self.packing.windows[*v].0 < self.packing.windows[*v].1)
            .collect();
        if free.is_empty() {
            return;
        }
        let all = 0..=self.memory.len() - 1;
        let [hot, cold] = tuning.heat.map(|share| share * self.excess(all.clone()));
        let mut least = best.peak();
        for k in 0..tuning.moves {
            if k % 1024 == 0 && is_over() {
                return;
            }
            let heat = hot * (cold / hot).powf(k as f64 / tuning.moves as f64);
            let v = free[random.below(free.len())];
            let (first, last) = match random.below(8) {
                0 => self.packing.windows[v],
                _ => self.room(v),
            };
            let old = self.step_of[v];
            if first >= last {
                continue;
            }
            let step = first + random.below((last - first) as usize) as u32;
            let step = step + u32::from(step >= old);
            let Some((change, moved)) = self.push(v, step) else {
                continue;
            };
            if change > 0.0 && random.share() >= (-change / heat).exp() {
                self.take_back(&moved);
                continue;
            }
            let peak = if change < 0.0 { self.peak() } else { i64::MAX };
            if peak < least {
                least = peak;
                best.clone_from(self);
                if least <= self.target {
                    return;
                }
            }
        }
    }

    /// Moves single operators while the excess falls.
    fn descend(&mut self) {
        let mut is_changed = true;
        while is_changed && self.peak() > self.target {
            is_changed = false;
            for v in 0..self.step_of.len() {
                let (first, last) = self.room(v);
                let old = self.step_of[v];
                let peak = self.peak();
                for step in first..=last {
                    let here = self.step_of[v];
                    if step != here && (self.shift(v, step) >= 0.0 || self.peak() > peak) {
                        self.shift(v, here);
                    }
                }
                is_changed |= self.step_of[v] != old;
            }
        }
    }
}

/// Random numbers by a seed.
struct Random(SplitMix64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.0.next()) * end as u128) >> 64) as usize
    }

    fn share(&mut self) -> f64 {
        (self.0.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
