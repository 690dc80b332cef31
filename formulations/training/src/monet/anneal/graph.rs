//! The instance as flat arrays, laid out for the inner loop of MONeT's program.

use remat_instances::instance::{Implementation, Instance, NodeId, NodeKind};
use remat_instances::schedule::MonetSchedule;

/// One way to run a node at one of its events: cheaper ones come first, smaller ones last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventWay {
    /// Cost in the instance's unit.
    pub cost: i64,
    /// Workspace in bytes; negative if memory is released.
    pub workspace: i64,
    /// Index into the node's implementations.
    pub implementation: u16,
}

/// The option to overwrite an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InPlaceWay {
    /// The input.
    pub on: u32,
    /// Workspace in bytes.
    pub workspace: i64,
    /// Added to the cost.
    pub cost_delta: i64,
    /// True if it is never worse than any other way of the node, in the first stage and in later
    /// ones.
    pub dominates: [bool; 2],
    /// Cheapest way, in the first stage and in later ones.
    pub cheapest: [EventWay; 2],
}

/// The implementations of a backward node that read the same forward tensors.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Forward tensors that are read, as words of bits.
    pub reads: Vec<u64>,
    /// Range of its ways, for [`MonetLandscape::ways_of`].
    pub ways: Ways,
}

impl Variant {
    /// The forward tensors that are read, ascending.
    pub fn tensors(&self) -> impl Iterator<Item = usize> + '_ {
        ones(&self.reads)
    }
}

/// A range of ways.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ways {
    from: u32,
    to: u32,
}

/// A stage: its fixed memory and its backward node.
#[derive(Clone, Debug)]
pub struct MonetStage {
    /// Charged throughout the forward part, in bytes.
    pub always: i64,
    /// Charged at the backward node, apart from workspace and stored tensors, in bytes. Unused in
    /// stage 0, which has no backward node.
    pub backward: i64,
    /// Columns that may not be computed again in the stage, as words of bits.
    pub never: Vec<u64>,
    /// Distinct sets of forward tensors that the backward node may read. Stage 0 has one variant,
    /// without ways: the tensors that the loss reads.
    pub variants: Vec<Variant>,
    /// Tensors that some variant reads, as words of bits.
    pub read_by_any: Vec<u64>,
}

/// View of an instance for the search.
///
/// All sizes and costs are `i64`: the instance promises that sums over all nodes fit.
///
/// A forward node is assumed to read the inputs of its first implementation; implementations that
/// read more are left aside. Implementations that are neither cheaper nor smaller than another one
/// with the same reads are dropped. Any schedule can exchange them for the other one at no loss,
/// since a workspace counts only at its own event.
pub struct MonetLandscape {
    /// Number of stages, `n - l` with the loss at `l`.
    pub stages: usize,
    /// Number of forward nodes, by-products and the loss.
    pub columns: usize,
    /// Words of one row of bits over the columns.
    pub words: usize,
    /// Output size in bytes.
    pub bytes: Vec<i64>,
    /// Total size of the passing list in bytes.
    pub passing_bytes: Vec<i64>,
    /// In-place options of proper forward nodes.
    pub in_place: Vec<Option<InPlaceWay>>,
    /// In-place option of by-products, whose buffer is their own: workspace and change of cost.
    pub by_product_in_place: Vec<Option<(i64, i64)>>,
    /// Parent of a by-product.
    pub parent: Vec<Option<u32>>,
    /// By-products of a node.
    pub by_products: Vec<Vec<u32>>,
    /// Columns that stage 0 computes in any case, as words of bits.
    pub proper: Vec<u64>,
    /// The stages.
    pub stage: Vec<MonetStage>,
    /// The last stage in which each column may be computed again; 0 if it never is.
    pub again_until: Vec<u32>,
    /// Stages whose backward node may read a tensor, ascending.
    pub readers: Vec<Vec<u32>>,
    /// Stages whose backward node has several variants, ascending.
    pub choices: Vec<u32>,
    /// Tensors that matter together with a tensor: inputs, readers, by-products and their parents,
    /// and tensors that a backward node may read instead.
    pub partners: Vec<Vec<u32>>,
    /// Budget in bytes.
    pub capacity: i64,
    /// Mean cost of a node's cheapest way, the unit of temperatures.
    pub mean_cost: f64,
    needs: NodeLists,
    passing: NodeLists,
    ways: Vec<EventWay>,
    forward: [Vec<Ways>; 2],
}

/// Lists of node indices, one after the other.
#[derive(Default)]
struct NodeLists {
    start: Vec<u32>,
    entries: Vec<u32>,
}

impl NodeLists {
    fn push(&mut self, list: impl IntoIterator<Item = u32>) {
        if self.start.is_empty() {
            self.start.push(0);
        }
        self.entries.extend(list);
        self.start.push(self.entries.len() as u32);
    }

    #[inline]
    fn get(&self, i: usize) -> &[u32] {
        &self.entries[self.start[i] as usize..self.start[i + 1] as usize]
    }
}

impl MonetLandscape {
    /// Flattens `instance` for a budget in bytes. `None` for an instance without a loss, to which
    /// the program does not apply.
    pub fn new(instance: &Instance, budget_bytes: u64) -> Option<Self> {
        let instance = &*instance.charged_by_monet();
        let (stages, columns) = MonetSchedule::shape(instance)?;
        let words = columns.div_ceil(64);
        let mut graph = MonetLandscape {
            stages,
            columns,
            words,
            bytes: Vec::with_capacity(columns),
            passing_bytes: Vec::with_capacity(columns),
            in_place: Vec::with_capacity(columns),
            by_product_in_place: vec![None; columns],
            parent: vec![None; columns],
            by_products: vec![Vec::new(); columns],
            proper: vec![0; words],
            stage: Vec::with_capacity(stages),
            again_until: Vec::with_capacity(columns),
            readers: vec![Vec::new(); columns],
            choices: Vec::new(),
            partners: Vec::new(),
            capacity: budget_bytes.min(i64::MAX as u64 / 4) as i64,
            mean_cost: 1.0,
            needs: NodeLists::default(),
            passing: NodeLists::default(),
            ways: Vec::new(),
            forward: [Vec::new(), Vec::new()],
        };
        for j in 0..columns {
            graph.add_column(instance, j);
        }
        for t in 0..stages {
            graph.add_stage(instance, t);
        }
        let several = |t: &usize| graph.stage[*t].variants.len() > 1;
        graph.choices = (1..stages).filter(several).map(|t| t as u32).collect();
        graph.find_partners();
        let total: f64 = graph.forward[0]
            .iter()
            .chain(
                graph
                    .stage
                    .iter()
                    .filter_map(|s| s.variants.first())
                    .map(|v| &v.ways),
            )
            .map(|w| graph.ways_of(*w).first().map_or(0.0, |w| w.cost as f64))
            .sum();
        graph.mean_cost = (total / (columns + stages) as f64).max(f64::MIN_POSITIVE);
        Some(graph)
    }

    /// The inputs of a forward node, ascending.
    #[inline]
    pub fn needs(&self, j: usize) -> &[u32] {
        self.needs.get(j)
    }

    /// The passing list of a forward node, ascending.
    #[inline]
    pub fn passing(&self, j: usize) -> &[u32] {
        self.passing.get(j)
    }

    /// Penalty in bytes of a stage that recomputes a node which must not be recomputed: more than
    /// the budget, and small enough for a sum over all stages.
    #[inline]
    pub fn never_bytes(&self) -> i64 {
        (self.capacity.max(0) + 1).min(i64::MAX / 8 / (self.stages as i64 + 1))
    }

    /// The ways of a range, ascending in cost and descending in workspace.
    #[inline]
    pub fn ways_of(&self, ways: Ways) -> &[EventWay] {
        &self.ways[ways.from as usize..ways.to as usize]
    }

    /// The ways of a forward node, in stage 0 or in a later one.
    #[inline]
    pub fn forward_ways(&self, again: bool, j: usize) -> &[EventWay] {
        self.ways_of(self.forward[again as usize][j])
    }

    fn add_column(&mut self, instance: &Instance, j: usize) {
        let node = instance.node(NodeId::from(j));
        let size = |id: &NodeId| instance.node(*id).output_bytes as i64;
        self.again_until
            .push(instance.last_monet_stage_again(NodeId::from(j)));
        self.bytes.push(node.output_bytes as i64);
        self.passing_bytes.push(node.passing.iter().map(size).sum());
        self.passing.push(node.passing.iter().map(|u| u.0));
        let needs = node.needs();
        self.needs.push(needs.iter().map(|u| u.0));
        let reads_no_more =
            |p: &Implementation| p.needs.iter().all(|u| needs.binary_search(u).is_ok());
        let usable: Vec<(usize, &Implementation)> = node
            .implementations
            .iter()
            .enumerate()
            .filter(|(_, p)| reads_no_more(p))
            .collect();
        for again in [false, true] {
            let ways = usable
                .iter()
                .map(|(k, p)| way(*k, p, again, true))
                .collect();
            let ways = self.add_ways(ways);
            self.forward[again as usize].push(ways);
        }
        let option = node.in_place.as_ref();
        if let NodeKind::ByProduct { parent } = node.kind {
            self.parent[j] = Some(parent.0);
            self.by_products[parent.index()].push(j as u32);
            self.by_product_in_place[j] = option.map(|o| (o.workspace_bytes, o.cost_delta));
            self.in_place.push(None);
            return;
        }
        self.proper[j / 64] |= 1 << (j % 64);
        self.in_place.push(option.map(|option| {
            let ways = [false, true].map(|again| self.forward_ways(again, j));
            let (delta, workspace) = (option.cost_delta, option.workspace_bytes);
            InPlaceWay {
                on: option.on.0,
                workspace,
                cost_delta: delta,
                dominates: ways.map(|ways| {
                    delta <= 0 && ways.last().is_some_and(|w| workspace <= w.workspace)
                }),
                cheapest: ways.map(|ways| ways[0]),
            }
        }));
    }

    fn add_stage(&mut self, instance: &Instance, t: usize) {
        let loss = self.columns - 1;
        let id = NodeId::from(loss + t);
        let node = instance.node(id);
        let size = |id: &NodeId| instance.node(*id).output_bytes as i64;
        let passing: i64 = node.passing.iter().map(size).sum();
        let fixed = instance.stage_fixed_bytes(t) as i64;
        let mut found: Vec<(Vec<u64>, Vec<EventWay>)> = Vec::new();
        for (k, implementation) in node.implementations.iter().enumerate() {
            let mut reads = vec![0; self.words];
            for u in implementation.needs.iter().filter(|u| u.index() <= loss) {
                reads[u.index() / 64] |= 1 << (u.index() % 64);
            }
            let way = way(k, implementation, false, false);
            match found.iter_mut().find(|(r, _)| *r == reads) {
                Some((_, ways)) => ways.push(way),
                None => found.push((reads, vec![way])),
            }
            if t == 0 {
                break;
            }
        }
        let mut read_by_any = vec![0; self.words];
        for (reads, _) in &found {
            for (any, r) in read_by_any.iter_mut().zip(reads) {
                *any |= r;
            }
        }
        if t > 0 {
            ones(&read_by_any).for_each(|i| self.readers[i].push(t as u32));
        }
        let mut variants = Vec::with_capacity(found.len());
        for (reads, ways) in found {
            let ways = if t == 0 {
                Ways::default()
            } else {
                self.add_ways(ways)
            };
            variants.push(Variant { reads, ways });
        }
        let mut never = vec![0; self.words];
        let ended = self.again_until.iter().enumerate();
        for (i, _) in ended.filter(|(_, until)| (**until as usize) < t) {
            never[i / 64] |= 1 << (i % 64);
        }
        self.stage.push(MonetStage {
            never,
            always: if t == 0 { fixed } else { fixed + passing },
            backward: node.fixed_bytes as i64 + node.output_bytes as i64 + passing,
            variants,
            read_by_any,
        });
    }

    /// Appends the ways that no other one dominates, cheapest first.
    fn add_ways(&mut self, mut ways: Vec<EventWay>) -> Ways {
        ways.sort_by_key(|w| (w.cost, w.workspace, w.implementation));
        let from = self.ways.len() as u32;
        for way in ways {
            let smaller = self.ways[from as usize..]
                .last()
                .is_none_or(|last| way.workspace < last.workspace);
            if smaller {
                self.ways.push(way);
            }
        }
        Ways {
            from,
            to: self.ways.len() as u32,
        }
    }

    fn find_partners(&mut self) {
        let mut partners: Vec<Vec<u32>> = vec![Vec::new(); self.columns];
        for j in 0..self.columns {
            for &u in self.needs(j) {
                partners[u as usize].push(j as u32);
                partners[j].push(u);
            }
            if let Some(parent) = self.parent[j] {
                partners[parent as usize].push(j as u32);
                partners[j].push(parent);
            }
        }
        for stage in &self.stage {
            if stage.variants.len() < 2 {
                continue;
            }
            let all: Vec<usize> = ones(&stage.read_by_any).collect();
            for &a in &all {
                let others = all.iter().filter(|b| **b != a).map(|b| *b as u32);
                partners[a].extend(others);
            }
        }
        for list in &mut partners {
            list.sort_unstable();
            list.dedup();
        }
        self.partners = partners;
    }
}

fn way(index: usize, p: &Implementation, again: bool, forward: bool) -> EventWay {
    let again = again && forward;
    EventWay {
        cost: p.run_cost(again) as i64,
        workspace: p.run_workspace_bytes(again),
        implementation: index as u16,
    }
}

/// Positions of the ones in words of bits, ascending.
pub(super) fn ones(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(w, &word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let bit = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                w * 64 + bit
            })
        })
    })
}

/// Returns whether a bit is set.
#[inline]
pub(super) fn has(words: &[u64], i: usize) -> bool {
    words[i / 64] >> (i % 64) & 1 != 0
}
