//! Rows as linear forms: their terms and their right sides.

use super::graph::Graph;

/// An event of a schedule, or several of them together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atom {
    /// A node is computed in a stage of `first..=last`.
    Starts { node: u32, first: u32, last: u32 },
    /// A node is computed in a stage in a way, by its number in [`Graph::ways`].
    Way { node: u32, stage: u32, way: usize },
    /// A tensor is stored when a stage begins.
    Stored { node: u32, stage: u32 },
    /// A tensor is held for the backward node of a stage, and not stored for the next one.
    Held { node: u32, stage: u32 },
    /// A stage makes a choice, by its number in [`Graph::choices`].
    Choice { stage: u32, way: usize },
}

/// The sum of atoms with coefficients is at least so much.
#[derive(Clone, Debug, Default)]
pub struct Form {
    /// The summands.
    pub terms: Vec<(Atom, i128)>,
    /// The right side.
    pub right: i128,
}

impl Form {
    /// A form without terms, and a right side.
    pub fn at_least(right: i64) -> Form {
        Form {
            terms: Vec::new(),
            right: i128::from(right),
        }
    }

    /// Adds a summand.
    pub fn add(&mut self, atom: Atom, coefficient: i64) {
        self.terms.push((atom, i128::from(coefficient)));
    }

    /// Adds starts of a node in stages `stages`, if there are any.
    pub fn starts(&mut self, node: u32, stages: std::ops::Range<u32>, coefficient: i64) {
        let (first, end) = (stages.start, stages.end);
        if first < end {
            let last = end - 1;
            self.add(Atom::Starts { node, first, last }, coefficient);
        }
    }

    /// Adds the starts of a node in a stage by the ways that `counts` accepts.
    pub fn ways(
        &mut self,
        graph: &Graph,
        node: u32,
        stage: u32,
        counts: impl Fn(&super::graph::Way) -> bool,
        coefficient: i64,
    ) {
        for (way, own) in graph.ways(node, stage).iter().enumerate() {
            if counts(own) {
                self.add(Atom::Way { node, stage, way }, coefficient);
            }
        }
    }

    /// Adds a tensor that is stored when a stage begins.
    pub fn stored(&mut self, node: u32, stage: u32, coefficient: i64) {
        self.add(Atom::Stored { node, stage }, coefficient);
    }

    /// Adds a tensor at the turn of a node in a stage, or of the stage's backward node if `turn` is
    /// `None`. Until its own turn is over, the tensor is there if it is stored when the stage
    /// begins; then, if it is stored for the next stage or held.
    pub fn there(&mut self, tensor: u32, turn: Option<u32>, stage: u32, coefficient: i64) {
        if turn.is_some_and(|turn| tensor >= turn) {
            self.stored(tensor, stage, coefficient);
            return;
        }
        self.stored(tensor, stage + 1, coefficient);
        let node = tensor;
        self.add(Atom::Held { node, stage }, coefficient);
    }

    /// Adds whether a tensor stays from stage `since` on until stage `upto` begins: 1 if it is
    /// stored then and was not computed in between, at most 0 otherwise.
    pub fn stays(&mut self, tensor: u32, since: u32, upto: u32, coefficient: i64) {
        self.stored(tensor, upto, coefficient);
        self.starts(tensor, since..upto, -coefficient);
    }

    /// Raises the right side if a stage makes one of some choices, given by their numbers; in any
    /// case if they are all choices.
    pub fn require(&mut self, graph: &Graph, stage: u32, ways: &[usize], weight: i64) {
        if ways.len() == graph.choices[stage as usize].len() {
            self.right += i128::from(weight);
            return;
        }
        for &way in ways {
            self.add(Atom::Choice { stage, way }, -weight);
        }
    }

    /// Makes "at most" of "at least", and the other way round.
    pub fn negated(mut self) -> Form {
        self.right = -self.right;
        self.terms.iter_mut().for_each(|term| term.1 = -term.1);
        self
    }

    /// A form "at most" in bytes, rounded by a unit (0 leaves it as it is): mixed-integer rounding.
    /// Each term is a coefficient times an integer that is at least 0. The function is
    /// superadditive and increasing, so a form that holds also holds when both sides are rounded.
    pub fn rounded(mut self, unit: u64) -> Form {
        let unit = i128::from(unit);
        if unit == 0 {
            return self;
        }
        let rest = self.right.rem_euclid(unit);
        let round = |size: i128| {
            let over = (size.rem_euclid(unit) - rest).max(0);
            size.div_euclid(unit) * unit + over * unit / (unit - rest)
        };
        self.terms
            .iter_mut()
            .for_each(|term| term.1 = round(term.1));
        self.right -= rest;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounded_forms_hold_wherever_the_forms_do() {
        let atom = |way| Atom::Choice { stage: 0, way };
        let mut seed = 7u64;
        let mut below = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
            (seed >> 33) % n
        };
        let mut tight = 0;
        for _ in 0..500 {
            let terms: Vec<_> = (0..4).map(|k| (atom(k), below(30) as i128 - 8)).collect();
            let right = below(40) as i128;
            let form = Form { terms, right };
            let rounded = form.clone().rounded(1 + below(20));
            for point in 0..81 {
                let value = |k: usize| [point % 3, point / 3 % 3, point / 9 % 3, point / 27][k];
                let left = |f: &Form| -> i128 {
                    let all = f.terms.iter().enumerate();
                    all.map(|(k, term)| term.1 * value(k)).sum()
                };
                if left(&form) <= right {
                    assert!(left(&rounded) <= rounded.right, "{form:?} {rounded:?}");
                    tight += usize::from(left(&rounded) == rounded.right);
                }
            }
        }
        assert!(tight > 500, "{tight}");
    }
}
