//! The head of a proof: version, program, instance, budget and claim.

use super::text::ProofLines;

/// Name of the format: the first line of a proof begins with it.
pub const NAME: &str = "remat-proof/";
/// The first line of a proof.
pub const HEADER: &str = "remat-proof/2";
/// The first line of a proof of older versions: it has no line for the program, which is
/// Checkmate's.
pub const HEADER_WITHOUT_PROGRAM: &str = "remat-proof/1";

/// Claim of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Every schedule costs at least so much.
    Bound(u64),
    /// No schedule fits.
    Infeasible,
    /// No schedule fits, since this node does not fit beside the tensors that are there with it.
    TooSmall(u32),
}

/// The first lines of a proof.
pub(super) struct Head<'a> {
    pub program: &'a str,
    pub instance: String,
    pub budget_bytes: u64,
    pub claim: Claim,
}

impl<'a> Head<'a> {
    /// Reads the head of a proof for one of the `known` programs, which `right` lists.
    ///
    /// # Errors
    /// The faulty word, and the expected text.
    pub(super) fn read(
        lines: &mut ProofLines<'a>,
        known: &[&str],
        right: &str,
    ) -> Result<Self, String> {
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
        let mut program = "checkmate";
        if has_program {
            let mut line = lines.next()?;
            line.keyword("program")?;
            program = line.word("a program")?;
            if !known.contains(&program) {
                return line.refuse(program, right);
            }
            line.end()?;
        }
        let mut line = lines.next()?;
        line.keyword("instance")?;
        let instance = line.rest();
        let budget_bytes = lines.headed("budget", "the budget in bytes")?;
        let mut line = lines.next()?;
        line.keyword("claim")?;
        let claim = match line.word("a claim")? {
            "bound" => Claim::Bound(line.last_number("a cost")?),
            "infeasible" => Claim::Infeasible,
            "too-small" => Claim::TooSmall(line.last_number("a node")?),
            other => return line.refuse(other, "bound, infeasible or too-small"),
        };
        line.end()?;
        Ok(Head {
            program,
            instance,
            budget_bytes,
            claim,
        })
    }
}
