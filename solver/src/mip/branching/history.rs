//! Memory of branchings beside their gains: conflicts, closed branchings, implied bounds. It decides
//! where the objective is flat and gains say little (Achterberg 2007, *Constraint integer
//! programming*, section 5.9).

use serde::{Deserialize, Serialize};

/// Growth of the weight of conflicts from one to the next, so that old ones fade.
const GROWTH: f64 = 1.02;

/// Weight of conflicts at which all activities are scaled down.
const WEIGHT_LIMIT: f64 = 1e100;

/// Share of the mean that a side counts at least.
const LEAST_SHARE: f64 = 1e-3;

/// Means of a number per column and direction.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Means {
    sum: [Vec<f64>; 2],
    count: [Vec<u32>; 2],
    total: f64,
    total_count: u32,
}

impl Means {
    fn new(n: usize) -> Means {
        Means {
            sum: [vec![0.0; n], vec![0.0; n]],
            count: [vec![0; n], vec![0; n]],
            total: 0.0,
            total_count: 0,
        }
    }

    fn add(&mut self, (j, up): (usize, bool), value: f64) {
        self.sum[usize::from(up)][j] += value;
        self.count[usize::from(up)][j] += 1;
        self.total += value;
        self.total_count += 1;
    }

    /// Score of a column relative to the mean of all, which also stands for unknown directions.
    fn score(&self, j: usize) -> f64 {
        let mean = self.total / f64::from(self.total_count.max(1));
        let side = |k: usize| match self.count[k][j] {
            0 => mean,
            count => self.sum[k][j] / f64::from(count),
        };
        relative((side(0), side(1)), mean)
    }
}

/// Product of two sides relative to their mean, mapped to the range from 0 to 1.
fn relative((down, up): (f64, f64), mean: f64) -> f64 {
    if mean <= 0.0 {
        return 0.0;
    }
    let share = |v: f64| (v / mean).max(LEAST_SHARE);
    bounded(share(down) * share(up))
}

/// Maps a score to the range from 0 to 1.
pub(super) fn bounded(v: f64) -> f64 {
    v / (1.0 + v)
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct History {
    /// Activity in conflicts by direction, in units of `weight`.
    activity: [Vec<f64>; 2],
    activity_total: f64,
    weight: f64,
    /// Shares of branchings that were closed at once.
    closed: Means,
    /// Bounds implied by a branching.
    implied: Means,
}

impl History {
    pub fn new(n: usize) -> History {
        History {
            activity: [vec![0.0; n], vec![0.0; n]],
            activity_total: 0.0,
            weight: 1.0,
            closed: Means::new(n),
            implied: Means::new(n),
        }
    }

    /// Notes bounds that are infeasible together: column, and whether it is a lower bound.
    pub fn conflict(&mut self, bounds: &[(u32, bool)]) {
        self.weight *= GROWTH;
        for &(col, up) in bounds {
            self.activity[usize::from(up)][col as usize] += self.weight;
            self.activity_total += self.weight;
        }
        if self.weight > WEIGHT_LIMIT {
            for v in self.activity.iter_mut().flatten() {
                *v /= self.weight;
            }
            self.activity_total /= self.weight;
            self.weight = 1.0;
        }
    }

    pub fn closed(&mut self, side: (usize, bool), is_closed: bool) {
        self.closed.add(side, f64::from(u8::from(is_closed)));
    }

    pub fn implied(&mut self, side: (usize, bool), count: u32) {
        self.implied.add(side, f64::from(count));
    }

    /// Score of a column, small beside a score of gains in the range from 0 to 1. The weights are
    /// those of SCIP.
    pub fn score(&self, j: usize) -> f64 {
        let sides = 2 * self.activity[0].len();
        let activity = (self.activity[0][j], self.activity[1][j]);
        let conflicts = relative(activity, self.activity_total / sides as f64);
        1e-2 * conflicts + 1e-4 * (self.closed.score(j) + self.implied.score(j))
    }
}

#[cfg(test)]
mod tests {
    use super::History;

    #[test]
    fn recent_conflicts_closings_and_implications_raise_a_score() {
        let mut h = History::new(3);
        assert_eq!(h.score(0), 0.0);
        let both = |j| [(j, false), (j, true)];
        for _ in 0..20 {
            h.conflict(&both(0));
        }
        (0..20).for_each(|_| h.conflict(&both(1)));
        assert!(h.score(1) > h.score(0) && h.score(0) > h.score(2));
        // A weight beyond the limit keeps the order.
        for _ in 0..20_000 {
            h.conflict(&both(1));
        }
        assert!(h.weight.is_finite() && h.score(1) > h.score(0) && h.score(1) < 1e-2);
        let mut h = History::new(2);
        for up in [false, true] {
            h.closed((0, up), true);
            h.closed((1, up), false);
        }
        assert!(h.score(0) > h.score(1));
        let mut h = History::new(2);
        for up in [false, true] {
            h.implied((0, up), 1);
            h.implied((1, up), 9);
        }
        assert!(h.score(0) < h.score(1));
    }
}
