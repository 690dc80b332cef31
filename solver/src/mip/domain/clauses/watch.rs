//! Propagation of clauses. Each clause watches two of its bounds that do not hold yet; until one of
//! them holds, it implies no bound.

use super::{Clause, Literal};
use std::sync::Arc;

/// The clauses of a domain and their watched bounds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched {
    pub clauses: Vec<Arc<Clause>>,
    /// Positions of the two watched literals.
    places: Vec<[usize; 2]>,
    /// Clauses that watch the lower and the upper bound of each column.
    of: [Vec<Vec<u32>>; 2],
    /// Marks of the clauses that have implied a bound since the last report.
    pub used: Vec<bool>,
}

/// Consequence of a clause under given bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Says {
    Nothing,
    /// This bound must fail.
    Not(Literal),
    /// All its bounds hold.
    Conflict,
}

impl Watched {
    pub fn is_empty(&self) -> bool {
        self.clauses.is_empty()
    }

    pub fn clear(&mut self) {
        for c in &self.clauses {
            for l in &c.literals {
                let lists = &mut self.of[usize::from(l.upper)];
                if let Some(list) = lists.get_mut(l.col as usize) {
                    list.clear();
                }
            }
        }
        self.clauses.clear();
        self.places.clear();
        self.used.clear();
    }

    /// Adds a clause. The caller must apply its consequence under the given bounds.
    pub fn add(&mut self, clause: Arc<Clause>, lower: &[f64], upper: &[f64]) -> Says {
        for lists in &mut self.of {
            lists.resize(lower.len(), Vec::new());
        }
        let id = self.clauses.len() as u32;
        let mut order: Vec<usize> = (0..clause.literals.len()).collect();
        // Watches failing literals first, then open ones.
        order.sort_by_key(|&k| {
            let l = &clause.literals[k];
            if l.fails(lower, upper) {
                0
            } else if !l.holds(lower, upper) {
                1
            } else {
                2
            }
        });
        let (a, b) = (order[0], *order.get(1).unwrap_or(&order[0]));
        for k in [a, b] {
            let l = &clause.literals[k];
            let list = &mut self.of[usize::from(l.upper)][l.col as usize];
            if list.last() != Some(&id) {
                list.push(id);
            }
        }
        let (first, second) = (clause.literals[a], clause.literals[b]);
        self.places.push([a, b]);
        self.clauses.push(clause);
        self.used.push(false);
        if first.fails(lower, upper) || (a != b && !second.holds(lower, upper)) {
            Says::Nothing
        } else if first.holds(lower, upper) {
            Says::Conflict
        } else {
            Says::Not(first)
        }
    }

    /// The clauses that watch a bound.
    pub fn watchers(&self, col: usize, upper: bool) -> Vec<u32> {
        self.of[usize::from(upper)]
            .get(col)
            .cloned()
            .unwrap_or_default()
    }

    /// Checks a clause after a change of a bound that it watches.
    pub fn look(&mut self, id: u32, lower: &[f64], upper: &[f64]) -> Says {
        let clause = &self.clauses[id as usize];
        let places = &mut self.places[id as usize];
        for side in 0..2 {
            let watched = clause.literals[places[side]];
            let other = clause.literals[places[1 - side]];
            if !watched.holds(lower, upper) {
                continue;
            }
            if other.fails(lower, upper) {
                return Says::Nothing;
            }
            let free = (0..clause.literals.len()).find(|&k| {
                k != places[0] && k != places[1] && !clause.literals[k].holds(lower, upper)
            });
            let Some(k) = free else {
                continue;
            };
            let same = places[0] == places[1];
            places[side] = k;
            let shares = !same && other.col == watched.col && other.upper == watched.upper;
            if !shares {
                let list = &mut self.of[usize::from(watched.upper)][watched.col as usize];
                list.retain(|&c| c != id);
            }
            let l = clause.literals[k];
            let list = &mut self.of[usize::from(l.upper)][l.col as usize];
            if !list.contains(&id) {
                list.push(id);
            }
        }
        let [a, b] = *places;
        let (a, b) = (clause.literals[a], clause.literals[b]);
        let open = |l: &Literal| !l.holds(lower, upper);
        match (open(&a), open(&b)) {
            (false, false) => Says::Conflict,
            (true, false) if !a.fails(lower, upper) => Says::Not(a),
            (false, true) if !b.fails(lower, upper) => Says::Not(b),
            (true, true) if a == b && !a.fails(lower, upper) => Says::Not(a),
            _ => Says::Nothing,
        }
    }
}
