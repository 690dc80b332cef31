//! Plan and schedule files, read and replayed.

use crate::Semantics;
use crate::document::{self, ReadError};
use crate::instance::{HostLink, Instance};
use crate::name::Name;
use crate::plan::{AddressesError, Plan, PlanAddresses, PlanDocument, PlanFile};
use crate::schedule::{Schedule, ScheduleFile};
use crate::simulate::{self, Replay, ReplayError};
use std::borrow::Cow;

/// The kind of a file that holds a way to train.
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

/// A plan or schedule from a file, replayed.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// Kind of the file.
    pub kind: FileKind,
    /// The instance, as the file's program sees it, with the link that the plan was made for.
    pub instance: Instance,
    /// The link of the instance that was given.
    pub given_link: Option<HostLink>,
    /// The plan, or the one made from the schedule.
    pub plan: Plan,
    /// The schedule, where the file holds one.
    pub schedule: Option<Schedule>,
    /// The replay of what the file holds.
    pub replay: Replay,
    /// Recorded cost; of a plan that copies to the host, its makespan.
    pub objective: u64,
    /// Recorded peak in bytes; schedules record none.
    pub peak_bytes: Option<u64>,
    /// Recorded budget in bytes.
    pub budget_bytes: Option<u64>,
    /// Addresses of a plan that has them, replayed as well.
    pub addresses: Option<PlanAddresses>,
}

impl Replayed {
    /// The instance with the link that it was given with, not the one that the plan records:
    /// fingerprints are of that.
    pub fn given(&self) -> Cow<'_, Instance> {
        if self.instance.host_link() == self.given_link.as_ref() {
            return Cow::Borrowed(&self.instance);
        }
        // The link was there when the instance was made.
        let given = self
            .instance
            .clone()
            .with_host_link(self.given_link.clone());
        given.map_or(Cow::Borrowed(&self.instance), Cow::Owned)
    }
}

/// Reason why a file could not be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayedError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It is of another instance.
    #[error("{file} was made for the instance {made_for:?}, not for {found:?}")]
    OtherInstance {
        /// The file.
        file: String,
        /// The instance it names.
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
    /// Its addresses cannot be.
    #[error("{file}: {problem}")]
    Addresses {
        /// The file.
        file: String,
        /// Error of the addresses' replay.
        problem: Box<AddressesError>,
    },
}

/// Reads and replays a plan or schedule of an instance, with its addresses; which of the two is seen from its content,
/// and the program whose semantics hold, too. `bytes` are those of the file, JSON or gzipped JSON;
/// `name` stands for it in errors.
///
/// # Errors
/// [`ReplayedError`] names the file and what is wrong with it.
pub fn replayed(instance: &Instance, name: &str, bytes: &[u8]) -> Result<Replayed, ReplayedError> {
    checked(name, executed(instance, name, bytes)?)
}

/// Replays the addresses of a plan that has some.
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

/// The same without a look at addresses, which are as the file has them: for whoever gives others.
///
/// # Errors
/// As [`replayed`].
pub fn executed(instance: &Instance, name: &str, bytes: &[u8]) -> Result<Replayed, ReplayedError> {
    let own = |recorded: Option<HostLink>| recorded;
    file(instance, name, bytes, &own)
}

/// The same as [`replayed`], over the link of the instance whatever the file records.
///
/// # Errors
/// As [`replayed`].
pub fn replayed_over_link(
    instance: &Instance,
    name: &str,
    bytes: &[u8],
) -> Result<Replayed, ReplayedError> {
    checked(name, file(instance, name, bytes, &|_| None)?)
}

/// Reads and replays; `link` makes of the link that is recorded the one that replaces the
/// instance's.
fn file(
    instance: &Instance,
    name: &str,
    bytes: &[u8],
    link: &dyn Fn(Option<HostLink>) -> Option<HostLink>,
) -> Result<Replayed, ReplayedError> {
    let schema = document::schema(name, bytes)?;
    match schema.is_some_and(|s| s.starts_with("remat-schedule/")) {
        true => schedule_file(instance, name, bytes),
        // A file that is neither is refused as a plan, with words that name the schema.
        false => plan_file(instance, name, bytes, link),
    }
}

impl Instance {
    /// The instance as a program with these semantics sees it.
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
    /// [`ReplayError`] of a schedule that cannot be executed.
    pub fn replay(&self, instance: &Instance) -> Result<Replay, ReplayError> {
        match self {
            Schedule::Checkmate(s) => simulate::checkmate(instance, s),
            Schedule::Monet(s) => simulate::monet(instance, s),
        }
    }

    /// The plan of the schedule.
    ///
    /// # Errors
    /// [`ReplayError`] of a schedule that cannot be executed.
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
        addresses,
    } = file.plan(&instance)?;
    let given_link = instance.host_link().cloned();
    let instance = match link(host_link) {
        // Its values were checked when it was read.
        Some(link) => instance.with_host_link(Some(link)).unwrap_or(instance),
        None => instance,
    };
    let replay = simulate::plan(&instance, &plan).map_err(|e| failed(name, e))?;
    Ok(Replayed {
        kind: FileKind::Plan,
        instance,
        given_link,
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
