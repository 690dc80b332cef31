//! Peak memory of all stages, with shifts over ranges and sums of excess over the capacity.

use remat_search::anneal::press;
use std::ops::Range;

/// Stages of a block. A shift or a query over a range visits its blocks, but single stages of at
/// most two of them. Only blocks with stages on both sides of the capacity need more.
const BLOCK: usize = 128;

/// Peaks of stages in blocks that know their least and largest peaks.
#[derive(Clone, Debug)]
pub(super) struct Peaks {
    /// Peaks, without the shift of the block.
    own: Vec<f64>,
    blocks: Vec<Block>,
    /// Weight of excess in each stage; empty as long as all weights are 1.
    weights: Vec<f64>,
    capacity: f64,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    shift: f64,
    least: f64,
    most: f64,
}

impl Peaks {
    pub fn new(peaks: Vec<f64>, capacity: f64) -> Self {
        let empty = Block {
            shift: 0.0,
            least: 0.0,
            most: 0.0,
        };
        let mut all = Peaks {
            blocks: vec![empty; peaks.len().div_ceil(BLOCK)],
            own: peaks,
            weights: Vec::new(),
            capacity,
        };
        (0..all.blocks.len()).for_each(|b| all.look_at(b));
        all
    }

    pub fn capacity(&self) -> f64 {
        self.capacity
    }

    pub fn set_capacity(&mut self, capacity: f64) {
        self.capacity = capacity;
    }

    #[inline]
    pub fn at(&self, stage: usize) -> f64 {
        self.own[stage] + self.blocks[stage / BLOCK].shift
    }

    /// Bytes above the capacity in a stage.
    #[inline]
    pub fn excess(&self, stage: usize) -> f64 {
        self.over(self.at(stage))
    }

    /// Bytes above the capacity of a stage with such a peak.
    #[inline]
    pub fn over(&self, peak: f64) -> f64 {
        (peak - self.capacity).max(0.0)
    }

    /// Weight of excess in a stage.
    #[inline]
    pub fn weight(&self, stage: usize) -> f64 {
        self.weights.get(stage).copied().unwrap_or(1.0)
    }

    /// Raises the weight of excess in the stages that have some, and lowers it in the others, after
    /// a share of a run.
    pub fn press(&mut self, share: f64) {
        let mut weights = std::mem::take(&mut self.weights);
        weights.resize(self.own.len(), 1.0);
        let above = (0..self.own.len()).map(|t| self.at(t) > self.capacity);
        press(&mut weights, above, share);
        self.weights = weights;
    }

    /// Bytes above the capacity in all stages together.
    pub fn total_excess(&self) -> f64 {
        let stages = (0..self.own.len()).filter(|t| self.blocks[t / BLOCK].most > self.capacity);
        stages.map(|t| self.excess(t)).sum()
    }

    /// Stages above the capacity.
    pub fn above(&self) -> impl Iterator<Item = usize> + '_ {
        let stages = (0..self.own.len()).filter(|t| self.blocks[t / BLOCK].most > self.capacity);
        stages.filter(|t| self.at(*t) > self.capacity)
    }

    /// Change of the excess if the peaks of a range shift.
    pub fn excess_change(&self, stages: Range<usize>, shift: f64) -> f64 {
        let mut change = 0.0;
        for (b, part) in blocks(stages) {
            let block = &self.blocks[b];
            let [least, most] = [block.least, block.most].map(|p| (p, p + shift));
            if most.0.max(most.1) <= self.capacity {
                continue;
            }
            if least.0.min(least.1) >= self.capacity {
                change += shift * part.len() as f64;
                continue;
            }
            let base = block.shift;
            let one = |own: &f64| self.over(own + base + shift) - self.over(own + base);
            change += self.own[part].iter().map(one).sum::<f64>();
        }
        change
    }

    /// The same with each stage's weight.
    pub fn weighted_change(&self, stages: Range<usize>, shift: f64) -> f64 {
        if self.weights.is_empty() {
            return self.excess_change(stages, shift);
        }
        let mut change = 0.0;
        for (b, part) in blocks(stages) {
            let block = &self.blocks[b];
            if block.most.max(block.most + shift) <= self.capacity {
                continue;
            }
            let one = |t: usize| self.over(self.at(t) + shift) - self.excess(t);
            change += part.map(|t| self.weights[t] * one(t)).sum::<f64>();
        }
        change
    }

    /// Shifts the peaks of a range.
    pub fn shift(&mut self, stages: Range<usize>, shift: f64) {
        for (b, part) in blocks(stages) {
            if part.len() == BLOCK {
                let block = &mut self.blocks[b];
                block.shift += shift;
                block.least += shift;
                block.most += shift;
            } else {
                self.own[part].iter_mut().for_each(|own| *own += shift);
                self.look_at(b);
            }
        }
    }

    /// Sets the peak of a stage.
    pub fn set(&mut self, stage: usize, peak: f64) {
        let b = stage / BLOCK;
        let block = &mut self.blocks[b];
        let before = self.own[stage] + block.shift;
        self.own[stage] = peak - block.shift;
        if before == block.least || before == block.most {
            self.look_at(b);
        } else {
            block.least = block.least.min(peak);
            block.most = block.most.max(peak);
        }
    }

    /// Finds the least and the largest peak of a block.
    fn look_at(&mut self, b: usize) {
        let stages = b * BLOCK..((b + 1) * BLOCK).min(self.own.len());
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for own in &self.own[stages] {
            (least, most) = (least.min(*own), most.max(*own));
        }
        let block = &mut self.blocks[b];
        (block.least, block.most) = (least + block.shift, most + block.shift);
    }
}

/// The blocks of a range of stages, with the part of the range in each.
fn blocks(stages: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
    let numbers = stages.start / BLOCK..stages.end.div_ceil(BLOCK);
    numbers.filter_map(move |b| {
        let part = stages.start.max(b * BLOCK)..stages.end.min((b + 1) * BLOCK);
        (!part.is_empty()).then_some((b, part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn peaks_are_those_of_a_plain_list(
            peaks in prop::collection::vec(0..40i32, 1..400),
            changes in prop::collection::vec(
                (0..400usize, 0..400usize, -9..9i32, any::<bool>()),
                0..20,
            ),
        ) {
            let mut plain: Vec<f64> = peaks.into_iter().map(f64::from).collect();
            let mut all = Peaks::new(plain.clone(), 20.0);
            for (a, b, by, is_one) in changes {
                let [a, b] = [a, b].map(|k| k % plain.len());
                let by = f64::from(by);
                if is_one {
                    all.set(a, by);
                    plain[a] = by;
                    continue;
                }
                let (from, to) = (a.min(b), a.max(b));
                let excess = |list: &[f64]| list.iter().map(|p| (p - 20.0).max(0.0)).sum::<f64>();
                let before = excess(&plain);
                let change = all.excess_change(from..to, by);
                all.shift(from..to, by);
                plain[from..to].iter_mut().for_each(|p| *p += by);
                prop_assert_eq!(change, excess(&plain) - before);
                prop_assert_eq!(all.total_excess(), excess(&plain));
            }
            let found: Vec<f64> = (0..plain.len()).map(|t| all.at(t)).collect();
            prop_assert_eq!(found, plain);
        }
    }
}
