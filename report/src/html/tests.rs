//! The data of a page against the simulator.

use super::*;
use remat_formulations::solve::MomentPrice;
use remat_instances::plan::Plan;
use remat_instances::schedule::{CheckmateSchedule, MonetSchedule};
use remat_instances::{Instance, formats, replayed, simulate, zoo};
use serde_json::Value;

const PRICE: MomentPrice = MomentPrice {
    run: 1,
    per_byte: 0.5,
};

fn zoo(spec: &str) -> Instance {
    zoo::build(&spec.parse().unwrap()).unwrap()
}

/// The document of one plan as JSON.
fn shown(instance: &Instance, plan: &Plan) -> Value {
    let replay = simulate::plan(instance, plan).unwrap();
    let mut document = Document::new(instance.name(), instance.cost_unit());
    let source = PlanSource {
        name: "plan".into(),
        instance,
        plan,
        replay: &replay,
        addresses: None,
        budget_bytes: Some(replay.peak_bytes),
        bound: None,
        prices: &[PRICE],
        is_plain: false,
    };
    document.add(instance.name(), &source).unwrap();
    serde_json::to_value(&document).unwrap()
}

fn numbers(list: &Value) -> Vec<i64> {
    let list = list.as_array().unwrap().iter();
    list.map(|n| n.as_i64().unwrap()).collect()
}

/// The classes of each moment add up to the replay's memory, whose peak and end are the replay's.
fn agrees(instance: &Instance, plan: &Plan) {
    let replay = simulate::plan(instance, plan).unwrap();
    let shown = shown(instance, plan);
    let own = &shown["subjects"][0]["plans"][0];
    let bytes = numbers(&own["moments"]["bytes"]);
    assert_eq!(bytes.iter().max(), Some(&(replay.peak_bytes as i64)));
    assert_eq!(own["peak_bytes"], replay.peak_bytes);
    assert_eq!(own["cost"], replay.makespan);
    let segments = &own["segments"];
    let [begin, end, size] = ["begin", "end", "bytes"].map(|key| numbers(&segments[key]));
    let mut sums = vec![0i64; bytes.len()];
    for k in 0..begin.len() {
        for sum in &mut sums[begin[k] as usize..end[k] as usize] {
            *sum += size[k];
        }
    }
    for credit in own["credits"].as_array().unwrap() {
        let pair = numbers(credit);
        sums[pair[0] as usize] -= pair[1];
    }
    for (at, (sum, bytes)) in sums.iter().zip(&bytes).enumerate() {
        assert_eq!(sum, bytes, "moment {at} of {}", instance.name());
    }
    let kinds = numbers(&own["moments"]["kind"]);
    let computations = kinds.iter().filter(|kind| **kind == 0).count();
    assert_eq!(computations, replay.computations);
    let clock = numbers(&own["moments"]["end"]);
    assert!(clock.is_sorted());
}

/// Drops every second activation after its first reader.
fn recomputing(instance: &Instance) -> Plan {
    let mut retained = CheckmateSchedule::checkpoint_all(instance).retained;
    let loss = instance.loss().unwrap().index();
    for t in loss..instance.len() {
        for node in (0..loss).step_by(2) {
            retained.set(t, node, false);
        }
    }
    let schedule = CheckmateSchedule::cheapest(instance, retained);
    Plan::from_checkmate(instance, &schedule).unwrap()
}

#[test]
fn classes_add_up_to_the_replay() {
    let instance = zoo("resnet18?batch=2");
    let keep = CheckmateSchedule::checkpoint_all(&instance);
    agrees(&instance, &Plan::from_checkmate(&instance, &keep).unwrap());
    let again = recomputing(&instance);
    agrees(&instance, &again);
    let shown = shown(&instance, &again);
    let own = &shown["subjects"][0]["plans"][0];
    let classes = numbers(&own["segments"]["class"]);
    assert!(classes.contains(&i64::from(classes::Class::Again.index())));
    // Every recomputation of a valid plan has a reader.
    let [kinds, nodes, readers] =
        ["kind", "node", "reader"].map(|key| numbers(&own["moments"][key]));
    let mut seen = std::collections::BTreeSet::new();
    let runs = (0..kinds.len()).filter(|at| kinds[*at] == 0);
    let again: Vec<usize> = runs.filter(|at| !seen.insert(nodes[*at])).collect();
    assert!(!again.is_empty());
    assert!(again.iter().all(|at| readers[*at] > *at as i64));
}

#[test]
fn classes_add_up_under_monets_semantics_and_with_micro_batches() {
    let instance = zoo("unet?batch=1");
    let keep = MonetSchedule::checkpoint_all(&instance).unwrap();
    agrees(&instance, &Plan::from_monet(&instance, &keep).unwrap());
    let several = zoo("resnet18?batch=2").with_in_flight(3).unwrap();
    agrees(&several, &recomputing(&several));
}

/// A file of the page on offloading.
fn example(name: &str) -> String {
    let page = include_str!("../../../docs/guides/offload.md");
    let head = format!("<!-- file {name} -->\n```json\n");
    let (_, block) = page.split_once(&head).unwrap();
    block.split("```").next().unwrap().into()
}

#[test]
fn classes_add_up_with_copies() {
    let instance = example("three.json");
    let instance = formats::read_bytes("three.json", instance.as_bytes()).unwrap();
    let plan = example("plan.json");
    let found = replayed::replayed(&instance, "plan.json", plan.as_bytes()).unwrap();
    agrees(&found.instance, &found.plan);
    let shown = shown(&found.instance, &found.plan);
    let own = &shown["subjects"][0]["plans"][0];
    assert_eq!(numbers(&own["copies"]["kind"]), [0, 1]);
    assert_eq!(own["idle"], 12);
    // The moment that waits for the copy back is in front of its reader.
    let kinds = numbers(&own["moments"]["kind"]);
    let reader = numbers(&own["copies"]["reader"])[1] as usize;
    assert_eq!(kinds[reader - 1..=reader], [moments::Kind::Stall as i64, 0]);
    let classes = numbers(&own["segments"]["class"]);
    for class in [classes::Class::Copying, classes::Class::Fetched] {
        assert!(classes.contains(&i64::from(class.index())));
    }
}

#[test]
fn findings_have_bounds_heuristics_and_progress() {
    let mut findings = Findings::default();
    let sweep = r#"{"points": [
        {"budget_bytes": 10, "bound": 70, "bound_scope": "stage-schedules",
         "baselines": [{"name": "chen", "cost": 99, "peak_memory_bytes": 9}]},
        {"budget_bytes": 20, "bound": 50, "bound_scope": "all-plans", "baselines": []}]}"#;
    findings.read("sweep.json", sweep).unwrap();
    assert_eq!(findings.bound(8), Some((70, "stage-schedules")));
    assert_eq!(findings.bound(15), Some((50, "all-plans")));
    assert_eq!(findings.bound(30), None);
    let log = "     0.5 s  no plan yet  bound 1.2 ms (+20.00%)  0.1 M moves\n\
               \x20    1.5 s  gap 5.00%  best 1.3 ms (+30.00%)  bound 1.25 ms (+25.00%)\n";
    findings.read("solve.log", log).unwrap();
    let mut table = crate::search_log::SearchTable::default();
    let row = table.row(&crate::search_log::Snapshot {
        bound: Some(-3.5),
        objective: Some(2.0),
        seconds: 4.0,
        ..Default::default()
    });
    findings.read("mip.log", &row).unwrap();
    let json = serde_json::to_value(&findings).unwrap();
    assert_eq!(json["heuristics"][0]["cost"], 99);
    let looks = &json["searches"][0]["looks"];
    assert_eq!(looks.to_string(), "[[0.5,null,20.0],[1.5,30.0,25.0]]");
    assert_eq!(json["searches"][1]["looks"].to_string(), "[[4.0,2.0,-3.5]]");
    assert!(findings.read("notes.txt", "milk\n").is_err());
}

#[test]
fn moments_have_their_prices() {
    let instance = zoo("chain?n=3");
    let keep = CheckmateSchedule::checkpoint_all(&instance);
    let shown = shown(&instance, &Plan::from_checkmate(&instance, &keep).unwrap());
    let prices = &shown["subjects"][0]["plans"][0]["prices"];
    assert_eq!(prices.to_string(), "[[1,0.5]]");
}

#[test]
fn names_stay_data() {
    let evil = "</script><img src=x onerror=alert(1)>";
    let mut data = zoo("chain?n=2").data().clone();
    data.nodes[0].name = evil.into();
    data.name = "<b>&amp;{{script}}".into();
    let instance = Instance::new(data).unwrap();
    let keep = CheckmateSchedule::checkpoint_all(&instance);
    let plan = Plan::from_checkmate(&instance, &keep).unwrap();
    let replay = simulate::plan(&instance, &plan).unwrap();
    let mut document = Document::new(instance.name(), instance.cost_unit());
    let source = PlanSource {
        name: evil.into(),
        instance: &instance,
        plan: &plan,
        replay: &replay,
        addresses: None,
        budget_bytes: None,
        bound: None,
        prices: &[],
        is_plain: false,
    };
    document.add(instance.name(), &source).unwrap();
    let text = page(&document);
    assert!(!text.contains("<img"), "a name became markup");
    assert_eq!(text.matches("</script>").count(), 2);
    assert!(text.contains("<title>&lt;b&gt;&amp;amp;{{script}}</title>"));
    let data = text.split_once("id=\"data\">").unwrap().1;
    let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    assert_eq!(data["subjects"][0]["graphs"][0]["names"][0], evil);
    assert!(text.contains("default-src 'none'; script-src 'sha256-"));
}
