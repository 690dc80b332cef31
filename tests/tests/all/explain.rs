//! Explanations of plans that the search finds.

use remat_formulations::monet;
use remat_instances::NodeId;
use remat_instances::explain::explain;
use remat_instances::instance::NodeKind;
use remat_instances::plan::{Plan, Step};
use remat_instances::schedule::MonetSchedule;
use remat_instances::zoo::{self, ModelSpec};

#[test]
fn what_recomputation_does_not_cost_slower_implementations_do() {
    let text = "zoo:vgg16?batch=64&device=p100&implementations=monet";
    let instance = zoo::build(&text.parse::<ModelSpec>().unwrap()).unwrap();
    let everything = MonetSchedule::checkpoint_all(&instance).unwrap();
    let mut stored = everything.retained.clone();
    for t in 0..stored.rows() {
        (0..stored.columns())
            .filter(|i| i % 3 == 0)
            .for_each(|i| stored.set(t, i, false));
    }
    let schedule = monet::complete(&instance, 0, &stored).unwrap();
    let plan = Plan::from_monet(&instance, &schedule).unwrap();
    let told = explain(&instance, &plan).unwrap();
    let replay = &told.replay;
    assert!(told.extra_cost() > 0 && told.slower_cost() > 0);
    assert_eq!(
        replay.cost + told.saved_cost,
        replay.base_cost + told.extra_cost() + told.slower_cost()
    );
    // Kept tensors are the reads of backward nodes by the plan's implementations, masks included.
    let loss = instance.loss().unwrap();
    for id in &told.kept {
        let reads = |step: &Step| match step {
            Step::Compute {
                node,
                implementation,
                ..
            } => {
                let way = &instance.node(*node).implementations[usize::from(*implementation)];
                *node > loss && way.needs.contains(id)
            }
            _ => false,
        };
        assert!(plan.steps.iter().any(reads), "{id}");
    }
    let mask = |id: &NodeId| matches!(instance.node(*id).kind, NodeKind::ByProduct { .. });
    assert!(told.kept.iter().any(mask));
}
