//! Two-phase rounding of a fractional solution (Jain et al., Checkmate, MLSys 2020, section 5):
//! round the retentions, then solve for the computations.
//!
//! Rounding R and S apart breaks dependencies almost surely. Rounding only S and taking the
//! cheapest R for it ([`CheckmateSchedule::cheapest`]) always gives an executable schedule, but it
//! may exceed the budget. So the linear program is solved for a smaller budget too, and several
//! roundings are tried.

use super::{CheckmateGraph, interval};
use crate::baselines::{Baseline, NotApplicable, best};
use crate::bound::smallest_budget;
use remat_instances::instance::Instance;
use remat_instances::schedule::{BitMatrix, CheckmateSchedule};
use remat_lp::random::SplitMix64;
use remat_search::Patience;
use remat_solver::price::RootSettings;

/// Nodes up to which the relaxation is solved; it takes seconds there.
pub const MOST_NODES: usize = 500;
/// Shares of the budget, in percent, for which the relaxation is solved: a rounded schedule may
/// need more than its share.
const ALLOWANCES: [u64; 2] = [100, 90];
/// Random roundings of each relaxation.
const SAMPLES: u64 = 100;
/// Seed of the random roundings.
const SEED: u64 = 1;

const SOURCE: &str = "Jain et al., Checkmate, MLSys 2020, section 5";

/// The strategies that round, as entries of the strategy table.
pub(crate) static STRATEGIES: [Baseline; 2] = [
    Baseline {
        name: "lp-rounding",
        description: "Checkmate's two-phase rounding of the relaxation, with several thresholds and allowances",
        source: SOURCE,
        solves_program: true,
        heuristic: two_phase,
    },
    Baseline {
        name: "lp-rounding-random",
        description: "the same with 100 random roundings of each relaxation besides",
        source: SOURCE,
        solves_program: true,
        heuristic: randomised_two_phase,
    },
];

/// The fractional `S` of the relaxation under a budget: the interval form without cuts, over all
/// schedules.
fn relaxation(
    instance: &Instance,
    budget_bytes: u64,
    patience: Patience<'_>,
) -> Result<Vec<f64>, NotApplicable> {
    let n = instance.len();
    if n > MOST_NODES {
        return Err(NotApplicable::TooLarge {
            nodes: n,
            most: MOST_NODES,
        });
    }
    let failed = |e: &dyn std::fmt::Display| NotApplicable::Relaxation(e.to_string());
    // Below the need of some node there is no relaxation; the smallest possible budget stands in.
    let budget_bytes = budget_bytes.max(smallest_budget(instance).needed_bytes);
    let settings = RootSettings {
        cut_rounds: 0,
        stop: patience.flag(),
        ..RootSettings::default()
    };
    let root = interval::root_bound(instance, budget_bytes, &settings);
    if patience.is_over() {
        return Err(NotApplicable::OutOfTime);
    }
    let root = root.map_err(|e| failed(&e))?;
    let graph = CheckmateGraph::new(instance, budget_bytes).map_err(|e| failed(&e))?;
    let point = root.point.fractional(&graph);
    let entry = |k: usize| point.retained(k / n, k % n);
    Ok((0..n * n).map(entry).collect())
}

/// Two-phase rounding of the relaxation, thresholds from 0.1 to 0.9 (0.5 in the paper), for the
/// budget and for 90% of it.
pub(super) fn two_phase(
    instance: &Instance,
    budget_bytes: u64,
    patience: Patience<'_>,
) -> Result<CheckmateSchedule, NotApplicable> {
    from_relaxations(instance, budget_bytes, 0, patience)
}

/// The same, with 100 random roundings of each relaxation in addition.
pub(super) fn randomised_two_phase(
    instance: &Instance,
    budget_bytes: u64,
    patience: Patience<'_>,
) -> Result<CheckmateSchedule, NotApplicable> {
    from_relaxations(instance, budget_bytes, SAMPLES, patience)
}

fn from_relaxations(
    instance: &Instance,
    budget_bytes: u64,
    samples: u64,
    patience: Patience<'_>,
) -> Result<CheckmateSchedule, NotApplicable> {
    let mut found = Vec::new();
    for percent in ALLOWANCES {
        let allowed = (u128::from(budget_bytes) * u128::from(percent) / 100) as u64;
        let fractional = match relaxation(instance, allowed, patience) {
            Err(NotApplicable::OutOfTime) if !found.is_empty() => break,
            other => other?,
        };
        let schedule = best_of(instance, &fractional, budget_bytes, samples, SEED);
        found.push(schedule.map_err(|e| NotApplicable::Relaxation(e.to_string()))?);
    }
    best(instance, budget_bytes, found)
        .ok_or_else(|| NotApplicable::Relaxation("no rounding replays".into()))
}

/// A fractional retention matrix that does not belong to the instance.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RoundingError {
    /// Wrong number of entries.
    #[error("the fractional S has {found} entries, the instance needs {nodes} x {nodes}")]
    Shape {
        /// Entries found.
        found: usize,
        /// Nodes of the instance.
        nodes: usize,
    },
    /// An entry is not a number.
    #[error("entry S[{stage}, {node}] of the fractional S is not a number")]
    NotANumber {
        /// Stage.
        stage: usize,
        /// Node.
        node: usize,
    },
}

/// Deterministic two-phase rounding: a tensor is retained if its value is above `threshold` (0.5 in
/// the paper).
///
/// `fractional[t * n + i]` is `S[t, i]`; entries with `i >= t` are ignored.
///
/// # Errors
/// [`RoundingError`] if the matrix has the wrong shape or an entry that is not a number.
pub fn deterministic(
    instance: &Instance,
    fractional: &[f64],
    threshold: f64,
) -> Result<CheckmateSchedule, RoundingError> {
    round(instance, fractional, |value| value > threshold)
}

/// Randomised two-phase rounding: each tensor is retained in each stage with its fractional value
/// as the probability, independently. Equal seeds give equal schedules.
///
/// # Errors
/// As [`deterministic`].
pub fn randomised(
    instance: &Instance,
    fractional: &[f64],
    seed: u64,
) -> Result<CheckmateSchedule, RoundingError> {
    let mut random = SplitMix64::new(seed);
    round(instance, fractional, |value| random.unit() < value)
}

/// The best of deterministic roundings at the thresholds 0.1, 0.2, .., 0.9 and of `samples`
/// randomised ones: the cheapest within the budget, or the one with the least peak.
///
/// # Errors
/// As [`deterministic`].
pub fn best_of(
    instance: &Instance,
    fractional: &[f64],
    budget_bytes: u64,
    samples: u64,
    seed: u64,
) -> Result<CheckmateSchedule, RoundingError> {
    let first = deterministic(instance, fractional, 0.5)?;
    let thresholds = (1..=9)
        .filter(|&k| k != 5)
        .filter_map(|k| deterministic(instance, fractional, k as f64 / 10.0).ok());
    let random =
        (0..samples).filter_map(|k| randomised(instance, fractional, seed.wrapping_add(k)).ok());
    let candidates = std::iter::once(first.clone())
        .chain(thresholds)
        .chain(random);
    Ok(best(instance, budget_bytes, candidates).unwrap_or(first))
}

fn round(
    instance: &Instance,
    fractional: &[f64],
    mut keeps: impl FnMut(f64) -> bool,
) -> Result<CheckmateSchedule, RoundingError> {
    let n = instance.len();
    if n.checked_mul(n) != Some(fractional.len()) {
        return Err(RoundingError::Shape {
            found: fractional.len(),
            nodes: n,
        });
    }
    let mut retained = BitMatrix::new(n, n);
    for t in 0..n {
        for i in 0..t {
            let value = fractional[t * n + i];
            if value.is_nan() {
                return Err(RoundingError::NotANumber { stage: t, node: i });
            }
            if keeps(value) {
                retained.set(t, i, true);
            }
        }
    }
    Ok(CheckmateSchedule::cheapest(instance, retained))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::fixtures::training_dag;
    use proptest::prelude::*;
    use remat_instances::simulate;

    fn as_fractional(matrix: &BitMatrix) -> Vec<f64> {
        let n = matrix.columns();
        let entry = |k: usize| f64::from(u8::from(matrix.get(k / n, k % n)));
        (0..matrix.rows() * n).map(entry).collect()
    }

    proptest! {
        #[test]
        fn integral_retentions_are_left_as_they_are(
            instance in training_dag(),
            bits in prop::collection::vec(any::<bool>(), 625),
            seed in any::<u64>(),
        ) {
            let n = instance.len();
            let mut retained = BitMatrix::new(n, n);
            for t in 0..n {
                for i in 0..t {
                    retained.set(t, i, bits[t * 25 + i]);
                }
            }
            let expected = CheckmateSchedule::cheapest(&instance, retained.clone());
            let fractional = as_fractional(&retained);
            prop_assert_eq!(&deterministic(&instance, &fractional, 0.5).unwrap(), &expected);
            prop_assert_eq!(&randomised(&instance, &fractional, seed).unwrap(), &expected);
        }

        #[test]
        fn every_rounding_can_be_executed_and_the_best_is_no_worse(
            instance in training_dag(),
            values in prop::collection::vec(0.0f64..1.0, 625),
            seed in any::<u64>(),
            percent in 50u64..120,
        ) {
            let n = instance.len();
            let fractional = &values[..n * n];
            let peak = |s: &CheckmateSchedule| simulate::checkmate(&instance, s).unwrap().peak_bytes;
            let one = deterministic(&instance, fractional, 0.5).unwrap();
            let other = randomised(&instance, fractional, seed).unwrap();
            prop_assert_eq!(&randomised(&instance, fractional, seed).unwrap(), &other);
            let budget = peak(&CheckmateSchedule::checkpoint_all(&instance)) * percent / 100;
            let found = best_of(&instance, fractional, budget, 4, seed).unwrap();
            let fits = |s: &CheckmateSchedule| peak(s) <= budget;
            prop_assert!(fits(&found) || !fits(&one) && !fits(&other));
            if !fits(&found) {
                prop_assert!(peak(&found) <= peak(&one).min(peak(&other)));
            }
        }
    }

    #[test]
    fn wrong_shapes_and_missing_numbers_are_named() {
        let instance = crate::baselines::fixtures::mirrored(&[vec![], vec![0]]);
        assert_eq!(
            deterministic(&instance, &[0.0; 24], 0.5),
            Err(RoundingError::Shape {
                found: 24,
                nodes: 5
            })
        );
        let mut fractional = [0.0; 25];
        fractional[5 * 3 + 1] = f64::NAN;
        assert_eq!(
            randomised(&instance, &fractional, 1),
            Err(RoundingError::NotANumber { stage: 3, node: 1 })
        );
    }
}
