//! Decisions of the columns of a reduced program, read from its rows.

mod freed;

use super::{Reading, Reduced};
use crate::checkmate::original::Decision;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Computed,
    Retained,
    Freed,
}

/// `x <= y + z` or `1 <= y + z` over binaries.
struct CoverRow {
    plus: Option<u32>,
    cell: (u32, u32),
}

/// Reads the structure; the columns of `retained` are known to be `S`.
pub(super) fn read(p: &Reduced, retained: &[u32]) -> Option<Reading> {
    let mut reader = LabelReader {
        p,
        class: vec![None; p.cost.len()],
        place: vec![None; p.cost.len()],
        covers: Vec::new(),
        hazards: Vec::new(),
        n: 0,
    };
    for c in retained {
        reader.class[*c as usize] = Some(Class::Retained);
    }
    reader.find_freed();
    reader.sort_rows();
    reader.classify()?;
    reader.chains()?;
    let needs = reader.needs();
    let memory = reader.memory()?;
    reader.last_leaves(&needs, &memory);
    let duplicates = reader.freed(&needs, &memory)?;
    let decisions = reader.decisions(&memory);
    let workspace = reader.workspaces(&memory);
    let workspace_again = reader.workspaces_again(&memory);
    let mut cost = vec![0.0; reader.n - 1];
    for (j, place) in reader.place.iter().enumerate() {
        if let (Some((_, i)), Some(Class::Computed)) = (place, reader.class[j]) {
            cost[*i as usize] = p.cost[j];
        }
    }
    Some(Reading {
        decisions,
        needs,
        bytes: memory.bytes,
        workspace,
        workspace_again,
        cost,
        capacity: memory.capacity,
        duplicates,
    })
}

struct LabelReader<'a> {
    p: &'a Reduced,
    class: Vec<Option<Class>>,
    /// Stage and node of `R` and `S`. For a `FREE`, the stage and the reader; its input is the
    /// second column of a cell of `covers`.
    place: Vec<Option<(u32, u32)>>,
    covers: Vec<CoverRow>,
    /// Rows with a `FREE`, as indices of `binaries`.
    hazards: Vec<usize>,
    n: usize,
}

/// The chains of `U`.
struct MemoryChains {
    /// Stage and node of each continuous column.
    place: BTreeMap<u32, (u32, u32)>,
    bytes: Vec<f64>,
    capacity: f64,
    /// For each binary column in a link between the `U` of two nodes: its coefficient against the
    /// later `U`.
    linked: BTreeMap<u32, f64>,
}

const TOLERANCE: f64 = 1e-7;

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= TOLERANCE * a.abs().max(1.0)
}

impl LabelReader<'_> {
    /// `FREE`: the one large coefficient of a row with a right side of 1 or more. Otherwise, a
    /// column that equals another one and is in no other row over binaries: in the last stage, no
    /// tensor is retained and no later node reads.
    fn find_freed(&mut self) {
        let mut only_pairs = vec![true; self.class.len()];
        for row in &self.p.binaries {
            let large = row.entries.iter().filter(|e| e.1 > 1.5).count();
            for (c, v) in &row.entries {
                if row.upper > 0.5 && large == 1 && *v > 1.5 {
                    self.class[*c as usize] = Some(Class::Freed);
                }
                let pair = row.entries.len() == 2 && near(row.upper, 0.0);
                only_pairs[*c as usize] &= pair;
            }
        }
        for row in &self.p.binaries {
            if row.entries.len() == 2 && near(row.upper, 0.0) {
                for (c, _) in &row.entries {
                    let c = *c as usize;
                    if only_pairs[c] && self.p.cost[c] == 0.0 {
                        self.class[c] = Some(Class::Freed);
                    }
                }
            }
        }
    }

    /// Hazards and covers; rows of another form are no part of the program.
    fn sort_rows(&mut self) {
        for (r, row) in self.p.binaries.iter().enumerate() {
            let is_freed = |c: u32| self.class[c as usize] == Some(Class::Freed);
            if row.entries.iter().any(|e| is_freed(e.0)) {
                self.hazards.push(r);
                continue;
            }
            let with = |value: f64| -> Vec<u32> {
                let alike = row.entries.iter().filter(|e| near(e.1, value));
                alike.map(|e| e.0).collect()
            };
            let (plus, minus) = (with(1.0), with(-1.0));
            if plus.len() + minus.len() != row.entries.len() {
                continue;
            }
            let plus = match plus[..] {
                [] if near(row.upper, -1.0) => None,
                [c] if near(row.upper, 0.0) => Some(c),
                _ => continue,
            };
            if let [a, b] = minus[..] {
                self.covers.push(CoverRow { plus, cell: (a, b) });
            }
        }
    }

    /// `R` or `S`. Costs and the -1 in a hazard identify `R`; the other column of a cell is `S`.
    fn classify(&mut self) -> Option<()> {
        let mut in_hazard = vec![false; self.class.len()];
        for &r in &self.hazards {
            let row = &self.p.binaries[r];
            let upper_side = row.upper > 0.5 || row.entries.len() == 2 && near(row.upper, 0.0);
            for (c, v) in &row.entries {
                let c = *c as usize;
                in_hazard[c] = true;
                let other = self.class[c] != Some(Class::Freed);
                let equal = row.entries.len() == 2 && near(row.upper, 0.0);
                if other && upper_side && (*v < 0.0 || equal) {
                    self.class[c] = Some(Class::Computed);
                }
            }
        }
        for (c, cost) in self.p.cost.iter().enumerate() {
            if *cost != 0.0 && self.p.binary[c] && self.p.fixed[c].is_none() {
                if self.class[c] == Some(Class::Freed) {
                    return None;
                }
                self.class[c] = Some(Class::Computed);
            }
        }
        // Between the U of two nodes there are only R and FREE.
        for row in &self.p.equalities {
            let levels = row.entries.iter().filter(|e| !self.p.binary[e.0 as usize]);
            if levels.count() == 2 {
                for (c, _) in row.entries.iter().filter(|e| self.p.binary[e.0 as usize]) {
                    self.class[*c as usize].get_or_insert(Class::Computed);
                }
            }
        }
        for k in 0..self.covers.len() {
            let (a, b) = self.covers[k].cell;
            let (a, b) = (a as usize, b as usize);
            let computed = |c: usize| self.class[c] == Some(Class::Computed);
            let retained = |c: usize| self.class[c] == Some(Class::Retained);
            let (r, s) = match (computed(a), computed(b)) {
                (true, false) => (a, b),
                (false, true) => (b, a),
                (true, true) => return None,
                _ if retained(a) => (b, a),
                _ if retained(b) => (a, b),
                // A node without inputs and cost: only its `S` is in hazards, in the rows of its
                // readers.
                _ if in_hazard[a] && !in_hazard[b] => (b, a),
                // Without further evidence there may be no difference; the comparison at the end
                // decides.
                _ => (a, b),
            };
            self.class[r] = Some(Class::Computed);
            self.class[s] = Some(Class::Retained);
        }
        for k in 0..self.covers.len() {
            if let Some(c) = self.covers[k].plus {
                // `S` of the last stage of a tensor without readers is in no cell.
                self.class[c as usize].get_or_insert(Class::Retained);
            }
        }
        Some(())
    }

    /// A cell as (R, S).
    fn ordered(&self, cell: (u32, u32)) -> (u32, u32) {
        if self.class[cell.0 as usize] == Some(Class::Computed) {
            cell
        } else {
            (cell.1, cell.0)
        }
    }

    /// Stages and nodes of all cells, from the lengths of the chains.
    fn chains(&mut self) -> Option<()> {
        // S -> R of its cell, S -> S of the next stage.
        let mut cell: BTreeMap<u32, u32> = BTreeMap::new();
        let mut next: BTreeMap<u32, u32> = BTreeMap::new();
        let mut first: BTreeMap<u32, bool> = BTreeMap::new();
        for cover in &self.covers {
            let (r, s) = self.ordered(cover.cell);
            if cell.insert(s, r).is_some_and(|other| other != r) {
                return None;
            }
            first.entry(s).or_insert(true);
            if let Some(c) = cover.plus
                && self.class[c as usize] == Some(Class::Retained)
            {
                if next.insert(s, c).is_some_and(|other| other != c) {
                    return None;
                }
                first.insert(c, false);
            }
        }
        let mut chains: Vec<Vec<u32>> = Vec::new();
        for (&s, _) in first.iter().filter(|f| *f.1) {
            let mut chain = vec![s];
            let mut at = s;
            while let Some(&later) = next.get(&at) {
                chain.push(later);
                at = later;
                if chain.len() > first.len() {
                    return None;
                }
            }
            chains.push(chain);
        }
        chains.sort_by_key(|c| std::cmp::Reverse(c.len()));
        self.n = chains.first()?.len() + 1;
        if chains.len() + 2 == self.n {
            // The last node but one has no reader: its only `S` is in no row over binaries.
            let mut lonely = vec![true; self.class.len()];
            for row in &self.p.binaries {
                row.entries
                    .iter()
                    .for_each(|e| lonely[e.0 as usize] = false);
            }
            let nowhere = |c: &u32| {
                let c = *c as usize;
                lonely[c]
                    && self.p.binary[c]
                    && self.p.fixed[c].is_none()
                    && self.class[c].is_none()
            };
            let mut candidates = (0..self.class.len() as u32).filter(nowhere);
            chains.push(vec![candidates.next()?]);
            if candidates.next().is_some() {
                return None;
            }
        }
        if chains.len() + 1 != self.n {
            return None;
        }
        for (i, chain) in chains.iter().enumerate() {
            if chain.len() != self.n - 1 - i {
                return None;
            }
            for (k, s) in chain.iter().enumerate() {
                let place = ((i + 1 + k) as u32, i as u32);
                let r = cell.get(s);
                self.class[*s as usize] = Some(Class::Retained);
                for c in r.into_iter().chain([s]) {
                    if self.place[*c as usize].replace(place).is_some() {
                        return None;
                    }
                }
            }
        }
        Some(())
    }

    /// Node `t` reads `i` if a cell of stage `t` covers 1.
    fn needs(&self) -> Vec<Vec<u32>> {
        let mut needs = vec![Vec::new(); self.n];
        for cover in self.covers.iter().filter(|c| c.plus.is_none()) {
            let (r, _) = self.ordered(cover.cell);
            if let Some((t, i)) = self.place[r as usize] {
                needs[t as usize].push(i);
            }
        }
        for list in &mut needs {
            list.sort_unstable();
            list.dedup();
        }
        needs
    }

    /// The chains of `U`: from the row with one `U` along the rows with two.
    fn memory(&self) -> Option<MemoryChains> {
        let p = self.p;
        let mut heads: Vec<(u32, usize)> = Vec::new();
        let mut links: BTreeMap<u32, Vec<(u32, usize)>> = BTreeMap::new();
        for (e, row) in p.equalities.iter().enumerate() {
            let levels: Vec<u32> = row
                .entries
                .iter()
                .map(|e| e.0)
                .filter(|c| !p.binary[*c as usize])
                .collect();
            match levels[..] {
                [u] => heads.push((u, e)),
                [u, v] => {
                    links.entry(u).or_default().push((v, e));
                    links.entry(v).or_default().push((u, e));
                }
                _ => return None,
            }
        }
        let mut out = MemoryChains {
            place: BTreeMap::new(),
            bytes: vec![0.0; self.n],
            capacity: 0.0,
            linked: BTreeMap::new(),
        };
        let mut stages = vec![false; self.n];
        let mut nameless: Vec<(Vec<u32>, Vec<usize>)> = Vec::new();
        let mut named: Vec<(u32, Vec<u32>, Vec<usize>)> = Vec::new();
        for (head, row) in heads {
            let mut chain = vec![head];
            let mut rows = vec![row];
            while let Some(ends) = links.get(chain.last()?) {
                let Some((v, e)) = ends.iter().find(|l| !rows.contains(&l.1)) else {
                    break;
                };
                chain.push(*v);
                rows.push(*e);
                if chain.len() > self.n {
                    return None;
                }
            }
            let columns = rows.iter().flat_map(|e| &p.equalities[*e].entries);
            let stage = columns
                .filter_map(|e| self.place[e.0 as usize])
                .map(|p| p.0)
                .next();
            match stage {
                Some(t) => {
                    if std::mem::replace(&mut stages[t as usize], true) {
                        return None;
                    }
                    named.push((t, chain, rows));
                }
                None => nameless.push((chain, rows)),
            }
        }
        // A stage whose rows have no free column: stage 0, and others only where tensors have no
        // size.
        nameless.sort_by_key(|c| c.0.len());
        let rest = (0..self.n).filter(|&t| !stages[t]).collect::<Vec<_>>();
        if rest.len() != nameless.len() {
            return None;
        }
        named.extend(
            rest.into_iter()
                .zip(nameless)
                .map(|(t, (c, r))| (t as u32, c, r)),
        );
        for (t, chain, rows) in &named {
            self.sizes(*t, chain, rows, &mut out)?;
        }
        for u in out.place.keys() {
            let upper = p.upper[*u as usize];
            out.capacity = out.capacity.max(upper);
        }
        out.capacity.is_finite().then_some(out)
    }

    /// Sizes from the rows of one stage.
    fn sizes(&self, t: u32, chain: &[u32], rows: &[usize], out: &mut MemoryChains) -> Option<()> {
        let p = self.p;
        for (k, (u, e)) in chain.iter().zip(rows).enumerate() {
            out.place.insert(*u, (t, k as u32));
            let row = &p.equalities[*e];
            let own = row.entries.iter().find(|e| e.0 == *u)?.1;
            for (c, v) in row.entries.iter().filter(|e| p.binary[e.0 as usize]) {
                let size = -v / own;
                if k == 0 {
                    let (_, i) = self.place[*c as usize]?;
                    out.bytes[i as usize] = size;
                } else {
                    out.linked.insert(*c, size);
                }
            }
            // R[t,t] is 1: its size is on the right side.
            if k == t as usize && k > 0 {
                out.bytes[k] = row.side / own;
            } else if k == 0 && t == 0 {
                out.bytes[0] = row.side / own;
            }
        }
        Some(())
    }

    /// `R` in the last stage of nodes without readers is in no cell: identified by inputs, cost and
    /// size.
    fn last_leaves(&mut self, needs: &[Vec<u32>], memory: &MemoryChains) {
        let last = self.n as u32 - 1;
        let mut inputs: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for cover in &self.covers {
            if let Some(c) = cover.plus
                && self.class[c as usize] == Some(Class::Computed)
                && self.place[c as usize].is_none()
                && let Some((_, i)) = self.place[cover.cell.0 as usize]
            {
                inputs.entry(c).or_default().push(i);
            }
        }
        // Without inputs, only a cost or a place among the U reveals that there is such a column.
        for c in 0..self.class.len() as u32 {
            if self.class[c as usize] == Some(Class::Computed) && self.place[c as usize].is_none() {
                inputs.entry(c).or_default();
            }
        }
        let mut taken: Vec<bool> = vec![false; self.n];
        for (j, place) in self.place.iter().enumerate() {
            if let (Some((t, i)), Some(Class::Computed)) = (place, self.class[j])
                && *t == last
            {
                taken[*i as usize] = true;
            }
        }
        let mut cost_of: Vec<Option<f64>> = vec![None; self.n];
        for (j, place) in self.place.iter().enumerate() {
            if let (Some((_, i)), Some(Class::Computed)) = (place, self.class[j]) {
                cost_of[*i as usize] = Some(self.p.cost[j]);
            }
        }
        for (c, mut list) in inputs {
            list.sort_unstable();
            list.dedup();
            let size = memory.linked.get(&c).copied().unwrap_or(0.0);
            let fits = |i: &usize| {
                !taken[*i]
                    && needs[*i] == list
                    && cost_of[*i].is_none_or(|cost| near(cost, self.p.cost[c as usize]))
                    && near(memory.bytes[*i], size)
            };
            if let Some(i) = (0..self.n - 1).find(fits) {
                taken[i] = true;
                self.place[c as usize] = Some((last, i as u32));
            }
        }
    }

    fn decisions(&self, memory: &MemoryChains) -> Vec<Option<Decision>> {
        let mut inputs: BTreeMap<u32, u32> = BTreeMap::new();
        for cover in &self.covers {
            if self.class[cover.cell.0 as usize] == Some(Class::Freed) {
                inputs.insert(cover.cell.0, cover.cell.1);
            }
        }
        let one = |j: usize| {
            if !self.p.binary[j] {
                let (stage, node) = *memory.place.get(&(j as u32))?;
                return Some(Decision::Memory { stage, node });
            }
            if self.p.fixed[j].is_some() {
                return None;
            }
            let (stage, node) = self.place[j]?;
            Some(match self.class[j]? {
                Class::Computed => Decision::Computed { stage, node },
                Class::Retained => Decision::Retained { stage, node },
                Class::Freed => Decision::Freed {
                    stage,
                    input: *inputs.get(&(j as u32))?,
                    reader: node,
                },
            })
        };
        (0..self.class.len()).map(one).collect()
    }

    /// Workspace of each node's recomputations: the coefficient of `R` in `U + w R <= capacity`.
    fn workspaces_again(&self, memory: &MemoryChains) -> Vec<f64> {
        let mut workspace = vec![0.0; self.n];
        for row in &self.p.mixed {
            let level = row.entries.iter().find(|e| !self.p.binary[e.0 as usize]);
            let run = row.entries.iter().find(|e| self.p.binary[e.0 as usize]);
            if let (Some((u, own)), Some((_, scratch)), 2) = (level, run, row.entries.len())
                && let Some((_, k)) = memory.place.get(u)
            {
                workspace[*k as usize] = (scratch / own).max(0.0);
            }
        }
        workspace
    }

    /// Workspace of each node's first computation: the part of the capacity that the memory of the
    /// node's own stage leaves free.
    fn workspaces(&self, memory: &MemoryChains) -> Vec<f64> {
        let mut workspace = vec![0.0; self.n];
        for (u, (t, k)) in &memory.place {
            if t == k {
                workspace[*k as usize] = (memory.capacity - self.p.upper[*u as usize]).max(0.0);
            }
        }
        workspace
    }
}
