//! The state of the search: retained sets, and for each stage its cost, its peak memory and the
//! tensors it depends on.

use super::graph::{MonetLandscape, ones};
use super::stage::{
    MonetStageScratch, MonetStageValue, StageRecord, evaluate, evaluate_and_note, record,
};
use remat_instances::schedule::{BitMatrix, Choices, MonetSchedule};
use remat_search::anneal::{Delta, Flip, Undo, press};

/// Retained sets with costs, peaks and dependencies of stages.
///
/// A flip requires a full evaluation of few stages: the one before the range, the last one, and
/// those in between that depend on the tensor. (Before the range the tensor must be made, or no
/// longer has to be.) In all others the memory shifts by the tensor's size. The rest of the stage
/// stays the same unless the shift changes which ways fit there.
#[derive(Clone)]
pub struct MonetState<'g> {
    graph: &'g MonetLandscape,
    /// `(T + 1) x words` bits: tensor retained at the start of a stage. Row `T` is the set after
    /// the last stage.
    kept: Vec<u64>,
    held_bytes: Vec<i64>,
    value: Vec<MonetStageValue>,
    /// For each tensor, the stages that depend on it, as bits.
    touch: StageBits,
    /// For each tensor, the stages that compute it or may read it, as bits.
    used: StageBits,
    /// For each stage, the tensors it depends on, and those it computes or may read, ascending.
    lists: Vec<[Vec<u32>; 2]>,
    total_cost: i64,
    total_excess: i64,
    /// Weight of a byte of excess in each stage, at least 1.
    weight: Vec<f64>,
    scratch: MonetStageScratch,
    /// Values of stages, total cost and excess, lists.
    undo: Undo<MonetStageValue, (i64, i64), [Vec<u32>; 2]>,
}

/// A set of stages for each tensor.
#[derive(Clone)]
struct StageBits {
    words: usize,
    bits: Vec<u64>,
}

impl StageBits {
    fn new(columns: usize, stages: usize) -> Self {
        let words = stages.div_ceil(64);
        StageBits {
            words,
            bits: vec![0; words * columns],
        }
    }

    #[inline]
    fn row(&self, tensor: usize) -> &[u64] {
        &self.bits[tensor * self.words..(tensor + 1) * self.words]
    }

    #[inline]
    fn flip(&mut self, tensor: u32, stage: usize) {
        self.bits[tensor as usize * self.words + stage / 64] ^= 1 << (stage % 64);
    }

    /// First stage of the set from `stage` on.
    #[inline]
    fn next(&self, tensor: usize, stage: usize) -> Option<usize> {
        let row = self.row(tensor);
        let mut w = stage / 64;
        let mut word = *row.get(w)? & (!0 << (stage % 64));
        while word == 0 {
            w += 1;
            word = *row.get(w)?;
        }
        Some(w * 64 + word.trailing_zeros() as usize)
    }

    /// Last stage of the set up to `stage`.
    #[inline]
    fn previous(&self, tensor: usize, stage: usize) -> Option<usize> {
        let row = self.row(tensor);
        let mut w = stage / 64;
        let mut word = row[w] & (!0 >> (63 - stage % 64));
        while word == 0 {
            w = w.checked_sub(1)?;
            word = row[w];
        }
        Some(w * 64 + 63 - word.leading_zeros() as usize)
    }

    /// Replaces the tensors of a stage, given the old and the new ones.
    #[inline]
    fn relist(&mut self, stage: usize, before: &[u32], now: &[u32]) {
        if before == now {
            return;
        }
        for &i in before.iter().chain(now) {
            self.flip(i, stage);
        }
    }
}

impl<'g> MonetState<'g> {
    /// The state for given retained sets (shape `(T + 1) x columns`). Row 0 is ignored: the first
    /// stage starts with an empty set.
    pub fn new(graph: &'g MonetLandscape, retained: &BitMatrix) -> Self {
        let (stages, words) = (graph.stages, graph.words);
        let mut state = MonetState {
            graph,
            kept: vec![0; (stages + 1) * words],
            held_bytes: vec![0; stages + 1],
            value: Vec::with_capacity(stages),
            touch: StageBits::new(graph.columns, stages),
            used: StageBits::new(graph.columns, stages),
            lists: vec![Default::default(); stages],
            total_cost: 0,
            total_excess: 0,
            weight: vec![1.0; stages],
            scratch: MonetStageScratch::new(graph),
            undo: Undo::default(),
        };
        for t in 1..=stages {
            state.kept[t * words..(t + 1) * words].copy_from_slice(retained.row(t));
            state.held_bytes[t] = retained.ones(t).map(|i| graph.bytes[i]).sum();
        }
        for t in 0..stages {
            let value = state.note(t);
            state.total_cost += value.cost;
            state.total_excess += value.excess(graph.capacity);
            state.value.push(value);
            state.refresh_touches::<false>(t);
        }
        state
    }

    /// Total cost of all computations.
    pub fn cost(&self) -> i64 {
        self.total_cost
    }

    /// Bytes above capacity, summed over stages; 0 if the schedule fits.
    pub fn excess(&self) -> i64 {
        self.total_excess
    }

    /// The retained sets, shape `(T + 1) x columns`.
    pub fn retained(&self) -> BitMatrix {
        let mut matrix = BitMatrix::new(self.graph.stages + 1, self.graph.columns);
        for t in 0..=self.graph.stages {
            let words = self.graph.words;
            matrix
                .row_mut(t)
                .copy_from_slice(&self.kept[t * words..(t + 1) * words]);
        }
        matrix
    }

    /// The schedule: the retained sets, completed.
    pub fn schedule(&mut self) -> MonetSchedule {
        let (stages, columns, words) = (self.graph.stages, self.graph.columns, self.graph.words);
        let mut schedule = MonetSchedule {
            computed: BitMatrix::new(stages, columns),
            retained: self.retained(),
            in_place: BitMatrix::new(stages, columns),
            forward_choice: Choices::new(stages, columns),
            backward_choice: vec![0; stages],
        };
        for t in 0..stages {
            let (now, next) = self.kept[t * words..(t + 2) * words].split_at(words);
            let held = self.held_bytes[t];
            let found: StageRecord = record(self.graph, t, now, next, held, &mut self.scratch).1;
            for (j, implementation, in_place) in found.computed {
                schedule.computed.set(t, j as usize, true);
                schedule.in_place.set(t, j as usize, in_place);
                schedule.forward_choice.set(t, j as usize, implementation);
            }
            schedule.backward_choice[t] = found.backward;
        }
        schedule
    }

    /// Returns whether a tensor is retained at the start of a stage (or after the last one).
    #[inline]
    pub fn is_kept(&self, tensor: usize, stage: usize) -> bool {
        self.kept[stage * self.graph.words + tensor / 64] >> (tensor % 64) & 1 != 0
    }

    /// Tensors that a stage computes or may read, ascending.
    #[inline]
    pub fn used(&self, stage: usize) -> &[u32] {
        &self.lists[stage][1]
    }

    /// Value of a stage.
    #[inline]
    pub fn value(&self, stage: usize) -> MonetStageValue {
        self.value[stage]
    }

    /// First stage from `stage` on that computes or may read `tensor`.
    #[inline]
    pub fn next_use(&self, tensor: usize, stage: usize) -> Option<usize> {
        self.used.next(tensor, stage)
    }

    /// Last stage up to `stage` that computes or may read `tensor`, or could make it as a
    /// by-product.
    #[inline]
    pub fn previous_use(&self, tensor: usize, stage: usize) -> Option<usize> {
        self.used.previous(tensor, stage)
    }

    fn shift(&self, flip: Flip) -> i64 {
        let bytes = self.graph.bytes[flip.tensor as usize];
        if flip.keep { bytes } else { -bytes }
    }

    /// Raises the weight of excess in the stages that have some, and lowers it in the others, after
    /// a share of a run.
    pub fn press(&mut self, share: f64) {
        let capacity = self.graph.capacity;
        let above = self.value.iter().map(|value| value.excess(capacity) > 0);
        press(&mut self.weight, above, share);
    }

    /// Computes the change by a flip. Exact as long as no stage was pressed.
    pub fn evaluate(&mut self, flip: Flip) -> Delta {
        let (i, from, to) = (flip.tensor as usize, flip.from as usize, flip.to as usize);
        let capacity = self.graph.capacity;
        let shift = self.shift(flip);
        let (mut cost, mut excess) = self.change(flip, from - 1, 0);
        let mut t = from;
        while t < to {
            let next = self.touch.next(i, t).map_or(to, |s| s.min(to));
            for s in t..next {
                let value = &self.value[s];
                if value.is_linear(shift) {
                    let more = (value.peak + shift - capacity).max(0) - value.excess(capacity);
                    excess += self.weight[s] * more as f64;
                } else {
                    let change = self.change(flip, s, shift);
                    (cost, excess) = (cost + change.0, excess + change.1);
                }
            }
            if next < to {
                let change = self.change(flip, next, shift);
                (cost, excess) = (cost + change.0, excess + change.1);
            }
            t = next + 1;
        }
        if to < self.graph.stages {
            let change = self.change(flip, to, shift);
            (cost, excess) = (cost + change.0, excess + change.1);
        }
        Delta {
            cost: cost as f64,
            excess,
        }
    }

    /// Change by the flip in one stage that must be evaluated in full.
    #[inline]
    fn change(&mut self, flip: Flip, t: usize, shift: i64) -> (i64, f64) {
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
        let capacity = self.graph.capacity;
        let more = value.excess(capacity) - self.value[t].excess(capacity);
        (
            value.cost - self.value[t].cost,
            self.weight[t] * more as f64,
        )
    }

    /// Carries out a flip, for good.
    pub fn apply(&mut self, flip: Flip) {
        self.carry_out::<false>(flip);
    }

    /// Carries out a flip that may be [taken back](MonetState::take_back).
    pub fn try_out(&mut self, flip: Flip) {
        let values = self.value[self.stages_of(flip)].iter().copied();
        self.undo
            .begin((self.total_cost, self.total_excess), values);
        self.carry_out::<true>(flip);
    }

    /// Takes back the flip that was tried last and not taken back.
    pub fn take_back(&mut self, flip: Flip) {
        self.hold(flip.inverse());
        let stages = self.stages_of(flip);
        let (touch, used, lists) = (&mut self.touch, &mut self.used, &mut self.lists);
        let taken = self.undo.take_back(|t, before| {
            std::mem::swap(before, &mut lists[t]);
            touch.relist(t, &before[0], &lists[t][0]);
            used.relist(t, &before[1], &lists[t][1]);
        });
        if let Some((totals, values)) = taken {
            (self.total_cost, self.total_excess) = totals;
            for (value, before) in self.value[stages].iter_mut().zip(values) {
                *value = before;
            }
        }
    }

    /// Makes all tried flips final.
    pub fn settle(&mut self) {
        self.undo.settle();
    }

    /// The stages that a flip may change.
    fn stages_of(&self, flip: Flip) -> std::ops::Range<usize> {
        let end = (flip.to as usize + 1).min(self.graph.stages);
        flip.from as usize - 1..end
    }

    /// Holds or drops a flip's tensor in the flip's stages; returns the change of their bytes.
    fn hold(&mut self, flip: Flip) -> i64 {
        let (i, words) = (flip.tensor as usize, self.graph.words);
        let shift = self.shift(flip);
        for t in flip.from as usize..=flip.to as usize {
            self.kept[t * words + i / 64] ^= 1 << (i % 64);
            self.held_bytes[t] += shift;
        }
        shift
    }

    fn carry_out<const TRY: bool>(&mut self, flip: Flip) {
        let (i, from, to) = (flip.tensor as usize, flip.from as usize, flip.to as usize);
        let capacity = self.graph.capacity;
        let shift = self.hold(flip);
        self.refresh::<TRY>(from - 1);
        let mut t = from;
        while t < to {
            let next = self.touch.next(i, t).map_or(to, |s| s.min(to));
            for s in t..next {
                let value = &mut self.value[s];
                if !value.is_linear(shift) {
                    self.refresh::<TRY>(s);
                    continue;
                }
                self.total_excess -= value.excess(capacity);
                value.peak += shift;
                value.up = value.up.saturating_sub(shift);
                value.down = value.down.saturating_add(shift);
                self.total_excess += value.excess(capacity);
            }
            if next < to {
                self.refresh::<TRY>(next);
            }
            t = next + 1;
        }
        if to < self.graph.stages {
            self.refresh::<TRY>(to);
        }
    }

    #[inline]
    fn stage_with(&mut self, t: usize, held_bytes: i64) -> MonetStageValue {
        let words = self.graph.words;
        let (now, next) = self.kept[t * words..(t + 2) * words].split_at(words);
        evaluate(self.graph, t, now, next, held_bytes, &mut self.scratch)
    }

    fn note(&mut self, t: usize) -> MonetStageValue {
        let words = self.graph.words;
        let (now, next) = self.kept[t * words..(t + 2) * words].split_at(words);
        let held = self.held_bytes[t];
        evaluate_and_note(self.graph, t, now, next, held, &mut self.scratch)
    }

    /// Evaluates a stage anew after its retained sets or its memory changed.
    fn refresh<const TRY: bool>(&mut self, t: usize) {
        let capacity = self.graph.capacity;
        let value = self.note(t);
        self.total_cost += value.cost - self.value[t].cost;
        self.total_excess += value.excess(capacity) - self.value[t].excess(capacity);
        self.value[t] = value;
        self.refresh_touches::<TRY>(t);
    }

    /// Takes over the dependencies of `t`, the stage noted last. If `TRY` is set, keeps the lists
    /// before for a possible return.
    fn refresh_touches<const TRY: bool>(&mut self, t: usize) {
        let before = self.undo.list(t, TRY);
        let lists = &mut self.lists[t];
        std::mem::swap(before, lists);
        let words = [self.scratch.touched(), self.scratch.used()];
        for (list, words) in lists.iter_mut().zip(words) {
            list.clear();
            list.extend(ones(words).map(|i| i as u32));
        }
        self.touch.relist(t, &before[0], &lists[0]);
        self.used.relist(t, &before[1], &lists[1]);
    }
}
