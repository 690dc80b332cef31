//! Addresses for everything that a plan takes.

use super::{PlaceError, PlaceSettings, PlaceStatus, place};
use remat_instances::Instance;
use remat_instances::place::{Lives, LivesError, Placement};
use remat_instances::plan::{AddressesError, Plan, PlanAddresses};
use remat_instances::simulate::{PlanLives, ReplayError};

/// Largest alignment, in bytes: that of a page that is huge everywhere.
pub const ALIGNMENT_LIMIT: u64 = 1 << 30;

/// Reason why a plan has no addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlacePlanError {
    /// The plan cannot be executed.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// Its sizes add up to more than addresses can be.
    #[error(transparent)]
    Lives(#[from] LivesError),
    /// They cannot be placed.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The addresses failed their replay, which is a defect of the search.
    #[error("addresses failed their replay: {0}; please report this")]
    Addresses(Box<AddressesError>),
    /// The alignment is none.
    #[error("an alignment of {found} bytes is none; give a power of two up to {ALIGNMENT_LIMIT}")]
    Alignment {
        /// The alignment.
        found: u64,
    },
}

/// A plan with addresses, and what is proven of them.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedPlan {
    /// `Optimal` where no arena for the plan and the alignment is smaller; otherwise as
    /// [`place`](super::place()) says.
    pub status: PlaceStatus,
    /// The addresses, replayed.
    pub addresses: PlanAddresses,
    /// Peak of the plan in bytes, which no arena is below.
    pub peak_bytes: u64,
    /// Largest load in bytes: the peak, or more where the replay counts a workspace as negative.
    pub load_bytes: u64,
    /// Bytes below which no arena for the plan and the alignment is, proven.
    pub bound_bytes: u64,
    /// Nodes of the search.
    pub nodes: u64,
    /// Seconds that it took.
    pub seconds: f64,
}

impl PlacedPlan {
    /// Size of the arena in bytes.
    pub fn arena_bytes(&self) -> u64 {
        self.addresses.arena_bytes
    }

    /// Size of the arena above the peak, as a fraction of the peak: 0 if nothing is lost.
    pub fn fragmentation(&self) -> f64 {
        match self.peak_bytes {
            0 => 0.0,
            peak => self.arena_bytes() as f64 / peak as f64 - 1.0,
        }
    }
}

/// Places everything that a plan takes (fixed memory, tensors, workspaces) in one arena, as low as
/// it can, or within the capacity of the settings. Offsets are multiples of `alignment_bytes`, or
/// of what the sizes [suggest](PlanLives::suggested_alignment) within `budget_bytes`.
///
/// What is there all the time is set aside and lies beneath the rest, or above it where its size
/// keeps no alignment.
///
/// # Errors
/// [`PlacePlanError`] for a plan that cannot be executed, an alignment that is no power of two, and
/// sizes beyond all addresses.
///
/// ```
/// use remat_formulations::place::{PlaceSettings, place_plan};
/// use remat_formulations::zoo;
/// use remat_instances::Semantics;
///
/// let instance = zoo::build(&"zoo:unet?batch=2".parse()?)?;
/// let plan = instance.without_recomputation(Semantics::Checkmate)?.plan(&instance)?;
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
    let alignment = match alignment_bytes {
        Some(found) if !found.is_power_of_two() || found > ALIGNMENT_LIMIT => {
            return Err(PlacePlanError::Alignment { found });
        }
        Some(alignment) => alignment,
        None => lives.suggested_alignment(budget_bytes),
    };
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

/// Buffers that are there all the time, and the others.
struct Aside {
    alignment: u64,
    /// Positions and sizes of those beneath the others, from the floor.
    floor: Vec<(u32, u64)>,
    /// Position and size of the one whose size breaks the alignment most.
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

    /// Bytes of all of them, each rounded up.
    fn rounded(&self) -> u64 {
        let all = self.floor.iter().chain(&self.odd);
        all.map(|(_, size)| size.next_multiple_of(self.alignment))
            .sum()
    }

    /// Bytes below which nothing is if no placement of the others is below `others`: what is there
    /// all the time can be taken out of any placement, and what lies above it moved down by its
    /// size, rounded down.
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
            // Either of the two may lie on top, where its size breaks nothing.
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
