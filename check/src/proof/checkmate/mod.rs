//! Checkmate's program, as proofs talk about it (`docs/theory/proof/intervals.md`,
//! `docs/theory/proof/paths.md`).
//!
//! | module | concept |
//! |---|---|
//! | `graph` | costs, sizes, readers |
//! | `rows` | validity of rows at every schedule, and the value of their multipliers |
//! | [`cover`] | limits on the tensors in memory together at an event |
//! | `forced` | orders that some best plan of any order has |
//! | `lives` | the cheapest life of a tensor |
//! | `read` | rows and quantities as they are written |

pub mod cover;
mod forced;
mod graph;
mod lives;
mod read;
pub(super) mod rows;

use super::claim::Claim;
use super::text::ProofLine;
use super::theory::{QuantityBranch, Theory};
use super::tree::{Counts, Evidence, check_too_small, check_tree};
use cover::Cover;
pub(super) use graph::Graph;
pub use graph::Holder;
use lives::{CheckmateLives, LifeExclusions};
pub(super) use read::{quantity_of, row_of};
use remat_instances::{ClassRules, Instance, PlanClass};
use rows::Prices;

/// The plans that a proof is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plans {
    /// Stage schedules in the order of the instance.
    StageSchedules,
    /// Stage schedules of a class.
    Class(PlanClass),
    /// All plans with first computations in the order of the instance.
    InThisOrder,
    /// All plans, in any order.
    All,
}

/// A quantity of a schedule that is an integer: a count over some nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckmateQuantity {
    /// Count taken of each of them.
    pub what: Counted,
    /// The nodes.
    pub nodes: Vec<u32>,
}

/// Count taken of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Its recomputations in stages from the first to the last.
    Starts(u32, u32),
    /// True if it is in memory when the stage begins.
    Held(u32),
}

/// A path cut's window and path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The stage at whose start a tensor of the path is held, unless its first node is recomputed
    /// from that stage on.
    pub from: u32,
    /// The stage whose node reads the end of the path.
    pub reader: u32,
    /// The path, in the direction of edges.
    pub nodes: Vec<u32>,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckmateRow {
    /// `node` is there when the node of stage `reader` reads it.
    Need {
        /// The tensor.
        node: u32,
        /// The reader, which is also the stage.
        reader: u32,
    },
    /// `input` is there when `node` is recomputed in `stage`.
    Input {
        /// The stage.
        stage: u32,
        /// The node.
        node: u32,
        /// Its input.
        input: u32,
    },
    /// If by-product `node` is recomputed in `stage`, so is its parent.
    Parent {
        /// The stage.
        stage: u32,
        /// The by-product.
        node: u32,
    },
    /// The contents of memory at `node`'s turn in `stage` fit.
    Memory {
        /// The stage.
        stage: u32,
        /// The node.
        node: u32,
        /// The size by which sizes and capacity are rounded; 0 for sizes as they are.
        unit: u64,
    },
    /// What is in memory throughout `stage` fits beside the recomputation of `node` in it, with its
    /// inputs: those of `with` as part of the recomputation, the others if they are there
    /// throughout. For plans with any order within a stage.
    Around {
        /// The stage.
        stage: u32,
        /// The node.
        node: u32,
        /// The size by which sizes and capacity are rounded; 0 for sizes as they are.
        unit: u64,
        /// Inputs of the node, ascending.
        with: Vec<u32>,
    },
    /// The weight of the tensors in memory at an event is at most so much.
    Cover(Cover),
    /// A tensor of the path is held, or its first node is recomputed.
    Path(Path),
    /// The tensors that stay throughout the window fit beside the bytes that the recomputation of
    /// the path's first node needs.
    PathMemory {
        /// Window and path.
        path: Path,
        /// Tensors whose stay is charged.
        staying: Vec<u32>,
        /// (stage, tensor): charged if the tensor is there at the turn of the path's first node.
        companions: Vec<(u32, u32)>,
        /// Bytes of the companions of any stage, at least.
        other_bytes: u64,
    },
    /// In a class: `dropped` is not computed again, or `saved` is not kept behind its last forward
    /// reader.
    Together {
        /// A node of a decision.
        dropped: u32,
        /// A node of the same decision.
        saved: u32,
    },
    /// In a class: `node` is computed again in a stage only for a recomputation that reads it.
    Reader {
        /// The stage.
        stage: u32,
        /// The node.
        node: u32,
    },
    /// A branching above the node.
    Branch(QuantityBranch<CheckmateQuantity>),
}

/// The program for an instance and a budget.
pub(super) struct Checkmate {
    graph: Graph,
    /// Cost of computing everything once.
    base: i128,
}

impl Checkmate {
    /// The program for a graph.
    pub fn of(graph: Graph) -> Checkmate {
        let base = graph.cost.iter().map(|&c| i128::from(c)).sum();
        Checkmate { graph, base }
    }

    fn lives(
        &self,
        prices: &NodePrices,
        exclusions: &LifeExclusions,
        node: usize,
    ) -> CheckmateLives {
        CheckmateLives::new(&self.graph, &prices.prices, exclusions, node, prices.one)
    }
}

/// Checks a proof about an instance within a budget.
///
/// # Errors
/// The first fault, in words.
pub(super) fn check(
    instance: &Instance,
    budget_bytes: u64,
    plans: Plans,
    claim: Claim,
    evidence: &Evidence<CheckmateRow, CheckmateQuantity>,
) -> Result<Counts, String> {
    let (class, moments) = match plans {
        Plans::StageSchedules => (None, false),
        Plans::Class(class) => (Some(class), false),
        Plans::InThisOrder => (None, true),
        Plans::All => {
            forced::check(instance)?;
            (None, true)
        }
    };
    let rules = class.map(|class| ClassRules::of(instance, class));
    let rules = rules.transpose().map_err(|e| e.to_string())?;
    match Graph::new(instance, budget_bytes) {
        Some(graph) => {
            let graph = Graph {
                rules,
                moments,
                ..graph
            };
            check_graph(graph, claim, evidence)
        }
        // The static memory exceeds the budget: no schedule fits, and every claim holds.
        None => Ok(Counts::default()),
    }
}

/// Checks a proof about a graph.
///
/// # Errors
/// As [`check`].
pub(super) fn check_graph(
    graph: Graph,
    claim: Claim,
    evidence: &Evidence<CheckmateRow, CheckmateQuantity>,
) -> Result<Counts, String> {
    match claim {
        Claim::TooSmall(node) => check_too_small(graph.is_too_small(node), node),
        _ => check_tree(&Checkmate::of(graph), claim, evidence),
    }
}

/// The value of a node's multipliers.
pub struct NodePrices {
    prices: Prices,
    one: i128,
}

impl Theory for Checkmate {
    type Row = CheckmateRow;
    type Quantity = CheckmateQuantity;
    type Prices = NodePrices;
    type Exclusions = LifeExclusions;

    fn read_row(line: &mut ProofLine<'_>) -> Result<CheckmateRow, String> {
        read::row(line)
    }

    fn read_quantity(line: &mut ProofLine<'_>) -> Result<CheckmateQuantity, String> {
        read::quantity(line)
    }

    fn branch(row: &CheckmateRow) -> Option<&QuantityBranch<CheckmateQuantity>> {
        match row {
            CheckmateRow::Branch(branch) => Some(branch),
            _ => None,
        }
    }

    fn check_row(&self, row: &CheckmateRow) -> Result<(), String> {
        rows::check(&self.graph, row)
    }

    fn beyond(&self) -> u64 {
        self.graph.beyond()
    }

    fn excluded_at_first(&self) -> LifeExclusions {
        LifeExclusions::none(&self.graph)
    }

    fn count(exclusions: &LifeExclusions) -> usize {
        exclusions.excluded()
    }

    fn prices<'a>(
        &self,
        rows: impl Iterator<Item = (&'a CheckmateRow, i128)>,
        one: i128,
    ) -> Option<NodePrices> {
        let prices = Prices::new(&self.graph, rows)?;
        let n = self.graph.len() as i128;
        // Sums over stages of sums of prices and costs.
        let again = self.graph.cost_again.iter().map(|&c| i128::from(c));
        let dearest = self.base.checked_add(again.sum::<i128>().checked_mul(n)?)?;
        let costs = dearest.checked_mul(one)?;
        let most = prices.most.checked_add(costs)?;
        most.checked_mul(n + 2)?.checked_mul(8)?;
        Some(NodePrices { prices, one })
    }

    /// The right sides and, for each tensor, the cheapest life.
    fn lagrangian_bound(&self, prices: &NodePrices, exclusions: &LifeExclusions) -> Option<i128> {
        let lives = (0..self.graph.len()).map(|i| self.lives(prices, exclusions, i).least());
        Some(self.base * prices.one + prices.prices.worth + lives.sum::<i128>())
    }

    fn exclude(&self, prices: &NodePrices, most: i128, exclusions: &mut LifeExclusions) {
        let graph = &self.graph;
        let reach = self.base * prices.one + prices.prices.worth;
        let least: Vec<i128> = (0..graph.len())
            .map(|i| self.lives(prices, exclusions, i).least())
            .collect();
        let room = most - reach - least.iter().sum::<i128>();
        for (i, least) in least.into_iter().enumerate() {
            let lives = self.lives(prices, exclusions, i);
            lives.exclude(least + room, exclusions);
        }
        // A node cannot be recomputed without its inputs or without a run of its parent.
        for i in 0..graph.len() {
            for stage in i + 1..=graph.last_stage[i] {
                let there = |&input: &u32| {
                    let input = input as usize;
                    exclusions.may_hold(input, stage) || exclusions.may_start(input, stage)
                };
                let made =
                    |parent: u32| graph.moments || exclusions.may_start(parent as usize, stage);
                let inputs = graph.inputs[i].iter().all(there);
                if !inputs || !graph.parent[i].is_none_or(made) {
                    exclusions.exclude_start(i, stage);
                }
            }
        }
    }
}
