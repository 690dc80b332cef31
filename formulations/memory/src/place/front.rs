//! The entry point: buffers and settings in, a replayed placement and a proven bound out.

use super::least::{Least, PlacedGroup, SharedWork};
use super::outcome::{PlaceError, PlaceOutcome, PlaceStatus};
use super::parts::{BufferGroup, split};
use super::proof::certificate;
use super::search::LaneStop;
use super::settings::{PlaceSettings, PlaceTuning};
use remat_instances::place::{Argument, BoundCertificate, Lives, Placement};
use std::time::Instant;

/// Places buffers: as low as possible, or within the capacity of the settings. The capacity of the
/// lives themselves is ignored.
///
/// # Errors
/// [`PlaceError`] if fixed buffers clash, or threads cannot be started.
///
/// # Example
/// ```
/// use remat_memory::place::{PlaceSettings, PlaceStatus, place};
/// use remat_instances::place::read_lives_bytes;
///
/// let table = "id,lower,upper,size\nx,0,2,4\ny,1,3,8\nz,2,4,4\n";
/// let lives = read_lives_bytes("lives.csv", table.as_bytes())?;
/// let outcome = place(&lives, &PlaceSettings::default())?;
/// assert_eq!(outcome.status, PlaceStatus::Optimal);
/// assert_eq!((outcome.height, outcome.bound), (12, 12));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn place(lives: &Lives, settings: &PlaceSettings) -> Result<PlaceOutcome, PlaceError> {
    let begun = Instant::now();
    let threads = settings.worker_threads();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| PlaceError::Threads {
            threads,
            problem: e.to_string(),
        })?;
    check_fixed(lives)?;
    pool.install(|| place_in_pool(lives, settings, begun))
}

fn place_in_pool(
    lives: &Lives,
    settings: &PlaceSettings,
    begun: Instant,
) -> Result<PlaceOutcome, PlaceError> {
    let stop = LaneStop {
        deadline: settings
            .time_limit
            .and_then(|limit| begun.checked_add(limit)),
        interrupt: settings.interrupt.as_deref(),
        lane: None,
    };
    let mut work = SharedWork {
        stop,
        seed: settings.seed,
        nodes_left: settings.nodes_limit(),
        nodes: 0,
        tuning: PlaceTuning::default(),
    };
    let mut offsets: Vec<u64> = lives
        .buffers()
        .iter()
        .map(|buffer| buffer.offset.unwrap_or(0))
        .collect();
    let parts: Vec<Prepared> = split(lives)
        .into_iter()
        .map(|part| Prepared::new(lives, part))
        .collect();
    // Parts with high bounds come first: their height is then free for the others.
    let mut order: Vec<usize> = (0..parts.len()).collect();
    let bounds: Vec<u64> = parts
        .iter()
        .map(|of| super::bound::shown(&of.whole).map_or(0, |(bytes, _)| bytes))
        .collect();
    order.sort_by_key(|&k| (std::cmp::Reverse(bounds[k]), k));
    let mut enough = settings.capacity.unwrap_or(0);
    let mut highest: Option<(usize, PlacedGroup)> = None;
    for k in order {
        let Prepared { part, inner, whole } = &parts[k];
        let placed = Least::new(part, inner, whole, enough, &work).run(&mut work);
        let mut top = 0;
        for &index in &part.base {
            offsets[index as usize] = top;
            top += lives.buffers()[index as usize].size;
        }
        for (&index, &offset) in part.buffers.iter().zip(&placed.offsets) {
            offsets[index as usize] = part.base_bytes + offset;
        }
        enough = enough.max(placed.height);
        if highest
            .as_ref()
            .is_none_or(|(_, other)| placed.bound > other.bound)
        {
            highest = Some((k, placed));
        }
    }
    let count = offsets.len();
    let placement = Placement::new(offsets);
    let replayed = placement.replay(lives).map_err(PlaceError::Replay)?;
    let certificate = match &highest {
        Some((k, placed)) => certificate(&parts[*k], placed, count, &mut work),
        None => BoundCertificate {
            bound: 0,
            argument: Argument::Empty,
            is_sum: false,
            buffers: Vec::new(),
        },
    };
    let bound = certificate.bound;
    let height = replayed.height;
    let status = match settings.capacity {
        Some(capacity) if bound > capacity => PlaceStatus::Infeasible,
        _ if height <= bound => PlaceStatus::Optimal,
        Some(capacity) if height <= capacity => PlaceStatus::Fits,
        Some(_) => PlaceStatus::Undecided,
        None => PlaceStatus::Feasible,
    };
    Ok(PlaceOutcome {
        status,
        placement,
        height,
        bound,
        load: replayed.load,
        certificate,
        nodes: work.nodes,
        seconds: begun.elapsed().as_secs_f64(),
    })
}

/// A part with its buffers.
pub(super) struct Prepared {
    pub part: BufferGroup,
    /// The buffers of the part.
    pub inner: Lives,
    /// The buffers of the base, then the buffers of the part.
    pub whole: Lives,
}

impl Prepared {
    fn new(lives: &Lives, part: BufferGroup) -> Self {
        let inner = lives.restricted(&part.buffers);
        let whole: Vec<u32> = part.base.iter().chain(&part.buffers).copied().collect();
        let whole = lives.restricted(&whole);
        Prepared { part, inner, whole }
    }
}

/// Replays the fixed buffers alone.
fn check_fixed(lives: &Lives) -> Result<(), PlaceError> {
    let is_fixed = |index: &u32| lives.buffers()[*index as usize].offset.is_some();
    let fixed: Vec<u32> = (0..lives.buffers().len() as u32).filter(is_fixed).collect();
    let alone = lives.restricted(&fixed);
    let offsets = alone
        .buffers()
        .iter()
        .map(|buffer| buffer.offset.unwrap_or(0))
        .collect();
    Placement::new(offsets)
        .replay(&alone)
        .map(drop)
        .map_err(PlaceError::Fixed)
}
