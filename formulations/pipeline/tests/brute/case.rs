//! Random pipelines, and their optimum over all cuts and all schedules of stages.

use crate::draw::{Draw, training};
use crate::stage::{Graph, TooLong, crossing, legal};
use remat_instances::instance::{HostLink, Instance};
use remat_instances::pipeline::arrangement::Device;
use remat_instances::pipeline::fixed::FixedMemory;
use remat_instances::pipeline::schedule::{Schedule, ScheduleKind};
use remat_instances::pipeline::split::Split;
use remat_pipeline::{Devices, Pipeline};
use std::collections::BTreeMap;

/// A pipeline.
#[derive(Clone, Debug)]
pub struct Case {
    pub instance: Instance,
    pub gpipe: bool,
    pub microbatches: u32,
    /// Budget in bytes and speed in thousandths of each device.
    pub devices: Vec<(u64, u32)>,
    /// Bytes per second each way, and latency in nanoseconds.
    pub link: Option<[u64; 3]>,
    /// Positions of cuts; those that the product offers if there are no others.
    pub positions: Option<Vec<usize>>,
}

/// Least costs of stages: by begin, end, micro-batches in flight and room in bytes.
type Costs = BTreeMap<(usize, usize, u32, u64), Option<u64>>;

/// All ascending choices of so many values.
pub fn choices(values: &[usize], count: usize) -> Vec<Vec<usize>> {
    let Some(rest) = count.checked_sub(1) else {
        return vec![vec![]];
    };
    let firsts = values.iter().enumerate();
    firsts
        .flat_map(|(k, first)| {
            let others = choices(&values[k + 1..], rest);
            others
                .into_iter()
                .map(|other| [&[*first], &other[..]].concat())
        })
        .collect()
}

impl Case {
    /// A random pipeline; `None` if the graph has too few positions.
    pub fn draw(draw: &mut Draw) -> Option<Self> {
        let stages = 1 + draw.below(3) as usize;
        let room = 9 - stages as u64;
        // Small ones are more frequent.
        let more = draw.below(room).min(draw.below(room)) as usize;
        let forward = (stages + more).max(2);
        let instance = training(draw, forward);
        let mut case = Case {
            gpipe: draw.one_in(2),
            microbatches: 1 + draw.below(5) as u32,
            devices: vec![(1 << 20, Device::PLAIN_SPEED); stages],
            link: None,
            positions: draw.one_in(2).then(|| legal(&instance)),
            instance,
        };
        let positions = case.offered()?;
        if draw.one_in(2) {
            let mut speed = || [100_000_000, 1_000_000_000, 1_700_000_000][draw.below(3) as usize];
            let (to, from) = (speed(), speed());
            case.link = Some([to, from, draw.below(4)]);
        }
        case.budgets(draw, &positions);
        if draw.one_in(3) {
            for device in &mut case.devices {
                device.1 = [500, 1000, 1300, 2000][draw.below(4) as usize];
            }
        }
        Some(case)
    }

    /// Draws budgets around those that some cuts need.
    fn budgets(&mut self, draw: &mut Draw, positions: &[usize]) {
        let all = choices(positions, self.stages() - 1);
        let cuts = &all[draw.below(all.len() as u64) as usize];
        for stage in 0..self.stages() {
            let range = self.range(cuts, stage);
            let fixed = self.fixed(range);
            let graph = Graph::stage(&self.instance, range.0..range.1);
            let plain = graph.plain_bytes(self.in_flight(stage));
            self.devices[stage].0 = fixed + plain * (70 + draw.below(40)) / 100;
        }
        let equal = draw.one_in(2);
        let most = self.devices.iter().map(|device| device.0).max();
        for device in &mut self.devices {
            if equal {
                device.0 = most.unwrap_or(0);
            }
        }
    }

    pub fn stages(&self) -> usize {
        self.devices.len()
    }

    fn range(&self, cuts: &[usize], stage: usize) -> (usize, usize) {
        let (forward, _) = crate::stage::positions(&self.instance);
        let begin = stage.checked_sub(1).map_or(0, |before| cuts[before]);
        (begin, cuts.get(stage).copied().unwrap_or(forward))
    }

    fn fixed(&self, range: (usize, usize)) -> u64 {
        let split = Split::of(&self.instance).expect("a training graph");
        let range = range.0 as u32..range.1 as u32;
        FixedMemory::of(&split, self.microbatches).bytes(&[range])
    }

    fn in_flight(&self, stage: usize) -> u32 {
        match self.gpipe {
            true => self.microbatches,
            false => self.microbatches.min((self.stages() - stage) as u32),
        }
    }

    pub fn schedule(&self) -> Schedule {
        let kind = match self.gpipe {
            true => ScheduleKind::Gpipe,
            false => ScheduleKind::OneForwardOneBackward,
        };
        Schedule::new(kind, self.stages() as u32, self.microbatches).expect("a schedule")
    }

    /// Positions of cuts, if there are enough.
    pub fn offered(&self) -> Option<Vec<usize>> {
        let split = Split::of(&self.instance).expect("a training graph");
        let pipeline = self.pipeline(&split)?;
        let positions = pipeline.positions().iter();
        Some(positions.map(|p| *p as usize).collect())
    }

    /// The pipeline; `None` if it has too few positions.
    pub fn pipeline<'s, 'a>(&self, split: &'s Split<'a>) -> Option<Pipeline<'s, 'a>> {
        let texts = self
            .devices
            .iter()
            .map(|(bytes, speed)| (bytes.to_string(), format!("{}", f64::from(*speed) / 1e3)));
        let (budgets, speeds): (Vec<_>, Vec<_>) = texts.unzip();
        let (budgets, speeds) = (budgets.join(","), speeds.join(","));
        let devices = Devices::parse(self.stages(), &budgets, Some(&speeds)).expect("devices");
        let pipeline = Pipeline::new(split, self.schedule(), &devices);
        let pipeline = pipeline
            .ok()?
            .link(self.link.map(|[to, from, latency]| HostLink {
                latency_ns: latency,
                ..HostLink::new(to, from)
            }));
        let Some(positions) = &self.positions else {
            return Some(pipeline);
        };
        let name = |p: &usize| self.instance.nodes()[*p].name.to_string();
        let names: Vec<String> = positions.iter().map(name).collect();
        pipeline.cut_before(&names).ok()
    }

    /// Times of sends over a cut in both directions.
    fn sends(&self, cut: usize) -> [u64; 2] {
        let Some([to, from, latency]) = self.link else {
            return [0; 2];
        };
        let [ahead, back] = crossing(&self.instance, cut);
        let time = |bytes: u64, speed: u64| match bytes {
            0 => 0,
            _ => latency + (bytes * 1_000_000_000).div_ceil(speed),
        };
        [time(ahead, to), time(back, from)]
    }

    /// Least objective at some cuts; `None` if a stage does not fit.
    fn objective(&self, cuts: &[usize], costs: &mut Costs) -> Result<Option<u64>, TooLong> {
        let mut times = Vec::new();
        for stage in 0..self.stages() {
            let range = self.range(cuts, stage);
            let (budget, speed) = self.devices[stage];
            let Some(room) = budget.checked_sub(self.fixed(range)) else {
                return Ok(None);
            };
            let k = self.in_flight(stage);
            let key = (range.0, range.1, k, room);
            let known = costs.get(&key).copied();
            let cost = match known {
                Some(cost) => cost,
                None => Graph::stage(&self.instance, range.0..range.1).least(k, room)?,
            };
            costs.insert(key, cost);
            let Some(cost) = cost else { return Ok(None) };
            times.push((cost * 1000).div_ceil(u64::from(speed)));
        }
        let sends = cuts.iter().flat_map(|cut| self.sends(*cut));
        times.extend(sends);
        let slowest = times.iter().max().copied().unwrap_or(0);
        let sum: u64 = times.iter().sum();
        Ok(Some(sum + u64::from(self.microbatches - 1) * slowest))
    }

    /// Least objective of all cuts; `None` if no cuts fit.
    pub fn optimum(&self) -> Result<Option<u64>, TooLong> {
        let mut costs = Costs::new();
        let mut best: Option<u64> = None;
        let positions = self.offered().unwrap_or_default();
        for cuts in choices(&positions, self.stages() - 1) {
            let own = self.objective(&cuts, &mut costs)?;
            best = best.into_iter().chain(own).min();
        }
        Ok(best)
    }
}
