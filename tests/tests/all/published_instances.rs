//! Published instances are read in agreement with their descriptions.

use remat_instances::instance::passing_in_plain_order;
use remat_instances::schedule::CheckmateSchedule;
use remat_instances::{Instance, read_bytes, simulate, write_instance, zoo};
use remat_tests::{files, shared_data};
use serde_json::Value;
use std::path::Path;

fn read(path: &Path) -> Instance {
    remat_instances::read(path).unwrap_or_else(|e| panic!("{e}"))
}

/// Graph, nodes, edges, peak and cost without recomputation, largest inputs plus output, from the
/// README's table.
const MOCCASIN: [(&str, usize, usize, u64, u64, u64); 7] = [
    ("random_layered_100", 100, 236, 46319, 47769, 20020),
    ("random_layered_500", 500, 2461, 284439, 255302, 49399),
    ("random_layered_1000", 1000, 5875, 608619, 497270, 48950),
    ("resnet50_256", 353, 751, 38059356160, 405670, 3699376128),
    ("fcn8_32", 73, 149, 13484795520, 10275337746048, 8287944704),
    ("unet_32", 71, 148, 20959461376, 31005, 8287944704),
    ("vgg16_256", 45, 87, 15825108992, 15500, 13153337344),
];

#[test]
fn general_graphs_reproduce_the_table_of_their_description() {
    let Some(folder) = shared_data("moccasin") else {
        return;
    };
    for (name, nodes, edges, peak, cost, lower) in MOCCASIN {
        let instance = read(&folder.join(format!("{name}.json")));
        assert_eq!(instance.name(), name);
        assert_eq!(instance.len(), nodes, "{name}");
        let count: usize = instance.ids().map(|i| instance.needs(i).len()).sum();
        assert_eq!(count, edges, "{name}");
        let schedule = CheckmateSchedule::checkpoint_all(&instance);
        let replay = simulate::checkmate(&instance, &schedule).unwrap();
        assert_eq!((replay.peak_bytes, replay.cost), (peak, cost), "{name}");
        assert_eq!(replay.cost, replay.base_cost);
        let around = instance.nodes().iter().map(|v| {
            let inputs = v.needs().iter().map(|i| instance.node(*i).output_bytes);
            v.output_bytes + inputs.sum::<u64>()
        });
        assert_eq!(around.max(), Some(lower), "{name}");
        let backward = instance.nodes().iter().filter(|v| v.is_backward()).count();
        println!(
            "{name}: loss {:?}, {backward} backward nodes",
            instance.loss()
        );
    }
}

/// Both programs' views against the tables, which are read here with `serde_json` only.
#[test]
fn benchmark_tables_are_read_for_both_programs() {
    let Some(folder) = shared_data("zoo/graphs") else {
        return;
    };
    let paths = files(&folder, "json");
    for path in &paths {
        let text = std::fs::read_to_string(path).unwrap();
        let json: Value = serde_json::from_str(&text).unwrap();
        let nodes = json["nodes"].as_array().unwrap();
        let loss = json["counts"]["L"].as_u64().unwrap() as usize;

        let a = read(path);
        assert_eq!((a.len(), a.loss().unwrap().index()), (nodes.len(), loss));
        for (node, raw) in a.nodes().iter().zip(nodes) {
            let table = &raw["A"];
            assert_eq!(node.output_bytes, table["mem"].as_u64().unwrap() * 1024);
            assert_eq!(node.fixed_bytes, table["fixed"].as_u64().unwrap() * 1024);
            let passing: u64 = node.passing.iter().map(|i| a.node(*i).output_bytes).sum();
            assert_eq!(passing, table["local_mem"].as_u64().unwrap() * 1024);
            let costs = table["cost"].as_array().unwrap();
            let chosen = match (raw.get("conv_slot"), raw["kind"].as_str().unwrap()) {
                (Some(_), _) if json["flags"]["conv_choice"] == true => {
                    costs.iter().filter(|c| c.as_i64().unwrap() >= 0).count()
                }
                (_, "bwd") => raw["deps"].as_array().unwrap().len(),
                _ => 1,
            };
            assert_eq!(node.implementations.len(), chosen, "{}", node.name);
            let in_place = json["flags"]["inplace"] == true && raw.get("inplace_on").is_some();
            assert_eq!(node.in_place.is_some(), in_place, "{}", node.name);
        }

        let plain = passing_in_plain_order(a.nodes());
        assert!(plain.iter().eq(a.nodes().iter().map(|v| &v.passing)));
        let again = write_instance(&a);
        let read_again = read_bytes("", again.as_bytes()).unwrap();
        assert_eq!(read_again.data(), a.data());
        assert!(read_again.stated_view().is_none());
        assert!(
            !again.contains("passing"),
            "the default is what is published"
        );

        let b = a.stated_view().unwrap();
        assert_eq!(*b, a.single_implementation_view());
        let rows = nodes.iter().enumerate().filter(|(_, v)| v["kind"] != "int");
        let rows: Vec<_> = rows.collect();
        assert_eq!(
            b.len(),
            rows.len(),
            "no published first variant reads a mask"
        );
        assert!(!b.has_choices());
        for (node, (old, raw)) in b.nodes().iter().zip(&rows) {
            assert_eq!(node.name, format!("{}#{old}", raw["op"].as_str().unwrap()));
            assert_eq!(node.output_bytes, raw["B"]["mem"].as_u64().unwrap() * 1024);
            match raw["B"]["cost"].as_i64().unwrap() {
                cost @ 0.. => assert_eq!(node.cost(), cost as u64),
                _ => assert_eq!(node.cost(), a.node((*old).into()).cost(), "{}", node.name),
            }
            assert!(node.in_place.is_none() && node.workspace_bytes() == 0);
            let needs = node.needs().iter().map(|i| rows[i.index()].0 as u64);
            let first = raw["deps"][0].as_array().unwrap();
            let mut wanted: Vec<_> = first.iter().map(|u| u.as_u64().unwrap()).collect();
            wanted.sort();
            wanted.dedup();
            assert!(needs.eq(wanted), "{}", node.name);
        }
        let last = &nodes[nodes.len() - 1]["B"]["fixed"];
        assert_eq!(b.static_bytes(), last.as_u64().unwrap() * 1024);
        // The view by first implementations has the structure of the stated one, and the costs of
        // table A.
        let (view, kept) = a.single_implementation();
        assert_eq!(kept.len(), b.len());
        for i in view.ids() {
            assert_eq!(view.needs(i), b.needs(i));
            assert_eq!(view.node(i).kind, b.node(i).kind);
            assert_eq!(view.node(i).cost(), a.node(kept[i.index()]).cost());
        }
    }
    println!("{} benchmark instances", paths.len());
    assert!(!paths.is_empty());
}

/// Every model of the zoo, with its defaults, survives the native format; its `passing` lists are
/// the default there.
#[test]
fn zoo_models_survive_the_native_format() {
    let models = zoo::list();
    assert!(models.len() > 10);
    for model in models {
        let instance = zoo::build(&zoo::ModelSpec::new(model.name).unwrap()).unwrap();
        let text = write_instance(&instance);
        let again = read_bytes(model.name, text.as_bytes());
        assert_eq!(again.unwrap(), instance, "{}", model.name);
        let plain = passing_in_plain_order(instance.nodes());
        assert!(
            plain.iter().eq(instance.nodes().iter().map(|v| &v.passing)),
            "{}",
            model.name
        );
    }
}
