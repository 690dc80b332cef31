//! Piper's networks: layers with and without recomputation, edges with bytes.

use crate::pipeline::PipelineBenchError;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Units of time in one unit of the file: times are rounded to the 9th decimal.
pub const TIME_UNITS: f64 = 1e9;
/// Units of memory in a byte: the files have hundredths.
pub const MEMORY_UNITS: f64 = 100.0;
/// Limit on the number of downsets, which tables have squared.
const MOST_DOWNSETS: usize = 1_500;
/// Largest amount: sums over all layers, times 1000 micro-batches, stay below `u64::MAX`.
const LARGEST: f64 = 1e13;

/// A layer with or without recomputation, without tensor parallelism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Forward and backward pass of one micro-batch, with recomputation if it has any.
    pub time: u64,
    /// Memory for each micro-batch in flight.
    pub each: u64,
    /// Memory beside that.
    pub fixed: u64,
}

impl Variant {
    /// Memory with micro-batches in flight.
    pub fn memory(&self, in_flight: u64) -> u64 {
        (self.each.saturating_mul(in_flight)).saturating_add(self.fixed)
    }
}

/// A layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Without recomputation.
    pub plain: Variant,
    /// With recomputation of its activations.
    pub recomputed: Variant,
}

impl Layer {
    /// The faster variant, and the other one; without recomputation first if both take as long.
    pub fn by_time(&self) -> (&Variant, &Variant) {
        match self.recomputed.time < self.plain.time {
            true => (&self.recomputed, &self.plain),
            false => (&self.plain, &self.recomputed),
        }
    }
}

/// A tensor between layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Index of the layer that makes it.
    pub from: usize,
    /// Index of the layer that takes it.
    pub to: usize,
    /// Time to send it forward, and its gradient back, if the layers are on different stages.
    pub time: u64,
}

/// A network of Piper (Tarnawski, Narayanan and Phanishayee, NeurIPS 2021, section 3).
#[derive(Clone, Debug)]
pub struct Network {
    /// Name of the file without extensions.
    pub name: String,
    /// Micro-batches in a batch.
    pub microbatches: u64,
    /// Memory of a device.
    pub memory: u64,
    /// Layers, in the order of the file.
    pub layers: Vec<Layer>,
    /// Edges.
    pub edges: Vec<Edge>,
}

impl Network {
    /// Reads a network, plain or gzipped.
    ///
    /// # Errors
    /// [`PipelineBenchError`] for a file that cannot be read or is no network.
    pub fn read(path: &Path) -> Result<Network, PipelineBenchError> {
        let bytes = std::fs::read(path).and_then(remat_lp::decode);
        let text = bytes.map_err(|e| PipelineBenchError::Open(path.to_owned(), e))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.split('.').next().unwrap_or_default();
        let problem = |problem| PipelineBenchError::Content(path.to_owned(), problem);
        Network::parse(name, &text).map_err(problem)
    }

    /// Reads the text of a network.
    ///
    /// # Errors
    /// The field with a wrong value, and what would be right.
    pub fn parse(name: &str, text: &str) -> Result<Network, String> {
        let file: File = serde_json::from_str(text).map_err(|e| e.to_string())?;
        if file.bandwidth.is_nan() || file.bandwidth <= 0.0 {
            return Err(format!("bandwidth is {}, not positive", file.bandwidth));
        }
        let mut places = BTreeMap::new();
        let mut layers = Vec::new();
        for (place, node) in file.nodes.iter().enumerate() {
            if places.insert(node.id, place).is_some() {
                return Err(format!("two nodes have the id {}", node.id));
            }
            let variant = |id| node.variant(id);
            layers.push(Layer {
                plain: variant("vanilla")?,
                recomputed: variant("activation recomp")?,
            });
        }
        let place = |id: u64| {
            let place = places.get(&id).copied();
            place.ok_or_else(|| format!("an edge names the node {id}, which is not in the list"))
        };
        let mut edges = Vec::new();
        for edge in &file.edges {
            let seconds = 2.0 * edge.bytes / file.bandwidth;
            edges.push(Edge {
                from: place(edge.source)?,
                to: place(edge.dest)?,
                time: units("communicationCost", seconds, TIME_UNITS)?,
            });
        }
        Ok(Network {
            name: name.to_owned(),
            microbatches: file.microbatches.max(1),
            memory: units("maxMemoryPerDevice", file.memory, MEMORY_UNITS)?,
            layers,
            edges,
        })
    }

    /// All sets of layers that have the predecessors of their members, from the empty set to the
    /// whole network, smaller sets first. A stage is the difference of two of them.
    ///
    /// # Errors
    /// The reason, if there are too many or if the edges have a cycle.
    pub fn downsets(&self) -> Result<Vec<Vec<bool>>, String> {
        let mut before = vec![Vec::new(); self.layers.len()];
        for edge in &self.edges {
            before[edge.to].push(edge.from);
        }
        let mut all = vec![vec![false; self.layers.len()]];
        let mut begin = 0;
        for size in 0..self.layers.len() {
            let mut next = std::collections::BTreeSet::new();
            for set in &all[begin..] {
                let can = |v: &usize| !set[*v] && before[*v].iter().all(|&u| set[u]);
                for v in (0..self.layers.len()).filter(can) {
                    let mut larger = set.clone();
                    larger[v] = true;
                    next.insert(larger);
                }
            }
            if next.is_empty() {
                return Err(format!("the edges have a cycle behind {size} layers"));
            }
            begin = all.len();
            all.extend(next);
            if all.len() > MOST_DOWNSETS {
                return Err(format!("it has more than {MOST_DOWNSETS} downsets"));
            }
        }
        Ok(all)
    }
}

/// An amount in whole units.
fn units(field: &str, value: f64, each: f64) -> Result<u64, String> {
    let scaled = (value * each).round();
    match (0.0..LARGEST).contains(&scaled) {
        true => Ok(scaled as u64),
        false => Err(format!(
            "{field} is {value}, not between 0 and {}",
            LARGEST / each
        )),
    }
}

/// The document.
#[derive(Deserialize)]
struct File {
    #[serde(rename = "maxMemoryPerDevice")]
    memory: f64,
    /// The README calls it `maxBatchSize`, the files `mbsInBatch`.
    #[serde(rename = "mbsInBatch", alias = "maxBatchSize")]
    microbatches: u64,
    bandwidth: f64,
    nodes: Vec<FileNode>,
    edges: Vec<FileEdge>,
}

#[derive(Deserialize)]
struct FileNode {
    id: u64,
    /// Variants of each degree of tensor parallelism.
    #[serde(rename = "TMPCs")]
    variants: BTreeMap<String, Vec<FileVariant>>,
}

#[derive(Deserialize)]
struct FileVariant {
    id: String,
    #[serde(rename = "timePerSample")]
    time: f64,
    #[serde(rename = "memoryUsageA")]
    each: f64,
    #[serde(rename = "memoryUsageB")]
    fixed: f64,
}

#[derive(Deserialize)]
struct FileEdge {
    #[serde(rename = "sourceId")]
    source: u64,
    #[serde(rename = "destId")]
    dest: u64,
    #[serde(rename = "communicationCost")]
    bytes: f64,
}

impl FileNode {
    /// A variant of degree 1.
    fn variant(&self, id: &str) -> Result<Variant, String> {
        let mut all = self.variants.get("1").into_iter().flatten();
        let node = self.id;
        let found = all.find(|v| v.id == id);
        let found = found.ok_or_else(|| format!("node {node}: TMPCs has no {id:?} of degree 1"))?;
        let named = |e: String| format!("node {node}, {id:?}: {e}");
        Ok(Variant {
            time: units("timePerSample", found.time, TIME_UNITS).map_err(named)?,
            each: units("memoryUsageA", found.each, MEMORY_UNITS).map_err(named)?,
            fixed: units("memoryUsageB", found.fixed, MEMORY_UNITS).map_err(named)?,
        })
    }
}
