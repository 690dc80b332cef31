//! Sizes, the order of nodes, workspaces and rooms, read from the memory rows.

use super::light::{Light, UpperRow};
use super::roles::Roles;
use std::collections::{BTreeMap, HashMap};

/// Columns of a memory row beside stored tensors.
#[derive(Clone, Copy, Debug, PartialEq)]
enum BesideStored {
    Nothing,
    /// A computation of a forward node: `R`, `F` or `IP` of it.
    Run(usize),
    /// Only `M` or `Z`: the reads of a backward node with several ways.
    Choice,
    /// `F` of a choice whose place is not known yet.
    Cover(usize),
    /// Runs of several nodes: not a row of the program.
    Several,
}

/// Memory in the units of the rows.
pub(super) struct Memory {
    /// Forward nodes in order.
    pub order: Vec<usize>,
    /// Size of each forward node.
    pub bytes: Vec<f64>,
    /// Coefficient of `R` of each forward node from stage 1 on: its output and its passing list.
    pub own: Vec<f64>,
    /// The same in stage 0, where `R` is a column.
    pub first_own: BTreeMap<usize, f64>,
    /// Coefficients of `F` in stage 0.
    pub first_ways: BTreeMap<usize, Vec<f64>>,
    /// Rows of stage 0 in which `R` is not a column.
    pub first_rows: Vec<FirstRow>,
    /// Coefficient of `IP`.
    pub inside: Vec<f64>,
    /// Coefficients of `F`.
    pub ways: Vec<Vec<f64>>,
    /// Room of each stage's rows.
    pub room: Vec<f64>,
    /// By stage from 1 on: right side of the backward node's row, and the coefficients of `M`, or
    /// of `F`.
    pub backward: Vec<(f64, Vec<f64>)>,
    /// Choices of stage 0, by forward node, and of backward nodes, by stage: indices of
    /// [`Roles::covers`].
    pub first_choice: BTreeMap<usize, usize>,
    pub backward_choice: BTreeMap<usize, usize>,
}

/// A row of stage 0.
pub(super) struct FirstRow {
    /// Forward nodes that are stored, ascending.
    pub stored: Vec<usize>,
    /// The node whose in-place step it has.
    pub inside: Option<usize>,
    /// Right side.
    pub side: f64,
}

/// A memory row by its stored tensors.
struct Seen<'a> {
    row: &'a UpperRow,
    /// Memory of one unit of the row's coefficients.
    scale: f64,
    /// Forward nodes stored at the start of each stage that is there, ascending by stage.
    stored: BTreeMap<usize, Vec<usize>>,
    beside: BesideStored,
    /// The stage of its `M` and `Z`.
    choice_stage: Option<usize>,
}

/// Reads memory; `None` if rows do not fit together.
pub(super) fn read(p: &Light, roles: &Roles) -> Option<Memory> {
    let names = MemoryColumns::new(roles);
    let bytes = sizes(p, roles)?;
    let rows = roles.memory.iter().map(|r| &p.rows[*r]);
    // Rows with other columns are not part of the program.
    let seen: Vec<Seen<'_>> = rows
        .filter_map(|row| names.see(row, roles, &bytes))
        .collect();
    let order = order(roles, &bytes, &seen)?;
    let reader = MemoryReader {
        roles,
        names: &names,
        seen: &seen,
        bytes: &bytes,
        place: {
            let mut place = vec![0; order.len()];
            order.iter().enumerate().for_each(|(k, i)| place[*i] = k);
            place
        },
    };
    let (own, inside, ways) = reader.runs();
    let first_own = reader.first_runs();
    let first_rows = reader.first_rows();
    let (first_choice, backward_choice) = reader.covers(p)?;
    let first_ways = reader.first_ways(&first_choice, &ways);
    let room = reader.rooms()?;
    let backward = reader.backward(&room, &backward_choice)?;
    Some(Memory {
        order,
        own,
        first_own,
        first_ways,
        first_rows,
        inside,
        ways,
        room,
        backward,
        first_choice,
        backward_choice,
        bytes,
    })
}

/// Columns by their roles beside stored tensors.
struct MemoryColumns {
    run: HashMap<u32, (usize, usize)>,
    choice: HashMap<u32, usize>,
    /// Stage and forward node of `Z`.
    product: HashMap<u32, (usize, usize)>,
    cover: HashMap<u32, usize>,
}

impl MemoryColumns {
    fn new(roles: &Roles) -> MemoryColumns {
        let mut out = MemoryColumns {
            run: HashMap::new(),
            choice: HashMap::new(),
            product: HashMap::new(),
            cover: HashMap::new(),
        };
        for (i, node) in roles.forward.iter().enumerate() {
            let ways = node.ways.iter().enumerate();
            let ways = ways.flat_map(|(t, list)| list.iter().map(move |c| (t, *c)));
            let inside = node.inside.iter().enumerate();
            let inside = inside.filter_map(|(t, c)| Some((t, (*c)?)));
            let computed = node.computed.iter().enumerate();
            let computed = computed.filter_map(|(t, c)| Some((t, (*c)?)));
            for (t, c) in ways.chain(inside).chain(computed) {
                out.run.insert(c, (t, i));
            }
        }
        for (t, node) in roles.backward.iter().enumerate() {
            node.ways.iter().for_each(|m| {
                out.choice.insert(*m, t);
            });
            for ((i, _), z) in &node.products {
                out.product.insert(*z, (t, *i));
            }
        }
        for (k, cover) in roles.covers.iter().enumerate() {
            cover.iter().for_each(|c| {
                out.cover.insert(*c, k);
            });
        }
        out
    }

    fn see<'a>(&self, row: &'a UpperRow, roles: &Roles, bytes: &[f64]) -> Option<Seen<'a>> {
        let mut out = Seen {
            row,
            scale: 1.0,
            stored: BTreeMap::new(),
            beside: BesideStored::Nothing,
            choice_stage: None,
        };
        let mut scale = None;
        for (c, v) in &row.entries {
            let beside = if let Some((t, i)) = roles.stored_at.get(c) {
                // A negative entry corrects for a tensor that the backward node reads and the run
                // counts.
                if *v > 0.0 {
                    out.stored.entry(*t).or_default().push(*i);
                }
                scale.get_or_insert(bytes[*i] / v.abs());
                continue;
            } else if let Some((_, i)) = self.run.get(c) {
                BesideStored::Run(*i)
            } else if let Some(t) = self.choice.get(c) {
                out.choice_stage = Some(*t);
                continue;
            } else if let Some((t, _)) = self.product.get(c) {
                out.choice_stage = Some(*t);
                continue;
            } else if let Some(k) = self.cover.get(c) {
                BesideStored::Cover(*k)
            } else {
                return None;
            };
            match out.beside {
                BesideStored::Nothing => out.beside = beside,
                other if other == beside => {}
                _ => out.beside = BesideStored::Several,
            }
        }
        if out.stored.is_empty() && out.beside == BesideStored::Nothing {
            out.beside = BesideStored::Choice;
        }
        if scale.is_none() {
            scale = row.entries.iter().find_map(|(c, v)| {
                let (_, i) = self.product.get(c)?;
                Some(bytes[*i] / v.abs())
            });
        }
        out.scale = scale.unwrap_or(1.0);
        Some(out)
    }
}

/// Sizes from a row with all stored tensors of one stage and no other columns. Tensors in no such
/// row take no memory.
fn sizes(p: &Light, roles: &Roles) -> Option<Vec<f64>> {
    let mut best: Option<(usize, &UpperRow)> = None;
    for r in &roles.memory {
        let row = &p.rows[*r];
        let stage = |c: u32| roles.stored_at.get(&c).map(|at| at.0);
        let first = stage(row.entries[0].0);
        let alike = first.is_some() && row.entries.iter().all(|e| stage(e.0) == first);
        if alike && best.is_none_or(|b| row.entries.len() > b.0) {
            best = Some((row.entries.len(), row));
        }
    }
    let mut bytes = vec![0.0; roles.forward.len()];
    for (c, v) in &best?.1.entries {
        let (_, i) = roles.stored_at[c];
        bytes[i] = *v;
    }
    bytes.iter().all(|b| *b >= 0.0).then_some(bytes)
}

/// Forward nodes in order: where `S[t,i]` counts up to the turn of `i` in stage `t` and `S[t+1,i]`
/// from then on, later nodes are in more rows of stage `t`.
fn order(roles: &Roles, bytes: &[f64], seen: &[Seen<'_>]) -> Option<Vec<usize>> {
    let mut count = vec![0usize; bytes.len()];
    let mut run_at: Vec<Option<usize>> = vec![None; bytes.len()];
    for seen in seen {
        // Stages of a row of stage t are t - 1 and t.
        if seen.stored.len() == 2 {
            let earlier = seen.stored.values().next()?;
            earlier.iter().for_each(|i| count[*i] += 1);
        }
        if let BesideStored::Run(i) = seen.beside
            && bytes[i] == 0.0
            && let Some(earlier) = seen.stored.values().next()
            && seen.stored.len() == 2
        {
            run_at[i].get_or_insert(earlier.len());
        }
    }
    let mut sized: Vec<usize> = (0..bytes.len()).filter(|i| bytes[*i] > 0.0).collect();
    sized.sort_by_key(|i| count[*i]);
    if sized.windows(2).any(|w| count[w[0]] == count[w[1]]) {
        return None;
    }
    // Nodes without size go before as many tensors as their row counts, or behind their inputs.
    let total = sized.len();
    let mut slots: Vec<Vec<usize>> = vec![Vec::new(); total + 1];
    let mut slot_of: HashMap<usize, usize> = HashMap::new();
    for (k, i) in sized.iter().enumerate() {
        slot_of.insert(*i, k + 1);
    }
    let mut waiting: Vec<usize> = (0..bytes.len()).filter(|i| bytes[*i] == 0.0).collect();
    while !waiting.is_empty() {
        let before = waiting.len();
        waiting.retain(|i| {
            let node = &roles.forward[*i];
            let inputs = node.needs.iter().chain(node.way_needs.iter().flatten());
            let inputs: Option<Vec<usize>> = inputs.map(|u| slot_of.get(u).copied()).collect();
            let Some(inputs) = inputs else { return true };
            let behind = inputs.into_iter().max().unwrap_or(0);
            let slot = run_at[*i].map_or(behind, |later| (total - later).max(behind));
            slot_of.insert(*i, slot);
            slots[slot].push(*i);
            false
        });
        if waiting.len() == before {
            return None;
        }
    }
    let mut out = slots[0].clone();
    for (k, i) in sized.iter().enumerate() {
        out.push(*i);
        out.extend(&slots[k + 1]);
    }
    Some(out)
}

struct MemoryReader<'a> {
    roles: &'a Roles,
    names: &'a MemoryColumns,
    seen: &'a [Seen<'a>],
    bytes: &'a [f64],
    /// Position of each forward node.
    place: Vec<usize>,
}

impl MemoryReader<'_> {
    /// Coefficients of runs.
    fn runs(&self) -> (Vec<f64>, Vec<f64>, Vec<Vec<f64>>) {
        let n = self.bytes.len();
        let (mut own, mut inside) = (vec![0.0; n], vec![0.0; n]);
        let mut ways: Vec<Vec<f64>> = vec![Vec::new(); n];
        for (i, node) in self.roles.forward.iter().enumerate() {
            ways[i] = vec![0.0; node.way_needs.len()];
        }
        for seen in self.seen {
            let BesideStored::Run(i) = seen.beside else {
                continue;
            };
            let node = &self.roles.forward[i];
            for (c, v) in &seen.row.entries {
                let Some((t, _)) = self.names.run.get(c) else {
                    continue;
                };
                // Stage 0 is read separately.
                if *t == 0 {
                    continue;
                }
                let memory = v * seen.scale;
                if node.computed[*t] == Some(*c) {
                    own[i] = memory;
                }
                if node.inside.get(*t) == Some(&Some(*c)) {
                    inside[i] = memory;
                }
                let way = node
                    .ways
                    .get(*t)
                    .and_then(|l| l.iter().position(|f| f == c));
                if let Some(way) = way
                    && let Some(place) = ways[i].get_mut(way)
                {
                    *place = memory;
                }
            }
        }
        (own, inside, ways)
    }

    /// Coefficients of `R` in stage 0.
    fn first_runs(&self) -> BTreeMap<usize, f64> {
        let mut out = BTreeMap::new();
        for seen in self.seen {
            let BesideStored::Run(i) = seen.beside else {
                continue;
            };
            if let Some(Some(r)) = self.roles.forward[i].computed.first()
                && let Some((_, v)) = seen.row.entries.iter().find(|e| e.0 == *r)
            {
                out.insert(i, v * seen.scale);
            }
        }
        out
    }

    /// Coefficients of `F` in stage 0.
    fn first_ways(
        &self,
        choices: &BTreeMap<usize, usize>,
        again: &[Vec<f64>],
    ) -> BTreeMap<usize, Vec<f64>> {
        let one = |(i, k): (&usize, &usize)| {
            let seen = self
                .seen
                .iter()
                .find(|s| s.beside == BesideStored::Cover(*k));
            // A row without tensors has no scale of its own.
            let scaled = seen.filter(|s| !s.stored.is_empty());
            let ways = match scaled {
                Some(s) => {
                    let cover = self.roles.covers[*k].iter();
                    cover.map(|f| self.coefficient(s, *f)).collect()
                }
                None => again[*i].clone(),
            };
            (*i, ways)
        };
        choices.iter().map(one).collect()
    }

    /// Rows with stored tensors of stage 0 only, and at most an in-place step.
    fn first_rows(&self) -> Vec<FirstRow> {
        let mut out = Vec::new();
        for seen in self.seen {
            if seen.stored.keys().any(|t| *t > 0) || seen.choice_stage.is_some() {
                continue;
            }
            let inside = match seen.beside {
                BesideStored::Nothing => None,
                BesideStored::Run(i) => {
                    let first = |e: &(u32, f64)| {
                        let step = self.roles.forward[i].inside.first() == Some(&Some(e.0));
                        step || self.roles.stored_at.contains_key(&e.0)
                    };
                    if !seen.row.entries.iter().all(first) {
                        continue;
                    }
                    Some(i)
                }
                _ => continue,
            };
            let mut stored = seen.stored.get(&0).cloned().unwrap_or_default();
            stored.sort_unstable();
            out.push(FirstRow {
                stored,
                inside,
                side: seen.row.upper * seen.scale,
            });
        }
        out
    }

    /// Places of choices: a backward node if memory of a later stage is in the same row, stage 0
    /// otherwise.
    #[allow(clippy::type_complexity)]
    fn covers(&self, p: &Light) -> Option<(BTreeMap<usize, usize>, BTreeMap<usize, usize>)> {
        let (mut first, mut backward) = (BTreeMap::new(), BTreeMap::new());
        for (k, cover) in self.roles.covers.iter().enumerate() {
            let row = self
                .seen
                .iter()
                .find(|s| s.beside == BesideStored::Cover(k));
            let stage = row.and_then(|s| {
                let stored = s.stored.keys().next_back().copied();
                s.choice_stage.or(stored)
            });
            if let Some(t) = stage
                && t >= 1
            {
                backward.insert(t, k);
                continue;
            }
            let cost =
                |list: &[u32]| -> Vec<f64> { list.iter().map(|c| p.cost[*c as usize]).collect() };
            let alike = |i: &usize| {
                let node = &self.roles.forward[*i];
                let later = node.ways.iter().find(|list| !list.is_empty());
                !first.contains_key(i)
                    && later
                        .is_some_and(|list| list.len() == cover.len() && cost(list) == cost(cover))
                    && row.is_none_or(|s| self.fits_first(s, *i))
            };
            let node = (0..self.bytes.len()).find(alike)?;
            first.insert(node, k);
        }
        Some((first, backward))
    }

    /// Returns whether a row of stage 0 may be the row of a run of node `i`: neither its own tensor
    /// nor a later one is stored.
    fn fits_first(&self, seen: &Seen<'_>, i: usize) -> bool {
        let stored = seen.stored.get(&0);
        stored.is_none_or(|list| list.iter().all(|u| self.place[*u] < self.place[i]))
    }

    /// Reads of a backward node in its only way, of the loss in stage 0.
    fn reads(&self, t: usize) -> Vec<usize> {
        let loss = self.place.iter().position(|k| k + 1 == self.place.len());
        match (t, loss) {
            (0, Some(loss)) => self.roles.forward[loss].needs.clone(),
            _ if !self.roles.backward[t].ways.is_empty() => Vec::new(),
            _ => {
                let needs = self.roles.backward[t].needs.first();
                needs.cloned().unwrap_or_default()
            }
        }
    }

    fn read_bytes(&self, t: usize, before: usize) -> f64 {
        let list = self.reads(t).into_iter();
        let list = list.filter(|u| self.place[*u] < before);
        list.map(|u| self.bytes[u]).sum()
    }

    /// Right sides of rows without a run, plus the bytes that the stage's backward node holds by
    /// then.
    fn rooms(&self) -> Option<Vec<f64>> {
        let stages = self.roles.backward.len();
        let sized = self.bytes.iter().filter(|b| **b > 0.0).count();
        let mut room: Vec<Option<f64>> = vec![None; stages];
        let mut pure: Vec<Option<f64>> = vec![None; stages];
        for seen in self
            .seen
            .iter()
            .filter(|s| s.beside == BesideStored::Nothing)
        {
            let side = seen.row.upper * seen.scale;
            let stored: Vec<(usize, &Vec<usize>)> =
                seen.stored.iter().map(|(t, l)| (*t, l)).collect();
            match stored[..] {
                [(k, earlier), (t, _)] if k + 1 == t && t < stages => {
                    let turn = earlier.iter().map(|i| self.place[*i]).min()?;
                    room[t] = room[t].or(Some(side + self.read_bytes(t, turn)));
                }
                // The stored set is empty at the start of stage 0.
                [(0, list)] if list.len() < sized => {
                    let turn = list.iter().map(|i| self.place[*i] + 1).max()?;
                    let reads = self.reads(0);
                    let there = |i: &usize| list.contains(i) || reads.contains(i);
                    let before = (0..self.place.len()).filter(|i| self.place[*i] < turn);
                    if !before.filter(|i| self.bytes[*i] > 0.0).all(|i| there(&i)) {
                        continue;
                    }
                    let value = side + self.read_bytes(0, turn);
                    room[0] = Some(room[0].map_or(value, |r: f64| r.max(value)));
                }
                [(k, list)] if list.len() == sized && k + 1 < stages => {
                    let best = &mut pure[k + 1];
                    *best = Some(best.map_or(side, |r: f64| r.max(side)));
                }
                _ => {}
            }
        }
        let all = room.into_iter().zip(pure);
        let mut list: Vec<Option<f64>> = all.map(|(r, pure)| r.or(pure)).collect();
        // A first stage without such a row has room for all tensors.
        let most = list.iter().flatten().copied().fold(0.0, f64::max);
        list[0].get_or_insert(most.max(self.bytes.iter().sum()));
        list.into_iter().collect()
    }

    /// The rows of backward nodes.
    fn backward(
        &self,
        room: &[f64],
        choices: &BTreeMap<usize, usize>,
    ) -> Option<Vec<(f64, Vec<f64>)>> {
        let stages = self.roles.backward.len();
        let mut out = vec![(f64::INFINITY, Vec::new()); stages];
        let mut pure: BTreeMap<usize, Vec<&Seen<'_>>> = BTreeMap::new();
        for seen in self.seen {
            let last = seen.stored.keys().next_back().copied();
            match seen.beside {
                BesideStored::Nothing if seen.stored.len() == 1 => {
                    pure.entry(last?).or_default().push(seen);
                }
                BesideStored::Choice => {
                    let t = seen.choice_stage?;
                    let of = |m: &u32| self.coefficient(seen, *m);
                    let ways = self.roles.backward.get(t)?.ways.iter().map(of).collect();
                    out[t] = (seen.row.upper * seen.scale, ways);
                }
                BesideStored::Cover(k) => {
                    let Some((t, _)) = choices.iter().find(|c| *c.1 == k) else {
                        continue;
                    };
                    let of = |f: &u32| self.coefficient(seen, *f);
                    let ways = self.roles.covers[k].iter().map(of).collect();
                    out[*t] = (seen.row.upper * seen.scale, ways);
                }
                _ => {}
            }
        }
        for t in 1..stages {
            if out[t].0.is_finite() || !self.roles.backward[t].ways.is_empty() {
                continue;
            }
            let reads = self.reads(t);
            let there = |i: &usize| self.bytes[*i] > 0.0 && !reads.contains(i);
            let mut wanted: Vec<usize> = (0..self.bytes.len()).filter(there).collect();
            wanted.sort_unstable();
            let rows = pure.get(&t).into_iter().flatten();
            let sides = rows.filter_map(|seen| {
                let mut list = seen.stored[&t].clone();
                list.sort_unstable();
                (list == wanted).then_some(seen.row.upper * seen.scale)
            });
            let sides: Vec<f64> = sides.collect();
            // The first row of the next stage, and the last one of this stage, may look the same.
            let held = self.read_bytes(t, self.place.len() - 1);
            let expected = [room.get(t + 1).copied(), Some(room[t] - held)];
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-7 * a.abs().max(b.abs()).max(1e-9);
            let other = sides.iter().copied().find(|side| {
                let mut expected = expected.iter().flatten();
                !expected.any(|e| near(*e, *side))
            });
            let least = sides.iter().copied().fold(f64::INFINITY, f64::min);
            out[t].0 = other.unwrap_or(least);
        }
        Some(out)
    }

    fn coefficient(&self, seen: &Seen<'_>, column: u32) -> f64 {
        let entry = seen.row.entries.iter().find(|e| e.0 == column);
        entry.map_or(0.0, |e| e.1 * seen.scale)
    }
}
