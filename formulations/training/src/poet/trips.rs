//! Schedules as trips, and sets of schedules near a fractional point.

use crate::checkmate::interval::{event, kept};
use crate::offload::interval::{Begin, LinkGraph, Stretch, Trip, TripPoint};
use remat_instances::schedule::{BitMatrix, PoetSchedule};

/// The trips of a schedule that executes, without its useless parts, by tensor.
pub fn trips(graph: &LinkGraph, schedule: &PoetSchedule) -> Vec<Trip> {
    let n = graph.len();
    let computed = schedule.schedule.computed.to_bits();
    let retained = schedule.schedule.retained.to_bits();
    let mut out: Vec<Trip> = Vec::new();
    for i in 0..n {
        let leaves = schedule.paged_out[i];
        // The trip that continues with pages.
        let mut paged = None;
        for t in i..n {
            let comes = schedule.paged_in.get(t, i);
            if t > i && retained.get(t, i) || !(computed.get(t, i) || comes) {
                continue;
            }
            let reader_in = |stage: usize| {
                let mut readers = graph.graph.users[i].iter().rev().map(|q| *q as usize);
                readers.find(|q| *q <= stage && computed.get(stage, *q))
            };
            let is_out = |stage: usize| leaves == Some(stage as u32) && stage > t;
            let held = (t + 1..n).take_while(|stage| retained.get(*stage, i));
            let stages = std::iter::once(t).filter(|_| !comes).chain(held);
            let useful = stages.filter(|stage| reader_in(*stage).is_some() || is_out(*stage));
            let Some(end) = useful.last() else {
                continue;
            };
            let places = [i, t, end, reader_in(end).unwrap_or(end)];
            let [node, start, stage, reader] = places.map(|k| k as u32);
            let mut trip = Trip::plain(graph, node, start, stage, reader);
            match paged {
                Some(trip_of_pages) if comes => {
                    let first = event(n, start + 1, 0);
                    let of = |stretch: &Stretch| Stretch {
                        begin: Begin::Fetched {
                            issued: start,
                            read: start,
                        },
                        memory: [first, stretch.memory[1]],
                        readable: first,
                        ..*stretch
                    };
                    let on: &mut Trip = &mut out[trip_of_pages];
                    on.stretches.extend(trip.stretches.iter().map(of));
                }
                _ => {
                    let is_out = leaves.filter(|stage| trip.stretches[0].crosses(*stage));
                    trip.stretches[0].leaves = is_out;
                    paged = paged.or(is_out.map(|_| out.len()));
                    out.push(trip);
                }
            }
        }
    }
    for trip in out.iter_mut().filter(|trip| trip.stretches.len() == 1) {
        trip.stretches[0].leaves = None;
    }
    out
}

/// Sets of a schedule near a point, shape `n x n`: tensors whose retained or paged-out share
/// exceeds a threshold. They generally exceed the budget, but are the sets of a schedule if the
/// point is one.
pub(super) fn rounded(graph: &LinkGraph, point: &TripPoint, threshold: f64) -> BitMatrix {
    let fractional = point.fractional(graph);
    let mut sets = kept(&graph.graph, &fractional, threshold);
    let leaves = point.leaves(graph).into_iter().enumerate();
    for (i, _) in leaves.filter(|(_, share)| *share > threshold) {
        sets.set(0, i, true);
        for (stages, share) in fractional.retained_of(i).over(0..graph.len() as u32) {
            if share > threshold {
                stages.for_each(|t| sets.set(t as usize, i, true));
            }
        }
    }
    sets
}
