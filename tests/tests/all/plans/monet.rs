//! Plans of schedules of MONeT's program: implementations, masks and in-place operators.

use super::graphs::{ids, instance};
use remat_instances::instance::{Implementation, InPlace, Instance, Node, NodeId, NodeKind};
use remat_instances::plan::Plan;
use remat_instances::schedule::{BitMatrix, Choices, MonetSchedule};
use remat_instances::simulate::{self, ReplayError};

/// Forward a, b (may overwrite a), m (mask of b, made with b), loss; backward of b (from b's output
/// or its mask) and a.
pub fn monet_instance() -> Instance {
    let implementation = |needs: &[u32], cost, workspace| Implementation {
        recompute_cost: cost + 1,
        recompute_workspace_bytes: workspace + 2,
        ..Implementation::new(ids(needs), cost, workspace)
    };
    let with = |mut node: Node, list: Vec<Implementation>, fixed| {
        node.implementations = list;
        node.fixed_bytes = fixed;
        node
    };
    let a = with(
        Node::forward("a", vec![], 0, 100),
        vec![implementation(&[], 10, 5), implementation(&[], 7, 50)],
        1000,
    );
    let mut b = with(
        Node::forward("b", vec![], 0, 100),
        vec![implementation(&[0], 20, 0)],
        1000,
    );
    b.in_place = Some(InPlace {
        on: NodeId(0),
        cost_delta: -3,
        workspace_bytes: -100,
    });
    let mut mask = with(
        Node::forward("m", vec![], 0, 4),
        vec![implementation(&[1], 2, 0)],
        1000,
    );
    mask.kind = NodeKind::ByProduct { parent: NodeId(1) };
    mask.in_place = Some(InPlace {
        on: NodeId(0),
        cost_delta: 5,
        workspace_bytes: 0,
    });
    let loss = with(
        Node::loss("loss", vec![], 0, 8),
        vec![implementation(&[1], 1, 0)],
        1000,
    );
    let grad_b = with(
        Node::backward("grad b", Some(NodeId(1)), vec![], 0, 100),
        vec![
            implementation(&[1, 3], 30, 0),
            implementation(&[2, 3], 40, 0),
        ],
        1010,
    );
    let grad_a = with(
        Node::backward("grad a", Some(NodeId(0)), vec![], 0, 0),
        vec![implementation(&[0, 4], 50, 0)],
        1020,
    );
    instance(vec![a, b, mask, loss, grad_b, grad_a])
}

/// Forward with b in place of a and its mask saved, backward of b by the mask, then a again.
pub fn monet_schedule() -> MonetSchedule {
    let mut s = MonetSchedule {
        computed: BitMatrix::new(3, 4),
        retained: BitMatrix::new(4, 4),
        in_place: BitMatrix::new(3, 4),
        forward_choice: Choices::new(3, 4),
        backward_choice: vec![0, 1, 0],
    };
    (0..4).for_each(|i| s.computed.set(0, i, true));
    s.in_place.set(0, 1, true);
    s.in_place.set(0, 2, true);
    // Tensors that a backward node reads from memory are stored beyond its stage.
    for stage in 1..=2 {
        s.retained.set(stage, 2, true);
        s.retained.set(stage, 3, true);
    }
    s.computed.set(2, 0, true);
    s.forward_choice.set(2, 0, 1);
    s
}

#[test]
fn a_monet_schedule_becomes_a_plan_with_in_place_masks_and_implementations() {
    let g = monet_instance();
    let plan = Plan::from_monet(&g, &monet_schedule()).unwrap();
    let expected = "\
%0 = allocate a
compute a -> %0
compute b -> %0 in place
%1 = allocate m
compute m -> %1
%2 = allocate loss
compute loss -> %2
deallocate %0
%3 = allocate grad b
compute grad b [1] -> %3
deallocate %1
deallocate %2
%4 = allocate a
compute a [1] -> %4
%5 = allocate grad a
compute grad a -> %5
deallocate %4
deallocate %3
deallocate %5
";
    assert_eq!(plan.display(&g).to_string(), expected);
    let replay = simulate::plan(&g, &plan).unwrap();
    // a 10, b 20 - 3, its mask 2 + 5, loss 1, grad b by the mask 40, a again with its second way 8,
    // grad a 50.
    assert_eq!(replay.cost, 10 + 17 + 7 + 1 + 40 + 8 + 50);
    let bytes: Vec<u64> = replay.timeline.iter().map(|p| p.bytes).collect();
    // Fixed memory follows the frontier; a is freed while b runs; a's second implementation needs
    // 52 when recomputed.
    assert_eq!(
        bytes,
        [
            1000 + 105,
            1000 + 200 - 100,
            1000 + 104,
            1000 + 112,
            1010 + 112,
            1010 + 200 + 52,
            1020 + 200
        ]
    );
    assert_eq!(replay.peak_bytes, 1262);
    assert_eq!(plan.optimised(&g).unwrap(), plan);
}

#[test]
fn monet_plans_lose_recomputations_that_nobody_reads() {
    let g = monet_instance();
    let mut s = monet_schedule();
    // Stage 1 recomputes a, b and the mask; grad b reads the new mask, so all three are live.
    for i in 0..3 {
        s.computed.set(1, i, true);
    }
    let plan = Plan::from_monet(&g, &s).unwrap();
    assert_eq!(plan.computations(g.len()), [3, 2, 2, 1, 1, 1]);
    assert_eq!(
        plan.optimised(&g).unwrap().computations(g.len()),
        [3, 2, 2, 1, 1, 1],
        "the new mask is read"
    );
    s.computed.set(1, 2, false);
    let plan = Plan::from_monet(&g, &s).unwrap();
    assert_eq!(plan.computations(g.len()), [3, 2, 1, 1, 1, 1]);
    let optimised = plan.optimised(&g).unwrap();
    assert_eq!(optimised, Plan::from_monet(&g, &monet_schedule()).unwrap());
}

#[test]
fn monet_schedules_that_cannot_be_executed_are_refused() {
    let g = monet_instance();
    let refused = |change: &dyn Fn(&mut MonetSchedule)| {
        let mut s = monet_schedule();
        change(&mut s);
        Plan::from_monet(&g, &s).unwrap_err().to_string()
    };
    type Change<'a> = &'a dyn Fn(&mut MonetSchedule);
    let cases: [(&str, Change<'_>); 6] = [
        (
            "stage 2: node 5 (grad a) runs, but its input 0 (a) is not in memory",
            &|s| s.computed.set(2, 0, false),
        ),
        (
            "stage 2 starts with node 1 (b) retained, but stage 1 neither held nor computed it",
            &|s| s.retained.set(2, 1, true),
        ),
        ("node 0 (a) runs implementation 2", &|s| {
            s.forward_choice.set(2, 0, 2);
        }),
        ("node 3 (loss) is marked in place", &|s| {
            s.in_place.set(0, 3, true);
        }),
        ("the retained matrix S is 3 x 4", &|s| {
            s.retained = BitMatrix::new(3, 4)
        }),
        ("by-product 2 (m) is computed, but its parent 1 (b)", &|s| {
            // b is held, and its mask is recomputed alone.
            s.in_place.set(0, 1, false);
            s.in_place.set(0, 2, false);
            s.retained.set(1, 1, true);
            s.computed.set(1, 2, true);
        }),
    ];
    for (expected, change) in cases {
        let found = refused(change);
        assert!(found.contains(expected), "{found:?} lacks {expected:?}");
    }
    let forward_only = instance(vec![Node::forward("a", vec![], 1, 1)]);
    assert_eq!(
        Plan::from_monet(&forward_only, &monet_schedule()),
        Err(ReplayError::NoLoss)
    );
}
