//! Pairs of operators that run in one order in every order of operators below the bound.
//!
//! If each set at which `v` can run and that holds `u` needs the bound when `v` runs, `u` runs behind
//! `v` below the bound. If each set without `u` does, `u` runs ahead of `v`. Later pairs may use
//! earlier ones, because orders below the bound respect them all.

use super::cut;
use super::ends::Ends;
use super::parse::Implied;

/// Checks a pair, and adds it to the precedence of the problem.
pub fn add(ends: &mut Ends, pair: &Implied, bound_bytes: u64) -> Result<(), String> {
    let (v, u) = (ends.operator(pair.operator)?, ends.operator(pair.other)?);
    let is_before = ends.led_to(&ends.before, v)[u as usize];
    let is_behind = ends.led_to(&ends.after, v)[u as usize];
    if u == v || is_before || is_behind {
        return Err(format!("operators {v} and {u} have an order already"));
    }
    cut::check(ends, v, Some((u, pair.is_behind)), &pair.flow, bound_bytes)?;
    let (first, second) = match pair.is_behind {
        true => (v, u),
        false => (u, v),
    };
    ends.before[second as usize].push(first);
    ends.after[first as usize].push(second);
    Ok(())
}
