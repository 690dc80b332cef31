//! Search for a pipeline: inner problems are solved where bounds call for it.

use crate::classes::{Answer, Classes, solved};
use crate::intervals::Intervals;
use crate::path::{Cuts, IMPOSSIBLE, Outer};
use crate::pipeline::{Pipeline, PipelineError, PipelineSettings};
use crate::solution::{Arranged, PipelineSolution, StagePlan};
use remat_formulations::{Effort, Settings, SolveError};
use remat_instances::pipeline::arrangement::{Arrangement, Device};
use remat_instances::pipeline::stage::Stage;
use remat_instances::plan::{Plan, PlanDocument};
use remat_instances::simulate;
use remat_search::{Listener, Status, relative_gap};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Time of the first solve of an inner problem in seconds, and the factor of each further one.
const FIRST_SECONDS: f64 = 1.0;
const FURTHER: f64 = 4.0;
/// Gap of inner problems, as a share of the gap that is asked for.
const INNER_GAP: f64 = 0.5;
/// Solves of one inner problem at most.
const SOLVES: usize = 6;
/// Intervals get a knapsack's bound in advance up to this multiple of the slowest stage.
const LIKELY: f64 = 1.5;

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

pub(crate) struct Search<'p, 's, 'a> {
    pipeline: &'p Pipeline<'s, 'a>,
    settings: &'p PipelineSettings,
    listener: &'p dyn Listener,
    begun: Instant,
    intervals: Intervals<'s, 'a>,
    tables: Vec<Table>,
    /// Table of each stage.
    table_of: Vec<usize>,
    classes: Classes,
    /// Graph of each interval, by its place.
    graph_of: BTreeMap<usize, usize>,
    /// Tables and places of each class.
    places: Vec<Vec<(usize, usize)>>,
    solves: usize,
    nodes: u64,
    lp_iterations: u64,
}

impl<'p, 's, 'a> Search<'p, 's, 'a> {
    pub fn new(
        pipeline: &'p Pipeline<'s, 'a>,
        settings: &'p PipelineSettings,
        listener: &'p dyn Listener,
    ) -> Result<Self, PipelineError> {
        let begun = Instant::now();
        let intervals = pipeline.intervals()?;
        let mut search = Search {
            pipeline,
            settings,
            listener,
            begun,
            tables: Vec::new(),
            table_of: Vec::new(),
            classes: Classes::default(),
            graph_of: BTreeMap::new(),
            places: Vec::new(),
            solves: 0,
            nodes: 0,
            lp_iterations: 0,
            intervals,
        };
        let schedule = &pipeline.schedule;
        for stage in 0..schedule.stages() {
            let device = schedule.device_of(stage);
            let in_flight = schedule.in_flight_on(device);
            let device = pipeline.devices[device];
            let same = |t: &Table| t.device == device && t.in_flight == in_flight;
            let known = search.tables.iter().position(same);
            let table = known.unwrap_or_else(|| {
                let new = search.table(device, in_flight);
                search.tables.push(new);
                search.tables.len() - 1
            });
            search.table_of.push(table);
        }
        Ok(search)
    }

    /// A table with base costs as bounds.
    fn table(&self, device: Device, in_flight: u32) -> Table {
        let (intervals, count) = (&self.intervals, self.intervals.points());
        let mut lower = vec![IMPOSSIBLE; count * count];
        for i in 0..count {
            for j in i + 1..count {
                if intervals.fixed_bytes(i, j) <= device.budget_bytes {
                    lower[intervals.at(i, j)] = device.time(intervals.base_cost(i, j));
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

    /// Cuts by bounds, or by plans.
    fn best(&self, of: impl Fn(&Table) -> &Vec<u64>) -> Option<Cuts> {
        let outer = Outer {
            stages: self.table_of.len(),
            points: &self.intervals.sends,
            steps: u64::from(self.pipeline.schedule.microbatches() - 1),
            time: |s: usize, i: usize, j: usize| {
                of(&self.tables[self.table_of[s]])[self.intervals.at(i, j)]
            },
        };
        outer.best()
    }

    /// Table and place of each stage at some cuts.
    fn stages(&self, cuts: &Cuts) -> Vec<(usize, usize)> {
        let last = self.intervals.points() - 1;
        let begins = std::iter::once(0).chain(cuts.at.iter().copied());
        let ends = cuts.at.iter().copied().chain([last]);
        let places = begins.zip(ends).map(|(i, j)| self.intervals.at(i, j));
        self.table_of.iter().copied().zip(places).collect()
    }

    /// Each round takes the cuts of least objective by the bounds of all intervals, and solves the
    /// inner problems on them that are still open.
    pub fn run(mut self) -> Result<PipelineSolution, PipelineError> {
        let mut bound = 0;
        let Some(mut optimistic) = self.best(|t| &t.lower) else {
            return self.without_pipeline();
        };
        self.foresee(&optimistic)?;
        loop {
            let Some(next) = self.best(|t| &t.lower) else {
                return self.without_pipeline();
            };
            optimistic = next;
            bound = optimistic.objective.max(bound);
            let known = self.best(|t| &t.upper);
            let met = known
                .as_ref()
                .is_some_and(|known| relative_gap(known.objective, bound) <= self.settings.gap);
            if met || self.is_over() {
                return self.ended(known, bound);
            }
            let stages = self.stages(&optimistic);
            if self.classify(&stages)? {
                continue;
            }
            let open = self.open(&stages);
            if open.is_empty() {
                return self.ended(known, bound);
            }
            self.solve(&open)?;
        }
    }

    /// Gives the knapsack's bound to all intervals that are likely to matter.
    fn foresee(&mut self, cuts: &Cuts) -> Result<(), PipelineError> {
        let slowest = self.stages(cuts).into_iter();
        let slowest = slowest.map(|(t, at)| self.tables[t].lower[at]).max();
        let limit = (slowest.unwrap_or(0) as f64 * LIKELY) as u64;
        let mut likely = Vec::new();
        for (t, table) in self.tables.iter().enumerate() {
            let near = table
                .lower
                .iter()
                .enumerate()
                .filter(|(_, time)| **time <= limit);
            likely.extend(near.map(|(at, _)| (t, at)));
        }
        self.classify(&likely)?;
        Ok(())
    }

    /// Gives stages their classes. Returns whether a bound of one of them rose.
    fn classify(&mut self, stages: &[(usize, usize)]) -> Result<bool, PipelineError> {
        let mut rose = false;
        for &(t, at) in stages {
            if self.tables[t].class[at].is_some() {
                continue;
            }
            let (i, j) = (at / self.intervals.points(), at % self.intervals.points());
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
            let table = &self.tables[t];
            let capacity = table.device.budget_bytes - self.intervals.fixed_bytes(i, j);
            let class = self.classes.class(graph, table.in_flight, capacity)?;
            self.places.resize(self.classes.all.len(), Vec::new());
            self.places[class].push((t, at));
            self.tables[t].class[at] = Some(class);
            rose |= self.note(class);
        }
        Ok(rose)
    }

    /// Writes bound and plan of a class into the tables. Returns whether its bound rose.
    fn note(&mut self, class: usize) -> bool {
        let of = &self.classes.all[class];
        let mut rose = false;
        for &(t, at) in &self.places[class] {
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

    /// Classes of some stages that are open and may be solved again, the least solved alone.
    fn open(&self, stages: &[(usize, usize)]) -> Vec<usize> {
        let classes = stages
            .iter()
            .filter_map(|&(t, at)| self.tables[t].class[at]);
        let gap = self.settings.gap * INNER_GAP;
        let mut open: Vec<usize> = classes
            .filter(|&class| self.classes.all[class].is_open(gap))
            .filter(|&class| self.classes.all[class].solves < SOLVES)
            .collect();
        open.sort_unstable();
        open.dedup();
        let least = open
            .iter()
            .map(|&class| self.classes.all[class].solves)
            .min();
        open.retain(|&class| Some(self.classes.all[class].solves) == least);
        open
    }

    /// Solves classes side by side.
    fn solve(&mut self, open: &[usize]) -> Result<(), PipelineError> {
        let mut tasks = Vec::with_capacity(open.len());
        for &class in open {
            tasks.push((class, self.classes.instance(class)?, self.inner(class)));
        }
        let answers: Mutex<Vec<Option<Result<Answer, SolveError>>>> =
            Mutex::new(tasks.iter().map(|_| None).collect());
        let next = AtomicUsize::new(0);
        let threads = match self.settings.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let work = || {
            while let Some((class, graph, settings)) =
                tasks.get(next.fetch_add(1, Ordering::Relaxed))
            {
                let capacity = self.classes.all[*class].capacity_bytes;
                let left = self.left();
                let limit = settings
                    .time_limit
                    .map(|own| left.map_or(own, |left| own.min(left)));
                let settings = Settings {
                    time_limit: limit,
                    ..settings.clone()
                };
                let answer = solved(graph, capacity, settings, &Quiet(self.listener));
                let place = tasks.iter().position(|task| task.0 == *class);
                if let (Ok(mut all), Some(place)) = (answers.lock(), place) {
                    all[place] = Some(answer);
                }
            }
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads.min(tasks.len()))
                .map(|_| scope.spawn(work))
                .collect();
            work();
            for other in others {
                if let Err(panic) = other.join() {
                    std::panic::resume_unwind(panic);
                }
            }
        });
        let answers = answers.into_inner().unwrap_or_default();
        for ((class, ..), answer) in tasks.iter().zip(answers) {
            let Some(answer) = answer else { continue };
            let answer = answer?;
            self.solves += 1;
            self.nodes += answer.nodes;
            self.lp_iterations += answer.lp_iterations;
            for changed in self.classes.take(*class, answer) {
                self.note(changed);
            }
        }
        Ok(())
    }

    /// Settings of the next solve of a class.
    fn inner(&self, class: usize) -> Settings {
        let solves = self.classes.all[class].solves;
        let seconds = FIRST_SECONDS * FURTHER.powi(solves as i32);
        Settings {
            time_limit: self
                .settings
                .time_limit
                .map(|_| Duration::from_secs_f64(seconds)),
            effort: match solves {
                0 => Effort::Quick,
                _ => Effort::Full,
            },
            gap: self.settings.gap * INNER_GAP,
            overtime: 0.0,
            threads: 1,
            seed: self.settings.seed + solves as u64,
            ..Settings::default()
        }
    }

    fn left(&self) -> Option<Duration> {
        let limit = self.settings.time_limit?;
        Some(limit.saturating_sub(self.begun.elapsed()))
    }

    fn is_over(&self) -> bool {
        self.left() == Some(Duration::ZERO) || self.listener.is_interrupted()
    }

    fn without_pipeline(self) -> Result<PipelineSolution, PipelineError> {
        let because = format!(
            "at all {} positions every choice of {} cuts has a stage that no plan of its device fits",
            self.pipeline.positions.len(),
            self.table_of.len() - 1
        );
        let mut solution = self.ended(None, 0)?;
        solution.status = Status::Infeasible;
        solution.infeasible_because = Some(because);
        Ok(solution)
    }

    /// The answer: the plans of the best cuts, replayed as they are written.
    fn ended(self, cuts: Option<Cuts>, bound: u64) -> Result<PipelineSolution, PipelineError> {
        let pipeline = self.pipeline;
        let best = match &cuts {
            Some(cuts) => Some(self.arranged(cuts)?),
            None => None,
        };
        let met = |best: &Arranged| relative_gap(best.replay.objective, bound) <= self.settings.gap;
        let status = match &best {
            Some(best) if met(best) => Status::Optimal,
            _ if self.listener.is_interrupted() => Status::Interrupted,
            Some(_) => Status::Feasible,
            None => Status::Limit,
        };
        Ok(PipelineSolution {
            schedule: pipeline.schedule,
            devices: pipeline.devices.clone(),
            link: pipeline.link.clone(),
            positions: pipeline.positions.len(),
            bound: best
                .as_ref()
                .map_or(bound, |b| bound.min(b.replay.objective)),
            best,
            status,
            infeasible_because: None,
            elapsed: self.begun.elapsed(),
            solves: self.solves,
            nodes: self.nodes,
            lp_iterations: self.lp_iterations,
        })
    }

    fn arranged(&self, cuts: &Cuts) -> Result<Arranged, PipelineError> {
        let pipeline = self.pipeline;
        let positions = cuts.at.iter().map(|&p| self.intervals.positions[p]);
        let arrangement = Arrangement::new(pipeline.split, pipeline.schedule, positions.collect());
        let mut stages = Vec::new();
        for (stage, (t, at)) in self.stages(cuts).into_iter().enumerate() {
            let class = self.tables[t].class[at].map(|class| &self.classes.all[class]);
            let Some((class, (_, plan))) = class.and_then(|c| Some((c, c.best.as_ref()?))) else {
                continue;
            };
            let instance = arrangement.instance(stage, true)?;
            let plan = Plan {
                instance: instance.name().as_str().into(),
                ..plan.clone()
            };
            let replay = simulate::plan(&instance, &plan)?;
            let budget = Some(self.tables[t].device.budget_bytes);
            let document = PlanDocument::of(&instance, plan, &replay, budget);
            stages.push(StagePlan {
                instance,
                document,
                bound: class.lower.unwrap_or(0),
            });
        }
        let pairs: Vec<_> = stages
            .iter()
            .map(|s| (&s.instance, &s.document.plan))
            .collect();
        let replay = arrangement.replay(&pipeline.devices, pipeline.link.as_ref(), &pairs)?;
        for (device, (&peak_bytes, own)) in replay.peaks.iter().zip(&pipeline.devices).enumerate() {
            if peak_bytes > own.budget_bytes {
                return Err(PipelineError::OverBudget {
                    device,
                    peak_bytes,
                    budget_bytes: own.budget_bytes,
                });
            }
        }
        Ok(Arranged {
            cuts: arrangement.cuts().to_vec(),
            stages,
            replay,
        })
    }
}

/// A listener that may interrupt, and hears no progress.
struct Quiet<'a>(&'a dyn Listener);

impl Listener for Quiet<'_> {
    fn is_interrupted(&self) -> bool {
        self.0.is_interrupted()
    }
}
