//! Addresses of a plan: an offset in one arena for each piece of its memory.

use super::Plan;
use crate::document::{Failure, FaultKind, Span, Spanned, TextOr};
use crate::instance::Instance;
use crate::place::{Lives, LivesError, Placement, PlacementError};
use crate::simulate::{PieceOf, PlanLives, ReplayError};
use serde::Deserialize;

/// Name and version of the format of addresses in a plan file.
pub const ADDRESSES_SCHEMA: &str = "remat-addresses/1";

const PIECE: &str =
    r#"["fixed" | "tensor" | "workspace", number of the statement, offset_bytes, bytes]"#;

/// Address of a piece of memory in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieceAddress {
    /// Owner of the memory.
    pub of: PieceOf,
    /// Offset in the arena, in bytes.
    pub offset_bytes: u64,
    /// Size in bytes.
    pub bytes: u64,
}

/// Addresses in one arena for all memory of a plan, including fixed memory and workspaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanAddresses {
    /// Alignment of all offsets, in bytes.
    pub alignment_bytes: u64,
    /// Size of the arena in bytes: the largest end of a piece.
    pub arena_bytes: u64,
    /// The pieces, in the order of the plan's [lives](PlanLives).
    pub pieces: Vec<PieceAddress>,
}

/// Reason to reject addresses of a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressesError {
    /// The plan cannot be executed.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// Pieces share addresses, or violate the alignment.
    #[error("addresses: {0}")]
    Placement(#[from] PlacementError),
    /// The sum of sizes exceeds the range of addresses.
    #[error("addresses: {0}")]
    Lives(#[from] LivesError),
    /// The addresses do not match the pieces of the plan.
    #[error(
        "addresses[{index}] is for {found}, the plan takes {wanted} there; give an address for \
         each piece of the plan, in the order of its replay"
    )]
    Piece {
        /// Position in the list.
        index: usize,
        /// The piece there, in words.
        found: String,
        /// The piece that the plan needs there, in words.
        wanted: String,
    },
    /// The size of the arena differs from the claim.
    #[error("the plan records an arena of {claimed} bytes, its addresses take {found}")]
    Arena {
        /// The claim.
        claimed: u64,
        /// The largest end of a piece.
        found: u64,
    },
}

impl PlanAddresses {
    /// The addresses of a placement of a plan's [buffers](PlanLives::buffers).
    pub fn new(lives: &PlanLives, alignment_bytes: u64, placement: &Placement) -> Self {
        let pairs = lives.lives().iter().zip(placement.offsets());
        let pieces: Vec<PieceAddress> = pairs
            .map(|(life, &offset_bytes)| PieceAddress {
                of: life.of,
                offset_bytes,
                bytes: life.bytes(),
            })
            .collect();
        let ends = pieces
            .iter()
            .map(|p| p.offset_bytes.saturating_add(p.bytes));
        PlanAddresses {
            alignment_bytes,
            arena_bytes: ends.max().unwrap_or(0),
            pieces,
        }
    }

    /// The offsets, in the order of the plan's lives.
    pub fn placement(&self) -> Placement {
        Placement::new(self.pieces.iter().map(|p| p.offset_bytes).collect())
    }

    /// Replays the addresses together with the plan. Each piece must have an address, pieces in use
    /// at the same time must not overlap, and the arena must have the recorded size. Returns the
    /// placed lives.
    ///
    /// # Errors
    /// [`AddressesError`] names the first invalid piece.
    ///
    /// ```
    /// use remat_instances::plan::{Plan, PlanAddresses};
    /// use remat_instances::schedule::CheckmateSchedule;
    /// use remat_instances::place::Placement;
    /// use remat_instances::simulate::PlanLives;
    /// use remat_instances::zoo;
    ///
    /// let instance = zoo::build(&"zoo:chain?n=2".parse()?)?;
    /// let plan = Plan::from_checkmate(&instance, &CheckmateSchedule::checkpoint_all(&instance))?;
    /// let lives = PlanLives::of(&instance, &plan)?;
    /// // Stacked pieces always fit.
    /// let offsets = lives.lives().iter().scan(0, |top, life| {
    ///     *top += life.bytes();
    ///     Some(*top - life.bytes())
    /// });
    /// let stacked = PlanAddresses::new(&lives, 1, &Placement::new(offsets.collect()));
    /// assert_eq!(stacked.replay(&instance, &plan)?.buffers().len(), stacked.pieces.len());
    /// let together = Placement::new(vec![0; stacked.pieces.len()]);
    /// let wrong = PlanAddresses::new(&lives, 1, &together).replay(&instance, &plan);
    /// assert!(wrong.unwrap_err().to_string().contains("share the addresses"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replay(&self, instance: &Instance, plan: &Plan) -> Result<Lives, AddressesError> {
        let lives = PlanLives::of(instance, plan)?;
        let words = |piece: Option<(PieceOf, u64)>| match piece {
            Some((of, bytes)) => format!("{of} ({bytes} bytes)"),
            None => "nothing".into(),
        };
        for index in 0..self.pieces.len().max(lives.lives().len()) {
            let found = self.pieces.get(index).map(|p| (p.of, p.bytes));
            let wanted = lives.lives().get(index).map(|life| (life.of, life.bytes()));
            if found != wanted {
                return Err(AddressesError::Piece {
                    index,
                    found: words(found),
                    wanted: words(wanted),
                });
            }
        }
        let buffers = lives.buffers(instance, self.alignment_bytes)?;
        let found = self.placement().replay(&buffers)?.height;
        if found != self.arena_bytes {
            return Err(AddressesError::Arena {
                claimed: self.arena_bytes,
                found,
            });
        }
        Ok(buffers)
    }

    /// The entries of the address list in a plan file.
    pub(super) fn written(&self) -> Vec<Vec<TextOr<'static, u64>>> {
        let entry = |piece: &PieceAddress| {
            vec![
                TextOr::Text(piece.of.kind()),
                TextOr::Other(piece.of.statement() as u64),
                TextOr::Other(piece.offset_bytes),
                TextOr::Other(piece.bytes),
            ]
        };
        self.pieces.iter().map(entry).collect()
    }
}

/// An entry of the address list.
#[derive(Deserialize)]
#[serde(rename = "an address: a list that begins with `fixed`, `tensor` or `workspace`")]
pub(super) struct AddressText<'d>(#[serde(borrow)] Vec<Spanned<TextOr<'d, u64>>>);

/// Reads the entry at `span`.
pub(super) fn address(span: Span, text: &AddressText<'_>) -> Result<PieceAddress, Failure> {
    let fail = || {
        let problem = "this is not an address";
        FaultKind::Value.fail(span, problem, format!("give {PIECE}"))
    };
    let [kind, statement, offset, bytes] = text.0.as_slice() else {
        return Err(fail());
    };
    let number = |part: &Spanned<TextOr<'_, u64>>| match part.value {
        TextOr::Other(number) => Ok(number),
        TextOr::Text(_) => Err(fail()),
    };
    let at = number(statement)? as usize;
    let of = match kind.value {
        TextOr::Text("fixed") => PieceOf::Fixed(at),
        TextOr::Text("tensor") => PieceOf::Tensor(at),
        TextOr::Text("workspace") => PieceOf::Workspace(at),
        _ => return Err(fail()),
    };
    Ok(PieceAddress {
        of,
        offset_bytes: number(offset)?,
        bytes: number(bytes)?,
    })
}
