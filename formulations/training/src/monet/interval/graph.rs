//! View of an instance for MONeT's program, in arrays, without dominated ways.

use crate::life::{classes, classes_of_tensors};
use crate::monet::original::MonetError;
use remat_instances::instance::{Implementation, Instance, NodeId, NodeKind};

/// A way to compute a forward node in some stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartWay {
    /// Index into [`remat_instances::instance::Node::implementations`].
    pub implementation: u16,
    /// True if the output goes into the buffer of the in-place input.
    pub in_place: bool,
    /// Cost, in the instance's unit.
    pub cost: u64,
    /// Scratch memory in bytes; negative where the operator releases memory it is charged for.
    pub workspace: i64,
}

/// A way to run a backward node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Index into [`remat_instances::instance::Node::implementations`].
    pub implementation: u16,
    /// Cost, in the instance's unit.
    pub cost: u64,
    /// Scratch memory in bytes.
    pub workspace: i64,
    /// Forward tensors that it reads, ascending.
    pub reads: Vec<u32>,
}

/// Costs, sizes and readers of MONeT's program. Forward nodes, by-products and the loss are
/// `0..columns`; stage 0 runs the forward pass, stage `t` backward node `columns - 1 + t`.
#[derive(Clone, Debug, PartialEq)]
pub struct MonetGraph {
    /// Number of forward nodes, by-products and the loss among them.
    pub columns: usize,
    /// Number of stages.
    pub stages: usize,
    /// Size of each output, in bytes.
    pub bytes: Vec<i64>,
    /// Tensors charged around each forward node whenever it runs, ascending.
    pub passing: Vec<Vec<u32>>,
    /// Distinct inputs that every implementation reads, ascending.
    pub needs: Vec<Vec<u32>>,
    /// Forward nodes that read each tensor, ascending; by-products among the readers of their
    /// parent.
    pub users: Vec<Vec<u32>>,
    /// The last stage in which the node may be computed again; 0 if it never is.
    pub again_until: Vec<u32>,
    /// The node in whose computation a by-product is made.
    pub parent: Vec<Option<u32>>,
    /// By-products of each node, ascending.
    pub by_products: Vec<Vec<u32>>,
    /// The input that a node may overwrite; not for by-products, which follow their parent.
    pub over: Vec<Option<u32>>,
    /// Undominated ways to compute each node in stage 0.
    pub first: Vec<Vec<StartWay>>,
    /// Undominated ways to compute each node again.
    pub again: Vec<Vec<StartWay>>,
    /// Undominated ways to run the backward node of each stage. Stage 0 has one, with the inputs
    /// that all implementations of the loss read.
    pub choices: Vec<Vec<Choice>>,
    /// Bytes left for forward nodes beside the memory that is charged throughout a stage.
    pub room: Vec<i64>,
    /// Bytes left beside the backward node of a stage; entry 0 has no meaning.
    pub backward_room: Vec<i64>,
    /// The last stage in which the tensor can be of use, directly or for a recomputation; `None` if
    /// that is stage 0.
    pub last_use: Vec<Option<u32>>,
    /// Tensors of the same size, or of the same size and cost, that may be stored: at least two in
    /// each class.
    pub classes: Vec<Vec<u32>>,
    /// Stages whose backward nodes have the same choices, but for the tensors that they read: at
    /// least two in each class.
    pub choice_classes: Vec<Vec<u32>>,
    /// True if cuts are separated only in their plain forms, neither rounded nor charging both
    /// ways.
    pub plain_cuts: bool,
    /// The last stage at whose start it is useful to store each tensor; 0 if there is no such
    /// stage.
    last_stored: Vec<u32>,
    /// Ways with which a node fits at all, as a bit mask by node and stage (ways from the 64th on
    /// count as fitting).
    fitting: Vec<u64>,
    /// True if a node has an in-place option, by-products included.
    offers_in_place: Vec<bool>,
    /// Way that stands for each implementation, plain and in place in turn; in stage 0 and later.
    way_stands: [Vec<Vec<u16>>; 2],
    /// Choice that stands for each implementation, by stage.
    choice_stands: Vec<Vec<u16>>,
}

/// Keeps the entries that no other entry beats in cost and workspace, and of equal entries the
/// first. An entry can only be beaten by one that may replace it. Also returns, for each entry, the
/// kept entry that stands for it.
fn undominated<T>(
    all: Vec<T>,
    key: impl Fn(&T) -> (u64, i64),
    replaces: impl Fn(&T, &T) -> bool,
) -> (Vec<T>, Vec<u16>) {
    let no_worse = |o: usize, k: usize| {
        let ((c, s), (cost, scratch)) = (key(&all[o]), key(&all[k]));
        c <= cost && s <= scratch && replaces(&all[o], &all[k])
    };
    let beats = |o: usize, k: usize| o != k && no_worse(o, k) && (!no_worse(k, o) || o < k);
    let kept: Vec<usize> = (0..all.len())
        .filter(|&k| !(0..all.len()).any(|o| beats(o, k)))
        .collect();
    let stands = |k: usize| kept.iter().position(|&o| no_worse(o, k)).unwrap_or(0) as u16;
    let stands = (0..all.len()).map(stands).collect();
    let mut k = 0;
    let mut all = all;
    all.retain(|_| {
        k += 1;
        kept.binary_search(&(k - 1)).is_ok()
    });
    (all, stands)
}

impl MonetGraph {
    /// The graph of an instance under a budget in bytes (fixed memory included).
    ///
    /// # Errors
    /// [`MonetError::NoLoss`].
    pub fn new(instance: &Instance, budget_bytes: u64) -> Result<MonetGraph, MonetError> {
        let instance = &*instance.charged_by_monet();
        let loss = instance.loss().ok_or(MonetError::NoLoss)?.index();
        let columns = loss + 1;
        let stages = instance.len() - loss;
        let node = |i: usize| instance.node(NodeId::from(i));
        let size = |i: usize| node(i).output_bytes as i64;
        let passing_bytes = |i: usize| node(i).passing.iter().map(|u| size(u.index())).sum::<i64>();
        let parent: Vec<Option<u32>> = (0..columns)
            .map(|i| match node(i).kind {
                NodeKind::ByProduct { parent } => Some(parent.0),
                _ => None,
            })
            .collect();
        let mut needs: Vec<Vec<u32>> = Vec::with_capacity(columns);
        let mut by_products = vec![Vec::new(); columns];
        for (i, parent) in parent.iter().enumerate() {
            let all = read_by_all(&node(i).implementations).into_iter();
            let mut list: Vec<u32> = all.map(|u| u.0).collect();
            if let Some(p) = *parent {
                by_products[p as usize].push(i as u32);
                list.retain(|u| *u != p);
                list.push(p);
                list.sort_unstable();
            }
            needs.push(list);
        }
        let mut users = vec![Vec::new(); columns];
        for (v, list) in needs.iter().enumerate() {
            for &u in list {
                users[u as usize].push(v as u32);
            }
        }
        // An input that not every implementation reads may be absent for some of them.
        let over = |i: usize| {
            let on = node(i).in_place.as_ref()?.on.0;
            (parent[i].is_none() && needs[i].contains(&on)).then_some(on)
        };
        let over: Vec<Option<u32>> = (0..columns).map(over).collect();
        let starts = |again: bool| -> (Vec<_>, Vec<_>) {
            (0..columns).map(|i| starts_of(node(i), again)).unzip()
        };
        let (first, first_stands) = starts(false);
        let (again, again_stands) = starts(true);
        let (choices, choice_stands): (Vec<Vec<Choice>>, Vec<_>) =
            (0..stages).map(|t| choices_of(instance, loss, t)).unzip();
        let budget = budget_bytes.min(i64::MAX as u64 / 4) as i64;
        let room = |t: usize| {
            let fixed = instance.stage_fixed_bytes(t) as i64;
            budget - fixed - if t > 0 { passing_bytes(loss + t) } else { 0 }
        };
        let backward_room = |t: usize| {
            let b = loss + t;
            budget - passing_bytes(b) - node(b).fixed_bytes as i64 - size(b)
        };
        let mut last_use: Vec<Option<u32>> = vec![None; columns];
        for (t, ways) in choices.iter().enumerate().skip(1) {
            for &u in ways.iter().flat_map(|w| &w.reads) {
                last_use[u as usize] = Some(t as u32);
            }
        }
        for i in (0..columns).rev() {
            for &v in &users[i] {
                last_use[i] = last_use[i].max(last_use[v as usize]);
            }
        }
        let list = |ids: &[NodeId]| ids.iter().map(|d| d.0).collect::<Vec<u32>>();
        let mut graph = MonetGraph {
            columns,
            stages,
            bytes: (0..columns).map(size).collect(),
            passing: (0..columns).map(|i| list(&node(i).passing)).collect(),
            needs,
            users,
            again_until: (0..columns)
                .map(|i| instance.last_monet_stage_again(NodeId::from(i)))
                .collect(),
            parent,
            by_products,
            over,
            first,
            again,
            choices,
            room: (0..stages).map(room).collect(),
            backward_room: (0..stages).map(backward_room).collect(),
            last_use,
            offers_in_place: (0..columns).map(|i| node(i).in_place.is_some()).collect(),
            way_stands: [first_stands, again_stands],
            choice_stands,
            classes: Vec::new(),
            choice_classes: Vec::new(),
            plain_cuts: false,
            last_stored: Vec::new(),
            fitting: vec![u64::MAX; columns * stages],
        };
        let last_stored = |i: usize| match graph.last_use[i] {
            Some(last) => last + 1,
            None => graph.is_read(i as u32, 0).into(),
        };
        graph.last_stored = (0..columns).map(last_stored).collect();
        graph.leave_out_what_never_fits();
        graph.find_classes();
        Ok(graph)
    }

    /// Notes the starts that exceed the budget by themselves. They are charged the output, the
    /// passing list and the workspace, (17). They are also charged the tensors that every choice of
    /// the backward node reads: these are stored beyond the stage or held from their turn on, (6).
    /// Choices that exceed the budget by themselves, (18), are removed for good. If no choice is
    /// left, all of them stay, and the relaxation will be infeasible.
    fn leave_out_what_never_fits(&mut self) {
        for t in 0..self.stages {
            let room = self.backward_room[t];
            let load = |c: &Choice| {
                let reads = c.reads.iter().map(|&u| self.bytes[u as usize]);
                reads.sum::<i64>() + c.workspace
            };
            let fits: Vec<bool> = self.choices[t].iter().map(|c| load(c) <= room).collect();
            if t > 0 && fits.contains(&true) && fits.contains(&false) {
                let kept = fits.iter().filter(|f| **f).count();
                // A removed choice has no place; any will do, as no schedule that fits uses it.
                let place =
                    |k: usize| fits[..k].iter().filter(|f| **f).count().min(kept - 1) as u16;
                for stands in &mut self.choice_stands[t] {
                    *stands = place(usize::from(*stands));
                }
                let mut k = 0;
                self.choices[t].retain(|_| {
                    k += 1;
                    fits[k - 1]
                });
            }
            let choices = &self.choices[t];
            let read: Vec<u32> = choices[0]
                .reads
                .iter()
                .copied()
                .filter(|u| choices.iter().all(|c| c.reads.contains(u)))
                .collect();
            for j in 0..self.columns {
                let node = j as u32;
                let beside = read.iter().filter(|&&u| u < node);
                let beside = beside.filter(|u| self.passing[j].binary_search(u).is_err());
                let load = beside.map(|&u| self.bytes[u as usize]).sum::<i64>()
                    + self.bytes[j]
                    + self.passing_bytes(node);
                let mut mask = u64::MAX;
                for (k, way) in self.starts(node, t as u32).iter().enumerate().take(64) {
                    if load + way.workspace > self.room[t] {
                        mask &= !(1 << k);
                    }
                }
                self.fitting[j * self.stages + t] = mask;
            }
        }
    }

    /// Returns whether a node may be computed in a stage in a way at all: the way fits, and the
    /// node may be recomputed if the stage is not the first.
    #[inline]
    pub fn fits(&self, node: u32, stage: u32, way: usize) -> bool {
        if stage > self.again_until[node as usize] {
            return false;
        }
        let mask = self.fitting[node as usize * self.stages + stage as usize];
        way >= 64 || mask >> way & 1 != 0
    }

    /// Returns whether some way fits.
    pub fn fits_somehow(&self, node: u32, stage: u32) -> bool {
        (0..self.starts(node, stage).len()).any(|k| self.fits(node, stage, k))
    }

    /// Finds the classes of like tensors and of stages with like choices.
    fn find_classes(&mut self) {
        let stored = (0..self.columns).filter(|&i| self.last_use[i].is_some());
        let tensor = |i: usize| (i as u32, self.bytes[i].max(0) as u64, self.recomputation(i));
        self.classes = classes_of_tensors(stored.map(tensor));
        let several = (1..self.stages).filter(|&t| self.choices[t].len() > 1);
        let like = |c: &Choice| {
            let mut reads: Vec<i64> = c.reads.iter().map(|&u| self.bytes[u as usize]).collect();
            reads.sort_unstable();
            (c.cost, c.workspace, reads)
        };
        let like = |t: usize| self.choices[t].iter().map(like).collect::<Vec<_>>();
        self.choice_classes = classes(several.map(|t| (t as u32, like(t))));
    }

    /// Cost of computing a tensor again, at its cheapest.
    pub fn recomputation(&self, node: usize) -> u64 {
        self.again[node].iter().map(|s| s.cost).min().unwrap_or(0)
    }

    /// Ways to compute a node in a stage.
    pub fn starts(&self, node: u32, stage: u32) -> &[StartWay] {
        match stage {
            0 => &self.first[node as usize],
            _ => &self.again[node as usize],
        }
    }

    /// Returns whether a node runs in stage 0 in every schedule: all but by-products do.
    pub fn is_forced(&self, node: u32) -> bool {
        self.parent[node as usize].is_none()
    }

    /// Returns whether a node offers to be computed in place, by-products included.
    pub fn may_overwrite(&self, node: u32) -> bool {
        self.offers_in_place[node as usize]
    }

    /// The last stage at whose start it is useful to store a tensor. A backward node reads tensors
    /// that are stored beyond its stage. An input of the loss is held in stage 0 if it is not
    /// stored, and the passing lists of other nodes do not cover it.
    pub fn last_stored(&self, node: u32) -> u32 {
        self.last_stored[node as usize]
    }

    /// Returns whether a tensor can be of use: a by-product without readers need not be computed.
    pub fn is_of_use(&self, node: u32) -> bool {
        let is_read = self.last_stored(node) > 0 || !self.users[node as usize].is_empty();
        is_read || self.is_forced(node)
    }

    /// Bytes of the passing list of a forward node.
    pub fn passing_bytes(&self, node: u32) -> i64 {
        let list = &self.passing[node as usize];
        list.iter().map(|&u| self.bytes[u as usize]).sum()
    }

    /// Least bytes that are charged while a node is computed again: its output, its passing list,
    /// its least workspace.
    pub fn need_bytes(&self, node: u32) -> i64 {
        let scratch = self.again[node as usize].iter().map(|s| s.workspace).min();
        self.bytes[node as usize] + self.passing_bytes(node) + scratch.unwrap_or(0)
    }

    /// Cost of the backward nodes with a single choice, which every schedule pays.
    pub fn fixed_cost(&self) -> u64 {
        let single = self.choices.iter().skip(1).filter(|c| c.len() == 1);
        single.map(|c| c[0].cost).sum()
    }

    /// Lower bound on the cost of every schedule: each forward node and each backward node once, in
    /// its cheapest way.
    pub fn base_cost(&self) -> u64 {
        let least = |list: &[StartWay]| list.iter().map(|s| s.cost).min().unwrap_or(0);
        let forced = (0..self.columns).filter(|&i| self.parent[i].is_none());
        let forward: u64 = forced.map(|i| least(&self.first[i])).sum();
        let cheapest = |c: &Vec<Choice>| c.iter().map(|w| w.cost).min().unwrap_or(0);
        forward + self.choices.iter().skip(1).map(cheapest).sum::<u64>()
    }

    /// Upper bound on the cost of a schedule without useless recomputations: each node once in each
    /// stage of its life, in its most expensive way.
    pub fn costliest(&self) -> u64 {
        let most = |list: &[StartWay]| list.iter().map(|s| s.cost).max().unwrap_or(0);
        let forward = (0..self.columns).map(|i| {
            let stages = u64::from(self.last_use[i].unwrap_or(0));
            most(&self.first[i]).saturating_add(most(&self.again[i]).saturating_mul(stages))
        });
        let backward = self.choices.iter().skip(1);
        let backward = backward.map(|c| c.iter().map(|w| w.cost).max().unwrap_or(0));
        forward.chain(backward).fold(0, u64::saturating_add)
    }

    /// The unit in which programs count memory, in bytes: a power of two near a thousandth of the
    /// budget.
    pub fn memory_unit(&self) -> f64 {
        let thousandth = (self.room[0].max(0) as u64 / 1000).max(1);
        thousandth.next_power_of_two() as f64
    }

    /// The unit in which linear programs count cost: a power of two, 1 unless the base cost is
    /// beyond 2^21.
    pub fn cost_unit(&self) -> f64 {
        let millionth = (self.base_cost() >> 21).max(1);
        millionth.next_power_of_two() as f64
    }
}

/// Inputs that all implementations read, ascending.
fn read_by_all(ways: &[Implementation]) -> Vec<NodeId> {
    let (first, others) = ways
        .split_first()
        .expect("a validated node has an implementation");
    let in_all = |u: &&NodeId| others.iter().all(|w| w.needs.contains(u));
    first.needs.iter().filter(in_all).copied().collect()
}

/// Ways to compute a forward node. Dominated ways are left out: they cost no less and have no
/// smaller workspace than another way of the same kind (in place or not). They only raise costs and
/// memory rows, and no other row sees which way is used.
fn starts_of(node: &remat_instances::instance::Node, again: bool) -> (Vec<StartWay>, Vec<u16>) {
    let several = node.implementations.len() > 1;
    let mut all = Vec::new();
    for (p, way) in node.implementations.iter().enumerate() {
        let (cost, workspace) = (way.run_cost(again), way.run_workspace_bytes(again));
        let plain = StartWay {
            implementation: p as u16,
            in_place: false,
            cost,
            workspace,
        };
        all.push(plain);
        if let Some(option) = &node.in_place {
            // The published program keeps the workspace of the chosen algorithm, the replay takes
            // the option's: the smaller one is safe for both.
            let scratch = match several {
                true => option.workspace_bytes.min(workspace),
                false => option.workspace_bytes,
            };
            all.push(StartWay {
                in_place: true,
                cost: cost.saturating_add_signed(option.cost_delta),
                workspace: scratch,
                ..plain
            });
        }
    }
    undominated(
        all,
        |s| (s.cost, s.workspace),
        |a, b| a.in_place == b.in_place,
    )
}

/// Ways to run the backward node of a stage. A way that costs no less, has no smaller workspace and
/// reads no less than another way is left out: every row is monotone in all three.
fn choices_of(instance: &Instance, loss: usize, t: usize) -> (Vec<Choice>, Vec<u16>) {
    let node = instance.node(NodeId::from(loss + t));
    let reads = |list: &[NodeId]| -> Vec<u32> {
        let forward = list.iter().filter(|u| u.index() <= loss);
        forward.map(|u| u.0).collect()
    };
    if t == 0 {
        let only = Choice {
            implementation: 0,
            cost: 0,
            workspace: 0,
            // Read by every implementation of the loss.
            reads: reads(&read_by_all(&node.implementations)),
        };
        return (vec![only], vec![0]);
    }
    let all = node.implementations.iter().enumerate();
    let all = all.map(|(p, way)| Choice {
        implementation: p as u16,
        cost: way.cost,
        workspace: way.workspace_bytes,
        reads: reads(&way.needs),
    });
    undominated(
        all.collect(),
        |c| (c.cost, c.workspace),
        |a, b| a.reads.iter().all(|u| b.reads.contains(u)),
    )
}

impl MonetGraph {
    /// The undominated choice that stands for an implementation of the backward node of a stage:
    /// itself, or one that costs, takes and reads no more.
    pub fn choice_of(&self, stage: usize, implementation: u16) -> usize {
        let stands = self.choice_stands[stage].get(usize::from(implementation));
        usize::from(stands.copied().unwrap_or(0))
    }

    /// The undominated way that stands for an implementation of a forward node in a stage.
    pub fn way_of(&self, node: u32, stage: u32, implementation: u16, in_place: bool) -> u16 {
        let stands = &self.way_stands[usize::from(stage > 0)][node as usize];
        let each = 1 + usize::from(self.offers_in_place[node as usize]);
        let at = usize::from(implementation) * each + usize::from(in_place && each > 1);
        stands.get(at).copied().unwrap_or(0)
    }
}
