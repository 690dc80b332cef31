//! Columns and rows of addresses: (7) and (8) of OLLA.

use super::lives::binary;
use remat_lp::{ColId, ModelBuilder};

/// Owner of an address.
#[derive(Clone, Debug)]
pub(super) struct AddressOwner {
    pub name: String,
    /// Size in units; 0 for an owner that is never in use.
    pub size: u64,
    /// Divisor of the address, in units.
    pub alignment: u64,
    /// A fixed address in units.
    pub fixed: Option<u64>,
}

/// Addresses of items, and the order of each pair in space.
#[derive(Clone, Debug)]
pub(super) struct AddressColumns {
    pub items: Vec<AddressOwner>,
    /// Address of each item, in multiples of its alignment.
    pub address: Vec<ColId>,
    /// Items that may be in memory together, the first below the second.
    pub pairs: Vec<(u32, u32)>,
    /// For each pair: the first is below, the first is above.
    pub below: Vec<[ColId; 2]>,
    /// The largest end of any item.
    pub peak: ColId,
    /// An upper bound on addresses in some best placement, in units: M.
    pub top: u64,
}

impl AddressColumns {
    /// Adds the columns: the peak costs `unit` for each unit.
    pub fn add(
        lp: &mut ModelBuilder,
        items: Vec<AddressOwner>,
        pairs: Vec<(u32, u32)>,
        unit: u64,
        peak: &str,
    ) -> AddressColumns {
        let room = items.iter().map(|i| i.size + (i.alignment - 1));
        let fixed = items.iter().map(|i| i.fixed.map_or(0, |f| f + i.size));
        let top = room.sum::<u64>() + fixed.max().unwrap_or(0);
        let address = items.iter().map(|item| {
            let last = (top - item.size) / item.alignment;
            let fixed = item.fixed.map(|f| (f / item.alignment) as f64);
            let column = lp.add_col(0.0, fixed.map_or(0.0..=last as f64, |f| f..=f));
            lp.set_integer(column, true);
            lp.set_col_name(column, item.name.clone());
            column
        });
        let address = address.collect();
        let below = pairs.iter().map(|&(i, j)| {
            let [a, b] = [i, j].map(|i| &items[i as usize].name);
            ["v1", "v2"].map(|side| binary(lp, format!("{a}_{b}_{side}"), None))
        });
        let below = below.collect();
        let column = lp.add_col(unit as f64, 0.0..=top as f64);
        lp.set_integer(column, true);
        lp.set_col_name(column, peak);
        AddressColumns {
            items,
            address,
            pairs,
            below,
            peak: column,
            top,
        }
    }

    /// Adds the rows (7) and (8).
    pub fn rows(&self, lp: &mut ModelBuilder) {
        let of = |i: u32| {
            let item = &self.items[i as usize];
            (
                self.address[i as usize],
                item.alignment as f64,
                item.size as f64,
            )
        };
        for i in 0..self.items.len() as u32 {
            let (column, step, size) = of(i);
            if size > 0.0 {
                lp.add_row(..=-size, [(column, step), (self.peak, -1.0)]);
            }
        }
        let top = self.top as f64;
        for (&(i, j), &[first, second]) in self.pairs.iter().zip(&self.below) {
            for (low, high, is_so) in [(i, j, first), (j, i, second)] {
                let ((low, step, size), (high, step_high, _)) = (of(low), of(high));
                let entries = [(low, step), (high, -step_high), (is_so, top)];
                lp.add_row(..=top - size, entries);
            }
        }
    }

    /// Values of the columns for addresses in units; `None` if an address is no multiple of its
    /// alignment.
    pub fn point(&self, offsets: &[u64], x: &mut [f64]) -> Option<()> {
        let mut peak = 0;
        for ((item, column), offset) in self.items.iter().zip(&self.address).zip(offsets) {
            offset.is_multiple_of(item.alignment).then_some(())?;
            x[column.index()] = (offset / item.alignment) as f64;
            if item.size > 0 {
                peak = peak.max(offset + item.size);
            }
        }
        for (&(i, j), columns) in self.pairs.iter().zip(&self.below) {
            let [low, high] = [i, j].map(|i| offsets[i as usize]);
            let [size_low, size_high] = [i, j].map(|i| self.items[i as usize].size);
            // Items that share addresses have neither order: they are not in memory together.
            x[columns[0].index()] = f64::from(u8::from(low + size_low <= high));
            x[columns[1].index()] = f64::from(u8::from(high + size_high <= low));
        }
        x[self.peak.index()] = peak as f64;
        Some(())
    }

    /// Addresses of a point, in units.
    pub fn offsets(&self, x: &[f64]) -> Vec<u64> {
        let of = |(item, column): (&AddressOwner, &ColId)| {
            let value = x.get(column.index()).copied().unwrap_or(0.0);
            // Casts saturate; addresses are not negative.
            value.round() as u64 * item.alignment
        };
        self.items.iter().zip(&self.address).map(of).collect()
    }
}
