//! Addresses for all memory of a plan.

use super::settings::PlaceTuning;
use super::{PlaceError, PlaceSettings, PlaceStatus, place};
use remat_instances::Instance;
use remat_instances::place::{Lives, LivesError, Placement};
use remat_instances::plan::{AddressesError, Plan, PlanAddresses};
use remat_instances::simulate::{PlanLives, ReplayError};
use std::time::{Duration, Instant};

/// Largest alignment in bytes, the size of the largest common huge page.
pub const ALIGNMENT_LIMIT: u64 = 1 << 30;

/// Reason why a plan has no addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlacePlanError {
    /// The plan cannot be executed.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// Its sizes add up to more than addresses allow.
    #[error(transparent)]
    Lives(#[from] LivesError),
    /// They cannot be placed.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The addresses failed their replay, which is a defect of the search.
    #[error("addresses failed their replay: {0}; please report this")]
    Addresses(Box<AddressesError>),
    /// The alignment is not valid.
    #[error("an alignment of {found} bytes is none; give a power of two up to {ALIGNMENT_LIMIT}")]
    Alignment {
        /// The alignment.
        found: u64,
    },
}

/// A plan with addresses, and the proven bound on its arena.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedPlan {
    /// `Optimal` if no arena for the plan and the alignment is smaller; otherwise the status of
    /// [`place`](super::place()).
    pub status: PlaceStatus,
    /// The addresses, replayed.
    pub addresses: PlanAddresses,
    /// Peak of the plan in bytes, a lower bound on every arena.
    pub peak_bytes: u64,
    /// Largest load in bytes: the peak, or more if the replay counts a workspace as negative.
    pub load_bytes: u64,
    /// Proven lower bound in bytes on arenas for the plan and the alignment.
    pub bound_bytes: u64,
    /// Nodes of the search.
    pub nodes: u64,
    /// Seconds taken.
    pub seconds: f64,
}

impl PlacedPlan {
    /// Size of the arena in bytes.
    pub fn arena_bytes(&self) -> u64 {
        self.addresses.arena_bytes
    }

    /// The lower of two placements of a plan at one alignment, with the stronger bound.
    fn and(self, other: PlacedPlan) -> PlacedPlan {
        let bound_bytes = self.bound_bytes.max(other.bound_bytes);
        let nodes = self.nodes + other.nodes;
        let seconds = self.seconds + other.seconds;
        let lower = match other.arena_bytes() < self.arena_bytes() {
            true => other,
            false => self,
        };
        PlacedPlan {
            status: match lower.arena_bytes() <= bound_bytes {
                true => PlaceStatus::Optimal,
                false => lower.status,
            },
            bound_bytes,
            nodes,
            seconds,
            ..lower
        }
    }

    /// Size of the arena above the peak, as a fraction of the peak: 0 if no memory is lost.
    pub fn fragmentation(&self) -> f64 {
        match self.peak_bytes {
            0 => 0.0,
            peak => self.arena_bytes() as f64 / peak as f64 - 1.0,
        }
    }
}

/// Places all memory of a plan (fixed memory, tensors, workspaces) in one arena, as low as
/// possible, or within the capacity of the settings. Offsets are multiples of `alignment_bytes`, or
/// of the [suggested](PlanLives::suggested_alignment) alignment for `budget_bytes`.
///
/// Buffers that are live all the time are set aside and lie beneath the rest, or above it if their
/// size breaks the alignment.
///
/// # Errors
/// [`PlacePlanError`] for a plan that cannot be executed, an alignment that is no power of two, and
/// sizes beyond all addresses.
///
/// ```
/// use remat_memory::place::{PlaceSettings, place_plan};
/// use remat_instances::plan::Plan;
/// use remat_instances::schedule::CheckmateSchedule;
/// use remat_instances::zoo;
///
/// let instance = zoo::build(&"zoo:unet?batch=2".parse()?)?;
/// let plan = Plan::from_checkmate(&instance, &CheckmateSchedule::checkpoint_all(&instance))?;
/// let placed = place_plan(&instance, &plan, None, None, &PlaceSettings::default())?;
/// assert_eq!(placed.arena_bytes(), placed.peak_bytes);
/// assert_eq!(placed.fragmentation(), 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn place_plan(
    instance: &Instance,
    plan: &Plan,
    alignment_bytes: Option<u64>,
    budget_bytes: Option<u64>,
    settings: &PlaceSettings,
) -> Result<PlacedPlan, PlacePlanError> {
    let lives = PlanLives::of(instance, plan)?;
    let alignment = check_alignment(alignment_bytes)?
        .unwrap_or_else(|| lives.suggested_alignment(budget_bytes));
    let buffers = lives.buffers(instance, alignment)?;
    let aside = Aside::of(&buffers, alignment);
    let outcome = place(
        &buffers.restricted(&aside.others),
        &PlaceSettings {
            capacity: settings.capacity.map(|c| c.saturating_sub(aside.rounded())),
            ..settings.clone()
        },
    )?;
    let placement = aside.placement(&buffers, outcome.placement.offsets());
    let addresses = PlanAddresses::new(&lives, alignment, &placement);
    addresses
        .replay(instance, plan)
        .map_err(|e| PlacePlanError::Addresses(Box::new(e)))?;
    let bound_bytes = lives.load_bytes(alignment).max(aside.bound(outcome.bound));
    let arena = addresses.arena_bytes;
    Ok(PlacedPlan {
        status: match settings.capacity {
            Some(capacity) if bound_bytes > capacity => PlaceStatus::Infeasible,
            _ if arena <= bound_bytes => PlaceStatus::Optimal,
            Some(capacity) if arena <= capacity => PlaceStatus::Fits,
            Some(_) => PlaceStatus::Undecided,
            None => PlaceStatus::Feasible,
        },
        addresses,
        peak_bytes: lives.peak_bytes(),
        load_bytes: lives.load_bytes(1),
        bound_bytes,
        nodes: outcome.nodes,
        seconds: outcome.seconds,
    })
}

/// The requested alignment of an arena. 0 counts as 1.
///
/// # Errors
/// [`PlacePlanError::Alignment`] for an alignment that is no power of two, or too large.
pub fn check_alignment(asked: Option<u64>) -> Result<Option<u64>, PlacePlanError> {
    match asked {
        Some(found) if !found.max(1).is_power_of_two() || found > ALIGNMENT_LIMIT => {
            Err(PlacePlanError::Alignment { found })
        }
        asked => Ok(asked.map(|bytes| bytes.max(1))),
    }
}

/// Places a plan as [`place_plan`] does. While the arena is above the budget and the bound is not,
/// it goes on to search a placement within the budget, until the limits of the settings.
///
/// # Errors
/// As [`place_plan`].
pub fn place_plan_within(
    instance: &Instance,
    plan: &Plan,
    alignment_bytes: Option<u64>,
    budget_bytes: u64,
    settings: &PlaceSettings,
) -> Result<PlacedPlan, PlacePlanError> {
    let begun = Instant::now();
    let least = PlaceSettings {
        time_limit: settings.time_limit.map(|limit| limit / 2),
        ..settings.clone()
    };
    let budget = Some(budget_bytes);
    let mut best = place_plan(instance, plan, alignment_bytes, budget, &least)?;
    for round in 1..=PlaceTuning::default().fit_rounds {
        let left = |limit: Duration| limit.checked_sub(begun.elapsed());
        let is_open = best.arena_bytes() > budget_bytes && best.bound_bytes <= budget_bytes;
        let is_over = settings
            .time_limit
            .is_some_and(|limit| left(limit).is_none());
        if !is_open || is_over || settings.is_interrupted() {
            break;
        }
        let fit = PlaceSettings {
            capacity: budget,
            time_limit: settings.time_limit.and_then(left),
            nodes: Some(settings.nodes_limit().saturating_mul(1 << round)),
            seed: settings.seed.wrapping_add(round.into()),
            ..settings.clone()
        };
        let alignment = best.addresses.alignment_bytes;
        let found = place_plan(instance, plan, Some(alignment), budget, &fit)?;
        best = best.and(found);
    }
    Ok(best)
}

/// Buffers that are live all the time, and the others.
struct Aside {
    alignment: u64,
    /// Positions and sizes of buffers beneath the others, from the floor.
    floor: Vec<(u32, u64)>,
    /// Position and size of the buffer whose size breaks the alignment most.
    odd: Option<(u32, u64)>,
    /// Positions of the others.
    others: Vec<u32>,
}

impl Aside {
    fn of(lives: &Lives, alignment: u64) -> Self {
        let buffers = lives.buffers();
        let ends = buffers.iter().map(|b| b.upper);
        let (begin, end) = (0, ends.max().unwrap_or(0));
        let mut aside = Aside {
            alignment,
            floor: Vec::new(),
            odd: None,
            others: Vec::new(),
        };
        for (k, buffer) in (0..).zip(buffers) {
            let whole = buffer.lower == begin && buffer.upper == end && buffer.gaps.is_empty();
            match whole {
                true => aside.floor.push((k, buffer.size)),
                false => aside.others.push(k),
            }
        }
        let waste = |size: u64| size.next_multiple_of(alignment) - size;
        aside.floor.sort_by_key(|&(k, size)| (waste(size), k));
        aside.odd = aside.floor.pop_if(|(_, size)| waste(*size) > 0);
        aside
    }

    /// Bytes of all buffers set aside, each rounded up.
    fn rounded(&self) -> u64 {
        let all = self.floor.iter().chain(&self.odd);
        all.map(|(_, size)| size.next_multiple_of(self.alignment))
            .sum()
    }

    /// Lower bound in bytes on the height, if `others` is one for the other buffers. The buffers
    /// set aside can be taken out of any placement, and the buffers above moved down by their
    /// sizes, rounded down.
    fn bound(&self, others: u64) -> u64 {
        let down = |(_, size): &(u32, u64)| size - size % self.alignment;
        others + self.floor.iter().chain(&self.odd).map(down).sum::<u64>()
    }

    /// The placement of all, given offsets of the others.
    fn placement(&self, lives: &Lives, others: &[u64]) -> Placement {
        let round = |bytes: u64| bytes.next_multiple_of(self.alignment);
        let mut offsets = vec![0; lives.buffers().len()];
        let mut top = 0;
        for &(k, size) in &self.floor {
            offsets[k as usize] = top;
            top = round(top + size);
        }
        let ends = self.others.iter().zip(others);
        let ends = ends.map(|(&k, offset)| offset + lives.buffers()[k as usize].size);
        let height = ends.max().unwrap_or(0);
        if let Some((k, size)) = self.odd {
            // Either of the two may lie on top, where its size does not break the alignment.
            let beneath = round(size) - size <= round(height) - height;
            offsets[k as usize] = if beneath { top } else { top + round(height) };
            top += if beneath { round(size) } else { 0 };
        }
        for (&k, offset) in self.others.iter().zip(others) {
            offsets[k as usize] = top + offset;
        }
        Placement::new(offsets)
    }
}
