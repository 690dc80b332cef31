//! Paths from a node to the reads of a backward node.

use super::graph::Graph;

/// Choices of a backward node, and paths to a tensor that each of them reads.
///
/// Let one of the choices be made, and no tensor of the paths be stored when a window of stages
/// begins. Then the first node of the paths is computed in the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// The stage with which the window begins.
    pub from: u32,
    /// The stage with which it ends, whose backward node reads.
    pub reader: u32,
    /// The node that is computed in the window.
    pub source: u32,
    /// Nodes of the paths whose storage counts, ascending: all but parents whose by-products come
    /// next.
    pub stored: Vec<u32>,
    /// Implementations of the backward node, ascending.
    pub ways: Vec<u32>,
}

impl Paths {
    /// Checks that the source is computed in the window if one of the choices is made and no tensor
    /// of the paths is stored.
    ///
    /// # Errors
    /// A description of the fault.
    pub fn check(&self, graph: &Graph) -> Result<(), String> {
        let Paths { from, reader, .. } = *self;
        if from == 0 || from > reader || reader as usize >= graph.stages {
            return Err(format!(
                "there is no window of stages from {from} to {reader}"
            ));
        }
        let mut nodes = self.stored.iter().chain([&self.source]);
        if let Some(node) = nodes.find(|i| **i as usize >= graph.columns) {
            return Err(format!("there is no forward node {node}"));
        }
        if !self.stored.is_sorted_by(|a, b| a < b) || !self.ways.is_sorted_by(|a, b| a < b) {
            return Err("nodes of the paths, or choices, are not in ascending order".into());
        }
        if self.ways.is_empty() {
            return Err("the paths stand for no choice".into());
        }
        for way in self.choices(graph)? {
            if !self.is_computed(graph, &graph.choices[reader as usize][way].reads) {
                let source = self.source;
                let choice = graph.choices[reader as usize][way].implementation;
                return Err(format!(
                    "no path leads from node {source} to what implementation {choice} of stage \
                     {reader} reads"
                ));
            }
        }
        Ok(())
    }

    /// The choices, by their numbers in the graph.
    ///
    /// # Errors
    /// Names an implementation that is no choice of the stage.
    pub fn choices(&self, graph: &Graph) -> Result<Vec<usize>, String> {
        let ways = self.ways.iter();
        ways.map(|way| choice(graph, self.reader, *way)).collect()
    }

    /// Returns whether the source must be computed in the window if `reads` are read at its end.
    ///
    /// A tensor that was not stored at the beginning of the window is computed in it if it is read
    /// at its end or by a computation in it. So is the parent of a by-product that is computed in
    /// it.
    fn is_computed(&self, graph: &Graph, reads: &[u32]) -> bool {
        // A tensor of no use in the window is not stored.
        let counts =
            |i: u32| self.stored.binary_search(&i).is_ok() || graph.last_stored(i) < self.from;
        let mut computed = vec![false; graph.columns];
        for &u in reads {
            computed[u as usize] = counts(u);
        }
        // Inputs are numbered below their readers.
        for i in (0..graph.columns as u32).rev() {
            if computed[i as usize] {
                for &u in &graph.needs[i as usize] {
                    computed[u as usize] |= counts(u) || graph.parent[i as usize] == Some(u);
                }
            }
        }
        computed[self.source as usize]
    }

    /// The stages of the window from `since` on.
    pub fn stages_from(&self, since: u32) -> std::ops::RangeInclusive<usize> {
        since as usize..=self.reader as usize
    }
}

/// The number of an implementation among the choices of a stage.
///
/// # Errors
/// A description, if it is not among them.
pub fn choice(graph: &Graph, stage: u32, implementation: u32) -> Result<usize, String> {
    let choices = graph.choices.get(stage as usize).map_or(&[][..], |c| c);
    let found = choices
        .iter()
        .position(|c| c.implementation == implementation);
    found.ok_or_else(|| {
        format!("implementation {implementation} is no choice of stage {stage}, or never needed")
    })
}
