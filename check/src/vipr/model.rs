//! The model that a certificate is for: read here on its own, and compared constraint by
//! constraint.

use super::parse::sorted;
use super::{Certificate, Form, Sense, rational};
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use std::collections::BTreeMap;

/// A side of a row or column, ready to be compared.
type Key = (Sense, BigRational, Form);

/// A model in MPS format (free format: names without white space).
#[derive(Debug, Default)]
pub struct MpsModel {
    names: Vec<String>,
    integer: Vec<bool>,
    maximise: bool,
    objective: Form,
    sides: Vec<Key>,
}

/// A number of the file as the nearest double prints it: what the solver takes it for.
fn number(text: &str) -> Result<BigRational, String> {
    let exact = || rational(text).ok_or_else(|| format!("{text:?} is not a number"));
    match text.parse::<f64>() {
        Ok(v) if v.is_finite() => rational(&format!("{v:e}")).map_or_else(exact, Ok),
        _ => exact(),
    }
}

/// Bounds at or beyond this are none.
fn finite(v: BigRational) -> Option<BigRational> {
    let limit = BigRational::from_integer(num_bigint::BigInt::from(10).pow(20));
    (v.abs() < limit).then_some(v)
}

struct ModelRow {
    kind: char,
    side: BigRational,
    range: Option<BigRational>,
    form: Vec<(usize, BigRational)>,
}

struct ModelColumn {
    lower: Option<BigRational>,
    upper: Option<BigRational>,
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
                                kind,
                                side: BigRational::zero(),
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
                            lower: Some(BigRational::zero()),
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
                    let value = value.unwrap_or_else(BigRational::zero);
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
                            (c.lower, c.upper) = (
                                Some(BigRational::zero()),
                                Some(BigRational::from_integer(1.into())),
                            );
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
            m.add_sides(low.and_then(finite), high.and_then(finite), form);
        }
        for (j, mut c) in cols.into_iter().enumerate() {
            let one = BigRational::from_integer(1.into());
            if m.integer[j] && !c.touched {
                c.upper = Some(one.clone());
            }
            m.add_sides(c.lower, c.upper, vec![(j, one)]);
        }
        m.sides.sort();
        Ok(m)
    }

    fn add_sides(&mut self, low: Option<BigRational>, high: Option<BigRational>, form: Form) {
        match (low, high) {
            (Some(l), Some(h)) if l == h => self.sides.push((Sense::Equal, l, form)),
            (low, high) => {
                if let Some(l) = low {
                    self.sides.push((Sense::AtLeast, l, form.clone()));
                }
                if let Some(h) = high {
                    self.sides.push((Sense::AtMost, h, form));
                }
            }
        }
    }

    /// Compares with what a certificate states.
    ///
    /// # Errors
    /// What differs.
    pub fn compare(&self, c: &Certificate) -> Result<(), String> {
        if self.names != c.names {
            return Err("the columns of model and certificate differ".into());
        }
        for (j, name) in self.names.iter().enumerate() {
            if self.integer[j] != c.integer.contains(&j) {
                return Err(format!(
                    "{name} is integer in one of model and certificate only"
                ));
            }
        }
        if self.maximise != c.maximise || self.objective != *c.objective {
            return Err("the objectives of model and certificate differ".into());
        }
        let mut stated: Vec<Key> = (c.constraints.iter())
            .map(|r| (r.sense, r.side.clone(), (*r.form).clone()))
            .collect();
        stated.sort();
        if let Some((a, b)) = stated.iter().zip(&self.sides).find(|(a, b)| a != b) {
            let show = |k: &Key| format!("{:?} {} with {} entries", k.0, k.1, k.2.len());
            let (a, b) = (show(a), show(b));
            return Err(format!("a constraint differs: certificate {a}, model {b}"));
        }
        if stated.len() != self.sides.len() {
            let (a, b) = (stated.len(), self.sides.len());
            return Err(format!(
                "the certificate states {a} constraints, the model has {b}"
            ));
        }
        Ok(())
    }
}
