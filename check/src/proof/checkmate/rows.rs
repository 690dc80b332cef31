//! Validity of rows at every schedule, and the value of their multipliers for each tensor.

use super::graph::Graph;
use super::{CheckmateRow, Counted, Path};
use remat_instances::ClassRules;

/// Checks that a row holds at every schedule that fits. A branching must count every node once.
///
/// # Errors
/// The fault of the row.
pub fn check(graph: &Graph, row: &CheckmateRow) -> Result<(), String> {
    let n = graph.len() as u32;
    let reads = |reader: u32, input: u32| match graph.reads(reader, input) {
        true => Ok(()),
        false => Err(format!("node {reader} does not read node {input}")),
    };
    match row {
        CheckmateRow::Need { node, reader } => reads(*reader, *node),
        CheckmateRow::Input { stage, node, input } => {
            reads(*node, *input)?;
            ensure(node < stage && *stage < n, || {
                format!("node {node} is not recomputed in stage {stage}")
            })
        }
        CheckmateRow::Parent { stage, node } => {
            ensure(node < stage && *stage < n, || {
                format!("node {node} is not recomputed in stage {stage}")
            })?;
            ensure(graph.parent[*node as usize].is_some(), || {
                format!("node {node} is no by-product")
            })
        }
        CheckmateRow::Memory { stage, node, unit } => {
            ensure(node <= stage && *stage < n, || {
                format!("node {node} has no turn in stage {stage}")
            })?;
            ensure(*unit <= graph.capacity, || {
                format!("sizes cannot be rounded by {unit}, which exceeds the capacity")
            })
        }
        CheckmateRow::Around {
            stage,
            node,
            unit,
            with,
        } => {
            ensure(graph.moments, || {
                "rows around recomputations are for plans of any order within a stage".into()
            })?;
            ensure(node < stage && *stage < n, || {
                format!("node {node} is not recomputed in stage {stage}")
            })?;
            ensure(*unit <= graph.capacity, || {
                format!("sizes cannot be rounded by {unit}, which exceeds the capacity")
            })?;
            ensure(ascending(with), || "inputs are listed twice".into())?;
            with.iter().try_for_each(|input| reads(*node, *input))
        }
        CheckmateRow::Cover(cover) => cover.check(graph),
        CheckmateRow::Path(path) => check_path(graph, path),
        CheckmateRow::PathMemory {
            path,
            staying,
            companions,
            other_bytes,
        } => {
            check_path(graph, path)?;
            let source = path.nodes[0];
            let busy = |k: &u32| *k == source || graph.reads(source, *k);
            for k in staying {
                ensure(*k < path.from && !busy(k), || {
                    format!("node {k} cannot stay while node {source} is computed from its inputs")
                })?;
            }
            ensure(ascending(staying), || {
                "tensors that stay are listed twice".into()
            })?;
            ensure(ascending(companions), || {
                "companions are listed twice".into()
            })?;
            for (stage, k) in companions {
                let window = path.from..=path.reader;
                ensure(
                    window.contains(stage) && *k < n && !busy(k) && !staying.contains(k),
                    || format!("node {k} is no companion in stage {stage}"),
                )?;
            }
            let beside = |stage: u32| -> u64 {
                let there = companions.iter().filter(|g| g.0 == stage);
                there.map(|g| graph.bytes[g.1 as usize]).sum()
            };
            let least = (path.from..=path.reader).map(beside).min();
            ensure(least >= Some(*other_bytes), || {
                format!("the companions of some stage have less than {other_bytes} bytes")
            })
        }
        CheckmateRow::Together { dropped, saved } => {
            let holds = |rules: &ClassRules| rules.are_together(*dropped, *saved);
            ensure(*dropped < n && *saved < n, || {
                "a node is named that is not there".into()
            })?;
            ensure(graph.rules.as_ref().is_some_and(holds), || {
                format!("no decision of a class has both node {dropped} and node {saved}")
            })
        }
        CheckmateRow::Reader { stage, node } => {
            let holds = |rules: &ClassRules| rules.needs_reader(*node, *stage);
            ensure(*node < *stage && *stage < n, || {
                format!("node {node} is not recomputed in stage {stage}")
            })?;
            ensure(graph.rules.as_ref().is_some_and(holds), || {
                format!("node {node} may run again in stage {stage} by itself")
            })
        }
        CheckmateRow::Branch(branch) => {
            let nodes = &branch.quantity.nodes;
            ensure(ascending(nodes), || "a node is counted twice".into())?;
            ensure(nodes.iter().all(|k| *k < n), || {
                "a node is counted that is not there".into()
            })
        }
    }
}

fn ensure(holds: bool, problem: impl Fn() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(problem()) }
}

fn ascending<T: Ord>(list: &[T]) -> bool {
    list.windows(2).all(|w| w[0] < w[1])
}

fn check_path(graph: &Graph, path: &Path) -> Result<(), String> {
    let Path {
        from,
        reader,
        nodes,
    } = path;
    for pair in nodes.windows(2) {
        ensure(graph.reads(pair[1], pair[0]), || {
            format!("the path has no edge from {} to {}", pair[0], pair[1])
        })?;
    }
    let last = nodes.last().ok_or("the path is empty")?;
    ensure(graph.reads(*reader, *last), || {
        format!("node {reader} does not read node {last}, the end of the path")
    })?;
    ensure(last < from && from <= reader, || {
        format!("the window from {from} to {reader} does not lie behind node {last}")
    })
}

/// Sizes and capacity as they are, or rounded.
struct RoundedSizes {
    unit: u64,
    /// Size of each tensor.
    sizes: Vec<i128>,
    /// Sums of the multipliers of memory rows at events before each.
    before: Vec<i128>,
}

/// Value of multipliers: for the stays, crossings and starts of every tensor, and in total.
pub struct Prices {
    gauges: Vec<RoundedSizes>,
    /// Paid to a tensor that is there at an event; in the end, at all events up to it.
    covers: Vec<Vec<(usize, i128)>>,
    /// Paid to a tensor that is there when a stage begins.
    pub crosses: Vec<Vec<(usize, i128)>>,
    /// Paid for a recomputation in a range of stages (first, last).
    pub starts: Vec<Vec<(usize, usize, i128)>>,
    /// Right sides.
    pub worth: i128,
    /// No sum of prices is larger.
    pub most: i128,
}

impl Prices {
    /// Prices of rows with multipliers. All rows are known to hold. `None` if numbers are too
    /// large.
    pub fn new<'a>(
        graph: &Graph,
        rows: impl Iterator<Item = (&'a CheckmateRow, i128)>,
    ) -> Option<Prices> {
        let n = graph.len();
        let mut prices = Prices {
            gauges: Vec::new(),
            covers: vec![Vec::new(); n],
            crosses: vec![Vec::new(); n],
            starts: vec![Vec::new(); n],
            worth: 0,
            most: 0,
        };
        for (row, y) in rows {
            prices.add(graph, row, y)?;
        }
        for gauge in &mut prices.gauges {
            let mut sum = 0;
            for value in &mut gauge.before {
                sum += *value;
                *value = sum;
            }
        }
        for list in &mut prices.covers {
            list.sort_unstable();
            let mut sum = 0;
            for (_, paid) in list {
                sum += *paid;
                *paid = sum;
            }
        }
        Some(prices)
    }

    /// Adds the largest value that a row can have to `most`, so that sums do not overflow.
    fn count(&mut self, y: i128, weight: u128) -> Option<()> {
        let worth = y.checked_mul(i128::try_from(weight).ok()?)?;
        self.most = self.most.checked_add(worth)?;
        Some(())
    }

    fn add(&mut self, graph: &Graph, row: &CheckmateRow, y: i128) -> Option<()> {
        match row {
            CheckmateRow::Need { node, reader } => {
                self.count(y, 2)?;
                let event = graph.event(*reader as usize, *reader as usize);
                self.covers[*node as usize].push((event, y));
                self.worth += y;
            }
            CheckmateRow::Input { stage, node, input } => {
                self.count(y, 2)?;
                let stage = *stage as usize;
                if graph.moments {
                    self.crosses[*input as usize].push((stage, y));
                    self.starts[*input as usize].push((stage, stage, y));
                } else {
                    let event = graph.event(stage, *node as usize);
                    self.covers[*input as usize].push((event, y));
                }
                self.starts[*node as usize].push((stage, stage, -y));
            }
            CheckmateRow::Parent { stage, node } => {
                let stage = *stage as usize;
                self.count(y, stage as u128 + 2)?;
                if let Some(parent) = graph.parent[*node as usize] {
                    let from = graph.parent_from(parent, stage);
                    self.starts[parent as usize].push((from, stage, y));
                }
                self.starts[*node as usize].push((stage, stage, -y));
            }
            CheckmateRow::Memory { stage, node, unit } => {
                self.add_memory(graph, (*stage as usize, *node as usize), *unit, y)?;
            }
            CheckmateRow::Around {
                stage,
                node,
                unit,
                with,
            } => self.add_around(graph, (*stage as usize, *node as usize), *unit, with, y)?,
            CheckmateRow::Cover(cover) => {
                let weights: u128 = cover.weights.iter().map(|w| u128::from(w.1)).sum();
                let others = u128::from(cover.most) + u128::from(cover.made);
                self.count(y, weights + others)?;
                let (stage, node) = (cover.stage as usize, cover.node as usize);
                for &(k, weight) in &cover.weights {
                    let paid = (graph.event(stage, node), -y * i128::from(weight));
                    self.covers[k as usize].push(paid);
                }
                if cover.made > 0 {
                    self.starts[node].push((stage, stage, -y * i128::from(cover.made)));
                }
                self.worth -= y * i128::from(cover.most);
            }
            CheckmateRow::Path(path) => {
                self.count(y, path.nodes.len() as u128 + 2)?;
                for &i in &path.nodes {
                    self.crosses[i as usize].push((path.from as usize, y));
                }
                let window = (path.from as usize, path.reader as usize, y);
                self.starts[path.nodes[0] as usize].push(window);
                self.worth += y;
            }
            CheckmateRow::PathMemory {
                path,
                staying,
                companions,
                other_bytes,
            } => self.add_path_memory(graph, path, (staying, companions, *other_bytes), y)?,
            CheckmateRow::Together { dropped, saved } => {
                let rules = graph.rules.as_ref()?;
                self.count(y, 3)?;
                let window = (*dropped as usize + 1, graph.len() - 1, -y);
                self.starts[*dropped as usize].push(window);
                let from = rules.saved_from(*saved) as usize;
                self.crosses[*saved as usize].push((from, -y));
                self.worth -= y;
            }
            CheckmateRow::Reader { stage, node } => {
                let readers = graph.rules.as_ref()?.forward_readers(*node);
                self.count(y, readers.len() as u128 + 1)?;
                let stage = *stage as usize;
                for &reader in readers {
                    self.starts[reader as usize].push((stage, stage, y));
                }
                self.starts[*node as usize].push((stage, stage, -y));
            }
            CheckmateRow::Branch(branch) => {
                let nodes = &branch.quantity.nodes;
                self.count(y, nodes.len() as u128 + u128::from(branch.count))?;
                let y = if branch.at_least { y } else { -y };
                for &node in nodes {
                    match branch.quantity.what {
                        Counted::Starts(first, last) => {
                            let window = (first as usize, last as usize, y);
                            self.starts[node as usize].push(window);
                        }
                        Counted::Held(stage) => {
                            self.crosses[node as usize].push((stage as usize, y));
                        }
                    }
                }
                self.worth += y * i128::from(branch.count);
            }
        }
        Some(())
    }

    fn add_memory(
        &mut self,
        graph: &Graph,
        (stage, node): (usize, usize),
        unit: u64,
        y: i128,
    ) -> Option<()> {
        let working = graph.working.iter().zip(&graph.working_again);
        let all: u128 = working.map(|(a, b)| u128::from(*a.max(b))).sum();
        self.count(y, 2 * all + u128::from(graph.capacity))?;
        let size = |bytes: u64| i128::from(rounded(graph.capacity, unit, bytes));
        let gauge = self.gauge(graph, unit);
        gauge.before[graph.event(stage, node) + 1] += y;
        let mut room = size(graph.capacity);
        if stage == node {
            room -= size(graph.working[node]);
        } else {
            let scratch = size(graph.working_again[node]) - size(graph.bytes[node]);
            self.starts[node].push((stage, stage, -y * scratch));
        }
        self.worth -= y * room;
        Some(())
    }

    fn add_around(
        &mut self,
        graph: &Graph,
        (stage, node): (usize, usize),
        unit: u64,
        with: &[u32],
        y: i128,
    ) -> Option<()> {
        let all: u128 = graph.bytes.iter().map(|b| u128::from(*b)).sum();
        let own = u128::from(graph.working_again[node]);
        self.count(y, 3 * all + own + u128::from(graph.capacity))?;
        let size = |bytes: u64| i128::from(rounded(graph.capacity, unit, bytes));
        // Events before the last of a stage are alike.
        let event = graph.event(stage, 0);
        self.gauge(graph, unit).before[event + 1] += y;
        let mut made = size(graph.working_again[node]);
        for &input in with {
            let bytes = size(graph.bytes[input as usize]);
            self.covers[input as usize].push((event, y * bytes));
            made += bytes;
        }
        self.starts[node].push((stage, stage, -y * made));
        self.worth -= y * size(graph.capacity);
        Some(())
    }

    fn add_path_memory(
        &mut self,
        graph: &Graph,
        path: &Path,
        (staying, companions, other_bytes): (&[u32], &[(u32, u32)], u64),
        y: i128,
    ) -> Option<()> {
        let bytes = |k: u32| i128::from(graph.bytes[k as usize]);
        let source = path.nodes[0];
        let need = i128::from(graph.need_again(source));
        let staying_bytes: i128 = staying.iter().map(|&k| bytes(k)).sum();
        let beside: i128 = companions.iter().map(|g| bytes(g.1)).sum();
        let room = i128::from(graph.capacity) - need - i128::from(other_bytes) + beside;
        let weight = 2 * staying_bytes + beside + room.abs();
        let crossing = need * path.nodes.len() as i128;
        self.count(y, (weight + crossing).unsigned_abs())?;
        let (from, reader) = (path.from as usize, path.reader as usize);
        for &k in staying {
            let event = graph.event(reader, source as usize);
            self.covers[k as usize].push((event, -y * bytes(k)));
            // Behind (from, source), up to (reader, source).
            let (first, end) = match k < source && !graph.moments {
                true => (from + 1, reader + 1),
                false => (from, reader),
            };
            if first < end {
                self.starts[k as usize].push((first, end - 1, y * bytes(k)));
            }
        }
        for &(stage, k) in companions {
            let event = graph.event(stage as usize, source as usize);
            self.covers[k as usize].push((event, -y * bytes(k)));
        }
        for &i in &path.nodes {
            self.crosses[i as usize].push((from, y * need));
        }
        self.worth -= y * room;
        Some(())
    }

    fn gauge(&mut self, graph: &Graph, unit: u64) -> &mut RoundedSizes {
        let at = self.gauges.iter().position(|g| g.unit == unit);
        let at = at.unwrap_or_else(|| {
            let size = |&bytes: &u64| i128::from(rounded(graph.capacity, unit, bytes));
            self.gauges.push(RoundedSizes {
                unit,
                sizes: graph.bytes.iter().map(size).collect(),
                before: vec![0; graph.len() * graph.len() + 1],
            });
            self.gauges.len() - 1
        });
        &mut self.gauges[at]
    }

    /// Charge for a tensor that is there at all events before one.
    pub fn charged(&self, tensor: usize, event: usize) -> i128 {
        self.occupied(tensor, event) - self.paid(tensor, event)
    }

    /// Charge for the memory of a tensor at all events before one.
    pub fn occupied(&self, tensor: usize, event: usize) -> i128 {
        let pay = |g: &RoundedSizes| g.before[event] * g.sizes[tensor];
        self.gauges.iter().map(pay).sum()
    }

    /// Payment to a tensor for its readers at all events before one.
    pub fn paid(&self, tensor: usize, event: usize) -> i128 {
        let covers = &self.covers[tensor];
        match covers.partition_point(|c| c.0 < event) {
            0 => 0,
            reached => covers[reached - 1].1,
        }
    }
}

/// Mixed-integer rounding of a size by a unit, for a capacity. It is superadditive: sizes that fit
/// together still fit when they are rounded.
fn rounded(capacity: u64, unit: u64, size: u64) -> u64 {
    if unit == 0 {
        return size;
    }
    let rest = capacity % unit;
    let over = u128::from((size % unit).saturating_sub(rest));
    // Less than the unit, since `size % unit` is.
    size / unit * unit + (over * u128::from(unit) / u128::from(unit - rest)) as u64
}
