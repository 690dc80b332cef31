//! Value of multipliers: for the starts, stays and choices of a schedule, and in total.

use super::forms::{Atom, Form};
use super::graph::Graph;

/// Payments of rows with multipliers for the atoms that they count.
pub struct Prices {
    stages: usize,
    /// A unit of cost.
    pub one: i128,
    /// Right sides.
    pub worth: i128,
    /// By node and stage, for a start in any way. While rows are added, differences from stage to
    /// stage.
    starts: Vec<i128>,
    /// By node: for starts in a stage in a way.
    ways: Vec<Vec<(u32, usize, i128)>>,
    /// By node and stage, for being stored when the stage begins.
    stored: Vec<i128>,
    /// By node and stage, for being held.
    held: Vec<i128>,
    /// By stage and choice.
    pub choices: Vec<Vec<i128>>,
}

impl Prices {
    /// Prices of forms with multipliers that are at least 0. `None` if 128 bits might not hold a
    /// sum.
    pub fn new(
        graph: &Graph,
        forms: impl Iterator<Item = (Form, i128)>,
        one: i128,
    ) -> Option<Prices> {
        let stages = graph.stages + 2;
        let blank = vec![0; graph.columns * stages];
        let mut prices = Prices {
            stages,
            one,
            worth: 0,
            starts: blank.clone(),
            ways: vec![Vec::new(); graph.columns],
            stored: blank.clone(),
            held: blank,
            choices: graph.choices.iter().map(|c| vec![0; c.len()]).collect(),
        };
        // No sum of prices is larger than this, times the stages.
        let mut most = i128::from(graph.beyond()).checked_mul(one)?;
        for (form, y) in forms {
            let coefficients = form.terms.iter().map(|term| term.1.abs());
            let size = coefficients.sum::<i128>().checked_add(form.right.abs())?;
            most = most.checked_add(y.checked_mul(size)?)?;
            prices.add(&form, y);
        }
        most.checked_mul(4 * stages as i128)?;
        for life in prices.starts.chunks_exact_mut(stages) {
            for stage in 1..stages {
                life[stage] += life[stage - 1];
            }
        }
        for ways in &mut prices.ways {
            ways.sort_unstable();
        }
        Some(prices)
    }

    fn add(&mut self, form: &Form, y: i128) {
        self.worth += y * form.right;
        for &(atom, coefficient) in &form.terms {
            let paid = y * coefficient;
            match atom {
                Atom::Starts { node, first, last } => {
                    let at = self.at(node, first);
                    self.starts[at] += paid;
                    let at = self.at(node, last + 1);
                    self.starts[at] -= paid;
                }
                Atom::Way { node, stage, way } => {
                    self.ways[node as usize].push((stage, way, paid));
                }
                Atom::Stored { node, stage } => {
                    let at = self.at(node, stage);
                    self.stored[at] += paid;
                }
                Atom::Held { node, stage } => {
                    let at = self.at(node, stage);
                    self.held[at] += paid;
                }
                Atom::Choice { stage, way } => self.choices[stage as usize][way] += paid,
            }
        }
    }

    fn at(&self, node: u32, stage: u32) -> usize {
        node as usize * self.stages + stage as usize
    }

    /// Paid for a start of a node in a stage in a way.
    pub fn start(&self, node: u32, stage: u32, way: usize) -> i128 {
        let own = &self.ways[node as usize];
        let first = own.partition_point(|w| (w.0, w.1) < (stage, way));
        let own = own[first..].iter();
        let own = own.take_while(|w| (w.0, w.1) == (stage, way));
        self.starts[self.at(node, stage)] + own.map(|w| w.2).sum::<i128>()
    }

    /// Paid for a tensor that is stored when a stage begins.
    pub fn stored(&self, node: u32, stage: u32) -> i128 {
        self.stored[self.at(node, stage)]
    }

    /// Paid for a tensor that is held for the backward node of a stage.
    pub fn held(&self, node: u32, stage: u32) -> i128 {
        self.held[self.at(node, stage)]
    }
}
