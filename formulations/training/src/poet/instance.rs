//! A training graph with costs of pages.

use remat_instances::instance::Instance;
use remat_instances::schedule::{FreedAgain, PageCosts, PoetTerms};
use std::sync::Arc;

/// An instance of POET's program: a graph, costs of pages by node, and inputs that are listed more
/// than once.
#[derive(Clone, Debug)]
pub struct PoetInstance {
    graph: Arc<Instance>,
    terms: PoetTerms,
}

/// Fault of an instance of POET's program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PoetInstanceError {
    /// A list has the wrong length.
    #[error("{what} has {found} entries, the graph has {nodes} nodes: one entry a node is needed")]
    Length {
        /// Name of the list.
        what: &'static str,
        /// Entries found.
        found: usize,
        /// Nodes of the graph.
        nodes: usize,
    },
    /// A cost is too large to be added up.
    #[error("{what} of node {node} is {value}, more than {limit}: choose a coarser unit")]
    TooLarge {
        /// Name of the number.
        what: &'static str,
        /// The node.
        node: usize,
        /// The number.
        value: u64,
        /// Largest number that is allowed.
        limit: u64,
    },
}

/// Largest cost of a page: thousands of stages add up without loss.
const LARGEST: u64 = 1 << 44;

impl PoetInstance {
    /// A graph with costs of pages by node, in the graph's cost unit; `None` for a tensor without
    /// pages.
    ///
    /// ```
    /// use remat_formulations::poet::PoetInstance;
    /// use remat_instances::schedule::{FreedAgain, PageCosts, PoetTerms};
    ///
    /// let graph = remat_instances::zoo::build(&"zoo:chain?n=4".parse()?)?;
    /// let pages = vec![Some(PageCosts { out: 2, back: 1 }); graph.len()];
    /// let instance = PoetInstance::new(graph, pages)?;
    /// assert_eq!(instance.pages().len(), instance.graph().len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`PoetInstanceError`] for a list of another length than the graph, and costs beyond 2^44.
    pub fn new(
        graph: impl Into<Arc<Instance>>,
        pages: Vec<Option<PageCosts>>,
    ) -> Result<Self, PoetInstanceError> {
        let graph = graph.into();
        let nodes = graph.len();
        let length = |what, found| match found == nodes {
            true => Ok(()),
            false => Err(PoetInstanceError::Length { what, found, nodes }),
        };
        length("the list of costs of pages", pages.len())?;
        let small = |what, node, value| match value <= LARGEST {
            true => Ok(()),
            false => Err(PoetInstanceError::TooLarge {
                what,
                node,
                value,
                limit: LARGEST,
            }),
        };
        for (node, costs) in pages.iter().enumerate() {
            if let Some(costs) = costs {
                small("the cost of a page-out", node, costs.out)?;
                small("the cost of a page-in", node, costs.back)?;
            }
        }
        Ok(PoetInstance {
            graph,
            terms: PoetTerms {
                pages,
                ..PoetTerms::default()
            },
        })
    }

    /// The graph.
    pub fn graph(&self) -> &Arc<Instance> {
        &self.graph
    }

    /// Costs of pages by node.
    pub fn pages(&self) -> &[Option<PageCosts>] {
        &self.terms.pages
    }

    /// The terms beside the graph.
    pub fn terms(&self) -> &PoetTerms {
        &self.terms
    }

    /// The instance with inputs that are listed more than once.
    pub fn with_freed_again(mut self, freed_again: Vec<FreedAgain>) -> Self {
        self.terms.freed_again = freed_again;
        self
    }
}
