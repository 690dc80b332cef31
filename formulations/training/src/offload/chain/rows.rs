//! Rows of a comparison: methods to plan a chain with a link, each played under
//! [`Release::AtOnce`].

use super::capper::capped;
use super::opportunist::{NextHead, opportunist};
use super::play::{Played, Release, play};
use super::recompute::Recomputation;
use super::search::{ChainPlan, ChainSearch, Choices};
use super::sequence::{Action, SequenceError, memory_range};
use rayon::prelude::*;

/// A method to plan a chain.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum ChainMethod {
    /// The best of three sequences: POFO's, rotor's, and offloading alone.
    Pofo,
    /// Recomputation alone.
    Rotor,
    /// Offloading alone, as if memory were free byte by byte (Beaumont, Eyraud-Dubois, Shilova,
    /// "Optimal GPU-CPU offloading strategies for deep neural network training", Euro-Par 2020).
    OffloadOnly,
    /// Stages are offloaded when the link is free, the others run again (POFO, section 5).
    Opportunist,
    /// The best of rotor's sequences for larger memories, with inputs offloaded at the peaks (POFO,
    /// section 5).
    Autocapper,
    /// All stages save; the lowest input at the peak is offloaded until the peak fits (Euro-Par
    /// 2020).
    Greedy,
}

impl ChainMethod {
    /// All rows, in the order of tables.
    pub const ALL: [ChainMethod; 6] = [
        ChainMethod::Pofo,
        ChainMethod::Rotor,
        ChainMethod::OffloadOnly,
        ChainMethod::Opportunist,
        ChainMethod::Autocapper,
        ChainMethod::Greedy,
    ];

    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            ChainMethod::Pofo => "pofo",
            ChainMethod::Rotor => "rotor",
            ChainMethod::OffloadOnly => "offload-only",
            ChainMethod::Opportunist => "opportunist",
            ChainMethod::Autocapper => "autocapper",
            ChainMethod::Greedy => "greedy",
        }
    }
}

/// A row with its sequence.
#[derive(Clone, PartialEq, Debug)]
pub struct ChainRow {
    /// The method.
    pub row: ChainMethod,
    /// The sequence.
    pub actions: Vec<Action>,
    /// Its durations under [`Release::AtOnce`].
    pub played: Played,
}

/// Rows of a chain, and the searches behind them under continuous release.
#[derive(Clone, PartialEq, Debug)]
pub struct ChainRows {
    /// The rows that fit, in the order of [`ChainMethod::ALL`].
    pub rows: Vec<ChainRow>,
    /// POFO, continuous release.
    pub pofo: Option<ChainPlan>,
    /// Rotor.
    pub rotor: Option<ChainPlan>,
    /// Offloading alone, continuous release.
    pub offload_only: Option<ChainPlan>,
}

impl ChainRows {
    /// The row of a method, if it fits.
    pub fn get(&self, row: ChainMethod) -> Option<&ChainRow> {
        self.rows.iter().find(|one| one.row == row)
    }
}

impl ChainSearch<'_> {
    /// All rows of the chain in the search's memory, with its link and tuning; its choices are
    /// ignored.
    ///
    /// # Errors
    /// [`SequenceError`] for a chain without stages.
    ///
    /// ```
    /// use remat_formulations::baselines::chain::{Chain, StageParameters};
    /// use remat_formulations::offload::chain::{ChainMethod, ChainSearch, Link, LinkedChain};
    ///
    /// let stage = StageParameters {
    ///     forward_cost: 10,
    ///     backward_cost: 20,
    ///     output_bytes: 4,
    ///     saved_bytes: 12,
    ///     gradient_bytes: 4,
    ///     ..StageParameters::default()
    /// };
    /// let chain = LinkedChain::of(&Chain::from_parameters(4, &[stage; 5]));
    /// let link = Link { out: 0.25, back: 0.25 };
    /// let rows = ChainSearch::new(&chain, link, 44).rows()?;
    /// let time = |row| rows.get(row).map(|one| one.played.makespan());
    /// assert!(time(ChainMethod::Pofo) <= time(ChainMethod::Rotor));
    /// # Ok::<(), remat_formulations::offload::chain::SequenceError>(())
    /// ```
    pub fn rows(&self) -> Result<ChainRows, SequenceError> {
        let (_, most) = memory_range(self.chain)?;
        let plan = |choices| self.clone().choices(choices).run();
        let [pofo, rotor, offload_only] =
            [Choices::Both, Choices::Recompute, Choices::Offload].map(plan);
        let most = most.max(self.memory_bytes);
        let recomputation = Recomputation::new(self.chain, most, self.tuning);
        let sequence = |plan: &Option<ChainPlan>| plan.iter().map(|p| p.actions.clone()).collect();
        let three: Vec<Vec<Action>> = [&pofo, &rotor, &offload_only].map(sequence).concat();
        let heads = [NextHead::IsCounted, NextHead::IsNot]
            .into_iter()
            .filter_map(|next| {
                let link = self.link;
                opportunist(self.chain, link, self.memory_bytes, &recomputation, next)
            });
        let saving = recomputation.sequence(most);
        let greedy = saving.and_then(|all| capped(self.chain, self.memory_bytes, &all));
        let candidates = [
            (ChainMethod::Pofo, three),
            (ChainMethod::Rotor, sequence(&rotor)),
            (ChainMethod::OffloadOnly, sequence(&offload_only)),
            (ChainMethod::Opportunist, heads.collect()),
            (ChainMethod::Autocapper, self.caps(&recomputation, most)),
            (ChainMethod::Greedy, greedy.into_iter().collect()),
        ];
        let mut rows = Vec::new();
        for (row, sequences) in candidates {
            let mut best: Option<ChainRow> = None;
            for actions in sequences {
                let played = play(
                    self.chain,
                    self.link,
                    self.memory_bytes,
                    &actions,
                    Release::AtOnce,
                )?;
                let Some(played) = played.filter(|p| p.makespan().is_finite()) else {
                    continue;
                };
                let is_better = |one: &ChainRow| played.makespan() < one.played.makespan();
                if best.as_ref().is_none_or(is_better) {
                    best = Some(ChainRow {
                        row,
                        actions,
                        played,
                    });
                }
            }
            rows.extend(best);
        }
        Ok(ChainRows {
            rows,
            pofo,
            rotor,
            offload_only,
        })
    }

    /// Capper's sequences for memories from the search's memory up to `most`.
    fn caps(&self, recomputation: &Recomputation<'_>, most: u64) -> Vec<Vec<Action>> {
        let caps = self.tuning.caps.max(2) as u64;
        let more = u128::from(most - self.memory_bytes);
        let memories = (0..caps).into_par_iter().map(|k| {
            let share = more * u128::from(k) / u128::from(caps - 1);
            self.memory_bytes + share as u64
        });
        let sequences = memories.map(|memory| {
            let actions = recomputation.sequence(memory)?;
            capped(self.chain, self.memory_bytes, &actions)
        });
        let sequences: Vec<Option<Vec<Action>>> = sequences.collect();
        sequences.into_iter().flatten().collect()
    }
}
