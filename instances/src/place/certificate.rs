//! Certificates of lower bounds on the height: a claim and the steps of its proof.
//!
//! `remat_check::place` verifies them; this module only defines their form and text.

use std::fmt::Write;

/// Value for the case that a part of a moment is wasted, in the steps of an [`Argument::Refuted`].
pub const WASTE: u64 = u64::MAX;

/// First line of a certificate.
pub const CERTIFICATE_HEADER: &str = "remat-place-bound/1";

/// Claim that every placement has at least `bound` bytes, with its argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundCertificate {
    /// Lower bound on the height of any placement, in bytes.
    pub bound: u64,
    /// The argument for it.
    pub argument: Argument,
    /// True if the argument proves a smaller number, and the bound is the next sum of sizes of the
    /// buffers in the argument.
    pub is_sum: bool,
    /// Positions of the buffers in the argument, ascending; empty for all buffers.
    pub buffers: Vec<u64>,
}

/// Argument for a bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// No buffer is in use: the bound is 0.
    Empty,
    /// The buffers that live at a moment, stacked. All sizes except the top one are rounded up to
    /// the common divisor of all alignments.
    Stack {
        /// The moment.
        time: u64,
    },
    /// The end of a buffer with a fixed offset.
    Fixed {
        /// Its position.
        buffer: u64,
    },
    /// A search tree without a placement of height `height`.
    ///
    /// A node of the tree has a moment, a number of cases, and for each case the position of a
    /// buffer or [`WASTE`], followed by a node. The cases of a moment: one of its unplaced buffers
    /// lies on the moment's floor, or no buffer does. A case that is not listed is contradictory at
    /// once.
    Refuted {
        /// Height in bytes.
        height: u64,
        /// The tree; empty if the contradiction exists from the beginning.
        steps: Vec<u64>,
    },
    /// A search proved that no placement of this height exists; it was too long to record.
    Searched {
        /// Height in bytes.
        height: u64,
    },
}

/// Error of a text that is not a certificate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}:{line}: {problem}, found {found:?}; {remedy}")]
pub struct CertificateError {
    /// Name of the text.
    pub name: String,
    /// Line, from 1.
    pub line: usize,
    /// The problem.
    pub problem: String,
    /// Text found.
    pub found: String,
    /// Description of a correct text.
    pub remedy: String,
}

/// Number of steps per line of the text.
const STEPS_PER_LINE: usize = 16;

impl BoundCertificate {
    /// The certificate as text; [`parse`](Self::parse) reads it.
    pub fn text(&self) -> String {
        let mut text = format!("{CERTIFICATE_HEADER}\nbound {}\n", self.bound);
        if self.is_sum {
            text += "sum\n";
        }
        let numbers = |numbers: &[u64]| {
            let mut words = String::new();
            for number in numbers {
                let _ = match *number {
                    WASTE => write!(words, " -"),
                    number => write!(words, " {number}"),
                };
            }
            words
        };
        for line in self.buffers.chunks(STEPS_PER_LINE) {
            text += &format!("buffers{}\n", numbers(line));
        }
        match &self.argument {
            Argument::Empty => text += "empty\n",
            Argument::Stack { time } => text += &format!("stack {time}\n"),
            Argument::Fixed { buffer } => text += &format!("fixed {buffer}\n"),
            Argument::Searched { height } => text += &format!("searched {height}\n"),
            Argument::Refuted { height, steps } => {
                text += &format!("refuted {height}\n");
                for line in steps.chunks(STEPS_PER_LINE) {
                    text += &format!("steps{}\n", numbers(line));
                }
            }
        }
        text
    }

    /// Reads a certificate from text; errors name it `name`.
    ///
    /// # Errors
    /// [`CertificateError`] names line, text and remedy. The claim is not verified.
    ///
    /// ```
    /// use remat_instances::place::{Argument, BoundCertificate};
    /// let text = "remat-place-bound/1\nbound 12\nstack 4\n";
    /// let certificate = BoundCertificate::parse("x.txt", text)?;
    /// assert_eq!(certificate.argument, Argument::Stack { time: 4 });
    /// assert_eq!(certificate.text(), text);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse(name: &str, text: &str) -> Result<Self, CertificateError> {
        let mut bound = None;
        let mut argument = None;
        let mut is_sum = false;
        let mut buffers = Vec::new();
        let mut end = 1;
        for (position, line) in text.lines().enumerate() {
            end = position + 1;
            let error = |problem: &str, remedy: &str| CertificateError {
                name: name.into(),
                line: position + 1,
                problem: problem.into(),
                found: line.chars().take(60).collect(),
                remedy: remedy.into(),
            };
            if position == 0 {
                if line.trim_end() != CERTIFICATE_HEADER {
                    let remedy = format!("the first line is {CERTIFICATE_HEADER}");
                    return Err(error("this is no certificate of a bound", &remedy));
                }
                continue;
            }
            let mut words = line.split_whitespace();
            let Some(keyword) = words.next() else {
                continue;
            };
            let numbers = words.map(|word| match word {
                "-" => Ok(WASTE),
                word => word.parse::<u64>().map_err(|_| {
                    error(
                        "a word is no number",
                        "write integers from 0 to 2^64 - 1, or -",
                    )
                }),
            });
            let numbers = numbers.collect::<Result<Vec<_>, _>>()?;
            let one = || match numbers[..] {
                [number] => Ok(number),
                _ => Err(error(
                    "the line has another number of words",
                    "one number follows",
                )),
            };
            let found = match keyword {
                "bound" => {
                    bound = Some(one()?);
                    None
                }
                "sum" => {
                    is_sum = true;
                    None
                }
                "buffers" => {
                    buffers.extend(&numbers);
                    None
                }
                "empty" => Some(Argument::Empty),
                "stack" => Some(Argument::Stack { time: one()? }),
                "fixed" => Some(Argument::Fixed { buffer: one()? }),
                "searched" => Some(Argument::Searched { height: one()? }),
                "refuted" => Some(Argument::Refuted {
                    height: one()?,
                    steps: Vec::new(),
                }),
                "steps" => {
                    let Some(Argument::Refuted { steps, .. }) = &mut argument else {
                        let remedy = "steps follow a line `refuted HEIGHT`";
                        return Err(error("steps belong to nothing", remedy));
                    };
                    steps.extend(&numbers);
                    None
                }
                _ => {
                    let remedy = "lines begin with bound, sum, buffers, empty, stack, fixed, \
                                  refuted, steps or searched";
                    return Err(error("the line is unknown", remedy));
                }
            };
            if let Some(found) = found
                && argument.replace(found).is_some()
            {
                return Err(error("there is a second argument", "give one"));
            }
        }
        let missing = |what: &str, remedy: &str| CertificateError {
            name: name.into(),
            line: end,
            problem: format!("the {what} is missing"),
            found: String::new(),
            remedy: remedy.into(),
        };
        let bound = bound.ok_or_else(|| missing("bound", "add a line `bound BYTES`"))?;
        let argument = argument.ok_or_else(|| missing("argument", "add a line `stack TIME`"))?;
        Ok(BoundCertificate {
            bound,
            argument,
            is_sum,
            buffers,
        })
    }
}
