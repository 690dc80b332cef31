//! Proofs of the bound, if requested.

use super::super::envelope::{Envelope, Enveloped};
use super::Searching;
use crate::bound::largest_working_set;
use crate::offload::{CopyPhase, interval};
use remat_search::{BoundProof, SolveError};

impl Searching<'_> {
    /// Returns whether proofs are collected.
    pub(super) fn is_certified(&self) -> bool {
        self.asked.settings.prove && self.asked.formulation.proves_with_copies()
    }

    fn by_loss(&self) -> bool {
        self.asked.phase == CopyPhase::Loss
    }

    /// Certified bound; `u64::MAX` if the proof shows that no plan fits.
    fn certified(&self) -> Option<u64> {
        let proof = self.proof.as_ref()?;
        Some(proof.bound().unwrap_or(u64::MAX))
    }

    /// Keeps a proof if it shows a higher bound than the current proof.
    pub(super) fn certify_by(&mut self, proof: BoundProof) {
        let shown = proof.bound().unwrap_or(u64::MAX);
        if self.certified().is_none_or(|known| shown > known) {
            self.proof = Some(proof);
        }
    }

    /// Keeps a proof for plans without copies of an enveloped instance, which is valid for plans
    /// with copies up to a horizon.
    pub(super) fn certify_by_envelope(
        &mut self,
        made: &Enveloped,
        horizon: u64,
        within: &BoundProof,
    ) {
        let budget = self.asked.budget_bytes;
        let proof = made.proof(self.instance, self.by_loss(), budget, horizon, within);
        self.certify_by(proof);
    }

    /// Keeps a proof for plans without copies, given that no plan up to a horizon can copy a
    /// tensor.
    pub(super) fn certify_without_copies(&mut self, horizon: u64, within: &BoundProof) {
        let nothing = vec![0; self.instance.len()];
        let envelope = Envelope {
            bytes: nothing.clone(),
        };
        if let Ok(made) = Enveloped::of(self.instance, &envelope, &nothing) {
            self.certify_by_envelope(&made, horizon, within);
        }
    }

    /// Looks for a proof of the reported bound if it lacks one, as a search without proofs may have
    /// found it.
    ///
    /// # Errors
    /// As [`Offload::run`](super::Offload::run).
    pub(super) fn certify(&mut self) -> Result<(), SolveError> {
        if !self.is_certified() {
            return Ok(());
        }
        let (instance, budget) = (self.instance, self.asked.budget_bytes);
        let by_loss = self.by_loss();
        let too_large = |bytes: u64| instance.static_bytes().saturating_add(bytes) > budget;
        if let Some((_, node)) = largest_working_set(instance).filter(|set| too_large(set.0)) {
            self.certify_by(interval::too_small(instance, by_loss, budget, node));
            return Ok(());
        }
        self.certify_by(interval::cost_alone(instance, by_loss, budget));
        let tuning = self.asked.tuning;
        if self.lacks_proof() && !self.has_trips {
            self.prove_by_trips(tuning.trip_shares)?;
        }
        if self.lacks_proof() && !self.watch.is_over() {
            self.prove(tuning.bound_share)?;
        }
        Ok(())
    }

    /// Returns whether the reported bound exceeds the certified bound.
    fn lacks_proof(&self) -> bool {
        let outcome = &self.answer.outcome;
        let told = match outcome.infeasible_because {
            Some(_) => u64::MAX,
            None => outcome.bound,
        };
        self.certified().is_none_or(|certified| certified < told)
    }
}
