//! Checkmate's program with copies to the host, as proofs talk about it
//! (`docs/theory/proof/trips.md`).
//!
//! A *trip* of a tensor begins where it is computed and ends where neither the device nor the host
//! has it any more. Some rows are rows of Checkmate's program that hold with a link too. Others
//! limit the time of copies and the memory of the host.
//!
//! | module | concept |
//! |---|---|
//! | `graph` | the graph, with times of copies |
//! | `rows` | validity of rows for every plan |
//! | `prices` | the value of multipliers for tensors, copies and time |
//! | `lives` | the cheapest trips of a tensor |
//! | `read` | rows and quantities as they are written |

mod graph;
mod lives;
mod prices;
mod read;
mod rows;

use super::checkmate;
use super::claim::Claim;
use super::link::LinkTerms;
use super::text::ProofLine;
use super::theory::{QuantityBranch, Theory};
use super::tree::{Counts, Evidence, check_too_small, check_tree};
pub(super) use graph::LinkedGraph;
use prices::Prices;
use remat_instances::Instance;

/// A quantity of a plan that is an integer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TripQuantity {
    /// Recomputations, or tensors on the device when a stage begins.
    Schedule(checkmate::CheckmateQuantity),
    /// Copies of a tensor to the host.
    Leaves {
        /// The tensor.
        node: u32,
    },
}

/// Copies that share a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Copies to the host.
    Out,
    /// Copies back.
    Back,
    /// Copies both ways, at half duplex.
    Both,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TripRow {
    /// A row of Checkmate's program: need, input, parent, memory or path. Inputs must be on the
    /// device. A path counts tensors that come back within its window.
    Device(checkmate::CheckmateRow),
    /// Copies within a window of stages take no more than its time.
    Window {
        /// The copies.
        lane: Lane,
        /// First stage.
        first: u32,
        /// Last stage.
        last: u32,
    },
    /// The tensors that wait on the host when a stage begins fit there.
    Host {
        /// The stage.
        stage: u32,
    },
    /// A branching above the node.
    Branch(QuantityBranch<TripQuantity>),
}

/// The program for an instance, a link and a budget.
pub(super) struct Trips {
    graph: LinkedGraph,
}

impl Trips {
    /// The program, with times of copies and windows in so many units of cost. `None` if the static
    /// memory exceeds the budget.
    ///
    /// # Errors
    /// A link that does not suit the instance.
    pub fn new(
        instance: &Instance,
        budget_bytes: u64,
        terms: &LinkTerms,
        unit: u64,
    ) -> Result<Option<Trips>, String> {
        let graph = LinkedGraph::new(instance, budget_bytes, terms, unit)?;
        Ok(graph.map(|graph| Trips { graph }))
    }
}

/// Checks a proof about an instance within a budget, with a link.
///
/// # Errors
/// The first fault, in words.
pub(super) fn check(
    instance: &Instance,
    budget_bytes: u64,
    (terms, unit): (&LinkTerms, u64),
    claim: Claim,
    evidence: &Evidence<TripRow, TripQuantity>,
) -> Result<Counts, String> {
    if let Claim::TooSmall(node) = claim {
        // A node does not fit beside its inputs: all other tensors may be on the host.
        let is_too_small = checkmate::Graph::new(instance, budget_bytes).is_none_or(|graph| {
            (node as usize) < graph.len() && graph.need_alone(node) > graph.capacity
        });
        return check_too_small(is_too_small, node);
    }
    match Trips::new(instance, budget_bytes, terms, unit)? {
        Some(program) => check_tree(&program, claim, evidence),
        // The static memory exceeds the budget: no plan fits.
        None => Ok(Counts::default()),
    }
}

impl Theory for Trips {
    type Row = TripRow;
    type Quantity = TripQuantity;
    type Prices = Prices;
    /// There are no exclusions.
    type Exclusions = ();

    fn read_row(line: &mut ProofLine<'_>) -> Result<TripRow, String> {
        read::row(line)
    }

    fn read_quantity(line: &mut ProofLine<'_>) -> Result<TripQuantity, String> {
        read::quantity(line)
    }

    fn branch(row: &TripRow) -> Option<&QuantityBranch<TripQuantity>> {
        match row {
            TripRow::Branch(branch) => Some(branch),
            _ => None,
        }
    }

    fn check_row(&self, row: &TripRow) -> Result<(), String> {
        rows::check(&self.graph, row)
    }

    fn beyond(&self) -> u64 {
        self.graph.beyond()
    }

    fn excluded_at_first(&self) {}

    fn count((): &()) -> usize {
        0
    }

    fn prices<'a>(
        &self,
        rows: impl Iterator<Item = (&'a TripRow, i128)>,
        one: i128,
    ) -> Option<Prices> {
        Prices::new(&self.graph, rows, one)
    }

    /// Checks that idle time does not pay, because its length is not limited.
    fn check_prices(&self, prices: &Prices) -> Result<(), String> {
        let most = prices.one * i128::from(self.graph.unit);
        match prices.load.iter().position(|load| *load > most) {
            None => Ok(()),
            Some(stage) => Err(format!(
                "the multipliers of windows over stage {stage} make idle time worth more than it takes"
            )),
        }
    }

    /// The right sides and, for each tensor, the cheapest life.
    fn lagrangian_bound(&self, prices: &Prices, (): &()) -> Option<i128> {
        let graph = &self.graph;
        let lives = (0..graph.len()).map(|node| lives::least(graph, prices, node));
        Some(graph.base() * prices.one + prices.worth + lives.sum::<i128>())
    }

    fn exclude(&self, _: &Prices, _: i128, (): &mut ()) {}
}
