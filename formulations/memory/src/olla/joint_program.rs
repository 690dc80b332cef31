//! The joint program (9): the least arena of any order with any addresses.

use super::addresses::{AddressColumns, AddressOwner};
use super::flow::{COLUMN_LIMIT, Flow, Steps, TimeAxis, gcd};
use super::lives::LiveColumns;
use super::order_program::ordered;
use super::{ProgramError, exact_total};
use remat_instances::order::{LifeOf, OperatorId, OrderGraph, OrderProblem, TensorId, Variant};
use remat_lp::{ColId, Model, ModelBuilder, Sense};

/// OLLA's program of order and addresses together, (9) with (1) to (8) and (10) to (12) (arXiv
/// 2210.12924). It gives the steps at which tensors are made, the time they stay, and their
/// addresses.
///
/// Pairs that cannot be in memory together have no columns: their windows are apart, or one is read
/// before the other is made in every order. Workspaces are like tensors that live for one step.
///
/// ```
/// use remat_memory::memory_plan::MemoryPlanSearch;
/// use remat_memory::olla::{JointProgram, Steps};
/// use remat_instances::zoo;
/// use remat_instances::order::{OrderGraph, Variant};
///
/// let graph = OrderGraph::of_instance(&zoo::build(&"zoo:chain?n=4".parse()?)?)?;
/// let best = MemoryPlanSearch::new(&graph).variant(Variant::Sound).run()?;
/// let program = JointProgram::new(&graph, Variant::Sound, Steps::Operators)?;
/// let addresses = best.plan.addresses.iter().map(|a| (a.of, a.offset_bytes));
/// let point = program.point(&best.plan.order.order, addresses).ok_or("one operator a step")?;
/// assert_eq!(program.model().objective(&point), best.total_bytes as f64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct JointProgram {
    problem: OrderProblem,
    flow: Flow,
    axis: TimeAxis,
    lives: LiveColumns,
    addresses: AddressColumns,
    /// Owner of each item's memory.
    owners: Vec<LifeOf>,
    unit: u64,
    model: Model,
}

/// Contents of memory at each step of a range.
struct Presence {
    /// Columns of each step, from the first step on; their sum is 1 if the item is there.
    columns: Vec<Vec<ColId>>,
    first: u32,
}

impl JointProgram {
    /// Builds the program of a variant.
    ///
    /// # Errors
    /// As [`super::OrderProgram::new`].
    pub fn new(
        graph: &OrderGraph,
        variant: Variant,
        steps: Steps,
    ) -> Result<JointProgram, ProgramError> {
        let problem = graph.problem(variant)?;
        let axis = TimeAxis::new(&problem, steps)?;
        let flow = Flow::new(graph, &problem);
        exact_total(&flow)?;
        let mut lp = ModelBuilder::new(Sense::Minimise);
        lp.set_name("olla");
        lp.set_offset(flow.base_bytes as f64);
        let lives = LiveColumns::add(&flow, &axis, &mut lp)?;
        let (owners, sources) = owners(&problem, &flow);
        let alignments = owners.iter().map(|of| alignment(graph, *of));
        let alignments: Vec<u64> = alignments.collect();
        let aligned = alignments.iter().copied().filter(|a| *a > 1);
        let unit = flow.sizes().chain(aligned).fold(0, gcd).max(1);
        let items = sources.iter().zip(&alignments).map(|(source, alignment)| {
            let (name, bytes) = match *source {
                ItemKind::Tensor(e) => {
                    let tensor = &flow.tensors[e];
                    (tensor.name.clone(), tensor.bytes)
                }
                ItemKind::Workspace(v) => {
                    let operator = &flow.operators[v];
                    (
                        format!("{}_workspace", operator.name),
                        operator.workspace_bytes,
                    )
                }
            };
            AddressOwner {
                name,
                size: bytes / unit,
                alignment: (alignment / unit).max(1),
                fixed: None,
            }
        });
        let items: Vec<AddressOwner> = items.collect();
        let presence: Vec<Presence> = sources
            .iter()
            .map(|s| s.presence(&flow, &axis, &lives))
            .collect();
        let pairs = pairs(&problem, &flow, &sources, &presence)?;
        let addresses = AddressColumns::add(&mut lp, items, pairs, unit, "peak_memory_usage");
        lives.rows(&flow, &axis, &mut lp);
        for (&(i, j), &[first, second]) in addresses.pairs.iter().zip(&addresses.below) {
            lp.add_row(..=1.0, [(first, 1.0), (second, 1.0)]);
            let [a, b] = [i, j].map(|i| &presence[i as usize]);
            for t in a.first.max(b.first)..=a.last().min(b.last()).min(axis.steps) {
                // An operator's workspace is in memory together with its outputs.
                let both = |c: &ColId| -1.0 - f64::from(u8::from(b.at(t).contains(c)));
                let of_first = a.at(t).iter().map(|c| (*c, both(c)));
                let of_second = b.at(t).iter().filter(|c| !a.at(t).contains(c));
                let there = of_first.chain(of_second.map(|c| (*c, -1.0)));
                lp.add_row(-1.0.., there.chain([(first, 1.0), (second, 1.0)]));
            }
        }
        addresses.rows(&mut lp);
        let model = lp.build().map_err(|e| ProgramError::Model(e.to_string()))?;
        Ok(JointProgram {
            problem,
            flow,
            axis,
            lives,
            addresses,
            owners,
            unit,
            model,
        })
    }

    /// The program.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Number of time steps.
    pub fn steps(&self) -> u32 {
        self.axis.steps
    }

    /// The point of an order, one operator a step, with an offset in bytes for each item. `None` if
    /// the order breaks an edge or needs more steps, or if an offset is missing or no multiple of
    /// the unit.
    pub fn point(
        &self,
        order: &[OperatorId],
        offsets: impl IntoIterator<Item = (LifeOf, u64)>,
    ) -> Option<Vec<f64>> {
        let known = order.iter().all(|v| v.index() < self.problem.len());
        let is_whole = known && order.len() == self.problem.len();
        let step_of = is_whole.then(|| self.axis.one_by_one(order))??;
        self.axis.allows(&self.problem, &step_of).then_some(())?;
        let offsets: std::collections::BTreeMap<_, _> = offsets.into_iter().collect();
        let units = |of: &LifeOf| {
            let offset = *offsets.get(of)?;
            offset.is_multiple_of(self.unit).then(|| offset / self.unit)
        };
        let offsets: Option<Vec<u64>> = self.owners.iter().map(units).collect();
        let mut x = vec![0.0; self.model.num_cols()];
        self.lives.point(&self.flow, &self.axis, &step_of, &mut x);
        self.addresses.point(&offsets?, &mut x)?;
        Some(x)
    }

    /// The order of a point, and the offset in bytes of each item.
    pub fn plan(&self, point: &[f64]) -> (Vec<OperatorId>, Vec<(LifeOf, u64)>) {
        let twice = self.lives.twice_step_of(&self.flow, &self.axis, point);
        let offsets = self.addresses.offsets(point);
        let offsets = offsets.into_iter().map(|o| o * self.unit);
        let offsets = self.owners.iter().copied().zip(offsets);
        (ordered(&self.problem, &twice), offsets.collect())
    }
}

/// Kind of an item.
#[derive(Clone, Copy, Debug)]
enum ItemKind {
    Tensor(usize),
    Workspace(usize),
}

impl ItemKind {
    fn presence(self, flow: &Flow, axis: &TimeAxis, lives: &LiveColumns) -> Presence {
        match self {
            ItemKind::Tensor(e) => {
                let of = &lives.tensors[e];
                let (first, last) = (of.steps[0], of.steps[of.steps.len() - 1]);
                let at = |t| {
                    of.generate_at(t)
                        .into_iter()
                        .chain(of.preserve_at(t))
                        .collect()
                };
                Presence {
                    columns: (first..=last).map(at).collect(),
                    first,
                }
            }
            ItemKind::Workspace(v) => {
                let window = axis.earliest[v]..=axis.latest[v];
                let made = |t| {
                    let output = flow.operators[v].outputs.first();
                    output.and_then(|e| lives.tensors[*e as usize].generate_at(t))
                };
                let run = lives.runs.iter().find(|run| run.operator as usize == v);
                let columns = match run {
                    Some(run) => run.columns.iter().map(|c| vec![*c]).collect(),
                    None => window.map(|t| made(t).into_iter().collect()).collect(),
                };
                Presence {
                    columns,
                    first: axis.earliest[v],
                }
            }
        }
    }

    /// The operator that takes the item.
    fn operator(self, flow: &Flow) -> u32 {
        match self {
            ItemKind::Tensor(e) => flow.tensors[e].source,
            ItemKind::Workspace(v) => v as u32,
        }
    }
}

impl Presence {
    fn last(&self) -> u32 {
        self.first + self.columns.len() as u32 - 1
    }

    fn at(&self, t: u32) -> &[ColId] {
        &self.columns[(t - self.first) as usize]
    }
}

/// All items with an address.
fn owners(problem: &OrderProblem, flow: &Flow) -> (Vec<LifeOf>, Vec<ItemKind>) {
    let tensors = problem.storages().iter().enumerate();
    let tensors = tensors.map(|(e, s)| (LifeOf::Storage(s.tensor), ItemKind::Tensor(e)));
    let operators = flow.operators.iter().enumerate();
    let works = operators.filter(|(_, operator)| operator.workspace_bytes > 0);
    let workspaces = works.map(|(v, _)| {
        let of = LifeOf::Workspace(OperatorId(v as u32));
        (of, ItemKind::Workspace(v))
    });
    tensors.chain(workspaces).unzip()
}

fn alignment(graph: &OrderGraph, of: LifeOf) -> u64 {
    let common = graph.data().alignment_bytes.max(1);
    match of {
        LifeOf::Storage(TensorId(t)) => graph.tensors()[t as usize].alignment_bytes.max(common),
        LifeOf::Workspace(_) => common,
    }
}

/// Items that may be in memory together.
fn pairs(
    problem: &OrderProblem,
    flow: &Flow,
    sources: &[ItemKind],
    presence: &[Presence],
) -> Result<Vec<(u32, u32)>, ProgramError> {
    let ancestors = flow.ancestors(problem);
    let is_before = |i: usize, j: usize| {
        let other = sources[j].operator(flow);
        match sources[i] {
            ItemKind::Tensor(e) => flow.is_read_before(e, other, &ancestors),
            ItemKind::Workspace(v) => v as u32 != other && ancestors.has(other, v as u32),
        }
    };
    let mut pairs = Vec::new();
    let mut rows = 0;
    for i in 0..sources.len() {
        for j in i + 1..sources.len() {
            let (a, b) = (&presence[i], &presence[j]);
            let apart = a.last() < b.first || b.last() < a.first;
            if !apart && !is_before(i, j) && !is_before(j, i) {
                pairs.push((i as u32, j as u32));
                rows += a.last().min(b.last()) + 1 - a.first.max(b.first);
            }
        }
        if rows as usize > COLUMN_LIMIT {
            let columns = 2 * pairs.len();
            return Err(ProgramError::TooLarge { columns });
        }
    }
    Ok(pairs)
}
