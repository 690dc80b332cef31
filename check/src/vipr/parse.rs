//! Reads certificates.

use super::{Certificate, Claim, Constraint, DerivationReason, Form, ViprSense, rational};
use dashu_ratio::RBig;
use num_traits::Zero;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

struct Tokens<'a> {
    words: Box<dyn Iterator<Item = (usize, &'a str)> + 'a>,
    line: usize,
    objective: Rc<Form>,
}

type Read<T> = Result<T, String>;

impl<'a> Tokens<'a> {
    fn fail<T>(&self, expected: &str, found: &str) -> Read<T> {
        Err(format!(
            "line {}: {expected} expected, found {found:?}",
            self.line
        ))
    }

    fn word(&mut self) -> Read<&'a str> {
        match self.words.next() {
            Some((line, word)) => {
                self.line = line;
                Ok(word)
            }
            None => Err("the file ends too soon".into()),
        }
    }

    fn keyword(&mut self, expected: &str) -> Read<()> {
        match self.word()? {
            w if w == expected => Ok(()),
            w => self.fail(expected, w),
        }
    }

    fn count(&mut self) -> Read<usize> {
        let w = self.word()?;
        w.parse().or_else(|_| self.fail("a number of things", w))
    }

    fn number(&mut self) -> Read<RBig> {
        let w = self.word()?;
        rational(w).map_or_else(|| self.fail("a rational number", w), Ok)
    }

    /// Reads the end of a range; `None` for `inf` or `-inf`.
    fn end(&mut self) -> Read<Option<RBig>> {
        let w = self.word()?;
        match w {
            "inf" | "+inf" | "-inf" => Ok(None),
            _ => rational(w)
                .map_or_else(|| self.fail("a rational number or inf", w), |v| Ok(Some(v))),
        }
    }

    /// `k` pairs of index and number.
    fn pairs(&mut self, limit: usize) -> Read<Vec<(usize, RBig)>> {
        let k = self.count()?;
        self.pairs_of(k, limit)
    }

    fn pairs_of(&mut self, k: usize, limit: usize) -> Read<Vec<(usize, RBig)>> {
        let mut out = Vec::new();
        for _ in 0..k {
            let index = self.count()?;
            if index >= limit {
                return self.fail("an index that exists", &index.to_string());
            }
            out.push((index, self.number()?));
        }
        Ok(out)
    }

    fn form(&mut self, columns: usize) -> Read<Rc<Form>> {
        let w = self.word()?;
        if w == "OBJ" {
            return Ok(self.objective.clone());
        }
        let k = w.parse().or_else(|_| self.fail("a number of entries", w))?;
        Ok(Rc::new(sorted(self.pairs_of(k, columns)?)))
    }

    /// `name sense side form`.
    fn constraint(&mut self, columns: usize) -> Read<Constraint> {
        self.word()?;
        let sense = match self.word()? {
            "E" => ViprSense::Equal,
            "G" => ViprSense::AtLeast,
            "L" => ViprSense::AtMost,
            w => return self.fail("E, G or L", w),
        };
        Ok(Constraint {
            sense,
            side: self.number()?,
            form: self.form(columns)?,
        })
    }

    fn reason(&mut self, before: usize) -> Read<DerivationReason> {
        self.keyword("{")?;
        let reason = match self.word()? {
            "asm" => DerivationReason::Assumption,
            "sol" => DerivationReason::Solution,
            "lin" => DerivationReason::Linear(self.pairs(before)?),
            "rnd" => DerivationReason::Rounded(self.pairs(before)?),
            "uns" => {
                let mut index = || match self.count() {
                    Ok(k) if k < before => Ok(k),
                    Ok(k) => Err(format!(
                        "line {}: constraint {k} does not come before",
                        self.line
                    )),
                    Err(e) => Err(e),
                };
                DerivationReason::Unsplit([(index()?, index()?), (index()?, index()?)])
            }
            w => return self.fail("asm, lin, rnd, uns or sol", w),
        };
        self.keyword("}")?;
        Ok(reason)
    }
}

/// Columns in order, with equal ones summed and zeros left out.
pub fn sorted(pairs: Vec<(usize, RBig)>) -> Form {
    let mut sum: BTreeMap<usize, RBig> = BTreeMap::new();
    for (j, v) in pairs {
        *sum.entry(j).or_insert_with(RBig::zero) += v;
    }
    sum.into_iter().filter(|(_, v)| !v.is_zero()).collect()
}

/// Reads the text of a certificate.
///
/// # Errors
/// The line at which the text is not valid, in words.
pub fn parse(text: &str) -> Result<Certificate, String> {
    let words = text
        .lines()
        .enumerate()
        .filter(|(_, l)| !l.trim_start().starts_with('%'))
        .flat_map(|(k, l)| l.split_whitespace().map(move |w| (k + 1, w)));
    let mut t = Tokens {
        words: Box::new(words),
        line: 0,
        objective: Rc::default(),
    };
    t.keyword("VER")?;
    match t.word()? {
        "1.0" | "1.1" => {}
        w => return t.fail("version 1.0 or 1.1", w),
    }
    t.keyword("VAR")?;
    let n = t.count()?;
    let mut names = Vec::new();
    for _ in 0..n {
        names.push(t.word()?.to_string());
    }
    t.keyword("INT")?;
    let mut integer = BTreeSet::new();
    for _ in 0..t.count()? {
        let j = t.count()?;
        if j >= n {
            return t.fail("a column", &j.to_string());
        }
        integer.insert(j);
    }
    t.keyword("OBJ")?;
    let maximise = match t.word()? {
        "min" => false,
        "max" => true,
        w => return t.fail("min or max", w),
    };
    t.objective = Rc::new(sorted(t.pairs(n)?));
    t.keyword("CON")?;
    let (m, _bounds) = (t.count()?, t.count()?);
    let mut constraints = Vec::new();
    for _ in 0..m {
        constraints.push(t.constraint(n)?);
    }
    t.keyword("RTP")?;
    let claim = match t.word()? {
        "infeas" => Claim::Infeasible,
        "range" => Claim::Range(t.end()?, t.end()?),
        w => return t.fail("infeas or range", w),
    };
    t.keyword("SOL")?;
    let mut solutions = Vec::new();
    for _ in 0..t.count()? {
        t.word()?;
        solutions.push(sorted(t.pairs(n)?));
    }
    t.keyword("DER")?;
    let d = t.count()?;
    let mut derived = Vec::new();
    for k in 0..d {
        let c = t.constraint(n)?;
        let reason = t.reason(m + k)?;
        // The last line that needs it: a hint for the memory of other readers.
        t.word()?;
        derived.push((c, reason));
    }
    if let Ok(w) = t.word() {
        return t.fail("nothing more", w);
    }
    Ok(Certificate {
        names,
        integer,
        maximise,
        objective: t.objective,
        constraints,
        claim,
        solutions,
        derived,
    })
}
