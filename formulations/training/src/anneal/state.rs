//! The state of the search: retained sets, and for each stage its cost, peak memory and the tensors
//! it touches.

use super::graph::CheckmateLandscape;
use super::moves::RetainedSets;
use super::stage::{CheckmateStageScratch, CheckmateStageValue, evaluate};
use remat_instances::schedule::BitMatrix;
use remat_search::anneal::{Delta, Flip, Undo, press};
use std::ops::Range;

/// Retained sets with costs, peaks and touches of stages.
///
/// A flip requires a full evaluation of few stages: the one before the range, the last one, and
/// those in between that compute or read the tensor. (Before the range the tensor must be made, or
/// no longer has to be.) In all others the peak moves by the tensor's size. If other micro-batches
/// hold the tensor, too, the capacity of all stages moves.
#[derive(Clone)]
pub struct CheckmateState<'g> {
    graph: &'g CheckmateLandscape,
    /// `(n + 1) x words` bits: tensor retained at the start of a stage. The last row is empty.
    kept: Vec<u64>,
    held_bytes: Vec<f64>,
    /// The capacity beside other micro-batches.
    capacity: f64,
    cost: Vec<f64>,
    peak: Vec<f64>,
    /// For each tensor, the stages that compute or read it, as bits.
    touch: Vec<u64>,
    /// For each stage, the tensors it computes or reads, ascending.
    touched: Vec<Vec<u32>>,
    total_cost: f64,
    total_excess: f64,
    /// Weight of a byte of excess in each stage, at least 1.
    weight: Vec<f64>,
    /// In a program with pages, `n x words` bits: tensor in secondary storage in a stage. It is
    /// paged out in the first stage that starts with it.
    stored: Vec<u64>,
    scratch: CheckmateStageScratch,
    /// Cost and peak of stages, total cost and excess, touched tensors.
    undo: Undo<(f64, f64), (f64, f64), Vec<u32>>,
}

impl<'g> CheckmateState<'g> {
    /// The state for given retained sets (shape `n x n`).
    pub fn new(graph: &'g CheckmateLandscape, retained: &BitMatrix) -> Self {
        Self::with_stored(graph, retained, None)
    }

    /// The state for given retained sets, of a program with pages if `stored` has tensors in
    /// secondary storage. Tensors of `stored` that are never held are left out.
    pub(crate) fn with_stored(
        graph: &'g CheckmateLandscape,
        retained: &BitMatrix,
        stored: Option<&[u32]>,
    ) -> Self {
        let (n, words) = (graph.n, graph.words);
        let mut state = CheckmateState {
            graph,
            kept: vec![0; (n + 1) * words],
            held_bytes: vec![0.0; n + 1],
            capacity: graph.capacity,
            cost: vec![0.0; n],
            peak: vec![0.0; n],
            touch: vec![0; n * words],
            touched: vec![Vec::new(); n],
            total_cost: 0.0,
            total_excess: 0.0,
            weight: vec![1.0; n],
            stored: stored.map_or_else(Vec::new, |_| vec![0; n * words]),
            scratch: CheckmateStageScratch::new(graph),
            undo: Undo::default(),
        };
        for t in 0..n {
            state.kept[t * words..(t + 1) * words].copy_from_slice(retained.row(t));
            state.held_bytes[t] = retained.ones(t).map(|i| graph.bytes[i]).sum();
        }
        state.capacity = graph.capacity_beside(|t| state.held_bytes[t]);
        for i in stored.into_iter().flatten() {
            state.turn_stored(*i as usize);
        }
        for t in 0..n {
            let value = state.stage(t);
            state.total_excess += excess(value.peak, state.capacity);
            state.total_cost += value.cost;
            (state.cost[t], state.peak[t]) = (value.cost, value.peak);
            state.refresh_touches::<false>(t);
        }
        state
    }

    /// Total cost of all computations.
    pub fn cost(&self) -> f64 {
        self.total_cost
    }

    /// Bytes above capacity, summed over stages; 0 for a schedule that fits.
    pub fn excess(&self) -> f64 {
        self.total_excess
    }

    /// The retained sets, shape `n x n`.
    pub fn retained(&self) -> BitMatrix {
        let mut matrix = BitMatrix::new(self.graph.n, self.graph.n);
        for t in 0..self.graph.n {
            matrix.row_mut(t).copy_from_slice(self.row(t));
        }
        matrix
    }

    /// Returns whether a tensor is retained at the start of a stage.
    #[inline]
    pub fn is_kept(&self, tensor: usize, stage: usize) -> bool {
        self.kept[stage * self.graph.words + tensor / 64] >> (tensor % 64) & 1 != 0
    }

    /// Tensors that a stage computes or reads, ascending.
    #[inline]
    pub fn touched(&self, stage: usize) -> &[u32] {
        &self.touched[stage]
    }

    /// Peak memory of a stage in bytes, without fixed memory.
    #[inline]
    pub fn peak(&self, stage: usize) -> f64 {
        self.peak[stage]
    }

    /// First stage from `stage` on that computes or reads `tensor`.
    #[inline]
    pub fn next_touch(&self, tensor: usize, stage: usize) -> Option<usize> {
        let row = &self.touch[tensor * self.graph.words..(tensor + 1) * self.graph.words];
        let mut w = stage / 64;
        let mut word = *row.get(w)? & (!0 << (stage % 64));
        while word == 0 {
            w += 1;
            word = *row.get(w)?;
        }
        Some(w * 64 + word.trailing_zeros() as usize)
    }

    /// Last stage up to `stage` that computes or reads `tensor`. A tensor is computed in its own
    /// stage, so there is one for every `stage >= tensor`.
    #[inline]
    pub fn previous_touch(&self, tensor: usize, stage: usize) -> usize {
        let row = &self.touch[tensor * self.graph.words..(tensor + 1) * self.graph.words];
        let mut w = stage / 64;
        let mut word = row[w] & (!0 >> (63 - stage % 64));
        while word == 0 {
            w -= 1;
            word = row[w];
        }
        w * 64 + 63 - word.leading_zeros() as usize
    }

    /// Returns whether a tensor goes to secondary storage.
    #[inline]
    pub(crate) fn is_stored(&self, tensor: usize) -> bool {
        let last = (self.graph.n - 1) * self.graph.words;
        let word = self.stored.get(last + tensor / 64);
        word.is_some_and(|word| word >> (tensor % 64) & 1 != 0)
    }

    /// The first stage that starts with a tensor, if there is one.
    pub(crate) fn first_held(&self, tensor: usize) -> Option<usize> {
        (tensor + 1..self.graph.n).find(|t| self.is_kept(tensor, *t))
    }

    /// Turns the bits of a tensor in secondary storage.
    fn turn_stored(&mut self, tensor: usize) {
        let words = self.graph.words;
        for t in self
            .first_held(tensor)
            .map_or(self.graph.n, |first| first + 1)..self.graph.n
        {
            self.stored[t * words + tensor / 64] ^= 1 << (tensor % 64);
        }
    }

    /// Stages that retain a tensor into the next one and do not hold it.
    fn begins(&self, tensor: usize) -> Vec<usize> {
        (tensor + 1..self.graph.n - 1)
            .filter(|t| !self.is_kept(tensor, *t) && self.is_kept(tensor, t + 1))
            .collect()
    }

    /// Computes the change if a tensor begins or ceases to go to secondary storage, without the
    /// cost of the page-out.
    pub(crate) fn evaluate_storing(&mut self, tensor: usize) -> Delta {
        let mut delta = Delta::default();
        let capacity = self.capacity;
        self.turn_stored(tensor);
        for t in self.begins(tensor) {
            let value = self.stage(t);
            delta.cost += value.cost - self.cost[t];
            delta.excess +=
                self.weight[t] * (excess(value.peak, capacity) - excess(self.peak[t], capacity));
        }
        self.turn_stored(tensor);
        delta
    }

    /// Puts a held tensor into secondary storage, or stops its page-out. The first stage that
    /// starts with it must not change while it is there.
    pub(crate) fn store(&mut self, tensor: usize) {
        self.turn_stored(tensor);
        for t in self.begins(tensor) {
            self.refresh::<false>(t);
        }
    }

    /// Computes the change by a flip. Exact as long as no stage was
    /// [pressed](CheckmateState::press): all quantities are integers.
    pub fn evaluate(&mut self, flip: Flip) -> Delta {
        let (i, from, to) = (flip.tensor as usize, flip.from as usize, flip.to as usize);
        let (shift, waiting) = (self.graph.shift(flip), self.graph.waiting_shift(flip));
        let mut delta = Delta::default();
        self.evaluate_stage(flip, from - 1, 0.0, waiting, &mut delta);
        let mut t = from;
        while t < to {
            let next = self.next_touch(i, t).map_or(to, |s| s.min(to));
            delta.excess += self.excess_change(t..next, shift + waiting);
            if next < to {
                self.evaluate_stage(flip, next, shift, waiting, &mut delta);
            }
            t = next + 1;
        }
        self.evaluate_stage(flip, to, shift, waiting, &mut delta);
        if waiting != 0.0 {
            delta.excess += self.excess_change(0..from - 1, waiting);
            delta.excess += self.excess_change(to + 1..self.graph.n, waiting);
        }
        delta
    }

    /// Change of the weighted excess of some stages when their peaks move.
    #[inline]
    fn excess_change(&self, stages: Range<usize>, shift: f64) -> f64 {
        let (peaks, weights) = (&self.peak[stages.clone()], &self.weight[stages]);
        excess_change(peaks, weights, shift, self.capacity)
    }

    /// Adds the change by the flip in one stage that must be evaluated in full. Its memory at the
    /// start moves by `shift`, and memory of other micro-batches by `waiting`.
    #[inline]
    fn evaluate_stage(
        &mut self,
        flip: Flip,
        t: usize,
        shift: f64,
        waiting: f64,
        delta: &mut Delta,
    ) {
        let words = self.graph.words;
        let (w, bit) = (flip.tensor as usize / 64, 1u64 << (flip.tensor % 64));
        let (now, next) = (t * words + w, (t + 1) * words + w);
        let old = (self.kept[now], self.kept[next]);
        if t >= flip.from as usize {
            self.kept[now] ^= bit;
        }
        if t < flip.to as usize {
            self.kept[next] ^= bit;
        }
        let value = self.stage_with(t, self.held_bytes[t] + shift);
        (self.kept[now], self.kept[next]) = old;
        let capacity = self.capacity;
        delta.cost += value.cost - self.cost[t];
        let after = excess(value.peak + waiting, capacity);
        delta.excess += self.weight[t] * (after - excess(self.peak[t], capacity));
    }

    /// Carries out a flip, for good.
    pub fn apply(&mut self, flip: Flip) {
        self.carry_out::<false>(flip);
    }

    /// Carries out a flip that may be [taken back](CheckmateState::take_back).
    pub fn try_out(&mut self, flip: Flip) {
        let stages = flip.from as usize - 1..=flip.to as usize;
        let values = self.cost[stages.clone()].iter().zip(&self.peak[stages]);
        let values = values.map(|(cost, peak)| (*cost, *peak));
        self.undo
            .begin((self.total_cost, self.total_excess), values);
        self.carry_out::<true>(flip);
    }

    /// Takes back the flip that was tried last and not taken back.
    pub fn take_back(&mut self, flip: Flip) {
        let (from, to) = (flip.from as usize, flip.to as usize);
        self.hold(flip.inverse());
        let (touch, words) = (&mut self.touch, self.graph.words);
        let touched = &mut self.touched;
        let taken = self.undo.take_back(|t, before| {
            std::mem::swap(before, &mut touched[t]);
            relist(touch, words, t, before, &touched[t]);
        });
        if let Some((totals, values)) = taken {
            (self.total_cost, self.total_excess) = totals;
            let stages = self.cost[from - 1..=to].iter_mut();
            let stages = stages.zip(&mut self.peak[from - 1..=to]);
            for ((cost, peak), before) in stages.zip(values) {
                (*cost, *peak) = before;
            }
        }
    }

    /// Makes all tried flips final.
    pub fn settle(&mut self) {
        self.undo.settle();
    }

    /// Holds or drops a flip's tensor in the flip's stages; returns the change of their bytes.
    fn hold(&mut self, flip: Flip) -> f64 {
        let (i, words) = (flip.tensor as usize, self.graph.words);
        let shift = self.graph.shift(flip);
        for t in flip.from as usize..=flip.to as usize {
            self.kept[t * words + i / 64] ^= 1 << (i % 64);
            self.held_bytes[t] += shift;
        }
        self.capacity -= self.graph.waiting_shift(flip);
        shift
    }

    fn carry_out<const TRY: bool>(&mut self, flip: Flip) {
        let (i, from, to) = (flip.tensor as usize, flip.from as usize, flip.to as usize);
        let shift = self.hold(flip);
        let capacity = self.capacity;
        self.refresh::<TRY>(from - 1);
        let mut t = from;
        while t < to {
            let next = self.next_touch(i, t).map_or(to, |s| s.min(to));
            for peak in &mut self.peak[t..next] {
                self.total_excess += excess(*peak + shift, capacity) - excess(*peak, capacity);
                *peak += shift;
            }
            if next < to {
                self.refresh::<TRY>(next);
            }
            t = next + 1;
        }
        self.refresh::<TRY>(to);
        if self.graph.waiting_shift(flip) != 0.0 {
            self.total_excess = self.excess_of_all();
        }
    }

    fn excess_of_all(&self) -> f64 {
        self.peak.iter().map(|p| excess(*p, self.capacity)).sum()
    }

    /// Raises the weight of excess in the stages that have some, and lowers it in the others, after
    /// a share of a run.
    pub fn press(&mut self, share: f64) {
        let above = self.peak.iter().map(|peak| *peak > self.capacity);
        press(&mut self.weight, above, share);
    }

    /// Sums cost and excess anew. Sums beyond 2^53 would drift; the values of a stage never do.
    pub fn resum(&mut self) {
        self.total_cost = self.cost.iter().sum();
        self.total_excess = self.excess_of_all();
    }

    #[inline]
    fn row(&self, t: usize) -> &[u64] {
        &self.kept[t * self.graph.words..(t + 1) * self.graph.words]
    }

    fn stage(&mut self, t: usize) -> CheckmateStageValue {
        self.stage_with(t, self.held_bytes[t])
    }

    #[inline]
    fn stage_with(&mut self, t: usize, held_bytes: f64) -> CheckmateStageValue {
        let words = self.graph.words;
        let (now, next) = self.kept[t * words..(t + 2) * words].split_at(words);
        let graph = self.graph;
        let stored = self.stored.get(t * words..(t + 1) * words).unwrap_or(&[]);
        evaluate(graph, t, now, next, stored, held_bytes, &mut self.scratch)
    }

    /// Evaluates a stage anew after its retained sets changed.
    fn refresh<const TRY: bool>(&mut self, t: usize) {
        let value = self.stage(t);
        self.total_cost += value.cost - self.cost[t];
        self.total_excess +=
            excess(value.peak, self.capacity) - excess(self.peak[t], self.capacity);
        (self.cost[t], self.peak[t]) = (value.cost, value.peak);
        self.refresh_touches::<TRY>(t);
    }

    /// Takes over the touched tensors of `t`, the stage evaluated last. If `TRY` is set, keeps
    /// those before for a possible return.
    fn refresh_touches<const TRY: bool>(&mut self, t: usize) {
        let before = self.undo.list(t, TRY);
        let list = &mut self.touched[t];
        std::mem::swap(before, list);
        list.clear();
        for (w, &word) in self.scratch.touched(t).iter().enumerate() {
            let mut rest = word;
            while rest != 0 {
                list.push((w * 64) as u32 + rest.trailing_zeros());
                rest &= rest - 1;
            }
        }
        relist(&mut self.touch, self.graph.words, t, before, list);
    }
}

/// Replaces the tensors of a stage, as bits, given the old and the new ones.
#[inline]
fn relist(touch: &mut [u64], words: usize, t: usize, before: &[u32], now: &[u32]) {
    if before == now {
        return;
    }
    let (tw, tb) = (t / 64, 1u64 << (t % 64));
    for &i in before {
        touch[i as usize * words + tw] &= !tb;
    }
    for &i in now {
        touch[i as usize * words + tw] |= tb;
    }
}

impl RetainedSets for CheckmateState<'_> {
    #[inline]
    fn is_kept(&self, tensor: usize, stage: usize) -> bool {
        self.is_kept(tensor, stage)
    }

    #[inline]
    fn previous_touch(&self, tensor: usize, stage: usize) -> usize {
        self.previous_touch(tensor, stage)
    }

    #[inline]
    fn next_touch(&self, tensor: usize, stage: usize) -> Option<usize> {
        self.next_touch(tensor, stage)
    }

    #[inline]
    fn touched(&self, stage: usize) -> &[u32] {
        self.touched(stage)
    }

    #[inline]
    fn peak(&self, stage: usize) -> f64 {
        self.peak(stage)
    }

    #[inline]
    fn capacity(&self) -> f64 {
        self.capacity
    }

    fn last_kept(&self, tensor: usize, stage: usize) -> usize {
        let mut last = stage;
        while !self.is_kept(tensor, last) {
            last -= 1;
        }
        last
    }

    fn first_free(&self, tensor: usize, stage: usize) -> usize {
        let mut first = stage;
        while first < self.graph.n && self.is_kept(tensor, first) {
            first += 1;
        }
        first
    }
}

#[inline]
fn excess(peak: f64, capacity: f64) -> f64 {
    (peak - capacity).max(0.0)
}

/// Change of the weighted excess when every peak moves by `shift`. Four lanes, so that it
/// vectorises.
#[inline]
fn excess_change(peaks: &[f64], weights: &[f64], shift: f64, capacity: f64) -> f64 {
    let change = |peak: f64| excess(peak + shift, capacity) - excess(peak, capacity);
    let mut lanes = [0.0f64; 4];
    let (peaks, last_peaks) = peaks.as_chunks::<4>();
    let (weights, last_weights) = weights.as_chunks::<4>();
    for (peak, weight) in peaks.iter().zip(weights) {
        for k in 0..4 {
            lanes[k] += weight[k] * change(peak[k]);
        }
    }
    let last = last_peaks.iter().zip(last_weights);
    lanes.iter().sum::<f64>() + last.map(|(p, w)| w * change(*p)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::fixtures::small_dag;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pressed_stages_weigh_more_and_excess_stays_in_bytes(
            instance in small_dag(12),
            kept in proptest::collection::vec(any::<bool>(), 144),
            draws in proptest::collection::vec((1usize..12, 0usize..12), 20),
            capacity in 1..40u64,
        ) {
            let n = instance.len();
            let graph = CheckmateLandscape::new(&instance, capacity);
            let mut retained = BitMatrix::new(n, n);
            for t in 1..n {
                (0..t).for_each(|i| retained.set(t, i, kept[12 * t + i]));
            }
            let mut state = CheckmateState::new(&graph, &retained);
            for (k, (t, i)) in draws.into_iter().enumerate() {
                if t >= n || i >= t {
                    continue;
                }
                // Few rises keep weights below 37 and rounding below the tolerance.
                if k % 7 == 0 {
                    state.press(0.1);
                }
                let (tensor, stage) = (i as u32, t as u32);
                let keep = !state.is_kept(i, t);
                let flip = Flip { tensor, from: stage, to: stage, keep };
                let before = state.clone();
                let delta = state.evaluate(flip);
                state.apply(flip);
                let excess = |s: &CheckmateState<'_>, k: usize| (s.peak(k) - graph.capacity).max(0.0);
                let weighted: f64 = (0..n)
                    .map(|k| state.weight[k] * (excess(&state, k) - excess(&before, k)))
                    .sum();
                prop_assert!((delta.excess - weighted).abs() <= 1e-9 * weighted.abs().max(1.0));
                let total: f64 = (0..n).map(|k| excess(&state, k)).sum();
                prop_assert_eq!(state.excess(), total);
            }
        }
    }
}
