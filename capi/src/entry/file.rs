//! Files.

use crate::calls::with_model;
use crate::codes::REMAT_ERROR_FILE;
use crate::pointers::{put_text, text};
use crate::registry::RematModel;
use crate::roomy::on_roomy_thread;
use crate::trouble::Trouble;
use remat_lp::{lp_format, mps, nl};
use remat_models::program::{Program, check_ending};
use std::ffi::{c_char, c_int};
use std::path::Path;

/// Format of a model's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Mps,
    Lp,
    Nl,
}

/// The format that the ending of a file's name stands for.
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

fn load(path: &str) -> Result<(Program, Option<Vec<f64>>), Trouble> {
    Ok(match format(path) {
        Format::Lp => (
            Program::of_file(&lp_format::read_all(path).map_err(wrong)?)?,
            None,
        ),
        Format::Mps => (
            Program::of_file(&mps::read_all(path).map_err(wrong)?)?,
            None,
        ),
        Format::Nl => {
            let bytes = std::fs::read(path).map_err(|e| wrong(format!("{path}: {e}")))?;
            let problem = nl::parse(&bytes, path, 1).map_err(wrong)?;
            (Program::of_nl(&problem)?, problem.start)
        }
    })
}

/// Number of the last file read that has no exact double, in words; empty without one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_rounded(
    model: *const RematModel,
    buffer: *mut c_char,
    room: usize,
    needed: *mut usize,
) -> c_int {
    with_model(model, |model| {
        let state = model.state()?;
        let rounded = state.program.rounded().unwrap_or_default();
        // SAFETY: the caller's promise for buffers and outputs.
        unsafe { put_text(rounded, buffer, room, needed) }
    })
}

fn save(program: &Program, path: &str) -> Result<(), Trouble> {
    check_ending(path).map_err(|e| wrong(format!("{path}: {e}")))?;
    let file = program.file()?;
    match format(path) {
        Format::Lp => lp_format::write_all(&file, path).map_err(wrong),
        Format::Mps => mps::write_all(&file, path).map_err(wrong),
        Format::Nl => {
            let name = Path::new(path).display();
            let text = format!("{name}: .nl files are read only; name an MPS or LP file");
            Err(wrong(text))
        }
    }
}

/// Reads a program in place of the present one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_read(model: *mut RematModel, path: *const c_char) -> c_int {
    with_model(model, |model| {
        // SAFETY: the caller's promise for texts.
        let path = unsafe { text("path", path)? };
        drop(model.state()?);
        let (program, start) = on_roomy_thread(|_| load(path))??;
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
        let program = model.state()?.program.clone();
        on_roomy_thread(|_| save(&program, path))?
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
