//! Lifted covers of a row of binaries and one continuous variable (Marchand & Wolsey 1999, *The 0-1
//! knapsack problem with a single continuous variable*). With variable bounds substituted these are
//! lifted flow covers (Gu, Nemhauser & Savelsbergh 1999).

use super::shift::{self, Base, Shifted, ShiftedTerm};
use super::sum::Sum;
use super::{Context, Cut};

fn is_binary(t: &ShiftedTerm) -> bool {
    t.integer && !t.slack && t.range == 1.0
}

/// The better of two greedy covers. All other variables are nonnegative: those with positive
/// coefficients are dropped, those with negative ones form the continuous variable.
pub(crate) fn separate(c: &Context<'_>, base: &Base, shifted: &Shifted) -> Option<Cut> {
    if !shifted.terms.iter().any(|t| is_binary(t) && t.value > 1e-6) {
        return None;
    }
    // The right side and the total weight once all weights are positive.
    let (mut known, mut size) = (shifted.rhs, 0.0);
    for t in shifted.terms.iter().filter(|t| is_binary(t)) {
        if t.coef < 0.0 {
            known.add(-t.coef * t.range);
        }
        size += t.coef.abs();
    }
    let rhs = known.value;
    let margin = 1e-5 * rhs.abs().max(1.0);
    if rhs < 0.0 || size <= rhs + margin || !size.is_finite() {
        return None;
    }
    let mut terms = shifted.terms.clone();
    let negative = |t: &&mut ShiftedTerm| is_binary(t) && t.coef < 0.0;
    (terms.iter_mut().filter(negative)).for_each(|t| t.complement(&mut Sum::default()));
    let items: Vec<usize> = (0..terms.len())
        .filter(|&k| is_binary(&terms[k]) && terms[k].coef > 0.0)
        .collect();
    let mut best: Option<Cut> = None;
    for by_weight in [false, true] {
        let rank = |&k: &usize| {
            let t = &terms[k];
            if by_weight {
                (-t.value * t.coef, k)
            } else {
                ((1.0 - t.value) / t.coef, k)
            }
        };
        let mut order: Vec<(f64, usize)> = items.iter().map(rank).collect();
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut weight = 0.0;
        let mut cover = Vec::new();
        for (_, k) in order {
            if weight > rhs + margin {
                break;
            }
            weight += terms[k].coef;
            cover.push(k);
        }
        if weight <= rhs + margin {
            continue;
        }
        // Removes the items with the smallest values while it remains a cover.
        for k in (0..cover.len()).rev() {
            let a = terms[cover[k]].coef;
            if terms[cover[k]].value < 1.0 - 1e-6 && weight - a > rhs + margin {
                weight -= a;
                cover.remove(k);
            }
        }
        let cut = lift(c, base, &terms, (&cover, weight - rhs), known);
        if let Some(cut) = cut
            && best.as_ref().is_none_or(|b| cut.efficacy > b.efficacy)
        {
            best = Some(cut);
        }
    }
    best
}

/// `sum_C min(a, excess) z + sum_others phi(a) z - s <= sum_C min(a, excess) - excess`.
fn lift(
    c: &Context<'_>,
    base: &Base,
    terms: &[ShiftedTerm],
    (cover, excess): (&[usize], f64),
    known: Sum,
) -> Option<Cut> {
    let mut large: Vec<f64> = cover
        .iter()
        .map(|&k| terms[k].coef)
        .filter(|a| *a > excess)
        .collect();
    if large.is_empty() {
        return None;
    }
    large.sort_by(|a, b| b.total_cmp(a));
    let mut sums = vec![0.0];
    for a in &large {
        sums.push(sums[sums.len() - 1] + a);
    }
    let mut coefficients: Vec<f64> = terms
        .iter()
        .map(|t| {
            if is_binary(t) {
                if t.coef > 0.0 {
                    phi(t.coef, excess, &sums)
                } else {
                    0.0
                }
            } else {
                t.coef.min(0.0)
            }
        })
        .collect();
    let mut side = -excess;
    for &k in cover {
        coefficients[k] = terms[k].coef.min(excess);
        side += coefficients[k];
    }
    let activity: f64 = terms
        .iter()
        .zip(&coefficients)
        .map(|(t, r)| r * t.value)
        .sum();
    if activity <= side + 1e-9 * excess {
        return None;
    }
    let side = Sum {
        value: side,
        largest: known.largest,
    };
    shift::unshift(c, base, terms, &coefficients, side)
}

/// The superadditive lifting function: flat pieces of height `i * excess`, joined by pieces of
/// slope one that end at the partial sums of the large cover items.
fn phi(a: f64, excess: f64, sums: &[f64]) -> f64 {
    let last = sums.len() - 1;
    for i in 0..last {
        if a <= sums[i + 1] - excess {
            return i as f64 * excess;
        }
        if a <= sums[i + 1] {
            return (i + 1) as f64 * excess + (a - sums[i + 1]);
        }
    }
    last as f64 * excess + (a - sums[last])
}

#[cfg(test)]
mod tests {
    use super::phi;

    #[test]
    fn the_lifting_function_is_superadditive() {
        for (excess, sums) in [
            (2.0, vec![0.0, 5.0, 8.0]),
            (1.0, vec![0.0, 4.0]),
            (3.5, vec![0.0, 9.0, 14.0, 18.0]),
        ] {
            for i in 0..80 {
                for j in 0..80 {
                    let (a, b) = (f64::from(i) * 0.25, f64::from(j) * 0.25);
                    assert!(
                        phi(a, excess, &sums) + phi(b, excess, &sums)
                            <= phi(a + b, excess, &sums) + 1e-12
                    );
                }
            }
        }
    }
}
