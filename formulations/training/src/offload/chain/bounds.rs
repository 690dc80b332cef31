//! Lower bound on the time of the rest of a chain.
//!
//! A sequence with copies becomes a sequence without copies if offloaded values stay on the device:
//! `V` bytes offloaded by the rest of a chain are worth at most `V` bytes of memory. These bytes,
//! and the bytes that are still to go and to come back, occupy the link during the forward and the
//! backward phase of the rest. So the rest takes at least
//!
//! ```text
//! min over V of  max(F, (V + going) / out) + max(R(m + V) - F, (V + due) / back)
//! ```
//!
//! with `F` the time of its forward steps and `R(m)` its least time without a link in `m` bytes.

use super::fronts::{Detail, Fronts, Rounding};
use super::labels::Label;
use super::model::{Link, LinkedChain};
use super::search::Choices;

/// Number of values of `V` that are bounded together.
const BLOCK: usize = 16;

/// Least times of the rest of a chain without a link, by free memory.
pub(super) struct ChainBounds {
    link: Link,
    /// Bytes of a slot.
    unit: u64,
    /// `R` by stage, by whether the stage before saved all, and by slots; it falls as slots grow.
    rests: Vec<[Vec<f64>; 2]>,
    /// Forward and backward time from each stage on.
    times: Vec<(f64, f64)>,
}

impl ChainBounds {
    /// The bounds of a chain, with memory up to `most_bytes` divided into `slots` slots.
    pub fn new(
        chain: &LinkedChain,
        link: Link,
        choices: Choices,
        most_bytes: u64,
        slots: u64,
    ) -> Self {
        let detail = Detail {
            slots,
            ways: 2,
            overhead: f64::INFINITY,
            rounding: Rounding::Down,
        };
        let count = if choices == Choices::Offload {
            0
        } else {
            chain.len()
        };
        let fronts = Fronts::new(&chain.stages[..count], most_bytes, 0.0, detail);
        let unit = most_bytes.div_ceil(slots.max(1)).max(1);
        let size = (most_bytes / unit) as usize + 1;
        let mut bounds = ChainBounds {
            link,
            unit,
            rests: vec![[vec![f64::INFINITY; size], vec![f64::INFINITY; size]]; chain.len()],
            times: vec![(0.0, 0.0); chain.len()],
        };
        for stage in (0..chain.len()).rev() {
            let here = &chain.stages[stage];
            let after = bounds.times.get(stage + 1).copied().unwrap_or_default();
            bounds.times[stage] = (after.0 + here.forward_time, after.1 + here.backward_time);
            for is_saved in [false, true] {
                let rest = (0..size).map(|k| {
                    // The largest number of bytes that rounds to `k` slots.
                    let room = (k as u64 + 1) * unit - 1;
                    bounds.rest(chain, &fronts, (stage, is_saved), room)
                });
                bounds.rests[stage][usize::from(is_saved)] = rest.collect();
            }
        }
        bounds
    }

    /// Least time of a stage and all later stages without a link, if `room` bytes are free, its
    /// input included.
    fn rest(
        &self,
        chain: &LinkedChain,
        fronts: &Fronts<'_>,
        (stage, is_saved): (usize, bool),
        room: u64,
    ) -> f64 {
        let here = &chain.stages[stage];
        let input = chain.input_bytes(stage, is_saved);
        let Some(room) = room.checked_sub(input) else {
            return f64::INFINITY;
        };
        let slots = (room / self.unit) as usize;
        let own = here.forward_time + here.backward_time;
        if stage + 1 == chain.len() {
            let fits = here.close_forward_bytes.max(here.backward_bytes) <= room;
            return if fits { own } else { f64::INFINITY };
        }
        let mut best = f64::INFINITY;
        if here.first.save_bytes.max(here.backward_bytes) <= room {
            best = own + self.rests[stage + 1][1][slots];
        }
        let mut passed = 0.0;
        for next in stage + 1..chain.len() {
            let before = &chain.stages[next - 1];
            let peak = match next - 1 == stage {
                true => before.first.pass_bytes,
                false => before.first.stream_bytes,
            };
            if peak > room {
                break;
            }
            passed += before.forward_time;
            if let Some(back) = fronts.least_time(stage, next - 1, room) {
                best = best.min(passed + back + self.rests[next][0][slots]);
            }
        }
        best
    }

    /// Lower bound on the time of the whole chain in `memory_bytes`.
    pub fn whole(&self, memory_bytes: u64, may_offload: bool) -> f64 {
        let limit = f64::INFINITY;
        self.least(&Label::default(), memory_bytes, may_offload, limit)
    }

    /// Lower bound on the time of the rest from a label on, if `room` bytes are free, the input of
    /// its stage included. If the bound reaches `limit`, the result is some number no less than
    /// `limit`.
    pub fn least(&self, label: &Label, room: u64, may_offload: bool, limit: f64) -> f64 {
        let rests = &self.rests[label.stage][usize::from(label.is_saved)];
        let last = rests.len() - 1;
        let (forward, backward) = self.times[label.stage];
        let sending = |bytes: f64, rate: f64| if bytes > 0.0 { bytes / rate } else { 0.0 };
        let from = ((room / self.unit) as usize).min(last);
        let out = |bytes: f64| forward.max(sending(bytes + label.going, self.link.out));
        let back = |time: f64, bytes: f64| {
            (time - forward).max(sending(bytes + label.due, self.link.back))
        };
        if !may_offload {
            return out(0.0) + back(rests[from], 0.0);
        }
        // At least `low` slots offloaded, fewer than `high`.
        let least = |low: usize, high: usize| {
            let bytes = (low as u64 * self.unit) as f64;
            out(bytes) + back(rests[(from + high).min(last)], bytes)
        };
        // With fewer slots the computations alone take too long.
        let first = rests.partition_point(|&time| time >= limit);
        let mut low = first.saturating_sub(from + 1);
        let mut best = limit;
        while from + low <= last && out((low as u64 * self.unit) as f64) + backward < best {
            if least(low, low + BLOCK) < best {
                best = (low..low + BLOCK).fold(best, |best, k| best.min(least(k, k + 1)));
            }
            low += BLOCK;
        }
        best
    }
}
