//! Reads proofs.

use super::HEADER;
use remat_instances::order::Variant;
use std::fmt::Display;
use std::iter::Peekable;
use std::str::{FromStr, Lines, SplitWhitespace};

/// Flow through a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Tensor whose storage it is.
    pub tensor: u32,
    /// The operator that takes the storage; `None` for the source.
    pub from: Option<u32>,
    /// The operator that holds it; `None` for the sink.
    pub to: Option<u32>,
    /// Bytes.
    pub bytes: u64,
}

/// A flow that proves a least memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Flow through storages.
    pub streams: Vec<Stream>,
    /// Flow from an operator to one before it, in bytes.
    pub precedence: Vec<(u32, u32, u64)>,
}

/// Reason why no order within the level leads on from an executed set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Each step needs the bound, or leads to a listed set.
    Steps,
    /// These operators free at least the bytes that they take, and lead to a listed set.
    Falls(Vec<u32>),
    /// These operators lead to a listed set with the least memory between.
    Valley(Vec<u32>, Flow),
}

/// An executed set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Number of an earlier set that it contains; `None` for the start.
    pub before: Option<usize>,
    /// Further operators of the set.
    pub operators: Vec<u32>,
    /// The reason why it leads nowhere.
    pub reason: Reason,
}

/// A proof by executed sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// True if sets are executed from the end of the step on.
    pub is_backward: bool,
    /// Operators that run first in any case, and those that run last, the very last first.
    pub head: Vec<u32>,
    /// The last ones.
    pub tail: Vec<u32>,
    /// The sets.
    pub sets: Vec<Listed>,
}

/// A pair of operators that runs in one order below the bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Implied {
    /// The operator with the cut.
    pub operator: u32,
    /// The other one.
    pub other: u32,
    /// True if the other one runs behind the operator, because sets that hold it need the bound.
    /// False if it runs ahead, because sets without it do.
    pub is_behind: bool,
    /// A flow that shows the need.
    pub flow: Flow,
}

/// Kind of a proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProofKind {
    /// Resident memory.
    Base,
    /// Precedence that holds below the bound, and a cut at an operator.
    Cut {
        /// The precedence, each pair shown with those before it.
        implied: Vec<Implied>,
        /// The operator.
        operator: u32,
        /// A flow as large as the cut.
        flow: Flow,
    },
    /// Executed sets.
    Levels(Levels),
}

/// A proof as it is in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// SHA-256 of the graph, in hexadecimal.
    pub graph_sha256: String,
    /// The variant.
    pub variant: Variant,
    /// The bound in bytes.
    pub bound_bytes: u64,
    /// Its kind.
    pub kind: ProofKind,
}

/// Reads the text of a proof.
///
/// # Errors
/// The faulty line, and the expected text.
pub fn parse(text: &str) -> Result<Proof, String> {
    let mut lines = ProofLines {
        lines: text.lines().peekable(),
        number: 0,
    };
    lines.keyword(HEADER)?;
    let graph_sha256 = lines.keyword("graph")?.word("a SHA-256")?.to_owned();
    let mut line = lines.keyword("variant")?;
    let variant = line.parsed("free, sound, sound+rng or ctl")?;
    let bound_bytes = lines.keyword("bound")?.parsed("bytes")?;
    let mut line = lines.next()?;
    let kind = match line.word("base, cut, precedence or levels")? {
        "base" => ProofKind::Base,
        "cut" => cut(Vec::new(), line, &mut lines)?,
        "precedence" => {
            let implied = implied(&mut lines)?;
            let line = lines.keyword("cut")?;
            cut(implied, line, &mut lines)?
        }
        "levels" => {
            let is_backward = match line.word("forward or backward")? {
                "forward" => false,
                "backward" => true,
                other => return line.refuse(other, "forward or backward"),
            };
            ProofKind::Levels(Levels {
                is_backward,
                head: lines.keyword("head")?.operators()?,
                tail: lines.keyword("tail")?.operators()?,
                sets: sets(&mut lines)?,
            })
        }
        other => return line.refuse(other, "base, cut, precedence or levels"),
    };
    match lines.lines.next() {
        None => Ok(Proof {
            graph_sha256,
            variant,
            bound_bytes,
            kind,
        }),
        Some(_) => Err(format!(
            "line {}: the proof has ended before",
            lines.number + 1
        )),
    }
}

fn cut(
    implied: Vec<Implied>,
    mut line: ProofLine<'_>,
    lines: &mut ProofLines<'_>,
) -> Result<ProofKind, String> {
    Ok(ProofKind::Cut {
        implied,
        operator: line.parsed("an operator")?,
        flow: flow(lines)?,
    })
}

fn implied(lines: &mut ProofLines<'_>) -> Result<Vec<Implied>, String> {
    let mut implied = Vec::new();
    loop {
        let is_behind = lines.begins_with("behind");
        if !is_behind && !lines.begins_with("ahead") {
            return Ok(implied);
        }
        let mut line = lines.next()?;
        line.word("behind or ahead")?;
        implied.push(Implied {
            operator: line.parsed("an operator")?,
            other: line.parsed("another operator")?,
            is_behind,
            flow: flow(lines)?,
        });
    }
}

fn sets(lines: &mut ProofLines<'_>) -> Result<Vec<Listed>, String> {
    let mut sets: Vec<Listed> = Vec::new();
    while lines.begins_with("s") {
        let mut line = lines.keyword("s")?;
        let before = match line.word("the number of a set, or -")? {
            "-" => None,
            word => match word.parse() {
                Ok(number) if number < sets.len() => Some(number),
                _ => return line.refuse(word, "the number of an earlier set, or -"),
            },
        };
        let operators = line.operators()?;
        let reason = if lines.begins_with("f") {
            Reason::Falls(lines.keyword("f")?.operators()?)
        } else if lines.begins_with("c") {
            Reason::Valley(lines.keyword("c")?.operators()?, flow(lines)?)
        } else {
            Reason::Steps
        };
        sets.push(Listed {
            before,
            operators,
            reason,
        });
    }
    Ok(sets)
}

fn flow(lines: &mut ProofLines<'_>) -> Result<Flow, String> {
    let mut flow = Flow::default();
    while lines.begins_with("t") {
        let mut line = lines.keyword("t")?;
        flow.streams.push(Stream {
            tensor: line.parsed("a tensor")?,
            from: line.end("an operator, or - for the source")?,
            to: line.end("an operator, or - for the sink")?,
            bytes: line.parsed("bytes")?,
        });
    }
    while lines.begins_with("p") {
        let mut line = lines.keyword("p")?;
        let operator = line.parsed("an operator")?;
        let before = line.parsed("an operator before it")?;
        flow.precedence
            .push((operator, before, line.parsed("bytes")?));
    }
    Ok(flow)
}

struct ProofLines<'a> {
    lines: Peekable<Lines<'a>>,
    number: usize,
}

struct ProofLine<'a> {
    words: SplitWhitespace<'a>,
    number: usize,
}

impl<'a> ProofLines<'a> {
    fn next(&mut self) -> Result<ProofLine<'a>, String> {
        self.number += 1;
        let number = self.number;
        let line = self.lines.next();
        let line = line.ok_or_else(|| format!("line {number}: the proof ends too early"))?;
        Ok(ProofLine {
            words: line.split_whitespace(),
            number,
        })
    }

    /// The next line, behind the word that it has to begin with.
    fn keyword(&mut self, keyword: &str) -> Result<ProofLine<'a>, String> {
        let mut line = self.next()?;
        match line.word(keyword)? {
            word if word == keyword => Ok(line),
            word => line.refuse(word, keyword),
        }
    }

    fn begins_with(&mut self, keyword: &str) -> bool {
        let line = self.lines.peek();
        line.is_some_and(|line| line.split_whitespace().next() == Some(keyword))
    }
}

impl<'a> ProofLine<'a> {
    fn word(&mut self, what: &str) -> Result<&'a str, String> {
        let number = self.number;
        let word = self.words.next();
        word.ok_or_else(|| format!("line {number}: something is missing; give {what}"))
    }

    fn refuse<T>(&self, found: impl Display, what: &str) -> Result<T, String> {
        Err(format!("line {}: found {found}; give {what}", self.number))
    }

    fn parsed<T: FromStr>(&mut self, what: &str) -> Result<T, String> {
        let word = self.word(what)?;
        word.parse().or_else(|_| self.refuse(word, what))
    }

    fn end(&mut self, what: &str) -> Result<Option<u32>, String> {
        match self.word(what)? {
            "-" => Ok(None),
            word => word.parse().map(Some).or_else(|_| self.refuse(word, what)),
        }
    }

    fn operators(&mut self) -> Result<Vec<u32>, String> {
        let mut list = Vec::new();
        for word in self.words.by_ref() {
            match word.parse() {
                Ok(operator) => list.push(operator),
                Err(_) => {
                    let number = self.number;
                    return Err(format!(
                        "line {number}: found {word}; give numbers of operators"
                    ));
                }
            }
        }
        Ok(list)
    }
}
