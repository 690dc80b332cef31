//! Models that are the program of orders and addresses together.

use super::apart::{Apart, join, root};
use super::arena::SizesByItems;
use super::graph::TimedGraph;
use super::intervals::Moments;
use super::order::rest;
use super::place::{Addresses, neighbours, placed, restrict};
use super::roles::Roles;
use super::rows::{OllaRow, Reading};
use super::steps::StepsRead;
use super::{Effort, RecognisedOlla};
use crate::order::{OrderSearch, OrderSettings};
use crate::place::PlaceSettings;
use remat_instances::order::Variant;
use remat_instances::place::{Buffer, Lives};
use remat_lp::Model;
use remat_search::recognise::{Integers, integers_below};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Shares of a time limit for the order, for its steps, and for addresses.
const SHARES: [f64; 3] = [0.3, 0.1, 0.2];
/// Limit on other orders that are placed if the first one lies higher than the bound.
const ORDERS: usize = 8;
/// Nodes of the search for addresses of each other order.
const NODES_FOR_EACH: u64 = 200_000;

/// Solves a model that is the joint program, up to names, order and scale of rows and columns, and
/// further ones; `None` for other models.
///
/// The bound is the bound of all orders of a graph whose sizes follow from rows of an arena: see
/// [`SizesByItems`]. The point is an order on the steps of the model; the rows give the pairs that
/// must lie apart then, and the items are placed.
pub(crate) fn joint_program(model: &Model, effort: &Effort<'_>) -> Option<RecognisedOlla> {
    let begun = Instant::now();
    let reading = Reading::new(model)?;
    let addresses = Addresses::new(&reading)?;
    let roles = Roles::new(&reading)?;
    let apart = Apart::new(&reading, &roles, &addresses);
    let has_pairs = apart.rows.iter().any(|row| row.items.is_some());
    (!roles.made.is_empty() && has_pairs).then_some(())?;
    let steps = StepsRead::new(&roles, &apart.columns_of_steps(&roles))?;
    let sizes = SizesByItems::new(&roles, &addresses, &apart, &steps);
    let timed = TimedGraph::new(&roles, &steps, &sizes, &reading.is_one, model.name())?;
    let is_graph = timed.tensors.iter().any(|t| !t.readers.is_empty());
    is_graph.then_some(())?;
    let share = |shares: &[f64]| {
        let share = shares.iter().sum();
        effort.time_limit.map(|limit| limit.mul_f64(share))
    };
    let search = OrderSearch::new(&timed.graph)
        .variant(Variant::Free)
        .settings(OrderSettings {
            time_limit: share(&SHARES[..1]),
            begun: Some(begun),
            threads: effort.threads,
            seed: effort.seed,
            ..OrderSettings::default()
        })
        .listener(effort.listener);
    let outcome = search.run().ok()?;
    let largest = addresses.items.iter().map(|item| item.size);
    let least_peak = largest.fold(outcome.bound_bytes as f64 / timed.scale, f64::max);
    let joint = Joint {
        reading: &reading,
        addresses: &addresses,
        apart: &apart,
        timed: &timed,
        effort,
        target: least_peak.max(reading.lower[reading.peak as usize]),
    };
    let is_after = |shares: &[f64]| {
        effort.listener.is_interrupted()
            || share(shares).is_some_and(|limit| begun.elapsed() >= limit)
    };
    let target = (joint.target * timed.scale) as u64;
    let is_over = || is_after(&SHARES[..2]);
    let step_of = timed.packed(&outcome.order, target, effort.seed, &is_over);
    let limit = share(&SHARES[2..]);
    let mut best = step_of.and_then(|step_of| joint.point(&step_of, limit, None));
    if best.as_ref().is_some_and(|x| joint.is_above(x)) {
        let others = search.alternatives(&outcome.order, outcome.peak_bytes(), ORDERS);
        for order in others.unwrap_or_default() {
            if is_after(&SHARES) || !best.as_ref().is_some_and(|x| joint.is_above(x)) {
                break;
            }
            let Some(step_of) = timed.one_by_one(&order) else {
                continue;
            };
            let turn = limit.map(|limit| limit / ORDERS as u32);
            let other = joint.point(&step_of, turn, Some(NODES_FOR_EACH));
            let peak = |x: &Vec<f64>| x[reading.peak as usize];
            if other.as_ref().map_or(f64::INFINITY, peak)
                < best.as_ref().map_or(f64::INFINITY, peak)
            {
                best = other;
            }
        }
    }
    Some(RecognisedOlla {
        program: "olla",
        nodes: timed.graph.len(),
        peak: reading.peak,
        least_peak,
        point: best,
    })
}

/// A model that is the joint program, as far as it was read.
struct Joint<'a> {
    reading: &'a Reading<'a>,
    addresses: &'a Addresses,
    apart: &'a Apart,
    timed: &'a TimedGraph,
    effort: &'a Effort<'a>,
    /// A peak that no point can improve.
    target: f64,
}

impl Joint<'_> {
    fn is_above(&self, x: &[f64]) -> bool {
        x[self.reading.peak as usize] > self.target + 1e-9 * self.target.max(1.0)
    }

    /// The point for steps of operators, with the lowest addresses that are found.
    fn point(
        &self,
        step_of: &[u32],
        time_limit: Option<Duration>,
        nodes: Option<u64>,
    ) -> Option<Vec<f64>> {
        let mut x = rest(self.reading);
        self.timed.fill(step_of, &mut x);
        let items = &self.addresses.items;
        let mut parent: Vec<u32> = (0..items.len() as u32).collect();
        let links = self.addresses.links.iter();
        for link in links.filter(|link| x[link.column as usize] > 0.5) {
            join(&mut parent, link.items.0, link.items.1);
        }
        // Items with one address are one buffer.
        let group: Vec<u32> = (0..items.len() as u32)
            .map(|i| root(&mut parent, i))
            .collect();
        let mut sizes = vec![0.0f64; items.len()];
        for (item, group) in items.iter().zip(&group) {
            let size = &mut sizes[*group as usize];
            *size = size.max(item.size);
        }
        let rows = self.apart.rows.iter().filter(|row| row.is_apart_at(&x));
        let pairs = rows.filter_map(|row| row.items);
        let pairs = pairs.chain(self.addresses.always.iter().copied());
        let pairs = pairs.map(|(i, j)| {
            let (i, j) = (group[i as usize], group[j as usize]);
            (i.min(j), i.max(j))
        });
        let pairs: BTreeSet<(u32, u32)> = pairs.filter(|(i, j)| i != j).collect();
        let Integers { values, scale } = integers_below(&sizes)?;
        let moments = Moments::new(&neighbours(items.len(), &pairs));
        let mut buffers = moments.buffers(&values);
        for (item, group) in items.iter().zip(&group) {
            restrict(self.reading, item, scale, &mut buffers[*group as usize]);
        }
        // An item in the group of another has no buffer of its own.
        let is_own = |i: &usize| group[*i] == *i as u32;
        let own: Vec<usize> = (0..items.len()).filter(is_own).collect();
        let buffers: Vec<Buffer> = own.iter().map(|i| buffers[*i].clone()).collect();
        let settings = PlaceSettings {
            capacity: Some((self.target * scale) as u64),
            time_limit,
            nodes,
            ..PlaceSettings::default()
        };
        let outcome = placed(&Lives::new(buffers).ok()?, settings, self.effort)?;
        let mut offsets = vec![0.0; items.len()];
        for (i, offset) in own.iter().zip(outcome.placement.offsets()) {
            offsets[*i] = *offset as f64 / scale;
        }
        let offset = |i: u32| offsets[group[i as usize] as usize];
        self.addresses.fill(self.reading, &offset, &mut x);
        self.switch(&mut x);
        Some(x)
    }

    /// Sets switches of pair rows without items, if their rows allow it: a tensor without memory is
    /// no item, and lies apart from all.
    fn switch(&self, x: &mut [f64]) {
        let wanting: Vec<u32> = (0..)
            .zip(&self.apart.rows)
            .filter(|(_, row)| row.items.is_none() && row.is_apart_at(x))
            .map(|(r, _)| r)
            .collect();
        if wanting.is_empty() {
            return;
        }
        let mut of = vec![Vec::new(); x.len()];
        let rows = (0..).zip(&self.reading.rows);
        for (r, row) in rows.filter(|(_, row)| row.entries.len() == 3) {
            let binary = row
                .entries
                .iter()
                .filter(|e| self.reading.is_binary[e.0 as usize]);
            binary.for_each(|e| of[e.0 as usize].push(r));
        }
        for row in wanting.iter().map(|r| &self.apart.rows[*r as usize]) {
            let is_set = |x: &[f64]| row.switches.iter().any(|s| x[*s as usize] > 0.5);
            for &s in &row.switches {
                if is_set(x) {
                    break;
                }
                x[s as usize] = 1.0;
                let holds = |r: &usize| {
                    let row: &OllaRow = &self.reading.rows[*r];
                    let sum: f64 = row.entries.iter().map(|e| e.1 * x[e.0 as usize]).sum();
                    sum <= row.upper + 1e-9 * row.upper.abs().max(1.0)
                };
                if !of[s as usize].iter().all(holds) {
                    x[s as usize] = 0.0;
                }
            }
        }
    }
}
