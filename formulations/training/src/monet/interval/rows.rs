//! Rows of the interval form, as linear forms in atoms, and the reason why every schedule satisfies
//! them.

use super::{Derivation, Interval, MonetGraph};
use crate::life::{Atom, Term, Which};
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Purpose of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowKind {
    /// The forward pass runs: one start in stage 0. An equation.
    First,
    /// A backward node runs in one way. An equation.
    Choose,
    /// Every tensor that a backward node reads is there, (6).
    Need,
    /// Every tensor that a computation reads is there, (5).
    Input,
    /// A by-product is made with its parent, (8) and (12).
    Parent,
    /// A tensor that is overwritten is not stored or read, (6) and (11).
    Overwritten,
    /// Memory while forward nodes run, (16) and (17). At most.
    Memory,
    /// Memory while a backward node runs, (18). At most.
    Backward,
    /// A memory row, rounded. At most.
    Rounded,
    /// A path cut.
    Path,
    /// A path memory cut. At most.
    PathMemory,
    /// A cover of a memory row, or of a path memory cut.
    Cover,
    /// A branching.
    Branch,
}

/// A row: the sum of its terms is at least (at most for memory, equal to for equations) its right
/// side. Rows of the same kind, right side and terms are equal; derivations do not count.
#[derive(Clone, Debug)]
pub struct Row {
    /// Purpose of the row.
    pub kind: RowKind,
    /// The right side: a count, or bytes for memory rows.
    pub right: i64,
    /// The summands.
    pub terms: Vec<Term>,
    /// The origin of the row.
    pub derivation: Arc<Derivation>,
}

impl Row {
    fn key(&self) -> (RowKind, i64, &[Term]) {
        (self.kind, self.right, &self.terms)
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Row) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Row {}

impl PartialOrd for Row {
    fn partial_cmp(&self, other: &Row) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Row {
    fn cmp(&self, other: &Row) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl Hash for Row {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// A path cut: see [`Row::path`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathCut {
    /// The stage `b` whose backward node reads.
    pub reader: u32,
    /// The stage `a` in which the window begins.
    pub from: u32,
    /// `j`, made in the window unless a tensor of the paths is stored when it begins.
    pub source: u32,
    /// The nodes of the paths whose storage counts, ascending.
    pub stored: Vec<u32>,
    /// Choices of the backward node that the paths stand for, ascending: indices into
    /// [`MonetGraph::choices`].
    pub ways: Vec<u32>,
}

impl Row {
    pub(super) fn new(kind: RowKind, right: i64, terms: Vec<Term>, derivation: Derivation) -> Row {
        Row {
            kind,
            right,
            terms,
            derivation: Arc::new(derivation),
        }
    }

    /// Returns whether it is a memory row: at most, in bytes.
    pub fn is_memory(&self) -> bool {
        matches!(
            self.kind,
            RowKind::Memory | RowKind::Backward | RowKind::Rounded | RowKind::PathMemory
        )
    }

    /// Returns whether it is an equation.
    pub fn is_equation(&self) -> bool {
        matches!(self.kind, RowKind::First | RowKind::Choose)
    }

    /// The coefficient of an interval.
    pub fn coefficient(&self, graph: &MonetGraph, c: &Interval) -> i64 {
        self.terms.iter().map(|t| t.coefficient(graph, c)).sum()
    }

    /// The left side at a schedule, given by its intervals and by the choice of each stage.
    pub fn activity(&self, graph: &MonetGraph, intervals: &[Interval], choices: &[usize]) -> i64 {
        let stored: i64 = intervals.iter().map(|c| self.coefficient(graph, c)).sum();
        let chosen = self.terms.iter().map(|t| match t.atom {
            Atom::Choice { stage, way } if choices[stage as usize] == way as usize => t.coefficient,
            _ => 0,
        });
        stored + chosen.sum::<i64>()
    }

    /// Returns whether a schedule satisfies it.
    pub fn holds(&self, graph: &MonetGraph, intervals: &[Interval], choices: &[usize]) -> bool {
        let left = self.activity(graph, intervals, choices);
        match (self.is_equation(), self.is_memory()) {
            (true, _) => left == self.right,
            (_, true) => left <= self.right,
            _ => left >= self.right,
        }
    }

    /// The forward pass runs: node `i`, no by-product, is computed in stage 0, (1).
    pub fn first(node: u32) -> Row {
        let terms = vec![Term::start(node, 0, 0, Which::All, 1)];
        Row::new(RowKind::First, 1, terms, Derivation::First)
    }

    /// One way for the backward node of a stage with several, (3).
    pub fn choose(graph: &MonetGraph, stage: u32) -> Row {
        let ways = 0..graph.choices[stage as usize].len() as u32;
        let terms = ways.map(|way| Term::choice(stage, way, 1)).collect();
        Row::new(RowKind::Choose, 1, terms, Derivation::Choose)
    }

    /// Requires that a tensor which the backward node of a stage reads is stored for the next stage
    /// or held, (6). For stage 0 this is the charge of (16) and (17) for the inputs of the loss.
    pub fn need(graph: &MonetGraph, stage: u32, node: u32) -> Row {
        let mut terms = Vec::new();
        graph.stored(&mut terms, node, stage + 1, 1);
        terms.push(Term::at(node, stage, 1));
        let mut row = Row::new(RowKind::Need, 0, terms, Derivation::Need { stage, node });
        row.require(graph, stage, |c| c.reads.contains(&node));
        row
    }

    /// Makes the right side 1 for the named choices: a constant if all are named.
    fn require(&mut self, graph: &MonetGraph, stage: u32, named: impl Fn(&super::Choice) -> bool) {
        let choices = graph.choices[stage as usize].iter().zip(0..);
        let ways: Vec<u32> = choices.filter(|c| named(c.0)).map(|c| c.1).collect();
        self.require_ways(graph, stage, &ways, 1);
    }

    /// Requires that a tensor which node `node` reads is there when the node is computed in a
    /// stage: stored, or computed in the same stage, (5).
    pub fn input(graph: &MonetGraph, stage: u32, node: u32, input: u32) -> Row {
        let mut terms = vec![Term::start(input, stage, stage, Which::All, 1)];
        graph.stored(&mut terms, input, stage, 1);
        terms.push(Term::start(node, stage, stage, Which::All, -1));
        let derivation = Derivation::Input { stage, node, input };
        Row::new(RowKind::Input, 0, terms, derivation)
    }

    /// A by-product is made only in the stages in which its parent is computed, (8), and in place
    /// if and only if its parent is, (12). There is one row for each of the two kinds. One row
    /// serves both if the parent has no in-place option or the by-product is the same either way.
    pub fn parent(stage: u32, by_product: u32, parent: u32, which: Which) -> Row {
        let terms = vec![
            Term::start(parent, stage, stage, which, 1),
            Term::start(by_product, stage, stage, which, -1),
        ];
        let node = by_product;
        let derivation = Derivation::Parent { stage, node, which };
        Row::new(RowKind::Parent, 0, terms, derivation)
    }

    /// If `node` is computed in place, the tensor that it overwrites is not stored for the next
    /// stage, (11), and not held for the backward node, (6). At most one interval of a tensor is
    /// stored or held. (Stage 0 is charged for the inputs of the loss, overwritten or not.)
    pub fn overwritten(graph: &MonetGraph, stage: u32, node: u32, over: u32) -> Row {
        let mut terms = vec![Term::start(node, stage, stage, Which::InPlace, -1)];
        graph.stored(&mut terms, over, stage + 1, -1);
        if stage > 0 {
            terms.push(Term::at(over, stage, -1));
        }
        let derivation = Derivation::Overwritten { stage, node };
        Row::new(RowKind::Overwritten, -1, terms, derivation)
    }

    /// Requires that the tensor which `node` overwrites in a stage from 1 on is there before and
    /// gone afterwards. So an interval of it ends in the stage, and is not held:
    ///
    /// ```text
    /// S[t,over] + R[t,over] - S[t+1,over] - held  >=  IP[t,node]
    /// ```
    ///
    /// If the node is computed in place, (5) makes one of the first two 1, and [`Row::overwritten`]
    /// makes the other two 0. If not, the left side counts intervals. If only a part of a tensor is
    /// there, the row lets no more than that part be overwritten. So the same whole tensor cannot
    /// be overwritten a little in each of many stages.
    pub fn ended(graph: &MonetGraph, stage: u32, node: u32, over: u32) -> Row {
        let mut row = Row::overwritten(graph, stage, node, over);
        graph.stored(&mut row.terms, over, stage, 1);
        row.terms
            .push(Term::start(over, stage, stage, Which::All, 1));
        row.right = 0;
        row.derivation = Arc::new(Derivation::Ended { stage, node });
        row
    }

    /// Memory at the turn of `node` in a stage, (16) and (17) in one.
    ///
    /// `by_run` names tensors of the passing list of `node`, and perhaps `node` itself, that are
    /// charged if `node` runs; the others are charged where they are stored. If `node` does not
    /// run, the row is at most (16). If it runs, the row is at most (17), because then every tensor
    /// of the list is charged only by the run. With an empty list and `runs` false the row is (16),
    /// with the whole list (17). Any list makes a valid row, and the best one at a point charges
    /// each tensor by whichever is larger.
    pub fn memory(graph: &MonetGraph, stage: u32, node: u32, by_run: &[u32], runs: bool) -> Row {
        let mut terms = Vec::new();
        let mut own = 0;
        for i in 0..graph.columns as u32 {
            let bytes = graph.bytes[i as usize];
            if bytes == 0 {
                continue;
            }
            let charged = runs && by_run.binary_search(&i).is_ok();
            if charged {
                own += bytes;
            } else {
                graph.stored(&mut terms, i, stage + u32::from(i < node), bytes);
            }
            if i < node {
                graph.held(&mut terms, i, stage, bytes);
            }
        }
        if runs {
            terms.push(Term::start(node, stage, stage, Which::WithWorkspace, own));
        }
        let by_run = runs.then(|| by_run.to_vec());
        let derivation = Derivation::Memory {
            stage,
            node,
            by_run,
        };
        Row::new(
            RowKind::Memory,
            graph.room[stage as usize],
            terms,
            derivation,
        )
    }

    /// Memory while the backward node of a stage runs, (18): the tensors that it reads are stored
    /// or held.
    pub fn backward(graph: &MonetGraph, stage: u32) -> Row {
        let mut terms = Vec::new();
        let mut right = graph.backward_room[stage as usize];
        for i in 0..graph.columns as u32 {
            let bytes = graph.bytes[i as usize];
            if bytes > 0 {
                graph.stored(&mut terms, i, stage + 1, bytes);
                graph.held(&mut terms, i, stage, bytes);
            }
        }
        match graph.choices[stage as usize].as_slice() {
            [only] => right -= only.workspace,
            several => {
                for (way, choice) in several.iter().enumerate() {
                    terms.push(Term::choice(stage, way as u32, choice.workspace));
                }
            }
        }
        Row::new(
            RowKind::Backward,
            right,
            terms,
            Derivation::Backward { stage },
        )
    }

    /// The row of a path cut. Each named choice `p` has a path from `j` to a tensor that `p` reads,
    /// and all nodes of the path are in `stored`. By-products' parents are excepted: a by-product
    /// is only made while its parent is computed. Suppose that one of these choices is made and no
    /// tensor of its path is stored when stage `a` begins. Then the tensor that it reads is
    /// computed in `[a,b]`. Hence the node before it on the path is computed too, as it is not
    /// stored at `a`, and so on to `j`:
    ///
    /// ```text
    /// sum_{stored} S[a,i] + sum_{t=a..b} R[t,j]  >=  sum_{ways} M[b,p]
    /// ```
    pub fn path(graph: &MonetGraph, cut: &PathCut) -> Row {
        let mut terms = Vec::new();
        for &i in &cut.stored {
            graph.stored(&mut terms, i, cut.from, 1);
        }
        terms.push(Term::start(cut.source, cut.from, cut.reader, Which::All, 1));
        let mut row = Row::new(RowKind::Path, 0, terms, Derivation::Path(cut.clone()));
        row.require_ways(graph, cut.reader, &cut.ways, 1);
        row
    }

    /// Makes the right side larger by a weight if one of some choices is made.
    pub(super) fn require_ways(
        &mut self,
        graph: &MonetGraph,
        stage: u32,
        ways: &[u32],
        weight: i64,
    ) {
        if ways.len() == graph.choices[stage as usize].len() {
            self.right += weight;
            return;
        }
        for &way in ways {
            self.terms.push(Term::choice(stage, way, -weight));
        }
    }

    /// The row of a path memory cut. In the situation of the path cut, suppose that `j` is not
    /// computed from `a` to before `since` (`a` or later). Then it is computed whole in some stage
    /// `t` of `[since,b]`. Its output, its passing list and its least workspace (`need_j`) are
    /// charged there beside all tensors of `staying`, which are not on that list. A tensor `k > j`
    /// is charged there if it is stored when `t` starts, `k < j` if it is stored when `t + 1`
    /// starts. So it is there if it is stored at the start of `b` (of `b + 1`) and was not computed
    /// in between:
    ///
    /// ```text
    /// sum_{k staying} m_k (S[b',k] - sum_{t=since..b'-1} R[t,k])
    ///     + need_j (sum_{ways} M[b,p] - sum_{stored} S[a,i] - sum_{t=a..since-1} R[t,j])
    ///     <=  the largest room of a stage in [since,b],       b' = b + 1 for k < j, b otherwise
    /// ```
    ///
    /// Otherwise no named choice is made, a tensor of the paths is stored, or `j` was computed
    /// before. Then the row says that the tensors that stay fit at the turn of `j` in stage `b`.
    /// They do, by (16).
    pub fn path_memory(graph: &MonetGraph, cut: &PathCut, since: u32, staying: &[u32]) -> Row {
        let (a, b, j) = (cut.from, cut.reader, cut.source);
        let need = graph.need_bytes(j).max(0);
        let mut terms = Vec::new();
        for &k in staying {
            let bytes = graph.bytes[k as usize];
            let upto = b + u32::from(k < j);
            graph.stays(&mut terms, k, since, upto, bytes);
        }
        for &i in &cut.stored {
            graph.stored(&mut terms, i, a, -need);
        }
        if a < since {
            terms.push(Term::start(j, a, since - 1, Which::All, -need));
        }
        let rooms = (since..=b).map(|t| graph.room[t as usize]);
        let derivation = Derivation::PathMemory {
            cut: cut.clone(),
            since,
            staying: staying.to_vec(),
        };
        let room = rooms.max().unwrap_or(0);
        let mut row = Row::new(RowKind::PathMemory, room, terms, derivation);
        row.require_ways(graph, b, &cut.ways, -need);
        row
    }
}

impl MonetGraph {
    /// Adds a term for `S[stage, node]`, unless that is 0 by definition.
    pub(super) fn stored(&self, terms: &mut Vec<Term>, node: u32, stage: u32, coefficient: i64) {
        if (1..=self.last_stored(node)).contains(&stage) {
            terms.push(Term::crosses(node, stage, coefficient));
        }
    }

    /// Adds terms for `S[upto, node]` less the starts of `node` in stages from `since` to before
    /// `upto`: 1 if the tensor stays.
    pub(super) fn stays(
        &self,
        terms: &mut Vec<Term>,
        node: u32,
        since: u32,
        upto: u32,
        coefficient: i64,
    ) {
        self.stored(terms, node, upto, coefficient);
        if since < upto {
            terms.push(Term::start(node, since, upto - 1, Which::All, -coefficient));
        }
    }

    /// Adds a term for `node` being held in `stage`, if some choice of the stage reads it.
    pub(super) fn held(&self, terms: &mut Vec<Term>, node: u32, stage: u32, coefficient: i64) {
        if self.is_read(node, stage) {
            terms.push(Term::at(node, stage, coefficient));
        }
    }

    /// Returns whether some choice of a stage reads a tensor.
    pub fn is_read(&self, node: u32, stage: u32) -> bool {
        let choices = &self.choices[stage as usize];
        choices.iter().any(|c| c.reads.contains(&node))
    }
}
