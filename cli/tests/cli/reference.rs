//! Pages of `docs/reference` against the program: every option is named, and the pages of
//! `docs/reference/json` are those of the schemas. `REMAT_DOCS=write` writes these pages anew.

use clap::CommandFactory;
use remat_bb::arguments::Arguments;
use remat_bb::commands::schema;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn reference() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference")
}

/// Pages of JSON objects: file, title and commands.
const PAGES: [(&str, &str, &[&str]); 9] = [
    ("solve", "A plan within a budget", &["solve", "fits"]),
    ("pipelines", "Pipelines", &["pipeline"]),
    (
        "frontier-and-batch",
        "Frontiers, batches and heuristics",
        &["sweep", "merge", "max-batch", "baselines"],
    ),
    ("plans", "Plans", &["verify", "improve"]),
    (
        "descriptions",
        "Descriptions of plans",
        &["show", "report", "explain"],
    ),
    (
        "order-and-addresses",
        "Orders and addresses",
        &["order", "place", "plan-memory"],
    ),
    (
        "programs",
        "Linear and integer programs",
        &["lp", "mip", "export"],
    ),
    ("certificates", "Certificates", &["check-certificate"]),
    (
        "execution",
        "Runs with libtorch",
        &["profile", "exec", "train-check"],
    ),
];

const GENERATED: &str = "<!-- Written from the schemas by REMAT_DOCS=write cargo test -p remat-bb \
                         --test cli reference -->\n\n";

/// A field of an object, with the path from the object to it.
struct Field {
    path: String,
    kind: String,
    meaning: String,
}

/// Fields of objects in a schema; `$ref` leads to its definitions.
struct Reader<'a> {
    definitions: &'a Value,
}

impl Reader<'_> {
    /// The definition behind a `$ref`.
    fn resolved<'b>(&'b self, schema: &'b Value) -> &'b Value {
        let name = schema["$ref"].as_str().and_then(|r| r.rsplit('/').next());
        name.map_or(schema, |name| &self.definitions[name])
    }

    /// The schema without null, and true if null is allowed.
    fn without_null<'b>(&'b self, schema: &'b Value) -> (&'b Value, bool) {
        let is_null = |one: &Value| one["type"] == "null";
        if let Some(all) = schema["anyOf"].as_array() {
            let other = all.iter().find(|one| !is_null(one));
            let other = other.expect("a schema beside null");
            return (self.resolved(other), all.iter().any(is_null));
        }
        let types = schema["type"].as_array();
        let nullable = types.is_some_and(|types| types.iter().any(|t| t == "null"));
        (self.resolved(schema), nullable)
    }

    /// The type in words; `s` makes it a plural.
    fn kind(&self, schema: &Value, s: &str) -> String {
        let (schema, nullable) = self.without_null(schema);
        let mut names = schema["type"].as_array().into_iter().flatten();
        let name = names.find(|name| **name != "null");
        let kind = match name.unwrap_or(&schema["type"]).as_str() {
            Some("array") => match &schema["prefixItems"][0] {
                Value::Null => format!("list{s} of {}", self.kind(&schema["items"], "s")),
                first => format!("list{s} of {}", self.kind(first, "s")),
            },
            Some(name) => format!("{name}{s}"),
            None => format!("value{s}"),
        };
        match nullable {
            true => format!("{kind} or null"),
            false => kind,
        }
    }

    /// Fields of an object and of the objects in it.
    fn fields(&self, object: &Value, before: &str, all: &mut Vec<Field>) {
        let (object, _) = self.without_null(object);
        let fields = object["properties"].as_object();
        for (name, schema) in fields.into_iter().flatten() {
            let path = format!("{before}{name}");
            let meaning = schema["description"].as_str().unwrap_or_default();
            all.push(Field {
                path: path.clone(),
                kind: self.kind(schema, ""),
                meaning: meaning.split_whitespace().collect::<Vec<_>>().join(" "),
            });
            let (schema, _) = self.without_null(schema);
            self.fields(&schema["items"], &format!("{path}[]."), all);
            self.fields(schema, &format!("{path}."), all);
        }
    }
}

/// The objects of a command: description and fields.
fn objects(command: &str) -> Vec<(String, Vec<Field>)> {
    let schema = schema::of_command(command).unwrap_or_else(|| panic!("{command} has a schema"));
    let reader = Reader {
        definitions: &schema["$defs"],
    };
    let objects = schema["anyOf"].as_array().expect("a list of objects");
    let one = |object: &Value| {
        let object = reader.resolved(object);
        let mut fields = Vec::new();
        reader.fields(object, "", &mut fields);
        let about = object["description"].as_str().unwrap_or_default();
        (about.to_owned(), fields)
    };
    objects.iter().map(one).collect()
}

/// The section of a command.
fn section(command: &str) -> String {
    let mut text = format!("## {command}\n");
    for (about, fields) in objects(command) {
        let _ = writeln!(
            text,
            "\n{about}\n\n| field | type | meaning |\n|---|---|---|"
        );
        for Field {
            path,
            kind,
            meaning,
        } in fields
        {
            let _ = writeln!(text, "| `{path}` | {kind} | {meaning} |");
        }
    }
    text
}

/// All pages of JSON objects, by file.
fn pages() -> Vec<(String, String)> {
    let mut index = format!(
        "{GENERATED}# JSON objects\n\nWith `--json`, a command prints one JSON object. These \
         pages list the fields of each.\n`remat-bb schema COMMAND` prints them as a JSON schema. A \
         path such as `offload.idle` leads into an object,\n`points[].gap` into the objects of a \
         list.\n\n"
    );
    let mut all = Vec::new();
    for (name, title, commands) in PAGES {
        let _ = writeln!(index, "- [{title}]({name}.md): `{}`", commands.join("`, `"));
        let sections = commands.iter().map(|command| section(command));
        let sections: Vec<String> = sections.collect();
        let text = format!(
            "{GENERATED}# {title}: JSON objects\n\n{}",
            sections.join("\n")
        );
        all.push((format!("{name}.md"), text));
    }
    let _ = write!(
        index,
        "\n{}",
        section("error").replace("## error", "## Errors")
    );
    all.push(("index.md".into(), index));
    all
}

#[test]
fn the_pages_of_json_objects_are_those_of_the_schemas() {
    let folder = reference().join("json");
    let is_writing = std::env::var_os("REMAT_DOCS").is_some_and(|v| v == "write");
    for (name, text) in pages() {
        let path = folder.join(name);
        if is_writing {
            std::fs::write(&path, text).unwrap();
            continue;
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        let hint = "REMAT_DOCS=write writes it anew";
        assert_eq!(kept, text, "{}: {hint}", path.display());
    }
}

#[test]
fn every_field_of_an_object_has_a_description() {
    let mut missing = Vec::new();
    for command in schema::names() {
        for (about, fields) in objects(command) {
            assert!(!about.is_empty() && !fields.is_empty(), "{command}");
            let bare = fields.iter().filter(|field| field.meaning.is_empty());
            missing.extend(bare.map(|field| format!("{command}: {}", field.path)));
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_command_with_json_has_a_schema_and_a_page() {
    let listed = |name: &str| PAGES.iter().any(|(.., commands)| commands.contains(&name));
    for command in Arguments::command().get_subcommands() {
        let mut options = command.get_arguments().filter_map(clap::Arg::get_long);
        let (name, prints) = (command.get_name(), options.any(|long| long == "json"));
        assert_eq!(schema::of_command(name).is_some(), prints, "{name}");
        assert_eq!(listed(name), prints, "{name}");
    }
}

/// The text of each section of a page, by its title.
fn sections(page: &str) -> Vec<(String, String)> {
    let sections = page.split("\n## ").skip(1);
    let halves = sections.map(|section| section.split_once('\n').unwrap_or((section, "")));
    halves
        .map(|(title, text)| (title.trim().into(), text.into()))
        .collect()
}

/// Rows of tables of options that a command shares with others: the second column names the
/// command.
fn shared(page: &str, command: &str) -> String {
    let tables = page
        .split("\n\n")
        .filter(|block| block.starts_with("| shared option |"));
    let rows = tables.flat_map(str::lines);
    let of_command = |row: &&str| {
        let commands = row.split(" | ").nth(1).unwrap_or_default();
        commands.contains(&format!("`{command}`"))
    };
    rows.filter(of_command).collect()
}

#[test]
fn the_pages_of_the_command_line_name_every_option() {
    let files = std::fs::read_dir(reference().join("cli")).unwrap();
    let pages: Vec<String> = files
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    let sections: Vec<(String, String)> = pages.iter().flat_map(|page| sections(page)).collect();
    let mut missing = Vec::new();
    for command in Arguments::command().get_subcommands() {
        let name = command.get_name();
        let Some((_, text)) = sections.iter().find(|(title, _)| title == name) else {
            missing.push(format!("a section for {name}"));
            continue;
        };
        let shared = pages.iter().map(|page| shared(page, name));
        let text: String = shared.chain([text.clone()]).collect();
        let mut options: Vec<&str> = command
            .get_arguments()
            .filter_map(clap::Arg::get_long)
            .collect();
        options.retain(|option| !["json", "quiet", "threads", "seed"].contains(option));
        let unnamed = options.iter().filter(|o| !text.contains(&format!("--{o}")));
        missing.extend(unnamed.map(|option| format!("--{option} of {name}")));
    }
    assert!(missing.is_empty(), "docs/reference/cli lacks {missing:#?}");
}
