//! Paths through a network whose arcs have switches. With all arcs switched off a solution is
//! feasible but has no flow, and a dive that rounds fractional switches mostly ends there. A walk
//! switches arcs on, one after another from an entry to an exit of the flow. It propagates after
//! each arc and backtracks at contradictions. A dive then continues from the complete path.

use super::diving::Rule;
use crate::mip::domain::Domain;
use crate::mip::problem::Problem;
use crate::mip::relaxation::Relaxed;
use crate::mip::worker::{RoundShared, Worker};
use remat_lp::ModelError;
use remat_lp::random::SplitMix64;

/// Limit on paths tried, and on consecutive paths without a better solution.
const MOST_PATHS: usize = 100;
const MOST_FAILURES: usize = 4;

/// Contradictions after which a walk is given up, and the divisor of the budget for its share of
/// ticks: a walk with a wrong start takes long.
const MOST_CONTRADICTIONS: usize = 200;
const WALK_SHARE: u64 = 3;

/// A column of flow between two rows that conserve it. `None` stands for the outside world.
#[derive(Clone, Copy, Debug, PartialEq)]
struct FlowArc {
    col: usize,
    tail: Option<usize>,
    head: Option<usize>,
    /// The binary column that must be 1 for any flow.
    switch: Option<usize>,
}

/// A network within a program: rows that state the conservation of flow.
#[derive(Debug, Default)]
struct FlowNetwork {
    arcs: Vec<FlowArc>,
    /// Arcs that enter from outside, and arcs that leave each node.
    entering: Vec<usize>,
    leaving: Vec<Vec<usize>>,
}

impl FlowNetwork {
    /// The network of a program, if it has flow that enters, leaves and is switched.
    fn of(p: &Problem) -> Option<FlowNetwork> {
        let node = conserving_rows(p);
        let sign = orientations(p, &node)?;
        let mut network = FlowNetwork {
            leaving: vec![Vec::new(); p.num_rows()],
            ..FlowNetwork::default()
        };
        let (mut leaves, mut switched) = (false, false);
        for col in 0..p.num_cols() {
            let mut arc = FlowArc {
                col,
                tail: None,
                head: None,
                switch: None,
            };
            for (i, a) in p.cols.iter(col).filter(|&(i, _)| node[i]) {
                match a * sign[i] > 0.0 {
                    true => arc.head = Some(i),
                    false => arc.tail = Some(i),
                }
            }
            if arc.head.is_none() && arc.tail.is_none() {
                continue;
            }
            arc.switch = switch_of(p, col);
            leaves |= arc.head.is_none();
            switched |= arc.switch.is_some();
            let k = network.arcs.len();
            match arc.tail {
                Some(i) => network.leaving[i].push(k),
                None => network.entering.push(k),
            }
            network.arcs.push(arc);
        }
        (leaves && switched && !network.entering.is_empty()).then_some(network)
    }
}

/// Marks the equations of nonnegative continuous columns only, with coefficients of one size and
/// both signs.
fn conserving_rows(p: &Problem) -> Vec<bool> {
    let row = |i: usize| {
        let (index, value) = p.rows.vector(i);
        let flows = |&j: &u32| !p.integer[j as usize] && p.lower[j as usize] >= 0.0;
        p.row_lower[i] == 0.0
            && p.row_upper[i] == 0.0
            && value.iter().all(|a| a.abs() == value[0].abs())
            && value.iter().any(|a| *a > 0.0)
            && value.iter().any(|a| *a < 0.0)
            && index.iter().all(flows)
    };
    (0..p.num_rows()).map(row).collect()
}

/// Signs with which every column enters one of its rows and leaves the other; `None` if they do not
/// exist.
fn orientations(p: &Problem, node: &[bool]) -> Option<Vec<f64>> {
    let mut sign = vec![0.0; node.len()];
    for first in (0..node.len()).filter(|&i| node[i]) {
        if sign[first] != 0.0 {
            continue;
        }
        sign[first] = 1.0;
        let mut open = vec![first];
        while let Some(i) = open.pop() {
            for (j, a) in p.rows.iter(i) {
                let mut others = p.cols.iter(j).filter(|&(k, _)| node[k] && k != i);
                let Some((k, b)) = others.next() else {
                    continue;
                };
                let opposite = -(a * b).signum() * sign[i];
                if others.next().is_some() || sign[k] == -opposite {
                    return None;
                }
                if sign[k] == 0.0 {
                    sign[k] = opposite;
                    open.push(k);
                }
            }
        }
    }
    Some(sign)
}

/// The binary column `z` of a row `x <= u z`.
fn switch_of(p: &Problem, col: usize) -> Option<usize> {
    p.cols.iter(col).find_map(|(i, a)| {
        let (index, value) = p.rows.vector(i);
        let [j, k] = *index else {
            return None;
        };
        let (z, b) = match j as usize == col {
            true => (k as usize, value[1]),
            false => (j as usize, value[0]),
        };
        let side = if a > 0.0 {
            p.row_upper[i]
        } else {
            -p.row_lower[i]
        };
        let binary = p.integer[z] && p.lower[z] == 0.0 && p.upper[z] == 1.0;
        (binary && side == 0.0 && a * b < 0.0).then_some(z)
    })
}

/// A place of a walk: candidate arcs for the next step (the best one last), and the state before
/// them.
struct Fork {
    arcs: Vec<usize>,
    mark: usize,
    node: Option<usize>,
    /// True if the walk to this place has switched on an arc.
    new: bool,
}

impl Worker {
    /// Looks for solutions along paths, for about `budget` ticks, if the incumbent has no flow.
    pub(crate) fn paths(
        &mut self,
        shared: &RoundShared,
        x: &[f64],
        budget: u64,
    ) -> Result<bool, ModelError> {
        let p = shared.problem.clone();
        let Some(network) = FlowNetwork::of(&p) else {
            return Ok(false);
        };
        // If the incumbent has flow, neighbourhoods around it do better.
        let flows = |x: &[f64]| {
            network
                .entering
                .iter()
                .any(|&k| x[network.arcs[k].col] > 1e-3)
        };
        if self.best.as_ref().is_some_and(|best| flows(&best.x)) {
            return Ok(false);
        }
        let last = self.ticks() + budget;
        let snapshot = self.relax.snapshot();
        let first = self.domain.mark();
        // State with all useful paths so far.
        let mut mark = first;
        let mut random = SplitMix64::new(shared.settings.first_seed());
        let (mut found, mut failures) = (false, 0);
        for turn in 0..MOST_PATHS {
            if self.ticks() > last || shared.stopped() {
                break;
            }
            let before = self.report.solutions.len();
            let mut chance = |flow: f64| match turn {
                0 => flow,
                _ => (1e-3 + flow) * random.unit(),
            };
            let mut end = mark;
            let late = last.min(self.ticks() + budget / WALK_SHARE);
            if let Some(x) = self.walk(shared, &network, x, late, &mut chance)? {
                end = self.domain.mark();
                let rule = [Rule::Fractional, Rule::Up, Rule::Coefficient][turn % 3];
                let x = self.only_these(shared, &network)?.unwrap_or(x);
                self.dive_down(shared, x, rule)?;
            }
            let better = self.report.solutions.len() > before;
            if better {
                (found, failures, mark) = (true, 0, end);
            } else {
                failures += 1;
                if failures == MOST_FAILURES {
                    if found && mark == first {
                        break;
                    }
                    (failures, mark) = (0, first);
                }
            }
            self.domain.undo(&shared.problem, mark);
            self.relax.restore(&snapshot)?;
        }
        self.domain.undo(&shared.problem, first);
        self.sync_bounds(shared)?;
        Ok(found)
    }

    /// Switches off all arcs that are not switched on. Returns the relaxation's point if that is
    /// feasible.
    fn only_these(
        &mut self,
        shared: &RoundShared,
        network: &FlowNetwork,
    ) -> Result<Option<Vec<f64>>, ModelError> {
        let p = &shared.problem;
        self.domain.begin_level();
        for z in network.arcs.iter().filter_map(|arc| arc.switch) {
            if self.domain.lower[z] == 0.0 {
                self.domain.tighten_upper(p, z, 0.0);
            }
        }
        if self.domain.infeasible || !self.domain.propagate(p) {
            return Ok(None);
        }
        self.sync_bounds(shared)?;
        let limit = 1_000 + 2 * shared.root_iterations;
        Ok(match self.relax.probe(self.cutoff, limit, &self.domain) {
            Relaxed::Solved(s, _) => Some(s.x),
            _ => None,
        })
    }

    /// Switches on the arcs of a path from outside to outside. Returns the relaxation's point
    /// there, or `None` if there is no path. The caller undoes the changes.
    fn walk(
        &mut self,
        shared: &RoundShared,
        network: &FlowNetwork,
        x: &[f64],
        last_tick: u64,
        merit: &mut impl FnMut(f64) -> f64,
    ) -> Result<Option<Vec<f64>>, ModelError> {
        let p = &shared.problem;
        // Arcs that leave the network are tried first.
        let mut sorted = |arcs: &[usize], x: &[f64]| {
            let mut ranked: Vec<(bool, f64, usize)> = (arcs.iter())
                .map(|&k| (&network.arcs[k], k))
                .map(|(arc, k)| (arc.head.is_none(), merit(x[arc.col]), k))
                .collect();
            ranked.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(b.2.cmp(&a.2)));
            ranked.into_iter().map(|(_, _, k)| k).collect()
        };
        let limit = 200 + 2 * shared.root_iterations;
        let mut visited = vec![false; network.leaving.len()];
        let mut contradictions = 0;
        let mut point = x.to_vec();
        let mut forks = vec![Fork {
            arcs: sorted(&network.entering, x),
            mark: self.domain.mark(),
            node: None,
            new: false,
        }];
        while let Some(fork) = forks.last_mut() {
            self.domain.undo(&shared.problem, fork.mark);
            let Some(k) = fork.arcs.pop() else {
                if let Some(i) = fork.node {
                    visited[i] = false;
                }
                forks.pop();
                continue;
            };
            let arc = network.arcs[k];
            if arc.head.is_some_and(|i| visited[i]) || self.domain.upper[arc.col] <= 0.0 {
                continue;
            }
            if contradictions > MOST_CONTRADICTIONS || self.ticks() > last_tick || shared.stopped()
            {
                break;
            }
            let new = fork.new || arc.switch.is_some_and(|z| self.domain.lower[z] < 1.0);
            if arc.head.is_none() && !new {
                continue;
            }
            // Bounds alone do not show the capacity left by the earlier arcs.
            let relaxed = match switches_on(&mut self.domain, p, arc) {
                true => {
                    self.sync_bounds(shared)?;
                    self.relax.probe(self.cutoff, limit, &self.domain)
                }
                false => Relaxed::Infeasible,
            };
            match relaxed {
                Relaxed::Solved(s, _) => point = s.x,
                // The solve hit its limit; later steps continue from its basis.
                Relaxed::Failed => {}
                _ => {
                    contradictions += 1;
                    continue;
                }
            }
            let Some(i) = arc.head else {
                return Ok(Some(point));
            };
            visited[i] = true;
            forks.push(Fork {
                arcs: sorted(&network.leaving[i], &point),
                mark: self.domain.mark(),
                node: Some(i),
                new,
            });
        }
        Ok(None)
    }
}

/// Switches an arc on; returns whether propagation finds no contradiction.
fn switches_on(domain: &mut Domain, p: &Problem, arc: FlowArc) -> bool {
    if let Some(z) = arc.switch {
        domain.begin_level();
        domain.fix(p, z, 1.0);
    }
    !domain.infeasible && domain.propagate(p)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mip::{Limits, Settings, SolveStatus, Solver};
    use remat_lp::{Bounds, ColId, Model, ModelBuilder, Sense};

    const LAYERS: f64 = 12.0;
    const MOST_HELD: usize = 4;

    /// Machines hold consecutive layers and pass their output to the machines with the next layers.
    /// All layers must be passed from the source to the sink, and a machine with many layers is
    /// slow. `turned` lists the machines whose flow row has the opposite sign.
    fn pipeline(machines: usize, turned: &[usize]) -> Model {
        let mut b = ModelBuilder::new(Sense::Maximise);
        let inf = f64::INFINITY;
        let binary = |b: &mut ModelBuilder| {
            let z = b.add_col(0.0, Bounds::new(0.0, 1.0));
            b.set_integer(z, true);
            z
        };
        let held: Vec<Vec<ColId>> = (0..machines)
            .map(|_| (0..MOST_HELD).map(|_| binary(&mut b)).collect())
            .collect();
        let start: Vec<ColId> = (0..machines)
            .map(|_| {
                let s = b.add_col(0.0, Bounds::new(0.0, LAYERS));
                b.set_integer(s, true);
                s
            })
            .collect();
        let ends = |i: usize, sign: f64| {
            let held = held[i].iter().enumerate();
            let held = held.map(move |(k, &z)| (z, sign * (k + 1) as f64));
            held.chain([(start[i], sign)]).collect::<Vec<_>>()
        };
        let mut conserve = vec![Vec::new(); machines];
        let mut enters = vec![Vec::new(); machines];
        let outside = machines;
        for from in 0..=machines {
            for to in (0..=machines).filter(|&to| to != from) {
                let flow = b.add_col(f64::from(u8::from(from == outside)), Bounds::new(0.0, inf));
                let switch = binary(&mut b);
                b.add_row(Bounds::new(-inf, 0.0), [(flow, 1.0), (switch, -1e6)]);
                if to < outside {
                    conserve[to].push((flow, 1.0));
                    enters[to].push((flow, 1.0));
                }
                if from < outside {
                    conserve[from].push((flow, -1.0));
                }
                // The switch is on only between layers that meet.
                let last = match from < outside {
                    true => ends(from, 1.0),
                    false => Vec::new(),
                };
                let (first, side) = match to < outside {
                    true => (vec![(start[to], -1.0)], 0.0),
                    false => (Vec::new(), LAYERS),
                };
                let meets: Vec<_> = last.into_iter().chain(first).collect();
                let with = |m: f64| meets.iter().copied().chain([(switch, m)]);
                b.add_row(Bounds::new(-inf, side + LAYERS), with(LAYERS));
                b.add_row(Bounds::new(side - LAYERS, inf), with(-LAYERS));
            }
        }
        for i in 0..machines {
            let sign = if turned.contains(&i) { -2.0 } else { 1.0 };
            let flows = conserve[i]
                .iter()
                .map(|&(flow, a): &(ColId, f64)| (flow, sign * a));
            b.add_row(Bounds::new(0.0, 0.0), flows);
            b.add_row(Bounds::new(1.0, 1.0), held[i].iter().map(|&z| (z, 1.0)));
            b.add_row(Bounds::new(-inf, LAYERS), ends(i, 1.0));
            let speed = |(k, &z): (usize, &ColId)| (z, -60.0 / (k + 1) as f64);
            let speed = held[i].iter().enumerate().map(speed);
            b.add_row(
                Bounds::new(-inf, 0.0),
                enters[i].iter().copied().chain(speed),
            );
        }
        b.build().unwrap()
    }

    #[test]
    fn a_network_is_found_whichever_way_its_rows_are_written() {
        let network = |turned| FlowNetwork::of(&Problem::as_given(&pipeline(3, turned))).unwrap();
        let plain = network(&[]);
        assert_eq!(plain.arcs.len(), 3 * 2 + 2 * 3);
        assert_eq!(plain.entering.len(), 3);
        assert!(plain.arcs.iter().all(|arc| arc.switch.is_some()));
        assert_eq!(network(&[1, 2]).arcs, plain.arcs);
    }

    #[test]
    fn something_flows_before_the_tree() {
        let model = pipeline(6, &[2]);
        let settings = Settings {
            sub_mips: false,
            limits: Limits {
                nodes: Some(1),
                ..Limits::default()
            },
            ..Settings::default()
        };
        let result = Solver::new(model, settings).run().unwrap();
        assert_ne!(result.status, SolveStatus::Infeasible);
        // Twelve layers on three machines of four: the smallest flow of a complete path.
        assert!(result.solution.unwrap().objective >= 15.0 - 1e-6);
    }
}
