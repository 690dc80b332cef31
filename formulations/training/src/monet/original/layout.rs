//! Layout of the columns of the published program, and their names.

/// Decision of a column, with the letters of the module page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decision {
    /// `R[stage, node]`.
    Computed {
        /// The stage.
        stage: usize,
        /// The node.
        node: usize,
    },
    /// `P[stage, node]`.
    Intact {
        /// The stage.
        stage: usize,
        /// The node.
        node: usize,
    },
    /// `S[stage, node]`.
    Stored {
        /// The stage.
        stage: usize,
        /// The node.
        node: usize,
    },
    /// `M[stage, way]`.
    Backward {
        /// The stage.
        stage: usize,
        /// The implementation of its backward node.
        way: usize,
    },
    /// `Z[stage, node, way]`.
    Product {
        /// The stage.
        stage: usize,
        /// The node.
        node: usize,
        /// The implementation of the stage's backward node.
        way: usize,
    },
    /// `F[stage, slot, algorithm]`.
    Algorithm {
        /// The stage.
        stage: usize,
        /// The slot.
        slot: usize,
        /// The algorithm.
        algorithm: usize,
    },
    /// `IP[stage, node]`.
    InPlace {
        /// The stage.
        stage: usize,
        /// The node.
        node: usize,
    },
}

/// Dimensions of the program, and the position of each column: all `R`, then `P`, `S`, `M`, `Z`,
/// `F`, `IP`.
#[derive(Clone, Debug)]
pub(super) struct ColumnLayout {
    /// Forward nodes, by-products and the loss included (V).
    pub columns: usize,
    /// Stages (T).
    pub stages: usize,
    /// Implementation slots of a backward node (Y).
    pub ways: usize,
    /// Algorithm slots (C), 0 without slots.
    pub algorithms: usize,
    /// Nodes with a choice of algorithms (K).
    pub slots: usize,
    /// True if there are `IP` columns.
    pub in_place: bool,
}

impl ColumnLayout {
    fn block(&self) -> usize {
        self.stages * self.columns
    }

    fn stored_start(&self) -> usize {
        2 * self.block()
    }

    fn backward_start(&self) -> usize {
        3 * self.block() + self.columns
    }

    fn product_start(&self) -> usize {
        self.backward_start() + self.stages * self.ways
    }

    fn algorithm_start(&self) -> usize {
        self.product_start() + self.ways * self.block()
    }

    fn in_place_start(&self) -> usize {
        self.algorithm_start() + self.algorithms * self.stages * self.slots
    }

    /// Number of columns of the program.
    pub fn len(&self) -> usize {
        self.in_place_start() + if self.in_place { self.block() } else { 0 }
    }

    pub fn r(&self, t: usize, i: usize) -> u32 {
        (t * self.columns + i) as u32
    }

    pub fn p(&self, t: usize, i: usize) -> u32 {
        (self.block() + t * self.columns + i) as u32
    }

    pub fn s(&self, t: usize, i: usize) -> u32 {
        (self.stored_start() + t * self.columns + i) as u32
    }

    pub fn m(&self, t: usize, p: usize) -> u32 {
        (self.backward_start() + t * self.ways + p) as u32
    }

    pub fn z(&self, t: usize, i: usize, p: usize) -> u32 {
        (self.product_start() + (p * self.stages + t) * self.columns + i) as u32
    }

    pub fn f(&self, t: usize, k: usize, c: usize) -> u32 {
        (self.algorithm_start() + (c * self.stages + t) * self.slots + k) as u32
    }

    pub fn ip(&self, t: usize, i: usize) -> u32 {
        (self.in_place_start() + t * self.columns + i) as u32
    }

    /// Decision of a column.
    pub fn decision(&self, at: usize) -> Decision {
        assert!(at < self.len(), "column {at} of {}", self.len());
        let split = |at: usize| (at / self.columns, at % self.columns);
        if at < self.block() {
            let (stage, node) = split(at);
            Decision::Computed { stage, node }
        } else if at < self.stored_start() {
            let (stage, node) = split(at - self.block());
            Decision::Intact { stage, node }
        } else if at < self.backward_start() {
            let (stage, node) = split(at - self.stored_start());
            Decision::Stored { stage, node }
        } else if at < self.product_start() {
            let at = at - self.backward_start();
            Decision::Backward {
                stage: at / self.ways,
                way: at % self.ways,
            }
        } else if at < self.algorithm_start() {
            let (place, node) = split(at - self.product_start());
            Decision::Product {
                stage: place % self.stages,
                node,
                way: place / self.stages,
            }
        } else if at < self.in_place_start() {
            let at = at - self.algorithm_start();
            let place = at / self.slots;
            Decision::Algorithm {
                stage: place % self.stages,
                slot: at % self.slots,
                algorithm: place / self.stages,
            }
        } else {
            let (stage, node) = split(at - self.in_place_start());
            Decision::InPlace { stage, node }
        }
    }

    /// The column of a decision, the inverse of [`ColumnLayout::decision`].
    pub fn position(&self, decision: Decision) -> usize {
        let at = match decision {
            Decision::Computed { stage, node } => self.r(stage, node),
            Decision::Intact { stage, node } => self.p(stage, node),
            Decision::Stored { stage, node } => self.s(stage, node),
            Decision::Backward { stage, way } => self.m(stage, way),
            Decision::Product { stage, node, way } => self.z(stage, node, way),
            Decision::Algorithm {
                stage,
                slot,
                algorithm,
            } => self.f(stage, slot, algorithm),
            Decision::InPlace { stage, node } => self.ip(stage, node),
        };
        at as usize
    }

    /// The column's name, as in the benchmark's own files.
    pub fn name(&self, at: usize) -> String {
        match self.decision(at) {
            Decision::Computed { stage, node } => format!("R_{stage}_{node}"),
            Decision::Intact { stage, node } => format!("P_{stage}_{node}"),
            Decision::Stored { stage, node } => format!("S_{stage}_{node}"),
            Decision::Backward { stage, way } => format!("M_{stage}_{way}"),
            Decision::Product { stage, node, way } => format!("Z_{stage}_{node}_{way}"),
            Decision::Algorithm {
                stage,
                slot,
                algorithm,
            } => format!("F_{stage}_{slot}_{algorithm}"),
            Decision::InPlace { stage, node } => format!("IP_{stage}_{node}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_and_decisions_are_inverse() {
        let layout = ColumnLayout {
            columns: 5,
            stages: 4,
            ways: 3,
            algorithms: 8,
            slots: 2,
            in_place: true,
        };
        for at in 0..layout.len() {
            assert_eq!(layout.position(layout.decision(at)), at);
        }
    }
}
