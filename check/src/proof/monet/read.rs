//! Rows and quantities as they are written.

use super::{Cover, MonetQuantity, MonetRow, Paths, StartKind, Turn};
use crate::proof::text::ProofLine;
use crate::proof::theory::read_branch;

/// Reads the row of a line.
///
/// # Errors
/// The faulty word, and the expected text.
pub fn row(line: &mut ProofLine<'_>) -> Result<MonetRow, String> {
    Ok(match line.word("a kind of row")? {
        "need" => MonetRow::Need {
            node: line.number("a node")?,
            stage: line.number("a stage")?,
        },
        "input" => MonetRow::Input {
            stage: line.number("a stage")?,
            node: line.number("a node")?,
            input: line.number("its input")?,
        },
        "parent" => MonetRow::Parent {
            stage: line.number("a stage")?,
            node: line.number("a by-product")?,
            kind: match line.word("all, plain or in-place")? {
                "all" => StartKind::All,
                "plain" => StartKind::Plain,
                "in-place" => StartKind::InPlace,
                other => return line.refuse(other, "all, plain or in-place"),
            },
        },
        "overwritten" => MonetRow::Overwritten {
            stage: line.number("a stage")?,
            node: line.number("a node")?,
        },
        "ended" => MonetRow::Ended {
            stage: line.number("a stage")?,
            node: line.number("a node")?,
        },
        "memory" => MonetRow::Memory {
            stage: line.number("a stage")?,
            node: line.number("a node")?,
            unit: line.number("a size, or 0")?,
        },
        "run" => MonetRow::Run {
            stage: line.number("a stage")?,
            node: line.number("a node")?,
            unit: line.number("a size, or 0")?,
            by_run: nodes(line)?,
        },
        "backward" => MonetRow::Backward {
            stage: line.number("a stage")?,
            unit: line.number("a size, or 0")?,
        },
        "path" => MonetRow::Path(paths(line)?),
        "path-memory" => MonetRow::PathMemory {
            paths: paths(line)?,
            since: line.number("a stage")?,
            unit: line.number("a size, or 0")?,
            staying: nodes(line)?,
        },
        "either" => MonetRow::Either {
            paths: paths(line)?,
            room: line.number("bytes")?,
            more: line.number("bytes")?,
            staying: nodes(line)?,
            beside: line.list(|l| Ok((l.number("a node")?, l.number("bytes")?)))?,
        },
        "cover" => {
            let stage = line.number("a stage")?;
            let at = Turn::Forward {
                node: line.number("a node")?,
            };
            cover(line, stage, at)?
        }
        "cover-run" => {
            let stage = line.number("a stage")?;
            let at = Turn::Run {
                node: line.number("a node")?,
                scratch: line.number("bytes")?,
                weight: line.number("a weight, or 0")?,
            };
            cover(line, stage, at)?
        }
        "cover-backward" => {
            let stage = line.number("a stage")?;
            let at = Turn::Backward {
                scratch: line.number("bytes")?,
                weight: line.number("a weight, or 0")?,
            };
            cover(line, stage, at)?
        }
        "cover-path" => MonetRow::PathCover {
            paths: paths(line)?,
            since: line.number("a stage")?,
            due: line.number("a weight, or 0")?,
            most: line.number("a weight")?,
            weights: weights(line)?,
        },
        "branch" => MonetRow::Branch(read_branch(line, quantity)?),
        other => {
            return line.refuse(
                other,
                "need, input, parent, overwritten, ended, memory, run, backward, path, \
                 path-memory, either, cover, cover-run, cover-backward, cover-path or branch",
            );
        }
    })
}

fn nodes(line: &mut ProofLine<'_>) -> Result<Vec<u32>, String> {
    line.list(|l| l.number("a node"))
}

fn weights(line: &mut ProofLine<'_>) -> Result<Vec<(u32, u32)>, String> {
    line.list(|l| Ok((l.number("a node")?, l.number("its weight")?)))
}

fn cover(line: &mut ProofLine<'_>, stage: u32, at: Turn) -> Result<MonetRow, String> {
    Ok(MonetRow::Cover(Cover {
        stage,
        at,
        most: line.number("a weight")?,
        weights: weights(line)?,
    }))
}

fn paths(line: &mut ProofLine<'_>) -> Result<Paths, String> {
    Ok(Paths {
        from: line.number("a stage")?,
        reader: line.number("a stage")?,
        source: line.number("a node")?,
        stored: nodes(line)?,
        ways: line.list(|l| l.number("an implementation"))?,
    })
}

/// Reads a quantity.
///
/// # Errors
/// The faulty word, and the expected text.
pub fn quantity(line: &mut ProofLine<'_>) -> Result<MonetQuantity, String> {
    Ok(match line.word("a quantity")? {
        "starts" => MonetQuantity::Starts {
            first: line.number("a stage")?,
            last: line.number("a stage")?,
            nodes: nodes(line)?,
        },
        "held" => MonetQuantity::Stored {
            stage: line.number("a stage")?,
            nodes: nodes(line)?,
        },
        "choice" => MonetQuantity::Choices(
            line.list(|l| Ok((l.number("a stage")?, l.number("an implementation")?)))?,
        ),
        "scratch" => MonetQuantity::Scratch {
            stage: line.number("a stage")?,
            node: line.number("a node")?,
            bytes: line.number("bytes")?,
        },
        "in-place" => MonetQuantity::InPlace {
            stage: line.number("a stage")?,
            node: line.number("a node")?,
        },
        other => return line.refuse(other, "starts, held, choice, scratch or in-place"),
    })
}
