//! Memory and cost computed by hand, and schedules that cannot be executed.

use super::*;
use crate::instance::{CostUnit, Gradient, InPlace, InstanceData, Node, passing_in_plain_order};
use crate::schedule::Choices;

/// conv, relu (in place on conv), its mask, loss, backward of relu, backward of conv; sizes are
/// powers of two.
fn instance() -> Instance {
    let mut nodes = vec![
        Node::forward("conv", vec![], 10, 1),
        Node::forward("relu", vec![NodeId(0)], 20, 2),
        Node::forward("mask", vec![NodeId(1)], 5, 4),
        Node::loss("loss", vec![NodeId(1)], 1, 8),
        Node::backward("drelu", Some(NodeId(1)), vec![NodeId(2), NodeId(3)], 30, 16),
        Node::backward("dconv", Some(NodeId(0)), vec![NodeId(0), NodeId(4)], 40, 32),
    ];
    nodes[2].kind = NodeKind::ByProduct { parent: NodeId(1) };
    nodes[1].in_place = Some(InPlace {
        on: NodeId(0),
        cost_delta: -3,
        workspace_bytes: -1,
    });
    nodes[5].kind = NodeKind::Backward {
        forward: None,
        gradient: Gradient::Input,
    };
    for (i, passing) in passing_in_plain_order(&nodes).into_iter().enumerate() {
        nodes[i].passing = passing;
        nodes[i].fixed_bytes = 64 * i as u64;
    }
    let data = InstanceData {
        name: "small".into(),
        cost_unit: CostUnit::arbitrary(),
        host_link: None,
        in_flight: 1,
        nodes,
    };
    Instance::new(data).unwrap()
}

/// All nodes are computed in stage 0; conv and mask are stored until their last reader.
fn schedule() -> MonetSchedule {
    let mut s = MonetSchedule {
        computed: BitMatrix::new(3, 4),
        retained: BitMatrix::new(4, 4),
        in_place: BitMatrix::new(3, 4),
        forward_choice: Choices::new(3, 4),
        backward_choice: vec![0; 3],
    };
    for i in 0..4 {
        s.computed.set(0, i, true);
    }
    for (t, i) in [(1, 0), (2, 0), (3, 0), (1, 2), (2, 2), (1, 3), (2, 3)] {
        s.retained.set(t, i, true);
    }
    s
}

#[test]
fn memory_and_cost_are_those_worked_out_by_hand() {
    let replay = monet(&instance(), &schedule()).unwrap();
    assert_eq!(replay.cost, 10 + 20 + 5 + 1 + 30 + 40);
    // dconv reads conv, so relu cannot be in place; drelu needs the mask.
    assert_eq!(replay.base_cost, 10 + 20 + 5 + 1 + 30 + 40);
    assert_eq!(replay.computations, 6);
    let timeline = replay.timeline.iter().map(|p| p.bytes);
    // Stage 0: fixed 128 of the node before the loss. Then relu (2) with its passing conv (1,
    // instead of the kept conv); the mask (4) with relu, which passes, and the kept conv. Then the
    // loss (8): relu passes and is also held, conv and mask are kept, and fixed memory is its own
    // 192. Stage 1: fixed 192 before drelu, whose passing list is the loss (8); then fixed 256, its
    // output 16, passing 8, and the stored tensors 1 + 4 + 8. Stage 2 likewise.
    let stage0 = [
        128,
        128 + 1,
        128 + 2 + 1,
        128 + 4 + 2 + 1 + 2,
        192 + 8 + 2 + 2 + 1 + 4,
    ];
    let stage1 = [192 + 8 + 13, 256 + 16 + 8 + 13];
    let stage2 = [256 + 16 + 13, 320 + 32 + 16 + 1];
    let wanted = stage0.into_iter().chain(stage1).chain(stage2);
    assert_eq!(timeline.collect::<Vec<_>>(), wanted.collect::<Vec<_>>());
    assert_eq!(replay.peak_bytes, 320 + 32 + 16 + 1);
    assert_eq!(replay.peak_at.node, Some(NodeId(5)));
}

#[test]
fn what_cannot_be_executed_is_named() {
    type Change = fn(&mut MonetSchedule);
    let table: [(Change, &str); 13] = [
        (
            |s| s.retained.set(0, 1, true),
            "stage 0 starts with node 1 (relu)",
        ),
        (
            |s| s.computed.set(0, 1, false),
            "stage 0: node 1 (relu) must be computed",
        ),
        (|s| s.computed.set(1, 1, true), ""),
        (
            |s| s.retained.set(2, 1, true),
            "stage 2 starts with node 1 (relu) retained, but stage 1",
        ),
        (
            |s| s.computed.set(2, 2, true),
            "stage 2: node 2 (mask) runs, but its input 1 (relu)",
        ),
        (
            |s| {
                s.retained.set(2, 1, true);
                s.retained.set(1, 1, true);
                s.computed.set(2, 2, true)
            },
            "by-product 2 (mask) is computed, but its parent 1 (relu) is not computed",
        ),
        (
            // The mask is the same in both modes and follows the node.
            |s| s.in_place.set(0, 1, true),
            "node 0 (conv) is overwritten in place by node 1 (relu), but stage 1 stores it",
        ),
        (
            |s| s.in_place.set(0, 0, true),
            "node 0 (conv) is marked in place",
        ),
        (
            |s| s.in_place.set(1, 1, true),
            "node 1 (relu) is marked in place",
        ),
        (
            |s| s.forward_choice.set(0, 1, 1),
            "node 1 (relu) runs implementation 1, but it has only 1",
        ),
        (
            |s| s.backward_choice[2] = 7,
            "node 5 (dconv) runs implementation 7",
        ),
        (
            |s| s.retained.set(3, 0, false),
            "node 5 (dconv) reads node 0 (conv), which is neither",
        ),
        (
            |s| s.backward_choice.truncate(2),
            "backward implementations is 2 x 1",
        ),
    ];
    for (change, wanted) in table {
        let mut changed = schedule();
        change(&mut changed);
        match monet(&instance(), &changed) {
            Ok(_) => assert_eq!(wanted, "", "executed, but should not be"),
            Err(e) => assert!(
                !wanted.is_empty() && e.to_string().contains(wanted),
                "{wanted:?}: {e}"
            ),
        }
    }
    let forward = vec![Node::forward("only", vec![], 1, 1)];
    let data = InstanceData {
        nodes: forward,
        ..instance().data().clone()
    };
    let error = monet(&Instance::new(data).unwrap(), &schedule());
    assert_eq!(error, Err(ReplayError::NoLoss));
}
