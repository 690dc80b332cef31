//! Atoms of lives, and terms of rows: a row of an interval form is a linear form in atoms.
//!
//! An atom is true or false in a schedule. Of a tensor: it is made in a stage, is on the device
//! when a stage begins, is there at a moment. Of a stage: it makes a choice. A moment is a number
//! that a program gives to each of the times at which it counts memory. Every dual is a payment to
//! atoms, so pricing and bounds do not see rows ([`AtomPrices`](super::AtomPrices)).

/// Starts that count in a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Which {
    /// All, with the coefficient.
    All,
    /// Starts in place.
    InPlace,
    /// Starts that are not in place.
    Plain,
    /// All, with the coefficient plus their workspace in bytes; for one stage.
    WithWorkspace,
    /// Starts whose workspace is at least so many bytes; for one stage.
    AtLeast(i64),
}

/// An atom, or some that count alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Atom {
    /// `node` is computed in a stage of `first..=last`.
    Start {
        /// The tensor.
        node: u32,
        /// First stage.
        first: u32,
        /// Last stage.
        last: u32,
        /// The starts that count.
        which: Which,
    },
    /// `node` is on the device when `stage` begins.
    Crosses {
        /// The tensor.
        node: u32,
        /// The stage.
        stage: u32,
    },
    /// `node` is there at a moment.
    At {
        /// The tensor.
        node: u32,
        /// The moment, as the program numbers them.
        moment: u32,
    },
    /// The backward node of `stage` runs choice `way`.
    Choice {
        /// The stage.
        stage: u32,
        /// Index of the choice in its stage.
        way: u32,
    },
    /// Bytes of all tensors that are there at a moment.
    Bytes {
        /// The moment.
        moment: u32,
        /// Measure of sizes, as the program numbers them.
        gauge: u32,
    },
}

/// A summand of a row: a coefficient for each column that has the atom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term {
    /// The atom.
    pub atom: Atom,
    /// The coefficient.
    pub coefficient: i64,
}

/// A stretch of time that a tensor spends on the device: a column.
pub trait Stretch {
    /// Graph of the program.
    type Graph;

    /// The tensor, the stage in which it is computed, and the last one of the stretch.
    fn place(&self) -> [u32; 3];
    /// Returns whether it is on the device when a stage begins.
    #[inline]
    fn crosses(&self, stage: u32) -> bool {
        let [_, start, end] = self.place();
        start < stage && stage <= end
    }
    /// Returns whether it is there at a moment.
    fn is_at(&self, graph: &Self::Graph, moment: u32) -> bool;
    /// Bytes of the tensor by a measure of sizes.
    fn bytes(&self, graph: &Self::Graph, gauge: u32) -> i64;
    /// Workspace of its start, in bytes.
    fn workspace(&self, graph: &Self::Graph) -> i64;
    /// Returns whether its start is in place.
    fn is_in_place(&self, _: &Self::Graph) -> bool {
        false
    }
}

impl Term {
    /// Starts of a node in stages `first..=last`.
    #[inline]
    pub fn start(node: u32, first: u32, last: u32, which: Which, coefficient: i64) -> Term {
        let atom = Atom::Start {
            node,
            first,
            last,
            which,
        };
        Term { atom, coefficient }
    }

    /// A node on the device when a stage begins.
    #[inline]
    pub fn crosses(node: u32, stage: u32, coefficient: i64) -> Term {
        let atom = Atom::Crosses { node, stage };
        Term { atom, coefficient }
    }

    /// A node that is there at a moment.
    #[inline]
    pub fn at(node: u32, moment: u32, coefficient: i64) -> Term {
        let atom = Atom::At { node, moment };
        Term { atom, coefficient }
    }

    /// A choice of a stage.
    #[inline]
    pub fn choice(stage: u32, way: u32, coefficient: i64) -> Term {
        let atom = Atom::Choice { stage, way };
        Term { atom, coefficient }
    }

    /// The tensor whose columns it counts, if it is a single one.
    pub fn node(&self) -> Option<u32> {
        match self.atom {
            Atom::Start { node, .. } | Atom::Crosses { node, .. } | Atom::At { node, .. } => {
                Some(node)
            }
            Atom::Choice { .. } | Atom::Bytes { .. } => None,
        }
    }

    /// The coefficient of a column.
    #[inline]
    pub fn coefficient<C: Stretch>(&self, graph: &C::Graph, c: &C) -> i64 {
        let [tensor, start, _] = c.place();
        let counts = match self.atom {
            Atom::Start {
                node,
                first,
                last,
                which,
            } if node == tensor && (first..=last).contains(&start) => match which {
                Which::All => true,
                Which::InPlace => c.is_in_place(graph),
                Which::Plain => !c.is_in_place(graph),
                Which::WithWorkspace => return self.coefficient + c.workspace(graph),
                Which::AtLeast(bytes) => c.workspace(graph) >= bytes,
            },
            Atom::Crosses { node, stage } => node == tensor && c.crosses(stage),
            Atom::At { node, moment } => node == tensor && c.is_at(graph, moment),
            Atom::Bytes { moment, gauge } if c.is_at(graph, moment) => {
                return self.coefficient * c.bytes(graph, gauge);
            }
            _ => false,
        };
        if counts { self.coefficient } else { 0 }
    }
}
