//! Evaluation of one stage: its computations for given retained sets, its cost and its peak memory.

use super::graph::{CheckmateLandscape, NO_PARENT};

/// Cost and peak memory of one stage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CheckmateStageValue {
    /// Cost of all computations of the stage.
    pub cost: f64,
    /// Largest memory in the stage in bytes, without fixed memory.
    pub peak: f64,
}

/// Scratch of [`evaluate`], reused from call to call.
#[derive(Clone)]
pub struct CheckmateStageScratch {
    need: Vec<u64>,
    /// Tensors computed or read, as words of bits.
    touched: Vec<u64>,
    read: Vec<u64>,
    /// Computations in descending node order, with the bytes that are freed once each has run.
    computed: Vec<(u32, f64)>,
}

impl CheckmateStageScratch {
    /// Scratch for a graph.
    pub fn new(graph: &CheckmateLandscape) -> Self {
        let words = || vec![0; graph.words];
        CheckmateStageScratch {
            need: words(),
            touched: words(),
            read: words(),
            computed: Vec::with_capacity(graph.n),
        }
    }

    /// Tensors that the stage evaluated last, `t`, computes or reads, as words of bits up to the
    /// word of `t`.
    pub fn touched(&mut self, t: usize) -> &[u64] {
        let touched = &mut self.touched[..=t / 64];
        touched.copy_from_slice(&self.read[..=t / 64]);
        for &(k, _) in &self.computed {
            touched[k as usize / 64] |= 1 << (k % 64);
        }
        touched
    }
}

/// Evaluates stage `t` for the retained sets at its start (`now`, of total size `held_bytes`) and
/// at its end (`next`).
///
/// The computations are the cheapest possible (min-R):
/// - the stage's node;
/// - all tensors that `next` retains and `now` does not;
/// - all their inputs that are not held;
/// - the parents of by-products that are recomputed.
///
/// One descending scan finds them and each tensor's last reader; one ascending pass follows the
/// memory. The result equals [`remat_instances::simulate::checkmate`] on the same stage. If the
/// simulator refuses the stage because it recomputes a node that is never recomputed, the peak here
/// exceeds the capacity.
///
/// `stored` has the tensors in secondary storage as words of bits, or is empty. Such a tensor is
/// paged in if `next` retains it and it is neither held nor computed for a reader.
#[inline]
pub fn evaluate(
    graph: &CheckmateLandscape,
    t: usize,
    now: &[u64],
    next: &[u64],
    stored: &[u64],
    held_bytes: f64,
    scratch: &mut CheckmateStageScratch,
) -> CheckmateStageValue {
    let top = t / 64;
    let (now, next) = (&now[..=top], &next[..=top]);
    let need = &mut scratch.need[..=top];
    let read = &mut scratch.read[..=top];
    for w in 0..=top {
        need[w] = next[w] & !now[w];
        read[w] = 0;
    }
    for (need, stored) in need.iter_mut().zip(stored) {
        *need &= !stored;
    }
    need[top] |= 1 << (t % 64);
    scratch.computed.clear();
    let mut w = top as isize;
    while w >= 0 {
        let word = need[w as usize];
        if word == 0 {
            w -= 1;
            continue;
        }
        let bit = 63 - word.leading_zeros() as usize;
        need[w as usize] = word ^ (1 << bit);
        let k = w as usize * 64 + bit;
        let parent = graph.parent[k];
        if parent != NO_PARENT && k < t {
            need[parent as usize / 64] |= 1 << (parent % 64);
        }
        let mut freed = 0.0;
        for (d, frees) in graph.reads(k) {
            let (dw, db) = (d as usize / 64, 1u64 << (d % 64));
            need[dw] |= db & !now[dw];
            if (read[dw] | next[dw]) & db == 0 {
                freed += frees;
            }
            read[dw] |= db;
        }
        scratch.computed.push((k as u32, freed));
    }
    let mut bytes = held_bytes;
    let mut value = CheckmateStageValue {
        cost: 0.0,
        peak: held_bytes,
    };
    // A recomputation of a node that is never recomputed is charged memory beyond the capacity.
    let again = scratch.computed[1..].iter().map(|c| c.0 as usize);
    let never = graph.never_bytes(t, again);
    // The stage's own node comes last: its first computation.
    for &(k, freed) in scratch.computed[1..].iter().rev() {
        let k = k as usize;
        bytes += graph.bytes[k];
        value.peak = value.peak.max(bytes + graph.workspace_again[k]);
        bytes -= freed;
        value.cost += graph.cost_again[k];
    }
    value.peak = value.peak.max(bytes + graph.bytes[t] + graph.workspace[t]);
    value.peak += never;
    value.cost += graph.cost[t];
    if !stored.is_empty() {
        let come = |w: usize| next[w] & !now[w] & stored[w];
        for i in (0..=top).flat_map(|w| ones(come(w)).map(move |bit| w * 64 + bit)) {
            let is_computed = scratch.computed.iter().any(|c| c.0 as usize == i);
            value.cost += if is_computed { 0.0 } else { graph.page_in[i] };
        }
    }
    value
}

/// Places of the ones in a word.
fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(bit)
    })
}
