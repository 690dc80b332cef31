//! Rows that state that two items lie apart while columns are 1: (6) of OLLA.

use super::place::Addresses;
use super::roles::{NONE, Roles};
use super::rows::{OllaRow, Reading};
use std::collections::{BTreeMap, BTreeSet};

/// Part of a unit by which columns have to be above the side of a row: switches are whole.
const EXCESS: f64 = 0.5;

/// A row `sum of coefficients * columns - sum of switches <= upper`.
#[derive(Clone, Debug)]
pub(super) struct ApartRow {
    /// Columns with a role, with coefficients in units of the switches' coefficients.
    pub there: Vec<(u32, f64)>,
    /// Columns of which one must be 1 if the columns of `there` sum to more than `upper`.
    pub switches: Vec<u32>,
    pub upper: f64,
    /// Two items that lie apart if any of the switches is 1.
    pub items: Option<(u32, u32)>,
}

impl ApartRow {
    fn read(row: &OllaRow, reading: &Reading<'_>, roles: &Roles) -> Option<ApartRow> {
        let is_binary = |e: &(u32, f64)| reading.is_binary[e.0 as usize];
        (!row.is_equation && row.entries.iter().all(is_binary)).then_some(())?;
        let entries = row.entries.iter().copied();
        type Entries = Vec<(u32, f64)>;
        let (there, switches): (Entries, Entries) = entries.partition(|e| e.1 > 0.0);
        let unit = -switches.first()?.1;
        let is_unit = |e: &(u32, f64)| (e.1 + unit).abs() <= 1e-9 * unit;
        let has_role = |e: &(u32, f64)| roles.has_role(e.0);
        let is_so =
            there.iter().all(has_role) && switches.iter().all(|e| is_unit(e) && !has_role(e));
        (is_so && !there.is_empty()).then(|| ApartRow {
            there: there.into_iter().map(|(c, v)| (c, v / unit)).collect(),
            switches: switches.into_iter().map(|e| e.0).collect(),
            upper: row.upper / unit,
            items: None,
        })
    }

    /// Returns whether columns with such coefficients together make one of the switches 1.
    fn is_apart(&self, sum: f64) -> bool {
        sum >= self.upper + EXCESS
    }

    /// Returns whether the values of the columns make one of the switches 1.
    pub fn is_apart_at(&self, x: &[f64]) -> bool {
        self.is_apart(self.there.iter().map(|(c, v)| v * x[*c as usize]).sum())
    }
}

/// The rows of a model that state which items lie apart while columns are 1.
#[derive(Debug)]
pub(super) struct Apart {
    pub rows: Vec<ApartRow>,
    /// Pairs of columns (equal ones if one column is enough), and of items that then lie apart.
    facts: Vec<[u32; 4]>,
}

impl Apart {
    pub fn new(reading: &Reading<'_>, roles: &Roles, addresses: &Addresses) -> Apart {
        // By column: pairs that are apart if it is 1.
        let mut says: BTreeMap<u32, BTreeSet<(u32, u32)>> = BTreeMap::new();
        for below in addresses.below.iter().filter(|below| below.value) {
            let pair = (below.low.min(below.high), below.low.max(below.high));
            says.entry(below.column).or_default().insert(pair);
        }
        let rows = reading.rows.iter();
        let rows = rows.filter_map(|row| ApartRow::read(row, reading, roles));
        let mut rows: Vec<ApartRow> = rows.collect();
        let mut facts = Vec::new();
        for row in &mut rows {
            let said: Option<Vec<_>> = row.switches.iter().map(|s| says.get(s)).collect();
            row.items = said.and_then(|said| {
                let (first, others) = said.split_first()?;
                let mut pairs = first.iter();
                pairs
                    .find(|pair| others.iter().all(|o| o.contains(pair)))
                    .copied()
            });
            let Some((i, j)) = row.items else { continue };
            for (k, &(x, v)) in row.there.iter().enumerate() {
                if row.is_apart(v) {
                    facts.push([x, x, i, j]);
                }
                let others = row.there[k + 1..].iter();
                let others = others.filter(|(_, w)| row.is_apart(v + w));
                facts.extend(others.map(|&(y, _)| [x.min(y), x.max(y), i, j]));
            }
        }
        facts.sort_unstable();
        facts.dedup();
        Apart { rows, facts }
    }

    /// Returns whether two items lie apart whenever two columns are 1.
    pub fn says(&self, columns: (u32, u32), items: (u32, u32)) -> bool {
        let ((x, y), (i, j)) = (columns, items);
        let fact = [x.min(y), x.max(y), i.min(j), i.max(j)];
        self.facts.binary_search(&fact).is_ok()
    }

    /// Columns that are 1 together at a step, as far as rows show it. Columns that make or read a
    /// tensor belong to one step, others may belong to several.
    pub fn columns_of_steps(&self, roles: &Roles) -> Vec<Vec<u32>> {
        let n = roles.tensor_of.len();
        let mut is_firm: Vec<bool> = (0..n as u32)
            .map(|c| roles.makes(c) || roles.run_of[c as usize] != NONE)
            .collect();
        for (a, b) in roles.reads.iter().chain(&roles.apart) {
            is_firm[*a as usize] = true;
            is_firm[*b as usize] = true;
        }
        let mut parent: Vec<u32> = (0..n as u32).collect();
        let firm = |row: &ApartRow| {
            let columns = row.there.iter().map(|e| e.0);
            columns
                .filter(|c| is_firm[*c as usize])
                .collect::<Vec<u32>>()
        };
        let pairs = roles.equal.iter().chain(&roles.reads).chain(&roles.apart);
        pairs.for_each(|(a, b)| join(&mut parent, *a, *b));
        for row in &self.rows {
            let columns = firm(row);
            columns
                .windows(2)
                .for_each(|w| join(&mut parent, w[0], w[1]));
        }
        let mut steps: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for row in &self.rows {
            if let Some(&first) = firm(row).first() {
                let step = steps.entry(root(&mut parent, first)).or_default();
                step.extend(row.there.iter().map(|e| e.0));
            }
        }
        let steps = steps.into_values();
        steps.map(|step| step.into_iter().collect()).collect()
    }
}

/// The class of a number.
pub(super) fn root(parent: &mut [u32], mut x: u32) -> u32 {
    while parent[x as usize] != x {
        let up = parent[parent[x as usize] as usize];
        parent[x as usize] = up;
        x = up;
    }
    x
}

/// Merges the classes of two numbers.
pub(super) fn join(parent: &mut [u32], a: u32, b: u32) {
    let (a, b) = (root(parent, a), root(parent, b));
    parent[a.max(b) as usize] = a.min(b);
}
