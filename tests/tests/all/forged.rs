//! Proofs in which one number is changed.

use remat_check::proof::{self as checker, Claim, Proof};
use remat_instances::instance::Instance;
use remat_tests::graphs::Numbers;
use std::collections::BTreeSet;

/// Verdicts on forged proofs.
#[derive(Default)]
pub struct Verdicts {
    /// Number of accepted proofs.
    pub accepted: usize,
    /// Number of refused proofs.
    pub refused: usize,
    /// Kinds of problems for which they were refused.
    pub problems: BTreeSet<Option<usize>>,
}

impl Verdicts {
    /// Changes one number anywhere in the text, `times` times, each time in the original text.
    /// Asserts that every accepted claim is true: the optimum is taken under the budget and the
    /// link that the forged text names.
    pub fn forge(
        &mut self,
        text: &str,
        instance: &Instance,
        times: usize,
        numbers: &mut Numbers,
        optimum: impl Fn(&Proof) -> Option<u64>,
        what: &str,
    ) {
        let words: Vec<&str> = text.split_inclusive([' ', '\n']).collect();
        for _ in 0..times {
            let at = numbers.below(words.len() as u64) as usize;
            let Ok(value) = words[at].trim().parse::<i128>() else {
                continue;
            };
            let other = match numbers.below(4) {
                0 => value + 1,
                1 => value - 1,
                2 => i128::from(numbers.below(10)),
                _ => value * 2,
            };
            let mut forged: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
            forged[at] = words[at].replace(words[at].trim(), &other.to_string());
            let forged = forged.concat();
            let verdict = checker::parse(&forged)
                .and_then(|proof| checker::check(&proof, instance).map(|_| proof));
            let proof = match verdict {
                Ok(proof) => proof,
                Err(problem) => {
                    self.refused += 1;
                    self.problems
                        .insert(problem.split(':').next_back().map(str::len));
                    continue;
                }
            };
            self.accepted += 1;
            let (claim, optimum) = (proof.claim, optimum(&proof));
            let holds = match claim {
                Claim::Bound(cost) => optimum.is_none_or(|optimum| cost <= optimum),
                Claim::Infeasible | Claim::TooSmall(_) => optimum.is_none(),
            };
            assert!(holds, "{what}: {claim:?}, optimum {optimum:?}\n{forged}");
        }
    }
}
