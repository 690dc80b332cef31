//! The constraints of a proof: those of the model, then derived ones, each with the text of its
//! line.

use super::{ConstraintSense, ExactModel, SidePositions, entries};
use crate::mip::exact::Rational;
use std::collections::BTreeSet;

/// A constraint of the proof.
pub(crate) struct DerivedConstraint {
    pub text: String,
    /// The assumptions it rests on.
    pub assumes: BTreeSet<usize>,
}

/// The lines so far, and where the model's constraints are.
pub(crate) struct Derivation {
    pub lines: Vec<DerivedConstraint>,
    /// Number of the model's constraints that are bounds.
    pub bounds: usize,
    pub rows: Vec<SidePositions>,
    pub cols: Vec<SidePositions>,
}

impl Derivation {
    /// The constraints of a model: rows, then bounds; ranged ones twice.
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

    /// Lines so far: right after [`Derivation::new`] those of the model.
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
            text: format!("{name} {} {side} {text}", sense.letter()),
            assumes: BTreeSet::new(),
        });
        self.lines.len() - 1
    }

    /// Adds a derived line: `form sense side`, by a reason.
    fn derive(
        &mut self,
        sense: ConstraintSense,
        side: &Rational,
        form: &str,
        reason: &str,
        assumes: BTreeSet<usize>,
    ) -> usize {
        let k = self.lines.len();
        self.lines.push(DerivedConstraint {
            text: format!("d{k} {} {side} {form} {{ {reason} }} -1", sense.letter()),
            assumes,
        });
        k
    }

    /// `form <= value` or `form >= value`, for the sake of argument.
    pub fn assume(&mut self, sense: ConstraintSense, value: &Rational, form: &str) -> usize {
        let own = BTreeSet::from([self.lines.len()]);
        self.derive(sense, value, form, "asm", own)
    }

    /// Derives what a sum of constraints with multipliers gives, rounded up if `round`.
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
        let word = if round { "rnd" } else { "lin" };
        let reason = format!("{word} {}", entries(parts.iter().map(|(k, v)| (*k, v))));
        self.derive(sense, side, form, &reason, assumes)
    }

    /// Derives what holds in both of two cases that leave no third: (constraint, its assumption)
    /// twice.
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
        let reason = format!("uns {} {} {} {}", a.0, a.1, b.0, b.1);
        self.derive(sense, side, form, &reason, assumes)
    }
}
