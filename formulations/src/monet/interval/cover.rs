//! Cover cuts on memory rows: what does not fit together is not there together.
//!
//! At a moment, tensors are there or not, and so is a run with a certain workspace: a knapsack. Where budgets are a few large
//! tensors wide, the relaxation stores most of each; a *cover*, a set that does not fit, has one missing (Balas 1975).

use super::rows::{Kind, Term, Which, start};
use super::{Graph, PathCut, Point, Row};

/// What lifting may add to a cover that is not violated by itself.
const BY_LIFTING: f64 = 0.6;
/// Covers for each stage in a round.
const PER_STAGE: usize = 3;

/// An element of a knapsack: its number, its bytes, how much of it is missing at the point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub node: u32,
    pub bytes: i64,
    pub missing: f64,
}

/// A set of items of more than `room` bytes with as little missing as a greedy choice finds, and what is missing of it; no
/// item can be left out. `None` if all fit, or if more than `most` is missing.
pub(super) fn cover(items: &mut Vec<Item>, room: i64, most: f64) -> Option<(Vec<u32>, f64)> {
    if room < 0 {
        return Some((Vec::new(), 0.0));
    }
    items.retain(|i| i.bytes > 0 && i.missing < most);
    let rate = |i: &Item| i.missing.max(0.0) / i.bytes as f64;
    items.sort_by(|a, b| {
        let order = rate(a).total_cmp(&rate(b)).then(b.bytes.cmp(&a.bytes));
        order.then(a.node.cmp(&b.node))
    });
    let mut bytes = 0;
    let mut taken: Vec<Item> = Vec::new();
    for i in items.iter() {
        bytes += i.bytes;
        taken.push(*i);
        if bytes > room {
            break;
        }
    }
    if bytes <= room {
        return None;
    }
    // Leave out what the cover does without, the most missing first, small ones before large ones.
    taken.sort_by(|a, b| {
        let order = b.missing.total_cmp(&a.missing).then(a.bytes.cmp(&b.bytes));
        order.then(a.node.cmp(&b.node))
    });
    taken.retain(|i| {
        let spare = bytes - i.bytes > room;
        if spare {
            bytes -= i.bytes;
        }
        !spare
    });
    let missing: f64 = taken.iter().map(|i| i.missing.max(0.0)).sum();
    let mut nodes: Vec<u32> = taken.iter().map(|i| i.node).collect();
    nodes.sort_unstable();
    (missing < most).then_some((nodes, missing))
}

/// Violated covers of memory rows, by how much: at every event of forward nodes that is nearly full, with and without the
/// node's run, and at every backward node.
pub(super) fn separate(graph: &Graph, point: &Point, violation: f64) -> Vec<(f64, Row)> {
    let mut found = Vec::new();
    let mut items = Vec::new();
    for t in 0..graph.stages {
        let bytes = |i: usize| graph.bytes[i];
        let mut load: f64 = (0..graph.columns)
            .map(|i| bytes(i) as f64 * point.stored(t, i))
            .sum();
        let mut best: Vec<(f64, Row)> = Vec::new();
        let mut note = |value: f64, row: Row| {
            if value > violation {
                best.push((value, row));
            }
        };
        for j in 0..graph.columns {
            let there = |i: usize| {
                if i < j {
                    point.stored(t + 1, i) + point.held(t, i)
                } else {
                    point.stored(t, i)
                }
            };
            let room = graph.room[t];
            if load > 0.7 * room as f64 {
                items.clear();
                items.extend((0..graph.columns).map(|i| Item {
                    node: i as u32,
                    bytes: bytes(i),
                    missing: 1.0 - there(i),
                }));
                let most = 1.0 + BY_LIFTING - violation;
                if let Some((nodes, missing)) = cover(&mut items, room, most) {
                    let lifting = Lifting::new(graph, &nodes, None);
                    let beside = lifting.beside(graph, &nodes, None);
                    let more: f64 = beside.map(|(i, c)| c as f64 * there(i as usize)).sum();
                    if 1.0 - missing + more > violation {
                        note(
                            1.0 - missing + more,
                            Row::cover(graph, t as u32, Some(j as u32), &nodes, None),
                        );
                    }
                }
            }
            let run = point.made(t, j);
            if run > violation {
                let own = bytes(j) + graph.passing_bytes(j as u32);
                let ways = || point.ways_with_values(j as u32, t as u32);
                let mut scratch: Vec<i64> = ways().map(|w| w.0.way(graph).workspace).collect();
                scratch.sort_unstable();
                scratch.dedup();
                for w in scratch {
                    let run: f64 = ways()
                        .filter(|(c, _)| c.way(graph).workspace >= w)
                        .map(|(_, x)| x)
                        .sum();
                    let passing = &graph.passing[j];
                    items.clear();
                    items.extend(
                        (0..graph.columns)
                            .filter(|&i| i != j && passing.binary_search(&(i as u32)).is_err())
                            .map(|i| Item {
                                node: i as u32,
                                bytes: bytes(i),
                                missing: 1.0 - there(i),
                            }),
                    );
                    let left = room - own - w;
                    let most = run + BY_LIFTING - violation;
                    if let Some((nodes, missing)) = cover(&mut items, left, most) {
                        let lifting = Lifting::new(graph, &nodes, Some(own + w));
                        let beside = lifting.beside(graph, &nodes, Some(j as u32));
                        let more: f64 = beside.map(|(i, c)| c as f64 * there(i as usize)).sum();
                        if run - missing + more > violation {
                            let row = Row::cover(graph, t as u32, Some(j as u32), &nodes, Some(w));
                            note(run - missing + more, row);
                        }
                    }
                }
            }
            let after = point.stored(t + 1, j) + point.held(t, j);
            load += bytes(j) as f64 * (after - point.stored(t, j));
        }
        if t > 0 {
            let choices = &graph.choices[t];
            let several = choices.len() > 1;
            for least in choices.iter().map(|c| c.workspace) {
                let with: f64 = choices
                    .iter()
                    .zip(&point.choices[t])
                    .filter(|(c, _)| c.workspace >= least)
                    .map(|(_, x)| x)
                    .sum();
                let with = if several { with } else { 1.0 };
                items.clear();
                items.extend((0..graph.columns).map(|i| Item {
                    node: i as u32,
                    bytes: bytes(i),
                    missing: 1.0 - point.stored(t + 1, i) - point.held(t, i),
                }));
                let room = graph.backward_room[t] - least;
                let most = with + BY_LIFTING - violation;
                if let Some((nodes, missing)) = cover(&mut items, room, most) {
                    let run = run_of(graph, t as u32, None, Some(least));
                    let lifting = Lifting::new(graph, &nodes, run);
                    let beside = lifting.beside(graph, &nodes, None);
                    let there = |i: usize| point.stored(t + 1, i) + point.held(t, i);
                    let more: f64 = beside.map(|(i, c)| c as f64 * there(i as usize)).sum();
                    if with - missing + more > violation {
                        note(
                            with - missing + more,
                            Row::cover(graph, t as u32, None, &nodes, Some(least)),
                        );
                    }
                }
            }
        }
        best.sort_by(|x, y| y.0.total_cmp(&x.0).then_with(|| x.1.cmp(&y.1)));
        best.dedup_by(|x, y| x.1.terms == y.1.terms);
        best.truncate(PER_STAGE);
        found.extend(best);
    }
    found
}

/// Coefficients of what is not in a cover (Balas 1975): `h` for what is as large as the `h` largest of it together.
///
/// *Proof.* Of the items beside the cover take some with coefficients `H` in all, and of the cover as many as make the left side
/// its number of items: all but `H` of them, or more. The former are as large as the `H` largest of the cover, the latter as the
/// smallest of the rest, so together they are as large as the cover, and do not fit.
pub(super) struct Lifting {
    /// Sums of the largest items.
    sums: Vec<i64>,
}

impl Lifting {
    /// For a cover of tensors, and perhaps one item more of so many bytes.
    pub fn new(graph: &Graph, together: &[u32], run: Option<i64>) -> Lifting {
        let sizes = together.iter().map(|&i| graph.bytes[i as usize]);
        let mut sizes: Vec<i64> = sizes.chain(run).collect();
        sizes.sort_unstable();
        // An item that makes room is none.
        if sizes.first().is_none_or(|least| *least <= 0) {
            sizes.clear();
        }
        let mut sum = 0;
        let sums = sizes.iter().rev().map(|bytes| {
            sum += bytes;
            sum
        });
        Lifting {
            sums: sums.collect(),
        }
    }

    /// The coefficient of an item.
    pub fn count(&self, bytes: i64) -> i64 {
        self.sums.partition_point(|sum| *sum <= bytes) as i64
    }

    /// The tensors beside a cover that count, and how often; not those of the passing list of `running`, nor itself.
    pub fn beside<'a>(
        &'a self,
        graph: &'a Graph,
        together: &'a [u32],
        running: Option<u32>,
    ) -> impl Iterator<Item = (u32, i64)> + 'a {
        let by_run = move |i: &u32| {
            let passing = |j: u32| graph.passing[j as usize].binary_search(i).is_ok();
            running.is_some_and(|j| *i == j || passing(j))
        };
        let others = 0..graph.columns as u32;
        let others = others.filter(move |i| together.binary_search(i).is_err() && !by_run(i));
        others
            .map(|i| (i, self.count(graph.bytes[i as usize])))
            .filter(|o| o.1 > 0)
    }
}

/// Bytes of the run or choice that is an item of a cover, if there is one.
fn run_of(graph: &Graph, stage: u32, node: Option<u32>, scratch: Option<i64>) -> Option<i64> {
    let bytes = scratch?;
    match node {
        Some(j) => Some(graph.bytes[j as usize] + graph.passing_bytes(j) + bytes),
        None => {
            let choices = graph.choices[stage as usize].iter();
            let mut less = choices.filter(|c| c.workspace < bytes);
            less.next().map(|_| bytes)
        }
    }
}

impl Row {
    /// A cover: the tensors of `together` do not fit at the turn of `node` in a stage, (16), or while its backward node runs,
    /// (18), where no node is given; with `scratch` not beside the run of `node`, its passing list and a workspace of so many
    /// bytes (then none of them is on that list), (17), or beside a choice with so large a workspace. So one is missing:
    ///
    /// ```text
    /// sum_{together} there_i + [runs with such a workspace]  <=  their number - 1
    /// ```
    ///
    /// A tensor is there, once, if it is stored or held ([`Row::memory`]). What is not in the cover is lifted into it
    /// ([`Lifting`]): it counts as often as its bytes allow, on the same side.
    pub fn cover(
        graph: &Graph,
        stage: u32,
        node: Option<u32>,
        together: &[u32],
        scratch: Option<i64>,
    ) -> Row {
        let mut terms = Vec::new();
        let mut right = 1 - together.len() as i64;
        let turn = node.unwrap_or(graph.columns as u32);
        let mut there = |i: u32, count: i64| {
            graph.stored(&mut terms, i, stage + u32::from(i < turn), -count);
            if i < turn {
                graph.held(&mut terms, i, stage, -count);
            }
        };
        for &i in together {
            there(i, 1);
        }
        let run = run_of(graph, stage, node, scratch);
        let lifting = Lifting::new(graph, together, run);
        for (i, count) in lifting.beside(graph, together, node.filter(|_| scratch.is_some())) {
            there(i, count);
        }
        if let Some(bytes) = scratch {
            let choices = &graph.choices[stage as usize];
            let with = choices.iter().enumerate();
            let with = with.filter(|(_, c)| c.workspace >= bytes);
            if let Some(node) = node {
                right -= 1;
                terms.push(start(node, stage, stage, Which::AtLeast(bytes), -1));
            } else if choices.iter().any(|c| c.workspace < bytes) {
                right -= 1;
                terms.extend(with.map(|(way, _)| Term::Choice {
                    stage,
                    way: way as u32,
                    coefficient: -1,
                }));
            }
        }
        Row {
            kind: Kind::Cover,
            right,
            terms,
        }
    }

    /// The cover of a path memory cut: where `j` is computed in the window, the tensors of `together`, with `need_j` more than
    /// the largest room of its stages from `since` on, do not all stay throughout.
    ///
    /// ```text
    /// sum_{together} (S[b',k] - sum_{t=since..b'-1} R[t,k]) + due  <=  their number
    /// due = sum_{ways} M[b,p] - sum_{stored} S[a,i] - sum_{t=a..since-1} R[t,j]
    /// ```
    ///
    /// Every summand of the first sum is at most 1, so the row holds where `due` is 0 or less. It is a cover of the knapsack that
    /// [`Row::path_memory`] is, with `due` as an item of `need_j` bytes, and lifted like any other: summands below 0 only help.
    pub fn path_cover(graph: &Graph, cut: &PathCut, since: u32, together: &[u32]) -> Row {
        let (a, b, j) = (cut.from, cut.reader, cut.source);
        let mut terms = Vec::new();
        let mut stays = |k: u32, count: i64| {
            let upto = b + u32::from(k < j);
            graph.stored(&mut terms, k, upto, -count);
            if since < upto {
                terms.push(start(k, since, upto - 1, Which::All, count));
            }
        };
        for &k in together {
            stays(k, 1);
        }
        let lifting = Lifting::new(graph, together, Some(graph.need_bytes(j)));
        for (k, count) in lifting.beside(graph, together, Some(j)) {
            stays(k, count);
        }
        for &i in &cut.stored {
            graph.stored(&mut terms, i, a, 1);
        }
        if a < since {
            terms.push(start(j, a, since - 1, Which::All, 1));
        }
        let mut row = Row {
            kind: Kind::Cover,
            right: -(together.len() as i64),
            terms,
        };
        row.require_ways(graph, b, &cut.ways);
        row
    }
}
