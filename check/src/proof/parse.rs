//! Reads proofs.

use super::envelope::{Envelope, Holder};
use super::{
    Body, Branch, Claim, Evidence, HEADER, HEADER_WITHOUT_PROGRAM, LinkTerms, Node, Place, Proof,
    checkmate, monet, trips,
};
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
    let proof = proof(&mut lines, false)?;
    lines.end()?;
    Ok(proof)
}

/// Reads a proof; one `within` another is of plans without copies.
fn proof(lines: &mut ProofLines<'_>, within: bool) -> Result<Proof, String> {
    let mut line = lines.next()?;
    let has_program = match line.word("the version of a proof")? {
        HEADER => true,
        HEADER_WITHOUT_PROGRAM => false,
        other => {
            let right = format!("{HEADER} or {HEADER_WITHOUT_PROGRAM}");
            return line.refuse(other, &right);
        }
    };
    line.end()?;
    let program = match has_program {
        true => {
            let mut line = lines.next()?;
            line.keyword("program")?;
            let program = line.word("a program")?;
            let known = match within {
                true => &["checkmate"][..],
                false => &["checkmate", "monet", "trips", "envelope"],
            };
            if !known.contains(&program) {
                let right = match within {
                    true => "checkmate",
                    false => "checkmate or monet, or trips or envelope with copies,",
                };
                return line.refuse(program, right);
            }
            line.end()?;
            program
        }
        false => "checkmate",
    };
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
    line.end()?;
    let body = match program {
        "monet" => Body::Monet(evidence(
            lines,
            claim,
            monet::read::row,
            monet::read::quantity,
        )?),
        "trips" => Body::Trips {
            terms: terms(lines)?,
            unit: headed(lines, "unit", "units of cost in one of time")?,
            evidence: evidence(lines, claim, trips::read::row, trips::read::quantity)?,
        },
        "envelope" => Body::Envelope(envelope(lines)?),
        _ => Body::Checkmate(evidence(
            lines,
            claim,
            checkmate::read::row,
            checkmate::read::quantity,
        )?),
    };
    Ok(Proof {
        instance,
        budget_bytes,
        claim,
        body,
    })
}

/// Reads the line of a link.
fn terms(lines: &mut ProofLines<'_>) -> Result<LinkTerms, String> {
    let mut line = lines.next()?;
    let terms = LinkTerms::read(&mut line)?;
    line.end()?;
    Ok(terms)
}

/// Reads a line of a word and a number.
fn headed<T: FromStr>(lines: &mut ProofLines<'_>, word: &str, right: &str) -> Result<T, String> {
    let mut line = lines.next()?;
    line.keyword(word)?;
    line.last_number(right)
}

/// Reads an envelope and the proof within.
fn envelope(lines: &mut ProofLines<'_>) -> Result<Envelope, String> {
    let terms = terms(lines)?;
    let horizon = headed(lines, "horizon", "a cost")?;
    let count: usize = headed(lines, "holders", "how many holders there are")?;
    if count > HOLDERS_LIMIT {
        return lines
            .here()
            .refuse(count, &format!("at most {HOLDERS_LIMIT} holders"));
    }
    let mut holders = Vec::new();
    for _ in 0..count {
        let mut line = lines.next()?;
        let bytes = line.number("bytes")?;
        let from = line.number("a stage")?;
        let until = match line.word("a stage, or end")? {
            "end" => None,
            word => match word.parse() {
                Ok(stage) => Some(stage),
                Err(_) => return line.refuse(word, "a stage, or end"),
            },
        };
        line.end()?;
        holders.push(Holder { bytes, from, until });
    }
    Ok(Envelope {
        terms,
        horizon,
        holders,
        within: Box::new(proof(lines, true)?),
    })
}

/// Holders of an envelope at most: checking takes as many steps for each stage.
const HOLDERS_LIMIT: usize = 4096;

/// Reads rows and nodes, each row by `row` and each quantity by `quantity`; there are none for a
/// node that does not fit.
fn evidence<R, Q>(
    lines: &mut ProofLines<'_>,
    claim: Claim,
    row: impl Fn(&mut ProofLine<'_>) -> Result<R, String>,
    quantity: impl Fn(&mut ProofLine<'_>) -> Result<Q, String>,
) -> Result<Evidence<R, Q>, String> {
    let mut evidence = Evidence {
        rows: Vec::new(),
        nodes: Vec::new(),
    };
    if let Claim::TooSmall(_) = claim {
        return Ok(evidence);
    }
    let mut line = lines.next()?;
    line.keyword("rows")?;
    let rows: usize = line.last_number("how many rows there are")?;
    for _ in 0..rows {
        let mut line = lines.next()?;
        evidence.rows.push(row(&mut line)?);
        line.end()?;
    }
    let mut line = lines.next()?;
    line.keyword("nodes")?;
    let nodes: usize = line.last_number("how many nodes there are")?;
    for number in 0..nodes {
        evidence.nodes.push(node(lines, number, rows, &quantity)?);
    }
    Ok(evidence)
}

/// Reads a branching, whose quantity is read by `quantity`.
pub(super) fn branch<Q>(
    line: &mut ProofLine<'_>,
    quantity: impl Fn(&mut ProofLine<'_>) -> Result<Q, String>,
) -> Result<Branch<Q>, String> {
    let quantity = quantity(line)?;
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

fn node<Q>(
    lines: &mut ProofLines<'_>,
    number: usize,
    rows: usize,
    quantity: impl Fn(&mut ProofLine<'_>) -> Result<Q, String>,
) -> Result<Node<Q>, String> {
    let mut line = lines.next()?;
    let place = match line.word("root, again or below")? {
        "root" => Place::Root,
        "again" => Place::Again(line.number("a node of the tree")?),
        "below" => Place::Below(
            line.number("a node of the tree")?,
            branch(&mut line, quantity)?,
        ),
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

    /// The line that was read last, without its words.
    fn here(&self) -> ProofLine<'a> {
        ProofLine {
            words: "".split_whitespace(),
            number: self.number,
        }
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

/// The words of a line.
pub(super) struct ProofLine<'a> {
    words: SplitWhitespace<'a>,
    number: usize,
}

impl<'a> ProofLine<'a> {
    /// Refuses a word.
    pub(super) fn refuse<T>(&self, found: impl Display, right: &str) -> Result<T, String> {
        Err(format!(
            "line {}: `{found}`, where {right} should be",
            self.number
        ))
    }

    /// The next word.
    pub(super) fn word(&mut self, right: &str) -> Result<&'a str, String> {
        match self.words.next() {
            Some(word) => Ok(word),
            None => self.refuse("the end of the line", right),
        }
    }

    /// Takes a word that must be there.
    pub(super) fn keyword(&mut self, right: &str) -> Result<(), String> {
        match self.word(right)? {
            word if word == right => Ok(()),
            other => self.refuse(other, right),
        }
    }

    /// The next word, a number.
    pub(super) fn number<T: FromStr>(&mut self, right: &str) -> Result<T, String> {
        let word = self.word(right)?;
        word.parse().or_else(|_| self.refuse(word, right))
    }

    /// The last word, a number.
    pub(super) fn last_number<T: FromStr>(&mut self, right: &str) -> Result<T, String> {
        let number = self.number(right)?;
        self.end()?;
        Ok(number)
    }

    /// A list: how many there are, and they.
    pub(super) fn list<T>(
        &mut self,
        item: impl Fn(&mut Self) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let count: usize = self.number("how many there are")?;
        // Not with this capacity: the count is not to be believed before they are there.
        let mut list = Vec::new();
        for _ in 0..count {
            list.push(item(self)?);
        }
        Ok(list)
    }

    /// All words that are left.
    pub(super) fn rest(&mut self) -> String {
        self.words.by_ref().collect::<Vec<_>>().join(" ")
    }

    /// Checks that no word is left.
    pub(super) fn end(&mut self) -> Result<(), String> {
        match self.words.next() {
            None => Ok(()),
            Some(word) => self.refuse(word, "the end of the line"),
        }
    }
}
