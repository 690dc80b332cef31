//! Times of cost units in files of viewers, which know nanoseconds alone.

use remat_instances::instance::CostUnit;

/// Makespan in units without a time, above which a unit is shown as a nanosecond.
const MICROSECOND_UNITS: u64 = 1_000_000_000_000;

/// Nanoseconds of a unit of cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Clock {
    nanoseconds: f64,
    unit: CostUnit,
}

impl Clock {
    /// The clock of a unit. A unit that is no time is shown as a microsecond, or as a nanosecond
    /// if the makespan is above 10^12 units.
    pub fn of(unit: &CostUnit, makespan: u64) -> Self {
        let assumed = match makespan {
            0..=MICROSECOND_UNITS => 1e3,
            _ => 1.0,
        };
        Clock {
            nanoseconds: unit.nanoseconds.unwrap_or(assumed),
            unit: unit.clone(),
        }
    }

    /// A clock for steps that have no cost: a microsecond each.
    pub fn of_steps() -> Self {
        Clock {
            nanoseconds: 1e3,
            unit: CostUnit::named("step"),
        }
    }

    /// A time in nanoseconds, rounded.
    pub fn nanoseconds(&self, time: u64) -> u64 {
        match self.nanoseconds.fract() == 0.0 {
            true => time.saturating_mul(self.nanoseconds as u64),
            false => (time as f64 * self.nanoseconds).round() as u64,
        }
    }

    /// A time in microseconds, rounded down.
    pub fn microseconds(&self, time: u64) -> u64 {
        self.nanoseconds(time) / 1000
    }

    /// The relation of shown times and costs, in words.
    pub fn words(&self) -> String {
        let name = &self.unit.name;
        match (self.unit.nanoseconds, self.nanoseconds) {
            (Some(_), _) => format!("times are costs in {name}"),
            (None, 1.0) => format!("1 ns stands for 1 {name} of cost, which is no time"),
            (None, _) => format!("1 us stands for 1 {name}, which is no time"),
        }
    }
}
