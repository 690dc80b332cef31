//! A fractional schedule: `S` and `R` by stages, as step functions.
//!
//! A tensor is held and made by a handful of intervals, so that both change in a few of its `n`
//! stages.

use super::PathCut;
use std::ops::Range;

/// Values of a tensor by stages, constant from one step to the next.
#[derive(Clone, Copy, Debug)]
pub struct Steps<'a> {
    /// First stage of each step, the first one 0, ascending.
    begins: &'a [u32],
    values: &'a [f64],
}

impl<'a> Steps<'a> {
    /// The value in a stage.
    #[inline]
    pub fn at(self, stage: u32) -> f64 {
        self.values[self.begins.partition_point(|b| *b <= stage) - 1]
    }

    /// Steps over a range of stages: ranges that follow one another, with their values.
    pub fn over(self, stages: Range<u32>) -> impl Iterator<Item = (Range<u32>, f64)> + 'a {
        let first = self.begins.partition_point(|b| *b <= stages.start);
        let ends = self.begins[first..].iter().copied().chain([u32::MAX]);
        let values = self.values[first - 1..].iter().copied();
        let mut begin = stages.start;
        ends.zip(values).map_while(move |(end, value)| {
            let step = begin..end.min(stages.end);
            begin = step.end;
            (!step.is_empty()).then_some((step, value))
        })
    }

    /// Returns whether all values over a range of stages are at least so much.
    pub fn all_reach(self, least: f64, stages: Range<u32>) -> bool {
        self.over(stages).all(|(_, value)| value >= least)
    }
}

/// The steps of all tensors.
#[derive(Clone, Debug, Default, PartialEq)]
struct StepTable {
    /// First step of each tensor, and the number of steps.
    first: Vec<u32>,
    begins: Vec<u32>,
    values: Vec<f64>,
}

impl StepTable {
    fn of(&self, node: usize) -> Steps<'_> {
        let own = self.first[node] as usize..self.first[node + 1] as usize;
        Steps {
            begins: &self.begins[own.clone()],
            values: &self.values[own],
        }
    }

    /// Begins the next tensor, with value 0 in all stages.
    fn open(&mut self) {
        self.first.push(self.begins.len() as u32);
        self.begins.push(0);
        self.values.push(0.0);
    }

    /// The tensor has another value from a stage on, which is not before the last step.
    fn step(&mut self, begin: u32, value: f64) {
        let last = self.values.len() - 1;
        if self.begins[last] == begin {
            self.values[last] = value;
        } else if self.values[last] != value {
            self.begins.push(begin);
            self.values.push(value);
        }
    }

    fn close(&mut self) {
        self.first.push(self.begins.len() as u32);
    }
}

/// Retentions and recomputations that a fractional schedule is made of.
#[derive(Clone, Debug)]
pub struct PointBuilder {
    len: usize,
    /// Tensor, first stage and one past the last, value.
    retained: Vec<(u32, Range<u32>, f64)>,
    /// Tensor, stage, value.
    recomputed: Vec<(u32, u32, f64)>,
}

impl PointBuilder {
    /// A point of `len` nodes without retentions and recomputations.
    pub fn new(len: usize) -> Self {
        PointBuilder {
            len,
            retained: Vec::new(),
            recomputed: Vec::new(),
        }
    }

    /// Adds to `S[stage, node]` for all stages of a range.
    pub fn add_retained(&mut self, node: usize, stages: Range<usize>, value: f64) {
        let stages = stages.start as u32..stages.end as u32;
        self.retained.push((node as u32, stages, value));
    }

    /// Adds to `R[stage, node]`.
    pub fn add_recomputed(&mut self, node: usize, stage: usize, value: f64) {
        self.recomputed.push((node as u32, stage as u32, value));
    }

    /// Number of retentions that were added.
    pub(crate) fn parts(&self) -> usize {
        self.retained.len()
    }

    /// The point.
    pub fn finish(mut self) -> FractionalPoint {
        self.retained.sort_by_key(|part| part.0);
        self.recomputed.sort_by_key(|part| (part.0, part.1));
        let mut point = FractionalPoint {
            len: self.len,
            retained: StepTable::default(),
            recomputed: StepTable::default(),
        };
        let mut held = self.retained.as_slice();
        let mut made = self.recomputed.as_slice();
        let mut begins: Vec<u32> = Vec::new();
        let mut values: Vec<f64> = Vec::new();
        for node in 0..self.len as u32 {
            let own = split_while(&mut held, |part| part.0 == node);
            begins.clear();
            begins.extend(own.iter().flat_map(|part| [part.1.start, part.1.end]));
            begins.sort_unstable();
            begins.dedup();
            values.clear();
            values.resize(begins.len(), 0.0);
            for (_, stages, value) in own {
                let [first, end] = [stages.start, stages.end]
                    .map(|stage| begins.partition_point(|begin| *begin < stage));
                values[first..end].iter_mut().for_each(|v| *v += value);
            }
            point.retained.open();
            for (begin, value) in begins.iter().zip(&values) {
                point.retained.step(*begin, *value);
            }
            let own = split_while(&mut made, |part| part.0 == node);
            point.recomputed.open();
            let mut sum = 0.0;
            for stage in own.chunk_by(|a, b| a.1 == b.1) {
                sum += stage.iter().map(|part| part.2).sum::<f64>();
                point.recomputed.step(stage[0].1 + 1, sum);
            }
        }
        point.retained.close();
        point.recomputed.close();
        point
    }
}

/// Takes the first elements off a slice that all have a property.
fn split_while<'a, T>(rest: &mut &'a [T], has: impl Fn(&T) -> bool) -> &'a [T] {
    let (own, others) = rest.split_at(rest.partition_point(has));
    *rest = others;
    own
}

/// A fractional schedule, the input of separation.
#[derive(Clone, Debug, PartialEq)]
pub struct FractionalPoint {
    len: usize,
    /// `S[., i]`.
    retained: StepTable,
    /// Recomputations of `i` in stages before `t`; the first computation does not count.
    recomputed: StepTable,
}

impl FractionalPoint {
    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// `S[stage, node]`; `stage` up to `len`, where it is 0.
    #[inline]
    pub fn retained(&self, stage: usize, node: usize) -> f64 {
        self.retained_of(node).at(stage as u32)
    }

    /// `S[., node]` by stages.
    #[inline]
    pub fn retained_of(&self, node: usize) -> Steps<'_> {
        self.retained.of(node)
    }

    /// Recomputations of a node in stages before `t`, by `t` up to `len`.
    #[inline]
    pub fn recomputed_before(&self, node: usize) -> Steps<'_> {
        self.recomputed.of(node)
    }

    /// Recomputations of a node in a range of stages.
    pub fn recomputed_in(&self, node: usize, stages: Range<usize>) -> f64 {
        let made = self.recomputed_before(node);
        made.at(stages.end as u32) - made.at(stages.start as u32)
    }

    /// Stages in which a node is recomputed, and how often.
    pub fn recomputations(&self, node: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let Steps { begins, values } = self.recomputed_before(node);
        let steps = begins[1..].iter().zip(values.windows(2));
        steps.map(|(begin, pair)| (begin - 1, pair[1] - pair[0]))
    }

    /// The left side of a path cut.
    pub fn path_activity(&self, cut: &PathCut) -> f64 {
        let (a, b) = (cut.from as usize, cut.reader as usize);
        let held: f64 = cut.path.iter().map(|&p| self.retained(a, p as usize)).sum();
        held + self.recomputed_in(cut.source() as usize, a..b + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn steps_are_the_sums_of_what_was_added(
            held in prop::collection::vec((0..4usize, 0..9usize, 1..9usize, 0..5u8), 0..12),
            made in prop::collection::vec((0..4usize, 0..9usize, 1..5u8), 0..12),
        ) {
            let n = 9;
            let mut builder = PointBuilder::new(n);
            let mut retained = vec![vec![0.0; n + 1]; n];
            let mut recomputed = vec![vec![0.0; n]; n];
            for (node, begin, width, value) in held {
                let (stages, value) = (begin..(begin + width).min(n), f64::from(value) / 4.0);
                builder.add_retained(node, stages.clone(), value);
                retained[node][stages].iter_mut().for_each(|v| *v += value);
            }
            for (node, stage, value) in made {
                builder.add_recomputed(node, stage, f64::from(value) / 4.0);
                recomputed[node][stage] += f64::from(value) / 4.0;
            }
            let point = builder.finish();
            for node in 0..n {
                for stage in 0..=n {
                    prop_assert_eq!(point.retained(stage, node), retained[node][stage]);
                    let before: f64 = recomputed[node][..stage].iter().sum();
                    prop_assert_eq!(point.recomputed_before(node).at(stage as u32), before);
                }
                for (stage, value) in point.recomputations(node) {
                    prop_assert_eq!(recomputed[node][stage as usize], value);
                }
                let mut stages = 2..2;
                for (step, value) in point.retained_of(node).over(2..8) {
                    prop_assert_eq!(step.start, stages.end);
                    stages.end = step.end;
                    let own = &retained[node][step.start as usize..step.end as usize];
                    prop_assert!(own.iter().all(|v| *v == value));
                }
                prop_assert_eq!(stages, 2..8);
            }
        }
    }
}
