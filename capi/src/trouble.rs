//! Errors, and the entry that catches panics.

use crate::codes::*;
use remat_models::program::ProgramError;
use remat_solver::mip::SolveError;
use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// An error: its number and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// One of the `REMAT_ERROR_` numbers.
    pub code: c_int,
    /// Text for the user.
    pub text: String,
}

impl Trouble {
    /// An error with its number.
    pub fn new(code: c_int, text: impl Into<String>) -> Self {
        Trouble {
            code,
            text: text.into(),
        }
    }

    /// An invalid argument.
    pub fn argument(text: impl Into<String>) -> Self {
        Trouble::new(REMAT_ERROR_ARGUMENT, text)
    }

    /// A missing result.
    pub fn no_result(text: impl Into<String>) -> Self {
        Trouble::new(REMAT_ERROR_NO_RESULT, text)
    }
}

impl From<ProgramError> for Trouble {
    fn from(error: ProgramError) -> Self {
        match error {
            ProgramError::Solve(error) => error.into(),
            other => Trouble::argument(other.to_string()),
        }
    }
}

impl From<SolveError> for Trouble {
    fn from(error: SolveError) -> Self {
        let code = match error {
            SolveError::Setting { .. } => REMAT_ERROR_ARGUMENT,
            _ => REMAT_ERROR_SOLVE,
        };
        Trouble::new(code, error.to_string())
    }
}

thread_local! {
    /// Text of the last error on this thread.
    static LAST: RefCell<CString> = RefCell::default();
}

/// Address of the text of the last error on this thread: valid until the thread's next error or its
/// end.
pub fn last_error() -> *const c_char {
    let found = LAST.try_with(|last| last.borrow().as_ptr());
    found.unwrap_or(c"".as_ptr())
}

/// Does the work of a function of the header, and returns its error number.
pub fn entry(work: impl FnOnce() -> Result<(), Trouble>) -> c_int {
    code(caught(work))
}

/// As [`entry`], for functions that return another type; `none` stands for an error.
pub fn entry_or<T>(none: T, work: impl FnOnce() -> Result<T, Trouble>) -> T {
    match caught(work) {
        Ok(value) => value,
        other => {
            code(other.map(drop));
            none
        }
    }
}

/// Does the work; a panic becomes an error.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T, Trouble>) -> Result<T, Trouble> {
    // State that a panic leaves inconsistent is behind locks whose poison is known to be harmless.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = format!("a defect of remat-bb: {}", message(&*panic));
        Err(Trouble::new(REMAT_ERROR_INTERNAL, text))
    })
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    let borrowed = panic.downcast_ref::<&str>().copied();
    owned.or(borrowed).unwrap_or("a panic without words")
}

/// The number of an error; its text is kept for this thread.
pub(crate) fn code(done: Result<(), Trouble>) -> c_int {
    let Err(Trouble { code, text }) = done else {
        return REMAT_OK;
    };
    // A text ends at its first NUL in C.
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    // At a thread's end the text is gone, but it cannot be read any more either.
    let _ = LAST.try_with(|last| *last.borrow_mut() = text);
    code
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    fn text() -> String {
        let words = LAST.with(|last| last.borrow().clone());
        words.to_string_lossy().into_owned()
    }

    #[test]
    fn panics_and_errors_become_numbers_and_texts() {
        assert_eq!(entry(|| panic!("number {}", 7)), REMAT_ERROR_INTERNAL);
        assert_eq!(text(), "a defect of remat-bb: number 7");
        assert_eq!(
            entry(|| Err(Trouble::argument("a\0b"))),
            REMAT_ERROR_ARGUMENT
        );
        assert_eq!(text(), "a b");
        assert_eq!(entry_or(-1, || Ok(3)), 3);
        assert_eq!(entry_or(-1, || panic!("gone")), -1);
        assert_eq!(text(), "a defect of remat-bb: gone");
        assert_eq!(entry(|| Ok(())), REMAT_OK);
        assert_eq!(text(), "a defect of remat-bb: gone");
    }

    #[test]
    fn every_status_has_words_of_its_own() {
        let all: Vec<&CStr> = (0..=REMAT_STATUS_LIMIT).filter_map(words).collect();
        let distinct: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), REMAT_STATUS_LIMIT as usize + 1);
        assert_eq!(words(-1), None);
    }
}
