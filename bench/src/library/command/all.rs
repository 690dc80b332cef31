//! `remat-bench library run-all`

use super::{draw, entries, export, runs, text, updated};
use crate::library::arguments::{LibraryRunAllArguments, LibraryRunArguments};
use crate::library::catalogue::{Catalogue, Size};
use crate::library::index;
use crate::library::known::KnownObjectives;
use crate::library::results;
use crate::others::Solver;
use remat_bb::failure::{Exit, Failure};
use remat_bb::files::Files;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Files of the checkout that the command writes.
const TABLE: &str = "bench/results/library.csv";
const LARGE_TABLE: &str = "bench/results/library-large.csv";
const INDEX: &str = "bench/library/index.csv";
const PAGE: &str = "docs/inside/library.md";
const PICTURE: &str = "docs/inside/library.svg";

/// Time limit of a relaxation that the index does not have.
const RELAXATION_LIMIT: Duration = Duration::from_secs(120);

/// Runs solvers on small and medium programs and remat-bb on large ones, updates the index, and
/// writes page and picture.
///
/// # Errors
/// [`Failure`] for a checkout with changes, a `remat-bb` of another commit, and as `library run`,
/// `library index` and `library table`.
pub(super) fn run(arguments: &LibraryRunAllArguments) -> Result<Exit, Failure> {
    let root = &arguments.checkout;
    if !arguments.uncommitted {
        verify_commit(root, &arguments.python)?;
    }
    let catalogue = Catalogue::built_in()?;
    let choice = &arguments.choice;
    let chosen = catalogue.chosen(choice.family.as_deref(), choice.size, &choice.only)?;
    if let Some(folder) = &arguments.programs {
        export::programs(&chosen, &entries(None)?, folder)?;
    }
    let tables = [TABLE, LARGE_TABLE].map(|name| root.join(name));
    let mut written = [false; 2];
    for size in Size::ALL {
        if chosen.iter().all(|p| p.size != size) {
            continue;
        }
        let k = usize::from(size == Size::Large);
        let mut run = arguments.runs(size);
        run.out.clone_from(&tables[k]);
        run.resume |= std::mem::replace(&mut written[k], true);
        if !run.solvers.is_empty() {
            runs::run(&run)?;
        }
    }
    let files = Files::tried(false, &[], &[])?;
    let mut rows = Vec::new();
    for path in tables.iter().filter(|path| path.exists()) {
        let (name, text) = text(path)?;
        rows.push(results::parse(&name, &text)?);
    }
    let index = root.join(INDEX);
    let known = entries(Some(&index))?;
    let updated = updated(&known, &chosen, RELAXATION_LIMIT, &rows.concat(), &files)?;
    files.write(&index, &index::render(&updated))?;
    let [page, picture] = [PAGE, PICTURE].map(|name| root.join(name));
    let shown = rows.first().map_or(&[][..], Vec::as_slice);
    let known = KnownObjectives::new();
    draw(shown, &updated, known, Some(&page), Some(&picture), &files)?;
    Ok(Exit::Done)
}

impl LibraryRunAllArguments {
    /// The runs on programs of a size: large programs are for `remat-bb` alone.
    fn runs(&self, size: Size) -> LibraryRunArguments {
        let mut choice = self.choice.clone();
        choice.size = Some(size);
        let is_for = |s: &&Solver| size != Size::Large || **s == Solver::RematBb;
        LibraryRunArguments {
            programs: "all".into(),
            choice,
            solvers: self.solvers.iter().filter(is_for).copied().collect(),
            python: self.python.clone(),
            time_limit: self.time_limit,
            threads: self.threads,
            gap: 1e-6,
            seeds: self.seeds,
            out: "".into(),
            resume: self.resume,
            solutions: self.solutions.clone(),
            known: None,
        }
    }
}

/// Output of a command of git in a checkout.
fn git(root: &Path, words: &[&str]) -> Result<String, Failure> {
    let output = Command::new("git").arg("-C").arg(root).args(words).output();
    let fault = |problem: String| Failure::Open {
        file: root.display().to_string(),
        problem: format!("git {}: {}", words.join(" "), problem.trim()),
        remedy: Some("name a checkout of remat-bb with --checkout".into()),
    };
    let output = output.map_err(|e| fault(e.to_string()))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(fault(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}

/// Checks that the checkout has no changes beside the results, and that `remat-bb` was built from
/// its commit.
fn verify_commit(root: &Path, python: &str) -> Result<(), Failure> {
    let left_out = [TABLE, LARGE_TABLE, INDEX, PAGE, PICTURE].map(|p| format!(":(exclude){p}"));
    let mut words = vec!["status", "--porcelain", "--untracked-files=no", "--", "."];
    words.extend(left_out.iter().map(String::as_str));
    let changed = git(root, &words)?;
    if let Some(first) = changed.lines().next() {
        let count = changed.lines().count();
        return Err(Failure::Usage {
            problem: format!("the checkout has uncommitted changes in {count} files: {first}"),
            remedy: "commit them and build remat-bb again, or add --uncommitted: the page says so"
                .into(),
        });
    }
    let commit = git(root, &["describe", "--always"])?;
    let built = Solver::RematBb.find(python).map_err(|e| Failure::Usage {
        problem: e.to_string(),
        remedy: "cargo install --path cli".into(),
    })?;
    let built = built.commit.unwrap_or_else(|| "an unknown commit".into());
    if built != commit {
        return Err(Failure::Usage {
            problem: format!("remat-bb was built from {built}, the checkout is at {commit}"),
            remedy: "cargo install --path cli, or add --uncommitted: the page says so".into(),
        });
    }
    Ok(())
}
