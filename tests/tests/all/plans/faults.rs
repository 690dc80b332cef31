//! Plans that cannot be executed: the fault, and the statement where it occurs.

use super::graphs::{ids, instance};
use super::monet::{monet_instance, monet_schedule};
use remat_instances::Semantics;
use remat_instances::instance::{Node, NodeId};
use remat_instances::plan::{Plan, Register, Step};
use remat_instances::schedule::CheckmateSchedule;
use remat_instances::simulate::{self, ReplayError, StepFault};

#[test]
fn every_fault_of_a_statement_is_found_where_it_is() {
    let g = instance(vec![
        Node::forward("a", vec![], 1, 4),
        Node::forward("b", ids(&[0]), 1, 4),
        Node::forward("c", ids(&[0, 1]), 1, 4),
    ]);
    let good = Plan::from_checkmate(&g, &CheckmateSchedule::checkpoint_all(&g)).unwrap();
    let text = good.display(&g).to_string();
    let names: Vec<&str> = text.lines().collect();
    // 0: %0 = allocate a, 1: compute a, 2: %1 = allocate b, 3: compute b, 4: %2 = allocate c, 5:
    // compute c, then three deallocations.
    assert_eq!(names[4..6], ["%2 = allocate c", "compute c -> %2"]);
    let fault = |change: &dyn Fn(&mut Vec<Step>)| {
        let mut plan = good.clone();
        change(&mut plan.steps);
        match simulate::plan(&g, &plan).unwrap_err() {
            ReplayError::Step { step, fault } => (step, *fault),
            other => panic!("{other}"),
        }
    };
    let (a, c) = (NodeId(0), NodeId(2));
    let free = |r| Step::Deallocate {
        register: Register(r),
    };
    let (at, found) = fault(&|s| s.insert(4, free(0)));
    assert_eq!(at, 6);
    assert!(matches!(found, StepFault::MissingInput { missing, .. } if missing == a));
    let (at, found) = fault(&|s| s.insert(1, s[0]));
    assert_eq!(
        (at, matches!(found, StepFault::AllocatedTwice { .. })),
        (1, true)
    );
    let (at, found) = fault(&|s| s.push(free(2)));
    assert_eq!(
        (at, matches!(found, StepFault::NotAllocated { .. })),
        (9, true)
    );
    let (at, found) = fault(&|s| {
        s.remove(0);
    });
    assert_eq!(
        (at, matches!(found, StepFault::NotAllocated { .. })),
        (0, true)
    );
    let (at, found) = fault(&|s| {
        s.remove(1);
    });
    assert_eq!(
        (at, matches!(found, StepFault::MissingInput { .. })),
        (2, true)
    );
    let (at, found) = fault(&|s| s.insert(1, free(0)));
    assert_eq!(
        (at, matches!(found, StepFault::NeverFilled { .. })),
        (1, true)
    );
    let compute = |node, register| Step::Compute {
        node,
        register: Register(register),
        implementation: 0,
    };
    let (at, found) = fault(&|s| s[5] = compute(c, 1));
    assert_eq!(
        (at, matches!(found, StepFault::CannotOverwrite { .. })),
        (5, true)
    );
    let (at, found) = fault(&|s| s[1] = compute(c, 0));
    assert_eq!(
        (at, matches!(found, StepFault::WrongRegister { .. })),
        (1, true)
    );
    let (at, found) = fault(&|s| s[1] = compute(NodeId(7), 0));
    assert_eq!(
        (at, matches!(found, StepFault::UnknownNode { .. })),
        (1, true)
    );
    let (at, found) = fault(&|s| {
        s[1] = Step::Compute {
            node: a,
            register: Register(0),
            implementation: 1,
        }
    });
    assert_eq!(
        (at, matches!(found, StepFault::UnknownImplementation { .. })),
        (1, true)
    );

    let mut plan = good.clone();
    plan.steps.truncate(4);
    let never = simulate::plan(&g, &plan).unwrap_err();
    assert!(matches!(never, ReplayError::NeverComputed { node, .. } if node == c));
    // An output may stay; a tensor that is read may not.
    let mut plan = good.clone();
    plan.steps.retain(|s| *s != free(2));
    assert_eq!(simulate::plan(&g, &plan).unwrap().peak_bytes, 12);
    plan.steps.retain(|s| *s != free(1));
    let leaked = simulate::plan(&g, &plan).unwrap_err();
    assert!(matches!(
        leaked,
        ReplayError::NeverFreed {
            register: Register(1),
            ..
        }
    ));
}

#[test]
fn in_place_is_refused_under_checkmate_and_on_another_input() {
    let g = monet_instance();
    let mut plan = Plan::from_monet(&g, &monet_schedule()).unwrap();
    plan.semantics = Semantics::Checkmate;
    let refused = simulate::plan(&g, &plan).unwrap_err().to_string();
    assert!(
        refused.contains("statement 2: b is computed into %0, which holds a"),
        "{refused}"
    );
}

#[test]
fn a_by_product_comes_only_with_a_run_of_its_parent() {
    let g = monet_instance();
    let mut plan = Plan::from_monet(&g, &monet_schedule()).unwrap();
    // After b and its mask, the mask once more while b is still there.
    let again = [
        Step::Allocate {
            register: Register(9),
            node: NodeId(2),
        },
        Step::Compute {
            node: NodeId(2),
            register: Register(9),
            implementation: 0,
        },
    ];
    plan.steps.splice(5..5, again);
    let refused = simulate::plan(&g, &plan).unwrap_err();
    let ReplayError::Step { step: 6, fault } = refused else {
        panic!("{refused}");
    };
    assert!(matches!(*fault, StepFault::ParentDidNotRun { .. }));
}
