//! Models that are the program of addresses.

use super::intervals::Moments;
use super::order::{ROUNDING, rest};
use super::rows::{BinaryRow, OllaRow, Reading};
use super::{Effort, RecognisedOlla};
use crate::place::{PlaceOutcome, PlaceSettings, place};
use remat_instances::place::{Buffer, Lives};
use remat_lp::{ColId, Model};
use remat_search::recognise::{Integers, integers_below};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Limit on the pairs of buffers of a model that is read.
const PAIR_LIMIT: usize = 1 << 22;
/// Share of a time limit for the search for addresses.
const SHARE: f64 = 0.6;

/// A column with an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddressColumn {
    pub column: u32,
    /// Units of the peak for each unit of the address.
    pub step: f64,
    /// Units of the peak above the address, at least.
    pub size: f64,
}

/// The end of one buffer at or below another one if a binary column has a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Below {
    pub low: u32,
    pub high: u32,
    pub size: f64,
    pub column: u32,
    pub value: bool,
}

/// Two columns with addresses that are equal, or one at most the other, if a binary column is 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub items: (u32, u32),
    pub column: u32,
}

/// Columns with addresses, and the pairs that may lie above each other.
#[derive(Debug)]
pub(super) struct Addresses {
    pub items: Vec<AddressColumn>,
    pub below: Vec<Below>,
    pub links: Vec<Link>,
    /// Pairs of which one is below the other in every point.
    pub always: BTreeSet<(u32, u32)>,
}

impl Addresses {
    /// Reads the addresses of a model; `None` if it has no address.
    pub fn new(reading: &Reading<'_>) -> Option<Addresses> {
        let mut items = items(reading);
        (!items.is_empty()).then_some(())?;
        let mut of = vec![u32::MAX; reading.is_binary.len()];
        (0..)
            .zip(&items)
            .for_each(|(i, item)| of[item.column as usize] = i);
        let rows = reading.rows.iter();
        let below = rows.filter_map(|row| below(reading, row, &of, &items));
        let below: Vec<Below> = below.collect();
        for row in &below {
            let size = &mut items[row.low as usize].size;
            *size = size.min(row.size);
        }
        let rows = reading.rows.iter();
        let links = rows.filter_map(|row| link(reading, row, &of));
        let links = links.collect();
        let always = pairs(reading, &below);
        Some(Addresses {
            items,
            below,
            links,
            always,
        })
    }

    /// Sets the columns of addresses, in units of the peak, and the columns for the order of pairs.
    pub fn fill(&self, reading: &Reading<'_>, offset: &dyn Fn(u32) -> f64, x: &mut [f64]) {
        for (i, item) in (0..).zip(&self.items) {
            let address = offset(i) / item.step;
            x[item.column as usize] = match reading.model.is_integer(ColId(item.column)) {
                true => address.round(),
                false => address,
            };
        }
        for row in &self.below {
            let (low, high) = (offset(row.low), offset(row.high));
            let is_below = low + row.size <= high + ROUNDING * high.max(1.0);
            if is_below {
                x[row.column as usize] = f64::from(u8::from(row.value));
            }
        }
        let peak = reading.peak as usize;
        let mut needed = reading.lower[peak];
        for row in reading.rows.iter().filter(|row| row.entries.len() == 2) {
            let Some(&(_, v)) = row.entries.iter().find(|e| e.0 == reading.peak) else {
                continue;
            };
            let others = row.entries.iter().filter(|e| e.0 != reading.peak);
            let others: f64 = others.map(|e| e.1 * x[e.0 as usize]).sum();
            if v < 0.0 {
                needed = needed.max((others - row.upper) / -v);
            }
        }
        x[peak] = match reading.model.is_integer(ColId(reading.peak)) {
            true => (needed - ROUNDING * needed.abs().max(1.0)).ceil(),
            false => needed,
        };
    }
}

/// Solves a model that is the program of addresses, up to names, order and scale of rows and
/// columns, and further ones; `None` for other models.
///
/// Of the rows `a + size <= b + (1 - x) M` only the case `x = 1` counts. Of `x + y >= 1` only the
/// fact counts that one of the two holds: then the buffers are live together and apart in space.
/// Every point of the model is a placement of buffers with such lives.
pub(crate) fn place_program(model: &Model, effort: &Effort<'_>) -> Option<RecognisedOlla> {
    let reading = Reading::new(model)?;
    let addresses = Addresses::new(&reading)?;
    let (items, pairs) = (&addresses.items, &addresses.always);
    (!pairs.is_empty() && pairs.len() <= PAIR_LIMIT).then_some(())?;
    let sizes: Vec<f64> = items.iter().map(|item| item.size.max(0.0)).collect();
    let Integers { values, scale } = integers_below(&sizes)?;
    let mut buffers = Moments::new(&neighbours(items.len(), pairs)).buffers(&values);
    for (item, buffer) in items.iter().zip(&mut buffers) {
        restrict(&reading, item, scale, buffer);
    }
    let lives = Lives::new(buffers).ok()?;
    let settings = PlaceSettings {
        time_limit: effort.time_limit.map(|limit| limit.mul_f64(SHARE)),
        ..PlaceSettings::default()
    };
    let outcome = placed(&lives, settings, effort)?;
    let mut x = rest(&reading);
    let offset = |i: u32| outcome.placement.offsets()[i as usize] as f64 / scale;
    addresses.fill(&reading, &offset, &mut x);
    Some(RecognisedOlla {
        program: "olla-place",
        nodes: items.len(),
        peak: reading.peak,
        least_peak: outcome.bound as f64 / scale,
        point: Some(x),
    })
}

/// The partners of each item in pairs.
pub(super) fn neighbours(items: usize, pairs: &BTreeSet<(u32, u32)>) -> Vec<Vec<u32>> {
    let mut neighbours = vec![Vec::new(); items];
    for &(a, b) in pairs {
        neighbours[a as usize].push(b);
        neighbours[b as usize].push(a);
    }
    neighbours
}

/// Places buffers, until the listener interrupts.
pub(super) fn placed(
    lives: &Lives,
    settings: PlaceSettings,
    effort: &Effort<'_>,
) -> Option<PlaceOutcome> {
    let stop = Arc::new(AtomicBool::new(false));
    let settings = PlaceSettings {
        threads: effort.threads,
        seed: effort.seed,
        interrupt: Some(stop.clone()),
        ..settings
    };
    let watch = || {
        if effort.listener.is_interrupted() {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let outcome = remat_search::ticking(watch, &stop, || place(lives, &settings));
    outcome.ok()?.ok()
}

/// Columns `a >= 0` of rows `peak >= step * a + size`, in the order of columns.
fn items(reading: &Reading<'_>) -> Vec<AddressColumn> {
    let mut items: BTreeMap<u32, AddressColumn> = BTreeMap::new();
    for row in reading.rows.iter().filter(|row| !row.is_equation) {
        let [first, second] = row.entries[..] else {
            continue;
        };
        let (peak, other) = match first.0 == reading.peak {
            true => (first, second),
            false => (second, first),
        };
        let (column, coefficient) = other;
        let is_item = peak.0 == reading.peak && peak.1 < 0.0 && coefficient > 0.0;
        let is_address = reading.lower[column as usize] >= 0.0;
        if !is_item || !is_address || reading.is_binary[column as usize] || row.upper > 0.0 {
            continue;
        }
        items.entry(column).or_insert(AddressColumn {
            column,
            step: coefficient / -peak.1,
            size: row.upper / peak.1,
        });
    }
    items.into_values().collect()
}

/// A row which states that one buffer is below another if a binary column has a value.
fn below(
    reading: &Reading<'_>,
    row: &OllaRow,
    of: &[u32],
    items: &[AddressColumn],
) -> Option<Below> {
    let [_, _, _] = row.entries[..] else {
        return None;
    };
    (!row.is_equation).then_some(())?;
    let is_item = |e: &&(u32, f64)| of[e.0 as usize] != u32::MAX;
    let low = row.entries.iter().filter(is_item).find(|e| e.1 > 0.0)?;
    let high = row.entries.iter().filter(is_item).find(|e| e.1 < 0.0)?;
    let switch = row
        .entries
        .iter()
        .find(|e| reading.is_binary[e.0 as usize])?;
    let [i, j] = [low, high].map(|e| of[e.0 as usize]);
    let factor = items[i as usize].step / low.1;
    let other = items[j as usize].step / -high.1;
    ((factor - other).abs() <= ROUNDING * factor).then_some(())?;
    // With a positive coefficient of the column, the row is stronger if the column is 1.
    let value = switch.1 > 0.0;
    let upper = row.upper - if value { switch.1 } else { 0.0 };
    (upper < 0.0).then_some(Below {
        low: i,
        high: j,
        size: -upper * factor,
        column: switch.0,
        value,
    })
}

/// A row with two addresses which states that one is at most the other if a binary column is 1.
fn link(reading: &Reading<'_>, row: &OllaRow, of: &[u32]) -> Option<Link> {
    let [_, _, _] = row.entries[..] else {
        return None;
    };
    let is_binary = |e: &&(u32, f64)| reading.is_binary[e.0 as usize];
    let &(column, m) = row.entries.iter().find(is_binary)?;
    let item = |e: &(u32, f64)| Some((of[e.0 as usize], e.1)).filter(|i| i.0 != u32::MAX);
    let mut items = row.entries.iter().filter_map(item);
    let ((i, v), (j, w)) = (items.next()?, items.next()?);
    let is_link = v + w == 0.0 && m > 0.0 && (row.upper - m).abs() <= ROUNDING * m;
    is_link.then_some(Link {
        items: (i, j),
        column,
    })
}

/// Pairs of which one is below the other in every point.
fn pairs(reading: &Reading<'_>, rows: &[Below]) -> BTreeSet<(u32, u32)> {
    // Pairs (low, high) by column and value.
    let mut says: BTreeMap<(u32, bool), Vec<(u32, u32)>> = BTreeMap::new();
    for row in rows {
        let pairs = says.entry((row.column, row.value)).or_default();
        pairs.push((row.low, row.high));
    }
    let mut pairs = BTreeSet::new();
    let mut either = |a: (u32, bool), b: (u32, bool)| {
        let (Some(first), Some(second)) = (says.get(&a), says.get(&b)) else {
            return;
        };
        for &(low, high) in first {
            if second.contains(&(high, low)) {
                pairs.insert((low.min(high), low.max(high)));
            }
        }
    };
    for row in rows.iter().filter(|row| row.value) {
        either((row.column, true), (row.column, false));
    }
    for row in &reading.rows {
        reading.each_form(row, &mut |form| {
            if let BinaryRow::One(&[(a, _), (b, _)]) | BinaryRow::Cover(&[(a, _), (b, _)]) = form {
                either((a, true), (b, true));
            }
        });
    }
    pairs
}

/// Copies the restrictions of the model on an address: a multiple, or a fixed value.
pub(super) fn restrict(
    reading: &Reading<'_>,
    item: &AddressColumn,
    scale: f64,
    buffer: &mut Buffer,
) {
    let column = item.column as usize;
    let step = item.step * scale;
    let whole = |v: f64| (v - v.round()).abs() <= ROUNDING * v.max(1.0) && v < 1e15;
    if !reading.model.is_integer(ColId(item.column)) || !whole(step) || step < 1.0 {
        return;
    }
    buffer.alignment = step.round() as u64;
    if reading.lower[column] == reading.upper[column] && whole(reading.lower[column]) {
        buffer.offset = Some(reading.lower[column].round() as u64 * buffer.alignment);
    }
}
