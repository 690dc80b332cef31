//! Rows and quantities as they are written.

use super::{Lane, TripQuantity, TripRow};
use crate::proof::checkmate;
use crate::proof::text::ProofLine;
use crate::proof::theory::read_branch;

/// Reads the row of a line.
///
/// # Errors
/// The faulty word, and the expected text.
pub fn row(line: &mut ProofLine<'_>) -> Result<TripRow, String> {
    const KINDS: &str = "need, input, parent, memory, path, window, host or branch";
    let kind = line.word("a kind of row")?;
    let row = match kind {
        "need" | "input" | "parent" | "memory" | "path" => {
            TripRow::Device(checkmate::row_of(kind, line)?)
        }
        "window" => TripRow::Window {
            lane: match line.word("out, back or both")? {
                "out" => Lane::Out,
                "back" => Lane::Back,
                "both" => Lane::Both,
                other => return line.refuse(other, "out, back or both"),
            },
            first: line.number("a stage")?,
            last: line.number("a stage")?,
        },
        "host" => TripRow::Host {
            stage: line.number("a stage")?,
        },
        "branch" => TripRow::Branch(read_branch(line, quantity)?),
        other => return line.refuse(other, KINDS),
    };
    Ok(row)
}

/// Reads a quantity.
///
/// # Errors
/// The faulty word, and the expected text.
pub fn quantity(line: &mut ProofLine<'_>) -> Result<TripQuantity, String> {
    match line.word("a quantity")? {
        "leaves" => Ok(TripQuantity::Leaves {
            node: line.number("a node")?,
        }),
        word @ ("starts" | "held") => {
            checkmate::quantity_of(word, line).map(TripQuantity::Schedule)
        }
        other => line.refuse(other, "starts, held or leaves"),
    }
}
