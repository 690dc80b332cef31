//! Least prices of the rest of a tensor's life, by its state.

use remat_solver::price::Number;

/// Choice for a tensor on the device after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// It stays.
    Stay,
    /// It is dropped, and the host has no copy of it.
    Drop,
    /// It is dropped, its copy to the host complete by then, and comes back with a candidate.
    Leave { back: u32 },
    /// Its copy to the host is complete, and it stays.
    Copy,
}

/// A continuation for a tensor on the host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<T> {
    /// Least price of the rest, less [`Ahead::hosted`] when the candidate was added.
    pub price: T,
    /// The stages in which the copy back is issued, and in which it is read.
    pub stages: [u32; 2],
    /// True if the host keeps its copy.
    pub keeps: bool,
    /// Mark of the event after the copy back.
    pub mark: usize,
}

/// Least prices of the rest, by state; on the device, the potential of the place is added.
#[derive(Clone, Debug)]
pub(super) struct Ahead<T> {
    pub absent: T,
    /// True for a scattered gradient, which must leave before the device drops it.
    pub owes: bool,
    pub device: T,
    pub both: T,
    /// Continuations from the host.
    pub candidates: Vec<Candidate<T>>,
    /// Price and index of the cheapest candidate.
    pub host: Option<(T, u32)>,
    /// The continuation by a page that comes in the stage before: the next candidate.
    pub page: Option<Candidate<T>>,
    /// Sum of the host's charges for the stages walked so far.
    pub hosted: T,
    /// Sum of all payments that windows may still make.
    pub promised: T,
    /// Amount by which a useful continuation from the host may cost more than absence. It is the
    /// payment for a copy to the host, and for being on the device when the stage begins in which
    /// that copy is complete.
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
    /// Finds the cheapest continuation from the host.
    pub fn update(&mut self) {
        self.host = None;
        for (k, candidate) in (0..).zip(&self.candidates) {
            let price = candidate.price + self.hosted;
            if self.host.is_none_or(|host| price < host.0) {
                self.host = Some((price, k));
            }
        }
    }

    /// Pays for copies back within windows that begin with a stage, because from here on the tensor
    /// is away then. Returns whether there is such a window.
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

    /// Adds a continuation from the host if it is the cheapest or may become the cheapest.
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

    /// Makes the choices after an event, with the charge up to there; returns the choices on the
    /// device alone and on both.
    pub fn after(&mut self, charged: T, out: Option<T>) -> [After; 2] {
        let (mut device, mut both) = (After::Stay, After::Stay);
        let absent = charged + self.absent;
        if absent < self.both {
            (self.both, both) = (absent, After::Drop);
        }
        if absent < self.device && !self.owes {
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

    /// Makes the choice at a place where a copy to the host is complete, with the charge up to
    /// there.
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

    /// Makes a copy to the host complete while the tensor stays, if this is cheaper.
    pub fn copy(&mut self, out: T) -> After {
        if self.both + out < self.device {
            self.device = self.both + out;
            return After::Copy;
        }
        After::Stay
    }

    /// Notes the page that comes in the stage before. The page noted last becomes a candidate, so a
    /// tensor comes back only after the stage in which it leaves.
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

    /// Adds copies back that are read at an event, with the charge up to there. `keeps` is true if
    /// the host's memory has no limit, so that the host always keeps its copy.
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
