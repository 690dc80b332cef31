//! Schedules by what they hold: the computations follow.

use super::{BitMatrix, CheckmateSchedule};
use crate::instance::{Instance, NodeId};

impl CheckmateSchedule {
    /// The cheapest computations for given retained sets: per stage, the node of the stage, what
    /// the next stage retains and this one does not hold, and, backwards, every input that is not
    /// held. A by-product is recomputed with its parent, whether that is held or not; what is
    /// computed once is held from there on as long as a computation reads it or a stage retains it.
    ///
    /// This is "min-R" (Checkmate section 5.1.1): optimal for the given `retained`, in O(n) bit
    /// operations a stage. `retained[t, i]` with `i >= t` is dropped first: such a tensor does not
    /// exist yet.
    pub fn cheapest(instance: &Instance, retained: BitMatrix) -> Self {
        Self::complete(instance, retained, false)
    }

    /// The cheapest computations for the given retained sets, and nothing held or computed that is
    /// of no use.
    ///
    /// With what the next stage really needs known, the computations of a stage follow as in
    /// [`CheckmateSchedule::cheapest`], and of its retained tensors only those stay that a
    /// computation reads or the next stage holds, and that the stage does not compute anyway.
    /// Checkmate's program treats retentions without use as spurious as well (section 4.6).
    ///
    /// The cost is at most that of [`CheckmateSchedule::cheapest`] for the same sets, and so is the
    /// peak. Time is linear in the computations and their inputs, plus one bit operation for each
    /// (stage, node).
    pub fn tightest(instance: &Instance, retained: BitMatrix) -> Self {
        Self::complete(instance, retained, true)
    }

    /// One sweep over the stages from the last to the first.
    fn complete(instance: &Instance, mut retained: BitMatrix, tight: bool) -> Self {
        let n = instance.len();
        let mut computed = BitMatrix::new(n, n);
        let words = computed.words_per_row();
        let mut read = vec![0u64; words];
        let mut next = vec![0u64; words];
        // What is never recomputed.
        let mut once = vec![0u64; words];
        for i in instance.ids().filter(|i| !instance.may_recompute(*i)) {
            once[i.index() / 64] |= 1 << (i.index() % 64);
        }
        let is_once = |i: usize| once[i / 64] >> (i % 64) & 1 != 0;
        for t in (0..n).rev() {
            retained.clear_from(t, t);
            read.fill(0);
            let rows = computed.row_mut(t).iter_mut().zip(retained.row_mut(t));
            for (((row, held), &wanted), &once) in rows.zip(&next).zip(&once) {
                *held |= wanted & once;
                *row |= wanted & !*held;
            }
            retained.clear_from(t, t);
            computed.set(t, t, true);
            for w in (0..=t / 64).rev() {
                let mut done = 0u64;
                loop {
                    let rest = computed.row(t)[w] & !done;
                    if rest == 0 {
                        break;
                    }
                    let bit = 63 - rest.leading_zeros() as usize;
                    done |= 1 << bit;
                    let id = NodeId::from(w * 64 + bit);
                    if let Some(parent) = instance.node(id).parent()
                        && id.index() < t
                    {
                        computed.set(t, parent.index(), true);
                    }
                    for need in instance.needs(id) {
                        let i = need.index();
                        read[i / 64] |= 1 << (i % 64);
                        if is_once(i) {
                            retained.set(t, i, true);
                        } else if !retained.get(t, i) {
                            computed.set(t, i, true);
                        }
                    }
                }
            }
            if tight {
                let row = retained.row_mut(t).iter_mut();
                for (((held, later), used), made) in row.zip(&next).zip(&read).zip(computed.row(t))
                {
                    *held &= (used | later) & !made;
                }
            }
            next.copy_from_slice(retained.row(t));
        }
        CheckmateSchedule { computed, retained }
    }
}
