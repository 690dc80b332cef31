//! Proofs of a tree's bound: for every node the branching that leads to it, and duals.
//!
//! The duals of a node prove a Lagrangian lower bound for its subtree
//! ([`Pricing::lagrangian_bound`](crate::price::Pricing::lagrangian_bound)). The duals of an inner
//! node (of the root above all) also prove exclusions for better solutions in its subtree
//! ([`Pricing::exclude`](crate::price::Pricing::exclude)). The bounds further down use these
//! exclusions. The branchings and duals are all a checker of the tree needs.

use crate::price::relaxation::Proof;
use crate::price::{Branch, Program};
use std::collections::BTreeMap;

/// A node of the tree.
#[derive(Clone, Debug)]
pub struct ProvenNode<Q> {
    /// The parent, and the branching that leads here; without a branching, this is the parent again
    /// with other duals. `None` at the root.
    pub above: Option<(u32, Option<Branch<Q>>)>,
    /// Bound that the duals prove with the exclusions of the nodes above; 0 without duals.
    pub bound: u64,
    /// Rows ([`TreeProof::rows`]) with their duals, as for
    /// [`Pricing::lagrangian_bound`](crate::price::Pricing::lagrangian_bound).
    pub duals: Vec<(u32, f64)>,
}

/// The proof of a tree.
#[derive(Clone, Debug)]
pub struct TreeProof<P: Program> {
    /// Rows with duals in some node.
    pub rows: Vec<P::Row>,
    /// Nodes, each after its parent.
    pub nodes: Vec<ProvenNode<P::Quantity>>,
}

impl<P: Program> TreeProof<P> {
    /// The proven bound: the least bound of all leaves. A node's bound is at least its parent's.
    pub fn bound(&self) -> u64 {
        let mut bounds: Vec<u64> = Vec::with_capacity(self.nodes.len());
        let mut leaf = vec![true; self.nodes.len()];
        for node in &self.nodes {
            let above = node.above.as_ref().map(|a| a.0 as usize);
            bounds.push(node.bound.max(above.map_or(0, |a| bounds[a])));
            if let Some(above) = above {
                leaf[above] = false;
            }
        }
        let leaves = bounds.iter().zip(leaf).filter(|b| b.1);
        leaves.map(|b| *b.0).min().unwrap_or(0)
    }
}

/// Collects a proof while the tree is searched.
pub(in crate::price) struct Recorder<P: Program> {
    known: BTreeMap<P::Row, u32>,
    proof: TreeProof<P>,
}

impl<P: Program> Recorder<P> {
    /// A tree of a root with the duals that prove its bound.
    pub fn new(root: &Proof<P>) -> Self {
        let mut recorder = Recorder {
            known: BTreeMap::new(),
            proof: TreeProof {
                rows: Vec::new(),
                nodes: Vec::new(),
            },
        };
        recorder.add(None);
        recorder.prove(0, root);
        recorder
    }

    /// Adds a node below another; returns its number.
    pub fn add(&mut self, above: Option<(u32, Option<Branch<P::Quantity>>)>) -> u32 {
        self.proof.nodes.push(ProvenNode {
            above,
            bound: 0,
            duals: Vec::new(),
        });
        self.proof.nodes.len() as u32 - 1
    }

    /// Records the duals that prove the bound of a node, if the bound is above 0.
    pub fn prove(&mut self, node: u32, by: &Proof<P>) {
        if by.bound == 0 {
            return;
        }
        let rows = &mut self.proof.rows;
        let duals = by.rows.iter().zip(&by.duals).map(|(row, &dual)| {
            let number = match self.known.get(row) {
                Some(&number) => number,
                None => {
                    rows.push(row.clone());
                    self.known.insert(row.clone(), rows.len() as u32 - 1);
                    rows.len() as u32 - 1
                }
            };
            (number, dual)
        });
        let duals = duals.collect();
        let node = &mut self.proof.nodes[node as usize];
        node.bound = by.bound;
        node.duals = duals;
    }

    pub fn finish(self) -> TreeProof<P> {
        self.proof
    }
}
