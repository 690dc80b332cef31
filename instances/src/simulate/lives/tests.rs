//! Lives computed by hand.

use super::*;
use crate::Semantics;
use crate::instance::{CostUnit, InPlace, InstanceData, Node};

fn instance(nodes: Vec<Node>) -> Instance {
    Instance::new(InstanceData {
        name: "small".into(),
        cost_unit: CostUnit::arbitrary(),
        host_link: None,
        in_flight: 1,
        nodes,
    })
    .unwrap()
}

fn allocate(register: u32, node: u32) -> Step {
    Step::Allocate {
        register: Register(register),
        node: NodeId(node),
    }
}

fn compute(node: u32, register: u32) -> Step {
    Step::Compute {
        node: NodeId(node),
        register: Register(register),
        implementation: 0,
    }
}

fn free(register: u32) -> Step {
    Step::Deallocate {
        register: Register(register),
    }
}

type Told = (PieceOf, usize, Vec<(usize, u64)>);

fn told(instance: &Instance, semantics: Semantics, steps: Vec<Step>) -> (Vec<Told>, u64) {
    let plan = Plan {
        instance: "small".into(),
        semantics,
        steps,
    };
    let lives = PlanLives::of(instance, &plan).unwrap();
    let stretches = |life: &PlanLife| life.stretches.iter().map(|s| (s.end, s.bytes)).collect();
    let told = lives.lives().iter();
    let told = told.map(|life| (life.of, life.begin, stretches(life)));
    (told.collect(), lives.peak_bytes())
}

#[test]
fn a_recomputed_tensor_has_several_lives_and_workspace_lasts_one_computation() {
    let mut nodes = vec![
        Node::forward("a", vec![], 1, 4),
        Node::forward("b", vec![NodeId(0)], 1, 8),
        Node::forward("c", vec![NodeId(0), NodeId(1)], 1, 0),
    ];
    nodes[1].implementations[0].workspace_bytes = 3;
    nodes.iter_mut().for_each(|node| node.fixed_bytes = 100);
    let steps = vec![
        allocate(0, 0),
        compute(0, 0),
        allocate(1, 1),
        compute(1, 1),
        free(0),
        allocate(0, 0),
        compute(0, 0),
        allocate(2, 2),
        compute(2, 2),
        free(0),
        free(1),
        free(2),
    ];
    let wanted = vec![
        (PieceOf::Fixed(0), 0, vec![(4, 100)]),
        (PieceOf::Tensor(0), 0, vec![(2, 4)]),
        (PieceOf::Tensor(2), 1, vec![(4, 8)]),
        (PieceOf::Tensor(5), 2, vec![(4, 4)]),
        (PieceOf::Workspace(3), 1, vec![(2, 3)]),
    ];
    let found = told(&instance(nodes), Semantics::Checkmate, steps);
    assert_eq!(found, (wanted, 100 + 4 + 8 + 3));
}

/// The gradient's node adds to fixed memory. A tensor computed in place keeps its address, and the
/// charge beyond the larger tensor becomes workspace.
#[test]
fn fixed_memory_grows_and_registers_stay_where_they_are() {
    let mut nodes = vec![
        Node::forward("conv", vec![], 1, 8),
        Node::forward("relu", vec![NodeId(0)], 1, 6),
        Node::loss("loss", vec![NodeId(1)], 1, 2),
        Node::backward("grad", Some(NodeId(1)), vec![NodeId(2)], 1, 4),
    ];
    let on = NodeId(0);
    nodes[1].in_place = Some(InPlace {
        on,
        cost_delta: 0,
        workspace_bytes: -5,
    });
    for (node, bytes) in nodes.iter_mut().zip([10, 10, 10, 17]) {
        node.fixed_bytes = bytes;
    }
    let steps = vec![
        allocate(0, 0),
        compute(0, 0),
        compute(1, 0),
        allocate(1, 2),
        compute(2, 1),
        free(0),
        allocate(2, 3),
        compute(3, 2),
        free(1),
    ];
    let wanted = vec![
        (PieceOf::Fixed(1), 0, vec![(4, 10)]),
        (PieceOf::Fixed(7), 3, vec![(4, 7)]),
        (PieceOf::Tensor(0), 0, vec![(2, 8), (3, 6)]),
        (PieceOf::Tensor(3), 2, vec![(4, 2)]),
        (PieceOf::Tensor(6), 3, vec![(4, 4)]),
        (PieceOf::Workspace(2), 1, vec![(2, 1)]),
    ];
    let found = told(&instance(nodes), Semantics::Monet, steps);
    assert_eq!(found, (wanted, 10 + 7 + 2 + 4));
}

#[test]
fn alignments_that_cost_nothing_come_first() {
    let of = |sizes: &[u64]| {
        let node = |(k, size): (usize, &u64)| Node::forward(k.to_string(), vec![], 1, *size);
        let graph = instance(sizes.iter().enumerate().map(node).collect());
        let each = (0..sizes.len() as u32).flat_map(|k| [allocate(k, k), compute(k, k)]);
        let plan = Plan {
            instance: "small".into(),
            semantics: Semantics::Checkmate,
            steps: each.collect(),
        };
        PlanLives::of(&graph, &plan).unwrap()
    };
    // The last piece may be on top.
    assert_eq!(of(&[1 << 20, 512, 4]).suggested_alignment(None), 512);
    assert_eq!(of(&[1 << 20, 128, 4]).suggested_alignment(None), 128);
    // Two small pieces cost 60 bytes of a million.
    let two = of(&[1 << 20, 4, 4]);
    assert_eq!(two.load_bytes(64), (1 << 20) + 64 + 4);
    assert_eq!(two.suggested_alignment(None), 64);
    assert_eq!(two.suggested_alignment(Some((1 << 20) + 8)), 4);
    assert_eq!(of(&[1, 2, 3]).suggested_alignment(None), 1);
    assert_eq!(of(&[4, 6, 2]).suggested_alignment(None), 2);
}
