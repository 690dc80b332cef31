//! Least memory between two executed sets, proven by a flow.
//!
//! A storage is in memory at a set if one of its makers has run (or it was there), and one of its
//! users has not (or it stays). A flow goes from the source, which has run, to the sink, which has
//! not. So each of its units crosses at least once from an executed to an unexecuted operator. Flow
//! between operators without a storage goes to a predecessor, and predecessors of executed
//! operators are executed. So a unit crosses through a storage in memory. No storage carries more
//! than its size, so the flow is no larger than the memory of any set between.

use super::ends::ExecutedSet;
use super::parse::Flow;

/// Lower bound in bytes, by a flow, on the memory of every set that consists of the executed
/// operators and some `free` ones with their predecessors. Storages in `born` count as taken.
pub fn least(
    run: &ExecutedSet<'_>,
    free: &[bool],
    born: &[usize],
    flow: &Flow,
) -> Result<u128, String> {
    let ends = run.ends;
    let is_touched = |t: usize| {
        let mut operators = ends.makers[t].iter().chain(&ends.users[t]);
        operators.any(|v| free[*v as usize]) || born.contains(&t)
    };
    let untouched = (0..ends.bytes.len()).filter(|t| !is_touched(*t) && run.is_there(*t));
    let mut least = u128::from(ends.base_bytes);
    least += untouched.map(|t| u128::from(ends.bytes[t])).sum::<u128>();
    let mut carried = vec![0u128; ends.bytes.len()];
    let mut balance = vec![0i128; ends.len()];
    for stream in &flow.streams {
        let Some(&t) = ends.by_tensor.get(&stream.tensor) else {
            return Err(format!(
                "tensor {} has no storage of its own",
                stream.tensor
            ));
        };
        if !is_touched(t) {
            return Err(format!("tensor {} is counted already", stream.tensor));
        }
        let refuse = |what: &str| Err(format!("tensor {}: {what}", stream.tensor));
        match stream.from {
            None if run.is_born(t) || born.contains(&t) => least += u128::from(stream.bytes),
            None => return refuse("the source is not its maker"),
            Some(v) if ends.makers[t].contains(&v) && free[v as usize] => {
                balance[v as usize] -= i128::from(stream.bytes);
            }
            Some(v) => return refuse(&format!("operator {v} is no free maker of it")),
        }
        let mut users = ends.users[t].iter();
        match stream.to {
            None => {
                let stays = |v: &u32| !free[*v as usize] && !run.done[*v as usize];
                if !ends.stays[t] && !users.any(stays) {
                    return refuse("the sink does not use it");
                }
            }
            Some(v) if ends.users[t].contains(&v) && free[v as usize] => {
                balance[v as usize] += i128::from(stream.bytes);
            }
            Some(v) => return refuse(&format!("operator {v} is no free user of it")),
        }
        carried[t] += u128::from(stream.bytes);
        if carried[t] > u128::from(ends.bytes[t]) {
            return refuse("it carries more than its size");
        }
    }
    for &(v, u, bytes) in &flow.precedence {
        let is_edge = ends
            .before
            .get(v as usize)
            .is_some_and(|list| list.contains(&u));
        if !is_edge || !free[v as usize] || !free[u as usize] {
            return Err(format!(
                "operator {u} is not right before {v}, or one is not free"
            ));
        }
        balance[v as usize] -= i128::from(bytes);
        balance[u as usize] += i128::from(bytes);
    }
    match balance.iter().position(|sum| *sum != 0) {
        None => Ok(least),
        Some(v) => Err(format!(
            "what flows to operator {v} is not what flows from it"
        )),
    }
}
