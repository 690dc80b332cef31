//! Instance, slots and columns of the compact program.

use super::{OffloadProgramError, Pauses};
use remat_formulations::bound::{TooSmall, smallest_budget};
use remat_formulations::offload::CopyPhase;
use remat_instances::instance::{Duplex, Instance, NodeId};
use remat_lp::{ColId, ModelBuilder};

/// View of an instance for the program.
pub(super) struct Parts {
    /// Inputs of each node.
    pub needs: Vec<Vec<usize>>,
    pub bytes: Vec<u64>,
    /// Cost of the first run and of a further one.
    pub cost: [Vec<u64>; 2],
    /// Workspace of the first run and of a further one, in bytes.
    pub workspace: [Vec<u64>; 2],
    /// The node that a by-product is computed with.
    pub parent: Vec<Option<usize>>,
    /// True if the node may run again.
    /// The last stage in which each node may be computed again.
    pub again_until: Vec<usize>,
    /// Times of the copy to the host and back, of tensors that may leave.
    pub copies: Vec<Option<[u64; 2]>>,
    /// Memory of the device in bytes, the fixed part taken off.
    pub capacity: u64,
    /// Memory of the host in bytes, where it has a limit.
    pub host_bytes: Option<u64>,
    /// True where one lane serves both directions.
    pub half_duplex: bool,
    /// The loss, if copies go before it and come after it.
    pub loss: Option<usize>,
}

impl Parts {
    pub fn new(
        instance: &Instance,
        budget_bytes: u64,
        copies: CopyPhase,
    ) -> Result<Parts, OffloadProgramError> {
        let name = || instance.name().to_owned();
        let link = instance.host_link();
        let link = link.ok_or_else(|| OffloadProgramError::NoLink { name: name() })?;
        let is_open = link.to_host_bytes_per_second > 0 && link.from_host_bytes_per_second > 0;
        let times = link.times(instance.cost_unit());
        if is_open && times.is_none() {
            let unit = instance.cost_unit().name.clone();
            return Err(OffloadProgramError::NoTime { unit });
        }
        let loss = match copies {
            CopyPhase::Any => None,
            CopyPhase::Loss => Some(instance.loss().ok_or_else(|| {
                let name = name();
                OffloadProgramError::NoLoss { name }
            })?),
        };
        let capacity = budget_bytes.checked_sub(instance.static_bytes());
        let capacity = capacity.ok_or_else(|| TooSmall {
            budget_bytes,
            ..smallest_budget(instance)
        })?;
        let copy_of = |id: NodeId| {
            let bytes = instance.node(id).output_bytes;
            let fits = link.host_memory_bytes.is_none_or(|most| bytes <= most);
            let may = is_open && fits && bytes > 0 && instance.may_offload(id);
            let times = times.as_ref().filter(|_| may)?;
            Some([times.to_host(bytes)?, times.from_host(bytes)?])
        };
        let nodes = instance.nodes();
        let indices = |id: NodeId| instance.needs(id).iter().map(|d| d.index()).collect();
        Ok(Parts {
            needs: instance.ids().map(indices).collect(),
            bytes: nodes.iter().map(|v| v.output_bytes).collect(),
            cost: [false, true].map(|again| nodes.iter().map(|v| v.run_cost(again)).collect()),
            workspace: [false, true]
                .map(|again| nodes.iter().map(|v| v.run_workspace_bytes(again)).collect()),
            parent: nodes.iter().map(|v| Some(v.parent()?.index())).collect(),
            again_until: instance
                .ids()
                .map(|i| instance.last_stage_again(i).index())
                .collect(),
            copies: instance.ids().map(copy_of).collect(),
            capacity,
            host_bytes: link.host_memory_bytes,
            half_duplex: link.duplex == Duplex::Half,
            loss: loss.map(NodeId::index),
        })
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Tensors that may still be read once the nodes before each stage have run, in order.
    fn live(&self) -> Vec<Vec<usize>> {
        let n = self.len();
        let mut live = vec![Vec::new(); n];
        let mut read = vec![false; n];
        for t in (0..n).rev() {
            for &i in &self.needs[t] {
                read[i] = true;
            }
            let mut is_live = read.clone();
            for u in (0..t).rev() {
                if is_live[u] && t <= self.again_until[u] {
                    for &i in &self.needs[u] {
                        is_live[i] = true;
                    }
                }
            }
            live[t] = (0..t).filter(|&i| is_live[i]).collect();
        }
        live
    }
}

/// A slot of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub stage: usize,
    /// The node that may run in it, or the node after the pause.
    pub node: usize,
    /// The number of the pause; `None` in a run.
    pub pause: Option<u32>,
}

impl Slot {
    /// Name of the slot in names of columns.
    pub fn name(self) -> String {
        let Slot { stage, node, pause } = self;
        match pause {
            None => format!("{stage}_{node}"),
            Some(turn) => format!("{stage}_{node}p{turn}"),
        }
    }

    /// True in a run of a node that ran before.
    pub fn is_again(self) -> bool {
        self.node < self.stage
    }
}

/// Columns of a tensor in successive slots.
#[derive(Clone, Debug, Default)]
pub(super) struct Track {
    begin: usize,
    columns: Vec<ColId>,
}

impl Track {
    /// The column of a slot, if there is one.
    pub fn at(&self, slot: usize) -> Option<ColId> {
        self.columns.get(slot.checked_sub(self.begin)?).copied()
    }
}

/// Columns of a tensor.
#[derive(Clone, Debug, Default)]
pub(super) struct Tracks {
    /// Slots in which it may be on the device: from after its first run to the last reader.
    pub begin: usize,
    pub end: usize,
    pub held: Track,
    /// Columns that only a tensor that may leave has.
    pub copied: Option<Copied>,
}

/// Columns of the copies of a tensor.
#[derive(Clone, Debug, Default)]
pub(super) struct Copied {
    pub filled: Track,
    pub arrived: Track,
    pub on_host: Track,
    pub out: Track,
    pub back: Track,
    pub sent: Track,
    pub come: Track,
    /// Columns with a limit of host memory.
    pub limited: Option<Limited>,
}

/// Columns of host buffers.
#[derive(Clone, Debug, Default)]
pub(super) struct Limited {
    pub filled: Track,
    pub complete: Track,
    pub unread: Track,
}

/// Slots and columns.
pub(super) struct Columns {
    pub slots: Vec<Slot>,
    /// The slots of runs, by stage and node; `None` if the node does not run again.
    pub runs: Vec<Vec<Option<usize>>>,
    /// The run, or the duration of the pause, by slot.
    pub own: Vec<ColId>,
    pub tensors: Vec<Tracks>,
}

impl Columns {
    pub fn add(lp: &mut ModelBuilder, p: &Parts, pauses: Pauses) -> Columns {
        let n = p.len();
        let live = p.live();
        let pauses = match pauses {
            _ if p.copies.iter().all(Option::is_none) => 0,
            Pauses::Uncounted => 1,
            Pauses::Counted(turns) => turns,
        };
        let mut slots = Vec::new();
        let mut runs = vec![vec![None; n]; n];
        let mut ends = vec![0; n];
        for (stage, live) in live.iter().enumerate() {
            let again = live.iter().copied().filter(|&k| stage <= p.again_until[k]);
            for node in again.chain([stage]) {
                let pause = |turn| Slot {
                    stage,
                    node,
                    pause: Some(turn),
                };
                slots.extend((0..pauses).map(pause));
                runs[stage][node] = Some(slots.len());
                slots.push(Slot {
                    stage,
                    node,
                    pause: None,
                });
            }
            for &i in live {
                ends[i] = slots.len();
            }
        }
        let mut columns = Columns {
            own: Vec::new(),
            tensors: Vec::new(),
            slots,
            runs,
        };
        columns.own = columns.slots.iter().map(|slot| own(lp, p, *slot)).collect();
        for (i, end) in ends.into_iter().enumerate() {
            let begin = columns.runs[i][i].map_or(0, |slot| slot + 1);
            let tracks = columns.tensor(lp, p, i, [begin, end.max(begin)]);
            columns.tensors.push(tracks);
        }
        columns
    }

    fn tensor(&self, lp: &mut ModelBuilder, p: &Parts, i: usize, span: [usize; 2]) -> Tracks {
        let [begin, end] = span;
        // The slot of the loss; no copy uses it.
        let loss = p.loss.and_then(|loss| self.runs[loss][loss]);
        let mut track = |letter: &str, is_whole: bool, may: &dyn Fn(usize) -> bool| Track {
            begin,
            columns: (begin..end)
                .map(|s| {
                    let col = lp.add_col(0.0, 0.0..=if may(s) { 1.0 } else { 0.0 });
                    lp.set_integer(col, is_whole);
                    lp.set_col_name(col, format!("{letter}_{}_{i}", self.slots[s].name()));
                    col
                })
                .collect(),
        };
        let any = |_: usize| true;
        let later = |s: usize| s > begin;
        let mut tracks = Tracks {
            begin,
            end,
            held: track("V", true, &any),
            copied: None,
        };
        if p.copies[i].is_some() {
            tracks.copied = Some(Copied {
                filled: track("B", true, &|s| {
                    s > begin && loss.is_none_or(|loss| s > loss)
                }),
                arrived: track("F", true, &later),
                on_host: track("G", true, &later),
                out: track("out", false, &|s| loss.is_none_or(|loss| s < loss)),
                back: track("back", false, &|s| loss.is_none_or(|loss| s > loss)),
                sent: track("sent", false, &later),
                come: track("come", false, &later),
                limited: p.host_bytes.map(|_| Limited {
                    filled: track("A", true, &any),
                    complete: track("E", true, &later),
                    unread: track("Y", false, &later),
                }),
            });
        }
        tracks
    }
}

/// Column of a run or of a pause.
fn own(lp: &mut ModelBuilder, p: &Parts, slot: Slot) -> ColId {
    let Slot { stage, node, pause } = slot;
    let (col, letter) = match pause {
        Some(_) => (lp.add_col(1.0, 0.0..), "W"),
        None => {
            let again = slot.is_again();
            let cost = p.cost[usize::from(again)][node] as f64;
            let least = if node == stage { 1.0 } else { 0.0 };
            let col = lp.add_col(cost, least..=1.0);
            lp.set_integer(col, true);
            (col, "R")
        }
    };
    lp.set_col_name(col, format!("{letter}_{}", slot.name()));
    col
}
