//! Search trees that rule out every placement of a height.
//!
//! If a height allows a placement, it also allows one that is *pushed down*. There, each buffer
//! without a fixed offset lies on the highest end, rounded up to its alignment, of the buffers that
//! share a moment with it and begin lower. So offsets are multiples of a unit, and a placement can
//! be described from below: at a moment, one of the unplaced buffers is the lowest. It lies on the
//! moment's floor (the lowest offset that is left to any of them), or higher, on a buffer that is
//! not live at that moment. A tree goes through these cases, and each of its leaves contradicts the
//! height.

use super::bound::{common, divisor};
use remat_instances::place::{Buffer, WASTE};

/// Height in bytes from which sums of addresses could leave 64 bits.
const HEIGHT_LIMIT: u64 = 1 << 62;

/// Checks that the steps of a tree rule out all placements of a height in bytes. Returns its number
/// of nodes.
pub(super) fn refute(
    positions: &[u64],
    buffers: &[&Buffer],
    height: u64,
    steps: &[u64],
) -> Result<u64, String> {
    if buffers.iter().any(|buffer| buffer.has_windows()) {
        return Err("a tree cannot speak of buffers with windows".into());
    }
    if height >= HEIGHT_LIMIT {
        return Err(format!("heights from {HEIGHT_LIMIT} on are not refuted"));
    }
    let ground = Ground::new(positions, buffers, height);
    let state = PlacedBuffers::new(&ground);
    let mut tree = TreeSteps {
        steps,
        next: 0,
        nodes: 0,
    };
    if !state.contradicts() {
        tree.check(state)?;
    }
    Ok(tree.nodes)
}

/// The steps of a tree, and the place of the one that is read.
struct TreeSteps<'s> {
    steps: &'s [u64],
    next: usize,
    nodes: u64,
}

/// Buffers and the moments at which they are live.
struct Ground<'b> {
    positions: &'b [u64],
    buffers: &'b [&'b Buffer],
    height: u64,
    /// Divisor of all offsets in a pushed-down placement.
    unit: u64,
    /// Size of each buffer, rounded up to the divisor of all alignments.
    sizes: Vec<u64>,
    /// Moments at which a buffer begins and after which one ends first, ascending: every set of
    /// live buffers is within the set of one of these.
    moments: Vec<u64>,
    /// Buffers live at each moment.
    live: Vec<Vec<usize>>,
    /// Moments of each buffer.
    at: Vec<Vec<usize>>,
}

impl<'b> Ground<'b> {
    fn new(positions: &'b [u64], buffers: &'b [&'b Buffer], height: u64) -> Self {
        let divisor = divisor(buffers);
        let sizes: Vec<u64> = buffers
            .iter()
            .map(|buffer| buffer.size.next_multiple_of(divisor))
            .collect();
        let pieces: Vec<_> = buffers.iter().map(|buffer| buffer.pieces()).collect();
        let used: Vec<usize> = (0..buffers.len())
            .filter(|&k| !pieces[k].is_empty())
            .collect();
        let loose = used.iter().fold(0, |unit, &k| {
            common(common(unit, sizes[k]), buffers[k].offset.unwrap_or(0))
        });
        let is_loose = |&k: &usize| loose % buffers[k].alignment == 0;
        // If every alignment divides all sizes, offsets are multiples of the common divisor of the
        // sizes.
        let unit = match used.iter().all(is_loose) {
            true => loose,
            false => used
                .iter()
                .fold(loose, |unit, &k| common(unit, buffers[k].alignment)),
        };
        let mut moments: Vec<u64> = pieces.iter().flatten().map(|piece| piece.lower).collect();
        moments.sort_unstable();
        moments.dedup();
        let mut ends: Vec<u64> = pieces.iter().flatten().map(|piece| piece.upper).collect();
        ends.sort_unstable();
        // Without an end before the next begin there are more live then.
        let next: Vec<u64> = moments.iter().copied().skip(1).chain([u64::MAX]).collect();
        let mut next = next.into_iter();
        moments.retain(|&moment| {
            let end = ends
                .get(ends.partition_point(|&end| end <= moment))
                .copied();
            let next = next.next().unwrap_or(u64::MAX);
            end.is_some_and(|end| end <= next)
        });
        let mut live = vec![Vec::new(); moments.len()];
        let mut at = vec![Vec::new(); buffers.len()];
        for (k, pieces) in pieces.iter().enumerate() {
            for piece in pieces {
                let from = moments.partition_point(|&moment| moment < piece.lower);
                let to = moments.partition_point(|&moment| moment < piece.upper);
                live[from..to].iter_mut().for_each(|live| live.push(k));
                at[k].extend(from..to);
            }
        }
        let unit = unit.max(1);
        Ground {
            positions,
            buffers,
            height,
            unit,
            sizes,
            moments,
            live,
            at,
        }
    }

    /// Largest end, rounded up, that the height leaves to a buffer.
    fn ceiling(&self, k: usize) -> Option<u64> {
        let room = self.height.checked_sub(self.buffers[k].size)?;
        let offset = room / self.unit * self.unit;
        Some(offset / self.buffers[k].alignment * self.buffers[k].alignment + self.sizes[k])
    }

    /// Returns whether two buffers can stand for each other.
    fn is_like(&self, a: usize, b: usize) -> bool {
        let is_together = self.at[a] == self.at[b];
        let (a, b) = (self.buffers[a], self.buffers[b]);
        is_together
            && (a.size, a.alignment) == (b.size, b.alignment)
            && a.offset.is_none()
            && b.offset.is_none()
    }
}

/// Buffers that are placed, and room that they leave.
#[derive(Clone)]
struct PlacedBuffers<'g> {
    ground: &'g Ground<'g>,
    /// Offset below which no unplaced buffer begins, for each moment.
    floors: Vec<u64>,
    /// Offset of each placed buffer.
    offsets: Vec<Option<u64>>,
}

impl<'g> PlacedBuffers<'g> {
    fn new(ground: &'g Ground<'g>) -> Self {
        let floors = vec![0; ground.moments.len()];
        // Buffers that are never in use lie anywhere.
        let offsets = ground
            .at
            .iter()
            .map(|at| at.is_empty().then_some(0))
            .collect();
        PlacedBuffers {
            ground,
            floors,
            offsets,
        }
    }

    /// Lowest offset that is left to an unplaced buffer.
    fn lowest(&self, k: usize) -> u64 {
        let floor = self.ground.at[k]
            .iter()
            .map(|&moment| self.floors[moment])
            .max()
            .unwrap_or(0);
        match self.ground.buffers[k].offset {
            // A fixed buffer has no room beneath it; `contradicts` checks that.
            Some(fixed) => fixed,
            None => floor.next_multiple_of(self.ground.buffers[k].alignment),
        }
    }

    fn unplaced(&self, moment: usize) -> impl Iterator<Item = usize> + '_ {
        self.ground.live[moment]
            .iter()
            .copied()
            .filter(|&k| self.offsets[k].is_none())
    }

    /// Returns whether the placed buffers rule out a placement: at some moment the unplaced
    /// buffers, stacked from their lowest offsets on, exceed the height.
    fn contradicts(&self) -> bool {
        for k in 0..self.ground.buffers.len() {
            if self.offsets[k].is_some() {
                continue;
            }
            let Some(ceiling) = self.ground.ceiling(k) else {
                return true;
            };
            let is_under = |&moment: &usize| {
                self.ground.buffers[k]
                    .offset
                    .is_some_and(|fixed| self.floors[moment] > fixed)
            };
            if self.lowest(k) + self.ground.sizes[k] > ceiling
                || self.ground.at[k].iter().any(is_under)
            {
                return true;
            }
        }
        (0..self.ground.moments.len()).any(|moment| {
            let mut stack: Vec<(u64, usize)> =
                self.unplaced(moment).map(|k| (self.lowest(k), k)).collect();
            stack.sort_unstable();
            let mut sum = 0;
            let mut ceiling = 0;
            stack.iter().rev().any(|&(lowest, k)| {
                sum += self.ground.sizes[k];
                ceiling = ceiling.max(self.ground.ceiling(k).unwrap_or(0));
                lowest + sum > ceiling
            })
        })
    }

    /// Places a buffer at an offset, above all placed buffers. A floor stays if another buffer may
    /// still begin below the offset: a lower floor is valid, though weaker.
    fn place(&mut self, k: usize, offset: u64) {
        let flat: Vec<usize> = self.ground.at[k]
            .iter()
            .copied()
            .filter(|&moment| {
                self.unplaced(moment)
                    .all(|other| self.lowest(other) >= offset)
            })
            .collect();
        for moment in flat {
            self.floors[moment] = offset + self.ground.sizes[k];
        }
        self.offsets[k] = Some(offset);
    }

    /// Lowest offset at which an unplaced buffer of a moment may begin if no buffer begins at
    /// `floor`.
    fn next_level(&self, moment: usize, floor: u64) -> Option<u64> {
        let levels = self.unplaced(moment).filter_map(|k| {
            let lowest = self.lowest(k);
            if lowest > floor {
                return Some(lowest);
            }
            let supports = self.ground.at[k]
                .iter()
                .flat_map(|&at| self.ground.live[at].iter().copied());
            let ends = supports.filter_map(|other| match self.offsets[other] {
                Some(offset) => Some(offset + self.ground.sizes[other]).filter(|&end| end > floor),
                None if self.ground.live[moment].contains(&other) => None,
                None => Some(self.lowest(other) + self.ground.sizes[other]),
            });
            // Higher than the floor in any case.
            let level = ends.min()?.max(floor + 1);
            Some(level.next_multiple_of(self.ground.buffers[k].alignment))
        });
        levels.min()
    }
}

/// A node of which cases are still to be read.
struct OpenNode<'g> {
    state: PlacedBuffers<'g>,
    time: u64,
    moment: usize,
    floor: u64,
    /// Buffers that may lie on the floor and were not named yet.
    cases: Vec<usize>,
    /// True if the floor may be left empty, and this case was not named yet.
    may_waste: bool,
    /// Cases that are still to be read.
    left: u64,
}

impl<'g> OpenNode<'g> {
    /// The state in which a case holds; `None` if it contradicts the height.
    fn child(&self, case: Option<usize>) -> Option<PlacedBuffers<'g>> {
        let mut child = self.state.clone();
        match case {
            Some(k) => child.place(k, self.floor),
            None => {
                child.floors[self.moment] = self.state.next_level(self.moment, self.floor)?;
            }
        }
        (!child.contradicts()).then_some(child)
    }
}

impl TreeSteps<'_> {
    fn word(&mut self) -> Result<u64, String> {
        let word = self.steps.get(self.next).copied();
        self.next += 1;
        word.ok_or_else(|| format!("the tree ends after {} words", self.steps.len()))
    }

    /// Skips a node that is not needed.
    fn skip(&mut self) -> Result<(), String> {
        let mut left = Vec::new();
        loop {
            self.word()?;
            left.push(self.word()?);
            while let Some(count) = left.last_mut() {
                if *count > 0 {
                    *count -= 1;
                    self.word()?;
                    break;
                }
                left.pop();
            }
            if left.is_empty() {
                return Ok(());
            }
        }
    }

    /// Reads the beginning of a node.
    fn open<'g>(&mut self, state: PlacedBuffers<'g>) -> Result<OpenNode<'g>, String> {
        self.nodes += 1;
        let ground = state.ground;
        let time = self.word()?;
        // The buffers live at a time are among the buffers of the last begin before it.
        let moment = ground.moments.partition_point(|&moment| moment <= time);
        let moment = moment
            .checked_sub(1)
            .ok_or_else(|| format!("nothing is live at {time}"))?;
        let lowest: Vec<(u64, usize)> = state
            .unplaced(moment)
            .map(|k| (state.lowest(k), k))
            .collect();
        let floor = lowest.iter().map(|&(lowest, _)| lowest).min();
        let floor = floor.ok_or_else(|| format!("nothing is left to place at {time}"))?;
        let mut cases: Vec<usize> = Vec::new();
        for (_, k) in lowest.into_iter().filter(|&(lowest, _)| lowest == floor) {
            // Of equal buffers, only the first is a case.
            if cases.iter().all(|&other| !ground.is_like(other, k)) {
                cases.push(k);
            }
        }
        let fixed = cases
            .iter()
            .copied()
            .find(|&k| ground.buffers[k].offset.is_some());
        if let Some(fixed) = fixed {
            // It begins here, so no other buffer does.
            cases = vec![fixed];
        }
        let (may_waste, left) = (fixed.is_none(), self.word()?);
        Ok(OpenNode {
            state,
            time,
            moment,
            floor,
            cases,
            may_waste,
            left,
        })
    }

    /// Reads the tree, and checks that all cases of all nodes fail.
    fn check(&mut self, root: PlacedBuffers<'_>) -> Result<(), String> {
        let mut path = vec![self.open(root)?];
        while let Some(node) = path.last_mut() {
            if node.left > 0 {
                node.left -= 1;
                let case = self.word()?;
                let positions = node.state.ground.positions;
                let named = node.cases.iter().position(|&k| positions[k] == case);
                let child = match named {
                    Some(place) => {
                        let k = node.cases.swap_remove(place);
                        node.child(Some(k))
                    }
                    None if case == WASTE && node.may_waste => {
                        node.may_waste = false;
                        node.child(None)
                    }
                    // A case that is not there needs no refutation.
                    None => None,
                };
                match child {
                    Some(child) => {
                        let child = self.open(child)?;
                        path.push(child);
                    }
                    None => self.skip()?,
                }
                continue;
            }
            // Cases that were not named contradict at once.
            let time = node.time;
            if let Some(&k) = node.cases.iter().find(|&&k| node.child(Some(k)).is_some()) {
                let position = node.state.ground.positions[k];
                return Err(format!("buffer {position} at time {time} is not ruled out"));
            }
            if node.may_waste && node.child(None).is_some() {
                return Err(format!("waste at time {time} is not ruled out"));
            }
            path.pop();
        }
        Ok(())
    }
}
