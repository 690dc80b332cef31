//! The automaton of a tensor: its lives are the walks through it, and their price is the length.
//!
//! A tensor is absent, on the device, on the host, or on both. A computation brings it to the
//! device, a copy to the host to both, and dropping it or its copy takes it away. A copy back
//! brings it to the device again, and the host keeps its copy or not. The walk goes from the last
//! event to the first, with the least price of the rest of the life for each state.
//!
//! Windows that begin while the tensor is away pay for a copy back, so the price of the rest for a
//! tensor on the host depends on when it left. All later copies back are therefore candidates, and
//! a window pays the candidates within it when the walk reaches its begin.
//!
//! The charge for time on the device is the charge up to its end less the charge up to its begin (a
//! potential), so events without payments need no work.

use super::ahead::{After, Ahead, Candidate, Copies};
use super::prices::LinkPrices;
use super::rows::turn;
use super::{Begin, LinkGraph, Stretch, Trip};
use crate::life::{Exclusions, StartPrices};
use remat_solver::price::Number;

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
    /// Choices on the device alone, and on both.
    after: [After; 2],
}

/// A trip with its price.
#[derive(Clone, Copy, Debug)]
pub(super) struct Priced<T> {
    pub price: T,
    pub stage: u32,
    way: u16,
    mark: usize,
}

/// The walk through the automaton of a tensor.
#[derive(Clone, Debug)]
pub(super) struct Walk<T> {
    starts: StartPrices<T>,
    /// Turns of a stage that count, descending, and the payments for being there.
    events: Vec<(u32, T)>,
    marks: Vec<Mark>,
    /// Copies back of the trips.
    back: Vec<Candidate<T>>,
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
    /// Windows that may contain its copies to the host, by descending last stages.
    out: Vec<(u32, T)>,
}

impl<T: Number + Default> Walk<T> {
    /// A new walk.
    pub fn new() -> Self {
        Walk {
            starts: StartPrices::default(),
            events: Vec::new(),
            marks: Vec::new(),
            back: Vec::new(),
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
        let mut windows = tensor.out.as_slice();
        let mut charge_out = T::ZERO;
        let end = tensor.potential(last, n);
        let returns = &prices.returns[i];
        let owes = link.is_scattered(node);
        let mut life = Ahead {
            absent: T::ZERO,
            owes,
            // A gradient that has not left by its last stage is worse than one that leaves then.
            device: match owes {
                true => end + tensor.last_scatter(last) + prices.atoms.one,
                false => end,
            },
            both: end,
            candidates: Vec::new(),
            host: None,
            page: None,
            hosted: T::ZERO,
            promised: returns.iter().fold(T::ZERO, |sum, r| sum + r.2),
            kept: (prices.atoms.crosses.of(node).iter().map(|cross| cross.1))
                .chain([prices.leaves[i]])
                .filter(|pay| *pay > T::ZERO)
                .fold(T::ZERO, |sum, pay| sum + pay),
        };
        let mut trip = life.clone();
        for stage in (node..=last).rev() {
            while let Some((window, rest)) = windows.split_first().filter(|w| w.0.0 >= stage) {
                charge_out = charge_out + window.1;
                windows = rest;
            }
            let copies = tensor.copies(stage, charge_out);
            let pays = link.pages[i].is_some()
                || prices.every_turn[i]
                || returns.iter().any(|r| (r.0..=r.1).contains(&stage));
            self.note_events(&tensor, &mut paid, stage, pays);
            let mut is_started = false;
            for e in 0..=self.events.len() {
                let event = self.events.get(e).copied();
                if !is_started && event.is_none_or(|(k, _)| k <= node) {
                    // Its own turn.
                    is_started = true;
                    let may = stage == node
                        || graph.may_recompute_in(node, stage)
                            && exclusions.may_start(node, stage, 0);
                    if may {
                        self.start(&tensor, stage, copies, &mut life, &mut trip);
                    }
                    if stage == node {
                        self.back = trip.candidates;
                        return;
                    }
                }
                let Some((k, pay)) = event else {
                    break;
                };
                let end = tensor.potential(stage, k + 1);
                // After the last turn of a stage the next stage has begun.
                let out = copies.out.filter(|_| k < stage);
                life.after(end, out);
                let after = trip.after(end, out);
                for ahead in [&mut life, &mut trip] {
                    ahead.device = ahead.device - pay;
                    ahead.both = ahead.both - pay;
                }
                let begin = tensor.potential(stage, k);
                let keeps = link.host_bytes.is_none() || link.is_gathered(node);
                let mark = self.marks.len();
                for ahead in [&mut life, &mut trip] {
                    ahead.before(stage, begin, copies, keeps, mark);
                }
                let place = Place::Event(k);
                self.marks.push(Mark {
                    stage,
                    place,
                    after,
                });
            }
            self.begin(&tensor, stage, copies.out, [&mut life, &mut trip]);
        }
    }

    /// Processes the begin of a stage.
    fn begin(
        &mut self,
        tensor: &Tensor<'_, T>,
        stage: u32,
        out: Option<T>,
        [life, trip]: [&mut Ahead<T>; 2],
    ) {
        let (prices, i) = (tensor.prices, tensor.node as usize);
        let crossed = prices.atoms.crosses.of(tensor.node);
        let begins = [stage, stage + 1].map(|t| crossed.partition_point(|cross| cross.0 < t));
        let begin = tensor.potential(stage, 0);
        let pages = tensor.pages();
        let leave = |ahead: &mut Ahead<T>| match pages {
            Some([out, _]) => ahead.copy(out),
            None => ahead.leave(begin, out),
        };
        // No turn needs to pay for a gradient to be dropped.
        let drop = |ahead: &mut Ahead<T>| match ahead.owes && begin + ahead.absent < ahead.both {
            true => {
                ahead.both = begin + ahead.absent;
                After::Drop
            }
            false => After::Stay,
        };
        drop(life);
        let dropped = drop(trip);
        leave(life);
        let after = [leave(trip), dropped];
        let hosted = prices.host[stage as usize].times(tensor.link.host_bytes_of(tensor.node));
        for ahead in [life, trip] {
            for (_, pay) in crossed[begins[0]..begins[1]].iter().rev() {
                ahead.device = ahead.device - *pay;
                ahead.both = ahead.both - *pay;
            }
            ahead.both = ahead.both + hosted;
            ahead.hosted = ahead.hosted + hosted;
            if let Some([_, back]) = pages {
                ahead.page_in(stage, back - begin, self.marks.len());
            }
            let paid = ahead.pay_windows(stage, &prices.returns[i]);
            if paid || hosted != T::ZERO {
                ahead.update();
            }
        }
        let place = Place::Begin;
        self.marks.push(Mark {
            stage,
            place,
            after,
        });
    }

    /// Notes the turns of a stage that pay. With `pays`, coming back for readers or staying up to
    /// them may pay, so the turns of all readers are noted as well.
    fn note_events(
        &mut self,
        tensor: &Tensor<'_, T>,
        paid: &mut &[(u32, T)],
        stage: u32,
        pays: bool,
    ) {
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
        if !pays {
            return;
        }
        for &reader in &graph.users[node as usize] {
            let runs = reader == stage
                || reader < stage
                    && graph.may_recompute_in(reader, stage)
                    && stage <= graph.last_stage[reader as usize];
            if runs && self.events.iter().all(|e| e.0 != reader) {
                self.events.push((reader, T::ZERO));
            }
        }
        // A tensor without a reader is dropped at the end of the stage.
        if link.pages[node as usize].is_some() && self.events.iter().all(|e| e.0 != stage) {
            self.events.push((stage, T::ZERO));
        }
        self.events.sort_by_key(|e| std::cmp::Reverse(e.0));
    }

    /// Processes a computation in a stage.
    fn start(
        &mut self,
        tensor: &Tensor<'_, T>,
        stage: u32,
        copies: Copies<T>,
        life: &mut Ahead<T>,
        trip: &mut Ahead<T>,
    ) {
        let node = tensor.node;
        if tensor.link.is_gathered(node) {
            self.start_at_home(tensor, stage, life, trip);
            return;
        }
        let again = stage > node;
        let end = tensor.potential(stage, node + 1);
        let out = copies.out.filter(|_| node < stage);
        let Tensor { link, prices, .. } = *tensor;
        let mut after = [After::Stay; 2];
        // With pages a tensor is dropped only after readers.
        if !again || link.pages[node as usize].is_none() {
            life.after(end, out);
            after = trip.after(end, out);
        }
        let optional = link.ways.is_optional(node);
        let begin = match again || optional {
            true => tensor.potential(stage, node),
            false => end,
        };
        let (cost, way) = match again {
            true => {
                let (cost, way) = prices.of_again(link, node, stage);
                (cost - self.starts.to_all(stage), way)
            }
            false if optional => (prices.of_made(link, node), 0),
            false => (T::ZERO, 0),
        };
        let cost = cost - prices.scatters[node as usize];
        let price = cost + trip.device - begin;
        self.trips.push(Priced {
            price,
            stage,
            way,
            mark: self.marks.len(),
        });
        self.marks.push(Mark {
            stage,
            place: Place::Start,
            after,
        });
        if again {
            let absent = cost + life.device - begin;
            // Computed while the host has a copy for later.
            life.add(Candidate {
                price: cost + life.both - begin - life.hosted,
                stages: [u32::MAX; 2],
                keeps: true,
                mark: 0,
            });
            if absent < life.absent {
                life.absent = absent;
            }
        } else {
            self.least = cost + life.device - begin;
            if optional && life.absent < self.least {
                self.least = life.absent;
            }
        }
    }

    /// Begins the trip of a weight, which is at home: it is gathered, or never of use.
    fn start_at_home(
        &mut self,
        tensor: &Tensor<'_, T>,
        stage: u32,
        life: &Ahead<T>,
        trip: &Ahead<T>,
    ) {
        let paid = tensor.prices.leaves[tensor.node as usize];
        let of = |ahead: &Ahead<T>| match ahead.host {
            Some((price, back)) if price - paid < T::ZERO => (price - paid, After::Leave { back }),
            _ => (T::ZERO, After::Drop),
        };
        let (price, way) = of(trip);
        self.least = of(life).0;
        self.trips.push(Priced {
            price,
            stage,
            way: 0,
            mark: self.marks.len(),
        });
        self.marks.push(Mark {
            stage,
            place: Place::Start,
            after: [way, After::Stay],
        });
    }

    /// Builds a priced trip.
    pub fn trip(&self, link: &LinkGraph, node: u32, priced: &Priced<T>) -> Trip {
        let event = |stage: u32, k: u32| turn(link, stage, k);
        let mut stretches: Vec<Stretch> = Vec::new();
        let first = link.first_event(node, priced.stage);
        let mut now = Stretch {
            begin: Begin::Computed(priced.stage),
            memory: [first, first],
            readable: first,
            last_stage: priced.stage,
            leaves: None,
        };
        let mut has_copy = false;
        let mut mark = priced.mark;
        loop {
            let Mark {
                stage,
                place,
                after,
            } = self.marks[mark];
            // The last event before the place.
            now.memory[1] = match place {
                Place::Begin => event(stage, 0) - 1,
                Place::Start => event(stage, node),
                Place::Event(k) => event(stage, k),
            };
            now.last_stage = stage;
            let mut way = after[usize::from(has_copy)];
            if way == After::Copy {
                now.leaves = Some(stage);
                has_copy = true;
                // On both, it may be dropped immediately.
                way = after[1];
            }
            match way {
                After::Drop => break,
                After::Leave { back } => {
                    if !has_copy {
                        now.leaves = Some(stage);
                    }
                    stretches.push(now);
                    let Candidate {
                        stages: [issued, read],
                        keeps,
                        mark: at,
                        ..
                    } = self.back[back as usize];
                    let Mark { stage, place, .. } = self.marks[at];
                    let readable = match place {
                        Place::Event(k) => event(stage, k),
                        _ => event(stage, 0),
                    };
                    let from = match issued < read {
                        true => {
                            let [from, k] = link.arrives(node, issued);
                            event(from, k)
                        }
                        false => readable,
                    };
                    now = Stretch {
                        begin: Begin::Fetched { issued, read },
                        memory: [from, readable],
                        readable,
                        last_stage: read,
                        leaves: None,
                    };
                    (has_copy, mark) = (keeps, at);
                    continue;
                }
                _ if mark == 0 => break,
                _ => mark -= 1,
            }
        }
        stretches.push(now);
        Trip {
            node,
            way: priced.way,
            stretches,
        }
    }
}

impl<T: Number> Tensor<'_, T> {
    /// Charge for being in memory at all events before an event.
    fn potential(&self, stage: u32, k: u32) -> T {
        let gauges = &self.link.graph.gauges;
        let size = |gauge: u32| gauges[gauge as usize].bytes[self.node as usize] as i64;
        -self.prices.atoms.bytes_before(stage, k, size)
    }

    /// Price of a scatter that is complete in a stage.
    fn last_scatter(&self, stage: u32) -> T {
        let windows = self.out.iter().filter(|w| w.0 >= stage);
        let charge = windows.fold(T::ZERO, |sum, w| sum + w.1);
        self.copies(stage, charge).out.unwrap_or(T::ZERO)
    }

    /// Prices of a page-out, and of a page-in.
    fn pages(&self) -> Option<[T; 2]> {
        let costs = self.link.pages[self.node as usize]?;
        let [out, back] = [costs.out, costs.back].map(|c| self.prices.atoms.one.times(c as i64));
        Some([out - self.prices.leaves[self.node as usize], back])
    }

    /// Prices of copies that are complete, or read, in a stage.
    fn copies(&self, stage: u32, charge_out: T) -> Copies<T> {
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
        if self.link.is_scattered(self.node) {
            return copies;
        }
        for one in &self.prices.back[stage as usize] {
            if one.issued <= self.node {
                break;
            }
            let price = one.charge.times(back);
            if one.issued == stage {
                copies.back = Some(price);
                continue;
            }
            let [from, k] = self.link.arrives(self.node, one.issued);
            let price = price - self.potential(from, k);
            if copies.earlier.is_none_or(|(known, _)| price < known) {
                copies.earlier = Some((price, one.issued));
            }
        }
        copies
    }
}
