//! Reads that may wait for somebody else to write, for a program that is told to end meanwhile.

use std::sync::atomic::{AtomicUsize, Ordering};

static WAITING: AtomicUsize = AtomicUsize::new(0);

/// A read of standard input, a pipe or a file, under way for as long as this is there.
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
    /// A read that begins now.
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

/// Returns whether a read is under way.
pub fn is_waiting() -> bool {
    WAITING.load(Ordering::SeqCst) > 0
}
