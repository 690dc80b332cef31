//! Reads that may wait for another program to write, so that a program can react to a request to
//! end meanwhile.

use std::sync::atomic::{AtomicUsize, Ordering};

static WAITING: AtomicUsize = AtomicUsize::new(0);

/// A read of standard input, a pipe or a file, in progress until this value is dropped.
///
/// ```
/// use remat_lp::waiting::{Waiting, is_waiting};
/// let read = Waiting::begin();
/// assert!(is_waiting());
/// drop(read);
/// assert!(!is_waiting());
/// ```
#[derive(Debug)]
pub struct Waiting(());

impl Waiting {
    /// Marks the beginning of a read.
    pub fn begin() -> Waiting {
        WAITING.fetch_add(1, Ordering::SeqCst);
        Waiting(())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        WAITING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Returns whether a read is in progress.
pub fn is_waiting() -> bool {
    WAITING.load(Ordering::SeqCst) > 0
}
