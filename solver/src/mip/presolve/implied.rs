//! Continuous columns that are integral whenever the integer columns are.

use super::WorkingProblem;
use super::columns::is_whole;
use super::literals::negated;
use crate::mip::cliques::{Literal, literal};
use crate::mip::problem::within_sides;

/// Marks such columns: columns determined by an equation of integers, and products of literals.
pub(super) fn run(w: &mut WorkingProblem) {
    by_equations(w);
    products(w);
}

/// Marks a continuous column determined by an equation of integers.
fn by_equations(w: &mut WorkingProblem) {
    for i in 0..w.rows.len() {
        if !w.row_alive[i] || w.row_lower[i] != w.row_upper[i] {
            continue;
        }
        let mut continuous = w.rows[i].iter().filter(|e| !w.integer[e.0 as usize]);
        let (Some(&(j, a)), None) = (continuous.next(), continuous.next()) else {
            continue;
        };
        let whole = w.rows[i].iter().all(|e| is_whole(e.1 / a)) && is_whole(w.row_lower[i] / a);
        // Only if the quotients are exactly representable.
        let exact = w.rows[i].iter().all(|e| (e.1 / a) * a == e.1);
        let k = j as usize;
        if whole && exact {
            w.integer[k] = true;
            (w.lower[k], w.upper[k]) = within_sides(w.lower[k], w.upper[k]);
            w.changes += 1;
        }
    }
}

/// Marks a continuous column `f` with `0 <= f <= l_j` and `f >= 1 - sum of (1 - l_j)`: for integral
/// literals `l_j` it is their product.
fn products(w: &mut WorkingProblem) {
    let occurrences = w.occurrences();
    for f in 0..w.cost.len() {
        if !w.col_alive[f] || w.integer[f] || w.lower[f] != 0.0 || w.upper[f] < 1.0 {
            continue;
        }
        let mut factors: Vec<Literal> = Vec::new();
        let mut clauses: Vec<Vec<Literal>> = Vec::new();
        for &i in &occurrences[f] {
            for sign in [1.0, -1.0] {
                match said(w, i as usize, f, sign) {
                    Some(Said::AtMost(l)) => factors.push(l),
                    Some(Said::AtLeast(of)) => clauses.push(of),
                    None => {}
                }
            }
        }
        factors.sort_unstable();
        let is_factor = |l: &Literal| factors.binary_search(l).is_ok();
        if clauses.iter().any(|of| of.iter().all(is_factor)) {
            (w.integer[f], w.upper[f]) = (true, 1.0);
            w.changes += 1;
        }
    }
}

/// A bound on a column by literals.
enum Said {
    /// The column is at most this literal.
    AtMost(Literal),
    /// The column is 1 if all of these are true.
    AtLeast(Vec<Literal>),
}

/// A side of a row (upper: `sign` 1, lower: -1) as a bound on a column by literals. All
/// coefficients must have the same size.
fn said(w: &WorkingProblem, i: usize, f: usize, sign: f64) -> Option<Said> {
    let side = match sign > 0.0 {
        true => w.row_upper[i],
        false => -w.row_lower[i],
    };
    let row = &w.rows[i];
    let &(_, size) = row.iter().find(|e| e.0 as usize == f)?;
    let (size, sign) = (size.abs(), sign / size.abs());
    // The row is `sum of +-x <= side`. `1 - x` replaces `-x`, which adds 1 to the side.
    let mut side = side / size;
    let mut positive = true;
    let mut others: Vec<Literal> = Vec::with_capacity(row.len());
    for &(j, a) in row {
        let a = sign * a;
        if a.abs() != 1.0 {
            return None;
        }
        if j as usize == f {
            positive = a > 0.0;
            continue;
        }
        if !w.is_binary(j as usize) {
            return None;
        }
        others.push(literal(j, a < 0.0));
        side += f64::from(a < 0.0);
    }
    match (positive, others.len()) {
        // f + l <= 1
        (true, 1) if side == 1.0 => Some(Said::AtMost(negated(others[0]))),
        // -f + sum of l <= m - 1
        (false, m) if m > 0 && side == m as f64 - 1.0 => Some(Said::AtLeast(others)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mip::problem::Problem;

    fn marked(rows: &str, upper: &str) -> bool {
        let text = format!(
            "Minimize\n c: x + y + z\nSubject To\n{rows}\nBounds\n z <= {upper}\nBinary\n x\n y\nEnd\n"
        );
        let model = remat_lp::lp_format::parse(&text, "case").unwrap();
        let mut w = WorkingProblem::new(&Problem::from_model(&model));
        run(&mut w);
        assert!(!w.integer[2] || (w.lower[2], w.upper[2]) == (0.0, 1.0));
        w.integer[2]
    }

    #[test]
    fn products_are_integer_and_what_is_less_is_not() {
        let both = " a: z - x <= 0\n b: 2 y - 2 z >= 0\n";
        let force = " c: 3 z - 3 x - 3 y >= -3";
        assert!(marked(&format!("{both}{force}"), "inf"));
        assert!(marked(&format!("{both}{force}"), "1"));
        // x and not y.
        let not = " a: z - x <= 0\n b: z + y <= 1\n c: z - x + y >= 0";
        assert!(marked(not, "7"));
        // No forcing row; a single factor; half of a factor; an upper bound below 1.
        assert!(!marked(both, "inf"));
        assert!(!marked(&format!(" a: z - x <= 0\n{force}"), "inf"));
        let half = " a: 2 z - x <= 0\n b: z - y <= 0\n";
        assert!(!marked(&format!("{half}{force}"), "inf"));
        assert!(!marked(&format!("{both}{force}"), "0.5"));
    }
}
