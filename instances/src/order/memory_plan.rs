//! `remat-memory-plan/1` documents: an order, and an address for every piece of memory that it
//! uses.

use super::plan::{PlanText, read_order, written_order};
use super::{LifeOf, OperatorId, OrderGraph, OrderPlan, OrderPlanError, OrderReplay, TensorId};
use crate::document::{self, Document, Failure, FaultKind, Lines, ReadError, Spanned};
use crate::place::{Buffer, Lives, LivesError, Placement, PlacementError};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Name of the schema of memory plans.
pub const MEMORY_PLAN_SCHEMA: &str = "remat-memory-plan/1";

/// Address of a piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Owner of the memory.
    pub of: LifeOf,
    /// Offset in the arena, in bytes.
    pub offset_bytes: u64,
}

/// An order for a graph, and addresses in one arena for all memory that is not resident.
///
/// ```
/// use remat_instances::order::{MemoryPlan, OrderGraph, OrderPlan, Variant};
/// use remat_instances::place::Placement;
/// use remat_instances::zoo;
///
/// let graph = OrderGraph::of_instance(&zoo::build(&"zoo:chain?n=3".parse()?)?)?;
/// let order = OrderPlan::new(&graph, Variant::Sound, graph.program_order().to_vec())?;
/// let replay = graph.replay(Variant::Sound, &order.order)?;
/// // One behind the other: no two share an address.
/// let mut end = 0;
/// let stacked = replay.lives.iter().map(|life| {
///     end += life.bytes;
///     end - life.bytes
/// });
/// let plan = MemoryPlan::new(order, &replay, &Placement::new(stacked.collect()));
/// let again = MemoryPlan::parse("again.json", plan.write().as_bytes())?;
/// assert_eq!(again, plan);
/// assert_eq!(plan.replay(&graph)?.height_bytes, end);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryPlan {
    /// The order, with its peak and lower bound.
    pub order: OrderPlan,
    /// Size of the arena in bytes: the largest end of a piece.
    pub height_bytes: u64,
    /// Addresses, in the order of the replay's lives.
    pub addresses: Vec<Address>,
}

/// Result of replaying a memory plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryReplay {
    /// Replay of the order.
    pub order: OrderReplay,
    /// Largest end of a piece in use, in bytes.
    pub height_bytes: u64,
    /// Resident memory and the arena, in bytes.
    pub total_bytes: u64,
}

/// Reason to reject a memory plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryPlanError {
    /// The order is invalid.
    #[error(transparent)]
    Order(#[from] OrderPlanError),
    /// Pieces share addresses, or violate an alignment.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// The sum of sizes exceeds the range of addresses.
    #[error(transparent)]
    Lives(#[from] LivesError),
    /// The addresses do not match the pieces of the order.
    #[error(
        "addresses[{index}] is of {found}, the order takes {wanted} there; \
         give an address for each tensor and workspace of the order"
    )]
    Piece {
        /// Position in the list.
        index: usize,
        /// The piece there, in words.
        found: String,
        /// The piece that the order needs there, in words.
        wanted: String,
    },
    /// The size of the arena differs from the claim.
    #[error("the plan claims height_bytes {claimed}, the replay says {found}")]
    Height {
        /// The claim.
        claimed: u64,
        /// The replay's value.
        found: u64,
    },
}

impl OrderReplay {
    /// The lives of the order as buffers to place, in the same order.
    ///
    /// # Errors
    /// [`LivesError`] if the sum of sizes exceeds the range of addresses.
    ///
    /// ```
    /// use remat_instances::order::{OrderGraph, Variant};
    /// let graph = OrderGraph::of_instance(&remat_instances::zoo::build(&"zoo:chain?n=3".parse()?)?)?;
    /// let replay = graph.replay(Variant::Sound, graph.program_order())?;
    /// let load = replay.buffers()?.load().bytes;
    /// assert_eq!(graph.base_bytes() + load, replay.peak_bytes);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn buffers(&self) -> Result<Lives, LivesError> {
        let buffers = self.lives.iter().map(|life| Buffer {
            alignment: life.alignment_bytes,
            ..Buffer::new(
                life.of.to_string(),
                life.begin as u64,
                life.end as u64,
                life.bytes,
            )
        });
        Lives::new(buffers.collect())
    }
}

impl std::fmt::Display for LifeOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LifeOf::Storage(tensor) => write!(f, "tensor {}", tensor.0),
            LifeOf::Workspace(operator) => write!(f, "workspace {}", operator.0),
        }
    }
}

#[derive(Deserialize, Serialize)]
#[serde(
    deny_unknown_fields,
    rename = "an address: an object with `offset_bytes`"
)]
struct AddressText {
    #[serde(skip_serializing_if = "Option::is_none")]
    tensor: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<u32>,
    offset_bytes: u64,
}

#[derive(Deserialize, Serialize)]
#[serde(
    deny_unknown_fields,
    rename = "a memory plan: an object with `order` and `addresses`"
)]
struct MemoryText<'d> {
    schema: &'d str,
    height_bytes: u64,
    #[serde(rename(deserialize = "addresses: a list of addresses"))]
    addresses: Vec<Spanned<AddressText>>,
    #[serde(borrow)]
    order: PlanText<'d>,
}

impl MemoryPlan {
    /// A plan from an order and a placement of its [buffers](OrderReplay::buffers).
    pub fn new(order: OrderPlan, replay: &OrderReplay, placement: &Placement) -> Self {
        let pairs = replay.lives.iter().zip(placement.offsets());
        let addresses: Vec<Address> = pairs
            .clone()
            .map(|(life, offset)| Address {
                of: life.of,
                offset_bytes: *offset,
            })
            .collect();
        let ends = pairs.map(|(life, offset)| offset + life.bytes);
        MemoryPlan {
            order,
            height_bytes: ends.max().unwrap_or(0),
            addresses,
        }
    }

    /// Reads a plan from a file, JSON or gzipped JSON.
    ///
    /// # Errors
    /// [`ReadError`] if it is not a memory plan.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        let path = path.as_ref();
        Self::parse(&path.display().to_string(), &document::load(path)?)
    }

    /// Parses the bytes of a plan; errors name it `name`.
    ///
    /// # Errors
    /// The errors of [`MemoryPlan::read`].
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self, ReadError> {
        let document = Document::parse(name, bytes)?;
        memory_plan(&document).map_err(|e| document.error(e))
    }

    /// Writes the plan as JSON.
    pub fn write(&self) -> String {
        let address = |a: &Address| {
            let (tensor, workspace) = match a.of {
                LifeOf::Storage(tensor) => (Some(tensor.0), None),
                LifeOf::Workspace(operator) => (None, Some(operator.0)),
            };
            AddressText {
                tensor,
                workspace,
                offset_bytes: a.offset_bytes,
            }
            .into()
        };
        Lines::new(2, false).write(&MemoryText {
            schema: MEMORY_PLAN_SCHEMA,
            height_bytes: self.height_bytes,
            addresses: self.addresses.iter().map(address).collect(),
            order: written_order(&self.order),
        })
    }

    /// The offsets, in the order of the replay's lives.
    pub fn placement(&self) -> Placement {
        Placement::new(self.addresses.iter().map(|a| a.offset_bytes).collect())
    }

    /// Replays order and addresses on the graph, and checks the claims of the plan.
    ///
    /// # Errors
    /// [`MemoryPlanError`] names the fault: in the order, two pieces that share addresses, a piece
    /// that does not match the order, or a wrong height.
    pub fn replay(&self, graph: &OrderGraph) -> Result<MemoryReplay, MemoryPlanError> {
        let order = self.order.replay(graph)?;
        let words = |of: Option<LifeOf>| of.map_or("nothing".into(), |of| of.to_string());
        for index in 0..self.addresses.len().max(order.lives.len()) {
            let found = self.addresses.get(index).map(|a| a.of);
            let wanted = order.lives.get(index).map(|life| life.of);
            if found != wanted {
                return Err(MemoryPlanError::Piece {
                    index,
                    found: words(found),
                    wanted: words(wanted),
                });
            }
        }
        let height = self.placement().replay(&order.buffers()?)?.height;
        if height != self.height_bytes {
            return Err(MemoryPlanError::Height {
                claimed: self.height_bytes,
                found: height,
            });
        }
        Ok(MemoryReplay {
            order,
            height_bytes: height,
            total_bytes: graph.base_bytes() + height,
        })
    }
}

fn memory_plan(document: &Document) -> Result<MemoryPlan, Failure> {
    let problem = "this file is not a memory plan, or one of another version";
    let text: MemoryText<'_> = document.read_as(MEMORY_PLAN_SCHEMA, problem)?;
    let address = |a: &Spanned<AddressText>| {
        let of = match (a.tensor, a.workspace) {
            (Some(tensor), None) => LifeOf::Storage(TensorId(tensor)),
            (None, Some(operator)) => LifeOf::Workspace(OperatorId(operator)),
            _ => {
                let remedy = "give `tensor` or `workspace`, one of them";
                return Err(FaultKind::Value.fail(a.span, "the address is of no piece", remedy));
            }
        };
        Ok(Address {
            of,
            offset_bytes: a.offset_bytes,
        })
    };
    Ok(MemoryPlan {
        height_bytes: text.height_bytes,
        addresses: text
            .addresses
            .iter()
            .map(address)
            .collect::<Result<_, _>>()?,
        order: read_order(&text.order)?,
    })
}
