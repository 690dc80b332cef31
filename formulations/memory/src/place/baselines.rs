//! Known ways to place buffers, without a bound.

use super::fit::{Fitter, Rule};
use super::orders::Sequence;
use super::outcome::PlaceError;
use super::settings::PlaceTuning;
use remat_instances::place::{Lives, Placement};
use remat_search::random::mix;

/// A known way to place buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceBaseline {
    /// First fit by decreasing size.
    FirstFit,
    /// Best fit by decreasing life: the place that leaves the least free above the buffer.
    BestFit,
    /// The heap of XLA (`GlobalDecreasingSizeBestFitHeap`): best fit by decreasing size.
    XlaHeap,
    /// The hill climbing of TVM's memory planner: first fit, with exchanges in the order between
    /// buffers at the top and buffers that clash with them.
    TvmHillClimb,
    /// OLLA's pyramid: the longest lives, each within the one before, are stacked on the floor. The
    /// others follow by first fit (arXiv 2210.12924, section 4.3).
    Pyramid,
}

/// Placements that TVM's hill climbing tries.
const HILL_CLIMB_PLACEMENTS: u64 = 2_000;

impl PlaceBaseline {
    /// All of them.
    pub const ALL: [PlaceBaseline; 5] = [
        PlaceBaseline::FirstFit,
        PlaceBaseline::BestFit,
        PlaceBaseline::XlaHeap,
        PlaceBaseline::TvmHillClimb,
        PlaceBaseline::Pyramid,
    ];

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            PlaceBaseline::FirstFit => "first fit",
            PlaceBaseline::BestFit => "best fit",
            PlaceBaseline::XlaHeap => "XLA heap",
            PlaceBaseline::TvmHillClimb => "TVM hill climb",
            PlaceBaseline::Pyramid => "pyramid",
        }
    }

    /// Places buffers this way; only hill climbing uses `seed`.
    ///
    /// # Errors
    /// [`PlaceError::Pairs`] if too many pairs of buffers are live together.
    ///
    /// ```
    /// use remat_memory::place::PlaceBaseline;
    /// use remat_instances::place::{Buffer, Lives};
    /// let lives = Lives::new(vec![Buffer::new("x", 0, 2, 8), Buffer::new("y", 1, 3, 4)])?;
    /// let placement = PlaceBaseline::FirstFit.place(&lives, 0)?;
    /// assert_eq!(placement.replay(&lives)?.height, 12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn place(self, lives: &Lives, seed: u64) -> Result<Placement, PlaceError> {
        let limit = PlaceTuning::default().fit_pairs;
        let fitter = Fitter::new(lives, limit).ok_or(PlaceError::Pairs { limit })?;
        let offsets = match self {
            PlaceBaseline::FirstFit => fitter.place(&Sequence::Size.order(lives), Rule::First),
            PlaceBaseline::BestFit => fitter.place(&Sequence::Life.order(lives), Rule::Best),
            PlaceBaseline::XlaHeap => fitter.place(&Sequence::Size.order(lives), Rule::Best),
            PlaceBaseline::TvmHillClimb => hill_climb(&fitter, seed),
            PlaceBaseline::Pyramid => fitter.place(&pyramid(lives), Rule::First),
        };
        Ok(Placement::new(offsets))
    }
}

/// The order of OLLA's pyramid: the longest life, then the longest within it, and so on; then the
/// others by decreasing size. First fit stacks the first ones, which are all live together.
fn pyramid(lives: &Lives) -> Vec<u32> {
    let buffers = lives.buffers();
    let mut stack: Vec<u32> = Vec::new();
    let (mut from, mut to) = (0, u64::MAX);
    loop {
        let within = (0..buffers.len() as u32).filter(|&k| {
            let buffer = &buffers[k as usize];
            from <= buffer.lower && buffer.upper <= to && !stack.contains(&k)
        });
        let life = |k: u32| buffers[k as usize].upper - buffers[k as usize].lower;
        let Some(longest) = within.min_by_key(|&k| (std::cmp::Reverse(life(k)), k)) else {
            break;
        };
        (from, to) = (
            buffers[longest as usize].lower,
            buffers[longest as usize].upper,
        );
        stack.push(longest);
    }
    let mut order = stack.clone();
    order.extend(
        Sequence::Size
            .order(lives)
            .into_iter()
            .filter(|k| !stack.contains(k)),
    );
    order
}

/// Exchanges a buffer at the top with one that clashes with it, or with a neighbour of such a
/// buffer. Keeps placements that are no higher, and 2% of the higher ones.
fn hill_climb(fitter: &Fitter<'_>, seed: u64) -> Vec<u64> {
    let lives = fitter.lives;
    let mut order = Sequence::Size.order(lives);
    let mut current = fitter.place(&order, Rule::First);
    let mut best = current.clone();
    for step in 0..HILL_CLIMB_PLACEMENTS {
        let random = |k: u64| mix(seed ^ mix(4 * step + k));
        let height = fitter.height(&current);
        let tops: Vec<u32> = (0..current.len() as u32)
            .filter(|&k| current[k as usize] + lives.buffers()[k as usize].size == height)
            .collect();
        let Some(&top) = tops.get((random(0) % tops.len().max(1) as u64) as usize) else {
            break;
        };
        let mut near = fitter.neighbours.list(top as usize).to_vec();
        if let Some(&first) = near.get((random(1) % near.len().max(1) as u64) as usize)
            && random(2) % 2 == 0
        {
            near = fitter.neighbours.list(first as usize).to_vec();
        }
        let Some(&other) = near.get((random(3) % near.len().max(1) as u64) as usize) else {
            break;
        };
        let place = |buffer: u32| order.iter().position(|&k| k == buffer).unwrap_or(0);
        let (a, b) = (place(top), place(other));
        order.swap(a, b);
        let offsets = fitter.place(&order, Rule::First);
        let new = fitter.height(&offsets);
        if new < fitter.height(&best) {
            best = offsets.clone();
        }
        if new <= height || random(4) % 100 < 2 {
            current = offsets;
        } else {
            order.swap(a, b);
        }
    }
    best
}
