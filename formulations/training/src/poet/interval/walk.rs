//! The automaton of a tensor: its lives are the walks through it, and their price is the length.
//!
//! When a stage starts the tensor is in memory or not, and has a copy in secondary storage or not.
//! Without a copy a computation brings it to memory, with one a page-in does, too, for the next
//! stage. A copy is made at the start of a stage that begins with it in memory. The walk goes from
//! the last stage to the first, with the least price of all that is ahead of each state.
//!
//! Time in memory is charged by what is charged up to its end, less what is charged up to its begin
//! (a potential).

use super::prices::PoetPrices;
use super::{PoetGraph, Stretch, Trip};
use crate::life::{Exclusions, StartPrices};
use remat_solver::price::Number;

/// A choice of a tensor in memory in a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// It ends with the stage's best reader.
    End,
    /// It ends with the stage, read by nobody.
    Idle,
    /// The next stage starts with it.
    Stay,
    /// It is paged out when the stage starts, and does what one with a copy does.
    Leave,
}

/// A choice of a tensor that is not in memory, and has a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stored {
    Skip,
    Compute,
    PageIn,
}

/// Choices in a stage.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// The best reader.
    reader: u32,
    /// In memory, of a trip without a copy that was made in the stage, and before.
    made: Held,
    held: Held,
    /// In memory with a copy, and where the copy is made in this stage.
    copied: Held,
    leaving: Held,
    stored: Stored,
}

/// A trip that pays, by the stage of its first computation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Priced<T> {
    pub price: T,
    pub stage: u32,
}

/// The walk through the automaton of a tensor.
#[derive(Clone, Debug)]
pub(super) struct Walk<T> {
    starts: StartPrices<T>,
    /// Payments for events and for crossings, summed up to each.
    events: Vec<(u32, T)>,
    crossings: Vec<(u32, T)>,
    /// Choices by stage, from the tensor's own on.
    marks: Vec<Mark>,
    /// The cheapest trip from every stage in which the tensor may be computed, the last first.
    pub trips: Vec<Priced<T>>,
    /// The least price of a life.
    pub least: T,
}

/// Least prices of what is ahead when a stage starts.
#[derive(Clone, Copy, Debug)]
struct Ahead<T> {
    /// Not in memory, without a copy, and with one.
    absent: T,
    stored: T,
    /// In memory, without a copy: of a life, and of a trip alone; and with one.
    life: Option<T>,
    trip: Option<T>,
    copied: Option<T>,
}

fn least<T: Number, C: Copy>(all: impl IntoIterator<Item = (Option<T>, C)>) -> Option<(T, C)> {
    let mut best: Option<(T, C)> = None;
    for (price, choice) in all {
        if let Some(price) = price
            && best.is_none_or(|best| price < best.0)
        {
            best = Some((price, choice));
        }
    }
    best
}

impl<T: Number + Default> Walk<T> {
    /// A walk to be taken.
    pub fn new() -> Self {
        Walk {
            starts: StartPrices::default(),
            events: Vec::new(),
            crossings: Vec::new(),
            marks: Vec::new(),
            trips: Vec::new(),
            least: T::ZERO,
        }
    }

    /// Walks through the life of a tensor.
    pub fn go(
        &mut self,
        poet: &PoetGraph,
        prices: &PoetPrices<T>,
        exclusions: &Exclusions,
        node: u32,
    ) {
        self.trips.clear();
        self.marks.clear();
        self.least = T::ZERO;
        let (graph, n, i) = (&poet.graph, poet.len() as u32, node as usize);
        if graph.users[i].is_empty() {
            return;
        }
        let last = graph.last_stage[i];
        let beside = &prices.beside[i];
        let pages = poet.pages[i];
        let one = prices.atoms.one;
        self.starts.fill(prices.atoms.starts.of(node), node, last);
        sum_up(&mut self.events, prices.atoms.at.of(node).iter().copied());
        let once = |stage: u32| sum(beside.once.iter().filter(|p| p.0 == stage).map(|p| p.1));
        let crossings = prices.atoms.crosses.of(node).iter().copied();
        let mut crossings: Vec<(u32, T)> = crossings.chain(beside.once.iter().copied()).collect();
        crossings.sort_by_key(|paid| paid.0);
        sum_up(&mut self.crossings, crossings.into_iter());
        let bytes = graph.bytes[i] as i64;
        let size = |gauge: u32| match gauge {
            0 => bytes,
            _ => graph.gauges[gauge as usize].bytes[i] as i64,
        };
        // Paid for all events before a turn in a stage, and for the starts of stages up to that
        // one.
        let before = |stage: u32, turn: u32, crossed: u32| {
            let event = stage * n + turn;
            let at = up_to(&self.events, |e| e < event);
            at + up_to(&self.crossings, |s| s <= crossed)
                + prices.atoms.bytes_before(stage, turn, size)
        };
        let mut ahead = Ahead {
            absent: T::ZERO,
            stored: T::ZERO,
            life: None,
            trip: None,
            copied: None,
        };
        self.marks.reserve((last - node + 1) as usize);
        for stage in (node..=last).rev() {
            let stays = stage < last && exclusions.may_hold(node, stage + 1);
            let stay = |price: Option<T>| (price.filter(|_| stays), Held::Stay);
            let runs = |u: &u32| {
                *u == stage
                    || *u < stage
                        && stage <= graph.last_stage[*u as usize]
                        && exclusions.may_start(*u, stage, 0)
            };
            let ends = graph.users[i].iter().copied().filter(runs).map(|u| {
                let own = beside.ends.iter().filter(|e| (e.0, e.1) == (stage, u));
                let paid = sum(own.map(|e| e.2));
                (Some(-before(stage, u + 1, stage) - paid), u)
            });
            let end = least(ends);
            let end_then = |then: T| (end.map(|end| end.0 + then), Held::End);
            let idle = -before(stage, stage + 1, stage);
            // In memory in the stage.
            let life = least([end_then(ahead.absent), stay(ahead.life)]);
            let trip = least([end_then(T::ZERO), stay(ahead.trip)]);
            let copied = least([end_then(ahead.stored), stay(ahead.copied)]);
            let leaving = least([
                (copied.map(|c| c.0), Held::Leave),
                (Some(idle + ahead.stored), Held::Idle),
            ]);
            let mut mark = Mark {
                reader: end.map_or(stage, |end| end.1),
                made: trip.map_or(Held::Stay, |t| t.1),
                held: trip.map_or(Held::Stay, |t| t.1),
                copied: copied.map_or(Held::Stay, |c| c.1),
                leaving: leaving.map_or(Held::Idle, |l| match l.1 {
                    Held::Leave => copied.map_or(Held::Stay, |c| c.1),
                    other => other,
                }),
                stored: Stored::Skip,
            };
            let price = |choice: Option<(T, Held)>| choice.map(|c| c.0);
            if stage == node {
                let begin = before(stage, node + 1, stage);
                if let Some(trip) = price(trip) {
                    self.trips.push(Priced {
                        price: begin + trip,
                        stage,
                    });
                }
                let whole = price(life).map(|life| begin + life);
                let whole = whole.filter(|whole| *whole < ahead.absent);
                self.least = whole.unwrap_or(ahead.absent);
                self.marks.push(mark);
                break;
            }
            let mut next = ahead;
            if exclusions.may_start(node, stage, 0) {
                let own = beside.starts.iter().filter(|p| p.0 == stage);
                let paid = self.starts.to_all(stage) + once(stage) + sum(own.map(|p| p.1));
                let cost = one.times(graph.cost_again[i] as i64);
                let begin = cost - paid + before(stage, node, stage);
                if let Some(trip) = price(trip) {
                    self.trips.push(Priced {
                        price: begin + trip,
                        stage,
                    });
                }
                if let Some(life) = price(life).filter(|life| begin + *life < ahead.absent) {
                    next.absent = begin + life;
                }
                if let Some(copied) = price(copied).filter(|c| begin + *c < next.stored) {
                    next.stored = begin + copied;
                    mark.stored = Stored::Compute;
                }
            }
            if let Some(costs) = pages {
                if stage >= node + 2
                    && let (Some(copied), _) = stay(ahead.copied)
                {
                    let own = beside.pages.iter();
                    let own = own.filter(|p| (p.0..=p.1).contains(&stage));
                    let paid = once(stage) + sum(own.map(|p| p.2));
                    let begin = one.times(costs.back as i64) - paid + before(stage + 1, 0, stage);
                    if begin + copied < next.stored {
                        next.stored = begin + copied;
                        mark.stored = Stored::PageIn;
                    }
                }
                let out = one.times(costs.out as i64) - beside.leaves;
                let leaving = price(leaving).map(|leaving| out + leaving);
                next.life = least([(price(life), ()), (leaving, ())]).map(|l| l.0);
                let held = least([(price(trip), mark.held), (leaving, Held::Leave)]);
                next.trip = held.map(|h| h.0);
                mark.held = held.map_or(Held::Stay, |h| h.1);
            } else {
                (next.life, next.trip) = (price(life), price(trip));
            }
            next.copied = price(copied);
            self.marks.push(mark);
            ahead = next;
        }
        self.marks.reverse();
    }

    /// The trip that was priced.
    pub fn trip(&self, node: u32, priced: &Priced<T>) -> Trip {
        let mark = |stage: u32| self.marks.get((stage - node) as usize);
        let mut out = Trip {
            node,
            leaves: None,
            stretches: Vec::new(),
        };
        let mut now = (false, priced.stage);
        let mut stage = priced.stage;
        let mut choice = mark(stage).map(|m| m.made);
        'trip: while let (Some(here), Some(held)) = (mark(stage), choice) {
            match held {
                Held::Leave => {
                    out.leaves = Some(stage);
                    choice = Some(here.leaving);
                    continue;
                }
                Held::Stay => {
                    stage += 1;
                    choice = mark(stage).map(|next| match out.leaves {
                        Some(_) => next.copied,
                        None => next.held,
                    });
                    continue;
                }
                Held::End | Held::Idle => {}
            }
            out.stretches.push(Stretch {
                is_paged: now.0,
                start: now.1,
                end: stage,
                reader: if held == Held::End {
                    here.reader
                } else {
                    stage
                },
            });
            if out.leaves.is_none() {
                break;
            }
            loop {
                stage += 1;
                let Some(next) = mark(stage) else {
                    break 'trip;
                };
                match next.stored {
                    Stored::Skip => continue,
                    Stored::Compute => choice = Some(next.copied),
                    Stored::PageIn => choice = Some(Held::Stay),
                }
                now = (next.stored == Stored::PageIn, stage);
                break;
            }
        }
        out
    }
}

/// Sums of payments up to each, in ascending order.
fn sum_up<T: Number>(out: &mut Vec<(u32, T)>, paid: impl Iterator<Item = (u32, T)>) {
    out.clear();
    let mut sum = T::ZERO;
    out.extend(paid.map(|(at, paid)| {
        sum = sum + paid;
        (at, sum)
    }));
}

/// The sum of those payments at the begin of a list.
fn up_to<T: Number>(sums: &[(u32, T)], is_in: impl Fn(u32) -> bool) -> T {
    let count = sums.partition_point(|entry| is_in(entry.0));
    count.checked_sub(1).map_or(T::ZERO, |last| sums[last].1)
}

fn sum<T: Number>(all: impl Iterator<Item = T>) -> T {
    all.fold(T::ZERO, |sum, one| sum + one)
}
