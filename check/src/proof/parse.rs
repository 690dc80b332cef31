//! Reads proofs.

use super::{Branch, Claim, Counted, Cover, HEADER, Node, Path, Place, Proof, Quantity, Row};
use std::fmt::Display;
use std::str::{FromStr, SplitWhitespace};

/// Reads the text of a proof.
///
/// # Errors
/// The line that is wrong, and what would be right.
pub fn parse(text: &str) -> Result<Proof, String> {
    let mut lines = ProofLines {
        lines: text.lines(),
        number: 0,
    };
    let mut line = lines.next()?;
    line.keyword(HEADER)?;
    let mut line = lines.next()?;
    line.keyword("instance")?;
    let instance = line.rest();
    let mut line = lines.next()?;
    line.keyword("budget")?;
    let budget_bytes = line.last_number("the budget in bytes")?;
    let mut line = lines.next()?;
    line.keyword("claim")?;
    let claim = match line.word("a claim")? {
        "bound" => Claim::Bound(line.last_number("a cost")?),
        "infeasible" => Claim::Infeasible,
        "too-small" => Claim::TooSmall(line.last_number("a node")?),
        other => return line.refuse(other, "bound, infeasible or too-small"),
    };
    let mut proof = Proof {
        instance,
        budget_bytes,
        claim,
        rows: Vec::new(),
        nodes: Vec::new(),
    };
    if let Claim::TooSmall(_) = claim {
        lines.end()?;
        return Ok(proof);
    }
    let mut line = lines.next()?;
    line.keyword("rows")?;
    let rows: usize = line.last_number("how many rows there are")?;
    for _ in 0..rows {
        proof.rows.push(row(&mut lines.next()?)?);
    }
    let mut line = lines.next()?;
    line.keyword("nodes")?;
    let nodes: usize = line.last_number("how many nodes there are")?;
    for number in 0..nodes {
        proof.nodes.push(node(&mut lines, number, rows)?);
    }
    lines.end()?;
    Ok(proof)
}

fn row(line: &mut ProofLine<'_>) -> Result<Row, String> {
    let row = match line.word("a kind of row")? {
        "need" => Row::Need {
            node: line.number("a node")?,
            reader: line.number("its reader")?,
        },
        "parent" => Row::Parent {
            stage: line.number("a stage")?,
            node: line.number("a by-product")?,
        },
        "input" => Row::Input {
            stage: line.number("a stage")?,
            node: line.number("a node")?,
            input: line.number("its input")?,
        },
        "memory" => Row::Memory {
            stage: line.number("a stage")?,
            node: line.number("a node")?,
            unit: line.number("a size, or 0")?,
        },
        "cover" => Row::Cover(Cover {
            stage: line.number("a stage")?,
            node: line.number("a node")?,
            most: line.number("a weight")?,
            made: line.number("a weight, or 0")?,
            weights: line.list(|l| Ok((l.number("a node")?, l.number("its weight")?)))?,
        }),
        "path" => Row::Path(path(line)?),
        "path-memory" => Row::PathMemory {
            path: path(line)?,
            staying: line.list(|l| l.number("a node"))?,
            companions: line.list(|l| Ok((l.number("a stage")?, l.number("a node")?)))?,
            other_bytes: line.number("bytes")?,
        },
        "branch" => Row::Branch(branch(line)?),
        other => {
            return line.refuse(
                other,
                "need, input, memory, cover, path, path-memory or branch",
            );
        }
    };
    line.end()?;
    Ok(row)
}

fn path(line: &mut ProofLine<'_>) -> Result<Path, String> {
    Ok(Path {
        from: line.number("a stage")?,
        reader: line.number("a stage")?,
        nodes: line.list(|l| l.number("a node"))?,
    })
}

fn branch(line: &mut ProofLine<'_>) -> Result<Branch, String> {
    let what = match line.word("a quantity")? {
        "starts" => Counted::Starts(line.number("a stage")?, line.number("a stage")?),
        "held" => Counted::Held(line.number("a stage")?),
        other => return line.refuse(other, "starts or held"),
    };
    let quantity = Quantity {
        what,
        nodes: line.list(|l| l.number("a node"))?,
    };
    let at_least = match line.word("<= or >=")? {
        "<=" => false,
        ">=" => true,
        other => return line.refuse(other, "<= or >="),
    };
    Ok(Branch {
        quantity,
        at_least,
        count: line.number("a count")?,
    })
}

fn node(lines: &mut ProofLines<'_>, number: usize, rows: usize) -> Result<Node, String> {
    let mut line = lines.next()?;
    let place = match line.word("root, again or below")? {
        "root" => Place::Root,
        "again" => Place::Again(line.number("a node of the tree")?),
        "below" => Place::Below(line.number("a node of the tree")?, branch(&mut line)?),
        other => return line.refuse(other, "root, again or below"),
    };
    match &place {
        Place::Root if number == 0 => {}
        Place::Again(above) | Place::Below(above, _) if (*above as usize) < number => {}
        _ => {
            return line.refuse(
                number,
                "the root first, and every node behind the one it hangs at",
            );
        }
    }
    let bits: u32 = line.number("how many bits multipliers have behind the point")?;
    if bits > 100 {
        return line.refuse(bits, "at most 100 bits behind the point");
    }
    let count: usize = line.last_number("how many multipliers there are")?;
    let mut multipliers = Vec::new();
    for _ in 0..count {
        let mut line = lines.next()?;
        let row: u32 = line.number("a row")?;
        let value: i128 = line.last_number("a multiplier")?;
        if row as usize >= rows {
            return line.refuse(row, &format!("a row below {rows}"));
        }
        if value < 0 {
            return line.refuse(value, "a multiplier that is at least 0");
        }
        multipliers.push((row, value));
    }
    Ok(Node {
        place,
        bits,
        multipliers,
    })
}

struct ProofLines<'a> {
    lines: std::str::Lines<'a>,
    number: usize,
}

impl<'a> ProofLines<'a> {
    fn next(&mut self) -> Result<ProofLine<'a>, String> {
        self.number += 1;
        let text = self
            .lines
            .next()
            .ok_or_else(|| format!("line {}: the proof ends too early", self.number))?;
        Ok(ProofLine {
            words: text.split_whitespace(),
            number: self.number,
        })
    }

    /// Nothing but empty lines may follow.
    fn end(&mut self) -> Result<(), String> {
        for text in self.lines.by_ref() {
            self.number += 1;
            if let Some(word) = text.split_whitespace().next() {
                let number = self.number;
                return Err(format!(
                    "line {number}: `{word}`, where the proof should end"
                ));
            }
        }
        Ok(())
    }
}

struct ProofLine<'a> {
    words: SplitWhitespace<'a>,
    number: usize,
}

impl<'a> ProofLine<'a> {
    fn refuse<T>(&self, found: impl Display, right: &str) -> Result<T, String> {
        Err(format!(
            "line {}: `{found}`, where {right} should be",
            self.number
        ))
    }

    fn word(&mut self, right: &str) -> Result<&'a str, String> {
        match self.words.next() {
            Some(word) => Ok(word),
            None => self.refuse("the end of the line", right),
        }
    }

    fn keyword(&mut self, right: &str) -> Result<(), String> {
        match self.word(right)? {
            word if word == right => Ok(()),
            other => self.refuse(other, right),
        }
    }

    fn number<T: FromStr>(&mut self, right: &str) -> Result<T, String> {
        let word = self.word(right)?;
        word.parse().or_else(|_| self.refuse(word, right))
    }

    fn last_number<T: FromStr>(&mut self, right: &str) -> Result<T, String> {
        let number = self.number(right)?;
        self.end()?;
        Ok(number)
    }

    fn list<T>(&mut self, item: impl Fn(&mut Self) -> Result<T, String>) -> Result<Vec<T>, String> {
        let count: usize = self.number("how many there are")?;
        // Not with this capacity: the count is not to be believed before they are there.
        let mut list = Vec::new();
        for _ in 0..count {
            list.push(item(self)?);
        }
        Ok(list)
    }

    fn rest(&mut self) -> String {
        self.words.by_ref().collect::<Vec<_>>().join(" ")
    }

    fn end(&mut self) -> Result<(), String> {
        match self.words.next() {
            None => Ok(()),
            Some(word) => self.refuse(word, "the end of the line"),
        }
    }
}
