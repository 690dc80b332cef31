//! Schedules as points of the published program, and back.

use super::{MonetParts, Original};
use remat_instances::schedule::{BitMatrix, Choices, MonetSchedule};

impl Original {
    /// The point of a schedule: `P` and `Z` follow from the rest. The schedule's matrices must have
    /// the shapes of [`MonetSchedule::shape`]; choices that a node does not have are left out.
    pub fn point(&self, schedule: &MonetSchedule) -> Vec<f64> {
        self.parts.point(schedule)
    }

    /// The schedule of an integer point. If a point takes several implementations of a node, the
    /// cheapest of them is chosen: it needs no more than the point does.
    ///
    /// # Panics
    /// If the point has not one number for each column.
    pub fn schedule(&self, x: &[f64]) -> MonetSchedule {
        self.parts.schedule(x)
    }
}

impl MonetParts {
    /// Point of a schedule, as in [`Original::point`].
    pub fn point(&self, schedule: &MonetSchedule) -> Vec<f64> {
        let p = self;
        let l = &p.layout;
        let mut x = vec![0.0; l.len()];
        let mut put = |column: u32, value: bool| x[column as usize] = f64::from(u8::from(value));
        let in_place = |t: usize, i: usize| schedule.in_place.get(t, i);
        for t in 0..l.stages {
            let mut overwritten = vec![false; l.columns];
            for v in (0..l.columns).filter(|&v| in_place(t, v) && !p.is_by_product(v)) {
                if let Some(u) = p.over(v) {
                    overwritten[u] = true;
                }
            }
            let way = usize::from(schedule.backward_choice[t]);
            for (i, gone) in overwritten.iter().enumerate() {
                let run = schedule.computed.get(t, i);
                put(l.r(t, i), run);
                put(l.p(t, i), run && !gone);
                put(l.s(t, i), schedule.retained.get(t, i));
                put(l.s(t + 1, i), schedule.retained.get(t + 1, i));
                if p.in_place {
                    put(l.ip(t, i), in_place(t, i));
                }
                let chosen = usize::from(schedule.forward_choice.get(t, i));
                if let (true, Some(k), Some(&c)) = (run, p.slot[i], p.choice[i].get(chosen)) {
                    put(l.f(t, k, c), true);
                }
            }
            let m = match (
                p.slot[p.loss + t].filter(|_| t > 0),
                p.choice[p.loss + t].get(way),
            ) {
                (Some(k), Some(&c)) => {
                    put(l.f(t, k, c), true);
                    0
                }
                (None, _) if t > 0 && way < l.ways => way,
                _ => 0,
            };
            put(l.m(t, m), true);
            for i in 0..l.columns {
                put(l.z(t, i, m), schedule.retained.get(t + 1, i));
            }
        }
        x
    }
}

impl MonetParts {
    /// The schedule of an integer point, as in [`Original::schedule`].
    pub fn schedule(&self, x: &[f64]) -> MonetSchedule {
        let p = self;
        let l = &p.layout;
        assert_eq!(x.len(), l.len(), "one number for each column");
        let on = |column: u32| x[column as usize] > 0.5;
        let mut schedule = MonetSchedule {
            computed: BitMatrix::new(l.stages, l.columns),
            retained: BitMatrix::new(l.stages + 1, l.columns),
            in_place: BitMatrix::new(l.stages, l.columns),
            forward_choice: Choices::new(l.stages, l.columns),
            backward_choice: vec![0; l.stages],
        };
        for t in 0..l.stages {
            for i in 0..l.columns {
                let run = on(l.r(t, i));
                schedule.computed.set(t, i, run);
                schedule.retained.set(t, i, on(l.s(t, i)));
                schedule.retained.set(t + 1, i, on(l.s(t + 1, i)));
                schedule.in_place.set(t, i, p.in_place && on(l.ip(t, i)));
                if run {
                    schedule.forward_choice.set(t, i, self.algorithm(&on, t, i));
                }
            }
            if t > 0 {
                let ways = p.backward_ways(t);
                schedule.backward_choice[t] = match p.slot[p.loss + t] {
                    Some(_) => self.algorithm(&on, t, p.loss + t),
                    None => {
                        let taken = (0..ways.len()).filter(|&way| on(l.m(t, way)));
                        taken.min_by_key(|&way| ways[way].cost).unwrap_or(0) as u16
                    }
                };
            }
        }
        schedule
    }

    /// The cheapest algorithm that a point takes for a node, as an index of its implementations; 0
    /// without a slot.
    fn algorithm(&self, on: &impl Fn(u32) -> bool, t: usize, n: usize) -> u16 {
        let p = self;
        let Some(k) = p.slot[n] else { return 0 };
        let ways = &p.node(n).implementations;
        let cost = |way: usize| ways[way].run_cost(t > 0 && n <= p.loss);
        let taken = (0..ways.len()).filter(|&way| on(p.layout.f(t, k, p.choice[n][way])));
        taken.min_by_key(|&way| cost(way)).unwrap_or(0) as u16
    }
}
