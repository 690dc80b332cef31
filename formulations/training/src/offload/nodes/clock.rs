//! Placement of copies: when each value leaves and comes back, and the resulting makespan.
//!
//! The gaps in which values are away are given. Forwards in time, the lane to the host takes values
//! as soon as they are computed, in the order in which their gaps begin. A value stays in memory
//! until its copy has ended, and a computation that does not fit waits for copies under way.
//! Backwards in time, the lane from the host does the same: copies back are as late as possible,
//! and begin earlier if the lane or the memory requires it. The makespan is exact except for times
//! in which both lanes make computations wait; the replay of the statements decides.

use super::sequence::{Sequence, Travel};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Copies of a set of gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PlacedCopies {
    /// Bytes above the budget, summed over computations; if positive, the other fields are not
    /// valid.
    pub excess: u64,
    /// Sum of costs and waiting times.
    pub makespan: u64,
    /// Largest sum of bytes on the host.
    pub host_bytes: u64,
    /// Copies to the host: the computation before which each is issued, and its gap; in the order
    /// of the lane.
    pub sent: Vec<(u32, u32)>,
    /// For each gap, the computation before which its value is freed; valid for the first chosen
    /// gap of each value, which waits for the copy.
    pub freed: Vec<u32>,
    /// For each gap, the computation before which its copy back is issued.
    pub issued: Vec<u32>,
}

/// Clock of a sequence, with scratch.
pub(super) struct Clock<'a> {
    sequence: &'a Sequence,
    budget_bytes: u64,
    /// Gaps by the computation after which they begin, and by the one before which they end.
    begin: GapLists,
    end: GapLists,
    held: Vec<u64>,
    change: Vec<i64>,
    ready: BinaryHeap<Reverse<(u32, u32)>>,
    /// Copies under way: the time of their end, and their gap.
    under_way: Vec<(u64, u32)>,
    placed: PlacedCopies,
}

/// Gaps listed by computation.
struct GapLists {
    start: Vec<u32>,
    gaps: Vec<u32>,
}

impl GapLists {
    fn new(computations: usize, keys: impl Iterator<Item = u32> + Clone) -> Self {
        let mut start = vec![0; computations + 1];
        for key in keys.clone() {
            start[key as usize + 1] += 1;
        }
        for k in 0..computations {
            start[k + 1] += start[k];
        }
        let mut fill = start.clone();
        let mut gaps = vec![0; start[computations] as usize];
        for (gap, key) in keys.enumerate() {
            gaps[fill[key as usize] as usize] = gap as u32;
            fill[key as usize] += 1;
        }
        GapLists { start, gaps }
    }

    fn at(&self, k: usize) -> &[u32] {
        &self.gaps[self.start[k] as usize..self.start[k + 1] as usize]
    }
}

/// No computation.
pub(super) const NEVER: u32 = u32::MAX;

impl<'a> Clock<'a> {
    pub fn new(sequence: &'a Sequence, budget_bytes: u64) -> Self {
        let n = sequence.len();
        let gaps = sequence.gaps.len();
        Clock {
            sequence,
            budget_bytes,
            begin: GapLists::new(n, sequence.gaps.iter().map(|g| g.after)),
            // Scatters end with the step.
            end: GapLists::new(n + 1, sequence.gaps.iter().map(|g| g.before)),
            held: vec![0; n],
            change: vec![0; n + 1],
            ready: BinaryHeap::new(),
            under_way: Vec::new(),
            placed: PlacedCopies {
                freed: vec![NEVER; gaps],
                issued: vec![NEVER; gaps],
                ..PlacedCopies::default()
            },
        }
    }

    /// The first chosen gap of the value of a gap.
    fn is_first(&self, chosen: &[bool], gap: usize) -> bool {
        let first = self.sequence.gaps[gap].first as usize;
        !chosen[first..gap].contains(&true)
    }

    /// Places the copies of the chosen gaps.
    pub fn place(&mut self, chosen: &[bool]) -> &PlacedCopies {
        self.base(chosen);
        if self.placed.excess == 0 {
            let costs: u64 = self.sequence.costs.iter().sum();
            let out = self.forwards(chosen);
            let back = self.backwards(chosen);
            self.placed.host_bytes = self.host_peak(chosen);
            self.placed.makespan = costs.saturating_add(out).saturating_add(back);
        }
        &self.placed
    }

    /// The computation that is furthest above the budget with the chosen values away, if any is.
    pub fn most_above(&mut self, chosen: &[bool]) -> Option<usize> {
        self.base(chosen);
        if self.placed.excess == 0 {
            return None;
        }
        (0..self.held.len()).max_by_key(|k| self.held[*k])
    }

    /// Memory while each computation runs, as last computed.
    pub fn held(&self) -> &[u64] {
        &self.held
    }

    /// Computes the memory with all chosen values away in their gaps.
    fn base(&mut self, chosen: &[bool]) {
        self.change.fill(0);
        for (gap, _) in self.sequence.gaps.iter().zip(chosen).filter(|(_, c)| **c) {
            if gap.travel == Travel::Scatter {
                // Nothing reads it in its gap, so the sequence does not count it there.
                continue;
            }
            self.change[gap.after as usize + 1] += gap.bytes as i64;
            self.change[gap.before as usize] -= gap.bytes as i64;
        }
        let (mut away, mut excess) = (0, 0u64);
        for (k, bytes) in self.sequence.bytes.iter().enumerate() {
            away += self.change[k];
            self.held[k] = bytes.saturating_sub(away as u64);
            excess = excess.saturating_add(self.held[k].saturating_sub(self.budget_bytes));
        }
        self.placed.excess = excess;
    }

    /// Largest number of bytes on the host, which holds a value from the statement of its copy to
    /// the read after its last gap.
    fn host_peak(&mut self, chosen: &[bool]) -> u64 {
        self.change.fill(0);
        for &(k, gap) in &self.placed.sent {
            if self.sequence.gaps[gap as usize].travel != Travel::Copies {
                continue;
            }
            let mut own = self.sequence.siblings(gap as usize).rev();
            let last = own.find(|g| chosen[*g]).unwrap_or(gap as usize);
            let (first, last) = (&self.sequence.gaps[gap as usize], &self.sequence.gaps[last]);
            self.change[k as usize] += first.bytes as i64;
            self.change[last.before as usize + 1] -= first.bytes as i64;
        }
        let (mut held, mut most) = (0, 0);
        for change in &self.change {
            held += change;
            most = most.max(held);
        }
        most as u64
    }

    /// Places copies to the host; returns the time for which computations wait.
    fn forwards(&mut self, chosen: &[bool]) -> u64 {
        let sequence = self.sequence;
        let n = sequence.len();
        self.ready.clear();
        self.under_way.clear();
        self.placed.sent.clear();
        let (mut clock, mut lane, mut idle) = (0u64, 0u64, 0u64);
        // Bytes of values whose gap has begun and that are still on the device.
        let mut leaving = 0u64;
        for k in 0..n {
            let busy_until = clock.saturating_add(sequence.costs[k]);
            while lane < busy_until
                && let Some(Reverse((_, gap))) = self.ready.pop()
            {
                lane = self.send(k, gap, clock, lane);
            }
            // Values whose gap begins here.
            if k > 0 {
                for &gap in self.begin.at(k - 1) {
                    if chosen[gap as usize] && self.is_first(chosen, gap as usize) {
                        leaving += sequence.gaps[gap as usize].bytes;
                    }
                }
            }
            let room = self.budget_bytes - self.held[k];
            loop {
                // Values whose copies have ended are freed.
                let placed = &mut self.placed;
                self.under_way.retain(|&(end, gap)| {
                    let begun = (sequence.gaps[gap as usize].after as usize) < k;
                    let gone = begun && end <= clock;
                    if gone {
                        placed.freed[gap as usize] = k as u32;
                        leaving -= sequence.gaps[gap as usize].bytes;
                    }
                    !gone
                });
                // A value read here must have left before it can come back.
                let placed = &self.placed;
                let late =
                    |gap: &&u32| chosen[**gap as usize] && placed.freed[**gap as usize] == NEVER;
                let late = self
                    .end
                    .at(k)
                    .iter()
                    .find(|gap| late(gap) && self.is_first(chosen, **gap as usize));
                let ends = sequence.barrier == Some(k as u32);
                let waits = |gap: u32| match late {
                    _ if ends => true,
                    Some(late) if leaving <= room => gap == *late,
                    _ => (sequence.gaps[gap as usize].after as usize) < k,
                };
                let all = ends && self.under_way.iter().all(|(end, _)| *end <= clock);
                let all = !ends || all && self.ready.is_empty();
                if leaving <= room && late.is_none() && all {
                    break;
                }
                let next = self
                    .under_way
                    .iter()
                    .filter(|(end, gap)| waits(*gap) && (!ends || *end > clock));
                if let Some(end) = next.map(|(end, _)| *end).min() {
                    idle += end.saturating_sub(clock);
                    clock = clock.max(end);
                } else if let Some(Reverse((_, gap))) = self.ready.pop() {
                    lane = self.send(k, gap, clock, lane);
                } else {
                    break;
                }
            }
            // Values that have not left yet still take memory.
            self.held[k] += leaving;
            clock = clock.saturating_add(sequence.costs[k]);
            self.make_ready(chosen, k);
        }
        idle.saturating_add(self.last_scatters(clock, lane))
    }

    /// Places the scatters that are left at the end; returns the time for which the step waits for
    /// all scatters.
    fn last_scatters(&mut self, clock: u64, mut lane: u64) -> u64 {
        let n = self.sequence.len();
        while let Some(Reverse((_, gap))) = self.ready.pop() {
            lane = self.send(n, gap, clock, lane);
        }
        let gaps = &self.sequence.gaps;
        let scatter = |gap: u32| gaps[gap as usize].travel == Travel::Scatter;
        let ends = self.under_way.iter().filter(|(_, gap)| scatter(*gap));
        let end = ends.map(|(end, _)| *end).max();
        end.map_or(0, |end| end.saturating_sub(clock))
    }

    /// Gives a copy to the lane; returns the time at which the lane is free again.
    fn send(&mut self, k: usize, gap: u32, clock: u64, lane: u64) -> u64 {
        let end = lane
            .max(clock)
            .saturating_add(self.sequence.gaps[gap as usize].out);
        self.placed.sent.push((k as u32, gap));
        self.under_way.push((end, gap));
        end
    }

    /// Queues the copy of a computation's value, if one of its gaps is chosen.
    fn make_ready(&mut self, chosen: &[bool], k: usize) {
        let gaps = &self.sequence.gaps;
        let first = gaps.partition_point(|g| (g.value as usize) < k);
        let own = gaps[first..].iter().take_while(|g| g.value as usize == k);
        if let Some(at) = own.enumerate().map(|(j, _)| first + j).find(|&j| chosen[j]) {
            self.placed.freed[at] = NEVER;
            self.ready.push(Reverse((gaps[at].after, at as u32)));
        }
    }

    /// Places copies back, given the copies to the host; returns the time for which computations
    /// wait.
    fn backwards(&mut self, chosen: &[bool]) -> u64 {
        let sequence = self.sequence;
        self.under_way.clear();
        // Time runs backwards from the end.
        let (mut clock, mut lane, mut idle) = (0u64, 0u64, 0u64);
        let mut coming = 0u64;
        for k in (0..sequence.len()).rev() {
            let room = self.budget_bytes.saturating_sub(self.held[k]);
            loop {
                let placed = &mut self.placed;
                self.under_way.retain(|&(end, gap)| {
                    let there = end <= clock;
                    if there {
                        placed.issued[gap as usize] = k as u32 + 1;
                        coming -= sequence.gaps[gap as usize].bytes;
                    }
                    !there
                });
                // A value cannot come back before it has left.
                let placed = &self.placed;
                let barrier = sequence.barrier == Some(k as u32);
                let must = |gap: u32| {
                    let first = &sequence.gaps[gap as usize];
                    let own = first.first as usize..=gap as usize;
                    let freed = own.filter(|g| chosen[*g]).map(|g| placed.freed[g]).next();
                    first.after as usize >= k || freed.is_some_and(|f| f as usize > k && f != NEVER)
                };
                let must = self.under_way.iter().any(|(_, gap)| barrier || must(*gap));
                if coming <= room && !must {
                    break;
                }
                let Some(end) = self.under_way.iter().map(|(end, _)| *end).min() else {
                    break;
                };
                idle += end.saturating_sub(clock);
                clock = clock.max(end);
            }
            clock = clock.saturating_add(sequence.costs[k]);
            for &gap in self.end.at(k) {
                if chosen[gap as usize] {
                    let own = &sequence.gaps[gap as usize];
                    lane = lane.max(clock).saturating_add(own.back);
                    self.under_way.push((lane, gap));
                    coming += own.bytes;
                }
            }
        }
        idle
    }
}
