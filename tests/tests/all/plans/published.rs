//! Plans of the published schedules.

use remat_instances::plan::Plan;
use remat_instances::schedule::{Schedule, ScheduleFile};
use remat_instances::simulate;
use remat_tests::{files, instance_seen_by, shared_data};

#[test]
fn published_schedules_become_plans_of_the_same_cost_in_no_more_memory() {
    let Some(folder) = shared_data("zoo") else {
        return;
    };
    let mut count = 0;
    let mut dropped = 0;
    for path in files(&folder.join("solutions"), "json") {
        let file = ScheduleFile::open(&path).unwrap();
        let graph = folder.join(format!("graphs/{}.json", file.instance()));
        let g = instance_seen_by(&graph, file.semantics());
        let document = file.schedule(&g).unwrap();
        let (plan, judged) = match &document.schedule {
            Schedule::Checkmate(s) => (Plan::from_checkmate(&g, s), simulate::checkmate(&g, s)),
            Schedule::Monet(s) => (Plan::from_monet(&g, s), simulate::monet(&g, s)),
        };
        let (plan, judged) = (plan.unwrap(), judged.unwrap());
        let replay = simulate::plan(&g, &plan).unwrap();
        assert_eq!(replay.cost, document.objective, "{}", path.display());
        assert_eq!(replay.base_cost, judged.base_cost);
        assert!(replay.peak_bytes <= judged.peak_bytes, "{}", path.display());
        let optimised = simulate::plan(&g, &plan.optimised(&g).unwrap()).unwrap();
        assert!(optimised.cost <= replay.cost && optimised.peak_bytes <= replay.peak_bytes);
        dropped += replay.computations - optimised.computations;
        count += 1;
    }
    println!("{count} plans, {dropped} dead computations");
    assert!(count > 0);
}
