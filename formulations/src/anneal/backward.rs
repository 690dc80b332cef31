//! A constructive search that never exceeds the budget: from the last stage back to the first, with a beam.
//!
//! Seen backwards, the state of a schedule is what must be in memory when a stage starts: what the next stage starts with and
//! what this one reads, less what this one computes. A tensor leaves that set by being computed, at the price of its inputs
//! entering it. Any tensor may be computed again in any stage at its cost, so wherever the set does not fit beside the first
//! computation of the stage before, some of it is recomputed in this stage. A path back to stage 0 is a schedule that fits.
//!
//! Recomputing as late (going back: as early) as the memory forces it loses nothing: the cost is the same, and the inputs are
//! more likely to be there anyway the longer one waits. What to recompute is chosen by its cost and by what it does to
//! the overflow in the stages still ahead (before), counted as if nothing else were recomputed there.

use super::graph::Graph;
use super::random::Random;
use super::stage::{StageScratch, evaluate};
use crate::schedule::BitMatrix;
use std::collections::BTreeSet;
use std::rc::Rc;

/// How to search.
#[derive(Clone, Copy, Debug)]
pub struct BackwardSettings {
    /// States kept for each stage.
    pub beam: usize,
    /// Ways to make a state fit that are tried; the first without chance.
    pub variants: usize,
    /// Cost of a byte that overflows for a stage, as a multiple of [`Graph::absence_price`].
    pub price: f64,
    /// Descents at most after the first.
    pub restarts: usize,
    /// Seed of all random choices.
    pub seed: u64,
}

/// Tensors that may be recomputed in one stage beyond what the next one asks for.
const STAGE_LIMIT: usize = 256;
/// Candidates that are looked at closely for each choice.
const CLOSE: usize = 32;
/// Tensors at most that are recomputed for one.
const DEEP: usize = 64;
/// Share of the capacity that a stage in which nothing fitted leaves free from then on.
const RESERVE: f64 = 0.02;
/// Spread of the random factor (its logarithm is uniform) on the scores of variants.
const SPREAD: f64 = 1.0;

/// A state: what is retained at the start of a stage, and what that means for the stages before.
#[derive(Clone)]
struct State {
    held: Vec<u64>,
    /// Bytes in use when each earlier stage computes its node, if nothing more is recomputed.
    load: Vec<f64>,
    cost: f64,
    /// Bytes of `load` above capacity, summed.
    overflow: f64,
    path: Rc<Path>,
}

/// Retained sets from a stage to the last.
struct Path {
    held: Vec<u64>,
    later: Option<Rc<Path>>,
}

impl Drop for Path {
    /// One after the other: a long path would overflow the stack.
    fn drop(&mut self) {
        let mut later = self.later.take();
        while let Some(path) = later {
            later = Rc::try_unwrap(path).ok().and_then(|mut p| p.later.take());
        }
    }
}

/// Searches for a schedule that fits. Deterministic for given settings; `stop` is asked once a stage.
///
/// Where a descent ends in a stage in which nothing fits, the stages around and behind it leave more room in the next one.
/// Retained sets of a `guide` (shape `n x n`), which need not fit, are followed where they do.
///
/// Returns the retained sets of a schedule that fits, shape `n x n`.
///
/// # Errors
/// The stage at whose start nothing that was tried fits: the earliest of all descents.
pub fn construct<'g>(
    graph: &'g Graph,
    settings: &BackwardSettings,
    guide: Option<&'g BitMatrix>,
    stop: &dyn Fn() -> bool,
) -> Result<BitMatrix, usize> {
    if graph.n > 0 && graph.bytes[0] + graph.workspace[0] > graph.capacity {
        return Err(0);
    }
    let mut search = Search::new(graph, settings, guide);
    let mut earliest = graph.n;
    for _ in 0..=settings.restarts {
        match search.descend(settings, stop) {
            Ok(retained) => return Ok(retained),
            Err(dead) => {
                earliest = earliest.min(dead);
                if stop() {
                    break;
                }
                search.reserve_around(dead);
            }
        }
    }
    Err(earliest)
}

struct Search<'g> {
    graph: &'g Graph,
    guide: Option<&'g BitMatrix>,
    price: f64,
    random: Random,
    scratch: StageScratch,
    /// Rough score, bytes won, cost, action.
    candidates: Vec<(f64, f64, f64, Action)>,
    refused: Vec<u64>,
    /// What the stage at hand recomputes.
    here: Vec<u64>,
    /// Bytes that each stage tries to leave free at its start.
    reserve: Vec<f64>,
    made: Vec<u32>,
}

/// A tensor that is computed in the stage at hand, and whether its missing inputs are as well, or else held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Action {
    tensor: usize,
    deep: bool,
}

#[inline]
fn has(words: &[u64], i: usize) -> bool {
    words[i / 64] >> (i % 64) & 1 != 0
}

#[inline]
fn insert(words: &mut [u64], i: usize) {
    words[i / 64] |= 1 << (i % 64);
}

#[inline]
fn remove(words: &mut [u64], i: usize) {
    words[i / 64] &= !(1 << (i % 64));
}

impl<'g> Search<'g> {
    fn new(graph: &'g Graph, settings: &BackwardSettings, guide: Option<&'g BitMatrix>) -> Self {
        Search {
            graph,
            guide,
            price: settings.price * graph.absence_price(),
            random: Random::new(settings.seed, 0),
            scratch: StageScratch::new(graph),
            candidates: Vec::new(),
            refused: vec![0; graph.words],
            here: vec![0; graph.words],
            reserve: vec![0.0; graph.n],
            made: Vec::new(),
        }
    }

    /// Leaves more room in a stage and those behind it, less the further away.
    fn reserve_around(&mut self, stage: usize) {
        let n = self.graph.n;
        let reach = (n / 16).max(4);
        for s in stage.saturating_sub(1)..(stage + reach).min(n) {
            let share = 1.0 - s.abs_diff(stage) as f64 / reach as f64;
            let most = 0.5 * self.graph.capacity;
            self.reserve[s] = (self.reserve[s] + RESERVE * self.graph.capacity * share).min(most);
        }
    }

    /// One descent with a beam, or the stage in which nothing fits.
    fn descend(
        &mut self,
        settings: &BackwardSettings,
        stop: &dyn Fn() -> bool,
    ) -> Result<BitMatrix, usize> {
        let n = self.graph.n;
        let price = self.price;
        let mut beam = vec![self.last_state()];
        for t in (1..n).rev() {
            if stop() {
                return Err(t);
            }
            let mut children: Vec<State> = Vec::new();
            let mut seen = BTreeSet::new();
            for state in &beam {
                for variant in 0..settings.variants {
                    let Some((child, chance)) = self.step(state, t, variant) else {
                        continue;
                    };
                    if seen.insert(child.held.clone()) {
                        children.push(child);
                    }
                    if !chance {
                        break;
                    }
                }
            }
            if children.is_empty() {
                return Err(t);
            }
            let worth = |s: &State| s.cost + price * s.overflow;
            children.sort_by(|a, b| worth(a).total_cmp(&worth(b)));
            children.truncate(settings.beam);
            for child in &mut children {
                child.path = Rc::new(Path {
                    held: child.held.clone(),
                    later: Some(child.path.clone()),
                });
            }
            beam = children;
        }
        let mut retained = BitMatrix::new(n, n);
        let best = beam.iter().min_by(|a, b| a.cost.total_cmp(&b.cost));
        let mut path = best.map(|best| &best.path);
        let mut t = 1;
        while let Some(at) = path {
            if t < n {
                retained.row_mut(t).copy_from_slice(&at.held);
            }
            (t, path) = (t + 1, at.later.as_ref());
        }
        Ok(retained)
    }

    /// Behind the last stage nothing is held; each stage holds what the plain order holds.
    fn last_state(&self) -> State {
        let graph = self.graph;
        let n = graph.n;
        let mut change = vec![0.0; n + 1];
        for i in 0..n {
            let last = graph.users(i).last().map_or(i, |&q| q as usize);
            change[i] += graph.bytes[i];
            change[last + 1] -= graph.bytes[i];
        }
        let mut sum = 0.0;
        let load: Vec<f64> = (0..n)
            .map(|s| {
                sum += change[s];
                sum + graph.workspace[s]
            })
            .collect();
        let overflow = load.iter().map(|l| (l - graph.capacity).max(0.0)).sum();
        State {
            held: vec![0; graph.words],
            load,
            cost: graph.cost.iter().sum(),
            overflow,
            path: Rc::new(Path {
                held: vec![0; graph.words],
                later: None,
            }),
        }
    }

    /// The last touch of a tensor in the plain order before stage `t`: the stages behind it, up to `t`, are those in
    /// which it is in memory only for `t` or later.
    fn last_before(&self, i: usize, t: usize) -> usize {
        let users = self.graph.users(i);
        let at = users.partition_point(|&q| (q as usize) < t);
        at.checked_sub(1).map_or(i, |k| users[k] as usize)
    }

    /// Change of the overflow when a tensor is not needed at the start of stage `t` any more, and its missing inputs are.
    fn overflow_change(&self, state: &State, action: Action, t: usize) -> f64 {
        let (graph, capacity, i) = (self.graph, self.graph.capacity, action.tensor);
        let shifted = |from: usize, shift: f64| -> f64 {
            let over = |l: &f64| (l + shift - capacity).max(0.0) - (l - capacity).max(0.0);
            state.load[from..t].iter().map(over).sum()
        };
        // Inputs one by one: their sum is what matters where they overlap, but this is near enough to choose by.
        let mut change = shifted(self.last_before(i, t) + 1, -graph.bytes[i]);
        if action.deep {
            return change;
        }
        for &j in graph.needs(i) {
            let j = j as usize;
            if !has(&state.held, j) && !has(&self.here, j) {
                change += shifted(self.last_before(j, t) + 1, graph.bytes[j]);
            }
        }
        change
    }

    fn shift_load(&self, state: &mut State, i: usize, t: usize, shift: f64) {
        let capacity = self.graph.capacity;
        for l in &mut state.load[self.last_before(i, t) + 1..t] {
            let before = (*l - capacity).max(0.0);
            *l += shift;
            state.overflow += (*l - capacity).max(0.0) - before;
        }
    }

    /// What stage `t` starts with, given what the next one starts with (`after.held`); `None` if nothing was found that
    /// fits. The flag says whether chance had a part in it.
    fn step(&mut self, after: &State, t: usize, variant: usize) -> Option<(State, bool)> {
        let graph = self.graph;
        let mut state = after.clone();
        remove(&mut state.held, t);
        // The node's own inputs: `load` has them as the plain order does.
        for &j in graph.needs(t) {
            insert(&mut state.held, j as usize);
        }
        // Beside what is held, the stage before computes its node.
        let before = t - 1;
        let mut beside = vec![0u64; graph.words];
        insert(&mut beside, before);
        for &j in graph.needs(before) {
            insert(&mut beside, j as usize);
        }
        self.here.iter_mut().for_each(|w| *w = 0);
        let followed = self.follow(&mut state, &beside, t, variant);
        let mut bytes = graph.workspace[before] + union_total(graph, &state.held, &beside);
        let mut held_bytes = total(graph, &state.held);
        let mut chance = followed;
        let mut refused = std::mem::take(&mut self.refused);
        refused.iter_mut().for_each(|w| *w = 0);
        // What fits, though there is less room left than was asked for.
        let mut kept: Option<State> = None;
        let wanted = graph.capacity - self.reserve[t];
        for _ in 0..STAGE_LIMIT {
            if bytes <= graph.capacity {
                let (next, scratch) = (&after.held, &mut self.scratch);
                let peak = evaluate(graph, t, &state.held, next, held_bytes, scratch).peak;
                if peak <= graph.capacity {
                    kept = Some(state.clone());
                }
            }
            if bytes <= wanted {
                break;
            }
            let Some(action) = self.choose(&state, &beside, &refused, t, variant > 0) else {
                break;
            };
            chance = true;
            let saved = (state.clone(), held_bytes, bytes, self.here.clone());
            self.carry_out(&mut state, action, t);
            held_bytes = total(graph, &state.held);
            bytes = graph.workspace[before] + union_total(graph, &state.held, &beside);
            let (next, scratch) = (&after.held, &mut self.scratch);
            let peak = evaluate(graph, t, &state.held, next, held_bytes, scratch).peak;
            // Too much is still held at first; what comes together on the way must fit.
            if peak > graph.capacity && peak > held_bytes.max(saved.2) {
                (state, held_bytes, bytes, self.here) = saved;
                insert(&mut refused, action.tensor);
            }
        }
        self.refused = refused;
        kept.map(|state| (state, chance))
    }

    /// Recomputes in stage `t` what the guide does not hold at its start; in every second variant only what it holds at
    /// the start of the next.
    fn follow(&mut self, state: &mut State, beside: &[u64], t: usize, variant: usize) -> bool {
        let Some(guide) = self.guide else {
            return false;
        };
        let loose = variant % 2 == 1;
        let mut any = false;
        // Inputs are numbered below their readers: one pass down is enough.
        for i in (0..t).rev() {
            let known = !loose || t + 1 < self.graph.n && guide.get(t + 1, i);
            if has(&state.held, i) && !guide.get(t, i) && !has(beside, i) && known {
                any = true;
                self.carry_out(
                    state,
                    Action {
                        tensor: i,
                        deep: false,
                    },
                    t,
                );
            }
        }
        any
    }

    fn carry_out(&mut self, state: &mut State, action: Action, t: usize) {
        let graph = self.graph;
        let mut made = std::mem::take(&mut self.made);
        made.clear();
        made.push(action.tensor as u32);
        let mut at = 0;
        while at < made.len() {
            let i = made[at] as usize;
            at += 1;
            if !has(&self.here, i) {
                insert(&mut self.here, i);
                state.cost += graph.cost[i];
            }
            if has(&state.held, i) {
                remove(&mut state.held, i);
                self.shift_load(state, i, t, -graph.bytes[i]);
            }
            for &j in graph.needs(i) {
                let there = has(&state.held, j as usize) || has(&self.here, j as usize);
                if there || made.contains(&j) {
                    continue;
                }
                if action.deep {
                    made.push(j);
                } else {
                    insert(&mut state.held, j as usize);
                    self.shift_load(state, j as usize, t, graph.bytes[j as usize]);
                }
            }
        }
        self.made = made;
    }

    /// Cost of a tensor and all of its inputs that are not held, and theirs; `None` beyond `DEEP` of them.
    fn deep_cost(&mut self, held: &[u64], i: usize) -> Option<f64> {
        let graph = self.graph;
        let made = &mut self.made;
        made.clear();
        made.push(i as u32);
        let mut cost = 0.0;
        let mut at = 0;
        while at < made.len() {
            let k = made[at] as usize;
            at += 1;
            cost += graph.cost[k];
            for &j in graph.needs(k) {
                let there = has(held, j as usize) || has(&self.here, j as usize);
                if !there && !made.contains(&j) {
                    made.push(j);
                }
            }
            if made.len() > DEEP {
                return None;
            }
        }
        Some(cost)
    }

    /// What to compute in stage `t` rather than hold at its start.
    fn choose(
        &mut self,
        state: &State,
        beside: &[u64],
        refused: &[u64],
        t: usize,
        by_chance: bool,
    ) -> Option<Action> {
        let graph = self.graph;
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        for w in 0..graph.words {
            let mut rest = state.held[w] & !beside[w] & !refused[w];
            while rest != 0 {
                let i = w * 64 + rest.trailing_zeros() as usize;
                rest &= rest - 1;
                let inputs = graph.needs(i).iter().map(|&j| j as usize);
                let missing = inputs.filter(|&j| !has(&state.held, j) && !has(&self.here, j));
                let new: f64 = missing
                    .clone()
                    .filter(|&j| !has(beside, j))
                    .map(|j| graph.bytes[j])
                    .sum();
                let won = graph.bytes[i] - new;
                let absence = (t - self.last_before(i, t)) as f64;
                let mut add = |tensor, deep, cost: f64, won: f64| {
                    let rough = (cost + 1e-9) / (won * absence);
                    candidates.push((rough, won, cost, Action { tensor, deep }));
                };
                let some_missing = missing.clone().next().is_some();
                if won > 0.0 {
                    add(i, false, graph.cost[i], won);
                }
                if some_missing
                    && graph.bytes[i] > 0.0
                    && let Some(cost) = self.deep_cost(&state.held, i)
                {
                    add(i, true, cost, graph.bytes[i]);
                }
            }
        }
        candidates.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.3.cmp(&b.3)));
        candidates.truncate(CLOSE);
        let mut best: Option<(f64, Action)> = None;
        for &(_, won, cost, action) in &candidates {
            let change = self.overflow_change(state, action, t);
            let worth = cost + self.price * change;
            let mut score = if worth > 0.0 { worth / won } else { worth };
            if by_chance {
                let factor = (SPREAD * (self.random.unit() - 0.5)).exp();
                score = if score > 0.0 {
                    score * factor
                } else {
                    score / factor
                };
            }
            if best.is_none_or(|b| score < b.0) {
                best = Some((score, action));
            }
        }
        self.candidates = candidates;
        best.map(|b| b.1)
    }
}

fn total(graph: &Graph, set: &[u64]) -> f64 {
    union_total(graph, set, &[])
}

fn union_total(graph: &Graph, a: &[u64], b: &[u64]) -> f64 {
    let mut sum = 0.0;
    for (w, &word) in a.iter().enumerate() {
        let mut rest = word | b.get(w).copied().unwrap_or(0);
        while rest != 0 {
            sum += graph.bytes[w * 64 + rest.trailing_zeros() as usize];
            rest &= rest - 1;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anneal::{Chain, ChainSettings, Random, Watch};
    use crate::baselines::fixtures::{layered, small_dag, training_dag};
    use crate::instance::Instance;
    use crate::schedule::CheckmateSchedule;
    use crate::simulate::{self, Replay};
    use proptest::prelude::*;

    const QUICK: BackwardSettings = BackwardSettings {
        beam: 4,
        variants: 3,
        price: 1.0,
        restarts: 20,
        seed: 0,
    };

    fn peak(instance: &Instance) -> u64 {
        let all = CheckmateSchedule::checkpoint_all(instance);
        simulate::checkmate(instance, &all).unwrap().peak_bytes
    }

    fn replay(instance: &Instance, budget: u64, guide: Option<&BitMatrix>) -> Option<Replay> {
        let graph = Graph::new(instance, budget);
        let found = construct(&graph, &QUICK, guide, &|| false);
        let again = construct(&graph, &QUICK, guide, &|| false);
        assert_eq!(found, again);
        let schedule = CheckmateSchedule::cheapest(instance, found.ok()?);
        Some(simulate::checkmate(instance, &schedule).unwrap())
    }

    fn check(instance: &Instance, percent: u64) -> Result<(), TestCaseError> {
        let budget = peak(instance) * percent / 100;
        if let Some(replay) = replay(instance, budget, None) {
            prop_assert!(replay.peak_bytes <= budget);
        } else {
            prop_assert!(percent < 100);
        }
        let ample = replay(instance, peak(instance), None).unwrap();
        prop_assert_eq!(ample.cost, instance.base_cost());
        Ok(())
    }

    proptest! {
        #[test]
        fn what_is_constructed_fits(instance in small_dag(14), percent in 30u64..120) {
            check(&instance, percent)?;
        }

        #[test]
        fn what_is_constructed_fits_with_a_backward_pass(instance in training_dag(), percent in 30u64..120) {
            check(&instance, percent)?;
        }
    }

    #[test]
    fn layered_graphs_come_down_to_seven_tenths() {
        for seed in 0..6 {
            let instance = layered(20, 8, seed);
            let budget = peak(&instance) * 70 / 100;
            let replay = replay(&instance, budget, None);
            assert!(replay.is_some_and(|r| r.peak_bytes <= budget), "{seed}");
        }
    }

    #[test]
    fn a_guide_that_fits_is_followed() {
        let instance = layered(10, 8, 1);
        let budget = peak(&instance) * 75 / 100;
        let graph = Graph::new(&instance, budget);
        let all = CheckmateSchedule::checkpoint_all(&instance);
        let mut chain = Chain::new(&graph, &all.retained, Random::new(0, 0));
        let run = ChainSettings {
            moves: 1 << 17,
            hot: 0.3,
            cold: 0.05,
            target: 0,
            time: None,
            seek: Some(0.03),
            price: 0.0,
        };
        chain.run(run, &|| false, &Watch::default());
        let found = chain.best().expect("three quarters are enough").clone();
        let followed = replay(&instance, budget, Some(&found.retained)).unwrap();
        // What it holds without use is left out.
        assert!(followed.cost <= found.cost);
    }
}
