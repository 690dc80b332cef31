//! Rows and quantities as they are written.

use super::{CheckmateQuantity, CheckmateRow, Counted, Cover, Path};
use crate::proof::text::ProofLine;
use crate::proof::theory::read_branch;

/// Reads the row of a line.
///
/// # Errors
/// The faulty word, and the expected text.
pub fn row(line: &mut ProofLine<'_>) -> Result<CheckmateRow, String> {
    let kind = line.word("a kind of row")?;
    row_of(kind, line)
}

/// Reads the row of a line behind its first word.
///
/// # Errors
/// As [`row`].
pub fn row_of(kind: &str, line: &mut ProofLine<'_>) -> Result<CheckmateRow, String> {
    let row = match kind {
        "need" => CheckmateRow::Need {
            node: line.number("a node")?,
            reader: line.number("its reader")?,
        },
        "parent" => CheckmateRow::Parent {
            stage: line.number("a stage")?,
            node: line.number("a by-product")?,
        },
        "input" => CheckmateRow::Input {
            stage: line.number("a stage")?,
            node: line.number("a node")?,
            input: line.number("its input")?,
        },
        "memory" => CheckmateRow::Memory {
            stage: line.number("a stage")?,
            node: line.number("a node")?,
            unit: line.number("a size, or 0")?,
        },
        "around" => CheckmateRow::Around {
            stage: line.number("a stage")?,
            node: line.number("a node")?,
            unit: line.number("a size, or 0")?,
            with: line.list(|l| l.number("an input"))?,
        },
        "cover" => CheckmateRow::Cover(Cover {
            stage: line.number("a stage")?,
            node: line.number("a node")?,
            most: line.number("a weight")?,
            made: line.number("a weight, or 0")?,
            weights: line.list(|l| Ok((l.number("a node")?, l.number("its weight")?)))?,
        }),
        "path" => CheckmateRow::Path(path(line)?),
        "path-memory" => CheckmateRow::PathMemory {
            path: path(line)?,
            staying: line.list(|l| l.number("a node"))?,
            companions: line.list(|l| Ok((l.number("a stage")?, l.number("a node")?)))?,
            other_bytes: line.number("bytes")?,
        },
        "together" => CheckmateRow::Together {
            dropped: line.number("a node")?,
            saved: line.number("a node")?,
        },
        "reader" => CheckmateRow::Reader {
            stage: line.number("a stage")?,
            node: line.number("a node")?,
        },
        "branch" => CheckmateRow::Branch(read_branch(line, quantity)?),
        other => {
            return line.refuse(
                other,
                "need, input, memory, around, cover, path, path-memory, together, reader or branch",
            );
        }
    };
    Ok(row)
}

fn path(line: &mut ProofLine<'_>) -> Result<Path, String> {
    Ok(Path {
        from: line.number("a stage")?,
        reader: line.number("a stage")?,
        nodes: line.list(|l| l.number("a node"))?,
    })
}

/// Reads a quantity.
///
/// # Errors
/// The faulty word, and the expected text.
pub fn quantity(line: &mut ProofLine<'_>) -> Result<CheckmateQuantity, String> {
    let word = line.word("a quantity")?;
    quantity_of(word, line)
}

/// Reads a quantity behind its first word.
///
/// # Errors
/// As [`quantity`].
pub fn quantity_of(word: &str, line: &mut ProofLine<'_>) -> Result<CheckmateQuantity, String> {
    let what = match word {
        "starts" => Counted::Starts(line.number("a stage")?, line.number("a stage")?),
        "held" => Counted::Held(line.number("a stage")?),
        other => return line.refuse(other, "starts or held"),
    };
    Ok(CheckmateQuantity {
        what,
        nodes: line.list(|l| l.number("a node"))?,
    })
}
