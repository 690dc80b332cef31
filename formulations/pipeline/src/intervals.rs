//! Intervals between positions: base costs, fixed memory and sends.

use crate::path::CutTime;
use remat_instances::instance::HostLink;
use remat_instances::pipeline::arrangement::{NoTime, send_times};
use remat_instances::pipeline::fixed::FixedMemory;
use remat_instances::pipeline::split::Split;

/// The points at which a graph may be cut, with both ends, and what lies between them.
#[derive(Clone, Debug)]
pub(crate) struct Intervals<'s, 'a> {
    pub split: &'s Split<'a>,
    /// Positions of the points, ascending, from 0 to the end of the forward pass.
    pub positions: Vec<u32>,
    /// Cost of all nodes before each point.
    before: Vec<u64>,
    /// Fixed memory of each interval in bytes, at `i * points + j`.
    fixed: Vec<u64>,
    /// Fixed memory of every device in bytes, which is part of that.
    pub everywhere: u64,
    /// Sends at each point.
    pub sends: Vec<CutTime>,
}

impl<'s, 'a> Intervals<'s, 'a> {
    /// The intervals between positions where cuts can be.
    pub fn new(
        split: &'s Split<'a>,
        cuts: &[u32],
        microbatches: u32,
        link: Option<&HostLink>,
    ) -> Result<Self, NoTime> {
        let graph = split.instance();
        let positions: Vec<u32> = [&[0], cuts, &[split.end()]].concat();
        let mut of = vec![0u64; split.end() as usize + 1];
        for id in graph.ids().filter(|id| graph.is_made(*id)) {
            of[split.position(id) as usize + 1] += graph.node(id).cost();
        }
        let mut sum = 0;
        let sums: Vec<u64> = of
            .iter()
            .map(|cost| {
                sum += cost;
                sum
            })
            .collect();
        let sends = positions.iter().map(|&at| {
            let crossing = split.crossing(at).unwrap_or_default();
            let times = send_times(link, graph.cost_unit(), crossing)?;
            Ok(CutTime {
                sum: times.forward + times.backward,
                lane: times.forward.max(times.backward),
            })
        });
        let sends = sends.collect::<Result<_, _>>()?;
        let count = positions.len();
        let memory = FixedMemory::of(split, microbatches);
        let mut fixed = vec![0; count * count];
        for i in 0..count {
            let from = memory.from(positions[i]);
            for j in i + 1..count {
                fixed[i * count + j] = from[(positions[j] - positions[i]) as usize];
            }
        }
        Ok(Intervals {
            before: positions.iter().map(|&p| sums[p as usize]).collect(),
            split,
            fixed,
            everywhere: memory.everywhere(),
            sends,
            positions,
        })
    }

    /// Number of points.
    pub fn points(&self) -> usize {
        self.positions.len()
    }

    /// Place of an interval in a table.
    pub fn at(&self, i: usize, j: usize) -> usize {
        i * self.points() + j
    }

    /// Cost without recomputation.
    pub fn base_cost(&self, i: usize, j: usize) -> u64 {
        self.before[j] - self.before[i]
    }

    /// Fixed memory in bytes.
    pub fn fixed_bytes(&self, i: usize, j: usize) -> u64 {
        self.fixed[self.at(i, j)]
    }
}
