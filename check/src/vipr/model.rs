//! The model that a certificate is for. It is read here independently, and compared constraint by
//! constraint.

use super::{Certificate, Form, ViprSense};
use dashu_ratio::RBig;
use std::rc::Rc;

/// A side of a row or column, ready to be compared.
type SideKey = (ViprSense, RBig, Form);

/// A model in MPS format (free format: names without white space).
#[derive(Debug, Default)]
pub struct MpsModel {
    pub(super) names: Vec<String>,
    pub(super) integer: Vec<bool>,
    pub(super) maximise: bool,
    pub(super) objective: Form,
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
        if self.names.len() != c.names.len() {
            let (a, b) = (c.names.len(), self.names.len());
            return Err(format!(
                "the columns differ: the certificate has {a}, the model {b}"
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
        if self.maximise != c.maximise || self.objective != *c.objective {
            let show = |maximise: bool, form: &Form| {
                let sense = if maximise { "maximise" } else { "minimise" };
                format!("{sense} {}", self.terms(form))
            };
            return Err(format!(
                "the objectives differ: certificate {}, model {}",
                show(c.maximise, &c.objective),
                show(self.maximise, &self.objective)
            ));
        }
        let mut stated: Vec<SideKey> = (c.constraints.iter())
            .map(|r| (r.sense, r.side.clone(), (*r.form).clone()))
            .collect();
        stated.sort();
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
