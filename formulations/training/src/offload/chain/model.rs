//! A chain with its link.

use crate::baselines::chain::{Chain, ForwardPeaks};

/// One stage; durations in the unit of the costs.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct LinkedStage {
    /// Bytes of the output, `a`.
    pub output_bytes: u64,
    /// Bytes that `F_all` saves, output included, `abar`.
    pub saved_bytes: u64,
    /// Bytes of the gradients in memory when the backward step starts; 0 for the loss.
    pub gradient_bytes: u64,
    /// Duration of the first forward run, of any kind.
    pub forward_time: f64,
    /// Duration of the backward step.
    pub backward_time: f64,
    /// Duration of a further run that keeps the output alone.
    pub pass_time: f64,
    /// Duration of a further run that saves all.
    pub save_time: f64,
    /// Duration of a further run that saves all directly before the backward step.
    pub close_time: f64,
    /// Peaks of the first forward run.
    pub first: ForwardPeaks,
    /// Peaks of a further forward run.
    pub again: ForwardPeaks,
    /// Peak of the forward run directly before the backward step, gradients included; for the loss,
    /// the peak of its first run.
    pub close_forward_bytes: u64,
    /// Peak of the backward step, saved data and gradients included, without the input.
    pub backward_bytes: u64,
}

/// A chain; the last stage is the loss.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LinkedChain {
    /// The stages, at least one.
    pub stages: Vec<LinkedStage>,
    /// Bytes of the input of the first stage, which may be offloaded like others; 0 if it is part
    /// of the fixed memory.
    pub input_bytes: u64,
}

/// Bandwidth of a link in bytes per unit of time; 0 without a link, infinity for instant copies.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Link {
    /// To the host, in the forward phase.
    pub out: f64,
    /// Back, in the backward phase.
    pub back: f64,
}

impl Link {
    /// Returns whether values can leave and come back.
    pub fn is_open(&self) -> bool {
        self.out > 0.0 && self.back > 0.0
    }
}

impl LinkedChain {
    /// A chain whose input is part of the fixed memory and stays. Other sizes exclude the fixed
    /// memory.
    ///
    /// ```
    /// use remat_formulations::baselines::chain::{Chain, StageParameters};
    /// use remat_formulations::offload::chain::{ChainSearch, Link, LinkedChain};
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
    /// let time = |rate| {
    ///     let link = Link { out: rate, back: rate };
    ///     ChainSearch::new(&chain, link, 44).run().map(|plan| plan.makespan)
    /// };
    /// // Recomputation alone; a link of one byte per unit of time hides all copies.
    /// assert_eq!([time(0.0), time(1.0)], [Some(170.0), Some(150.0)]);
    /// ```
    pub fn of(chain: &Chain) -> Self {
        let stages = chain.stages.iter().map(|s| LinkedStage {
            output_bytes: s.output_bytes,
            saved_bytes: s.saved_bytes,
            gradient_bytes: s.gradient_bytes,
            forward_time: s.forward_cost as f64,
            backward_time: s.backward_cost as f64,
            pass_time: s.pass_cost as f64,
            save_time: s.save_cost as f64,
            close_time: s.close_cost as f64,
            first: s.first,
            again: s.again,
            close_forward_bytes: s.close_forward_bytes,
            backward_bytes: s.backward_bytes,
        });
        LinkedChain {
            stages: stages.collect(),
            input_bytes: 0,
        }
    }

    /// Number of stages.
    pub fn len(&self) -> usize {
        self.stages.len()
    }

    /// Returns whether there is no stage.
    pub fn is_empty(&self) -> bool {
        self.stages.is_empty()
    }

    /// Duration of all first runs and backward steps.
    pub fn base_time(&self) -> f64 {
        let times = self.stages.iter().map(|s| s.forward_time + s.backward_time);
        times.sum()
    }

    /// Bytes of the input of a stage: the plain output of the stage before, or all its saved
    /// tensors.
    pub fn input_bytes(&self, stage: usize, is_saved: bool) -> u64 {
        match stage.checked_sub(1).map(|k| &self.stages[k]) {
            None => self.input_bytes,
            Some(before) if is_saved => before.saved_bytes,
            Some(before) => before.output_bytes,
        }
    }
}
