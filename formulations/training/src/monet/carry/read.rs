//! Origins, read off the terms of rows.

use super::origin::Origin;
use crate::life::{Atom, Term, Which};
use crate::monet::interval::{MonetGraph, PathCut, Row, RowKind};

/// Candidates for the origin of a row; the true one makes the same row again.
pub(super) fn candidates(graph: &MonetGraph, row: &Row) -> Vec<Origin> {
    match row.kind {
        RowKind::First | RowKind::Choose | RowKind::Need => of_one(row).into_iter().collect(),
        RowKind::Input | RowKind::Parent => of_two(row).into_iter().collect(),
        RowKind::Overwritten => overwriting(row),
        RowKind::Memory => memory(graph, row),
        RowKind::Backward => {
            let stages = held_stage(row).or_else(|| Some(stored_stages(row)?[0] - 1));
            let origin = stages.map(|stage| Origin::Backward { stage });
            origin.into_iter().collect()
        }
        RowKind::Path => path(graph, row).into_iter().collect(),
        RowKind::PathMemory => path_memory(graph, row),
        RowKind::Rounded | RowKind::Cover | RowKind::Branch => Vec::new(),
    }
}

fn of_one(row: &Row) -> Option<Origin> {
    row.terms
        .iter()
        .find_map(|term| match (row.kind, term.atom) {
            (RowKind::First, Atom::Start { node, .. }) => Some(Origin::First { node }),
            (RowKind::Choose, Atom::Choice { stage, .. }) => Some(Origin::Choose { stage }),
            (
                RowKind::Need,
                Atom::At {
                    node,
                    moment: stage,
                },
            ) => Some(Origin::Need { stage, node }),
            _ => None,
        })
}

/// A row of a tensor, whose start counts negative, and of another tensor that it needs.
fn of_two(row: &Row) -> Option<Origin> {
    let start = |sign: i64| {
        row.terms.iter().find_map(|term| match term.atom {
            Atom::Start {
                node, first, which, ..
            } if term.coefficient == sign => Some((node, first, which)),
            _ => None,
        })
    };
    let ((other, _, _), (node, stage, which)) = (start(1)?, start(-1)?);
    Some(match row.kind {
        RowKind::Input => Origin::Input {
            stage,
            node,
            input: other,
        },
        _ => Origin::Parent {
            stage,
            node,
            parent: other,
            which,
        },
    })
}

fn overwriting(row: &Row) -> Vec<Origin> {
    let made = row.terms.iter().find_map(|term| match term.atom {
        Atom::Start {
            node,
            first,
            which: Which::InPlace,
            ..
        } => Some((node, first)),
        _ => None,
    });
    let Some((node, stage)) = made else {
        return Vec::new();
    };
    let others = row.terms.iter().filter_map(Term::node);
    let Some(over) = others.into_iter().find(|i| *i != node) else {
        return Vec::new();
    };
    vec![
        Origin::Overwritten { stage, node, over },
        Origin::Ended { stage, node, over },
    ]
}

/// The stage for which a tensor is held.
fn held_stage(row: &Row) -> Option<u32> {
    row.terms.iter().find_map(|term| match term.atom {
        Atom::At { moment: stage, .. } => Some(stage),
        _ => None,
    })
}

/// Tensors that count where they are stored, with the stages.
fn stored(row: &Row) -> impl Iterator<Item = (u32, u32, i64)> {
    row.terms.iter().filter_map(|term| match term.atom {
        Atom::Crosses { node, stage } => Some((node, stage, term.coefficient)),
        _ => None,
    })
}

/// The first and the last stage of the tensors that count where they are stored.
fn stored_stages(row: &Row) -> Option<[u32; 2]> {
    let first = stored(row).map(|s| s.1).min()?;
    Some([first, stored(row).map(|s| s.1).max()?])
}

fn memory(graph: &MonetGraph, row: &Row) -> Vec<Origin> {
    let run = row.terms.iter().find_map(|term| match term.atom {
        Atom::Start {
            node,
            first,
            which: Which::WithWorkspace,
            ..
        } => Some((node, first)),
        _ => None,
    });
    if let Some((node, stage)) = run {
        let is_stored = |i: u32| stored(row).any(|s| s.0 == i);
        let list = graph.passing[node as usize].iter().enumerate();
        return vec![Origin::Run {
            stage,
            node,
            output: !is_stored(node),
            passing: list.filter(|(_, u)| !is_stored(**u)).map(|p| p.0).collect(),
        }];
    }
    let stages = match (held_stage(row), stored_stages(row)) {
        (Some(stage), _) => vec![stage],
        (None, Some([first, last])) if first < last => vec![first],
        (None, Some([only, _])) => vec![only, only - 1],
        (None, None) => Vec::new(),
    };
    let turn = |stage: u32| {
        let gone_by = row.terms.iter().filter_map(|term| match term.atom {
            Atom::Crosses { node, stage: t } if t == stage + 1 => Some(node),
            Atom::At { node, .. } => Some(node),
            _ => None,
        });
        Origin::Turn {
            stage,
            behind: gone_by.max(),
        }
    };
    stages.into_iter().map(turn).collect()
}

/// Choices that a row names, or all of a stage.
fn ways(graph: &MonetGraph, row: &Row, stage: u32) -> Vec<u32> {
    let named = row.terms.iter().filter_map(|term| match term.atom {
        Atom::Choice { way, .. } => Some(way),
        _ => None,
    });
    let named: Vec<u32> = named.collect();
    match (named.is_empty(), graph.choices.get(stage as usize)) {
        (true, Some(choices)) => (0..choices.len() as u32).collect(),
        _ => named,
    }
}

fn path(graph: &MonetGraph, row: &Row) -> Option<Origin> {
    let (source, from, reader) = row.terms.iter().find_map(|term| match term.atom {
        Atom::Start {
            node, first, last, ..
        } => Some((node, first, last)),
        _ => None,
    })?;
    Some(Origin::Path(PathCut {
        reader,
        from,
        source,
        stored: stored(row).map(|s| s.0).collect(),
        ways: ways(graph, row, reader),
    }))
}

/// A path memory cut counts tensors that stay, less their starts since they begin to stay. With
/// negative sign it counts the paths, and the earlier starts of the source.
fn path_memory(graph: &MonetGraph, row: &Row) -> Vec<Origin> {
    let staying: Vec<u32> = stored(row).filter(|s| s.2 > 0).map(|s| s.0).collect();
    let paths: Vec<(u32, u32)> = stored(row)
        .filter(|s| s.2 < 0)
        .map(|s| (s.0, s.1))
        .collect();
    let starts = row.terms.iter().filter_map(|term| match term.atom {
        Atom::Start {
            node, first, last, ..
        } => Some((node, first, last)),
        _ => None,
    });
    let of_source = starts.filter(|start| staying.binary_search(&start.0).is_err());
    let of_source: Option<(u32, u32, u32)> = of_source.into_iter().next();
    let Some(&(first, from)) = paths.first() else {
        return Vec::new();
    };
    let since = of_source.map_or(from, |(_, _, last)| last + 1);
    // The source counts where it is computed before; else it is at the head of the paths.
    let sources = match of_source {
        Some((source, ..)) => vec![source],
        None => [Some(first), graph.parent[first as usize]]
            .into_iter()
            .flatten()
            .collect(),
    };
    let chosen = row.terms.iter().find_map(|term| match term.atom {
        Atom::Choice { stage, .. } => Some(stage),
        _ => None,
    });
    let mut found = Vec::new();
    for source in sources {
        // A tensor that stays is stored when the reader's stage begins, or the stage behind it.
        let ends = stored(row).filter(|s| s.2 > 0);
        let mut readers = ends.map(|(k, upto, _)| upto - u32::from(k < source));
        let Some(reader) = chosen.or_else(|| readers.next()) else {
            continue;
        };
        found.push(Origin::PathMemory {
            cut: PathCut {
                reader,
                from,
                source,
                stored: paths.iter().map(|p| p.0).collect(),
                ways: ways(graph, row, reader),
            },
            since,
            staying: staying.clone(),
        });
    }
    found
}
