//! Duplicate columns, of inputs that are listed more than once.

use super::{Duplicate, Reduced};
use std::collections::BTreeMap;

const TOLERANCE: f64 = 1e-7;

/// The columns of each `FREE`, by stage, input and reader: several if an input is listed twice.
#[derive(Default)]
pub(super) struct FreedColumns {
    /// Columns by stage, input and reader; the first one stands for all.
    pub columns: BTreeMap<(u32, u32, u32), Vec<u32>>,
    /// Number of times that each input of a reader is listed, if more than once.
    times: BTreeMap<(u32, u32), usize>,
}

impl FreedColumns {
    /// Number of times that an input of a reader is listed.
    pub fn times(&self, input: u32, reader: u32) -> usize {
        self.times.get(&(input, reader)).copied().unwrap_or(1)
    }

    /// Adds a column.
    pub fn add(&mut self, column: u32, (t, input, reader): (u32, u32, u32)) {
        let list = self.columns.entry((t, input, reader)).or_default();
        list.push(column);
        if list.len() > 1 {
            let times = self.times.entry((input, reader)).or_default();
            *times = list.len().max(*times);
        }
    }

    /// Returns whether there are fewer columns than times that the input is listed.
    pub fn has_room(&self, (t, input, reader): (u32, u32, u32)) -> bool {
        let taken = self.columns.get(&(t, input, reader)).map_or(0, Vec::len);
        taken < self.times(input, reader)
    }

    /// All columns but the first of each.
    pub fn duplicates(&self) -> Vec<Duplicate> {
        let duplicates = |(&(_, input, reader), list): (&(u32, u32, u32), &Vec<u32>)| {
            let original = list[0];
            let others = list[1..].iter().copied();
            let one = others.map(move |column| Duplicate {
                column,
                original,
                input,
                reader,
            });
            one.collect::<Vec<_>>()
        };
        self.columns.iter().flat_map(duplicates).collect()
    }
}

/// A row over binary columns as a key of one of its columns: the other entries, then its own and
/// the right side.
type Sides = Vec<(Vec<(u32, f64)>, f64, f64)>;

/// The program without some columns; `None` if one of them differs from its original. Both have the
/// same rows over binary columns, and the same coefficients in the equalities, so that they are
/// equal at every point.
pub(super) fn without(p: &Reduced, duplicates: &[Duplicate]) -> Option<Reduced> {
    let mut out = p.clone();
    if duplicates.is_empty() {
        return Some(out);
    }
    let original: BTreeMap<u32, u32> = duplicates.iter().map(|d| (d.column, d.original)).collect();
    let mut sides: BTreeMap<u32, Sides> = BTreeMap::new();
    for d in duplicates {
        sides.insert(d.column, Vec::new());
        sides.insert(d.original, Vec::new());
    }
    for row in &p.binaries {
        for (c, own) in &row.entries {
            if let Some(side) = sides.get_mut(c) {
                let others = row.entries.iter().filter(|e| e.0 != *c).copied();
                side.push((others.collect(), *own, row.upper));
            }
        }
    }
    let near = |a: f64, b: f64| (a - b).abs() <= TOLERANCE * a.abs().max(1.0);
    for d in duplicates {
        let (a, b) = (&sides[&d.column], &sides[&d.original]);
        let alike = |x: &(Vec<(u32, f64)>, f64, f64), y: &(Vec<(u32, f64)>, f64, f64)| {
            let entries = x.0.iter().zip(&y.0);
            x.0.len() == y.0.len()
                && entries.fold(true, |same, (v, w)| same && v.0 == w.0 && near(v.1, w.1))
                && near(x.1, y.1)
                && near(x.2, y.2)
        };
        let all = a.len() == b.len() && a.iter().all(|x| b.iter().any(|y| alike(x, y)));
        if !all || p.cost[d.column as usize] != 0.0 {
            return None;
        }
    }
    let is_out = |c: u32| original.contains_key(&c);
    out.binaries
        .retain(|row| !row.entries.iter().any(|e| is_out(e.0)));
    for row in &mut out.equalities {
        let of = |c: u32| row.entries.iter().find(|e| e.0 == c).map(|e| e.1);
        for (c, v) in &row.entries {
            if let Some(original) = original.get(c)
                && !of(*original).is_some_and(|w| near(*v, w))
            {
                return None;
            }
        }
        row.entries.retain(|e| !is_out(e.0));
    }
    let mixed = p.mixed.iter().flat_map(|row| &row.entries);
    (!mixed.into_iter().any(|e| is_out(e.0))).then_some(out)
}
