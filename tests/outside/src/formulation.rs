//! From an instance and a budget to a problem, its judge, and the text that proves a bound.

use crate::{Knapsack, KnapsackRow, program::multiplier};
use remat_formulations::Instance;
use remat_instances::schedule::BitMatrix;
use remat_instances::simulate::{Moment, Replay, ReplayError, Transfers};
use remat_search::anneal::Found;
use remat_search::{BoundProof, Formulation, Problem, SolveError, Start, Watch};
use remat_solver::price::TreeProof;
use std::sync::Arc;

/// The program "keep or recompute" of an instance.
#[derive(Clone, Debug)]
pub struct KeepOrRecompute {
    knapsack: Knapsack,
    everything: BitMatrix,
}

impl KeepOrRecompute {
    /// The program of an instance.
    ///
    /// # Errors
    /// [`SolveError::Inapplicable`] for an instance without a loss.
    pub fn new(instance: &Instance) -> Result<Self, SolveError> {
        let knapsack = Knapsack::new(instance).ok_or_else(|| SolveError::Inapplicable {
            formulation: "keep or recompute".into(),
            instance: instance.name().into(),
            because: "it has no loss".into(),
        })?;
        let everything = knapsack.set(|_| true);
        Ok(KeepOrRecompute {
            knapsack,
            everything,
        })
    }

    /// The schedule that keeps no tensor.
    pub fn nothing(&self) -> BitMatrix {
        self.knapsack.set(|_| false)
    }

    /// The judge: cost and peak of a schedule that keeps these tensors.
    pub fn replay(&self, kept: &BitMatrix) -> Replay {
        let (cost, bytes) = self.knapsack.cost_and_bytes(kept);
        Replay {
            saved_bytes: 0,
            waiting_bytes: 0,
            cost,
            makespan: cost,
            transfers: Transfers::default(),
            base_cost: self.knapsack.once,
            peak_bytes: self.knapsack.fixed + bytes,
            peak_at: Moment {
                stage: 0,
                node: None,
            },
            computations: 2 * kept.columns() - kept.count_ones(),
            timeline: Vec::new(),
        }
    }
}

impl Formulation for KeepOrRecompute {
    type Schedule = BitMatrix;
    type Problem<'a> = KnapsackProblem<'a>;

    fn plain(&self) -> Result<Replay, ReplayError> {
        Ok(self.replay(&self.everything))
    }

    fn problem<'a>(
        &'a self,
        budget_bytes: u64,
        starts: &'a [BitMatrix],
    ) -> Result<Start<KnapsackProblem<'a>>, SolveError> {
        let Knapsack { fixed, once, .. } = self.knapsack;
        let Some(room) = budget_bytes.checked_sub(fixed) else {
            return Ok(Start::Infeasible {
                because: format!("{fixed} bytes are always in memory"),
                proof: Some(proof(budget_bytes, None, "")),
            });
        };
        let replay = self.replay(&self.everything);
        if replay.peak_bytes <= budget_bytes {
            return Ok(Start::Optimal {
                schedule: self.everything.clone(),
                replay,
                proof: Some(proof(budget_bytes, Some(once), "root 0\n")),
                over_all_plans: false,
            });
        }
        let knapsack = Arc::new(Knapsack {
            room,
            ..self.knapsack.clone()
        });
        Ok(Start::Open(
            KnapsackProblem {
                program: self,
                knapsack,
                budget_bytes,
                starts,
            },
            once,
        ))
    }
}

/// The program for a budget.
pub struct KnapsackProblem<'a> {
    program: &'a KeepOrRecompute,
    knapsack: Arc<Knapsack>,
    budget_bytes: u64,
    starts: &'a [BitMatrix],
}

impl Problem for KnapsackProblem<'_> {
    type Landscape = Knapsack;
    type Program = Knapsack;
    type Schedule = BitMatrix;

    const THRESHOLDS: &'static [f64] = &[0.5, 1.0 - 1e-6];

    fn landscape(&self) -> &Knapsack {
        &self.knapsack
    }

    fn program(&self) -> Option<Arc<Knapsack>> {
        Some(self.knapsack.clone())
    }

    fn everything(&self) -> &BitMatrix {
        &self.program.everything
    }

    fn known(&self, _: &Watch<'_>) -> Vec<Found> {
        let found = self.starts.iter().filter_map(|kept| {
            let (cost, bytes) = self.knapsack.cost_and_bytes(kept);
            let retained = kept.clone();
            (bytes <= self.knapsack.room).then_some(Found { cost, retained })
        });
        found.collect()
    }

    fn near(&self, knapsack: &Knapsack, kept: &Vec<f64>, threshold: f64) -> BitMatrix {
        knapsack.set(|tensor| kept[tensor] > threshold)
    }

    fn columns(&self, _: &Knapsack, found: &Found) -> Vec<u32> {
        let again = |tensor: &u32| !found.retained.get(0, *tensor as usize);
        (0..found.retained.columns() as u32).filter(again).collect()
    }

    fn judge(&self, found: Found) -> Result<(BitMatrix, Replay), ReplayError> {
        let replay = self.program.replay(&found.retained);
        Ok((found.retained, replay))
    }

    /// A line for each node: the branching that leads to it, and the price of a byte.
    fn proof(&self, knapsack: &Knapsack, tree: &TreeProof<Knapsack>) -> Option<BoundProof> {
        let mut lines = String::new();
        for node in &tree.nodes {
            lines += &match &node.above {
                None => "root".into(),
                Some((above, None)) => format!("again {above}"),
                Some((above, Some(branch))) => {
                    format!(
                        "below {above} {} {} {}",
                        branch.quantity,
                        branch.sign(),
                        branch.count
                    )
                }
            };
            let of_room = node
                .duals
                .iter()
                .find(|d| tree.rows[d.0 as usize] == KnapsackRow::Room);
            let price = of_room.map_or(0, |d| multiplier(&KnapsackRow::Room, d.1));
            lines += &format!(" {price}\n");
        }
        Some(proof(
            self.budget_bytes,
            Some(tree.bound().max(knapsack.once)),
            &lines,
        ))
    }
}

/// A proof of a bound, or of infeasibility:
///
/// ```text
/// keep-or-recompute/1
/// budget BYTES
/// bound COST | infeasible
/// root PRICE | again NODE PRICE | below NODE TENSOR 1|-1 COUNT PRICE   PRICE: a byte's, times 2^40
/// ```
fn proof(budget_bytes: u64, bound: Option<u64>, nodes: &str) -> BoundProof {
    let claim = bound.map_or("infeasible".into(), |bound| format!("bound {bound}"));
    let text = format!("keep-or-recompute/1\nbudget {budget_bytes}\n{claim}\n{nodes}");
    BoundProof::new(text, bound)
}
