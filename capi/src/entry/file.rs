//! Files.

use crate::codes::REMAT_ERROR_FILE;
use crate::pointers::text;
use crate::registry::RematModel;
use crate::trouble::{Trouble, with_model};
use remat_formulations::program::Program;
use remat_lp::{Model, lp_format, mps, nl};
use std::ffi::{c_char, c_int};
use std::path::Path;

/// Format of a model's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Mps,
    Lp,
    Nl,
}

/// The format that the name of a file stands for.
fn format(path: &str) -> Format {
    let name = path.to_lowercase();
    let name = name.trim_end_matches(".gz");
    match name.rsplit_once('.').map(|(_, end)| end) {
        Some("lp" | "rlp") => Format::Lp,
        Some("nl") => Format::Nl,
        _ => Format::Mps,
    }
}

fn wrong(error: impl std::fmt::Display) -> Trouble {
    Trouble::new(REMAT_ERROR_FILE, error.to_string())
}

fn load(path: &str) -> Result<(Model, Option<Vec<f64>>), Trouble> {
    Ok(match format(path) {
        Format::Lp => (lp_format::read(path).map_err(wrong)?, None),
        Format::Mps => (mps::read(path).map_err(wrong)?, None),
        Format::Nl => {
            let bytes = std::fs::read(path).map_err(|e| wrong(format!("{path}: {e}")))?;
            let problem = nl::parse(&bytes, path, 1).map_err(wrong)?;
            (problem.model, problem.start)
        }
    })
}

/// Reads a program in the place of the present one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_read(model: *mut RematModel, path: *const c_char) -> c_int {
    with_model(model, |model| {
        // SAFETY: the caller's promise for texts.
        let path = unsafe { text("path", path)? };
        drop(model.state()?);
        let (found, start) = load(path)?;
        let program = Program::of_model(&found)?;
        let mut state = model.state()?;
        state.program = program;
        state.names = Default::default();
        state.starts = start.into_iter().collect();
        state.answer = None;
        Ok(())
    })
}

/// Writes the program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_write(model: *const RematModel, path: *const c_char) -> c_int {
    with_model(model, |model| {
        // SAFETY: the caller's promise for texts.
        let path = unsafe { text("path", path)? };
        let found = model.state()?.program.compile()?.model;
        match format(path) {
            Format::Lp => lp_format::write(&found, path).map_err(wrong),
            Format::Mps => mps::write(&found, path).map_err(wrong),
            Format::Nl => {
                let name = Path::new(path).display();
                let text = format!("{name}: .nl files are read only; name an MPS or LP file");
                Err(wrong(text))
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_formats() {
        let names = ["a.mps", "B.LP.GZ", "x.rlp", "d.nl/plain", "e.nl", "f"];
        use Format::{Lp, Mps, Nl};
        assert_eq!(names.map(format), [Mps, Lp, Lp, Mps, Nl, Mps]);
    }
}
