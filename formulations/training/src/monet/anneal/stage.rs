//! Evaluation of one stage: its computations for given retained sets, their ways, its cost and its
//! peak memory.

use super::graph::{EventWay, MonetLandscape, Variant, has, ones};

/// Cost and peak memory of one stage, and how far its memory may shift without a change of its
/// choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MonetStageValue {
    /// Cost of all computations of the stage.
    pub cost: i64,
    /// Largest memory in the stage in bytes.
    pub peak: i64,
    /// Largest number of bytes by which memory may grow throughout the stage: up to it the cost
    /// stays and the peak grows by as much.
    pub up: i64,
    /// Number of bytes below which memory may shrink throughout the stage: the cost stays and the
    /// peak shrinks by as much.
    pub down: i64,
}

impl MonetStageValue {
    /// Returns whether memory may shift by so many bytes throughout the stage without a change of
    /// any choice.
    #[inline]
    pub fn is_linear(&self, shift: i64) -> bool {
        shift <= self.up && -shift < self.down
    }

    /// Bytes above capacity.
    #[inline]
    pub fn excess(&self, capacity: i64) -> i64 {
        (self.peak - capacity).max(0)
    }
}

/// Record of all computations of a stage, for a schedule.
#[derive(Clone, Debug, Default)]
pub struct StageRecord {
    /// Computed columns, each with its implementation and whether it runs in place.
    pub computed: Vec<(u32, u16, bool)>,
    /// Implementation of the backward node.
    pub backward: u16,
}

/// Scratch of [`evaluate`] and [`evaluate_and_note`], reused from call to call.
#[derive(Clone)]
pub struct MonetStageScratch {
    need: Vec<u64>,
    done: Vec<u64>,
    read: Vec<u64>,
    /// Columns that may be computed in place.
    legal: Vec<u64>,
    /// Tensors on whose presence the stage depends in other ways than by their size.
    touched: Vec<u64>,
    /// Tensors computed or read.
    used: Vec<u64>,
}

impl MonetStageScratch {
    /// Scratch for a graph.
    pub fn new(graph: &MonetLandscape) -> Self {
        let words = || vec![0; graph.words];
        MonetStageScratch {
            need: words(),
            done: words(),
            read: words(),
            legal: words(),
            touched: words(),
            used: words(),
        }
    }

    /// Tensors on which the value of the stage noted last depends in other ways than by their size.
    pub fn touched(&self) -> &[u64] {
        &self.touched
    }

    /// Tensors that the stage noted last computes, or that it or its backward node may read, and
    /// by-products of its computations.
    pub fn used(&self) -> &[u64] {
        &self.used
    }
}

/// Evaluates stage `t` for the retained sets at its start (`now`, of total size `held_bytes`) and
/// at its end (`next`).
///
/// The sets determine everything else. The variant of the backward node is the one with the least
/// excess, then the least cost. For each variant the computations are the cheapest possible:
/// - in stage 0 all proper nodes;
/// - tensors that `next` retains and `now` does not;
/// - tensors that the backward node reads and `next` does not retain (row 6 of the written-out
///   program);
/// - all inputs that are not held, and the parents of by-products.
///
/// A node overwrites its in-place input if that has no further reader and it is no loss. Among
/// several ways it takes the cheapest one that fits at the node's own event. This is optimal, since
/// neither choice affects any other event. Cost and memory equal the result of
/// [`remat_instances::simulate::monet`]. If the simulator refuses the stage because it recomputes a
/// node that is never recomputed, the peak here exceeds the capacity.
pub fn evaluate(
    graph: &MonetLandscape,
    t: usize,
    now: &[u64],
    next: &[u64],
    held_bytes: i64,
    scratch: &mut MonetStageScratch,
) -> MonetStageValue {
    evaluate_with::<false>(graph, t, now, next, held_bytes, scratch)
}

/// Evaluates as [`evaluate`] does, and notes in the scratch the tensors that the stage touches and
/// uses.
pub fn evaluate_and_note(
    graph: &MonetLandscape,
    t: usize,
    now: &[u64],
    next: &[u64],
    held_bytes: i64,
    scratch: &mut MonetStageScratch,
) -> MonetStageValue {
    evaluate_with::<true>(graph, t, now, next, held_bytes, scratch)
}

fn evaluate_with<const NOTE: bool>(
    graph: &MonetLandscape,
    t: usize,
    now: &[u64],
    next: &[u64],
    held_bytes: i64,
    scratch: &mut MonetStageScratch,
) -> MonetStageValue {
    let stage = &graph.stage[t];
    if NOTE {
        scratch.touched.copy_from_slice(&stage.read_by_any);
        scratch.used.copy_from_slice(&stage.read_by_any);
    }
    let [first, others @ ..] = stage.variants.as_slice() else {
        return MonetStageValue {
            cost: 0,
            peak: 0,
            up: i64::MAX,
            down: i64::MAX,
        };
    };
    let run = |variant: &Variant, scratch: &mut MonetStageScratch| {
        let value = pass(
            graph,
            t,
            variant,
            now,
            next,
            held_bytes,
            scratch,
            &mut NoRecord,
        );
        if NOTE {
            note_touches(graph, scratch);
        }
        value
    };
    let mut best = run(first, scratch);
    if others.is_empty() {
        return best;
    }
    // The choice among variants changes when one of them begins or ceases to fit.
    let (mut up, mut down) = (best.up, best.down);
    let mut least_excess = best.excess(graph.capacity);
    let mut least_over = if least_excess > 0 {
        least_excess
    } else {
        i64::MAX
    };
    for variant in others {
        let value = run(variant, scratch);
        let excess = value.excess(graph.capacity);
        (up, down) = (up.min(value.up), down.min(value.down));
        if excess > 0 {
            least_over = least_over.min(excess);
        }
        if (excess, value.cost) < (least_excess, best.cost) {
            (best, least_excess) = (value, excess);
        }
    }
    best.down = down.min(least_over);
    best.up = if least_excess == 0 {
        up.min(graph.capacity - best.peak)
    } else {
        up
    };
    best
}

/// Evaluates as [`evaluate`] does, and records the computations and choices of the stage.
pub fn record(
    graph: &MonetLandscape,
    t: usize,
    now: &[u64],
    next: &[u64],
    held_bytes: i64,
    scratch: &mut MonetStageScratch,
) -> (MonetStageValue, StageRecord) {
    let mut best: Option<(MonetStageValue, StageRecord)> = None;
    for variant in &graph.stage[t].variants {
        let mut found = StageRecord::default();
        let value = pass(
            graph, t, variant, now, next, held_bytes, scratch, &mut found,
        );
        let rank = |v: &MonetStageValue| (v.excess(graph.capacity), v.cost);
        if best.as_ref().is_none_or(|b| rank(&value) < rank(&b.0)) {
            best = Some((value, found));
        }
    }
    best.unwrap_or_else(|| {
        let value = evaluate(graph, t, now, next, held_bytes, scratch);
        (value, StageRecord::default())
    })
}

/// Receives the decisions of a pass.
trait Recorder {
    fn forward(&mut self, j: usize, implementation: u16, in_place: bool);
    fn backward(&mut self, implementation: u16);
}

struct NoRecord;

impl Recorder for NoRecord {
    #[inline]
    fn forward(&mut self, _: usize, _: u16, _: bool) {}
    #[inline]
    fn backward(&mut self, _: u16) {}
}

impl Recorder for StageRecord {
    fn forward(&mut self, j: usize, implementation: u16, in_place: bool) {
        self.computed.push((j as u32, implementation, in_place));
    }
    fn backward(&mut self, implementation: u16) {
        self.backward = implementation;
    }
}

/// Adds the tensors that the last pass computed and read.
fn note_touches(graph: &MonetLandscape, scratch: &mut MonetStageScratch) {
    for w in 0..graph.words {
        scratch.touched[w] |= scratch.done[w] | scratch.read[w];
        scratch.used[w] |= scratch.done[w] | scratch.read[w];
    }
    for j in ones(&scratch.done) {
        for &u in graph.passing(j) {
            scratch.touched[u as usize / 64] |= 1 << (u % 64);
        }
        if let Some(option) = &graph.in_place[j] {
            scratch.touched[option.on as usize / 64] |= 1 << (option.on % 64);
        }
        for &q in &graph.by_products[j] {
            scratch.used[q as usize / 64] |= 1 << (q % 64);
        }
    }
}

/// Memory and cost along a stage.
struct Tally {
    capacity: i64,
    value: MonetStageValue,
}

impl Tally {
    #[inline]
    fn glance(&mut self, bytes: i64) {
        self.value.peak = self.value.peak.max(bytes);
    }

    /// Takes a way at an event.
    #[inline]
    fn take(&mut self, bytes: i64, way: EventWay) {
        self.value.cost += way.cost;
        self.glance((bytes + way.workspace).max(0));
    }

    /// The cheapest way that fits, or the smallest. Notes how far the memory may shift until
    /// another way is chosen.
    #[inline]
    fn choose(&mut self, bytes: i64, ways: &[EventWay]) -> EventWay {
        let room = self.capacity - bytes;
        let mut k = 0;
        while k + 1 < ways.len() && ways[k].workspace > room {
            k += 1;
        }
        if k > 0 {
            self.value.down = self.value.down.min(ways[k - 1].workspace - room);
        }
        if k + 1 < ways.len() {
            self.value.up = self.value.up.min(room - ways[k].workspace);
        }
        ways[k]
    }
}

/// One variant of a stage: one descending scan finds the computations, one ascending pass follows
/// the memory.
#[allow(clippy::too_many_arguments)]
#[inline]
fn pass<R: Recorder>(
    graph: &MonetLandscape,
    t: usize,
    variant: &Variant,
    now: &[u64],
    next: &[u64],
    held_bytes: i64,
    scratch: &mut MonetStageScratch,
    recorder: &mut R,
) -> MonetStageValue {
    let reads = &variant.reads[..];
    find_computations(graph, t, reads, now, next, scratch);
    let MonetStageScratch { done, legal, .. } = scratch;
    let stage = &graph.stage[t];
    let again = t > 0;
    let mut tally = Tally {
        capacity: graph.capacity,
        value: MonetStageValue {
            cost: 0,
            peak: 0,
            up: i64::MAX,
            down: i64::MAX,
        },
    };
    let mut bytes = stage.always + held_bytes;
    let mut last = 0;
    tally.glance(bytes);
    for w in 0..graph.words {
        let after = next[w] | reads[w];
        let mut rest = (now[w] ^ after) | done[w];
        while rest != 0 {
            let b = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let j = w * 64 + b;
            let bit = |word: u64| word >> b & 1 != 0;
            last = j;
            // (16): the moment before the turn.
            tally.glance(bytes);
            let size = graph.bytes[j];
            if bit(now[w]) {
                bytes -= size;
            }
            if bit(done[w]) {
                let mut here = bytes + size + graph.passing_bytes[j];
                for &u in graph.passing(j) {
                    if has(next, u as usize) {
                        here -= graph.bytes[u as usize];
                    }
                }
                let parent_in_place = graph.parent[j].is_some_and(|p| has(legal, p as usize));
                let (way, in_place) = match (&graph.in_place[j], parent_in_place) {
                    (Some(_), _) if bit(legal[w]) => {
                        let (way, in_place) =
                            choose_in_place(graph, j, here, done, again, &mut tally);
                        if !in_place {
                            legal[w] &= !(1 << b);
                        }
                        (way, in_place)
                    }
                    (_, true) => in_place_by_product(graph, j, again),
                    _ => (tally.choose(here, graph.forward_ways(again, j)), false),
                };
                tally.take(here, way);
                recorder.forward(j, way.implementation, in_place);
            }
            if bit(after) {
                bytes += size;
            }
        }
    }
    if last + 1 < graph.columns {
        tally.glance(bytes);
    }
    if again {
        let here = bytes - stage.always + stage.backward;
        let way = tally.choose(here, graph.ways_of(variant.ways));
        tally.take(here, way);
        recorder.backward(way.implementation);
        // A recomputation of a node that may not run again is charged memory beyond the budget.
        if done
            .iter()
            .zip(&stage.never)
            .any(|(done, never)| done & never != 0)
        {
            tally.value.peak += graph.never_bytes();
        }
    }
    tally.value
}

/// The way of a node that may overwrite its input, and whether it overwrites the input.
fn choose_in_place(
    graph: &MonetLandscape,
    j: usize,
    bytes: i64,
    done: &[u64],
    again: bool,
    tally: &mut Tally,
) -> (EventWay, bool) {
    let Some(option) = &graph.in_place[j] else {
        return (tally.choose(bytes, graph.forward_ways(again, j)), false);
    };
    let cheapest = option.cheapest[again as usize];
    let inside = EventWay {
        cost: cheapest.cost + option.cost_delta,
        workspace: option.workspace,
        ..cheapest
    };
    // By-products go the way of their parent.
    let made = graph.by_products[j]
        .iter()
        .filter(|q| has(done, **q as usize));
    let change: i64 = made
        .filter_map(|q| graph.by_product_in_place[*q as usize])
        .map(|(_, delta)| delta)
        .sum();
    if option.dominates[again as usize] && option.cost_delta + change <= 0 {
        return (inside, true);
    }
    let outside = tally.choose(bytes, graph.forward_ways(again, j));
    let room = tally.capacity - bytes;
    let fits = |way: &EventWay| way.workspace <= room;
    let cheaper = inside.cost + change < outside.cost;
    let in_place = match (fits(&inside), fits(&outside)) {
        (true, true) => cheaper,
        (false, false) => inside.workspace < outside.workspace,
        (inside_fits, _) => inside_fits,
    };
    // The choice between the two may change when one of them begins or ceases to fit.
    for way in [inside, outside] {
        if fits(&way) {
            tally.value.up = tally.value.up.min(room - way.workspace);
        } else {
            tally.value.down = tally.value.down.min(way.workspace - room);
        }
    }
    (if in_place { inside } else { outside }, in_place)
}

/// The way of a by-product whose parent overwrites its input, and whether it is the in-place
/// option.
fn in_place_by_product(graph: &MonetLandscape, j: usize, again: bool) -> (EventWay, bool) {
    let cheapest = graph.forward_ways(again, j)[0];
    match graph.by_product_in_place[j] {
        Some((workspace, delta)) => {
            let inside = EventWay {
                cost: cheapest.cost + delta,
                workspace,
                ..cheapest
            };
            (inside, true)
        }
        None => (cheapest, false),
    }
}

/// Finds the required computations (`done`), the tensors that they read (`read`), and the nodes
/// that may overwrite their input (`legal`).
fn find_computations(
    graph: &MonetLandscape,
    t: usize,
    reads: &[u64],
    now: &[u64],
    next: &[u64],
    scratch: &mut MonetStageScratch,
) {
    let MonetStageScratch {
        need,
        done,
        read,
        legal,
        ..
    } = scratch;
    for w in 0..graph.words {
        need[w] = (next[w] & !now[w]) | (reads[w] & !next[w]);
        if t == 0 {
            need[w] |= graph.proper[w];
        }
        (done[w], read[w], legal[w]) = (0, 0, 0);
    }
    let mut w = graph.words;
    while w > 0 {
        let word = need[w - 1];
        if word == 0 {
            w -= 1;
            continue;
        }
        let bit = 63 - word.leading_zeros() as usize;
        need[w - 1] = word ^ (1 << bit);
        done[w - 1] |= 1 << bit;
        let k = (w - 1) * 64 + bit;
        if let Some(option) = &graph.in_place[k] {
            let on = option.on as usize;
            // Tensors that the loss reads need not outlive it: row (6) is for later stages.
            let wanted = t > 0 && has(reads, on);
            let free = !has(next, on) && !wanted && !has(read, on);
            if free && may_overwrite(graph, k, on, now, need) {
                legal[w - 1] |= 1 << bit;
            }
            read[on / 64] |= 1 << (on % 64);
        }
        for &d in graph.needs(k) {
            let (dw, db) = (d as usize / 64, 1u64 << (d % 64));
            need[dw] |= db & !now[dw];
            read[dw] |= db;
        }
        if let Some(parent) = graph.parent[k] {
            need[parent as usize / 64] |= 1 << (parent % 64);
        }
    }
}

/// Returns whether the input is present, so that it can be overwritten.
fn may_overwrite(graph: &MonetLandscape, k: usize, on: usize, now: &[u64], need: &[u64]) -> bool {
    graph.needs(k).contains(&(on as u32)) || has(now, on) || has(need, on)
}
