//! The automaton of a tensor: its lives are the walks through it, and their price is the length.
//!
//! A tensor is absent, on the device, on the host, or on both. A computation brings it to the
//! device, a copy to the host to both, and dropping it or its copy takes it away; a copy back
//! brings it to the device again, and the host keeps its copy or not. The walk goes from the last
//! event to the first, with the least price of all that is ahead of each state.
//!
//! Time on the device is charged by what is charged up to its end, less what is charged up to its
//! begin (a potential), so that nothing happens at events that pay nothing.

use super::prices::LinkPrices;
use super::rows::turn;
use super::{Begin, LinkGraph, Stretch, Trip};
use crate::life::{AtomPrices, Exclusions, StartPrices};
use remat_solver::price::Number;
use std::ops::Add;

/// What a tensor on the device does behind an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// It stays.
    Stay,
    /// It is dropped.
    Drop,
    /// Its copy to the host is complete, and it is dropped.
    Leave,
    /// Its copy to the host is complete, and it stays.
    Copy,
}

/// What a tensor on the host does before an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    /// It stays there.
    Stay,
    /// It comes back; the host keeps its copy.
    Fetch { issued: u32 },
    /// It comes back for the last time.
    FetchLast { issued: u32 },
    /// Its copy is given up.
    Release,
}

/// The place of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The begin of the stage.
    Begin,
    /// Its computation.
    Start,
    /// An event that pays.
    Event(u32),
}

/// The choices of a walk at one place.
#[derive(Clone, Copy, Debug)]
struct Mark {
    stage: u32,
    place: Place,
    /// On the device alone, and on both.
    after: [After; 2],
    /// On the host alone.
    before: Before,
}

/// Least prices of what is ahead, by state; those on the device beyond the potential.
#[derive(Clone, Copy, Debug)]
struct Ahead<T> {
    absent: T,
    device: T,
    both: T,
    host: T,
}

/// Prices of copies that are complete, or read, in a stage.
#[derive(Clone, Copy, Debug)]
struct Copies<T> {
    out: Option<T>,
    /// Issued in the stage itself.
    back: Option<T>,
    /// Issued earlier, less the potential there.
    earlier: Option<(T, u32)>,
}

/// A trip that pays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Priced<T> {
    pub price: T,
    pub stage: u32,
    mark: usize,
}

/// The walk through the automaton of a tensor.
#[derive(Clone, Debug)]
pub(super) struct Walk<T> {
    starts: StartPrices<T>,
    returns: Vec<T>,
    /// Turns of a stage that count, descending, and what is paid for being there.
    events: Vec<(u32, T)>,
    marks: Vec<Mark>,
    /// Trips from every stage in which the tensor may be computed, the last stage first.
    pub trips: Vec<Priced<T>>,
    /// The least price of a life.
    pub least: T,
}

/// The tensor whose life is priced.
struct Tensor<'a, T> {
    link: &'a LinkGraph,
    prices: &'a LinkPrices<T>,
    node: u32,
    /// Windows of copies to the host that may hold its own, their last stages descending.
    out: Vec<(u32, T)>,
}

impl<T: Number + Default> Walk<T> {
    /// A walk to be taken.
    pub fn new() -> Self {
        Walk {
            starts: StartPrices::default(),
            returns: Vec::new(),
            events: Vec::new(),
            marks: Vec::new(),
            trips: Vec::new(),
            least: T::ZERO,
        }
    }

    /// Walks through the life of a tensor.
    pub fn go(
        &mut self,
        link: &LinkGraph,
        prices: &LinkPrices<T>,
        exclusions: &Exclusions,
        node: u32,
    ) {
        self.marks.clear();
        self.trips.clear();
        let graph = &link.graph;
        let (i, last) = (node as usize, graph.last_stage[node as usize]);
        self.starts.fill(prices.atoms.starts.of(node), node, last);
        self.note_returns(&prices.returns[i], node, last);
        let out = prices.out.iter().filter(|w| w.0 <= node);
        let tensor = Tensor {
            link,
            prices,
            node,
            out: out.map(|w| (w.1, w.2)).collect(),
        };
        let n = link.len() as u32;
        let paid = prices.atoms.at.of(node);
        let mut paid = &paid[..paid.partition_point(|e| e.0 < (last + 1) * n)];
        let mut crossed = prices.atoms.crosses.of(node);
        let mut windows = tensor.out.as_slice();
        let mut charge_out = T::ZERO;
        let end = tensor.potential(last, n);
        let mut life = Ahead {
            absent: T::ZERO,
            device: end,
            both: end,
            host: T::ZERO,
        };
        let mut trip = life;
        let bytes = graph.bytes[i] as i64;
        for stage in (node..=last).rev() {
            while let Some((window, rest)) = windows.split_first().filter(|w| w.0.0 >= stage) {
                charge_out = charge_out + window.1;
                windows = rest;
            }
            let copies = tensor.copies(stage, charge_out, self.returns[(stage - node) as usize]);
            self.note_events(&tensor, &mut paid, stage);
            let mut is_started = false;
            for e in 0..=self.events.len() {
                let event = self.events.get(e).copied();
                if !is_started && event.is_none_or(|(k, _)| k <= node) {
                    // Its own turn.
                    is_started = true;
                    let may = stage == node
                        || graph.recomputable[i] && exclusions.may_start(node, stage, 0);
                    if may {
                        self.start(&tensor, stage, copies, &mut life, &mut trip);
                    }
                    if stage == node {
                        return;
                    }
                }
                let Some((k, pay)) = event else {
                    break;
                };
                let end = tensor.potential(stage, k + 1);
                // Behind the last turn of a stage the next one has begun.
                let out = copies.out.filter(|_| k < stage);
                life.after(end, out);
                let after = trip.after(end, out);
                for ahead in [&mut life, &mut trip] {
                    ahead.device = ahead.device - pay;
                    ahead.both = ahead.both - pay;
                }
                let begin = tensor.potential(stage, k);
                life.before(stage, begin, copies);
                let before = trip.before(stage, begin, copies);
                let place = Place::Event(k);
                self.marks.push(Mark {
                    stage,
                    place,
                    after,
                    before,
                });
            }
            // Its begin.
            let begin = tensor.potential(stage, 0);
            life.leave(begin, copies.out);
            let on_device = trip.leave(begin, copies.out);
            while let Some((cross, rest)) = crossed.split_last().filter(|c| c.0.0 >= stage) {
                if cross.0 == stage {
                    for ahead in [&mut life, &mut trip] {
                        ahead.device = ahead.device - cross.1;
                        ahead.both = ahead.both - cross.1;
                    }
                }
                crossed = rest;
            }
            let hosted = prices.host[stage as usize].times(bytes);
            life.host_for(hosted);
            let before = trip.host_for(hosted);
            self.marks.push(Mark {
                stage,
                place: Place::Begin,
                after: [on_device, After::Stay],
                before,
            });
        }
    }

    /// Payments for copies back that are read in each stage.
    fn note_returns(&mut self, paid: &[(u32, u32, T)], node: u32, last: u32) {
        self.returns.clear();
        self.returns.resize((last - node + 2) as usize, T::ZERO);
        for &(first, to, y) in paid {
            let (first, to) = (first.max(node), to.min(last));
            if first > to {
                continue;
            }
            let [from, behind] = [first - node, to + 1 - node].map(|k| k as usize);
            self.returns[from] = self.returns[from] + y;
            self.returns[behind] = self.returns[behind] - y;
        }
        let mut sum = T::ZERO;
        for y in &mut self.returns {
            sum = sum + *y;
            *y = sum;
        }
    }

    /// Notes the turns of a stage that pay, and those of all readers where coming back does.
    fn note_events(&mut self, tensor: &Tensor<'_, T>, paid: &mut &[(u32, T)], stage: u32) {
        let Tensor { link, node, .. } = *tensor;
        let (graph, n) = (&link.graph, link.len() as u32);
        self.events.clear();
        while let Some((event, before)) = paid.split_last().filter(|e| e.0.0 >= stage * n) {
            let k = event.0 - stage * n;
            match self.events.last_mut().filter(|last| last.0 == k) {
                Some(last) => last.1 = last.1 + event.1,
                None => self.events.push((k, event.1)),
            }
            *paid = before;
        }
        if self.returns[(stage - node) as usize] == T::ZERO {
            return;
        }
        for &reader in &graph.users[node as usize] {
            let runs = reader == stage
                || reader < stage
                    && graph.recomputable[reader as usize]
                    && stage <= graph.last_stage[reader as usize];
            if runs && self.events.iter().all(|e| e.0 != reader) {
                self.events.push((reader, T::ZERO));
            }
        }
        self.events.sort_by_key(|e| std::cmp::Reverse(e.0));
    }

    /// A computation in a stage.
    fn start(
        &mut self,
        tensor: &Tensor<'_, T>,
        stage: u32,
        copies: Copies<T>,
        life: &mut Ahead<T>,
        trip: &mut Ahead<T>,
    ) {
        let node = tensor.node;
        let again = stage > node;
        let end = tensor.potential(stage, node + 1);
        let out = copies.out.filter(|_| node < stage);
        life.after(end, out);
        let after = trip.after(end, out);
        let begin = match again {
            true => tensor.potential(stage, node),
            false => end,
        };
        let cost = match again {
            true => tensor.cost_again(stage) - self.starts.to_all(stage),
            false => T::ZERO,
        };
        let price = cost + trip.device - begin;
        self.trips.push(Priced {
            price,
            stage,
            mark: self.marks.len(),
        });
        self.marks.push(Mark {
            stage,
            place: Place::Start,
            after,
            before: Before::Stay,
        });
        if again {
            life.absent = least(life.absent, cost + life.device - begin);
            life.host = least(life.host, cost + life.both - begin);
        } else {
            self.least = life.device - begin;
        }
    }

    /// The trip that was priced.
    pub fn trip(&self, link: &LinkGraph, node: u32, priced: &Priced<T>) -> Trip {
        let event = |stage: u32, k: u32| turn(link, stage, k);
        let mut stretches: Vec<Stretch> = Vec::new();
        let first = event(priced.stage, node) + u32::from(priced.stage == node);
        let mut now = Stretch {
            begin: Begin::Computed(priced.stage),
            memory: [first, first],
            readable: first,
            last_stage: priced.stage,
            leaves: None,
        };
        // On the device, and with a copy on the host.
        let (mut on_device, mut has_copy) = (true, false);
        for mark in self.marks[..=priced.mark].iter().rev() {
            let stage = mark.stage;
            if !on_device {
                let (issued, keeps) = match mark.before {
                    Before::Stay => continue,
                    Before::Release => break,
                    Before::Fetch { issued } => (issued, true),
                    Before::FetchLast { issued } => (issued, false),
                };
                let Place::Event(k) = mark.place else {
                    continue;
                };
                let readable = event(stage, k);
                let from = match issued < stage {
                    true => event(issued + 1, 0),
                    false => readable,
                };
                now = Stretch {
                    begin: Begin::Fetched {
                        issued,
                        read: stage,
                    },
                    memory: [from, readable],
                    readable,
                    last_stage: stage,
                    leaves: None,
                };
                (on_device, has_copy) = (true, keeps);
            }
            // The last event before the place.
            now.memory[1] = match mark.place {
                Place::Begin => event(stage, 0) - 1,
                Place::Start => event(stage, node),
                Place::Event(k) => event(stage, k),
            };
            now.last_stage = stage;
            match mark.after[usize::from(has_copy)] {
                After::Stay => {}
                After::Copy => {
                    now.leaves = Some(stage);
                    has_copy = true;
                    // On both it may be dropped at once.
                    if mark.after[1] == After::Drop {
                        stretches.push(now);
                        on_device = false;
                    }
                }
                After::Leave => {
                    now.leaves = Some(stage);
                    stretches.push(now);
                    (on_device, has_copy) = (false, true);
                }
                After::Drop => {
                    stretches.push(now);
                    on_device = false;
                    if !has_copy {
                        break;
                    }
                }
            }
        }
        if on_device {
            stretches.push(now);
        }
        Trip { node, stretches }
    }
}

impl<T: Number> Tensor<'_, T> {
    /// Charge for all events before one.
    fn potential(&self, stage: u32, k: u32) -> T {
        let AtomPrices { bytes, .. } = &self.prices.atoms;
        let gauges = &self.link.graph.gauges;
        let size = |gauge: u32| gauges[gauge as usize].bytes[self.node as usize] as i64;
        let of = bytes
            .iter()
            .map(|m| m.before(stage, k).times(size(m.gauge)));
        -of.fold(T::ZERO, Add::add)
    }

    /// Cost of a recomputation in a stage, less what its time earns.
    fn cost_again(&self, stage: u32) -> T {
        let i = self.node as usize;
        let cost = self.link.graph.cost_again[i] as i64;
        let time = self.link.again[i];
        self.prices.atoms.one.times(cost) - self.prices.load[stage as usize].times(time)
    }

    /// Prices of copies that are complete, or read, in a stage.
    fn copies(&self, stage: u32, charge_out: T, paid_back: T) -> Copies<T> {
        let none = Copies {
            out: None,
            back: None,
            earlier: None,
        };
        let Some([out, back]) = self.link.copies[self.node as usize].filter(|_| stage > self.node)
        else {
            return none;
        };
        let may_leave = self.link.may_leave_in(stage);
        let mut copies = Copies {
            out: may_leave.then(|| charge_out.times(out) - self.prices.leaves[self.node as usize]),
            ..none
        };
        for one in &self.prices.back[stage as usize] {
            if one.issued <= self.node {
                break;
            }
            let price = one.charge.times(back) - paid_back;
            if one.issued == stage {
                copies.back = Some(price);
                continue;
            }
            let price = price - self.potential(one.issued + 1, 0);
            if copies.earlier.is_none_or(|(known, _)| price < known) {
                copies.earlier = Some((price, one.issued));
            }
        }
        copies
    }
}

impl<T: Number> Ahead<T> {
    /// Behind an event, with the charge up to there.
    fn after(&mut self, charged: T, out: Option<T>) -> [After; 2] {
        let (mut device, mut both) = (After::Stay, After::Stay);
        let gone = charged + self.host;
        if gone < self.both {
            (self.both, both) = (gone, After::Drop);
        }
        let gone = charged + self.absent;
        if gone < self.device {
            (self.device, device) = (gone, After::Drop);
        }
        if let Some(out) = out {
            for (price, way) in [
                (charged + self.host + out, After::Leave),
                (self.both + out, After::Copy),
            ] {
                if price < self.device {
                    (self.device, device) = (price, way);
                }
            }
        }
        [device, both]
    }

    /// At the begin of a stage in which a copy to the host is complete, with the charge up to there.
    fn leave(&mut self, charged: T, out: Option<T>) -> After {
        let mut way = After::Stay;
        if let Some(out) = out {
            for (price, named) in [
                (charged + self.host + out, After::Leave),
                (self.both + out, After::Copy),
            ] {
                if price < self.device {
                    (self.device, way) = (price, named);
                }
            }
        }
        way
    }

    /// Before an event that is read after a copy back, with the charge up to there.
    fn before(&mut self, stage: u32, charged: T, copies: Copies<T>) -> Before {
        let mut way = Before::Stay;
        let now = copies.back.map(|price| (price - charged, stage));
        for (price, issued) in [now, copies.earlier].into_iter().flatten() {
            for (ahead, named) in [
                (self.device, Before::FetchLast { issued }),
                (self.both, Before::Fetch { issued }),
            ] {
                if price + ahead < self.host {
                    (self.host, way) = (price + ahead, named);
                }
            }
        }
        way
    }

    /// When a stage begins: what a copy on the host costs.
    fn host_for(&mut self, charge: T) -> Before {
        self.both = self.both + charge;
        self.host = self.host + charge;
        match self.absent < self.host {
            true => {
                self.host = self.absent;
                Before::Release
            }
            false => Before::Stay,
        }
    }
}

fn least<T: Number>(a: T, b: T) -> T {
    if b < a { b } else { a }
}
