//! A proof as it is in its file: the program that it is about, and its evidence.

use super::checkmate::{self, Checkmate, Plans};
use super::claim::{Claim, Head};
use super::envelope::Envelope;
use super::link::LinkTerms;
use super::monet::{self, Monet};
use super::text::ProofLines;
use super::tree::{Counts, Evidence};
use super::trips::{self, Trips};
use remat_instances::{Instance, PlanClass, Semantics};

/// Evidence for a claim, in terms of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Checkmate's.
    Checkmate {
        /// The plans that it is about.
        plans: Plans,
        /// Rows and tree.
        evidence: Evidence<checkmate::CheckmateRow, checkmate::CheckmateQuantity>,
    },
    /// MONeT's.
    Monet(Evidence<monet::MonetRow, monet::MonetQuantity>),
    /// Checkmate's with copies to the host.
    Trips {
        /// The link.
        terms: LinkTerms,
        /// Units of cost that make the unit of time of copies and windows.
        unit: u64,
        /// Rows and tree.
        evidence: Evidence<trips::TripRow, trips::TripQuantity>,
    },
    /// Checkmate's with copies to the host, by a proof without them in more memory.
    Envelope(Envelope),
}

impl Body {
    /// The semantics of the program.
    pub fn semantics(&self) -> Semantics {
        match self {
            Body::Monet(_) => Semantics::Monet,
            _ => Semantics::Checkmate,
        }
    }

    /// The class of plans that the proof is about; `None` for all plans.
    pub fn class(&self) -> Option<PlanClass> {
        match self {
            Body::Checkmate {
                plans: Plans::Class(class),
                ..
            } => Some(*class),
            _ => None,
        }
    }

    /// The plans that the proof is about, if the program is Checkmate's.
    pub fn plans(&self) -> Option<Plans> {
        match self {
            Body::Checkmate { plans, .. } => Some(*plans),
            _ => None,
        }
    }

    /// The link that the proof is about; `None` for plans without copies.
    pub fn link(&self) -> Option<&LinkTerms> {
        match self {
            Body::Trips { terms, .. } => Some(terms),
            Body::Envelope(envelope) => Some(&envelope.terms),
            _ => None,
        }
    }
}

/// A proof as it is in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Name of the instance it was made for.
    pub instance: String,
    /// The budget in bytes.
    pub budget_bytes: u64,
    /// Its claim.
    pub claim: Claim,
    /// The program, and the evidence; empty for [`Claim::TooSmall`].
    pub body: Body,
}

/// Reads the text of a proof.
///
/// # Errors
/// The faulty line, and the expected text.
pub fn parse(text: &str) -> Result<Proof, String> {
    let mut lines = ProofLines::of(text);
    let known = ["checkmate", "monet", "trips", "envelope"];
    let right = "checkmate or monet, or trips or envelope with copies,";
    let head = Head::read(&mut lines, &known, right)?;
    let body = match head.program {
        "monet" => Body::Monet(Evidence::read::<Monet>(&mut lines, head.claim)?),
        "trips" => Body::Trips {
            terms: LinkTerms::read(&mut lines)?,
            unit: lines.headed("unit", "units of cost in one of time")?,
            evidence: Evidence::read::<Trips>(&mut lines, head.claim)?,
        },
        "envelope" => Body::Envelope(Envelope::read(&mut lines)?),
        _ => Body::Checkmate {
            plans: read_plans(&mut lines)?,
            evidence: Evidence::read::<Checkmate>(&mut lines, head.claim)?,
        },
    };
    lines.end()?;
    Ok(Proof {
        instance: head.instance,
        budget_bytes: head.budget_bytes,
        claim: head.claim,
        body,
    })
}

/// Reads the line of a class or of a scope, if there is one.
fn read_plans(lines: &mut ProofLines<'_>) -> Result<Plans, String> {
    if let Some(mut line) = lines.next_if("scope") {
        line.keyword("scope")?;
        let plans = match line.word("a scope")? {
            "plans-in-this-order" => Plans::InThisOrder,
            "all-plans" => Plans::All,
            other => return line.refuse(other, "plans-in-this-order or all-plans"),
        };
        return line.end().map(|()| plans);
    }
    let Some(mut line) = lines.next_if("class") else {
        return Ok(Plans::StageSchedules);
    };
    line.keyword("class")?;
    let word = line.word("a class of plans")?;
    match word.parse() {
        Ok(class) => line.end().map(|()| Plans::Class(class)),
        Err(_) => line.refuse(word, "tags, regions, blocks or names"),
    }
}

/// Checks that a proof shows its claim about an instance. MONeT's program uses its implementations
/// and in-place steps. For Checkmate's program the first implementations count
/// ([`Instance::single_implementation_view`]).
///
/// # Errors
/// The first fault, in words.
pub fn check(proof: &Proof, instance: &Instance) -> Result<Counts, String> {
    let (budget_bytes, claim) = (proof.budget_bytes, proof.claim);
    match &proof.body {
        Body::Checkmate { plans, evidence } => {
            checkmate::check(instance, budget_bytes, *plans, claim, evidence)
        }
        Body::Monet(evidence) => monet::check(instance, budget_bytes, claim, evidence),
        Body::Trips {
            terms,
            unit,
            evidence,
        } => trips::check(instance, budget_bytes, (terms, *unit), claim, evidence),
        Body::Envelope(envelope) => envelope.check(instance, budget_bytes, claim),
    }
}
