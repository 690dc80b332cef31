//! Ctrl-C and SIGTERM: the first ends the work with the best result so far, the second the program.

use crate::failure::note;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Set by the first interrupt, or by a time limit that sets it itself.
pub fn flag() -> Arc<AtomicBool> {
    INTERRUPTED.clone()
}

/// Catches interrupts from now on; `message` is what the first one says.
pub fn catch(message: &'static str, quiet: bool) {
    let handler = move || {
        if INTERRUPTED.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        note(message, quiet);
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        note(
            &format!("Ctrl-C will end the program at once: {error}"),
            quiet,
        );
    }
}
