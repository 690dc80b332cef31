//! Reads MPS files, to the last digit.

use super::model::MpsModel;
use super::parse::sorted;
use super::rational;
use dashu_int::IBig;
use dashu_ratio::RBig;
use num_traits::{Signed, Zero};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A number of the file, to its last digit.
fn number(text: &str) -> Result<RBig, String> {
    rational(text).ok_or_else(|| format!("{text:?} is not a number"))
}

/// Returns `None` for a bound of 1e20 or more in absolute value: it is infinite.
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
    /// True if a lower bound was given: a later negative upper bound keeps it.
    low_given: bool,
}

/// The state of a reader.
#[derive(Default)]
struct MpsReader {
    model: MpsModel,
    rows: Vec<ModelRow>,
    row_of: BTreeMap<String, usize>,
    free_rows: BTreeSet<String>,
    objective_name: Option<String>,
    objective: Vec<(usize, RBig)>,
    cols: Vec<ModelColumn>,
    col_of: BTreeMap<String, usize>,
    section: String,
    /// True between the markers of integer columns.
    integer: bool,
    /// The name of the set that counts in each section: the first.
    sets: BTreeMap<String, String>,
    /// Number of the current line.
    line: usize,
}

impl MpsModel {
    /// Reads the text of an MPS file.
    ///
    /// # Errors
    /// The line at which the text is not valid.
    pub fn parse(text: &str) -> Result<MpsModel, String> {
        let mut reader = MpsReader::default();
        for (k, line) in text.lines().enumerate() {
            reader.line = k + 1;
            if line.starts_with('*') || line.trim().is_empty() {
                continue;
            }
            let words = reader.words(line);
            if line.starts_with([' ', '\t']) {
                reader.read(&words)?;
                continue;
            }
            reader.section = words[0].to_ascii_uppercase();
            if reader.section == "ENDATA" {
                break;
            }
            if reader.section == "OBJSENSE" && words.len() > 1 {
                reader.read_sense(words[1]);
            }
        }
        Ok(reader.finish())
    }
}

impl MpsReader {
    fn fail<T>(&self, problem: &str) -> Result<T, String> {
        Err(format!("line {}: {problem}", self.line))
    }

    /// The words of a line without its remark. A remark begins with a dollar sign that begins no
    /// name.
    fn words<'a>(&self, line: &'a str) -> Vec<&'a str> {
        let is_name = |w: &str| self.row_of.contains_key(w) || self.col_of.contains_key(w);
        let mut words: Vec<&str> = line.split_whitespace().collect();
        let remark = |w: &&str| w.starts_with('$') && !is_name(w);
        if let Some(at) = words.iter().skip(1).position(remark) {
            words.truncate(at + 1);
        }
        words
    }

    /// Reads a line of the current section.
    fn read(&mut self, w: &[&str]) -> Result<(), String> {
        match self.section.as_str() {
            "OBJSENSE" => self.read_sense(w[0]),
            "ROWS" if w.len() == 2 => return self.read_row(w[0], w[1]),
            "COLUMNS" if w.len() >= 3 && w[1].trim_matches('\'') == "MARKER" => {
                self.integer = w[2].trim_matches('\'') == "INTORG";
            }
            "COLUMNS" if w.len() == 3 || w.len() == 5 => return self.read_column(w),
            "RHS" | "RANGES" if w.len() >= 2 => return self.read_sides(w),
            "BOUNDS" => return self.read_bound(w),
            "QUADOBJ" | "QMATRIX" if w.len() == 3 => return self.read_product(w),
            _ => return self.fail("not expected here"),
        }
        Ok(())
    }

    fn read_sense(&mut self, word: &str) {
        self.model.maximise = word.to_ascii_uppercase().starts_with("MAX");
    }

    /// Returns whether a set of the current section counts.
    fn counts(&mut self, set: &str) -> bool {
        let first = self.sets.entry(self.section.clone());
        first.or_insert_with(|| set.into()) == set
    }

    fn read_row(&mut self, kind: &str, name: &str) -> Result<(), String> {
        let kind = kind.to_ascii_uppercase().chars().next().unwrap_or(' ');
        match kind {
            'N' if self.objective_name.is_none() => self.objective_name = Some(name.into()),
            'N' => {
                self.free_rows.insert(name.into());
            }
            'E' | 'G' | 'L' => {
                self.row_of.insert(name.into(), self.rows.len());
                self.rows.push(ModelRow {
                    name: name.into(),
                    kind,
                    side: RBig::zero(),
                    range: None,
                    form: Vec::new(),
                });
            }
            _ => return self.fail("a row is N, E, G or L"),
        }
        Ok(())
    }

    fn read_column(&mut self, w: &[&str]) -> Result<(), String> {
        let next = self.cols.len();
        let j = *self.col_of.entry(w[0].into()).or_insert(next);
        if j == next {
            self.model.names.push(w[0].into());
            self.model.integer.push(self.integer);
            self.cols.push(ModelColumn {
                lower: Some(RBig::zero()),
                upper: None,
                touched: false,
                low_given: false,
            });
        }
        for pair in w[1..].chunks(2) {
            let v = number(pair[1])?;
            if self.objective_name.as_deref() == Some(pair[0]) {
                self.objective.push((j, v));
            } else if let Some(&i) = self.row_of.get(pair[0]) {
                self.rows[i].form.push((j, v));
            } else if !self.free_rows.contains(pair[0]) {
                return self.fail("a row that does not exist");
            }
        }
        Ok(())
    }

    fn read_sides(&mut self, w: &[&str]) -> Result<(), String> {
        // The name of the set may be missing.
        let named = w.len() % 2;
        if !self.counts(if named == 1 { w[0] } else { "" }) {
            return Ok(());
        }
        for pair in w[named..].chunks(2) {
            let v = number(pair[1])?;
            match self.row_of.get(pair[0]) {
                Some(&i) if self.section == "RHS" => self.rows[i].side = v,
                Some(&i) => self.rows[i].range = Some(v),
                // The objective's constant is no part of a certificate.
                None => {}
            }
        }
        Ok(())
    }

    fn read_bound(&mut self, w: &[&str]) -> Result<(), String> {
        let kind = w[0].to_ascii_uppercase();
        let valued = !matches!(kind.as_str(), "FR" | "MI" | "PL" | "BV");
        let (set, name, value) = match (valued, w.len()) {
            (true, 4) => (w[1], w[2], Some(number(w[3])?)),
            (true, 3) => ("", w[1], Some(number(w[2])?)),
            (false, 3..) => (w[1], w[2], None),
            (false, 2) => ("", w[1], None),
            _ => return self.fail("a bound needs a column and mostly a value"),
        };
        if !self.counts(set) {
            return Ok(());
        }
        let Some(&j) = self.col_of.get(name) else {
            return self.fail("a column that does not exist");
        };
        let c = &mut self.cols[j];
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
            "BV" => (c.lower, c.upper) = (Some(RBig::zero()), Some(RBig::ONE)),
            _ => return self.fail("a kind of bound that certificates do not know"),
        }
        if kind == "BV" || kind == "UI" || kind == "LI" {
            self.model.integer[j] = true;
        }
        Ok(())
    }

    /// Reads an entry of the matrix of a quadratic objective. QUADOBJ has one triangle, QMATRIX the
    /// whole matrix.
    fn read_product(&mut self, w: &[&str]) -> Result<(), String> {
        let (Some(&a), Some(&b)) = (self.col_of.get(w[0]), self.col_of.get(w[1])) else {
            return self.fail("a column that does not exist");
        };
        let mut half = number(w[2])?;
        if self.section == "QMATRIX" || a == b {
            half /= RBig::from(2);
        }
        *self.model.products.entry((a, b)).or_default() += &half;
        *self.model.products.entry((b, a)).or_default() += half;
        Ok(())
    }

    /// The model of all that was read.
    fn finish(self) -> MpsModel {
        let mut m = self.model;
        m.objective = sorted(self.objective);
        for r in self.rows {
            let (low, high) = r.sides();
            let form = sorted(r.form);
            m.add_sides(&r.name, low.and_then(finite), high.and_then(finite), form);
        }
        for (j, mut c) in self.cols.into_iter().enumerate() {
            let one = RBig::ONE;
            if m.integer[j] && !c.touched {
                c.upper = Some(one.clone());
            }
            let name: Rc<str> = m.names[j].as_str().into();
            m.add_sides(&name, c.lower, c.upper, vec![(j, one)]);
        }
        m.sides.sort();
        m
    }
}

impl ModelRow {
    /// The least and the largest activity.
    fn sides(&self) -> (Option<RBig>, Option<RBig>) {
        let (mut low, mut high) = match self.kind {
            'E' => (Some(self.side.clone()), Some(self.side.clone())),
            'G' => (Some(self.side.clone()), None),
            _ => (None, Some(self.side.clone())),
        };
        if let Some(range) = &self.range {
            match self.kind {
                'G' => high = Some(&self.side + range.clone().abs()),
                'L' => low = Some(&self.side - range.clone().abs()),
                _ if range.is_negative() => low = Some(&self.side + range),
                _ => high = Some(&self.side + range),
            }
        }
        (low, high)
    }
}
