//! Equations added to other rows so that entries cancel (Chang & McCormick 1993; Achterberg et al.
//! 2020, section 5.3).

use super::WorkingProblem;

/// Longer equations cancel little.
const ROW_LENGTH_LIMIT: usize = 60;

/// Adds equations to rows that become shorter.
pub(super) fn run(w: &mut WorkingProblem) {
    let occurrences = w.occurrences();
    let mut shared = vec![0u32; w.rows.len()];
    let mut of_column = vec![0.0f64; w.cost.len()];
    for r in 0..w.rows.len() {
        let length = w.rows[r].len();
        if !w.row_alive[r]
            || w.row_lower[r] != w.row_upper[r]
            || !(2..=ROW_LENGTH_LIMIT).contains(&length)
        {
            continue;
        }
        if !w.is_precise(r) {
            continue;
        }
        let equation = w.rows[r].clone();
        let side = w.row_lower[r];
        let mut met: Vec<usize> = Vec::new();
        let work: usize = equation
            .iter()
            .map(|e| occurrences[e.0 as usize].len())
            .sum();
        if work > 20_000 {
            continue;
        }
        for &(j, a) in &equation {
            of_column[j as usize] = a;
            for &s in &occurrences[j as usize] {
                let s = s as usize;
                if shared[s] == 0 {
                    met.push(s);
                }
                shared[s] += 1;
            }
        }
        met.sort_unstable();
        for s in met {
            let common = std::mem::take(&mut shared[s]) as usize;
            // At best all common entries cancel, and the rest of the equation is added.
            if s == r || !w.row_alive[s] || 2 * common <= length {
                continue;
            }
            if let Some(f) = factor(&w.rows[s], &of_column, length)
                && w.may_take(s, r, f)
            {
                w.add_multiple(s, &equation, f);
                w.note_taken(s, r, f);
                w.row_lower[s] += f * side;
                w.row_upper[s] += f * side;
                w.changes += 1;
            }
        }
        for e in &equation {
            of_column[e.0 as usize] = 0.0;
        }
    }
}

/// The multiple of an equation (by column) that makes a row shorter, if there is one.
fn factor(row: &[(u32, f64)], equation: &[f64], length: usize) -> Option<f64> {
    let both = || row.iter().filter(|e| equation[e.0 as usize] != 0.0);
    let mut ratios: Vec<f64> = both().map(|e| -e.1 / equation[e.0 as usize]).collect();
    ratios.sort_by(f64::total_cmp);
    let common = ratios.len();
    let (mut best, mut count) = (0.0, 0);
    let mut k = 0;
    while k < common {
        let end = k + ratios[k..].iter().take_while(|r| **r == ratios[k]).count();
        if end - k > count {
            (best, count) = (ratios[k], end - k);
        }
        k = end;
    }
    let gain = count as i64 - (length - common) as i64;
    let whole_row = row.iter().all(|e| e.1.fract() == 0.0);
    let harmless = both().all(|e| {
        let new = e.1 + best * equation[e.0 as usize];
        new == 0.0 || new.abs() >= 1e-2 * e.1.abs()
    });
    // A row of integers must stay integral.
    let whole = !whole_row || best.fract() == 0.0;
    (gain >= 1 && count >= 2 && harmless && whole && (1e-2..=1e2).contains(&best.abs()))
        .then_some(best)
}
