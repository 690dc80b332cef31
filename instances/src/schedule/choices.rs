//! Implementations of computed nodes, stage by stage.

use std::collections::BTreeMap;

/// The implementation of each node in each stage, as an index; 0 by default. Memory is linear in
/// the number of nonzero entries.
///
/// ```
/// use remat_instances::schedule::Choices;
/// let mut choices = Choices::new(3, 5);
/// choices.set(2, 4, 1);
/// assert_eq!((choices.get(2, 4), choices.get(2, 3)), (1, 0));
/// assert_eq!(choices.of(2).collect::<Vec<_>>(), [(4, 1)]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices {
    columns: usize,
    /// The nonzero entries of each stage, by node.
    stages: Vec<BTreeMap<u32, u16>>,
}

impl Choices {
    /// The first implementation everywhere, for the given numbers of stages and nodes.
    pub fn new(stages: usize, columns: usize) -> Self {
        Choices {
            columns,
            stages: vec![BTreeMap::new(); stages],
        }
    }

    /// Number of stages, and of nodes.
    pub fn shape(&self) -> (usize, usize) {
        (self.stages.len(), self.columns)
    }

    /// The implementation of a node in a stage. Panics for a stage out of range.
    #[inline]
    pub fn get(&self, stage: usize, node: usize) -> u16 {
        let own = &self.stages[stage];
        own.get(&(node as u32)).copied().unwrap_or(0)
    }

    /// Sets the implementation of a node in a stage. Panics for a stage out of range.
    pub fn set(&mut self, stage: usize, node: usize, implementation: u16) {
        debug_assert!(node < self.columns);
        let own = &mut self.stages[stage];
        match implementation {
            0 => own.remove(&(node as u32)),
            _ => own.insert(node as u32, implementation),
        };
    }

    /// The nodes of a stage that do not run the first implementation, ascending, each with its
    /// implementation. Panics for a stage out of range.
    pub fn of(&self, stage: usize) -> impl Iterator<Item = (usize, u16)> + '_ {
        let own = self.stages[stage].iter();
        own.map(|(node, implementation)| (*node as usize, *implementation))
    }
}
