//! The cheapest life of a tensor: on the device, on the host, on both, or nowhere, from its first
//! computation on.
//!
//! A life is followed forwards, stage by stage: the begin of the stage, its own turn, the turns of
//! its readers. The cost of a tensor on the device, with or without a copy on the host, is stored
//! less the charges from the beginning on. So states do not change between turns. The payment for
//! the return of a tensor depends on the moment at which it left: tensors that left between the
//! same windows form one class. A tensor on the host alone comes back some time, so it is not
//! copied again.

use super::graph::LinkedGraph;
use super::prices::Prices;

/// Least costs by state. For tensors on the device, the charges up to now are subtracted.
struct Life<'a> {
    linked: &'a LinkedGraph,
    prices: &'a Prices,
    node: usize,
    /// First stages of windows that pay for a return, ascending.
    windows: Vec<usize>,
    /// Charge for a unit of time of a copy to the host that is complete in a stage, by stage.
    out: Vec<i128>,
    absent: i128,
    device: Option<i128>,
    both: Option<i128>,
    /// On the host, by the number of windows that had begun when it left the device.
    host: Vec<Option<i128>>,
}

/// The least cost of a life of a tensor.
pub fn least(linked: &LinkedGraph, prices: &Prices, node: usize) -> i128 {
    let mut windows: Vec<usize> = prices.returns[node].iter().map(|r| r.from).collect();
    windows.sort_unstable();
    windows.dedup();
    let mut life = Life {
        linked,
        prices,
        node,
        host: vec![None; windows.len() + 1],
        windows,
        out: charges_out(linked, prices, node),
        absent: 0,
        // Its memory counts from the next turn on.
        device: Some(
            -prices
                .device
                .charged(node, linked.graph.event(node, node) + 1),
        ),
        both: None,
    };
    for stage in node + 1..=linked.graph.last_stage[node] {
        life.begin(stage);
        life.own_turn(stage);
        life.readers(stage);
    }
    life.absent
}

/// Charges for copies to the host by the stage in which they are complete.
fn charges_out(linked: &LinkedGraph, prices: &Prices, node: usize) -> Vec<i128> {
    let n = linked.len();
    let mut sums = vec![0; n + 1];
    for window in prices.out.iter().filter(|w| w.first <= node) {
        sums[window.last] += window.charge;
    }
    for stage in (0..n).rev() {
        sums[stage] += sums[stage + 1];
    }
    sums
}

fn lower(least: &mut Option<i128>, cost: Option<i128>) {
    if let Some(cost) = cost
        && least.is_none_or(|known| cost < known)
    {
        *least = Some(cost);
    }
}

impl Life<'_> {
    /// Number of windows that have begun by a stage.
    fn begun(&self, stage: usize) -> usize {
        self.windows.partition_point(|from| *from <= stage)
    }

    /// Cost of a copy to the host that is complete in a stage.
    fn copy_out(&self, stage: usize) -> Option<i128> {
        let [out, _] = self.linked.copies[self.node]?;
        let may = self.linked.may_leave_in(stage);
        may.then(|| self.out[stage] * i128::from(out) - self.prices.leaves[self.node])
    }

    /// A stage begins. A copy may be complete then; the tensor leaves the device at once, or stays.
    fn begin(&mut self, stage: usize) {
        let (node, prices) = (self.node, self.prices);
        let crossed = prices.device.crosses[node].iter();
        let paid: i128 = crossed.filter(|c| c.0 == stage).map(|c| c.1).sum();
        let bytes = i128::from(self.linked.graph.bytes[node]);
        let waits = prices.host[stage] * bytes;
        self.device = self.device.map(|cost| cost - paid);
        self.both = self.both.map(|cost| cost - paid + waits);
        for cost in self.host.iter_mut().flatten() {
            *cost += waits;
        }
        let now = self.linked.graph.event(stage, 0);
        self.copied(stage, now);
    }

    /// The copy to the host is complete while the tensor is on the device, with all charges up to
    /// an event: the tensor leaves, or stays.
    fn copied(&mut self, stage: usize, event: usize) {
        let (Some(cost), Some(out)) = (self.device, self.copy_out(stage)) else {
            return;
        };
        lower(&mut self.both, Some(cost + out));
        let gone = cost + out + self.prices.device.charged(self.node, event);
        let class = self.begun(stage);
        lower(&mut self.host[class], Some(gone));
    }

    /// Behind a turn, the tensor may be dropped, or its copy may be complete.
    fn after(&mut self, stage: usize, turn: usize) {
        let event = self.linked.graph.event(stage, turn) + 1;
        let charged = self.prices.device.charged(self.node, event);
        let class = self.begun(stage);
        if let Some(both) = self.both {
            lower(&mut self.host[class], Some(both + charged));
            self.absent = self.absent.min(both + charged);
        }
        if let Some(device) = self.device {
            self.absent = self.absent.min(device + charged);
        }
        // Behind the last turn of a stage the next one has begun.
        if turn < stage {
            self.copied(stage, event);
        }
    }

    /// Computes the tensor again if the device does not have it; a copy on the host may be of use
    /// later.
    fn own_turn(&mut self, stage: usize) {
        let (node, prices, graph) = (self.node, self.prices, &self.linked.graph);
        let hosted = self.host.iter().flatten().copied().min();
        if !graph.may_recompute_in(node, stage) {
            return;
        }
        let started = prices.device.starts[node].iter();
        let paid = started
            .filter(|s| (s.0..=s.1).contains(&stage))
            .map(|s| s.2);
        let time = prices.load[stage] * i128::from(self.linked.again[node]);
        let cost = i128::from(graph.cost_again[node]) * prices.one;
        let charged = prices.device.charged(node, graph.event(stage, node));
        let cost = cost - time - paid.sum::<i128>() - charged;
        lower(&mut self.device, Some(self.absent + cost));
        lower(&mut self.both, hosted.map(|hosted| hosted + cost));
        self.after(stage, node);
    }

    /// Turns of readers, before which the tensor may come back.
    fn readers(&mut self, stage: usize) {
        let (node, linked) = (self.node, self.linked);
        let graph = &linked.graph;
        let readers = graph.readers[node].iter();
        let (mut best, mut ways) = (None, None);
        let class = self.begun(stage);
        let mut first = true;
        for turn in readers.filter(|q| linked.runs(**q, stage)) {
            if first {
                first = false;
                best = self.returning(stage);
                ways = best.and_then(|_| self.ways_back(stage));
            }
            // A tensor that left in this stage comes back without payment.
            lower(&mut best, self.host[class]);
            let turn = *turn as usize;
            let event = graph.event(stage, turn);
            if ways.is_none() && best.is_some() {
                ways = self.ways_back(stage);
            }
            if let (Some(cost), Some((now, earlier))) = (best, ways) {
                let read = cost + self.prices.device.paid(node, event);
                let now = read + now - self.prices.device.occupied(node, event);
                let back = earlier.map_or(now, |earlier| now.min(read + earlier));
                // An unlimited host keeps its copy: its room has no other use.
                if linked.host_bytes.is_some() {
                    lower(&mut self.device, Some(back));
                }
                lower(&mut self.both, Some(back));
            }
            self.after(stage, turn);
        }
    }

    /// Least cost on the host, of tensors that left before a stage, less the payment for a return
    /// in it.
    fn returning(&self, stage: usize) -> Option<i128> {
        // By the number of windows that had begun when the tensor left.
        let mut paid = vec![0i128; self.windows.len() + 1];
        for one in &self.prices.returns[self.node] {
            if (one.from..=one.reader).contains(&stage) {
                let index = self.windows.partition_point(|from| *from < one.from);
                paid[index] += one.pay;
            }
        }
        let mut sum = 0;
        let mut best = None;
        for (class, hosted) in self.host.iter().enumerate().rev() {
            sum += paid[class];
            lower(&mut best, hosted.map(|cost| cost - sum));
        }
        best
    }

    /// Costs of a copy back that is read in a stage. The first is for an issue in the stage, the
    /// second for an earlier one, less the charge for memory up to the end of the stage of issue.
    /// `None` if no copy may be issued.
    fn ways_back(&self, stage: usize) -> Option<(i128, Option<i128>)> {
        let [_, back] = self.linked.copies[self.node]?;
        if stage < self.linked.first_return() {
            return None;
        }
        let back = i128::from(back);
        let earliest = self.linked.first_return().max(self.node + 1);
        let over = &self.prices.back[stage];
        let mut charge: i128 = over.iter().map(|w| w.charge).sum();
        let now = charge * back;
        let mut earlier = None;
        // Only the last stage before a window begins is a candidate for the issue: the charge for
        // memory rises with earlier stages.
        let mut windows = over.iter().peekable();
        while let Some(window) = windows.next() {
            charge -= window.charge;
            if windows
                .peek()
                .is_some_and(|next| next.first == window.first)
            {
                continue;
            }
            let Some(issued) = window.first.checked_sub(1).filter(|q| *q >= earliest) else {
                break;
            };
            let event = self.linked.graph.event(issued + 1, 0);
            let occupied = self.prices.device.occupied(self.node, event);
            lower(&mut earlier, Some(charge * back - occupied));
        }
        Some((now, earlier))
    }
}
