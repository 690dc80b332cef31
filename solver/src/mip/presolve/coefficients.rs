//! Coefficients of integer columns beside continuous columns whose bounds follow only from rows:
//! big-M rows (Savelsbergh 1994, section 2; Achterberg et al. 2020, section 3.2).

use super::{Infeasible, WorkingProblem, rows};

/// Share of a coefficient that must be removed for its bounds to become explicit: such bounds add
/// vertices to the relaxation.
const LEAST_SHARE: f64 = 0.1;

/// Shrinks coefficients, and makes the continuous columns' bounds used for that explicit.
pub(super) fn run(w: &mut WorkingProblem) -> Result<(), Infeasible> {
    let (p, kept, d) = w.propagated()?;
    w.take_bounds(&p, &kept, &d);
    let mut place = vec![usize::MAX; w.cost.len()];
    for (k, &j) in kept.iter().enumerate() {
        place[j as usize] = k;
    }
    for i in 0..w.rows.len() {
        if !w.row_alive[i] || w.row_lower[i].is_finite() == w.row_upper[i].is_finite() {
            continue;
        }
        let (sign, side) = match w.row_upper[i].is_finite() {
            true => (1.0, w.row_upper[i]),
            false => (-1.0, -w.row_lower[i]),
        };
        let bound = |j: u32, upper: bool| {
            let (j, k) = (j as usize, place[j as usize]);
            match (w.integer[j], upper) {
                (true, true) => w.upper[j],
                (true, false) => w.lower[j],
                (false, true) => d.upper[k],
                (false, false) => d.lower[k],
            }
        };
        let part = |&(j, a): &(u32, f64)| a * sign * bound(j, a * sign > 0.0);
        let max: f64 = w.rows[i].iter().map(part).sum();
        if !max.is_finite() {
            continue;
        }
        let shrinks = w.rows[i].iter().any(|&(j, a)| {
            let gain = side - (max - a.abs());
            let open = w.lower[j as usize] < w.upper[j as usize];
            w.integer[j as usize] && open && gain > LEAST_SHARE * a.abs() && gain < a.abs()
        });
        if !shrinks {
            continue;
        }
        for k in 0..w.rows[i].len() {
            let (j, a) = w.rows[i][k];
            let (j, k) = (j as usize, place[j as usize]);
            if w.integer[j] {
                continue;
            }
            if a * sign > 0.0 {
                w.upper[j] = w.upper[j].min(d.upper[k]);
            } else {
                w.lower[j] = w.lower[j].max(d.lower[k]);
            }
        }
        rows::tighten_one(w, i);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mip::problem::Problem;
    use remat_lp::{ModelBuilder, Sense};

    #[test]
    fn a_large_factor_shrinks_to_what_the_rows_allow() {
        let text = "Minimize\n c: y - x\nSubject To\n a: x - 1000 y <= 0\n b: x + z <= 7\n d: x - z >= -3\n\
                    Binary\n y\nEnd\n";
        let model = remat_lp::lp_format::parse(text, "case").unwrap();
        let mut w = WorkingProblem::new(&Problem::from_model(&model));
        assert!(run(&mut w).is_ok());
        let of = |w: &WorkingProblem, name: f64| {
            w.rows[0]
                .iter()
                .find(|e| (e.1 < 0.0) == (name < 0.0))
                .unwrap()
                .1
        };
        // x is at most 7.
        assert!((of(&w, -1.0) + 7.0).abs() < 1e-4, "{:?}", w.rows[0]);
        assert_eq!(of(&w, 1.0), 1.0);
        let x = w.rows[0].iter().find(|e| e.1 > 0.0).unwrap().0 as usize;
        assert!(w.upper[x] >= 7.0 && w.upper[x] < 7.0001);
        // A cutoff on the objective lowers the bound further, since only better points matter.
        w.cutoff = -9.0;
        assert!(run(&mut w).is_err(), "no x is 8 or more");
    }

    #[test]
    fn bounds_that_stand_for_infinity_hide_no_lower_bounds() {
        // Starts 40 apart, with a placeholder in the place of a horizon.
        for horizon in [1e3, 5e6] {
            let mut b = ModelBuilder::new(Sense::Minimise);
            let starts = [0.0, 0.0, 0.0, 1.0].map(|cost| b.add_col(cost, 0.0..=horizon));
            for pair in starts.windows(2) {
                b.add_row(40.0.., [(pair[1], 1.0), (pair[0], -1.0)]);
            }
            let mut w = WorkingProblem::new(&Problem::from_model(&b.build().unwrap()));
            assert!(w.propagate().is_ok());
            assert!(
                (w.lower[3] - 120.0).abs() < 1e-3,
                "{horizon}: {}",
                w.lower[3]
            );
        }
    }
}
