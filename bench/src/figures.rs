//! Pictures and tables of pages, from the results recorded in `bench/results`.

use crate::library::catalogue::Catalogue;
use crate::library::known::KnownObjectives;
use crate::library::{index, page, results};
use crate::{offload, order, part, pipeline, place, profile};
use clap::Args;
use remat_bb::failure::{Exit, Failure};
use remat_bb::files::{self, Files};
use remat_instances::order::Variant;
use std::path::{Path, PathBuf};

/// `remat-bench figures`
#[derive(Args, Debug)]
pub struct FiguresArguments {
    /// Checkout whose files are read and written
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub checkout: PathBuf,
    /// Write no file; exit code 2 if a file differs from its table
    #[arg(long)]
    pub check: bool,
}

/// A file that is made from a table.
struct Figure {
    /// Its path in the checkout.
    path: &'static str,
    /// The path of its table.
    table: &'static str,
    /// Its text.
    text: String,
}

/// Writes every picture and table whose results are recorded, or checks them.
///
/// # Errors
/// [`Failure`] for results that cannot be read, files that cannot be written, and with `--check`
/// for files that differ from their results.
pub fn run(arguments: &FiguresArguments) -> Result<Exit, Failure> {
    let root = &arguments.checkout;
    let files = Files::tried(false, &[], &[])?;
    let mut stale = Vec::new();
    for figure in made(root)? {
        let path = root.join(figure.path);
        if std::fs::read_to_string(&path).is_ok_and(|old| old == figure.text) {
            continue;
        }
        if arguments.check {
            stale.push(format!("{} differs from {}", figure.path, figure.table));
        } else {
            files.write(&path, &figure.text)?;
            files.print(&format!("{}: from {}\n", figure.path, figure.table))?;
        }
    }
    match stale.is_empty() {
        true => Ok(Exit::Done),
        false => Err(Failure::Usage {
            problem: stale.join("\n"),
            remedy: "draw them again: scripts/results".into(),
        }),
    }
}

/// The figures of a checkout; a table that is not there has none.
fn made(root: &Path) -> Result<Vec<Figure>, Failure> {
    type Make = fn(&str, &str) -> Result<String, Failure>;
    const ORDER: &str = "bench/results/order.csv";
    const PLACE: &str = "bench/results/place.csv";
    const OFFLOAD: &str = "bench/results/offload.csv";
    const PIPER: &str = "bench/results/pipeline-piper.csv";
    let order_picture: Make = |file, table| order::picture(file, table, Variant::Sound);
    let pictures: [(&str, &str, Make); 4] = [
        ("bench/results/order.svg", ORDER, order_picture),
        ("bench/results/place.svg", PLACE, place::picture),
        ("bench/results/offload.svg", OFFLOAD, offload::draw),
        (
            "bench/results/pipeline-piper.svg",
            PIPER,
            pipeline::piper::draw,
        ),
    ];
    let parts: [(&str, &str, Make); 2] = [
        ("docs/theory/order.md", ORDER, order::markdown),
        ("docs/theory/offload.md", OFFLOAD, offload::markdown),
    ];
    let mut figures = Vec::new();
    for (path, table, make) in pictures.into_iter().chain(parts) {
        let is_part = path.ends_with(".md");
        if !root.join(table).exists() || is_part && !root.join(path).exists() {
            continue;
        }
        let mut text = make(table, &read(root, table)?)?;
        if is_part {
            text = part::replaced(path, &read(root, path)?, &text)?;
        }
        figures.push(Figure { path, table, text });
    }
    let table = "bench/results/library.csv";
    if root.join(table).exists() {
        let rows = results::parse(table, &read(root, table)?)?;
        let index = "bench/library/index.csv";
        let entries = index::parse(index, &read(root, index)?)?;
        let known = KnownObjectives::new();
        let made = page::tables(&rows, &Catalogue::built_in()?, &entries, known);
        let path = "docs/inside/library.md";
        let text = part::replaced(path, &read(root, path)?, &made.text)?;
        figures.push(Figure { path, table, text });
        let profiles = made.summary.profiles();
        let text = profile::draw(made.heading, page::PROFILE, &profiles)?;
        let path = "docs/inside/library.svg";
        figures.push(Figure { path, table, text });
    }
    Ok(figures)
}

/// The text of a file of the checkout.
fn read(root: &Path, name: &str) -> Result<String, Failure> {
    let input = files::text(&root.join(name))?;
    Ok(String::from_utf8_lossy(&input.bytes).into_owned())
}
