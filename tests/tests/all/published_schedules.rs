//! Every published schedule replays to exactly its recorded objective, within its budget.

use remat_instances::schedule::{Schedule, ScheduleFile, write_schedule};
use remat_instances::{Semantics, simulate};
use remat_tests::{files, instance_seen_by, shared_data};

#[test]
fn every_published_schedule_replays_to_its_objective_within_its_budget() {
    let Some(folder) = shared_data("zoo") else {
        return;
    };
    let paths = files(&folder.join("solutions"), "json");
    let mut count = [0, 0];
    for path in &paths {
        let file = ScheduleFile::open(path).unwrap_or_else(|e| panic!("{e}"));
        let semantics = file.semantics();
        let graph = folder
            .join("graphs")
            .join(format!("{}.json", file.instance()));
        let instance = instance_seen_by(&graph, semantics);
        assert_eq!(instance.name(), file.instance());
        let document = file.schedule(&instance).unwrap_or_else(|e| panic!("{e}"));
        let replay = match &document.schedule {
            Schedule::Checkmate(schedule) => simulate::checkmate(&instance, schedule),
            Schedule::Monet(schedule) => simulate::monet(&instance, schedule),
        };
        let replay = replay.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let budget = document.budget_bytes.unwrap();
        // The published programs measure Checkmate's memory without the fixed part.
        let fixed = match semantics {
            Semantics::Checkmate => instance.static_bytes(),
            Semantics::Monet => 0,
        };
        let share = 100.0 * (replay.peak_bytes - fixed) as f64 / (budget - fixed) as f64;
        let extra = match &document.schedule {
            Schedule::Checkmate(schedule) => schedule.recomputations(),
            Schedule::Monet(schedule) => {
                let stages = 1..schedule.computed.rows();
                stages.map(|t| schedule.computed.ones(t).count()).sum()
            }
        };
        let formulation = if semantics == Semantics::Monet {
            "A"
        } else {
            "B"
        };
        println!(
            "{:46} {formulation}  {:5} {:10} {:10} {share:6.2} {extra:6}",
            file.instance(),
            budget as f64 / (1u64 << 30) as f64,
            document.objective,
            replay.cost,
        );
        assert_eq!(replay.cost, document.objective, "{}", path.display());
        assert!(replay.peak_bytes <= budget, "{}", path.display());
        assert!(replay.base_cost <= replay.cost);
        count[(semantics == Semantics::Checkmate) as usize] += 1;

        let text = write_schedule(&document, &instance);
        let again = ScheduleFile::parse("again", text.as_bytes()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(again.schedule(&instance).unwrap(), document);
    }
    println!(
        "{} published schedules: {} of formulation A, {} of formulation B",
        paths.len(),
        count[0],
        count[1]
    );
    assert!(count[0] > 0 && count[1] > 0);
}
