//! Least `sum + steps * maximum`, from least sums under limits on the maximum.

/// A choice of least sum under a limit.
pub(crate) struct Limited<C> {
    /// The least sum.
    pub sum: u64,
    /// The maximum of the choice, at most the limit.
    pub maximum: u64,
    /// The choice.
    pub choice: C,
}

/// Maxima strictly between two values; the sum is least with the larger one as the limit.
struct Gap {
    above: u64,
    below: u64,
    sum: u64,
}

/// The choice of least objective, with the objective.
///
/// `solve` gives the choice of least sum under a limit; `least` is the least maximum of all
/// choices. Gaps between limits are bisected, the least bound first. A gap is closed if its sum
/// with its smallest maximum is no better than the best choice. Of equal objectives the choice that
/// was found first counts.
pub(crate) fn best<C>(
    steps: u64,
    least: u64,
    mut solve: impl FnMut(u64) -> Option<Limited<C>>,
) -> Option<(u64, C)> {
    let objective = |sum: u64, maximum| sum.saturating_add(steps.saturating_mul(maximum));
    let free = solve(u64::MAX - 1)?;
    let mut gaps = vec![Gap {
        above: least,
        below: free.maximum,
        sum: free.sum,
    }];
    let mut best = (objective(free.sum, free.maximum), free.choice);
    if free.maximum > least && steps > 0 {
        let limited = solve(least)?;
        let value = objective(limited.sum, limited.maximum);
        if value < best.0 {
            best = (value, limited.choice);
        }
    }
    let bound = |gap: &Gap| objective(gap.sum, gap.above.saturating_add(1));
    while let Some(at) = (0..gaps.len()).min_by_key(|&at| bound(&gaps[at])) {
        let gap = gaps.swap_remove(at);
        if bound(&gap) >= best.0 {
            break;
        }
        // Larger maxima are no better than the best choice.
        let useful = (best.0 - gap.sum).div_ceil(steps.max(1));
        let below = gap.below.min(useful);
        if gap.above + 1 >= below {
            continue;
        }
        let middle = gap.above + (below - gap.above) / 2;
        let limited = solve(middle)?;
        gaps.push(Gap {
            above: middle,
            below,
            sum: gap.sum,
        });
        gaps.push(Gap {
            above: gap.above,
            below: limited.maximum,
            sum: limited.sum,
        });
        let value = objective(limited.sum, limited.maximum);
        if value < best.0 {
            best = (value, limited.choice);
        }
    }
    Some(best)
}
