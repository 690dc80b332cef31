//! Bounds and plans of all intervals, for each kind of stage.

use crate::classes::Classes;
use crate::descent::DeviceObjective;
use crate::intervals::Intervals;
use crate::path::{CutTime, Cuts, IMPOSSIBLE, Outer};
use remat_instances::instance::StructureError;
use remat_instances::pipeline::arrangement::Device;
use remat_instances::pipeline::stage::Stage;
use std::collections::BTreeMap;

/// Intervals get a knapsack's bound in advance up to this multiple of the slowest stage.
const LIKELY: f64 = 1.5;

/// What a search assumes about stages.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// Device of each stage.
    pub devices: Vec<Device>,
    /// Micro-batches in flight on each stage.
    pub in_flight: Vec<u32>,
    /// Times that the fixed memory of a stage's own nodes is on its device.
    pub copies: u64,
    /// Weight of the slowest stage in the objective.
    pub steps: u64,
    /// True if sends count.
    pub sends: bool,
    /// The objective, if several stages are on a device: cuts are improved for it.
    pub by_device: Option<DeviceObjective>,
}

/// Bounds and plans of all intervals of a kind of stage.
struct Table {
    device: Device,
    in_flight: u32,
    /// Lower bounds on the time, at `i * points + j`.
    lower: Vec<u64>,
    /// Times of plans.
    upper: Vec<u64>,
    class: Vec<Option<usize>>,
}

/// A stage at some cuts: its table, and the place of its interval.
pub(crate) type Spot = (usize, usize);

/// The tables of a search, with the inner problems behind them.
pub(crate) struct Tables<'s, 'a> {
    intervals: Intervals<'s, 'a>,
    copies: u64,
    steps: u64,
    by_device: Option<DeviceObjective>,
    cut_times: Vec<CutTime>,
    tables: Vec<Table>,
    /// Table of each stage.
    table_of: Vec<usize>,
    pub classes: Classes,
    /// Graph of each interval, by its place.
    graph_of: BTreeMap<usize, usize>,
    /// Stages of each class.
    spots: Vec<Vec<Spot>>,
}

impl<'s, 'a> Tables<'s, 'a> {
    /// Tables with base costs as bounds.
    pub fn new(intervals: Intervals<'s, 'a>, program: &Program) -> Self {
        let cut_times = match program.sends {
            true => intervals.sends.clone(),
            false => vec![CutTime::default(); intervals.points()],
        };
        let mut tables = Tables {
            copies: program.copies,
            steps: program.steps,
            by_device: program.by_device,
            cut_times,
            tables: Vec::new(),
            table_of: Vec::new(),
            classes: Classes::default(),
            graph_of: BTreeMap::new(),
            spots: Vec::new(),
            intervals,
        };
        for (&device, &in_flight) in program.devices.iter().zip(&program.in_flight) {
            let same = |t: &Table| t.device == device && t.in_flight == in_flight;
            let known = tables.tables.iter().position(same);
            let table = known.unwrap_or_else(|| {
                let new = tables.table(device, in_flight);
                tables.tables.push(new);
                tables.tables.len() - 1
            });
            tables.table_of.push(table);
        }
        tables
    }

    fn table(&self, device: Device, in_flight: u32) -> Table {
        let count = self.intervals.points();
        let mut lower = vec![IMPOSSIBLE; count * count];
        for i in 0..count {
            for j in i + 1..count {
                if self.capacity(&device, i, j).is_some() {
                    let base = self.intervals.base_cost(i, j);
                    lower[self.intervals.at(i, j)] = device.time(base);
                }
            }
        }
        Table {
            device,
            in_flight,
            lower,
            upper: vec![IMPOSSIBLE; count * count],
            class: vec![None; count * count],
        }
    }

    /// Memory beside fixed memory in bytes; `None` if the latter alone does not fit.
    fn capacity(&self, device: &Device, i: usize, j: usize) -> Option<u64> {
        let everywhere = self.intervals.everywhere;
        let own = self.intervals.fixed_bytes(i, j) - everywhere;
        let fixed = everywhere.checked_add(own.checked_mul(self.copies)?)?;
        device.budget_bytes.checked_sub(fixed)
    }

    /// Number of stages.
    pub fn stages(&self) -> usize {
        self.table_of.len()
    }

    /// Cuts of least objective by bounds.
    pub fn by_bounds(&self) -> Option<Cuts> {
        self.best(|t| &t.lower)
    }

    /// Cuts of least objective by plans.
    pub fn by_plans(&self) -> Option<Cuts> {
        self.best(|t| &t.upper)
    }

    fn best(&self, of: impl Fn(&Table) -> &Vec<u64>) -> Option<Cuts> {
        let outer = Outer {
            stages: self.stages(),
            points: &self.cut_times,
            steps: self.steps,
            time: |s: usize, i: usize, j: usize| {
                of(&self.tables[self.table_of[s]])[self.intervals.at(i, j)]
            },
        };
        let cuts = outer.best()?;
        Some(match &self.by_device {
            Some(objective) => objective.improved(&outer, cuts),
            None => cuts,
        })
    }

    /// The stages at some cuts.
    pub fn spots(&self, cuts: &Cuts) -> Vec<Spot> {
        let last = self.intervals.points() - 1;
        let begins = std::iter::once(0).chain(cuts.at.iter().copied());
        let ends = cuts.at.iter().copied().chain([last]);
        let places = begins.zip(ends).map(|(i, j)| self.intervals.at(i, j));
        self.table_of.iter().copied().zip(places).collect()
    }

    /// Positions of some cuts.
    pub fn positions(&self, cuts: &Cuts) -> Vec<u32> {
        let positions = cuts.at.iter().map(|&p| self.intervals.positions[p]);
        positions.collect()
    }

    /// The class of a stage, if it has one.
    pub fn class(&self, (table, place): Spot) -> Option<usize> {
        self.tables[table].class[place]
    }

    /// Gives the knapsack's bound to all intervals that are likely to matter at cuts like these.
    pub fn foresee(&mut self, cuts: &Cuts) -> Result<(), StructureError> {
        let times = self.spots(cuts).into_iter();
        let slowest = times.map(|(t, at)| self.tables[t].lower[at]).max();
        let limit = (slowest.unwrap_or(0) as f64 * LIKELY) as u64;
        let mut likely = Vec::new();
        for (t, table) in self.tables.iter().enumerate() {
            let near = table.lower.iter().enumerate();
            let near = near.filter(|(_, time)| **time <= limit);
            likely.extend(near.map(|(at, _)| (t, at)));
        }
        self.classify(&likely)?;
        Ok(())
    }

    /// Gives stages their classes. Returns whether a bound of one of them rose.
    pub fn classify(&mut self, spots: &[Spot]) -> Result<bool, StructureError> {
        let mut rose = false;
        for &(t, at) in spots {
            if self.tables[t].class[at].is_some() {
                continue;
            }
            let (i, j) = (at / self.intervals.points(), at % self.intervals.points());
            let table = &self.tables[t];
            let Some(capacity) = self.capacity(&table.device, i, j) else {
                continue;
            };
            let in_flight = table.in_flight;
            let graph = match self.graph_of.get(&at) {
                Some(graph) => *graph,
                None => {
                    let range = self.intervals.positions[i]..self.intervals.positions[j];
                    let stage = Stage::of(self.intervals.split, range);
                    let graph = self.classes.graph(stage.instance(0, 1, false)?);
                    self.graph_of.insert(at, graph);
                    graph
                }
            };
            let class = self.classes.class(graph, in_flight, capacity)?;
            self.spots.resize(self.classes.all.len(), Vec::new());
            self.spots[class].push((t, at));
            self.tables[t].class[at] = Some(class);
            rose |= self.note(class);
        }
        Ok(rose)
    }

    /// Writes bound and plan of a class into the tables. Returns whether its bound rose.
    pub fn note(&mut self, class: usize) -> bool {
        let of = &self.classes.all[class];
        let mut rose = false;
        for &(t, at) in &self.spots[class] {
            let table = &mut self.tables[t];
            let lower = of.lower.map_or(IMPOSSIBLE, |cost| table.device.time(cost));
            rose |= lower > table.lower[at];
            table.lower[at] = table.lower[at].max(lower);
            if let Some((cost, _)) = &of.best {
                table.upper[at] = table.device.time(*cost);
            }
        }
        rose
    }
}
