//! The price of excess memory that keeps a run along the border of what fits.

/// Factor on the price of excess while the search stays above capacity, and while it stays below. Faster changes (1.15
/// and 0.93, 1.5 and 0.8) gave worse medians on U-Net at 5 GiB and on general graphs.
const DEARER: f64 = 1.03;
const CHEAPER: f64 = 0.98;
/// Blocks in a row on one side before the price changes.
const PATIENCE: i32 = 4;

/// Cost units per byte of excess, adapted block by block.
pub(crate) struct Price {
    /// The price at present.
    pub value: f64,
    /// What a byte is worth on this graph.
    typical: f64,
    /// Blocks in a row that ended with (positive) or without (negative) excess.
    pressure: i32,
}

impl Price {
    /// Starts from what a byte is worth.
    pub fn new(typical: f64) -> Self {
        Price {
            value: typical,
            typical,
            pressure: 0,
        }
    }

    /// After a block that ended above capacity or not: excess gets dearer while the search stays above and cheaper while it
    /// stays below.
    pub fn adjust(&mut self, above: bool) {
        self.pressure = if above {
            self.pressure.max(0) + 1
        } else {
            self.pressure.min(0) - 1
        };
        if self.pressure.abs() >= PATIENCE {
            self.value *= if above { DEARER } else { CHEAPER };
            self.value = self.value.clamp(self.typical * 1e-3, self.typical * 1e5);
        }
    }
}
