//! Reliability branching: strong branching on columns with unreliable pseudo-costs (Achterberg,
//! Koch & Martin 2005).

use super::{Child, RoundShared, Worker};
use crate::mip::branching::pseudocost::Observation;
use crate::mip::domain::{BoundChange, Domain};
use crate::mip::extend::Decision;
use crate::mip::relaxation::{BasisSnapshot, Relaxation, Relaxed};
use crate::mip::tree::Branched;
use rayon::prelude::*;
use remat_lp::{ColId, ModelError, Solution};

/// Result of choosing a column.
pub(crate) enum ColumnChoice {
    Split(Vec<Child>),
    /// Both sides of a column are closed.
    Infeasible,
    /// One side of a column is closed; the domain holds the other.
    Tightened,
}

/// Result of a probe of one side of a branching.
#[derive(Clone, Copy)]
enum BranchSide {
    /// Open, with this gain of the objective and this number of implied bounds.
    Open(f64, u32),
    Closed,
    Unknown,
}

/// Columns without progress after which strong branching ends. At the root, this number of columns
/// is probed in parallel.
const LOOKAHEAD: u32 = 8;

impl Worker {
    /// Chooses a column to branch on.
    pub(crate) fn choose(
        &mut self,
        shared: &RoundShared,
        s: &Solution,
        fractional: &[usize],
        bound: f64,
        depth: u32,
    ) -> Result<ColumnChoice, ModelError> {
        let is_flat = self.pseudo.is_flat();
        let mut candidates: Vec<(f64, usize)> = fractional
            .iter()
            .map(|&j| {
                let (d, u) = self.pseudo.gains(j, s.x[j]);
                // Ties go to the column nearest one half.
                let f = s.x[j] - s.x[j].floor();
                (
                    self.pseudo.score(j, (d, u), is_flat) * (1.0 + 1e-6 * f.min(1.0 - f)),
                    j,
                )
            })
            .collect();
        candidates.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let reliability = shared.settings.reliability;
        let budget = self.node_iterations / 2 + 5_000 + 10 * shared.root_iterations;
        let mut best: Option<(f64, usize)> = None;
        let mut failed = 0;
        let mut probes = 0;
        let snapshot = self.relax.snapshot();
        let average = self.node_iterations / self.node_solves.max(1);
        let limit = (4 * average).clamp(50, 2_000);
        let from = s.objective.max(self.domain.floor());
        let mut ahead: Vec<(usize, BranchSide, BranchSide)> = Vec::new();
        for (place, &(guess, j)) in candidates.iter().enumerate() {
            let known = self.pseudo.reliability(j);
            let try_it = known < reliability
                && failed < LOOKAHEAD
                && probes < 60
                && self.strong_iterations < budget
                && !self.is_spent(shared);
            let value = if try_it {
                probes += 1;
                let (down, up) = if depth == 0 {
                    if !ahead.iter().any(|a| a.0 == j) {
                        let next: Vec<usize> = candidates[place..]
                            .iter()
                            .map(|c| c.1)
                            .filter(|&k| self.pseudo.reliability(k) < reliability)
                            .take(LOOKAHEAD as usize)
                            .collect();
                        ahead = self.probe_ahead(shared, s, &next, limit)?;
                    }
                    let found = ahead.iter().find(|a| a.0 == j);
                    found.map_or((BranchSide::Unknown, BranchSide::Unknown), |a| (a.1, a.2))
                } else {
                    self.probe_both(shared, s, j, (limit, from), &snapshot)?
                };
                self.report.strong += 2;
                if let Some(end) = self.take_closed(shared, (j, s.x[j]), (down, up)) {
                    return Ok(end);
                }
                let gains = self.learn_gains((j, s.x[j]), (down, up));
                self.pseudo.score(j, gains, is_flat)
            } else {
                guess
            };
            if best.is_none_or(|b| value > b.0) {
                best = Some((value, j));
                failed = 0;
            } else if try_it {
                failed += 1;
            }
        }
        let Some((_, j)) = best else {
            return Ok(ColumnChoice::Infeasible);
        };
        Ok(ColumnChoice::Split(self.children(s, fractional, j, bound)))
    }

    /// Probes both sides of a column on the relaxation of the node.
    fn probe_both(
        &mut self,
        shared: &RoundShared,
        s: &Solution,
        j: usize,
        (limit, from): (u64, f64),
        snapshot: &BasisSnapshot,
    ) -> Result<(BranchSide, BranchSide), ModelError> {
        let before = self.relax.iterations();
        let mut probe = Probe {
            relax: &mut self.relax,
            domain: &mut self.domain,
            cutoff: self.cutoff,
            limit,
            from,
        };
        let down = probe.side(shared, j, s, false)?;
        probe.relax.restore(snapshot)?;
        let up = probe.side(shared, j, s, true)?;
        probe.relax.restore(snapshot)?;
        self.strong_iterations += self.relax.iterations() - before;
        Ok((down, up))
    }

    /// Applies the open side of a column if a probe has closed the other; `None` if both are open.
    fn take_closed(
        &mut self,
        shared: &RoundShared,
        (j, v): (usize, f64),
        sides: (BranchSide, BranchSide),
    ) -> Option<ColumnChoice> {
        let p = &shared.problem;
        let mark = self.domain.mark();
        match sides {
            (BranchSide::Closed, BranchSide::Closed) => return Some(ColumnChoice::Infeasible),
            (BranchSide::Closed, _) => self.domain.tighten_lower(p, j, v.floor() + 1.0),
            (_, BranchSide::Closed) => self.domain.tighten_upper(p, j, v.floor()),
            _ => return None,
        };
        self.keep_bounds(mark);
        Some(ColumnChoice::Tightened)
    }

    /// Learns the gains of probes, and returns them; expected ones stand for unknown ones.
    fn learn_gains(&mut self, (j, v): (usize, f64), sides: (BranchSide, BranchSide)) -> (f64, f64) {
        let f = v - v.floor();
        let (mut down, mut up) = self.pseudo.gains(j, v);
        for (side, up) in [(sides.0, false), (sides.1, true)] {
            if let BranchSide::Open(_, count) = side {
                let col = j as u32;
                self.observe(Observation::Implied { col, up, count });
            }
        }
        if let BranchSide::Open(gain, _) = sides.0 {
            self.learn(j, false, gain / f.max(1e-6));
            down = gain;
        }
        if let BranchSide::Open(gain, _) = sides.1 {
            self.learn(j, true, gain / (1.0 - f).max(1e-6));
            up = gain;
        }
        (down, up)
    }

    /// The two children of branching on a column, the more promising one first.
    fn children(&mut self, s: &Solution, fractional: &[usize], j: usize, bound: f64) -> Vec<Child> {
        let v = s.x[j];
        let f = v - v.floor();
        let rest: f64 = fractional
            .iter()
            .filter(|&&k| k != j)
            .map(|&k| {
                let (d, u) = self.pseudo.gains(k, s.x[k]);
                d.min(u)
            })
            .sum();
        let (d, u) = self.pseudo.gains(j, v);
        let col = ColId(j as u32);
        let child = |up: bool| Child {
            decision: if up {
                Decision::at_least(col, v.floor() + 1.0)
            } else {
                Decision::at_most(col, v.floor())
            },
            bound,
            estimate: s.objective + rest + if up { u } else { d },
            branched: Some(Branched {
                col: j as u32,
                up,
                distance: if up { 1.0 - f } else { f },
                parent_bound: s.objective.max(self.domain.floor()),
            }),
        };
        let b01 = self.domain.lower[j] == 0.0 && self.domain.upper[j] == 1.0;
        let up_first = match &self.best {
            // Towards the incumbent if it is good, else to the side with the smaller loss; ties go
            // to the nearest integer.
            Some(b) if b.objective - bound <= 0.01 * b.objective.abs() => b.x[j] > v,
            _ if (u - d).abs() > 1e-9 * (u + d) => u < d,
            // On a plateau of the objective, a binary fixed at 1 decides many others, a binary
            // fixed at 0 hardly any.
            _ if b01 => f > 0.2,
            _ => f > 0.5,
        };
        vec![child(up_first), child(!up_first)]
    }

    /// Strong branching on several columns in parallel, each on a copy of the linear program. The
    /// results depend neither on each other nor on the number of threads.
    fn probe_ahead(
        &mut self,
        shared: &RoundShared,
        s: &Solution,
        columns: &[usize],
        limit: u64,
    ) -> Result<Vec<(usize, BranchSide, BranchSide)>, ModelError> {
        let before = (self.relax.iterations(), self.ticks());
        let from = s.objective.max(self.domain.floor());
        let probe = |&j: &usize| -> Result<_, ModelError> {
            let (mut relax, mut domain) = (self.relax.clone(), self.domain.clone());
            let snapshot = relax.snapshot();
            let mut probe = Probe {
                relax: &mut relax,
                domain: &mut domain,
                cutoff: self.cutoff,
                limit,
                from,
            };
            let down = probe.side(shared, j, s, false)?;
            probe.relax.restore(&snapshot)?;
            let up = probe.side(shared, j, s, true)?;
            let iterations = relax.iterations() - before.0;
            let ticks = relax.ticks() + domain.ticks - before.1;
            Ok(((j, down, up), iterations, ticks))
        };
        let among_threads = shared.settings.threads > 1 && rayon::current_thread_index().is_some();
        let probed: Vec<_> = match &shared.idle {
            Some(threads) => threads.install(|| columns.par_iter().map(probe).collect()),
            None if among_threads => columns.par_iter().map(probe).collect(),
            None => columns.iter().map(probe).collect(),
        };
        let mut out = Vec::with_capacity(columns.len());
        for p in probed {
            let (sides, iterations, ticks) = p?;
            self.strong_iterations += iterations;
            self.relax.account(iterations, ticks);
            out.push(sides);
        }
        Ok(out)
    }
}

/// Strong branching on a linear program with its domain.
struct Probe<'a> {
    relax: &'a mut Relaxation,
    domain: &'a mut Domain,
    cutoff: f64,
    /// Limit on iterations.
    limit: u64,
    /// Bound without the branching, the base of gains.
    from: f64,
}

impl Probe<'_> {
    /// Solves one side of a branching. The linear program keeps its bounds, but not its basis.
    fn side(
        &mut self,
        shared: &RoundShared,
        j: usize,
        s: &Solution,
        up: bool,
    ) -> Result<BranchSide, ModelError> {
        let p = shared.problem.as_ref();
        let v = s.x[j];
        let mark = self.domain.mark();
        self.domain.begin_level();
        self.domain.tighten(
            p,
            BoundChange {
                col: j as u32,
                upper: !up,
                value: if up { v.floor() + 1.0 } else { v.floor() },
            },
        );
        if self.domain.infeasible || (shared.settings.propagation && !self.domain.propagate(p)) {
            self.domain.undo(&shared.problem, mark);
            return Ok(BranchSide::Closed);
        }
        let implied = (self.domain.mark() - mark) as u32;
        self.relax
            .set_col(j, self.domain.lower[j], self.domain.upper[j])?;
        let result = self.relax.probe(self.cutoff, self.limit, self.domain);
        let floor = self.domain.floor();
        self.domain.undo(&shared.problem, mark);
        self.relax
            .set_col(j, self.domain.lower[j], self.domain.upper[j])?;
        Ok(match result {
            Relaxed::Infeasible | Relaxed::Cutoff => BranchSide::Closed,
            Relaxed::Solved(t, _) => {
                BranchSide::Open((t.objective.max(floor) - self.from).max(0.0), implied)
            }
            Relaxed::Unbounded | Relaxed::Failed => BranchSide::Unknown,
        })
    }
}
