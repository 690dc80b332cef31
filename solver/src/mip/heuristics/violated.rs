//! Violated rows of a local search over points.

use remat_lp::random::SplitMix64;

const NOWHERE: u32 = u32::MAX;

/// A set of rows from which one is drawn at random.
pub(super) struct Violated {
    rows: Vec<u32>,
    /// The position of each row among them.
    place: Vec<u32>,
}

impl Violated {
    /// The empty set over a number of rows.
    pub fn new(rows: usize) -> Violated {
        Violated {
            rows: Vec::new(),
            place: vec![NOWHERE; rows],
        }
    }

    /// Notes whether a row is violated.
    pub fn note(&mut self, i: usize, is_violated: bool) {
        let at = self.place[i];
        if is_violated && at == NOWHERE {
            self.place[i] = self.rows.len() as u32;
            self.rows.push(i as u32);
        } else if !is_violated && at != NOWHERE {
            self.rows.swap_remove(at as usize);
            if let Some(&moved) = self.rows.get(at as usize) {
                self.place[moved as usize] = at;
            }
            self.place[i] = NOWHERE;
        }
    }

    /// The violated rows.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// One of them, of which there must be some.
    pub fn draw(&self, random: &mut SplitMix64) -> usize {
        self.rows[random.below(self.rows.len())] as usize
    }
}

/// Amount by which an activity is outside its sides; 0 within the tolerance.
pub(super) fn violation(activity: f64, (lower, upper): (f64, f64)) -> f64 {
    let v = (lower - activity).max(activity - upper);
    if v > 1e-7 * activity.abs().max(1.0) {
        v
    } else {
        0.0
    }
}

/// Price of a violation: mainly that it exists, and a little by its size in units.
pub(super) fn penalty(violation: f64, unit: f64) -> f64 {
    if violation > 0.0 {
        1.0 + (violation / unit).min(10.0)
    } else {
        0.0
    }
}
