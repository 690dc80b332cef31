//! Clauses over bounds, learned from conflicts: at least one bound of an infeasible set must fail
//! (conflict analysis in integer programs: Achterberg 2007, *Conflict analysis in mixed integer
//! programming*; first unique implication points: Marques-Silva & Sakallah 1999; two watched
//! literals: Moskewicz et al. 2001).
//!
//! A clause holds for every solution better than the incumbent at the time of learning.
//! [`implication`] derives it from the trail of a domain, [`watch`] propagates it.

pub(crate) mod implication;
pub(crate) mod watch;

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A bound of an integer column: `x <= value` if `upper`, else `x >= value`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Literal {
    pub col: u32,
    pub upper: bool,
    pub value: f64,
}

impl Literal {
    /// Returns whether every point within the bounds satisfies it.
    pub fn holds(&self, lower: &[f64], upper: &[f64]) -> bool {
        let j = self.col as usize;
        if self.upper {
            upper[j] <= self.value
        } else {
            lower[j] >= self.value
        }
    }

    /// Returns whether no point within the bounds satisfies it.
    pub fn fails(&self, lower: &[f64], upper: &[f64]) -> bool {
        let j = self.col as usize;
        if self.upper {
            lower[j] > self.value
        } else {
            upper[j] < self.value
        }
    }
}

/// Bounds that are infeasible together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Clause {
    /// Unique in the search.
    pub tag: u64,
    pub literals: Vec<Literal>,
}

/// A learned clause, and its number of rounds without use.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Learned {
    pub clause: Arc<Clause>,
    /// Rounds since it last implied a bound.
    pub age: u32,
}

/// Limit on the stored clauses.
pub(crate) const CLAUSE_LIMIT: usize = 400;

/// Rounds without use after which a clause is dropped.
const OLDEST: u32 = 30;

/// Merges the clauses learned in a round. `used`: tags of clauses that implied a bound.
pub(crate) fn merge(pool: &mut Vec<Learned>, learned: Vec<Arc<Clause>>, mut used: Vec<u64>) {
    used.sort_unstable();
    used.dedup();
    for c in pool.iter_mut() {
        c.age = if used.binary_search(&c.clause.tag).is_ok() {
            0
        } else {
            c.age + 1
        };
    }
    pool.retain(|c| c.age <= OLDEST);
    for clause in learned {
        if !pool.iter().any(|c| c.clause.literals == clause.literals) {
            pool.push(Learned { clause, age: 0 });
        }
    }
    if pool.len() > CLAUSE_LIMIT {
        // Keeps the most recently used ones; ties go to short ones, then to young ones.
        let mut order: Vec<usize> = (0..pool.len()).collect();
        order.sort_by_key(|&k| {
            let c = &pool[k];
            (c.age, c.clause.literals.len(), std::cmp::Reverse(k))
        });
        let mut keep = vec![false; pool.len()];
        for &k in &order[..CLAUSE_LIMIT] {
            keep[k] = true;
        }
        let mut k = 0;
        pool.retain(|_| {
            k += 1;
            keep[k - 1]
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_of_no_use_go_and_short_ones_stay() {
        let clause = |tag: u64, n: u32| {
            let literal = |k| Literal {
                col: k + tag as u32,
                upper: true,
                value: 0.0,
            };
            Arc::new(Clause {
                tag,
                literals: (0..n).map(literal).collect(),
            })
        };
        let mut pool = Vec::new();
        merge(
            &mut pool,
            vec![clause(1, 2), clause(2, 3), clause(1, 2)],
            vec![],
        );
        assert_eq!(pool.len(), 2);
        for _ in 0..=OLDEST {
            merge(&mut pool, Vec::new(), vec![2]);
        }
        assert_eq!(pool.len(), 1);
        let many = (10..1000).map(|t| clause(t, 3 + (t % 7) as u32)).collect();
        merge(&mut pool, many, vec![2]);
        assert_eq!(pool.len(), CLAUSE_LIMIT);
        assert!(pool.iter().all(|c| c.clause.literals.len() <= 5));
        assert!(pool.iter().any(|c| c.clause.tag == 2));
    }
}
