//! Documents of graphs and orders: written and read again, wrong ones refused with place and remedy.

use remat_instances::order::{
    OperatorId, OrderFault, OrderPlan, Variant, read_order_graph_bytes, write_order_graph,
};
use remat_memory::order::{OrderBaselines, Rule};
use remat_tests::orders;

#[test]
fn documents_are_written_and_read_again() {
    for graph in (0..300).filter_map(orders::random) {
        let text = write_order_graph(&graph);
        let again = read_order_graph_bytes("again.json", text.as_bytes()).unwrap();
        assert_eq!(again, graph);
        let baselines = OrderBaselines::of(&graph, Variant::Free).unwrap();
        let program = baselines.rule(Rule::Program);
        let plan = OrderPlan::new(&graph, Variant::Free, program.order.clone()).unwrap();
        let read = OrderPlan::parse("plan.json", plan.write().as_bytes()).unwrap();
        assert_eq!(read, plan);
        read.replay(&graph).unwrap();
        let bold = OrderPlan {
            peak_bytes: plan.peak_bytes + 1,
            ..plan
        };
        assert!(
            bold.replay(&graph)
                .unwrap_err()
                .to_string()
                .contains("peak_bytes")
        );
    }
}

/// Two operators in a row and one beside.
const THREE: &str = r#"{"schema": "remat-order/1", "operators": [
    {"name": "a", "outputs": [0]}, {"name": "b", "inputs": [0], "outputs": [1]},
    {"inputs": [1, 2]}],
    "tensors": [{"bytes": 4}, {"in_place_on": 0, "bytes": 4}, {"bytes": 7, "resident": true}],
    "order_edges": [[0, 2]]}"#;

#[test]
fn wrong_graphs_are_refused_with_place_and_remedy() {
    read_order_graph_bytes("three.json", THREE.as_bytes()).unwrap();
    for (from, to, wanted) in [
        (
            "[0, 2]",
            "[0, 3]",
            "order_edges[0][1]: there is no operator with this number, found 3",
        ),
        (
            "[0, 2]",
            "[1, 1]",
            "an operator comes before itself (order_edges[0])",
        ),
        ("[0, 2]", "[2, 0]", "operators wait for each other"),
        (
            "\"inputs\": [1, 2]",
            "\"inputs\": [1, 1]",
            "twice (operators[2].inputs[1])",
        ),
        (
            "\"inputs\": [0], ",
            "",
            "does not read that one (tensors[1].in_place_on)",
        ),
        (
            "\"in_place_on\": 0, \"bytes\": 4",
            "\"in_place_on\": 0, \"bytes\": 9",
            "do not fit in place",
        ),
        (
            "\"outputs\": [0]}",
            "\"outputs\": [0, 2]}",
            "operator 0 makes this tensor (tensors[2]",
        ),
        (
            "\"resident\": true",
            "\"resident\": false",
            "no operator makes this tensor (tensors[2])",
        ),
        (
            "\"bytes\": 7",
            "\"bytes\": -7",
            "tensors[2].bytes: the value is negative, found -7",
        ),
        (
            "\"bytes\": 7",
            "\"size\": 7",
            "the field \"size\" is unknown",
        ),
        (
            "\"bytes\": 7",
            "\"bytes\": 7, \"alignment_bytes\": 3",
            "no power of two",
        ),
        (
            "\"order_edges\"",
            "\"base_bytes\": 6, \"order_edges\"",
            "give 7, or leave `base_bytes` out",
        ),
        (
            "\"order_edges\"",
            "\"program_order\": [0, 1], \"order_edges\"",
            "operator 2 is missing",
        ),
    ] {
        let text = THREE.replacen(from, to, 1);
        assert_ne!(text, THREE, "{from}");
        let error = read_order_graph_bytes("three.json", text.as_bytes())
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("three.json:") && error.contains(wanted),
            "{error}"
        );
    }
}

#[test]
fn wrong_orders_are_refused_by_the_simulator() {
    let text = r#"{"schema": "remat-order/1", "operators": [
        {"outputs": [0]}, {"inputs": [0]}, {"inputs": [0], "outputs": [1]}, {"inputs": [1]}],
        "tensors": [{"bytes": 4}, {"bytes": 4, "in_place_on": 0}],
        "sound_order_edges": [[1, 3]], "rng_order_edges": [], "olla_early_edges": [[3, 1]]}"#;
    let graph = read_order_graph_bytes("four.json", text.as_bytes()).unwrap();
    let replay = |order: &[u32], variant| {
        let order: Vec<_> = order.iter().copied().map(OperatorId).collect();
        graph.replay(variant, &order)
    };
    assert_eq!(
        replay(&[0, 1, 2, 3], Variant::Sound).unwrap().step_bytes(),
        [4, 4, 4, 4]
    );
    assert!(matches!(
        replay(&[0, 2, 1, 3], Variant::Free),
        Err(OrderFault::Overwritten { .. })
    ));
    assert!(matches!(
        replay(&[1, 0, 2, 3], Variant::Free),
        Err(OrderFault::Input { .. })
    ));
    assert!(matches!(
        replay(&[0, 1, 2], Variant::Free),
        Err(OrderFault::Length { .. })
    ));
    assert!(matches!(
        replay(&[0, 1, 2, 2], Variant::Free),
        Err(OrderFault::Twice { .. })
    ));
    assert!(matches!(
        replay(&[0, 1, 2, 4], Variant::Free),
        Err(OrderFault::Unknown { .. })
    ));
    assert!(matches!(
        replay(&[0, 1, 2, 3], Variant::Ctl),
        Err(OrderFault::Edge { .. })
    ));
    assert!(
        graph
            .problem(Variant::Ctl)
            .unwrap_err()
            .to_string()
            .contains("wait for each other")
    );
}
