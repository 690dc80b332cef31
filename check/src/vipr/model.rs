//! The model that a certificate is for: read here on its own, and compared constraint by
//! constraint.

use super::parse::sorted;
use super::{Certificate, Form, Sense, rational};
use dashu_int::IBig;
use dashu_ratio::RBig;
use num_traits::{Signed, Zero};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A side of a row or column, ready to be compared.
type Key = (Sense, RBig, Form);

/// A model in MPS format (free format: names without white space).
#[derive(Debug, Default)]
pub struct MpsModel {
    names: Vec<String>,
    integer: Vec<bool>,
    maximise: bool,
    objective: Form,
    /// Sides of rows and columns, with the name of the row or column.
    sides: Vec<(Key, Rc<str>)>,
}

/// A number of the file, to its last digit.
fn number(text: &str) -> Result<RBig, String> {
    rational(text).ok_or_else(|| format!("{text:?} is not a number"))
}

/// Bounds at or beyond this are none.
fn finite(v: RBig) -> Option<RBig> {
    let limit = RBig::from(IBig::from(10).pow(20));
    (v.abs() < limit).then_some(v)
}

struct ModelRow {
    name: Rc<str>,
    kind: char,
    side: RBig,
    range: Option<RBig>,
    form: Vec<(usize, RBig)>,
}

struct ModelColumn {
    lower: Option<RBig>,
    upper: Option<RBig>,
    /// True if a bound was given; integer columns without one are binary.
    touched: bool,
    /// True if a lower bound was given: a negative upper one does not take it back.
    low_given: bool,
}

impl MpsModel {
    /// Reads the text of an MPS file.
    ///
    /// # Errors
    /// Where it stops making sense.
    pub fn parse(text: &str) -> Result<MpsModel, String> {
        let mut m = MpsModel::default();
        let mut rows: Vec<ModelRow> = Vec::new();
        let mut row_of: BTreeMap<String, usize> = BTreeMap::new();
        let mut free_rows: BTreeMap<String, ()> = BTreeMap::new();
        let mut objective_name: Option<String> = None;
        let mut objective = Vec::new();
        let mut col_of: BTreeMap<String, usize> = BTreeMap::new();
        let mut cols: Vec<ModelColumn> = Vec::new();
        let (mut section, mut integer) = (String::new(), false);
        // The set of each section that counts: the first.
        let mut sets: BTreeMap<String, String> = BTreeMap::new();
        let mut counts = |section: &str, set: &str| {
            sets.entry(section.into()).or_insert_with(|| set.into()) == set
        };
        for (k, line) in text.lines().enumerate() {
            let fail = |what: &str| Err(format!("line {}: {what}", k + 1));
            if line.starts_with('*') || line.trim().is_empty() {
                continue;
            }
            // A dollar sign that begins no name begins a remark.
            let remark =
                |w: &str| w.starts_with('$') && !row_of.contains_key(w) && !col_of.contains_key(w);
            let mut w: Vec<&str> = line.split_whitespace().collect();
            if let Some(at) = w.iter().skip(1).position(|w| remark(w)) {
                w.truncate(at + 1);
            }
            if !line.starts_with([' ', '\t']) {
                section = w[0].to_ascii_uppercase();
                if section == "ENDATA" {
                    break;
                }
                if section == "OBJSENSE" && w.len() > 1 {
                    m.maximise = w[1].to_ascii_uppercase().starts_with("MAX");
                }
                continue;
            }
            match section.as_str() {
                "OBJSENSE" => m.maximise = w[0].to_ascii_uppercase().starts_with("MAX"),
                "ROWS" if w.len() == 2 => {
                    let kind = w[0].to_ascii_uppercase().chars().next().unwrap_or(' ');
                    match kind {
                        'N' if objective_name.is_none() => objective_name = Some(w[1].into()),
                        'N' => {
                            free_rows.insert(w[1].into(), ());
                        }
                        'E' | 'G' | 'L' => {
                            row_of.insert(w[1].into(), rows.len());
                            rows.push(ModelRow {
                                name: w[1].into(),
                                kind,
                                side: RBig::zero(),
                                range: None,
                                form: Vec::new(),
                            });
                        }
                        _ => return fail("a row is N, E, G or L"),
                    }
                }
                "COLUMNS" if w.len() >= 3 && w[1].trim_matches('\'') == "MARKER" => {
                    integer = w[2].trim_matches('\'') == "INTORG";
                }
                "COLUMNS" if w.len() == 3 || w.len() == 5 => {
                    let next = cols.len();
                    let j = *col_of.entry(w[0].into()).or_insert(next);
                    if j == next {
                        m.names.push(w[0].into());
                        m.integer.push(integer);
                        cols.push(ModelColumn {
                            lower: Some(RBig::zero()),
                            upper: None,
                            touched: false,
                            low_given: false,
                        });
                    }
                    for pair in w[1..].chunks(2) {
                        let v = number(pair[1])?;
                        if objective_name.as_deref() == Some(pair[0]) {
                            objective.push((j, v));
                        } else if let Some(&i) = row_of.get(pair[0]) {
                            rows[i].form.push((j, v));
                        } else if !free_rows.contains_key(pair[0]) {
                            return fail("a row that does not exist");
                        }
                    }
                }
                "RHS" | "RANGES" if w.len() >= 2 => {
                    // The name of the set may be missing.
                    let named = w.len() % 2;
                    if !counts(&section, if named == 1 { w[0] } else { "" }) {
                        continue;
                    }
                    for pair in w[named..].chunks(2) {
                        let v = number(pair[1])?;
                        match row_of.get(pair[0]) {
                            Some(&i) if section == "RHS" => rows[i].side = v,
                            Some(&i) => rows[i].range = Some(v),
                            // The objective's constant is no part of a certificate.
                            None => {}
                        }
                    }
                }
                "BOUNDS" => {
                    let kind = w[0].to_ascii_uppercase();
                    let valued = !matches!(kind.as_str(), "FR" | "MI" | "PL" | "BV");
                    let (set, name, value) = match (valued, w.len()) {
                        (true, 4) => (w[1], w[2], Some(number(w[3])?)),
                        (true, 3) => ("", w[1], Some(number(w[2])?)),
                        (false, 3..) => (w[1], w[2], None),
                        (false, 2) => ("", w[1], None),
                        _ => return fail("a bound needs a column and mostly a value"),
                    };
                    if !counts(&section, set) {
                        continue;
                    }
                    let Some(&j) = col_of.get(name) else {
                        return fail("a column that does not exist");
                    };
                    let c = &mut cols[j];
                    c.touched = true;
                    c.low_given |= matches!(kind.as_str(), "LO" | "LI" | "FX" | "FR" | "MI" | "BV");
                    let value = value.unwrap_or_else(RBig::zero);
                    match kind.as_str() {
                        "UP" | "UI" => {
                            if value.is_negative() && !c.low_given {
                                c.lower = None;
                            }
                            c.upper = finite(value);
                        }
                        "LO" | "LI" => c.lower = finite(value),
                        "FX" => (c.lower, c.upper) = (Some(value.clone()), Some(value)),
                        "FR" => (c.lower, c.upper) = (None, None),
                        "MI" => c.lower = None,
                        "PL" => c.upper = None,
                        "BV" => {
                            (c.lower, c.upper) = (Some(RBig::zero()), Some(RBig::ONE));
                        }
                        _ => return fail("a kind of bound that certificates do not know"),
                    }
                    if kind == "BV" || kind == "UI" || kind == "LI" {
                        m.integer[j] = true;
                    }
                }
                _ => return fail("not expected here"),
            }
        }
        m.objective = sorted(objective);
        for r in rows {
            let form = sorted(r.form);
            let (mut low, mut high) = match r.kind {
                'E' => (Some(r.side.clone()), Some(r.side.clone())),
                'G' => (Some(r.side.clone()), None),
                _ => (None, Some(r.side.clone())),
            };
            if let Some(range) = r.range {
                match r.kind {
                    'G' => high = Some(&r.side + range.abs()),
                    'L' => low = Some(&r.side - range.abs()),
                    _ if range.is_negative() => low = Some(&r.side + range),
                    _ => high = Some(&r.side + range),
                }
            }
            m.add_sides(&r.name, low.and_then(finite), high.and_then(finite), form);
        }
        for (j, mut c) in cols.into_iter().enumerate() {
            let one = RBig::ONE;
            if m.integer[j] && !c.touched {
                c.upper = Some(one.clone());
            }
            let name: Rc<str> = m.names[j].as_str().into();
            m.add_sides(&name, c.lower, c.upper, vec![(j, one)]);
        }
        m.sides.sort();
        Ok(m)
    }

    fn add_sides(&mut self, name: &Rc<str>, low: Option<RBig>, high: Option<RBig>, form: Form) {
        let mut add = |key: Key| self.sides.push((key, name.clone()));
        match (low, high) {
            (Some(l), Some(h)) if l == h => add((Sense::Equal, l, form)),
            (low, high) => {
                if let Some(l) = low {
                    add((Sense::AtLeast, l, form.clone()));
                }
                if let Some(h) = high {
                    add((Sense::AtMost, h, form));
                }
            }
        }
    }

    /// Compares with what a certificate states.
    ///
    /// # Errors
    /// What differs.
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
        let mut stated: Vec<Key> = (c.constraints.iter())
            .map(|r| (r.sense, r.side.clone(), (*r.form).clone()))
            .collect();
        stated.sort();
        // Both are in order: whichever is smaller is missing on the other side.
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

    /// A side as people write it.
    fn side(&self, (sense, side, form): &Key) -> String {
        let sign = match sense {
            Sense::Equal => "=",
            Sense::AtLeast => ">=",
            Sense::AtMost => "<=",
        };
        format!("{} {sign} {side}", self.terms(form))
    }

    /// A form as people write it, cut where it is long.
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
