//! MONeT's program, as proofs talk about it (`docs/theory/proof/monet.md`).
//!
//! | module | concept |
//! |---|---|
//! | `graph` | costs, sizes, ways, choices, and room |
//! | `valid` | why rows hold at every schedule |
//! | `rows` | rows as linear forms |
//! | `paths` | paths from a node to the reads of a backward node |
//! | `forms` | linear forms, and rounding |
//! | `prices` | the value of multipliers |
//! | `lives` | the cheapest life of a tensor |
//! | `read` | rows and quantities as they are written |

mod forms;
mod graph;
mod lives;
mod paths;
mod prices;
mod read;
mod rows;
mod valid;

pub use paths::Paths;

use super::claim::Claim;
use super::text::ProofLine;
use super::theory::{QuantityBranch, Theory};
use super::tree::{Counts, Evidence, check_too_small, check_tree};
use graph::Graph;
use lives::{Exclusions, MonetLives};
use prices::Prices;
use remat_instances::Instance;

/// A quantity of a schedule that is an integer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MonetQuantity {
    /// Computations of some nodes in stages from the first to the last.
    Starts {
        /// The first stage.
        first: u32,
        /// The last stage.
        last: u32,
        /// The nodes.
        nodes: Vec<u32>,
    },
    /// Tensors that are stored when a stage begins.
    Stored {
        /// The stage.
        stage: u32,
        /// The tensors.
        nodes: Vec<u32>,
    },
    /// Backward nodes that run an implementation: stages and implementations.
    Choices(Vec<(u32, u32)>),
    /// True if a node is computed in a stage with at least so much workspace.
    Scratch {
        /// The stage.
        stage: u32,
        /// The node.
        node: u32,
        /// The workspace.
        bytes: i64,
    },
    /// True if a node is computed in place in a stage.
    InPlace {
        /// The stage.
        stage: u32,
        /// The node.
        node: u32,
    },
}

/// Ways of starts that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartKind {
    /// All.
    All,
    /// Starts that are not in place.
    Plain,
    /// Starts in place.
    InPlace,
}

/// A moment at which tensors are in memory or not. A run at this moment may have a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The turn of a forward node.
    Forward {
        /// The node.
        node: u32,
    },
    /// The turn of a forward node, whose run has a weight.
    Run {
        /// The node.
        node: u32,
        /// The least workspace at which a run has the weight.
        scratch: i64,
        /// The weight.
        weight: u32,
    },
    /// The turn of the stage's backward node.
    Backward {
        /// The least workspace at which a choice has the weight.
        scratch: i64,
        /// The weight.
        weight: u32,
    },
}

/// Upper limit on the total weight of the tensors in memory at a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cover {
    /// The stage.
    pub stage: u32,
    /// The turn.
    pub at: Turn,
    /// The right side.
    pub most: u32,
    /// Tensors with weights, ascending.
    pub weights: Vec<(u32, u32)>,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MonetRow {
    /// A tensor that the backward node of a stage reads is stored for the next stage or held.
    Need {
        /// The stage.
        stage: u32,
        /// The tensor.
        node: u32,
    },
    /// An input is there when a node is computed in a stage.
    Input {
        /// The stage.
        stage: u32,
        /// The node.
        node: u32,
        /// Its input.
        input: u32,
    },
    /// If a by-product is computed in a stage, so is its parent; likewise in place.
    Parent {
        /// The stage.
        stage: u32,
        /// The by-product.
        node: u32,
        /// Starts that count.
        kind: StartKind,
    },
    /// A tensor that a node overwrites in a stage is not there behind it.
    Overwritten {
        /// The stage.
        stage: u32,
        /// The node.
        node: u32,
    },
    /// If a tensor is overwritten in a stage, it was there before and is gone behind it.
    Ended {
        /// The stage.
        stage: u32,
        /// The node.
        node: u32,
    },
    /// The contents of memory before a node's turn in a stage fit.
    Memory {
        /// The stage.
        stage: u32,
        /// The node.
        node: u32,
        /// The size by which sizes are rounded; 0 for sizes as they are.
        unit: u64,
    },
    /// The contents of memory while a node runs fit.
    Run {
        /// The stage.
        stage: u32,
        /// The node.
        node: u32,
        /// Tensors charged by the run and not by their storage: some of its passing list, and its
        /// own.
        by_run: Vec<u32>,
        /// The size by which sizes are rounded; 0 for sizes as they are.
        unit: u64,
    },
    /// The contents of memory while the backward node of a stage runs fit.
    Backward {
        /// The stage.
        stage: u32,
        /// The size by which sizes are rounded; 0 for sizes as they are.
        unit: u64,
    },
    /// A tensor of the paths is stored when the window begins, or the source is computed in it.
    Path(Paths),
    /// The tensors that stay fit beside the bytes that the source needs.
    PathMemory {
        /// The paths.
        paths: Paths,
        /// The stage of the window from which on the tensors stay.
        since: u32,
        /// The tensors.
        staying: Vec<u32>,
        /// The size by which sizes are rounded; 0 for sizes as they are.
        unit: u64,
    },
    /// Beside the tensors that stay, either the source is computed or tensors of the paths are
    /// stored. Both cases fit.
    Either {
        /// The paths.
        paths: Paths,
        /// The room of a stage of the window.
        room: i64,
        /// Bytes charged for stored tensors of the paths beyond their own.
        more: i64,
        /// Tensors that stay.
        staying: Vec<u32>,
        /// Tensors that may be stored when the window begins, and the bytes of each that count.
        beside: Vec<(u32, i64)>,
    },
    /// The weight of tensors that are there together is at most so much.
    Cover(Cover),
    /// The weight of tensors that stay while the source is computed is at most so much.
    PathCover {
        /// The paths.
        paths: Paths,
        /// The stage of the window from which on tensors stay.
        since: u32,
        /// The weight of computing the source from that stage on.
        due: u32,
        /// The right side.
        most: u32,
        /// Tensors with weights, ascending.
        weights: Vec<(u32, u32)>,
    },
    /// A branching above the node.
    Branch(QuantityBranch<MonetQuantity>),
}

/// The program for an instance and a budget.
pub(super) struct Monet {
    graph: Graph,
}

impl Monet {
    /// The program; `None` if a part of every schedule exceeds the budget.
    ///
    /// # Errors
    /// An instance without a loss has no such program.
    pub fn new(instance: &Instance, budget_bytes: u64) -> Result<Option<Monet>, String> {
        let graph = Graph::new(instance, budget_bytes)?;
        Ok(graph.map(|graph| Monet { graph }))
    }

    fn nodes(&self) -> std::ops::Range<u32> {
        0..self.graph.columns as u32
    }

    /// Costs of the permitted choices of a stage behind the first.
    fn choices<'a>(
        &'a self,
        prices: &'a Prices,
        exclusions: &'a Exclusions,
        stage: usize,
    ) -> impl Iterator<Item = (usize, i128)> + 'a {
        let all = self.graph.choices[stage].iter().enumerate();
        let open = all.filter(move |c| exclusions.may_choose(stage, c.0));
        open.map(move |(way, choice)| {
            let cost = i128::from(choice.cost) * prices.one;
            (way, cost - prices.choices[stage][way])
        })
    }

    fn cheapest_choice(
        &self,
        prices: &Prices,
        exclusions: &Exclusions,
        stage: usize,
    ) -> Option<i128> {
        self.choices(prices, exclusions, stage).map(|c| c.1).min()
    }
}

/// Checks a proof about an instance within a budget.
///
/// # Errors
/// The first fault, in words; an instance without a loss has no such program.
pub(super) fn check(
    instance: &Instance,
    budget_bytes: u64,
    claim: Claim,
    evidence: &Evidence<MonetRow, MonetQuantity>,
) -> Result<Counts, String> {
    let program = Monet::new(instance, budget_bytes)?;
    if let Claim::TooSmall(node) = claim {
        // This node, or another one, does not fit beside the memory that is there with it.
        let is_node = (node as usize) < instance.len();
        return check_too_small(program.is_none() && is_node, node);
    }
    match program {
        Some(program) => check_tree(&program, claim, evidence),
        // A part of every schedule exceeds the budget: no schedule fits.
        None => Ok(Counts::default()),
    }
}

impl Theory for Monet {
    type Row = MonetRow;
    type Quantity = MonetQuantity;
    type Prices = Prices;
    type Exclusions = Exclusions;

    fn read_row(line: &mut ProofLine<'_>) -> Result<MonetRow, String> {
        read::row(line)
    }

    fn read_quantity(line: &mut ProofLine<'_>) -> Result<MonetQuantity, String> {
        read::quantity(line)
    }

    fn branch(row: &MonetRow) -> Option<&QuantityBranch<MonetQuantity>> {
        match row {
            MonetRow::Branch(branch) => Some(branch),
            _ => None,
        }
    }

    fn check_row(&self, row: &MonetRow) -> Result<(), String> {
        valid::check(&self.graph, row)
    }

    fn beyond(&self) -> u64 {
        self.graph.beyond()
    }

    fn excluded_at_first(&self) -> Exclusions {
        Exclusions::at_first(&self.graph)
    }

    fn count(exclusions: &Exclusions) -> usize {
        exclusions.excluded()
    }

    fn prices<'a>(
        &self,
        rows: impl Iterator<Item = (&'a MonetRow, i128)>,
        one: i128,
    ) -> Option<Prices> {
        let forms = rows.map(|(row, y)| (rows::form(&self.graph, row), y));
        Prices::new(&self.graph, forms, one)
    }

    /// The right sides, for each tensor the cheapest life, for each stage the cheapest choice.
    fn lagrangian_bound(&self, prices: &Prices, exclusions: &Exclusions) -> Option<i128> {
        let graph = &self.graph;
        let lives = self
            .nodes()
            .map(|i| MonetLives::new(graph, prices, exclusions, i).least);
        let stages = 1..graph.stages;
        let choices = stages.map(|t| self.cheapest_choice(prices, exclusions, t));
        let all: i128 = lives.chain(choices).sum::<Option<i128>>()?;
        Some(prices.worth + all)
    }

    fn exclude(&self, prices: &Prices, most: i128, exclusions: &mut Exclusions) {
        let graph = &self.graph;
        // Without a schedule, all exclusions are needless.
        let Some(reach) = self.lagrangian_bound(prices, exclusions) else {
            return;
        };
        for stage in 1..graph.stages {
            let all: Vec<_> = self.choices(prices, exclusions, stage).collect();
            let least = all.iter().map(|c| c.1).min().unwrap_or(0);
            for (way, cost) in all {
                if reach - least + cost > most {
                    exclusions.exclude_choice(stage, way);
                }
            }
        }
        for node in self.nodes() {
            let lives = MonetLives::new(graph, prices, exclusions, node);
            if let Some(least) = lives.least {
                lives.exclude(most - (reach - least), exclusions);
            }
        }
        // A node cannot be recomputed without its inputs, a by-product not without a run of its
        // parent.
        for node in self.nodes() {
            for stage in 1..=graph.last_use[node as usize] {
                let may_be = |&u: &u32| {
                    let parent = graph.parent[node as usize] == Some(u);
                    exclusions.may_start_somehow(graph, u, stage)
                        || !parent && exclusions.may_store(u, stage)
                };
                if !graph.needs[node as usize].iter().all(may_be) {
                    for way in 0..graph.ways(node, stage).len() {
                        exclusions.exclude_start(node, stage, way);
                    }
                }
            }
        }
    }
}
