//! Fields of the objects of `--json`: the fields of each command, all of them documented.

mod common;

use clap::CommandFactory;
use common::{chain, object, run_to, text};
use remat_bb::arguments::Arguments;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// Fields of a result with an instance.
const ORIGIN: [&str; 3] = ["version", "instance", "instance_sha256"];

/// Fields of a result of the program's own search.
const SEARCH: [&str; 3] = ["settings", "threads", "seed"];

/// Fields of a replay.
const REPLAY: [&str; 12] = [
    "cost",
    "compute_cost",
    "idle",
    "makespan",
    "base_cost",
    "overhead_percent",
    "cost_unit",
    "peak_memory_bytes",
    "peak_at",
    "to_host_bytes",
    "from_host_bytes",
    "host_peak_bytes",
];

/// Fields of addresses, null for a plan without addresses.
const ARENA: [&str; 4] = [
    "arena_bytes",
    "arena_bound_bytes",
    "alignment_bytes",
    "fragmentation",
];

/// The object of a command; asserts that its fields are exactly these, and documented.
fn fields_are(arguments: &[&str], lists: &[&[&str]]) -> Value {
    let found = object(&run_to(0, &[arguments, &["--json"]].concat()).0);
    let wanted: BTreeSet<&str> = lists.iter().copied().flatten().copied().collect();
    let fields = found.as_object().unwrap().keys();
    let fields: BTreeSet<&str> = fields.map(String::as_str).collect();
    assert_eq!(fields, wanted, "{arguments:?}");
    assert_eq!(found["version"], env!("CARGO_PKG_VERSION"));
    documented(arguments[0], &wanted);
    found
}

/// Words of a text that may name a field.
fn names(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .collect()
}

/// Rows of tables of fields that a command shares with others. The second column names the command,
/// or no command at all.
fn shared(page: &str, command: &str) -> String {
    let tables = page
        .split("\n\n")
        .filter(|block| block.starts_with("| shared field |"));
    let rows = tables.flat_map(str::lines);
    let of_command = |row: &&str| {
        let commands = row.split(" | ").nth(1).unwrap_or_default();
        commands.contains(&format!("`{command}`")) || !commands.contains('`')
    };
    rows.filter(of_command).collect()
}

/// Asserts that every field is named in the `--help` of its command, and in the command's section
/// of a page or in a table of shared fields.
fn documented(command: &str, fields: &BTreeSet<&str>) {
    let program = Arguments::command();
    let help = program.find_subcommand(command).unwrap();
    let help = help.get_after_long_help().unwrap().to_string();
    let (_, help) = help.split_once("The object that --json prints").unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/cli");
    let pages = std::fs::read_dir(folder).unwrap();
    let pages: Vec<String> = pages
        .map(|page| std::fs::read_to_string(page.unwrap().path()).unwrap())
        .collect();
    let title = format!("\n## {command}\n");
    let mut sections = pages.iter().filter_map(|page| page.split_once(&title));
    let (_, section) = sections.next().expect("a page has the section");
    let own = section.split("\n## ").next().unwrap();
    let shared = pages.iter().map(|page| shared(page, command));
    let section: String = shared.chain([own.into()]).collect();
    for (place, text) in [("help", help), ("page", &section)] {
        let named = names(text);
        let missing: Vec<_> = fields.iter().filter(|f| !named.contains(*f)).collect();
        assert!(missing.is_empty(), "{command}, {place}: {missing:?}");
    }
}

/// Fields of every result with a bound.
const SOLVED: [&str; 10] = [
    "status",
    "objective",
    "bound",
    "gap",
    "bound_scope",
    "seconds",
    "nodes",
    "lp_iterations",
    "peak_memory_bytes",
    "budget_bytes",
];

#[test]
fn orders_and_placements_say_the_same_as_plans() {
    let folder = tempfile::tempdir().unwrap();
    let graph = [
        "variant",
        "operators",
        "base_memory_bytes",
        "program_peak_bytes",
    ];
    let order = fields_are(
        &["order", "zoo:unet?batch=1", "--threads", "1"],
        &[
            &ORIGIN,
            &SEARCH,
            &SOLVED,
            &graph,
            &["bound_by", "found_by", "cuts"],
        ],
    );
    assert_eq!(order["status"], "optimal");
    let planned = fields_are(
        &["plan-memory", "zoo:unet?batch=1"],
        &[
            &ORIGIN,
            &SEARCH,
            &SOLVED,
            &graph,
            &["order_peak_bytes", "height_bytes", "load_bytes", "orders"],
        ],
    );
    assert_eq!(planned["objective"], order["objective"]);
    let lives = folder.path().join("lives.csv");
    std::fs::write(&lives, "id,lower,upper,size\nx,0,2,4\ny,1,3,8\nz,2,4,4\n").unwrap();
    let placed = fields_are(
        &["place", text(&lives)],
        &[
            &[
                "version",
                "lives",
                "buffers",
                "load_bytes",
                "fragmentation_percent",
            ],
            &["instance", "plan_peak_bytes", "alignment_bytes"],
            &SEARCH,
            &SOLVED,
        ],
    );
    assert_eq!(
        (&placed["objective"], &placed["bound"]),
        (&json!(12), &json!(12))
    );
}

#[test]
fn results_about_an_instance_say_which_and_how() {
    let folder = tempfile::tempdir().unwrap();
    let graph = chain(folder.path(), 6);
    let (graph, plan) = (text(&graph), folder.path().join("plan.json"));
    let (plan, proof) = (text(&plan), folder.path().join("bound.proof"));
    let proof = text(&proof);
    let written = ["--out", plan, "--certificate", proof];
    let how = ["--budget", "500", "--threads", "1", "--seed", "5"];
    let solve = [&["solve", graph, "--gap", "1%", "--lanes", "2"], &how[..]].concat();
    let solved = fields_are(
        &[&solve[..], &written].concat(),
        &[
            &ORIGIN,
            &SEARCH,
            &["status", "formulation", "layers"],
            &["objective", "bound", "gap"],
            &[
                "bound_scope",
                "certified_bound",
                "reorder",
                "offload",
                "base_cost",
                "overhead_percent",
            ],
            &["cost_unit"],
            &["peak_memory_bytes", "budget_bytes", "seconds", "nodes"],
            &["lp_iterations", "moves", "infeasible_because"],
            &["plan_peak_bytes"],
            &ARENA,
        ],
    );
    let settings = json!({"time_limit_seconds": null, "gap": 0.01, "lanes": 2});
    assert_eq!(solved["settings"], settings);
    assert_eq!(solved["layers"], json!([]));
    let sweep = ["sweep", graph, "--budgets", "500", "--gap", "1%"];
    let rest = ["--time-limit", "2", "--threads", "1", "--seed", "5"];
    let swept = fields_are(
        &[&sweep[..], &rest].concat(),
        &[
            &ORIGIN,
            &SEARCH,
            &["formulation", "layers", "base_cost", "cost_unit"],
            &["plain_peak_bytes", "points"],
        ],
    );
    let settings = json!({"time_limit_seconds": 2.0, "gap": 0.01, "lanes": 0});
    assert_eq!(swept["settings"], settings);
    let compare = [&["baselines", graph, "--time-limit", "100ms"], &how[..]].concat();
    let compared = fields_are(
        &compare,
        &[
            &ORIGIN,
            &SEARCH,
            &["formulation", "budget_bytes", "plain_peak_bytes"],
            &["base_cost", "cost_unit", "infeasible_because", "strategies"],
        ],
    );
    assert_eq!(compared["settings"]["time_limit_seconds"], 0.1);
    for found in [&solved, &swept, &compared] {
        assert_eq!((&found["threads"], &found["seed"]), (&json!(1), &json!(5)));
    }
    let verified = fields_are(
        &["verify", graph, plan],
        &[
            &ORIGIN,
            &REPLAY,
            &["verified", "file", "kind", "semantics", "computations"],
            &[
                "host_memory_bytes",
                "stage_schedule_with_copies",
                "budget_bytes",
                "stage_schedule",
                "no_stage_schedule_because",
                "stage_schedule_in_own_order",
            ],
            &["recorded_objective", "recorded_peak_bytes"],
            &["recorded_budget_bytes", "differences"],
            &ARENA,
        ],
    );
    let improved = fields_are(
        &["improve", graph, plan, "--threads", "1"],
        &[
            &ORIGIN,
            &["semantics", "objective", "objective_before", "base_cost"],
            &["overhead_percent", "cost_unit", "peak_memory_bytes"],
            &["peak_before_bytes", "budget_bytes", "fits", "dropped"],
            &["stage_schedule", "stage_schedule_in_own_order", "seconds"],
            &["threads", "seed"],
        ],
    );
    let shown = fields_are(
        &["show", graph, plan],
        &[
            &ORIGIN,
            &REPLAY,
            &["semantics", "nodes", "backward_nodes", "fixed_bytes"],
            &["plain_peak_bytes", "budget_bytes", "statements", "tensors"],
            &["at_peak", "recomputed", "copies"],
            &ARENA,
        ],
    );
    let explained = fields_are(
        &["explain", graph, plan],
        &[
            &ORIGIN,
            &REPLAY,
            &["semantics", "plain_peak_bytes", "budget_bytes", "kept"],
            &["slower", "saved_cost", "recomputed", "departures"],
            &["to_host_busy", "from_host_busy"],
        ],
    );
    let checked = fields_are(
        &["check-certificate", proof, graph],
        &[
            &ORIGIN,
            &["verdict", "claim", "lower", "made_for", "budget_bytes"],
            &["formulation", "bound_scope", "evidence", "link"],
            &["rows", "nodes", "leaves"],
        ],
    );
    let program = folder.path().join("program.mps");
    let export = ["export", graph, "--budget", "500", "--formulation"];
    let exported = fields_are(
        &[&export[..], &["checkmate-interval", text(&program)]].concat(),
        &[
            &ORIGIN,
            &["formulation", "budget_bytes", "unit_bytes", "rows"],
            &["columns", "nonzeros", "published_rows"],
            &["published_nonzeros", "file", "infeasible_because"],
            &["variant", "steps"],
        ],
    );
    let order = folder.path().join("order.mps");
    let ordered = fields_are(
        &["export", graph, text(&order), "--formulation", "olla-order"],
        &[
            &ORIGIN,
            &["formulation", "budget_bytes", "unit_bytes", "rows"],
            &["columns", "nonzeros", "published_rows"],
            &["published_nonzeros", "file", "infeasible_because"],
            &["variant", "steps"],
        ],
    );
    assert_eq!(ordered["variant"], "sound+rng");
    let all = [
        swept, compared, verified, improved, shown, explained, checked, exported,
    ];
    let digest = solved["instance_sha256"].as_str().unwrap();
    assert!(digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit()));
    for found in &all {
        assert_eq!(found["instance_sha256"], digest, "{found}");
        assert_eq!(found["instance"], solved["instance"], "{found}");
    }
}

/// The stacks that the summary names, as numbers.
#[test]
fn equal_layers_are_told() {
    let solve = [
        "solve",
        "zoo:chain?n=30",
        "--budget",
        "60%",
        "--threads",
        "1",
    ];
    let (summary, _) = run_to(0, &solve);
    let told = object(&run_to(0, &[&solve[..], &["--json"]].concat()).0);
    let [stack] = &told["layers"].as_array().unwrap()[..] else {
        panic!("{told}");
    };
    let [layers, forward, backward] =
        ["layers", "forward_nodes", "backward_nodes"].map(|field| stack[field].as_u64().unwrap());
    assert!((20..=30).contains(&layers), "{stack}");
    assert_eq!((forward, backward), (1, 1));
    let words = format!("{layers} equal layers of {forward} + {backward} nodes");
    assert!(summary.contains(&words), "{summary}");
    let swept = [
        "sweep",
        "zoo:chain?n=30",
        "--budgets",
        "60%",
        "--no-baselines",
        "--json",
    ];
    assert_eq!(object(&run_to(0, &swept).0)["layers"], told["layers"]);
}

#[test]
fn results_about_other_files_say_by_which_version() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("small.mps");
    let rows = "NAME small\nROWS\n N cost\n G need\nCOLUMNS\n    m MARKER INTORG\n    \
        x cost 3 need 2\n    y cost 4 need 3\n    m MARKER INTEND\nRHS\n    r need 7\n\
        BOUNDS\n UP b x 5\n UP b y 5\nENDATA\n";
    std::fs::write(&model, rows).unwrap();
    let proof = folder.path().join("small.vipr");
    let (model, proof) = (text(&model), text(&proof));
    let solved = fields_are(
        &["mip", model, "--certificate", proof, "--seed", "5"],
        &[
            &SEARCH,
            &["status", "version", "end", "objective", "bound", "gap"],
            &["seconds", "nodes", "lp_iterations", "ticks", "root_bound"],
            &["found_by", "recognised", "pool", "incumbents"],
            &["model", "rows", "cols", "nonzeros"],
            &["integers", "presolved", "cuts", "restarts"],
            &["strong_branchings", "unproven_bounds", "spilled_nodes"],
            &[
                "certificate",
                "checkpoint",
                "exact",
                "permuted",
                "statistics",
            ],
        ],
    );
    assert_eq!(solved["seed"], 5);
    fields_are(
        &["lp", model],
        &[
            &["status", "version", "objective", "bound", "model", "rows"],
            &["cols", "nonzeros", "relaxed_integers", "presolved"],
            &["lp_iterations", "factorisations", "seconds", "certificate"],
            &["primal_violation", "dual_violation", "primal_residual"],
            &["dual_residual", "permuted"],
            &["barrier_iterations", "crossover_pushes"],
        ],
    );
    fields_are(
        &["check-certificate", proof, model],
        &[
            &["verdict", "version", "claim", "lower", "upper"],
            &["constraints", "derived", "nodes", "solutions"],
            &["model_compared"],
        ],
    );
    let batch = ["max-batch", "zoo:vgg16?batch=1", "--budget", "4GiB"];
    let rest = ["--most", "2", "--time-limit", "1", "--threads", "1"];
    let found = fields_are(
        &[&batch[..], &rest].concat(),
        &[
            &SEARCH,
            &["version", "model", "budget_bytes", "overhead", "strategies"],
        ],
    );
    assert_eq!(found["settings"]["time_limit_seconds"], 1.0);
    assert_eq!(found["threads"], 1);
}
