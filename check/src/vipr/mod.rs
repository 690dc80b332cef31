//! Certificates in VIPR format, checked in rational numbers (Cheung, Gleixner & Steffy 2017).
//!
//! This module shares no code with the solver or its readers: its verdict depends only on these few
//! files.

pub mod check;
mod curved;
pub mod model;
mod mps;
pub mod parse;

use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use std::collections::BTreeSet;
use std::io::Read;
use std::rc::Rc;

/// A linear form: columns in increasing order, no zeros.
pub type Form = Vec<(usize, RBig)>;

/// Direction of a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ViprSense {
    /// `E`
    Equal,
    /// `G`
    AtLeast,
    /// `L`
    AtMost,
}

/// `form sense side`.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// Direction.
    pub sense: ViprSense,
    /// Right-hand side.
    pub side: RBig,
    /// Left-hand side.
    pub form: Rc<Form>,
}

/// Reason given for a derived constraint.
#[derive(Clone, Debug, PartialEq)]
pub enum DerivationReason {
    /// It is assumed.
    Assumption,
    /// A sum of constraints with multipliers.
    Linear(Vec<(usize, RBig)>),
    /// A rounded sum of constraints with multipliers.
    Rounded(Vec<(usize, RBig)>),
    /// It holds in two cases: (constraint, its assumption) twice.
    Unsplit([(usize, usize); 2]),
    /// A solution of the list reaches this bound.
    Solution,
}

/// Claim of a certificate.
#[derive(Clone, Debug, PartialEq)]
pub enum Claim {
    /// There is no solution.
    Infeasible,
    /// The optimum is between these values; `None` is infinite.
    Range(Option<RBig>, Option<RBig>),
}

/// A certificate as it is in its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Certificate {
    /// Names of columns.
    pub names: Vec<String>,
    /// Columns that are integer.
    pub integer: BTreeSet<usize>,
    /// True if the objective is maximised.
    pub maximise: bool,
    /// The objective.
    pub objective: Rc<Form>,
    /// Constraints of the problem.
    pub constraints: Vec<Constraint>,
    /// The claim to be proven.
    pub claim: Claim,
    /// Solutions.
    pub solutions: Vec<Form>,
    /// Derived constraints and their reasons; numbered on from the constraints.
    pub derived: Vec<(Constraint, DerivationReason)>,
}

/// A rational number: `p`, `p/q`, or a decimal with or without exponent.
pub fn rational(text: &str) -> Option<RBig> {
    if let Some((p, q)) = text.split_once('/') {
        let (p, q): (IBig, IBig) = (p.parse().ok()?, q.parse().ok()?);
        return (!q.is_zero()).then(|| RBig::from_parts_signed(p, q));
    }
    if let Ok(p) = text.parse::<IBig>() {
        return Some(RBig::from(p));
    }
    let (mantissa, exponent) = match text.find(['e', 'E', 'd', 'D']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.trim_start_matches(['+', '-']).is_empty() && fraction.is_empty() {
        return None;
    }
    if !fraction.chars().all(|c| c.is_ascii_digit()) || exponent.abs() > 5000 {
        return None;
    }
    let digits = format!("{whole}{fraction}");
    let number: IBig = digits.parse().ok()?;
    let shift = exponent - i32::try_from(fraction.len()).ok()?;
    let power = UBig::from(10u8).pow(shift.unsigned_abs() as usize);
    Some(if shift >= 0 {
        RBig::from(number * power)
    } else {
        RBig::from_parts(number, power)
    })
}

/// Size to which a gzipped certificate or model may unpack. A plain one may be larger.
const LARGEST_UNPACKED_BYTES: u64 = 1 << 30;

/// The text of a certificate or model, unpacked if it starts like a gzip file.
///
/// # Errors
/// Damaged gzip data, data that unpack to more than 1 GiB, and text that is not UTF-8.
pub fn text(bytes: &[u8]) -> std::io::Result<String> {
    let mut text = String::new();
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        (&bytes[..]).read_to_string(&mut text)?;
        return Ok(text);
    }
    let decoder = flate2::read::MultiGzDecoder::new(bytes);
    let mut decoder = decoder.take(LARGEST_UNPACKED_BYTES + 1);
    decoder.read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST_UNPACKED_BYTES {
        return Err(std::io::Error::other(format!(
            "it unpacks to more than {LARGEST_UNPACKED_BYTES} bytes; where that is right, unpack it first (`gunzip`) and \
             name the plain file"
        )));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact() {
        let q = |p: i64, q: i64| Some(RBig::from_parts_signed(p.into(), q.into()));
        assert_eq!(rational("-6/4"), q(-3, 2));
        assert_eq!(rational("0.125"), q(1, 8));
        assert_eq!(rational("-.5e1"), q(-5, 1));
        assert_eq!(rational("1E-3"), q(1, 1000));
        for bad in ["", "1/0", "x", "1.x", ".", "-", "1e99999999"] {
            assert_eq!(rational(bad), None, "{bad}");
        }
    }
}
