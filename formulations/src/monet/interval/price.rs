//! Prices of atoms from duals, and the cheapest intervals and lives of each tensor under them.

use super::{Interval, MonetGraph, Row, StartWay, Term, Which};
use crate::life::Exclusions;
use remat_solver::price::{Candidate, Number, Priced};
use std::collections::BTreeMap;

/// Price of every atom beyond its own cost, by tensor and stage.
#[derive(Clone, Debug)]
pub(super) struct AtomPrices<T> {
    width: usize,
    /// One unit of cost.
    one: T,
    stored: Vec<T>,
    held: Vec<T>,
    start: Vec<T>,
    in_place: Vec<T>,
    plain: Vec<T>,
    /// Of a byte of workspace.
    workspace: Vec<T>,
    choice: Vec<Vec<T>>,
    /// Of a start with at least so many bytes of workspace, where there is such a price.
    at_least: BTreeMap<usize, Vec<(i64, T)>>,
}

impl<T: Number> AtomPrices<T> {
    /// Prices of rows with duals: at least 0 for counts, at most 0 for memory (per byte), any for
    /// equations.
    pub fn new<'a>(graph: &MonetGraph, one: T, rows: impl Iterator<Item = (&'a Row, T)>) -> Self {
        let width = graph.stages + 2;
        let blank = || vec![T::ZERO; graph.columns * width];
        let mut p = AtomPrices {
            width,
            one,
            stored: blank(),
            held: blank(),
            start: blank(),
            in_place: blank(),
            plain: blank(),
            workspace: blank(),
            choice: graph
                .choices
                .iter()
                .map(|c| vec![T::ZERO; c.len()])
                .collect(),
            at_least: BTreeMap::new(),
        };
        for (row, y) in rows {
            if y == T::ZERO {
                continue;
            }
            for term in &row.terms {
                p.charge(term, -y);
            }
        }
        // Starts were charged by differences.
        for list in [&mut p.start, &mut p.in_place, &mut p.plain] {
            for life in list.chunks_exact_mut(width) {
                let mut sum = T::ZERO;
                for v in life {
                    sum = sum + *v;
                    *v = sum;
                }
            }
        }
        p
    }

    fn charge(&mut self, term: &Term, y: T) {
        let at = |node: u32, stage: u32| node as usize * self.width + stage as usize;
        match *term {
            Term::Start {
                node,
                first,
                last,
                which,
                coefficient,
            } => {
                let (from, to) = (at(node, first), at(node, last + 1));
                if which == Which::WithWorkspace {
                    self.workspace[from] = self.workspace[from] + y;
                }
                if let Which::AtLeast(bytes) = which {
                    let list = self.at_least.entry(from).or_default();
                    list.push((bytes, y.times(coefficient)));
                    return;
                }
                let list = match which {
                    Which::AtLeast(_) => return,
                    Which::All | Which::WithWorkspace => &mut self.start,
                    Which::InPlace => &mut self.in_place,
                    Which::Plain => &mut self.plain,
                };
                let y = y.times(coefficient);
                list[from] = list[from] + y;
                list[to] = list[to] - y;
            }
            Term::Stored {
                node,
                stage,
                coefficient,
            } => {
                let k = at(node, stage);
                self.stored[k] = self.stored[k] + y.times(coefficient);
            }
            Term::Held {
                node,
                stage,
                coefficient,
            } => {
                let k = at(node, stage);
                self.held[k] = self.held[k] + y.times(coefficient);
            }
            Term::Choice {
                stage,
                way,
                coefficient,
            } => {
                let slot = &mut self.choice[stage as usize][way as usize];
                *slot = *slot + y.times(coefficient);
            }
        }
    }

    /// Reduced costs of the starts of a node in a stage, with their ways: those that fit and are
    /// permitted.
    pub fn starts(
        &self,
        graph: &MonetGraph,
        exclusions: &Exclusions,
        node: u32,
        stage: u32,
    ) -> impl Iterator<Item = (T, u16)> {
        let at = node as usize * self.width + stage as usize;
        let at_least = self.at_least.get(&at);
        let price = move |s: &StartWay| {
            let kind = match s.in_place {
                true => self.in_place[at],
                false => self.plain[at],
            };
            let scratch = self.workspace[at].times(s.workspace);
            let above = at_least
                .into_iter()
                .flatten()
                .filter(|w| s.workspace >= w.0);
            let above = above.fold(T::ZERO, |sum, w| sum + w.1);
            self.one.times(s.cost as i64) + self.start[at] + kind + scratch + above
        };
        // A first start is forced: where none fits, all count.
        let fits_somehow = graph.fits_somehow(node, stage);
        let any = !fits_somehow && stage == 0 && graph.is_forced(node);
        let open = move |way: usize| {
            any || (graph.fits(node, stage, way) && exclusions.may_start(node, stage, way))
        };
        let ways = graph.starts(node, stage).iter().enumerate();
        ways.filter(move |(way, _)| open(*way))
            .map(move |(way, s)| (price(s), way as u16))
    }

    /// Goes through the stages of a tensor from its last use to the first. `found` is told the
    /// cheapest interval from each start. Returns the least total reduced cost of a life: intervals
    /// that follow each other, the first one in stage 0 where that is forced. What is not permitted
    /// is left out.
    pub fn sweep(
        &self,
        graph: &MonetGraph,
        exclusions: &Exclusions,
        node: u32,
        scratch: &mut AtomSweep<T>,
        mut found: impl FnMut(T, Interval),
    ) -> T {
        let last = graph.last_stored(node);
        let base = node as usize * self.width;
        let forced = graph.is_forced(node);
        scratch.stages.clear();
        if last == 0 && !forced {
            return T::ZERO;
        }
        scratch
            .stages
            .resize(last.max(1) as usize, SweptStage::default());
        // Cost of what is still to come: absent or stored at the start of stage t + 1.
        let (mut absent, mut stored) = (T::ZERO, T::ZERO);
        // The best end behind stage t: price of being stored from t + 1 up to it.
        let mut end: Option<(T, u32)> = None;
        for t in (0..last.max(1)).rev() {
            let step = &mut scratch.stages[t as usize];
            let next = t + 1;
            let mut keep = None;
            if next <= last && exclusions.may_hold(node, next) {
                let p = self.stored[base + next as usize];
                end = Some(match end {
                    Some((rest, e)) if rest < T::ZERO => (p + rest, e),
                    _ => (p, next),
                });
                keep = Some(p + stored);
                step.kept = Some((p, stored));
            } else {
                end = None;
            }
            let idle = absent;
            let go_on = keep.filter(|k| *k < absent).unwrap_or(absent);
            let starts = self.starts(graph, exclusions, node, t);
            let cheapest = starts.reduce(|a, b| if b.0 < a.0 { b } else { a });
            let Some((price, way)) = cheapest else {
                (stored, absent) = (go_on, idle);
                continue;
            };
            let mut interval = Interval {
                node,
                start: t,
                end: t,
                way,
                held: false,
            };
            let mut best = T::ZERO;
            // A life goes on, or ends, after a start in this stage.
            let mut passing = T::ZERO;
            if graph.is_read(node, t) {
                let held = self.held[base + t as usize];
                if held < best {
                    best = held;
                    interval.held = true;
                    passing = held;
                }
            }
            if let Some((p, e)) = end
                && p < best
            {
                best = p;
                interval.end = e;
                interval.held = false;
            }
            found(price + best, interval);
            let mut after = absent + passing;
            if let Some(k) = keep
                && k < after
            {
                after = k;
            }
            let anew = price + after;
            step.start = Some((price, passing, after));
            stored = if anew < go_on { anew } else { go_on };
            absent = if anew < idle || (forced && t == 0) {
                anew
            } else {
                idle
            };
        }
        absent
    }

    /// Reduced costs of the permitted choices of a stage, with their ways.
    pub fn choices(
        &self,
        graph: &MonetGraph,
        exclusions: &Exclusions,
        stage: usize,
    ) -> impl Iterator<Item = (T, usize)> {
        let all = graph.choices[stage].iter().enumerate();
        all.filter(move |(way, _)| exclusions.may_choose(stage, *way))
            .map(move |(way, c)| {
                let price = self.one.times(c.cost as i64) + self.choice[stage][way];
                (price, way)
            })
    }

    /// The least reduced cost of a choice in a stage with several.
    pub fn best_choice(&self, graph: &MonetGraph, exclusions: &Exclusions, stage: usize) -> T {
        let all = self.choices(graph, exclusions, stage).map(|c| c.0);
        let best = all.reduce(|a, b| if b < a { b } else { a });
        best.unwrap_or(T::ZERO)
    }
}

/// Prices that a sweep leaves behind for a stage.
#[derive(Clone, Copy, Debug)]
struct SweptStage<T> {
    /// Price of the cheapest start, of what it is held for in the stage, and of all that comes
    /// after it.
    start: Option<(T, T, T)>,
    /// Price of being stored when the next stage begins, and of all that comes after that.
    kept: Option<(T, T)>,
}

impl<T> Default for SweptStage<T> {
    fn default() -> Self {
        SweptStage {
            start: None,
            kept: None,
        }
    }
}

/// Prices that a sweep leaves behind, by stage.
#[derive(Clone, Debug)]
pub(super) struct AtomSweep<T> {
    stages: Vec<SweptStage<T>>,
}

impl<T: Number> AtomSweep<T> {
    pub fn new() -> Self {
        AtomSweep { stages: Vec::new() }
    }

    /// After a sweep: least totals of the lives that start in a stage, without the price of the
    /// start that is the cheapest (`starts(stage, total)`), and of those that are stored when a
    /// stage begins (`stored(stage, total)`); `None` where there is no such life. `forced`: a life
    /// starts in stage 0.
    pub fn totals(
        &self,
        forced: bool,
        mut starts: impl FnMut(u32, Option<T>),
        mut stored: impl FnMut(u32, Option<T>),
    ) {
        // Cost so far, absent and stored at the start of stage t.
        let (mut absent, mut present) = (Some(T::ZERO), None);
        for (t, step) in self.stages.iter().enumerate() {
            let come = least(absent, present);
            let started = come.zip(step.start);
            starts(t as u32, started.map(|(come, (_, _, after))| come + after));
            let made = started.map(|(come, (price, _, _))| come + price);
            let used = started.map(|(come, (price, passing, _))| come + price + passing);
            let idle = absent.filter(|_| !(forced && t == 0));
            absent = least(least(idle, present), used);
            present = least(present, made)
                .zip(step.kept)
                .map(|(come, (p, _))| come + p);
            let total = present.zip(step.kept).map(|(come, (_, rest))| come + rest);
            stored(t as u32 + 1, total);
        }
    }
}

fn least<T: Number>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b < a { b } else { a }),
        _ => a.or(b),
    }
}

/// Prices all intervals of all tensors at duals in the instance's unit of cost, per byte for memory
/// rows.
pub(super) fn price(
    graph: &MonetGraph,
    exclusions: &Exclusions,
    rows: &[Row],
    duals: &[f64],
    per_block: usize,
    tolerance: f64,
) -> Priced<Interval> {
    let priced = rows.iter().zip(duals.iter().copied());
    let worth = priced.clone().map(|(row, y)| y * row.right as f64);
    let mut out = Priced::new(graph.fixed_cost() as f64 + worth.sum::<f64>());
    let prices = AtomPrices::new(graph, 1.0, priced);
    let mut scratch = AtomSweep::new();
    let mut own: Vec<Candidate<Interval>> = Vec::new();
    for i in 0..graph.columns as u32 {
        own.clear();
        out.bound += prices.sweep(
            graph,
            exclusions,
            i,
            &mut scratch,
            |reduced_cost, interval| {
                if reduced_cost < -tolerance {
                    own.push(Candidate {
                        reduced_cost,
                        column: interval,
                    });
                }
            },
        );
        out.add_best(&mut own, per_block, |_| false);
    }
    let several = (0..graph.stages).filter(|&t| graph.choices[t].len() > 1);
    out.bound += several
        .map(|t| prices.best_choice(graph, exclusions, t))
        .sum::<f64>();
    out.sorted()
}
