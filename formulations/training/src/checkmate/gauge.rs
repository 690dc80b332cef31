//! Memory, measured in ways that no schedule exceeds.
//!
//! By a memory row, the sizes of the tensors that are there add up to at most the capacity. Each
//! tensor is there or not, so any superadditive function of sizes and capacity makes a valid row as
//! well. Mixed-integer rounding with a divisor `u` is one:
//!
//! ```text
//! G(a) = floor(a/u) + max(0, frac(a/u) - f) / (1 - f),   f = frac(capacity/u)
//! sum G(m_i) x_i <= floor(capacity/u)
//! ```
//!
//! Sizes in a network are few and often multiples of each other. If the capacity is 97.49 times the
//! smallest of them, a relaxation uses the 0.49, and no schedule can. On ResNet-50 at 7 GiB this
//! makes up the gap below the best plan. (Nemhauser & Wolsey 1990; Marchand & Wolsey 2001.)
//!
//! With `k` micro-batches in flight, a memory row has two integers for a tensor: it is there at the
//! event, with `m_i`, and at the wait, with `(k - 1) m_i`. `G` is superadditive whatever the
//! integers stand for, so both sizes are rounded, each by itself, under the same capacity.

/// Sizes and a capacity that every schedule within the budget respects at every event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gauge {
    /// Bytes counted for each tensor while it is held.
    pub bytes: Vec<u64>,
    /// Bytes counted at all events for each tensor that is there at the wait: the copies of the
    /// other micro-batches.
    pub waiting: Vec<u64>,
    /// Bytes counted for each node while it is computed first: output and workspace.
    pub working: Vec<u64>,
    /// Bytes counted for each node while it is recomputed.
    pub working_again: Vec<u64>,
    /// Bytes available for all together.
    pub capacity: u64,
    /// The size by which it rounds; 0 for exact sizes.
    pub unit: u64,
}

/// Gauges at most, including the one without rounding.
const GAUGE_LIMIT: usize = 17;
/// The least divisor and the least gain of rounding, as parts of the capacity: one in so many.
const LEAST_UNIT: u64 = 500;
const LEAST_GAIN: u64 = 1000;

impl Gauge {
    /// The exact gauge, and gauges that round by the sizes that most tensors have.
    ///
    /// `workspace` lists the workspaces of first computations and of recomputations.
    /// `waiting` lists the bytes that other micro-batches hold of each tensor: `k - 1` copies.
    pub(super) fn all(
        bytes: &[u64],
        workspace: [&[u64]; 2],
        waiting: Vec<u64>,
        capacity: u64,
    ) -> Vec<Gauge> {
        let [working, working_again] = workspace.map(|workspace| {
            let working = bytes.iter().zip(workspace).map(|(b, w)| b + w);
            working.collect()
        });
        let plain = Gauge {
            bytes: bytes.to_vec(),
            waiting,
            working,
            working_again,
            capacity,
            unit: 0,
        };
        let mut sorted = bytes.to_vec();
        sorted.sort_unstable();
        let mut units: Vec<(usize, u64)> = sorted
            .chunk_by(|a, b| a == b)
            .map(|same| (same.len(), same[0]))
            .filter(|&(_, unit)| unit > capacity / LEAST_UNIT && unit <= capacity)
            .filter(|&(_, unit)| capacity % unit > capacity / LEAST_GAIN)
            .collect();
        units.sort_by_key(|&(tensors, unit)| std::cmp::Reverse((tensors, unit)));
        units.truncate(GAUGE_LIMIT - 1);
        let rounded = units.iter().map(|&(_, unit)| plain.rounded(unit));
        let rounded: Vec<Gauge> = rounded.collect();
        std::iter::once(plain).chain(rounded).collect()
    }

    /// Mixed-integer rounding by a unit that does not divide the capacity; counts are bytes again,
    /// rounded down.
    fn rounded(&self, unit: u64) -> Gauge {
        let rest = self.capacity % unit;
        let round = |size: &u64| {
            let over = u128::from((size % unit).saturating_sub(rest));
            // Less than the unit: the quotient fits.
            size / unit * unit + (over * u128::from(unit) / u128::from(unit - rest)) as u64
        };
        Gauge {
            bytes: self.bytes.iter().map(round).collect(),
            waiting: self.waiting.iter().map(round).collect(),
            working: self.working.iter().map(round).collect(),
            working_again: self.working_again.iter().map(round).collect(),
            capacity: self.capacity - rest,
            unit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_fits_by_every_gauge() {
        let mut state = 7u64;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            (state >> 33) % n
        };
        let (mut gauges, mut tight) = (0, 0);
        for _ in 0..2_000 {
            let bytes: Vec<u64> = (0..6).map(|_| below(20)).collect();
            let workspace: Vec<u64> = (0..6).map(|_| below(4)).collect();
            let capacity = 5 + below(60);
            let others = below(3);
            let waiting: Vec<u64> = bytes.iter().map(|b| b * others).collect();
            let all = Gauge::all(&bytes, [&workspace, &workspace], waiting, capacity);
            // Every set of tensors, one of them being computed, and some that wait.
            for set in 1u32..64 {
                let busy = set.trailing_zeros() as usize;
                let at_wait = set >> below(6);
                let total = |g: &Gauge| {
                    let held = (0..6).filter(|&i| i != busy && set >> i & 1 == 1);
                    let waits = (0..6).filter(|&i| at_wait >> i & 1 == 1);
                    let waits: u64 = waits.map(|i| g.waiting[i]).sum();
                    held.map(|i| g.bytes[i]).sum::<u64>() + g.working[busy] + waits
                };
                if total(&all[0]) > capacity {
                    continue;
                }
                for g in &all[1..] {
                    assert!(total(g) <= g.capacity, "{bytes:?} {capacity} {g:?}");
                    tight += usize::from(total(g) == g.capacity);
                }
            }
            gauges += all.len() - 1;
        }
        assert!(gauges > 3_000 && tight > 3_000, "{gauges} {tight}");
    }
}
