//! Families and programs, each with the command that makes it.

use crate::export;
use clap::{Parser, ValueEnum};
use remat_bb::arguments::{Arguments, Command, ExportArguments};
use remat_bb::commands;
use remat_bb::failure::Failure;
use remat_lp::Model;
use serde::Deserialize;
use std::collections::BTreeSet;

/// A size class, by the effort of solving a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// Seconds for most solvers
    Small,
    /// Thousands to tens of thousands of rows
    Medium,
    /// Up to some 120,000 rows
    Large,
}

impl Size {
    /// All size classes, the smallest first.
    pub const ALL: [Size; 3] = [Size::Small, Size::Medium, Size::Large];

    /// Its name on the command line and in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Size::Small => "small",
            Size::Medium => "medium",
            Size::Large => "large",
        }
    }
}

/// A family: one integer program of many graphs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// Its name.
    pub name: String,
    /// Publication that the program is from.
    pub source: String,
    /// Meaning of the program, in a sentence.
    pub description: String,
}

/// A program of a family.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LibraryProgram {
    /// Its name, which is also the name of its file.
    pub name: String,
    /// Name of its family.
    pub family: String,
    /// Its size class.
    pub size: Size,
    /// The command that makes it, without the file: `remat-bb export` or `remat-bench export`, and
    /// the arguments.
    pub command: String,
    /// True if it is one of the programs prepared for MIPLIB.
    #[serde(default)]
    pub miplib: bool,
}

/// Families and programs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    /// Families, in the order of tables.
    #[serde(rename = "family")]
    pub families: Vec<Family>,
    /// Programs, in the order of tables.
    #[serde(rename = "program")]
    pub programs: Vec<LibraryProgram>,
}

/// Name of the built-in file.
const FILE: &str = "bench/library/programs.toml";

impl Catalogue {
    /// The built-in catalogue.
    ///
    /// # Errors
    /// As [`Catalogue::parse`].
    pub fn built_in() -> Result<Self, Failure> {
        Catalogue::parse(FILE, include_str!("../../library/programs.toml"))
    }

    /// Reads TOML; errors call the text `file`.
    ///
    /// # Errors
    /// [`Failure::Usage`] for invalid TOML, duplicate program names, program names that cannot be
    /// file names, and unknown families.
    pub fn parse(file: &str, text: &str) -> Result<Self, Failure> {
        let wrong = |problem: String, remedy: &str| Failure::Usage {
            problem: format!("{file}: {problem}"),
            remedy: remedy.into(),
        };
        let catalogue: Catalogue = toml::from_str(text).map_err(|e| {
            let remedy = "a catalogue has tables [[family]] and [[program]]";
            wrong(e.to_string().trim().to_owned(), remedy)
        })?;
        let families: BTreeSet<&str> = catalogue.families.iter().map(|f| &*f.name).collect();
        let mut names = BTreeSet::new();
        for program in &catalogue.programs {
            let name = &program.name;
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            if name.is_empty() || !name.chars().all(is_plain) {
                let problem = format!("the program {name:?} cannot be a file");
                return Err(wrong(
                    problem,
                    "a name has small letters, digits and hyphens",
                ));
            }
            if !names.insert(name) {
                let problem = format!("the program {name:?} is there twice");
                return Err(wrong(problem, "give each a name of its own"));
            }
            if !families.contains(&*program.family) {
                let problem = format!("the family {:?} of {name} is not there", program.family);
                return Err(wrong(problem, "add a table [[family]]"));
            }
        }
        Ok(catalogue)
    }

    /// The program of a name.
    pub fn program(&self, name: &str) -> Option<&LibraryProgram> {
        self.programs.iter().find(|p| p.name == name)
    }

    /// The family of a program.
    pub fn family(&self, program: &LibraryProgram) -> Option<&Family> {
        self.families.iter().find(|f| f.name == program.family)
    }

    /// Programs of a family and a size whose names contain one of `only`. An absent or empty filter
    /// selects every program.
    ///
    /// # Errors
    /// [`Failure::Usage`] for an unknown family.
    pub fn chosen(
        &self,
        family: Option<&str>,
        size: Option<Size>,
        only: &[String],
    ) -> Result<Vec<&LibraryProgram>, Failure> {
        if let Some(family) = family.filter(|f| self.families.iter().all(|k| k.name != **f)) {
            let names: Vec<&str> = self.families.iter().map(|f| &*f.name).collect();
            return Err(Failure::Usage {
                problem: format!("--family: there is no family {family:?}"),
                remedy: format!("the families are {}", names.join(", ")),
            });
        }
        let all = self.programs.iter();
        let of_kind: Vec<&LibraryProgram> = all
            .filter(|p| family.is_none_or(|f| p.family == f))
            .filter(|p| size.is_none_or(|s| p.size == s))
            .collect();
        let names = |part: &String| of_kind.iter().any(|p| p.name.contains(part));
        let unknown = only.iter().find(|part| !names(part));
        if let Some(text) = unknown {
            let names: Vec<&str> = of_kind.iter().map(|p| &*p.name).collect();
            return Err(Failure::Usage {
                problem: format!("--only: no program of this choice has {text:?} in its name"),
                remedy: format!("the programs are {}", names.join(", ")),
            });
        }
        if of_kind.is_empty() {
            return Err(Failure::Usage {
                problem: "no program is of this family and size".into(),
                remedy: "leave --family or --size out".into(),
            });
        }
        let is_chosen = |p: &&LibraryProgram| only.iter().any(|part| p.name.contains(part));
        let chosen = of_kind.into_iter();
        Ok(chosen.filter(|p| only.is_empty() || is_chosen(p)).collect())
    }
}

/// The words of `remat-bench export` from `export` on.
#[derive(Parser)]
struct Compact {
    #[command(flatten)]
    export: export::arguments::ExportArguments,
}

/// Arguments of a command that makes a program.
enum Export {
    /// Of `remat-bb export`.
    Published(ExportArguments),
    /// Of `remat-bench export`.
    Compact(export::arguments::ExportArguments),
}

impl LibraryProgram {
    /// Name of its file.
    pub fn file(&self) -> String {
        format!("{}.mps.gz", self.name)
    }

    /// The command that writes it.
    pub fn command(&self) -> String {
        format!("{} {}", self.command, self.file())
    }

    /// The arguments of that command.
    fn export(&self) -> Result<Export, Failure> {
        let command = self.command();
        let wrong = |problem: String| Failure::Usage {
            problem: format!("{}: {command}{problem}", self.name),
            remedy: "a command is one of `remat-bb export --help` or `remat-bench export --help`"
                .into(),
        };
        let words = command.split_whitespace().map(|w| w.trim_matches('\''));
        let unread = |e: clap::Error| wrong(format!(": {}", e.render()));
        if command.starts_with("remat-bench export ") {
            let arguments = Compact::try_parse_from(words.skip(1)).map_err(unread)?;
            return Ok(Export::Compact(arguments.export));
        }
        match Arguments::try_parse_from(words).map_err(unread)?.command {
            Command::Export(arguments) => Ok(Export::Published(arguments)),
            _ => Err(wrong(" exports nothing".into())),
        }
    }

    /// The program itself, made anew.
    ///
    /// # Errors
    /// As `remat-bb export`.
    pub fn model(&self) -> Result<Model, Failure> {
        match self.export()? {
            Export::Published(arguments) => commands::export::model(&arguments),
            Export::Compact(arguments) => export::model(&arguments),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_has_every_size() {
        let catalogue = Catalogue::built_in().expect("a catalogue");
        for family in &catalogue.families {
            for size in Size::ALL {
                let chosen = catalogue.chosen(Some(&family.name), Some(size), &[]);
                assert!(
                    !chosen.expect("a family").is_empty(),
                    "{} {size:?}",
                    family.name
                );
            }
        }
        let prepared = catalogue.programs.iter().filter(|p| p.miplib).count();
        assert_eq!(prepared, 10);
        for program in &catalogue.programs {
            assert!(program.export().is_ok(), "{}", program.command());
        }
    }

    #[test]
    fn mistakes_are_named() {
        let family = "[[family]]\nname = \"a\"\nsource = \"\"\ndescription = \"\"\n";
        let program = |name: &str, family: &str| {
            format!(
                "[[program]]\nname = {name:?}\nfamily = {family:?}\nsize = \"small\"\ncommand = \"x\"\n"
            )
        };
        let said = |text: String| Catalogue::parse("f", &text).expect_err("wrong").to_string();
        let twice = format!("{family}{}{0}", program("p", "a")).replace("{0}", &program("p", "a"));
        assert_eq!(said(twice), "f: the program \"p\" is there twice");
        let other = format!("{family}{}", program("p", "b"));
        assert_eq!(said(other), "f: the family \"b\" of p is not there");
        let odd = format!("{family}{}", program("../p", "a"));
        assert_eq!(said(odd), "f: the program \"../p\" cannot be a file");
        assert!(said("[[program]]\nname = 3".into()).starts_with("f: TOML parse error"));
    }
}
