//! Checks a proof node by node.

use super::checkmate::{self, Checkmate};
use super::monet::{self, Monet};
use super::trips::{self, Trips};
use super::{Body, Branch, Claim, Evidence, Place, Program, Proof};
use remat_instances::Instance;

/// Exclusions are followed up until nothing changes, or so often.
const PASSES: usize = 6;

/// Counts of what was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rows with a multiplier at some node.
    pub rows: usize,
    /// Nodes of the tree.
    pub nodes: usize,
    /// Leaves among them.
    pub leaves: usize,
}

/// Checks that a proof shows what it claims about an instance: with its implementations and
/// in-place steps for MONeT's program; of Checkmate's the first implementations count
/// ([`Instance::single_implementation_view`]).
///
/// # Errors
/// The first thing that is wrong, in words.
pub fn check(proof: &Proof, instance: &Instance) -> Result<Counts, String> {
    let budget_bytes = proof.budget_bytes;
    if let Body::Envelope(envelope) = &proof.body {
        return envelope.check(instance, budget_bytes, proof.claim);
    }
    if let Claim::TooSmall(node) = proof.claim {
        let is_too_small = match proof.body {
            Body::Monet(_) => monet::is_too_small(instance, budget_bytes, node)?,
            Body::Trips { .. } => trips::is_too_small(instance, budget_bytes, node),
            Body::Checkmate(_) | Body::Envelope(_) => {
                checkmate::is_too_small(instance, budget_bytes, node)
            }
        };
        return match is_too_small {
            true => Ok(Counts::default()),
            false => Err(format!("node {node} fits within the budget")),
        };
    }
    // What is always there, or happens in every schedule, exceeds the budget where there is no
    // program: nothing fits, whatever the claim.
    match &proof.body {
        Body::Checkmate(evidence) => match checkmate::Graph::new(instance, budget_bytes) {
            Some(graph) => check_checkmate(graph, proof.claim, evidence),
            None => Ok(Counts::default()),
        },
        Body::Monet(evidence) => match Monet::new(instance, budget_bytes)? {
            Some(program) => check_tree(&program, proof.claim, evidence),
            None => Ok(Counts::default()),
        },
        Body::Trips {
            terms,
            unit,
            evidence,
        } => match Trips::new(instance, budget_bytes, terms, *unit)? {
            Some(program) => check_tree(&program, proof.claim, evidence),
            None => Ok(Counts::default()),
        },
        Body::Envelope(envelope) => envelope.check(instance, budget_bytes, proof.claim),
    }
}

/// Checks a proof of Checkmate's program for a graph.
pub(super) fn check_checkmate(
    graph: checkmate::Graph,
    claim: Claim,
    evidence: &Evidence<checkmate::Row, checkmate::Quantity>,
) -> Result<Counts, String> {
    match claim {
        Claim::TooSmall(node) => match graph.is_too_small(node) {
            true => Ok(Counts::default()),
            false => Err(format!("node {node} fits within the budget")),
        },
        _ => check_tree(&Checkmate::of(graph), claim, evidence),
    }
}

/// Checks that the leaves of a tree reach a claim and cover all schedules of a program.
fn check_tree<P: Program>(
    program: &P,
    claim: Claim,
    evidence: &Evidence<P::Row, P::Quantity>,
) -> Result<Counts, String> {
    let target = match claim {
        Claim::Bound(cost) => cost,
        _ => program.beyond(),
    };
    let mut below: Vec<Vec<u32>> = vec![Vec::new(); evidence.nodes.len()];
    for (number, node) in evidence.nodes.iter().enumerate() {
        if let Place::Again(above) | Place::Below(above, _) = node.place {
            below[above as usize].push(number as u32);
        }
    }
    if evidence.nodes.is_empty() {
        return Err("the tree has no node".into());
    }
    let mut checker = Checker {
        program,
        evidence,
        below,
        target,
        used: vec![false; evidence.rows.len()],
        leaves: 0,
    };
    checker.run()?;
    Ok(Counts {
        rows: checker.used.iter().filter(|u| **u).count(),
        nodes: evidence.nodes.len(),
        leaves: checker.leaves,
    })
}

struct Checker<'a, P: Program> {
    program: &'a P,
    evidence: &'a Evidence<P::Row, P::Quantity>,
    /// Nodes that hang at each.
    below: Vec<Vec<u32>>,
    /// Cost that every leaf must reach.
    target: u64,
    used: Vec<bool>,
    leaves: usize,
}

/// A node that is still to be checked, and what is known above it.
struct OpenNode<P: Program> {
    node: u32,
    exclusions: P::Exclusions,
    branches: Vec<Branch<P::Quantity>>,
    /// True if the node above reaches the target by itself.
    closed: bool,
}

impl<P: Program> Checker<'_, P> {
    fn run(&mut self) -> Result<(), String> {
        let mut open = vec![OpenNode {
            node: 0,
            exclusions: self.program.excluded_at_first(),
            branches: Vec::new(),
            closed: false,
        }];
        while let Some(at) = open.pop() {
            open.extend(self.visit(at)?);
        }
        Ok(())
    }

    /// Checks that a row holds at every schedule below a node, as far as that is not known.
    fn check_row(&mut self, row: u32, branches: &[Branch<P::Quantity>]) -> Result<(), String> {
        let statement = &self.evidence.rows[row as usize];
        if let Some(branch) = P::branch(statement)
            && !branches.contains(branch)
        {
            return Err("no branching above the node says so".into());
        }
        match std::mem::replace(&mut self.used[row as usize], true) {
            true => Ok(()),
            false => self.program.check_row(statement),
        }
    }

    /// Checks a node; returns those that hang at it.
    fn visit(&mut self, at: OpenNode<P>) -> Result<Vec<OpenNode<P>>, String> {
        let OpenNode {
            node: number,
            mut exclusions,
            branches,
            closed,
        } = at;
        let evidence = self.evidence;
        let node = &evidence.nodes[number as usize];
        for &(row, _) in &node.multipliers {
            self.check_row(row, &branches)
                .map_err(|e| format!("row {row}, at node {number}: {e}"))?;
        }
        let one = 1i128 << node.bits;
        let rows = node.multipliers.iter();
        let rows = rows.map(|&(row, y)| (&evidence.rows[row as usize], y));
        let too_large = || {
            format!("node {number}: the multipliers are too large for whole numbers of 128 bits")
        };
        let prices = self.program.prices(rows, one).ok_or_else(too_large)?;
        let sound = self.program.check_prices(&prices);
        sound.map_err(|e| format!("node {number}: {e}"))?;
        let reach = self.program.reach(&prices, &exclusions);
        // The largest bound that is less than the target: costs are whole numbers. No sum of it and
        // of others is to overflow.
        let most = (i128::from(self.target) - 1).checked_mul(one);
        let most = most.filter(|most| *most < i128::MAX / 4);
        let most = most.ok_or_else(too_large)?;
        let closed = closed || reach.is_none_or(|reach| reach > most);
        let below = std::mem::take(&mut self.below[number as usize]);
        if below.is_empty() {
            self.leaves += 1;
            return match (closed, reach) {
                (false, Some(reach)) => Err(format!(
                    "node {number}: its multipliers prove {}, less than {}",
                    reach.div_euclid(one) + i128::from(reach.rem_euclid(one) > 0),
                    self.target
                )),
                _ => Ok(Vec::new()),
            };
        }
        for _ in 0..PASSES {
            let before = P::count(&exclusions);
            self.program.exclude(&prices, most, &mut exclusions);
            if P::count(&exclusions) == before {
                break;
            }
        }
        let places: Vec<Option<Branch<P::Quantity>>> = below
            .iter()
            .map(|&b| match &evidence.nodes[b as usize].place {
                Place::Below(_, branch) => Some(branch.clone()),
                _ => None,
            })
            .collect();
        let complete = match &places[..] {
            [None] => true,
            [Some(a), Some(b)] => a.completes(b),
            _ => false,
        };
        if !complete {
            return Err(format!(
                "the nodes below node {number} do not cover what is below it"
            ));
        }
        let open = below
            .into_iter()
            .zip(places)
            .map(|(node, branch)| OpenNode {
                node,
                exclusions: exclusions.clone(),
                branches: branches.iter().cloned().chain(branch).collect(),
                closed,
            });
        Ok(open.collect())
    }
}
