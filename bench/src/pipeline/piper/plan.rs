//! Plans of whole networks: the best one, and a replay that counts everything anew.

use super::intervals::{Intervals, Recomputation};
use super::network::Network;
use super::reference;
use remat_pipeline::path::{CutTime, Cuts, Outer};

/// A stage of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanStage {
    /// Layers, ascending.
    pub layers: Vec<usize>,
    /// Layers in their slower variant, ascending.
    pub changed: Vec<usize>,
}

/// A plan with the lower bound of its search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Stages, from first to last.
    pub stages: Vec<PlanStage>,
    /// Lower bound on the objective of every plan.
    pub bound: u64,
}

/// A problem: a network on equal devices.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// The network.
    pub network: &'a Network,
    /// Choice of the layers that a stage recomputes.
    pub recomputation: Recomputation,
    /// Memory of a device.
    pub budget: u64,
    /// Number of devices: stages at most.
    pub devices: u64,
    /// Micro-batches: stages at most, too.
    pub microbatches: u64,
}

/// Counts of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// `sum_s T_s + (n - 1) max_s T_s`.
    pub objective: u64,
    /// Time of the slowest stage, Piper's own objective.
    pub slowest: u64,
}

impl Problem<'_> {
    fn most_stages(&self) -> u64 {
        self.devices.min(self.microbatches)
    }

    /// The plan of least objective and Piper's plan; `None` where no plan fits.
    ///
    /// # Errors
    /// The reason, if the network has too many downsets or a cycle.
    pub fn solve(&self) -> Result<(Option<Plan>, Option<Plan>), String> {
        let (recomputation, budget) = (self.recomputation, self.budget);
        let most = self.most_stages();
        let intervals = Intervals::new(self.network, recomputation, budget, most)?;
        let piper = reference::plan(&intervals, most, self.microbatches);
        let piper = piper.and_then(|at| self.plan(&intervals, &at, true));
        let Some((objective, at)) = self.cuts(intervals.positions(), |k, i, j| {
            intervals.times(k, i, j).least
        }) else {
            return Ok((None, piper));
        };
        let bound = match intervals.is_exact() {
            true => Some(objective),
            false => self
                .cuts(intervals.positions(), |k, i, j| {
                    intervals.times(k, i, j).bound
                })
                .map(|(bound, _)| bound),
        };
        let ours = self.plan(&intervals, &at, false);
        let ours = ours.zip(bound).map(|(plan, bound)| Plan { bound, ..plan });
        Ok((ours, piper))
    }

    /// The plan of cuts, by the best rule or by Piper's, without a bound.
    fn plan(&self, intervals: &Intervals<'_>, at: &[usize], is_piper: bool) -> Option<Plan> {
        let count = at.len() - 1;
        let stage = |s: usize| {
            let decision = intervals.decide(is_piper, (count - s) as u64, (at[s], at[s + 1]))?;
            Some(PlanStage {
                layers: intervals.layers(at[s], at[s + 1]),
                changed: decision.changed,
            })
        };
        let stages: Option<Vec<PlanStage>> = (0..count).map(stage).collect();
        stages.map(|stages| Plan { stages, bound: 0 })
    }

    /// Cuts of least objective over all numbers of stages, as positions from begin to end; `time`
    /// takes micro-batches in flight, begin and end.
    fn cuts(
        &self,
        positions: usize,
        time: impl Fn(u64, usize, usize) -> u64,
    ) -> Option<(u64, Vec<usize>)> {
        let time = &time;
        let points = &vec![CutTime::default(); positions];
        let outer = |stages: usize| Outer {
            stages,
            points,
            steps: self.microbatches - 1,
            time: move |s, begin, end| time((stages - s) as u64, begin, end),
        };
        let counts = 1..=self.most_stages() as usize;
        let bounds = counts.filter_map(|count| Some((outer(count).quick_bound()?, count)));
        let mut bounds: Vec<(u64, usize)> = bounds.collect();
        bounds.sort_unstable();
        let mut best: Option<Cuts> = None;
        for (bound, count) in bounds {
            if best.as_ref().is_some_and(|best| bound >= best.objective) {
                break;
            }
            let cuts = outer(count).best()?;
            if best
                .as_ref()
                .is_none_or(|best| cuts.objective < best.objective)
            {
                best = Some(cuts);
            }
        }
        let Cuts { at, objective } = best?;
        let at = std::iter::once(0).chain(at).chain([points.len() - 1]);
        Some((objective, at.collect()))
    }

    /// Counts a plan anew from the network alone.
    ///
    /// # Errors
    /// The defect of a plan that cannot run.
    pub fn replay(&self, plan: &Plan) -> Result<Counted, String> {
        let network = self.network;
        let mut stage_of = vec![None; network.layers.len()];
        for (s, stage) in plan.stages.iter().enumerate() {
            for &layer in &stage.layers {
                if stage_of[layer].replace(s).is_some() {
                    return Err(format!("layer {layer} is on two stages"));
                }
            }
        }
        if let Some(layer) = stage_of.iter().position(Option::is_none) {
            return Err(format!("layer {layer} is on no stage"));
        }
        if plan.stages.len() as u64 > self.most_stages() {
            return Err(format!("{} stages are too many", plan.stages.len()));
        }
        let mut times = vec![0u64; plan.stages.len()];
        for (s, stage) in plan.stages.iter().enumerate() {
            let in_flight = (plan.stages.len() - s) as u64;
            let mut memory = 0;
            for layer in &stage.layers {
                let (faster, slower) = network.layers[*layer].by_time();
                let variant = match stage.changed.contains(layer) {
                    true => slower,
                    false => faster,
                };
                times[s] += variant.time;
                memory += variant.memory(in_flight);
            }
            if memory > self.budget {
                let over = memory - self.budget;
                return Err(format!(
                    "stage {s} is {over} hundredths of a byte too large"
                ));
            }
        }
        for edge in &network.edges {
            let (Some(from), Some(to)) = (stage_of[edge.from], stage_of[edge.to]) else {
                continue;
            };
            if from > to {
                return Err(format!(
                    "an edge leads from stage {from} back to stage {to}"
                ));
            }
            if from < to {
                times[from] += edge.time;
                times[to] += edge.time;
            }
        }
        let slowest = times.iter().copied().max().unwrap_or(0);
        let steady = (self.microbatches - 1).saturating_mul(slowest);
        Ok(Counted {
            objective: times.iter().sum::<u64>().saturating_add(steady),
            slowest,
        })
    }
}
