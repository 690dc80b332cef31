//! Files of settings as lists, one setting a text.

use remat_bb::failure::Failure;
use std::path::Path;

/// The settings of a file: TOML if the name ends in `.toml`, otherwise lines, without empty ones
/// and comments with `#`.
///
/// # Errors
/// [`Failure::Usage`] for invalid TOML.
pub fn parts(path: &Path, name: &str, text: &str) -> Result<Vec<String>, Failure> {
    if path.extension().is_none_or(|e| e != "toml") {
        let lines = text.lines().filter(|line| {
            let line = line.trim_start();
            !line.is_empty() && !line.starts_with('#')
        });
        return Ok(lines.map(str::to_owned).collect());
    }
    let table: toml::Table = text.parse().map_err(|e: toml::de::Error| Failure::Usage {
        problem: format!("{name}: {}", e.to_string().trim()),
        remedy: "a file of settings whose name ends in .toml is TOML".into(),
    })?;
    let mut found = Vec::new();
    flatten("", table, &mut found);
    Ok(found)
}

/// Entries of a table and of those within it, each with its whole name.
fn flatten(before: &str, table: toml::Table, found: &mut Vec<String>) {
    for (key, value) in table {
        let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let key = match !key.is_empty() && key.chars().all(bare) {
            true => key,
            false => toml::Value::String(key).to_string(),
        };
        let name = format!("{before}{key}");
        match value {
            toml::Value::Table(table) => flatten(&format!("{name}."), table, found),
            value => found.push(format!("{name} = {value}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_single_lines() {
        let text =
            "# all\ncuts = false\n\"a b\" = [1, 2]\n[limits]\nnodes = 5\n[limits.\"x\"]\ny = 'z'\n";
        let found = parts(Path::new("all.toml"), "all.toml", text).unwrap();
        let again: toml::Table = found.join("\n").parse().unwrap();
        assert_eq!(again, text.parse::<toml::Table>().unwrap());
        assert_eq!(found.len(), 4);
        let text = "# SCIP version 9\n\nlimits/time = 10\nseparating/maxrounds = 0\n";
        let found = parts(Path::new("scip.set"), "scip.set", text).unwrap();
        assert_eq!(found, ["limits/time = 10", "separating/maxrounds = 0"]);
        assert!(parts(Path::new("bad.toml"), "bad.toml", "a =").is_err());
    }
}
