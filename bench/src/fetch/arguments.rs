//! Arguments of `remat-bench fetch`.

use clap::Args;
use std::path::PathBuf;

/// The help of `remat-bench fetch`.
pub const FETCH_ABOUT: &str = "\
Download the data of others that the benchmark pages measure on, and check their hashes.

A manifest names address, licence, size and SHA-256 of each file. The system's curl downloads. A file is written whole or not at \
all, into a folder for each suite. Right files stay; wrong ones are named and stay too. Suites without a stable address are named \
with the page to ask.";

/// `remat-bench fetch`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Example of a download, and of a check without one:
  $ remat-bench fetch netlib miplib3 --into data
  $ remat-bench fetch netlib --into data --check

Exit codes: 0 every file is right, 2 bad usage, or a file that is missing or wrong.")]
pub struct FetchArguments {
    /// Suites [default: all with an address]
    #[arg(value_name = "SUITE")]
    pub suites: Vec<String>,
    /// Folder for the suites' folders
    #[arg(long, value_name = "FOLDER")]
    pub into: PathBuf,
    /// Check the files of the folder, and download none
    #[arg(long)]
    pub check: bool,
    /// Manifest of suites [default: the one of this version, bench/data.toml]
    #[arg(long, value_name = "FILE.toml")]
    pub manifest: Option<PathBuf>,
}
