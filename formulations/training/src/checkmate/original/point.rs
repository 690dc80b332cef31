//! Schedules as points of the published program, and back.

use super::Original;
use remat_instances::instance::Instance;
use remat_instances::plan::Plan;
use remat_instances::schedule::{BitMatrix, CheckmateSchedule};
use remat_instances::simulate::ReplayError;
use remat_lp::ColId;

impl Original {
    /// The point of a schedule: `F` and `U` follow from `R` and `S` by their definitions.
    ///
    /// The schedule's matrices must have as many rows and columns as the program has nodes. A
    /// schedule that cannot be executed, or that does not fit, gives a point that violates rows or
    /// bounds.
    pub fn point(&self, schedule: &CheckmateSchedule) -> Vec<f64> {
        let p = &self.parts;
        let n = p.len();
        let mut x = vec![0.0; self.model.num_cols()];
        let mut put = |column: ColId, value: f64| x[column.index()] = value;
        let (computed, retained) = (schedule.computed.to_bits(), schedule.retained.to_bits());
        let run = |t: usize, i: usize| computed.get(t, i);
        let kept = |t: usize, i: usize| t < n && retained.get(t, i);
        let mut freed_bytes = vec![0u64; n];
        for t in 0..n {
            for i in 0..n {
                put(p.r(t, i), f64::from(u8::from(run(t, i))));
                put(p.s(t, i), f64::from(u8::from(kept(t, i))));
            }
            freed_bytes.fill(0);
            for (e, &(i, k)) in p.edges.iter().enumerate() {
                let (i, k) = (i as usize, k as usize);
                let read_later = p.later_users(i, k).iter().any(|&j| run(t, j as usize));
                if run(t, k) && !kept(t + 1, i) && !read_later {
                    put(p.f(t, e), 1.0);
                    freed_bytes[k] += p.bytes[i];
                }
            }
            let held = (0..n).filter(|&i| kept(t, i)).map(|i| p.bytes[i]);
            // Signed: a schedule that cannot be executed may free tensors that it never held.
            let mut load = held.sum::<u64>() as i128;
            for (k, freed) in freed_bytes.iter().enumerate() {
                if run(t, k) {
                    load += i128::from(p.bytes[k]);
                }
                put(p.u(t, k), load as f64 / self.unit_bytes);
                load -= i128::from(*freed);
            }
        }
        x
    }

    /// `R` and `S` of an integer point: entries above one half are ones. For a frontier-advancing
    /// program they form a schedule; for an unpartitioned one, see [`Original::plan`].
    ///
    /// # Panics
    /// If the point has not one number for each column.
    pub fn schedule(&self, x: &[f64]) -> CheckmateSchedule {
        assert_eq!(x.len(), self.model.num_cols(), "one number for each column");
        let n = self.parts.len();
        let mut computed = BitMatrix::new(n, n);
        let mut retained = BitMatrix::new(n, n);
        for t in 0..n {
            for i in 0..n {
                computed.set(t, i, x[self.parts.r(t, i).index()] > 0.5);
                retained.set(t, i, x[self.parts.s(t, i).index()] > 0.5);
            }
        }
        CheckmateSchedule {
            computed: computed.into(),
            retained: retained.into(),
        }
    }

    /// The plan of an integer point (Algorithm 1), for either kind of stages. It has the
    /// computations of the stages in order, and frees every tensor right after its last use.
    /// [`remat_instances::simulate::plan`] replays it; its peak is at most the largest `U` of the
    /// point.
    ///
    /// # Errors
    /// [`ReplayError`] if a node runs without one of its inputs: the point violates a row (3).
    pub fn plan(&self, instance: &Instance, x: &[f64]) -> Result<Plan, ReplayError> {
        let computed = self.schedule(x).computed.by_row();
        let nodes = |t: usize| computed.row(t).iter().map(move |i| (t, *i as usize));
        let runs = (0..self.parts.len()).flat_map(nodes);
        Plan::from_computations(instance, runs)
    }
}
