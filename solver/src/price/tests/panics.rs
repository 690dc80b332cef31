//! A panic in any function of a program, on any worker, ends the call with that panic.

use super::tenants::Tenants;
use crate::price::{SolveSettings, solve};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::mpsc;
use std::time::Duration;

/// Functions of a program, each with a number of calls that every search reaches.
const FUNCTIONS: [(&str, u32); 16] = [
    ("start", 0),
    ("row_traits", 40),
    ("right_side", 40),
    ("coefficient", 200),
    ("price", 5),
    ("lagrangian_bound", 2),
    ("exclude", 0),
    ("exclude_all_of", 1),
    ("is_permitted", 100),
    ("point", 5),
    ("violated", 5),
    ("cuts", 0),
    ("open", 1),
    ("branch_row", 3),
    ("round", 0),
    ("cost_if_feasible", 0),
];

#[test]
fn a_panic_anywhere_ends_the_call_with_that_panic() {
    for (function, calls) in FUNCTIONS {
        for (threads, lanes) in [(1, 1), (1, 4), (4, 4)] {
            let mut program = Tenants::random(2, 14, 6, 5);
            program.panics = Some((function, Arc::new(AtomicU32::new(calls))));
            let mut settings = SolveSettings {
                threads,
                ..SolveSettings::default()
            };
            settings.tree.lanes = lanes;
            settings.tree.dive_every = 1;
            let (send, receive) = mpsc::channel();
            std::thread::spawn(move || {
                let run = || solve(Arc::new(program), &settings, Vec::new()).map(|s| s.tree.nodes);
                let caught = catch_unwind(AssertUnwindSafe(run)).err();
                let _ = send.send(caught.and_then(|p| p.downcast::<String>().ok()));
            });
            let caught = receive.recv_timeout(Duration::from_secs(60));
            let caught = caught.unwrap_or_else(|_| panic!("{function}: the call hangs"));
            let text = caught.unwrap_or_else(|| panic!("{function}: no panic arrived"));
            assert_eq!(*text, format!("injected into {function}"));
        }
    }
}
