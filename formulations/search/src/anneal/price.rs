//! The price of excess memory, which keeps a run near capacity, and its weights in single stages.

/// Factor on the price of excess while the search stays above capacity, and while it stays below.
/// Faster changes gave worse medians (docs/inside/decisions/060).
const PRICE_RISE_FACTOR: f64 = 1.03;
const PRICE_FALL_FACTOR: f64 = 0.98;
/// Blocks in a row on one side before the price changes.
const PATIENCE: i32 = 4;

/// In a run, the weight of excess rises by at most this power of e in a stage that stays above
/// capacity (docs/inside/decisions/060).
const STAGE_RISE_POWER: f64 = 12.0;
/// And falls again by this power.
const STAGE_FALL_POWER: f64 = 5.0;

/// Raises the weight of excess in stages above capacity, and lowers raised weights in the others;
/// `share` is the part of the run since the last call.
///
/// One price for all stages that suffices for the worst one is too high for most, and freezes them.
/// Weights on violations that persist lead a local search out of them (Morris, "The breakout method
/// for escaping from local minima", AAAI 1993).
pub fn press(weights: &mut [f64], above: impl Iterator<Item = bool>, share: f64) {
    let dearer = (STAGE_RISE_POWER * share).exp();
    let cheaper = (-STAGE_FALL_POWER * share).exp();
    for (weight, above) in weights.iter_mut().zip(above) {
        *weight = match above {
            true => *weight * dearer,
            false => 1.0 + (*weight - 1.0) * cheaper,
        };
    }
}

/// Cost units per byte of excess, adapted block by block.
pub struct Price {
    /// The current price.
    pub value: f64,
    /// Typical value of a byte on this graph.
    typical: f64,
    /// Blocks in a row that ended with (positive) or without (negative) excess.
    pressure: i32,
}

impl Price {
    /// Starts from the typical value of a byte.
    pub fn new(typical: f64) -> Self {
        Price {
            value: typical,
            typical,
            pressure: 0,
        }
    }

    /// Adjusts the price after a block that ended above capacity or not. It rises while the search
    /// stays above and falls while it stays below.
    pub fn adjust(&mut self, above: bool) {
        self.pressure = if above {
            self.pressure.max(0) + 1
        } else {
            self.pressure.min(0) - 1
        };
        if self.pressure.abs() >= PATIENCE {
            self.value *= if above {
                PRICE_RISE_FACTOR
            } else {
                PRICE_FALL_FACTOR
            };
            self.value = self.value.clamp(self.typical * 1e-3, self.typical * 1e5);
        }
    }
}
