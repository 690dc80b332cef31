//! Sizes and costs beyond the range of exact integers in a double.

use crate::common::{object, run_to, text};

#[test]
fn all_of_a_peak_fits_and_what_is_written_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let largest = 9_007_199_254_740_991u64;
    for (size, cost) in [(largest, 3), (3, largest)] {
        let nodes = (0..3).map(|i| {
            let needs = if i == 0 {
                String::new()
            } else {
                format!("{}", i - 1)
            };
            format!(
                r#"{{"name": "n{i}", "needs": [{needs}], "output_bytes": {size}, "cost": {cost}}}"#
            )
        });
        let nodes: Vec<String> = nodes.collect();
        let graph = folder.path().join("graph.json");
        let nodes = nodes.join(", ");
        let document = format!(r#"{{"schema": "remat-instance/1", "nodes": [{nodes}]}}"#);
        std::fs::write(&graph, document).unwrap();
        let (plan, schedule) = (folder.path().join("p.json"), folder.path().join("s.json"));
        let files = ["--out", text(&plan), "--schedule-out", text(&schedule)];
        let solve = ["solve", text(&graph), "--budget", "100%", "--json", "-q"];
        let found = object(&run_to(0, &[&solve[..], &files].concat()).0);
        assert_eq!(found["objective"].as_u64(), Some(3 * cost));
        assert_eq!(found["budget_bytes"].as_u64(), Some(2 * size));
        for file in [&plan, &schedule] {
            let (out, _) = run_to(0, &["verify", text(&graph), text(file), "--json"]);
            assert_eq!(object(&out)["verified"], true, "{out}");
        }
    }
}
