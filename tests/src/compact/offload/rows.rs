//! Rows of the compact program.

use super::Pauses;
use super::build::{Columns, Copied, Limited, Parts, Tracks};
use remat_lp::{ColId, Model, ModelBuilder, Sense};

pub(super) fn build(p: &Parts, pauses: Pauses, unit_bytes: f64) -> Model {
    let mut lp = ModelBuilder::new(Sense::Minimise);
    lp.set_name("checkmate_offload");
    let columns = Columns::add(&mut lp, p, pauses);
    let mut rows = Rows { lp, p, c: columns };
    rows.inputs();
    for i in 0..p.len() {
        let tracks = rows.c.tensors[i].clone();
        rows.on_device(i, &tracks);
        if let Some(copied) = &tracks.copied {
            rows.back(&tracks, copied);
            match &copied.limited {
                None => rows.out(&tracks, copied),
                Some(limited) => rows.out_within_limit(i, &tracks, copied, limited),
            }
        }
    }
    for s in 0..rows.c.slots.len() {
        rows.memory(s, pauses, unit_bytes);
        rows.link(s);
    }
    rows.lp
        .build()
        .expect("finite coefficients, bounds in order, one entry for each row and column")
}

struct Rows<'a> {
    lp: ModelBuilder,
    p: &'a Parts,
    c: Columns,
}

impl Rows<'_> {
    /// Adds the row `left <= sum of right` over the columns that exist.
    fn at_most<const N: usize>(&mut self, left: ColId, right: [Option<ColId>; N]) {
        let right = right.into_iter().flatten().map(|col| (col, -1.0));
        self.lp
            .add_row(..=0.0, [(left, 1.0)].into_iter().chain(right));
    }

    /// Adds the row `a + b <= 1`.
    fn not_both(&mut self, a: Option<ColId>, b: Option<ColId>) {
        let both = [a, b].into_iter().flatten();
        self.lp.add_row(..=1.0, both.map(|col| (col, 1.0)));
    }

    /// The column of the run in a slot, if it is one of node `i`.
    fn made_in(&self, slot: usize, i: usize) -> Option<ColId> {
        let at = self.c.slots[slot];
        (at.pause.is_none() && at.node == i).then(|| self.c.own[slot])
    }

    /// The column of the run in a slot, if it reads `i`.
    fn read_in(&self, slot: usize, i: usize) -> Option<ColId> {
        let at = self.c.slots[slot];
        let reads = at.pause.is_none() && self.p.needs[at.node].contains(&i);
        reads.then(|| self.c.own[slot])
    }

    /// Rows (1).
    fn inputs(&mut self) {
        let p = self.p;
        for s in 0..self.c.slots.len() {
            let at = self.c.slots[s];
            if at.pause.is_some() {
                continue;
            }
            for &i in &p.needs[at.node] {
                let held = self.c.tensors[i].held.at(s);
                self.at_most(self.c.own[s], [held]);
            }
            if let Some(parent) = p.parent[at.node].filter(|_| at.is_again()) {
                let with = self.c.runs[at.stage][parent].map(|slot| self.c.own[slot]);
                self.at_most(self.c.own[s], [with]);
            }
        }
    }

    /// Rows (2).
    fn on_device(&mut self, i: usize, tracks: &Tracks) {
        for s in tracks.begin..tracks.end {
            let Some(held) = tracks.held.at(s) else {
                continue;
            };
            let before = s.checked_sub(1);
            let arrived = tracks.copied.as_ref().and_then(|c| c.arrived.at(s));
            let kept = before.and_then(|b| tracks.held.at(b));
            let made = before.and_then(|b| self.made_in(b, i));
            self.at_most(held, [kept, arrived, made]);
        }
    }

    /// Rows (6) and (7).
    fn back(&mut self, tracks: &Tracks, c: &Copied) {
        for s in tracks.begin..tracks.end {
            let (Some(back), Some(come), Some(arrived)) =
                (c.back.at(s), c.come.at(s), c.arrived.at(s))
            else {
                continue;
            };
            self.at_most(back, [c.filled.at(s)]);
            self.at_most(back, [c.on_host.at(s)]);
            self.not_both(tracks.held.at(s), c.filled.at(s));
            self.at_most(come, [c.filled.at(s)]);
            if s > tracks.begin {
                self.at_most(arrived, [c.filled.at(s - 1)]);
                self.flow(come, [c.come.at(s - 1), c.back.at(s - 1)], Some(arrived));
            }
        }
        self.once(&c.arrived, tracks);
    }

    /// Rows (5).
    fn out(&mut self, tracks: &Tracks, c: &Copied) {
        for s in tracks.begin..tracks.end {
            let (Some(out), Some(sent), Some(on_host)) =
                (c.out.at(s), c.sent.at(s), c.on_host.at(s))
            else {
                continue;
            };
            self.at_most(out, [tracks.held.at(s)]);
            self.at_most(on_host, [Some(sent)]);
            if s > tracks.begin {
                self.flow(sent, [c.sent.at(s - 1), c.out.at(s - 1)], None);
            }
        }
    }

    /// Rows (8) of a tensor.
    fn out_within_limit(&mut self, i: usize, tracks: &Tracks, c: &Copied, l: &Limited) {
        for s in tracks.begin..tracks.end {
            let (Some(out), Some(sent), Some(on_host), Some(complete), Some(unread)) = (
                c.out.at(s),
                c.sent.at(s),
                c.on_host.at(s),
                l.complete.at(s),
                l.unread.at(s),
            ) else {
                continue;
            };
            self.at_most(out, [tracks.held.at(s)]);
            self.at_most(out, [l.filled.at(s)]);
            self.not_both(l.filled.at(s), Some(on_host));
            self.at_most(sent, [l.filled.at(s)]);
            self.at_most(unread, [Some(on_host)]);
            if s > tracks.begin {
                self.at_most(complete, [l.filled.at(s - 1)]);
                self.flow(sent, [c.sent.at(s - 1), c.out.at(s - 1)], Some(complete));
                self.at_most(on_host, [c.on_host.at(s - 1), Some(complete)]);
                let came = [l.unread.at(s - 1), c.arrived.at(s)];
                let came = came.into_iter().flatten().map(|col| (col, -1.0));
                let read = self.read_in(s - 1, i).map(|col| (col, 1.0));
                let entries = came.chain(read).chain([(unread, 1.0)]);
                self.lp.add_row(0.0.., entries);
            }
        }
        self.once(&l.complete, tracks);
    }

    /// Adds the row `level = sum of gains - loss`.
    fn flow(&mut self, level: ColId, gains: [Option<ColId>; 2], loss: Option<ColId>) {
        let gains = gains.into_iter().flatten().map(|col| (col, -1.0));
        let loss = loss.map(|col| (col, 1.0));
        let entries = gains.chain(loss).chain([(level, 1.0)]);
        self.lp.add_row(0.0, entries);
    }

    /// At most one copy of a kind, if copies are bounded by the loss.
    fn once(&mut self, ends: &super::build::Track, tracks: &Tracks) {
        if self.p.loss.is_some() && tracks.begin < tracks.end {
            let all = (tracks.begin..tracks.end).filter_map(|s| ends.at(s));
            self.lp.add_row(..=1.0, all.map(|col| (col, 1.0)));
        }
    }

    /// Rows (3), and the limit of rows (8).
    fn memory(&mut self, s: usize, pauses: Pauses, unit_bytes: f64) {
        let p = self.p;
        let at = self.c.slots[s];
        let size = |bytes: u64| bytes as f64 / unit_bytes;
        if at.pause.is_none() || pauses != Pauses::Uncounted {
            let mut entries = Vec::new();
            for (tracks, &bytes) in self.c.tensors.iter().zip(&p.bytes) {
                let filled = tracks.copied.as_ref().and_then(|c| c.filled.at(s));
                let present = [tracks.held.at(s), filled].into_iter().flatten();
                entries.extend(present.map(|col| (col, size(bytes))));
            }
            if at.pause.is_none() {
                let workspace = p.workspace[usize::from(at.is_again())][at.node];
                entries.push((self.c.own[s], size(p.bytes[at.node] + workspace)));
            }
            entries.retain(|(_, size)| *size > 0.0);
            self.lp.add_row(..=size(p.capacity), entries);
        }
        let Some(most) = p.host_bytes else {
            return;
        };
        let mut entries = Vec::new();
        for (tracks, &bytes) in self.c.tensors.iter().zip(&p.bytes) {
            let Some(c) = &tracks.copied else {
                continue;
            };
            let filled = c.limited.as_ref().and_then(|l| l.filled.at(s));
            let present = [c.on_host.at(s), filled].into_iter().flatten();
            entries.extend(present.map(|col| (col, size(bytes))));
        }
        if !entries.is_empty() {
            self.lp.add_row(..=size(most), entries);
        }
    }

    /// Rows (4).
    fn link(&mut self, s: usize) {
        let p = self.p;
        let at = self.c.slots[s];
        let mut shares = [Vec::new(), Vec::new()];
        for (tracks, times) in self.c.tensors.iter().zip(&p.copies) {
            let (Some(c), Some(times)) = (&tracks.copied, times) else {
                continue;
            };
            for ((track, time), shares) in [&c.out, &c.back].into_iter().zip(times).zip(&mut shares)
            {
                shares.extend(track.at(s).map(|col| (col, *time as f64)));
            }
        }
        let length = match at.pause {
            Some(_) => 1.0,
            None => p.cost[usize::from(at.is_again())][at.node] as f64,
        };
        let [mut out, back] = shares;
        let rows = match p.half_duplex {
            true => {
                out.extend(back);
                vec![out]
            }
            false => vec![out, back],
        };
        for mut row in rows.into_iter().filter(|row| !row.is_empty()) {
            row.push((self.c.own[s], -length));
            row.retain(|(_, value)| *value != 0.0);
            self.lp.add_row(..=0.0, row);
        }
    }
}
