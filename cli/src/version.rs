//! Version and commit of this program.

use remat_report::results::VERSION;

/// The commit of this build, with `-dirty` if files differ from it. `None` in builds for tests and
/// from a package.
pub const COMMIT: Option<&str> = option_env!("REMAT_BB_COMMIT");

/// Version and commit, as `--version` prints them.
pub const FULL_VERSION: &str = match option_env!("REMAT_BB_VERSION") {
    Some(text) => text,
    None => VERSION,
};
