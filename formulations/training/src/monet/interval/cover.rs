//! Lifted covers of memory rows: tensors that do not fit together are not there together.
//!
//! At a moment, each tensor is there or not, and so is a run with a certain workspace: a knapsack
//! ([`remat_solver::price::cover`]). Tensors that every choice of a stage reads are there in every
//! schedule from their own turn on, so they are no items.

use super::rows::RowKind;
use super::{Derivation, MonetGraph, PathCut, Point, Row};
use crate::life::{Term, Which};
use remat_solver::price::cover::{self, Cover, CoverItem, VIOLATION};
use std::collections::BTreeSet;

/// Covers for each stage in a round.
const PER_STAGE: usize = 3;
/// Covers are sought where more than this share of the memory is in use.
const FULL: f64 = 0.7;
/// Covers beside a run are sought if the run's value at the point is above this one.
const RUN: f64 = 0.03;

/// The turn of a node in a stage, or of the stage's backward node if no node is given, at which
/// tensors may be there. If `scratch` is given, a run or a choice with a workspace of at least so
/// many bytes is an item too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The stage.
    pub stage: u32,
    /// The node whose turn it is.
    pub node: Option<u32>,
    /// The least workspace of the run that is an item.
    pub scratch: Option<i64>,
}

/// Items of a moment, and their room.
struct MomentKnapsack<'a> {
    graph: &'a MonetGraph,
    /// By stage, the tensors that every choice reads.
    read: Vec<BTreeSet<u32>>,
    items: Vec<CoverItem>,
}

impl<'a> MomentKnapsack<'a> {
    fn new(graph: &'a MonetGraph) -> Self {
        let of_stage = |choices: &Vec<super::Choice>| -> BTreeSet<u32> {
            let first = choices.first().map_or(&[][..], |c| &c.reads);
            let all = |u: &&u32| choices.iter().all(|c| c.reads.contains(u));
            first.iter().filter(all).copied().collect()
        };
        MomentKnapsack {
            graph,
            read: graph.choices.iter().map(of_stage).collect(),
            items: Vec::new(),
        }
    }

    /// Fills the knapsack; returns the room. `there` returns the part of each tensor that is there;
    /// `run` is the value of the run or choice.
    fn fill(&mut self, moment: Moment, run: f64, there: impl Fn(usize) -> f64) -> Option<u64> {
        let MomentKnapsack { graph, read, items } = self;
        let Moment {
            stage,
            node,
            scratch,
        } = moment;
        let n = graph.columns as u32;
        let t = stage as usize;
        let turn = node.unwrap_or(n);
        let bytes = |i: u32| graph.bytes[i as usize];
        let runs = node.filter(|_| scratch.is_some());
        // Charged by the run alone.
        let by_run = |i: u32| {
            let passing = |j: u32| graph.passing[j as usize].binary_search(&i).is_ok();
            runs.is_some_and(|j| i == j || passing(j))
        };
        let is_fixed = |i: u32| i < turn && read[t].contains(&i);
        let fixed = read[t].iter().filter(|i| is_fixed(**i) && !by_run(**i));
        let mut room = match node {
            Some(_) => graph.room[t],
            None => graph.backward_room[t],
        };
        room -= fixed.map(|i| bytes(*i)).sum::<i64>();
        items.clear();
        let free = (0..n).filter(|i| bytes(*i) > 0 && !is_fixed(*i) && !by_run(*i));
        items.extend(free.map(|i| CoverItem {
            name: i,
            bytes: bytes(i) as u64,
            value: there(i as usize),
        }));
        let own = match (scratch, node) {
            (None, _) => 0,
            (Some(scratch), Some(j)) => bytes(j) + graph.passing_bytes(j) + scratch,
            (Some(scratch), None) => {
                // Negative if the choice releases memory.
                let least = graph.choices[t].iter().map(|c| c.workspace).min();
                let least = least.unwrap_or(0);
                room -= least;
                scratch - least
            }
        };
        if own > 0 {
            items.push(CoverItem {
                name: turn,
                bytes: own as u64,
                value: run,
            });
        }
        u64::try_from(room).ok()
    }

    /// The row of a sufficiently violated cover, and its violation.
    fn separate(
        &mut self,
        moment: Moment,
        run: f64,
        there: impl Fn(usize) -> f64,
    ) -> Option<(f64, Row)> {
        let room = self.fill(moment, run, there)?;
        let (share, cover) = cover::separate(&self.items, room, VIOLATION)?;
        Some((share, Row::cover(self.graph, moment, cover)))
    }
}

impl Point {
    /// Violated covers of memory rows, with their violations: at every event of forward nodes that
    /// is nearly full, beside every run, and at every backward node.
    pub fn violated_covers(&self, graph: &MonetGraph) -> Vec<(f64, Row)> {
        let mut found = Vec::new();
        let mut knapsack = MomentKnapsack::new(graph);
        for t in 0..graph.stages {
            let mut best: Vec<(f64, Row)> = Vec::new();
            let bytes = |i: usize| graph.bytes[i] as f64;
            let stored = (0..graph.columns).map(|i| bytes(i) * self.stored(t, i));
            let mut load: f64 = stored.sum();
            let stage = t as u32;
            for j in 0..graph.columns {
                let there = |i: usize| match i < j {
                    true => self.stored(t + 1, i) + self.held(t, i),
                    false => self.stored(t, i),
                };
                let node = Some(j as u32);
                if load > FULL * graph.room[t] as f64 {
                    let moment = Moment {
                        stage,
                        node,
                        scratch: None,
                    };
                    best.extend(knapsack.separate(moment, 0.0, there));
                }
                if self.made(t, j) > RUN {
                    let ways = || self.ways_with_values(j as u32, stage);
                    let scratch = ways().map(|w| w.0.way(graph).workspace);
                    for scratch in scratch.collect::<BTreeSet<i64>>() {
                        let with = ways().filter(|(c, _)| c.way(graph).workspace >= scratch);
                        let run = with.map(|(_, x)| x).sum();
                        let scratch = Some(scratch);
                        let moment = Moment {
                            stage,
                            node,
                            scratch,
                        };
                        best.extend(knapsack.separate(moment, run, there));
                    }
                }
                let after = self.stored(t + 1, j) + self.held(t, j);
                load += bytes(j) * (after - self.stored(t, j));
            }
            let choices = graph.choices[t].iter();
            let sizes: BTreeSet<i64> = choices.map(|c| c.workspace).collect();
            for scratch in sizes.into_iter().filter(|_| t > 0) {
                let ways = graph.choices[t].iter().zip(&self.choices[t]);
                let with = ways.filter(|(c, _)| c.workspace >= scratch);
                let run = with.map(|(_, x)| x).sum();
                let there = |i: usize| self.stored(t + 1, i) + self.held(t, i);
                let moment = Moment {
                    stage,
                    node: None,
                    scratch: Some(scratch),
                };
                best.extend(knapsack.separate(moment, run, there));
            }
            best.sort_by(|x, y| y.0.total_cmp(&x.0).then_with(|| x.1.cmp(&y.1)));
            best.dedup_by(|x, y| x.1.terms == y.1.terms);
            best.truncate(PER_STAGE);
            found.extend(best);
        }
        found
    }
}

impl Row {
    /// A cover of the items of a moment. Tensors are named by their numbers, and so is the run of a
    /// node. Choices with so large a workspace are named by the number of tensors. The run of a
    /// node is charged for its passing list, (17).
    ///
    /// A tensor is there, once, if it is stored or held ([`Row::memory`]).
    fn cover(graph: &MonetGraph, moment: Moment, mut cover: Cover) -> Row {
        let Moment {
            stage,
            node,
            scratch,
        } = moment;
        let turn = node.unwrap_or(graph.columns as u32);
        let mut terms = Vec::new();
        let run = scratch.map(|bytes| (bytes, i64::from(cover.take(turn))));
        for &(i, weight) in &cover.weights {
            let weight = -i64::from(weight);
            graph.stored(&mut terms, i, stage + u32::from(i < turn), weight);
            if i < turn {
                graph.held(&mut terms, i, stage, weight);
            }
        }
        match (run.filter(|r| r.1 > 0), node) {
            (Some((bytes, weight)), Some(node)) => {
                terms.push(Term::start(
                    node,
                    stage,
                    stage,
                    Which::AtLeast(bytes),
                    -weight,
                ));
            }
            (Some((bytes, weight)), None) => {
                let choices = graph.choices[stage as usize].iter().enumerate();
                let with = choices.filter(|(_, c)| c.workspace >= bytes);
                terms.extend(with.map(|(way, _)| Term::choice(stage, way as u32, -weight)));
            }
            (None, _) => {}
        }
        let right = -i64::from(cover.most);
        let run = run.map_or(0, |run| run.1 as u32);
        let derivation = Derivation::Cover { moment, run, cover };
        Row::new(RowKind::Cover, right, terms, derivation)
    }

    /// The cover of a path memory cut, and its violation. Its items are the tensors that stay, `D_k
    /// = S[b',k] - sum_{t=since..b'-1} R[t,k]`, and the computation of `j` in the window, whose
    /// value is
    ///
    /// ```text
    /// The cover of a path memory cut, and its violation. Its items are the tensors that stay,
    /// `D_k = S[b',k] - sum_{t=since..b'-1} R[t,k]`, and the computation of `j` in the window,
    /// whose value is
    /// All values are integers and at most 1. Items with value 1 fit together in the largest room
    /// of the window's stages, and smaller values only lower the left side. `stays` returns `D_k`
    /// at a point.
    pub(super) fn path_cover(
        graph: &MonetGraph,
        cut: &PathCut,
        since: u32,
        due: f64,
        stays: impl Fn(u32) -> f64,
    ) -> Option<(f64, Row)> {
        let (a, b, j) = (cut.from, cut.reader, cut.source);
        let passing = &graph.passing[j as usize];
        let upto = |k: u32| b + u32::from(k < j);
        let may_stay = |k: &u32| {
            let own = *k == j || passing.binary_search(k).is_ok();
            !own && graph.bytes[*k as usize] > 0 && graph.last_stored(*k) >= upto(*k)
        };
        let staying = (0..graph.columns as u32)
            .filter(may_stay)
            .map(|k| CoverItem {
                name: k,
                bytes: graph.bytes[k as usize] as u64,
                value: stays(k),
            });
        let needed = u64::try_from(graph.need_bytes(j)).ok().filter(|b| *b > 0)?;
        let own = CoverItem {
            name: j,
            bytes: needed,
            value: due,
        };
        let items: Vec<CoverItem> = staying.chain([own]).collect();
        let rooms = (since..=b).map(|t| graph.room[t as usize]);
        let room = rooms.max().and_then(|room| u64::try_from(room).ok())?;
        let (share, mut cover) = cover::separate(&items, room, VIOLATION)?;
        let weight_due = cover.take(j);
        let due = i64::from(weight_due);
        let mut terms = Vec::new();
        for &(k, weight) in &cover.weights {
            let weight = i64::from(weight);
            graph.stays(&mut terms, k, since, upto(k), -weight);
        }
        for &i in &cut.stored {
            graph.stored(&mut terms, i, a, due);
        }
        if a < since {
            terms.push(Term::start(j, a, since - 1, Which::All, due));
        }
        let right = -i64::from(cover.most);
        let derivation = Derivation::PathCover {
            cut: cut.clone(),
            since,
            due: weight_due,
            cover,
        };
        let mut row = Row::new(RowKind::Cover, right, terms, derivation);
        row.require_ways(graph, b, &cut.ways, due);
        Some((share, row))
    }
}
