//! Proofs that no order of a training graph needs less memory than a bound
//! (`remat-order-proof/1`), checked in integers.
//!
//! `docs/theory/order.md`, "Certificates", states the format and why the checks suffice. This
//! module shares no code with the search. Its verdict depends only on these few files and on the
//! reader of graphs, which gives the predecessors of operators and the readers of storages.
//!
//! | module | concept |
//! |---|---|
//! | [`parse`] | the text |
//! | `ends` | the problem read from either end; executed sets |
//! | `flow` | least memory between two executed sets, proven by a flow |
//! | `cut` | memory when an operator runs |
//! | `precedence` | pairs of operators that run in one order below the bound |
//! | `lazy` | operators that can wait |
//! | `levels` | executed sets from which every way needs the bound |

mod cut;
mod ends;
mod flow;
mod lazy;
mod levels;
pub mod parse;
mod precedence;

use ends::Ends;
use parse::ProofKind;
use remat_instances::order::{OrderGraph, Variant};

/// The first line of a proof.
pub const HEADER: &str = "remat-order-proof/1";

/// Statement that a proof has shown, and the number of sets that were checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proven {
    /// The variant of the graph.
    pub variant: Variant,
    /// No execution order of the variant needs less than so many bytes.
    pub bound_bytes: u64,
    /// Executed sets that were checked; 0 for a proof without sets.
    pub sets: usize,
}

/// Checks a proof for a graph.
///
/// # Errors
/// The first fault, in words.
///
/// ```
/// use remat_instances::order::{read_order_graph_bytes, Variant};
/// let text = r#"{"schema": "remat-order/1", "operators": [
///     {"outputs": [0]}, {"inputs": [0], "outputs": [1]}, {"inputs": [1]}],
///     "tensors": [{"bytes": 4}, {"bytes": 5}]}"#;
/// let graph = read_order_graph_bytes("three.json", text.as_bytes())?;
/// let head = format!("remat-order-proof/1\ngraph {}\nvariant free\n", graph.digest());
/// let proof = format!("{head}bound 9\ncut 1\nt 1 - - 5\n");
/// assert_eq!(remat_check::order::check(&graph, &proof)?.bound_bytes, 9);
/// let bold = proof.replace("bound 9", "bound 10");
/// assert!(remat_check::order::check(&graph, &bold).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check(graph: &OrderGraph, text: &str) -> Result<Proven, String> {
    let proof = parse::parse(text)?;
    let digest = graph.digest();
    if proof.graph_sha256 != digest {
        let wanted = &proof.graph_sha256;
        return Err(format!(
            "the proof is for a graph with SHA-256 {wanted}, not {digest}"
        ));
    }
    let problem = graph.problem(proof.variant).map_err(|e| e.to_string())?;
    let mut proven = Proven {
        variant: proof.variant,
        bound_bytes: proof.bound_bytes,
        sets: 0,
    };
    match &proof.kind {
        ProofKind::Base if proof.bound_bytes <= problem.base_bytes() => {}
        ProofKind::Base => {
            let base = problem.base_bytes();
            return Err(format!("resident memory is {base} B, below the bound"));
        }
        ProofKind::Cut {
            implied,
            operator,
            flow,
        } => {
            let mut ends = Ends::forward(&problem);
            for pair in implied {
                precedence::add(&mut ends, pair, proof.bound_bytes)?;
            }
            let v = ends.operator(*operator)?;
            cut::check(&ends, v, None, flow, proof.bound_bytes)?;
        }
        ProofKind::Levels(levels) => {
            proven.sets = levels::check(&problem, levels, proof.bound_bytes)?;
        }
    }
    Ok(proven)
}
