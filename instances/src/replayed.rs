//! Reading and replaying plan and schedule files.

use crate::Semantics;
use crate::document::{self, ReadError};
use crate::instance::{HostLink, Instance};
use crate::name::Name;
use crate::plan::{AddressesError, Plan, PlanAddresses, PlanDocument, PlanFile};
use crate::schedule::{Schedule, ScheduleFile};
use crate::simulate::{self, Replay, ReplayError};
use std::borrow::Cow;

/// Kind of a file with a plan or schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// `remat-plan/1`
    Plan,
    /// `remat-schedule/1`
    Schedule,
}

impl FileKind {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            FileKind::Plan => "plan",
            FileKind::Schedule => "schedule",
        }
    }
}

/// A plan or schedule read from a file, with its replay.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// Kind of the file.
    pub kind: FileKind,
    /// The instance as seen by the file's program, with the link for which the plan was made.
    pub instance: Instance,
    /// The link of the given instance.
    pub given_link: Option<HostLink>,
    /// Micro-batches in flight of the given instance.
    pub given_in_flight: u32,
    /// The plan, or the plan made from the schedule.
    pub plan: Plan,
    /// The schedule, if the file contains one.
    pub schedule: Option<Schedule>,
    /// The replay of the plan or schedule.
    pub replay: Replay,
    /// Recorded cost; the makespan if the plan copies to the host.
    pub objective: u64,
    /// Recorded peak in bytes; schedules do not record it.
    pub peak_bytes: Option<u64>,
    /// Recorded budget in bytes.
    pub budget_bytes: Option<u64>,
    /// Addresses of the plan, if it has any, also replayed.
    pub addresses: Option<PlanAddresses>,
}

impl Replayed {
    /// The instance with its original link and number of micro-batches instead of the plan's;
    /// fingerprints refer to it.
    pub fn given(&self) -> Cow<'_, Instance> {
        let has_link = self.instance.host_link() == self.given_link.as_ref();
        if has_link && self.instance.in_flight() == self.given_in_flight {
            return Cow::Borrowed(&self.instance);
        }
        // The instance was valid with these.
        let given = self.instance.with_host_link(self.given_link.clone());
        let given = given.and_then(|given| given.with_in_flight(self.given_in_flight));
        given.map_or(Cow::Borrowed(&self.instance), Cow::Owned)
    }
}

/// Reason for a failure to replay a file.
#[derive(Debug, thiserror::Error)]
pub enum ReplayedError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It belongs to another instance.
    #[error("{file} was made for the instance {made_for:?}, not for {found:?}")]
    OtherInstance {
        /// The file.
        file: String,
        /// The instance named in the file.
        made_for: Name,
        /// The instance at hand.
        found: Name,
    },
    /// It cannot be executed.
    #[error("{file} cannot be executed: {problem}")]
    Replay {
        /// The file.
        file: String,
        /// Error of the replay.
        problem: Box<ReplayError>,
    },
    /// Its addresses are not valid.
    #[error("{file}: {problem}")]
    Addresses {
        /// The file.
        file: String,
        /// Error of the addresses' replay.
        problem: Box<AddressesError>,
    },
}

/// Reads and replays a plan or schedule of an instance, and the addresses. Its content determines
/// its kind and its semantics. `bytes` is the content of the file, JSON or gzipped JSON; errors
/// name it `name`.
///
/// # Errors
/// [`ReplayedError`] names the file and its fault.
pub fn replayed(instance: &Instance, name: &str, bytes: &[u8]) -> Result<Replayed, ReplayedError> {
    checked(name, executed(instance, name, bytes)?)
}

/// Replays the addresses of a plan, if it has any.
fn checked(name: &str, found: Replayed) -> Result<Replayed, ReplayedError> {
    if let Some(addresses) = &found.addresses {
        let replayed = addresses.replay(&found.instance, &found.plan);
        replayed.map_err(|e| ReplayedError::Addresses {
            file: name.into(),
            problem: Box::new(e),
        })?;
    }
    Ok(found)
}

/// Like [`replayed`], but without checking addresses, for callers that replace them.
///
/// # Errors
/// The errors of [`replayed`].
pub fn executed(instance: &Instance, name: &str, bytes: &[u8]) -> Result<Replayed, ReplayedError> {
    let own = |recorded: Option<HostLink>| recorded;
    file(instance, name, bytes, &own)
}

/// Like [`replayed`], but over the instance's own link instead of the recorded one.
///
/// # Errors
/// The errors of [`replayed`].
pub fn replayed_over_link(
    instance: &Instance,
    name: &str,
    bytes: &[u8],
) -> Result<Replayed, ReplayedError> {
    checked(name, file(instance, name, bytes, &|_| None)?)
}

/// Reads and replays; `link` maps the recorded link to the one that replaces the instance's.
fn file(
    instance: &Instance,
    name: &str,
    bytes: &[u8],
    link: &dyn Fn(Option<HostLink>) -> Option<HostLink>,
) -> Result<Replayed, ReplayedError> {
    let schema = document::schema(name, bytes)?;
    match schema.is_some_and(|s| s.starts_with("remat-schedule/")) {
        true => schedule_file(instance, name, bytes),
        // A file of another kind is rejected as a plan, with a message that names the schema.
        false => plan_file(instance, name, bytes, link),
    }
}

impl Instance {
    /// The instance as seen by a program with these semantics.
    pub fn seen_by(&self, semantics: Semantics) -> Instance {
        match semantics.chooses_implementations() {
            true => self.clone(),
            false => self.single_implementation_view(),
        }
    }
}

impl Schedule {
    /// Replays the schedule under its own semantics.
    ///
    /// # Errors
    /// [`ReplayError`] if the schedule cannot be executed.
    pub fn replay(&self, instance: &Instance) -> Result<Replay, ReplayError> {
        match self {
            Schedule::Checkmate(s) => simulate::checkmate(instance, s),
            Schedule::Monet(s) => simulate::monet(instance, s),
        }
    }

    /// The plan of the schedule.
    ///
    /// # Errors
    /// [`ReplayError`] if the schedule cannot be executed.
    pub fn plan(&self, instance: &Instance) -> Result<Plan, ReplayError> {
        match self {
            Schedule::Checkmate(s) => Plan::from_checkmate(instance, s),
            Schedule::Monet(s) => Plan::from_monet(instance, s),
        }
    }
}

fn failed(name: &str, problem: ReplayError) -> ReplayedError {
    ReplayedError::Replay {
        file: name.into(),
        problem: Box::new(problem),
    }
}

fn plan_file(
    instance: &Instance,
    name: &str,
    bytes: &[u8],
    link: &dyn Fn(Option<HostLink>) -> Option<HostLink>,
) -> Result<Replayed, ReplayedError> {
    let file = PlanFile::parse(name, bytes)?;
    let instance = instance.seen_by(file.semantics());
    let PlanDocument {
        plan,
        budget_bytes,
        objective,
        peak_bytes,
        host_link,
        in_flight,
        addresses,
    } = file.plan(&instance)?;
    let given_link = instance.host_link().cloned();
    let given_in_flight = instance.in_flight();
    let instance = match in_flight {
        1 => instance,
        // The reader has checked the number.
        several => instance.with_in_flight(several).unwrap_or(instance),
    };
    let instance = match link(host_link) {
        // Its values were checked by the reader.
        Some(link) => instance.with_host_link(Some(link)).unwrap_or(instance),
        None => instance,
    };
    let replay = simulate::plan(&instance, &plan).map_err(|e| failed(name, e))?;
    Ok(Replayed {
        kind: FileKind::Plan,
        instance,
        given_link,
        given_in_flight,
        plan,
        schedule: None,
        replay,
        objective,
        peak_bytes: Some(peak_bytes),
        budget_bytes,
        addresses,
    })
}

fn schedule_file(instance: &Instance, name: &str, bytes: &[u8]) -> Result<Replayed, ReplayedError> {
    let file = ScheduleFile::parse(name, bytes)?;
    let instance = instance.seen_by(file.semantics());
    if file.instance() != instance.name() {
        return Err(ReplayedError::OtherInstance {
            file: name.into(),
            made_for: file.instance().into(),
            found: instance.name().into(),
        });
    }
    let document = file.schedule(&instance)?;
    let plan = document.schedule.plan(&instance);
    let plan = plan.map_err(|e| failed(name, e))?;
    let replay = document.schedule.replay(&instance);
    let replay = replay.map_err(|e| failed(name, e))?;
    Ok(Replayed {
        kind: FileKind::Schedule,
        given_link: instance.host_link().cloned(),
        given_in_flight: instance.in_flight(),
        instance,
        plan,
        schedule: Some(document.schedule),
        replay,
        objective: document.objective,
        peak_bytes: None,
        budget_bytes: document.budget_bytes,
        addresses: None,
    })
}
