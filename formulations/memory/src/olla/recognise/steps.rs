//! Time steps: columns of one step, and the order of steps.

use super::apart::{join, root};
use super::roles::{NONE, Roles};
use std::collections::BTreeSet;

/// Time steps of a model.
#[derive(Debug)]
pub(super) struct StepsRead {
    /// Number of steps.
    pub len: usize,
    /// By column: its step, from 0; [`NONE`] for a column without a step.
    pub of: Vec<u32>,
    /// By memory row: its step.
    pub of_row: Vec<u32>,
}

impl StepsRead {
    /// Finds the columns of each step, by the rows that have them, and the order of the steps.
    /// `rows` are columns that are 1 together at a step or, for tensors that stay unchanged, at the
    /// next step at which they can change.
    pub fn new(roles: &Roles, rows: &[Vec<u32>]) -> Option<StepsRead> {
        let n = roles.tensor_of.len();
        let mut parent: Vec<u32> = (0..(n + rows.len()) as u32).collect();
        let mut rows_of = vec![0u32; n];
        rows.iter()
            .flatten()
            .for_each(|c| rows_of[*c as usize] += 1);
        for (r, row) in rows.iter().enumerate() {
            for c in row.iter().filter(|c| rows_of[**c as usize] == 1) {
                join(&mut parent, (n + r) as u32, *c);
            }
        }
        let pairs = roles.equal.iter().chain(&roles.reads).chain(&roles.apart);
        pairs.for_each(|(a, b)| join(&mut parent, *a, *b));
        for others in &roles.before {
            others
                .windows(2)
                .for_each(|w| join(&mut parent, w[0], w[1]));
        }
        // Steps are classes with a row, or with a column that makes a tensor or runs an operator.
        let runs = |c: u32| roles.makes(c) || roles.run_of[c as usize] != NONE;
        let mut number = vec![NONE; n + rows.len()];
        let mut len = 0u32;
        let of_rows = (n as u32..(n + rows.len()) as u32).collect::<Vec<_>>();
        for x in of_rows
            .into_iter()
            .chain((0..n as u32).filter(|c| runs(*c)))
        {
            let class = root(&mut parent, x) as usize;
            if number[class] == NONE {
                number[class] = len;
                len += 1;
            }
        }
        let mut of: Vec<u32> = (0..n as u32)
            .map(|c| match roles.tensor_of[c as usize] == NONE && !runs(c) {
                true => NONE,
                false => number[root(&mut parent, c) as usize],
            })
            .collect();
        let of_row = (n..n + rows.len()).map(|r| number[root(&mut parent, r as u32) as usize]);
        let mut of_row: Vec<u32> = of_row.collect();
        let with_row = of_row.iter().max().map_or(0, |last| last + 1);
        let place = order(roles, &of, len as usize, with_row as usize)?;
        let len = place.iter().max().map_or(0, |last| last + 1);
        let known = |step: &mut u32| {
            if *step != NONE {
                *step = place[*step as usize];
            }
        };
        of.iter_mut().chain(&mut of_row).for_each(known);
        // A tensor that stays unchanged for some steps belongs to the last of them.
        for (r, row) in rows.iter().enumerate() {
            for c in row.iter().map(|c| *c as usize).filter(|c| rows_of[*c] > 1) {
                if number[root(&mut parent, c as u32) as usize] == NONE {
                    let last = of[c] != NONE && of[c] > of_row[r];
                    of[c] = if last { of[c] } else { of_row[r] };
                }
            }
        }
        Some(StepsRead {
            len: len as usize,
            of,
            of_row,
        })
    }
}

/// The step of a column, or of the column before it in its tensor.
fn anchor(roles: &Roles, of: &[u32], mut column: u32) -> u32 {
    loop {
        match (of[column as usize], roles.before[column as usize].first()) {
            (NONE, Some(before)) => column = *before,
            (step, _) => return step,
        }
    }
}

/// The place of each class, such that tensors stay from earlier to later ones; `None` if the
/// classes form a cycle. The first `with_row` classes, which have a row, have places of their own.
/// The others come as late as their successors allow: no row fixes their step.
fn order(roles: &Roles, of: &[u32], len: usize, with_row: usize) -> Option<Vec<u32>> {
    let mut arcs: BTreeSet<(u32, u32)> = BTreeSet::new();
    for (c, others) in roles.before.iter().enumerate() {
        if let (Some(before), true) = (others.first(), of[c] != NONE) {
            let from = anchor(roles, of, *before);
            if from != NONE {
                arcs.insert((from, of[c]));
            }
        }
    }
    let mut after = vec![Vec::new(); len];
    let mut before = vec![Vec::new(); len];
    for &(a, b) in &arcs {
        after[a as usize].push(b as usize);
        before[b as usize].push(a as usize);
    }
    let mut waits: Vec<usize> = before.iter().map(Vec::len).collect();
    let mut ready: BTreeSet<usize> = (0..len).filter(|s| waits[*s] == 0).collect();
    let mut sorted = Vec::with_capacity(len);
    while let Some(class) = ready.pop_first() {
        sorted.push(class);
        for &later in &after[class] {
            waits[later] -= 1;
            if waits[later] == 0 {
                ready.insert(later);
            }
        }
    }
    (sorted.len() == len).then_some(())?;
    let mut place: Vec<Option<i64>> = vec![None; len];
    let rows = sorted.iter().filter(|class| **class < with_row);
    (0..)
        .zip(rows)
        .for_each(|(at, class)| place[*class] = Some(at));
    for class in sorted
        .iter()
        .rev()
        .copied()
        .filter(|class| *class >= with_row)
    {
        let behind = after[class].iter().filter_map(|c| place[*c]).min();
        place[class] = behind.map(|at| at - 1);
    }
    for class in sorted {
        let known = before[class].iter().filter_map(|c| place[*c]).max();
        place[class] = place[class].or(Some(known.map_or(0, |at| at + 1)));
    }
    let first = place.iter().flatten().min().copied().unwrap_or(0);
    place
        .iter()
        .map(|at| u32::try_from((*at)? - first).ok())
        .collect()
}
