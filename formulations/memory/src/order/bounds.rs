//! Lower bounds on the peak of every order: working sets, forced lives, node cuts.

use super::bits;
use super::cut::node_cut;
use super::reach::Reach;
use super::side::{Direction, Side, SideRun};
use super::valley::Valley;

/// Bytes that each operator needs in every order, by one kind of bound.
#[derive(Clone, Debug)]
pub(super) struct Needs {
    /// Bytes, by operator.
    pub bytes: Vec<u64>,
}

impl Needs {
    /// The largest, and the first operator that has it; `None` if there is no operator.
    pub fn most(&self) -> Option<(u64, u32)> {
        let needs = self.bytes.iter().zip(0u32..);
        let needs = needs.map(|(bytes, v)| (*bytes, v));
        needs.max_by_key(|(bytes, v)| (*bytes, std::cmp::Reverse(*v)))
    }
}

/// Working sets: inputs, outputs and workspace of an operator.
pub(super) fn working_sets(forward: &Side) -> Needs {
    let sum = |list: &[u32]| -> u64 { list.iter().map(|t| forward.bytes[*t as usize]).sum() };
    let need = |v: u32| {
        let held = sum(forward.makes.row(v)) + sum(forward.uses.row(v));
        forward.base_bytes + held + forward.workspace[v as usize]
    };
    Needs {
        bytes: (0..forward.len as u32).map(need).collect(),
    }
}

/// Forced lives: outputs and workspace of an operator, and all storages that are made before it and
/// read by it or behind it in every order.
pub(super) fn forced_lives(forward: &Side, reach: &Reach) -> Needs {
    let mut bytes: Vec<u64> = (0..forward.len as u32)
        .map(|v| {
            let makes = forward.makes.row(v).iter();
            let made: u64 = makes.map(|t| forward.bytes[*t as usize]).sum();
            forward.base_bytes + made + forward.workspace[v as usize]
        })
        .collect();
    let mut before_end = bits::empty(forward.len);
    for (t, size) in forward.bytes.iter().enumerate() {
        let maker = forward.makers.row(t as u32)[0];
        before_end.fill(0);
        for &user in forward.users.row(t as u32) {
            let ahead = reach.ahead(Direction::Forward, user);
            before_end
                .iter_mut()
                .zip(ahead)
                .for_each(|(all, one)| *all |= one);
            bits::insert(&mut before_end, user);
        }
        if forward.stays[t] {
            before_end.fill(u64::MAX);
        }
        let behind = reach.behind(Direction::Forward, maker).iter();
        let live: Vec<u64> = behind.zip(&before_end).map(|(a, b)| a & b).collect();
        for v in bits::ones(&live) {
            bytes[v as usize] += size;
        }
    }
    Needs { bytes }
}

/// Node cuts of all operators; forced lives once `is_over`.
pub(super) fn node_cuts(forward: &Side, reach: &Reach, is_over: &dyn Fn() -> bool) -> Needs {
    let mut needs = forced_lives(forward, reach);
    let goal = bits::full(forward.len);
    let mut run = SideRun::new(forward);
    let mut valley = Valley::new(forward.len, forward.bytes.len());
    for v in 0..forward.len as u32 {
        if is_over() {
            break;
        }
        let around = reach.around(Direction::Forward, v);
        needs.bytes[v as usize] = node_cut(&mut run, &mut valley, around, &goal, v).bytes;
    }
    needs
}

/// The largest node cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LargestCut {
    /// The bound in bytes.
    pub bytes: u64,
    /// Operator of the cut, if a cut was computed.
    pub operator: Option<u32>,
    /// True if no other operator's cut can be larger.
    pub is_complete: bool,
    /// Number of computed cuts.
    pub cuts: usize,
}

/// The largest node cut, from a known bound on. `upper` is the need of each operator in some order:
/// no cut of the operator is larger, so cuts that cannot matter are not computed.
pub(super) fn largest_cut(
    forward: &Side,
    reach: &Reach,
    known: u64,
    upper: &[u64],
    is_over: &dyn Fn() -> bool,
) -> LargestCut {
    let mut largest = LargestCut {
        bytes: known,
        operator: None,
        is_complete: true,
        cuts: 0,
    };
    let mut candidates: Vec<u32> = (0..forward.len as u32).collect();
    candidates.sort_by_key(|v| std::cmp::Reverse(upper[*v as usize]));
    let goal = bits::full(forward.len);
    let mut run = SideRun::new(forward);
    let mut valley = Valley::new(forward.len, forward.bytes.len());
    for v in candidates {
        if upper[v as usize] <= largest.bytes {
            break;
        }
        if is_over() {
            largest.is_complete = false;
            break;
        }
        largest.cuts += 1;
        let around = reach.around(Direction::Forward, v);
        let cut = node_cut(&mut run, &mut valley, around, &goal, v);
        if cut.bytes > largest.bytes {
            (largest.bytes, largest.operator) = (cut.bytes, Some(v));
        }
    }
    largest
}
