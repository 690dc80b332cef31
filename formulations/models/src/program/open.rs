//! Branching on conditional rows without a known bound that one row of the model could rest on (the
//! disjunctions of Balas, 1979).
//!
//! A node has decided some of the rows: either its sum of binary columns is 1, or it is 0 and the
//! row holds. The other rows are left out, and the model is solved by branch and cut. If its answer
//! violates one of them, the node has two children; else the answer is a point of the program. The
//! node of the best bound is next, so the first point that no bound beats is optimal.

use super::lower::{Lowered, NewRow, OpenRow};
use super::solve::{ending, of_integer, search};
use super::stages::SharedLimits;
use super::{
    Answer, Compiled, Cut, Ending, Point, Program, ProgramError, ProgramSettings, Role, Watcher,
    starts,
};
use crate::Answered;
use remat_solver::mip::{Info, Progress, SolveResult, SolveStatus};
use std::sync::Arc;

/// Violation from which an open row is branched on.
const VIOLATED: f64 = 1e-6;

/// A node: the decisions so far, and a bound that holds below it.
#[derive(Clone)]
struct OpenTreeNode {
    /// Numbers of open rows, each with true if it need not hold.
    decided: Vec<(usize, bool)>,
    bound: f64,
}

/// Outcome of a node's model.
enum NodeOutcome {
    /// There is no better point below it.
    Nothing { by_cutoff: bool },
    /// A row to branch on, and a bound.
    Branch(usize, f64),
    /// The best point below it, and a bound.
    Point(Answer),
    /// An end of the whole search, with a bound and the point found until then.
    End(Ending, f64, Option<Answer>),
}

/// Forwards only the progress to a watcher: the solution of a node need not be a point.
struct Looks(Arc<dyn Watcher>);

impl Watcher for Looks {
    fn progress(&self, progress: &Progress) -> bool {
        self.0.progress(progress)
    }

    fn role(&self) -> Role {
        self.0.role()
    }

    fn separate(&self, x: &[f64], integral: bool) -> Vec<Cut> {
        self.0.separate(x, integral)
    }

    fn suggest(&self, x: &[f64]) -> Vec<Vec<f64>> {
        self.0.suggest(x)
    }
}

/// Solves a program with open rows.
///
/// # Errors
/// As [`super::solve_program`].
pub(super) fn solve_open(
    program: &Program,
    lowered: Lowered,
    settings: &ProgramSettings,
    watcher: &Arc<dyn Watcher>,
) -> Result<Answer, ProgramError> {
    let mut tree = OpenTree {
        program,
        lowered,
        settings,
        watcher,
        looks: Arc::new(Looks(watcher.clone())),
        stages: SharedLimits::new(settings),
        starts: None,
        info: Info::default(),
    };
    tree.run()
}

struct OpenTree<'a> {
    program: &'a Program,
    lowered: Lowered,
    settings: &'a ProgramSettings,
    watcher: &'a Arc<dyn Watcher>,
    looks: Arc<dyn Watcher>,
    stages: SharedLimits,
    starts: Option<Vec<Vec<f64>>>,
    info: Info,
}

impl OpenTree<'_> {
    fn run(&mut self) -> Result<Answer, ProgramError> {
        let sign = self.program.sense().sign();
        let mut nodes = vec![OpenTreeNode {
            decided: Vec::new(),
            bound: -sign * f64::INFINITY,
        }];
        let mut points: Vec<Point> = Vec::new();
        // The worst bound of finished nodes: no point below them is better.
        let mut done = sign * f64::INFINITY;
        let (mut by_cutoff, mut ended) = (false, None);
        while let Some(node) = take_best(&mut nodes, sign) {
            let best = points.first().map(|point| point.objective);
            if best.is_some_and(|best| sign * (best - node.bound) <= self.gap(best)) {
                done = best_of(sign, done, node.bound);
                continue;
            }
            match self.solve(&node, best)? {
                NodeOutcome::Nothing { by_cutoff: by } => by_cutoff |= by,
                NodeOutcome::Branch(row, bound) => {
                    let bound = worst_of(sign, node.bound, bound);
                    for idle in [true, false] {
                        let mut decided = node.decided.clone();
                        decided.push((row, idle));
                        nodes.push(OpenTreeNode { decided, bound });
                    }
                }
                NodeOutcome::Point(answer) => {
                    done = best_of(sign, done, answer.bound);
                    self.keep(&mut points, answer);
                }
                NodeOutcome::End(why, bound, answer) => {
                    done = best_of(sign, done, worst_of(sign, node.bound, bound));
                    if let Some(answer) = answer {
                        self.keep(&mut points, answer);
                    }
                    ended = Some(why);
                    break;
                }
            }
        }
        let bounds = nodes.iter().map(|node| node.bound);
        let bounds = bounds.chain(points.first().map(|point| point.objective));
        let bound = bounds.fold(done, |bound, one| best_of(sign, bound, one));
        let ending = ended.unwrap_or(match points.is_empty() {
            false => Ending::Optimal,
            true if by_cutoff => Ending::Cutoff,
            true => Ending::Infeasible,
        });
        Ok(Answer {
            points,
            bound,
            info: self.info,
            ..Answer::of(ending)
        })
    }

    /// Keeps a point, and reports it to the watcher if it is the best.
    fn keep(&self, points: &mut Vec<Point>, answer: Answer) {
        let sign = self.program.sense().sign();
        for point in answer.points {
            let best = points.first();
            if best.is_none_or(|best| sign * point.objective < sign * best.objective) {
                self.watcher.incumbent(&point);
            }
            points.push(point);
        }
        points.sort_by(|a, b| (sign * a.objective).total_cmp(&(sign * b.objective)));
        points.truncate(self.settings.model.mip.pool_size.max(1));
    }

    /// The difference of point and bound at which a search ends.
    fn gap(&self, objective: f64) -> f64 {
        let mip = &self.settings.model.mip;
        mip.absolute_gap.max(mip.relative_gap * objective.abs())
    }

    /// The model of a node, and the rows that it leaves open.
    fn model(&self, node: &OpenTreeNode) -> Result<Compiled, ProgramError> {
        let mut lowered = self.lowered.clone();
        for &(k, idle) in &node.decided {
            let open = &self.lowered.open[k];
            let value = f64::from(u8::from(idle)) - open.idle.constant;
            lowered.rows.push(NewRow {
                entries: open.idle.merged(),
                lower: value,
                upper: value,
            });
            if !idle {
                lowered.rows.push(open.row.clone());
            }
        }
        self.program.compiled(lowered)
    }

    fn solve(
        &mut self,
        node: &OpenTreeNode,
        best: Option<f64>,
    ) -> Result<NodeOutcome, ProgramError> {
        let compiled = Arc::new(self.model(node)?);
        if self.starts.is_none() {
            self.starts = Some(starts::whole(self.program, &compiled, self.settings));
        }
        let mut how = self.stages.next();
        how.model.recognise = false;
        let sign = self.program.sense().sign();
        let cutoffs = [best, self.settings.model.mip.cutoff];
        let cutoffs = cutoffs.into_iter().flatten().map(|value| sign * value);
        how.model.mip.cutoff = cutoffs.min_by(f64::total_cmp).map(|value| sign * value);
        let starts = self.starts.clone().unwrap_or_default();
        let answered = search(self.program, &compiled, &how, starts, &self.looks)?;
        let Answered::Integer { result, .. } = answered else {
            // Open rows have binary columns, so there are integers.
            return Ok(NodeOutcome::End(Ending::Numeric, node.bound, None));
        };
        self.info = self.stages.count(&result.info);
        let decided = |k: usize| node.decided.iter().any(|d| d.0 == k);
        let mut left = (0..self.lowered.open.len()).filter(|&k| !decided(k));
        let bound = result.dual_bound;
        Ok(match result.status {
            SolveStatus::Infeasible => NodeOutcome::Nothing { by_cutoff: false },
            // A known point is not beaten below this node.
            SolveStatus::Cutoff => NodeOutcome::Nothing {
                by_cutoff: best.is_none(),
            },
            SolveStatus::Unbounded | SolveStatus::InfeasibleOrUnbounded => match left.next() {
                Some(row) => NodeOutcome::Branch(row, bound),
                None => NodeOutcome::End(ending(result.status), bound, None),
            },
            SolveStatus::Optimal => {
                let x = result.solution.as_ref().map(|s| s.x.as_slice());
                match x.and_then(|x| worst(&self.lowered.open, left, x)) {
                    Some(row) => NodeOutcome::Branch(row, bound),
                    None => self.point(&compiled, result),
                }
            }
            status => {
                // A point in which all rows hold counts for any end of the search.
                let x = result.solution.as_ref().map(|s| s.x.as_slice());
                let whole = x.is_some_and(|x| worst(&self.lowered.open, left, x).is_none());
                let point = whole.then(|| self.point(&compiled, result));
                let point = point.and_then(|found| match found {
                    NodeOutcome::Point(answer) => Some(answer),
                    _ => None,
                });
                NodeOutcome::End(ending(status), bound, point)
            }
        })
    }

    /// The point of a result in which all rows hold.
    fn point(&self, compiled: &Compiled, mut result: SolveResult) -> NodeOutcome {
        // Other points of the pool may violate open rows.
        result.pool.truncate(1);
        let tolerance = self.settings.model.mip.feasibility_tolerance;
        let bound = result.dual_bound;
        let answer = of_integer(compiled, result, None, tolerance);
        match answer.points.is_empty() {
            true => NodeOutcome::End(Ending::Numeric, bound, None),
            false => NodeOutcome::Point(answer),
        }
    }
}

/// Removes the node of the best bound, among equals the youngest.
fn take_best(nodes: &mut Vec<OpenTreeNode>, sign: f64) -> Option<OpenTreeNode> {
    let bounds = nodes.iter().enumerate();
    let best = bounds
        .min_by(|a, b| {
            (sign * a.1.bound)
                .total_cmp(&(sign * b.1.bound))
                .then(b.0.cmp(&a.0))
        })?
        .0;
    Some(nodes.remove(best))
}

fn best_of(sign: f64, a: f64, b: f64) -> f64 {
    if sign * b < sign * a { b } else { a }
}

fn worst_of(sign: f64, a: f64, b: f64) -> f64 {
    if sign * b > sign * a { b } else { a }
}

/// The row that a point of the model violates most, of some of the open ones.
fn worst(open: &[OpenRow], some: impl Iterator<Item = usize>, x: &[f64]) -> Option<usize> {
    let violations = some.filter_map(|k| {
        let terms = open[k].row.entries.iter().map(|&(j, v)| v * x[j]);
        let value: f64 = terms.sum();
        let violation = (value - open[k].row.upper) / value.abs().max(1.0);
        let counts = open[k].idle.value(x) < 0.5 && violation > VIOLATED;
        counts.then_some((k, violation))
    });
    let worst = violations.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
    worst.map(|row| row.0)
}
