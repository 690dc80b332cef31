//! All orders of first computations of a small graph.

use super::moves::NodeOrder;
use remat_instances::instance::{NodeId, Precedence};

/// All orders that the rules allow; `None` if there are more than `limit`.
pub(super) fn orders(rules: &Precedence, limit: usize) -> Option<Vec<NodeOrder>> {
    let mut orders = Vec::new();
    let mut begun: Vec<Vec<NodeId>> = vec![Vec::new()];
    while let Some(order) = begun.pop() {
        if orders.len() + begun.len() > limit {
            return None;
        }
        if order.len() == rules.len() {
            orders.push(NodeOrder::new(order));
            continue;
        }
        let mut has_run = vec![false; rules.len()];
        order.iter().for_each(|id| has_run[id.index()] = true);
        let ids = (0..rules.len()).filter(|k| !has_run[*k]).map(NodeId::from);
        let ids: Vec<NodeId> = ids.collect();
        let group = ids.iter().map(|id| rules.group(*id)).min();
        for id in ids {
            let is_ready = rules.before(id).iter().all(|b| has_run[b.index()]);
            if is_ready && Some(rules.group(id)) == group {
                let mut longer = order.clone();
                longer.push(id);
                begun.push(longer);
            }
        }
    }
    Some(orders)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::fixtures::residual;
    use remat_instances::Semantics;
    use remat_instances::instance::{CostUnit, Instance, InstanceData, Node};

    #[test]
    fn all_orders_of_three_pairs_are_found_up_to_a_limit() {
        let mut nodes = Vec::new();
        for k in 0..3 {
            nodes.push(Node::forward(format!("a{k}"), vec![], 1, 1));
            let needs = vec![NodeId(2 * k)];
            nodes.push(Node::forward(format!("b{k}"), needs, 1, 1));
        }
        let instance = Instance::new(InstanceData {
            name: "pairs".into(),
            cost_unit: CostUnit::arbitrary(),
            host_link: None,
            in_flight: 1,
            nodes,
        })
        .unwrap();
        let rules = Precedence::of(&instance, Semantics::Checkmate);
        // 6! orders, half of them for each pair.
        let all = orders(&rules, 200).unwrap();
        assert_eq!(all.len(), 90);
        assert!(all.iter().all(|order| rules.allows(&order.nodes)));
        assert!(orders(&rules, 80).is_none());
        let chain = residual(30);
        let rules = Precedence::of(&chain, Semantics::Checkmate);
        let all = orders(&rules, 400);
        assert!(all.is_none_or(|all| all.iter().all(|order| rules.allows(&order.nodes))));
    }
}
