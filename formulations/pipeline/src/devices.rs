//! Memory and speed of the devices of a pipeline.

use remat_instances::budget::{Budget, BudgetError};
use remat_instances::pipeline::arrangement::Device;

/// Budget and speed of each device, as a user writes them.
#[derive(Clone, Debug, PartialEq)]
pub struct Devices {
    budgets: Vec<Budget>,
    speeds: Vec<u32>,
}

/// Reason why a list of devices is not one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DevicesError {
    /// A budget cannot be read.
    #[error("--budget: {0}")]
    Budget(#[from] BudgetError),
    /// A speed cannot be read.
    #[error(
        "--speed {0:?}: give a number above 0 for each device, 1 for the device of the graph's costs"
    )]
    Speed(String),
    /// Another number of values than devices.
    #[error("{what}: {given} values for {devices} devices; give one, or one for each device")]
    Count {
        /// The list.
        what: &'static str,
        /// Its values.
        given: usize,
        /// Number of devices.
        devices: usize,
    },
}

impl Devices {
    /// So many equal devices.
    pub fn equal(devices: usize, budget: Budget) -> Self {
        Devices {
            budgets: vec![budget; devices],
            speeds: vec![Device::PLAIN_SPEED; devices],
        }
    }

    /// Devices from comma-separated lists, each with one value or one for each device.
    ///
    /// # Errors
    /// [`DevicesError`] names the value.
    pub fn parse(
        devices: usize,
        budgets: &str,
        speeds: Option<&str>,
    ) -> Result<Self, DevicesError> {
        let budgets = budgets.split(',').map(|text| text.trim().parse());
        let budgets: Vec<Budget> = budgets.collect::<Result<_, _>>()?;
        let speed = |text: &str| {
            let wrong = || DevicesError::Speed(text.into());
            let value: f64 = text.trim().parse().map_err(|_| wrong())?;
            let thousandths = (value * f64::from(Device::PLAIN_SPEED)).round();
            match (1.0..=1e9).contains(&thousandths) {
                true => Ok(thousandths as u32),
                false => Err(wrong()),
            }
        };
        let speeds = speeds.map_or("1", |text| text).split(',').map(speed);
        let speeds: Vec<u32> = speeds.collect::<Result<_, _>>()?;
        Ok(Devices {
            budgets: spread("--budget", budgets, devices)?,
            speeds: spread("--speed", speeds, devices)?,
        })
    }

    /// Number of devices.
    pub fn len(&self) -> usize {
        self.budgets.len()
    }

    /// Returns whether there is no device.
    pub fn is_empty(&self) -> bool {
        self.budgets.is_empty()
    }

    /// Returns whether a budget is a share.
    pub fn has_shares(&self) -> bool {
        let mut budgets = self.budgets.iter();
        budgets.any(|budget| matches!(budget, Budget::Percent(_)))
    }

    /// The devices; shares are of `peak_bytes`.
    pub fn at(&self, peak_bytes: u64) -> Vec<Device> {
        let pairs = self.budgets.iter().zip(&self.speeds);
        pairs
            .map(|(budget, &speed)| Device {
                budget_bytes: budget.bytes(peak_bytes),
                speed,
            })
            .collect()
    }
}

fn spread<T: Clone>(
    what: &'static str,
    list: Vec<T>,
    devices: usize,
) -> Result<Vec<T>, DevicesError> {
    match list.len() {
        1 => Ok(vec![list[0].clone(); devices]),
        given if given == devices => Ok(list),
        given => Err(DevicesError::Count {
            what,
            given,
            devices,
        }),
    }
}
