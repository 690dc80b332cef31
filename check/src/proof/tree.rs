//! Checks a proof node by node.

use super::graph::Graph;
use super::lives::{LifeExclusions, Lives};
use super::rows::{self, Prices};
use super::{Branch, Claim, Node, Place, Proof, Row};
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

/// Checks that a proof shows what it claims about an instance.
///
/// # Errors
/// The first thing that is wrong, in words.
pub fn check(proof: &Proof, instance: &Instance) -> Result<Counts, String> {
    let Some(graph) = Graph::new(instance, proof.budget_bytes) else {
        // What is always there exceeds the budget: nothing fits, whatever the claim.
        return Ok(Counts::default());
    };
    let target = match proof.claim {
        Claim::Bound(cost) => cost,
        Claim::Infeasible => graph.beyond(),
        Claim::TooSmall(node) => {
            let fits = (node as usize) < graph.len() && graph.need_first(node) <= graph.capacity;
            return match fits || node as usize >= graph.len() {
                true => Err(format!("node {node} fits within the budget")),
                false => Ok(Counts::default()),
            };
        }
    };
    let mut below: Vec<Vec<u32>> = vec![Vec::new(); proof.nodes.len()];
    for (number, node) in proof.nodes.iter().enumerate() {
        if let Place::Again(above) | Place::Below(above, _) = node.place {
            below[above as usize].push(number as u32);
        }
    }
    if proof.nodes.is_empty() {
        return Err("the tree has no node".into());
    }
    let base = graph.cost.iter().map(|&c| i128::from(c)).sum();
    let mut checker = Checker {
        proof,
        below,
        graph,
        base,
        target,
        used: vec![false; proof.rows.len()],
        leaves: 0,
    };
    checker.run()?;
    Ok(Counts {
        rows: checker.used.iter().filter(|u| **u).count(),
        nodes: proof.nodes.len(),
        leaves: checker.leaves,
    })
}

struct Checker<'a> {
    proof: &'a Proof,
    /// Nodes that hang at each.
    below: Vec<Vec<u32>>,
    graph: Graph,
    /// Cost of computing everything once.
    base: i128,
    /// Cost that every leaf must reach.
    target: u64,
    used: Vec<bool>,
    leaves: usize,
}

/// A node that is still to be checked, and what is known above it.
struct OpenNode {
    node: u32,
    exclusions: LifeExclusions,
    branches: Vec<Branch>,
    /// True if the node above reaches the target by itself.
    closed: bool,
}

impl Checker<'_> {
    fn run(&mut self) -> Result<(), String> {
        let mut open = vec![OpenNode {
            node: 0,
            exclusions: LifeExclusions::none(&self.graph),
            branches: Vec::new(),
            closed: false,
        }];
        while let Some(at) = open.pop() {
            open.extend(self.visit(at)?);
        }
        Ok(())
    }

    /// Checks a node; returns those that hang at it.
    fn visit(&mut self, at: OpenNode) -> Result<Vec<OpenNode>, String> {
        let OpenNode {
            node: number,
            mut exclusions,
            branches,
            closed,
        } = at;
        let node = &self.proof.nodes[number as usize];
        for &(row, _) in &node.multipliers {
            let statement = &self.proof.rows[row as usize];
            let known = std::mem::replace(&mut self.used[row as usize], true);
            // What holds at every schedule is checked once.
            if !known || matches!(statement, Row::Branch(_)) {
                rows::check(&self.graph, statement, &branches)
                    .map_err(|e| format!("row {row}, at node {number}: {e}"))?;
            }
        }
        let bounds = self.bounds(node).ok_or_else(|| {
            format!("node {number}: the multipliers are too large for whole numbers of 128 bits")
        })?;
        let reach = bounds.reach(self, &exclusions);
        let closed = closed || reach > bounds.most_below(self.target);
        let below = std::mem::take(&mut self.below[number as usize]);
        if below.is_empty() {
            self.leaves += 1;
            return match closed {
                true => Ok(Vec::new()),
                false => Err(format!(
                    "node {number}: its multipliers prove {}, less than {}",
                    reach.div_euclid(bounds.one),
                    self.target
                )),
            };
        }
        bounds.exclude(self, &mut exclusions);
        let places: Vec<Option<Branch>> = below
            .iter()
            .map(|&b| match &self.proof.nodes[b as usize].place {
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

    fn bounds(&self, node: &Node) -> Option<NodeBounds> {
        let multipliers = node.multipliers.iter();
        let rows = multipliers.map(|&(row, y)| (&self.proof.rows[row as usize], y));
        let prices = Prices::new(&self.graph, rows)?;
        let one = 1i128 << node.bits;
        let n = self.graph.len() as i128;
        // Sums over stages of sums of prices and costs.
        let again = self.graph.cost_again.iter().map(|&c| i128::from(c));
        let dearest = self.base.checked_add(again.sum::<i128>().checked_mul(n)?)?;
        let costs = dearest.checked_mul(one)?;
        let most = prices.most.checked_add(costs)?;
        most.checked_mul(n + 2)?.checked_mul(8)?;
        Some(NodeBounds { prices, one })
    }
}

/// The bounds that a node's multipliers give.
struct NodeBounds {
    prices: Prices,
    one: i128,
}

impl NodeBounds {
    /// The largest bound that is less than a cost: costs are whole numbers.
    fn most_below(&self, cost: u64) -> i128 {
        (i128::from(cost) - 1).saturating_mul(self.one)
    }

    fn lives(&self, checker: &Checker<'_>, exclusions: &LifeExclusions, node: usize) -> Lives {
        Lives::new(&checker.graph, &self.prices, exclusions, node, self.one)
    }

    /// The cost of every permitted schedule is at least this: the right sides and, for each tensor,
    /// the cheapest life.
    fn reach(&self, checker: &Checker<'_>, exclusions: &LifeExclusions) -> i128 {
        let lives = (0..checker.graph.len()).map(|i| self.lives(checker, exclusions, i).least());
        checker.base * self.one + self.prices.worth + lives.sum::<i128>()
    }

    /// Rules out what no permitted schedule that costs less than the target does.
    fn exclude(&self, checker: &Checker<'_>, exclusions: &mut LifeExclusions) {
        let graph = &checker.graph;
        for _ in 0..PASSES {
            let before = exclusions.excluded();
            let room = self.most_below(checker.target) - self.reach(checker, exclusions);
            let least: Vec<i128> = (0..graph.len())
                .map(|i| self.lives(checker, exclusions, i).least())
                .collect();
            for (i, least) in least.into_iter().enumerate() {
                let lives = self.lives(checker, exclusions, i);
                lives.exclude(least + room, exclusions);
            }
            // What cannot have its inputs or its parent's run cannot be recomputed.
            for i in 0..graph.len() {
                for stage in i + 1..=graph.last_stage[i] {
                    let there = |&input: &u32| {
                        let input = input as usize;
                        exclusions.may_hold(input, stage) || exclusions.may_start(input, stage)
                    };
                    let made = |parent: u32| exclusions.may_start(parent as usize, stage);
                    let inputs = graph.inputs[i].iter().all(there);
                    if !inputs || !graph.parent[i].is_none_or(made) {
                        exclusions.exclude_start(i, stage);
                    }
                }
            }
            if exclusions.excluded() == before {
                break;
            }
        }
    }
}
