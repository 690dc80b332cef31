//! Least prices of what is ahead of a tensor, by its state.

use remat_solver::price::Number;

/// Choice of a tensor on the device behind an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// It stays.
    Stay,
    /// It is dropped, and nothing of it is left.
    Drop,
    /// It is dropped, and comes back with a candidate; with its copy to the host complete by then.
    Leave { back: u32 },
    /// Its copy to the host is complete, and it stays.
    Copy,
}

/// A way on for a tensor on the host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<T> {
    /// Least price ahead, less what the host charged for it when it came up.
    pub price: T,
    /// The stage in which the copy back is issued, and that in which it is read.
    pub stages: [u32; 2],
    /// True if the host keeps its copy.
    pub keeps: bool,
    /// Mark of the event behind it.
    pub mark: usize,
}

/// Least prices of what is ahead, by state; those on the device beyond the potential.
#[derive(Clone, Debug)]
pub(super) struct Ahead<T> {
    pub absent: T,
    pub device: T,
    pub both: T,
    /// Ways on from the host.
    pub candidates: Vec<Candidate<T>>,
    /// The cheapest of them.
    pub host: Option<(T, u32)>,
    /// The way on by a page that comes in the stage before: the next candidate.
    pub page: Option<Candidate<T>>,
    /// Sum of what the host charges for the stages behind.
    pub hosted: T,
    /// Sum of all payments that windows yet to come may make.
    pub promised: T,
    /// More than to be absent a way on from the host may cost: what is paid for being on the device
    /// when a stage begins, in which the copy to the host is complete, and for that copy.
    pub kept: T,
}

/// Prices of copies that are complete, or read, in a stage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copies<T> {
    pub out: Option<T>,
    /// Issued in the stage itself.
    pub back: Option<T>,
    /// Issued earlier, less the potential there.
    pub earlier: Option<(T, u32)>,
}

impl<T: Number> Ahead<T> {
    /// Finds the cheapest way on from the host.
    pub fn update(&mut self) {
        self.host = None;
        for (k, candidate) in (0..).zip(&self.candidates) {
            let price = candidate.price + self.hosted;
            if self.host.is_none_or(|host| price < host.0) {
                self.host = Some((price, k));
            }
        }
    }

    /// Pays for copies back within windows that begin with a stage: from here on the tensor is away
    /// then. Returns whether there are any.
    pub fn pay_windows(&mut self, stage: u32, returns: &[(u32, u32, T)]) -> bool {
        let mut paid = false;
        for &(_, last, y) in returns.iter().filter(|r| r.0 == stage) {
            paid = true;
            self.promised = self.promised - y;
            for candidate in &mut self.candidates {
                if (stage..=last).contains(&candidate.stages[1]) {
                    candidate.price = candidate.price - y;
                }
            }
        }
        paid
    }

    /// Takes a way on from the host, where it is the cheapest or may become it.
    pub fn add(&mut self, candidate: Candidate<T>) {
        let price = candidate.price + self.hosted;
        let cheaper = |most: T| price < most + self.promised;
        if !cheaper(self.absent + self.kept) || self.host.is_some_and(|host| !cheaper(host.0)) {
            return;
        }
        if self.host.is_none_or(|host| price < host.0) {
            self.host = Some((price, self.candidates.len() as u32));
        }
        self.candidates.push(candidate);
    }

    /// Behind an event, with the charge up to there.
    pub fn after(&mut self, charged: T, out: Option<T>) -> [After; 2] {
        let (mut device, mut both) = (After::Stay, After::Stay);
        let absent = charged + self.absent;
        if absent < self.both {
            (self.both, both) = (absent, After::Drop);
        }
        if absent < self.device {
            (self.device, device) = (absent, After::Drop);
        }
        if let Some((price, back)) = self.host
            && charged + price < self.both
        {
            (self.both, both) = (charged + price, After::Leave { back });
        }
        let copied = self.leave(charged, out);
        if copied != After::Stay {
            device = copied;
        }
        [device, both]
    }

    /// Leaving at a place where a copy to the host is complete, with the charge up to there.
    pub fn leave(&mut self, charged: T, out: Option<T>) -> After {
        let mut way = After::Stay;
        let Some(out) = out else {
            return way;
        };
        way = self.copy(out);
        if let Some((price, back)) = self.host
            && charged + price + out < self.device
        {
            (self.device, way) = (charged + price + out, After::Leave { back });
        }
        way
    }

    /// A copy to the host that is complete while it stays.
    pub fn copy(&mut self, out: T) -> After {
        if self.both + out < self.device {
            self.device = self.both + out;
            return After::Copy;
        }
        After::Stay
    }

    /// A page that comes in the stage before, behind all others that a tensor has when it goes.
    pub fn page_in(&mut self, stage: u32, price: T, mark: usize) {
        let price = price + self.both - self.hosted;
        let page = Candidate {
            price,
            stages: [stage - 1; 2],
            keeps: true,
            mark,
        };
        if let Some(next) = self.page.replace(page) {
            self.add(next);
        }
    }

    /// Before an event that is read after a copy back, with the charge up to there. `keeps`: the
    /// host's memory has no limit, and it keeps its copy.
    pub fn before(&mut self, stage: u32, charged: T, copies: Copies<T>, keeps: bool, mark: usize) {
        let now = copies.back.map(|price| (price - charged, stage));
        let ways = [now, copies.earlier].into_iter().flatten();
        let cheaper = |a: (T, u32), b: (T, u32)| if b.0 < a.0 { b } else { a };
        let Some((price, issued)) = ways.reduce(cheaper) else {
            return;
        };
        let candidate = |ahead: T, hosted: T, keeps: bool| Candidate {
            price: price + ahead - hosted,
            stages: [issued, stage],
            keeps,
            mark,
        };
        self.add(candidate(self.both, self.hosted, true));
        if !keeps && self.device < self.both {
            self.add(candidate(self.device, self.hosted, false));
        }
    }
}
