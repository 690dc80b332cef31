//! Origins of rows: the parameters of their constructors.

use super::CarriedPlaces;
use crate::life::Which;
use crate::monet::interval::{MonetGraph, PathCut, Row};

/// Origin of a row: the parameters of a constructor of [`Row`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    First {
        node: u32,
    },
    Choose {
        stage: u32,
    },
    Need {
        stage: u32,
        node: u32,
    },
    Input {
        stage: u32,
        node: u32,
        input: u32,
    },
    Parent {
        stage: u32,
        node: u32,
        parent: u32,
        which: Which,
    },
    Overwritten {
        stage: u32,
        node: u32,
        over: u32,
    },
    Ended {
        stage: u32,
        node: u32,
        over: u32,
    },
    /// Memory behind the turn of a node if no node runs; before all turns if no node is given.
    Turn {
        stage: u32,
        behind: Option<u32>,
    },
    /// Memory while a node runs.
    Run {
        stage: u32,
        node: u32,
        /// Its output is charged by the run.
        output: bool,
        /// Positions in its passing list that are charged by the run.
        passing: Vec<usize>,
    },
    Backward {
        stage: u32,
    },
    Path(PathCut),
    PathMemory {
        cut: PathCut,
        since: u32,
        staying: Vec<u32>,
    },
}

impl Origin {
    /// The origin of a row of a program, if its terms reveal one that makes the same row again.
    pub fn of(graph: &MonetGraph, row: &Row) -> Option<Origin> {
        let mut candidates = super::read::candidates(graph, row).into_iter();
        candidates.find(|origin| origin.is_valid(graph) && origin.row(graph) == *row)
    }

    /// The row of a valid origin.
    pub fn row(&self, graph: &MonetGraph) -> Row {
        match self {
            Origin::First { node } => Row::first(*node),
            Origin::Choose { stage } => Row::choose(graph, *stage),
            Origin::Need { stage, node } => Row::need(graph, *stage, *node),
            Origin::Input { stage, node, input } => Row::input(graph, *stage, *node, *input),
            Origin::Parent {
                stage,
                node,
                parent,
                which,
            } => Row::parent(*stage, *node, *parent, *which),
            Origin::Overwritten { stage, node, over } => {
                Row::overwritten(graph, *stage, *node, *over)
            }
            Origin::Ended { stage, node, over } => Row::ended(graph, *stage, *node, *over),
            Origin::Turn { stage, behind } => {
                let turn = behind.map_or(0, |node| node + 1);
                Row::memory(graph, *stage, turn, &[], false)
            }
            Origin::Run {
                stage,
                node,
                output,
                passing,
            } => {
                let list = &graph.passing[*node as usize];
                let mut by_run: Vec<u32> = passing.iter().map(|k| list[*k]).collect();
                by_run.extend(output.then_some(*node));
                by_run.sort_unstable();
                Row::memory(graph, *stage, *node, &by_run, true)
            }
            Origin::Backward { stage } => Row::backward(graph, *stage),
            Origin::Path(cut) => Row::path(graph, cut),
            Origin::PathMemory {
                cut,
                since,
                staying,
            } => Row::path_memory(graph, cut, *since, staying),
        }
    }

    /// Nodes by which the row is anchored.
    pub fn anchors(&self, graph: &MonetGraph) -> Vec<u32> {
        let of = |stage: &u32| graph.node_of(*stage);
        match self {
            Origin::First { node } => vec![*node],
            Origin::Choose { stage }
            | Origin::Turn { stage, .. }
            | Origin::Run { stage, .. }
            | Origin::Backward { stage } => vec![of(stage)],
            Origin::Need { stage, node } => vec![*node, of(stage)],
            Origin::Input { stage, node, input } => vec![*node, *input, of(stage)],
            Origin::Parent { stage, node, .. } => vec![*node, of(stage)],
            Origin::Overwritten { stage, node, over } | Origin::Ended { stage, node, over } => {
                vec![*node, *over, of(stage)]
            }
            Origin::Path(cut) => {
                let last = cut.stored.last().into_iter().copied();
                last.chain([cut.source, of(&cut.reader)]).collect()
            }
            Origin::PathMemory { cut, .. } => vec![of(&cut.reader)],
        }
    }

    /// The origin in a large network; `None` if a part of it has no place there.
    pub fn carried(&self, places: &CarriedPlaces<'_>) -> Option<Origin> {
        let node = |i: &u32| {
            let node = places.beside.node(*i)?;
            ((node as usize) < places.large.columns).then_some(node)
        };
        let stage = |t: &u32| places.stage(*t);
        Some(match self {
            Origin::First { node: i } => Origin::First { node: node(i)? },
            Origin::Choose { stage: t } => Origin::Choose { stage: stage(t)? },
            Origin::Need { stage: t, node: i } => Origin::Need {
                stage: stage(t)?,
                node: node(i)?,
            },
            Origin::Input {
                stage: t,
                node: i,
                input,
            } => Origin::Input {
                stage: stage(t)?,
                node: node(i)?,
                input: node(input)?,
            },
            Origin::Parent {
                stage: t,
                node: i,
                parent,
                which,
            } => Origin::Parent {
                stage: stage(t)?,
                node: node(i)?,
                parent: node(parent)?,
                which: *which,
            },
            Origin::Overwritten {
                stage: t,
                node: i,
                over,
            } => Origin::Overwritten {
                stage: stage(t)?,
                node: node(i)?,
                over: node(over)?,
            },
            Origin::Ended {
                stage: t,
                node: i,
                over,
            } => Origin::Ended {
                stage: stage(t)?,
                node: node(i)?,
                over: node(over)?,
            },
            // A turn in a distant middle layer is replaced by the like turn of any layer.
            Origin::Turn { stage: t, behind } => Origin::Turn {
                stage: stage(t)?,
                behind: match behind {
                    Some(i) => Some(places.beside.node_or_like(*i)?),
                    None => None,
                },
            },
            Origin::Run {
                stage: t,
                node: i,
                output,
                passing,
            } => Origin::Run {
                stage: stage(t)?,
                node: places.beside.node_or_like(*i)?,
                output: *output,
                passing: passing.clone(),
            },
            Origin::Backward { stage: t } => Origin::Backward { stage: stage(t)? },
            Origin::Path(cut) => Origin::Path(places.path(cut)?),
            Origin::PathMemory {
                cut,
                since,
                staying,
            } => {
                let cut = places.path(cut)?;
                let like = staying.iter().flat_map(|k| places.beside.images(*k));
                let mut staying: Vec<u32> = like.collect();
                staying.retain(|k| places.large.may_stay(&cut, *k));
                staying.sort_unstable();
                staying.dedup();
                Origin::PathMemory {
                    since: stage(since)?,
                    cut,
                    staying,
                }
            }
        })
    }
}

impl CarriedPlaces<'_> {
    fn path(&self, cut: &PathCut) -> Option<PathCut> {
        let reader = self.stage(cut.reader)?;
        let mut stored = self.beside.nodes(&cut.stored)?;
        stored.sort_unstable();
        Some(PathCut {
            reader,
            from: self.stage(cut.from)?,
            source: self.beside.node(cut.source)?,
            stored,
            ways: self.ways(cut.reader, &cut.ways, reader)?,
        })
    }
}
