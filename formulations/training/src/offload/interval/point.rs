//! Fractional solutions, and the rows they violate.

use super::rows::{freed_bytes, inside, turn};
use super::{Begin, Lane, LinkGraph, LinkRow, Trip};
use crate::checkmate::interval::{ROUNDED_LIMIT, ROUNDED_VIOLATION, Row, by_tensor, kept};
use crate::checkmate::path_cuts::{FractionalPoint, PointBuilder, separate_for};
use remat_instances::schedule::BitMatrix;
use remat_solver::price::{RowLimits, SeparationSettings};
use std::ops::Range;

/// Values below count as 0.
const ZERO: f64 = 1e-9;
/// Violation below which a row counts as satisfied; for a window, as a share of its time.
const TOLERANCE: f64 = 1e-6;
/// Maximum number of windows per lane and round.
const WINDOWS: usize = 8;
/// Trips with their values, and idle time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TripPoint {
    /// Trips with positive values, by tensor.
    pub trips: Vec<(Trip, f64)>,
    /// Idle time by stage, in units of time.
    pub idle: Vec<f64>,
    /// Values of the ways of first runs, in the order of [`Ways::all`](super::Ways::all).
    pub ways: Vec<f64>,
}

/// A copy within stages, and the time that it takes.
#[derive(Clone, Copy, Debug)]
struct Copy {
    first: u32,
    last: u32,
    time: f64,
}

impl TripPoint {
    /// The point of an LP solution.
    pub fn new(columns: &mut dyn Iterator<Item = (Trip, f64)>, idle: &[f64], ways: &[f64]) -> Self {
        let mut trips: Vec<_> = columns.filter(|c| c.1 > ZERO).collect();
        trips.sort_by(|a, b| a.0.cmp(&b.0));
        TripPoint {
            trips,
            idle: idle.to_vec(),
            ways: ways.to_vec(),
        }
    }

    /// Copies to the host by tensor.
    pub(crate) fn leaves(&self, link: &LinkGraph) -> Vec<f64> {
        let mut out = vec![0.0; link.len()];
        for (trip, x) in &self.trips {
            out[trip.node as usize] += x * trip.leaves() as f64;
        }
        out
    }

    /// Recomputations, and the tensors on the device when each stage begins.
    pub(crate) fn fractional(&self, link: &LinkGraph) -> FractionalPoint {
        self.builder(link).finish()
    }

    fn builder(&self, link: &LinkGraph) -> PointBuilder {
        let mut point = PointBuilder::new(link.len());
        for (trip, x) in &self.trips {
            let i = trip.node as usize;
            if trip.is_recomputed() {
                point.add_recomputed(i, trip.start() as usize, *x);
            }
            for stretch in &trip.stretches {
                let first = stretch.first_stage() as usize + 1;
                point.add_retained(i, first..stretch.last_stage as usize + 1, *x);
            }
        }
        point
    }

    /// Tensors whose share on the device, on the host or between them exceeds a threshold when each
    /// stage begins, shape `n x n`. They generally exceed the memory of the device.
    pub fn kept(&self, link: &LinkGraph, threshold: f64) -> BitMatrix {
        let n = link.len();
        let mut point = PointBuilder::new(n);
        for (trip, x) in &self.trips {
            if let Some(last) = trip.stretches.last() {
                let stages = trip.start() as usize + 1..last.last_stage as usize + 1;
                point.add_retained(trip.node as usize, stages, *x);
            }
        }
        kept(&link.graph, &point.finish(), threshold)
    }

    /// Violated rows of the program.
    pub(super) fn violated(
        &self,
        link: &LinkGraph,
        limits: &RowLimits<'_, LinkRow>,
    ) -> Vec<LinkRow> {
        let mut rows = self.violated_inputs(link, limits.tolerance);
        rows.extend(self.violated_windows(link));
        rows.extend(self.violated_host(link));
        rows.retain(|row| !(limits.known)(row));
        let most = (link.graph.capacity as f64 + limits.overflow) * (1.0 + TOLERANCE);
        let memory = self.violated_memory(link, 0, most, limits.per_group, limits.known);
        rows.extend(memory.into_iter().take(limits.resource_rows));
        rows
    }

    /// Violated rows of recomputations that lack inputs or parents.
    fn violated_inputs(&self, link: &LinkGraph, tolerance: f64) -> Vec<LinkRow> {
        let again = self
            .trips
            .iter()
            .map(|t| &t.0)
            .filter(|t| t.is_recomputed());
        let mut starts: Vec<_> = again.map(|trip| (trip.node, trip.start())).collect();
        starts.sort_unstable();
        starts.dedup();
        let rows = starts.into_iter().flat_map(|(node, stage)| {
            let parent = link.graph.parent[node as usize].map(|_| Row::Parent { stage, node });
            let inputs = link.graph.needs[node as usize].iter();
            let inputs = inputs.map(move |&input| Row::Input { stage, node, input });
            parent.into_iter().chain(inputs).map(LinkRow::Base)
        });
        let tensors = by_tensor(&self.trips, link.len(), |trip| trip.node);
        let is_missed = |row: &LinkRow| {
            let nodes = row.tensors(link).into_iter();
            let own = nodes.flat_map(|i| &self.trips[tensors[i as usize].clone()]);
            let sum: f64 = own
                .map(|(trip, x)| x * row.coefficient(link, trip) as f64)
                .sum();
            sum < row.right_side(link) as f64 - tolerance
        };
        rows.filter(is_missed).collect()
    }

    /// Events at which the memory exceeds `limit_bytes`, worst first, at most `per_stage` per
    /// stage.
    fn violated_memory(
        &self,
        link: &LinkGraph,
        gauge: u32,
        limit_bytes: f64,
        per_stage: usize,
        known: &dyn Fn(&LinkRow) -> bool,
    ) -> Vec<LinkRow> {
        let n = link.len() as u32;
        let measure = &link.graph.gauges[gauge as usize];
        let mut changes: Vec<(u32, f64)> = Vec::new();
        let mut scratch: Vec<(u32, f64)> = Vec::new();
        for (trip, x) in &self.trips {
            let i = trip.node as usize;
            for stretch in &trip.stretches {
                let [first, last] = stretch.memory;
                if first <= last {
                    let held = measure.bytes[i] as f64 * x;
                    changes.extend([(first, held), (last + 1, -held)]);
                }
            }
            let freed = link.freed_again.iter().filter(|f| f.0 == trip.node);
            for (_, bytes) in freed.filter(|_| trip.is_recomputed()) {
                let freed = freed_bytes(measure, gauge, *bytes) as f64 * x;
                let behind = turn(link, trip.start(), trip.node) + 1;
                changes.extend([(behind, -freed), (turn(link, trip.start() + 1, 0), freed)]);
            }
            let workspace = match trip.is_recomputed() {
                true => {
                    let counted = measure.working_again[i] - measure.bytes[i];
                    counted as i64 + link.bytes_again(trip.node, trip.way)
                }
                false => link.ways.optional[i].map_or(0, |made| made.bytes),
            };
            if workspace != 0 {
                scratch.push((turn(link, trip.start(), trip.node), workspace as f64 * x));
            }
        }
        for ((node, _, way), x) in link.ways.all().zip(&self.ways) {
            scratch.push((turn(link, node, node), way.bytes as f64 * x));
        }
        for (stage, working) in (0..n).zip(&measure.working) {
            scratch.push((turn(link, stage, stage), *working as f64));
        }
        changes.sort_by_key(|c| c.0);
        scratch.sort_by_key(|s| s.0);
        // Events at which anything changes, or has scratch memory of its own.
        let mut events: Vec<u32> = changes.iter().chain(&scratch).map(|c| c.0).collect();
        events.sort_unstable();
        events.dedup();
        let (mut changes, mut scratch) = (changes.iter().peekable(), scratch.iter().peekable());
        let mut load = 0.0;
        let mut found: Vec<(f64, u32)> = Vec::new();
        for event in events {
            while let Some((_, change)) = changes.next_if(|c| c.0 <= event) {
                load += change;
            }
            let mut here = load;
            while let Some((_, bytes)) = scratch.next_if(|s| s.0 <= event) {
                here += bytes;
            }
            let is_turn = event % n <= event / n && event / n < n;
            if is_turn {
                here += link.ways.beside(event / n, event % n) as f64;
            }
            if here > limit_bytes && is_turn {
                found.push((here, event));
            }
        }
        let row = |event: u32| {
            LinkRow::Base(Row::Memory {
                stage: event / n,
                node: event % n,
                gauge,
            })
        };
        found.retain(|(_, event)| !known(&row(*event)));
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut taken = vec![0; n as usize];
        found.retain(|(_, event)| {
            let taken = &mut taken[(event / n) as usize];
            *taken += 1;
            *taken <= per_stage
        });
        found.into_iter().map(|(_, event)| row(event)).collect()
    }

    /// Copies in each lane.
    fn copies(&self, link: &LinkGraph, lane: Lane) -> Vec<Copy> {
        let [has_out, has_back] = lane.has();
        let mut out = Vec::new();
        for (trip, x) in &self.trips {
            let Some([leave, back]) = link.copies[trip.node as usize] else {
                continue;
            };
            for stretch in &trip.stretches {
                if let Some(last) = stretch.leaves.filter(|_| has_out) {
                    let time = leave as f64 * x;
                    out.push(Copy {
                        first: trip.node,
                        last,
                        time,
                    });
                }
                if let Begin::Fetched { issued, read } = stretch.begin
                    && has_back
                {
                    let time = back as f64 * x;
                    out.push(Copy {
                        first: issued,
                        last: read,
                        time,
                    });
                }
            }
        }
        out
    }

    /// Windows whose copies take more than their time: the worst window of each first stage, worst
    /// first.
    fn violated_windows(&self, link: &LinkGraph) -> Vec<LinkRow> {
        let n = link.len();
        // Time of recomputations and idle time before each stage.
        let mut time = vec![0.0; n + 1];
        // Time of first runs beyond the least before each stage.
        let mut beyond = vec![0.0; n + 1];
        for (trip, x) in &self.trips {
            if trip.is_recomputed() {
                let own = link.time_again(trip.node, trip.way) as f64;
                time[trip.start() as usize + 1] += own * x;
            } else if let Some(made) = link.ways.optional[trip.node as usize] {
                beyond[trip.node as usize + 1] += made.time as f64 * x;
            }
        }
        for ((node, _, way), x) in link.ways.all().zip(&self.ways) {
            beyond[node as usize + 1] += way.time as f64 * x;
        }
        for (at, idle) in time[1..].iter_mut().zip(&self.idle) {
            *at += idle;
        }
        for t in 0..n {
            time[t + 1] += time[t];
            beyond[t + 1] += beyond[t];
        }
        let unit = link.unit as f64;
        let first_before =
            |stage: u32| link.before[stage as usize] as f64 / unit + beyond[stage as usize];
        let lanes: &[Lane] = match link.half_duplex {
            true => &[Lane::Shared],
            false => &[Lane::Out, Lane::Back],
        };
        let mut rows = Vec::new();
        for &lane in lanes {
            let mut copies = self.copies(link, lane);
            copies.sort_by_key(|c| std::cmp::Reverse(c.first));
            let mut load = vec![0.0; n];
            let mut found: Vec<(f64, u32, u32)> = Vec::new();
            for group in copies.chunk_by(|a, b| a.first == b.first) {
                for copy in group {
                    load[copy.last as usize] += copy.time;
                }
                let first = group[0].first;
                let begin = *inside(lane, first, first).start();
                let mut sum = 0.0;
                let mut worst = (0.0, 0);
                for last in first as usize..n {
                    if load[last] == 0.0 {
                        continue;
                    }
                    sum += load[last];
                    let begin = begin.min(last as u32);
                    let there = first_before(last as u32) - first_before(begin) + time[last + 1]
                        - time[begin as usize];
                    let excess = sum - there;
                    if excess > worst.0 + TOLERANCE * (1.0 + there) {
                        worst = (excess, last as u32);
                    }
                }
                if worst.0 > 0.0 {
                    found.push((worst.0, first, worst.1));
                }
            }
            found.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
            found.truncate(WINDOWS);
            let row = |(_, first, last)| LinkRow::Window { lane, first, last };
            rows.extend(found.into_iter().map(row));
        }
        rows
    }

    /// The row of the stage in which the host lacks the most memory.
    fn violated_host(&self, link: &LinkGraph) -> Option<LinkRow> {
        let limit = link.host_bytes? as f64 * (1.0 + TOLERANCE);
        let load = |stage: u32| -> f64 {
            let all = self.trips.iter().filter(|t| t.0.is_on_host(stage));
            let bytes = all.map(|(trip, x)| link.host_bytes_of(trip.node) as f64 * x);
            bytes.sum()
        };
        let loads = (0..link.len() as u32).map(|stage| (load(stage), stage));
        let worst = loads.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))?;
        (worst.0 > limit).then_some(LinkRow::Host { stage: worst.1 })
    }

    /// Violated cuts.
    pub(super) fn cuts(&self, link: &LinkGraph, settings: &SeparationSettings) -> Vec<LinkRow> {
        let mut rows = self.path_cuts(link, settings);
        if settings.resource_cuts {
            for (gauge, measure) in link.graph.gauges.iter().enumerate().skip(1) {
                let most = measure.capacity as f64 * (1.0 + ROUNDED_VIOLATION);
                let rounded = self.violated_memory(link, gauge as u32, most, 1, &|_| false);
                rows.extend(rounded.into_iter().take(ROUNDED_LIMIT));
            }
        }
        rows
    }

    /// Violated path cuts, reader by reader: tensors that come back up to a reader count as held
    /// before.
    fn path_cuts(&self, link: &LinkGraph, settings: &SeparationSettings) -> Vec<LinkRow> {
        let n = link.len();
        let mut base = self.builder(link);
        // Tensors that come back: the first reader that can use the copy, the tensor, the stages
        // without it up to the read, and its share.
        let mut arrivals: Vec<(u32, u32, Range<usize>, f64)> = Vec::new();
        for (trip, x) in &self.trips {
            for pair in trip.stretches.windows(2) {
                if let Begin::Fetched { read, .. } = pair[1].begin {
                    let stages = pair[0].last_stage as usize + 1..read as usize + 1;
                    let reader = read + link.delay(trip.node);
                    arrivals.push((reader, trip.node, stages, *x));
                }
            }
        }
        arrivals.sort_by_key(|a| (a.0, a.1));
        let mut found = Vec::new();
        let mut next = arrivals.iter().peekable();
        let mut point = base.clone().finish();
        for reader in 0..n as u32 {
            let before = base.parts();
            while let Some((_, node, stages, x)) = next.next_if(|a| a.0 <= reader) {
                base.add_retained(*node as usize, stages.clone(), *x);
            }
            if base.parts() > before {
                point = base.clone().finish();
            }
            if !link.ways.is_optional(reader) {
                found.extend(separate_for(&link.graph, &point, reader, settings));
            }
        }
        found.sort_by(|x, y| y.score.total_cmp(&x.score).then_with(|| x.cut.cmp(&y.cut)));
        found.truncate(settings.limit);
        let row = |found: crate::checkmate::path_cuts::ViolatedCut<_>| {
            LinkRow::Base(Row::Path(found.cut))
        };
        found.into_iter().map(row).collect()
    }
}
