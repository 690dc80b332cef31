//! Prices of atoms from duals, and the cheapest intervals and lives of each tensor under them.

use super::{Graph, Interval, Row, Start, Term, Which};
use crate::interval::{Candidate, Number, Pricing};
use std::collections::BTreeMap;

/// What every atom costs beyond its own cost, by tensor and stage.
#[derive(Clone, Debug)]
pub(super) struct Prices<T> {
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

impl<T: Number> Prices<T> {
    /// Prices of rows with duals: at least 0 for counts, at most 0 for memory (per byte), any for equations.
    pub fn new<'a>(graph: &Graph, one: T, rows: impl Iterator<Item = (&'a Row, T)>) -> Self {
        let width = graph.stages + 2;
        let blank = || vec![T::ZERO; graph.columns * width];
        let mut p = Prices {
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

    /// Reduced cost of a start, and its way; `None` where none fits and the start is not forced.
    fn best_start(&self, graph: &Graph, node: u32, stage: u32) -> Option<(T, u16)> {
        let at = node as usize * self.width + stage as usize;
        let at_least = self.at_least.get(&at);
        let price = |s: &Start| {
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
        let fits_somehow = graph.fits_somehow(node, stage);
        let forced = stage == 0 && graph.is_forced(node);
        if !fits_somehow && !forced {
            return None;
        }
        let mut best: Option<(T, u16)> = None;
        for (k, s) in graph.starts(node, stage).iter().enumerate() {
            if fits_somehow && !graph.fits(node, stage, k) {
                continue;
            }
            let p = price(s);
            if best.is_none_or(|b| p < b.0) {
                best = Some((p, k as u16));
            }
        }
        best
    }

    /// Goes through the stages of a tensor from its last use to the first. `found` is told the cheapest interval from each
    /// start. Returns the least total reduced cost of a life: intervals that follow each other, the first one in stage 0
    /// where that is forced.
    pub fn sweep(&self, graph: &Graph, node: u32, mut found: impl FnMut(T, Interval)) -> T {
        let last = graph.last_stored(node);
        let base = node as usize * self.width;
        let forced = graph.is_forced(node);
        if last == 0 && !forced {
            return T::ZERO;
        }
        // Cost of what is still to come: absent or stored at the start of stage t + 1.
        let (mut absent, mut stored) = (T::ZERO, T::ZERO);
        // The best end behind stage t: price of being stored from t + 1 up to it.
        let mut end: Option<(T, u32)> = None;
        for t in (0..last.max(1)).rev() {
            let next = t + 1;
            let mut keep = None;
            if next <= last {
                let p = self.stored[base + next as usize];
                end = Some(match end {
                    Some((rest, e)) if rest < T::ZERO => (p + rest, e),
                    _ => (p, next),
                });
                keep = Some(p + stored);
            }
            let idle = absent;
            let go_on = keep.filter(|k| *k < absent).unwrap_or(absent);
            let Some((price, way)) = self.best_start(graph, node, t) else {
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
            let mut after = absent;
            if graph.is_read(node, t) {
                let held = self.held[base + t as usize];
                if held < best {
                    best = held;
                    interval.held = true;
                }
                if held < T::ZERO {
                    after = after + held;
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
            if let Some(k) = keep
                && k < after
            {
                after = k;
            }
            let anew = price + after;
            stored = if anew < go_on { anew } else { go_on };
            absent = if anew < idle || (forced && t == 0) {
                anew
            } else {
                idle
            };
        }
        absent
    }

    /// The least reduced cost of a choice in a stage with several.
    pub fn best_choice(&self, graph: &Graph, stage: usize) -> T {
        let price = |(way, c): (usize, &super::Choice)| {
            self.one.times(c.cost as i64) + self.choice[stage][way]
        };
        let mut all = graph.choices[stage].iter().enumerate().map(price);
        let first = all.next().unwrap_or(T::ZERO);
        all.fold(first, |best, p| if p < best { p } else { best })
    }
}

/// Prices all intervals of all tensors at duals in the instance's unit of cost, per byte for memory rows.
pub(super) fn price(
    graph: &Graph,
    rows: &[Row],
    duals: &[f64],
    per_tensor: usize,
    tolerance: f64,
) -> Pricing<Interval> {
    let priced = rows.iter().zip(duals.iter().copied());
    let worth = priced.clone().map(|(row, y)| y * row.right as f64);
    let mut out = Pricing::new(graph.fixed_cost() as f64 + worth.sum::<f64>());
    let prices = Prices::new(graph, 1.0, priced);
    let mut own: Vec<Candidate<Interval>> = Vec::new();
    for i in 0..graph.columns as u32 {
        own.clear();
        out.bound += prices.sweep(graph, i, |reduced_cost, interval| {
            if reduced_cost < -tolerance {
                own.push(Candidate {
                    reduced_cost,
                    interval,
                });
            }
        });
        out.take(&mut own, per_tensor, |_| false);
    }
    let several = (0..graph.stages).filter(|&t| graph.choices[t].len() > 1);
    out.bound += several.map(|t| prices.best_choice(graph, t)).sum::<f64>();
    out.finish()
}
