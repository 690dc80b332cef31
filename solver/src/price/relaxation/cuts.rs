//! Cut rounds: separation of cuts, and its end.

use super::converge::Until;
use super::{MEAN_WEIGHT, RelaxEnd, Relaxation};
use crate::price::{Incumbents, Program};
use remat_lp::ModelError;
use std::time::Instant;

/// Number of cuts at the inner point below which the vertex is separated too.
const INSIDE_CUTS: usize = 20;

/// Limits on the rounds of cuts.
#[derive(Clone, Copy, Debug)]
pub(in crate::price) struct CutEffort {
    /// Limit on rounds.
    pub rounds: usize,
    /// Tail of the eager phase, in which cuts are separated after every solve, before other rows
    /// and columns are complete.
    pub eager: Option<Tail>,
    /// True if cuts are separated at a point inside the relaxation, not at its vertex.
    pub inside: bool,
    /// Tail that ends cutting once every relaxation is solved to its end.
    pub tail: Tail,
}

/// Test for the tail of cutting: the value changes little over a number of rounds. The limit is a
/// share of the value, or of its gain over the bound before cutting.
#[derive(Clone, Copy, Debug)]
pub struct Tail {
    /// Rounds.
    pub rounds: usize,
    /// Share of the value, for each round.
    pub of_value: f64,
    /// Share of the gain.
    pub of_gain: f64,
}

impl Tail {
    /// Returns whether the last values are in the tail.
    fn holds(&self, values: &[f64], before: f64) -> bool {
        let Some((apart, most)) = spread(values, self.rounds + 1) else {
            return false;
        };
        let idle = self.of_value * self.rounds as f64 * most;
        apart <= idle.max(self.of_gain * (most - before))
    }
}

/// The range of the last `count` values, and the largest of them; `None` if there are fewer.
pub(super) fn spread(values: &[f64], count: usize) -> Option<(f64, f64)> {
    let last = &values[values.len().checked_sub(count)?..];
    let most = last.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = last.iter().copied().fold(f64::INFINITY, f64::min);
    Some((most - least, most))
}

impl<P: Program> Relaxation<P> {
    /// Runs cut rounds at the present node until they are idle, and publishes each to `incumbents`.
    pub fn cut_rounds(
        &mut self,
        effort: CutEffort,
        incumbents: Option<&Incumbents<P>>,
    ) -> Result<RelaxEnd, ModelError> {
        let mut eager = effort.eager;
        let mut end = RelaxEnd::Converged;
        let start = self.bound as f64;
        let mut values = vec![self.value];
        for round in 0..effort.rounds {
            let added = self.add_cuts(effort.inside)?;
            if added == 0 && (eager.is_none() || self.complete) {
                return Ok(end);
            }
            let until = match eager {
                Some(_) => Until::Feasible,
                None => Until::Stalled,
            };
            end = self.converge(until, incumbents)?;
            self.publish(incumbents);
            tracing::debug!(
                round,
                cuts = added,
                value = self.value,
                bound = self.bound,
                "cuts"
            );
            if end != RelaxEnd::Converged {
                return Ok(end);
            }
            values.push(self.value);
            if !eager.unwrap_or(effort.tail).holds(&values, start) {
                continue;
            }
            if eager.take().is_some() {
                // The remaining gains are in the tail: from here on every relaxation is solved to
                // its end.
                end = self.converge(Until::Stalled, incumbents)?;
                self.publish(incumbents);
                if end != RelaxEnd::Converged {
                    return Ok(end);
                }
                values = vec![self.value];
            } else {
                return Ok(end);
            }
        }
        if eager.is_some() {
            end = self.converge(Until::Stalled, incumbents)?;
        }
        Ok(end)
    }

    /// Adds cuts at the solution, or at a point `inside` the relaxation, between the solution and
    /// the mean of the earlier ones. A vertex violates cuts in a way that the next vertex may not.
    /// A cut that removes the inner point removes much of the region near both points (in-out
    /// separation; Ben-Ameur & Neto 2007, Fischetti & Salvagnin 2010).
    fn add_cuts(&mut self, inside: bool) -> Result<usize, ModelError> {
        let clock = Instant::now();
        let program = self.program();
        let cuts = |point: &P::Point| program.cuts(point, &self.settings.separation);
        let mut rows = match (&self.values, &self.mean) {
            (Some(last), Some(mean)) if inside => {
                cuts(&last.towards(mean, MEAN_WEIGHT).point(program))
            }
            _ => Vec::new(),
        };
        if rows.len() < INSIDE_CUTS {
            rows.extend(cuts(&self.point));
        }
        self.spent.separation += clock.elapsed();
        let clock = Instant::now();
        let added = self.master.add_rows(rows)?;
        self.spent.lp += clock.elapsed();
        self.spent.cuts += added;
        Ok(added)
    }
}

#[cfg(test)]
mod tests {
    use crate::price::RootSettings;

    /// Values of eager rounds at the root of 24 equal layers (`zoo:bert?layers=24` at 30%); the
    /// final value is 2298028225.
    const PLATEAU: [f64; 9] = [
        2_296_872_947.0,
        2_296_872_947.0,
        2_296_899_019.0,
        2_296_872_947.0,
        2_296_872_947.0,
        2_296_872_947.0,
        2_296_885_648.0,
        2_296_875_378.0,
        2_296_877_608.0,
    ];

    #[test]
    fn a_plateau_of_eager_rounds_is_no_tail() {
        let tail = RootSettings::default().eager_tail;
        let first = 2_127_529_008.0;
        let still = vec![PLATEAU[0]; tail.rounds + 1];
        assert!(tail.holds(&still, first));
        assert!(!tail.holds(&still[1..], first), "too few rounds");
        let with_plateau = [&still[PLATEAU.len()..], &PLATEAU].concat();
        assert!(!tail.holds(&with_plateau, first));
    }
}
