//! Suites of data, each with its address and the hashes of its files.

use remat_bb::failure::Failure;
use serde::Deserialize;
use std::collections::BTreeSet;

/// A file of a suite.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataFile {
    /// Name in the suite's folder.
    pub name: String,
    /// Path behind the suite's address, where it differs from the name.
    pub from: Option<String>,
    /// Size.
    pub bytes: u64,
    /// SHA-256 in hexadecimal digits.
    pub sha256: String,
}

/// A suite of data.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Its name, which is also the name of its folder.
    pub name: String,
    /// Content, in a sentence.
    pub about: String,
    /// Address that the paths of the files are appended to; `None` without a stable address.
    pub source: Option<String>,
    /// Page of its authors.
    pub page: String,
    /// Licence, as far as the authors state one.
    pub licence: String,
    /// Its files.
    #[serde(default)]
    pub files: Vec<DataFile>,
}

impl Suite {
    /// The address of a file; `None` if the suite has no stable address.
    pub fn address(&self, file: &DataFile) -> Option<String> {
        let path = file.from.as_ref().unwrap_or(&file.name);
        Some(format!("{}{path}", self.source.as_ref()?))
    }
}

/// All suites.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Suites, in the order of messages.
    #[serde(rename = "suite")]
    pub suites: Vec<Suite>,
}

/// Name of the built-in file.
const FILE: &str = "bench/data.toml";

impl Manifest {
    /// The built-in manifest.
    ///
    /// # Errors
    /// As [`Manifest::parse`].
    pub fn built_in() -> Result<Self, Failure> {
        Manifest::parse(FILE, include_str!("../../data.toml"))
    }

    /// Reads TOML; errors call the text `file`.
    ///
    /// # Errors
    /// [`Failure::Usage`] for invalid TOML, names that are not plain file names or occur twice, and
    /// hashes of another length.
    pub fn parse(file: &str, text: &str) -> Result<Self, Failure> {
        let wrong = |problem: String, remedy: &str| Failure::Usage {
            problem: format!("{file}: {problem}"),
            remedy: remedy.into(),
        };
        let manifest: Manifest = toml::from_str(text).map_err(|e| {
            let remedy = "a manifest has tables [[suite]] with name, about, page, licence, source \
                          and files";
            wrong(e.to_string().trim().to_owned(), remedy)
        })?;
        let mut seen = BTreeSet::new();
        for suite in &manifest.suites {
            let files = suite.files.iter().map(|f| f.name.as_str());
            for name in std::iter::once("").chain(files) {
                let shown = format!("{}/{name}", suite.name);
                let part = if name.is_empty() { &suite.name } else { name };
                if !is_plain(part) {
                    let remedy = "a name has letters, digits, dots, hyphens and underscores";
                    return Err(wrong(format!("{shown:?} cannot be a path"), remedy));
                }
                if !seen.insert((&suite.name, name)) {
                    let problem = format!("{shown:?} is there twice");
                    return Err(wrong(problem, "give each a name of its own"));
                }
            }
            let short = suite.files.iter().find(|f| !is_hash(&f.sha256));
            if let Some(f) = short {
                let problem = format!("{}/{}: {:?} is no SHA-256", suite.name, f.name, f.sha256);
                return Err(wrong(problem, "it has 64 digits of 0-9 and a-f"));
            }
        }
        Ok(manifest)
    }

    /// The suites with these names; all with files if there are no names.
    ///
    /// # Errors
    /// [`Failure::Usage`] for an unknown name, and for the name of a suite without an address.
    pub fn chosen(&self, names: &[String]) -> Result<Vec<&Suite>, Failure> {
        if names.is_empty() {
            let fetched = self.suites.iter().filter(|s| s.source.is_some());
            return Ok(fetched.collect());
        }
        let each = names.iter().map(|name| {
            let Some(suite) = self.suites.iter().find(|s| s.name == *name) else {
                let known: Vec<&str> = self.suites.iter().map(|s| s.name.as_str()).collect();
                return Err(Failure::Usage {
                    problem: format!("there is no suite {name:?}"),
                    remedy: format!("the suites are {}", known.join(", ")),
                });
            };
            if suite.source.is_none() {
                return Err(Failure::Usage {
                    problem: format!("the suite {name} has no stable address: {}", suite.about),
                    remedy: format!("ask at {}", suite.page),
                });
            }
            Ok(suite)
        });
        each.collect()
    }
}

/// Returns whether a name is a file name on every system, and no path.
fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    !name.starts_with('.') && !name.is_empty() && name.chars().all(plain)
}

fn is_hash(text: &str) -> bool {
    let digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    text.len() == 64 && text.chars().all(digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_names_a_commit() {
        let manifest = Manifest::built_in().expect("a manifest");
        let mut files = 0;
        for suite in &manifest.suites {
            assert_eq!(suite.source.is_some(), !suite.files.is_empty(), "{suite:?}");
            let commit = |part: &str| part.len() == 40;
            let source = suite.source.as_deref();
            let pinned = source.is_none_or(|s| s.split('/').any(commit) && s.ends_with('/'));
            assert!(pinned, "{source:?}");
            assert!(suite.page.starts_with("https://"), "{}", suite.page);
            files += suite.files.len();
        }
        assert!(files > 100, "{files}");
    }

    #[test]
    fn the_page_lists_every_suite() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let page = std::fs::read_to_string(root.join("docs/inside/bench.md")).expect("a page");
        for suite in Manifest::built_in().expect("a manifest").suites {
            let row = |line: &&str| line.starts_with(&format!("| `{}` |", suite.name));
            let row = page
                .lines()
                .find(row)
                .unwrap_or_else(|| panic!("{suite:?}"));
            let count = match suite.files.len() {
                0 => "-".to_owned(),
                n => n.to_string(),
            };
            assert!(row.contains(&format!("| {count} |")), "{row}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        let hash = "0".repeat(64);
        let suite = |name: &str, file: &str, hash: &str| {
            format!(
                "[[suite]]\nname = {name:?}\nabout = \"\"\nsource = \"x\"\npage = \"p\"\n\
                 licence = \"\"\nfiles = [{{ name = {file:?}, bytes = 1, sha256 = {hash:?} }}]\n"
            )
        };
        let said = |text: &str| match Manifest::parse("f", text) {
            Err(error) => error.to_string(),
            Ok(manifest) => format!("{:?}", manifest.suites[0].files[0].name),
        };
        assert_eq!(said(&suite("a", "x", &hash)), "\"x\"");
        assert_eq!(
            said(&suite("a", "../x", &hash)),
            "f: \"a/../x\" cannot be a path"
        );
        assert_eq!(
            said(&suite("..", "x", &hash)),
            "f: \"../\" cannot be a path"
        );
        assert_eq!(said(&suite("a", "x", "12")), "f: a/x: \"12\" is no SHA-256");
        let twice = suite("a", "x", &hash) + &suite("a", "y", &hash);
        assert_eq!(said(&twice), "f: \"a/\" is there twice");
        assert!(said("[[suite]]\nname = 3").starts_with("f: TOML parse error"));
    }
}
