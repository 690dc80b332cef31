//! The implication graph of a domain's trail, and the cut through it at the first unique
//! implication point.
//!
//! Every change on the trail has the row or clause that implied it as its reason. The derivation
//! used the last earlier changes of the row's other columns. Branchings have no reason. Neither do
//! bounds from reduced costs, strong branching, learned rows and a domain's propagators. They stay
//! in the clause, which says only that its bounds are infeasible together.

use super::Literal;
use crate::mip::domain::{Domain, NONE, Reason};
use crate::mip::problem::Problem;
use std::collections::BTreeSet;

/// Limit on the changes that are explained for one clause.
const EXPLANATION_LIMIT: usize = 400;

/// Positions on the trail, at most one for each bound.
struct ImplicationCut<'a> {
    domain: &'a Domain,
    positions: BTreeSet<u32>,
}

impl ImplicationCut<'_> {
    /// Adds a position. Of two changes of one bound only the later is kept, because it implies the
    /// other.
    fn add(&mut self, at: u32) {
        if self.positions.contains(&at) {
            return;
        }
        let c = self.domain.trail[at as usize];
        let same = |&p: &u32| {
            let d = self.domain.trail[p as usize];
            d.col == c.col && d.upper == c.upper
        };
        match self.positions.iter().copied().find(|p| same(p)) {
            Some(p) if p > at => {}
            Some(p) => {
                self.positions.remove(&p);
                self.positions.insert(at);
            }
            None => {
                self.positions.insert(at);
            }
        }
    }
}

/// Finds the positions that determine a row's least activity (if `least`) or largest activity
/// immediately before `time`, without one column.
fn row_positions(
    p: &Problem,
    d: &Domain,
    row: usize,
    least: bool,
    without: Option<usize>,
    time: u32,
    out: &mut Vec<u32>,
) {
    let (index, value) = d.entries_of(p, row);
    for (&j, &a) in index.iter().zip(value) {
        let j = j as usize;
        if Some(j) == without {
            continue;
        }
        let upper = (a > 0.0) != least;
        let at = d.last_before(j, upper, time);
        if at != NONE {
            out.push(at);
        }
    }
}

/// The positions of a clause's bounds except one, each the first position at which the bound held.
fn clause_positions(d: &Domain, id: u32, without: Option<(u32, bool)>, time: u32) -> Vec<u32> {
    let Some(clause) = d.clauses.clauses.get(id as usize) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for l in &clause.literals {
        // The implied bound is the opposite of the literal that must fail.
        if without == Some((l.col, !l.upper)) && !held(d, l, time) {
            continue;
        }
        if let Some(at) = first_held(d, l, time) {
            out.push(at);
        }
    }
    out
}

/// Returns whether a literal held immediately before a time.
fn held(d: &Domain, l: &Literal, time: u32) -> bool {
    let v = d.value_before(l.col as usize, l.upper, time);
    if l.upper { v <= l.value } else { v >= l.value }
}

/// The first change before `time` after which a literal held; `None` if it holds from the start.
fn first_held(d: &Domain, l: &Literal, time: u32) -> Option<u32> {
    let mut at = d.last_before(l.col as usize, l.upper, time);
    let mut found = None;
    while at != NONE {
        let c = d.trail[at as usize];
        let holds = if l.upper {
            c.new <= l.value
        } else {
            c.new >= l.value
        };
        if !holds {
            break;
        }
        found = Some(at);
        // Tests whether it held before this change too.
        let before = if l.upper {
            c.old <= l.value
        } else {
            c.old >= l.value
        };
        if !before {
            break;
        }
        at = c.previous;
        if at == NONE {
            return None;
        }
    }
    found
}

/// Positions on the trail that imply a change; `None` if it has no reason.
fn explain(p: &Problem, d: &Domain, at: u32) -> Option<Vec<u32>> {
    let c = d.trail[at as usize];
    let mut out = Vec::new();
    match c.reason {
        Reason::None => return None,
        Reason::Row { row, least } => {
            let j = Some(c.col as usize);
            row_positions(p, d, row as usize, least, j, at, &mut out);
        }
        Reason::Clause(id) => out = clause_positions(d, id, Some((c.col, c.upper)), at),
    }
    Some(out)
}

/// Positions whose bounds are infeasible together, from a domain that propagation made infeasible.
pub(crate) fn conflict_positions(p: &Problem, d: &Domain) -> Option<Vec<u32>> {
    let end = d.trail.len() as u32;
    let mut out = Vec::new();
    let conflict = d.conflict?;
    match conflict.reason {
        Reason::None => return None,
        Reason::Row { row, least } => {
            let without = conflict.bound.map(|b| b.0 as usize);
            row_positions(p, d, row as usize, least, without, end, &mut out);
        }
        Reason::Clause(id) => out = clause_positions(d, id, conflict.bound, end),
    }
    // A bound would have crossed the opposite one.
    if let Some((col, upper)) = conflict.bound {
        let at = d.last_before(col as usize, !upper, end);
        if at != NONE {
            out.push(at);
        }
    }
    Some(out)
}

/// Positions whose bounds make a row `entries . x <= rhs` infeasible. Bounds that the proof does
/// not need are left out, the least important first.
pub(crate) fn proof_positions(
    d: &Domain,
    entries: &[(u32, f64)],
    rhs: f64,
    (lower, upper): (&[f64], &[f64]),
) -> Option<Vec<u32>> {
    let end = d.trail.len() as u32;
    let largest = entries.iter().fold(0.0f64, |m, e| m.max(e.1.abs()));
    let mut activity = 0.0;
    let mut size = 0.0f64;
    let mut parts: Vec<(f64, u32, u32)> = Vec::new();
    for &(j, a) in entries {
        let k = j as usize;
        let (here, there) = if a > 0.0 {
            (a * d.lower[k], a * lower[k])
        } else {
            (a * d.upper[k], a * upper[k])
        };
        activity += here;
        size += here.abs();
        let at = d.last_before(k, a < 0.0, end);
        if at != NONE && here != there {
            parts.push((here - there, j, at));
        } else if here != there {
            // The bound is tighter than the global one, but not on the trail.
            return None;
        }
    }
    let margin = 1e-6 * rhs.abs().max(largest) + 1e-12 * size;
    let mut slack = activity - rhs - margin;
    if slack.is_nan() || slack <= 0.0 {
        return None;
    }
    parts.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut out = Vec::new();
    for (part, _, at) in parts {
        if part < slack {
            slack -= part;
        } else {
            out.push(at);
        }
    }
    Some(out)
}

/// The clause at the first unique implication point of the last branching; `None` if it would be
/// too long.
pub(crate) fn first_uip(
    p: &Problem,
    d: &Domain,
    start: Vec<u32>,
    longest: usize,
) -> Option<Vec<Literal>> {
    let level = d.last_level();
    let mut cut = ImplicationCut {
        domain: d,
        positions: BTreeSet::new(),
    };
    for at in start {
        cut.add(at);
    }
    let continuous = |at: u32| !p.integer[d.trail[at as usize].col as usize];
    // Changes without a reason stay.
    let mut kept: BTreeSet<u32> = BTreeSet::new();
    let mut steps = 0;
    loop {
        let here = cut.positions.range(level..).count();
        let open = |at: &&u32| !kept.contains(at);
        let last = cut.positions.range(level..).rev().find(open).copied();
        let next = match last {
            Some(at) if here > 1 || continuous(at) => Some(at),
            _ => (cut.positions.iter().rev().copied()).find(|&at| continuous(at)),
        };
        let Some(at) = next else { break };
        steps += 1;
        if steps > EXPLANATION_LIMIT || cut.positions.len() > 4 * longest + 100 {
            return None;
        }
        match explain(p, d, at) {
            Some(reasons) => {
                cut.positions.remove(&at);
                for r in reasons {
                    cut.add(r);
                }
            }
            None if continuous(at) => return None,
            None => {
                kept.insert(at);
            }
        }
    }
    // Bounds implied by the others are redundant.
    let implied: Vec<u32> = (cut.positions.iter().copied())
        .filter(|&at| {
            explain(p, d, at).is_some_and(|r| r.iter().all(|q| cut.positions.contains(q)))
        })
        .collect();
    for at in implied {
        cut.positions.remove(&at);
    }
    if cut.positions.is_empty() || cut.positions.len() > longest {
        return None;
    }
    let literals = (cut.positions.iter())
        .map(|&at| {
            let c = d.trail[at as usize];
            Literal {
                col: c.col,
                upper: c.upper,
                value: c.new,
            }
        })
        .collect();
    Some(literals)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mip::domain::clauses::Clause;
    use remat_lp::{ModelBuilder, Sense};
    use std::sync::Arc;

    /// Binaries `a b c d e`: a implies b; b and c imply d; d and c exclude e; d and b need e.
    fn chain() -> Problem {
        let mut m = ModelBuilder::new(Sense::Minimise);
        let x: Vec<_> = (0..5)
            .map(|_| {
                let c = m.add_col(1.0, 0.0..=1.0);
                m.set_integer(c, true);
                c
            })
            .collect();
        m.add_row(..=0.0, [(x[0], 1.0), (x[1], -1.0)]);
        m.add_row(..=1.0, [(x[1], 1.0), (x[2], 1.0), (x[3], -1.0)]);
        m.add_row(..=2.0, [(x[3], 1.0), (x[2], 1.0), (x[4], 1.0)]);
        m.add_row(..=1.0, [(x[3], 1.0), (x[1], 1.0), (x[4], -1.0)]);
        Problem::from_model(&m.build().unwrap())
    }

    fn branch(d: &mut Domain, p: &Problem, j: usize) -> bool {
        d.begin_level();
        d.fix(p, j, 1.0);
        d.propagate(p)
    }

    #[test]
    fn the_clause_of_a_conflict_speaks_of_its_causes() {
        let p = chain();
        let mut d = Domain::new(&p);
        assert!(branch(&mut d, &p, 0), "a = 1 has a point");
        assert_eq!(d.lower[1], 1.0);
        assert!(!branch(&mut d, &p, 2), "b and c leave nothing");
        let start = conflict_positions(&p, &d).unwrap();
        let clause = first_uip(&p, &d, start, 10).unwrap();
        let has = |col, upper, value| {
            let l = Literal { col, upper, value };
            clause.contains(&l)
        };
        // b (instead of its reason a) and c.
        assert_eq!(clause.len(), 2, "{clause:?}");
        assert!(has(1, false, 1.0) && has(2, false, 1.0), "{clause:?}");
        // Elsewhere the clause closes nodes that single rows do not close.
        let mut other = Domain::new(&p);
        let learned = Arc::new(Clause {
            tag: 1,
            literals: clause,
        });
        other.set_clauses(&p, [learned].into_iter());
        assert!(branch(&mut other, &p, 2));
        assert_eq!((other.upper[1], other.upper[0]), (0.0, 0.0));
        let reason = other.trail.iter().find(|c| c.col == 1).map(|c| c.reason);
        assert_eq!(reason, Some(Reason::Clause(0)));
        // Undo, then branch in the other order.
        other.undo(&p, 0);
        assert!(branch(&mut other, &p, 1));
        assert_eq!(other.upper[2], 0.0);
    }

    #[test]
    fn a_proof_leaves_out_bounds_that_it_does_not_need() {
        let p = chain();
        let mut d = Domain::new(&p);
        for j in [0, 2] {
            d.begin_level();
            d.fix(&p, j, 1.0);
        }
        let global = (p.lower.as_slice(), p.upper.as_slice());
        // 5 a + c <= 3: a alone violates it.
        let start = proof_positions(&d, &[(0, 5.0), (2, 1.0)], 3.0, global).unwrap();
        assert_eq!(start, [0]);
        assert!(proof_positions(&d, &[(0, 1.0), (2, 1.0)], 2.0, global).is_none());
    }
}
