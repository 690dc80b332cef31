//! The constraints of a proof: the model's constraints, then derived ones, each with its reason.

use super::{ConstraintSense, ExactModel, SidePositions, entries};
use crate::mip::exact::{Rational, ceiling, floor, one};
use crate::mip::extend::StatedRow;
use std::collections::BTreeSet;

/// Reason of a constraint. Numbers refer to other constraints.
enum StepReason {
    /// A constraint of the model, with its name.
    Given(String),
    /// A row stated beside the model's.
    Stated,
    Assumed,
    /// A sum with multipliers, rounded or not.
    Sum {
        parts: Vec<(usize, Rational)>,
        round: bool,
    },
    /// A case distinction: constraint and assumption, twice.
    Split([usize; 4]),
}

impl StepReason {
    fn each(&self, mut see: impl FnMut(usize)) {
        match self {
            StepReason::Given(_) | StepReason::Stated | StepReason::Assumed => {}
            StepReason::Sum { parts, .. } => parts.iter().for_each(|p| see(p.0)),
            StepReason::Split(all) => all.iter().for_each(|&k| see(k)),
        }
    }
}

/// A constraint of the proof.
pub(crate) struct DerivedConstraint {
    /// Sense, side and form.
    text: String,
    reason: StepReason,
    /// The assumptions it depends on.
    pub assumes: BTreeSet<usize>,
}

/// The lines so far, and the positions of the model's constraints.
pub(crate) struct Derivation {
    pub lines: Vec<DerivedConstraint>,
    /// Number of the model's constraints that are bounds.
    pub bounds: usize,
    pub rows: Vec<SidePositions>,
    pub cols: Vec<SidePositions>,
}

impl Derivation {
    /// The constraints of a model: rows, then bounds; ranged ones yield two.
    pub fn new(m: &ExactModel) -> Derivation {
        let mut p = Derivation {
            lines: Vec::new(),
            bounds: 0,
            rows: Vec::new(),
            cols: Vec::new(),
        };
        for (i, row) in m.rows.iter().enumerate() {
            let text = entries(row.iter().map(|(j, v)| (*j, v)));
            let sides = p.add_sides(&format!("r{i}"), &m.row_sides[i], &text);
            p.rows.push(sides);
        }
        let before = p.lines.len();
        for j in 0..m.cost.len() {
            let sides = p.add_sides(&format!("b{j}"), &m.col_sides[j], &format!("1 {j} 1"));
            p.cols.push(sides);
        }
        p.bounds = p.lines.len() - before;
        p
    }

    /// Number of lines so far; right after [`Derivation::new`] it is the number of the model's
    /// constraints.
    pub fn constraints(&self) -> usize {
        self.lines.len()
    }

    fn add_sides(
        &mut self,
        name: &str,
        (lower, upper): &(Option<Rational>, Option<Rational>),
        text: &str,
    ) -> SidePositions {
        let mut sides = SidePositions::default();
        if let (Some(l), Some(u)) = (lower, upper)
            && l == u
        {
            let at = self.given(name, ConstraintSense::Equal, l, text);
            return SidePositions {
                lower: Some(at),
                upper: Some(at),
            };
        }
        if let Some(l) = lower {
            sides.lower = Some(self.given(&format!("{name}l"), ConstraintSense::AtLeast, l, text));
        }
        if let Some(u) = upper {
            sides.upper = Some(self.given(&format!("{name}u"), ConstraintSense::AtMost, u, text));
        }
        sides
    }

    fn given(&mut self, name: &str, sense: ConstraintSense, side: &Rational, text: &str) -> usize {
        self.lines.push(DerivedConstraint {
            text: format!("{} {side} {text}", sense.letter()),
            reason: StepReason::Given(name.to_string()),
            assumes: BTreeSet::new(),
        });
        self.lines.len() - 1
    }

    /// Adds a derived line `form sense side` with its reason.
    fn derive(
        &mut self,
        sense: ConstraintSense,
        side: &Rational,
        form: &str,
        reason: StepReason,
        assumes: BTreeSet<usize>,
    ) -> usize {
        let k = self.lines.len();
        self.lines.push(DerivedConstraint {
            text: format!("{} {side} {form}", sense.letter()),
            reason,
            assumes,
        });
        k
    }

    /// Adds a row that is stated beside the model's.
    pub fn state(&mut self, row: &StatedRow) -> usize {
        let form = entries(row.entries.iter().map(|(j, v)| (*j, v)));
        let sense = ConstraintSense::AtLeast;
        self.derive(sense, &row.side, &form, StepReason::Stated, BTreeSet::new())
    }

    /// Adds the assumption `form <= value` or `form >= value`.
    pub fn assume(&mut self, sense: ConstraintSense, value: &Rational, form: &str) -> usize {
        let own = BTreeSet::from([self.lines.len()]);
        self.derive(sense, value, form, StepReason::Assumed, own)
    }

    /// Derives a sum of constraints with multipliers, rounded up if `round`.
    pub fn combine(
        &mut self,
        sense: ConstraintSense,
        side: &Rational,
        form: &str,
        parts: &[(usize, Rational)],
        round: bool,
    ) -> usize {
        let mut assumes = BTreeSet::new();
        for (k, _) in parts {
            assumes.extend(self.lines[*k].assumes.iter().copied());
        }
        let parts = parts.to_vec();
        self.derive(sense, side, form, StepReason::Sum { parts, round }, assumes)
    }

    /// Derives a sum of constraints with multipliers whose side `exact` is rounded: up for
    /// [`ConstraintSense::AtLeast`], else down. A sum of equations becomes an inequality first.
    pub fn combine_rounded(
        &mut self,
        sense: ConstraintSense,
        exact: &Rational,
        form: &str,
        parts: &[(usize, Rational)],
    ) -> usize {
        let side = match sense {
            ConstraintSense::AtLeast => ceiling(exact),
            _ => floor(exact),
        };
        let equation = ConstraintSense::Equal.letter();
        let is_equation = |k: usize| self.lines[k].text.starts_with(equation);
        if !parts.iter().all(|(k, _)| is_equation(*k)) {
            return self.combine(sense, &side, form, parts, true);
        }
        let plain = self.combine(sense, exact, form, parts, false);
        self.combine(sense, &side, form, &[(plain, one())], true)
    }

    /// Derives a constraint that holds in two cases that cover everything: (constraint, its
    /// assumption) twice.
    pub fn unsplit(
        &mut self,
        sense: ConstraintSense,
        side: &Rational,
        form: &str,
        a: (usize, usize),
        b: (usize, usize),
    ) -> usize {
        let mut assumes = BTreeSet::new();
        for (k, case) in [a, b] {
            let of = &self.lines[k].assumes;
            assumes.extend(of.iter().copied().filter(|&x| x != case));
        }
        let reason = StepReason::Split([a.0, a.1, b.0, b.1]);
        self.derive(sense, side, form, reason, assumes)
    }

    /// The constraints of the model and of the last line's proof, renumbered. `constraints`: number
    /// of the model's constraints.
    pub fn text(&self, constraints: usize) -> ProofText {
        let last_use = self.last_uses(constraints);
        let is_stated = |k: usize| matches!(self.lines[k].reason, StepReason::Stated);
        let is_used = |k: &usize| last_use[*k].is_some();
        let behind = || (constraints..self.lines.len()).filter(is_used);
        let mut place: Vec<usize> = (0..self.lines.len()).collect();
        let order = behind()
            .filter(|&k| is_stated(k))
            .chain(behind().filter(|&k| !is_stated(k)));
        for (k, at) in order.zip(constraints..) {
            place[k] = at;
        }
        let mut text = ProofText {
            constraints,
            ..ProofText::default()
        };
        for (k, line) in self.lines.iter().enumerate() {
            let own = &line.text;
            let reason = match &line.reason {
                StepReason::Given(name) => {
                    text.given += &format!("{name} {own}\n");
                    continue;
                }
                _ if last_use[k].is_none() => continue,
                StepReason::Stated => {
                    text.given += &format!("s{} {own}\n", place[k]);
                    text.constraints += 1;
                    continue;
                }
                StepReason::Assumed => "asm".to_string(),
                StepReason::Sum { parts, round } => {
                    let word = if *round { "rnd" } else { "lin" };
                    let parts = parts.iter().map(|(of, v)| (place[*of], v));
                    format!("{word} {}", entries(parts))
                }
                StepReason::Split([a, b, c, d]) => {
                    format!(
                        "uns {} {} {} {}",
                        place[*a], place[*b], place[*c], place[*d]
                    )
                }
            };
            let until = match last_use[k] {
                Some(of) if of > k => place[of].to_string(),
                _ => "-1".to_string(),
            };
            text.derived += &format!("d{} {own} {{ {reason} }} {until}\n", place[k]);
            text.count += 1;
        }
        text
    }

    /// The line that uses each line last, itself for the last one; `None` for lines of no use to
    /// the last one.
    fn last_uses(&self, constraints: usize) -> Vec<Option<usize>> {
        let last = self.lines.len().saturating_sub(1);
        let mut last_use = vec![None; self.lines.len()];
        if last >= constraints {
            last_use[last] = Some(last);
        }
        for k in (constraints..self.lines.len()).rev() {
            if last_use[k].is_some() {
                let used = |of: usize| last_use[of] = last_use[of].max(Some(k));
                self.lines[k].reason.each(used);
            }
        }
        last_use
    }
}

/// The text of a proof.
#[derive(Default)]
pub(crate) struct ProofText {
    /// Constraints of the model and stated ones, and their number.
    pub given: String,
    pub constraints: usize,
    /// Derived constraints, and their number.
    pub derived: String,
    pub count: usize,
}
