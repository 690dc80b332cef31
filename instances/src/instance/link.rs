//! The link to host memory and the time of copies over it.

use super::CostUnit;
use crate::number::number_length;
use serde::{Deserialize, Deserializer, Serialize};
use std::str::FromStr;

/// Lanes of a link: one for each direction, or one for both.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename = "a duplex: `full` or `half`", rename_all = "snake_case")]
pub enum Duplex {
    /// One lane for each direction.
    #[default]
    Full,
    /// One lane for both.
    Half,
}

impl Duplex {
    /// The word for it in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Duplex::Full => "full",
            Duplex::Half => "half",
        }
    }
}

/// Link to host memory, for programs that offload (POFO).
///
/// # Example
/// ```
/// use remat_instances::instance::{CostUnit, HostLink};
/// let link: HostLink = "24GB/s,50GB/s".parse()?;
/// let times = link.times(&CostUnit::named("us")).ok_or("no unit of time")?;
/// assert_eq!(times.to_host(48_000_000), Some(2_000));
/// assert_eq!(times.from_host(48_000_000), Some(960));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(
    deny_unknown_fields,
    rename = "the link to host memory: an object with two speeds"
)]
pub struct HostLink {
    /// Device to host, bytes per second; 0 if no copies are possible.
    pub to_host_bytes_per_second: u64,
    /// Host to device, bytes per second; 0 if no copies are possible.
    pub from_host_bytes_per_second: u64,
    /// Latency of every copy, independent of its size, in nanoseconds.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub latency_ns: u64,
    /// Lanes: one for each direction, or one for both.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_full")]
    pub duplex: Duplex,
    /// Limit of host memory for copies in bytes, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_memory_bytes: Option<u64>,
}

/// Reads an optional field.
fn or_default<'d, T: Default + Deserialize<'d>, D: Deserializer<'d>>(d: D) -> Result<T, D::Error> {
    Option::deserialize(d).map(Option::unwrap_or_default)
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

fn is_full(duplex: &Duplex) -> bool {
    *duplex == Duplex::Full
}

/// Links by name, with their speeds to and from the host in GB/s, as reached by pinned copies.
pub const LINK_PRESETS: [(&str, u64, u64); 5] = [
    ("pcie3", 12, 12),
    ("pcie4", 25, 25),
    ("pcie5", 52, 52),
    ("gh200", 170, 411),
    ("gb300", 193, 211),
];

/// Error of a text that is not a link.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "link {text:?}: {problem}; give pcie3, pcie4, pcie5, gh200, gb300, a speed such as 12GB/s, or one each way: 24GB/s,50GB/s"
)]
pub struct LinkError {
    /// The text.
    pub text: String,
    /// The problem, in words.
    pub problem: String,
}

impl HostLink {
    /// A link with these speeds in bytes per second, without latency, both directions at the same
    /// time.
    pub const fn new(to_host_bytes_per_second: u64, from_host_bytes_per_second: u64) -> Self {
        HostLink {
            to_host_bytes_per_second,
            from_host_bytes_per_second,
            latency_ns: 0,
            duplex: Duplex::Full,
            host_memory_bytes: None,
        }
    }

    /// Times of copies in a unit of cost; `None` if the unit is not a time.
    pub fn times(&self, unit: &CostUnit) -> Option<CopyTimes> {
        let length = unit.nanoseconds?;
        // The cast saturates.
        let unit = (length * CopyTimes::FINE as f64).round().max(1.0) as u128;
        Some(CopyTimes {
            latency_ns: self.latency_ns.into(),
            to_host: self.to_host_bytes_per_second.into(),
            from_host: self.from_host_bytes_per_second.into(),
            unit,
        })
    }
}

impl FromStr for HostLink {
    type Err = LinkError;

    fn from_str(text: &str) -> Result<Self, LinkError> {
        let fail = |problem: &str| LinkError {
            text: text.into(),
            problem: problem.into(),
        };
        let name = text.trim().to_ascii_lowercase();
        if let Some((_, to, from)) = LINK_PRESETS.iter().find(|(known, ..)| *known == name) {
            return Ok(HostLink::new(to * 1_000_000_000, from * 1_000_000_000));
        }
        let mut speeds = name
            .split(',')
            .map(|part| speed(part).map_err(|e| fail(&e)));
        let to = speeds.next().unwrap_or(Ok(0))?;
        let from = speeds.next().unwrap_or(Ok(to))?;
        match speeds.next() {
            None => Ok(HostLink::new(to, from)),
            Some(_) => Err(fail("more than two speeds")),
        }
    }
}

/// Units of a speed, with the bytes per second of one.
const SPEEDS: [(&str, f64); 8] = [
    ("b/s", 1.0),
    ("kb/s", 1e3),
    ("mb/s", 1e6),
    ("gb/s", 1e9),
    ("tb/s", 1e12),
    ("kib/s", 1024.0),
    ("mib/s", 1_048_576.0),
    ("gib/s", 1_073_741_824.0),
];

/// Bytes per second of a lower-case text.
fn speed(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let split = number_length(text);
    let value = text[..split].replace('_', "").parse::<f64>();
    let value = value.map_err(|_| format!("{text:?} is neither a preset nor a speed"))?;
    let unit = text[split..].trim();
    let Some((_, scale)) = SPEEDS.iter().find(|(name, _)| *name == unit) else {
        return Err(format!("{text:?} has no unit of speed such as GB/s"));
    };
    let speed = value * scale;
    match (0.0..=crate::number::LARGEST_VALUE as f64).contains(&speed) {
        true => Ok(speed.round() as u64),
        false => Err(format!("{text:?} is more than 2^53 bytes per second")),
    }
}

/// Times of copies over a link, in whole cost units, rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyTimes {
    latency_ns: u128,
    to_host: u128,
    from_host: u128,
    /// Length of a cost unit in fractions of a nanosecond.
    unit: u128,
}

impl CopyTimes {
    /// Fractions per nanosecond in which the length of a unit is counted.
    const FINE: u128 = 1_000_000;

    /// Time of a copy of `bytes` bytes to the host; `None` if copies are not possible.
    pub fn to_host(&self, bytes: u64) -> Option<u64> {
        self.time(bytes, self.to_host)
    }

    /// Time of a copy of `bytes` bytes from the host; `None` if copies are not possible.
    pub fn from_host(&self, bytes: u64) -> Option<u64> {
        self.time(bytes, self.from_host)
    }

    /// Largest number of bytes copied to the host within a time, for any number of copies.
    pub fn to_host_within(&self, time: u64) -> u64 {
        self.within(time, self.to_host)
    }

    /// Largest number of bytes copied from the host within a time.
    pub fn from_host_within(&self, time: u64) -> u64 {
        self.within(time, self.from_host)
    }

    fn within(&self, time: u64, speed: u128) -> u64 {
        let second = 1_000_000_000 * Self::FINE;
        let sent = u128::from(time)
            .saturating_mul(self.unit)
            .saturating_mul(speed)
            / second;
        u64::try_from(sent).unwrap_or(u64::MAX)
    }

    fn time(&self, bytes: u64, speed: u128) -> Option<u64> {
        if speed == 0 {
            return None;
        }
        let nanoseconds = self.latency_ns * speed + u128::from(bytes) * 1_000_000_000;
        let time = (nanoseconds * Self::FINE).div_ceil(speed.saturating_mul(self.unit));
        u64::try_from(time).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_links() {
        let link = |text: &str| text.parse::<HostLink>();
        assert_eq!(
            link("pcie3"),
            Ok(HostLink::new(12_000_000_000, 12_000_000_000))
        );
        assert_eq!(
            link("GH200"),
            Ok(HostLink::new(170_000_000_000, 411_000_000_000))
        );
        assert_eq!(
            link("1.5 GiB/s, 2kb/s"),
            Ok(HostLink::new(1_610_612_736, 2_000))
        );
        assert_eq!(link("0 GB/s"), Ok(HostLink::new(0, 0)));
        for wrong in [
            "",
            "fast",
            "12",
            "12GB",
            "-1GB/s",
            "1GB/s,2GB/s,3GB/s",
            "1e30GB/s",
        ] {
            let error = link(wrong).unwrap_err().to_string();
            assert!(error.contains("12GB/s"), "{error}");
        }
    }

    #[test]
    fn copies_take_whole_units_and_no_less_than_the_link_needs() {
        let link = HostLink {
            latency_ns: 1_500,
            ..HostLink::new(3, 1_000_000_000)
        };
        let ns = link.times(&CostUnit::nanoseconds()).unwrap();
        assert_eq!(ns.to_host(1), Some(1_500 + 333_333_334));
        assert_eq!(ns.from_host(7), Some(1_507));
        let us = link.times(&CostUnit::named("us")).unwrap();
        assert_eq!(us.from_host(7), Some(2));
        assert_eq!(us.from_host(0), Some(2));
        assert_eq!(
            (us.from_host_within(2), us.to_host_within(1_000_000)),
            (2_000, 3)
        );
        assert_eq!(link.times(&CostUnit::arbitrary()), None);
        let ages = CostUnit {
            name: "age".into(),
            nanoseconds: Some(1e300),
        };
        let long = link.times(&ages).unwrap();
        assert_eq!(long.to_host(7), Some(1));
        assert_eq!(long.to_host_within(u64::MAX), u64::MAX);
        let stuck = HostLink::new(0, 1).times(&CostUnit::nanoseconds()).unwrap();
        assert_eq!(stuck.to_host(1), None);
        let slow = HostLink::new(1, 1).times(&CostUnit::nanoseconds()).unwrap();
        assert_eq!(
            slow.to_host(crate::number::LARGEST_VALUE),
            Some(
                9_007_199_254_740_991_000_000_000u128
                    .try_into()
                    .unwrap_or(u64::MAX)
            )
            .filter(|t| *t != u64::MAX)
        );
    }
}
