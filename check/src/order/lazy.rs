//! Operators that can wait until right before the first one behind them.
//!
//! A lazy operator takes at least as many bytes as it can ever free. Each operator that may be the
//! first behind it takes, with its workspace, at least those bytes and the workspace of the lazy
//! operator. Moved to right before that one, it makes no step larger (`docs/theory/order.md`, "Lazy
//! operators").

use super::ends::Ends;

/// Returns for each operator whether it can wait, in orders of the operators that are `inside`.
pub fn lazy(ends: &Ends, inside: &[bool]) -> Vec<bool> {
    let n = ends.len();
    let words = n.div_ceil(64);
    let mut behind = vec![0u64; n * words];
    for &v in ends.topological.iter().rev() {
        let v = v as usize;
        for &w in &ends.after[v] {
            let w = w as usize;
            for k in 0..words {
                behind[v * words + k] |= behind[w * words + k];
            }
            behind[v * words + w / 64] |= 1 << (w % 64);
        }
    }
    let is_behind = |v: u32, w: u32| {
        let word = behind[v as usize * words + w as usize / 64];
        word >> (w % 64) & 1 != 0
    };
    let frees = |v: u32| -> u64 {
        let uses = ends.uses[v as usize].iter();
        let may_go = uses.filter(|t| {
            let mut users = ends.users[**t].iter();
            !ends.stays[**t] && !users.any(|u| is_behind(v, *u))
        });
        may_go.map(|t| ends.bytes[*t]).sum()
    };
    let takes = |v: u32| -> u64 {
        let makes = ends.makes[v as usize].iter();
        let first = makes.filter(|t| {
            let mut makers = ends.makers[**t].iter();
            !ends.there[**t] && makers.all(|u| *u == v || is_behind(v, *u))
        });
        first.map(|t| ends.bytes[*t]).sum()
    };
    let can_wait = |v: u32| {
        if !inside[v as usize] || takes(v) < frees(v) {
            return false;
        }
        let next = ends.after[v as usize].iter().copied();
        let next: Vec<u32> = next.filter(|w| inside[*w as usize]).collect();
        let need = frees(v) + ends.workspace[v as usize];
        let suits = |w: &u32| {
            let comes_later = next.iter().any(|u| u != w && is_behind(*u, *w));
            comes_later || takes(*w) + ends.workspace[*w as usize] >= need
        };
        !next.is_empty() && next.iter().all(suits)
    };
    (0..n as u32).map(can_wait).collect()
}
