//! The rooms of a crate: modules of a folder import each other in one direction only.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Folders whose modules have no circle, and the path of each in its crate.
const ROOMS: [(&str, &str); 2] = [
    ("solver/src/mip", "crate::mip::"),
    ("check/src/proof", "crate::proof::"),
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of the workspace") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => all.extend(sources(&path)),
            false => all.push(path),
        }
    }
    all
}

/// The first words of the paths below `prefix` that a source mentions, tests left out.
fn mentioned(text: &str, prefix: &str) -> BTreeSet<String> {
    let product = text.split("#[cfg(test)]\nmod tests {").next();
    let mut words = BTreeSet::new();
    for rest in product.unwrap_or_default().split(prefix).skip(1) {
        let listed = rest.strip_prefix('{').and_then(|r| r.split('}').next());
        for path in listed.unwrap_or(rest).split(',') {
            let is_part = |c: char| c.is_alphanumeric() || c == '_';
            let word = path.trim().split(|c| !is_part(c)).next();
            words.extend(word.map(String::from));
            if listed.is_none() {
                break;
            }
        }
    }
    words
}

#[test]
fn modules_of_a_room_import_each_other_one_way() {
    for (folder, prefix) in ROOMS {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("..")
            .join(folder);
        let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for path in sources(&root) {
            let within = path.strip_prefix(&root).expect("below the root");
            let first = within.iter().next().expect("a name").to_string_lossy();
            let module = first.trim_end_matches(".rs").to_string();
            if module != "mod" {
                let text = fs::read_to_string(&path).expect("a source");
                let is_own = |name: &std::ffi::OsStr| name != "mod.rs";
                let depth = within.iter().filter(|name| is_own(name)).count();
                let found = imports.entry(module).or_default();
                found.extend(mentioned(&text, prefix));
                found.extend(mentioned(&text, &"super::".repeat(depth)));
            }
        }
        let modules: BTreeSet<String> = imports.keys().cloned().collect();
        assert!(modules.len() > 5, "{folder}");
        for (module, found) in &mut imports {
            found.retain(|name| name != module && modules.contains(name));
        }
        // Whatever imports nothing that is left goes; a circle stays.
        while !imports.is_empty() {
            let left: BTreeSet<String> = imports.keys().cloned().collect();
            imports.retain(|_, found| found.iter().any(|name| left.contains(name)));
            assert!(
                imports.len() < left.len(),
                "{folder}: a circle in {imports:?}"
            );
        }
    }
}
