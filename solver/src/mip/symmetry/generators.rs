//! The search for generators. Columns are individualised one after another until refinement
//! distinguishes all columns. Then, from the last of them upwards, each column that looked the same
//! is tried in its place (McKay 1981; Darga, Sakallah & Markov 2008 for graphs as sparse as these).

use super::Orbits;
use super::graph::Graph;
use super::partition::{Partition, Trace};
use super::permutation::Permutation;
use crate::mip::problem::Problem;

/// Generators, and the ticks of the search.
pub(super) struct FoundGenerators {
    pub generators: Vec<Permutation>,
    pub ticks: u64,
}

/// An individualisation on the first path.
struct Level {
    /// Cell that is split, and the column taken from it.
    cell: u32,
    column: u32,
    /// Number of splits before.
    mark: usize,
    trace: Vec<u64>,
}

/// Preferred image of a column of the first path, if there are several candidates.
#[derive(Clone, Copy)]
enum Preference {
    /// The column itself, if possible.
    Itself,
    First,
    Last,
}

/// Looks for generators. Those found are correct even if the limit of ticks ends the search.
pub(super) fn search(p: &Problem, ticks_limit: u64) -> FoundGenerators {
    let mut found = FoundGenerators {
        generators: Vec::new(),
        ticks: 0,
    };
    if 3 * p.rows.index.len() as u64 > ticks_limit {
        return found;
    }
    let graph = Graph::new(p);
    let mut partition = Partition::new(&graph);
    partition.ticks += 3 * p.rows.index.len() as u64;
    let Some((levels, leaf)) = first_path(&graph, &mut partition, ticks_limit) else {
        found.ticks = partition.ticks;
        return found;
    };
    let mut orbits = Orbits::new(graph.columns);
    'levels: for k in (0..levels.len()).rev() {
        let level = &levels[k];
        partition.undo(level.mark);
        // Exchanges of continuous columns alone are useless.
        if level.cell as usize >= graph.integers {
            continue;
        }
        let mut members = partition.members(level.cell).to_vec();
        members.sort_unstable();
        let mut failed: Vec<usize> = Vec::new();
        for v in members {
            let own = orbits.find(v as usize);
            if own == orbits.find(level.column as usize)
                || failed.iter().any(|&f| orbits.find(f) == own)
            {
                continue;
            }
            let mut any = false;
            for preference in [Preference::Itself, Preference::First, Preference::Last] {
                let limit = ticks_limit;
                let image = follow(&graph, &mut partition, &levels[k..], v, preference, limit);
                let image = image.map(|image| {
                    let images = leaf.iter().zip(&image).map(|(&j, &to)| (j, to));
                    Permutation::new(images)
                });
                partition.undo(level.mark);
                if partition.ticks > ticks_limit {
                    break 'levels;
                }
                let Some(g) = image else {
                    continue;
                };
                partition.ticks += graph.columns as u64;
                if g.keeps(p, &mut partition.ticks) {
                    for &(j, to) in &g.moved {
                        orbits.join(j as usize, to as usize);
                    }
                    found.generators.push(g);
                    any = true;
                    break;
                }
            }
            if !any {
                failed.push(v as usize);
            }
        }
    }
    found.ticks = partition.ticks;
    found
}

/// Individualises until all columns are distinguished. `None` if the integer columns are
/// distinguished from the start, or if the limit of ticks is reached.
fn first_path(
    graph: &Graph,
    partition: &mut Partition,
    ticks_limit: u64,
) -> Option<(Vec<Level>, Vec<u32>)> {
    if !partition.refine(graph, &mut Trace::record(), ticks_limit) {
        return None;
    }
    let mut levels: Vec<Level> = Vec::new();
    let mut at = 0;
    loop {
        while at < graph.columns && partition.len[at] == 1 {
            at += 1;
        }
        // The integer columns have no symmetry.
        if at == graph.columns || levels.is_empty() && at >= graph.integers {
            break;
        }
        let column = partition.members(at as u32).iter().min().copied()?;
        let mark = partition.mark();
        partition.individualise(column);
        let mut trace = Trace::record();
        if !partition.refine(graph, &mut trace, ticks_limit) {
            return None;
        }
        levels.push(Level {
            cell: at as u32,
            column,
            mark,
            trace: trace.made,
        });
    }
    let leaf = partition.at[..graph.columns].to_vec();
    (!levels.is_empty()).then_some((levels, leaf))
}

/// The columns at the end of a path that starts with another column and looks like the first path.
fn follow(
    graph: &Graph,
    partition: &mut Partition,
    levels: &[Level],
    column: u32,
    preference: Preference,
    ticks_limit: u64,
) -> Option<Vec<u32>> {
    for (k, level) in levels.iter().enumerate() {
        let members = partition.members(level.cell);
        let next = match preference {
            _ if k == 0 => column,
            Preference::Itself if members.contains(&level.column) => level.column,
            Preference::Itself | Preference::First => members.iter().min().copied()?,
            Preference::Last => members.iter().max().copied()?,
        };
        partition.ticks += members.len() as u64;
        partition.individualise(next);
        let mut trace = Trace::repeat(&level.trace);
        if !partition.refine(graph, &mut trace, ticks_limit) {
            return None;
        }
    }
    partition.ticks += graph.columns as u64;
    Some(partition.at[..graph.columns].to_vec())
}
