//! The automaton of a tensor: its lives are the walks through it, and their price is the length.
//!
//! When a stage begins, the tensor is *absent* or *on the device*. A start in the stage begins a
//! stretch. A stretch, old or new, ends in the stage or stays for the next one.
//!
//! Prices of arcs are numbers of any kind ([`Number`]): floating point finds columns, integers
//! prove bounds. The program names the ends (by the last reader, or by the purpose of holding the
//! tensor). A third state, on the host, would be one more value ahead, with a start and an end of
//! its own: [`Walk`] has one value for each state.
//!
//! Most stages are like the one behind them. They come in spans. If a stage leaves the values ahead
//! unchanged, all earlier stages of its span do, too.

use remat_solver::price::Number;

/// Stages that are alike: prices of the arcs, `None` if there is no such arc.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span<T> {
    /// First stage.
    pub first: u32,
    /// Last stage.
    pub last: u32,
    /// The cheapest start, and its way.
    pub start: Option<(T, u16)>,
    /// The cheapest end of a stretch that began in the stage, and its name.
    pub end_of_made: Option<(T, u32)>,
    /// The cheapest end of a stretch that began before, and its name.
    pub end_of_kept: Option<(T, u32)>,
    /// On the device when the next stage begins.
    pub stay: Option<T>,
}

/// A stretch of a tensor's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The stage of its start.
    pub start: u32,
    /// The way of its start.
    pub way: u16,
    /// The stage of its end.
    pub end: u32,
    /// Name of the end.
    pub name: u32,
}

/// A tensor on the device: least price of its remaining life, and of the rest of its stretch.
#[derive(Clone, Copy, Debug)]
struct OnDevice<T> {
    ahead: T,
    end: T,
    /// The stage of the end, and its name.
    stage: u32,
    name: u32,
}

/// Stages `first..=last` of a span in which a walk found the same values.
#[derive(Clone, Copy, Debug)]
struct Swept<T> {
    first: u32,
    last: u32,
    span: Span<T>,
    /// Least price ahead of a tensor that is on the device when the stage begins.
    device: Option<T>,
    /// Least price ahead of a tensor that was made in the stage, without its start.
    made: Option<T>,
}

/// A start that may be excluded, of stages `first..=last`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer<T> {
    pub first: u32,
    pub last: u32,
    pub price: T,
    /// The way of the start.
    pub way: u16,
}

/// The walk through the automaton of a tensor, from the last stage to the first.
#[derive(Clone, Debug)]
pub(crate) struct Walk<T> {
    /// Least price ahead of a tensor that is absent.
    absent: T,
    device: Option<OnDevice<T>>,
    /// The stage in which every life has a start, if there is one.
    forced: Option<u32>,
    /// True if a stretch may begin in the stage in which one that was kept has ended.
    renews: bool,
    /// True if the data for [`Walk::totals`] are noted.
    is_noted: bool,
    swept: Vec<Swept<T>>,
    /// Starts that may be excluded, if they are noted.
    offered: Vec<Offer<T>>,
}

impl<T: Number> Walk<T> {
    /// A walk; `is_noted` keeps the data for [`Walk::totals`].
    pub fn new(is_noted: bool) -> Self {
        Walk {
            absent: T::ZERO,
            device: None,
            forced: None,
            renews: false,
            is_noted,
            swept: Vec::new(),
            offered: Vec::new(),
        }
    }

    /// Begins anew behind the last stage of a tensor.
    pub fn begin(&mut self, forced: Option<u32>, renews: bool) {
        (self.absent, self.device) = (T::ZERO, None);
        (self.forced, self.renews) = (forced, renews);
        self.swept.clear();
        self.offered.clear();
    }

    /// The least price of a life over the stages of the walk.
    pub fn least(&self) -> T {
        self.absent
    }

    /// Notes a start of the next span that may be excluded.
    #[inline]
    pub fn offer(&mut self, start: Offer<T>) {
        if self.is_noted {
            self.offered.push(start);
        }
    }

    /// Goes on to the span before. `found` receives the cheapest stretch from every stage if its
    /// price is below 0.
    #[inline]
    pub fn go(&mut self, span: Span<T>, found: &mut impl FnMut(T, Found)) {
        let mut stage = span.last;
        loop {
            let (absent, device) = (self.absent, self.device);
            let on = device.and_then(|device| device.stays(span.stay?));
            let made = end_or_stay(stage, span.end_of_made, absent, on);
            let mut cheapest = None;
            if let (Some((start, way)), Some(made)) = (span.start, made) {
                let anew = start + made.ahead;
                if anew < absent || self.forced == Some(stage) {
                    self.absent = anew;
                }
                cheapest = Some((start + made.end, way, made)).filter(|c| c.0 < T::ZERO);
            }
            let next = if self.renews { self.absent } else { absent };
            self.device = end_or_stay(stage, span.end_of_kept, next, on);
            let prices = |device: OnDevice<T>| (device.ahead, device.end);
            // A stage with a forced start is like no other; it is the first of its span.
            let first = match span.first < stage
                && self.forced != Some(span.first)
                && self.absent == absent
                && self.device.map(prices) == device.map(prices)
            {
                true => span.first,
                false => stage,
            };
            if let Some((price, way, made)) = cheapest {
                for start in first..=stage {
                    let end = if made.stage == stage {
                        start
                    } else {
                        made.stage
                    };
                    let name = made.name;
                    found(
                        price,
                        Found {
                            start,
                            way,
                            end,
                            name,
                        },
                    );
                }
            }
            if self.is_noted {
                self.swept.push(Swept {
                    first,
                    last: stage,
                    span,
                    device: self.device.map(|device| device.ahead),
                    made: made.map(|made| made.ahead),
                });
            }
            if let Some(device) = self.device.as_mut().filter(|device| device.stage == stage) {
                device.stage = first;
            }
            if first == span.first {
                break;
            }
            stage = first - 1;
        }
    }

    /// After the walk, passes three results for every stage to `note`, with `None` if there is no
    /// such life:
    /// - the least price of the lives with a start in it, without the price of the start itself;
    /// - the least price of the lives that are on the device when it begins;
    /// - the starts on offer.
    pub fn totals(
        &self,
        mut note: impl FnMut(u32, Option<T>, Option<T>, &mut dyn Iterator<Item = &Offer<T>>),
    ) {
        // Least prices of all earlier stages when a stage begins.
        let (mut absent, mut device) = (Some(T::ZERO), None);
        let mut offered = self.offered.as_slice();
        for swept in self.swept.iter().rev() {
            let span = &swept.span;
            while let Some((_, rest)) = offered.split_last().filter(|s| s.0.last < swept.first) {
                offered = rest;
            }
            for stage in swept.first..=swept.last {
                let dropped = sum(device, price(span.end_of_kept));
                let come = match self.renews {
                    true => least(absent, dropped),
                    false => absent,
                };
                let mut here = offered
                    .iter()
                    .rev()
                    .take_while(|start| start.first <= stage);
                note(
                    stage,
                    sum(come, swept.made),
                    sum(device, swept.device),
                    &mut here,
                );
                let made = sum(come, price(span.start));
                let idle = absent.filter(|_| self.forced != Some(stage));
                let used = sum(made, price(span.end_of_made));
                absent = least(least(idle, dropped), used);
                device = sum(least(device, made), span.stay);
            }
        }
    }

    /// The first stage of the walk.
    pub fn first(&self) -> Option<u32> {
        self.swept.last().map(|swept| swept.first)
    }
}

impl<T: Number> OnDevice<T> {
    /// The tensor stays for a stage, at a price.
    #[inline]
    fn stays(self, price: T) -> Option<Self> {
        Some(OnDevice {
            ahead: price + self.ahead,
            end: price + self.end,
            ..self
        })
    }
}

/// A tensor on the device in a stage. Its stretch ends there, with the price `absent` ahead of it,
/// or goes on; of equals the nearest end.
#[inline]
fn end_or_stay<T: Number>(
    stage: u32,
    end: Option<(T, u32)>,
    absent: T,
    on: Option<OnDevice<T>>,
) -> Option<OnDevice<T>> {
    let Some((price, name)) = end else {
        return on;
    };
    let here = OnDevice {
        ahead: price + absent,
        end: price,
        stage,
        name,
    };
    let Some(on) = on else {
        return Some(here);
    };
    let best = if on.end < price { on } else { here };
    let ahead = if on.ahead < here.ahead {
        on.ahead
    } else {
        here.ahead
    };
    Some(OnDevice { ahead, ..best })
}

#[inline]
fn price<T: Number, N>(arc: Option<(T, N)>) -> Option<T> {
    arc.map(|arc| arc.0)
}

#[inline]
fn least<T: Number>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b < a { b } else { a }),
        _ => a.or(b),
    }
}

#[inline]
fn sum<T: Number>(a: Option<T>, b: Option<T>) -> Option<T> {
    Some(a? + b?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_lp::random::SplitMix64;

    /// Price, stages of starts and stages that begin with the tensor on the device.
    type Life = (i128, u32, u32);

    /// A walk's rules, and its stages.
    struct Case {
        forced: bool,
        renews: bool,
        at: Vec<Span<i128>>,
    }

    impl Case {
        /// All lives that continue a given one up to a stage.
        fn lives(&self, stage: usize, on_device: bool, life: Life, out: &mut Vec<Life>) {
            let Some(span) = self.at.get(stage) else {
                out.extend((!on_device).then_some(life));
                return;
            };
            let (total, starts, held) = life;
            let held = held | u32::from(on_device) << stage;
            let mut go = |on_device, price: i128, made: bool| {
                let life = (total + price, starts | u32::from(made) << stage, held);
                self.lives(stage + 1, on_device, life, out);
            };
            let mut absent = None;
            if on_device {
                span.stay.into_iter().for_each(|stay| go(true, stay, false));
                let end = price(span.end_of_kept);
                end.into_iter().for_each(|end| go(false, end, false));
                absent = end.filter(|_| self.renews);
            } else {
                absent.replace(0);
                if !(self.forced && stage == 0) {
                    go(false, 0, false);
                }
            }
            if let Some(start) = sum(absent, price(span.start)) {
                span.stay
                    .into_iter()
                    .for_each(|stay| go(true, start + stay, true));
                let end = price(span.end_of_made);
                end.into_iter().for_each(|end| go(false, start + end, true));
            }
        }
    }

    #[test]
    fn walks_find_the_cheapest_of_all_lives() {
        let mut random = SplitMix64::new(5);
        let mut below = |n: usize| random.below(n);
        let (mut told, mut none) = (0, 0);
        for round in 0..3_000 {
            let mut arc = |odds| (below(5) >= odds).then(|| below(12) as i128 - 5);
            let mut spans = Vec::new();
            let mut first = 0;
            for k in 0..4 {
                let last = first + (round + k) as u32 % 3;
                spans.push(Span {
                    first,
                    last,
                    // Always on offer, and ended, in the first stage, which may be forced.
                    start: arc(k.min(1)).map(|price| (price, 0)),
                    end_of_made: arc(k.min(1)).map(|price| (price, 1)),
                    end_of_kept: arc(1).map(|price| (price, 2)),
                    stay: arc(1),
                });
                first = last + 1;
            }
            let at = spans
                .iter()
                .flat_map(|s| (s.first..=s.last).map(|_| *s))
                .collect();
            let case = Case {
                forced: round % 2 == 0,
                renews: round % 4 < 2,
                at,
            };
            let mut all = Vec::new();
            case.lives(0, false, (0, 0, 0), &mut all);
            let mut walk = Walk::new(true);
            walk.begin(case.forced.then_some(0), case.renews);
            let mut stretches = vec![0; first as usize];
            for span in spans.iter().rev() {
                walk.go(*span, &mut |price, found| {
                    let [start, end] = [found.start, found.end].map(|t| t as usize);
                    let stays = case.at[start..end].iter().map(|s| s.stay.unwrap());
                    let ends = match end > start {
                        true => case.at[end].end_of_kept,
                        false => case.at[end].end_of_made,
                    };
                    let begins = case.at[start].start.unwrap().0;
                    assert_eq!(begins + stays.sum::<i128>() + ends.unwrap().0, price);
                    assert_eq!(ends.unwrap().1, found.name);
                    stretches[start] = price;
                    told += 1;
                });
            }
            let with = |is: &dyn Fn(&Life) -> bool| {
                let those = all.iter().filter(|life| is(life));
                those.map(|life| life.0).min()
            };
            assert_eq!(Some(walk.least()), with(&|_| true), "round {round}");
            walk.totals(|stage, started, held, _| {
                let started = sum(started, price(case.at[stage as usize].start));
                assert_eq!(started, with(&|life| life.1 >> stage & 1 != 0));
                assert_eq!(held, with(&|life| life.2 >> stage & 1 != 0));
                none += usize::from(held.is_none());
            });
            // No life of a single stretch is cheaper than the reported one.
            let single = |stage: usize| with(&|life| life.1 == 1 << stage);
            let dearer = |stage: usize| single(stage).is_some_and(|life| life < stretches[stage]);
            assert!(!(0..first as usize).any(dearer), "round {round}");
        }
        assert!(told > 5_000 && none > 3_000, "{told} {none}");
    }
}
