//! One node of the tree: its relaxation, cuts, and the branching below it.

use super::dive::dive;
use super::probe::{Effort, Trials, choose};
use super::warm::Warm;
use crate::price::relaxation::{CutEffort, RelaxEnd, Relaxation, Tail, Until};
use crate::price::{Branch, Open, Program};
use remat_lp::ModelError;
use std::sync::Arc;

/// Limits on eager cutting and on cut rounds at a node.
const EAGER_NODE_TAIL: Tail = Tail {
    rounds: 3,
    ..NODE_TAIL
};
const NODE_TAIL: Tail = Tail {
    rounds: 1,
    of_value: 2e-5,
    of_gain: 0.0,
};

/// Gain of the last branching, as a share of the gain that would have closed the node, below which
/// the node is on a plateau.
const PLATEAU_GAIN_SHARE: f64 = 0.02;
/// Limit on the quantities considered for branching.
const CANDIDATE_LIMIT: usize = 64;
/// The same limit on a plateau: the quantities that lead off it seldom rank first.
const CANDIDATE_LIMIT_ON_PLATEAU: usize = 300;

/// A node of the tree: a list of branchings, its bound and its warm start.
pub(super) struct Node<P: Program> {
    /// Its number in the proof, if a proof is recorded.
    pub number: u32,
    pub bound: u64,
    pub branches: Vec<Branch<P::Quantity>>,
    /// Exclusions that hold for better solutions below it.
    pub exclusions: Arc<P::Exclusions>,
    /// Open quantity of the last branching, its direction, and the value of the relaxation there.
    pub made_at: Option<(Open<P::Quantity>, bool, f64)>,
    /// Warm start from the parent's relaxation: its rows and basis.
    pub warm: Option<Arc<Warm<P>>>,
}

/// The solution of a node's relaxation.
#[derive(Clone, Debug)]
pub struct Visited<P: Program> {
    /// The solution.
    pub point: P::Point,
    /// True if it leaves no quantity open: it is a solution.
    pub integral: bool,
}

/// The outcome of a node.
pub(super) struct SolvedNode<P: Program> {
    /// Number and bound of the node.
    pub number: u32,
    pub bound: u64,
    /// Its children, the one to plunge into first; `None` if it is closed.
    pub children: Option<[Node<P>; 2]>,
    /// The node itself, if it is set aside until the gap is closed.
    pub aside: Option<Node<P>>,
    /// Rows and basis of its relaxation, if it has children or is set aside.
    pub warm: Option<Warm<P>>,
    /// Its relaxation, if it was solved to the end.
    pub visited: Option<Visited<P>>,
    /// Result of a dive from it.
    pub dived: Option<Visited<P>>,
    pub trials: Trials<P::Quantity>,
    /// Quantity and direction of the branching above, and its true gain.
    pub gained: Option<(Open<P::Quantity>, bool, f64)>,
}

/// Solves a node, and sets it aside if it is within the gap but below the cost to beat.
pub(super) fn solve_node<P: Program>(
    relax: &mut Relaxation<P>,
    node: Node<P>,
    exclusions: &Arc<P::Exclusions>,
    effort: &Effort<'_>,
) -> Result<SolvedNode<P>, ModelError> {
    let mut solved = branch(relax, &node, exclusions, effort)?;
    let aside = effort.target..effort.cutoff;
    if solved.children.is_none() && aside.contains(&solved.bound) {
        solved.warm = Some(relax.warm());
        solved.aside = Some(Node {
            bound: solved.bound,
            made_at: None,
            ..node
        });
    }
    Ok(solved)
}

/// Solves a node and branches, unless it is within the gap.
fn branch<P: Program>(
    relax: &mut Relaxation<P>,
    node: &Node<P>,
    exclusions: &Arc<P::Exclusions>,
    effort: &Effort<'_>,
) -> Result<SolvedNode<P>, ModelError> {
    let Effort {
        target,
        cutoff,
        settings,
        ..
    } = *effort;
    (relax.target, relax.cutoff) = (target, cutoff);
    let mut below = node.exclusions.clone();
    relax
        .program()
        .exclude_all_of(Arc::make_mut(&mut below), exclusions);
    relax.enter(&node.branches, below, node.bound)?;
    if let Some(warm) = &node.warm {
        relax.restore(warm)?;
    }
    let end = converge(relax, settings.node_cut_rounds)?;
    let mut solved = SolvedNode {
        number: node.number,
        bound: relax.bound,
        children: None,
        aside: None,
        warm: None,
        visited: None,
        dived: None,
        trials: Trials::default(),
        gained: None,
    };
    let mut effort = *effort;
    let mut looked_at = CANDIDATE_LIMIT;
    if let Some((open, up, before)) = node.made_at.clone() {
        let gain = (relax.value.min(target as f64) - before).max(0.0);
        solved.gained = Some((open, up, gain));
        if gain <= PLATEAU_GAIN_SHARE * (target as f64 - before) {
            // Branchings without gain make pseudo-costs useless: a branching that gains is worth
            // any number of trials.
            effort.thrifty = false;
            looked_at = CANDIDATE_LIMIT_ON_PLATEAU;
        }
    }
    // The bound of an unfinished relaxation is valid too.
    if end != RelaxEnd::Converged {
        return Ok(solved);
    }
    relax.resolve();
    solved.bound = relax.bound;
    if relax.bound >= target {
        return Ok(solved);
    }
    let open = relax.open(looked_at)?;
    solved.bound = relax.bound;
    let Some(open) = open else {
        return Ok(solved);
    };
    solved.visited = Some(Visited {
        point: relax.point.clone(),
        integral: open.is_empty(),
    });
    if open.is_empty() {
        return Ok(solved);
    }
    solved.warm = Some(relax.warm());
    relax.exclude()?;
    let (chosen, gains) = choose(relax, &open, &effort, &mut solved.trials)?;
    solved.children = Some(children(relax, node, &chosen, gains));
    if effort.dives {
        solved.dived = dive(relax, &node.branches)?;
    }
    Ok(solved)
}

/// Solves the relaxation of a node, with rounds of cuts.
fn converge<P: Program>(
    relax: &mut Relaxation<P>,
    cut_rounds: usize,
) -> Result<RelaxEnd, ModelError> {
    let until = match cut_rounds {
        0 => Until::Stalled,
        _ => Until::Feasible,
    };
    let end = relax.converge(until, None)?;
    if end != RelaxEnd::Converged || cut_rounds == 0 {
        return Ok(end);
    }
    let effort = CutEffort {
        rounds: cut_rounds,
        eager: Some(EAGER_NODE_TAIL),
        inside: false,
        tail: NODE_TAIL,
    };
    relax.cut_rounds(effort, None)
}

/// The two children of a branching, the one whose bound rises less first.
fn children<P: Program>(
    relax: &Relaxation<P>,
    node: &Node<P>,
    chosen: &Open<P::Quantity>,
    gains: [f64; 2],
) -> [Node<P>; 2] {
    let [down, up] = chosen.branches().map(|branch| {
        let up = branch.at_least;
        let mut branches = node.branches.clone();
        // A tighter bound on the same quantity replaces the old one.
        branches.retain(|b| b.quantity != branch.quantity || b.at_least != branch.at_least);
        branches.push(branch);
        Node {
            number: 0,
            bound: relax.bound,
            branches,
            exclusions: relax.master.exclusions().clone(),
            made_at: Some((chosen.clone(), up, relax.value)),
            warm: node.warm.clone(),
        }
    });
    match gains[0] <= gains[1] {
        true => [down, up],
        false => [up, down],
    }
}
