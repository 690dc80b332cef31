//! Bounds for plans with copies by bounds for plans without, in more memory
//! (`docs/theory/proof/envelope.md`).
//!
//! A plan with copies becomes a plan without if tensors that only the host has stay on the device:
//! it computes the same in more memory. The extra memory at a moment is bounded by the bytes that
//! the link carries before and behind it, in plans that take no longer than a horizon. *Holders*
//! take memory away again in stages that need less than the larger budget.

use super::checkmate::{self, Checkmate, Holder};
use super::claim::{Claim, Head};
use super::link::{LinkTerms, may_leave};
use super::text::ProofLines;
use super::tree::{Counts, Evidence};
use super::trips::LinkedGraph;
use remat_instances::Instance;
use remat_instances::instance::CopyTimes;

/// Evidence of a bound for plans with copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The link.
    pub terms: LinkTerms,
    /// The cost up to which plans are considered.
    pub horizon: u64,
    /// Memory taken away, in the order of its nodes.
    pub holders: Vec<Holder>,
    /// The proof for plans without copies, in the larger budget and with the holders.
    pub within: PlainProof,
}

/// A proof for plans without copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainProof {
    /// The larger budget in bytes.
    pub budget_bytes: u64,
    /// Its claim.
    pub claim: Claim,
    /// Rows and tree, in terms of Checkmate's program.
    pub evidence: Evidence<checkmate::CheckmateRow, checkmate::CheckmateQuantity>,
}

/// Limit on the holders of an envelope: checking takes as many steps for each stage.
const HOLDERS_LIMIT: usize = 4096;

impl Envelope {
    /// Reads an envelope and the proof within.
    ///
    /// # Errors
    /// The faulty line, and the expected text.
    pub(super) fn read(lines: &mut ProofLines<'_>) -> Result<Self, String> {
        let terms = LinkTerms::read(lines)?;
        let horizon = lines.headed("horizon", "a cost")?;
        let count: usize = lines.headed("holders", "how many holders there are")?;
        if count > HOLDERS_LIMIT {
            let right = format!("at most {HOLDERS_LIMIT} holders");
            return lines.here().refuse(count, &right);
        }
        let mut holders = Vec::new();
        for _ in 0..count {
            let mut line = lines.next()?;
            let bytes = line.number("bytes")?;
            let from = line.number("a stage")?;
            let until = match line.word("a stage, or end")? {
                "end" => None,
                word => match word.parse() {
                    Ok(stage) => Some(stage),
                    Err(_) => return line.refuse(word, "a stage, or end"),
                },
            };
            line.end()?;
            holders.push(Holder { bytes, from, until });
        }
        let head = Head::read(lines, &["checkmate"], "checkmate")?;
        let within = PlainProof {
            budget_bytes: head.budget_bytes,
            claim: head.claim,
            evidence: Evidence::read::<Checkmate>(lines, head.claim)?,
        };
        Ok(Envelope {
            terms,
            horizon,
            holders,
            within,
        })
    }

    /// Checks that plans with copies within a budget take at least the claimed cost.
    ///
    /// # Errors
    /// The first fault, in words.
    pub(super) fn check(
        &self,
        instance: &Instance,
        budget_bytes: u64,
        claim: Claim,
    ) -> Result<Counts, String> {
        let cost = match claim {
            Claim::Bound(cost) => cost,
            // If any plan fits, some plan takes less than that.
            Claim::Infeasible => {
                let linked = LinkedGraph::new(instance, budget_bytes, &self.terms, 1)?;
                linked.map_or(0, |linked| linked.beyond())
            }
            Claim::TooSmall(_) => {
                return Err("an envelope shows bounds, or that nothing fits".into());
            }
        };
        // A plan takes whole units: one beyond the horizon takes one more.
        if cost > self.horizon.saturating_add(1) {
            return Err(format!(
                "plans longer than the horizon of {} are not looked at, and the claim is {cost}",
                self.horizon
            ));
        }
        match self.within.claim {
            Claim::Bound(within) if within < cost => {
                return Err(format!(
                    "without copies it claims {within}, less than {cost}"
                ));
            }
            _ => {}
        }
        let times = self.terms.times(instance)?;
        let graph = checkmate::Graph::new(instance, budget_bytes);
        let Some(graph) = graph else {
            // The static memory exceeds the budget.
            return Ok(Counts::default());
        };
        let held = self.held(&graph)?;
        let needed = self.needed(instance, &graph, &times);
        let larger = self.within.budget_bytes;
        for (stage, (held, needed)) in held.iter().zip(&needed).enumerate() {
            let room = larger.checked_sub(instance.static_bytes());
            let room = room.and_then(|room| room.checked_sub(*held)).unwrap_or(0);
            if room < *needed {
                return Err(format!(
                    "stage {stage} has {room} bytes without copies, and those with copies may take {needed}"
                ));
            }
        }
        let capacity = larger.saturating_sub(instance.static_bytes());
        let enveloped = graph.with_holders(&self.holders, capacity);
        checkmate::check_graph(enveloped, self.within.claim, &self.within.evidence)
            .map_err(|e| format!("without copies: {e}"))
    }

    /// Bytes that holders take while each stage runs.
    fn held(&self, graph: &checkmate::Graph) -> Result<Vec<u64>, String> {
        let n = graph.len();
        let mut held = vec![0u64; n];
        for (number, holder) in self.holders.iter().enumerate() {
            let (from, until) = (holder.from as usize, holder.until.map(|t| t as usize));
            let last = until.unwrap_or(n - 1);
            if from > last || last >= n {
                return Err(format!(
                    "holder {number} is there from stage {from} to {last}"
                ));
            }
            for bytes in &mut held[from..=last] {
                let sum = bytes.checked_add(holder.bytes);
                *bytes = sum.ok_or_else(|| format!("holder {number} is too large"))?;
            }
        }
        Ok(held)
    }

    /// Bytes that suffice in each stage for the tensors of a plan with copies, on the device and on
    /// the host alone, beside the static memory.
    fn needed(&self, instance: &Instance, graph: &checkmate::Graph, times: &CopyTimes) -> Vec<u64> {
        let n = graph.len();
        let before = |stage: usize| {
            let costs = graph.cost[..stage].iter();
            costs.fold(0u64, |sum, cost| sum.saturating_add(*cost))
        };
        let all = before(n);
        let loss = self.terms.loss(instance);
        // Bytes that go in some time and come in the rest of it.
        let [out, back] = [
            times.to_host_within(self.horizon),
            times.from_host_within(self.horizon),
        ];
        let [out, back] = [u128::from(out) + 1, u128::from(back) + 1];
        // Where both are beyond 64 bits there is no limit.
        let both = out.checked_mul(back).map(|product| product / (out + back));
        let both = both.and_then(|both| u64::try_from(both).ok());
        let both = both.unwrap_or(u64::MAX);
        let host = self.terms.link.host_memory_bytes.unwrap_or(u64::MAX);
        let sizes = instance.ids().filter(|id| may_leave(instance, *id));
        let least = sizes.map(|id| instance.node(id).output_bytes).min();
        let most = graph.most_bytes();
        let room = |stage: usize| {
            // Bytes that only the host has when the stage's node starts left before that, and
            // return later.
            let gone = loss.map_or(stage, |loss| stage.min(loss));
            let come = loss.map_or(stage, |loss| stage.max(loss + 1));
            let to = self.horizon.saturating_sub(all - before(gone));
            let from = self.horizon.saturating_sub(before(come));
            let carried = times.to_host_within(to).min(times.from_host_within(from));
            let away = carried.min(both).min(host);
            // Tensors go whole.
            let away = if least.is_none_or(|least| away < least) {
                0
            } else {
                away
            };
            graph.capacity.saturating_add(away).min(most[stage])
        };
        (0..n).map(room).collect()
    }
}
