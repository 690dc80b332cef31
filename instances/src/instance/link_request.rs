//! A link requested by a user, and its application to an instance.

use super::{Duplex, HostLink, Instance, LinkError, StructureError};
use crate::name::Name;
use std::str::FromStr;

/// The link to use: the instance's own or another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkChoice {
    /// The instance's own, written `on`.
    Own,
    /// This one.
    Given(HostLink),
}

impl FromStr for LinkChoice {
    type Err = LinkError;

    /// Reads `on`, a preset, or one or two speeds.
    fn from_str(text: &str) -> Result<Self, LinkError> {
        match text.trim().eq_ignore_ascii_case("on") {
            true => Ok(LinkChoice::Own),
            false => text.parse().map(LinkChoice::Given),
        }
    }
}

/// A link requested by a user: a choice, and values that replace the choice's.
///
/// ```
/// use remat_instances::instance::LinkRequest;
/// use remat_instances::zoo;
/// let instance = zoo::build(&"zoo:chain?n=6".parse()?)?;
/// let request = LinkRequest { host_memory_bytes: Some(1 << 30), ..LinkRequest::of("pcie4".parse()?) };
/// let linked = request.applied(&instance)?;
/// assert_eq!(linked.host_link().and_then(|link| link.host_memory_bytes), Some(1 << 30));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkRequest {
    /// The link.
    pub choice: LinkChoice,
    /// Host memory for copies in bytes.
    pub host_memory_bytes: Option<u64>,
    /// Latency of every copy, independent of its size, in nanoseconds.
    pub latency_ns: Option<u64>,
    /// Lanes: one for each direction, or one for both.
    pub duplex: Option<Duplex>,
}

/// Reason for an instance to reject a requested link.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkRequestError {
    /// The instance's own link was requested, but it has none.
    #[error("the instance {instance:?} has no \"host_link\"")]
    NoLink {
        /// Name of the instance.
        instance: Name,
    },
    /// The instance's costs are not times.
    #[error("the cost unit {unit:?} of the instance {instance:?} is no time, and copies take time")]
    NoTime {
        /// Cost unit of the instance.
        unit: Name,
        /// Name of the instance.
        instance: Name,
    },
    /// A value of the link is too large.
    #[error("{}: {}", .0.path, .0.problem)]
    Value(StructureError),
}

impl LinkRequestError {
    /// Advice to the user.
    pub fn remedy(&self) -> String {
        match self {
            LinkRequestError::NoLink { .. } => {
                "give the instance one, or name a link, for example pcie4".into()
            }
            LinkRequestError::NoTime { .. } => {
                "give costs in a unit of time, for example \"cost_unit\": \"ns\"".into()
            }
            LinkRequestError::Value(problem) => problem.remedy.clone(),
        }
    }
}

impl LinkRequest {
    /// A link with the values of the choice.
    pub fn of(choice: LinkChoice) -> Self {
        LinkRequest {
            choice,
            host_memory_bytes: None,
            latency_ns: None,
            duplex: None,
        }
    }

    /// The instance with the link.
    ///
    /// # Errors
    /// [`LinkRequestError`].
    pub fn applied(&self, instance: &Instance) -> Result<Instance, LinkRequestError> {
        let name = || instance.name().clone();
        let link = match &self.choice {
            LinkChoice::Given(link) => link,
            LinkChoice::Own => instance
                .host_link()
                .ok_or_else(|| LinkRequestError::NoLink { instance: name() })?,
        };
        let unit = instance.cost_unit();
        if unit.nanoseconds.is_none() {
            return Err(LinkRequestError::NoTime {
                unit: unit.name.clone(),
                instance: name(),
            });
        }
        let link = HostLink {
            latency_ns: self.latency_ns.unwrap_or(link.latency_ns),
            duplex: self.duplex.unwrap_or(link.duplex),
            host_memory_bytes: self.host_memory_bytes.or(link.host_memory_bytes),
            ..link.clone()
        };
        let linked = instance.with_host_link(Some(link));
        linked.map_err(LinkRequestError::Value)
    }
}
