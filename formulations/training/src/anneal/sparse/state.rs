//! Retained sets as runs of stages, with costs and peaks of stages, in memory linear in the runs
//! and touches.

use super::super::graph::CheckmateLandscape;
use super::super::moves::RetainedSets;
use super::peaks::Peaks;
use super::stage::{Asked, SparseScratch, evaluate};
use remat_instances::schedule::StageRuns;
use remat_search::anneal::{Delta, Flip};

/// First and last stage of a run.
pub(super) type StageRange = [u32; 2];

/// Retained sets with costs, peaks and touches of stages, like
/// [`CheckmateState`](super::super::CheckmateState), for graphs whose sets are too large for a row
/// of bits in each stage.
///
/// A flip evaluates the same stages. In all others the peak moves by the tensor's size, block by
/// block.
#[derive(Clone)]
pub(crate) struct SparseState<'g> {
    graph: &'g CheckmateLandscape,
    /// For each tensor the runs of stages at whose start it is held.
    kept: Vec<Vec<StageRange>>,
    /// For each stage, the tensors held at its start, but not at the start of the stage before.
    begins: Vec<Vec<u32>>,
    /// For each tensor the stages that compute or read it, ascending.
    touches: Vec<Vec<u32>>,
    /// For each stage the tensors it computes or reads, ascending.
    touched: Vec<Vec<u32>>,
    cost: Vec<f64>,
    /// Bytes held at the start of each stage, and the peaks.
    held: Peaks,
    peaks: Peaks,
    total_cost: f64,
    total_excess: f64,
    scratch: SparseScratch,
}

impl<'g> SparseState<'g> {
    /// The state for given retained sets (shape `n x n`), which hold no tensor before it is
    /// computed.
    pub fn new(graph: &'g CheckmateLandscape, retained: &StageRuns) -> Self {
        let n = graph.n;
        let mut state = SparseState {
            graph,
            kept: (0..n).map(|i| retained.runs(i).to_vec()).collect(),
            begins: vec![Vec::new(); n + 1],
            touches: vec![Vec::new(); n],
            touched: vec![Vec::new(); n],
            cost: vec![0.0; n],
            held: Peaks::new(vec![0.0; n + 1], f64::INFINITY),
            peaks: Peaks::new(vec![0.0; n], graph.capacity),
            total_cost: 0.0,
            total_excess: 0.0,
            scratch: SparseScratch::new(n),
        };
        let mut held = vec![0.0; n + 2];
        for i in 0..n {
            for &[first, last] in &state.kept[i] {
                state.begins[first as usize].push(i as u32);
                held[first as usize] += graph.bytes[i];
                held[last as usize + 1] -= graph.bytes[i];
            }
        }
        let mut sum = 0.0;
        let held = held[..=n].iter().map(|change| {
            sum += change;
            sum
        });
        state.held = Peaks::new(held.collect(), f64::INFINITY);
        let capacity = graph.capacity_beside(|t| state.held.at(t));
        let mut peaks = Vec::with_capacity(n);
        for t in 0..n {
            let value = state.stage(t, None, 0.0);
            (state.cost[t], state.total_cost) = (value.0, state.total_cost + value.0);
            peaks.push(value.1);
            state.note_touched(t);
        }
        state.peaks = Peaks::new(peaks, capacity);
        state.total_excess = state.peaks.total_excess();
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

    /// Stages above capacity, ascending.
    pub fn above(&self) -> impl Iterator<Item = usize> + '_ {
        self.peaks.above()
    }

    /// The runs of a tensor.
    pub fn runs(&self, tensor: usize) -> &[StageRange] {
        &self.kept[tensor]
    }

    /// Stages that compute or read a tensor, ascending.
    pub fn touches(&self, tensor: usize) -> &[u32] {
        &self.touches[tensor]
    }

    /// The retained sets, shape `n x n`.
    pub fn retained(&self) -> StageRuns {
        let n = self.graph.n;
        let mut sets = StageRuns::new(n, n);
        for (i, runs) in self.kept.iter().enumerate() {
            for [first, last] in runs {
                sets.fill(i, *first as usize, *last as usize);
            }
        }
        sets
    }

    /// Holds a tensor in other runs.
    pub fn set_runs(&mut self, tensor: u32, runs: &[StageRange]) {
        let wanted = |t: u32| holds(runs, t);
        // Stages at which the old or the new runs begin, or have ended.
        let old = self.kept[tensor as usize].iter().chain(runs);
        let mut steps: Vec<u32> = old.flat_map(|[first, last]| [*first, last + 1]).collect();
        steps.sort_unstable();
        steps.dedup();
        for pair in steps.windows(2) {
            let (from, to) = (pair[0], pair[1] - 1);
            let keep = wanted(from);
            if keep != self.is_kept(tensor as usize, from as usize) {
                self.apply(Flip {
                    tensor,
                    from,
                    to,
                    keep,
                });
            }
        }
    }

    /// Raises the weight of excess in the stages that have some, and lowers it in the others, after
    /// a share of a run.
    pub fn press(&mut self, share: f64) {
        self.peaks.press(share);
    }

    /// Computes the change by a flip, excess by weight; infinite if a stage would compute hundreds
    /// of nodes.
    pub fn evaluate(&mut self, flip: Flip) -> Delta {
        let (i, from, to) = (flip.tensor as usize, flip.from as usize, flip.to as usize);
        let (shift, waiting) = (self.graph.shift(flip), self.graph.waiting_shift(flip));
        let mut delta = Delta::default();
        let mut change = |state: &mut Self, t: usize, shift: f64| {
            let (cost, peak) = state.stage(t, Some(flip), shift);
            delta.cost += cost - state.cost[t];
            let more = state.peaks.over(peak + waiting) - state.peaks.excess(t);
            delta.excess += state.peaks.weight(t) * more;
            cost.is_finite()
        };
        let mut is_finite = change(self, from - 1, 0.0) && change(self, to, shift);
        let mut at = self.touches[i].partition_point(|t| (*t as usize) < from);
        let mut t = from;
        let mut moved = 0.0;
        while t < to && is_finite {
            let next = self.touches[i]
                .get(at)
                .map_or(to, |s| (*s as usize).min(to));
            moved += self.peaks.weighted_change(t..next, shift + waiting);
            if next < to {
                is_finite = change(self, next, shift);
            }
            (t, at) = (next + 1, at + 1);
        }
        if waiting != 0.0 && is_finite {
            moved += self.peaks.weighted_change(0..from - 1, waiting);
            moved += (self.peaks).weighted_change(to + 1..self.graph.n, waiting);
        }
        delta.excess += moved;
        delta
    }

    /// Carries out a flip.
    pub fn apply(&mut self, flip: Flip) {
        let (i, from, to) = (flip.tensor as usize, flip.from as usize, flip.to as usize);
        let (shift, waiting) = (self.graph.shift(flip), self.graph.waiting_shift(flip));
        self.hold(flip);
        self.held.shift(from..to + 1, shift);
        (self.peaks).set_capacity(self.peaks.capacity() - waiting);
        // Stages that touch the tensor may change.
        let inside = self.touches[i].iter().map(|t| *t as usize);
        let inside: Vec<usize> = inside.filter(|t| (from..to).contains(t)).collect();
        self.refresh(from - 1);
        let mut t = from;
        for next in inside.into_iter().chain([to]) {
            self.total_excess += self.peaks.excess_change(t..next, shift);
            self.peaks.shift(t..next, shift);
            self.refresh(next);
            t = next + 1;
        }
        if waiting != 0.0 {
            self.total_excess = self.peaks.total_excess();
        }
    }

    /// Sums costs and excess anew.
    pub fn resum(&mut self) {
        self.total_cost = self.cost.iter().sum();
        self.total_excess = self.peaks.total_excess();
    }

    /// Changes the runs of a flip's tensor, and where they begin.
    fn hold(&mut self, flip: Flip) {
        let Flip {
            tensor,
            from,
            to,
            keep,
        } = flip;
        let runs = &mut self.kept[tensor as usize];
        for [first, _] in runs.iter() {
            if (from..=to + 1).contains(first) {
                take_out(&mut self.begins[*first as usize], tensor);
            }
        }
        match keep {
            true => fill(runs, from, to),
            false => clear(runs, from, to),
        }
        for [first, _] in runs.iter() {
            if (from..=to + 1).contains(first) {
                put_in(&mut self.begins[*first as usize], tensor);
            }
        }
    }

    /// Cost and peak of a stage, with a flip and so many bytes more at its start.
    fn stage(&mut self, t: usize, flip: Option<Flip>, shift: f64) -> (f64, f64) {
        let asked = Asked {
            graph: self.graph,
            kept: &self.kept,
            begins: &self.begins[t + 1],
            stage: t,
            flip,
        };
        evaluate(&asked, self.held.at(t) + shift, &mut self.scratch)
    }

    /// Evaluates a stage anew after its retained sets changed.
    fn refresh(&mut self, t: usize) {
        let (cost, peak) = self.stage(t, None, 0.0);
        self.total_cost += cost - self.cost[t];
        self.total_excess += self.peaks.over(peak) - self.peaks.excess(t);
        self.cost[t] = cost;
        self.peaks.set(t, peak);
        self.note_touched(t);
    }

    /// Takes over the touched tensors of the stage evaluated last, which is `t`.
    fn note_touched(&mut self, t: usize) {
        let now = self.scratch.touched();
        let before = &mut self.touched[t];
        if before == now {
            return;
        }
        for i in before.iter().filter(|i| now.binary_search(i).is_err()) {
            take_out(&mut self.touches[*i as usize], t as u32);
        }
        for i in now.iter().filter(|i| before.binary_search(i).is_err()) {
            put_in(&mut self.touches[*i as usize], t as u32);
        }
        before.clear();
        before.extend_from_slice(now);
    }
}

impl RetainedSets for SparseState<'_> {
    #[inline]
    fn is_kept(&self, tensor: usize, stage: usize) -> bool {
        holds(&self.kept[tensor], stage as u32)
    }

    fn previous_touch(&self, tensor: usize, stage: usize) -> usize {
        let touches = &self.touches[tensor];
        let behind = touches.partition_point(|t| *t as usize <= stage);
        touches[..behind].last().map_or(tensor, |t| *t as usize)
    }

    fn next_touch(&self, tensor: usize, stage: usize) -> Option<usize> {
        let touches = &self.touches[tensor];
        let at = touches.partition_point(|t| (*t as usize) < stage);
        touches.get(at).map(|t| *t as usize)
    }

    fn touched(&self, stage: usize) -> &[u32] {
        &self.touched[stage]
    }

    fn peak(&self, stage: usize) -> f64 {
        self.peaks.at(stage)
    }

    fn capacity(&self) -> f64 {
        self.peaks.capacity()
    }

    fn last_kept(&self, tensor: usize, stage: usize) -> usize {
        let runs = &self.kept[tensor];
        let behind = runs.partition_point(|run| run[0] as usize <= stage);
        let run = runs[..behind].last();
        run.map_or(tensor, |run| stage.min(run[1] as usize))
    }

    fn first_free(&self, tensor: usize, stage: usize) -> usize {
        let runs = &self.kept[tensor];
        let behind = runs.partition_point(|run| run[0] as usize <= stage);
        let run = runs[..behind].last().filter(|run| run[1] as usize >= stage);
        run.map_or(stage, |run| run[1] as usize + 1)
    }
}

/// Returns whether one of some runs has a stage.
#[inline]
pub(super) fn holds(runs: &[StageRange], stage: u32) -> bool {
    runs.iter()
        .rev()
        .find(|run| run[0] <= stage)
        .is_some_and(|run| run[1] >= stage)
}

/// Adds stages to runs; those that touch become one.
fn fill(runs: &mut Vec<StageRange>, mut first: u32, mut last: u32) {
    let from = runs.partition_point(|run| run[1] + 1 < first);
    let to = from + runs[from..].partition_point(|run| run[0] <= last + 1);
    if from < to {
        (first, last) = (first.min(runs[from][0]), last.max(runs[to - 1][1]));
    }
    runs.splice(from..to, [[first, last]]);
}

/// Takes stages from runs, the first of them not 0.
fn clear(runs: &mut Vec<StageRange>, first: u32, last: u32) {
    let from = runs.partition_point(|run| run[1] < first);
    let to = from + runs[from..].partition_point(|run| run[0] <= last);
    if from == to {
        return;
    }
    let head = [runs[from][0], first - 1];
    let tail = [last + 1, runs[to - 1][1]];
    let left = [head, tail].into_iter().filter(|[a, b]| a <= b);
    runs.splice(from..to, left.collect::<Vec<_>>());
}

fn take_out(list: &mut Vec<u32>, value: u32) {
    if let Ok(at) = list.binary_search(&value) {
        list.remove(at);
    }
}

fn put_in(list: &mut Vec<u32>, value: u32) {
    if let Err(at) = list.binary_search(&value) {
        list.insert(at, value);
    }
}
