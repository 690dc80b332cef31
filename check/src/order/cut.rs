//! Memory when an operator runs, proven by a flow.

use super::ends::{Ends, ExecutedSet};
use super::flow;
use super::parse::Flow;

/// Checks that a flow proves the bound whenever operator `v` runs; with `case`, whenever it runs and
/// another operator has run (`true`) or has not.
pub fn check(
    ends: &Ends,
    v: u32,
    case: Option<(u32, bool)>,
    flow: &Flow,
    bound_bytes: u64,
) -> Result<(), String> {
    let (mut before, mut behind) = (ends.led_to(&ends.before, v), ends.led_to(&ends.after, v));
    if let Some((u, has_run)) = case {
        let (set, lists) = match has_run {
            true => (&mut before, &ends.before),
            false => (&mut behind, &ends.after),
        };
        let more = ends.led_to(lists, u);
        set.iter_mut().zip(more).for_each(|(all, one)| *all |= one);
        set[u as usize] = true;
    }
    let mut run = ExecutedSet::new(ends);
    run.done.clone_from(&before);
    let free = (0..ends.len()).map(|u| !before[u] && !behind[u] && u != v as usize);
    let free: Vec<bool> = free.collect();
    let least = flow::least(&run, &free, &ends.makes[v as usize], flow)?;
    let need = least + u128::from(ends.workspace[v as usize]);
    match need >= u128::from(bound_bytes) {
        true => Ok(()),
        false => Err(format!(
            "the cut at operator {v} proves {need} B, less than the bound"
        )),
    }
}
