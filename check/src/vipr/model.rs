//! The model that a certificate is for. It is read here independently, and compared constraint by
//! constraint.

use super::curved::Blocks;
use super::{Certificate, Form, ViprSense};
use dashu_ratio::RBig;
use num_traits::Signed;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A side of a row or column, ready to be compared.
pub(super) type SideKey = (ViprSense, RBig, Form);

/// A model in MPS format (free format: names without white space).
#[derive(Debug, Default)]
pub struct MpsModel {
    pub(super) names: Vec<String>,
    pub(super) integer: Vec<bool>,
    pub(super) maximise: bool,
    pub(super) objective: Form,
    /// Entries of the symmetric matrix of a quadratic objective `c x + 1/2 x'Qx`.
    pub(super) products: BTreeMap<(usize, usize), RBig>,
    /// Sides of rows and columns, with the name of the row or column.
    pub(super) sides: Vec<(SideKey, Rc<str>)>,
}

impl MpsModel {
    /// Adds the sides of a row or column.
    pub(super) fn add_sides(
        &mut self,
        name: &Rc<str>,
        low: Option<RBig>,
        high: Option<RBig>,
        form: Form,
    ) {
        let mut add = |key: SideKey| self.sides.push((key, name.clone()));
        match (low, high) {
            (Some(l), Some(h)) if l == h => add((ViprSense::Equal, l, form)),
            (low, high) => {
                if let Some(l) = low {
                    add((ViprSense::AtLeast, l, form.clone()));
                }
                if let Some(h) = high {
                    add((ViprSense::AtMost, h, form));
                }
            }
        }
    }

    /// Compares the model with the problem that a certificate states.
    ///
    /// # Errors
    /// A description of the first difference.
    pub fn compare(&self, c: &Certificate) -> Result<(), String> {
        let blocks = Blocks::of(self)?;
        if blocks.all_columns() != c.names.len() {
            let (a, b) = (c.names.len(), self.names.len());
            let above = match blocks.all_columns() - b {
                0 => String::new(),
                above => format!(" and {above} above parts of its quadratic objective"),
            };
            return Err(format!(
                "the columns differ: the certificate has {a}, the model {b}{above}"
            ));
        }
        let pairs = c.names.iter().zip(&self.names).enumerate();
        if let Some((j, (a, b))) = pairs.into_iter().find(|(_, (a, b))| a != b) {
            return Err(format!(
                "the columns differ: column {j} is {a} in the certificate and {b} in the model"
            ));
        }
        for (j, name) in self.names.iter().enumerate() {
            if self.integer[j] != c.integer.contains(&j) {
                return Err(format!(
                    "{name} is integer in one of model and certificate only"
                ));
            }
        }
        if let Some(j) = (c.integer.iter()).find(|j| **j >= self.names.len()) {
            return Err(format!(
                "{} is integer in the certificate only",
                c.names[*j]
            ));
        }
        let objective = blocks.objective(self);
        if self.maximise != c.maximise || objective != *c.objective {
            let show = |maximise: bool, form: &Form| {
                let sense = if maximise { "maximise" } else { "minimise" };
                format!("{sense} {}", self.terms(form))
            };
            return Err(format!(
                "the objectives differ: certificate {}, model {}",
                show(c.maximise, &c.objective),
                show(self.maximise, &objective)
            ));
        }
        blocks.check_solutions(c)?;
        let mut stated: Vec<SideKey> = Vec::new();
        for (i, r) in c.constraints.iter().enumerate() {
            let key = (r.sense, r.side.clone(), (*r.form).clone());
            let is_tangent = blocks.check(self, &key);
            if !is_tangent.map_err(|e| format!("constraint {i}, {}: {e}", self.side(&key)))? {
                stated.push(key);
            }
        }
        stated.sort();
        self.compare_sides(&stated)
    }

    /// Compares the sides of rows and columns with those of a certificate, both in order.
    fn compare_sides(&self, stated: &[SideKey]) -> Result<(), String> {
        // Both are in order: the smaller one is missing on the other side.
        let (mut theirs, mut ours) = (stated.iter().peekable(), self.sides.iter().peekable());
        let (mut extra, mut missing) = (None, None);
        loop {
            match (theirs.peek(), ours.peek()) {
                (None, None) => break,
                (Some(a), Some((b, _))) if *a == b => {
                    theirs.next();
                    ours.next();
                }
                (Some(a), other) if other.is_none_or(|(b, _)| *a < b) => {
                    extra.get_or_insert(*a);
                    theirs.next();
                }
                (_, other) => {
                    if let Some(one) = other {
                        missing.get_or_insert(*one);
                    }
                    ours.next();
                }
            }
        }
        let extra = extra.map(|key| format!("the certificate states {}", self.side(key)));
        let missing =
            missing.map(|(key, name)| format!("the model has {name}: {}", self.side(key)));
        match (extra, missing) {
            (None, None) => Ok(()),
            (Some(a), Some(b)) => Err(format!("the constraints differ: {a}, {b}")),
            (one, other) => {
                let text = one.or(other).unwrap_or_default();
                Err(format!(
                    "the constraints differ: {text}, the other does not"
                ))
            }
        }
    }

    /// A number that a column does not exceed in absolute value; `None` without bounds.
    pub(super) fn size(&self, col: usize) -> Option<RBig> {
        let own = |form: &Form| matches!(&form[..], [(j, a)] if *j == col && *a == RBig::ONE);
        let sides = || self.sides.iter().map(|(key, _)| key);
        // Any lower side counts with any upper side.
        let least = |other: ViprSense| {
            let sides = sides().filter(|(sense, _, form)| *sense != other && own(form));
            sides.map(|(_, side, _)| side.clone().abs()).min()
        };
        Some(least(ViprSense::AtMost)?.max(least(ViprSense::AtLeast)?))
    }

    /// A side in readable notation.
    fn side(&self, (sense, side, form): &SideKey) -> String {
        let sign = match sense {
            ViprSense::Equal => "=",
            ViprSense::AtLeast => ">=",
            ViprSense::AtMost => "<=",
        };
        format!("{} {sign} {side}", self.terms(form))
    }

    /// A form in readable notation, cut if it is long.
    fn terms(&self, form: &Form) -> String {
        const TERMS: usize = 6;
        let shown = form.iter().take(TERMS).map(|(j, v)| {
            let name = self.names.get(*j).map_or("?", String::as_str);
            format!("{v} {name}")
        });
        let mut text = shown.collect::<Vec<_>>().join(" + ");
        if form.len() > TERMS {
            text += &format!(" + ... ({} terms)", form.len());
        }
        if form.is_empty() { "0".into() } else { text }
    }
}
