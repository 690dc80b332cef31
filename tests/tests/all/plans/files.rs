//! Files of plans: written, read, and refused with a remedy.

use super::graphs::{instance, scheduled};
use super::monet::{monet_instance, monet_schedule};
use proptest::prelude::*;
use remat_instances::instance::{Instance, InstanceError, Node};
use remat_instances::plan::{PieceAddress, Plan, PlanAddresses, PlanDocument, PlanFile};
use remat_instances::simulate::{self, PieceOf};

fn read(text: &str, g: &Instance) -> Result<PlanDocument, InstanceError> {
    PlanFile::parse("plan.json", text.as_bytes())?.plan(g)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn plan_files_are_read_as_they_were_written((g, s) in scheduled(9), budget in prop::option::of(any::<u32>())) {
        let plan = Plan::from_checkmate(&g, &s).unwrap();
        let replay = simulate::plan(&g, &plan).unwrap();
        let file = PlanDocument {
            in_flight: 1,
            plan,
            budget_bytes: budget.map(u64::from),
            objective: replay.cost,
            peak_bytes: replay.peak_bytes,
            host_link: None,
            addresses: None,
        };
        prop_assert_eq!(read(&file.write(&g), &g), Ok(file));
    }
}

#[test]
fn broken_plan_files_are_refused_with_the_place_the_value_and_a_remedy() {
    let g = instance(vec![Node::forward("a", vec![], 10, 4)]);
    let good = r#"{"schema": "remat-plan/1", "instance": "test", "semantics": "checkmate", "objective": 10, "peak_bytes": 4, "steps": [["allocate", 0, "a"], ["compute", "a", 0], ["deallocate", 0]]}"#;
    assert!(read(good, &g).is_ok());
    let compute = r#"["compute", "a", 0]"#;
    // The replaced text, its replacement, the place that the error names, and a value that it
    // quotes.
    let cases = [
        ("remat-plan/1", "remat-plan/9", "schema", "remat-plan/9"),
        ("\"test\"", "\"best\"", "instance", "best"),
        ("checkmate", "chess", "semantics", "chess"),
        ("\"objective\": 10", "\"objective\": -1", "objective", "-1"),
        (
            "\"peak_bytes\": 4",
            "\"peak_bytes\": 4.5",
            "peak_bytes",
            "4.5",
        ),
        ("\"peak_bytes\": 4, ", "", "", "the fields schema"),
        ("\"steps\"", "\"step\"", "step", "step"),
        (compute, r#"["compute", "a"]"#, "steps[1]", "a list of 2"),
        (compute, r#"["compute", "b", 0]"#, "steps[1][1]", "\"b\""),
        (compute, r#"["compute", "a", 0, 1]"#, "steps[1][3]", "1"),
        (
            r#"["deallocate", 0]"#,
            r#"["deallocate", 4294967296]"#,
            "steps[2][1]",
            "4294967296",
        ),
        (r#"["allocate", 0, "a"]"#, "7", "steps[0]", "7"),
    ];
    for (from, to, path, value) in cases {
        assert!(good.contains(from), "{from}");
        let broken = good.replacen(from, to, 1);
        let error = read(&broken, &g).unwrap_err();
        assert_eq!(error.path(), path, "{error}");
        assert!(error.fault().found.contains(value), "{error}");
        assert!(error.to_string().starts_with("plan.json:1:"), "{error}");
        assert!(!error.fault().remedy.is_empty());
    }
}

#[test]
fn the_schema_lists_exactly_the_fields_that_are_written() {
    let text = include_str!("../../../../instances/schema/remat-plan-1.schema.json");
    let schema: serde_json::Value = serde_json::from_str(text).unwrap();
    let g = monet_instance();
    let plan = Plan::from_monet(&g, &monet_schedule()).unwrap();
    let file = PlanDocument {
        in_flight: 2,
        addresses: Some(PlanAddresses {
            alignment_bytes: 8,
            arena_bytes: 24,
            pieces: vec![PieceAddress {
                of: PieceOf::Workspace(3),
                offset_bytes: 16,
                bytes: 8,
            }],
        }),
        plan,
        budget_bytes: Some(2000),
        host_link: Some(remat_instances::instance::HostLink::new(1, 2)),
        objective: 1,
        peak_bytes: 1,
    };
    let written: serde_json::Value = serde_json::from_str(&file.write(&g)).unwrap();
    let keys = |v: &serde_json::Value| -> Vec<String> {
        let mut keys: Vec<String> = v.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    };
    assert_eq!(keys(&schema["properties"]), keys(&written));
    assert_eq!(read(&file.write(&g), &g), Ok(file));
}
