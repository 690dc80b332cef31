//! Families of random graphs with a forward and a backward pass, for exact searches over plans.

use crate::graphs::Numbers;
use remat_instances::instance::{CostUnit, Instance, InstanceData, Node, NodeId};

/// A graph of nodes of random costs and sizes that read these nodes each.
fn graph(needs: Vec<Vec<u32>>, numbers: &mut Numbers) -> Instance {
    let mut nodes = Vec::new();
    for (i, mut own) in needs.into_iter().enumerate() {
        own.sort_unstable();
        own.dedup();
        let own = own.into_iter().map(NodeId).collect();
        let (cost, bytes) = (1 + numbers.below(9), 1 + numbers.below(9));
        nodes.push(Node::forward(format!("n{i}"), own, cost, bytes));
    }
    instance(nodes)
}

fn instance(nodes: Vec<Node>) -> Instance {
    let data = InstanceData {
        name: "family".into(),
        cost_unit: CostUnit::arbitrary(),
        host_link: None,
        in_flight: 1,
        nodes,
    };
    Instance::new(data).expect("the generator makes valid graphs")
}

/// Readers of a forward pass: each node reads the one before, or another one, and maybe a second.
fn forward(n: u32, branches: bool, numbers: &mut Numbers) -> Vec<Vec<u32>> {
    let mut needs = vec![Vec::new()];
    for i in 1..n {
        let mut own = vec![match branches && numbers.below(2) == 0 {
            true => numbers.below(u64::from(i)) as u32,
            false => i - 1,
        }];
        if i > 1 && numbers.below(3) == 0 {
            own.push(numbers.below(u64::from(i)) as u32);
        }
        needs.push(own);
    }
    needs
}

/// A forward pass of `n` nodes, and a backward pass in reverse order: each of its nodes reads the
/// node before, and a node of the forward pass with its inputs. `branches`: a node of the forward
/// pass may read any one before it; else the pass is a chain with skips.
pub fn mirrored(n: u32, branches: bool, numbers: &mut Numbers) -> Instance {
    let mut needs = forward(n, branches, numbers);
    for i in (0..n).rev() {
        let before = needs.len() as u32 - 1;
        let mut own = vec![before];
        if before != n - 1 || branches {
            own.extend(&needs[i as usize].clone());
        }
        own.push(i);
        needs.push(own);
    }
    graph(needs, numbers)
}

/// A graph of `n` nodes that read up to two earlier ones.
pub fn general(n: u32, numbers: &mut Numbers) -> Instance {
    let needs = (0..n).map(|i| {
        let count = u64::from(i > 0) * numbers.below(3);
        let mut one = || numbers.below(u64::from(i.max(1))) as u32;
        (0..count).map(|_| one()).collect()
    });
    let needs = needs.collect();
    graph(needs, numbers)
}

/// The graph with workspaces, recomputations unlike first computations, and nodes that run once.
pub fn varied(graph: &Instance, numbers: &mut Numbers) -> Instance {
    let mut nodes = graph.nodes().to_vec();
    for node in &mut nodes {
        let way = &mut node.implementations[0];
        if numbers.below(2) == 0 {
            way.workspace_bytes = numbers.below(6) as i64;
            way.recompute_workspace_bytes = way.workspace_bytes;
        }
        if numbers.below(4) == 0 {
            way.recompute_cost = numbers.below(12);
            way.recompute_workspace_bytes = numbers.below(6) as i64;
        }
        node.once |= numbers.below(12) == 0;
    }
    instance(nodes)
}

/// Place of the updates of a traced training step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Updates {
    /// Gradients of weights are kept.
    Never,
    /// One node reads all gradients of weights at the end.
    Late,
    /// Each gradient of weights is read right behind its computation.
    AtOnce,
}

/// A chain of `n` layers with a loss; for each layer, from the last one, the gradient of its
/// weights and the gradient of its input. Updates have no output and run once.
pub fn traced(n: u32, updates: Updates, numbers: &mut Numbers) -> Instance {
    let mut needs = forward(n, false, numbers);
    needs.push(vec![n - 1]);
    let mut gradient = n;
    let mut of_weights = Vec::new();
    let mut once = Vec::new();
    for i in (0..n).rev() {
        let input = i.checked_sub(1);
        let own = |mut list: Vec<u32>| {
            list.extend(input);
            list
        };
        of_weights.push(needs.len() as u32);
        needs.push(own(vec![gradient]));
        if updates == Updates::AtOnce {
            once.push(needs.len());
            needs.push(vec![needs.len() as u32 - 1]);
        }
        if i > 0 {
            needs.push(own(vec![gradient, i]));
            gradient = needs.len() as u32 - 1;
        }
    }
    if updates == Updates::Late {
        once.push(needs.len());
        needs.push(of_weights);
    }
    let given = graph(needs, numbers);
    let mut nodes = given.nodes().to_vec();
    for i in once {
        nodes[i].once = true;
        nodes[i].implementations[0].cost = 1;
        nodes[i].output_bytes = 0;
    }
    instance(nodes)
}
