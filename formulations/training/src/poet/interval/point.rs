//! Fractional solutions, and the rows they violate.

use super::rows::freed_terms;
use super::{PoetGraph, PoetRow, Trip};
use crate::checkmate::interval::{ROUNDED_LIMIT, ROUNDED_VIOLATION, Row, by_tensor, event, kept};
use crate::checkmate::path_cuts::{FractionalPoint, PointBuilder, separate_for};
use remat_instances::schedule::BitMatrix;
use remat_solver::price::{RowLimits, SeparationSettings};
use std::collections::BTreeMap;
use std::ops::Range;

/// Values below count as 0.
const ZERO: f64 = 1e-9;
/// Violation below which a row of counts is met, and one of bytes as a share of the capacity.
const TOLERANCE: f64 = 1e-6;

/// Trips with their values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TripPoint {
    /// Trips with positive values, by tensor.
    pub trips: Vec<(Trip, f64)>,
}

impl TripPoint {
    /// The point of an LP solution.
    pub fn new(columns: &mut dyn Iterator<Item = (Trip, f64)>) -> Self {
        let mut trips: Vec<_> = columns.filter(|c| c.1 > ZERO).collect();
        trips.sort_by(|a, b| a.0.cmp(&b.0));
        TripPoint { trips }
    }

    /// Page-outs by tensor.
    pub(super) fn leaves(&self, poet: &PoetGraph) -> Vec<f64> {
        let mut out = vec![0.0; poet.len()];
        for (trip, x) in self.trips.iter().filter(|t| t.0.leaves.is_some()) {
            out[trip.node as usize] += x;
        }
        out
    }

    /// Recomputations, and what is in memory when each stage starts.
    pub(super) fn fractional(&self, poet: &PoetGraph) -> FractionalPoint {
        self.builder(poet).finish()
    }

    fn builder(&self, poet: &PoetGraph) -> PointBuilder {
        let mut point = PointBuilder::new(poet.len());
        for (trip, x) in &self.trips {
            let i = trip.node as usize;
            for stretch in &trip.stretches {
                let [start, end] = [stretch.start, stretch.end].map(|stage| stage as usize);
                if stretch.is_computed_again(trip.node, 0, u32::MAX) {
                    point.add_recomputed(i, start, *x);
                }
                point.add_retained(i, start + 1..end + 1, *x);
            }
        }
        point
    }

    /// Sets of a schedule near the point: tensors that it retains, and those that it pages out, by
    /// more than a threshold, shape `n x n`; in general more than fits, but a schedule if the point
    /// is one.
    pub fn rounded(&self, poet: &PoetGraph, threshold: f64) -> BitMatrix {
        let point = self.fractional(poet);
        let leaves = self.leaves(poet);
        let is_stored = |i: usize| leaves[i] > threshold;
        let mut sets = kept(&poet.graph, &point, threshold);
        for i in (0..poet.len()).filter(|i| is_stored(*i)) {
            sets.set(0, i, true);
            for (stages, share) in point.retained_of(i).over(0..poet.len() as u32) {
                if share > threshold {
                    stages.for_each(|t| sets.set(t as usize, i, true));
                }
            }
        }
        sets
    }

    /// The trips of each tensor, as ranges into `trips`.
    fn by_tensor(&self, poet: &PoetGraph) -> Vec<Range<usize>> {
        by_tensor(&self.trips, poet.len(), |trip| trip.node)
    }

    /// Violated rows of the program.
    pub(super) fn violated(
        &self,
        poet: &PoetGraph,
        limits: &RowLimits<'_, PoetRow>,
    ) -> Vec<PoetRow> {
        let mut rows = self.violated_inputs(poet, limits.tolerance);
        rows.extend(self.violated_once());
        rows.extend(self.violated_ends(poet));
        rows.retain(|row| !(limits.known)(row));
        let most = (poet.graph.capacity as f64 + limits.overflow) * (1.0 + TOLERANCE);
        let memory = self.violated_memory(poet, 0, most, limits.per_group, limits.known);
        rows.extend(memory.into_iter().take(limits.resource_rows));
        rows
    }

    /// Recomputations by tensor and stage.
    fn made(&self) -> BTreeMap<(u32, u32), f64> {
        let mut made = BTreeMap::new();
        for (trip, x) in &self.trips {
            for stretch in &trip.stretches {
                if stretch.is_computed_again(trip.node, 0, u32::MAX) {
                    *made.entry((trip.node, stretch.start)).or_insert(0.0) += x;
                }
            }
        }
        made
    }

    /// Rows of recomputations whose inputs are not all there, or that come without their parents.
    fn violated_inputs(&self, poet: &PoetGraph, tolerance: f64) -> Vec<PoetRow> {
        let (graph, n) = (&poet.graph, poet.len());
        let tensors = self.by_tensor(poet);
        let made = self.made();
        let mut found = Vec::new();
        for (&(node, stage), &share) in &made {
            if let Some(parent) = graph.parent[node as usize] {
                let with = made.get(&(parent, stage)).copied().unwrap_or(0.0);
                if with < share - tolerance {
                    found.push(PoetRow::Base(Row::Parent { stage, node }));
                }
            }
            let event = event(n, stage, node);
            for &input in &graph.needs[node as usize] {
                let own = self.trips[tensors[input as usize].clone()].iter();
                let there = own.map(|(trip, x)| {
                    let all = trip.stretches.iter();
                    x * all.filter(|s| s.is_at(n, input, event)).count() as f64
                });
                if there.sum::<f64>() < share - tolerance {
                    found.push(PoetRow::Base(Row::Input { stage, node, input }));
                }
            }
        }
        found
    }

    /// Page-ins of what is there.
    fn violated_once(&self) -> Vec<PoetRow> {
        let mut found = Vec::new();
        for own in self.trips.chunk_by(|a, b| a.0.node == b.0.node) {
            let node = own[0].0.node;
            let stretches = || {
                own.iter()
                    .flat_map(|(trip, x)| trip.stretches.iter().map(move |s| (s, *x)))
            };
            let mut stages: Vec<u32> = stretches()
                .filter(|(s, _)| s.is_paged)
                .map(|(s, _)| s.start)
                .collect();
            stages.sort_unstable();
            stages.dedup();
            for stage in stages {
                let there = stretches().filter(|(s, _)| s.start == stage || s.crosses(stage));
                if there.map(|(_, x)| x).sum::<f64>() > 1.0 + TOLERANCE {
                    found.push(PoetRow::Once { stage, node });
                }
            }
        }
        found
    }

    /// Ends, in the stage of a page-out, with readers that do not run there.
    fn violated_ends(&self, poet: &PoetGraph) -> Vec<PoetRow> {
        let made = self.made();
        let mut ends: BTreeMap<(u32, u32, u32), f64> = BTreeMap::new();
        let mut is_last = std::collections::BTreeSet::new();
        for (trip, x) in &self.trips {
            for stretch in trip.stretches.iter().filter(|s| s.reader < s.end) {
                let key = (trip.node, stretch.end, stretch.reader);
                *ends.entry(key).or_insert(0.0) += x;
                if trip.leaves == Some(stretch.end) {
                    is_last.insert(key);
                }
            }
        }
        let runs = |reader: u32, stage: u32| made.get(&(reader, stage)).copied().unwrap_or(0.0);
        let is_violated = |key: &(u32, u32, u32)| {
            let share = ends.get(key).copied().unwrap_or(0.0);
            share > runs(key.2, key.1) + TOLERANCE && poet.pages[key.0 as usize].is_some()
        };
        let found = is_last.into_iter().filter(is_violated);
        let row = |(node, stage, reader)| PoetRow::Ends {
            stage,
            node,
            reader,
        };
        found.map(row).collect()
    }

    /// Events at which the memory exceeds `limit_bytes`, worst first, at most `per_stage` in a
    /// stage.
    fn violated_memory(
        &self,
        poet: &PoetGraph,
        gauge: u32,
        limit_bytes: f64,
        per_stage: usize,
        known: &dyn Fn(&PoetRow) -> bool,
    ) -> Vec<PoetRow> {
        let n = poet.len();
        let measure = &poet.graph.gauges[gauge as usize];
        let mut changes: Vec<(u32, f64)> = Vec::new();
        let mut scratch: Vec<(u32, f64)> = Vec::new();
        for (trip, x) in &self.trips {
            let i = trip.node as usize;
            let workspace = measure.working_again[i] - measure.bytes[i];
            for stretch in &trip.stretches {
                let [first, last] = stretch.memory(n, trip.node);
                let held = measure.bytes[i] as f64 * x;
                changes.extend([(first, held), (last + 1, -held)]);
                if workspace > 0 && stretch.is_computed_again(trip.node, 0, u32::MAX) {
                    scratch.push((event(n, stretch.start, trip.node), workspace as f64 * x));
                }
            }
        }
        for (stage, working) in (0..n as u32).zip(&measure.working) {
            scratch.push((event(n, stage, stage), *working as f64));
        }
        changes.sort_by_key(|c| c.0);
        scratch.sort_by_key(|s| s.0);
        // Events at which anything changes, or has scratch memory of its own.
        let mut events: Vec<u32> = changes.iter().chain(&scratch).map(|c| c.0).collect();
        events.sort_unstable();
        events.dedup();
        let (mut changes, mut scratch) = (changes.iter().peekable(), scratch.iter().peekable());
        let mut load = 0.0;
        let mut found: Vec<(f64, u32, u32)> = Vec::new();
        let made = self.made();
        for event in events {
            while let Some((_, change)) = changes.next_if(|c| c.0 <= event) {
                load += change;
            }
            let mut here = load;
            while let Some((_, bytes)) = scratch.next_if(|s| s.0 <= event) {
                here += bytes;
            }
            let (stage, node) = (event / n as u32, event % n as u32);
            let row = Row::Memory { stage, node, gauge };
            freed_terms(poet, &row, |reader, stage, worth| {
                here += worth as f64 * made.get(&(reader, stage)).copied().unwrap_or(0.0);
            });
            if here > limit_bytes && node <= stage {
                found.push((here, stage, node));
            }
        }
        let row = |stage: u32, node: u32| PoetRow::Base(Row::Memory { stage, node, gauge });
        found.retain(|(_, stage, node)| !known(&row(*stage, *node)));
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let mut taken = vec![0; n];
        found.retain(|(_, stage, _)| {
            let taken = &mut taken[*stage as usize];
            *taken += 1;
            *taken <= per_stage
        });
        found
            .into_iter()
            .map(|(_, stage, node)| row(stage, node))
            .collect()
    }

    /// Violated cuts.
    pub(super) fn cuts(&self, poet: &PoetGraph, settings: &SeparationSettings) -> Vec<PoetRow> {
        let mut rows = self.path_cuts(poet, settings);
        if settings.resource_cuts {
            for (gauge, measure) in poet.graph.gauges.iter().enumerate().skip(1) {
                let most = measure.capacity as f64 * (1.0 + ROUNDED_VIOLATION);
                let rounded = self.violated_memory(poet, gauge as u32, most, 1, &|_| false);
                rows.extend(rounded.into_iter().take(ROUNDED_LIMIT));
            }
        }
        rows
    }

    /// Violated path cuts, reader by reader: what is paged in before it counts as held before.
    fn path_cuts(&self, poet: &PoetGraph, settings: &SeparationSettings) -> Vec<PoetRow> {
        let mut base = self.builder(poet);
        let mut arrivals: Vec<(u32, u32, f64)> = Vec::new();
        for (trip, x) in &self.trips {
            let paged = trip.stretches.iter().filter(|s| s.is_paged);
            arrivals.extend(paged.map(|s| (s.start, trip.node, *x)));
        }
        arrivals.sort_by_key(|a| (a.0, a.1));
        let mut found = Vec::new();
        let mut next = arrivals.iter().peekable();
        let mut point = base.clone().finish();
        for reader in 0..poet.len() as u32 {
            let before = base.parts();
            while let Some((stage, node, x)) = next.next_if(|a| a.0 < reader) {
                let stages = *node as usize + 1..*stage as usize + 1;
                base.add_retained(*node as usize, stages, *x);
            }
            if base.parts() > before {
                point = base.clone().finish();
            }
            found.extend(separate_for(&poet.graph, &point, reader, settings));
        }
        found.sort_by(|x, y| y.score.total_cmp(&x.score).then_with(|| x.cut.cmp(&y.cut)));
        found.truncate(settings.limit);
        let cuts = found.into_iter().map(|found| found.cut);
        cuts.map(|cut| PoetRow::Base(Row::Path(cut))).collect()
    }
}
