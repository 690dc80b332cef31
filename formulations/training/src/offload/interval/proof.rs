//! Text of proofs: rows and quantities of the form with copies.

use super::{Lane, LinkGraph, LinkQuantity, LinkRow, bound};
use crate::life::proof::{self, Limited, Proven};
use remat_instances::Instance;
use remat_instances::instance::{HostLink, NodeId};
use remat_search::BoundProof;
use remat_solver::price::{Columns, TreeProof};
use std::fmt::Write;

/// The proof of a tree's bound; `link` is the graph of the instance, which has a link, for the
/// budget. The checker does not read rows of ways, so it refuses proofs of graphs under MONeT's
/// semantics.
///
/// ```
/// use remat_formulations::offload::CopyPhase;
/// use remat_formulations::offload::interval::{LinkGraph, ProofLimits, prove, tree_proof};
/// use remat_formulations::{bound, zoo};
///
/// let instance = zoo::build(&"zoo:chain?n=6".parse()?)?;
/// let instance = instance.with_host_link(Some("1GB/s".parse()?))?;
/// let budget = bound::smallest_budget(&instance).needed_bytes;
/// let link = LinkGraph::new(&instance, CopyPhase::Any, budget).ok_or("no link")?;
/// let limits = ProofLimits {
///     time: None,
///     iterations: [10_000, 10_000],
///     nodes: 0,
///     gap: 0.0,
///     prove: true,
/// };
/// let proven = prove(link.clone(), instance.base_cost(), None, &limits, &|| false)?;
/// let tree = proven.proof.ok_or("no proof")?;
/// let proof = tree_proof(&instance, budget, &link, &tree);
/// assert_eq!(proof.bound(), Some(proven.bound));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn tree_proof(
    instance: &Instance,
    budget_bytes: u64,
    link: &LinkGraph,
    tree: &TreeProof<LinkGraph>,
) -> BoundProof {
    proof::of_tree(instance, budget_bytes, link, tree)
}

/// Proof that no plan fits, because a node exceeds the budget with its inputs alone.
pub(crate) fn too_small(
    instance: &Instance,
    by_loss: bool,
    budget_bytes: u64,
    node: NodeId,
) -> BoundProof {
    let claim = format!("too-small {}", node.0);
    let mut text = proof::head::<LinkGraph>(instance, budget_bytes, &claim);
    write_link(instance, by_loss, &mut text);
    text.push_str("unit 1\n");
    BoundProof::new(text, None)
}

/// Proof without rows: every node is computed at least once, with or without copies.
pub(crate) fn cost_alone(instance: &Instance, by_loss: bool, budget_bytes: u64) -> BoundProof {
    let bound = instance.nodes().iter().map(|v| v.run_cost(false)).sum();
    let mut text = proof::head::<LinkGraph>(instance, budget_bytes, &format!("bound {bound}"));
    write_link(instance, by_loss, &mut text);
    text.push_str("unit 1\nrows 0\nnodes 1\nroot 0 0\n");
    BoundProof::new(text, Some(bound))
}

/// Writes the line of an instance's link.
pub(crate) fn write_link(instance: &Instance, by_loss: bool, text: &mut String) {
    let none = HostLink::default();
    let link = instance.host_link().unwrap_or(&none);
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "link {} {} latency {} {} host ",
        link.to_host_bytes_per_second,
        link.from_host_bytes_per_second,
        link.latency_ns,
        link.duplex.as_str(),
    );
    let _ = match link.host_memory_bytes {
        Some(bytes) => write!(text, "{bytes}"),
        None => write!(text, "unlimited"),
    };
    let phase = if by_loss { "loss" } else { "any" };
    let _ = writeln!(text, " copies {phase}");
}

impl Proven for LinkGraph {
    const NAME: &'static str = "trips";

    fn multipliers(&self, rows: &[LinkRow], duals: &[f64]) -> Option<(u32, Vec<i128>)> {
        bound::fixed(self, rows, duals)
    }

    /// Upper bound on the cost of plans: between two computations each tensor leaves and comes back
    /// at most once.
    fn beyond(&self) -> u64 {
        let n = self.len() as u64;
        let pauses = n.saturating_mul(n).saturating_add(1);
        let copies = self.copies.iter().flatten().flatten();
        let copies = copies.fold(0u64, |sum, time| {
            // Times are rounded down.
            sum.saturating_add((time.unsigned_abs() + 1).saturating_mul(self.unit))
        });
        let computed = Columns::cost_upper_bound(&self.graph);
        computed.saturating_add(copies.saturating_mul(pauses))
    }

    fn write_terms(&self, instance: &Instance, text: &mut String) {
        write_link(instance, self.loss.is_some(), text);
        let _ = writeln!(text, "unit {}", self.unit);
    }

    fn limited(&self, row: &LinkRow) -> Option<Limited> {
        let LinkRow::Base(row) = row else {
            return None;
        };
        self.graph.limited(row)
    }

    fn write_row(&self, row: &LinkRow, text: &mut String) {
        let _ = match row {
            LinkRow::Base(row) => {
                self.graph.write_row(row, text);
                Ok(())
            }
            LinkRow::Window { lane, first, last } => {
                let lane = match lane {
                    Lane::Out => "out",
                    Lane::Back => "back",
                    Lane::Shared => "both",
                };
                write!(text, "window {lane} {first} {last}")
            }
            LinkRow::Leaves {
                node,
                at_least,
                count,
            } => {
                let sense = if *at_least { ">=" } else { "<=" };
                write!(text, "branch leaves {node} {sense} {count}")
            }
            LinkRow::Host { stage } => write!(text, "host {stage}"),
            LinkRow::Scatters { node } => write!(text, "scatters {node}"),
            LinkRow::Choose { node } => write!(text, "choose {node}"),
            LinkRow::Reads { node, input } => write!(text, "reads {node} {input}"),
            LinkRow::Way { node, way, is_this } => {
                let sense = if *is_this { ">=" } else { "<=" };
                write!(
                    text,
                    "branch way {node} {way} {sense} {}",
                    u8::from(*is_this)
                )
            }
        };
    }

    fn write_quantity(&self, quantity: &LinkQuantity, text: &mut String) {
        match quantity {
            LinkQuantity::Schedule(quantity) => self.graph.write_quantity(quantity, text),
            LinkQuantity::Leaves { node } => {
                let _ = write!(text, "leaves {node}");
            }
            LinkQuantity::Way { node, way } => {
                let _ = write!(text, "way {node} {way}");
            }
        }
    }
}
