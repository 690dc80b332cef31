//! Columns and rows of the retention-edge form.

use super::{Compact, Decision, Entry, Space};
use remat_formulations::checkmate::CheckmateGraph;
use remat_lp::{ColId, ModelBuilder, Sense};

struct CompactBuilder {
    lp: ModelBuilder,
    decisions: Vec<Decision>,
}

impl CompactBuilder {
    fn column(&mut self, decision: Decision, cost: f64) -> Entry {
        let id = self.lp.add_col(cost, 0.0..=1.0);
        self.lp.set_integer(id, true);
        let name = match decision {
            Decision::Computed { stage, node } => format!("R_{stage}_{node}"),
            Decision::Retained { stage, node } => format!("S_{stage}_{node}"),
            Decision::Held {
                stage,
                node,
                reader,
            } => format!("E_{stage}_{node}_{reader}"),
        };
        self.lp.set_col_name(id, name);
        self.decisions.push(decision);
        Entry::Column(id)
    }

    /// The row `sum of plus >= minus`, unless it holds for every point.
    fn at_least(&mut self, plus: &[Entry], minus: Entry) {
        if minus == Entry::Zero || plus.contains(&Entry::One) {
            return;
        }
        let mut entries: Vec<(ColId, f64)> = Vec::with_capacity(plus.len() + 1);
        for e in plus {
            if let Entry::Column(c) = *e {
                entries.push((c, 1.0));
            }
        }
        let bound = match minus {
            Entry::Column(c) => {
                entries.push((c, -1.0));
                0.0
            }
            _ => 1.0,
        };
        self.lp.add_row(bound.., entries);
    }
}

pub(super) fn build(graph: CheckmateGraph, space: Space) -> Compact {
    let n = graph.len();
    let backward = match space {
        Space::Rectangular => graph.first_backward.map(|f| f as usize),
        Space::Full => None,
    };
    let space = if backward.is_some() {
        Space::Rectangular
    } else {
        Space::Full
    };
    let mut b = CompactBuilder {
        lp: ModelBuilder::new(Sense::Minimise),
        decisions: Vec::new(),
    };
    b.lp.set_name("retention_edges");
    b.lp.set_offset(graph.cost.iter().map(|&c| c as f64).sum());
    let (computed, retained) = decisions(&mut b, &graph, backward);
    let s = |t: usize, i: usize| {
        if t < n {
            retained[t * n + i]
        } else {
            Entry::Zero
        }
    };
    let mut held = Vec::new();
    let mut held_start = vec![0u32];
    let mut chain = Vec::new();
    for t in 0..n {
        for i in 0..n {
            chain.clear();
            let mut later = s(t + 1, i);
            for &q in graph.users[i].iter().rev() {
                if q as usize > t || i >= t {
                    continue;
                }
                let run = computed[t * n + q as usize];
                later = match (run, later) {
                    (Entry::Zero, _) => continue,
                    (Entry::One, _) | (_, Entry::One) => Entry::One,
                    (run, Entry::Zero) => run,
                    (run, later) => {
                        let (stage, node) = (t as u32, i as u32);
                        let decision = Decision::Held {
                            stage,
                            node,
                            reader: q,
                        };
                        let e = b.column(decision, 0.0);
                        b.at_least(&[e], run);
                        b.at_least(&[e], later);
                        e
                    }
                };
                chain.push((q, later));
            }
            held.extend(chain.iter().rev());
            held_start.push(held.len() as u32);
        }
    }
    for t in 0..n {
        for i in 0..=t {
            let run = computed[t * n + i];
            for &j in &graph.needs[i] {
                let j = j as usize;
                b.at_least(&[computed[t * n + j], s(t, j)], run);
            }
            if let Some(parent) = graph.parent[i].filter(|_| i < t) {
                b.at_least(&[computed[t * n + parent as usize]], run);
            }
            if i < t {
                // Before the loss, `S` of the rectangular space already stands for a later stage.
                let same = s(t + 1, i) == s(t, i);
                if !same {
                    b.at_least(&[s(t, i), run], s(t + 1, i));
                }
            }
        }
    }
    let model =
        b.lp.build()
            .expect("finite costs, bounds in order, one entry for each row and column");
    Compact {
        graph,
        space,
        model,
        decisions: b.decisions,
        computed,
        retained,
        held,
        held_start,
    }
}

/// Columns and known values of `R` and `S`.
fn decisions(
    b: &mut CompactBuilder,
    graph: &CheckmateGraph,
    backward: Option<usize>,
) -> (Vec<Entry>, Vec<Entry>) {
    let n = graph.len();
    let mut computed = vec![Entry::Zero; n * n];
    let mut retained = vec![Entry::Zero; n * n];
    let last_stage = last_stages(graph, backward);
    for t in 0..n {
        computed[t * n + t] = Entry::One;
        for (i, &last) in last_stage.iter().enumerate().take(t) {
            let at = t * n + i;
            let (stage, node) = (t as u32, i as u32);
            let decided = backward.is_none_or(|f| t >= f && i < f);
            if !decided {
                // A gradient stays until its last reader. Before the loss, see below.
                let read = graph.users[i].last().is_some_and(|&q| q as usize >= t);
                if read && backward.is_some_and(|f| t >= f) {
                    retained[at] = Entry::One;
                }
            } else if last >= t {
                retained[at] = b.column(Decision::Retained { stage, node }, 0.0);
                if graph.may_recompute_in(i as u32, stage) {
                    let price = graph.cost_again[i] as f64;
                    computed[at] = b.column(Decision::Computed { stage, node }, price);
                }
            }
        }
    }
    if let Some(f) = backward {
        // A forward tensor stays until its last forward reader, and on to the loss if it is kept at
        // all.
        for i in 0..f {
            let kept = retained[f * n + i];
            for t in i + 1..f {
                let read = graph.users[i]
                    .iter()
                    .any(|&q| (t..f).contains(&(q as usize)));
                retained[t * n + i] = if read { Entry::One } else { kept };
            }
        }
    }
    (computed, retained)
}

/// The last stage in which each tensor can be of use. If gradients are not recomputed, their inputs
/// are of use only until the gradients' first run.
fn last_stages(graph: &CheckmateGraph, backward: Option<usize>) -> Vec<usize> {
    let n = graph.len();
    let mut last: Vec<usize> = (0..n).collect();
    for i in (0..n).rev() {
        for &q in &graph.users[i] {
            let q = q as usize;
            let to = if backward.is_some_and(|f| q >= f) {
                q
            } else {
                last[q]
            };
            last[i] = last[i].max(to);
        }
    }
    last
}
