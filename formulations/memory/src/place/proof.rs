//! Certificates of the least height.

use super::bound::Shown;
use super::front::Prepared;
use super::least::{BoundReason, PlacedGroup, SharedWork};
use super::problem::PlaceProblem;
use super::search::{Branching, Ground, HeightSearch, Measure, Preference, Verdict, WASTE};
use remat_instances::place::{self, Argument, BoundCertificate};

/// The certificate of a part's bound, among so many buffers in all.
///
/// A bound that a search proved is searched once more, with all buffers of the base, and its steps
/// are written down unless they exceed the limits.
pub(super) fn certificate(
    of: &Prepared,
    placed: &PlacedGroup,
    all: usize,
    work: &mut SharedWork<'_>,
) -> BoundCertificate {
    let positions: Vec<u32> = of
        .part
        .base
        .iter()
        .chain(&of.part.buffers)
        .copied()
        .collect();
    let argument = match placed.reason {
        BoundReason::Shown(Shown::Stack { time }) => Argument::Stack { time },
        BoundReason::Shown(Shown::Fixed { buffer }) => Argument::Fixed {
            buffer: positions[buffer].into(),
        },
        BoundReason::Refuted { height } => match refutation(of, &positions, height, work) {
            Some(steps) => Argument::Refuted { height, steps },
            None => Argument::Searched { height },
        },
    };
    let mut buffers: Vec<u64> = positions.iter().map(|&index| index.into()).collect();
    buffers.sort_unstable();
    if buffers.len() == all {
        buffers.clear();
    }
    BoundCertificate {
        bound: placed.bound,
        argument,
        is_sum: placed.is_sum,
        buffers,
    }
}

/// The steps of a search that refutes a height in bytes, by moments and positions of buffers.
fn refutation(
    of: &Prepared,
    positions: &[u32],
    height: u64,
    work: &mut SharedWork<'_>,
) -> Option<Vec<u64>> {
    if of.whole.buffers().iter().any(|buffer| buffer.has_windows()) {
        return None;
    }
    let all: Vec<u32> = (0..positions.len() as u32).collect();
    let problem = PlaceProblem::new(&of.whole, &all);
    let ground = Ground::new(&problem);
    for branching in Branching::ALL {
        for measure in [Measure::Width, Measure::Size] {
            let preference = Preference::plain(measure);
            let Some(run) = HeightSearch::new(&ground, height, preference, branching) else {
                return Some(Vec::new());
            };
            let mut run = run.keeping_steps(work.tuning.proof_steps);
            let verdict = run.advance(work.tuning.proof_nodes, &work.stop);
            work.nodes += run.nodes;
            if let Verdict::Refuted(Some(steps)) = verdict {
                return Some(translated(&problem, positions, &steps));
            }
        }
    }
    None
}

/// Steps with moments for sections and positions of buffers for items.
fn translated(problem: &PlaceProblem, positions: &[u32], steps: &[u32]) -> Vec<u64> {
    /// Kind of the next word.
    enum Next {
        Section,
        Count,
        Case,
    }
    let mut expected = vec![Next::Section];
    let mut words = Vec::with_capacity(steps.len());
    for &step in steps {
        match expected.pop() {
            Some(Next::Section) => {
                words.push(problem.moments[step as usize]);
                expected.push(Next::Count);
            }
            Some(Next::Count) => {
                words.push(step.into());
                for _ in 0..step {
                    expected.extend([Next::Section, Next::Case]);
                }
            }
            Some(Next::Case) if step == WASTE => words.push(place::WASTE),
            Some(Next::Case) => {
                let item = problem.items[step as usize];
                words.push(positions[item.buffer as usize].into());
            }
            None => break,
        }
    }
    words
}
